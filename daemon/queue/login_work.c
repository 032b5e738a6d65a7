/* SPDX-License-Identifier: MIT */
#include "queue/login_private.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fault_point.h"
#include "base/log.h"
#include "launch/launch.h"
#include "queue/look.h"

/*
 * What is done with a login's content, on a thread, by tasks that may take a while: whether it is
 * good, a Trial's copy of it, what is left to do at the end. The loop only hears what came of it.
 */
enum job_kind { JOB_check, JOB_prepare, JOB_finish };

struct login_job {
	uv_work_t work;
	enum job_kind kind;
	Queue *queue;
	struct login_line *line;   /* of a check; referenced */
	struct trial_login *login; /* of the others; NULL: it was let go of meanwhile */
	bool stale;		   /* what it was for was given up: it is only waited for */
	struct login_order order;
	char *keeper;
	char *host_folder; /* of a prepare: for the note */
	uint64_t id;
	int trial_fd;
	bool carry; /* of a finish: its keeper did not do it */
	bool clean; /* of a finish: what is left of it is to go */
	int result;
	struct message *message;
	struct login_result told;
};

static void job_free(struct login_job *job)
{
	Queue *queue = job->queue;

	if (job->line)
		login_line_drop(job->line);
	login_order_done(&job->order);
	free(job->keeper);
	free(job->host_folder);
	fd_close(job->trial_fd);
	message_free(job->message);
	free(job);
	queue_call_ended(queue);
}

static struct login_job *job_new(Queue *queue, enum job_kind kind)
{
	struct login_job *job = calloc(1, sizeof(*job));

	if (!job)
		return NULL;
	queue_call_begun(queue);
	job->kind = kind;
	job->queue = queue;
	job->order = LOGIN_ORDER_INIT;
	job->trial_fd = -1;
	job->keeper = strdup(queue->host->keeper);
	if (!job->keeper) {
		job_free(job);
		return NULL;
	}
	return job;
}

static int run(struct login_job *job, const char *what)
{
	return login_order_run(&job->order, job->keeper, what, &job->message, &job->told);
}

static bool told(const struct login_job *job, enum login_state state)
{
	return job->result == 0 && job->message &&
	       strcmp(job->told.state, login_state_name(state)) == 0;
}

static void job_work(uv_work_t *work)
{
	struct login_job *job = container_of(work, struct login_job, work);

	switch (job->kind) {
	case JOB_check:
		job->result = run(job, "check");
		break;
	case JOB_prepare:
		job->result = login_note_write(&job->order, job->host_folder, job->id);
		FAULT_POINT(login_noted);
		if (job->result == 0)
			job->result = run(job, "prepare");
		FAULT_POINT(login_copied);
		break;
	default:
		job->result = job->carry ? run(job, "finish") : 0;
		if (job->carry)
			FAULT_POINT(login_carried);
		/* What could not be carried stays, with its note, for another try. */
		job->clean = !job->carry || (job->result == 0 && !told(job, LOGIN_failed));
		if (job->clean)
			job->clean = login_remove_copy(job->trial_fd) == 0;
		FAULT_POINT(login_removed);
		break;
	}
}

/* --- Checks --------------------------------------------------------------------------------------- */

static enum login_state state_of(const char *word)
{
	int state = 0;

	while (state < LOGIN_STATE_COUNT && strcmp(login_state_name(state), word) != 0)
		state++;
	return state < LOGIN_STATE_COUNT ? (enum login_state)state : LOGIN_failed;
}

static void on_checked(uv_work_t *work, int status)
{
	struct login_job *job = container_of(work, struct login_job, work);
	struct login_line *line = job->line;
	struct login_known *known = &line->known;
	Queue *queue = job->queue;
	const char *reason = job->result < 0 ? strerror(-job->result) : job->told.reason;

	(void)status;
	line->checking = false;
	free(known->reason);
	known->valid = true;
	known->state = job->result < 0 ? LOGIN_failed : state_of(job->told.state);
	known->reason = reason ? strdup(reason) : NULL;
	known->refreshable = job->result < 0 || !job->told.has.refreshable || job->told.refreshable;
	known->ends = job->result == 0 && job->told.has.ends_at;
	known->ends_at = known->ends ? job->told.ends_at : 0;
	/* A mark that a new sign-in has made untrue goes with the next copy (carry_prepare). */
	login_call(line);
	sched_kick(queue);
	job_free(job);
}

int login_check(struct login_line *line, const struct harness *harness,
		const struct session_login *found, int folder_fd)
{
	const struct login_trial nobody = {.seconds = -1, .folder_fd = -1, .copy_fd = -1};
	struct login_job *job = job_new(line->queue, JOB_check);
	int r;

	if (!job)
		return -ENOMEM;
	job->line = line;
	line->references++;
	r = login_order_make(&job->order, &line->queue->logins.folders, harness, found, folder_fd,
			     &nobody);
	if (r == 0)
		r = uv_queue_work(line->queue->loop, &job->work, job_work, on_checked);
	if (r < 0) {
		job_free(job);
		return r;
	}
	line->checking = true;
	return 0;
}

/* --- Copies --------------------------------------------------------------------------------------- */

static void begin_copy(struct trial_login *login);

static void copy_over(struct trial_login *login, enum login_copy copy, int error)
{
	struct login_lease *lease = login->lease;
	struct trial *trial = login->trial;

	lease->copy = copy;
	lease->copy_error = error;
	if (login->ends) {
		login_drop_copy(login);
		login->ends = false;
		trial_end_recorded(trial);
		return;
	}
	/* It is planned anew. */
	if (trial->work)
		trial->work->planned = false;
	if (lease->awaited) {
		lease->awaited = false;
		trial_read_again(trial);
	}
}

/* A job of an earlier attempt is through with the Trial's folder. */
static void stale_over(struct trial_login *login)
{
	struct login_lease *lease = login->lease;

	login->stale = NULL;
	if (login->ends) {
		login->ends = false;
		trial_end_recorded(login->trial);
	} else if (lease && lease->copy_waits) {
		lease->copy_waits = false;
		begin_copy(login);
	}
}

void login_forget_stale(struct trial_login *login)
{
	if (login->stale)
		login->stale->login = NULL;
	login->stale = NULL;
}

static void make_stale(struct trial_login *login, struct login_job *job)
{
	login_forget_stale(login);
	job->stale = true;
	job->login = login;
	login->stale = job;
}

/* The file itself is bound in the place of one; else its folder. */
static int open_bind(struct trial_login *login, int copy_fd)
{
	const char *name = login->lease->kind == HARNESS_LOGIN_file ? NULL : ".";
	struct keeper_login about;
	struct decode_error error;
	struct message *message;
	int r;

	r = message_parse(&message, login->lease->order->about.data,
			  login->lease->order->about.size);
	if (r < 0)
		return r;
	r = message_decode(message, message_root(message), &keeper_login_type, UNKNOWN_KEYS_REFUSED,
			   &about, &error);
	if (r == 0) {
		login->lease->bind_fd = openat(copy_fd, name ? name : about.copy,
					       O_PATH | O_NOFOLLOW | O_CLOEXEC);
		r = login->lease->bind_fd < 0 ? -errno : 0;
	}
	message_free(message);
	return r;
}

static int keep_order(struct trial_login *login, struct login_order *order)
{
	login->lease->order = malloc(sizeof(*login->lease->order));
	if (!login->lease->order)
		return -ENOMEM;
	*login->lease->order = *order;
	*order = LOGIN_ORDER_INIT;
	return 0;
}

/* Used up for now, by others too; it is tried again after a while. */
static bool passes(int error)
{
	switch (error) {
	case -EAGAIN:
	case -ENOMEM:
	case -EMFILE:
	case -ENFILE:
	case -ENOSPC:
	case -EDQUOT:
		return true;
	default:
		return false;
	}
}

static void on_prepared(uv_work_t *work, int status)
{
	struct login_job *job = container_of(work, struct login_job, work);
	struct trial_login *login = job->login;
	int r = status < 0 ? status : job->result;

	if (!login || job->stale) {
		/* Let go of meanwhile: nothing of it was given to a Trial. */
		login_remove_copy(job->trial_fd);
		login_note_remove(job->order.descriptors[LOGIN_FD_STATE], job->id);
		if (login)
			stale_over(login);
		job_free(job);
		return;
	}
	login->lease->job = NULL;
	if (passes(r)) {
		sched_pause(job->queue, "something this user has used up to come back");
		r = -EAGAIN;
	} else if (r < 0) {
		r = fault_void(&login->lease->fault, CAUSE_session_unavailable,
			       "%s: its login cannot be copied: %s", login->line->harness,
			       strerror(-r));
	}
	if (r == 0)
		r = keep_order(login, &job->order);
	if (r == 0 && !told(job, LOGIN_good)) {
		/* Since it was judged it has become suspect, or was changed: it is judged again. */
		login->line->known.valid = false;
		r = told(job, LOGIN_failed)
			    ? fault_void(&login->lease->fault, CAUSE_session_unavailable,
					 "%s: its login cannot be copied: %s", login->line->harness,
					 job->told.reason ? job->told.reason : "not known why")
			    : -EAGAIN;
	}
	if (r == 0)
		r = open_bind(login, login->lease->order->descriptors[LOGIN_FD_COPY]);
	job_free(job);
	copy_over(login, r == 0 ? COPY_made : COPY_failed, r);
}

static int make_folder(int trial_fd, int *ret_fd)
{
	int fd;

	if (mkdirat(trial_fd, LOGIN_COPY_FOLDER, 0700) < 0 && errno != EEXIST)
		return -errno;
	fd = openat(trial_fd, LOGIN_COPY_FOLDER, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	*ret_fd = fd;
	return 0;
}

static int order_copy(struct login_job *job, struct trial_login *login, struct fault *fault)
{
	_cleanup_(session_login_done) struct session_login found = SESSION_LOGIN_INIT;
	struct login_trial trial = {
		.id = login->trial->id,
		.seconds = login->wall_seconds,
		.copy_fd = -1,
		.lease = login->lease->use_fd >= 0 ? LAUNCH_LEASE : 0,
	};
	_cleanup_close_ int copy = -1;
	const struct harness *harness;
	bool home = login->lease->kind == HARNESS_LOGIN_home;
	char *slash;
	int r = login_choose(login, &found, &harness, fault);

	if (r == 0 && found.login->kind != login->lease->kind)
		r = -EAGAIN;
	if (r == 0)
		r = launch_folder(login->line->queue->trials_fd, login->trial->id, true,
				  &job->trial_fd);
	if (r == 0 && !home)
		r = make_folder(job->trial_fd, &copy);
	trial.folder_fd = job->trial_fd;
	trial.copy_fd = copy;
	if (r == 0)
		r = login_order_make(&job->order, &login->line->queue->logins.folders, harness,
				     &found, home ? home_fd(login->lease->home) : -1, &trial);
	if (r == 0 && strcmp(job->order.key, login->lease->key) != 0)
		r = -EAGAIN;
	if (r != 0)
		return r;
	job->host_folder = steal(&found.path);
	slash = strrchr(job->host_folder, '/');
	*slash = '\0';
	return 0;
}

static void begin_copy(struct trial_login *login)
{
	struct login_lease *lease = login->lease;
	struct login_job *job;
	int r;

	if (login->stale) {
		lease->copy_waits = true;
		return;
	}
	job = job_new(login->line->queue, JOB_prepare);
	r = job ? order_copy(job, login, &lease->fault) : -ENOMEM;
	if (r == 0) {
		job->id = login->trial->id;
		job->login = login;
		r = uv_queue_work(job->queue->loop, &job->work, job_work, on_prepared);
	}
	if (r == 0) {
		lease->job = job;
		return;
	}
	if (job)
		job_free(job);
	copy_over(login, COPY_failed, r);
}

void login_prepare(struct trial *trial)
{
	struct trial_login *login = trial->login;
	int r;

	if (!login || !login->lease || login->lease->denied || login->lease->copy != COPY_none ||
	    login->lease->kind == HARNESS_LOGIN_env || login->lease->kind == HARNESS_LOGIN_none)
		return;
	login->lease->copy = COPY_making;
	if (login->lease->kind != HARNESS_LOGIN_home) {
		begin_copy(login);
		return;
	}
	r = login_wipe_home(login, &login->lease->fault);
	if (r != 0)
		copy_over(login, COPY_failed, r);
}

void login_wiped(struct trial_login *login, int result, struct fault *fault)
{
	if (result == FAULT)
		fault_move(&login->lease->fault, fault);
	if (result == 0 && !login->ends && login->trial->work->outcome < 0)
		begin_copy(login);
	else
		copy_over(login, COPY_failed, result == -ESTALE ? -EAGAIN : result);
}

int login_bind(struct trial *trial, const struct session_login *found, int *ret_fd,
	       struct fault *ret_fault)
{
	struct trial_login *login = trial->login;
	int r;

	*ret_fd = -1;
	if (!login)
		return 0;
	if (!login->lease)
		return -EAGAIN;
	r = login->lease->denied		? login->lease->denied
	    : login->lease->copy == COPY_failed ? login->lease->copy_error
						: 0;
	if (r == FAULT)
		fault_move(ret_fault, &login->lease->fault);
	if (r != 0)
		return r;
	if (found && found->login->kind != login->lease->kind)
		return -EAGAIN;
	if (login->lease->kind == HARNESS_LOGIN_env || login->lease->kind == HARNESS_LOGIN_none)
		return 0;
	if (login->lease->copy != COPY_made)
		return -EINPROGRESS;
	*ret_fd = login->lease->bind_fd;
	return 0;
}

void login_order(struct trial *trial, struct launch_order *order)
{
	struct trial_login *login = trial->login;

	if (!login || !login->lease || login->lease->copy != COPY_made)
		return;
	login->lease->given = true;
	order->plan.has.logins = true;
	order->plan.logins = 1;
	order->logins = login->lease->order->descriptors;
	order->lease = login->lease->lease_fd >= 0 ? &login->lease->lease_fd : NULL;
}

void login_await(struct trial *trial)
{
	struct login_lease *lease = trial->login ? trial->login->lease : NULL;

	if (!lease || lease->denied)
		return;
	lease->awaited = lease->copy == COPY_none || lease->copy == COPY_making;
	login_prepare(trial);
}

void login_running(struct trial *trial, const char *cgroup)
{
	struct trial_login *login = trial->login;

	if (!login || !login->lease)
		return;
	if (login->lease->kind == HARNESS_LOGIN_home && cgroup)
		home_note_group(&login->lease->at_home, cgroup);
}

/* --- The end -------------------------------------------------------------------------------------- */

/* For its record, when a task did it. */
static void tell(struct trial *trial, const struct login_job *job)
{
	struct login_outcome outcome = {
		.has = {.harness = true,
			.state = true,
			.reason = job->told.reason != NULL,
			.refreshed_at = job->told.has.refreshed_at && job->told.refreshed_at > 0},
		.harness = job->told.harness ? job->told.harness : trial->login->line->harness,
		.state = job->told.state,
		.reason = job->told.reason,
		.refreshed_at = job->told.refreshed_at,
	};

	trial_add_login(trial, &outcome);
}

static void on_finished(uv_work_t *work, int status)
{
	struct login_job *job = container_of(work, struct login_job, work);
	struct trial_login *login = job->login;

	(void)status;
	if (job->clean)
		login_note_remove(job->queue->logins.folders.state, job->id);
	if (job->carry && !told(job, LOGIN_good))
		log_write(LOG_LEVEL_WARNING, LOG_ID_TRIAL_STATE, job->id,
			  "its login was not carried back: %s",
			  job->result < 0    ? strerror(-job->result)
			  : job->told.reason ? job->told.reason
					     : job->told.state);
	if (login && job->stale) {
		login->left = !job->clean;
		stale_over(login);
	} else if (login) {
		login->lease->job = NULL;
		if (job->carry && job->result == 0)
			tell(login->trial, job);
		login->ends = false;
		trial_end_recorded(login->trial);
	}
	job_free(job);
}

/* NULL: there is nothing to do. */
static struct login_job *begin_finish(Queue *queue, uint64_t id, bool carry)
{
	struct login_job *job = job_new(queue, JOB_finish);
	int r = job ? launch_folder(queue->trials_fd, id, false, &job->trial_fd) : -ENOMEM;

	if (r == 0)
		r = login_note_read(&job->order, &queue->logins.folders, id, job->trial_fd);
	/* Without a note: nothing to carry, and maybe something to remove. */
	if (r >= 0) {
		job->carry = carry && r == 1;
		job->id = id;
		r = uv_queue_work(queue->loop, &job->work, job_work, on_finished);
	}
	if (r < 0 && job)
		job_free(job);
	return r < 0 ? NULL : job;
}

static bool kept_by_keeper(const struct outcome_record *record, const char *harness)
{
	for (size_t i = 0; i < record->logins.count; i++) {
		const struct login_outcome *outcome = &record->logins.items[i];

		if (strcmp(outcome->harness, harness) == 0)
			return strcmp(outcome->state, login_state_name(LOGIN_failed)) != 0;
	}
	return false;
}

static bool folders_there(Queue *queue)
{
	_cleanup_fault_ struct fault ignored = FAULT_INIT;

	return login_folders_open(&queue->logins.folders, queue->host, &ignored) == 0;
}

static bool is_kept(const struct login_lease *lease)
{
	return lease->kind != HARNESS_LOGIN_env && lease->kind != HARNESS_LOGIN_none;
}

bool login_finish(struct trial *trial, const struct outcome_record *record)
{
	struct trial_login *login = trial->login;
	struct login_lease *lease = login ? login->lease : NULL;
	bool used;

	if (!login)
		return false;
	/* What is under way is waited for: what it leaves is to go too. */
	if (login->stale || (lease && lease->copy == COPY_making)) {
		login->ends = true;
		return true;
	}
	used = login->left || (lease && lease->given && is_kept(lease));
	if ((!used && !(lease && lease->copy == COPY_made)) || !login_lease_get(login) ||
	    !folders_there(trial->queue))
		return false;
	lease = login->lease;
	lease->job = begin_finish(trial->queue, trial->id,
				  used && !kept_by_keeper(record, login->line->harness));
	login->ends = lease->job != NULL;
	if (lease->job)
		lease->job->login = login;
	/* Whatever it had is dealt with. */
	lease->copy = COPY_none;
	lease->given = login->left = false;
	return login->ends;
}

bool login_is_finishing(const struct trial *trial)
{
	return trial->login && trial->login->ends;
}

void login_clean(struct trial_login *login)
{
	struct trial *trial = login->trial;
	struct login_lease *lease = login->lease;
	struct login_job *job;

	if (login->stale || (!login->left && !(lease && is_kept(lease))) ||
	    !folders_there(trial->queue))
		return;
	/* Nothing of it has run; if that is wrong, nothing is lost either. */
	job = begin_finish(trial->queue, trial->id, true);
	login->left = !job;
	if (job)
		make_stale(login, job);
	if (lease) {
		lease->copy = COPY_none;
		lease->given = false;
	}
}

void login_drop_copy(struct trial_login *login)
{
	struct login_lease *lease = login->lease;
	_cleanup_close_ int trial_fd = -1;
	Queue *queue = login->line->queue;

	if (lease->job)
		make_stale(login, steal(&lease->job));
	/* Of one that was never started, or not yet: nothing was done with it. */
	login->left = login->left || (lease->given && is_kept(lease));
	if ((lease->copy == COPY_made || lease->copy == COPY_failed) && !login->left &&
	    launch_folder(queue->trials_fd, login->trial->id, false, &trial_fd) == 0 &&
	    login_remove_copy(trial_fd) == 0)
		login_note_remove(queue->logins.folders.state, login->trial->id);
	if (lease->order)
		login_order_done(lease->order);
	free(steal(&lease->order));
	lease->bind_fd = fd_close(lease->bind_fd);
	lease->lease_fd = -1;
	lease->copy = COPY_none;
	lease->copy_waits = lease->awaited = lease->given = false;
	lease->copy_error = 0;
}

void logins_load(Queue *queue)
{
	_cleanup_fault_ struct fault ignored = FAULT_INIT;
	_cleanup_free_ uint64_t *ids = NULL;
	_cleanup_free_ char *path = NULL;
	size_t count = 0;

	/* Without the folder there was never one. */
	if (asprintf(&path, "%s/logins", queue->host->state_folder) < 0) {
		path = NULL;
		return;
	}
	if (access(path, F_OK) < 0 ||
	    login_folders_open(&queue->logins.folders, queue->host, &ignored) != 0 ||
	    login_notes(queue->logins.folders.state, &ids, &count) < 0)
		return;
	for (size_t i = 0; i < count; i++) {
		_cleanup_close_ int folder = -1;

		struct trial *trial = queue_find(queue, ids[i]);

		/* One that runs is finished at its end; of one that waits nothing is to stay. */
		if (trial && trial->login)
			trial->login->left = true;
		if (trial && trial->login && trial->state == STATE_queued)
			login_clean(trial->login);
		if (trial || launch_folder(queue->trials_fd, ids[i], false, &folder) == -EMFILE)
			continue;
		if (folder < 0)
			login_note_remove(queue->logins.folders.state, ids[i]);
		else if (launch_folder_held(folder) != 1)
			begin_finish(queue, ids[i], true);
	}
}

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
void login_job_free(struct login_job *job)
{
	Queue *queue = job->queue;

	if (job->line)
		login_line_drop(job->line);
	login_order_done(&job->order);
	free(job->keeper);
	free(job->host_folder);
	free(job->part);
	fd_close(job->trial_fd);
	message_free(job->message);
	free(job);
	queue_call_ended(queue);
}

struct login_job *login_job_new(Queue *queue, enum login_job_kind kind, const char *part)
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
	job->part = part ? strdup(part) : NULL;
	if (!job->keeper || (part && !job->part)) {
		login_job_free(job);
		return NULL;
	}
	return job;
}

static int run(struct login_job *job, const char *what)
{
	return login_order_run(&job->order, job->keeper, what, &job->message, &job->told);
}

bool login_job_told(const struct login_job *job, enum login_state state)
{
	return job->result == 0 && job->message &&
	       strcmp(job->told.state, login_state_name(state)) == 0;
}

/* Whether all that there was to do is done; what could not be stays, with its note, for another try. */
static bool carry_out(struct login_job *job)
{
	int r;

	job->result = run(job, "finish");
	FAULT_POINT(login_carried);
	if (job->result < 0 || login_job_told(job, LOGIN_failed))
		return false;
	/* Before the copy goes: without it nobody could find out any more. */
	r = login_note_done(job->order.descriptors[LOGIN_FD_STATE], job->id, job->part, &job->told);
	return r == 0 || r == -ENOENT;
}

static void finish(struct login_job *job)
{
	job->result = 0;
	job->clean = !job->carry || carry_out(job);
	FAULT_POINT(login_told);
	if (job->clean)
		job->clean = login_remove_copy(job->trial_fd, job->part) == 0;
	FAULT_POINT(login_removed);
}

void login_job_work(uv_work_t *work)
{
	struct login_job *job = container_of(work, struct login_job, work);

	switch (job->kind) {
	case JOB_check:
		job->result = run(job, "check");
		break;
	case JOB_prepare:
		job->result = login_note_write(&job->order, job->host_folder, job->id, job->part);
		FAULT_POINT(login_noted);
		if (job->result == 0)
			job->result = run(job, "prepare");
		FAULT_POINT(login_copied);
		break;
	default:
		finish(job);
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
	login_job_free(job);
}

int login_check(struct login_line *line, const struct harness *harness,
		const struct session_login *found, int folder_fd)
{
	const struct login_trial nobody = {.seconds = -1, .folder_fd = -1, .copy_fd = -1};
	struct login_job *job = login_job_new(line->queue, JOB_check, NULL);
	int r;

	if (!job)
		return -ENOMEM;
	job->line = line;
	line->references++;
	r = login_order_make(&job->order, &line->queue->logins.folders, harness, found, folder_fd,
			     &nobody);
	if (r == 0)
		r = uv_queue_work(line->queue->loop, &job->work, login_job_work, on_checked);
	if (r < 0) {
		login_job_free(job);
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
		login_ended(login);
		return;
	}
	/* It is planned anew. */
	if (trial->work)
		trial->work->planned = false;
	if (!lease->awaited)
		return;
	lease->awaited = false;
	LOGIN_EACH(other, trial)
	if (other->lease && other->lease->awaited)
		return;
	trial_read_again(trial);
}

void login_stale_over(struct trial_login *login)
{
	struct login_lease *lease = login->lease;

	login->stale = NULL;
	if (login->ends) {
		login_ended(login);
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

void login_make_stale(struct trial_login *login, struct login_job *job)
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
		login_remove_copy(job->trial_fd, job->part);
		login_note_remove(job->order.descriptors[LOGIN_FD_STATE], job->id, job->part);
		if (login)
			login_stale_over(login);
		login_job_free(job);
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
	if (r == 0 && !login_job_told(job, LOGIN_good)) {
		/* Since it was judged it has become suspect, or was changed: it is judged again. */
		login->line->known.valid = false;
		r = login_job_told(job, LOGIN_failed)
			    ? fault_void(&login->lease->fault, CAUSE_session_unavailable,
					 "%s: its login cannot be copied: %s", login->line->harness,
					 job->told.reason ? job->told.reason : "not known why")
			    : -EAGAIN;
	}
	if (r == 0)
		r = open_bind(login, login->lease->order->descriptors[LOGIN_FD_COPY]);
	login_job_free(job);
	copy_over(login, r == 0 ? COPY_made : COPY_failed, r);
}

static int make_folder(int trial_fd, const char *part, int *ret_fd)
{
	char name[LOGIN_FOLDER_BYTES];
	int fd;

	login_copy_folder(part, name);
	if (mkdirat(trial_fd, name, 0700) < 0 && errno != EEXIST)
		return -errno;
	fd = openat(trial_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
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
		.lease = login_lease_number(login),
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
		r = make_folder(job->trial_fd, job->part, &copy);
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
	job = login_job_new(login->line->queue, JOB_prepare, login_part(login));
	r = job ? order_copy(job, login, &lease->fault) : -ENOMEM;
	if (r == 0) {
		job->id = login->trial->id;
		job->login = login;
		r = uv_queue_work(job->queue->loop, &job->work, login_job_work, on_prepared);
	}
	if (r == 0) {
		lease->job = job;
		return;
	}
	if (job)
		login_job_free(job);
	copy_over(login, COPY_failed, r);
}

static void prepare(struct trial_login *login)
{
	int r;

	if (!login->lease || login->lease->denied || login->lease->copy != COPY_none ||
	    !login_is_copied(login->lease))
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

void login_prepare(struct trial *trial)
{
	LOGIN_EACH(login, trial)
	prepare(login);
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

int login_bind(struct trial *trial, const char *harness, const struct session_login *found,
	       int *ret_fd, struct fault *ret_fault)
{
	struct trial_login *login = trial->login;
	struct login_lease *lease;
	int r;

	*ret_fd = -1;
	while (login && strcmp(login->line->harness, harness) != 0)
		login = login->next;
	if (!login)
		return 0;
	lease = login->lease;
	if (!lease)
		return -EAGAIN;
	r = lease->denied ? lease->denied : lease->copy == COPY_failed ? lease->copy_error : 0;
	if (r == FAULT)
		fault_move(ret_fault, &lease->fault);
	if (r != 0)
		return r;
	if (found && found->login->kind != lease->kind)
		return -EAGAIN;
	if (!login_is_copied(lease))
		return 0;
	if (lease->copy != COPY_made)
		return -EINPROGRESS;
	*ret_fd = lease->bind_fd;
	return 0;
}

void login_order(struct trial *trial, struct launch_order *order)
{
	LOGIN_EACH(login, trial)
	{
		struct login_lease *lease = login->lease;

		if (!lease || lease->copy != COPY_made)
			continue;
		lease->given = true;
		order->logins[order->plan.logins++] = lease->order->descriptors;
		if (lease->lease_fd >= 0)
			order->leases[order->lease_count++] = lease->lease_fd;
	}
	order->plan.has.logins = order->plan.logins > 0;
}

void login_await(struct trial *trial)
{
	/* All before the first, which may be over at once. */
	LOGIN_EACH(login, trial)
	{
		struct login_lease *lease = login->lease;

		/* Of a key, or nothing, there is no copy that could be waited for. */
		if (lease && !lease->denied && login_is_copied(lease))
			lease->awaited = lease->copy == COPY_none || lease->copy == COPY_making;
	}
	login_prepare(trial);
}

void login_running(struct trial *trial, const char *cgroup)
{
	LOGIN_EACH(login, trial)
	if (login->lease && login->lease->kind == HARNESS_LOGIN_home && cgroup)
		home_note_group(&login->lease->at_home, cgroup);
}

/* SPDX-License-Identifier: MIT */
#include "queue/login_private.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "keeper/record.h"
#include "launch/launch.h"
#include "queue/view.h"

/*
 * The end of a Trial's logins: what its keeper did not do is done, each by a job of its own, and the
 * last one has the end recorded. So too of what an earlier attempt or an earlier trialsd left.
 */

void login_ended(struct trial_login *login)
{
	struct trial *trial = login->trial;

	login->ends = false;
	if (!login_is_finishing(trial))
		trial_end_recorded(trial);
}

static void add_to_outcome(struct trial *trial, const struct login_outcome *outcome)
{
	struct login_outcome outcomes[LOGINS_MAX + 1];
	struct trial_work *work = trial->work;
	struct outcome_record record;
	struct decode_error error;
	struct message *message;
	msgpack_sbuffer buffer;
	size_t count = 0;

	if (message_parse(&message, work->record.data, work->record.size) < 0)
		return;
	if (message_decode(message, message_root(message), &outcome_record_type,
			   UNKNOWN_KEYS_IGNORED, &record, &error) == 0) {
		/* What a keeper told of it was that it had failed. */
		for (size_t i = 0; i < record.logins.count && count < LOGINS_MAX; i++)
			if (strcmp(record.logins.items[i].harness, outcome->harness) != 0)
				outcomes[count++] = record.logins.items[i];
		outcomes[count++] = *outcome;
		record.has.logins = true;
		record.logins = (struct login_outcome_list){.items = outcomes, .count = count};
		if (view_encode(&buffer, &outcome_record_type, &record) == 0) {
			msgpack_sbuffer_destroy(&work->record);
			work->record = buffer;
		}
	}
	message_free(message);
}

/* For its record, when a task did it. */
static void tell(const struct login_job *job)
{
	struct login_outcome outcome = {
		.has = {.harness = true,
			.state = true,
			.reason = job->told.reason != NULL,
			.refreshed_at = job->told.has.refreshed_at && job->told.refreshed_at > 0},
		.harness = job->told.harness ? job->told.harness : job->login->line->harness,
		.state = job->told.state,
		.reason = job->told.reason,
		.refreshed_at = job->told.refreshed_at,
	};

	add_to_outcome(job->login->trial, &outcome);
}

static void on_finished(uv_work_t *work, int status)
{
	struct login_job *job = container_of(work, struct login_job, work);
	struct trial_login *login = job->login;

	(void)status;
	/* What the end must tell of it stays until the end is told. */
	if (login && !job->stale && (job->carry || job->done))
		login->noted = job->clean;
	else if (job->clean)
		login_note_remove(job->queue->logins.folders.state, job->id, job->part);
	if (job->carry && !login_job_told(job, LOGIN_good))
		log_write(LOG_LEVEL_WARNING, LOG_ID_TRIAL_STATE, job->id,
			  "its login was not carried back: %s",
			  job->result < 0    ? strerror(-job->result)
			  : job->told.reason ? job->told.reason
					     : job->told.state);
	if (login && job->stale) {
		login->left = !job->clean;
		login_stale_over(login);
	} else if (login) {
		login->lease->job = NULL;
		if ((job->carry || job->done) && job->result == 0)
			tell(job);
		login_ended(login);
	}
	login_job_free(job);
}

/* NULL: there is nothing to do. */
static struct login_job *begin_finish(Queue *queue, uint64_t id, const char *part, bool carry)
{
	struct login_job *job = login_job_new(queue, JOB_finish, part);
	int r = job ? launch_folder(queue->trials_fd, id, false, &job->trial_fd) : -ENOMEM;

	if (r == 0)
		r = login_note_read(&job->order, &queue->logins.folders, id, part, job->trial_fd,
				    &job->message, &job->told);
	/* Without a note: nothing to carry, and maybe something to remove. */
	if (r >= 0) {
		job->carry = carry && r == 1;
		job->done = carry && r == 2;
		job->id = id;
		r = uv_queue_work(queue->loop, &job->work, login_job_work, on_finished);
	}
	if (r < 0 && job)
		login_job_free(job);
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

/* True: something is left to do. */
static bool finish(struct trial_login *login, const struct outcome_record *record)
{
	struct login_lease *lease = login->lease;
	struct trial *trial = login->trial;
	bool used;

	/* What is under way is waited for: what it leaves is to go too. */
	if (login->stale || (lease && lease->copy == COPY_making)) {
		login->ends = true;
		return true;
	}
	used = login->left || (lease && lease->given && login_is_copied(lease));
	if ((!used && !(lease && lease->copy == COPY_made)) || !login_lease_get(login) ||
	    !folders_there(trial->queue))
		return false;
	lease = login->lease;
	lease->job = begin_finish(trial->queue, trial->id, login_part(login),
				  used && !kept_by_keeper(record, login->line->harness));
	login->ends = lease->job != NULL;
	if (lease->job)
		lease->job->login = login;
	/* Whatever it had is dealt with. */
	lease->copy = COPY_none;
	lease->given = login->left = false;
	return login->ends;
}

bool login_finish(struct trial *trial, const struct outcome_record *record)
{
	bool ends = false;

	LOGIN_EACH(login, trial)
	ends = finish(login, record) || ends;
	return ends;
}

void login_end_kept(struct trial *trial)
{
	LOGIN_EACH(login, trial)
	{
		if (login->noted)
			login_note_remove(trial->queue->logins.folders.state, trial->id,
					  login_part(login));
		login->noted = false;
	}
}

bool login_is_finishing(const struct trial *trial)
{
	LOGIN_EACH(login, trial)
	if (login->ends)
		return true;
	return false;
}

void login_clean(struct trial_login *login)
{
	struct trial *trial = login->trial;
	struct login_lease *lease = login->lease;
	struct login_job *job;

	if (login->stale || (!login->left && !(lease && login_is_copied(lease))) ||
	    !folders_there(trial->queue))
		return;
	/* Nothing of it has run; if that is wrong, nothing is lost either. */
	job = begin_finish(trial->queue, trial->id, login_part(login), true);
	login->left = !job;
	if (job)
		login_make_stale(login, job);
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
		login_make_stale(login, steal(&lease->job));
	/* Of one that was never started, or not yet: nothing was done with it. */
	login->left = login->left || (lease->given && login_is_copied(lease));
	if ((lease->copy == COPY_made || lease->copy == COPY_failed) && !login->left &&
	    launch_folder(queue->trials_fd, login->trial->id, false, &trial_fd) == 0 &&
	    login_remove_copy(trial_fd, login_part(login)) == 0)
		login_note_remove(queue->logins.folders.state, login->trial->id, login_part(login));
	if (lease->order)
		login_order_done(lease->order);
	free(steal(&lease->order));
	lease->bind_fd = fd_close(lease->bind_fd);
	lease->lease_fd = -1;
	lease->copy = COPY_none;
	lease->copy_waits = lease->awaited = lease->given = false;
	lease->copy_error = 0;
}

/* Whose a note is. */
static struct trial_login *find(struct trial *trial, const char *part)
{
	LOGIN_EACH(login, trial)
	{
		const char *own = login_part(login);

		if (own == part || (own && part && strcmp(own, part) == 0))
			return login;
	}
	return NULL;
}

static void load(Queue *queue, const struct login_note_name *note)
{
	struct trial *trial = queue_find(queue, note->id);
	struct trial_login *login = trial ? find(trial, note->part) : NULL;
	_cleanup_close_ int folder = -1;

	/* One that runs is finished at its end; of one that waits nothing is to stay. */
	if (login)
		login->left = true;
	if (login && trial->state == STATE_queued)
		login_clean(login);
	if (trial || launch_folder(queue->trials_fd, note->id, false, &folder) == -EMFILE)
		return;
	if (folder < 0)
		login_note_remove(queue->logins.folders.state, note->id, note->part);
	else if (launch_folder_held(folder) != 1)
		begin_finish(queue, note->id, note->part, true);
}

void logins_load(Queue *queue)
{
	_cleanup_(login_note_names_done) struct login_note_names notes = {0};
	_cleanup_fault_ struct fault ignored = FAULT_INIT;
	_cleanup_free_ char *path = NULL;

	/* Without the folder there was never one. */
	if (asprintf(&path, "%s/logins", queue->host->state_folder) < 0) {
		path = NULL;
		return;
	}
	if (access(path, F_OK) < 0 ||
	    login_folders_open(&queue->logins.folders, queue->host, &ignored) != 0 ||
	    login_notes(queue->logins.folders.state, &notes) < 0)
		return;
	for (size_t i = 0; i < notes.count; i++)
		load(queue, &notes.items[i]);
}

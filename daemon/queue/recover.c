/* SPDX-License-Identifier: MIT */

/*
 * Trials of an earlier trialsd that had been started: the keeper, if it still holds the Trial's folder, is
 * found and taken up; else its record, if there is one, is the end; else it was lost, or had not begun.
 */
#include "queue/launch_file.h"
#include "queue/look.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/now.h"
#include "keeper/record.h"

#define RECOVERY_POLL_MILLISECONDS 100

/* No word on what is there: it is looked at again. */
static bool is_passing(int error)
{
	return error == -EMFILE || error == -ENFILE || error == -ENOMEM || error == -EINTR ||
	       error == -EAGAIN;
}

static void on_recovery_timer(uv_timer_t *timer);

static void recover_later(struct trial_work *work)
{
	work->recovering = true;
	uv_timer_start(&work->timer, on_recovery_timer, RECOVERY_POLL_MILLISECONDS,
		       RECOVERY_POLL_MILLISECONDS);
}

static void recover_end(struct trial *trial)
{
	struct trial_work *work = trial->work;
	struct message *message = NULL;
	struct outcome_record record;
	int r = record_read(work->folder_fd, &message, &record);

	if (r == 0) {
		trial_ended(trial, &record);
		message_free(message);
	} else if (is_passing(r)) {
		recover_later(work);
	} else if (work->other_boot) {
		trial_end_with(trial, OUTCOME_interrupted, ENDER_outside,
			       "the machine was restarted under it");
	} else if (trial->state == STATE_starting && work->started_at == 0 &&
		   faccessat(work->folder_fd, "stdout", F_OK, AT_SYMLINK_NOFOLLOW) < 0) {
		/* Its gate never opened: it has not run, so it still has its turn. */
		if (trial->cancel)
			trial_end_with(trial, OUTCOME_canceled, ENDER_client,
				       "canceled before it was started");
		else
			trial_requeue(trial);
	} else {
		trial_end_with(trial, OUTCOME_lost, ENDER_outside,
			       "its keeper and its record are both gone");
	}
}

/* By the wall clock, which is all that is left of it; negative: without a limit. */
static double trial_wall_left(const struct trial_work *work)
{
	double left = work->wall_seconds + (double)work->started_at / 1e6 -
		      (double)now_microseconds() / 1e6;

	if (work->wall_seconds < 0 || !work->started_at)
		return -1;
	return left > 0 ? left : 0;
}

/* The keeper's lock on the folder says whether it lives; while it does, it is to be found. */
static void on_recovery_timer(uv_timer_t *timer)
{
	struct trial_work *work = timer->data;
	struct trial *trial = work->trial;
	char uuid[SD_ID128_UUID_STRING_MAX], unit[TRIAL_UNIT_BYTES];
	bool held;
	int r = 0;

	if (work->folder_fd < 0)
		r = launch_folder(trial->queue->trials_fd, trial->id, true, &work->folder_fd);
	if (is_passing(r))
		return;
	if (r < 0) {
		uv_timer_stop(timer);
		work->recovering = false;
		trial_end_with(trial, OUTCOME_lost, ENDER_outside, "its folder is gone");
		return;
	}
	held = launch_folder_held(work->folder_fd) == 1;
	/* Also of a folder that nobody holds: its keeper's may have been deleted under it. */
	r = launch_adopt(&work->launch, trial->queue->launcher, trial->id,
			 sd_id128_to_uuid_string(trial->uuid, uuid), trial_unit(trial, unit),
			 trial_wall_left(work), &trial_launch_watch, trial);
	if (r < 0 && held)
		return; /* it is on its way in or out: its lock will tell */
	uv_timer_stop(timer);
	work->recovering = false;
	work->folder_fd = r < 0 ? work->folder_fd : fd_close(work->folder_fd);
	if (r < 0)
		recover_end(trial);
	else if (trial->cancel || (trial->state == STATE_ending && work->canceled_by))
		launch_cancel(work->launch, work->grace_seconds); /* it may not have arrived */
}

/* What its start would have told the ledger, had it come to that: from its folder, of this attempt. */
static void recover_facts(struct trial *trial, const struct ledger_row *row)
{
	struct trial_work *work = trial->work;
	struct ledger_row started = *row;
	struct message *message = NULL;
	struct launch_file file;

	if (launch_file_read(work->folder_fd, trial->id, &message, &file) < 0)
		return;
	if (strcmp(file.uuid, row->uuid) == 0 && file.facts.size > 0 &&
	    msgpack_sbuffer_write(&work->facts, (const char *)file.facts.data, file.facts.size) ==
		    0) {
		started.facts = file.facts;
		text_list_done(&work->writable);
		view_writable(&started, &work->writable);
		if (file.plan_digest)
			snprintf(work->plan_digest, sizeof(work->plan_digest), "%s",
				 file.plan_digest);
	}
	message_free(message);
}

void trial_recover(struct trial *trial, const struct ledger_row *row)
{
	Queue *queue = trial->queue;
	int r;

	if (trial_work_new(trial) < 0)
		return;
	trial->work->other_boot = !row->boot_id || strcmp(row->boot_id, queue->boot_id) != 0;
	trial->work->started_at = row->started_at;
	view_writable(row, &trial->work->writable);
	trial->work->wall_seconds = view_wall_seconds(row);
	if (row->canceled_by)
		trial->work->canceled_by = strdup(row->canceled_by);
	r = launch_folder(queue->trials_fd, trial->id, true, &trial->work->folder_fd);
	if (is_passing(r)) {
		recover_later(trial->work);
		return;
	}
	if (r < 0) {
		trial_end_with(trial, OUTCOME_lost, ENDER_outside, "its folder is gone");
		return;
	}
	if (row->state == STATE_starting)
		recover_facts(trial, row);
	/* A keeper that lives was started in this boot, whatever the ledger says. */
	if (trial->work->other_boot && launch_folder_held(trial->work->folder_fd) != 1) {
		recover_end(trial);
		return;
	}
	trial->work->recovering = true;
	uv_timer_start(&trial->work->timer, on_recovery_timer, 0, RECOVERY_POLL_MILLISECONDS);
}

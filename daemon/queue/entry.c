/* SPDX-License-Identifier: MIT */

/*
 * A Trial in memory: made, listed, forgotten; and its work, which it has from its claim to its end.
 *
 * One whose start is recorded together with its acceptance is made before it is accepted, and
 * listed when that is durable. Until then it holds its slot, and nobody can find it.
 */
#include "queue/bare_home.h"
#include "queue/grader.h"
#include "queue/login.h"
#include "queue/look.h"
#include "queue/repository.h"

struct trial *trial_make(Queue *queue, uint64_t id, sd_id128_t uuid, int64_t priority,
			 enum state state)
{
	struct trial *trial = calloc(1, sizeof(*trial));

	if (!trial)
		return NULL;
	trial->queue = queue;
	trial->id = id;
	trial->uuid = uuid;
	trial->priority = priority;
	trial->state = trial->recorded = state;
	LIST_INIT(&trial->graders);
	queue->trials++;
	return trial;
}

void trial_list(struct trial *trial)
{
	trial->listed = true;
	RB_INSERT(trials_by_id, &trial->queue->by_id, trial);
}

struct trial *trial_new(Queue *queue, uint64_t id, sd_id128_t uuid, int64_t priority,
			enum state state)
{
	struct trial *trial = trial_make(queue, id, uuid, priority, state);

	if (trial)
		trial_list(trial);
	return trial;
}

/* Its work. */

int trial_work_new(struct trial *trial)
{
	struct trial_work *work = calloc(1, sizeof(*work));

	if (!work)
		return -ENOMEM;
	work->trial = trial;
	work->plan_fault = work->look_fault = FAULT_INIT;
	work->folder_fd = -1;
	work->grace_seconds = -1;
	work->outcome = -1;
	uv_timer_init(trial->queue->loop, &work->timer);
	work->timer.data = work;
	trial->work = work;
	return 0;
}

static void on_work_closed(uv_handle_t *handle)
{
	struct trial_work *work = handle->data;

	fd_close(work->folder_fd);
	free(work->canceled_by);
	free(work->guarded);
	free(work->arm_note);
	text_list_done(&work->writable);
	msgpack_sbuffer_destroy(&work->facts);
	msgpack_sbuffer_destroy(&work->record);
	free(work);
}

void trial_work_free(struct trial *trial)
{
	struct trial_work *work = steal(&trial->work);

	if (!work)
		return;
	look_leave(work);
	grader_look_leave(work);
	if (work->launch)
		launch_finish(steal(&work->launch));
	if (work->spare) {
		/* Its name is used up: another attempt has another. */
		launch_finish(steal(&work->spare));
		sd_id128_randomize(&trial->uuid);
	}
	start_done(work);
	uv_close((uv_handle_t *)&work->timer, on_work_closed);
}

void trial_release_slot(struct trial *trial)
{
	if (!trial->slot)
		return;
	trial->slot = false;
	trial->queue->slots_used--;
	repository_release(trial);
	login_release(trial);
}

void trial_forget(struct trial *trial)
{
	Queue *queue = trial->queue;

	sched_remove(queue, trial);
	trial_release_slot(trial);
	trial_work_free(trial);
	repository_put(queue, trial->repository);
	login_put(trial->login);
	if (trial->listed)
		RB_REMOVE(trials_by_id, &queue->by_id, trial);
	grader_call(trial);
	if (trial->recorded == STATE_ended)
		bare_home_ended(queue, trial->id);
	queue->trials--;
	free(trial);
}

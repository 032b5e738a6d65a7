/* SPDX-License-Identifier: MIT */
#include "queue/look.h"

#include <fcntl.h>
#include <string.h>

#include "plan/program_ask.h"
#include "queue/arm_look.h"
#include "queue/grader.h"

struct look {
	LIST_ENTRY(look) link;
	uv_work_t work;
	Queue *queue;
	int fd;
	struct program_stamp wanted; /* as it was when it was begun */
	struct program_known found;
	struct program_question question; /* plan NULL: it is not asked */
	int result;
	LIST_HEAD(, trial_work) waiting;
};

/* A Trial that goes on, with its row read again: it may have ended meanwhile. */
struct going_on {
	struct ledger_call call;
	Queue *queue;
	uint64_t id;
	sd_id128_t uuid; /* of the attempt that waited */
};

static void on_row(struct ledger_call *call)
{
	struct going_on *going_on = container_of(call, struct going_on, call);
	Queue *queue = going_on->queue;
	struct trial *trial = queue_find(queue, going_on->id);

	if (trial && sd_id128_equal(trial->uuid, going_on->uuid)) {
		if (call->result == 0)
			trial_go_on(trial, call->row);
		else
			trial_give_up(trial, call->result);
	}
	free(going_on);
	queue_call_ended(queue);
}

void trial_read_again(struct trial *trial)
{
	struct going_on *going_on = calloc(1, sizeof(*going_on));
	Queue *queue = trial->queue;

	if (!going_on) {
		trial_give_up(trial, -ENOMEM);
		return;
	}
	going_on->queue = queue;
	going_on->id = trial->id;
	going_on->uuid = trial->uuid;
	going_on->call.done = on_row;
	queue_call_begun(queue);
	ledger_get(queue->ledger, &going_on->call, trial->id);
}

void look_over(struct trial_work *work, int result, struct fault *fault)
{
	work->planned = false;
	if (result == 0 || work->look_result != 0)
		return;
	work->look_result = result;
	if (result == FAULT)
		fault_move(&work->look_fault, fault);
}

static void look_work(uv_work_t *work)
{
	struct look *look = container_of(work, struct look, work);

	look->result = program_digest(look->fd, &look->found.stamp, look->found.digest);
	if (look->result == 0 && look->question.plan)
		look->result = program_ask(&look->question, look->found.version);
}

static struct look *look_free(struct look *look)
{
	program_question_done(&look->question);
	fd_close(look->fd);
	free(look);
	return NULL;
}

static void on_looked(uv_work_t *work, int status)
{
	struct look *look = container_of(work, struct look, work);
	int r = status < 0 ? status : look->result;
	Queue *queue = look->queue;
	struct trial_work *waiting;

	LIST_REMOVE(look, link);
	if (r == 0)
		plan_learn_program(queue->host, &look->found);
	while ((waiting = LIST_FIRST(&look->waiting))) {
		_cleanup_fault_ struct fault fault = FAULT_INIT;
		struct trial *trial = waiting->trial;
		bool awaited = waiting->look_awaited;

		look_leave(waiting);
		if (r < 0)
			look_over(waiting,
				  fault_void(&fault, CAUSE_session_unavailable,
					     "its program cannot be read: %s", strerror(-r)),
				  &fault);
		else
			look_over(waiting, 0, NULL);
		if (awaited)
			trial_read_again(trial);
	}
	look_free(look);
	queue_call_ended(queue);
}

static int look_new(struct look **ret_look, Queue *queue, const struct session_plan *session,
		    struct fault *fault)
{
	struct look *look = calloc(1, sizeof(*look));
	int r;

	if (!look)
		return -ENOMEM;
	look->queue = queue;
	look->wanted = session->stamp;
	look->question = PROGRAM_QUESTION_INIT;
	LIST_INIT(&look->waiting);
	look->fd = fcntl(session->program.file.fd, F_DUPFD_CLOEXEC, 3);
	r = look->fd < 0 ? -errno : 0;
	if (r == 0 && !session->program.version)
		r = program_question_make(&look->question, queue->host,
					  launcher_bwrap(queue->launcher), session, fault);
	if (r == 0)
		r = uv_queue_work(queue->loop, &look->work, look_work, on_looked);
	if (r != 0) {
		look_free(look);
		return r;
	}
	queue_call_begun(queue);
	LIST_INSERT_HEAD(&queue->looks, look, link);
	*ret_look = look;
	return 0;
}

int look_begin(struct trial *trial, const struct session_plan *session, struct fault *ret_fault)
{
	struct trial_work *work = trial->work;
	struct look *look;
	int r = 0;

	/* One that is written to all the time would be looked at for ever. */
	if (++work->looks > LOOKS_MAX)
		return -EBUSY;
	LIST_FOREACH(look, &trial->queue->looks, link)
	{
		if (program_stamp_equal(&look->wanted, &session->stamp))
			break;
	}
	if (!look)
		r = look_new(&look, trial->queue, session, ret_fault);
	if (r != 0)
		return r;
	/* It may be planned anew while an earlier look is under way: when its login's copy was made. */
	if (work->look)
		LIST_REMOVE(work, look_link);
	work->look = look;
	work->look_awaited = false;
	LIST_INSERT_HEAD(&look->waiting, work, look_link);
	return 0;
}

void look_await(struct trial *trial)
{
	trial->work->look_awaited = true;
	arm_look_await(trial);
	grader_look_await(trial);
}

void look_leave(struct trial_work *work)
{
	if (work->look)
		LIST_REMOVE(work, look_link);
	work->look = NULL;
	arm_look_leave(work);
}

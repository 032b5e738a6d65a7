/* SPDX-License-Identifier: MIT */

/*
 * The pause that a person asks for: nothing is started until it is taken back, also by the next
 * trialsd. It is a setting in the ledger, so that calls to it are in order with everything else.
 *
 * A pause holds from the moment it is asked for, a resume from the moment it is durable: whichever
 * way a crash falls, no Trial was started that should not have been. Of several under way the last
 * one counts. One that could not be stored leaves what the ledger has.
 */
#include "queue/queue.h"

#include <string.h>

#define SETTING "paused" /* the reason; absent when the queue is not paused */

struct pause {
	struct ledger_call call;
	Queue *queue;
	uint64_t sequence;
	char *reason; /* NULL: a resume */
	queue_paused done;
	void *context;
};

void pause_done(struct queue_pause *pause)
{
	free(pause->reason);
	free(pause->stored);
}

/* The reason, or NULL for none, becomes what is in force. Without memory it stays as it is. */
static void take_effect(Queue *queue, const char *reason)
{
	char *copy = reason ? strdup(reason) : NULL;

	if (reason && !copy)
		return;
	free(queue->pause.reason);
	queue->pause.reason = copy;
}

static void on_stored(struct ledger_call *call)
{
	struct pause *pause = container_of(call, struct pause, call);
	Queue *queue = pause->queue;
	bool last = pause->sequence == queue->pause.sequence;
	int r = call->result;

	if (r == 0) {
		free(queue->pause.stored);
		queue->pause.stored = steal(&pause->reason);
	}
	if (last)
		take_effect(queue, queue->pause.stored);
	pause->done(pause->context, r);
	free(pause->reason);
	free(pause);
	queue_settled(queue);
	sched_kick(queue);
}

int queue_pause(Queue *queue, const char *reason, queue_paused done, void *context)
{
	struct pause *pause = calloc(1, sizeof(*pause));

	if (!pause)
		return -ENOMEM;
	pause->reason = reason ? strdup(reason) : NULL;
	if (reason && !pause->reason) {
		free(pause);
		return -ENOMEM;
	}
	pause->queue = queue;
	pause->sequence = ++queue->pause.sequence;
	pause->done = done;
	pause->context = context;
	pause->call.done = on_stored;
	/* From here on our own copy: the caller's may be the one that is in force. */
	if (reason)
		take_effect(queue, pause->reason);
	ledger_set(queue->ledger, &pause->call, SETTING, pause->reason);
	return 0;
}

int pause_load(Queue *queue)
{
	int r = ledger_setting(queue->ledger, SETTING, &queue->pause.stored);

	if (r < 0)
		return r;
	if (queue->pause.stored)
		queue->pause.reason = strdup(queue->pause.stored);
	return queue->pause.stored && !queue->pause.reason ? -ENOMEM : 0;
}

const char *queue_paused_reason(const Queue *queue)
{
	return queue->pause.reason;
}

void queue_settled(Queue *queue)
{
	struct queue_watch *watch, *next;

	for (watch = TAILQ_FIRST(&queue->watches); watch; watch = next) {
		next = TAILQ_NEXT(watch, link);
		if (watch->settled)
			watch->settled(watch);
	}
}

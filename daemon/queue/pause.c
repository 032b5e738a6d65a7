/* SPDX-License-Identifier: MIT */

/*
 * The pause that a person asks for: nothing is started until it is taken back, also by the next
 * trialsd. It is a setting in the ledger, so that calls to it are in order with everything else.
 *
 * A pause holds from the moment it is asked for, a resume from the moment it is durable: whichever
 * way a crash falls, no Trial was started that should not have been. Of several under way the last
 * one counts. One that could not be stored leaves what the ledger has.
 */
#include "queue/hold.h"

#include <string.h>

#include "base/now.h"

struct pause {
	struct ledger_call call;
	Queue *queue;
	uint64_t sequence;
	char *text; /* NULL: a resume */
	queue_paused done;
	void *context;
};

void pause_done(struct queue_pause *pause)
{
	free(pause->text);
	free(pause->stored);
}

/* The text, or NULL for none, becomes what is in force. Without memory it stays as it is. */
static void take_effect(struct queue_pause *pause, const char *text)
{
	char *copy = text ? strdup(text) : NULL;

	if (text && !copy)
		return;
	free(pause->text);
	pause->text = copy;
	if (copy)
		hold_from_text(copy, &pause->hold);
}

static void on_stored(struct ledger_call *call)
{
	struct pause *pause = container_of(call, struct pause, call);
	Queue *queue = pause->queue;
	bool last = pause->sequence == queue->pause.sequence;
	int r = call->result;

	queue->pause.under_way--;
	if (r == 0) {
		free(queue->pause.stored);
		queue->pause.stored = steal(&pause->text);
		queue->pause.changes++;
	}
	if (last)
		take_effect(&queue->pause, queue->pause.stored);
	pause->done(pause->context, r);
	free(pause->text);
	free(pause);
	queue_settled(queue);
	sched_kick(queue);
	queue_call_ended(queue);
}

int queue_pause(Queue *queue, const struct queue_hold *hold, queue_paused done, void *context)
{
	struct pause *pause = calloc(1, sizeof(*pause));
	struct queue_hold asked;

	if (!pause)
		return -ENOMEM;
	if (hold) {
		asked = *hold;
		asked.at = now_microseconds();
		pause->text = hold_to_text(&asked);
	}
	if (hold && !pause->text) {
		free(pause);
		return -ENOMEM;
	}
	pause->queue = queue;
	pause->sequence = ++queue->pause.sequence;
	pause->done = done;
	pause->context = context;
	pause->call.done = on_stored;
	queue->pause.under_way++;
	/* From here on our own copy: the caller's may be the one that is in force. */
	if (hold)
		take_effect(&queue->pause, pause->text);
	queue_call_begun(queue);
	ledger_set(queue->ledger, &pause->call, HOLD_SETTING, pause->text);
	return 0;
}

int pause_load(Queue *queue)
{
	int r = ledger_setting(queue->ledger, HOLD_SETTING, &queue->pause.stored);

	if (r < 0)
		return r;
	take_effect(&queue->pause, queue->pause.stored);
	return queue->pause.stored && !queue->pause.text ? -ENOMEM : 0;
}

const char *queue_paused_reason(const Queue *queue)
{
	return queue->pause.text ? queue->pause.hold.reason : NULL;
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

/* SPDX-License-Identifier: MIT */

/*
 * What holds the queue as a whole (one Trial may be held by its login besides): a pause, or something that has to be mended before any Trial can
 * start. A Trial that waits while the queue is held is `held`; that is never a state of its own in
 * the ledger. A pause of a hundred thousand Trials is one setting, not as many changes: who asks is
 * told what the queue's own state makes of a queued Trial, and who watches hears of the queue, once.
 *
 * What holds for a moment only, and is tried again each second, is no hold: it is what a queued Trial
 * waits for.
 */
#include "queue/hold.h"
#include "queue/login.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/now.h"

#define SEPARATOR '\x1e'

char *hold_to_text(const struct queue_hold *hold)
{
	char *text = NULL, *by;

	if (asprintf(&text, "%s%c%s%c%" PRIu64 "%c%s", hold->reason ? hold->reason : "", SEPARATOR,
		     hold_name((int)hold->kind), SEPARATOR, hold->at, SEPARATOR,
		     hold->by ? hold->by : "") < 0)
		return NULL;
	/* It is read from the end, where the name stands, of which clients choose a part. */
	by = text + strlen(text) - (hold->by ? strlen(hold->by) : 0);
	while ((by = strchr(by, SEPARATOR)))
		*by = ' ';
	return text;
}

/* Cuts off what stands behind the last separator. */
static char *cut_last(char *text)
{
	char *separator = strrchr(text, SEPARATOR);

	*separator = '\0';
	return separator + 1;
}

void hold_from_text(char *text, struct queue_hold *ret_hold)
{
	unsigned int separators = 0;
	int kind;

	*ret_hold = (struct queue_hold){.kind = HOLD_pause, .reason = text};
	for (const char *at = text; (at = strchr(at, SEPARATOR)); at++)
		separators++;
	if (separators < 3)
		return;
	ret_hold->by = cut_last(text);
	if (!*ret_hold->by)
		ret_hold->by = NULL;
	ret_hold->at = strtoull(cut_last(text), NULL, 10);
	kind = hold_from_name(cut_last(text));
	if (kind >= 0)
		ret_hold->kind = (enum hold)kind;
}

bool queue_hold(const Queue *queue, struct queue_hold *ret_hold)
{
	const struct fault *unavailable = launcher_unavailable(queue->launcher);
	struct queue_hold hold = {0};

	if (queue->pause.text) {
		hold = queue->pause.hold;
	} else if (launcher_proved(queue->launcher) && unavailable) {
		hold.kind = HOLD_sandbox;
		hold.reason = unavailable->message;
	} else if (queue->paused_for == queue->space_reason) {
		hold.kind = HOLD_disk;
		hold.reason = queue->space_reason;
	} else {
		return false;
	}
	if (!queue->pause.text && queue->hold.told == (int)hold.kind)
		hold.at = queue->hold.since;
	if (ret_hold)
		*ret_hold = hold;
	return true;
}

/* Whether it is what they were told; how much space is left, or what a doctor found, may differ. */
static bool told_already(const Queue *queue, int kind)
{
	bool asked_for = kind == HOLD_pause || kind == HOLD_drain;

	return kind == queue->hold.told &&
	       (!asked_for || queue->pause.changes == queue->hold.told_changes);
}

bool queue_held(const Queue *queue, const struct trial *trial, char buffer[QUEUE_REASON_BYTES],
		struct queue_hold *ret_hold)
{
	uint64_t since = login_held_since(trial);

	if (!trial->in_turn && !trial->in_repository && !trial->awaited && !login_waiting(trial))
		return false;
	if (queue_hold(queue, ret_hold))
		return true;
	if (since == 0)
		return false;
	*ret_hold = (struct queue_hold){
		.kind = HOLD_login,
		.reason = login_waits_for(trial, buffer, QUEUE_REASON_BYTES),
		.at = since,
	};
	return true;
}

void hold_look(Queue *queue)
{
	struct queue_hold hold;
	int kind = queue_hold(queue, &hold) ? (int)hold.kind : -1;
	struct queue_watch *watch, *next;

	/* Nobody is told of a pause, or of its end, that is not durable. */
	if (queue->pause.under_way > 0 || told_already(queue, kind))
		return;
	if (kind != queue->hold.told)
		queue->hold.since = now_microseconds();
	queue->hold.told = kind;
	queue->hold.told_changes = queue->pause.changes;
	if (kind >= 0)
		logins_give_back(queue);
	for (watch = TAILQ_FIRST(&queue->watches); watch; watch = next) {
		next = TAILQ_NEXT(watch, link);
		if (watch->held)
			watch->held(watch);
	}
}

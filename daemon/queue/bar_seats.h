/* SPDX-License-Identifier: MIT */
#pragma once

#include "plan/bar_store.h"
#include "queue/queue.h"

/*
 * What this host has to say of a Bar's seats.
 *
 * A seat has the family of its model as trialsd knows it, and beside it the one that the Bar states, if
 * it states another: nobody can tell which of them is the mistake. A vote is withheld for either, so that
 * a word that was misspelled never lets a model judge its own work; what it costs is a stand-in. The same
 * goes for a model that trialsd does not know: another launch of that Harness may well be of it. For the
 * breadth such a seat is of one family, whichever that is (panel.h).
 */

/* As a Bar is set: its families, an Arm's whole id and its name. FAULT: as things are, it can never vote. */
int bar_seat_freeze(Queue *queue, struct bar_held *held, struct bar_seat *seat,
		    struct fault *ret_fault);

/* As it is looked at now, whenever it was set; bar_doubts_done. */
struct bar_doubts {
	struct text_list warnings; /* at most 64, owned */
	char *never
		[2 *
		 BAR_SEATS_MAX]; /* why a seat, then a stand-in, can never vote as things are; or NULL */
};

#define BAR_WARNINGS_MAX 64

#define BAR_DOUBTS_INIT ((struct bar_doubts){0})

/* -ENOMEM. */
int bar_doubts_find(Queue *queue, const struct bar_held *held, struct bar_doubts *ret_doubts);
/* Of a seat or stand-in of bar: why it can never vote, or NULL. */
const char *bar_doubts_never(const struct bar_doubts *doubts, const struct bar *bar,
			     const struct bar_seat *seat);
void bar_doubts_done(struct bar_doubts *doubts);

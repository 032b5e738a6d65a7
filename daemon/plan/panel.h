/* SPDX-License-Identifier: MIT */
#pragma once

#include "plan/bar.h"

/*
 * Who votes on the results of one Arm under a Bar. The policy, all of it:
 *
 *   A seat that has any family of the Arm has its vote withheld. The seats are looked at in order, and
 *   the first stand-in that has none of the Arm's families and has no seat yet takes it.
 *   The Panel holds when as many are left as votes decide, and they have as many distinct families as
 *   the Bar's breadth. A seat whose Bar stated another family than is known is of one of them, and
 *   counts where none of its families is another one's.
 *
 * Families are those that were frozen, of both. Pure.
 */
struct panel_place {
	const struct bar_seat *seat;
	bool withheld;
	struct text_list because;	 /* families that the Arm has too; the list is owned */
	const struct bar_seat *stand_in; /* who takes it, or NULL */
};

struct panel {
	struct panel_place places[BAR_SEATS_MAX]; /* as the Bar's seats */
	size_t count;
	const struct bar_seat *voters[BAR_SEATS_MAX];
	size_t voter_count;
	struct text_list families; /* of the voters, each once, in order; the list is owned */
	bool holds;
	char *reason; /* why not, and what mends it, for people; owned. NULL: it holds */
	char *hint;
};

#define PANEL_INIT ((struct panel){0})

/* whom: the Arm, as the reason calls it: "Arm mine". families: of it; may be empty. Borrows all. -ENOMEM. */
int panel_make(const struct bar *bar, const char *whom, const struct text_list *families,
	       struct panel *ret_panel);
void panel_done(struct panel *panel);

/* Whether this seat or stand-in of the Bar votes. */
bool panel_votes(const struct panel *panel, const struct bar_seat *seat);
/* The place of a seat, NULL of a stand-in. */
const struct panel_place *panel_place_of(const struct panel *panel, const struct bar_seat *seat);

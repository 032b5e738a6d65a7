/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "plan/bar_store.h"
#include "plan/panel.h"
#include "plan/provider.h"
#include "stage.h"

/*
 * The file x.bar in the state folder, of today's form and of the older one; or, where the first byte is
 * odd, a canonical form alone. What is accepted has all that a Panel relies on: names that are each
 * another, families that are names, votes and breadth that seats can give. It can be written again, and
 * is the same then.
 */

static void check_seats(const struct bar *bar, const struct bar_seat_list *seats)
{
	for (size_t i = 0; i < seats->count; i++) {
		const struct bar_seat *seat = &seats->items[i];

		must(seat->name && bar_seat_find(bar, seat->name) == seat);
		must(!seat->harness != !seat->arm);
		must(seat->families.count <= FAMILIES_MAX);
		for (size_t j = 0; j < seat->families.count; j++)
			must(provider_name_valid(seat->families.items[j]));
	}
}

static void check_panel(const struct bar *bar)
{
	const struct text_list *families = &bar->seats.items[0].families;
	struct panel panel;

	must(panel_make(bar, "Arm x", families, &panel) == 0);
	must(panel.count == bar->seats.count && panel.voter_count <= panel.count);
	must(panel.places[0].withheld == (families->count > 0));
	must(panel.holds ? !panel.reason
			 : stage_is_text(panel.reason) && stage_is_text(panel.hint));
	panel_done(&panel);
}

static void check_bar(const struct bar *bar)
{
	char id[BAR_ID_BYTES + 1], again[BAR_ID_BYTES + 1];
	struct bar_held held;
	msgpack_sbuffer bytes;

	must(bar_name_valid(bar->name) && *bar->standard);
	must(bar->votes >= 1 && bar->votes <= bar->seats.count);
	must(bar->breadth >= 1 && bar->breadth <= bar->seats.count);
	check_seats(bar, &bar->seats);
	check_seats(bar, &bar->stand_ins);
	check_panel(bar);
	must(bar_encode(bar, &bytes, id) == 0);
	must(bar_decode(bytes.data, bytes.size, &held) == 0);
	must(bar_same_asked(bar, &held.bar) && bar_same_asked(&held.bar, bar));
	msgpack_sbuffer_destroy(&bytes);
	must(bar_encode(&held.bar, &bytes, again) == 0);
	must(strcmp(id, again) == 0);
	msgpack_sbuffer_destroy(&bytes);
	bar_held_done(&held);
}

int fuzz_bar(const uint8_t *data, size_t size)
{
	struct bar_store store = {.fd = stage_folder(), .lock = PTHREAD_MUTEX_INITIALIZER};
	struct bar_held held;
	struct bar_kept kept;
	bool alone = size > 0 && data[0] % 2;
	int r;

	if (size > 0)
		data++, size--;
	if (alone) {
		r = bar_decode(data, size, &held);
		must(r == 0 || r == -EBADMSG);
		if (r == 0)
			check_bar(&held.bar);
		bar_held_done(&held);
		return 0;
	}
	stage_write("x.bar", data, size);
	r = bar_store_read(&store, "x", &kept);
	must(r == 0 || r == -EBADMSG);
	if (r == 0) {
		must(strcmp(kept.held.bar.name, "x") == 0 && strlen(kept.id) == BAR_ID_BYTES);
		must(kept.used == kept.held.legacy && kept.used_at == 0);
		check_bar(&kept.held.bar);
	}
	bar_kept_done(&kept);
	stage_clear();
	return 0;
}

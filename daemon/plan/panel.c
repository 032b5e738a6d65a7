/* SPDX-License-Identifier: MIT */
#include "plan/panel.h"

#include <stdio.h>
#include <string.h>

/* A part of an error's message, which has at most 4096 bytes: many seats may have many families. */
#define REASON_BYTES_MAX 3800

static bool has(const struct text_list *list, const char *text)
{
	for (size_t i = 0; i < list->count; i++)
		if (strcmp(list->items[i], text) == 0)
			return true;
	return false;
}

static bool shares(const struct bar_seat *seat, const struct text_list *families)
{
	for (size_t i = 0; i < seat->families.count; i++)
		if (has(families, seat->families.items[i]))
			return true;
	return false;
}

static int set_because(struct panel_place *place, const struct text_list *families)
{
	const struct text_list *own = &place->seat->families;

	place->because.items = calloc(own->count + 1, sizeof(*place->because.items));
	if (!place->because.items)
		return -ENOMEM;
	for (size_t i = 0; i < own->count; i++)
		if (has(families, own->items[i]))
			place->because.items[place->because.count++] = own->items[i];
	return 0;
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* One family was stated of it and another is known: which it is, is not. */
static bool is_in_doubt(const struct bar_seat *seat)
{
	return seat->family && seat->families.count > 1;
}

static const char *told_family(const struct bar_seat *seat)
{
	size_t other = strcmp(seat->families.items[0], seat->family) == 0;

	return seat->families.items[other];
}

/*
 * The least that they can come to: whoever is in doubt comes last, and adds one where it shares none.
 * What is told of it is not what was stated.
 */
static int count_families(struct panel *panel)
{
	struct text_list *all = &panel->families;
	bool had[BAR_SEATS_MAX] = {false};
	size_t most = 0;

	for (size_t i = 0; i < panel->voter_count; i++)
		most += panel->voters[i]->families.count;
	all->items = calloc(most + 1, sizeof(*all->items));
	if (!all->items)
		return -ENOMEM;
	for (size_t i = 0; i < panel->voter_count; i++) {
		const struct text_list *own = &panel->voters[i]->families;

		for (size_t j = 0; !is_in_doubt(panel->voters[i]) && j < own->count; j++)
			if (!has(all, own->items[j]))
				all->items[all->count++] = own->items[j];
	}
	for (size_t i = 0; i < panel->voter_count; i++) {
		const struct bar_seat *seat = panel->voters[i];

		if (!is_in_doubt(seat) || shares(seat, all))
			continue;
		had[i] = true;
		for (size_t j = 0; had[i] && j < i; j++)
			had[i] = !had[j] || !shares(seat, &panel->voters[j]->families);
		if (had[i])
			all->items[all->count++] = told_family(seat);
	}
	qsort(all->items, all->count, sizeof(*all->items), compare);
	return 0;
}

static int fill_places(struct panel *panel, const struct bar *bar, const struct text_list *families)
{
	bool taken[BAR_SEATS_MAX] = {false};

	panel->count = bar->seats.count;
	for (size_t i = 0; i < bar->seats.count; i++) {
		struct panel_place *place = &panel->places[i];

		place->seat = &bar->seats.items[i];
		place->withheld = shares(place->seat, families);
		if (!place->withheld) {
			panel->voters[panel->voter_count++] = place->seat;
			continue;
		}
		if (set_because(place, families) < 0)
			return -ENOMEM;
		for (size_t j = 0; !place->stand_in && j < bar->stand_ins.count; j++) {
			if (taken[j] || shares(&bar->stand_ins.items[j], families))
				continue;
			taken[j] = true;
			place->stand_in = &bar->stand_ins.items[j];
			panel->voters[panel->voter_count++] = place->stand_in;
		}
	}
	return 0;
}

/* --- In words ------------------------------------------------------------------------------------- */

static void tell_families(FILE *file, const struct text_list *families, const char *separator)
{
	if (families->count == 0)
		fputs("no known family", file);
	for (size_t i = 0; i < families->count; i++)
		fprintf(file, "%s%s", i ? separator : "", families->items[i]);
}

static void tell_voters(FILE *file, const struct panel *panel)
{
	for (size_t i = 0; i < panel->voter_count; i++) {
		fprintf(file, "%s%s (", i ? ", " : "", panel->voters[i]->name);
		tell_families(file, &panel->voters[i]->families, ", ");
		fputc(')', file);
	}
}

static void tell_withheld(FILE *file, const struct panel *panel, const char *whom)
{
	size_t without = 0;

	for (size_t i = 0; i < panel->count; i++)
		without += panel->places[i].withheld && !panel->places[i].stand_in;
	if (without == 0)
		return;
	fprintf(file, "%s withheld, since %s has the same family, and no stand-in is left: ",
		without == 1 ? "the vote of this seat is" : "the votes of these seats are", whom);
	without = 0;
	for (size_t i = 0; i < panel->count; i++) {
		const struct panel_place *place = &panel->places[i];

		if (!place->withheld || place->stand_in)
			continue;
		fprintf(file, "%s%s (", without++ ? ", " : "", place->seat->name);
		tell_families(file, &place->because, ", ");
		fputc(')', file);
	}
	fputs("; ", file);
}

static void tell_reason(FILE *file, const struct panel *panel, const struct bar *bar,
			const char *whom)
{
	fprintf(file, "under Bar %s no Panel can judge %s: ", bar->name, whom);
	tell_withheld(file, panel, whom);
	if (panel->voter_count < bar->votes)
		fprintf(file, "%zu that may vote %s left", panel->voter_count,
			panel->voter_count == 1 ? "is" : "are");
	else
		fprintf(file, "those who may vote have %zu distinct famil%s", panel->families.count,
			panel->families.count == 1 ? "y" : "ies");
	if (panel->voter_count > 0) {
		fputs(": ", file);
		tell_voters(file, panel);
	}
	if (panel->voter_count < bar->votes)
		fprintf(file, "; votes: %llu of one mind decide", (unsigned long long)bar->votes);
	if (panel->families.count < bar->breadth)
		fprintf(file, "; breadth: %llu famil%s must be among them",
			(unsigned long long)bar->breadth, bar->breadth == 1 ? "y" : "ies");
}

static void tell_hint(FILE *file, const struct panel *panel, const struct bar *bar,
		      const struct text_list *families)
{
	fputs("a stand-in of another family than ", file);
	tell_families(file, families, ", ");
	if (panel->families.count < bar->breadth && panel->families.count > 0) {
		fputs(" (and than ", file);
		tell_families(file, &panel->families, ", ");
		fputs(", for its breadth)", file);
	}
	fprintf(file,
		" mends it%s; a Bar that was used takes another name: "
		"trialctl bar set FILE.json",
		panel->voter_count < bar->votes ? ", or fewer votes" : ", or less breadth");
}

/* Cut where it is longer than an error can tell; names in it are of ASCII, whom may not be. */
static char *cut(char *text)
{
	static const char more[] = "…";
	size_t end = REASON_BYTES_MAX;

	if (!text || strlen(text) < end + sizeof(more))
		return text;
	while (end > 0 && ((unsigned char)text[end] & 0xc0) == 0x80)
		end--;
	memcpy(text + end, more, sizeof(more));
	return text;
}

static int explain(struct panel *panel, const struct bar *bar, const char *whom,
		   const struct text_list *families)
{
	size_t size = 0;
	FILE *file = open_memstream(&panel->reason, &size);

	if (!file)
		return -ENOMEM;
	tell_reason(file, panel, bar, whom);
	if (fclose(file) != 0)
		return -ENOMEM;
	file = open_memstream(&panel->hint, &size);
	if (!file)
		return -ENOMEM;
	tell_hint(file, panel, bar, families);
	if (fclose(file) != 0)
		return -ENOMEM;
	panel->reason = cut(panel->reason);
	panel->hint = cut(panel->hint);
	return 0;
}

/* --- As a whole ----------------------------------------------------------------------------------- */

int panel_make(const struct bar *bar, const char *whom, const struct text_list *families,
	       struct panel *ret_panel)
{
	struct panel panel = PANEL_INIT;
	int r = fill_places(&panel, bar, families);

	if (r == 0)
		r = count_families(&panel);
	panel.holds = panel.voter_count >= bar->votes && panel.families.count >= bar->breadth;
	if (r == 0 && !panel.holds)
		r = explain(&panel, bar, whom, families);
	if (r < 0)
		panel_done(&panel);
	*ret_panel = panel;
	return r;
}

void panel_done(struct panel *panel)
{
	for (size_t i = 0; i < panel->count; i++)
		free(panel->places[i].because.items);
	free(panel->families.items);
	free(panel->reason);
	free(panel->hint);
	*panel = PANEL_INIT;
}

bool panel_votes(const struct panel *panel, const struct bar_seat *seat)
{
	for (size_t i = 0; i < panel->voter_count; i++)
		if (panel->voters[i] == seat)
			return true;
	return false;
}

const struct panel_place *panel_place_of(const struct panel *panel, const struct bar_seat *seat)
{
	for (size_t i = 0; i < panel->count; i++)
		if (panel->places[i].seat == seat)
			return &panel->places[i];
	return NULL;
}

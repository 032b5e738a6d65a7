/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "queue/hold.h"
#include "stage.h"

/*
 * A pause as the ledger keeps it. The input is such a text; and it is who asks for a pause, a line
 * feed, and the reason, whatever these hold. What is written is read as the same, but for what
 * separates parts in the name.
 */

static bool same_text(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "") == 0;
}

static void write_and_read(const struct queue_hold *hold)
{
	char *text = hold_to_text(hold), *by = strdup(hold->by ? hold->by : "");
	struct queue_hold again;

	must(text && by);
	for (char *at = by; (at = strchr(at, '\x1e'));)
		*at = ' ';
	hold_from_text(text, &again);
	must(again.kind == hold->kind && again.at == hold->at);
	must(same_text(again.reason, hold->reason) && same_text(again.by, by));
	free(text);
	free(by);
}

int fuzz_hold(const uint8_t *data, size_t size)
{
	char *text = stage_text(data, size), *rest = text;
	struct queue_hold hold = {.at = size};

	hold.by = strsep(&rest, "\n");
	hold.reason = rest;
	hold.kind = (enum hold)(size % HOLD_COUNT);
	write_and_read(&hold);
	free(text);

	text = stage_text(data, size);
	hold_from_text(text, &hold);
	must((int)hold.kind >= 0 && hold.kind < HOLD_COUNT && hold.reason);
	write_and_read(&hold);
	free(text);
	return 0;
}

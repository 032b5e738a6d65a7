/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>

#include "hold_print.h"
#include "json.h"
#include "print.h"

char *hold_text(const json_t *object)
{
	char *hold = json_display(json_object_get(object, "hold"));
	char *reason = json_display(json_object_get(object, "held_reason"));
	char *by = json_display(json_object_get(object, "held_by"));
	int64_t since = json_whole(object, "held_at", 0);
	char moment[64] = "", *text = NULL;

	if (since > 0)
		format_time(since, moment, sizeof(moment));
	if (asprintf(&text, "%s%s%s%s%s%s%s%s%s", hold, *reason ? ": " : "", reason,
		     *by || *moment ? " (" : "", by, *by && *moment ? ", " : "",
		     *moment ? "since " : "", moment, *by || *moment ? ")" : "") < 0)
		text = NULL;
	free(hold);
	free(reason);
	free(by);
	return need_memory(text);
}

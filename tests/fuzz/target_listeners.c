/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "plan/listeners.h"
#include "plan/plan.h"
#include "stage.h"

/*
 * The format of /proc/net/unix, where any program of the host writes the paths that it likes. What
 * comes out are absolute paths, each the rest of a line, in their order.
 */

/* From a blank on it is the rest of the line. */
static bool is_field(const char *at, const char *path, size_t length)
{
	return at[0] == ' ' && strncmp(at + 1, path, length) == 0 &&
	       (at[1 + length] == '\0' || at[1 + length] == '\n');
}

int fuzz_listeners(const uint8_t *data, size_t size)
{
	char *text = stage_text(data, size), *copy = stage_text(data, size);
	const char *at = copy;
	struct text_list paths;

	must(listeners_parse(&paths, text) == 0);
	for (size_t i = 0; i < paths.count; i++) {
		size_t length = strlen(paths.items[i]);

		must(paths.items[i][0] == '/' && !strchr(paths.items[i], '\n'));
		while (at && !is_field(at, paths.items[i], length))
			at = strstr(at + 1, " /");
		must(at);
	}
	text_list_done(&paths);
	free(copy);
	free(text);
	return 0;
}

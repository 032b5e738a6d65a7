/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"
#include "keeper/cgroup.h"
#include "stage.h"

/*
 * The counters of a control group. The input is what each of its files holds. A counter that is
 * reported stands in the text, as a line of its own; one that is not, does not.
 */

#define READ_BYTES 4095 /* of a file: what the reader takes */

static const char *const files[] = {"cpu.stat",	     "memory.peak", "pids.peak",    "io.stat",
				    "memory.events", "pids.events", "cgroup.events"};

/* All of them are one file, so that an input is written once. */
static int open_group(void)
{
	static bool linked;
	int folder = stage_folder();

	for (size_t i = 0; !linked && i < ARRAY_SIZE(files); i++)
		must(symlinkat("text", folder, files[i]) == 0);
	linked = true;
	return folder;
}

/* The first line that is the key, a blank and a number. */
static bool find(const char *text, const char *key, uint64_t *ret_number)
{
	char *copy = strdup(text), *rest = copy, *line;
	size_t length = strlen(key);
	bool found = false;

	must(copy);
	while (!found && (line = strsep(&rest, "\n"))) {
		found = strncmp(line, key, length) == 0 && line[length] == ' ' &&
			line[length + 1] >= '0' && line[length + 1] <= '9';
		if (found)
			*ret_number = strtoull(line + length + 1, NULL, 10);
	}
	free(copy);
	return found;
}

static void must_agree(const char *text, const char *key, bool has, uint64_t number)
{
	uint64_t expected = 0;

	must(find(text, key, &expected) == has);
	must(!has || number == expected);
}

static void check(const struct payload *payload, const char *text)
{
	struct payload_counters counters;
	uint64_t number = 0, expected = 0;
	int populated;
	bool has_usage, is_number = text[0] >= '0' && text[0] <= '9';

	payload_count(payload, &counters);
	must_agree(text, "oom_kill", counters.has.oom_kills, counters.oom_kills);
	must_agree(text, "oom", counters.has.oom_limit, counters.oom_limit);
	must_agree(text, "max", counters.has.task_limit_hits, counters.task_limit_hits);
	must(counters.has.cpu ==
	     (find(text, "user_usec", &expected) && find(text, "system_usec", &expected)));
	must(counters.has.memory_peak == is_number && counters.has.tasks_peak == is_number);
	must(counters.memory_peak == counters.tasks_peak);
	must(counters.has.io);
	must(strstr(text, " rbytes=") || counters.io_read_bytes == 0);

	has_usage = payload_cpu(payload, &number);
	must_agree(text, "usage_usec", has_usage, number);
	/* It reads less of the file, which is two short lines. */
	populated = payload_populated(payload);
	must(populated == 0 || populated == 1 || populated == -EBADMSG);
}

int fuzz_cgroup(const uint8_t *data, size_t size)
{
	struct payload payload = PAYLOAD_INIT;
	char *text = stage_text(data, size);

	if (size > READ_BYTES)
		text[READ_BYTES] = '\0';
	payload.fd = open_group();
	stage_write("text", data, size);
	payload.events_fd = openat(payload.fd, "text", O_RDONLY | O_CLOEXEC);
	must(payload.events_fd >= 0);
	check(&payload, text);
	close(payload.events_fd);
	free(text);
	return 0;
}

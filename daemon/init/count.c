/* SPDX-License-Identifier: MIT */
#include "count.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* In /proc/PID/stat, counted from the one after the name: user, system, and those of the waited-for
 * (proc_pid_stat(5) counts from 1: 14 to 17). */
#define FIELD_FIRST 11
#define FIELD_COUNT 4

static void add_process(int proc, const char *name, uint64_t *ticks)
{
	char path[sizeof(((struct dirent64 *)0)->d_name) + sizeof("/stat")], text[1024], *at;
	ssize_t n;
	int fd, i;

	snprintf(path, sizeof(path), "%s/stat", name);
	fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return; /* it has ended */
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	/* The name is the process's own choice, parentheses included. */
	at = strrchr(text, ')');
	for (i = 0; at && i < FIELD_FIRST; i++)
		at = strchr(at + 1, ' ');
	for (i = 0; at && i < FIELD_COUNT; i++)
		ticks[i] += strtoull(at, &at, 10);
}

int count_processor_time(struct control_usage *ret)
{
	_Alignas(struct dirent64) char entries[4096];
	uint64_t ticks[FIELD_COUNT] = {0}, tick = 1000000u / (uint64_t)sysconf(_SC_CLK_TCK);
	struct dirent64 *entry;
	int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = 0;
	ssize_t n, at;

	if (proc < 0)
		return -errno;
	while ((n = getdents64(proc, entries, sizeof(entries))) > 0)
		for (at = 0; at < n; at += entry->d_reclen) {
			entry = (struct dirent64 *)(void *)(entries + at);
			if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
				add_process(proc, entry->d_name, ticks);
		}
	if (n < 0)
		r = -errno;
	close(proc);
	*ret = (struct control_usage){
		.user_microseconds = (ticks[0] + ticks[2]) * tick,
		.system_microseconds = (ticks[1] + ticks[3]) * tick,
	};
	return r;
}

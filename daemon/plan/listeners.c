/* SPDX-License-Identifier: MIT */
#include "listeners.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "plan/plan.h"
#include "text_file.h"

/* The kernel's SO_ACCEPTCON in the column Flags: listen() was called. */
#define UNIX_FLAG_LISTENS 0x10000u

static int parse(struct text_list *paths, char *text)
{
	char *line;

	while ((line = strsep(&text, "\n"))) {
		unsigned int flags, type;
		int taken = 0;
		int r;

		/* Num: RefCount Protocol Flags Type St Inode Path */
		if (sscanf(line, "%*x: %*x %*x %x %x %*x %*u%n", &flags, &type, &taken) != 2 ||
		    taken == 0 || line[taken] != ' ' || line[taken + 1] != '/')
			continue;
		/* A datagram socket never listens, and takes what anyone sends to its path. */
		if (!(flags & UNIX_FLAG_LISTENS) && type != SOCK_DGRAM)
			continue;
		r = text_list_add(paths, line + taken + 1);
		if (r < 0)
			return r;
	}
	return 0;
}

int listeners_parse(struct text_list *ret_paths, char *text)
{
	struct text_list paths = {0};
	int r = parse(&paths, text);

	if (r < 0)
		text_list_done(&paths);
	else
		*ret_paths = paths;
	return r;
}

int listeners_read(struct text_list *ret_paths)
{
	_cleanup_free_ char *text = NULL;
	int r = text_file_read("/proc/net/unix", 64u << 20, &text, NULL);

	return r < 0 ? r : listeners_parse(ret_paths, text);
}

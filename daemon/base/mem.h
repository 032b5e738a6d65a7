/* SPDX-License-Identifier: MIT */
#pragma once

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

/* Ownership helpers. The idea of cleanup by scope is systemd's. */

#define _cleanup_(function) __attribute__((__cleanup__(function)))
#define _printf_(format, arguments) __attribute__((__format__(__printf__, format, arguments)))

#define container_of(pointer, type, member)                                                        \
	((type *)(void *)((char *)(pointer)-offsetof(type, member)))

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

/* Hands a pointer on and forgets it here: return steal(&x). */
#define steal(pointer_to_pointer)                                                                  \
	({                                                                                         \
		__auto_type steal_p_ = (pointer_to_pointer);                                       \
		__auto_type steal_v_ = *steal_p_;                                                  \
		*steal_p_ = NULL;                                                                  \
		steal_v_;                                                                          \
	})

static inline void cleanup_free(void *pointer)
{
	free(*(void **)pointer);
}

#define _cleanup_free_ _cleanup_(cleanup_free)

/* Closes and returns -1, so that fd = fd_close(fd). Keeps errno. */
static inline int fd_close(int fd)
{
	if (fd >= 0) {
		int saved = errno;

		close(fd);
		errno = saved;
	}
	return -1;
}

static inline void cleanup_close(int *fd)
{
	*fd = fd_close(*fd);
}

#define _cleanup_close_ _cleanup_(cleanup_close)

static inline int fd_steal(int *fd)
{
	int value = *fd;

	*fd = -1;
	return value;
}

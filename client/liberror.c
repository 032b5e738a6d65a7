/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "lib.h"
#include "proto/codec.h"

/* What a caller is told about, and how long it waits. */

static const char *word_of(int number)
{
	switch (number) {
	case -ENOENT:
	case -ECONNREFUSED:
	case -EACCES:
	case -EPERM:
		return "no_daemon";
	case -ETIMEDOUT:
		return "no_answer";
	case -ECONNRESET:
		return "gone";
	case -EBADMSG:
	case -EPROTONOSUPPORT:
		return "protocol";
	case -ENOMEM:
		return "memory";
	default:
		return "invalid";
	}
}

/* A message quotes what is not UTF-8, or was cut in the middle of a character. */
static void make_text(char *bytes)
{
	for (size_t size = strlen(bytes); size > 0;) {
		size_t length = utf8_sequence((const uint8_t *)bytes, size);

		if (length == 0) {
			*bytes = '?';
			length = 1;
		}
		bytes += length;
		size -= length;
	}
}

int error_set(struct trials_error *ret_error, int number, const char *hint, const char *format, ...)
{
	va_list list;

	if (!ret_error)
		return number;
	memset(ret_error, 0, sizeof(*ret_error));
	snprintf(ret_error->code, sizeof(ret_error->code), "%s", word_of(number));
	va_start(list, format);
	vsnprintf(ret_error->message, sizeof(ret_error->message), format, list);
	va_end(list);
	make_text(ret_error->message);
	if (hint)
		snprintf(ret_error->hint, sizeof(ret_error->hint), "%s", hint);
	make_text(ret_error->hint);
	return number;
}

int error_too_long(struct trials_error *ret_error)
{
	return error_set(ret_error, -EMSGSIZE,
			 "a long prompt travels as a file: prompt_file or prompt_descriptor "
			 "instead of prompt",
			 "the request is over the %u bytes that one message may have",
			 FRAME_BYTES_MAX);
}

#define NANOSECONDS 1000000000ull

uint64_t monotonic_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NANOSECONDS + (uint64_t)now.tv_nsec;
}

uint64_t deadline_after(double seconds)
{
	/* Over a century is no limit; it also keeps the sum below from overflowing. */
	if (!(seconds >= 0) || seconds > 4e9)
		return UINT64_MAX;
	return monotonic_now() + (uint64_t)(seconds * (double)NANOSECONDS);
}

int deadline_milliseconds(uint64_t deadline)
{
	uint64_t now = monotonic_now();
	uint64_t left;

	if (deadline == UINT64_MAX)
		return -1;
	if (deadline <= now)
		return 0;
	left = (deadline - now + 999999) / 1000000;
	return left > 3600000 ? 3600000 : (int)left;
}

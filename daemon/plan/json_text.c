/* SPDX-License-Identifier: MIT */
#include "json_text.h"

#include <errno.h>
#include <string.h>

#define DEPTH_MAX 64

struct scan {
	const char *at;
	const char *end;
};

/* The next byte that is no blank, or 0 at the end. */
static char peek(struct scan *scan)
{
	while (scan->at < scan->end && strchr(" \t\r\n", *scan->at) && *scan->at)
		scan->at++;
	if (scan->at == scan->end)
		return '\0';
	return *scan->at;
}

static int take(struct scan *scan, char wanted)
{
	if (peek(scan) != wanted)
		return -EBADMSG;
	scan->at++;
	return 0;
}

/* What stands between the quotes, as it is written. */
static int take_string(struct scan *scan, const char **ret_text, size_t *ret_length)
{
	int r = take(scan, '"');

	*ret_text = scan->at;
	for (; r == 0 && scan->at < scan->end && *scan->at != '"'; scan->at++)
		if (*scan->at == '\\' && ++scan->at == scan->end)
			return -EBADMSG;
	*ret_length = (size_t)(scan->at - *ret_text);
	return r == 0 && scan->at < scan->end ? take(scan, '"') : -EBADMSG;
}

static int skip_value(struct scan *scan, unsigned int depth);

/* Behind the opening bracket, to behind the closing one. */
static int skip_items(struct scan *scan, char close, unsigned int depth)
{
	const char *text;
	size_t length;
	int r = 0;

	if (depth == DEPTH_MAX)
		return -EBADMSG;
	if (peek(scan) == close)
		return take(scan, close);
	for (;;) {
		if (close == '}')
			r = take_string(scan, &text, &length);
		if (r == 0 && close == '}')
			r = take(scan, ':');
		if (r == 0)
			r = skip_value(scan, depth + 1);
		if (r < 0)
			return r;
		if (peek(scan) != ',')
			return take(scan, close);
		scan->at++;
	}
}

static int skip_value(struct scan *scan, unsigned int depth)
{
	static const char plain[] =
		"+-.0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
	const char *text;
	size_t length;

	switch (peek(scan)) {
	case '"':
		return take_string(scan, &text, &length);
	case '{':
		scan->at++;
		return skip_items(scan, '}', depth);
	case '[':
		scan->at++;
		return skip_items(scan, ']', depth);
	default:
		text = scan->at;
		while (scan->at < scan->end && *scan->at && strchr(plain, *scan->at))
			scan->at++;
		return scan->at > text ? 0 : -EBADMSG;
	}
}

static int take_text(struct scan *scan, char *ret_text, size_t text_size)
{
	const char *text;
	size_t length;
	int r;

	if (peek(scan) != '"')
		return -ENOENT;
	r = take_string(scan, &text, &length);
	if (r < 0)
		return r;
	if (length >= text_size || memchr(text, '\\', length) || memchr(text, '\0', length))
		return -ENOENT;
	memcpy(ret_text, text, length);
	ret_text[length] = '\0';
	return 0;
}

int json_text_find(const char *json, size_t size, const char *path, char *ret_text,
		   size_t text_size)
{
	struct scan scan = {.at = json, .end = json + size};
	size_t wanted = strcspn(path, ".");
	int r = take(&scan, '{');

	while (r == 0) {
		const char *key;
		size_t length;

		if (peek(&scan) == '}')
			return -ENOENT;
		r = take_string(&scan, &key, &length);
		if (r == 0)
			r = take(&scan, ':');
		if (r < 0)
			break;
		if (length == wanted && memcmp(key, path, length) == 0) {
			if (!path[wanted])
				return take_text(&scan, ret_text, text_size);
			if (peek(&scan) != '{')
				return -ENOENT;
			/* What is inside goes on as the whole did. */
			path += wanted + 1;
			wanted = strcspn(path, ".");
			scan.at++;
			continue;
		}
		r = skip_value(&scan, 0);
		if (r == 0 && peek(&scan) == ',')
			scan.at++;
		else if (r == 0)
			return peek(&scan) == '}' ? -ENOENT : -EBADMSG;
	}
	return r;
}

/* SPDX-License-Identifier: MIT */

/*
 * What a login's JSON is read with. jansson does the reading; what it does not bound, or says too
 * much about, is done here: depth is counted before it recurses, lengths of keys afterwards, and
 * its error texts are never used, since they quote the bytes around the error.
 */
#include "gate_json.h"

#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define TOKEN_BYTES_MAX 16384u

static void free_wiped(void *pointer)
{
	if (pointer)
		explicit_bzero(pointer, malloc_usable_size(pointer));
	free(pointer);
}

static void set_allocation(void)
{
	json_set_alloc_funcs(malloc, free_wiped);
}

/* Brackets outside strings: what is not JSON at all is the parser's to refuse. */
static bool depth_allowed(const char *bytes, size_t size)
{
	bool quoted = false;
	size_t depth = 0;

	for (size_t i = 0; i < size; i++) {
		char c = bytes[i];

		if (quoted && c == '\\')
			i++;
		else if (c == '"')
			quoted = !quoted;
		else if (!quoted && (c == '{' || c == '['))
			depth++;
		else if (!quoted && (c == '}' || c == ']') && depth > 0)
			depth--;
		if (depth > GATE_DEPTH_MAX)
			return false;
	}
	return true;
}

static bool keys_allowed(const json_t *value)
{
	const char *key;
	const json_t *item;
	size_t i;

	json_object_foreach((json_t *)value, key, item) if (strlen(key) > GATE_KEY_BYTES_MAX ||
							    !keys_allowed(item)) return false;
	json_array_foreach(value, i, item) if (!keys_allowed(item)) return false;
	return true;
}

int gate_json_parse(json_t **ret_root, const void *bytes, size_t size)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	json_t *root;
	json_error_t error;

	pthread_once(&once, set_allocation);
	if (size == 0 || size > GATE_BYTES_MAX || memchr(bytes, '\0', size) ||
	    !utf8_valid(bytes, size) || !depth_allowed(bytes, size))
		return -EBADMSG;
	root = json_loadb(bytes, size, JSON_REJECT_DUPLICATES, &error);
	if (!root)
		return json_error_code(&error) == json_error_out_of_memory ? -ENOMEM : -EBADMSG;
	if (!json_is_object(root) || !keys_allowed(root)) {
		json_decref(root);
		return -EBADMSG;
	}
	*ret_root = root;
	return 0;
}

static int visit_all(const char *rest, size_t length, const json_t *a, const json_t *b,
		     gate_visit visit, void *context)
{
	const json_t *value;
	const char *key;
	int r;

	json_object_foreach((json_t *)a, key, value)
	{
		r = gate_json_visit(rest, length, value, json_object_get(b, key), visit, context);
		if (r != 0)
			return r;
	}
	json_object_foreach((json_t *)b, key, value)
	{
		r = json_object_get(a, key)
			    ? 0
			    : gate_json_visit(rest, length, NULL, value, visit, context);
		if (r != 0)
			return r;
	}
	return 0;
}

int gate_json_visit(const char *path, size_t length, const json_t *a, const json_t *b,
		    gate_visit visit, void *context)
{
	const char *dot = memchr(path, '.', length);
	size_t part = dot ? (size_t)(dot - path) : length, skip = dot ? part + 1 : part;
	char key[GATE_PATH_BYTES_MAX + 1];

	if (length == 0)
		return visit(context, a, b);
	if (part > GATE_PATH_BYTES_MAX)
		return -EINVAL;
	if (part == 1 && path[0] == '*')
		return visit_all(path + skip, length - skip, a, b, visit, context);
	memcpy(key, path, part);
	key[part] = '\0';
	return gate_json_visit(path + skip, length - skip, json_object_get(a, key),
			       json_object_get(b, key), visit, context);
}

static bool pattern_matches(const char *pattern, const char *const *keys, size_t depth)
{
	for (size_t i = 0; i < depth; i++) {
		size_t part = strcspn(pattern, ".");

		if (part == 0)
			return false;
		if (!(part == 1 && *pattern == '*') &&
		    (strlen(keys[i]) != part || memcmp(keys[i], pattern, part) != 0))
			return false;
		pattern += part;
		pattern += *pattern == '.';
	}
	return *pattern == '\0';
}

bool gate_json_matches(const struct text_list *patterns, const char *const *keys, size_t depth)
{
	for (size_t i = 0; i < patterns->count; i++)
		if (pattern_matches(patterns->items[i], keys, depth))
			return true;
	return false;
}

bool gate_json_filled(const json_t *value)
{
	if (json_is_string(value)) {
		const char *text = json_string_value(value);

		return text[strspn(text, " \t\r\n")] != '\0';
	}
	if (json_is_object(value))
		return json_object_size(value) > 0;
	if (json_is_array(value))
		return json_array_size(value) > 0;
	return value && !json_is_null(value);
}

static int base64url_value(char c)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* Without padding, as in a JWT. The size of what was decoded, or -EBADMSG. */
static ssize_t base64url_decode(const char *text, size_t length, uint8_t *ret_bytes)
{
	unsigned int bits = 0, held = 0;
	size_t size = 0;

	if (length % 4 == 1)
		return -EBADMSG;
	for (size_t i = 0; i < length; i++) {
		int value = base64url_value(text[i]);

		if (value < 0)
			return -EBADMSG;
		held = held << 6 | (unsigned int)value;
		bits += 6;
		if (bits < 8)
			continue;
		bits -= 8;
		ret_bytes[size++] = (uint8_t)(held >> bits);
		held &= (1u << bits) - 1;
	}
	return (ssize_t)size;
}

int gate_json_claim(const json_t *token, const char *claim, json_t **ret)
{
	const char *text = json_string_value(token), *payload, *signature;
	uint8_t bytes[TOKEN_BYTES_MAX];
	json_t *root = NULL;
	ssize_t size;
	int r;

	*ret = NULL;
	payload = text ? strchr(text, '.') : NULL;
	signature = payload ? strchr(payload + 1, '.') : NULL;
	if (!signature || strchr(signature + 1, '.'))
		return 0;
	payload++;
	if ((size_t)(signature - payload) > TOKEN_BYTES_MAX)
		return 0;
	size = base64url_decode(payload, (size_t)(signature - payload), bytes);
	r = size < 0 ? -EBADMSG : gate_json_parse(&root, bytes, (size_t)size);
	explicit_bzero(bytes, sizeof(bytes));
	if (r < 0)
		return r == -EBADMSG ? 0 : r;
	*ret = json_incref(json_object_get(root, claim));
	json_decref(root);
	return 0;
}

static bool take_digits(const char **text, int digits, int *ret)
{
	*ret = 0;
	for (int i = 0; i < digits; i++, (*text)++) {
		if (**text < '0' || **text > '9')
			return false;
		*ret = *ret * 10 + **text - '0';
	}
	return true;
}

static bool take_letter(const char **text, const char *letters)
{
	if (**text == '\0' || !strchr(letters, **text))
		return false;
	(*text)++;
	return true;
}

/* Seconds east of UTC. */
static bool take_offset(const char **text, int *ret)
{
	int sign = **text == '-' ? -1 : 1, hours, minutes;

	*ret = 0;
	if (take_letter(text, "Zz"))
		return true;
	if (!take_letter(text, "+-") || !take_digits(text, 2, &hours) || !take_letter(text, ":") ||
	    !take_digits(text, 2, &minutes) || hours > 23 || minutes > 59)
		return false;
	*ret = sign * (hours * 3600 + minutes * 60);
	return true;
}

/* Of the proleptic Gregorian calendar, since 1970. timegm would look for the time zone's file. */
static int64_t days_of(int year, int month, int day)
{
	int64_t y = year - (month <= 2), era = y / 400, of_era = y - era * 400;
	int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;

	return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

/* 2026-11-29T20:40:00.123Z, 2026-11-29T21:40:00+01:00 */
static uint64_t time_of_text(const char *text)
{
	int year, month, day, hour, minute, second, offset;
	int64_t seconds;

	if (!text || !take_digits(&text, 4, &year) || !take_letter(&text, "-") ||
	    !take_digits(&text, 2, &month) || !take_letter(&text, "-") ||
	    !take_digits(&text, 2, &day) || !take_letter(&text, "Tt ") ||
	    !take_digits(&text, 2, &hour) || !take_letter(&text, ":") ||
	    !take_digits(&text, 2, &minute) || !take_letter(&text, ":") ||
	    !take_digits(&text, 2, &second))
		return 0;
	if (take_letter(&text, "."))
		while (take_letter(&text, "0123456789"))
			continue;
	if (!take_offset(&text, &offset) || *text != '\0' || month < 1 || month > 12 || day < 1 ||
	    day > 31 || hour > 23 || minute > 59 || second > 60)
		return 0;
	seconds = days_of(year, month, day) * 86400 + hour * 3600 + minute * 60 + second - offset;
	return seconds > 0 ? (uint64_t)seconds * 1000000u : 0;
}

uint64_t gate_json_time(const json_t *value, enum gate_unit unit)
{
	/* The last second of the year 9999: what is beyond is no time of this unit. */
	const double most = 253402300799e6;
	double factor = unit == GATE_UNIT_s ? 1e6 : 1e3, time;

	if (unit == GATE_UNIT_rfc3339)
		return time_of_text(json_string_value(value));
	if (!json_is_number(value))
		return 0;
	time = json_number_value(value) * factor;
	return time >= 1 && time <= most ? (uint64_t)time : 0;
}

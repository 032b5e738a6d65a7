/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/bind.h"
#include "client/json.h"
#include "fuzz.h"
#include "stage.h"

/*
 * SRC[:DST][:ro|rw][:optional] and DIR[:ro|:rw]. What is accepted, written once more with every
 * part and with the colons of names escaped, is the same bind.
 */

static void print_escaped(FILE *file, const json_t *path)
{
	size_t size;
	char *bytes;

	must(json_to_bytes(path, &bytes, &size) == 0 && strlen(bytes) == size);
	for (const char *at = bytes; *at; at++) {
		if (*at == ':')
			fputc('\\', file);
		fputc(*at, file);
	}
	free(bytes);
}

static void print_bind(FILE *file, const json_t *bind)
{
	const json_t *destination = json_object_get(bind, "destination");

	print_escaped(file, json_object_get(bind, "source"));
	if (destination) {
		fputc(':', file);
		print_escaped(file, destination);
	}
	if (json_text(bind, "mode"))
		fprintf(file, ":%s", json_text(bind, "mode"));
	if (json_flag(bind, "optional"))
		fprintf(file, ":optional");
}

/* Written, a name that ends with a backslash would escape the colon behind it. */
static bool can_be_written(const json_t *bind, const char *key)
{
	const json_t *path = json_object_get(bind, key);
	size_t size;
	char *bytes;
	bool can;

	if (!path)
		return true;
	must(json_to_bytes(path, &bytes, &size) == 0);
	must(bytes[0] == '/');
	can = bytes[size - 1] != '\\' && !strstr(bytes, "\\:");
	free(bytes);
	return can;
}

static void must_be_source(const json_t *bind, const char *text)
{
	size_t size;
	char *bytes;

	must(json_object_size(bind) == 1);
	must(json_to_bytes(json_object_get(bind, "source"), &bytes, &size) == 0);
	must(strcmp(bytes, text) == 0);
	free(bytes);
}

static void check_bind(const char *text)
{
	struct trials_error error;
	json_t *bind, *again;
	char *written = NULL;
	size_t size = 0;
	FILE *file;

	if (parse_bind(text, &bind, &error) < 0) {
		must(error.message[0]);
		return;
	}
	/* Without a colon it is one name, and nothing in it means anything else. */
	if (text[0] == '/' && !strchr(text, ':'))
		must_be_source(bind, text);
	if (can_be_written(bind, "source") && can_be_written(bind, "destination")) {
		file = open_memstream(&written, &size);
		must(file);
		print_bind(file, bind);
		must(fclose(file) == 0);
		must(parse_bind(written, &again, &error) == 0 && json_equal(bind, again));
		json_decref(again);
		free(written);
	}
	json_decref(bind);
}

static void check_repository(const char *text)
{
	struct trials_error error;
	const char *mode;
	char *path;

	if (parse_repository(text, &path, &mode, &error) < 0) {
		must(error.message[0]);
		return;
	}
	must(path[0] == '/');
	must(!mode || strcmp(mode, "ro") == 0 || strcmp(mode, "rw") == 0);
	free(path);
}

int fuzz_bind(const uint8_t *data, size_t size)
{
	char *text = stage_text(data, size);

	check_bind(text);
	check_repository(text);
	free(text);
	return 0;
}

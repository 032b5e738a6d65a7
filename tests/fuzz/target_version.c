/* SPDX-License-Identifier: MIT */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "plan/json_text.h"
#include "plan/program_ask.h"
#include "stage.h"

/*
 * What a program's release, or the program itself, says of its version. Of JSON that is right and has
 * no escapes, no NUL and no great depth, the text that is found is the one that jansson finds, and none is
 * found where that finds none. Of what is printed a version comes out that is one when it is read
 * again, and it is a part of what was printed.
 */

#define PATH "a.b"
#define DEPTH 60

static size_t brackets(const char *text, size_t size)
{
	size_t count = 0;

	for (size_t i = 0; i < size; i++)
		count += text[i] == '[' || text[i] == '{';
	return count;
}

static void check_json(const char *text, size_t size)
{
	char found[PROGRAM_VERSION_BYTES_MAX + 1] = "";
	int r = json_text_find(text, size, PATH, found, sizeof(found));
	json_t *root = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
	const char *wanted = json_string_value(json_object_get(json_object_get(root, "a"), "b"));

	must(r == 0 || r == -ENOENT || r == -EBADMSG);
	must(strlen(found) < sizeof(found));
	if (json_is_object(root) && !memchr(text, '\\', size) && !memchr(text, '\0', size) &&
	    brackets(text, size) < DEPTH) {
		bool fits = wanted && strlen(wanted) < sizeof(found);

		must(r == (fits ? 0 : -ENOENT));
		must(!fits || strcmp(found, wanted) == 0);
	}
	json_decref(root);
}

static void check_output(const char *text)
{
	char version[PROGRAM_VERSION_BYTES_MAX + 1], again[PROGRAM_VERSION_BYTES_MAX + 1];

	must(program_version_of_text(text, version) == 0);
	must(strstr(text, version) && strspn(version, "0123456789.") == strlen(version));
	must(program_version_of_text(version, again) == 0 && strcmp(version, again) == 0);
}

int fuzz_version(const uint8_t *data, size_t size)
{
	char *text = stage_text(data, size);

	check_json((const char *)data, size);
	check_output(text);
	free(text);
	return 0;
}

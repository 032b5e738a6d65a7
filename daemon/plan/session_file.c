/* SPDX-License-Identifier: MIT */
/*
 * The files that a fresh home starts with. A path is one file, however many keys name it: the
 * person's own copy first, then [Home]'s lines, then [Web]'s. %h and %r stand in strings of JSON or
 * TOML, so they are written as such a string's characters, and must be text.
 */
#include "session_file.h"

#include <stdio.h>
#include <string.h>

/* "~/x" with the home in the place of "~". */
static int path_inside(const char *path, const char *home, char **ret_path)
{
	if (asprintf(ret_path, "%s%s", home, path + 1) < 0) {
		*ret_path = NULL;
		return -ENOMEM;
	}
	return 0;
}

static int file_for(struct session *session, const char *home, const char *path,
		    struct session_file **ret_file)
{
	_cleanup_free_ char *inside = NULL;
	struct session_file *files;
	int r = path_inside(path, home, &inside);

	if (r < 0)
		return r;
	for (size_t i = 0; i < session->file_count; i++)
		if (strcmp(session->files[i].path, inside) == 0) {
			*ret_file = &session->files[i];
			return 0;
		}
	files = realloc(session->files, (session->file_count + 1) * sizeof(*files));
	if (!files)
		return -ENOMEM;
	session->files = files;
	files[session->file_count] = (struct session_file){.text = strdup("")};
	if (!files[session->file_count].text)
		return -ENOMEM;
	files[session->file_count].path = steal(&inside);
	*ret_file = &files[session->file_count++];
	return 0;
}

/* Whether a value that would be written is text. */
static int check_values(const struct harness_seed *seed, const struct specifier *specifiers,
			struct fault *fault)
{
	for (; specifiers->letter; specifiers++) {
		const char *value = specifiers->value, *text = seed->text;
		struct text_list words = {.count = 1, .items = &text};

		if (value && words_use(&words, specifiers->letter) &&
		    !utf8_valid(value, strlen(value)))
			return fault_set(fault, ERROR_invalid,
					 "%s: it is to hold the path of the %s, which is not text "
					 "(UTF-8)",
					 seed->path,
					 specifiers->letter == 'h' ? "home" : "repository");
	}
	return 0;
}

static int add_seeds(struct session *session, const struct session_request *request,
		     const struct harness_seed_list *seeds, bool web,
		     const struct specifier *specifiers, struct fault *fault)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < seeds->count; i++) {
		_cleanup_free_ char *text = NULL, *both = NULL;
		struct session_file *file;

		r = check_values(&seeds->items[i], specifiers, fault);
		if (r == 0)
			r = specifiers_expand(seeds->items[i].text, specifiers, true, &text);
		if (r == 0)
			r = file_for(session, request->home, seeds->items[i].path, &file);
		if (r != 0)
			return r;
		if (asprintf(&both, "%s%s", file->text, text) < 0) {
			both = NULL;
			return -ENOMEM;
		}
		free(file->text);
		file->text = steal(&both);
		file->web |= web;
	}
	return r;
}

static int by_path(const void *a, const void *b)
{
	const struct session_file *one = a, *other = b;

	return strcmp(one->path, other->path);
}

int session_files_add(struct session *session, const struct session_request *request,
		      const struct specifier *specifiers, struct fault *ret_fault)
{
	const struct harness *harness = request->harness;
	const struct text_list *copies = &harness->home.copies;
	int r = 0;

	for (size_t i = 0; r == 0 && i < copies->count; i++) {
		struct session_file *file;

		r = file_for(session, request->home, copies->items[i], &file);
		if (r == 0)
			file->copy = true;
	}
	if (r == 0)
		r = add_seeds(session, request, &harness->home.seeds, false, specifiers, ret_fault);
	if (r == 0 && !request->web)
		r = add_seeds(session, request, &harness->web.seeds, true, specifiers, ret_fault);
	if (r == 0 && session->file_count > 0)
		qsort(session->files, session->file_count, sizeof(*session->files), by_path);
	return r;
}

/* "[a.b]" of a line, without the blanks that may be in it; not "[[a]]", which may be there often. */
static size_t table_of(const char *line, char *name, size_t most)
{
	size_t length = 0;

	line += strspn(line, " \t");
	if (line[0] != '[' || line[1] == '[')
		return 0;
	for (; *line && *line != '\n' && length + 1 < most; line++) {
		if (*line == ' ' || *line == '\t' || *line == '\r')
			continue;
		name[length++] = *line;
		if (*line != ']')
			continue;
		name[length] = '\0';
		return length;
	}
	return 0;
}

static const char *next_line(const char *line)
{
	line += strcspn(line, "\n");
	return *line ? line + 1 : line;
}

int session_file_table_twice(const char *own, const char *text, char **ret_table)
{
	char one[128], other[128];

	*ret_table = NULL;
	for (const char *added = text; *added; added = next_line(added)) {
		if (table_of(added, one, sizeof(one)) == 0)
			continue;
		for (const char *line = own; *line; line = next_line(line)) {
			if (table_of(line, other, sizeof(other)) == 0 || strcmp(one, other) != 0)
				continue;
			*ret_table = strdup(one);
			return *ret_table ? 0 : -ENOMEM;
		}
	}
	return 0;
}

/* SPDX-License-Identifier: MIT */
#include "path_pattern.h"

#include <glob.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "harness.h"

#define MATCHES_MAX 4096 /* of one pattern */

int path_try(const char *path, path_accept accept, struct place *ret_place)
{
	_cleanup_fault_ struct fault ignored = FAULT_INIT;
	_cleanup_(place_done) struct place place = PLACE_INIT;
	int r = place_open(&place, "path", path, NULL, &ignored);

	if (r == -ENOMEM || r == -EMFILE || r == -ENFILE)
		return r;
	if (r != 0 || !accept(&place))
		return 0;
	*ret_place = place;
	place = PLACE_INIT;
	return 1;
}

/* Whether a path is of a higher version than another one that matched the same pattern. */
static bool is_higher(const char *path, const char *other)
{
	const char *a = path, *b = other;
	int order;

	while (*a && *a == *b)
		a++, b++;
	while (a > path && a[-1] != '/')
		a--, b--;
	order = harness_version_compare(a + strcspn(a, "/0123456789"),
					b + strcspn(b, "/0123456789"));
	return order != 0 ? order > 0 : strcmp(a, b) > 0;
}

/* As glob(3) wants it: only * means something. */
static int escape(const char *text, bool stars, char **ret_pattern)
{
	char *pattern = malloc(2 * strlen(text) + 1), *to = pattern;

	if (!pattern)
		return -ENOMEM;
	for (; *text; text++) {
		if (strchr("?[\\", *text) || (*text == '*' && !stars))
			*to++ = '\\';
		*to++ = *text;
	}
	*to = '\0';
	*ret_pattern = pattern;
	return 0;
}

static int pattern_of(const char *base, const char *pattern, char **ret_whole)
{
	_cleanup_free_ char *literal = NULL, *stars = NULL;
	int r = escape(base, false, &literal);

	if (r == 0)
		r = escape(pattern, true, &stars);
	if (r == 0 && asprintf(ret_whole, "%s%s", literal, stars) < 0) {
		*ret_whole = NULL;
		r = -ENOMEM;
	}
	return r;
}

/* A folder that may not be read has nothing to show; want of descriptors is no such answer. */
static int on_glob_error(const char *path, int error)
{
	(void)path;
	return error == EMFILE || error == ENFILE || error == ENOMEM;
}

/* 1 and what is there, for globfree(3); 0: nothing; -E2BIG: more than anybody has. */
static int matches(const char *base, const char *pattern, glob_t *ret_found)
{
	_cleanup_free_ char *whole = NULL;
	int r = pattern_of(base, pattern, &whole);

	if (r < 0)
		return r;
	r = glob(whole, GLOB_NOSORT, on_glob_error, ret_found);
	if (r == GLOB_ABORTED)
		globfree(ret_found);
	if (r != 0)
		return r == GLOB_NOSPACE ? -ENOMEM : r == GLOB_ABORTED ? -EMFILE : 0;
	if (ret_found->gl_pathc <= MATCHES_MAX)
		return 1;
	globfree(ret_found);
	return -E2BIG;
}

static int newest_of(const glob_t *found, path_accept accept, char **best, struct place *best_place)
{
	for (size_t i = 0; i < found->gl_pathc; i++) {
		_cleanup_(place_done) struct place place = PLACE_INIT;
		const char *path = found->gl_pathv[i];
		int r;

		if (*best && !is_higher(path, *best))
			continue;
		r = path_try(path, accept, &place);
		if (r < 0)
			return r;
		if (r == 0)
			continue;
		free(*best);
		*best = strdup(path);
		place_done(best_place);
		*best_place = place;
		place = PLACE_INIT;
		if (!*best)
			return -ENOMEM;
	}
	return *best != NULL;
}

int path_newest(const char *base, const char *pattern, path_accept accept, char **ret_path,
		struct place *ret_place)
{
	_cleanup_(place_done) struct place place = PLACE_INIT;
	_cleanup_free_ char *best = NULL;
	glob_t found = {0};
	int r = matches(base, pattern, &found);

	if (r != 1)
		return r;
	r = newest_of(&found, accept, &best, &place);
	globfree(&found);
	if (r != 1)
		return r;
	*ret_path = steal(&best);
	*ret_place = place;
	place = PLACE_INIT;
	return 1;
}

int path_all(const char *base, const char *pattern, struct text_list *paths)
{
	glob_t found = {0};
	int r = matches(base, pattern, &found);

	if (r != 1)
		return r;
	r = 0;
	for (size_t i = 0; r == 0 && i < found.gl_pathc; i++)
		r = text_list_add(paths, found.gl_pathv[i]);
	globfree(&found);
	return r;
}

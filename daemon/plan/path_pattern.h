/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/list.h"
#include "place.h"

/*
 * Paths of which a * stands for a part of a name: where installers put one folder for each version.
 * What is there is what accept says of it, once it was opened.
 */
typedef bool (*path_accept)(const struct place *place);

/* Opens it: 1, or 0 when there is no such, or -errno of a lack of memory or descriptors. */
int path_try(const char *path, path_accept accept, struct place *ret_place);

/*
 * The one of the highest version among what base (literally) and pattern, one behind the other,
 * name: 1 with both set, the path to be freed; or 0, or -errno.
 */
int path_newest(const char *base, const char *pattern, path_accept accept, char **ret_path,
		struct place *ret_place);

/* Adds all that they name, whatever it is. 0 or -errno. */
int path_all(const char *base, const char *pattern, struct text_list *paths);

/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bind.h"
#include "libjson.h"
#include "options.h"

int path_absolute(const char *path, char **ret_path)
{
	char *folder, *joined;
	int r;

	if (!*path)
		return -EINVAL;
	if (*path == '/') {
		joined = strdup(path);
		if (!joined)
			return -ENOMEM;
		*ret_path = joined;
		return 0;
	}
	while (path[0] == '.' && path[1] == '/')
		for (path += 2; *path == '/'; path++)
			;
	folder = get_current_dir_name();
	if (!folder)
		return -errno;
	if (!*path || strcmp(path, ".") == 0)
		r = asprintf(&joined, "%s", folder);
	else
		r = asprintf(&joined, "%s%s%s", folder, strcmp(folder, "/") == 0 ? "" : "/", path);
	free(folder);
	if (r < 0)
		return -ENOMEM;
	*ret_path = joined;
	return 0;
}

static int path_error(int number, const char *option, struct trials_error *ret_error)
{
	if (number == -EINVAL)
		return usage_error(ret_error, NULL, "--%s: the path is empty", option);
	return usage_error(ret_error, "use absolute paths, or change to a folder that exists",
			   "--%s: cannot tell the current folder: %s", option, strerror(-number));
}

/* The last colon that is not written as `\:`, or NULL. */
static char *last_colon(char *text)
{
	for (size_t i = strlen(text); i > 0; i--)
		if (text[i - 1] == ':' && !(i > 1 && text[i - 2] == '\\'))
			return text + i - 1;
	return NULL;
}

/* Cuts off the last part when it is that word; the first part is always a path. */
static bool take_suffix(char *text, const char *word)
{
	char *colon = last_colon(text);

	if (!colon || strcmp(colon + 1, word) != 0)
		return false;
	*colon = 0;
	return true;
}

static const char *take_mode(char *text)
{
	if (take_suffix(text, "ro"))
		return "ro";
	return take_suffix(text, "rw") ? "rw" : NULL;
}

static void unescape(char *text)
{
	char *to = text;

	for (; *text; text++) {
		if (text[0] == '\\' && text[1] == ':')
			text++;
		*to++ = *text;
	}
	*to = 0;
}

static int set_bytes(json_t *object, const char *key, const char *bytes)
{
	return json_object_set_new(object, key, json_from_bytes(bytes, strlen(bytes)));
}

static int fill_bind(char *text, json_t *bind, struct trials_error *ret_error)
{
	bool optional = take_suffix(text, "optional");
	const char *mode = take_mode(text);
	char *colon = last_colon(text);
	char *destination = colon ? colon + 1 : NULL;
	char *source;
	int r;

	if (colon) {
		*colon = 0;
		if (strcmp(destination, "optional") == 0)
			return usage_error(ret_error, "write it behind the mode: :ro:optional",
					   "--bind takes SRC[:DST][:ro|rw][:optional], in this "
					   "order");
		if (last_colon(text))
			return usage_error(
				ret_error, "write \\: for a colon of a name",
				"--bind takes SRC[:DST][:ro|rw][:optional]; this has more "
				"parts");
		unescape(destination);
		if (*destination != '/')
			return usage_error(ret_error,
					   "write \\: for a colon of a name; the mode is ro or rw",
					   "--bind: \"%s\" is no absolute destination",
					   destination);
	}
	unescape(text);
	r = path_absolute(text, &source);
	if (r < 0)
		return path_error(r, "bind", ret_error);
	r = set_bytes(bind, "source", source);
	free(source);
	if (destination)
		r |= set_bytes(bind, "destination", destination);
	if (mode)
		r |= json_object_set_new(bind, "mode", json_string(mode));
	if (optional)
		r |= json_object_set_new(bind, "optional", json_true());
	return r ? -ENOMEM : 0;
}

int parse_bind(const char *text, json_t **ret_bind, struct trials_error *ret_error)
{
	char *copy = strdup(text);
	json_t *bind = json_object();
	int r = -ENOMEM;

	if (copy && bind)
		r = fill_bind(copy, bind, ret_error);
	free(copy);
	if (r == -ENOMEM)
		usage_error(ret_error, NULL, "out of memory");
	if (r < 0) {
		json_decref(bind);
		return r;
	}
	*ret_bind = bind;
	return 0;
}

int parse_repository(const char *text, char **ret_path, const char **ret_mode,
		     struct trials_error *ret_error)
{
	char *copy = strdup(text);
	int r;

	if (!copy) {
		usage_error(ret_error, NULL, "out of memory");
		return -ENOMEM;
	}
	*ret_mode = take_mode(copy);
	unescape(copy);
	r = path_absolute(copy, ret_path);
	free(copy);
	return r < 0 ? path_error(r, "repository", ret_error) : 0;
}

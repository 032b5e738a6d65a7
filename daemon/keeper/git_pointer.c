/* SPDX-License-Identifier: MIT */
#include "git_pointer.h"

#include <string.h>
#include <strings.h>

static int copy_path(const char *bytes, size_t size, char **ret_path)
{
	if (size == 0 || size > GIT_PATH_BYTES_MAX || memchr(bytes, '\0', size))
		return -EBADMSG;
	*ret_path = strndup(bytes, size);
	return *ret_path ? 0 : -ENOMEM;
}

/* In place. -EBADMSG: it leads above the root. */
static int normalize(char *path)
{
	char *out = path, *at = path;

	while (*at) {
		size_t length;

		at += strspn(at, "/");
		length = strcspn(at, "/");
		if (length == 0)
			break;
		if (length == 2 && at[0] == '.' && at[1] == '.') {
			if (out == path)
				return -EBADMSG;
			while (*--out != '/')
				;
		} else if (length != 1 || at[0] != '.') {
			*out++ = '/';
			memmove(out, at, length);
			out += length;
		}
		at += length;
	}
	if (out == path)
		*out++ = '/';
	*out = '\0';
	return 0;
}

int git_path_join(const char *base, const char *path, bool normal, char **ret_path)
{
	size_t length = path[0] == '/' ? 0 : strlen(base), size = strlen(path);
	_cleanup_free_ char *joined = NULL;
	int r;

	if (size == 0 || length + 1 + size > GIT_PATH_BYTES_MAX)
		return -EBADMSG;
	joined = malloc(length + 1 + size + 1);
	if (!joined)
		return -ENOMEM;
	memcpy(joined, base, length);
	if (length > 0)
		joined[length++] = '/';
	memcpy(joined + length, path, size + 1);
	r = normal ? normalize(joined) : 0;
	if (r == 0)
		*ret_path = steal(&joined);
	return r;
}

/* Without the line's end, as git takes it off: any number of them. */
static size_t without_end(const char *bytes, size_t size)
{
	while (size > 0 && (bytes[size - 1] == '\n' || bytes[size - 1] == '\r'))
		size--;
	return size;
}

int git_pointer_parse(const char *bytes, size_t size, char **ret_path)
{
	static const char prefix[] = "gitdir: ";
	const size_t length = sizeof(prefix) - 1;

	if (size > GIT_POINTER_BYTES_MAX || size < length || memcmp(bytes, prefix, length) != 0)
		return -EBADMSG;
	return copy_path(bytes + length, without_end(bytes + length, size - length), ret_path);
}

int git_path_parse(const char *bytes, size_t size, char **ret_path)
{
	if (size > GIT_POINTER_BYTES_MAX)
		return -EBADMSG;
	return copy_path(bytes, without_end(bytes, size), ret_path);
}

void git_paths_done(struct git_paths *paths)
{
	for (size_t i = 0; i < paths->count; i++)
		free(paths->items[i]);
	free(paths->items);
	*paths = (struct git_paths){0};
}

int git_paths_add(struct git_paths *paths, char *path)
{
	char **items = NULL;
	int r = -ENOSPC;

	if (paths->count < GIT_ALTERNATES_MAX) {
		items = realloc(paths->items, (paths->count + 1) * sizeof(*items));
		r = items ? 0 : -ENOMEM;
	}
	if (r < 0) {
		free(path);
		return r;
	}
	paths->items = items;
	items[paths->count++] = path;
	return 0;
}

/* One character of a quoted path; false at what git does not quote so. */
static bool unquote(const char **at, const char *end, char *ret)
{
	static const char from[] = "abfnrtv\\\"", to[] = "\a\b\f\n\r\t\v\\\"";
	const char *found;
	unsigned int value = 0;

	if (**at != '\\') {
		*ret = *(*at)++;
		return true;
	}
	if (++*at == end)
		return false;
	found = **at ? strchr(from, **at) : NULL;
	if (found) {
		*ret = to[found - from];
		++*at;
		return true;
	}
	if (end - *at < 3 || **at > '3')
		return false;
	for (int i = 0; i < 3; i++, ++*at) {
		if (**at < '0' || **at > '7')
			return false;
		value = value * 8 + (unsigned int)(**at - '0');
	}
	*ret = (char)value;
	return true;
}

/* -EBADMSG: it is none, and git takes such a line as it is. */
static int unquote_line(const char *line, size_t size, char **ret_path)
{
	_cleanup_free_ char *path = malloc(size + 1);
	const char *at = line + 1, *end = line + size;
	size_t length = 0;

	if (!path)
		return -ENOMEM;
	while (at < end && *at != '"')
		if (!unquote(&at, end, &path[length++]))
			return -EBADMSG;
	if (at + 1 != end)
		return -EBADMSG;
	return copy_path(path, length, ret_path);
}

static int alternate_parse(const char *line, size_t size, char **ret_path)
{
	int r = -EBADMSG;

	if (size > 1 && line[0] == '"')
		r = unquote_line(line, size, ret_path);
	return r == -EBADMSG ? copy_path(line, size, ret_path) : r;
}

int git_alternates_parse(const char *bytes, size_t size, struct git_paths *ret_paths)
{
	_cleanup_(git_paths_done) struct git_paths paths = {0};
	const char *at = bytes, *end = bytes + size;

	if (size > GIT_ALTERNATES_BYTES_MAX)
		return -EBADMSG;
	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		size_t length = (size_t)((newline ? newline : end) - at);
		char *path = NULL;
		int r;

		if (length > 0 && at[0] != '#') {
			r = alternate_parse(at, length, &path);
			if (r == 0)
				r = git_paths_add(&paths, path);
			if (r < 0)
				return r;
		}
		at += length + 1;
	}
	*ret_paths = paths;
	paths = (struct git_paths){0};
	return 0;
}

/*
 * git's configuration, as far as one value of it goes. What is not understood ends the reading with
 * -EBADMSG: git would not take such a file either.
 */
struct config {
	const char *at;
	const char *end;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

static bool is_key(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '-';
}

static bool is_word(const char *word, size_t size, const char *expected)
{
	return size == strlen(expected) && strncasecmp(word, expected, size) == 0;
}

static void skip_line(struct config *config)
{
	while (config->at < config->end && *config->at != '\n')
		config->at++;
}

/* "[core]" or "[remote "name"]"; *ret_core: it is the first. */
static int section_parse(struct config *config, bool *ret_core)
{
	const char *name = ++config->at;
	bool quoted = false;

	while (config->at < config->end && (quoted || *config->at != ']')) {
		if (*config->at == '\n')
			return -EBADMSG;
		if (quoted && *config->at == '\\')
			config->at++;
		else if (*config->at == '"')
			quoted = !quoted;
		config->at++;
	}
	if (config->at >= config->end)
		return -EBADMSG;
	*ret_core = is_word(name, (size_t)(config->at - name), "core");
	config->at++;
	return 0;
}

/* One escape of a value; nothing is added for a line that goes on. */
static int escape_parse(struct config *config, char *value, size_t *length)
{
	static const char from[] = "nbt\\\"", to[] = "\n\b\t\\\"";
	const char *found;

	if (++config->at == config->end)
		return -EBADMSG;
	if (*config->at == '\r' && config->at + 1 < config->end && config->at[1] == '\n')
		config->at++;
	if (*config->at != '\n') {
		found = *config->at ? strchr(from, *config->at) : NULL;
		if (!found)
			return -EBADMSG;
		value[(*length)++] = to[found - from];
	}
	config->at++;
	return 0;
}

/* What follows `=`, up to the line's end. value has room for what is left. */
static int value_parse(struct config *config, char *value, size_t *ret_length)
{
	size_t length = 0, kept = 0;
	bool quoted = false;

	while (config->at < config->end && is_blank(*config->at))
		config->at++;
	while (config->at < config->end && *config->at != '\n') {
		if (!quoted && (*config->at == '#' || *config->at == ';')) {
			skip_line(config);
			break;
		}
		if (*config->at == '\\') {
			int r = escape_parse(config, value, &length);

			if (r < 0)
				return r;
			kept = length;
		} else if (*config->at == '"') {
			quoted = !quoted;
			config->at++;
			kept = length;
		} else {
			value[length++] = *config->at;
			if (quoted || !is_blank(*config->at))
				kept = length;
			config->at++;
		}
	}
	if (quoted)
		return -EBADMSG;
	*ret_length = kept;
	return 0;
}

/* "name = value", or "name" alone, which has none. */
static int variable_parse(struct config *config, char *value, const char *wanted,
			  size_t *ret_length, bool *ret_found)
{
	const char *name = config->at;
	size_t size;

	while (config->at < config->end && is_key(*config->at))
		config->at++;
	size = (size_t)(config->at - name);
	if (size == 0)
		return -EBADMSG;
	while (config->at < config->end && is_blank(*config->at))
		config->at++;
	*ret_found = is_word(name, size, wanted);
	*ret_length = 0;
	if (config->at == config->end || *config->at == '\n')
		return 0;
	if (*config->at == '#' || *config->at == ';') {
		skip_line(config);
		return 0;
	}
	if (*config->at++ != '=')
		return -EBADMSG;
	return value_parse(config, value, ret_length);
}

static int config_step(struct config *config, const char *wanted, char *value, bool *core,
		       char **path)
{
	size_t length;
	bool found;
	int r;

	if (is_blank(*config->at) || *config->at == '\n') {
		config->at++;
		return 0;
	}
	if (*config->at == '#' || *config->at == ';') {
		skip_line(config);
		return 0;
	}
	if (*config->at == '[')
		return section_parse(config, core);
	r = variable_parse(config, value, wanted, &length, &found);
	if (r < 0 || !found || !*core)
		return r;
	free(*path);
	*path = NULL;
	return copy_path(value, length, path);
}

/* A path of [core], the last that there is. */
static int core_path_parse(const char *bytes, size_t size, const char *name, char **ret_path)
{
	struct config config = {.at = bytes, .end = bytes + size};
	_cleanup_free_ char *path = NULL;
	_cleanup_free_ char *value = NULL;
	bool core = false;
	int r = 0;

	if (size > GIT_CONFIG_BYTES_MAX)
		return -EBADMSG;
	value = malloc(size + 1);
	if (!value)
		return -ENOMEM;
	if (size >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0)
		config.at += 3;
	while (r == 0 && config.at < config.end)
		r = config_step(&config, name, value, &core, &path);
	if (r < 0)
		return r;
	if (!path)
		return -ENOENT;
	*ret_path = steal(&path);
	return 0;
}

int git_worktree_parse(const char *bytes, size_t size, char **ret_path)
{
	return core_path_parse(bytes, size, "worktree", ret_path);
}

int git_excludes_parse(const char *bytes, size_t size, char **ret_path)
{
	return core_path_parse(bytes, size, "excludesfile", ret_path);
}

static bool is_hexadecimal(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

/* The length of the commit's name that stands here; 0: there is none. */
static size_t commit_length(const char *bytes, size_t size)
{
	size_t length = 0;

	while (length < size && length <= 64 && is_hexadecimal(bytes[length]))
		length++;
	return length == 40 || length == 64 ? length : 0;
}

static bool is_ref(const char *ref, size_t size)
{
	if (size > GIT_REF_BYTES_MAX || size < 6 || memcmp(ref, "refs/", 5) != 0 ||
	    ref[size - 1] == '/')
		return false;
	for (size_t i = 0; i < size; i++) {
		if ((unsigned char)ref[i] <= ' ' || ref[i] == 0x7f)
			return false;
		if (i > 0 && ref[i - 1] == ref[i] && (ref[i] == '.' || ref[i] == '/'))
			return false;
		if (i > 0 && ref[i] == '.' && ref[i - 1] == '/')
			return false;
	}
	return true;
}

int git_head_parse(const char *bytes, size_t size, struct git_head *ret_head)
{
	size_t length;

	*ret_head = (struct git_head){0};
	if (size > GIT_POINTER_BYTES_MAX)
		return -EBADMSG;
	size = without_end(bytes, size);
	length = commit_length(bytes, size);
	if (length > 0 && length == size) {
		memcpy(ret_head->commit, bytes, length);
		return 0;
	}
	if (size < 4 || memcmp(bytes, "ref:", 4) != 0)
		return -EBADMSG;
	bytes += 4;
	size -= 4;
	while (size > 0 && is_blank(*bytes)) {
		bytes++;
		size--;
	}
	if (!is_ref(bytes, size))
		return -EBADMSG;
	memcpy(ret_head->ref, bytes, size);
	return 0;
}

int git_packed_find(const char *bytes, size_t size, const char *ref,
		    char ret_commit[GIT_COMMIT_BYTES])
{
	const char *at = bytes, *end = bytes + size;
	size_t wanted = strlen(ref);

	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		size_t length = (size_t)((newline ? newline : end) - at);
		size_t commit = commit_length(at, length);

		if (commit > 0 && length == commit + 1 + wanted && at[commit] == ' ' &&
		    memcmp(at + commit + 1, ref, wanted) == 0) {
			memcpy(ret_commit, at, commit);
			ret_commit[commit] = '\0';
			return 0;
		}
		at += length + 1;
	}
	return -ENOENT;
}

char *git_worktree_common(const char *path)
{
	const char *name = strrchr(path, '/');
	const char *folder = name ? memrchr(path, '/', (size_t)(name - path)) : NULL;
	size_t length = strlen("/worktrees");

	if (!folder || folder == path || !name[1] || (size_t)(name - folder) != length ||
	    strncmp(folder, "/worktrees", length) != 0)
		return NULL;
	return strndup(path, (size_t)(folder - path));
}

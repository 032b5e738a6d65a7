/* SPDX-License-Identifier: MIT */

/*
 * The credentials file (credentials.h). A reader that passes over what it does not want still has to
 * know where that ends, so this reads all of TOML's values, and keeps only strings of tables.
 *
 * Decoded text is never longer than its source: all of it goes into one arena of the file's size,
 * which is wiped as one. Nothing is ever reallocated, so no copy is left behind.
 */
#include "plan/credentials.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/list.h"

#define DEPTH_MAX 16
#define NAMES_MAX 8 /* of one dotted key; more are deeper than anything of ours */

enum kind { KIND_STRING, KIND_OTHER };

struct entry {
	const char *table;
	const char *key;
	const char *value;
	enum kind kind;
	int line;
};

struct credentials {
	char *path;
	char *warning;
	char *arena;
	size_t size; /* of the arena */
	size_t used;
	size_t count;
	struct entry entries[CREDENTIALS_ENTRIES_MAX];
};

struct names {
	size_t count;
	const char *names[NAMES_MAX];
};

struct reader {
	const char *at;
	const char *end;
	int line;
	struct credentials *credentials;
	struct names table;
	bool in_list;
	struct fault *fault;
};

static const struct {
	const char *table;
	const char *key; /* NULL: each */
} ours[] = {
	{"resend", "key"},
	{"claude", "setup_token"},
	{"opencode", "api_key"},
	{"providers", NULL},
};

struct credentials *credentials_free(struct credentials *credentials)
{
	if (!credentials)
		return NULL;
	if (credentials->arena)
		explicit_bzero(credentials->arena, credentials->size);
	free(credentials->arena);
	free(credentials->path);
	free(credentials->warning);
	free(credentials);
	return NULL;
}

/* --- Refusing ------------------------------------------------------------------------------------- */

static int refuse_at(const struct credentials *credentials, int line, struct fault *fault,
		     const char *what)
{
	_cleanup_free_ char *path = display(credentials->path);

	return fault_void(fault, CAUSE_session_unavailable, "%s:%d: %s", path, line, what);
}

static int refuse(const struct reader *reader, const char *what)
{
	return refuse_at(reader->credentials, reader->line, reader->fault, what);
}

/* Only of what is ours by name. */
static int refuse_entry(const struct credentials *credentials, int line, const char *table,
			const char *key, const char *why, struct fault *fault)
{
	_cleanup_free_ char *path = display(credentials->path), *shown = key ? display(key) : NULL;

	return fault_void(fault, CAUSE_session_unavailable, "%s:%d: [%s]%s%s: %s", path, line,
			  table, shown ? " " : "", shown ? shown : "", why);
}

static bool table_is_ours(const char *table)
{
	for (size_t i = 0; i < ARRAY_SIZE(ours); i++)
		if (strcmp(ours[i].table, table) == 0)
			return true;
	return false;
}

static bool entry_is_ours(const char *table, const char *key)
{
	for (size_t i = 0; i < ARRAY_SIZE(ours); i++)
		if (strcmp(ours[i].table, table) == 0 &&
		    (!ours[i].key || strcmp(ours[i].key, key) == 0))
			return true;
	return false;
}

/* --- Bytes ---------------------------------------------------------------------------------------- */

static bool ended(const struct reader *reader)
{
	return reader->at == reader->end;
}

static bool next_is(const struct reader *reader, const char *text)
{
	size_t length = strlen(text);

	return (size_t)(reader->end - reader->at) >= length &&
	       memcmp(reader->at, text, length) == 0;
}

static bool take(struct reader *reader, const char *text)
{
	if (!next_is(reader, text))
		return false;
	reader->at += strlen(text);
	return true;
}

static void skip_blanks(struct reader *reader)
{
	while (!ended(reader) && (*reader->at == ' ' || *reader->at == '\t'))
		reader->at++;
}

static bool take_line_end(struct reader *reader)
{
	if (!take(reader, "\n") && !take(reader, "\r\n"))
		return false;
	reader->line++;
	return true;
}

static bool is_control(char c)
{
	return ((unsigned char)c < 0x20 && c != '\t') || c == 0x7f;
}

static int skip_comment(struct reader *reader)
{
	if (!take(reader, "#"))
		return 0;
	while (!ended(reader) && !next_is(reader, "\n") && !next_is(reader, "\r\n")) {
		if (is_control(*reader->at))
			return refuse(reader, "there is a control character in a comment");
		reader->at++;
	}
	return 0;
}

/* Blanks, line ends and comments, as between the values of an array. */
static int skip_space(struct reader *reader)
{
	int r = 0;

	do {
		skip_blanks(reader);
		r = skip_comment(reader);
	} while (r == 0 && take_line_end(reader));
	return r;
}

static int finish_line(struct reader *reader)
{
	int r;

	skip_blanks(reader);
	r = skip_comment(reader);
	if (r != 0 || ended(reader) || take_line_end(reader))
		return r;
	return refuse(reader, "there is something behind the value");
}

/* --- Strings -------------------------------------------------------------------------------------- */

static void put(struct reader *reader, char c)
{
	struct credentials *credentials = reader->credentials;

	/* There is room: each byte comes of one or more that were read. */
	credentials->arena[credentials->used++] = c;
}

static int put_character(struct reader *reader, uint32_t c)
{
	if (c == 0 || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return refuse(reader, "there is an escape that is no character");
	if (c < 0x80) {
		put(reader, (char)c);
	} else if (c < 0x800) {
		put(reader, (char)(0xc0 | c >> 6));
	} else if (c < 0x10000) {
		put(reader, (char)(0xe0 | c >> 12));
		put(reader, (char)(0x80 | (c >> 6 & 0x3f)));
	} else {
		put(reader, (char)(0xf0 | c >> 18));
		put(reader, (char)(0x80 | (c >> 12 & 0x3f)));
		put(reader, (char)(0x80 | (c >> 6 & 0x3f)));
	}
	if (c >= 0x80)
		put(reader, (char)(0x80 | (c & 0x3f)));
	return 0;
}

static int take_hexadecimal(struct reader *reader, int digits)
{
	uint32_t c = 0;

	for (int i = 0; i < digits; i++) {
		static const char all[] = "0123456789abcdefABCDEF";
		const char *at = ended(reader) || !*reader->at ? NULL : strchr(all, *reader->at);

		if (!at)
			return refuse(reader, "there is an escape that is no character");
		c = c << 4 | (uint32_t)(at - all < 16 ? at - all : at - all - 6);
		reader->at++;
	}
	return put_character(reader, c);
}

static int take_escape(struct reader *reader)
{
	static const char letters[] = "btnfr\"\\", characters[] = "\b\t\n\f\r\"\\";
	const char *at;

	if (take(reader, "u"))
		return take_hexadecimal(reader, 4);
	if (take(reader, "U"))
		return take_hexadecimal(reader, 8);
	at = ended(reader) || !*reader->at ? NULL : strchr(letters, *reader->at);
	if (!at)
		return refuse(reader,
			      "there is a backslash before something that it cannot escape");
	put(reader, characters[at - letters]);
	reader->at++;
	return 0;
}

/* A string on one line, its quote taken already. */
static int take_string(struct reader *reader, char quote, const char **ret)
{
	*ret = reader->credentials->arena + reader->credentials->used;
	for (;;) {
		char c = '\n';
		int r = 0;

		if (!ended(reader))
			c = *reader->at;
		if (c == '\n' || c == '\r')
			return refuse(reader, "a string has no end");
		if (is_control(c))
			return refuse(reader, "there is a control character in a string");
		reader->at++;
		if (c == quote)
			break;
		if (c == '\\' && quote == '"')
			r = take_escape(reader);
		else
			put(reader, c);
		if (r != 0)
			return r;
	}
	put(reader, '\0');
	return 0;
}

/* Over several lines, its three quotes taken already. Up to two more may stand before the last. */
static int skip_long_string(struct reader *reader, const char *quotes)
{
	while (!ended(reader)) {
		if (take(reader, quotes)) {
			for (int i = 0; i < 2 && !ended(reader) && *reader->at == *quotes; i++)
				reader->at++;
			return 0;
		}
		if (take_line_end(reader))
			continue;
		if (is_control(*reader->at))
			return refuse(reader, "there is a control character in a string");
		if (*reader->at == '\\' && *quotes == '"' && reader->end - reader->at > 1 &&
		    (reader->at[1] == '"' || reader->at[1] == '\\'))
			reader->at++;
		reader->at++;
	}
	return refuse(reader, "a string has no end");
}

/* --- Keys ----------------------------------------------------------------------------------------- */

static bool is_bare(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '-';
}

static int take_name(struct reader *reader, const char **ret)
{
	if (take(reader, "\""))
		return take_string(reader, '"', ret);
	if (take(reader, "'"))
		return take_string(reader, '\'', ret);
	*ret = reader->credentials->arena + reader->credentials->used;
	if (ended(reader) || !is_bare(*reader->at))
		return refuse(reader, "there is no key where one should be");
	while (!ended(reader) && is_bare(*reader->at))
		put(reader, *reader->at++);
	put(reader, '\0');
	return 0;
}

/* a.b."c": appended to those that are there. */
static int take_names(struct reader *reader, struct names *names)
{
	int r;

	do {
		const char *name;

		skip_blanks(reader);
		r = take_name(reader, &name);
		if (r != 0)
			return r;
		if (names->count == NAMES_MAX)
			return refuse(reader, "a key has too many parts");
		names->names[names->count++] = name;
		skip_blanks(reader);
	} while (take(reader, "."));
	return 0;
}

/* --- Values --------------------------------------------------------------------------------------- */

static int take_value(struct reader *reader, int depth, enum kind *ret_kind, const char **ret);

static int skip_array(struct reader *reader, int depth)
{
	enum kind kind;
	const char *text;
	int r;

	for (;;) {
		r = skip_space(reader);
		if (r != 0 || take(reader, "]"))
			return r;
		r = take_value(reader, depth + 1, &kind, &text);
		if (r == 0)
			r = skip_space(reader);
		if (r != 0 || take(reader, "]"))
			return r;
		if (!take(reader, ","))
			return refuse(reader, "an array has no end");
	}
}

static int skip_inline_table(struct reader *reader, int depth)
{
	enum kind kind;
	const char *text;
	int r;

	skip_blanks(reader);
	if (take(reader, "}"))
		return 0;
	do {
		struct names names = {0};

		r = take_names(reader, &names);
		if (r == 0 && !take(reader, "="))
			r = refuse(reader, "there is no = behind a key");
		skip_blanks(reader);
		if (r == 0)
			r = take_value(reader, depth + 1, &kind, &text);
		if (r != 0)
			return r;
		skip_blanks(reader);
	} while (take(reader, ","));
	return take(reader, "}") ? 0 : refuse(reader, "a table in braces has no end");
}

/* Numbers, times, true and false: their form is nobody's business here. */
static int skip_bare(struct reader *reader)
{
	const char *start = reader->at;

	while (!ended(reader) && (is_bare(*reader->at) || strchr("+.:", *reader->at)))
		reader->at++;
	/* The blank that may stand between a date and a time. */
	if (reader->end - reader->at > 1 && reader->at - start == 10 && *reader->at == ' ' &&
	    reader->at[1] >= '0' && reader->at[1] <= '9') {
		reader->at++;
		while (!ended(reader) && (is_bare(*reader->at) || strchr("+.:", *reader->at)))
			reader->at++;
	}
	return reader->at > start ? 0 : refuse(reader, "there is no value where one should be");
}

static int take_value(struct reader *reader, int depth, enum kind *ret_kind, const char **ret)
{
	*ret_kind = KIND_OTHER;
	*ret = NULL;
	if (depth > DEPTH_MAX)
		return refuse(reader, "values are nested too deeply");
	if (take(reader, "\"\"\""))
		return skip_long_string(reader, "\"\"\"");
	if (take(reader, "'''"))
		return skip_long_string(reader, "'''");
	if (next_is(reader, "\"") || next_is(reader, "'")) {
		*ret_kind = KIND_STRING;
		return take_string(reader, *reader->at++, ret);
	}
	if (take(reader, "["))
		return skip_array(reader, depth);
	if (take(reader, "{"))
		return skip_inline_table(reader, depth);
	return skip_bare(reader);
}

/* --- The file ------------------------------------------------------------------------------------- */

static struct entry *find(const struct credentials *credentials, const char *table, const char *key)
{
	for (size_t i = 0; i < credentials->count; i++) {
		const struct entry *entry = &credentials->entries[i];

		if (strcmp(entry->table, table) == 0 && strcmp(entry->key, key) == 0)
			return (struct entry *)entry;
	}
	return NULL;
}

static int add_entry(struct reader *reader, const struct names *names, enum kind kind,
		     const char *value, int line)
{
	struct credentials *credentials = reader->credentials;
	const char *table = names->names[0], *key = names->names[1];

	if (entry_is_ours(table, key) && kind != KIND_STRING)
		return refuse_entry(credentials, line, table, key, "must be a string on one line",
				    reader->fault);
	if (find(credentials, table, key)) {
		if (entry_is_ours(table, key))
			return refuse_entry(credentials, line, table, key, "is there twice",
					    reader->fault);
		return refuse_at(credentials, line, reader->fault, "a key is there twice");
	}
	if (credentials->count == CREDENTIALS_ENTRIES_MAX)
		return refuse_at(credentials, line, reader->fault, "there are too many keys");
	credentials->entries[credentials->count++] = (struct entry){table, key, value, kind, line};
	return 0;
}

static int read_entry(struct reader *reader)
{
	struct names names = reader->table;
	int line = reader->line, r = take_names(reader, &names);
	enum kind kind;
	const char *value;

	if (r != 0)
		return r;
	if (!take(reader, "="))
		return refuse(reader, "there is no = behind a key");
	skip_blanks(reader);
	r = take_value(reader, 0, &kind, &value);
	if (r == 0)
		r = finish_line(reader);
	if (r != 0 || reader->in_list)
		return r;
	if (names.count == 1 && table_is_ours(names.names[0]))
		return refuse_entry(reader->credentials, line, names.names[0], NULL,
				    "must be a table of its own", reader->fault);
	if (names.count > 2 && table_is_ours(names.names[0]) &&
	    entry_is_ours(names.names[0], names.names[1]))
		return refuse_entry(reader->credentials, line, names.names[0], names.names[1],
				    "must be a string on one line", reader->fault);
	return names.count == 2 ? add_entry(reader, &names, kind, value, line) : 0;
}

static int read_header(struct reader *reader)
{
	bool array = take(reader, "[");
	int line = reader->line, r;

	reader->table = (struct names){0};
	r = take_names(reader, &reader->table);
	if (r != 0)
		return r;
	if (!take(reader, array ? "]]" : "]"))
		return refuse(reader, "a table's name has no end");
	if (array && table_is_ours(reader->table.names[0]))
		return refuse_entry(reader->credentials, line, reader->table.names[0], NULL,
				    "must be one table, not a list of them", reader->fault);
	/* What is in an element of a list is nothing that TABLE.KEY names. */
	reader->in_list = array;
	return finish_line(reader);
}

static int read_all(struct reader *reader)
{
	int r = 0;

	take(reader, "\xef\xbb\xbf");
	while (r == 0) {
		r = skip_space(reader);
		if (r != 0 || ended(reader))
			return r;
		r = take(reader, "[") ? read_header(reader) : read_entry(reader);
	}
	return r;
}

static int parse(struct credentials *credentials, const char *bytes, size_t size,
		 struct fault *ret_fault)
{
	struct reader reader = {
		.at = bytes,
		.end = bytes + size,
		.line = 1,
		.credentials = credentials,
		.fault = ret_fault,
	};

	if (size > CREDENTIALS_BYTES_MAX)
		return refuse(&reader, "it is too large");
	if (memchr(bytes, '\0', size) || !utf8_valid(bytes, size))
		return refuse(&reader, "it is no text");
	/* A name or a value takes a NUL for its end, and has at least one byte beside it. */
	credentials->size = 2 * size + 2;
	credentials->arena = malloc(credentials->size);
	return credentials->arena ? read_all(&reader) : -ENOMEM;
}

static int make(struct credentials **ret_credentials, const char *path)
{
	struct credentials *credentials = calloc(1, sizeof(*credentials));

	if (credentials)
		credentials->path = strdup(path);
	if (!credentials || !credentials->path) {
		credentials_free(credentials);
		return -ENOMEM;
	}
	*ret_credentials = credentials;
	return 0;
}

int credentials_parse(struct credentials **ret_credentials, const char *path, const char *bytes,
		      size_t size, struct fault *ret_fault)
{
	struct credentials *credentials = NULL;
	int r = make(&credentials, path);

	if (r < 0)
		return r;
	r = parse(credentials, bytes, size, ret_fault);
	if (r != 0) {
		credentials_free(credentials);
		return r;
	}
	*ret_credentials = credentials;
	return 0;
}

static int refuse_file(const char *path, const char *why, struct fault *fault)
{
	_cleanup_free_ char *shown = display(path);

	return fault_void(fault, CAUSE_session_unavailable, "%s: %s", shown, why);
}

static int warn(struct credentials *credentials, const struct stat *st)
{
	_cleanup_free_ char *shown = NULL;

	if (!(st->st_mode & 0077))
		return 0;
	shown = display(credentials->path);
	if (!shown || asprintf(&credentials->warning,
			       "%s: others can read it or write to it (mode %04o): chmod 600 '%s'",
			       shown, (unsigned int)(st->st_mode & 07777), shown) < 0) {
		credentials->warning = NULL;
		return -ENOMEM;
	}
	return 0;
}

static int read_file(struct credentials *credentials, int fd, struct fault *ret_fault)
{
	const char *path = credentials->path;
	size_t size = 0;
	struct stat st;
	char *bytes;
	ssize_t n;
	int r;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return refuse_file(path, "is not a regular file", ret_fault);
	if (st.st_uid != geteuid())
		return refuse_file(path, "belongs to another user", ret_fault);
	if (st.st_size > (off_t)CREDENTIALS_BYTES_MAX)
		return refuse_file(path, "is too large", ret_fault);
	r = warn(credentials, &st);
	if (r < 0)
		return r;
	bytes = malloc(CREDENTIALS_BYTES_MAX + 1);
	if (!bytes)
		return -ENOMEM;
	do {
		n = pread(fd, bytes + size, CREDENTIALS_BYTES_MAX + 1 - size, (off_t)size);
		if (n > 0)
			size += (size_t)n;
	} while (n > 0 || (n < 0 && errno == EINTR));
	r = n < 0 ? refuse_file(path, strerror(errno), ret_fault)
		  : parse(credentials, bytes, size, ret_fault);
	explicit_bzero(bytes, size);
	free(bytes);
	return r;
}

int credentials_read(struct credentials **ret_credentials, const char *path,
		     struct fault *ret_fault)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct credentials *credentials = NULL;
	int r;

	if (fd < 0 && errno != ENOENT)
		return refuse_file(path, strerror(errno), ret_fault);
	r = make(&credentials, path);
	if (r == 0 && fd >= 0)
		r = read_file(credentials, fd, ret_fault);
	if (r != 0) {
		credentials_free(credentials);
		return r;
	}
	*ret_credentials = credentials;
	return 0;
}

int credentials_get(const struct credentials *credentials, const char *name, const char **ret_value,
		    struct fault *ret_fault)
{
	const char *dot = strchr(name, '.');
	_cleanup_free_ char *table = dot ? strndup(name, (size_t)(dot - name)) : NULL;
	const struct entry *entry;

	*ret_value = NULL;
	if (!table)
		return dot ? -ENOMEM : -EINVAL;
	entry = find(credentials, table, dot + 1);
	if (!entry)
		return 0;
	if (entry->kind != KIND_STRING)
		return refuse_entry(credentials, entry->line, table, dot + 1,
				    "must be a string on one line", ret_fault);
	*ret_value = *entry->value ? entry->value : NULL;
	return 0;
}

const char *credentials_warning(const struct credentials *credentials)
{
	return credentials->warning;
}

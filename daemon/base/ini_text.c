/* SPDX-License-Identifier: MIT */
/*
 * inih splits a line into key and value. What it would let pass or change in silence is settled
 * before it sees the line, which it gets one at a time:
 *
 *   - it cuts lines that are longer than its buffer, and names longer than another one, and takes
 *     the rest of a line for a line of its own;
 *   - it ends a value at " ;", and knows no other comment behind a value;
 *   - it takes an indented line for more of the value before it;
 *   - it takes ':' for '=', drops text after "[Section]", and says nothing of an empty section.
 *
 * Each of these is a fault here, or (an indented line) has no meaning. Section headings it never
 * gets to see: it knows only those that a value follows, and keeps no more than 49 bytes of one.
 */
#include "base/ini_text.h"
#include "base/text.h"

#include <fcntl.h>
#include <ini.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define LINE_BYTES_MAX 8192 /* room for a path of PATH_BYTES_MAX */
#define KEY_BYTES_MAX 49    /* what inih keeps of one */

/* Debian's inih takes the length of a line at run time; elsewhere it is built in. */
/* NOLINTNEXTLINE(readability-redundant-declaration): the header's is not weak. */
extern int ini_max_line __attribute__((__weak__));

int ini_refuse(struct ini_text *ini, unsigned int line, const char *key, const char *format, ...)
{
	_cleanup_free_ char *why = NULL;
	va_list arguments;
	int r;

	va_start(arguments, format);
	why = text_vformat(format, arguments);
	va_end(arguments);
	if (!why)
		return -ENOMEM;
	r = fault_set(ini->fault, ERROR_invalid, "%s:%u: %s%s%s", ini->path, line, key ? key : "",
		      key ? ": " : "", why);
	return r != FAULT ? r
			  : fault_hint(ini->fault, "correct the line; %s says what may stand there",
				       ini->manual);
}

static int refuse(struct ini_text *ini, const char *why)
{
	return ini_refuse(ini, ini->line, NULL, "%s", why);
}

static int read_section(struct ini_text *ini, char *line)
{
	char *end = strchr(line, ']');

	if (!end || end[1] != '\0')
		return refuse(ini, "a section is written [Name], alone on its line");
	*end = '\0';
	return ini->take_section(ini, line + 1);
}

static int check_assignment(struct ini_text *ini, const char *line)
{
	static const char name_bytes[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
	size_t name = strspn(line, name_bytes);
	const char *equals = strchr(line, '=');

	if (name == 0 || !equals || line + name + strspn(line + name, " \t") != equals)
		return refuse(ini, "a line is Key=value, [Section] or a comment (# or ;)");
	if (name > KEY_BYTES_MAX)
		return refuse(ini, "no key is that long");
	if (line[strlen(line) - 1] == '\\')
		return refuse(ini, "a value stands on one line; it cannot be continued with \\");
	for (const char *at = equals + 1; *at; at++)
		if ((*at == ';' || *at == '#') && (at[-1] == ' ' || at[-1] == '\t'))
			return refuse(ini, "a comment stands on a line of its own");
	return 0;
}

/* C0 but the tab, DEL, and C1 as UTF-8 writes it. */
static bool is_control(const char *text)
{
	unsigned char c = (unsigned char)text[0];

	return (c < ' ' && c != '\t') || c == 0x7f || (c == 0xc2 && (unsigned char)text[1] < 0xa0);
}

/* Leaves in line what inih shall see of it. */
static int check_line(struct ini_text *ini, char *line, size_t length, int size)
{
	int r = 0;

	if (!utf8_valid(line, length))
		return refuse(ini, "not text (UTF-8)");
	for (size_t i = 0; i < length; i++)
		if (is_control(line + i))
			return refuse(ini, "a control character");
	if (line[0] != '\0' && line[0] != '#' && line[0] != ';') {
		if (length + 2 >= (size_t)size)
			return refuse(ini, "the line is too long");
		if (line[0] != '[')
			return check_assignment(ini, line);
		r = read_section(ini, line);
	}
	line[0] = '\0';
	return r;
}

/* One line for inih, as fgets would give it; without the blanks around it. */
static char *read_line(char *buffer, int size, void *stream)
{
	struct ini_text *ini = stream;
	char *line = ini->at, *end;

	if (ini->result != 0 || *line == '\0')
		return NULL;
	end = strchrnul(line, '\n');
	ini->at = *end ? end + 1 : end;
	ini->line++;
	while (line < end && (*line == ' ' || *line == '\t'))
		line++;
	while (line < end && strchr(" \t\r", end[-1]))
		end--;
	*end = '\0';
	ini->result = check_line(ini, line, (size_t)(end - line), size);
	if (ini->result != 0)
		return NULL;
	snprintf(buffer, (size_t)size, "%s\n", line);
	return buffer;
}

/* 1: go on, 0: stop, as inih has it. */
static int take_value(void *context, const char *section, const char *name, const char *value)
{
	struct ini_text *ini = context;

	(void)section;
	if (ini->result == 0)
		ini->result = ini->take_value(ini, name, value);
	return ini->result == 0;
}

static unsigned int line_of(const char *text, size_t offset)
{
	unsigned int line = 1;

	for (size_t i = 0; i < offset; i++)
		line += text[i] == '\n';
	return line;
}

int ini_file_read(const char *path, char **ret_text, size_t *ret_size, struct fault *ret_fault)
{
	_cleanup_free_ char *text = NULL;
	_cleanup_close_ int fd = -1;
	struct stat st;
	size_t size = 0;
	ssize_t n;

	/* Not blocked by a FIFO that stands there. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return errno == ENOENT ? -ENOENT : fault_errno(ret_fault, errno, path);
	if (fstat(fd, &st) < 0)
		return fault_errno(ret_fault, errno, path);
	if (!S_ISREG(st.st_mode))
		return fault_set(ret_fault, ERROR_invalid, "%s: not a regular file", path);
	text = malloc(INI_FILE_BYTES_MAX + 2);
	if (!text)
		return -ENOMEM;
	while ((n = read(fd, text + size, INI_FILE_BYTES_MAX + 1 - size)) > 0)
		size += (size_t)n;
	if (n < 0)
		return fault_errno(ret_fault, errno, path);
	if (size > INI_FILE_BYTES_MAX)
		return fault_set(ret_fault, ERROR_invalid, "%s: larger than 64 KiB", path);
	text[size] = '\0';
	*ret_text = steal(&text);
	*ret_size = size;
	return 0;
}

int ini_text_read(struct ini_text *ini, char *text, size_t size)
{
	static const char mark[] = "\xef\xbb\xbf"; /* some editors begin UTF-8 with it */
	int r;

	if (strlen(text) != size)
		return ini_refuse(ini, line_of(text, strlen(text)), NULL, "not text: a NUL byte");
	ini->at = strncmp(text, mark, strlen(mark)) == 0 ? text + strlen(mark) : text;
	ini->line = 0;
	ini->result = 0;
	if (&ini_max_line)
		ini_max_line = LINE_BYTES_MAX;
	r = ini_parse_stream(read_line, ini, take_value, ini);
	if (r != 0 && ini->result == 0)
		return refuse(ini, "not understood");
	return ini->result;
}

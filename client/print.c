/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "json.h"
#include "neutralise.h"
#include "print.h"

struct row {
	char **cells;
	enum tone *tones;
};

struct table {
	size_t columns;
	size_t count;
	size_t capacity;
	struct row *rows; /* the first holds the titles */
	size_t spare[4];
	size_t spare_count;
	bool wraps;
};

/* Room of the last column: below the first, spare columns go; below the second, it is not cut. */
enum { ROOM_WANTED = 16, ROOM_LEAST = 4 };

bool colours_wanted(FILE *file)
{
	const char *no_color = getenv("NO_COLOR");
	const char *term = getenv("TERM");

	return isatty(fileno(file)) && !(no_color && *no_color) &&
	       !(term && strcmp(term, "dumb") == 0);
}

enum tone tone_of_word(const char *word)
{
	static const struct {
		const char *word;
		enum tone tone;
	} tones[] = {
		{"delivered", TONE_GOOD},  {"failed", TONE_BAD},	{"timed_out", TONE_BAD},
		{"stalled", TONE_BAD},	   {"out_of_memory", TONE_BAD}, {"void", TONE_ODD},
		{"interrupted", TONE_ODD}, {"lost", TONE_ODD},		{"canceled", TONE_ODD},
		{"running", TONE_BUSY},	   {"starting", TONE_BUSY},	{"ending", TONE_BUSY},
		{"held", TONE_ODD},
	};

	for (size_t i = 0; word && i < sizeof(tones) / sizeof(tones[0]); i++)
		if (strcmp(tones[i].word, word) == 0)
			return tones[i].tone;
	return TONE_PLAIN;
}

void print_toned(FILE *file, bool colours, enum tone tone, const char *text)
{
	static const char *const codes[] = {
		[TONE_PLAIN] = NULL, [TONE_GOOD] = "32", [TONE_BAD] = "31",
		[TONE_ODD] = "33",   [TONE_BUSY] = "36", [TONE_FAINT] = "2",
	};

	if (colours && codes[tone])
		fprintf(file, "\033[%sm%s\033[0m", codes[tone], text);
	else
		fputs(text, file);
}

struct table *table_new(const char *const *titles, size_t columns)
{
	struct table *table = need_memory(calloc(1, sizeof(*table)));

	table->columns = columns;
	table_add(table, titles, NULL);
	return table;
}

struct table *table_free(struct table *table)
{
	if (!table)
		return NULL;
	for (size_t i = 0; i < table->count; i++) {
		for (size_t column = 0; column < table->columns; column++)
			free(table->rows[i].cells[column]);
		free(table->rows[i].cells);
		free(table->rows[i].tones);
	}
	free(table->rows);
	free(table);
	return NULL;
}

void table_add(struct table *table, const char *const *cells, const enum tone *tones)
{
	struct row row = {
		.cells = need_memory(calloc(table->columns, sizeof(*row.cells))),
		.tones = need_memory(calloc(table->columns, sizeof(*row.tones))),
	};

	for (size_t column = 0; column < table->columns; column++) {
		row.cells[column] = need_memory(strdup(cells[column] ? cells[column] : ""));
		if (tones)
			row.tones[column] = tones[column];
	}
	if (table->count == table->capacity) {
		table->capacity = table->capacity ? table->capacity * 2 : 16;
		table->rows = need_memory(
			realloc(table->rows, table->capacity * sizeof(*table->rows)));
	}
	table->rows[table->count++] = row;
}

void table_wrap(struct table *table)
{
	table->wraps = true;
}

void table_may_leave_out(struct table *table, const size_t *columns, size_t count)
{
	for (size_t i = 0; i < count && table->spare_count < 4; i++)
		table->spare[table->spare_count++] = columns[i];
}

/* Lines of whole words below one another; a word that is longer is left to the terminal. */
static void print_wrapped(FILE *file, bool colours, enum tone tone, const char *cell, size_t room,
			  size_t indent)
{
	while (*cell) {
		size_t length = strcspn(cell, " "), more;
		char *line;

		while (cell[length]) {
			more = length + 1 + strcspn(cell + length + 1, " ");
			line = need_memory(strndup(cell, more));
			if (display_width(line) > room) {
				free(line);
				break;
			}
			free(line);
			length = more;
		}
		line = need_memory(strndup(cell, length));
		print_toned(file, colours, tone, line);
		free(line);
		cell += length;
		cell += strspn(cell, " ");
		if (*cell)
			fprintf(file, "\n%*s", (int)indent, "");
	}
}

/* widths: 0 for a column that is left out. room: of the last column, 0 for any. */
static void print_row(const struct table *table, const struct row *row, const size_t *widths,
		      FILE *file, bool colours, size_t room)
{
	size_t indent = 0;

	for (size_t column = 0; column < table->columns; column++) {
		const char *cell = row->cells[column];
		bool last = column + 1 == table->columns;
		char *cut = NULL;

		if (!widths[column])
			continue;
		if (last && room && table->wraps && display_width(cell) > room) {
			print_wrapped(file, colours, row->tones[column], cell, room, indent);
			continue;
		}
		indent += widths[column] + 2;
		if (last && room && display_width(cell) > room) {
			size_t fits = display_fit(cell, room - 1);

			if (asprintf(&cut, "%.*s…", (int)fits, cell) < 0)
				cut = NULL;
			cell = need_memory(cut);
		}
		print_toned(file, colours, row->tones[column], cell);
		if (!last) {
			size_t padding = widths[column] - display_width(cell) + 2;

			fprintf(file, "%*s", (int)padding, "");
		}
		free(cut);
	}
	fputc('\n', file);
}

/* Sets widths of columns to 0 until the last one has room, and says how much that is. */
static size_t leave_out(const struct table *table, size_t *widths, size_t width)
{
	size_t used = 0;

	for (size_t column = 0; column + 1 < table->columns; column++)
		used += widths[column] + 2;
	for (size_t i = 0; i < table->spare_count && width < used + ROOM_WANTED; i++) {
		used -= widths[table->spare[i]] + 2;
		widths[table->spare[i]] = 0;
	}
	return width > used + ROOM_LEAST ? width - used : ROOM_LEAST;
}

void table_print(const struct table *table, FILE *file, bool colours, size_t width)
{
	size_t *widths = need_memory(calloc(table->columns, sizeof(*widths)));
	size_t room;

	for (size_t i = 0; i < table->count; i++) {
		for (size_t column = 0; column < table->columns; column++) {
			size_t cell = display_width(table->rows[i].cells[column]);

			if (cell > widths[column])
				widths[column] = cell;
		}
	}
	room = width ? leave_out(table, widths, width) : 0;
	for (size_t i = 0; i < table->count; i++)
		print_row(table, &table->rows[i], widths, file, colours, room);
	free(widths);
}

size_t terminal_width(FILE *file)
{
	struct winsize size;

	if (!isatty(fileno(file)) || ioctl(fileno(file), TIOCGWINSZ, &size) < 0)
		return 0;
	return size.ws_col;
}

void print_field(FILE *file, const char *name, const char *value)
{
	if (value && *value)
		fprintf(file, "%s:%*s %s\n", name, (int)(strlen(name) < 16 ? 16 - strlen(name) : 0),
			"", value);
}

char *format_time(int64_t microseconds, char *buffer, size_t size)
{
	time_t seconds = (time_t)(microseconds / 1000000);
	struct tm local;

	if (!localtime_r(&seconds, &local) ||
	    !strftime(buffer, size, "%Y-%m-%d %H:%M:%S %z", &local))
		snprintf(buffer, size, "@%lld", (long long)seconds);
	return buffer;
}

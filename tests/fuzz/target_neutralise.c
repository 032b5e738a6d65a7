/* SPDX-License-Identifier: MIT */
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/neutralise.h"
#include "fuzz.h"
#include "base/list.h"
#include "stage.h"

/*
 * What an agent wrote, on its way to a terminal: as a stream, as a value on one line, and as a name
 * in a message of the daemon. No terminal acts on what comes out; what comes out passes unchanged;
 * and a stream is the same however it was cut.
 */

static char *stream(const uint8_t *data, size_t size, bool pieces, size_t *ret_size)
{
	struct neutraliser neutraliser = {0};
	char *text = NULL;
	size_t room = 0;
	FILE *file = open_memstream(&text, &room);

	must(file);
	for (size_t at = 0; at < size;) {
		size_t piece = pieces ? 1 + data[at] % 5u : size;

		if (piece > size - at)
			piece = size - at;
		must(neutralise_stream(&neutraliser, data + at, piece, file) == 0);
		at += piece;
	}
	must(neutralise_end(&neutraliser, file) == 0 && neutraliser.pending_size == 0);
	must(fclose(file) == 0);
	*ret_size = room;
	return text;
}

static void check_stream(const uint8_t *data, size_t size)
{
	size_t whole_size, pieces_size, again_size;
	char *whole = stream(data, size, false, &whole_size);
	char *pieces = stream(data, size, true, &pieces_size);
	char *again = stream((const uint8_t *)whole, whole_size, false, &again_size);

	must(whole_size == pieces_size && memcmp(whole, pieces, whole_size) == 0);
	must(whole_size == again_size && memcmp(whole, again, whole_size) == 0);
	must(strlen(whole) == whole_size);
	/* A tab stays in a stream, and does no more than a blank. */
	for (char *at = whole; *at; at++)
		if (*at == '\t')
			*at = ' ';
	must(stage_is_shown(whole, true));
	free(whole);
	free(pieces);
	free(again);
}

static void check_line(const uint8_t *data, size_t size)
{
	char *line = neutralise_line(data, size), *again;
	size_t width, fits;

	must(line && stage_is_shown(line, false));
	again = neutralise_line(line, strlen(line));
	must(again && strcmp(line, again) == 0);
	free(again);
	width = display_width(line);
	must(display_fit(line, width) == strlen(line));
	for (size_t columns = 0; columns < width && columns < 20; columns++) {
		fits = display_fit(line, columns);
		must(fits < strlen(line) && utf8_valid(line, fits));
		line[fits] = '\0';
		must(display_width(line) <= columns);
		free(line);
		line = neutralise_line(data, size);
		must(line);
	}
	free(line);
}

static void check_display(const uint8_t *data, size_t size)
{
	char *text = stage_text(data, size);
	char *shown = display(text);

	must(shown && strlen(shown) <= DISPLAY_BYTES_MAX);
	must(stage_is_text(shown));
	free(shown);
	free(text);
}

int fuzz_neutralise(const uint8_t *data, size_t size)
{
	/* As trialctl does: it decides which characters are wide. */
	setlocale(LC_CTYPE, "C.UTF-8");
	check_stream(data, size);
	check_line(data, size);
	check_display(data, size);
	return 0;
}

/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "golden.h"

/* Writes the golden vectors into a folder: make_vectors proto/vectors */

static FILE *create(const char *folder, const char *name, const char *suffix)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s.%s", folder, name, suffix);
	file = fopen(path, "wbe");
	if (!file) {
		fprintf(stderr, "make_vectors: %s: %s\n", path, strerror(errno));
		exit(EXIT_FAILURE);
	}
	return file;
}

static void close_written(FILE *file, const char *name)
{
	int failed = ferror(file);

	if (fclose(file) || failed) {
		fprintf(stderr, "make_vectors: %s cannot be written\n", name);
		exit(EXIT_FAILURE);
	}
}

static void make(const char *folder, const struct golden *golden)
{
	struct message *message = NULL;
	msgpack_sbuffer buffer;
	FILE *file;
	int r;

	msgpack_sbuffer_init(&buffer);
	r = golden->write(&buffer);
	if (r >= 0)
		r = message_parse(&message, buffer.data + FRAME_HEADER_BYTES,
				  buffer.size - FRAME_HEADER_BYTES);
	if (r < 0) {
		fprintf(stderr, "make_vectors: %s: %s\n", golden->name, strerror(-r));
		exit(EXIT_FAILURE);
	}
	file = create(folder, golden->name, "frame");
	fwrite(buffer.data, 1, buffer.size, file);
	close_written(file, golden->name);
	file = create(folder, golden->name, "json");
	golden_print_json(file, message_root(message));
	close_written(file, golden->name);
	message_free(message);
	msgpack_sbuffer_destroy(&buffer);
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: make_vectors FOLDER\n");
		return EXIT_FAILURE;
	}
	for (size_t i = 0; i < golden_count; i++)
		make(argv[1], &goldens[i]);
	return EXIT_SUCCESS;
}

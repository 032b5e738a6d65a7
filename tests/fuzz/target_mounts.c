/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "plan/mounts.h"
#include "stage.h"

/*
 * The format of /proc/self/mountinfo, whose paths are as their owners called them. What is
 * accepted, written again with everything escaped, is the same table.
 */

static void print_escaped(FILE *file, const char *path)
{
	for (; *path; path++)
		fprintf(file, "\\%03o", (unsigned char)*path);
}

static char *print(const struct mount_table *table)
{
	char *text = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);

	must(file);
	for (size_t i = 0; i < table->count; i++) {
		const struct mount *mount = &table->mounts[i];

		fprintf(file, "%llu 1 %u:%u ", (unsigned long long)mount->id, mount->major,
			mount->minor);
		print_escaped(file, mount->root);
		fputc(' ', file);
		print_escaped(file, mount->point);
		fprintf(file, " rw shared:1 - %s none rw\n", mount->type);
	}
	must(fclose(file) == 0);
	return text;
}

static void must_be_same(const struct mount_table *a, const struct mount_table *b)
{
	must(a->count == b->count);
	for (size_t i = 0; i < a->count; i++) {
		const struct mount *x = &a->mounts[i], *y = &b->mounts[i];

		must(x->id == y->id && x->major == y->major && x->minor == y->minor);
		must(strcmp(x->root, y->root) == 0 && strcmp(x->point, y->point) == 0);
		must(strcmp(x->type, y->type) == 0);
	}
}

int fuzz_mounts(const uint8_t *data, size_t size)
{
	char *text = stage_text(data, size), *written;
	struct mount_table table, again;

	must(mount_table_parse(&table, text) == 0);
	written = print(&table);
	must(mount_table_parse(&again, written) == 0);
	must_be_same(&table, &again);
	mount_table_done(&table);
	mount_table_done(&again);
	free(written);
	free(text);
	return 0;
}

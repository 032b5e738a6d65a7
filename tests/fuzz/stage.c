/* SPDX-License-Identifier: MIT */
#include "stage.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "proto/message.h"

static struct {
	int file;
	char file_path[64];
	int folder;
	char folder_path[4096];
	FILE *output, *errors;
	FILE *real_output, *real_errors;
	char *output_text, *errors_text;
	size_t output_size, errors_size;
} stage = {.file = -1, .folder = -1};

_Noreturn void stage_broken(const char *condition, const char *file, int line)
{
	fprintf(stage.real_errors ? stage.real_errors : stderr, "%s:%d: does not hold: %s\n", file,
		line, condition);
	abort();
}

char *stage_text(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	must(text);
	memcpy(text, data, size);
	text[size] = '\0';
	return text;
}

static void write_file(int fd, const void *bytes, size_t size)
{
	must(ftruncate(fd, 0) == 0);
	must(pwrite(fd, bytes, size, 0) == (ssize_t)size);
}

const char *stage_file(const void *bytes, size_t size)
{
	if (stage.file < 0) {
		stage.file = memfd_create("fuzz", MFD_CLOEXEC);
		must(stage.file >= 0);
		snprintf(stage.file_path, sizeof(stage.file_path), "/proc/self/fd/%d", stage.file);
	}
	write_file(stage.file, bytes, size);
	return stage.file_path;
}

static void remove_folder(void)
{
	stage_clear();
	rmdir(stage.folder_path);
}

int stage_folder(void)
{
	const char *place = getenv("TMPDIR");

	if (stage.folder >= 0)
		return stage.folder;
	snprintf(stage.folder_path, sizeof(stage.folder_path), "%s/fuzz-XXXXXX",
		 place && *place ? place : "/tmp");
	must(mkdtemp(stage.folder_path));
	stage.folder = open(stage.folder_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	must(stage.folder >= 0);
	atexit(remove_folder);
	return stage.folder;
}

void stage_clear(void)
{
	int fd = openat(stage_folder(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *folder = fdopendir(fd);
	struct dirent *entry;

	must(folder);
	while ((entry = readdir(folder)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			unlinkat(fd, entry->d_name, 0);
	closedir(folder);
}

void stage_write(const char *name, const void *bytes, size_t size)
{
	int fd = openat(stage_folder(), name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	must(fd >= 0);
	write_file(fd, bytes, size);
	close(fd);
}

void stage_listen(void)
{
	stage.output = open_memstream(&stage.output_text, &stage.output_size);
	stage.errors = open_memstream(&stage.errors_text, &stage.errors_size);
	must(stage.output && stage.errors);
	stage.real_output = stdout;
	stage.real_errors = stderr;
	stdout = stage.output;
	stderr = stage.errors;
}

void stage_heard(char **ret_text, char **ret_errors)
{
	stdout = stage.real_output;
	stderr = stage.real_errors;
	stage.real_errors = NULL;
	must(fclose(stage.output) == 0 && fclose(stage.errors) == 0);
	*ret_text = stage.output_text;
	*ret_errors = stage.errors_text;
}

/* C0 but the line feed, DEL and C1. */
static bool has_control(const char *text, bool lines)
{
	for (const char *at = text; *at; at++) {
		unsigned char c = (unsigned char)*at;

		if ((c < 0x20 && !(lines && c == '\n')) || c == 0x7f ||
		    (c == 0xc2 && (unsigned char)at[1] < 0xa0))
			return true;
	}
	return false;
}

bool stage_is_text(const char *text)
{
	return utf8_valid(text, strlen(text)) && !has_control(text, false);
}

/* A second telling of what neutralise.h says. */
bool stage_is_shown(const char *text, bool lines)
{
	static const char *const marks[] = {
		"\u061c", "\u200e", "\u200f", "\u2028", "\u2029", "\u202a", "\u202b",
		"\u202c", "\u202d", "\u202e", "\u2066", "\u2067", "\u2068", "\u2069",
	};

	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
		if (strstr(text, marks[i]))
			return false;
	return utf8_valid(text, strlen(text)) && !has_control(text, lines);
}

int stage_descriptors(void)
{
	int count = 0;

	for (int fd = 0; fd < 64; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

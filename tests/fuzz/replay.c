/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "fuzz.h"

/*
 * The main of a fuzz target for compilers without libFuzzer: runs the files, and the files in the
 * folders, that are named. `fuzz_message proto/vectors crash-1234`.
 */

static int replay_file(const char *path)
{
	FILE *file = fopen(path, "rbe");
	uint8_t *data = NULL;
	struct stat st;
	size_t size = 0;

	if (!file || fstat(fileno(file), &st) < 0 || !(data = malloc((size_t)st.st_size + 1))) {
		fprintf(stderr, "replay: %s: %s\n", path, strerror(errno));
		if (file)
			fclose(file);
		return 0;
	}
	size = fread(data, 1, (size_t)st.st_size, file);
	fclose(file);
	/* Said before it runs: if it aborts, this is the one. */
	printf("%s\n", path);
	fflush(stdout);
	LLVMFuzzerTestOneInput(data, size);
	free(data);
	return 1;
}

static int replay_folder(const char *path, DIR *folder)
{
	struct dirent *entry;
	char name[4096];
	int count = 0;

	while ((entry = readdir(folder))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
		count += replay_file(name);
	}
	closedir(folder);
	return count;
}

int main(int argc, char **argv)
{
	int count = 0;

	for (int i = 1; i < argc; i++) {
		DIR *folder = opendir(argv[i]);

		count += folder ? replay_folder(argv[i], folder) : replay_file(argv[i]);
	}
	printf("%d inputs\n", count);
	return count ? EXIT_SUCCESS : EXIT_FAILURE;
}

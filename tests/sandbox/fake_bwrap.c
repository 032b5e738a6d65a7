/* SPDX-License-Identifier: MIT */

/*
 * A bwrap that is none, for tests/sandbox/test-keeper and tests/daemon/test-doctor: it builds no
 * sandbox. What it does instead is the first of the options that it is given by --args; asked for
 * its help or version, it answers with the file beside it that is called as itself and the option,
 * or as the real one.
 *   exec    executes the command, as if it had built one (and so with the options of a real plan)
 *   deaf    lives on without a word, its control socket closed
 *   orphan  ends, and leaves a child that lives on
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void answer(const char *option)
{
	char path[4096], text[65536];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 64);
	FILE *file;

	if (n > 0) {
		snprintf(path + n, 64, "%.60s", option);
		file = fopen(path, "re");
		if (file) {
			fwrite(text, 1, fread(text, 1, sizeof(text), file), stdout);
			exit(EXIT_SUCCESS);
		}
	}
	execlp("bwrap", "bwrap", option, NULL);
}

int main(int argc, char **argv)
{
	char option[64] = "";

	if (argc == 2)
		answer(argv[1]);
	/* bwrap --args FD -- COMMAND… */
	if (argc < 5 || read(atoi(argv[2]), option, sizeof(option) - 1) <= 0)
		return EXIT_FAILURE;
	if (strcmp(option, "exec") == 0 || strcmp(option, "--unshare-all") == 0)
		execv(argv[4], argv + 4);
	if (strcmp(option, "orphan") == 0 && fork() != 0)
		return EXIT_FAILURE;
	if (strcmp(option, "deaf") == 0 || strcmp(option, "orphan") == 0) {
		closefrom(3);
		for (;;)
			pause();
	}
	return EXIT_FAILURE;
}

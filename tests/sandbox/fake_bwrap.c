/* SPDX-License-Identifier: MIT */

/*
 * A bwrap that is none, for tests/sandbox/test-keeper and tests/daemon/test-doctor: it builds no
 * sandbox. What it does instead is the first of the options that it is given by --args; asked for
 * its help or version, it answers as the real one.
 *   exec    executes the command, as if it had built one (and so with the options of a real plan)
 *   deaf    lives on without a word, its control socket closed
 *   orphan  ends, and leaves a child that lives on
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	char option[64] = "";

	if (argc == 2)
		execlp("bwrap", "bwrap", argv[1], NULL);
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

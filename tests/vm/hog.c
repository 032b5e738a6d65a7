/* SPDX-License-Identifier: MIT */

/*
 * What the Trials of tests/vm run: one greedy process or another. A small static program, since the
 * pages of an interpreter and its libraries, read back again and again over the slow file system of
 * the virtual machine while a memory limit bites, would take longer than everything else.
 *
 *   hog rest              waits to be killed
 *   hog memory MIB        fills so much memory; exits 3 if that was allowed
 *   hog child MIB         a child does that; exits 0 however the child ended
 *   hog keep MIB          as child, and then waits to be killed
 *   hog hold MIB          as memory, says `full`, and then waits to be killed
 *   hog lower MIB         as memory, three times at once, each as unlikely a victim as it can be
 *   hog after FILE MIB    as memory, once there is such a file
 *   hog spin SECONDS      uses a processor for so long (wall time; 0: for ever)
 *   hog storm             forks for ever children that fork for ever
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void pause_for(long nanoseconds)
{
	const struct timespec time = {.tv_nsec = nanoseconds};

	nanosleep(&time, NULL);
}

static int memory(const char *mebibytes)
{
	size_t size = strtoul(mebibytes, NULL, 10) << 20;
	volatile char *bytes = malloc(size);
	size_t at;

	if (!bytes)
		return 4;
	for (at = 0; at < size; at += 4096)
		bytes[at] = 1;
	return 3;
}

static int child(const char *mebibytes)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(memory(mebibytes));
	return pid < 0 || waitpid(pid, NULL, 0) < 0 ? 5 : 0;
}

static _Noreturn void rest(void)
{
	for (;;)
		pause();
}

static int hold(const char *mebibytes)
{
	int result = memory(mebibytes);

	if (result != 3)
		return result;
	puts("full");
	fflush(stdout);
	rest();
}

/* The lowest score the kernel lets it have. */
static void lower_oom_score(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	char text[16];
	int score;

	for (score = -1000; score < 500; score += 100)
		if (write(fd, text, (size_t)snprintf(text, sizeof(text), "%d", score)) > 0)
			break;
	printf("%d\n", score);
	fflush(stdout);
	close(fd);
}

static int lower(const char *mebibytes)
{
	lower_oom_score();
	/* NOLINTNEXTLINE(misc-redundant-expression): four processes. */
	if (fork() < 0 || fork() < 0)
		return 5;
	return memory(mebibytes);
}

static int after(const char *file, const char *mebibytes)
{
	while (access(file, F_OK) < 0)
		pause_for(10000000);
	return memory(mebibytes);
}

static int spin(const char *seconds)
{
	time_t length = strtol(seconds, NULL, 10);
	struct timespec start, now;

	clock_gettime(CLOCK_MONOTONIC, &start);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while (length == 0 || now.tv_sec - start.tv_sec < length);
	return 0;
}

static _Noreturn void storm(void)
{
	for (;;)
		if (fork() < 0)
			pause_for(1000000);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (strcmp(what, "rest") == 0)
		rest();
	if (strcmp(what, "storm") == 0)
		storm();
	if (argc == 3 && strcmp(what, "memory") == 0)
		return memory(argv[2]);
	if (argc == 3 && strcmp(what, "child") == 0)
		return child(argv[2]);
	if (argc == 3 && strcmp(what, "keep") == 0 && child(argv[2]) == 0)
		rest();
	if (argc == 3 && strcmp(what, "hold") == 0)
		return hold(argv[2]);
	if (argc == 3 && strcmp(what, "lower") == 0)
		return lower(argv[2]);
	if (argc == 3 && strcmp(what, "spin") == 0)
		return spin(argv[2]);
	if (argc == 4 && strcmp(what, "after") == 0)
		return after(argv[2], argv[3]);
	fputs("hog: see the head of tests/vm/hog.c\n", stderr);
	return 64;
}

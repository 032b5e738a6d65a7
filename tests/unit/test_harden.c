/* SPDX-License-Identifier: MIT */

/* What a keeper has given up: each case in a child, since there is no way back. */
#include <arpa/inet.h>
#include <check.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/wipe.h"
#include "keeper/harden.h"

static char top[] = "/tmp/trials-harden.XXXXXX";
static int parent = -1, given = -1, read_only = -1;

static int make(const char *name)
{
	int fd;

	ck_assert_int_eq(mkdirat(parent, name, 0700), 0);
	fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	close(openat(fd, "file", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	return fd;
}

static void setup(void)
{
	strcpy(top + strlen(top) - 6, "XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(top));
	parent = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	given = make("given");
	read_only = make("read-only");
}

static void teardown(void)
{
	close(given);
	close(read_only);
	wipe_remove(parent, "given", NULL);
	wipe_remove(parent, "read-only", NULL);
	close(parent);
	ck_assert_int_eq(rmdir(top), 0);
}

static long landlock_version(void)
{
	return syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
}

/* check gives the number of what is not as it should be, or 0. */
static int after(int (*check)(void))
{
	int status;
	pid_t pid = fork();

	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		const struct harden_folder folders[] = {{given, true},
							{read_only, false},
							{-1, true}};
		struct fault fault = FAULT_INIT;

		if (harden(&(struct harden_order){folders, ARRAY_SIZE(folders)}, &fault) != 0)
			_exit(100);
		_exit(check());
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_msg(WIFEXITED(status), "ended by signal %d", WTERMSIG(status));
	return WEXITSTATUS(status);
}

static int opens(int folder, const char *name, int flags)
{
	int fd = openat(folder, name, flags | O_CLOEXEC, 0600);
	int error = fd < 0 ? errno : 0;

	if (fd >= 0)
		close(fd);
	return error;
}

static int files(void)
{
	int denied = landlock_version() > 0 ? EACCES : 0;

	if (opens(given, "file", O_RDWR) || opens(given, "new", O_WRONLY | O_CREAT | O_EXCL) ||
	    renameat(given, "new", given, "newer") < 0 || unlinkat(given, "newer", 0) < 0)
		return 1;
	if (opens(read_only, "file", O_RDONLY) || opens(read_only, ".", O_RDONLY | O_DIRECTORY))
		return 2;
	if (opens(read_only, "file", O_WRONLY) != denied ||
	    opens(read_only, "new", O_WRONLY | O_CREAT) != denied)
		return 3;
	if (opens(parent, ".", O_RDONLY | O_DIRECTORY) != denied ||
	    opens(AT_FDCWD, "/", O_RDONLY | O_DIRECTORY) != denied ||
	    opens(AT_FDCWD, "/tmp/trials-harden.new", O_WRONLY | O_CREAT) != denied)
		return 4;
	if (opens(AT_FDCWD, "/etc/passwd", O_RDONLY) ||
	    opens(AT_FDCWD, "/proc/self/stat", O_RDONLY) || opens(AT_FDCWD, "/dev/null", O_RDWR))
		return 5;
	return 0;
}

START_TEST(test_files)
{
	ck_assert_int_eq(after(files), 0);
}
END_TEST

static int calls(void)
{
	char *const arguments[] = {(char *)"true", NULL};
	static const int refused[] = {AF_VSOCK, AF_PACKET, AF_ALG, AF_BLUETOOTH, AF_XDP, AF_UNSPEC};
	static const int kept[] = {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK};

	if (execv("/bin/true", arguments) == 0 || errno != EPERM)
		return 1;
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0 || errno != EPERM)
		return 2;
	if (unshare(CLONE_NEWUSER) == 0 || errno != EPERM)
		return 3;
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++)
		if (socket(refused[i], SOCK_DGRAM, 0) >= 0 || errno != EAFNOSUPPORT)
			return 10 + (int)i;
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++) {
		int fd = socket(kept[i], SOCK_DGRAM, 0);

		/* A machine may have no IPv6. */
		if (fd < 0 && kept[i] != AF_INET6)
			return 20 + (int)i;
		if (fd >= 0)
			close(fd);
	}
	return 0;
}

START_TEST(test_calls)
{
	ck_assert_int_eq(after(calls), 0);
}
END_TEST

static int names(void)
{
	const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct addrinfo *found;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), r;

	/* By /etc/hosts: all that a look-up loads and reads, and no server is asked. */
	if (getaddrinfo("localhost", "443", &hints, &found) != 0)
		return 1;
	freeaddrinfo(found);
	r = bind(fd, (const struct sockaddr *)&address, sizeof(address));
	if (landlock_version() >= 4 ? r == 0 || errno != EACCES : r < 0)
		return 2;
	/* Nobody listens on port 1, and a connection is not held back. */
	address.sin_port = htons(1);
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0 ||
	    errno != ECONNREFUSED)
		return 3;
	return 0;
}

START_TEST(test_names_and_connections)
{
	ck_assert_int_eq(after(names), 0);
}
END_TEST

/* Of the same user and outside: whoever could be read could be impersonated. */
static int others(void)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/environ", (int)getppid());
	if (opens(AT_FDCWD, path, O_RDONLY) == 0)
		/* Root is let through by a capability of its own, CAP_PERFMON. */
		return landlock_version() > 0 && geteuid() != 0;
	return errno == EACCES || errno == EPERM ? 0 : 2;
}

START_TEST(test_other_processes)
{
	ck_assert_int_eq(after(others), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("harden");
	TCase *tests = tcase_create("harden");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, test_files);
	tcase_add_test(tests, test_calls);
	tcase_add_test(tests, test_names_and_connections);
	tcase_add_test(tests, test_other_processes);
	suite_add_tcase(suite, tests);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

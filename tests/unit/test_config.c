/* SPDX-License-Identifier: MIT */
#include "base/config.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static char folder[] = "/tmp/test_config.XXXXXX";
static char path[64];
static struct config config;
static struct fault fault;

static void setup(void)
{
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/trialsd.conf", folder);
	ck_assert_int_eq(config_init(&config), 0);
	fault = FAULT_INIT;
}

static void teardown(void)
{
	config_done(&config);
	fault_done(&fault);
	unlink(path);
	ck_assert_int_eq(rmdir(folder), 0);
}

static int read_bytes(const char *bytes, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, bytes, size), (ssize_t)size);
	close(fd);
	fault_done(&fault);
	return config_read(&config, path, &fault);
}

static int read_text(const char *text)
{
	return read_bytes(text, strlen(text));
}

START_TEST(the_defaults)
{
	ck_assert_uint_ge(config.max_running, 1);
	ck_assert_uint_le(config.max_running, 1024);
	ck_assert_int_eq(config.backend, BACKEND_systemd);
	ck_assert_ptr_null(config.bwrap);
	ck_assert(config.require_limits);
	ck_assert_str_eq(config.path, "/usr/local/bin:/usr/bin:/bin");
	ck_assert(config.limits.has.wall_seconds && config.limits.has.tasks);
	ck_assert_double_eq(config.limits.wall_seconds, 7200);
	ck_assert_uint_eq(config.limits.tasks, 2048);
	ck_assert_uint_eq(config.limits.tmp, 4ull << 30);
	ck_assert_uint_eq(config.limits.home, 4ull << 30);
	ck_assert_uint_eq(config.limits.output, 64u << 20);
	ck_assert(!config.limits.has.memory && !config.limits.has.swap && !config.limits.has.cpu);
	ck_assert_double_eq(config.grace_seconds, 10);
	ck_assert_int_eq(config.network, NETWORK_allowlist);
	ck_assert(config.host_network);
	ck_assert_uint_eq(config.hosts.count + config.internal.count, 0);
	ck_assert_double_eq(config.idle_seconds, 1800);
	ck_assert_ptr_null(config.refusal);
	ck_assert_int_eq(config_read(&config, path, &fault), -ENOENT);
	ck_assert_ptr_null(fault.message);
}
END_TEST

START_TEST(every_key_is_read)
{
	ck_assert_int_eq(read_text("# a comment\n"
				   "; another, with = and [brackets]\n"
				   "\n"
				   "[Daemon]\n"
				   "MaxRunning=4\n"
				   "Backend = none\r\n"
				   "\tBwrap =\t/opt/my bwrap/bwrap \n"
				   "RequireLimits=no\n"
				   "[Sandbox]\n"
				   "Path=/opt/a=b:c/bin:/bin;x#y\n"
				   "[Limits]\n"
				   "Wall=1h 30min\n"
				   "Memory=2G\n"
				   "Swap=0\n"
				   "Tasks=100\n"
				   "CPU=150%\n"
				   "Tmp=1M\n"
				   "Home=64K\n"
				   "[Daemon]\n"
				   "[Limits]\n"
				   "Output=1M\n"
				   "Grace=1.5s"),
			 FAULT);
	/* Only that one is wrong: c/bin is not absolute. */
	ck_assert_ptr_nonnull(strstr(fault.message, "trialsd.conf:10: Path: "));
	ck_assert_int_eq(read_text("\xef\xbb\xbf[Daemon]\n"
				   "MaxRunning=4\n"
				   "Backend = none\r\n"
				   "\tBwrap =\t/opt/my bwrap/bwrap \n"
				   "RequireLimits=no\n"
				   "SpareKeeper=2min\n"
				   "[Sandbox]\n"
				   "Path=/opt/a=b:/c/bin:/bin;x#y\n"
				   "[Network]\n"
				   "Default=none\n"
				   "HostNetwork=no\n"
				   "Hosts=a.example \t *.b.example:8443\n"
				   "Internal=127.0.0.1:8080\n"
				   "IdleLimit=2h\n"
				   "Refusal=no: HOST:PORT\n"
				   "[Limits]\n"
				   "Wall=1h 30min\n"
				   "Stall=10min\n"
				   "Memory=2G\n"
				   "Swap=0\n"
				   "Tasks=100\n"
				   "CPU=150%\n"
				   "Tmp=1M\n"
				   "Home=64K\n"
				   "[Daemon]\n"
				   "[Limits]\n"
				   "Output=1M\n"
				   "Grace=1.5s"),
			 0);
	ck_assert_uint_eq(config.max_running, 4);
	ck_assert_int_eq(config.backend, BACKEND_none);
	ck_assert_str_eq(config.bwrap, "/opt/my bwrap/bwrap");
	ck_assert(!config.require_limits);
	ck_assert_double_eq(config.spare_seconds, 120);
	ck_assert_int_eq(config.network, NETWORK_none);
	ck_assert(!config.host_network);
	ck_assert_uint_eq(config.hosts.count, 2);
	ck_assert_str_eq(config.hosts.items[1], "*.b.example:8443");
	ck_assert_uint_eq(config.internal.count, 1);
	ck_assert_str_eq(config.internal.items[0], "127.0.0.1:8080");
	ck_assert_double_eq(config.idle_seconds, 7200);
	ck_assert_str_eq(config.refusal, "no: HOST:PORT");
	ck_assert_str_eq(config.path, "/opt/a=b:/c/bin:/bin;x#y");
	ck_assert_double_eq(config.limits.wall_seconds, 5400);
	ck_assert(config.limits.has.stall_seconds);
	ck_assert_double_eq(config.limits.stall_seconds, 600);
	ck_assert(config.limits.has.memory && config.limits.has.swap && config.limits.has.cpu);
	ck_assert_uint_eq(config.limits.memory, 2ull << 30);
	ck_assert_uint_eq(config.limits.swap, 0);
	ck_assert_uint_eq(config.limits.tasks, 100);
	ck_assert_uint_eq(config.limits.cpu, 150);
	ck_assert_uint_eq(config.limits.tmp, 1u << 20);
	ck_assert_uint_eq(config.limits.home, 64u << 10);
	ck_assert_uint_eq(config.limits.output, 1u << 20);
	ck_assert_double_eq(config.grace_seconds, 1.5);
}
END_TEST

START_TEST(infinity_takes_a_limit_away)
{
	ck_assert_int_eq(read_text("[Limits]\nWall=infinity\nTasks=infinity\nMemory=infinity\n"),
			 0);
	ck_assert(!config.limits.has.wall_seconds);
	ck_assert(!config.limits.has.tasks);
	ck_assert(!config.limits.has.memory);
	ck_assert(config.limits.has.tmp);
}
END_TEST

/* text, and what the refusal says after the file's name. */
static const struct {
	const char *text;
	const char *part;
} wrong[] = {
	{"[Deamon]\n",
	 ":1: [Deamon]: unknown section; there are [Daemon] [Sandbox] [Harness] [Network] [Limits] "
	 "[Toolchain NAME]"},
	{"[Toolchain]\n", ":1: [Toolchain]: a toolchain is [Toolchain NAME]"},
	{"[Toolchain a b]\n", ":1: [Toolchain a b]: a toolchain is [Toolchain NAME]"},
	{"[Toolchain a]\nPath=~/a\n[Daemon]\nReadOnly=~/a\n", ":4: ReadOnly: unknown key"},
	{"[Toolchain a]\nMaxRunning=1\n",
	 ":2: MaxRunning: unknown key; this section has ReadOnly Environment Path Programs"},
	{"\n[Toolchain a]\n[Limits]\n", ":2: [Toolchain a]: it says nothing"},
	{"\n[]\n", ":2: []: unknown section"},
	{"[Daemon\n", ":1: a section is written [Name]"},
	{"[Daemon] x\n", ":1: a section is written [Name]"},
	{"[Daemon]MaxRunning=1\n", ":1: a section is written [Name]"},
	{"[Daemon]\n\nMaxRuning=1\n", ":3: MaxRuning: unknown key; this section has MaxRunning"},
	{"[Daemon]\nmaxrunning=1\n", ":2: maxrunning: unknown key"},
	{"[Daemon]\nMemory=1G\n", ":2: Memory: unknown key"},
	{"MaxRunning=1\n", ":1: MaxRunning: stands before the first [Section]: [Daemon] has to "
			   "stand above it"},
	{"Nonsense=1\n", ":1: Nonsense: stands before the first [Section]"},
	{"[Daemon]\nMaxRunning=1\nMaxRunning=1\n", ":3: MaxRunning: given a second time"},
	{"[Daemon]\nMaxRunning=1\n[Limits]\n[Daemon]\nMaxRunning=2\n", ":5: MaxRunning: given a"},
	{"[Daemon]\nMaxRunning\n", ":2: a line is Key=value"},
	{"[Daemon]\n=1\n", ":2: a line is Key=value"},
	{"[Daemon]\nMaxRunning: 1\n", ":2: a line is Key=value"},
	{"[Sandbox]\nPath:x=/bin\n", ":2: a line is Key=value"},
	{"[Daemon]\nMax Running=1\n", ":2: a line is Key=value"},
	{"[Daemon]\nMaxRunning=\n", ":2: MaxRunning: \"\" is not a whole number from 1 to 1024"},
	{"[Daemon]\nMaxRunning=0\n", ":2: MaxRunning: \"0\" is not"},
	{"[Daemon]\nMaxRunning=1025\n", ":2: MaxRunning"},
	{"[Daemon]\nMaxRunning=-1\n", ":2: MaxRunning"},
	{"[Daemon]\nMaxRunning=0x10\n", ":2: MaxRunning"},
	{"[Daemon]\nMaxRunning=18446744073709551617\n", ":2: MaxRunning"},
	{"[Daemon]\nMaxRunning=4 ; four\n", ":2: a comment stands on a line of its own"},
	{"[Sandbox]\nPath=/bin #x\n", ":2: a comment stands on a line of its own"},
	{"[Daemon]\nMaxRunning=4\n  5\n", ":3: a line is Key=value"},
	{"[Sandbox]\nPath=/bin:\\\n/usr/bin\n", ":2: a value stands on one line"},
	{"[Daemon]\nBackend=docker\n", ":2: Backend: \"docker\" is not auto, systemd or none"},
	{"[Daemon]\nBwrap=bwrap\n", ":2: Bwrap: \"bwrap\" is not an absolute path"},
	{"[Daemon]\nBwrap=\"/usr/bin/bwrap\"\n", ":2: Bwrap"},
	{"[Daemon]\nSpareKeeper=infinity\n", ":2: SpareKeeper: \"infinity\" is not a time such as"},
	{"[Daemon]\nRequireLimits=maybe\n", ":2: RequireLimits: \"maybe\" is not yes or no"},
	{"[Sandbox]\nPath=/bin::/usr/bin\n", ":2: Path"},
	{"[Sandbox]\nPath=/bin:\n", ":2: Path"},
	{"[Sandbox]\nPath=.:/bin\n", ":2: Path"},
	{"[Limits]\nWall=soon\n", ":2: Wall: \"soon\" is not a time such as 90min"},
	{"[Limits]\nWall=0\n", ":2: Wall"},
	{"[Limits]\nStall=0\n", ":2: Stall"},
	{"[Limits]\nWall=366d\n", ":2: Wall"},
	{"[Limits]\nMemory=99999999999999999999T\n", ":2: Memory"},
	{"[Limits]\nMemory=4095K\n", ":2: Memory"},
	{"[Limits]\nMemory=-1\n", ":2: Memory"},
	{"[Limits]\nTasks=0\n", ":2: Tasks"},
	{"[Limits]\nTasks=4194305\n", ":2: Tasks"},
	{"[Limits]\nCPU=0%\n", ":2: CPU"},
	{"[Limits]\nCPU=2\n",
	 ":2: CPU: \"2\" is not a percentage from 1% to 409600% (200% is two processors"},
	{"[Sandbox]\nPath=~/bin\n", ":2: Path"},
	{"[Harness]\nPath=~ann/bin\n", ":2: Path"},
	{"[Harness]\nPath=/bin:bin\n", ":2: Path"},
	{"[Limits]\nCPU=409601\n", ":2: CPU"},
	{"[Limits]\nTmp=0\n", ":2: Tmp"},
	{"[Limits]\nTmp=infinity\n", ":2: Tmp"},
	{"[Limits]\nOutput=65535\n", ":2: Output"},
	{"[Limits]\nGrace=3601\n", ":2: Grace"},
	{"[Limits]\nGrace=infinity\n", ":2: Grace"},
	{"[Daemon]\nBwrap=/\xff\n", ":2: not text (UTF-8)"},
	{"[Daemon]\nBwrap=/a\033[2J\n", ":2: a control character"},
};

START_TEST(what_is_wrong_is_named)
{
	char expected[256];

	ck_assert_int_eq(read_text(wrong[_i].text), FAULT);
	snprintf(expected, sizeof(expected), "%s%s", path, wrong[_i].part);
	ck_assert_msg(strncmp(fault.message, expected, strlen(expected)) == 0, "%s\n  is not\n%s",
		      fault.message, expected);
	ck_assert_int_eq(fault.code, ERROR_invalid);
	ck_assert_ptr_nonnull(fault.hint);
}
END_TEST

START_TEST(nothing_is_half_applied)
{
	ck_assert_int_eq(read_text("[Daemon]\nMaxRunning=7\nBwrap=/a\n"), 0);
	ck_assert_int_eq(read_text(
				 "[Daemon]\nMaxRunning=8\nBwrap=/b\n[Sandbox]\nPath=/c\n[Limits]\n"
				 "Wall=infinity\nMemory=1\n"),
			 FAULT);
	ck_assert_uint_eq(config.max_running, 7);
	ck_assert_str_eq(config.bwrap, "/a");
	ck_assert_str_eq(config.path, "/usr/local/bin:/usr/bin:/bin");
	ck_assert(config.limits.has.wall_seconds);
	/* On top of what is there. */
	ck_assert_int_eq(read_text("[Limits]\nTasks=5\n"), 0);
	ck_assert_uint_eq(config.max_running, 7);
	ck_assert_uint_eq(config.limits.tasks, 5);
}
END_TEST

/* A line of `size` bytes that sets Path to one long folder. */
static char *long_line(size_t size, char fill)
{
	static const char begin[] = "[Sandbox]\n", key[] = "Path=/";
	static const char end[] = "\n[Daemon]\nMaxRunning=3\n";
	char *text = malloc(strlen(begin) + size + sizeof(end));

	ck_assert_ptr_nonnull(text);
	memcpy(text, begin, sizeof(begin));
	memset(text + strlen(begin), fill, size);
	memcpy(text + strlen(begin), key, strlen(key));
	memcpy(text + strlen(begin) + size, end, sizeof(end));
	return text;
}

START_TEST(long_lines)
{
	_cleanup_free_ char *fits = long_line(4000, 'x');
	_cleanup_free_ char *too_long_path = long_line(5000, 'x');
	_cleanup_free_ char *too_long = long_line(9000, 'x');
	_cleanup_free_ char *comment = long_line(9000, '#');

	ck_assert_int_eq(read_text(fits), 0);
	ck_assert_uint_eq(strlen(config.path), 3995);
	ck_assert_uint_eq(config.max_running, 3);
	ck_assert_int_eq(read_text(too_long_path), FAULT);
	ck_assert_ptr_nonnull(strstr(fault.message, ":2: Path: "));
	ck_assert_int_eq(read_text(too_long), FAULT);
	ck_assert_ptr_nonnull(strstr(fault.message, ":2: the line is too long"));
	comment[strlen("[Sandbox]\n")] = '#';
	ck_assert_int_eq(read_text(comment), 0);
}
END_TEST

START_TEST(files_that_are_none)
{
	static char big[65537];

	memset(big, '\n', sizeof(big));
	ck_assert_int_eq(read_bytes(big, 65536), 0);
	ck_assert_int_eq(read_bytes(big, 65537), FAULT);
	ck_assert_ptr_nonnull(strstr(fault.message, "larger than 64 KiB"));
	ck_assert_int_eq(read_bytes("[Daemon]\n\n#\0\nMaxRunning=3\n", 26), FAULT);
	ck_assert_ptr_nonnull(strstr(fault.message, ":3: not text: a NUL"));
	ck_assert_int_eq(read_text(""), 0);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	ck_assert_int_eq(config_read(&config, path, &fault), FAULT);
	ck_assert_ptr_nonnull(strstr(fault.message, "not a regular file"));
	ck_assert_int_eq(config_read(&config, folder, &fault), FAULT);
	ck_assert_ptr_nonnull(strstr(fault.message, "not a regular file"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("config");
	TCase *cases = tcase_create("config");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_checked_fixture(cases, setup, teardown);
	tcase_add_test(cases, the_defaults);
	tcase_add_test(cases, every_key_is_read);
	tcase_add_test(cases, infinity_takes_a_limit_away);
	tcase_add_loop_test(cases, what_is_wrong_is_named, 0, (int)ARRAY_SIZE(wrong));
	tcase_add_test(cases, nothing_is_half_applied);
	tcase_add_test(cases, long_lines);
	tcase_add_test(cases, files_that_are_none);
	suite_add_tcase(suite, cases);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* SPDX-License-Identifier: MIT */
/* A configuration as text: nothing is lost on the way, and two can be told apart. */
#include "base/config_text.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

static char path[] = "/tmp/test_config_text.XXXXXX";

static const char every_key[] =
	"[Daemon]\nMaxRunning=4\nBackend=none\nBwrap=/opt/my bwrap/bwrap\n"
	"MinFree=77M\nRequireLimits=no\nSpareKeeper=1.5s\n[Sandbox]\nPath=/opt/a=b:/c;x#y\n"
	"[Network]\nDefault=none\nHostNetwork=no\nHosts=a.example *.b.example:1\n"
	"Internal=h:80 i:81\nIdleLimit=1h\nRefusal=no: HOST:PORT\n"
	"[Limits]\nWall=1h 30min\nStall=500s\nMemory=2G\nSwap=0\nTasks=100\n"
	"CPU=150%\nTmp=1M\nHome=64K\nOutput=1M\nGrace=1.5s\n";

static const char toolchains[] =
	"[Toolchain b]\nReadOnly=-'~/a b/*'|/c\nPath=%1/bin\nEnvironment='A=%1 %h %%' B=\n"
	"[Toolchain a]\nReadOnly=~/x ~/y\nReadOnly=~/z\nPath=-%3/bin\nPrograms=one two\n";

static void read_text(struct config *config, const char *text)
{
	_cleanup_fault_ struct fault fault = FAULT_INIT;
	FILE *file = fopen(path, "we");

	ck_assert_ptr_nonnull(file);
	fputs(text, file);
	ck_assert_int_eq(fclose(file), 0);
	ck_assert_int_eq(config_init(config), 0);
	ck_assert_msg(config_read(config, path, &fault) == 0, "%s", fault.message);
}

static void setup(void)
{
	int fd = mkstemp(path);

	ck_assert_int_ge(fd, 0);
	close(fd);
}

static void teardown(void)
{
	unlink(path);
	strcpy(path + sizeof(path) - 7, "XXXXXX");
}

static void expect_same(const char *text)
{
	_cleanup_free_ char *first = NULL, *second = NULL, *names = NULL;
	struct config config, again;
	bool restart;

	read_text(&config, text);
	ck_assert_int_eq(config_format(&config, &first), 0);
	read_text(&again, first);
	ck_assert_int_eq(config_format(&again, &second), 0);
	ck_assert_str_eq(first, second);
	ck_assert_int_eq(config_differences(&config, &again, &names, &restart), 0);
	ck_assert_ptr_null(names);
	config_done(&config);
	config_done(&again);
}

START_TEST(it_is_read_as_it_was)
{
	expect_same("");
	expect_same(every_key);
	expect_same("[Limits]\nCPU=5%\n");
	expect_same(toolchains);
	expect_same("[Limits]\nWall=infinity\nStall=infinity\nMemory=infinity\nSwap=infinity\n"
		    "Tasks=infinity\nCPU=infinity\nGrace=0\n[Daemon]\nMinFree=0\n");
	expect_same("[Limits]\nWall=8753.123456789h\nGrace=1us\nTmp=1P\n");
}
END_TEST

static void expect_names(const char *text, const char *names, bool restart)
{
	_cleanup_free_ char *found = NULL;
	struct config config, other;
	bool found_restart;

	read_text(&config, "");
	config.max_running = 2;
	read_text(&other, text);
	if (!strstr(text, "MaxRunning"))
		other.max_running = 2;
	ck_assert_int_eq(config_differences(&config, &other, &found, &found_restart), 0);
	ck_assert_ptr_nonnull(found);
	ck_assert_str_eq(found, names);
	ck_assert_int_eq(found_restart, restart);
	config_done(&config);
	config_done(&other);
}

START_TEST(differences_are_named)
{
	expect_names("[Daemon]\nMaxRunning=3\n", "MaxRunning", false);
	expect_names("[Daemon]\nBwrap=/b\n", "Bwrap", true);
	expect_names("[Daemon]\nBackend=auto\n[Limits]\nGrace=9\n", "Backend, Grace", true);
	expect_names("[Limits]\nTasks=infinity\nMemory=1G\n", "Memory, Tasks", false);
	expect_names("[Toolchain a]\nPrograms=x\n[Daemon]\nMaxRunning=3\n",
		     "MaxRunning, [Toolchain a]", false);
	expect_names(every_key,
		     "MaxRunning, Backend, Bwrap, MinFree, RequireLimits, SpareKeeper, Path, "
		     "Default, HostNetwork, Hosts, Internal, IdleLimit, Refusal, "
		     "Wall, Stall, Memory, Swap, Tasks, CPU, Tmp, Home, Output, Grace",
		     true);
}
END_TEST

/* A refusal names the keys of a section: each must be in the text. */
START_TEST(no_key_is_left_out)
{
	static const char *const sections[] = {"Daemon", "Sandbox", "Limits"};
	_cleanup_free_ char *text = NULL;
	struct config config;
	size_t count = 0;

	read_text(&config, every_key);
	ck_assert_int_eq(config_format(&config, &text), 0);
	for (size_t i = 0; i < ARRAY_SIZE(sections); i++) {
		_cleanup_fault_ struct fault fault = FAULT_INIT;
		FILE *file = fopen(path, "we");
		char *rest, *name, line[64];

		fprintf(file, "[%s]\nNoSuchKey=1\n", sections[i]);
		fclose(file);
		ck_assert_int_eq(config_read(&config, path, &fault), FAULT);
		rest = strstr(fault.message, "has ");
		ck_assert_ptr_nonnull(rest);
		rest += 4;
		while ((name = strsep(&rest, " ;"))) {
			snprintf(line, sizeof(line), "\n%s=", name);
			ck_assert_msg(strstr(text, line) != NULL, "%s is left out", name);
			count++;
		}
	}
	ck_assert_uint_ge(count, 16);
	config_done(&config);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("config_text");
	TCase *cases = tcase_create("text");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(cases, setup, teardown);
	tcase_add_test(cases, it_is_read_as_it_was);
	tcase_add_test(cases, differences_are_named);
	tcase_add_test(cases, no_key_is_left_out);
	suite_add_tcase(suite, cases);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

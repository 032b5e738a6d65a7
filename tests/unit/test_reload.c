/* SPDX-License-Identifier: MIT */
/* What a configuration that is read again changes, and what it leaves. */
#include "base/reload.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

static char folder[] = "/tmp/test_reload.XXXXXX";
static char path[64];
static struct config config;
static bool later;

static void put(const char *text)
{
	FILE *file = fopen(path, "we");

	ck_assert_ptr_nonnull(file);
	fputs(text, file);
	ck_assert_int_eq(fclose(file), 0);
}

static int reload(const char *text, int backend)
{
	_cleanup_fault_ struct fault fault = FAULT_INIT;
	int r;

	put(text);
	later = false;
	r = config_reload(&config, path, NULL, backend, &later, &fault);
	ck_assert_int_eq(r == FAULT, fault.message != NULL);
	return r;
}

static void setup(void)
{
	_cleanup_fault_ struct fault fault = FAULT_INIT;

	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/trialsd.conf", folder);
	put("[Daemon]\nMaxRunning=3\nBwrap=/a/bwrap\nBackend=auto\n[Sandbox]\nPath=/a\n");
	ck_assert_int_eq(config_init(&config), 0);
	ck_assert_int_eq(config_read(&config, path, &fault), 0);
}

static void teardown(void)
{
	config_done(&config);
	unlink(path);
	rmdir(folder);
}

START_TEST(it_begins_with_the_defaults)
{
	ck_assert_int_eq(reload("[Daemon]\nBwrap=/a/bwrap\nBackend=auto\n[Limits]\nTasks=7\n", -1),
			 0);
	ck_assert(!later);
	ck_assert_uint_ne(config.max_running, 0);
	ck_assert_str_eq(config.path, "/usr/local/bin:/usr/bin:/bin");
	ck_assert_uint_eq(config.limits.tasks, 7);
	ck_assert_int_eq(reload("[Daemon]\nBwrap=/a/bwrap\nBackend=auto\n", -1), 0);
	ck_assert_uint_eq(config.limits.tasks, 2048);
}
END_TEST

START_TEST(backend_and_bwrap_stay)
{
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(reload("[Daemon]\nBwrap=/b/bwrap\nBackend=auto\n", -1), 0);
		ck_assert(later);
		ck_assert_str_eq(config.bwrap, "/a/bwrap");
		ck_assert_int_eq(reload("[Daemon]\nBwrap=/a/bwrap\nBackend=none\n", -1), 0);
		ck_assert(later);
		ck_assert_int_eq(config.backend, BACKEND_auto);
		ck_assert_int_eq(reload("", -1), 0);
		ck_assert(later);
		ck_assert_str_eq(config.bwrap, "/a/bwrap");
	}
	/* The command line is stronger than what the file says. */
	config.backend = BACKEND_none;
	ck_assert_int_eq(reload("[Daemon]\nBwrap=/a/bwrap\nBackend=systemd\n", BACKEND_none), 0);
	ck_assert(!later);
	ck_assert_int_eq(config.backend, BACKEND_none);
}
END_TEST

START_TEST(a_fault_leaves_all)
{
	ck_assert_int_eq(reload("[Daemon]\nMaxRunning=5\nBwrap=/b/bwrap\nWhat=1\n", -1), FAULT);
	ck_assert_uint_eq(config.max_running, 3);
	ck_assert_str_eq(config.bwrap, "/a/bwrap");
	ck_assert_str_eq(config.path, "/a");
	unlink(path);
	ck_assert_int_eq(config_reload(&config, NULL, folder, -1, &later,
				       &(struct fault){.code = ERROR_internal}),
			 0);
	ck_assert_uint_ne(config.max_running, 0);
	ck_assert_str_eq(config.bwrap, "/a/bwrap");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("reload");
	TCase *cases = tcase_create("reload");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_checked_fixture(cases, setup, teardown);
	tcase_add_test(cases, it_begins_with_the_defaults);
	tcase_add_test(cases, backend_and_bwrap_stay);
	tcase_add_test(cases, a_fault_leaves_all);
	suite_add_tcase(suite, cases);

	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

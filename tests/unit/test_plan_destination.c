/* SPDX-License-Identifier: MIT */
#include "plan_fixture.h"

#include <check.h>
#include <string.h>

/* Every rule at the head of destination.c, refused and allowed. */

static struct plan_fixture fixture;

static void setup(void)
{
	fixture_init(&fixture);
}

static void teardown(void)
{
	fixture_done(&fixture);
}

static void refused(const char *source, const char *destination, const char *mode, const char *part,
		    const char *other)
{
	expect_bind_refused(&fixture, source, destination, mode, part, other);
}

static void allowed(const char *source, const char *destination, const char *mode)
{
	expect_bind(&fixture, source, destination, mode);
}

/* Rule 1 of destinations. */
START_TEST(destination_shape)
{
	static const char *const bad[] = {"data",     "/data/", "//data",    "/data//x", "/./data",
					  "/data/..", "/../x",	"/data/./x", "",	 "/data/."};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		add_bind(&fixture, at(&fixture, "repo"), bad[i], "ro");
		expect_refusal(&fixture, ERROR_invalid, "must be an absolute path", "binds[0]");
		forget_binds(&fixture);
	}
	allowed(at(&fixture, "repo"), "/data/...", "ro");
	allowed(at(&fixture, "repo"), "/data/..x/-rf\n", "ro");
}
END_TEST

/* Rules 2 to 6 of destinations. */
START_TEST(destination_places)
{
	static const char *const bad[] = {
		"/",
		"/proc/x",
		"/proc",
		"/sys/x",
		"/dev/x",
		"/dev",
		"/dev/shm",
		"/run/x",
		"/run",
		"/usr",
		"/usr/share/x",
		"/bin/x",
		"/lib64/x",
		"/lib",
		"/boot/x",
		"/etc",
		"/tmp",
		"/var",
		"/var/tmp",
		"/etc/passwd",
		"/etc/passwd/x",
		"/etc/localtime",
		"/etc/ssl",
	};
	static const char *const good[] = {"/opt/x",	  "/srv/x",	    "/data",
					   "/tmp/x/y",	  "/var/tmp/x",	    "/dev/shm/x",
					   "/var/lib/x",  "/run/media/u/d", "/mnt",
					   "/etc/java/x", "/library",	    "/home2/x"};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		refused(at(&fixture, "repo"), bad[i], "ro", "nothing can be bound at", bad[i]);
	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		allowed(at(&fixture, "repo"), good[i], "ro");
	refused(at(&fixture, "repo"), "/etc/java", "rw", "only read-only", "");
	refused(at(&fixture, "repo"), fixture.host.home, "ro", "has its own", "home");
	refused(at(&fixture, "repo"), fixture.root, "ro", "has its own", "home");
	allowed(at(&fixture, "repo"), at(&fixture, "home/x"), "rw");
	allowed("/usr/share", NULL, "ro");
	refused("/usr/share", "/usr/lib", "ro", "same as on the host", "");
}
END_TEST

/* Rule 7 of destinations: nothing hides another thing by accident. */
START_TEST(destinations_that_meet)
{
	make_folder(at(&fixture, "other"));
	add_bind(&fixture, at(&fixture, "repo"), "/data", "ro");
	refused(at(&fixture, "other"), "/data", "ro", "/data is that of binds[0] too", "binds[1]");
	fixture.launch.repository = at(&fixture, "repo");
	fixture.launch.has.repository_mode = true;
	fixture.launch.repository_mode = MODE_ro;
	fixture.launch.build = at(&fixture, "repo");
	expect_refusal(&fixture, ERROR_refused, "build: ", "that of repository too");
}
END_TEST

/* Rule 8 of destinations: inside another tree nothing is mounted, whatever stands there. */
START_TEST(nothing_inside_another_tree)
{
	static const char *const inside[] = {"there", "there/dir", "gone", "link", "link/dir"};

	make_folder(at(&fixture, "repo/there/dir"));
	make_folder(at(&fixture, "other"));
	make_file(at(&fixture, "single"), "");
	make_file(at(&fixture, "repo/file"), "");
	make_link(at(&fixture, "repo/link"), "there");
	fixture.launch.repository = at(&fixture, "repo");
	for (size_t i = 0; i < ARRAY_SIZE(inside); i++)
		for (size_t k = 0; k < 2; k++)
			refused(at(&fixture, "other"), at(&fixture, "repo/%s", inside[i]),
				k ? "rw" : "ro", "nothing can be bound at", "repository");
	refused(at(&fixture, "single"), at(&fixture, "repo/file"), "ro", "could be swapped", "");
	ck_assert_ptr_nonnull(strstr(fixture.fault.hint, "beside"));
	/* Not in a tree that is read-only here: another Trial may write to it. */
	fixture.launch.repository = NULL;
	add_bind(&fixture, at(&fixture, "repo"), "/data", "ro");
	refused(at(&fixture, "other"), "/data/there", "ro", "nothing can be bound at", "binds[0]");
	fixture.launch.build = at(&fixture, "repo");
	refused(at(&fixture, "other"), at(&fixture, "repo/there"), "ro", "inside", "(build)");
	fixture.launch.build = NULL;
	fixture.launch.skills = at(&fixture, "repo");
	refused(at(&fixture, "other"), at(&fixture, "repo/there"), "ro", "inside", "(skills)");
	ck_assert_int_ne(access(at(&fixture, "repo/gone"), F_OK), 0);
}
END_TEST

static size_t mounts_of_binds(const struct plan *plan)
{
	size_t count = 0;

	for (size_t i = 0; i < plan->operation_count; i++)
		count += plan->operations[i].type == PLAN_BIND;
	return count;
}

/* Rule 8: what is there already is not mounted, and in the other mode refused. */
START_TEST(there_already)
{
	struct plan *plan = NULL;

	make_folder(at(&fixture, "repo/there/dir"));
	make_file(at(&fixture, "repo/file"), "");
	fixture.launch.repository = at(&fixture, "repo");
	add_bind(&fixture, at(&fixture, "repo/there"), NULL, "rw");
	add_bind(&fixture, at(&fixture, "repo/there/dir"), NULL, "rw");
	add_bind(&fixture, at(&fixture, "repo/file"), NULL, "rw");
	add_bind(&fixture, at(&fixture, "repo"), "/data", "ro");
	add_bind(&fixture, at(&fixture, "repo/there"), "/data/there", "ro");
	ck_assert_int_eq(build(&fixture, &plan), 0);
	ck_assert_uint_eq(mounts_of_binds(plan), 2);
	ck_assert_ptr_null(plan_at(plan, at(&fixture, "repo/there")));
	ck_assert_ptr_null(plan_at(plan, "/data/there"));
	plan_free(plan);
	forget_binds(&fixture);
	refused(at(&fixture, "repo/there"), NULL, "ro", "is writable", "cannot be read-only");
	fixture.launch.has.repository_mode = true;
	fixture.launch.repository_mode = MODE_ro;
	refused(at(&fixture, "repo/there"), NULL, "rw", "is read-only", "cannot be writable");
	/* The repository itself can be the inner one. */
	fixture.launch.repository = at(&fixture, "repo/there");
	add_bind(&fixture, at(&fixture, "repo"), NULL, "ro");
	ck_assert_int_eq(build(&fixture, &plan), 0);
	ck_assert_uint_eq(mounts_of_binds(plan), 1);
	ck_assert_str_eq(plan->cwd, at(&fixture, "repo/there"));
	plan_free(plan);
}
END_TEST

/* Rule 8 in a tree of the system: through folders that root alone can change. */
START_TEST(inside_the_system)
{
	struct plan *plan = NULL;

	add_bind(&fixture, "/usr/share", NULL, "ro");
	ck_assert_int_eq(build(&fixture, &plan), 0);
	ck_assert_uint_eq(mounts_of_binds(plan), 0);
	plan_free(plan);
	forget_binds(&fixture);
	refused(at(&fixture, "repo"), "/etc/ssl/certs/none", "ro", "does not exist in", "");
	if (geteuid() == 0)
		refused("/usr/share", NULL, "rw", "cannot be writable", "the system's");
}
END_TEST

/* Rule 8: what has no destination of its own must not cover a namesake. */
START_TEST(hidden_by_accident)
{
	make_folder(at(&fixture, "a/repo"));
	make_folder(at(&fixture, "b/repo"));
	fixture.launch.repository = at(&fixture, "b/repo");
	refused(at(&fixture, "a"), at(&fixture, "b"), "ro", "repository: ", "nothing can be bound");
	fixture.launch.has.repository_mode = true;
	fixture.launch.repository_mode = MODE_ro;
	allowed(at(&fixture, "b"), NULL, "ro");
}
END_TEST

/* Rule 9: a destination through a link that the sandbox makes. */
START_TEST(destination_through_a_link)
{
	make_folder(at(&fixture, "real/sub"));
	make_link(at(&fixture, "lnk"), at(&fixture, "real"));
	fixture.launch.repository = at(&fixture, "lnk/sub");
	expect_plan(&fixture);
	refused(at(&fixture, "home"), at(&fixture, "lnk/data"), "ro", "symbolic link",
		"canonical path");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("plan_destination");
	TCase *destinations = tcase_create("destinations");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(destinations, setup, teardown);
	tcase_add_test(destinations, destination_shape);
	tcase_add_test(destinations, destination_places);
	tcase_add_test(destinations, destinations_that_meet);
	tcase_add_test(destinations, nothing_inside_another_tree);
	tcase_add_test(destinations, there_already);
	tcase_add_test(destinations, inside_the_system);
	tcase_add_test(destinations, hidden_by_accident);
	tcase_add_test(destinations, destination_through_a_link);
	suite_add_tcase(suite, destinations);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}

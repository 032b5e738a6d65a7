/* SPDX-License-Identifier: MIT */
#include "plan_fixture.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Resolving host paths: real trees, odd names, links, and everything that is refused. */

static struct plan_fixture fixture;
static struct place place;
static struct fault fault = FAULT_INIT;
static bool missing;

static void setup(void)
{
	fixture_init(&fixture);
	place = PLACE_INIT;
}

static void teardown(void)
{
	place_done(&place);
	fault_done(&fault);
	fixture_done(&fixture);
}

static void expect_place(const char *path, const char *canonical)
{
	struct stat st;
	int r;

	place_done(&place);
	r = place_open(&place, "field", path, &missing, &fault);
	ck_assert_msg(r == 0, "%s: %s", path, fault.message ? fault.message : "");
	ck_assert_str_eq(place.canonical, canonical);
	ck_assert_int_eq(fstat(place.fd, &st), 0);
	ck_assert(st.st_dev == place.device && st.st_ino == place.inode);
	ck_assert_int_eq(fcntl(place.fd, F_GETFD), FD_CLOEXEC);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert(st.st_dev == place.device && st.st_ino == place.inode);
}

static void expect_fault(const char *path, bool is_missing, const char *part, const char *other)
{
	place_done(&place);
	ck_assert_int_eq(place_open(&place, "field", path, &missing, &fault), FAULT);
	ck_assert_msg(strstr(fault.message, part) && strstr(fault.message, other),
		      "\"%s\" and \"%s\" are not in: %s", part, other, fault.message);
	ck_assert_msg(!strncmp(fault.message, "field: ", 7), "%s", fault.message);
	ck_assert(utf8_valid(fault.message, strlen(fault.message)));
	ck_assert_int_eq(missing, is_missing);
	ck_assert_int_eq(place.fd, -1);
}

START_TEST(plain_paths)
{
	make_file(at(&fixture, "a/b/file"), "x");
	expect_place(at(&fixture, "a/b"), at(&fixture, "a/b"));
	ck_assert_int_eq(place.parent_fd, -1);
	expect_place(at(&fixture, "a//b/./../b/"), at(&fixture, "a/b"));
	expect_place(at(&fixture, "a/b/file"), at(&fixture, "a/b/file"));
	ck_assert_int_ge(place.parent_fd, 0);
	expect_place("/", "/");
	expect_place("/..", "/");
	expect_place("/../usr", "/usr");
	ck_assert_uint_eq(place.link_count, 0);
}
END_TEST

START_TEST(odd_names)
{
	static const char *const names[] = {"-rf",  "new\nline", "real repo é", "\xff\xfe",
					    "a\\b", "*",	 "$(reboot)",	"\x1b[2J",
					    "--",   " ",	 "a:b",		"..."};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		make_folder(at(&fixture, "%s/in", names[i]));
		expect_place(at(&fixture, "%s/in", names[i]), at(&fixture, "%s/in", names[i]));
		expect_fault(at(&fixture, "%s/no", names[i]), true, "does not exist", "\"no\"");
	}
}
END_TEST

/* The case from the field: a repository given through an absolute link. */
START_TEST(absolute_link_chain)
{
	make_folder(at(&fixture, "real repo é/sub"));
	make_link(at(&fixture, "lnk"), at(&fixture, "second"));
	make_link(at(&fixture, "second"), "./deep/../third");
	make_link(at(&fixture, "third"), at(&fixture, "real repo é"));
	make_folder(at(&fixture, "deep"));
	expect_place(at(&fixture, "lnk/sub"), at(&fixture, "real repo é/sub"));
	ck_assert_uint_eq(place.link_count, 3);
	ck_assert_str_eq(place.links[0].location, at(&fixture, "lnk"));
	ck_assert_str_eq(place.links[0].text, at(&fixture, "second"));
	ck_assert_str_eq(place.links[1].location, at(&fixture, "second"));
	ck_assert_str_eq(place.links[1].text, "./deep/../third");
	ck_assert_str_eq(place.links[2].location, at(&fixture, "third"));
}
END_TEST

/* `..` after a link is the parent of what it leads to, as for the kernel. */
START_TEST(up_from_a_link)
{
	make_folder(at(&fixture, "x/y/z"));
	make_folder(at(&fixture, "x/other"));
	make_link(at(&fixture, "in"), "x/y/z");
	expect_place(at(&fixture, "in/../../other"), at(&fixture, "x/other"));
}
END_TEST

START_TEST(what_is_missing_is_named)
{
	make_file(at(&fixture, "a/file"), "x");
	make_link(at(&fixture, "dangling"), "a/gone/away");
	expect_fault(at(&fixture, "a/b/c"), true, "there is no \"b\" in", at(&fixture, "a"));
	expect_fault(at(&fixture, "dangling"), true, "there is no \"gone\" in", at(&fixture, "a"));
	expect_fault(at(&fixture, "a/file/c"), true, "is not a folder", at(&fixture, "a/file"));
	expect_fault("relative", false, "not an absolute path", "relative");
	expect_fault("", false, "not an absolute path", "\"\"");
	expect_fault(at(&fixture, "\xff\n\x1b"), true, "\\xff\\n\\x1b", "does not exist");
}
END_TEST

START_TEST(loops_and_lengths)
{
	char name[NAME_MAX + 2];

	make_link(at(&fixture, "loop"), "loop");
	make_link(at(&fixture, "ping"), "pong");
	make_link(at(&fixture, "pong"), at(&fixture, "ping"));
	expect_fault(at(&fixture, "loop"), false, "more than 40 symbolic links", "\"loop\"");
	expect_fault(at(&fixture, "ping/x"), false, "more than 40 symbolic links", "");
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	expect_fault(at(&fixture, "%s", name), false, "too long", "255");
}
END_TEST

START_TEST(links_of_proc)
{
	expect_fault("/proc/self/cwd", false, "/proc", "not followed");
	expect_fault("/proc/self/root/etc", false, "/proc", "not followed");
	expect_fault("/proc/1/fd/0", false, "", "");
	make_link(at(&fixture, "hidden"), "/proc/self/root");
	expect_fault(at(&fixture, "hidden"), false, "/proc", "not followed");
}
END_TEST

/* As an ordinary user, also when the tests run as root. */
START_TEST(no_permission)
{
	bool root = geteuid() == 0;

	make_folder(at(&fixture, "closed/in"));
	ck_assert_int_eq(chmod(at(&fixture, "closed"), 0), 0);
	if (root)
		ck_assert_int_eq(seteuid(65534), 0);
	expect_fault(at(&fixture, "closed/in"), false, "no permission to search",
		     at(&fixture, "closed"));
	if (root)
		ck_assert_int_eq(seteuid(0), 0);
	ck_assert_int_eq(chmod(at(&fixture, "closed"), 0700), 0);
}
END_TEST

START_TEST(as_far_as_it_exists)
{
	char *rest = NULL;

	make_folder(at(&fixture, "a/b"));
	make_link(at(&fixture, "l"), "a");
	ck_assert_int_eq(place_open_existing(&place, at(&fixture, "l/b/c/d"), &rest, NULL), 0);
	ck_assert_str_eq(place.canonical, at(&fixture, "a/b"));
	ck_assert_str_eq(rest, "c/d");
	free(rest);
	place_done(&place);
	ck_assert_int_eq(place_open_existing(&place, at(&fixture, "l/b"), &rest, NULL), 0);
	ck_assert_ptr_null(rest);
	ck_assert_str_eq(place.canonical, at(&fixture, "a/b"));
}
END_TEST

static struct stamps stamps;

/* Learns where a path leads; what was changed just now is taken as old, to test the rest alone. */
static void look(const char *path)
{
	char *rest = NULL;

	place_done(&place);
	stamps_done(&stamps);
	ck_assert_int_eq(place_open_existing(&place, path, &rest, &stamps), 0);
	free(rest);
	for (size_t i = 0; i < stamps.count; i++)
		stamps.items[i].recent = false;
	ck_assert(stamps_hold(&stamps));
}

/* The next tick of the clock that file systems take their times from. */
static void let_time_pass(void)
{
	struct timespec start, now;

	clock_gettime(CLOCK_REALTIME_COARSE, &start);
	do
		clock_gettime(CLOCK_REALTIME_COARSE, &now);
	while (now.tv_sec == start.tv_sec && now.tv_nsec == start.tv_nsec);
}

/* Whatever changes where a path leads, the stamps do not hold. */
START_TEST(stamps_that_fall)
{
	make_folder(at(&fixture, "a/b/c"));
	make_folder(at(&fixture, "other/b/c"));
	make_link(at(&fixture, "l"), "a/b");
	look(at(&fixture, "l/c/none/x"));
	make_file(at(&fixture, "other/beside"), "");
	ck_assert(stamps_hold(&stamps));
	let_time_pass();
	make_folder(at(&fixture, "a/b/c/none"));
	ck_assert(!stamps_hold(&stamps));

	look(at(&fixture, "l/c"));
	let_time_pass();
	ck_assert_int_eq(unlink(at(&fixture, "l")), 0);
	make_link(at(&fixture, "l"), "other/b");
	ck_assert(!stamps_hold(&stamps));

	look(at(&fixture, "a/b/c"));
	ck_assert_int_eq(renameat2(AT_FDCWD, at(&fixture, "a"), AT_FDCWD, at(&fixture, "other"),
				   RENAME_EXCHANGE),
			 0);
	ck_assert(!stamps_hold(&stamps));

	look(at(&fixture, "a/b"));
	let_time_pass();
	ck_assert_int_eq(rename(at(&fixture, "a/b"), at(&fixture, "a/moved")), 0);
	ck_assert(!stamps_hold(&stamps));
	stamps_done(&stamps);
}
END_TEST

/* One that was taken right after a change would not show a second change. */
START_TEST(stamps_too_fresh)
{
	char *rest = NULL;

	make_folder(at(&fixture, "a/b"));
	place_done(&place);
	ck_assert_int_eq(place_open_existing(&place, at(&fixture, "a/b/none"), &rest, &stamps), 0);
	free(rest);
	ck_assert(!stamps_hold(&stamps));
	stamps_done(&stamps);
}
END_TEST

START_TEST(climbing)
{
	struct ancestry ancestry = {0};
	struct stat st;

	make_file(at(&fixture, "a/b/file"), "x");
	expect_place(at(&fixture, "a/b/file"), at(&fixture, "a/b/file"));
	ck_assert_int_eq(place_ancestry(&place, &ancestry), 0);
	/* file, b, a, ROOT, /tmp, / */
	ck_assert_uint_eq(ancestry.count, 6);
	ck_assert_int_eq(stat(at(&fixture, "a"), &st), 0);
	ck_assert(ancestry.steps[2].inode == st.st_ino && ancestry.steps[2].device == st.st_dev);
	ck_assert(ancestry_has(&ancestry, (struct place_step){st.st_dev, st.st_ino}));
	ck_assert_int_eq(stat(at(&fixture, "home"), &st), 0);
	ck_assert(!ancestry_has(&ancestry, (struct place_step){st.st_dev, st.st_ino}));
	ancestry_done(&ancestry);
}
END_TEST

START_TEST(walking_without_links)
{
	int folder = open(fixture.root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int fd = -1;

	make_folder(at(&fixture, "a/b"));
	make_link(at(&fixture, "a/l"), "b");
	ck_assert_int_eq(place_walk(folder, "a/b", &fd), 0);
	close(fd);
	ck_assert_int_eq(place_walk(folder, "a/l", &fd), -ELOOP);
	ck_assert_int_eq(place_walk(folder, "a/l/x", &fd), -ELOOP);
	ck_assert_int_eq(place_walk(folder, "a/c", &fd), -ENOENT);
	close(folder);
}
END_TEST

START_TEST(text_comparison)
{
	ck_assert(path_within("/a/b", "/a"));
	ck_assert(path_within("/a", "/a"));
	ck_assert(path_within("/a", "/"));
	ck_assert(!path_within("/ab", "/a"));
	ck_assert(!path_within("/a", "/a/b"));
}
END_TEST

START_TEST(display_of_bytes)
{
	static const struct {
		const char *bytes, *shown;
	} cases[] = {
		{"/plain é", "/plain é"},
		{"a\nb\tc", "a\\nb\\x09c"},
		{"\xff\xc3", "\\xff\\xc3"},
		{"\xc2\x9b", "\\xc2\\x9b"},
		{"\xed\xa0\x80", "\\xed\\xa0\\x80"},
		{"", ""},
	};
	char long_text[3000];
	char *shown;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		shown = display(cases[i].bytes);
		ck_assert_str_eq(shown, cases[i].shown);
		free(shown);
	}
	memset(long_text, '\x01', sizeof(long_text));
	long_text[sizeof(long_text) - 1] = '\0';
	shown = display(long_text);
	ck_assert_uint_le(strlen(shown), DISPLAY_BYTES_MAX);
	ck_assert_ptr_nonnull(strstr(shown, "…"));
	free(shown);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("plan_place");
	TCase *paths = tcase_create("paths");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(paths, setup, teardown);
	tcase_add_test(paths, plain_paths);
	tcase_add_test(paths, odd_names);
	tcase_add_test(paths, absolute_link_chain);
	tcase_add_test(paths, up_from_a_link);
	tcase_add_test(paths, what_is_missing_is_named);
	tcase_add_test(paths, loops_and_lengths);
	tcase_add_test(paths, links_of_proc);
	tcase_add_test(paths, no_permission);
	tcase_add_test(paths, as_far_as_it_exists);
	tcase_add_test(paths, stamps_that_fall);
	tcase_add_test(paths, stamps_too_fresh);
	tcase_add_test(paths, climbing);
	tcase_add_test(paths, walking_without_links);
	tcase_add_test(paths, text_comparison);
	tcase_add_test(paths, display_of_bytes);
	suite_add_tcase(suite, paths);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}

/* SPDX-License-Identifier: MIT */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/list.h"
#include "plan/bar_store.h"

static char folder[64];
static int folder_fd;
static struct bar_store store = BAR_STORE_INIT;

static void setup(void)
{
	struct fault fault = FAULT_INIT;

	snprintf(folder, sizeof(folder), "/tmp/bar_store.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	folder_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(folder_fd, 0);
	ck_assert_int_eq(bar_store_open(&store, folder_fd, folder, &fault), 0);
}

static void teardown(void)
{
	char command[128];

	bar_store_close(&store);
	close(folder_fd);
	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	ck_assert_int_eq(system(command), 0);
}

/* A Bar of one seat whose family is this; *standard is what it asks for. */
static int put(const char *name, const char *standard, const char *family, bool only_existing,
	       enum bar_put *ret_put, char ret_id[BAR_ID_BYTES + 1])
{
	struct bar_seat seats[] = {{.harness = "codex", .model = "gpt-5"}};
	struct bar_spec spec = {.name = name, .standard = standard, .seats = {1, seats}};
	struct fault fault = FAULT_INIT;
	struct bar_held held;
	msgpack_sbuffer bytes;
	int r;

	ck_assert_int_eq(bar_spec_check(&spec, &fault), 0);
	ck_assert_int_eq(bar_make(&spec, &held), 0);
	if (family)
		ck_assert_int_eq(bar_seat_family(&held, &held.seats[0], family), 0);
	ck_assert_int_eq(bar_encode(&held.bar, &bytes, ret_id), 0);
	r = bar_store_put(&store, bytes.data, bytes.size, 1000, only_existing, ret_put);
	msgpack_sbuffer_destroy(&bytes);
	bar_held_done(&held);
	return r;
}

static size_t slurp(const char *path, char *bytes, size_t room)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	ck_assert_int_ge(fd, 0);
	n = read(fd, bytes, room);
	ck_assert_int_gt(n, 0);
	close(fd);
	return (size_t)n;
}

static void spill(const char *name, const void *bytes, size_t size)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/bars/%s", folder, name);
	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, bytes, size), (ssize_t)size);
	close(fd);
}

START_TEST(keeping)
{
	char id[65], other[65];
	struct bar_kept kept;
	enum bar_put done;

	ck_assert_int_eq(bar_store_read(&store, "b", &kept), -ENOENT);
	ck_assert_int_eq(bar_store_read(&store, "../b", &kept), -ENOENT);
	ck_assert_int_eq(put("b", "one", NULL, true, &done, other), -ESTALE);
	ck_assert_int_eq(put("b", "one", "openai", false, &done, id), 0);
	ck_assert_int_eq(done, BAR_PUT_NEW);
	ck_assert_int_eq(bar_store_read(&store, "b", &kept), 0);
	ck_assert_str_eq(kept.id, id);
	ck_assert_uint_eq(kept.created_at, 1000);
	ck_assert(!kept.used && !kept.held.legacy);
	ck_assert_uint_eq(kept.held.bar.votes, 1);
	ck_assert_str_eq(kept.held.bar.seats.items[0].name, "codex");
	ck_assert_str_eq(kept.held.bar.seats.items[0].families.items[0], "openai");
	bar_kept_done(&kept);
	/* Of other families it asks for the same. */
	ck_assert_int_eq(put("b", "one", "other", false, &done, other), 0);
	ck_assert_int_eq(done, BAR_PUT_EXISTED);
	ck_assert_str_ne(id, other);
	ck_assert_int_eq(bar_store_read(&store, "b", &kept), 0);
	ck_assert_str_eq(kept.id, id);
	bar_kept_done(&kept);
	ck_assert_int_eq(put("b", "one", NULL, true, &done, other), 0);
	ck_assert_int_eq(put("b", "two", "openai", false, &done, other), 0);
	ck_assert_int_eq(done, BAR_PUT_NEW);
}
END_TEST

START_TEST(used)
{
	char id[65], other[65];
	struct bar_kept kept;
	enum bar_put done;

	ck_assert_int_eq(bar_store_use(&store, "b", "x", 5), -ENOENT);
	ck_assert_int_eq(put("b", "one", "openai", false, &done, id), 0);
	ck_assert_int_eq(bar_store_use(&store, "b", "x", 5), -ESTALE);
	ck_assert_int_eq(bar_store_use(&store, "b", id, 5), 0);
	ck_assert_int_eq(bar_store_use(&store, "b", id, 6), 0);
	ck_assert_int_eq(bar_store_read(&store, "b", &kept), 0);
	ck_assert(kept.used);
	ck_assert_uint_eq(kept.used_at, 5);
	bar_kept_done(&kept);
	ck_assert_int_eq(put("b", "two", "openai", false, &done, other), -EPERM);
	ck_assert_int_eq(put("b", "one", "openai", false, &done, other), 0);
	ck_assert_int_eq(done, BAR_PUT_EXISTED);
}
END_TEST

/* One that is damaged is no Bar; of one that was used the very same mends it, and nothing else. */
START_TEST(damaged)
{
	char id[65], other[65], path[128], bytes[4096];
	struct bar_kept kept;
	enum bar_put done;
	size_t size;

	snprintf(path, sizeof(path), "%s/bars/b.bar", folder);
	ck_assert_int_eq(put("b", "one", "openai", false, &done, id), 0);
	size = slurp(path, bytes, sizeof(bytes));
	for (size_t i = 0; i < size; i++) {
		bytes[i] ^= 1;
		spill("b.bar", bytes, size);
		bytes[i] ^= 1;
		/* The time is in no digest. */
		if (bar_store_read(&store, "b", &kept) == 0)
			ck_assert_str_eq(kept.id, id);
		else
			ck_assert_int_eq(bar_store_read(&store, "b", &kept), -EBADMSG);
		bar_kept_done(&kept);
		if (i > 0) {
			spill("b.bar", bytes, i);
			ck_assert_int_eq(bar_store_read(&store, "b", &kept), -EBADMSG);
		}
	}
	spill("c.bar", bytes, size);
	ck_assert_int_eq(bar_store_read(&store, "c", &kept), -EBADMSG);
	spill("b.bar", bytes, size);
	ck_assert_int_eq(bar_store_use(&store, "b", id, 5), 0);
	spill("b.bar", bytes, size - 1);
	ck_assert_int_eq(bar_store_use(&store, "b", id, 6), -EBADMSG);
	ck_assert_int_eq(put("b", "two", "openai", false, &done, other), -EUCLEAN);
	ck_assert_int_eq(put("b", "one", "openai", true, &done, other), -ESTALE);
	ck_assert_int_eq(put("b", "one", "openai", false, &done, other), 0);
	ck_assert_int_eq(done, BAR_PUT_NEW);
	/* A mark that cannot be read is one all the same. */
	spill("b.used", "x", 1);
	ck_assert_int_eq(bar_store_read(&store, "b", &kept), 0);
	ck_assert(kept.used);
	ck_assert_uint_eq(kept.used_at, 0);
	bar_kept_done(&kept);
	ck_assert_int_eq(put("b", "two", "openai", false, &done, other), -EPERM);
}
END_TEST

START_TEST(legacy)
{
	static const char *const wanted[] = {"openai", "fireworks", "anthropic", "google"};
	char bytes[4096], after[4096], id[65], other[4096];
	struct bar_kept kept;
	enum bar_put done;
	const char *top = getenv("TOP");
	size_t size;

	snprintf(other, sizeof(other), "%s/tests/data/bars/quality.bar", top ? top : ".");
	size = slurp(other, bytes, sizeof(bytes));
	spill("quality.bar", bytes, size);
	ck_assert_int_eq(bar_store_read(&store, "quality", &kept), 0);
	ck_assert(kept.held.legacy && kept.used);
	ck_assert_uint_eq(kept.used_at, 0);
	for (size_t i = 0; i < 4; i++)
		ck_assert_str_eq(kept.held.seats[i].families.items[0], wanted[i]);
	memcpy(id, kept.id, sizeof(id));
	bar_kept_done(&kept);
	ck_assert_int_eq(put("quality", "one", "openai", false, &done, other), -EPERM);
	ck_assert_int_eq(bar_store_use(&store, "quality", id, 7), 0);
	ck_assert_int_eq(bar_store_read(&store, "quality", &kept), 0);
	ck_assert_uint_eq(kept.used_at, 7);
	bar_kept_done(&kept);
	snprintf(other, sizeof(other), "%s/bars/quality.bar", folder);
	ck_assert_uint_eq(slurp(other, after, sizeof(after)), size);
	ck_assert_int_eq(memcmp(bytes, after, size), 0);
	/* What it has of today's form is in no file of that time. */
	memcpy(memmem(bytes, size, "effort", 6), "family", 6);
	spill("quality.bar", bytes, size);
	ck_assert_int_eq(bar_store_read(&store, "quality", &kept), -EBADMSG);
}
END_TEST

START_TEST(folders)
{
	struct text_list names = {0};
	struct fault fault = FAULT_INIT;
	struct bar_kept kept;
	enum bar_put done;
	char id[65];

	ck_assert_int_eq(put("b", "one", "openai", false, &done, id), 0);
	ck_assert_int_eq(put("a", "one", "openai", false, &done, id), 0);
	spill(".new.0000000000000000", "x", 1);
	spill("other", "x", 1);
	spill(".b.bar", "x", 1);
	bar_store_close(&store);
	ck_assert_int_eq(bar_store_open(&store, folder_fd, folder, &fault), 0);
	ck_assert_int_lt(faccessat(store.fd, ".new.0000000000000000", F_OK, 0), 0);
	ck_assert_int_eq(faccessat(store.fd, "other", F_OK, 0), 0);
	ck_assert_int_eq(bar_store_list(&store, &names), 0);
	ck_assert_uint_eq(names.count, 2);
	ck_assert_str_eq(names.items[0], "a");
	text_list_done(&names);
	ck_assert_int_eq(mkdirat(store.fd, "c.bar", 0700), 0);
	ck_assert_int_eq(bar_store_read(&store, "c", &kept), -EBADMSG);
	ck_assert_int_eq(mkfifoat(store.fd, "d.bar", 0600), 0);
	ck_assert_int_eq(bar_store_read(&store, "d", &kept), -EBADMSG);
	ck_assert_int_eq(symlinkat("b.bar", store.fd, "e.bar"), 0);
	ck_assert_int_eq(bar_store_read(&store, "e", &kept), -EBADMSG);
}
END_TEST

START_TEST(bounded)
{
	char id[65], name[32];
	enum bar_put done;

	for (size_t i = 0; i < BAR_STORE_BARS_MAX; i++) {
		snprintf(name, sizeof(name), "b%zu.bar", i);
		spill(name, "x", 1);
	}
	ck_assert_int_eq(put("more", "one", "openai", false, &done, id), -E2BIG);
	/* One that is there, and damaged, has its room. */
	ck_assert_int_eq(put("b7", "one", "openai", false, &done, id), 0);
}
END_TEST

/* An Arm may be named by its first digits. */
START_TEST(same_asked)
{
	const char id[] = "5f2b1c0e9a8d7c6b5a49382716f5e4d3c2b1a09f8e7d6c5b4a39281706f5e4d3";
	struct bar_seat kept_seats[] = {{.name = "a", .arm = id}};
	struct bar_seat asked_seats[] = {{.name = "a", .arm = "5f2b1c0e"}};
	struct bar kept = {.name = "b", .standard = "s", .seats = {1, kept_seats}}, asked = kept;

	asked.seats.items = asked_seats;
	ck_assert(bar_same_asked(&kept, &asked));
	asked_seats[0].arm = "5f2b1c0f";
	ck_assert(!bar_same_asked(&kept, &asked));
	asked_seats[0].arm = "5f2b1c0";
	ck_assert(!bar_same_asked(&kept, &asked));
	asked_seats[0] = (struct bar_seat){.name = "a", .harness = "codex"};
	ck_assert(!bar_same_asked(&kept, &asked));
	asked_seats[0] = kept_seats[0];
	ck_assert(bar_same_asked(&kept, &asked));
	asked.breadth = 2;
	ck_assert(!bar_same_asked(&kept, &asked));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("bar_store");
	TCase *test = tcase_create("bar_store");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_set_timeout(test, 60);
	tcase_add_checked_fixture(test, setup, teardown);
	tcase_add_test(test, keeping);
	tcase_add_test(test, used);
	tcase_add_test(test, damaged);
	tcase_add_test(test, legacy);
	tcase_add_test(test, folders);
	tcase_add_test(test, bounded);
	tcase_add_test(test, same_asked);
	suite_add_tcase(suite, test);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

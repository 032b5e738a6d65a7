/* SPDX-License-Identifier: MIT */
#include <check.h>
#include <fcntl.h>
#include <nettle/base16.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plan/arm_check.h"
#include "plan/arm_store.h"
#include "plan/folder_digest.h"
#include "plan/secret_file.h"

static char folder[64];
static int folder_fd;

static void setup(void)
{
	snprintf(folder, sizeof(folder), "/tmp/arm_store.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	folder_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(folder_fd, 0);
}

static void teardown(void)
{
	char command[128];

	close(folder_fd);
	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	ck_assert_int_eq(system(command), 0);
}

static void put(const char *name, const char *text)
{
	int fd = openat(folder_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

static void id_of(const char *bytes, char ret_id[65])
{
	uint8_t digest[SHA256_DIGEST_SIZE];
	struct sha256_ctx hash;

	sha256_init(&hash);
	sha256_update(&hash, strlen(bytes), (const uint8_t *)bytes);
	sha256_digest(&hash, sizeof(digest), digest);
	base16_encode_update(ret_id, sizeof(digest), digest);
	ret_id[64] = '\0';
}

static void open_store(struct arm_store *store)
{
	struct fault fault = FAULT_INIT;

	ck_assert_int_eq(arm_store_open(store, folder_fd, folder, &fault), 0);
}

START_TEST(arms)
{
	struct text_list ids = {0};
	struct arm_store store;
	char id[65], other[65], found[65], wrong[65];
	bool existed;
	void *bytes;
	size_t size;

	open_store(&store);
	id_of("one", id);
	id_of("two", other);
	ck_assert_int_eq(arm_store_add(&store, id, "one", 3, &existed), 0);
	ck_assert(!existed);
	ck_assert_int_eq(arm_store_add(&store, id, "one", 3, &existed), 0);
	ck_assert(existed);
	ck_assert_int_eq(arm_store_add(&store, other, "one", 3, &existed), -EINVAL);
	ck_assert_int_eq(arm_store_add(&store, other, "two", 3, &existed), 0);
	ck_assert_int_eq(arm_store_read(&store, id, &bytes, &size, NULL), 0);
	ck_assert_mem_eq(bytes, "one", size);
	free(bytes);
	ck_assert_int_eq(arm_store_list(&store, &ids), 0);
	ck_assert_uint_eq(ids.count, 2);
	text_list_done(&ids);
	snprintf(found, sizeof(found), "%.8s", id);
	snprintf(wrong, sizeof(wrong), "%.7s", id);
	ck_assert_int_eq(arm_store_find(&store, wrong, found), -EINVAL);
	ck_assert_int_eq(arm_store_find(&store, "../../..", found), -EINVAL);
	ck_assert_int_eq(arm_store_find(&store, "00000000", found), -ENOENT);
	snprintf(wrong, sizeof(wrong), "%.8s", id);
	ck_assert_int_eq(arm_store_find(&store, wrong, found), 0);
	ck_assert_str_eq(found, id);
	arm_store_close(&store);
}
END_TEST

START_TEST(links_are_not_followed)
{
	struct arm_store store;
	char id[65], name[80];
	void *bytes;
	size_t size;

	open_store(&store);
	put("elsewhere", "one");
	id_of("one", id);
	snprintf(name, sizeof(name), "%s.arm", id);
	ck_assert_int_eq(symlinkat("../elsewhere", store.fd, name), 0);
	ck_assert_int_eq(arm_store_read(&store, id, &bytes, &size, NULL), -EBADMSG);
	arm_store_close(&store);
}
END_TEST

START_TEST(contents)
{
	struct arm_store_file file = {.executable = true}, plain = {0};
	struct arm_store store;
	struct stat st;
	char id[65];
	int fd, kept;

	open_store(&store);
	put("file", "content");
	fd = openat(folder_fd, "file", O_PATH | O_CLOEXEC);
	ck_assert_int_eq(arm_store_take(NULL, fd, &plain), 0);
	ck_assert_int_eq(arm_store_open_file(&store, &plain, &kept), -ENOENT);
	ck_assert_int_eq(arm_store_take(&store, fd, &file), 0);
	id_of("content", id);
	ck_assert_str_eq(file.sha256, id);
	ck_assert_uint_eq(file.size, 7);
	ck_assert_int_eq(arm_store_open_file(&store, &file, &kept), 0);
	ck_assert_int_eq(fstat(kept, &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0500);
	close(kept);
	ck_assert_int_eq(arm_store_check_file(&store, &file), 0);
	file.size = 6;
	ck_assert_int_eq(arm_store_open_file(&store, &file, &kept), -EBADMSG);
	ck_assert_int_eq(arm_store_take(&store, folder_fd, &file), -EINVAL);
	close(fd);
	arm_store_close(&store);
}
END_TEST

static void digest(char ret[65])
{
	struct folder_digest digest;

	ck_assert_int_eq(folder_digest(folder_fd, &digest), 0);
	memcpy(ret, digest.sha256, 65);
}

/* Each single change is another digest, and none of them is taken for another. */
START_TEST(folders)
{
	char seen[9][65];
	int count = 0;

	ck_assert_int_eq(mkdirat(folder_fd, "a", 0755), 0);
	put("a/b", "text");
	digest(seen[count++]);
	put("a/b", "test");
	digest(seen[count++]);
	put("a/b", "text");
	ck_assert_int_eq(fchmodat(folder_fd, "a/b", 0755, 0), 0);
	digest(seen[count++]);
	ck_assert_int_eq(fchmodat(folder_fd, "a/b", 0644, 0), 0);
	ck_assert_int_eq(renameat(folder_fd, "a/b", folder_fd, "a/c"), 0);
	digest(seen[count++]);
	ck_assert_int_eq(renameat(folder_fd, "a/c", folder_fd, "b"), 0);
	digest(seen[count++]);
	ck_assert_int_eq(renameat(folder_fd, "b", folder_fd, "a/b"), 0);
	ck_assert_int_eq(symlinkat("a/b", folder_fd, "link"), 0);
	digest(seen[count++]);
	ck_assert_int_eq(unlinkat(folder_fd, "link", 0), 0);
	put("link", "a/b");
	digest(seen[count++]);
	ck_assert_int_eq(unlinkat(folder_fd, "link", 0), 0);
	ck_assert_int_eq(mkdirat(folder_fd, "link", 0755), 0);
	digest(seen[count++]);
	for (int i = 0; i < count; i++)
		for (int k = 0; k < i; k++)
			ck_assert_msg(strcmp(seen[i], seen[k]) != 0, "%d is %d", i, k);
	ck_assert_int_eq(unlinkat(folder_fd, "link", AT_REMOVEDIR), 0);
	digest(seen[count]);
	ck_assert_str_eq(seen[count], seen[0]);
}
END_TEST

START_TEST(paths_inside)
{
	static const char *const good[] = {"a", "a/b", "~/a", ".a", "a/..b"};
	static const char *const bad[] = {"",	  "/a",	 "~",	 "~/", "~a",	"a/",
					  "a//b", "./a", "a/..", "..", "~/../a"};

	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		ck_assert_msg(arm_path_valid(good[i]), "%s", good[i]);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		ck_assert_msg(!arm_path_valid(bad[i]), "%s", bad[i]);
}
END_TEST

START_TEST(names_of_keys)
{
	static const char *const good[] = {"run.sh", "id_rsa.pub", "keyboard", ".env.example",
					   "tokens.py"};
	static const char *const bad[] = {"id_ed25519", "a.pem",  "A.KEY",	     ".env",
					  "auth.json",	".netrc", "credentials.toml"};

	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		ck_assert_msg(!secret_file_name(good[i]), "%s", good[i]);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		ck_assert_msg(secret_file_name(bad[i]) != NULL, "%s", bad[i]);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("arm_store");
	TCase *tcase = tcase_create("arm_store");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, arms);
	tcase_add_test(tcase, links_are_not_followed);
	tcase_add_test(tcase, contents);
	tcase_add_test(tcase, folders);
	tcase_add_test(tcase, paths_inside);
	tcase_add_test(tcase, names_of_keys);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

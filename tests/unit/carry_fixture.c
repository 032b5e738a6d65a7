/* SPDX-License-Identifier: MIT */
#include "carry_fixture.h"

#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"

long long login_later;
char carry_top[] = "/tmp/test_carry.XXXXXX";
static const char *const folders[] = {"host", "copy", "trial", "state", "locks"};
int carry_fds[LOGIN_FDS]; /* by enum login_descriptor; ABOUT is not used */
struct carry carry;

void carry_make(bool in_place, bool home)
{
	const char *require[] = {"token"}, *identity[] = {"account"},
		   *refreshes[] = {"token", "ends"};
	struct keeper_login about = {
		.has = {.version = true, .in_place = true, .home = true, .trial = true},
		.version = LOGIN_VERSION,
		.harness = "fake",
		.trial = 7,
		.file = "auth.json",
		.copy = home ? "auth.json" : "login.json",
		.in_place = in_place,
		.home = home,
		.require = {1, require},
		.identity = {1, identity},
		.refreshes = {2, refreshes},
		.expiry = "ends",
		.unit = "s",
	};
	int descriptors[LOGIN_FDS];

	ck_assert_int_eq(login_about_memfd(&about, &descriptors[0]), 0);
	for (int i = 1; i < LOGIN_FDS; i++)
		descriptors[i] = fcntl(home && i == LOGIN_FD_COPY ? carry_fds[LOGIN_FD_PRODUCTION]
								  : carry_fds[i],
				       F_DUPFD_CLOEXEC, 10);
	ck_assert_int_eq(carry_open(&carry, descriptors), 0);
	for (int i = 0; i < LOGIN_FDS; i++)
		ck_assert_int_eq(descriptors[i], -1);
}

void carry_setup(void)
{
	login_later = (long long)time(NULL) + 86400;
	strcpy(carry_top + strlen(carry_top) - 6, "XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(carry_top));
	for (int i = 1; i < LOGIN_FDS; i++) {
		char path[64];

		snprintf(path, sizeof(path), "%s/%s", carry_top, folders[i - 1]);
		ck_assert_int_eq(mkdir(path, 0700), 0);
		carry_fds[i] = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		ck_assert_int_ge(carry_fds[i], 0);
	}
	carry = CARRY_INIT;
}

static void clear_folder(int folder)
{
	int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *listing = fdopendir(fd);
	struct dirent *entry;

	while ((entry = readdir(listing)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
		    unlinkat(fd, entry->d_name, 0) < 0)
			unlinkat(fd, entry->d_name, AT_REMOVEDIR);
	closedir(listing);
}

void carry_teardown(void)
{
	carry_done(&carry);
	for (int i = 1; i < LOGIN_FDS; i++) {
		char path[64];

		clear_folder(carry_fds[i]);
		close(carry_fds[i]);
		snprintf(path, sizeof(path), "%s/%s", carry_top, folders[i - 1]);
		ck_assert_int_eq(rmdir(path), 0);
	}
	ck_assert_int_eq(rmdir(carry_top), 0);
}

const char *login_text(int version)
{
	static char texts[4][256];
	static int next;
	char *to = texts[next++ % 4];

	/* Of different lengths. */
	snprintf(to, 256, "{\"account\": \"me\", \"token\": \"%.*s\", \"ends\": %lld}\n",
		 20 + version % 7 * 5, "SECRETSECRETSECRETSECRETSECRETSECRETSECRETSECRETSECRET",
		 login_later + version);
	return to;
}

/* --- How programs save ---------------------------------------------------------------------------- */

static void write_to(int fd, const char *text)
{
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

void login_save_in_place(int folder, const char *name, const char *text)
{
	write_to(openat(folder, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), text);
}

void login_save_renamed(int folder, const char *name, const char *text)
{
	write_to(openat(folder, "save.tmp", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), text);
	ck_assert_int_eq(renameat(folder, "save.tmp", folder, name), 0);
}

void login_save_created(int folder, const char *name, const char *text)
{
	unlinkat(folder, name, 0);
	write_to(openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600), text);
}

/* As it does when the file itself is bound, and a rename finds it busy. */
void login_save_fallback(int folder, const char *name, const char *text)
{
	write_to(openat(folder, "save.tmp", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), text);
	unlinkat(folder, "save.tmp", 0);
	login_save_in_place(folder, name, text);
}

void (*const login_saves[LOGIN_SAVES])(int folder, const char *name, const char *text) = {
	login_save_in_place, login_save_renamed, login_save_created, login_save_fallback};

/* --- What is there -------------------------------------------------------------------------------- */

void file_holds(int folder, const char *name, const char *text)
{
	char bytes[4096];
	int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	ssize_t n = read(fd, bytes, sizeof(bytes) - 1);

	ck_assert_int_ge(fd, 0);
	close(fd);
	ck_assert_int_ge(n, 0);
	bytes[n] = '\0';
	ck_assert_str_eq(bytes, text);
}

struct stat file_stat(int folder, const char *name)
{
	struct stat st;

	ck_assert_int_eq(fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW), 0);
	return st;
}

int folder_entries(int folder)
{
	int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), count = -2;
	DIR *listing = fdopendir(fd);

	while (readdir(listing))
		count++;
	closedir(listing);
	return count;
}

void login_kept_is(enum login_kept what, const char *text)
{
	struct login_content content = {0};

	ck_assert_int_eq(login_kept_read(carry_fds[LOGIN_FD_STATE], carry.key, what, &content), 0);
	ck_assert_int_eq(content.size, strlen(text));
	ck_assert_int_eq(memcmp(content.data, text, content.size), 0);
	login_content_done(&content);
}

bool login_is_marked(void)
{
	struct message *message = NULL;
	struct login_result result;
	int r = login_suspect_read(carry_fds[LOGIN_FD_STATE], carry.key, &message, &result);

	if (r == 0)
		ck_assert_str_eq(result.state, "suspect");
	message_free(message);
	return r != -ENOENT;
}

/* A Trial that was given version 1. */
void carry_begin(bool in_place)
{
	login_save_renamed(LOGIN_HOST, login_text(1));
	carry_make(in_place, false);
	ck_assert_int_eq(carry_prepare(&carry), CARRY_LOOK_DONE);
	ck_assert_int_eq(carry.state, LOGIN_good);
	file_holds(LOGIN_COPY, login_text(1));
}

void carry_looked(enum login_state state)
{
	ck_assert_int_eq(carry_look(&carry), CARRY_LOOK_DONE);
	ck_assert_msg(carry.state == state, "%s: %s", login_state_name(carry.state), carry.reason);
}

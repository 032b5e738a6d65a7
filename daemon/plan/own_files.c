/* SPDX-License-Identifier: MIT */
#include "plan/own_files.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "plan/folder_digest.h"
#include "plan/program.h"

static int add_path(struct pair_list *paths, const char *path, const char *home)
{
	_cleanup_free_ char *host = NULL;

	if (asprintf(&host, "%s%s", *path == '~' ? home : "", *path == '~' ? path + 1 : path) < 0) {
		host = NULL;
		return -ENOMEM;
	}
	return pair_list_set(paths, path, host);
}

int own_files_find(struct pair_list *ret_paths, const struct harness *harness, const char *home)
{
	const struct text_list *lists[] = {&harness->home.read_only, &harness->home.copies};
	int r = 0;

	*ret_paths = (struct pair_list){0};
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		for (size_t k = 0; r == 0 && k < lists[i]->count; k++)
			r = add_path(ret_paths, lists[i]->items[k], home);
	if (r < 0)
		pair_list_done(ret_paths);
	return r;
}

static int digest_file(int fd, const struct stat *st, char ret_digest[PROGRAM_DIGEST_BYTES])
{
	struct program_stamp ignored;

	return st->st_size > (off_t)OWN_FILE_BYTES_MAX ? -EFBIG
						       : program_digest(fd, &ignored, ret_digest);
}

/* "" of what is not there. */
static int digest_of(const char *path, char ret_digest[PROGRAM_DIGEST_BYTES])
{
	_cleanup_close_ int fd = open(path, O_PATH | O_CLOEXEC);
	struct folder_digest folder;
	struct stat st;
	int r;

	*ret_digest = '\0';
	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR ? 0 : -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (S_ISREG(st.st_mode))
		return digest_file(fd, &st, ret_digest);
	if (!S_ISDIR(st.st_mode))
		return 0;
	r = folder_digest(fd, &folder);
	if (r == 0)
		memcpy(ret_digest, folder.sha256, sizeof(folder.sha256));
	return r;
}

int own_files_digest(const struct pair_list *paths, struct pair_list *ret_digests)
{
	char digest[PROGRAM_DIGEST_BYTES];
	int r = 0;

	*ret_digests = (struct pair_list){0};
	for (size_t i = 0; r == 0 && i < paths->count; i++) {
		r = digest_of(paths->items[i].value, digest);
		if (r == 0 && !*digest)
			continue;
		if (r != -ENOMEM)
			r = pair_list_set(ret_digests, paths->items[i].name,
					  r == 0		       ? digest
					  : r == -EFBIG || r == -ELOOP ? "too large"
								       : "unreadable");
	}
	if (r < 0)
		pair_list_done(ret_digests);
	return r;
}

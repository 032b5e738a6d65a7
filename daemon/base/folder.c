/* SPDX-License-Identifier: MIT */
#include "base/folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Makes each missing component; the umask keeps them private. */
static int make_parents(const char *path)
{
	size_t length = strlen(path);
	char partial[PATH_MAX];

	if (length >= sizeof(partial))
		return -ENAMETOOLONG;
	memcpy(partial, path, length + 1);
	for (char *at = partial + 1; *at; at++) {
		if (*at != '/')
			continue;
		*at = '\0';
		if (mkdir(partial, 0700) < 0 && errno != EEXIST)
			return -errno;
		*at = '/';
	}
	return mkdir(partial, 0700) < 0 && errno != EEXIST ? -errno : 0;
}

static int canonical_path(int fd, char **path)
{
	char link[64], target[PATH_MAX];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, target, sizeof(target) - 1);
	if (n < 0)
		return -errno;
	target[n] = '\0';
	free(*path);
	*path = strdup(target);
	return *path ? 0 : -ENOMEM;
}

static int folder_check(int fd, const char *path, struct fault *ret_fault)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (st.st_uid != getuid())
		return fault_set(ret_fault, ERROR_refused, "%s: belongs to another user", path);
	if (st.st_mode & 0077)
		return fault_set(ret_fault, ERROR_refused, "%s: others can enter it (mode %04o)",
				 path, (unsigned int)(st.st_mode & 07777)),
		       fault_hint(ret_fault, "chmod 700 '%s'", path);
	if (faccessat(fd, ".", W_OK | X_OK, AT_EACCESS) < 0)
		return fault_set(ret_fault, ERROR_unavailable, "%s: cannot be written: %s", path,
				 strerror(errno));
	return 0;
}

int folder_private(char **path, int *ret_fd, struct fault *ret_fault)
{
	_cleanup_free_ char *absolute = NULL;
	_cleanup_close_ int fd = -1;
	int r;

	if (**path != '/') {
		char here[PATH_MAX];

		if (!getcwd(here, sizeof(here)))
			return -errno;
		if (asprintf(&absolute, "%s/%s", here, *path) < 0) {
			absolute = NULL;
			return -ENOMEM;
		}
	}
	r = make_parents(absolute ? absolute : *path);
	if (r < 0)
		return fault_set(ret_fault, ERROR_unavailable, "%s: %s", *path, strerror(-r));
	fd = open(absolute ? absolute : *path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return fault_set(ret_fault, ERROR_unavailable, "%s: %s", *path, strerror(errno));
	r = canonical_path(fd, path);
	if (r == 0)
		r = folder_check(fd, *path, ret_fault);
	if (r == 0)
		*ret_fd = fd_steal(&fd);
	return r;
}

int folder_below(int parent_fd, const char *parent, const char *name, char **ret_path, int *ret_fd,
		 struct fault *ret_fault)
{
	_cleanup_free_ char *path = NULL;
	_cleanup_close_ int fd = -1;
	int r;

	if (asprintf(&path, "%s/%s", parent, name) < 0) {
		path = NULL;
		return -ENOMEM;
	}
	if (mkdirat(parent_fd, name, 0700) < 0 && errno != EEXIST)
		return fault_set(ret_fault, ERROR_unavailable, "%s: %s", path, strerror(errno));
	fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return fault_set(ret_fault, ERROR_unavailable, "%s: %s", path,
				 errno == ENOTDIR || errno == ELOOP ? "not a folder of ours"
								    : strerror(errno));
	r = folder_check(fd, path, ret_fault);
	if (r == 0) {
		*ret_path = steal(&path);
		*ret_fd = fd_steal(&fd);
	}
	return r;
}

int folder_default(char **path, const char *systemd, const char *xdg, const char *home,
		   const char *below_home)
{
	const char *set = systemd ? getenv(systemd) : NULL;
	const char *base = xdg ? getenv(xdg) : NULL;
	int r;

	if (*path)
		return 0;
	if (set && *set == '/')
		r = asprintf(path, "%s", set);
	else if (base && *base == '/')
		r = asprintf(path, "%s/trialsd", base);
	else
		r = asprintf(path, "%s/%s/trialsd", home, below_home);
	if (r < 0) {
		*path = NULL;
		return -ENOMEM;
	}
	return 0;
}

int folder_each(int folder_fd, int (*take)(void *context, const char *name), void *context)
{
	/* With an offset of its own: folder_fd may be shared. */
	int fd = openat(folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *folder = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	int r = 0;

	if (!folder) {
		r = -errno;
		fd_close(fd);
		return r;
	}
	while (r == 0 && (errno = 0, entry = readdir(folder)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			r = take(context, entry->d_name);
	/* take may have left anything in errno, but only where there was an entry. */
	if (r == 0 && errno)
		r = -errno;
	closedir(folder);
	return r;
}

/* SPDX-License-Identifier: MIT */
#include "bare_home.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/list.h"
#include "base/no_sandbox.h"
#include "base/wipe.h"

#define ORDER_ENUM_(name, words) ORDER_##name,
enum order { NO_SANDBOX_ORDERS(ORDER_ENUM_) ORDERS };

#define ORDER_ROW_(name, words) {#name, words},
static const struct {
	const char *name;
	size_t words;
} orders[ORDERS] = {NO_SANDBOX_ORDERS(ORDER_ROW_)};

struct making {
	const struct bare_home *bare;
	int home;
	struct bare_room room;
};

/* Where something is put: a folder, and its name there. */
struct at {
	int folder;
	const char *name; /* the last of the path */
};

/* --- Places --------------------------------------------------------------------------------------- */

static const struct carry *find_login(const struct making *making, const char *harness)
{
	const struct logins *logins = making->bare->logins;

	for (size_t i = 0; i < logins->count; i++)
		if (strcmp(logins->carries[i].login.harness, harness) == 0)
			return &logins->carries[i];
	return NULL;
}

/* The path that a descriptor is open on, if it is there that it leads now. */
static int path_of(int fd, char ret[PATH_MAX])
{
	struct stat here, there;
	char link[32];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, ret, PATH_MAX - 1);
	if (n < 0 || fstat(fd, &here) < 0)
		return -errno;
	ret[n] = '\0';
	if (lstat(ret, &there) < 0)
		return -errno;
	return here.st_ino == there.st_ino && here.st_dev == there.st_dev ? 0 : -ESTALE;
}

static bool is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* One folder further; made when it is not there. */
static int step(int *fd, const char *name, size_t length)
{
	char part[NAME_MAX + 1];
	int next;

	if (length == 0 || length > NAME_MAX)
		return -EINVAL;
	memcpy(part, name, length);
	part[length] = '\0';
	if (is_dots(part))
		return -EINVAL;
	if (mkdirat(*fd, part, 0700) < 0 && errno != EEXIST)
		return -errno;
	next = openat(*fd, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (next < 0)
		return -errno;
	fd_close(*fd);
	*fd = next;
	return 0;
}

/* folder: as an order has it. What bears the name of a login's file is nobody's to replace. */
static int open_at(const struct making *making, const char *folder, const char *path,
		   struct at *ret)
{
	const struct carry *login = *folder ? find_login(making, folder) : NULL;
	_cleanup_close_ int fd = -1;
	const char *slash;
	int r = 0;

	if (*folder && (!login || login->login.home))
		return -EINVAL;
	if (login && strcmp(path, login->login.copy) == 0)
		return -EEXIST;
	fd = fcntl(login ? login->folders[LOGIN_FD_COPY] : making->home, F_DUPFD_CLOEXEC, 3);
	if (fd < 0)
		return -errno;
	for (; r == 0 && (slash = strchr(path, '/')); path = slash + 1)
		r = step(&fd, path, (size_t)(slash - path));
	if (r == 0 && (!*path || strlen(path) > NAME_MAX || is_dots(path)))
		r = -EINVAL;
	if (r < 0)
		return r;
	ret->folder = fd_steal(&fd);
	ret->name = path;
	return 0;
}

/* --- Orders --------------------------------------------------------------------------------------- */

static int parse(const char *text, int base, unsigned long most, unsigned long *ret)
{
	char *end;

	errno = 0;
	*ret = strtoul(text, &end, base);
	return errno || end == text || *end || *ret > most ? -EINVAL : 0;
}

static int descriptor_of(const struct making *making, const char *text, int *ret_fd)
{
	unsigned long number;

	if (making->bare->count == 0 || parse(text, 10, making->bare->count - 1, &number) < 0)
		return -EINVAL;
	*ret_fd = making->bare->descriptors[number];
	return 0;
}

static int make_link(const char *to, const struct at *at)
{
	return symlinkat(to, at->folder, at->name) < 0 ? -errno : 0;
}

static int link_to(int fd, const struct at *at)
{
	char path[PATH_MAX];
	int r = path_of(fd, path);

	return r == 0 ? make_link(path, at) : r;
}

static int put_file(struct making *making, int fd, const char *mode_text, const struct at *at)
{
	unsigned long mode;
	int r = parse(mode_text, 8, 0777, &mode);

	return r == 0 ? bare_write(fd, at->folder, at->name, (unsigned int)mode, &making->room) : r;
}

/* words: those behind its name; the last two say where. */
static int carry_out(struct making *making, enum order order, const char *const *words)
{
	const char *const *where = words + orders[order].words - 2;
	const struct carry *login;
	struct at at = {.folder = -1, .name = ""};
	int fd = -1;
	int r = order == ORDER_login || order == ORDER_link ? 0
							    : descriptor_of(making, words[0], &fd);

	if (r == 0)
		r = open_at(making, where[0], where[1], &at);
	if (r < 0)
		return r;
	switch (order) {
	case ORDER_login:
		login = find_login(making, words[0]);
		r = login ? link_to(login->folders[LOGIN_FD_COPY], &at) : -EINVAL;
		break;
	case ORDER_lock:
		r = link_to(fd, &at);
		break;
	case ORDER_link:
		r = make_link(words[0], &at);
		break;
	case ORDER_copy:
		r = bare_copy(fd, at.folder, at.name, &making->room);
		break;
	default:
		r = put_file(making, fd, words[1], &at);
		break;
	}
	fd_close(at.folder);
	return r;
}

static int refuse(const char *path, int error, struct fault *fault)
{
	_cleanup_free_ char *shown = display(path);

	if (error == -EFBIG)
		return fault_void(
			fault, CAUSE_session_unavailable,
			"%s: what is copied into the home of a Trial without a sandbox is "
			"larger than %u MiB, more than %u files, or too deep",
			shown, BARE_HOME_BYTES_MAX >> 20, BARE_HOME_ENTRIES_MAX);
	return fault_void(fault, CAUSE_sandbox_unavailable,
			  "%s cannot be put into the home of a Trial without a sandbox: %s", shown,
			  strerror(-error));
}

static int carry_out_all(struct making *making, struct fault *fault)
{
	const struct text_list *list = making->bare->orders;

	for (size_t i = 0; i < list->count;) {
		enum order order = 0;
		size_t words;
		int r;

		while (order < ORDERS && strcmp(orders[order].name, list->items[i]) != 0)
			order++;
		words = order < ORDERS ? orders[order].words : 0;
		if (words == 0 || list->count - i - 1 < words)
			return refuse(list->items[i], -EINVAL, fault);
		r = carry_out(making, order, list->items + i + 1);
		if (r < 0)
			return refuse(list->items[i + words], r, fault);
		i += 1 + words;
	}
	return 0;
}

int bare_home_make(const struct bare_home *bare, struct fault *ret_fault)
{
	struct making making = {
		.bare = bare,
		.room = {.bytes = BARE_HOME_BYTES_MAX, .entries = BARE_HOME_ENTRIES_MAX},
	};
	_cleanup_close_ int home = -1;
	int r = wipe_remove(bare->folder, NO_SANDBOX_HOME, NULL);

	if (r == 0 && (mkdirat(bare->folder, NO_SANDBOX_HOME, 0700) < 0 ||
		       mkdirat(bare->folder, NO_SANDBOX_TMP, 0700) < 0))
		r = -errno;
	if (r == 0) {
		home = openat(bare->folder, NO_SANDBOX_HOME,
			      O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		r = home < 0 ? -errno : 0;
	}
	if (r < 0)
		return fault_void(ret_fault, CAUSE_sandbox_unavailable,
				  "the home of a Trial without a sandbox cannot be made: %s",
				  strerror(-r));
	making.home = home;
	return carry_out_all(&making, ret_fault);
}

void bare_home_remove(int folder_fd)
{
	wipe_remove(folder_fd, NO_SANDBOX_HOME, NULL);
}

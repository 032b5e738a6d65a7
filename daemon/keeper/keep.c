/* SPDX-License-Identifier: MIT */
#include "keep.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/disk.h"
#include "base/no_sandbox.h"
#include "sandbox.h"

#define PARTIAL ".partial"
#define BELOW (RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS)

static int open_below(int folder, const char *path, int flags, uint64_t resolve)
{
	const struct open_how how = {.flags = (uint64_t)flags | O_CLOEXEC, .resolve = resolve};
	int fd = (int)syscall(SYS_openat2, folder, path[0] ? path : ".", &how, sizeof(how));

	return fd < 0 ? -errno : fd;
}

/* --- The home ------------------------------------------------------------------------------------- */

int keep_open(struct keep *keep, const struct keeper_plan *plan, int root)
{
	const int flags = O_PATH | O_DIRECTORY;

	keep->plan = plan;
	if (!plan->home)
		return 0;
	if (root < 0)
		return -EBADF;
	keep->home = open_below(root, plan->home + strspn(plan->home, "/"), flags, BELOW);
	if (keep->home < 0)
		return keep->home;
	if (!plan->bound_home)
		return 0;
	keep->bound = open_below(keep->home, plan->bound_home, flags, BELOW);
	return keep->bound < 0 ? keep->bound : 0;
}

int keep_open_bare(struct keep *keep, const struct keeper_plan *plan, int folder)
{
	const int flags = O_PATH | O_DIRECTORY;

	keep->plan = plan;
	if (!plan->home)
		return 0;
	keep->home = open_below(folder, NO_SANDBOX_HOME, flags, BELOW);
	if (keep->home < 0)
		return keep->home;
	if (!plan->bound_home)
		return 0;
	/* The link is our own: nothing has run there. */
	keep->bound = open_below(keep->home, plan->bound_home, flags, 0);
	return keep->bound < 0 ? keep->bound : 0;
}

void keep_done(struct keep *keep)
{
	keep_stop(keep);
	if (keep->work)
		munmap(keep->work, sizeof(*keep->work));
	for (size_t i = 0; i < keep->secret_count; i++)
		tree_secret_done(&keep->secrets[i]);
	fd_close(keep->home);
	fd_close(keep->bound);
	*keep = KEEP_INIT;
}

/* The mount that a path of the home is on, and the path from there. */
static int mount_of(const struct keep *keep, const char *path, const char **ret_rest)
{
	const char *bound = keep->plan->bound_home;
	size_t length = bound ? strlen(bound) : 0;

	*ret_rest = path;
	if (!bound || keep->bound < 0 || strncmp(path, bound, length) != 0 || path[length] != '/')
		return keep->home;
	*ret_rest = path + length + 1;
	return keep->bound;
}

/* A path's folder and its last name. */
struct split {
	char folder[PATH_BYTES_MAX + 1];
	const char *name;
};

static int split(struct split *split, const char *path)
{
	const char *slash = strrchr(path, '/');
	size_t length = slash ? (size_t)(slash - path) : 0;

	if (strlen(path) > PATH_BYTES_MAX)
		return -ENAMETOOLONG;
	memcpy(split->folder, path, length);
	split->folder[length] = '\0';
	split->name = slash ? slash + 1 : path;
	return split->name[0] ? 0 : -EINVAL;
}

static int step_below(int folder, const char *name)
{
	const uint64_t resolve = BELOW | RESOLVE_NO_XDEV;
	int fd = open_below(folder, name, O_PATH | O_DIRECTORY, resolve);

	if (fd == -EACCES && tree_allow(folder) == 0)
		fd = open_below(folder, name, O_PATH | O_DIRECTORY, resolve);
	return fd;
}

/*
 * A folder of a path, on the mount of the first: with make, those that are not there are made. Whoever
 * left them may have closed them to himself.
 */
static int walk(int folder, const char *path, bool make, int *ret_fd)
{
	_cleanup_close_ int fd = fcntl(folder, F_DUPFD_CLOEXEC, 3);
	char name[NAME_MAX + 1];

	while (fd >= 0 && path[0]) {
		size_t length = strcspn(path, "/");
		int next;

		if (length > NAME_MAX)
			return -ENAMETOOLONG;
		memcpy(name, path, length);
		name[length] = '\0';
		path += length + strspn(path + length, "/");
		if (make && mkdirat(fd, name, 0700) < 0 && errno != EEXIST)
			return -errno;
		next = step_below(fd, name);
		if (next < 0)
			return next;
		fd_close(fd);
		fd = next;
	}
	if (fd < 0)
		return -errno;
	*ret_fd = fd_steal(&fd);
	return 0;
}

/* --- Logins --------------------------------------------------------------------------------------- */

static void learn(struct keep *keep, int folder, const char *name)
{
	if (keep->secret_count < KEEP_SECRETS_MAX && folder >= 0 && name &&
	    tree_secret_read(&keep->secrets[keep->secret_count], folder, name) == 0)
		keep->secret_count++;
}

void keep_learn_logins(struct keep *keep, const struct logins *logins)
{
	if (keep->home < 0)
		return;
	for (size_t i = 0; i < logins->count; i++) {
		const struct carry *carry = &logins->carries[i];

		learn(keep, carry->folders[LOGIN_FD_PRODUCTION], carry->login.file);
		learn(keep, carry->folders[LOGIN_FD_COPY], carry->login.copy);
	}
}

/* What stands in the home where a login's files do: a program may have put one there itself. */
static void learn_paths(struct keep *keep)
{
	const struct text_list *paths = &keep->plan->login_paths;

	for (size_t i = 0; i < paths->count; i++) {
		_cleanup_close_ int folder = -1;
		struct split at = {.name = ""};
		const char *rest;
		int mount = mount_of(keep, paths->items[i], &rest);

		if (split(&at, rest) < 0)
			continue;
		if (walk(mount, at.folder, false, &folder) == 0)
			learn(keep, folder, at.name);
	}
}

/* --- The child ------------------------------------------------------------------------------------ */

/* At most half of what is free: others need room too, and the ledger above all. */
static uint64_t room(int folder, uint64_t most)
{
	struct statvfs st;
	uint64_t half;

	if (fstatvfs(folder, &st) < 0)
		return most;
	half = (uint64_t)st.f_bavail * st.f_frsize / 2;
	return half < most ? half : most;
}

static struct tree_rules rules_of(const struct keep *keep, uint64_t bytes, uint64_t entries)
{
	return (struct tree_rules){
		.bytes = bytes,
		.entries = entries,
		.secrets = keep->secrets,
		.secret_count = keep->secret_count,
		.except = &keep->plan->login_paths,
		.unspoken = &keep->plan->bound,
	};
}

/* One path of the session: what is not there need not be. */
static int save_path(const struct keep *keep, const struct tree_rules *rules, const char *path,
		     int to, struct tree_result *result)
{
	_cleanup_close_ int from = -1, folder = -1;
	struct split at = {.name = ""}, there = {.name = ""};
	const char *rest;
	int mount = mount_of(keep, path, &rest);
	int r = split(&at, rest);

	if (r == 0)
		r = split(&there, path);
	if (r < 0)
		return r;
	r = walk(mount, at.folder, false, &from);
	if (r == -ENOENT)
		return 0;
	if (r < 0) {
		/* A link, or something that is bound. */
		tree_left_out(result, path);
		return 0;
	}
	r = walk(to, there.folder, true, &folder);
	return r == 0 ? tree_copy(rules, result, from, at.name, path, folder, there.name) : r;
}

static int save_session(const struct keep *keep, int to, struct keep_copy *copy)
{
	const struct text_list *paths = &keep->plan->state;
	const struct tree_rules rules = rules_of(keep, room(to, KEEP_SESSION_BYTES_MAX),
						 KEEP_SESSION_ENTRIES_MAX);
	int r = 0;

	for (size_t i = 0; r == 0 && i < paths->count; i++)
		r = save_path(keep, &rules, paths->items[i], to, &copy->tree);
	copy->empty = copy->tree.files == 0;
	/* Half a session is none. */
	return r == 0 && copy->tree.cut ? -EFBIG : r;
}

static int save_home(const struct keep *keep, int to, struct keep_copy *copy)
{
	const struct tree_rules rules = rules_of(keep, room(to, KEEP_HOME_BYTES_MAX),
						 KEEP_HOME_ENTRIES_MAX);
	const char *bound = keep->plan->bound_home;
	_cleanup_close_ int folder = -1;
	struct split at = {.name = ""};
	int r = tree_copy(&rules, &copy->tree, keep->home, ".", "", to, ".");

	if (r == 0 && keep->bound >= 0) {
		r = split(&at, bound);
		if (r == 0)
			r = walk(to, at.folder, true, &folder);
		if (r == 0)
			r = tree_copy(&rules, &copy->tree, keep->bound, ".", bound, folder,
				      at.name);
	}
	copy->empty = copy->tree.files == 0;
	return r == 0 && copy->empty && copy->tree.cut ? -ENOSPC : r;
}

static void save_one(const struct keep *keep, int folder, const char *name,
		     int (*save)(const struct keep *keep, int to, struct keep_copy *copy),
		     struct keep_copy *copy)
{
	_cleanup_close_ int to = -1;
	char partial[32];
	int r;

	if (!copy->wanted)
		return;
	snprintf(partial, sizeof(partial), "%s" PARTIAL, name);
	r = walk(folder, partial, true, &to);
	if (r == 0)
		r = save(keep, to, copy);
	if (r == 0 && copy->empty)
		r = -ENOENT;
	if (r == 0 && renameat2(folder, partial, folder, name, RENAME_NOREPLACE) < 0)
		r = -errno;
	if (r < 0)
		disk_remove(folder, partial);
	copy->error = r;
	copy->done = r == 0;
}

static void save_all(struct keep *keep, int folder)
{
	learn_paths(keep);
	save_one(keep, folder, KEEP_SESSION, save_session, &keep->work->session);
	save_one(keep, folder, KEEP_HOME, save_home, &keep->work->home);
}

static int restore_path(const struct keep *keep, const struct tree_rules *rules, const char *path,
			int session, struct tree_result *result)
{
	_cleanup_close_ int from = -1, to = -1;
	struct split at = {.name = ""}, there = {.name = ""};
	const char *rest;
	int mount = mount_of(keep, path, &rest);
	int r = split(&at, path);

	if (r == 0)
		r = split(&there, rest);
	if (r < 0)
		return r;
	r = walk(session, at.folder, false, &from);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	r = walk(mount, there.folder, true, &to);
	return r == 0 ? tree_copy(rules, result, from, at.name, path, to, there.name) : r;
}

static void restore_all(struct keep *keep, int session)
{
	const struct text_list *paths = &keep->plan->state;
	const struct tree_rules rules = {.bytes = KEEP_SESSION_BYTES_MAX,
					 .entries = KEEP_SESSION_ENTRIES_MAX};
	struct keep_copy *copy = &keep->work->session;
	int r = 0;

	for (size_t i = 0; r == 0 && i < paths->count; i++)
		r = restore_path(keep, &rules, paths->items[i], session, &copy->tree);
	if (r == 0 && copy->tree.left_out > 0)
		r = -EBADMSG;
	if (r == 0 && copy->tree.files == 0)
		r = -ENOENT;
	copy->error = r;
	copy->done = r == 0;
}

static int by_number(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* All but 0 to 2 and these. */
static void close_others(int *kept, size_t count)
{
	int last = STDERR_FILENO;

	qsort(kept, count, sizeof(*kept), by_number);
	for (size_t i = 0; i < count; i++) {
		if (kept[i] <= last)
			continue;
		if (kept[i] > last + 1)
			syscall(SYS_close_range, last + 1, kept[i] - 1, 0u);
		last = kept[i];
	}
	syscall(SYS_close_range, last + 1, ~0u, 0u);
}

/* The other end of the sandbox's control socket above all would otherwise not be closed. */
static void child_begin(const struct keep *keep, int folder, const int *leases, size_t count,
			pid_t parent)
{
	int kept[3 + CONTROL_LEASES_MAX] = {folder, keep->home, keep->bound};

	prctl(PR_SET_PDEATHSIG, SIGKILL, 0L, 0L, 0L);
	if (getppid() != parent)
		_exit(EXIT_FAILURE);
	/* What it reads may be a home that another Trial is waiting for. */
	memcpy(kept + 3, leases, count * sizeof(*leases));
	close_others(kept, 3 + count);
}

static int start(struct keep *keep, int folder, int cgroup, const int *leases, size_t count,
		 void (*work)(struct keep *keep, int folder))
{
	pid_t parent = getpid(), pid;
	int pidfd = -1;

	if (!keep->work) {
		void *memory = mmap(NULL, sizeof(*keep->work), PROT_READ | PROT_WRITE,
				    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

		if (memory == MAP_FAILED)
			return -errno;
		keep->work = memory;
	}
	*keep->work = (struct keep_work){
		.session.wanted = keep->plan->state.count > 0,
		.home.wanted = keep->plan->keep_home,
	};
	pid = sandbox_clone(cgroup, &pidfd);
	if (pid < 0)
		return -errno;
	if (pid == 0) {
		child_begin(keep, folder, leases, count, parent);
		work(keep, folder);
		_exit(EXIT_SUCCESS);
	}
	keep->pid = pid;
	keep->pidfd = pidfd;
	return 0;
}

int keep_restore(struct keep *keep, int session_fd, int cgroup, const int *leases, size_t count)
{
	return start(keep, session_fd, cgroup, leases, count, restore_all);
}

int keep_save(struct keep *keep, int folder_fd, const int *leases, size_t count)
{
	return start(keep, folder_fd, -1, leases, count, save_all);
}

void keep_stop(struct keep *keep)
{
	siginfo_t info;

	if (keep->pidfd < 0)
		return;
	/* One that the kernel does not let go of is not waited for. */
	syscall(SYS_pidfd_send_signal, keep->pidfd, SIGKILL, NULL, 0u);
	waitid(P_PIDFD, (id_t)keep->pidfd, &info, WEXITED | WNOHANG);
	keep->pidfd = fd_close(keep->pidfd);
}

/* --- What became of it ---------------------------------------------------------------------------- */

static void reason(const struct keep_copy *copy, char *buffer, size_t size)
{
	if (copy->done && copy->tree.cut)
		snprintf(buffer, size, "what is too large, too deep or too much was left out");
	else if (copy->done)
		buffer[0] = '\0';
	else if (copy->error == -ENOENT)
		snprintf(buffer, size, "there is none");
	else if (copy->error == -EFBIG)
		snprintf(
			buffer, size,
			"it is larger than %u MiB or half of what is free on the disk, more than %u "
			"entries, or too deep",
			KEEP_SESSION_BYTES_MAX >> 20, KEEP_SESSION_ENTRIES_MAX);
	else if (copy->error == -EXDEV)
		snprintf(buffer, size, "something is bound at its path");
	else if (copy->error == -EBADMSG)
		snprintf(buffer, size, "what was kept is no longer whole");
	else if (copy->error < 0)
		snprintf(buffer, size, "%s", strerror(-copy->error));
	else
		snprintf(buffer, size,
			 "it was not copied within %d seconds, or the copying was ended",
			 (int)KEEP_SECONDS);
}

int keep_restored(struct keep *keep, struct fault *ret_fault)
{
	const struct keep_copy *copy = &keep->work->session;
	char why[160];

	if (copy->done)
		return 0;
	reason(copy, why, sizeof(why));
	return fault_void(ret_fault, CAUSE_session_unavailable,
			  "of: the kept session cannot be put back: %s", why);
}

static void fill(struct keep *keep, size_t at, const char *what, const struct keep_copy *copy)
{
	const struct tree_result *tree = &copy->tree;
	struct kept *kept = &keep->kept[at];
	size_t told = tree->example_count < TREE_EXAMPLES_MAX ? tree->example_count
							      : TREE_EXAMPLES_MAX;

	reason(copy, keep->reasons[at], sizeof(keep->reasons[at]));
	*kept = (struct kept){
		.has = {.bytes = copy->done, .files = copy->done, .left_out = copy->done},
		.what = what,
		.state = !copy->done ? "none"
			 : tree->cut ? "cut"
				     : "whole",
		.bytes = tree->bytes,
		.files = tree->files,
		.left_out = tree->left_out,
		.reason = keep->reasons[at][0] ? keep->reasons[at] : NULL,
	};
	for (size_t i = 0; i < told; i++)
		keep->examples[at][i] = tree->examples[i];
	kept->examples = (struct text_list){.count = told, .items = keep->examples[at]};
}

void keep_fill(struct keep *keep, struct outcome_record *record)
{
	size_t count = 0;

	if (keep->work->session.wanted)
		fill(keep, count++, KEEP_SESSION, &keep->work->session);
	if (keep->work->home.wanted)
		fill(keep, count++, KEEP_HOME, &keep->work->home);
	record->kept.count = count;
	record->kept.items = keep->kept;
	record->has.kept = count > 0;
}

/* SPDX-License-Identifier: MIT */
#include "build.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>

/*
 * Which bwrap. The wall of every sandbox is this one program, so it is chosen once, from where
 * only root can put a file, and held by its descriptor: what a repository, a PATH or a home holds
 * under that name is never executed. It is asked what it can do (--help); versions say little,
 * since distributions backport options.
 */

#define OUTPUT_BYTES_MAX (64u * 1024u)
#define PROBE_MILLISECONDS 5000

static const char *const needed[] = {
	"--args",	 "--unshare-all",  "--unshare-user", "--disable-userns", "--share-net",
	"--new-session", "--as-pid-1",	   "--cap-drop",     "--hostname",	 "--uid",
	"--gid",	 "--clearenv",	   "--seccomp",	     "--bind-fd",	 "--ro-bind-fd",
	"--ro-bind",	 "--dev-bind",	   "--size",	     "--perms",		 "--tmpfs",
	"--dir",	 "--symlink",	   "--file",	     "--proc",		 "--dev",
	"--remount-ro",	 "--ro-bind-data",
};

/*
 * Whether this is root's. A user namespace may have no root: files of root and of all others then seem
 * to be one stranger's. There, what lies in /usr and is that of /usr itself counts as root's: whoever can
 * write there can replace the C library as well.
 */
static bool is_root(const char *path, uid_t uid)
{
	struct stat usr;

	if (uid == 0)
		return true;
	if (path[0] && strcmp(path, "/usr") != 0 && strncmp(path, "/usr/", strlen("/usr/")) != 0)
		return false;
	return uid != geteuid() && stat("/usr", &usr) == 0 && usr.st_uid == uid;
}

/* Whether everything from this folder up to / can be changed by root alone. */
static int folders_check(const char *path, bool *ret_safe)
{
	_cleanup_free_ char *folder = strdup(path);
	char *slash;

	*ret_safe = true;
	if (!folder)
		return -ENOMEM;
	while (*ret_safe && (slash = strrchr(folder, '/'))) {
		struct stat st;

		*slash = '\0';
		if (stat(folder[0] ? folder : "/", &st) < 0)
			return -errno;
		*ret_safe = is_root(folder, st.st_uid) && !(st.st_mode & 022);
	}
	return 0;
}

/* The folders of the file and those of each link on the way to it. */
static int place_safe(const struct place *place, bool *ret_safe)
{
	int r = folders_check(place->canonical, ret_safe);

	for (size_t i = 0; r == 0 && *ret_safe && i < place->link_count; i++)
		r = folders_check(place->links[i].location, ret_safe);
	if (!is_root(place->canonical, place->uid) || (place->mode & 022))
		*ret_safe = false;
	return r;
}

static int file_check(const struct place *place, struct fault *fault)
{
	_cleanup_free_ char *shown = display(place->canonical);
	char path[32];
	bool safe;
	int r;

	r = place_safe(place, &safe);
	if (r < 0)
		return r;
	if (!safe) {
		r = fault_set(fault, ERROR_unavailable,
			      "bwrap: %s can be replaced by others than root", shown);
		return r < 0 ? r
			     : fault_hint(
				       fault,
				       "install the distribution's: sudo apt install bubblewrap");
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", place->fd);
	if (!S_ISREG(place->mode) || faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) < 0)
		return fault_set(fault, ERROR_unavailable, "bwrap: %s is not a program", shown);
	if (place->mode & (S_ISUID | S_ISGID)) {
		r = fault_set(fault, ERROR_unavailable,
			      "bwrap: %s is set-user-ID: it then lacks what a sandbox needs",
			      shown);
		return r < 0 ? r : fault_hint(fault, "sudo chmod ug-s %s", shown);
	}
	if (getxattr(path, "security.capability", NULL, 0) > 0) {
		r = fault_set(fault, ERROR_unavailable,
			      "bwrap: %s has capabilities: it then lacks what a sandbox needs",
			      shown);
		return r < 0 ? r : fault_hint(fault, "sudo setcap -r %s", shown);
	}
	return 0;
}

/* In the child: the pinned file itself, with nothing but the pipe. */
static void probe_exec(int fd, int output, const char *option)
{
	char *const arguments[] = {(char *)"bwrap", (char *)option, NULL};
	char *const environment[] = {(char *)"LC_ALL=C", NULL};
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (null < 0 || dup2(null, 0) < 0 || dup2(output, 1) < 0 || dup2(null, 2) < 0)
		_exit(126);
	syscall(SYS_execveat, fd, "", arguments, environment, AT_EMPTY_PATH);
	_exit(127);
}

static int milliseconds_left(const struct timespec *end)
{
	struct timespec now;
	int64_t left;

	clock_gettime(CLOCK_MONOTONIC, &now);
	left = (int64_t)(end->tv_sec - now.tv_sec) * 1000 + (end->tv_nsec - now.tv_nsec) / 1000000;
	return left > 0 ? (int)left : 0;
}

/* Up to the end of the output: 0, -ETIMEDOUT, -EFBIG. */
static int probe_read(int fd, const struct timespec *end, char *text, size_t size)
{
	size_t used = 0;

	for (;;) {
		struct pollfd poller = {.fd = fd, .events = POLLIN};
		int ready = poll(&poller, 1, milliseconds_left(end));
		ssize_t got;

		if (ready == 0)
			return -ETIMEDOUT;
		if (ready < 0 && errno != EINTR)
			return -errno;
		if (ready < 0)
			continue;
		if (used == size - 1)
			return -EFBIG;
		got = read(fd, text + used, size - 1 - used);
		if (got < 0)
			return -errno;
		used += (size_t)got;
		text[used] = '\0';
		if (got == 0)
			return 0;
	}
}

/* The end of the child, by itself or, when it is late or error says so, by us. */
static int probe_reap(pid_t pid, const struct timespec *end, int error)
{
	_cleanup_close_ int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd poller = {.fd = pidfd, .events = POLLIN};
	siginfo_t info = {0};

	if (pidfd < 0)
		return -errno;
	while (error == 0 && poll(&poller, 1, milliseconds_left(end)) <= 0)
		if (milliseconds_left(end) == 0)
			error = -ETIMEDOUT;
	if (error < 0)
		syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
	while (waitid(P_PID, (id_t)pid, &info, WEXITED) < 0)
		if (errno != EINTR)
			return -errno;
	if (error < 0)
		return error;
	return info.si_code == CLD_EXITED && info.si_status == 0 ? 0 : -ENOEXEC;
}

int bwrap_ask(int fd, const char *option, unsigned int milliseconds, char **ret_text)
{
	_cleanup_free_ char *text = calloc(1, OUTPUT_BYTES_MAX);
	_cleanup_close_ int reader = -1, writer = -1;
	struct timespec end;
	int ends[2];
	pid_t pid;
	int r;

	if (!text)
		return -ENOMEM;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	reader = ends[0];
	writer = ends[1];
	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += milliseconds / 1000;
	end.tv_nsec += (long)(milliseconds % 1000) * 1000000;
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0)
		probe_exec(fd, writer, option);
	writer = fd_close(writer);
	r = probe_reap(pid, &end, probe_read(reader, &end, text, OUTPUT_BYTES_MAX));
	if (r == 0)
		*ret_text = steal(&text);
	return r;
}

/* Whether an option stands in the help as a word of its own. */
static bool has_option(const char *help, const char *option)
{
	size_t length = strlen(option);

	for (const char *at = help; (at = strstr(at, option)); at += length)
		if (at > help && (at[-1] == ' ' || at[-1] == '\n') &&
		    (at[length] == ' ' || at[length] == '\n' || at[length] == '\0'))
			return true;
	return false;
}

const char *bwrap_missing_option(const char *help)
{
	for (size_t i = 0; i < ARRAY_SIZE(needed); i++)
		if (!has_option(help, needed[i]))
			return needed[i];
	return NULL;
}

static int ability_check(struct plan_bwrap *bwrap, const char *shown, struct fault *fault)
{
	_cleanup_free_ char *help = NULL, *version = NULL;
	const char *missing;
	int r;

	r = bwrap_ask(bwrap->fd, "--help", PROBE_MILLISECONDS, &help);
	if (r == 0)
		r = bwrap_ask(bwrap->fd, "--version", PROBE_MILLISECONDS, &version);
	if (r == -ENOMEM || r == -EMFILE || r == -ENFILE || r == -EAGAIN)
		return r;
	if (r < 0 || !help || !version) {
		r = fault_set(fault, ERROR_unavailable, "bwrap: %s does not answer --help: %s",
			      shown, strerror(-r));
		return r < 0 ? r : fault_hint(fault, "sudo apt install --reinstall bubblewrap");
	}
	version[strcspn(version, "\n")] = '\0';
	missing = bwrap_missing_option(help);
	if (missing) {
		r = fault_set(fault, ERROR_unavailable,
			      "bwrap: %s (%s) has no option %s, which a sandbox needs", shown,
			      version, missing);
		return r < 0 ? r
			     : fault_hint(
				       fault,
				       "upgrade it: sudo apt install bubblewrap (Debian 12's has all), or name one of 0.10 or later with Bwrap= in [Daemon] of trialsd.conf");
	}
	bwrap->version = display(version);
	return bwrap->version ? 0 : -ENOMEM;
}

/* Takes the place when it will do. */
static int pin(struct plan_bwrap *bwrap, struct place *place, struct fault *fault)
{
	_cleanup_free_ char *shown = display(place->canonical);
	int r;

	r = file_check(place, fault);
	if (r != 0)
		return r;
	bwrap->fd = fd_steal(&place->fd);
	bwrap->path = steal(&place->canonical);
	return ability_check(bwrap, shown, fault);
}

/*
 * The first one of PATH that root alone could have put there. One that others could is passed
 * over, since it may be meant for us, and named when no other is found.
 */
static int find(struct plan_bwrap *bwrap, const char *path_variable, struct fault *fault)
{
	_cleanup_free_ char *folders = strdup(path_variable);
	_cleanup_free_ char *passed = NULL;
	char *rest = folders, *folder;
	int r;

	if (!folders)
		return -ENOMEM;
	while ((folder = strsep(&rest, ":"))) {
		_cleanup_(place_done) struct place place = PLACE_INIT;
		_cleanup_free_ char *path = NULL, *missing = NULL;
		bool safe;

		if (folder[0] != '/')
			continue;
		if (asprintf(&path, "%s/bwrap", folder) < 0)
			return -ENOMEM;
		r = place_open_existing(&place, path, &missing, NULL);
		if (r == -ENOMEM)
			return r;
		if (r < 0 || missing || !S_ISREG(place.mode))
			continue;
		r = place_safe(&place, &safe);
		if (r < 0)
			return r;
		if (safe)
			return pin(bwrap, &place, fault);
		if (!passed)
			passed = display(path);
	}
	if (passed)
		r = fault_set(
			fault, ERROR_unavailable,
			"bwrap: %s can be replaced by others than root, and no other is in PATH",
			passed);
	else
		r = fault_set(fault, ERROR_unavailable,
			      "bwrap: there is none in PATH: nothing can be run without a sandbox");
	return r < 0 ? r : fault_hint(fault, "sudo apt install bubblewrap");
}

int plan_bwrap_pin(struct plan_bwrap *ret_bwrap, const char *configured, struct fault *ret_fault)
{
	_cleanup_(place_done) struct place place = PLACE_INIT;
	const char *path = getenv("PATH");
	int r;

	*ret_bwrap = (struct plan_bwrap){.fd = -1};
	if (configured) {
		r = place_open(&place, "Bwrap", configured, NULL, ret_fault);
		if (r == 0)
			r = pin(ret_bwrap, &place, ret_fault);
	} else {
		r = find(ret_bwrap, path && path[0] ? path : "/usr/local/bin:/usr/bin:/bin",
			 ret_fault);
	}
	if (r != 0)
		plan_bwrap_done(ret_bwrap);
	return r;
}

bool plan_bwrap_replaced(const struct plan_bwrap *bwrap)
{
	struct stat pinned, there;

	return bwrap->fd >= 0 && fstat(bwrap->fd, &pinned) == 0 &&
	       (stat(bwrap->path, &there) < 0 || there.st_dev != pinned.st_dev ||
		there.st_ino != pinned.st_ino);
}

void plan_bwrap_done(struct plan_bwrap *bwrap)
{
	fd_close(bwrap->fd);
	free(bwrap->path);
	free(bwrap->version);
	*bwrap = (struct plan_bwrap){.fd = -1};
}

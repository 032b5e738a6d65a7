/* SPDX-License-Identifier: MIT */

/*
 * What all launches share: bwrap and trials-init as descriptors, so that a replaced file cannot slip
 * in between, the seccomp filter, the connection to the user manager.
 *
 * A machine that lacks something still gets a daemon: it can show, list and explain, and refuses
 * each launch with the one reason found here. Nothing falls back by itself except `auto`, which
 * says so.
 */
#include "launch/launcher.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#ifndef TRIALSD_LIBEXECDIR
#define TRIALSD_LIBEXECDIR "/usr/lib/trialsd"
#endif

/* A helper must be a regular executable file; only then is its descriptor worth keeping. */
static int helper_open(const char *path, int *ret_fd, struct fault *ret_fault)
{
	_cleanup_close_ int fd = open(path, O_PATH | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return fault_set(ret_fault, ERROR_unavailable, "%s: %s", path, strerror(errno)),
		       fault_hint(ret_fault, "reinstall trialsd: its helper programs are missing");
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || !(st.st_mode & S_IXUSR))
		return fault_set(ret_fault, ERROR_unavailable, "%s: not an executable file", path);
	*ret_fd = fd_steal(&fd);
	return 0;
}

static int launcher_prepare(Launcher *launcher, const struct launcher_options *options,
			    struct fault *ret_fault)
{
	_cleanup_close_ int keeper = -1;
	int r;

	if (options->unavailable && options->unavailable->message) {
		fault_move(ret_fault, options->unavailable);
		return FAULT;
	}
	r = helper_open(options->keeper, &keeper, ret_fault);
	return r ? r : helper_open(options->init, &launcher->init_fd, ret_fault);
}

static int launcher_backend_choose(Launcher *launcher, enum backend asked, struct fault *ret_fault)
{
	_cleanup_fault_ struct fault fault = FAULT_INIT;
	int r;

	launcher->backend = BACKEND_none;
	if (asked == BACKEND_none)
		return 0;
	r = scope_manager_new(&launcher->scopes, launcher->loop, &fault);
	if (r < 0)
		r = fault_errno(&fault, r, "user manager");
	if (r == 0) {
		launcher->backend = BACKEND_systemd;
		return 0;
	}
	if (asked == BACKEND_auto) {
		launcher->backend_reason = strdup(fault.message);
		return launcher->backend_reason ? 0 : -ENOMEM;
	}
	launcher->backend = BACKEND_systemd;
	fault_move(ret_fault, &fault);
	return FAULT;
}

int launcher_new(Launcher **ret_launcher, const struct launcher_options *options,
		 struct fault *ret_fault)
{
	Launcher *launcher = calloc(1, sizeof(*launcher));
	struct fault second = FAULT_INIT;
	int chosen, r;

	if (!launcher)
		return -ENOMEM;
	launcher->loop = options->loop;
	launcher->trials_fd = options->trials_fd;
	launcher->keepers_fd = options->keepers_fd;
	launcher->bwrap_fd = options->bwrap_fd;
	launcher->seccomp_fd = options->seccomp_fd;
	launcher->grader_seccomp_fd = options->grader_seccomp_fd;
	launcher->init_fd = -1;
	launcher->unavailable = FAULT_INIT;
	uv_timer_init(launcher->loop, &launcher->spare_timer);
	launcher->spare_timer.data = launcher;
	launcher->null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	launcher->keeper = strdup(options->keeper);
	launcher->proved = !options->unproved;
	r = launcher->null_fd < 0 ? -errno : launcher->keeper ? 0 : -ENOMEM;
	if (r == 0)
		r = launcher_prepare(launcher, options, &launcher->unavailable);
	/* Also where nothing can be launched, status tells what would be used. */
	chosen = r < 0 ? r
		       : launcher_backend_choose(launcher, options->backend,
						 r ? &second : &launcher->unavailable);
	fault_done(&second);
	if (r == 0 || chosen < 0)
		r = chosen;
	if (r < 0) {
		launcher_close(launcher, NULL, NULL);
		return fault_errno(ret_fault, r, "launcher");
	}
	launcher->lacks = r != 0;
	*ret_launcher = launcher;
	return 0;
}

static void on_timer_closed(uv_handle_t *handle)
{
	Launcher *launcher = handle->data;

	if (launcher->closed)
		launcher->closed(launcher->context);
	fd_close(launcher->init_fd);
	fd_close(launcher->null_fd);
	free(launcher->keeper);
	free(launcher->backend_reason);
	fault_done(&launcher->unavailable);
	free(launcher);
}

static void on_scopes_closed(void *context)
{
	Launcher *launcher = context;

	uv_close((uv_handle_t *)&launcher->spare_timer, on_timer_closed);
}

static void launcher_try_close(Launcher *launcher)
{
	if (!launcher->closing || launcher->launches > 0)
		return;
	if (launcher->scopes)
		scope_manager_close(steal(&launcher->scopes), on_scopes_closed, launcher);
	else
		on_scopes_closed(launcher);
}

void launcher_close(Launcher *launcher, void (*closed)(void *context), void *context)
{
	launcher->closing = true;
	launcher->closed = closed;
	launcher->context = context;
	launcher_drop_spare(launcher);
	launcher_try_close(launcher);
}

void launcher_put(Launcher *launcher)
{
	launcher->launches--;
	launcher_try_close(launcher);
}

enum backend launcher_backend(const Launcher *launcher)
{
	return launcher->backend;
}

const char *launcher_backend_reason(const Launcher *launcher)
{
	return launcher->backend_reason;
}

const struct fault *launcher_unavailable(const Launcher *launcher)
{
	return launcher->unavailable.message ? &launcher->unavailable : NULL;
}

void launcher_set_unavailable(Launcher *launcher, struct fault *fault)
{
	launcher->proved = true;
	if (fault)
		fault_move(&launcher->unavailable, fault);
	else
		fault_done(&launcher->unavailable);
}

bool launcher_proved(const Launcher *launcher)
{
	return launcher->proved;
}

void launcher_doubt(Launcher *launcher)
{
	launcher->proved = false;
}

bool launcher_ready(const Launcher *launcher)
{
	return launcher->proved && !launcher->unavailable.message;
}

int launcher_bwrap(const Launcher *launcher)
{
	return launcher->bwrap_fd;
}

bool launcher_lacks(const Launcher *launcher)
{
	return launcher->lacks;
}

int launcher_mend(Launcher *launcher, const struct launcher_options *options,
		  struct fault *ret_fault)
{
	int r;

	launcher->bwrap_fd = options->bwrap_fd;
	launcher->seccomp_fd = options->seccomp_fd;
	launcher->grader_seccomp_fd = options->grader_seccomp_fd;
	launcher->init_fd = fd_close(launcher->init_fd);
	r = launcher_prepare(launcher, options, ret_fault);
	if (r == 0 && !launcher->scopes)
		r = launcher_backend_choose(launcher, options->backend, ret_fault);
	launcher->lacks = r != 0;
	return r;
}

int launcher_helpers(char **ret_keeper, char **ret_init)
{
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;

	if (n < 0)
		return -errno;
	self[n] = '\0';
	slash = strrchr(self, '/');
	if (slash)
		*slash = '\0';
	if (asprintf(ret_keeper, "%s/trial-keeper", self) < 0)
		return -ENOMEM;
	if (access(*ret_keeper, X_OK) < 0) {
		strcpy(self, TRIALSD_LIBEXECDIR);
		free(*ret_keeper);
		if (asprintf(ret_keeper, "%s/trial-keeper", self) < 0)
			return -ENOMEM;
	}
	return asprintf(ret_init, "%s/trials-init", self) < 0 ? -ENOMEM : 0;
}

int launch_folder(int trials_fd, uint64_t id, bool make, int *ret_fd)
{
	char name[24];
	int fd;

	snprintf(name, sizeof(name), "%llu", (unsigned long long)id);
	if (make && mkdirat(trials_fd, name, 0700) < 0 && errno != EEXIST)
		return -errno;
	fd = openat(trials_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	*ret_fd = fd;
	return 0;
}

int launch_folder_held(int folder_fd)
{
	if (flock(folder_fd, LOCK_EX | LOCK_NB) == 0) {
		flock(folder_fd, LOCK_UN);
		return 0;
	}
	return errno == EWOULDBLOCK ? 1 : -errno;
}

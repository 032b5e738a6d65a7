/* SPDX-License-Identifier: MIT */
#include "serve/listen.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>

int server_bind(const char *path, int *ret_fd, struct fault *ret_fault)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	_cleanup_close_ int fd = -1;
	struct stat st;
	mode_t mask;
	int r;

	if (strlen(path) >= sizeof(address.sun_path))
		return fault_set(ret_fault, ERROR_refused,
				 "%s: a socket's name has at most %zu bytes, this has %zu", path,
				 sizeof(address.sun_path) - 1, strlen(path)),
		       fault_hint(ret_fault, "name a shorter folder with --runtime DIR");
	memcpy(address.sun_path, path, strlen(path) + 1);
	if (lstat(path, &st) == 0) {
		if (!S_ISSOCK(st.st_mode))
			return fault_set(ret_fault, ERROR_refused,
					 "%s is in the way and is not a socket", path);
		/* The runtime lock is ours, so nobody listens there any more. */
		if (unlink(path) < 0)
			return -errno;
	}
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	mask = umask(0177);
	r = bind(fd, (const struct sockaddr *)&address, sizeof(address));
	umask(mask);
	if (r < 0)
		return fault_set(ret_fault, ERROR_refused, "%s: %s", path, strerror(errno));
	if (listen(fd, LISTEN_BACKLOG) < 0)
		return -errno;
	*ret_fd = fd_steal(&fd);
	return 0;
}

static int listening_bind(struct listening *listening, const char *runtime_folder,
			  struct fault *ret_fault)
{
	struct stat st;
	int r;

	if (asprintf(&listening->path, "%s/socket", runtime_folder) < 0) {
		listening->path = NULL;
		return -ENOMEM;
	}
	r = server_bind(listening->path, &listening->fd, ret_fault);
	if (r)
		return r;
	if (lstat(listening->path, &st) < 0)
		return -errno;
	listening->device = st.st_dev;
	listening->inode = st.st_ino;
	return 0;
}

int listening_take(struct listening *ret_listening, const char *runtime_folder,
		   struct fault *ret_fault)
{
	struct sockaddr_un address;
	socklen_t size = sizeof(address);
	int given = sd_listen_fds(1);

	*ret_listening = (struct listening){.fd = -1};
	if (given < 0)
		return given;
	if (given > 1)
		return fault_set(ret_fault, ERROR_invalid, "systemd passed %d sockets; one is used",
				 given);
	if (given == 0)
		return listening_bind(ret_listening, runtime_folder, ret_fault);
	ret_listening->fd = SD_LISTEN_FDS_START;
	if (sd_is_socket_unix(ret_listening->fd, SOCK_STREAM, 1, NULL, 0) <= 0)
		return fault_set(
			ret_fault, ERROR_invalid,
			"the socket that systemd passed is no listening Unix stream socket");
	memset(&address, 0, sizeof(address));
	if (getsockname(ret_listening->fd, (struct sockaddr *)&address, &size) < 0)
		return -errno;
	ret_listening->path = strdup(address.sun_path);
	return ret_listening->path ? 0 : -ENOMEM;
}

void listening_remove(const struct listening *listening)
{
	struct stat st;

	if (!listening->inode || lstat(listening->path, &st) < 0)
		return;
	if (st.st_dev == listening->device && st.st_ino == listening->inode)
		unlink(listening->path);
}

void listening_done(struct listening *listening)
{
	free(listening->path);
	listening->path = NULL;
}

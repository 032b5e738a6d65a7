/* SPDX-License-Identifier: MIT */
#include "attach.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include "base/mem.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77 /* Linux 6.5 */
#endif
/* A keeper that is stopped accepts nobody, however often a trialsd comes anew. */
#define BACKLOG 128

/* The descriptor's name under /proc is short whatever the folder's own is. */
static int attach_address(int folder_fd, const char *uuid, struct sockaddr_un *ret_address)
{
	int n;

	*ret_address = (struct sockaddr_un){.sun_family = AF_UNIX};
	n = snprintf(ret_address->sun_path, sizeof(ret_address->sun_path), "/proc/self/fd/%d/%s",
		     folder_fd, uuid);
	return n < 0 || (size_t)n >= sizeof(ret_address->sun_path) ? -ENAMETOOLONG : 0;
}

static int attach_socket(void)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	return fd < 0 ? -errno : fd;
}

int attach_listen(int folder_fd, const char *uuid, int *ret_listener)
{
	_cleanup_close_ int fd = attach_socket();
	struct sockaddr_un address;
	int r = attach_address(folder_fd, uuid, &address);

	if (fd < 0)
		return fd;
	if (r < 0)
		return r;
	/* An earlier attempt's: the caller holds the Trial's folder, so nobody listens there. */
	if (unlinkat(folder_fd, uuid, 0) < 0 && errno != ENOENT)
		return -errno;
	if (bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(fd, BACKLOG) < 0)
		return -errno;
	*ret_listener = fd_steal(&fd);
	return 0;
}

int attach_accept(int listener, int *ret_fd)
{
	_cleanup_close_ int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	struct ucred peer;
	socklen_t size = sizeof(peer);

	if (fd < 0)
		return errno == EWOULDBLOCK ? -EAGAIN : -errno;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0 || peer.uid != getuid())
		return -EPERM;
	*ret_fd = fd_steal(&fd);
	return 0;
}

/* Room for one descriptor: of more, the kernel says that they were cut off. */
union one_descriptor {
	struct cmsghdr header;
	char space[CMSG_SPACE(sizeof(int))];
};

/* Its only byte is there because a packet without one is an end-of-file. */
static int send_namespace(int fd)
{
	_cleanup_close_ int namespace = open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC);
	union one_descriptor ancillary = {0};
	char byte = 0;
	struct iovec vector = {.iov_base = &byte, .iov_len = 1};
	struct msghdr message = {
		.msg_iov = &vector,
		.msg_iovlen = 1,
		.msg_control = &ancillary,
		.msg_controllen = sizeof(ancillary),
	};

	if (namespace < 0)
		return -errno;
	ancillary.header.cmsg_level = SOL_SOCKET;
	ancillary.header.cmsg_type = SCM_RIGHTS;
	ancillary.header.cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(&ancillary.header), &namespace, sizeof(namespace));
	return sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

int attach_proved(int fd)
{
	_cleanup_close_ int namespace = -1;
	union one_descriptor ancillary;
	char bytes[2];
	struct iovec vector = {.iov_base = bytes, .iov_len = sizeof(bytes)};
	struct msghdr message = {
		.msg_iov = &vector,
		.msg_iovlen = 1,
		.msg_control = &ancillary,
		.msg_controllen = sizeof(ancillary),
	};
	const struct cmsghdr *header;
	struct stat ours, theirs;
	ssize_t n = recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? -EAGAIN : -EPERM;
	header = CMSG_FIRSTHDR(&message);
	if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS &&
	    header->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(&namespace, CMSG_DATA(header), sizeof(namespace));
	if (n != 1 || message.msg_flags & (MSG_TRUNC | MSG_CTRUNC) || namespace < 0 ||
	    stat("/proc/self/ns/user", &ours) < 0 || fstat(namespace, &theirs) < 0)
		return -EPERM;
	return ours.st_ino == theirs.st_ino && ours.st_dev == theirs.st_dev ? 0 : -EPERM;
}

int attach_connect(int folder_fd, const char *uuid, int *ret_fd)
{
	_cleanup_close_ int fd = attach_socket();
	struct sockaddr_un address;
	int r = attach_address(folder_fd, uuid, &address);

	if (fd < 0)
		return fd;
	if (r < 0)
		return r;
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return -errno;
	r = send_namespace(fd);
	if (r < 0)
		return r;
	*ret_fd = fd_steal(&fd);
	return 0;
}

int attach_peer(int fd, int *ret_pidfd)
{
	struct ucred peer;
	socklen_t size = sizeof(*ret_pidfd);
	int pidfd;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, ret_pidfd, &size) == 0)
		return 0;
	size = sizeof(peer);
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
		return -errno;
	/* Good while the peer lives, which the caller sees: it holds its Trial's folder. */
	pidfd = (int)syscall(SYS_pidfd_open, peer.pid, 0);
	if (pidfd < 0)
		return -errno;
	*ret_pidfd = pidfd;
	return 0;
}

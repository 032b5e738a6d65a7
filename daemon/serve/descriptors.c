/* SPDX-License-Identifier: MIT */

/*
 * Who sends a descriptor decides what it is, how many there are, and when they come; what is decided
 * here is that each is either kept, in a small place, or closed before anything else happens.
 *
 * The kernel attaches descriptors to the first byte of the message they were sent with, never gives
 * those of two messages at once, and lets bytes that came before stand in front of it: so descriptors
 * are known to belong to a frame that ends with the bytes just read, or later, and a frame that says
 * that it has one takes the oldest.
 */
#include "serve/descriptors.h"

#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

void descriptors_done(struct descriptors *descriptors)
{
	while (descriptors->count > 0)
		fd_close(descriptors->fds[--descriptors->count]);
}

int descriptors_take(struct descriptors *descriptors)
{
	int fd;

	if (descriptors->count == 0)
		return -1;
	fd = descriptors->fds[0];
	descriptors->count--;
	memmove(descriptors->fds, descriptors->fds + 1,
		descriptors->count * sizeof(descriptors->fds[0]));
	return fd;
}

/* False: they do not all fit; those that do not are closed. */
static bool keep(struct descriptors *descriptors, const struct cmsghdr *header)
{
	size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	bool fit = true;

	for (size_t i = 0; i < count; i++) {
		int fd;

		memcpy(&fd, CMSG_DATA(header) + i * sizeof(fd), sizeof(fd));
		if (descriptors->count < DESCRIPTORS_MAX) {
			descriptors->fds[descriptors->count++] = fd;
		} else {
			fd_close(fd);
			fit = false;
		}
	}
	return fit;
}

ssize_t descriptors_receive(struct descriptors *descriptors, int socket, void *buffer, size_t size)
{
	union {
		char bytes[CMSG_SPACE(DESCRIPTORS_MAX * sizeof(int))];
		struct cmsghdr aligned;
	} control;
	struct iovec bytes = {.iov_base = buffer, .iov_len = size};
	struct msghdr message = {
		.msg_iov = &bytes,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	bool fit = true;
	ssize_t n;

	do
		n = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	for (struct cmsghdr *header = CMSG_FIRSTHDR(&message); header;
	     header = CMSG_NXTHDR(&message, header))
		if (header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS)
			fit = keep(descriptors, header) && fit;
	if (fit && !(message.msg_flags & MSG_CTRUNC))
		return n;
	descriptors_done(descriptors);
	return -EPROTO;
}

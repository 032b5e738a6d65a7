/* SPDX-License-Identifier: MIT */
#include "listener.h"

#include <linux/sockios.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "init/control.h"

static int refuse(struct fault *fault, const char *what)
{
	return fault_void(fault, CAUSE_sandbox_unavailable,
			  "what the sandbox handed out is not the listener of its proxy, nothing "
			  "was started in it: %s",
			  what);
}

static bool option_is(int fd, int option, int wanted)
{
	socklen_t size = sizeof(int);
	int value = 0;

	return getsockopt(fd, SOL_SOCKET, option, &value, &size) == 0 && size == sizeof(int) &&
	       value == wanted;
}

static bool address_is_ours(int fd)
{
	struct sockaddr_in address = {0};
	socklen_t size = sizeof(address);

	return getsockname(fd, (struct sockaddr *)&address, &size) == 0 &&
	       size == sizeof(address) && address.sin_family == AF_INET &&
	       address.sin_addr.s_addr == htonl(INADDR_LOOPBACK) &&
	       address.sin_port == htons(CONTROL_PROXY_PORT);
}

/* 0: it cannot be told, as of a namespace of the host's, over which we have no power. */
static uint64_t namespace_of(int fd)
{
	_cleanup_close_ int namespace = ioctl(fd, SIOCGSKNS);
	struct stat st;

	return namespace >= 0 && fstat(namespace, &st) == 0 ? st.st_ino : 0;
}

int listener_check(int fd, uint64_t theirs, uint64_t own, struct fault *ret_fault)
{
	uint64_t namespace;

	if (!option_is(fd, SO_DOMAIN, AF_INET) || !option_is(fd, SO_TYPE, SOCK_STREAM) ||
	    !option_is(fd, SO_PROTOCOL, IPPROTO_TCP))
		return refuse(ret_fault, "it is no TCP socket of IPv4");
	if (!option_is(fd, SO_ACCEPTCONN, 1))
		return refuse(ret_fault, "it does not listen");
	if (!address_is_ours(fd))
		return refuse(ret_fault, "it listens elsewhere than on 127.0.0.1");
	namespace = namespace_of(fd);
	if (namespace == 0 || namespace == own || namespace != theirs)
		return refuse(ret_fault, "it is of another network than the sandbox's own");
	return 0;
}

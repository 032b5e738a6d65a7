/* SPDX-License-Identifier: MIT */

/*
 * A trials-init that is none, for tests/sandbox/test-network: it says HELLO as the real one does, and
 * hands out something else than the listener of its proxy. What, is the last line of its own file:
 *   right        what the real one hands out; it then takes no order
 *   nothing      only the root
 *   three        two listeners
 *   silent       a TCP socket that does not listen
 *   unix         a Unix socket that listens
 *   six          a listener on ::1
 *   datagram     a UDP socket
 *   port         a listener on another port
 *   any          a listener on all addresses
 *   host         descriptor 20, which the test has put there: a listener of the host's network
 *   elsewhere    a listener of another network, made beside the sandbox's own
 */

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "init/control.h"

#define GIVEN_FD 20

static void must(int result, const char *what)
{
	if (result >= 0)
		return;
	perror(what);
	exit(EXIT_FAILURE);
}

static const char *read_mode(char *buffer, size_t size)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct stat st;
	ssize_t n;
	char *line;

	must(fd, "/proc/self/exe");
	must(fstat(fd, &st), "fstat");
	n = pread(fd, buffer, size - 1, st.st_size - (off_t)size + 1);
	must((int)n, "pread");
	buffer[n] = '\0';
	/* There are NUL bytes in front of it. */
	for (line = buffer + n; line > buffer && line[-1] != '\n'; line--)
		;
	return line;
}

static int listener(in_addr_t address, int port)
{
	const struct sockaddr_in at = {.sin_family = AF_INET,
				       .sin_port = htons((in_port_t)port),
				       .sin_addr.s_addr = htonl(address)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	must(fd, "socket");
	must(bind(fd, (const struct sockaddr *)&at, sizeof(at)), "bind");
	must(listen(fd, 16), "listen");
	return fd;
}

static int six(void)
{
	const struct sockaddr_in6 at = {.sin6_family = AF_INET6,
					.sin6_port = htons(CONTROL_PROXY_PORT),
					.sin6_addr = IN6ADDR_LOOPBACK_INIT};
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);

	must(fd, "socket");
	must(bind(fd, (const struct sockaddr *)&at, sizeof(at)), "bind");
	must(listen(fd, 16), "listen");
	return fd;
}

static int bound(int type)
{
	const struct sockaddr_in at = {.sin_family = AF_INET,
				       .sin_port = htons(CONTROL_PROXY_PORT),
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

	must(fd, "socket");
	must(bind(fd, (const struct sockaddr *)&at, sizeof(at)), "bind");
	return fd;
}

static int unix_listener(void)
{
	const struct sockaddr_un at = {.sun_family = AF_UNIX, .sun_path = "/tmp/listener"};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	must(fd, "socket");
	must(bind(fd, (const struct sockaddr *)&at, sizeof(at)), "bind");
	must(listen(fd, 16), "listen");
	return fd;
}

static int elsewhere(void)
{
	must(unshare(CLONE_NEWUSER | CLONE_NEWNET), "unshare");
	return listener(INADDR_LOOPBACK, CONTROL_PROXY_PORT);
}

static size_t make(const char *mode, int fds[3])
{
	size_t count = 2;

	fds[0] = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	must(fds[0], "/");
	if (strcmp(mode, "nothing") == 0)
		return 1;
	if (strcmp(mode, "silent") == 0)
		fds[1] = bound(SOCK_STREAM);
	else if (strcmp(mode, "datagram") == 0)
		fds[1] = bound(SOCK_DGRAM);
	else if (strcmp(mode, "unix") == 0)
		fds[1] = unix_listener();
	else if (strcmp(mode, "six") == 0)
		fds[1] = six();
	else if (strcmp(mode, "port") == 0)
		fds[1] = listener(INADDR_LOOPBACK, CONTROL_PROXY_PORT + 1);
	else if (strcmp(mode, "any") == 0)
		fds[1] = listener(INADDR_ANY, CONTROL_PROXY_PORT);
	else if (strcmp(mode, "host") == 0)
		fds[1] = GIVEN_FD;
	else if (strcmp(mode, "elsewhere") == 0)
		fds[1] = elsewhere();
	else
		fds[1] = listener(INADDR_LOOPBACK, CONTROL_PROXY_PORT);
	if (strcmp(mode, "three") == 0)
		fds[count++] = listener(INADDR_LOOPBACK, CONTROL_PROXY_PORT + 1);
	return count;
}

static void fill_hello(struct control_packet *packet)
{
	static const char *const names[CONTROL_NS_COUNT] = {
		[CONTROL_NS_USER] = "user", [CONTROL_NS_MNT] = "mnt",
		[CONTROL_NS_PID] = "pid",   [CONTROL_NS_IPC] = "ipc",
		[CONTROL_NS_UTS] = "uts",   [CONTROL_NS_CGROUP] = "cgroup",
		[CONTROL_NS_NET] = "net",
	};
	char path[64];
	struct stat st;

	*packet = (struct control_packet){.type = CONTROL_HELLO, .version = CONTROL_VERSION};
	for (size_t i = 0; i < CONTROL_NS_COUNT; i++) {
		snprintf(path, sizeof(path), "/proc/self/ns/%s", names[i]);
		must(stat(path, &st), path);
		packet->hello.namespaces[i] = st.st_ino;
	}
	packet->hello.pid = (uint32_t)getpid();
	packet->hello.uid = (uint32_t)getuid();
	packet->hello.no_new_privileges = (uint32_t)prctl(PR_GET_NO_NEW_PRIVS, 0L, 0L, 0L, 0L);
	packet->hello.seccomp = (uint32_t)prctl(PR_GET_SECCOMP, 0L, 0L, 0L, 0L);
}

int main(int argc, char **argv)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int) * 3)];
	} ancillary = {0};
	struct control_packet packet;
	struct iovec vector = {.iov_base = &packet, .iov_len = sizeof(packet)};
	struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1, .msg_control = &ancillary};
	int control = argc > 1 ? atoi(argv[1]) : -1, fds[3];
	struct pollfd end = {.fd = control};
	char buffer[64];
	size_t count;

	fill_hello(&packet);
	count = make(read_mode(buffer, sizeof(buffer)), fds);
	message.msg_controllen = CMSG_SPACE(sizeof(int) * count);
	ancillary.header.cmsg_level = SOL_SOCKET;
	ancillary.header.cmsg_type = SCM_RIGHTS;
	ancillary.header.cmsg_len = CMSG_LEN(sizeof(int) * count);
	memcpy(CMSG_DATA(&ancillary.header), fds, sizeof(int) * count);
	must((int)sendmsg(control, &message, MSG_NOSIGNAL), "sendmsg");
	poll(&end, 1, -1);
	return EXIT_SUCCESS;
}

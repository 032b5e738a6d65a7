/* SPDX-License-Identifier: MIT */

/*
 * trials-init as the command of a Trial, and not as its pid 1: doctor has it ask the proxy from inside
 * for one place that is allowed and one that is not. It is this program because it is at hand wherever
 * a sandbox is, and needs nothing of what is inside.
 */
#include "ask.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "control.h"

#define PATIENCE_SECONDS 12 /* the proxy looks a name up for ten, and says so */
#define ANSWER_BYTES_MAX 4096

static int proxy_connect(void)
{
	const struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons(CONTROL_PROXY_PORT),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	const struct timeval patience = {.tv_sec = PATIENCE_SECONDS};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP);

	if (fd < 0)
		return -1;
	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) < 0 ||
	    connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

/* All that comes back for a CONNECT to the place, as a string. */
static bool proxy_ask(const char *place, char answer[ANSWER_BYTES_MAX])
{
	char request[512];
	int size = snprintf(request, sizeof(request), "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n",
			    place, place);
	int fd = size < (int)sizeof(request) ? proxy_connect() : -1;
	size_t used = 0;
	ssize_t n;

	answer[0] = '\0';
	if (fd < 0)
		return false;
	if (send(fd, request, (size_t)size, MSG_NOSIGNAL) == size)
		while (used < ANSWER_BYTES_MAX - 1 &&
		       (n = recv(fd, answer + used, ANSWER_BYTES_MAX - 1 - used, 0)) > 0)
			used += (size_t)n;
	answer[used] = '\0';
	close(fd);
	return true;
}

static bool has_status(const char *answer, const char *status)
{
	static const char protocol[] = "HTTP/1.1 ";

	return strncmp(answer, protocol, strlen(protocol)) == 0 &&
	       strncmp(answer + strlen(protocol), status, strlen(status)) == 0;
}

int ask(char *const arguments[3])
{
	char answer[ANSWER_BYTES_MAX];
	const char *body;

	if (!proxy_ask(arguments[1], answer) || !answer[0])
		return CONTROL_ANSWER_NO_PROXY;
	body = strstr(answer, "\r\n\r\n");
	if (!has_status(answer, "200 ") || !body || strcmp(body + 4, arguments[0]) != 0)
		return CONTROL_ANSWER_NOT_PASSED;
	if (!proxy_ask(arguments[2], answer) || !answer[0])
		return CONTROL_ANSWER_NO_PROXY;
	return has_status(answer, "403 ") ? CONTROL_ANSWER_RIGHT : CONTROL_ANSWER_NOT_REFUSED;
}

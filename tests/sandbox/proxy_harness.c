/* SPDX-License-Identifier: MIT */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/mem.h"
#include "keeper/proxy.h"
#include "keeper/sandbox.h"
#include "proto/protocol.h"

/*
 * The keeper's proxy without a keeper.
 *
 * proxy_harness [--port N | --fd N] [--allow RULE]... [--internal RULE]... [--refusal TEXT]
 *               [--idle SECONDS] [--files N] [--quiet]
 *
 * Listens on 127.0.0.1 (port 3128), says `listening PORT`, and tells each event as a line of JSON. On
 * end-of-file of stdin, or SIGTERM, it stops the proxy, has a child allocate memory as the keeper's do
 * at the end of a Trial, prints the egress as one line and ends. --files: the limit on open files.
 */
static struct loop loop;
static struct proxy proxy;
static struct allow_rule rules[ALLOW_RULES_MAX];
static struct proxy_policy policy = {.rules = rules};
static bool quiet;

static _Noreturn void fail(const char *what, int error)
{
	fprintf(stderr, "proxy_harness: %s: %s\n", what, strerror(error < 0 ? -error : error));
	exit(EXIT_FAILURE);
}

static void print_string(const char *text)
{
	putchar('"');
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			printf("\\%c", *text);
		else if ((unsigned char)*text < ' ')
			printf("\\u%04x", (unsigned)*text);
		else
			putchar(*text);
	}
	putchar('"');
}

static void print_address(size_t number, int family, const void *bytes)
{
	char text[INET6_ADDRSTRLEN] = "";

	inet_ntop(family, bytes, text, sizeof(text));
	printf("%s\"%s\"", number ? ", " : "", text);
}

static void told(struct proxy *from, const struct egress_event *event)
{
	(void)from;
	if (quiet)
		return;
	printf("{\"event\": \"%s\", \"tunnel\": %llu, \"host\": ",
	       event->opened ? "decided" : "ended", (unsigned long long)event->tunnel);
	print_string(event->host);
	printf(", \"port\": %u, \"verdict\": \"%s\", \"detail\": ", event->port,
	       verdict_name(event->verdict));
	print_string(event->detail ? event->detail : "");
	printf(", \"addresses\": [");
	for (size_t i = 0; i < event->address_count; i++) {
		const struct sockaddr_storage *address = &event->addresses[i];

		print_address(
			i, address->ss_family,
			address->ss_family == AF_INET6
				? (const void *)&((const struct sockaddr_in6 *)address)->sin6_addr
				: (const void *)&((const struct sockaddr_in *)address)->sin_addr);
	}
	printf("], \"sent\": %llu, \"received\": %llu}\n", (unsigned long long)event->sent_bytes,
	       (unsigned long long)event->received_bytes);
	fflush(stdout);
}

static void print_egress(void)
{
	const struct egress *egress = proxy_egress(&proxy);

	printf("{\"entries\": [");
	for (size_t i = 0; i < egress->count; i++) {
		const struct egress_entry *entry = &egress->entries[i];

		printf("%s{\"host\": ", i ? ", " : "");
		print_string(entry->host);
		printf(", \"port\": %u, \"verdict\": \"%s\", \"count\": %llu, \"sent\": %llu, "
		       "\"received\": %llu, \"addresses\": [",
		       entry->port, verdict_name(entry->verdict), (unsigned long long)entry->count,
		       (unsigned long long)entry->sent_bytes,
		       (unsigned long long)entry->received_bytes);
		for (size_t j = 0; j < entry->address_count; j++)
			print_address(j, entry->addresses[j].family, &entry->addresses[j].v4);
		printf("]}");
	}
	printf("], \"more\": %llu, \"untold\": %llu, \"bytes\": %llu}\n",
	       (unsigned long long)egress->more_count, (unsigned long long)egress->untold,
	       (unsigned long long)proxy_bytes(&proxy));
	fflush(stdout);
}

/* As keep.c does: a child that goes on without exec must find no lock of malloc's taken. */
static void try_child(void)
{
	int pidfd = -1, status = 0;
	pid_t pid = sandbox_clone(-1, &pidfd);

	if (pid < 0)
		fail("clone", errno);
	if (pid == 0) {
		for (size_t size = 16; size < ((size_t)1 << 22); size *= 2) {
			void *volatile memory = malloc(size);

			free(memory);
		}
		_exit(EXIT_SUCCESS);
	}
	fd_close(pidfd);
	if (waitpid(pid, &status, 0) != pid || status != 0)
		fail("the child", ECHILD);
}

static void on_input(struct source *source, uint32_t events)
{
	char bytes[256];

	(void)events;
	if (read(source->fd, bytes, sizeof(bytes)) <= 0)
		loop_stop(&loop);
}

static void on_signal(struct source *source, uint32_t events)
{
	(void)source;
	(void)events;
	loop_stop(&loop);
}

static int listen_on(uint16_t port)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	const int on = 1;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
	    bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(fd, 1024) < 0)
		fail("cannot listen", errno);
	return fd;
}

static void add_rule(const char *text, bool internal)
{
	const char *reason;

	if (policy.rule_count == ALLOW_RULES_MAX ||
	    allow_rule_parse(text, &rules[policy.rule_count], &reason) < 0)
		fail(text, EINVAL);
	rules[policy.rule_count++].internal = internal;
}

static int take_options(int argc, char **argv)
{
	static const struct option options[] = {
		{"port", required_argument, NULL, 'p'},
		{"fd", required_argument, NULL, 'f'},
		{"allow", required_argument, NULL, 'a'},
		{"internal", required_argument, NULL, 'i'},
		{"refusal", required_argument, NULL, 'r'},
		{"idle", required_argument, NULL, 'I'},
		{"files", required_argument, NULL, 'n'},
		{"quiet", no_argument, NULL, 'q'},
		{NULL, 0, NULL, 0},
	};
	struct rlimit files = {.rlim_cur = PROXY_DESCRIPTORS, .rlim_max = PROXY_DESCRIPTORS};
	uint16_t port = 3128;
	int option, fd = -1;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 'p':
			port = (uint16_t)strtoul(optarg, NULL, 10);
			break;
		case 'f':
			fd = (int)strtol(optarg, NULL, 10);
			break;
		case 'a':
		case 'i':
			add_rule(optarg, option == 'i');
			break;
		case 'r':
			policy.refusal = optarg;
			break;
		case 'I':
			policy.idle_seconds = strtod(optarg, NULL);
			break;
		case 'n':
			files.rlim_cur = strtoul(optarg, NULL, 10);
			break;
		case 'q':
			quiet = true;
			break;
		default:
			exit(64);
		}
	}
	if (setrlimit(RLIMIT_NOFILE, &files) < 0)
		fail("the limit on open files", errno);
	return fd >= 0 ? fd : listen_on(port);
}

int main(int argc, char **argv)
{
	struct source input = {.fd = -1, .callback = on_input};
	struct source signals = {.fd = -1, .callback = on_signal};
	struct sockaddr_in address = {0};
	socklen_t size = sizeof(address);
	int listener = take_options(argc, argv), r, signal_fd;
	sigset_t term;

	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigprocmask(SIG_BLOCK, &term, NULL);
	signal_fd = signalfd(-1, &term, SFD_CLOEXEC);
	getsockname(listener, (struct sockaddr *)&address, &size);
	r = loop_init(&loop);
	if (r == 0)
		r = loop_add(&loop, &input, STDIN_FILENO, EPOLLIN);
	if (r == 0)
		r = loop_add(&loop, &signals, signal_fd, EPOLLIN);
	if (r == 0)
		r = proxy_start(&proxy, &loop, &listener, &policy, told);
	if (r < 0)
		fail("cannot start", r);
	printf("listening %u\n", ntohs(address.sin_port));
	fflush(stdout);
	r = loop_run(&loop);
	if (r < 0)
		fail("the loop", r);
	proxy_stop(&proxy);
	try_child();
	print_egress();
	proxy_done(&proxy);
	loop_done(&loop);
	return EXIT_SUCCESS;
}

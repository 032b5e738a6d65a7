/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "command.h"
#include "context.h"
#include "exit_code.h"
#include "json.h"

/* Trials that are canceled for it have their grace, and a minute beyond a usual one. */
#define STOP_SECONDS 120.0

static const struct option options[] = {
	{"cancel", 0, NULL, NULL, COMPLETE_NOTHING, false, "cancel what runs first"},
	{0},
};

/* Of an end whose connection has fallen. */
#define GONE_MILLISECONDS 10000

/*
 * The process, while it is there to be named. -1: it cannot be told, as from another pid namespace,
 * where the number may be somebody else's.
 */
static int open_process(json_int_t pid)
{
	char path[64], name[32] = "";
	int fd = pid > 0 && pid <= INT32_MAX ? pidfd_open((pid_t)pid, 0) : -1;
	FILE *file;

	if (fd < 0)
		return -1;
	snprintf(path, sizeof(path), "/proc/%lld/comm", (long long)pid);
	file = fopen(path, "re");
	if (file && !fgets(name, sizeof(name), file))
		name[0] = '\0';
	if (file)
		fclose(file);
	if (strcmp(name, "trialsd\n") == 0)
		return fd;
	close(fd);
	return -1;
}

/* Its locks are its process's: they fall a moment after its connections. */
static void wait_for_process(int process)
{
	struct pollfd event = {.fd = process, .events = POLLIN};

	if (process < 0)
		return;
	while (poll(&event, 1, GONE_MILLISECONDS) < 0 && errno == EINTR)
		;
	close(process);
}

/* The connection falls when trialsd is gone: whoever starts another may do so then. */
static int wait_until_gone(struct context *context)
{
	for (;;) {
		struct trials_message *message;
		struct trials_error error;
		int r = trials_next(context->connection, STOP_SECONDS, &message, &error);

		if (r == -ECONNRESET)
			return 0;
		if (r < 0)
			return context_refuse(context, EXIT_BUSY, "trialctl status",
					      "trialsd is still stopping");
		trials_message_free(message);
	}
}

static void print_stopped(json_int_t canceled, json_int_t running)
{
	printf("trialsd has stopped");
	if (canceled)
		printf("; %lld %s canceled", (long long)canceled,
		       canceled == 1 ? "Trial was" : "Trials were");
	if (running == 1)
		printf("; 1 Trial goes on, and the next trialsd takes it up");
	else if (running)
		printf("; %lld Trials go on, and the next trialsd takes them up",
		       (long long)running);
	putchar('\n');
}

static int run(struct context *context, const struct arguments *arguments)
{
	json_t *request = NULL;
	json_t *reply;
	int process, r;

	if (arguments_given(arguments, "cancel"))
		request = need_memory(json_pack("{s:b}", "cancel", 1));
	r = context_call(context, "shutdown", request, &reply);
	if (r)
		return r;
	process = open_process(json_whole(reply, "pid", 0));
	r = wait_until_gone(context);
	wait_for_process(process);
	if (!r && context->json)
		context_print(context, reply);
	else if (!r)
		print_stopped(json_whole(reply, "canceled", 0), json_whole(reply, "running", 0));
	json_decref(reply);
	return r;
}

const struct command command_shutdown = {
	.name = "shutdown",
	.summary = "stop the daemon; what runs goes on, unless it is canceled",
	.synopsis = "",
	.operands = OPERANDS_NONE,
	.options = options,
	.run = run,
};

/* SPDX-License-Identifier: MIT */

/*
 * The daemon is asked when there is one. When none answers, the same examination is made by a
 * trialsd that is executed for it (trialsd_report.h): it needs no daemon.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "context.h"
#include "exit_code.h"
#include "json.h"
#include "print.h"
#include "trialsd_report.h"

#define CONNECT_SHORT_SECONDS 3.0
#define DOCTOR_SECONDS 90.0

static enum tone tone_of_check(const char *state)
{
	if (strcmp(state, "ok") == 0)
		return TONE_GOOD;
	if (strcmp(state, "failed") == 0)
		return TONE_BAD;
	return strcmp(state, "warning") == 0 ? TONE_ODD : TONE_FAINT;
}

static void print_check(const struct context *context, const json_t *check)
{
	char *state = json_display(json_object_get(check, "state"));
	char *name = json_display(json_object_get(check, "name"));
	char *message = json_display(json_object_get(check, "message"));
	char *hint = json_display(json_object_get(check, "hint"));
	char word[16];

	snprintf(word, sizeof(word), "%-8s", strcmp(state, "not_applicable") == 0 ? "-" : state);
	print_toned(stdout, context->colours, tone_of_check(state), word);
	printf(" %-26s %s\n", name, message);
	if (*hint)
		printf("%35s to mend it: %s\n", "", hint);
	free(state);
	free(name);
	free(message);
	free(hint);
}

static int print_report(struct context *context, json_t *report)
{
	bool launchable = json_flag(report, "launchable");
	json_t *check;
	size_t i;

	if (context->json) {
		context_print(context, report);
		return launchable ? 0 : EXIT_NO_DAEMON;
	}
	json_array_foreach(json_object_get(report, "checks"), i, check) print_check(context, check);
	putchar('\n');
	if (launchable) {
		puts("Trials can be launched.");
	} else {
		char *message = json_display(json_object_get(report, "message"));
		char *hint = json_display(json_object_get(report, "hint"));

		printf("No Trial can be launched: %s\n", message);
		if (*hint)
			printf("To mend it: %s\n", hint);
		free(message);
		free(hint);
	}
	return launchable ? 0 : EXIT_NO_DAEMON;
}

/* Without a daemon. */

/* The runtime folder that a socket named on purpose lies in, or NULL. The caller's. */
static char *chosen_runtime(const struct context *context)
{
	const char *environment = getenv("TRIALSD_SOCKET");
	struct trials_error error;
	char *path, *slash;

	if (!context->socket && !(environment && *environment))
		return NULL;
	if (trials_socket_path(context->socket, &path, &error) < 0)
		return NULL;
	slash = strrchr(path, '/');
	if (!slash || slash == path || strcmp(slash, "/socket") != 0) {
		free(path);
		return NULL;
	}
	*slash = '\0';
	return path;
}

static int examine_here(struct context *context, const struct trials_error *no_daemon)
{
	char *runtime = chosen_runtime(context);
	const char *const arguments[] = {"trialsd", "--doctor",
					 "--json",  runtime ? "--runtime" : NULL,
					 runtime,   NULL};
	json_t *report = NULL;
	int r;

	r = trialsd_report(arguments, &report);
	free(runtime);
	if (r < 0)
		return context_refuse(context, EXIT_NO_DAEMON, TRIALSD_REPORT_HINT,
				      "%s, and no trialsd can be executed to look without one: %s",
				      no_daemon->message, strerror(-r));
	if (!report)
		return context_refuse(context, EXIT_INTERNAL, "trialsd --doctor",
				      "trialsd --doctor ended without a report");
	context_warn(context, "looked without a daemon: %s", no_daemon->message);
	r = print_report(context, report);
	json_decref(report);
	return r;
}

static int ask_daemon(struct context *context)
{
	struct trials_message *reply;
	struct trials_error error;
	json_t *report;
	int r;

	r = trials_call(context->connection, "doctor", NULL, DOCTOR_SECONDS, &reply, &error);
	if (r < 0)
		return context_fail(context, r, &error);
	report = need_memory(json_from_message(reply));
	trials_message_free(reply);
	r = print_report(context, report);
	json_decref(report);
	return r;
}

static int run(struct context *context, const struct arguments *arguments)
{
	struct trials_error error;
	int r;

	(void)arguments;
	r = trials_connect(&context->connection, context->socket, "trialctl " TRIALSD_VERSION,
			   CONNECT_SHORT_SECONDS, &error);
	/* One that is there and speaks another language is the answer. */
	if (r == -EPROTONOSUPPORT || r == -EBADMSG || r == -ENOMEM || r == -EREMOTEIO)
		return context_fail(context, r, &error);
	return r < 0 ? examine_here(context, &error) : ask_daemon(context);
}

const struct command command_doctor = {
	.name = "doctor",
	.summary = "whether Trials can be launched here, and what mends it",
	.synopsis = "",
	.operands = OPERANDS_NONE,
	.run = run,
};

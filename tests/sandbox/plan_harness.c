/* SPDX-License-Identifier: MIT */
#include "base/list.h"
#include "plan/plan.h"

#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "keeper/channel.h"
#include "proto/quantity.h"

/*
 * A plan put to the test without keeper and init: makes the plan of a launch, places the
 * descriptors at their numbers and becomes bwrap, whose command is the launch's own. What
 * trials-init does after GO (working directory, environment) is done by bwrap's options here.
 *
 * plan_harness --state DIR --runtime DIR [--home DIR] [--repository DIR[:ro]] [--build DIR]
 *    [--skills DIR] [--bind SRC[:DST[:MODE]]]... [--env K=V]... [--cwd DIR] [--network host]
 *    [--memory SIZE] [--tmp SIZE] [--print | --minimal] [--] COMMAND...
 * A refusal is printed and ends it with status 77. --print prints bwrap's options instead of
 * running it, --notes the plan's notes; --minimal runs the command in the least that can run
 * one (/usr, its links, /proc, /dev), to compare the time with.
 */

static struct launch_request launch;
static struct bind_spec binds[128];
static struct pair variables[128];
static struct config config = {.grace_seconds = 10, .host_network = true};
static const char *state, *runtime, *home;
static bool print, notes, minimal;

#define CHECK_(expression)                                                                         \
	do {                                                                                       \
		if (!(expression)) {                                                               \
			fprintf(stderr, "plan_harness: %s: %s\n", #expression, strerror(errno));   \
			exit(70);                                                                  \
		}                                                                                  \
	} while (0)

static void take_bind(char *text)
{
	struct bind_spec *bind = &binds[launch.binds.count++];
	const char *mode;

	bind->source = strsep(&text, ":");
	bind->destination = text ? strsep(&text, ":") : NULL;
	mode = text;
	if (bind->destination && !bind->destination[0])
		bind->destination = NULL;
	bind->has.mode = mode != NULL;
	bind->mode = mode && !strcmp(mode, "rw") ? MODE_rw : MODE_ro;
	bind->has.optional = bind->optional = mode && !strcmp(mode, "optional");
	launch.binds.items = binds;
}

static void take_repository(char *text)
{
	char *colon = strrchr(text, ':');

	if (colon && !strcmp(colon, ":ro")) {
		*colon = '\0';
		launch.has.repository_mode = true;
		launch.repository_mode = MODE_ro;
	}
	launch.repository = text;
}

static void take_variable(char *text)
{
	struct pair *pair = &variables[launch.environment.count++];

	pair->name = strsep(&text, "=");
	pair->value = text ? text : "";
	launch.environment.items = variables;
}

static void take_option(int option, char *value)
{
	switch (option) {
	case 's':
		state = value;
		break;
	case 'r':
		runtime = value;
		break;
	case 'h':
		home = value;
		break;
	case 'R':
		take_repository(value);
		break;
	case 'b':
		launch.build = value;
		break;
	case 'k':
		launch.skills = value;
		break;
	case 'B':
		take_bind(value);
		break;
	case 'e':
		take_variable(value);
		break;
	case 'c':
		launch.cwd = value;
		break;
	case 'n':
		launch.has.network = true;
		launch.network = NETWORK_host;
		break;
	case 'm':
		launch.limits.has.memory = !quantity_size(value, &launch.limits.memory);
		break;
	case 't':
		launch.limits.has.tmp = !quantity_size(value, &launch.limits.tmp);
		break;
	case 'p':
		print = true;
		break;
	case 'N':
		notes = true;
		break;
	case 'M':
		minimal = true;
		break;
	default:
		exit(64);
	}
}

static void take_options(int argc, char **argv)
{
	static const struct option options[] = {
		{"state", required_argument, NULL, 's'},
		{"runtime", required_argument, NULL, 'r'},
		{"home", required_argument, NULL, 'h'},
		{"repository", required_argument, NULL, 'R'},
		{"build", required_argument, NULL, 'b'},
		{"skills", required_argument, NULL, 'k'},
		{"bind", required_argument, NULL, 'B'},
		{"env", required_argument, NULL, 'e'},
		{"cwd", required_argument, NULL, 'c'},
		{"network", required_argument, NULL, 'n'},
		{"memory", required_argument, NULL, 'm'},
		{"tmp", required_argument, NULL, 't'},
		{"print", no_argument, NULL, 'p'},
		{"notes", no_argument, NULL, 'N'},
		{"minimal", no_argument, NULL, 'M'},
		{NULL, 0, NULL, 0},
	};
	int option;

	while ((option = getopt_long(argc, argv, "+", options, NULL)) >= 0)
		take_option(option, optarg);
	launch.command.count = (size_t)(argc - optind);
	launch.command.items = (const char **)argv + optind;
}

static void refuse(struct fault *fault, int r)
{
	if (r == 0)
		return;
	if (r < 0)
		fprintf(stderr, "plan_harness: %s\n", strerror(-r));
	else
		fprintf(stderr, "refused (%s): %s%s%s\n", error_name((int)fault->code),
			fault->message, fault->hint ? "\nhint: " : "",
			fault->hint ? fault->hint : "");
	exit(r < 0 ? 70 : 77);
}

static void put2(struct text_list *list, const char *option, const char *value)
{
	CHECK_(text_list_add(list, option) == 0 && text_list_add(list, value) == 0);
}

static int arguments_memfd(const struct plan *plan, struct text_list *arguments)
{
	int fd = memfd_create("arguments", MFD_CLOEXEC);

	CHECK_(fd >= 0);
	for (size_t i = 0; plan && i < plan->environment.count; i++) {
		put2(arguments, "--setenv", plan->environment.items[i].name);
		CHECK_(text_list_add(arguments, plan->environment.items[i].value) == 0);
	}
	if (plan)
		put2(arguments, "--chdir", plan->cwd);
	for (size_t i = 0; i < arguments->count; i++) {
		size_t size = strlen(arguments->items[i]) + 1;

		CHECK_(write(fd, arguments->items[i], size) == (ssize_t)size);
	}
	CHECK_(lseek(fd, 0, SEEK_SET) == 0);
	return fd;
}

/* First all of them out of the way, then each to its number, where it survives exec. */
static void place(int *fds, const int *numbers, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		fds[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, 400);
		CHECK_(fds[i] >= 0);
	}
	for (size_t i = 0; i < count; i++)
		CHECK_(dup2(fds[i], numbers[i]) == numbers[i]);
}

static void become_bwrap(const struct plan *plan, const struct plan_bwrap *bwrap,
			 struct text_list *arguments, int seccomp)
{
	int fds[512], numbers[512];
	const char *command[512] = {"bwrap", "--args", "12", "--"};
	char *environment[] = {NULL};
	size_t count = 0, words = 4;

	fds[count] = bwrap->fd;
	numbers[count++] = 300;
	fds[count] = arguments_memfd(plan, arguments);
	numbers[count++] = SANDBOX_FD_ARGUMENTS;
	if (seccomp >= 0) {
		fds[count] = seccomp;
		numbers[count++] = SANDBOX_FD_SECCOMP;
	}
	for (size_t i = 0; plan && i < plan->descriptor_count; i++) {
		fds[count] = plan->descriptors[i];
		numbers[count++] = SANDBOX_FD_BINDS + (int)i;
	}
	place(fds, numbers, count);
	CHECK_(fcntl(300, F_SETFD, FD_CLOEXEC) == 0);
	for (size_t i = 0; i < launch.command.count && words < 511; i++)
		command[words++] = launch.command.items[i];
	syscall(SYS_execveat, 300, "", command, environment, AT_EMPTY_PATH);
	CHECK_(!"execveat of bwrap");
}

static void run_minimal(const struct plan_bwrap *bwrap)
{
	struct text_list arguments = {0};

	put2(&arguments, "--unshare-all", "--as-pid-1");
	put2(&arguments, "--ro-bind", "/usr");
	put2(&arguments, "/usr", "--symlink");
	put2(&arguments, "usr/bin", "/bin");
	put2(&arguments, "--symlink", "usr/lib");
	put2(&arguments, "/lib", "--symlink");
	put2(&arguments, "usr/lib64", "/lib64");
	put2(&arguments, "--proc", "/proc");
	put2(&arguments, "--dev", "/dev");
	become_bwrap(NULL, bwrap, &arguments, -1);
}

int main(int argc, char **argv)
{
	struct fault fault = FAULT_INIT;
	struct plan_host host;
	struct plan_bwrap bwrap = {.fd = -1};
	struct plan *plan;
	struct text_list arguments = {0};
	int seccomp = -1;

	take_options(argc, argv);
	if (!home)
		home = getenv("HOME");
	if (!print && !notes)
		refuse(&fault, plan_bwrap_pin(&bwrap, NULL, &fault));
	if (minimal)
		run_minimal(&bwrap);
	refuse(&fault, plan_host_init(&host, home, state, runtime, "/nonexistent/trialsd", &config,
				      &fault));
	refuse(&fault, plan_make(&plan, &host, &launch, &fault));
	refuse(&fault, plan_seccomp(false, &seccomp, &fault));
	CHECK_(plan_bwrap_arguments(plan, &host, &arguments) == 0);
	for (size_t i = 0; notes && i < plan->notes.count; i++)
		printf("%s\n", plan->notes.items[i]);
	for (size_t i = 0; print && i < arguments.count; i++)
		printf("%s\n", arguments.items[i]);
	if (!print && !notes)
		become_bwrap(plan, &bwrap, &arguments, seccomp);
	text_list_done(&arguments);
	plan_free(plan);
	plan_host_done(&host);
	plan_bwrap_done(&bwrap);
	fault_done(&fault);
	return 0;
}

/* SPDX-License-Identifier: MIT */
#include "program_ask.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "base/no_sandbox.h"
#include "base/wipe.h"
#include "build.h"
#include "keeper/channel.h"
#include "plan/no_sandbox.h"

/*
 * The sandbox is that of a session, without what a session is given: no prompt, no key, none of the
 * person's files, no repository, no network. There is no keeper and no scope: it is over in a moment,
 * or killed. bwrap is asked to end with us, and what it runs with it.
 */

#define OUTPUT_BYTES_MAX 65536u
#define WORD_BYTES_MAX 256
/* Above all numbers that the sandbox's arguments are written for. */
#define DESCRIPTORS_FROM 400

/* --- On the loop ---------------------------------------------------------------------------------- */

static int add_argument(msgpack_sbuffer *buffer, const char *argument)
{
	return msgpack_sbuffer_write(buffer, argument, strlen(argument) + 1) < 0 ? -ENOMEM : 0;
}

static int add_environment(msgpack_sbuffer *buffer, const struct pair_list *environment)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < environment->count; i++) {
		r = add_argument(buffer, "--setenv");
		if (r == 0)
			r = add_argument(buffer, environment->items[i].name);
		if (r == 0)
			r = add_argument(buffer, environment->items[i].value);
	}
	return r;
}

static int arguments_memfd(const struct plan *plan, const struct plan_host *host, int *ret_fd)
{
	_cleanup_(text_list_done) struct text_list arguments = {0};
	msgpack_sbuffer buffer;
	int r = plan_bwrap_arguments(plan, host, &arguments);

	msgpack_sbuffer_init(&buffer);
	for (size_t i = 0; r == 0 && i < arguments.count; i++)
		r = add_argument(&buffer, arguments.items[i]);
	if (r == 0)
		r = add_environment(&buffer, &plan->environment);
	if (r == 0)
		r = add_argument(&buffer, "--die-with-parent");
	if (r == 0)
		r = add_argument(&buffer, "--chdir");
	if (r == 0)
		r = add_argument(&buffer, plan->cwd);
	if (r == 0)
		r = channel_memfd("version-arguments", buffer.data, buffer.size, ret_fd);
	msgpack_sbuffer_destroy(&buffer);
	return r;
}

/* A folder like a Trial's, with a home in it. */
static int make_folder(struct program_question *question, const struct plan_host *host)
{
	_cleanup_free_ char *folder = NULL;

	if (asprintf(&folder, "%s/ask-XXXXXX", host->runtime_folder) < 0) {
		folder = NULL;
		return -ENOMEM;
	}
	if (!mkdtemp(folder))
		return -errno;
	question->folder = steal(&folder);
	question->folder_fd = open(question->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (question->folder_fd < 0 || mkdirat(question->folder_fd, NO_SANDBOX_HOME, 0700) < 0 ||
	    mkdirat(question->folder_fd, NO_SANDBOX_TMP, 0700) < 0)
		return -errno;
	return 0;
}

static int make_bare(struct program_question *question, const struct plan_host *host,
		     struct fault *fault)
{
	struct text_list orders = {0};
	int r = make_folder(question, host);

	if (r == 0)
		r = no_sandbox_apply(question->plan, host, question->folder, &orders, fault);
	text_list_done(&orders);
	if (r != 0)
		program_question_done(question);
	return r;
}

int program_question_make(struct program_question *ret, const struct plan_host *host, int bwrap_fd,
			  const struct session_plan *session, struct fault *ret_fault)
{
	const struct launch_request nothing = {.harness = session->harness->name};
	const struct session_plan asked = {
		.harness = session->harness,
		.login = session->login,
		.program = session->program,
		.session = {.arguments = session->harness->program.version_arguments},
		.bound_home = session->bound_home,
		.prompt_fd = -1,
		.login_fd = -1,
	};
	int r;

	*ret = PROGRAM_QUESTION_INIT;
	r = plan_make_session(&ret->plan, host, &nothing, &asked, NULL, ret_fault);
	if (r == 0 && host->no_sandbox)
		return make_bare(ret, host, ret_fault);
	if (r == 0)
		r = arguments_memfd(ret->plan, host, &ret->arguments);
	if (r == 0)
		r = plan_seccomp(false, &ret->seccomp, ret_fault);
	if (r == 0) {
		ret->bwrap = fcntl(bwrap_fd, F_DUPFD_CLOEXEC, DESCRIPTORS_FROM);
		r = ret->bwrap < 0 ? -errno : 0;
	}
	if (r != 0)
		program_question_done(ret);
	return r;
}

void program_question_done(struct program_question *question)
{
	question->plan = plan_free(question->plan);
	fd_close(question->bwrap);
	fd_close(question->arguments);
	fd_close(question->seccomp);
	if (question->folder_fd >= 0)
		wipe_remove(question->folder_fd, NO_SANDBOX_HOME, NULL);
	if (question->folder)
		rmdir(question->folder);
	fd_close(question->folder_fd);
	free(question->folder);
	*question = PROGRAM_QUESTION_INIT;
}

/* --- On a thread ---------------------------------------------------------------------------------- */

/* Descriptors out of the way of the numbers that they, or others, are to have. */
struct placing {
	posix_spawn_file_actions_t actions;
	int moved[PLAN_DESCRIPTORS_MAX + 4];
	size_t count;
};

static int place(struct placing *placing, int fd, int number)
{
	int moved = fcntl(fd, F_DUPFD_CLOEXEC, DESCRIPTORS_FROM);

	if (moved < 0)
		return -errno;
	placing->moved[placing->count++] = moved;
	return -posix_spawn_file_actions_adddup2(&placing->actions, moved, number);
}

static int place_all(struct placing *placing, const struct program_question *question, int output)
{
	int r = -posix_spawn_file_actions_addopen(&placing->actions, 0, "/dev/null", O_RDONLY, 0);

	if (r == 0)
		r = -posix_spawn_file_actions_addopen(&placing->actions, 2, "/dev/null", O_WRONLY,
						      0);
	if (r == 0)
		r = place(placing, output, 1);
	if (r == 0 && question->folder)
		return -posix_spawn_file_actions_addchdir_np(&placing->actions,
							     question->plan->cwd);
	if (r == 0)
		r = place(placing, question->arguments, SANDBOX_FD_ARGUMENTS);
	if (r == 0)
		r = place(placing, question->seccomp, SANDBOX_FD_SECCOMP);
	for (size_t i = 0; r == 0 && i < question->plan->descriptor_count; i++)
		r = place(placing, question->plan->descriptors[i], SANDBOX_FD_BINDS + (int)i);
	return r;
}

static void strings_free(char ***strings)
{
	for (char **string = *strings; string && *string; string++)
		free(*string);
	free(*strings);
}

/* bwrap's is empty: it has that of what it runs among its arguments. NULL: memory. */
static char **environment_of(const struct program_question *question)
{
	const struct pair_list *pairs = &question->plan->environment;
	size_t count = question->folder ? pairs->count : 0;
	char **strings = calloc(count + 1, sizeof(*strings));

	for (size_t i = 0; strings && i < count; i++)
		if (asprintf(&strings[i], "%s=%s", pairs->items[i].name, pairs->items[i].value) <
		    0) {
			strings[i] = NULL;
			strings_free(&strings);
			return NULL;
		}
	return strings;
}

static int spawn(const struct program_question *question, struct placing *placing, pid_t *ret_pid)
{
	const struct text_list *command = &question->plan->command;
	_cleanup_free_ char **words = calloc(command->count + 5, sizeof(*words));
	_cleanup_(strings_free) char **environment = environment_of(question);
	char sandbox[32], arguments[16];
	const char *path = question->folder ? command->items[0] : sandbox;
	posix_spawnattr_t attributes;
	sigset_t all, none;
	size_t count = 0;
	int r;

	if (!words || !environment)
		return -ENOMEM;
	snprintf(sandbox, sizeof(sandbox), "/proc/self/fd/%d", question->bwrap);
	snprintf(arguments, sizeof(arguments), "%d", SANDBOX_FD_ARGUMENTS);
	if (!question->folder) {
		words[count++] = (char *)"bwrap";
		words[count++] = (char *)"--args";
		words[count++] = arguments;
		words[count++] = (char *)"--";
	}
	for (size_t i = 0; i < command->count; i++)
		words[count++] = (char *)command->items[i];
	sigfillset(&all);
	sigemptyset(&none);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigdefault(&attributes, &all);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK |
						      POSIX_SPAWN_SETSID);
	r = posix_spawn(ret_pid, path, &placing->actions, &attributes, words, environment);
	posix_spawnattr_destroy(&attributes);
	return -r;
}

static int milliseconds_left(const struct timespec *end)
{
	struct timespec now;
	int64_t left;

	clock_gettime(CLOCK_MONOTONIC, &now);
	left = (int64_t)(end->tv_sec - now.tv_sec) * 1000 + (end->tv_nsec - now.tv_nsec) / 1000000;
	return left > 0 ? (int)left : 0;
}

/* What it prints, until its end, the limit or the time. */
static void read_output(int fd, const struct timespec *end, char *text)
{
	struct pollfd poller = {.fd = fd, .events = POLLIN};
	size_t size = 0;
	ssize_t n = 1;

	while (n > 0 && size < OUTPUT_BYTES_MAX && milliseconds_left(end) > 0) {
		int ready = poll(&poller, 1, milliseconds_left(end));

		if (ready < 0 && errno == EINTR)
			continue;
		if (ready <= 0)
			break;
		n = read(fd, text + size, OUTPUT_BYTES_MAX - size);
		size += n > 0 ? (size_t)n : 0;
	}
	text[size] = '\0';
}

/* Not reaped before this: the number is still its own, and its group's. */
static void reap(pid_t pid, bool bare, const struct timespec *end)
{
	_cleanup_close_ int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd poller = {.fd = pidfd, .events = POLLIN};
	siginfo_t info;

	while (pidfd >= 0 && poll(&poller, 1, milliseconds_left(end)) < 0 && errno == EINTR)
		;
	syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
	if (bare)
		kill(-pid, SIGKILL);
	while (waitid(P_PID, (id_t)pid, &info, WEXITED) < 0 && errno == EINTR)
		;
}

static int run(const struct program_question *question, char *text)
{
	_cleanup_close_ int reader = -1, writer = -1;
	struct placing placing = {.count = 0};
	struct timespec end;
	int ends[2], r;
	pid_t pid = 0;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	reader = ends[0];
	writer = ends[1];
	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += PROGRAM_ASK_MILLISECONDS / 1000;
	posix_spawn_file_actions_init(&placing.actions);
	r = place_all(&placing, question, writer);
	if (r == 0)
		r = spawn(question, &placing, &pid);
	posix_spawn_file_actions_destroy(&placing.actions);
	for (size_t i = 0; i < placing.count; i++)
		fd_close(placing.moved[i]);
	if (r < 0)
		return r;
	writer = fd_close(writer);
	read_output(reader, &end, text);
	reap(pid, question->folder != NULL, &end);
	return 0;
}

int program_version_of_text(const char *text, char ret_version[PROGRAM_VERSION_BYTES_MAX + 1])
{
	static const char blanks[] = " \t\r\n,;:()";

	ret_version[0] = '\0';
	for (text += strspn(text, blanks); *text; text += strspn(text, blanks)) {
		size_t length = strcspn(text, blanks);
		_cleanup_free_ char *version = NULL;
		char word[WORD_BYTES_MAX];
		int r;

		if (length < sizeof(word)) {
			memcpy(word, text, length);
			word[length] = '\0';
			r = program_version_of_name(word, &version);
			if (r < 0)
				return r;
		}
		if (version) {
			memcpy(ret_version, version, strlen(version) + 1);
			return 0;
		}
		text += length;
	}
	return 0;
}

int program_ask(const struct program_question *question,
		char ret_version[PROGRAM_VERSION_BYTES_MAX + 1])
{
	_cleanup_free_ char *text = malloc(OUTPUT_BYTES_MAX + 1);
	int r;

	if (!text)
		return -ENOMEM;
	r = run(question, text);
	return r < 0 ? r : program_version_of_text(text, ret_version);
}

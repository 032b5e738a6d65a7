/* SPDX-License-Identifier: MIT */
#include "login_run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "json.h"

/* trialsd has a home for moments, to see whether it was mended. */
#define LOCK_TRIES 1000
#define MOMENT_NANOSECONDS (5 * 1000 * 1000)

/* --- Words ---------------------------------------------------------------------------------------- */

static bool is_assignment(const char *word)
{
	const char *equals = strchr(word, '=');
	size_t name = strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				   "0123456789_");

	return equals && name > 0 && word + name == equals && !strchr("0123456789", word[0]);
}

static const char *word_at(const json_t *words, size_t i)
{
	const char *word = json_string_value(json_array_get(words, i));

	return word ? word : "";
}

static size_t first_word(const json_t *words)
{
	size_t i = 0;

	while (i < json_array_size(words) && is_assignment(word_at(words, i)))
		i++;
	return i;
}

const char *login_program(const json_t *words)
{
	size_t first = first_word(words);

	return first < json_array_size(words) ? word_at(words, first) : NULL;
}

/* With the first `kept` bytes as they are. */
static char *expand(const char *word, size_t kept)
{
	const char *home = getenv("HOME");
	char *text;

	if (!home || strncmp(word + kept, "~/", 2) != 0)
		return need_memory(strdup(word));
	if (asprintf(&text, "%.*s%s%s", (int)kept, word, home, word + kept + 1) < 0)
		text = NULL;
	return need_memory(text);
}

static void free_words(char **words)
{
	for (size_t i = 0; words[i]; i++)
		free(words[i]);
	free(words);
}

static char **make_arguments(const json_t *words, const json_t *program)
{
	size_t first = first_word(words), count = 0;
	char **arguments = need_memory(
		calloc(json_array_size(words) + json_array_size(program) + 1, sizeof(*arguments)));

	for (size_t i = 0; i < json_array_size(program); i++)
		arguments[count++] = need_memory(strdup(word_at(program, i)));
	for (size_t i = first + (program ? 1 : 0); i < json_array_size(words); i++)
		arguments[count++] = expand(word_at(words, i), 0);
	return arguments;
}

/* The person's, with those of the words in the place of their namesakes. */
static char **make_environment(const json_t *words)
{
	size_t first = first_word(words), count = 0, have = 0;
	char **environment;

	while (environ[have])
		have++;
	environment = need_memory(calloc(have + first + 1, sizeof(*environment)));
	for (size_t i = 0; i < have; i++) {
		size_t name = strcspn(environ[i], "=");
		bool replaced = false;

		for (size_t k = 0; k < first; k++)
			replaced = replaced || (strncmp(word_at(words, k), environ[i], name) == 0 &&
						word_at(words, k)[name] == '=');
		if (!replaced)
			environment[count++] = need_memory(strdup(environ[i]));
	}
	for (size_t k = 0; k < first; k++)
		environment[count++] = expand(word_at(words, k),
					      strcspn(word_at(words, k), "=") + 1);
	return environment;
}

/* --- The command ---------------------------------------------------------------------------------- */

/* As system(3): what is typed to end the command is for the command. */
static int spawn(char *const *arguments, char *const *environment, pid_t *ret_pid)
{
	posix_spawnattr_t attributes;
	sigset_t defaults;
	int r;

	sigemptyset(&defaults);
	sigaddset(&defaults, SIGINT);
	sigaddset(&defaults, SIGQUIT);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigdefault(&attributes, &defaults);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
	r = posix_spawnp(ret_pid, arguments[0], NULL, &attributes, arguments, environment);
	posix_spawnattr_destroy(&attributes);
	return -r;
}

/* One that was killed leaves the terminal as it had it. */
static void take_terminal_back(const struct termios *terminal)
{
	const struct sigaction ignore = {.sa_handler = SIG_IGN};
	struct sigaction was;

	sigaction(SIGTTOU, &ignore, &was);
	tcsetpgrp(STDIN_FILENO, getpgrp());
	tcsetattr(STDIN_FILENO, TCSADRAIN, terminal);
	sigaction(SIGTTOU, &was, NULL);
}

static int run(char *const *arguments, char *const *environment, int *ret_status)
{
	const struct sigaction ignore = {.sa_handler = SIG_IGN};
	struct sigaction interrupt, quit;
	struct termios terminal;
	bool is_terminal = tcgetattr(STDIN_FILENO, &terminal) == 0;
	pid_t pid;
	int r;

	sigaction(SIGINT, &ignore, &interrupt);
	sigaction(SIGQUIT, &ignore, &quit);
	r = spawn(arguments, environment, &pid);
	while (r == 0 && waitpid(pid, ret_status, 0) < 0)
		r = errno == EINTR ? 0 : -errno;
	if (r == 0 && is_terminal)
		take_terminal_back(&terminal);
	sigaction(SIGINT, &interrupt, NULL);
	sigaction(SIGQUIT, &quit, NULL);
	return r;
}

int login_run(const json_t *words, const json_t *program, int *ret_status)
{
	char **arguments = make_arguments(words, program);
	char **environment = make_environment(words);
	int r = arguments[0] ? run(arguments, environment, ret_status) : -ENOENT;

	free_words(arguments);
	free_words(environment);
	return r;
}

/* --- A home for Trials ---------------------------------------------------------------------------- */

int login_make_home(const char *path)
{
	char *text = need_memory(strdup(path));
	int r = 0;

	for (char *at = text + 1; r == 0; at++) {
		char was = *at;

		if (was != '/' && was != '\0')
			continue;
		*at = '\0';
		if (mkdir(text, 0700) < 0 && errno != EEXIST)
			r = -errno;
		*at = was;
		if (was == '\0')
			break;
	}
	free(text);
	return r;
}

int login_lock_home(const char *path, int *ret_fd)
{
	const struct timespec moment = {.tv_nsec = MOMENT_NANOSECONDS};
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = -EWOULDBLOCK;

	if (fd < 0)
		return -errno;
	for (int i = 0; i < LOCK_TRIES && r == -EWOULDBLOCK; i++) {
		if (i > 0)
			nanosleep(&moment, NULL);
		r = flock(fd, LOCK_EX | LOCK_NB) < 0 ? -errno : 0;
	}
	if (r < 0)
		close(fd);
	else
		*ret_fd = fd;
	return r;
}

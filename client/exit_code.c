/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "exit_code.h"

/* What an outcome's word alone says; -1 where the main process's own end decides. */
static int code_of_word(const char *word)
{
	static const struct {
		const char *word;
		int code;
	} words[] = {
		{"delivered", 0},
		{"failed", -1},
		{"timed_out", EXIT_TIMED_OUT},
		{"stalled", EXIT_TIMED_OUT},
		{"out_of_memory", EXIT_OUT_OF_MEMORY},
		{"canceled", EXIT_CANCELED},
	};

	for (size_t i = 0; word && i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(words[i].word, word) == 0)
			return words[i].code;
	/* void, interrupted, lost, and a word of a newer trialsd. */
	return EXIT_NOT_RUN;
}

int exit_code_of_trial(const json_t *trial)
{
	const char *outcome = json_string_value(json_object_get(trial, "outcome"));
	const json_t *exited = json_object_get(trial, "exit_code");
	const json_t *signaled = json_object_get(trial, "exit_signal");
	json_int_t exit_code = json_integer_value(exited);
	int code = code_of_word(outcome);

	/* The command was not found or cannot be executed: what a shell would say. */
	if (outcome && strcmp(outcome, "void") == 0 && (exit_code == 126 || exit_code == 127))
		return (int)exit_code;
	if (code >= 0)
		return code;
	if (exit_code > 0 && exit_code <= 255)
		return (int)exit_code;
	if (json_integer_value(signaled) > 0 && json_integer_value(signaled) < 128)
		return EXIT_SIGNAL + (int)json_integer_value(signaled);
	return 1;
}

static int code_of_answer(const char *word)
{
	static const struct {
		const char *word;
		int code;
	} words[] = {
		{"bad_request", EXIT_PROTOCOL},	 {"unsupported_version", EXIT_PROTOCOL},
		{"unknown_verb", EXIT_PROTOCOL}, {"busy", EXIT_BUSY},
		{"internal", EXIT_INTERNAL},
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(words[i].word, word) == 0)
			return words[i].code;
	/* invalid, not_found, conflict, refused, unavailable: nothing was recorded. */
	return EXIT_REFUSED;
}

int exit_code_of_error(int number, const struct trials_error *error)
{
	switch (number) {
	case -EREMOTEIO:
		return code_of_answer(error->code);
	case -ENOENT:
	case -ECONNREFUSED:
	case -ECONNRESET:
	case -EACCES:
	case -EPERM:
	case -ENAMETOOLONG:
		return EXIT_NO_DAEMON;
	case -ETIMEDOUT:
		return EXIT_BUSY;
	case -EBADMSG:
	case -EPROTONOSUPPORT:
		return EXIT_PROTOCOL;
	case -EINVAL:
	case -EMSGSIZE:
		return EXIT_USED_WRONG;
	default:
		return EXIT_SYSTEM;
	}
}

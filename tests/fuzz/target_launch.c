/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client/command.h"
#include "client/context.h"
#include "client/json.h"
#include "client/spec.h"
#include "fuzz.h"
#include "stage.h"

/*
 * trialctl launch: its options, and the JSON of --spec. The input is a word a line; from a line
 * that begins with a brace on, all is the JSON. What is accepted, printed as --print-spec does and
 * read as --spec, is printed the same; what is refused is told in lines that can be shown.
 */

#define WORDS_MAX 64

struct request {
	const char *words[WORDS_MAX + 4];
	size_t count;
	const char *spec; /* its JSON, or NULL */
};

/* Files of this machine are none of an input's business. */
static bool is_allowed(const char *word)
{
	return strncmp(word, "--prompt-file", 13) != 0 && strncmp(word, "--spec", 6) != 0 &&
	       strncmp(word, "--help", 6) != 0;
}

/* Cuts the text into words. */
static bool take_words(struct request *request, char *text)
{
	while (text && *text && *text != '{') {
		char *word = strsep(&text, "\n");

		if (!is_allowed(word) || request->count == WORDS_MAX)
			return false;
		request->words[request->count++] = word;
	}
	request->spec = text && *text ? text : NULL;
	return true;
}

/* The launch as one line, or NULL. */
static char *make(const struct context *how, const struct request *request)
{
	struct context context = {.json = how->json};
	struct arguments arguments = {0};
	struct trials_error error;
	struct spec spec = {.prompt_fd = -1};
	char *line = NULL;

	if (options_parse(command_find("launch"), request->words, &arguments, &error) < 0)
		must(context_fail(&context, -EINVAL, &error) > 0);
	else if (spec_make(&context, &arguments, &spec) == 0)
		line = need_memory(json_line(spec.launch));
	spec_done(&spec);
	context_done(&context);
	arguments_done(&arguments);
	return line;
}

static char *make_quietly(const struct context *how, const struct request *request)
{
	char *line, *text, *errors;

	stage_listen();
	line = make(how, request);
	stage_heard(&text, &errors);
	must(text[0] == '\0');
	must(line || errors[0]);
	must(stage_is_shown(errors, true));
	must(!line || stage_is_shown(line, false));
	free(text);
	free(errors);
	return line;
}

static char *read_again(const struct context *how, char *line)
{
	const struct request request = {
		.words = {"--print-spec", "--spec", stage_file(line, strlen(line))},
		.count = 3,
	};

	free(line);
	return make_quietly(how, &request);
}

int fuzz_launch(const uint8_t *data, size_t size)
{
	/* In front of all that may end the options. */
	struct request request = {.words = {"--print-spec"}, .count = 1};
	const struct context how = {.json = size % 2};
	char *text = stage_text(data, size), *first, *second;

	if (!take_words(&request, text)) {
		free(text);
		return 0;
	}
	if (request.spec) {
		memmove(request.words + 3, request.words + 1, request.count * sizeof(char *));
		request.words[1] = "--spec";
		request.words[2] = stage_file(request.spec, strlen(request.spec));
	}
	first = make_quietly(&how, &request);
	if (first) {
		/* A double that takes 15 digits and more may be printed as another, once. */
		first = read_again(&how, first);
		must(first);
		second = read_again(&how, strdup(first));
		must(second && strcmp(first, second) == 0);
		free(second);
	}
	free(first);
	free(text);
	return 0;
}

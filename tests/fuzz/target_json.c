/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "client/lib.h"
#include "fuzz.h"
#include "stage.h"

/*
 * JSON into the arguments of each verb. What is accepted and said as JSON again is accepted too,
 * and is then said in the same words; what is refused is told by a sentence that can be shown.
 */

static struct trials_message *judge(enum verb verb, const char *text, size_t size)
{
	struct trials_message *arguments = NULL;
	struct trials_error error;
	int r;

	r = trials_arguments_from_json(verb_name((int)verb), text, size, &arguments, &error);
	must(r == 0 || r == -EINVAL || r == -EMSGSIZE);
	must(r == 0 || (error.message[0] && utf8_valid(error.message, strlen(error.message))));
	return r == 0 ? arguments : NULL;
}

/* Its JSON, which is an object on one line. The message goes. */
static char *say(struct trials_message *arguments)
{
	json_error_t error;
	json_t *object;
	char *text;

	must(arguments && trials_message_json(arguments, &text) == 0);
	trials_message_free(arguments);
	must(stage_is_shown(text, false));
	object = json_loads(text, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
	must(json_is_object(object));
	json_decref(object);
	return text;
}

/* A double that takes 15 digits and more may be said as another; from then on it is the same. */
static void check(enum verb verb, struct trials_message *arguments)
{
	char *first = say(arguments), *second, *third;

	second = say(judge(verb, first, strlen(first)));
	third = say(judge(verb, second, strlen(second)));
	must(strcmp(second, third) == 0);
	free(first);
	free(second);
	free(third);
}

int fuzz_json(const uint8_t *data, size_t size)
{
	for (int verb = 0; verb < VERB_COUNT; verb++) {
		struct trials_message *arguments = judge((enum verb)verb, (const char *)data, size);

		if (arguments)
			check((enum verb)verb, arguments);
	}
	return 0;
}

/* SPDX-License-Identifier: MIT */
#include "command.h"
#include "context.h"
#include "login_print.h"

#include <stdio.h>

static int run(struct context *context, const struct arguments *arguments)
{
	const char *name = arguments->operand_count ? arguments->operands[0] : NULL;
	json_t *logins, *login, *reply;
	size_t i;
	int r;

	r = logins_ask(context, "logins", name, &logins, &reply);
	if (r)
		return r;
	json_array_foreach(logins, i, login)
	{
		if (context->json)
			context_print(context, login);
		else if (name)
			printf("%s", i ? "\n" : ""), login_print(login);
	}
	if (!context->json && !name)
		logins_print_table(context, logins);
	json_decref(reply);
	return 0;
}

const struct command command_logins = {
	.name = "logins",
	.summary = "how each Harness is signed in, until when, and who waits for it",
	.synopsis = "[NAME]",
	.operands = OPERANDS_OPTIONAL_TEXT,
	.run = run,
};

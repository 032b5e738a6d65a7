/* SPDX-License-Identifier: MIT */

/* The verbs about Bars and Panels. */
#include "serve/request.h"

static void refuse_all(struct request *request)
{
	request_refuse(request, ERROR_unknown_verb, "this daemon has no such verb", NULL);
}

void handle_bar_set(struct request *request, const void *arguments)
{
	(void)arguments;
	refuse_all(request);
}

void handle_bar_list(struct request *request, const void *arguments)
{
	(void)arguments;
	refuse_all(request);
}

void handle_bar_show(struct request *request, const void *arguments)
{
	(void)arguments;
	refuse_all(request);
}

void handle_panel_check(struct request *request, const void *arguments)
{
	(void)arguments;
	refuse_all(request);
}

/* SPDX-License-Identifier: MIT */

/*
 * The harness verb: what the .harness files say, and where each program is now. That is looked up for
 * each answer: it is what the next launch would find.
 */
#include "serve/request.h"

#include <string.h>

#include "plan/provider.h"
#include "plan/session_plan.h"

/* What a view points to beside the set. */
struct harness_answer {
	struct program program;
	struct fault fault;
	const char *logins[HARNESS_LOGIN_KINDS];
	const char *prompts[HARNESS_PROMPT_WAYS];
	char family[FAMILY_BYTES_MAX + 1];
};

/* The session that counts for the program's version. */
static void add_session(struct harness_view *view, const struct harness *harness,
			struct harness_answer *answer, bool whole)
{
	const struct harness_session *session = harness_session_for(harness,
								    answer->program.version);

	for (unsigned int i = 0; i < session->prompt_count; i++)
		answer->prompts[i] = harness_prompt_name(session->prompts[i]);
	view->prompts = (struct text_list){session->prompt_count, answer->prompts};
	if (!whole)
		return;
	view->arguments = session->arguments;
	view->read_only = harness->home.read_only;
	view->hosts = harness->network.hosts;
}

static void add_program(struct harness_view *view, const struct harness_answer *answer)
{
	const struct program *program = &answer->program;

	view->executable = program->file.canonical;
	view->version = program->version;
	view->release = program->release.canonical;
	view->interpreter = program->interpreter.canonical;
	view->missing = answer->fault.message;
	view->hint = answer->fault.hint;
}

/* As the table has it; of one that runs models of many makers there is none to tell. */
static const char *find_family(const struct plan_host *host, const struct harness *harness,
			       struct harness_answer *answer)
{
	bool known;

	harness_family(host->providers, harness, NULL, NULL, answer->family, &known);
	return known ? answer->family : NULL;
}

static int fill(struct harness_view *view, const struct harness_entry *entry,
		const struct plan_host *host, struct harness_answer *answer, bool whole)
{
	const struct harness *harness = entry->harness;
	int r;

	*view = (struct harness_view){
		.has = {.name = true, .file = true, .own = true},
		.name = entry->name,
		.file = entry->path,
		.own = entry->own,
	};
	if (!harness) {
		view->fault = entry->fault.message;
		view->hint = entry->fault.hint;
		return 0;
	}
	r = session_plan_program(host, harness, &answer->program, &answer->fault);
	if (r < 0)
		return r;
	view->product = harness->program.product;
	view->family = find_family(host, harness, answer);
	for (size_t i = 0; i < harness->login_count; i++)
		answer->logins[i] = harness_login_kind_name(harness->logins[i].kind);
	view->logins = (struct text_list){harness->login_count, answer->logins};
	add_program(view, answer);
	add_session(view, harness, answer, whole);
	return 0;
}

static int reply(struct request *request, const struct plan_host *host, const char *name)
{
	const struct harness_set *set = host->harnesses;
	_cleanup_free_ struct harness_answer *answers = calloc(set->count + 1, sizeof(*answers));
	_cleanup_free_ struct harness_view *views = calloc(set->count + 1, sizeof(*views));
	struct harness_reply answer = {.has = {.harnesses = true}};
	int r = answers && views ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < set->count; i++) {
		answers[i] = (struct harness_answer){.program = PROGRAM_INIT, .fault = FAULT_INIT};
		if (name && strcmp(set->entries[i].name, name) != 0)
			continue;
		r = fill(&views[answer.harnesses.count], &set->entries[i], host, &answers[i],
			 name != NULL);
		answer.harnesses.count += r == 0;
	}
	answer.harnesses.items = views;
	if (r == 0)
		session_reply(request->session, request->number, &harness_reply_type, &answer);
	for (size_t i = 0; answers && i < set->count; i++) {
		program_done(&answers[i].program);
		fault_done(&answers[i].fault);
	}
	return r;
}

void handle_harness(struct request *request, const void *arguments)
{
	const struct harness_request *asked = arguments;
	const struct plan_host *host = request->session->server->options.host;
	_cleanup_fault_ struct fault fault = FAULT_INIT;
	const struct harness *harness;
	int r = 0;

	if (!host->harnesses) {
		request_refuse(request, ERROR_unavailable,
			       "no Harness could be read; the daemon's log says why", NULL);
		return;
	}
	/* One whose file is at fault is there, and tells it. */
	if (asked->name)
		r = harness_set_find(host->harnesses, asked->name, &harness, &fault);
	if (r == FAULT && fault.code == ERROR_invalid) {
		request_refuse(request, ERROR_not_found, fault.message, fault.hint);
		return;
	}
	r = reply(request, host, asked->name);
	if (r < 0)
		request_refuse(request, ERROR_internal, strerror(-r), NULL);
	else
		request_done(request);
}

/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "harness.h"
#include "plan/plan.h"

/* What becomes of a struct harness that was read: found by version and kind, and freed. */

int harness_version_compare(const char *a, const char *b)
{
	static const char digits[] = "0123456789";

	for (;;) {
		size_t in_a = strspn(a, digits), in_b = strspn(b, digits);
		int order;

		if (in_a == 0 || in_b == 0)
			return (in_a > 0) - (in_b > 0);
		/* Numbers of any length: without zeros before them the longer one is larger. */
		while (in_a > 1 && *a == '0')
			a++, in_a--;
		while (in_b > 1 && *b == '0')
			b++, in_b--;
		order = in_a != in_b ? (in_a > in_b) - (in_a < in_b) : memcmp(a, b, in_a);
		if (order != 0)
			return order;
		a += in_a;
		b += in_b;
		if (*a != '.' || *b != '.')
			return (*a == '.') - (*b == '.');
		a++;
		b++;
	}
}

const struct harness_session *harness_session_for(const struct harness *harness,
						  const char *version)
{
	const struct harness_session *session = &harness->sessions[0];

	for (size_t i = 1; version && i < harness->session_count; i++)
		if (harness_version_compare(version, harness->sessions[i].from) >= 0)
			session = &harness->sessions[i];
	return session;
}

const struct harness_login *harness_login_of(const struct harness *harness,
					     enum harness_login_kind kind)
{
	for (size_t i = 0; i < harness->login_count; i++)
		if (harness->logins[i].kind == kind)
			return &harness->logins[i];
	return NULL;
}

static void seeds_done(struct harness_seed_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		free(list->items[i].path);
		free(list->items[i].text);
	}
	free(list->items);
	*list = (struct harness_seed_list){0};
}

static void program_done(struct harness_program *program)
{
	free(program->product);
	free(program->executable);
	free(program->family);
	text_list_done(&program->installed);
	text_list_done(&program->native);
	free(program->interpreter);
	free(program->interpreter_version);
	free(program->version_file);
	free(program->version_path);
	text_list_done(&program->version_arguments);
	text_list_done(&program->install);
	pair_list_done(&program->environment);
}

static void login_done(struct harness_login *login)
{
	free(login->file);
	free(login->home);
	free(login->target);
	text_list_done(&login->locks);
	free(login->shared_lock);
	text_list_done(&login->keep);
	text_list_done(&login->require);
	text_list_done(&login->identity);
	text_list_done(&login->refreshes);
	text_list_done(&login->optional);
	free(login->expiry);
	text_list_done(&login->sign_in);
	free(login->credential);
	free(login->variable);
	free(login->model_variable);
	free(login->provider_variable);
	free(login->endpoint_variable);
	pair_list_done(&login->environment);
	text_list_done(&login->hosts);
}

static void session_done(struct harness_session *session)
{
	free(session->from);
	text_list_done(&session->arguments);
	text_list_done(&session->model);
	text_list_done(&session->effort);
	text_list_done(&session->model_effort);
	text_list_done(&session->resume);
	text_list_done(&session->efforts);
	text_list_done(&session->never);
	for (int i = 0; i < HARNESS_PROMPT_WAYS; i++)
		text_list_done(&session->prompt_arguments[i]);
	text_list_done(&session->state);
	text_list_done(&session->answers);
}

struct harness *harness_free(struct harness *harness)
{
	if (!harness)
		return NULL;
	free(harness->name);
	free(harness->path);
	program_done(&harness->program);
	for (size_t i = 0; i < harness->login_count; i++)
		login_done(&harness->logins[i]);
	free(harness->logins);
	text_list_done(&harness->home.read_only);
	text_list_done(&harness->home.copies);
	seeds_done(&harness->home.seeds);
	for (size_t i = 0; i < harness->session_count; i++)
		session_done(&harness->sessions[i]);
	free(harness->sessions);
	text_list_done(&harness->web.arguments);
	text_list_done(&harness->web.wrapper_arguments);
	pair_list_done(&harness->web.environment);
	seeds_done(&harness->web.seeds);
	text_list_done(&harness->network.hosts);
	text_list_done(&harness->network.also_tries);
	pair_list_done(&harness->network.provider_hosts);
	free(harness->providers.variable);
	free(harness->providers.text);
	free(harness->providers.each);
	pair_list_done(&harness->providers.names);
	free(harness);
	return NULL;
}

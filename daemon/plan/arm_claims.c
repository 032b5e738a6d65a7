/* SPDX-License-Identifier: MIT */
#include "plan/arm_claims.h"

#include <stdio.h>
#include <string.h>

#include "plan/arm_check.h"
#include "plan/arm_harness.h"
#include "plan/build.h"
#include "plan/harness_words.h"
#include "plan/runner_plan.h"
#include "plan/session_file.h"
#include "plan/text_file.h"

static int add_place(struct arm_claims *claims, const struct plan_host *host, const char *path)
{
	_cleanup_free_ char *place = path ? session_login_path(host, path) : NULL;

	if (!path)
		return 0;
	return place ? text_list_add(&claims->places, place) : -ENOMEM;
}

static int add_login(struct arm_claims *claims, const struct plan_host *host,
		     const struct harness_login *login, bool provider)
{
	int r;

	switch (login->kind) {
	case HARNESS_LOGIN_none:
		return 0;
	case HARNESS_LOGIN_env:
		return text_list_add(&claims->variables, provider && login->provider_variable
								 ? login->provider_variable
								 : login->variable);
	case HARNESS_LOGIN_file:
		r = add_place(claims, host, login->file);
		return r == 0 ? add_place(claims, host, login->shared_lock) : r;
	case HARNESS_LOGIN_folder:
		r = add_place(claims, host, login->file);
		return r == 0 ? add_place(claims, host, login->target) : r;
	default:
		return add_place(claims, host, login->target);
	}
}

/* A copy of nothing is left out; one that cannot be copied is told when that is tried. */
static int add_copy(struct arm_claims *claims, const struct plan_host *host,
		    const struct harness *harness, const char *path)
{
	const struct harness_seed_list *lists[] = {&harness->home.seeds, &harness->web.seeds};
	_cleanup_free_ char *place = session_login_path(host, path), *text = NULL;
	size_t size = 0;
	int r = place ? text_file_read(place, SESSION_COPY_BYTES_MAX, &text, &size) : -ENOMEM;

	if (r == -ENOMEM)
		return r;
	if (r < 0 || size == 0)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		for (size_t k = 0; k < lists[i]->count; k++) {
			const struct harness_seed *seed = &lists[i]->items[k];
			_cleanup_free_ char *table = NULL;

			if (strcmp(seed->path, path) != 0)
				continue;
			r = session_file_table_twice(text, seed->text, &table);
			if (r == 0 && table)
				r = text_list_add_format(&claims->faults, SESSION_TABLE_TWICE,
							 place, table);
			if (r < 0)
				return r;
		}
	return text_list_add(&claims->places, place);
}

int arm_claims_add_harness(struct arm_claims *claims, const struct plan_host *host,
			   const struct harness *harness, const struct harness_login *login,
			   bool provider)
{
	const struct harness_seed_list *lists[] = {&harness->home.seeds, &harness->web.seeds};
	int r = login ? add_login(claims, host, login, provider) : 0;

	if (r == 0 && login && login->kind == HARNESS_LOGIN_home)
		r = text_list_add(&claims->homes, harness->name);

	for (size_t i = 0; r == 0 && i < harness->home.copies.count; i++)
		r = add_copy(claims, host, harness, harness->home.copies.items[i]);
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		for (size_t k = 0; r == 0 && k < lists[i]->count; k++)
			r = add_place(claims, host, lists[i]->items[k].path);
	return r;
}

void arm_claims_done(struct arm_claims *claims)
{
	text_list_done(&claims->variables);
	text_list_done(&claims->places);
	text_list_done(&claims->faults);
	text_list_done(&claims->homes);
}

static int merge(struct arm_claims *claims, const struct arm_claims *more)
{
	int r = text_list_merge(&claims->variables, &more->variables);

	if (r == 0)
		r = text_list_merge(&claims->places, &more->places);
	if (r == 0)
		r = text_list_merge(&claims->homes, &more->homes);
	return r == 0 ? text_list_merge(&claims->faults, &more->faults) : r;
}

static bool is_claimed(const struct arm_claims *claims, const char *path)
{
	for (size_t i = 0; i < claims->places.count; i++)
		if (path_within(claims->places.items[i], path) ||
		    path_within(path, claims->places.items[i]))
			return true;
	return false;
}

static int tell(const struct arm_claims *claims, const struct plan_host *host,
		const struct arm_spec *spec, struct text_list *lines)
{
	int r = text_list_merge(lines, &claims->faults);

	if (r == 0 && claims->homes.count > 1)
		r = text_list_add_format(lines, RUNNER_TWO_HOMES, claims->homes.items[0],
					 claims->homes.items[1]);

	for (size_t i = 0; r == 0 && i < spec->environment.count; i++)
		if (words_have(&claims->variables, spec->environment.items[i].name))
			r = text_list_add_format(lines, ENVIRONMENT_HAS_KEY,
						 spec->environment.items[i].name);
	for (size_t i = 0; r == 0 && i < spec->files.count; i++) {
		const char *path = spec->files.items[i].path;
		_cleanup_free_ char *inside = NULL, *shown = NULL;

		if (!arm_path_is_home(path))
			continue;
		inside = session_login_path(host, path);
		shown = display(path);
		if (!inside || !shown)
			return -ENOMEM;
		if (is_claimed(claims, inside))
			r = text_list_add_format(lines, RUNNER_FILE_TAKEN, shown);
	}
	return r;
}

int arm_claims_tell(const struct plan_host *host, const struct arm_spec *spec,
		    const struct arm_harness_look *harnesses, size_t harness_count,
		    const struct arm_provider_look *providers, struct text_list *lines)
{
	_cleanup_(arm_claims_done) struct arm_claims claims = {0};
	int r = 0;

	for (size_t i = 0; r == 0 && i < harness_count; i++)
		r = merge(&claims, &harnesses[i].claims);
	for (size_t i = 0; r == 0 && i < spec->providers.count; i++)
		if (providers[i].variable)
			r = text_list_add(&claims.variables, providers[i].variable);
	return r == 0 ? tell(&claims, host, spec, lines) : r;
}

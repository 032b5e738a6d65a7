/* SPDX-License-Identifier: MIT */
/*
 * What the keys of a .harness file must say together. Most of it is there so that a file cannot
 * promise what a launch would then quietly not do (a model that is dropped, say), and the rest
 * keeps logins from harm: a file that its CLI replaces by rename is never bound as a file, and
 * what is kept of a session never holds its login.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "harness_keys.h"
#include "harness_words.h"
#include "place.h"
#include "base/text.h"

/* Fills the problem: 1, so that it can stand in a return; or -ENOMEM. */
static int problem_set(struct harness_problem *problem, enum harness_section section, size_t index,
		       const char *key, const char *format, ...) _printf_(5, 6);

static int problem_set(struct harness_problem *problem, enum harness_section section, size_t index,
		       const char *key, const char *format, ...)
{
	va_list arguments;

	*problem = (struct harness_problem){.section = section, .index = index, .key = key};
	va_start(arguments, format);
	problem->why = text_vformat(format, arguments);
	va_end(arguments);
	if (!problem->why)
		return -ENOMEM;
	return 1;
}

/* --- [Session] ------------------------------------------------------------------------------------ */

static bool takes(const struct harness_session *session, enum harness_prompt way)
{
	for (unsigned int i = 0; i < session->prompt_count; i++)
		if (session->prompts[i] == way)
			return true;
	return false;
}

/* Each {group} stands in Arguments= if and only if there is something to put in its place. */
static int check_groups(const struct harness *harness, size_t index,
			struct harness_problem *problem)
{
	const struct harness_session *session = &harness->sessions[index];
	const struct {
		int group;
		bool wanted;
		const char *keys;
	} groups[] = {
		{HARNESS_GROUP_model, session->model.count > 0, "Model="},
		{HARNESS_GROUP_effort, session->effort.count > 0, "Effort="},
		{HARNESS_GROUP_resume, session->resume.count > 0, "Resume="},
		{HARNESS_GROUP_web, harness->web.arguments.count > 0, "[Web] Arguments="},
		{HARNESS_GROUP_prompt,
		 takes(session, HARNESS_PROMPT_argument) || takes(session, HARNESS_PROMPT_file) ||
			 session->prompt_arguments[HARNESS_PROMPT_stdin].count > 0,
		 "a Prompt= that needs arguments"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(groups); i++) {
		const char *name = harness_group_name(groups[i].group);
		bool there = words_have(&session->arguments, name);

		if (there && !groups[i].wanted)
			return problem_set(problem, HARNESS_SECTION_Session, index, "Arguments",
					   "it has %s, but there is no %s", name,
					   groups[i].keys +
						   (strncmp(groups[i].keys, "a ", 2) ? 0 : 2));
		if (!there && groups[i].wanted)
			return problem_set(problem, HARNESS_SECTION_Session, index, "Arguments",
					   "there is %s, but no %s to say where it goes",
					   groups[i].keys, name);
	}
	return 0;
}

static int check_specifiers(const struct harness_session *session, size_t index,
			    struct harness_problem *problem)
{
	const struct {
		const char *key;
		const struct text_list *words;
		const char *letters;
	} keys[] = {
		{"Model", &session->model, "m"},
		{"Effort", &session->effort, "e"},
		{"ModelEffort", &session->model_effort, "me"},
		{"Resume", &session->resume, "i"},
		{"PromptArgument", &session->prompt_arguments[HARNESS_PROMPT_argument], "p"},
		{"PromptFile", &session->prompt_arguments[HARNESS_PROMPT_file], "f"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		for (const char *letter = keys[i].letters; *letter; letter++)
			if (keys[i].words->count > 0 && !words_use(keys[i].words, *letter))
				return problem_set(problem, HARNESS_SECTION_Session, index,
						   keys[i].key, "no word of it holds %%%c",
						   *letter);
	return 0;
}

static int check_prompt(const struct harness_session *session, size_t index,
			struct harness_problem *problem)
{
	static const char *const keys[HARNESS_PROMPT_WAYS] = {
		[HARNESS_PROMPT_argument] = "PromptArgument",
		[HARNESS_PROMPT_stdin] = "PromptStdin",
		[HARNESS_PROMPT_file] = "PromptFile",
	};

	for (int way = 0; way < HARNESS_PROMPT_WAYS; way++)
		if (session->prompt_arguments[way].count > 0 &&
		    !takes(session, (enum harness_prompt)way))
			return problem_set(problem, HARNESS_SECTION_Session, index, keys[way],
					   "Prompt= does not have %s",
					   harness_prompt_name((enum harness_prompt)way));
	if (takes(session, HARNESS_PROMPT_file) &&
	    session->prompt_arguments[HARNESS_PROMPT_file].count == 0)
		return problem_set(problem, HARNESS_SECTION_Session, index, "Prompt",
				   "it has file, but there is no PromptFile= that names it (%%f)");
	return 0;
}

static int check_session(const struct harness *harness, size_t index,
			 struct harness_problem *problem)
{
	const struct harness_session *session = &harness->sessions[index];
	int r;

	if (session->model_effort.count > 0 && session->model.count == 0)
		return problem_set(problem, HARNESS_SECTION_Session, index, "ModelEffort",
				   "there is no Model= for a launch without an effort");
	if (session->model_effort.count > 0 && session->effort.count > 0)
		return problem_set(problem, HARNESS_SECTION_Session, index, "ModelEffort",
				   "there is Effort= too: one of them says how an effort is told");
	if (session->efforts.count > 0 && session->effort.count + session->model_effort.count == 0)
		return problem_set(problem, HARNESS_SECTION_Session, index, "Efforts",
				   "there is no Effort= nor ModelEffort=");
	r = check_prompt(session, index, problem);
	if (r == 0)
		r = check_specifiers(session, index, problem);
	return r == 0 ? check_groups(harness, index, problem) : r;
}

/* --- [Login KIND] --------------------------------------------------------------------------------- */

/* Whether path is file's own folder. */
static bool is_folder_of(const char *path, const char *file)
{
	size_t length = strlen(path);

	return strncmp(path, file, length) == 0 && file[length] == '/' &&
	       !strchr(file + length + 1, '/');
}

static int check_home(const struct harness_login *login, size_t index,
		      struct harness_problem *problem)
{
	if (!is_folder_of(login->home, login->file))
		return problem_set(problem, HARNESS_SECTION_Login, index, "File",
				   "not a file directly in Home=%s", login->home);
	if (path_within(login->home, login->target) || path_within(login->target, login->home))
		return problem_set(problem, HARNESS_SECTION_Login, index, "Home",
				   "it is, holds or lies in Target=%s, which is the person's own",
				   login->target);
	if (!words_have(&login->keep, strrchr(login->file, '/') + 1))
		return problem_set(problem, HARNESS_SECTION_Login, index, "Keep",
				   "it lacks the login itself, %s", strrchr(login->file, '/') + 1);
	return 0;
}

static int check_login(const struct harness *harness, size_t index, struct harness_problem *problem)
{
	const struct harness_login *login = &harness->logins[index];

	if (login->kind == HARNESS_LOGIN_file && login->saves == HARNESS_SAVES_rename)
		return problem_set(problem, HARNESS_SECTION_Login, index, "Saves",
				   "a file that is bound cannot be replaced by rename: the new "
				   "login would be lost. Use [Login folder]");
	if (login->kind == HARNESS_LOGIN_folder && path_within(login->file, login->target) &&
	    !is_folder_of(login->target, login->file))
		return problem_set(problem, HARNESS_SECTION_Login, index, "Target",
				   "it is, or hides, File=%s", login->file);
	if (login->kind == HARNESS_LOGIN_home)
		return check_home(login, index, problem);
	return 0;
}

/* --- Paths in the fresh home ---------------------------------------------------------------------- */

static bool meets(const char *a, const char *b)
{
	return path_within(a, b) || path_within(b, a);
}

/*
 * What a login puts into the fresh home and a path meets: is, holds or lies in it. In a Trials home
 * nothing else may be put at all, since that would leave a mount point there; but what is kept of a
 * session is in it, beside the login.
 */
static const char *login_at(const struct harness_login *login, const char *path, bool kept)
{
	const char *const places[] = {login->file, login->shared_lock, login->target};

	if (login->kind == HARNESS_LOGIN_home) {
		if (!kept)
			return meets(path, login->target) ? login->target : NULL;
		if (path_within(login->target, path))
			return login->target;
		for (size_t i = 0; i < login->keep.count; i++)
			if (path_within(path, login->target) &&
			    strcmp(path + strlen(login->target) + 1, login->keep.items[i]) == 0)
				return login->keep.items[i];
		return NULL;
	}
	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		if (places[i] && meets(path, places[i]))
			return places[i];
	return NULL;
}

static int check_path(const struct harness *harness, enum harness_section section, size_t index,
		      const char *key, const char *path, struct harness_problem *problem)
{
	for (size_t i = 0; i < harness->login_count; i++) {
		const char *login = login_at(&harness->logins[i], path,
					     section == HARNESS_SECTION_Session);

		if (login)
			return problem_set(problem, section, index, key,
					   "%s is, holds or lies in %s, which is the login's", path,
					   login);
	}
	return 0;
}

static int check_paths(const struct harness *harness, enum harness_section section, size_t index,
		       const char *key, const struct text_list *paths,
		       struct harness_problem *problem)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < paths->count; i++)
		r = check_path(harness, section, index, key, paths->items[i], problem);
	return r;
}

static int check_seeds(const struct harness *harness, enum harness_section section,
		       const struct harness_seed_list *seeds, struct harness_problem *problem)
{
	const struct text_list *read_only = &harness->home.read_only;
	int r = 0;

	for (size_t i = 0; r == 0 && i < seeds->count; i++) {
		const char *path = seeds->items[i].path;

		for (size_t j = 0; j < read_only->count; j++)
			if (meets(path, read_only->items[j]))
				return problem_set(problem, section, 0, "Seed",
						   "%s is, holds or lies in %s of ReadOnly=", path,
						   read_only->items[j]);
		r = check_path(harness, section, 0, "Seed", path, problem);
	}
	return r;
}

int harness_check(const struct harness *harness, struct harness_problem *ret_problem)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < harness->login_count; i++)
		r = check_login(harness, i, ret_problem);
	for (size_t i = 0; r == 0 && i < harness->session_count; i++)
		r = check_session(harness, i, ret_problem);
	for (size_t i = 0; r == 0 && i < harness->session_count; i++)
		r = check_paths(harness, HARNESS_SECTION_Session, i, "State",
				&harness->sessions[i].state, ret_problem);
	if (r == 0)
		r = check_paths(harness, HARNESS_SECTION_Home, 0, "ReadOnly",
				&harness->home.read_only, ret_problem);
	if (r == 0)
		r = check_paths(harness, HARNESS_SECTION_Home, 0, "Copy", &harness->home.copies,
				ret_problem);
	if (r == 0)
		r = check_seeds(harness, HARNESS_SECTION_Home, &harness->home.seeds, ret_problem);
	if (r == 0)
		r = check_seeds(harness, HARNESS_SECTION_Web, &harness->web.seeds, ret_problem);
	return r < 0 ? r : 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * [Session] Arguments= is the whole command line as a list of words in which {model}, {prompt} and
 * so on stand for what the launch may or may not ask for. Nothing that was asked for is dropped in
 * silence: what the file has no words for is refused.
 *
 * A prompt takes the first way of Prompt= that holds it. As an argument it can be read by every
 * process of the host (ps), and can be neither long nor hold a NUL; so files name stdin or a file
 * first where the Harness has it.
 */
#include "session.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "harness_words.h"
#include "plan/plan.h"
#include "session_file.h"
#include "base/text.h"

/* The words that a group stands for, with their specifiers. */
static int add_words(struct text_list *arguments, const struct text_list *words,
		     const struct specifier *specifiers)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < words->count; i++) {
		_cleanup_free_ char *text = NULL;

		r = specifiers_expand(words->items[i], specifiers, false, &text);
		if (r == 0)
			r = text_list_add(arguments, text);
	}
	return r;
}

static int refuse(struct fault *fault, const struct harness *harness, const char *format, ...)
	_printf_(3, 4);

static int refuse(struct fault *fault, const struct harness *harness, const char *format, ...)
{
	_cleanup_free_ char *text = NULL, *path = display(harness->path);
	va_list arguments;
	int r;

	va_start(arguments, format);
	text = text_vformat(format, arguments);
	va_end(arguments);
	if (!text)
		return -ENOMEM;
	r = fault_set(fault, ERROR_invalid, "%s", text);
	return r < 0 ? r : fault_hint(fault, "%s is what trialsd knows of %s", path, harness->name);
}

/* --- What was asked for --------------------------------------------------------------------------- */

static bool is_model(const char *text)
{
	size_t length = strlen(text);

	if (length == 0 || length > SESSION_MODEL_BYTES_MAX || text[0] == '-' ||
	    !utf8_valid(text, length))
		return false;
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			return false;
	return true;
}

/* PROVIDER of PROVIDER/MODEL; NULL when it has none. */
static int provider_of(const char *model, char **ret_provider)
{
	const char *slash = model ? strchr(model, '/') : NULL;

	*ret_provider = NULL;
	if (!slash)
		return 0;
	*ret_provider = strndup(model, (size_t)(slash - model));
	if (!*ret_provider)
		return -ENOMEM;
	if (!plain_word_valid(*ret_provider, HARNESS_NAME_BYTES_MAX)) {
		free(*ret_provider);
		*ret_provider = NULL;
	}
	return 0;
}

static bool environment_uses(const struct pair_list *environment, char letter)
{
	for (size_t i = 0; i < environment->count; i++) {
		const char *value = environment->items[i].value;
		struct text_list words = {.count = 1, .items = &value};

		if (words_use(&words, letter))
			return true;
	}
	return false;
}

static int check_model(const struct session_request *request, const struct harness_session *session,
		       const char *provider, struct fault *fault)
{
	const struct harness *harness = request->harness;
	const struct harness_login *login = request->login;

	if (request->model && !is_model(request->model))
		return refuse(fault, harness,
			      "model: not the name of a model: 1 to %d bytes of text that do not "
			      "begin with -",
			      SESSION_MODEL_BYTES_MAX);
	if (request->model && session->model.count == 0 && !login->model_variable)
		return refuse(fault, harness, "model: %s has no way to be told one", harness->name);
	if (!request->model &&
	    (login->model_variable || environment_uses(&login->environment, 'm')))
		return refuse(fault, harness,
			      "model: with the key of the credentials file %s needs to be told one",
			      harness->name);
	if (!provider && environment_uses(&login->environment, 'v'))
		return refuse(fault, harness,
			      "model: with the key of the credentials file %s needs one of the "
			      "form PROVIDER/MODEL",
			      harness->name);
	return 0;
}

static int check_effort(const struct session_request *request,
			const struct harness_session *session, struct fault *fault)
{
	const struct harness *harness = request->harness;
	_cleanup_free_ char *words = NULL;
	size_t size = 0;
	FILE *file;

	if (!request->effort)
		return 0;
	if (session->effort.count + session->model_effort.count == 0)
		return refuse(fault, harness, "effort: %s has no way to be told one",
			      harness->name);
	if (session->model_effort.count > 0 && (!request->model || request->login->model_variable))
		return refuse(
			fault, harness,
			"effort: %s is told it with the argument of a model only, and there is none",
			harness->name);
	if (!plain_word_valid(request->effort, HARNESS_NAME_BYTES_MAX))
		return refuse(fault, harness,
			      "effort: not a word of 1 to %d letters, digits, ., - and _",
			      HARNESS_NAME_BYTES_MAX);
	if (session->efforts.count == 0 || words_have(&session->efforts, request->effort))
		return 0;
	file = open_memstream(&words, &size);
	if (!file)
		return -ENOMEM;
	for (size_t i = 0; i < session->efforts.count; i++)
		fprintf(file, "%s%s", i ? ", " : "", session->efforts.items[i]);
	if (fclose(file) != 0)
		return -ENOMEM;
	return refuse(fault, harness, "effort: %s has none called %s; there are %s", harness->name,
		      request->effort, words);
}

static int check_resume(const struct session_request *request,
			const struct harness_session *session, struct fault *fault)
{
	const struct harness *harness = request->harness;

	if (!request->resume)
		return 0;
	if (session->resume.count == 0)
		return refuse(fault, harness, "resume: %s has no way to go on with a session",
			      harness->name);
	if (!plain_word_valid(request->resume, SESSION_RESUME_BYTES_MAX) ||
	    strchr("-.", request->resume[0]))
		return refuse(fault, harness,
			      "resume: not the name of a session: 1 to %d letters, digits, ., - "
			      "and _, beginning with a letter or digit",
			      SESSION_RESUME_BYTES_MAX);
	return 0;
}

static int check_extra(const struct session_request *request, const struct harness_session *session,
		       struct fault *fault)
{
	for (size_t i = 0; i < request->extra.count; i++) {
		const char *word = request->extra.items[i];
		size_t name = strcspn(word, "=");

		for (size_t j = 0; j < session->never.count; j++)
			if (strlen(session->never.items[j]) == name &&
			    strncmp(session->never.items[j], word, name) == 0)
				return refuse(fault, request->harness,
					      "arguments: %s is not for a Trial of %s",
					      session->never.items[j], request->harness->name);
	}
	return 0;
}

static int check_request(const struct session_request *request,
			 const struct harness_session *session, const char *provider,
			 struct fault *fault)
{
	int r;

	if (request->uid == 0 && !request->harness->program.root)
		return refuse(fault, request->harness, "harness: %s does not run as root",
			      request->harness->name);
	r = check_model(request, session, provider, fault);
	if (r == 0)
		r = check_effort(request, session, fault);
	if (r == 0)
		r = check_resume(request, session, fault);
	return r == 0 ? check_extra(request, session, fault) : r;
}

/* --- The prompt ----------------------------------------------------------------------------------- */

/* The bytes of the longest word that the prompt is in, once it is one. */
static size_t argument_bytes(const struct harness_session *session, size_t prompt_size)
{
	const struct text_list *words = &session->prompt_arguments[HARNESS_PROMPT_argument];
	size_t most = 0;

	for (size_t i = 0; i < words->count; i++) {
		const char *at = words->items[i];
		size_t size = strlen(at);

		for (; (at = strchr(at, '%')); at += 2)
			size = size - 2 + (at[1] == 'p' ? prompt_size : 1);
		most = size > most ? size : most;
	}
	return most;
}

static bool way_holds(const struct session_request *request, const struct harness_session *session,
		      enum harness_prompt way)
{
	if (way != HARNESS_PROMPT_argument)
		return request->prompt_size <= session->prompt_limit;
	return request->prompt &&
	       argument_bytes(session, request->prompt_size) <= SESSION_ARGUMENT_BYTES_MAX &&
	       !memchr(request->prompt, '\0', request->prompt_size);
}

static int refuse_prompt(const struct session_request *request,
			 const struct harness_session *session, struct fault *fault)
{
	const struct harness *harness = request->harness;
	bool argument = false, other = false;

	for (unsigned int i = 0; i < session->prompt_count; i++) {
		bool is_argument = session->prompts[i] == HARNESS_PROMPT_argument;

		argument = argument || is_argument;
		other = other || !is_argument;
	}
	if (argument && !other && request->prompt_size <= SESSION_ARGUMENT_BYTES_MAX &&
	    request->prompt && memchr(request->prompt, '\0', request->prompt_size))
		return refuse(fault, harness,
			      "prompt: it holds a NUL byte, and %s takes one as an argument only",
			      harness->name);
	if (!other)
		return refuse(fault, harness,
			      "prompt: %zu bytes; %s takes it as an argument only, which holds "
			      "at most %u",
			      request->prompt_size, harness->name, SESSION_ARGUMENT_BYTES_MAX);
	return refuse(fault, harness, "prompt: %zu bytes; %s takes at most %llu",
		      request->prompt_size, harness->name,
		      (unsigned long long)session->prompt_limit);
}

/* A session without a task would wait for one, or end at once and look like a success. */
static int settle_prompt(struct session *result, const struct session_request *request,
			 const struct harness_session *session, struct fault *fault)
{
	if (!request->has_prompt || request->prompt_size == 0) {
		if (request->extra.count == 0)
			return refuse(fault, request->harness,
				      request->has_prompt
					      ? "prompt: it is empty; a session of %s needs one"
					      : "prompt: there is none; a session of %s needs one",
				      request->harness->name),
			       fault_hint(fault,
					  request->judges
						  ? "--prompt TEXT, or --prompt-file FILE; "
						    "under a Bar (--bar NAME) a grader is asked "
						    "to judge by its standard, without one"
						  : "--prompt TEXT, or --prompt-file FILE");
		return 0;
	}
	result->has_prompt = true;
	for (unsigned int i = 0; i < session->prompt_count; i++) {
		result->prompt = session->prompts[i];
		if (way_holds(request, session, result->prompt))
			return 0;
	}
	return refuse_prompt(request, session, fault);
}

/* --- Arguments and environment -------------------------------------------------------------------- */

static int add_group(struct session *result, const struct session_request *request,
		     const struct harness_session *session, int group,
		     const struct specifier *specifiers)
{
	const struct text_list *words = NULL;

	switch (group) {
	case HARNESS_GROUP_model:
		if (request->model && !request->login->model_variable)
			words = request->effort && session->model_effort.count > 0
					? &session->model_effort
					: &session->model;
		break;
	case HARNESS_GROUP_effort:
		words = request->effort ? &session->effort : NULL;
		break;
	case HARNESS_GROUP_resume:
		words = request->resume ? &session->resume : NULL;
		break;
	case HARNESS_GROUP_web:
		words = request->web ? NULL : &request->harness->web.arguments;
		break;
	case HARNESS_GROUP_prompt:
		words = result->has_prompt ? &session->prompt_arguments[result->prompt] : NULL;
		result->prompt_word = words ? result->arguments.count + 1 : 0;
		result->prompt_words = words ? words->count : 0;
		break;
	default:
		break;
	}
	return words ? add_words(&result->arguments, words, specifiers) : 0;
}

static int add_arguments(struct session *result, const struct session_request *request,
			 const struct harness_session *session, const struct specifier *specifiers)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < session->arguments.count; i++) {
		const char *word = session->arguments.items[i];
		struct text_list one = {.count = 1, .items = &word};
		int group = harness_group_of(word);

		if (group < 0)
			r = add_words(&result->arguments, &one, specifiers);
		else if (group != HARNESS_GROUP_extra)
			r = add_group(result, request, session, group, specifiers);
		for (size_t j = 0;
		     group == HARNESS_GROUP_extra && r == 0 && j < request->extra.count; j++)
			r = text_list_add(&result->arguments, request->extra.items[j]);
	}
	return r;
}

static int add_variables(struct pair_list *environment, const struct pair_list *variables,
			 const struct specifier *specifiers)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < variables->count; i++) {
		_cleanup_free_ char *value = NULL;

		r = specifiers_expand(variables->items[i].value, specifiers, false, &value);
		if (r == 0)
			r = pair_list_set(environment, variables->items[i].name, value);
	}
	return r;
}

static int add_environment(struct session *result, const struct session_request *request,
			   const struct specifier *specifiers)
{
	const struct harness *harness = request->harness;
	struct pair_list *environment = &result->environment;
	int r = add_variables(environment, &harness->program.environment, specifiers);

	if (r == 0)
		r = add_variables(environment, &request->login->environment, specifiers);
	if (r == 0 && request->login->model_variable)
		r = pair_list_set(environment, request->login->model_variable, request->model);
	if (r == 0 && !request->web)
		r = add_variables(environment, &harness->web.environment, specifiers);
	return r;
}

static int add_all_hosts(struct session *result, const struct session_request *request,
			 const char *provider)
{
	const struct harness_network *network = &request->harness->network;
	int r = text_list_merge(&result->hosts, &network->hosts);
	const char *host;

	if (r == 0)
		r = text_list_merge(&result->hosts,
				    request->endpoint_hosts ?: &request->login->hosts);
	host = provider ? pair_list_get(&network->provider_hosts, provider) : NULL;
	if (r == 0 && host) {
		struct text_list one = {.count = 1, .items = &host};

		r = text_list_merge(&result->hosts, &one);
	}
	return r;
}

/* Of variables those whose values are known here: a runner may be told no model. */
static int add_known(struct pair_list *environment, const struct session_request *request,
		     const char *provider, const struct specifier *specifiers)
{
	const struct pair_list *variables = &request->login->environment;
	int r = 0;

	for (size_t i = 0; r == 0 && i < variables->count; i++) {
		struct pair_list one = {.count = 1, .items = &variables->items[i]};

		if ((environment_uses(&one, 'm') && !request->model) ||
		    (environment_uses(&one, 'v') && !provider))
			continue;
		r = add_variables(environment, &one, specifiers);
	}
	return r;
}

static int compose_declared(struct session *result, const struct session_request *request,
			    const char *provider, const struct specifier *specifiers,
			    struct fault *fault)
{
	const struct harness *harness = request->harness;
	const struct harness_login *login = request->login;
	const struct text_list *web = harness->web.wrapper_arguments.count > 0
					      ? &harness->web.wrapper_arguments
					      : &harness->web.arguments;
	int r;

	if (request->uid == 0 && !harness->program.root)
		return refuse(fault, harness, "harness: %s does not run as root", harness->name);
	if (request->model && !is_model(request->model))
		return refuse(fault, harness, "model: not the name of a model");
	r = add_words(&result->arguments, web, specifiers);
	if (r == 0)
		r = add_variables(&result->own, &harness->program.environment, specifiers);
	if (r == 0)
		r = add_variables(&result->own, &harness->web.environment, specifiers);
	if (r == 0)
		r = add_known(&result->environment, request, provider, specifiers);
	if (r == 0 && login->model_variable && request->model)
		r = pair_list_set(&result->environment, login->model_variable, request->model);
	if (r == 0 && login->endpoint_variable && request->endpoint)
		r = pair_list_set(&result->environment, login->endpoint_variable,
				  request->endpoint);
	return r == 0 ? session_files_add(result, request, specifiers, fault) : r;
}

static int compose_session(struct session *result, const struct session_request *request,
			   const struct harness_session *session, const char *provider,
			   const struct specifier *specifiers, struct fault *fault)
{
	int r = add_arguments(result, request, session, specifiers);

	if (r == 0)
		r = add_environment(result, request, specifiers);
	if (r == 0)
		r = session_files_add(result, request, specifiers, fault);
	return r == 0 ? add_all_hosts(result, request, provider) : r;
}

int session_compose(struct session *ret_session, const struct session_request *request,
		    struct fault *ret_fault)
{
	const struct harness_session *session = harness_session_for(request->harness,
								    request->version);
	_cleanup_(session_done) struct session result = {0};
	_cleanup_free_ char *provider = NULL, *prompt = NULL;
	const char *home = request->home_told ? request->home_told : request->home;
	int r;

	r = provider_of(request->model, &provider);
	if (r == 0 && !request->declared)
		r = check_request(request, session, provider, ret_fault);
	if (r == 0 && !request->declared)
		r = settle_prompt(&result, request, session, ret_fault);
	if (r != 0)
		return r;
	if (result.has_prompt && result.prompt == HARNESS_PROMPT_argument) {
		prompt = strndup(request->prompt, request->prompt_size);
		if (!prompt)
			return -ENOMEM;
	}

	const struct specifier specifiers[] = {
		{'h', home},
		{'r', request->repository ? request->repository : home},
		{'m', request->model},
		{'v', provider},
		{'e', request->effort},
		{'i', request->resume},
		{'p', prompt},
		{'f', SESSION_PROMPT_FILE},
		{0},
	};

	r = request->declared
		    ? compose_declared(&result, request, provider, specifiers, ret_fault)
		    : compose_session(&result, request, session, provider, specifiers, ret_fault);
	result.web_left_on = !request->web && request->harness->web.arguments.count == 0 &&
			     request->harness->web.environment.count == 0 &&
			     request->harness->web.seeds.count == 0;
	if (r != 0)
		return r;
	*ret_session = result;
	result = (struct session){0};
	return 0;
}

void session_done(struct session *session)
{
	text_list_done(&session->arguments);
	pair_list_done(&session->environment);
	pair_list_done(&session->own);
	for (size_t i = 0; i < session->file_count; i++) {
		free(session->files[i].path);
		free(session->files[i].text);
	}
	free(session->files);
	text_list_done(&session->hosts);
	*session = (struct session){0};
}

/* SPDX-License-Identifier: MIT */
#include "plan/arm_harness.h"

#include <stdio.h>
#include <string.h>

#include "plan/arm.h"
#include "plan/build.h"
#include "plan/endpoint.h"
#include "plan/harness_words.h"
#include "plan/own_files.h"
#include "plan/provider.h"

/* Of a model that is called PROVIDER/MODEL. */
static int add_provider_host(struct text_list *hosts, const struct harness *harness,
			     const char *model)
{
	const char *slash = model ? strchr(model, '/') : NULL;
	_cleanup_free_ char *provider = NULL;
	const char *host;

	if (!slash)
		return 0;
	provider = strndup(model, (size_t)(slash - model));
	if (!provider)
		return -ENOMEM;
	host = pair_list_get(&harness->network.provider_hosts, provider);
	return host && !words_have(hosts, host) ? text_list_add(hosts, host) : 0;
}

/* A text of which a fault's message may begin with the name already. */
static int named(const char *name, const char *message, char **ret_text)
{
	size_t length = strlen(name);
	bool is_named = strncmp(message, name, length) == 0 && message[length] == ':';

	if (asprintf(ret_text, "%s%s%s", is_named ? "" : name, is_named ? "" : ": ", message) < 0) {
		*ret_text = NULL;
		return -ENOMEM;
	}
	return 0;
}

/* --- Begun ---------------------------------------------------------------------------------------- */

static int find_program(struct arm_harness_look *look, const struct arm_harness_options *options,
			const struct harness *harness)
{
	const struct plan_host *host = options->host;
	const struct arm_harness *was = options->before ? arm_harness_find(options->before,
									   look->asked->name)
							: NULL;
	const struct program_request request = {
		.harness = harness,
		.executable = look->asked->executable,
		.interpreter = was ? was->interpreter : NULL,
		.home = host->home,
		.folders = host->config->harness_path,
		.path = getenv("PATH"),
	};
	_cleanup_fault_ struct fault absent = FAULT_INIT;
	int r = program_find(&look->program, &request, &absent);

	if (r != FAULT)
		return r;
	program_done(&look->program);
	return named(harness->name, absent.message, &look->missing);
}

/* As it was told before, as its release tells it, or else as it will say itself. */
static int find_version(struct arm_harness_look *look, const struct plan_host *host,
			const struct session_plan *session, int bwrap_fd)
{
	_cleanup_fault_ struct fault ignored = FAULT_INIT;
	const struct program_known *known;
	int r;

	r = program_stamp_of(look->program.file.fd, &look->known.stamp);
	if (r < 0)
		return r;
	known = programs_find(&host->cache->programs, &look->known.stamp);
	if (known) {
		look->known = *known;
		look->digested = true;
		return 0;
	}
	if (look->program.version || bwrap_fd < 0 ||
	    session->harness->program.version_arguments.count == 0)
		return 0;
	/* What cannot be asked has no version; its digest says which it is. */
	r = program_question_make(&look->question, host, bwrap_fd, session, &ignored);
	if (r == FAULT)
		look->question = PROGRAM_QUESTION_INIT;
	return r == FAULT ? 0 : r;
}

/* Its digest, where it was told before: one that many Harnesses are run by is read once. */
static int find_interpreter(struct arm_harness_look *look, const struct plan_host *host)
{
	const struct program_known *known;
	int fd = look->program.interpreter.fd;
	int r = fd >= 0 ? program_stamp_of(fd, &look->interpreter.stamp) : 0;

	if (r < 0 || fd < 0)
		return r;
	known = programs_find(&host->cache->programs, &look->interpreter.stamp);
	if (known)
		look->interpreter = *known;
	look->interpreter_digested = known != NULL;
	return 0;
}

/* With the key of a provider, or as its sessions are. */
static int find_login(struct arm_harness_look *look, const struct plan_host *host,
		      struct session_plan *session)
{
	_cleanup_fault_ struct fault fault = FAULT_INIT;
	const struct harness *harness = session->harness;
	const struct provider *provider;
	int r;

	if (look->sign_in.provider) {
		_cleanup_free_ char *reason = NULL;

		provider = provider_find(host->providers, look->sign_in.provider);
		session->login = harness_login_of(harness, HARNESS_LOGIN_env);
		r = provider ? arm_key_look(host, provider->credential, &reason) : 1;
		return r == 0 ? named(harness->name, reason, &look->signed_out) : r < 0 ? r : 0;
	}
	r = session_login_find(&session->found, host, harness, &fault);
	session->login = r == 0 ? session->found.login : &harness->logins[0];
	if (r == FAULT)
		r = named(harness->name, fault.message, &look->signed_out);
	if (r == 0 && session->login->kind == HARNESS_LOGIN_home) {
		session->bound_home = session_login_path(host, session->login->target);
		r = session->bound_home ? 0 : -ENOMEM;
	}
	return r;
}

/* A key goes where the environment says. */
static int find_login_hosts(struct arm_harness_look *look,
			    const struct arm_harness_options *options,
			    const struct harness_login *login, struct fault *fault)
{
	const char *told = endpoint_value(options->environment, login->endpoint_variable);

	if (!told)
		return text_list_merge(&look->hosts, &login->hosts);
	look->sign_in.endpoint = strdup(told);
	return look->sign_in.endpoint
		       ? endpoint_add_host(&look->hosts, options->host, options->field, told,
					   options->again, fault)
		       : -ENOMEM;
}

static int find_hosts(struct arm_harness_look *look, const struct arm_harness_options *options,
		      const struct session_plan *session, const char *model, struct fault *fault)
{
	const struct harness *harness = session->harness;
	int r = text_list_merge(&look->hosts, &harness->network.hosts);

	if (r == 0 && look->sign_in.provider)
		return text_list_merge(&look->hosts, &look->sign_in.hosts);
	if (r == 0 && session->login)
		r = find_login_hosts(look, options, session->login, fault);
	return r == 0 ? add_provider_host(&look->hosts, harness, model) : r;
}

static int find_family(struct arm_harness_look *look, const struct plan_host *host,
		       const struct harness *harness, const char *model)
{
	bool known;

	harness_family(host->providers, harness, model, look->sign_in.provider, look->family,
		       &known);
	if (known)
		return 0;
	if (asprintf(&look->warning,
		     "%s: whose model %s is, is not known: its family is called %s; [Models] of "
		     "~/.config/trialsd/providers.conf can say",
		     harness->name, model ?: "it will use", look->family) < 0) {
		look->warning = NULL;
		return -ENOMEM;
	}
	return 0;
}

static int look_at(struct arm_harness_look *look, const struct arm_harness_options *options,
		   struct session_plan *session, struct fault *fault)
{
	const struct plan_host *host = options->host;
	const char *own = look->sign_in.model ?: options->model;
	int r = find_program(look, options, session->harness);

	if (r == 0)
		r = find_interpreter(look, host);
	if (r == 0)
		r = find_login(look, host, session);
	if (r == 0 && !look->missing) {
		session->program = look->program;
		r = find_version(look, host, session, options->bwrap_fd);
		session->program = PROGRAM_INIT;
	}
	if (r == 0)
		r = arm_claims_add_harness(&look->claims, host, session->harness, session->login,
					   look->sign_in.provider != NULL);
	if (r == 0)
		r = find_hosts(look, options, session, own, fault);
	return r == 0 ? find_family(look, host, session->harness, own) : r;
}

/* Its hosts are the Arm's to say: a launch could not make them follow. */
static int check_variables(const struct arm_harness_options *options, const struct harness *harness,
			   struct fault *fault)
{
	for (size_t i = 0; i < harness->login_count; i++) {
		const char *variable = harness->logins[i].endpoint_variable;

		if (!variable || !words_have(options->variables, variable))
			continue;
		fault_set(fault, ERROR_refused,
			  "variables: %s says where %s goes, which an Arm cannot leave to its "
			  "launches",
			  variable, harness->name);
		return fault_hint(fault, "name its value in the Arm's environment");
	}
	return 0;
}

int arm_harness_look_begin(struct arm_harness_look *look, const struct arm_harness_options *options,
			   const struct arm_harness *asked, struct fault *ret_fault)
{
	const struct plan_host *host = options->host;
	struct session_plan session = SESSION_PLAN_INIT;
	int r;

	look->asked = asked;
	if (!host->harnesses)
		return fault_set(ret_fault, ERROR_unavailable,
				 "%s: no Harness could be read; the daemon's log says why",
				 options->field);
	r = harness_set_find(host->harnesses, asked->name, &session.harness, ret_fault);
	if (r != 0 || !session.harness)
		return r;
	if (options->own_session && !options->again)
		r = check_variables(options, session.harness, ret_fault);
	if (r == 0 && !options->own_session)
		r = arm_sign_in_find(&look->sign_in, host, options->field, session.harness, asked,
				     options->environment, options->again, ret_fault);
	if (r == 0)
		r = look_at(look, options, &session, ret_fault);
	if (r == 0)
		r = own_files_find(&look->own_paths, session.harness, options->host->home);
	if (r == 0)
		memcpy(look->definition, session.harness->definition, sizeof(look->definition));
	session_plan_done(&session);
	return r;
}

/* --- Worked, finished ----------------------------------------------------------------------------- */

void arm_harness_look_work(struct arm_harness_look *look)
{
	look->result = own_files_digest(&look->own_paths, &look->own_files);
	if (look->result < 0)
		return;
	if (look->program.interpreter.fd >= 0 && !look->interpreter_digested)
		look->interpreter_result = program_digest(look->program.interpreter.fd,
							  &look->interpreter.stamp,
							  look->interpreter.digest);
	if (look->program.file.fd < 0 || look->digested)
		return;
	look->result = program_digest(look->program.file.fd, &look->known.stamp,
				      look->known.digest);
	if (look->result == 0 && look->question.plan &&
	    program_ask(&look->question, look->known.version) < 0)
		look->known.version[0] = '\0';
}

static int refuse_read(const struct arm_harness_look *look, const struct place *place, int error,
		       struct fault *fault)
{
	_cleanup_free_ char *shown = display(place->canonical);

	return fault_set(fault, ERROR_unavailable, "%s: %s cannot be read: %s", look->asked->name,
			 shown, error == -EBUSY ? "it does not stop changing" : strerror(-error));
}

int arm_harness_look_finish(struct arm_harness_look *look, const struct plan_host *host,
			    struct arm_harness *ret_harness, struct fault *ret_fault)
{
	const struct program *program = &look->program;

	*ret_harness = (struct arm_harness){
		.name = look->asked->name,
		.model = look->sign_in.model,
		.provider = look->sign_in.provider,
		.endpoint = look->sign_in.endpoint,
		.hosts = look->hosts,
		.family = look->family,
		.definition = look->definition[0] ? look->definition : NULL,
		.own_files = look->own_files,
		.has = {.own_files = look->own_files.count > 0},
	};
	if (look->result == -ENOMEM || look->interpreter_result == -ENOMEM)
		return -ENOMEM;
	if (program->file.fd < 0)
		return 0;
	if (look->result < 0)
		return refuse_read(look, &program->file, look->result, ret_fault);
	if (look->interpreter_result < 0)
		return refuse_read(look, &program->interpreter, look->interpreter_result,
				   ret_fault);
	/* One that was not asked is not known: a session may want to. */
	if (!look->digested && (look->program.version || look->question.plan))
		plan_learn_program(host, &look->known);
	ret_harness->executable = program->file.canonical;
	ret_harness->sha256 = look->known.digest;
	if (program->interpreter.fd >= 0) {
		if (!look->interpreter_digested)
			plan_learn_program(host, &look->interpreter);
		ret_harness->interpreter = program->interpreter.canonical;
		ret_harness->interpreter_sha256 = look->interpreter.digest;
	}
	ret_harness->version = program->version		? program->version
			       : look->known.version[0] ? look->known.version
							: NULL;
	return 0;
}

void arm_harness_look_done(struct arm_harness_look *look)
{
	program_done(&look->program);
	program_question_done(&look->question);
	text_list_done(&look->hosts);
	pair_list_done(&look->own_paths);
	pair_list_done(&look->own_files);
	arm_sign_in_done(&look->sign_in);
	free(look->warning);
	free(look->missing);
	free(look->signed_out);
	arm_claims_done(&look->claims);
	*look = ARM_HARNESS_LOOK_INIT;
}

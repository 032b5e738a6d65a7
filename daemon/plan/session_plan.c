/* SPDX-License-Identifier: MIT */
#include "session_plan.h"

#include <stdio.h>
#include <string.h>

#include "build.h"
#include "endpoint.h"
#include "plan/grading.h"

/*
 * How it is signed in is session_login.c's to find.
 *
 * The person's own files are bound one by one, each at its usual place in the fresh home, whatever
 * links lead to it on the host.
 */

/* Where a release is seen that lies where the session has a home of another. */
#define RELEASE_ELSEWHERE "/opt/trials"

/* --- What it composes to -------------------------------------------------------------------------- */

/* As the plan will have it; one that cannot be opened is refused there. */
static int repository_of(const struct launch_request *launch, char **ret_repository)
{
	_cleanup_(place_done) struct place place = PLACE_INIT;
	_cleanup_fault_ struct fault ignored = FAULT_INIT;
	int r;

	if (!launch->repository)
		return 0;
	r = place_open(&place, "repository", launch->repository, NULL, &ignored);
	if (r < 0)
		return r;
	*ret_repository = r == 0 ? steal(&place.canonical) : strdup(launch->repository);
	return *ret_repository ? 0 : -ENOMEM;
}

/*
 * Where its key goes, when the launch says so by a variable. What an Arm says was judged when that was
 * prepared, and what matters to no proxy is not judged.
 */
static int endpoint_of(const struct plan_host *host, const struct harness_login *login,
		       const struct launch_request *launch, struct text_list *hosts, bool *ret_told,
		       struct fault *fault)
{
	const char *variable = login->endpoint_variable;
	const char *told = endpoint_value(&launch->environment, variable);
	bool lenient = launch->arm || !launch->has.network || launch->network != NETWORK_allowlist;
	_cleanup_free_ char *field = NULL;

	*ret_told = told != NULL;
	if (!told)
		return 0;
	if (asprintf(&field, "environment.%s", variable) < 0) {
		field = NULL;
		return -ENOMEM;
	}
	return endpoint_add_host(hosts, host, field, told, lenient, fault);
}

static int compose(struct session *ret_session, const struct plan_host *host,
		   const struct harness *harness, const struct harness_login *login,
		   const char *version, const struct launch_request *launch,
		   const struct session_prompt *prompt, const struct session_declared *declared,
		   struct fault *fault)
{
	_cleanup_(text_list_done) struct text_list endpoint_hosts = {0};
	_cleanup_free_ char *repository = NULL;
	bool told;
	struct session_request request = {
		.harness = harness,
		.version = version,
		.login = login,
		.model = launch->model,
		.effort = launch->effort,
		.resume = launch->resume,
		.has_prompt = prompt->there,
		.prompt = prompt->data,
		.prompt_size = prompt->size,
		.declared = declared != NULL,
		.judges = launch_judges(launch),
		.endpoint = declared ? declared->endpoint : NULL,
		.extra = launch->arguments,
		.uid = host->uid,
		.home = host->home,
		.home_told = plan_home_told(host),
	};
	int r = repository_of(launch, &repository);

	request.repository = repository;
	if (r == 0)
		r = endpoint_of(host, login, launch, &endpoint_hosts, &told, fault);
	if (r != 0)
		return r;
	request.endpoint_hosts = told ? &endpoint_hosts : NULL;
	return session_compose(ret_session, &request, fault);
}

static int find_harness(const struct plan_host *host, const struct launch_request *launch,
			const struct harness **ret_harness, struct fault *fault)
{
	if (!host->harnesses)
		return fault_set(fault, ERROR_unavailable,
				 "harness: none could be read; the daemon's log says why");
	return harness_set_find(host->harnesses, launch->harness, ret_harness, fault);
}

static struct program_request program_request_of(const struct plan_host *host,
						 const struct harness *harness,
						 const char *executable)
{
	return (struct program_request){
		.harness = harness,
		.executable = executable,
		.home = host->home,
		.folders = host->config->harness_path,
		.path = getenv("PATH"),
	};
}

/* What an earlier look found: 0, or -EINPROGRESS when there was none. */
static int look_up(const struct plan_host *host, struct program *program,
		   struct program_stamp *ret_stamp, const struct program_known **ret_known)
{
	int r = program_stamp_of(program->file.fd, ret_stamp);

	if (r < 0)
		return r;
	*ret_known = programs_find(&host->cache->programs, ret_stamp);
	if (!*ret_known)
		return -EINPROGRESS;
	if (program->version || !(*ret_known)->version[0])
		return 0;
	program->version = strdup((*ret_known)->version);
	return program->version ? 0 : -ENOMEM;
}

int session_plan_program(const struct plan_host *host, const struct harness *harness,
			 struct program *ret_program, struct fault *ret_fault)
{
	const struct program_request request = program_request_of(host, harness, NULL);
	const struct program_known *known;
	struct program_stamp stamp;
	int r = program_find(ret_program, &request, ret_fault);

	if (r == 0)
		r = look_up(host, ret_program, &stamp, &known);
	return r == -EINPROGRESS ? 0 : r;
}

int session_plan_look(const struct plan_host *host, const struct launch_request *launch,
		      const char *interpreter, struct program *ret_program,
		      struct program_stamp *ret_stamp, char ret_digest[PROGRAM_DIGEST_BYTES],
		      struct fault *ret_fault)
{
	const struct program_known *known = NULL;
	const struct harness *harness = NULL;
	struct program_request request;
	int r;

	*ret_program = PROGRAM_INIT;
	ret_digest[0] = '\0';
	r = find_harness(host, launch, &harness, ret_fault);
	if (r != 0 || !harness)
		return r;
	request = program_request_of(host, harness, launch->executable);
	request.interpreter = interpreter;
	r = program_find(ret_program, &request, ret_fault);
	if (r == 0)
		r = look_up(host, ret_program, ret_stamp, &known);
	if (known)
		memcpy(ret_digest, known->digest, PROGRAM_DIGEST_BYTES);
	return r == -EINPROGRESS ? 0 : r;
}

static int open_source(struct session_plan *session, const char *home, const char *path)
{
	_cleanup_fault_ struct fault ignored = FAULT_INIT;
	_cleanup_(place_done) struct place place = PLACE_INIT;
	_cleanup_free_ char *inside = NULL;
	struct session_source *sources;
	bool missing;
	int r;

	if (asprintf(&inside, "%s%s", home, path + 1) < 0) {
		inside = NULL;
		return -ENOMEM;
	}
	r = place_open(&place, path, inside, &missing, &ignored);
	if (r != 0)
		return r == FAULT ? 0 : r;
	sources = realloc(session->sources, (session->source_count + 1) * sizeof(*sources));
	if (!sources)
		return -ENOMEM;
	session->sources = sources;
	sources[session->source_count++] = (struct session_source){steal(&inside), place};
	place = PLACE_INIT;
	return 0;
}

static int open_sources(struct session_plan *session, const struct plan_host *host)
{
	const struct text_list *paths = &session->harness->home.read_only;
	int r = 0;

	for (size_t i = 0; r == 0 && i < paths->count; i++)
		r = open_source(session, host->home, paths->items[i]);
	return r;
}

static int find_bound_home(struct session_plan *session, const struct plan_host *host)
{
	if (session->login->kind != HARNESS_LOGIN_home)
		return 0;
	session->bound_home = session_login_path(host, session->login->target);
	return session->bound_home ? 0 : -ENOMEM;
}

int session_plan_add_program(const struct plan_host *host, const struct launch_request *launch,
			     struct fault *fault)
{
	_cleanup_(program_done) struct program program = PROGRAM_INIT;
	_cleanup_fault_ struct fault both = FAULT_INIT;
	_cleanup_free_ char *name = NULL;
	struct program_request request;
	const struct harness *harness = NULL;
	const char *rest = fault->message;
	int r = find_harness(host, launch, &harness, &both);

	if (r != 0 || !harness)
		return r < 0 ? r : FAULT;
	request = program_request_of(host, harness, launch->executable);
	r = program_find(&program, &request, &both);
	if (r != FAULT)
		return r < 0 ? r : FAULT;
	if (asprintf(&name, "%s: ", harness->name) < 0) {
		name = NULL;
		return -ENOMEM;
	}
	if (strncmp(rest, name, strlen(name)) == 0)
		rest += strlen(name);
	r = fault_void(fault, CAUSE_session_unavailable, "%s; and %s", both.message, rest);
	if (both.hint && r == FAULT)
		r = fault_hint(fault, "%s; then " SESSION_LOGIN_HINT, both.hint, harness->name);
	return r;
}

static int find_login(struct session_plan *session, const struct plan_host *host,
		      const struct session_declared *declared, struct fault *fault)
{
	if (!declared || !declared->provider)
		return session_login_find(&session->found, host, session->harness, fault);
	return session_login_by_provider(&session->found, host, session->harness,
					 declared->provider, declared->credential, fault);
}

/* declared: NULL, or instead of what a launch says of a session. */
static int make(struct session_plan *session, const struct plan_host *host,
		const struct launch_request *launch, const struct session_prompt *prompt,
		const struct session_declared *declared, const char *interpreter,
		struct fault *fault)
{
	const struct program_known *known;
	struct program_request request;
	int r;

	r = find_harness(host, launch, &session->harness, fault);
	if (r == 0 && session->harness)
		r = find_login(session, host, declared, fault);
	if (r == FAULT && session->harness)
		r = session_plan_add_program(host, launch, fault);
	if (r != 0 || !session->harness)
		return r;
	session->login = session->found.login;
	request = program_request_of(host, session->harness, launch->executable);
	request.interpreter = interpreter;
	r = program_find(&session->program, &request, fault);
	if (r == 0)
		r = find_bound_home(session, host);
	/* Its version, which may be known only then, decides which section of the file counts. */
	if (r == 0)
		r = look_up(host, &session->program, &session->stamp, &known);
	if (r != 0)
		return r;
	memcpy(session->digest, known->digest, PROGRAM_DIGEST_BYTES);
	r = compose(&session->session, host, session->harness, session->login,
		    session->program.version, launch, prompt, declared, fault);
	if (r == 0)
		r = open_sources(session, host);
	if (r == 0 && session->session.has_prompt && session->session.prompt == HARNESS_PROMPT_file)
		session->prompt_fd = prompt->fd;
	return r;
}

static int settle(struct session_plan *session, int r, struct fault *fault)
{
	if (r == FAULT) {
		fault->code = ERROR_unavailable;
		fault->cause = CAUSE_session_unavailable;
	}
	if (r != 0 && r != -EINPROGRESS)
		session_plan_done(session);
	return r;
}

int session_plan_make(struct session_plan *ret, const struct plan_host *host,
		      const struct launch_request *launch, const struct session_prompt *prompt,
		      const char *interpreter, struct fault *ret_fault)
{
	*ret = SESSION_PLAN_INIT;
	return settle(ret, make(ret, host, launch, prompt, NULL, interpreter, ret_fault),
		      ret_fault);
}

int session_plan_declared(struct session_plan *ret, const struct plan_host *host,
			  const struct session_declared *declared, struct fault *ret_fault)
{
	const struct session_prompt none = {.fd = -1};
	const struct launch_request launch = {
		.harness = declared->name,
		.executable = declared->executable,
		.model = declared->model,
		.repository = declared->repository,
	};

	*ret = SESSION_PLAN_INIT;
	return settle(ret,
		      make(ret, host, &launch, &none, declared, declared->interpreter, ret_fault),
		      ret_fault);
}

void session_plan_done(struct session_plan *session)
{
	program_done(&session->program);
	session_done(&session->session);
	session_login_done(&session->found);
	for (size_t i = 0; i < session->source_count; i++) {
		free(session->sources[i].path);
		place_done(&session->sources[i].place);
	}
	free(session->sources);
	free(session->bound_home);
	*session = SESSION_PLAN_INIT;
}

char *session_plan_inside(const struct session_plan *session, const struct place *place)
{
	char *text;

	/* A mount point there would be made in the home that is bound. */
	if (!session->bound_home || !path_within(place->canonical, session->bound_home))
		return strdup(place->canonical);
	return asprintf(&text, RELEASE_ELSEWHERE "%s", place->canonical) < 0 ? NULL : text;
}

/* --- Before it is accepted ------------------------------------------------------------------------ */

/*
 * The version decides which section of the file counts, and is not known before the program was
 * found: what one section would take is not refused yet.
 */
static int check_sessions(const struct plan_host *host, const struct harness *harness,
			  const struct harness_login *login, const struct launch_request *launch,
			  const struct session_prompt *prompt, struct fault *fault)
{
	int r = 0;

	for (size_t i = harness->session_count; i > 0; i--) {
		_cleanup_(session_done) struct session session = {0};
		_cleanup_fault_ struct fault why = FAULT_INIT;

		r = compose(&session, host, harness, login, harness->sessions[i - 1].from, launch,
			    prompt, NULL, &why);
		if (r <= 0)
			return r;
		if (i == harness->session_count)
			fault_move(fault, &why);
	}
	return r;
}

/* That the person names is to be there as a repository is. */
static int check_executable(const struct plan_host *host, const struct harness *harness,
			    const struct launch_request *launch, struct fault *fault)
{
	_cleanup_(program_done) struct program program = PROGRAM_INIT;
	struct program_request request;
	int r;

	if (!launch->executable)
		return 0;
	request = program_request_of(host, harness, launch->executable);
	r = program_find(&program, &request, fault);
	if (r == FAULT)
		fault->code = ERROR_refused;
	return r;
}

int session_plan_check(const struct plan_host *host, const struct launch_request *launch,
		       const struct session_prompt *prompt, struct text_list *ret_warnings,
		       struct fault *ret_fault)
{
	/* Of one that is not at hand any size and content may be right. */
	struct session_prompt some = {.there = launch->has.prompt || launch->has.prompt_file ||
					       launch->prompt_descriptor,
				      .size = 1,
				      .data = " ",
				      .fd = -1};
	struct session_plan session = SESSION_PLAN_INIT;
	_cleanup_fault_ struct fault ignored = FAULT_INIT;
	int r = find_harness(host, launch, &session.harness, ret_fault);

	if (r != 0 || !session.harness)
		return r;
	if (launch->has.prompt) {
		some.size = launch->prompt.size;
		some.data = (const char *)launch->prompt.data;
	}
	r = check_executable(host, session.harness, launch, ret_fault);
	if (r != 0)
		return r;
	r = session_login_find(&session.found, host, session.harness, &ignored);
	session.login = r == 0 ? session.found.login : &session.harness->logins[0];
	if (r >= 0)
		r = keep_check(session.harness, launch, ret_fault);
	if (r == 0)
		r = grading_answers_check(session.harness, launch, ret_fault);
	if (r == 0)
		r = check_sessions(host, session.harness, session.login, launch,
				   prompt ? prompt : &some, ret_fault);
	if (r == 0 && ret_warnings && session.found.warning)
		r = text_list_add(ret_warnings, session.found.warning);
	session_plan_done(&session);
	return r;
}

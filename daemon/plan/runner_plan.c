/* SPDX-License-Identifier: MIT */
#include "plan/runner_plan.h"

#include <stdio.h>
#include <string.h>

#include "plan/build.h"
#include "plan/credentials.h"
#include "plan/provider.h"

char *runner_credential(const struct plan_host *host, const char *provider)
{
	const struct provider *known = host->providers ? provider_find(host->providers, provider)
						       : NULL;
	char *text;

	if (known)
		return strdup(known->credential);
	return asprintf(&text, "providers.%s", provider) < 0 ? NULL : text;
}

/* What is missing, all of it, so that it is mended in one go. */
struct missing {
	struct text_list *lines;
	char *hint; /* of the first one; NULL: it had none */
	struct fault why;
};

static int note_missing(struct missing *missing, const char *name)
{
	const char *message = missing->why.message;
	size_t length = strlen(name);
	bool named = strncmp(message, name, length) == 0 && message[length] == ':';
	int r = text_list_add_format(missing->lines, "%s%s%s", named ? "" : name, named ? "" : ": ",
				     message);

	if (!missing->hint)
		missing->hint = steal(&missing->why.hint);
	fault_done(&missing->why);
	missing->why = FAULT_INIT;
	return r;
}

static int refuse_missing(const struct missing *missing, struct fault *fault)
{
	_cleanup_free_ char *text = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);

	if (!file)
		return -ENOMEM;
	for (size_t i = 0; i < missing->lines->count; i++)
		fprintf(file, "%s%s", i ? "; " : "", missing->lines->items[i]);
	if (fclose(file) != 0)
		return -ENOMEM;
	fault_void(fault, CAUSE_session_unavailable, "%s", text);
	return fault_hint(fault, "%s",
			  missing->lines->count == 1 && missing->hint
				  ? missing->hint
				  : credentials_hint(missing->lines));
}

/* --- Harnesses ------------------------------------------------------------------------------------ */

static int make_session(struct session_plan *session, const struct plan_host *host,
			const struct arm_harness *harness, const struct launch_request *launch,
			struct fault *fault)
{
	_cleanup_free_ char *credential = NULL;
	struct session_declared declared = {
		.name = harness->name,
		.executable = harness->executable,
		.interpreter = harness->interpreter,
		.model = harness->model,
		.provider = harness->provider,
		.endpoint = harness->endpoint,
		.repository = launch->repository,
	};

	if (harness->provider) {
		credential = runner_credential(host, harness->provider);
		if (!credential)
			return -ENOMEM;
		declared.credential = credential;
	}
	return session_plan_declared(session, host, &declared, fault);
}

static int make_sessions(struct runner_plan *runner, const struct plan_host *host,
			 const struct launch_request *launch, struct missing *missing)
{
	const struct arm_harness_list *harnesses = &runner->arm->harnesses;
	int result = 0;

	runner->sessions = calloc(harnesses->count + 1, sizeof(*runner->sessions));
	if (!runner->sessions)
		return -ENOMEM;
	for (size_t i = 0; i < harnesses->count; i++) {
		int r;

		runner->sessions[i] = SESSION_PLAN_INIT;
		r = make_session(&runner->sessions[i], host, &harnesses->items[i], launch,
				 &missing->why);

		runner->session_count++;
		if (r == FAULT)
			r = note_missing(missing, harnesses->items[i].name);
		else if (r == -EINPROGRESS && runner->sessions[i].harness) {
			result = r;
			continue;
		}
		if (r < 0)
			return r;
	}
	return result;
}

const struct session_plan *runner_plan_unknown(const struct runner_plan *runner)
{
	for (size_t i = 0; i < runner->session_count; i++)
		if (runner->sessions[i].program.file.fd >= 0 && !runner->sessions[i].digest[0])
			return &runner->sessions[i];
	return NULL;
}

/* One home alone is bound; no other's release may need a mount point in it. */
static int share_home(struct runner_plan *runner, struct fault *fault)
{
	const struct session_plan *owner = NULL;

	for (size_t i = 0; i < runner->session_count; i++) {
		if (!runner->sessions[i].bound_home)
			continue;
		if (owner)
			return fault_void(fault, CAUSE_session_unavailable, RUNNER_TWO_HOMES,
					  owner->harness->name, runner->sessions[i].harness->name);
		owner = &runner->sessions[i];
	}
	for (size_t i = 0; owner && i < runner->session_count; i++) {
		if (runner->sessions[i].bound_home)
			continue;
		runner->sessions[i].bound_home = strdup(owner->bound_home);
		if (!runner->sessions[i].bound_home)
			return -ENOMEM;
	}
	return 0;
}

/* --- Keys of providers ---------------------------------------------------------------------------- */

static void credentials_done(struct credentials **credentials)
{
	credentials_free(*credentials);
}

/* Where its SDK goes: what was frozen, whatever that takes by itself. */
static int take_endpoint(struct runner_plan *runner, const struct plan_host *host,
			 const struct arm_provider *provider)
{
	const struct provider *known = host->providers
					       ? provider_find(host->providers, provider->name)
					       : NULL;

	if (!known || !known->endpoint_variable || !provider->endpoint)
		return 0;
	return pair_list_set(&runner->environment, known->endpoint_variable, provider->endpoint);
}

static int take_key(struct runner_plan *runner, const struct plan_host *host,
		    const struct credentials *credentials, const struct arm_provider *provider,
		    struct missing *missing)
{
	_cleanup_free_ char *credential = runner_credential(host, provider->name);
	const char *value = NULL;
	int r;

	if (!credential)
		return -ENOMEM;
	r = credentials_get(credentials, credential, &value, &missing->why);
	if (r == 0 && value && provider->variable) {
		const char *other = pair_list_get(&runner->keys, provider->variable);

		if (!other)
			return pair_list_set(&runner->keys, provider->variable, value);
		if (strcmp(other, value) == 0)
			return 0;
		r = fault_set(&missing->why, ERROR_unavailable,
			      "provider %s: its key goes into %s, where another provider's is",
			      provider->name, provider->variable);
	} else if (r == 0 && value) {
		r = fault_set(&missing->why, ERROR_unavailable,
			      "provider %s: it is not known which variable its key goes into",
			      provider->name);
	} else if (r == 0) {
		_cleanup_free_ char *absent = credentials_absent(credential);

		r = absent ? fault_set(&missing->why, ERROR_unavailable, "provider %s: %s",
				       provider->name, absent)
			   : -ENOMEM;
	}
	if (r == FAULT)
		r = text_list_add(missing->lines, missing->why.message);
	fault_done(&missing->why);
	missing->why = FAULT_INIT;
	return r;
}

static int take_keys(struct runner_plan *runner, const struct plan_host *host,
		     struct missing *missing)
{
	_cleanup_(credentials_done) struct credentials *credentials = NULL;
	_cleanup_free_ char *path = session_login_path(host, "~/" CREDENTIALS_FILE);
	const struct arm_provider_list *providers = &runner->arm->providers;
	int r;

	if (providers->count == 0)
		return 0;
	if (!path)
		return -ENOMEM;
	r = credentials_read(&credentials, path, &missing->why);
	if (r == FAULT)
		return note_missing(missing, "providers");
	for (size_t i = 0; r == 0 && i < providers->count; i++) {
		r = take_key(runner, host, credentials, &providers->items[i], missing);
		if (r == 0)
			r = take_endpoint(runner, host, &providers->items[i]);
	}
	if (r == 0 && credentials_warning(credentials)) {
		runner->warning = strdup(credentials_warning(credentials));
		r = runner->warning ? 0 : -ENOMEM;
	}
	return r;
}

/* --- Mapped files --------------------------------------------------------------------------------- */

static int open_file(struct runner_plan *runner, const struct arm_file *file,
		     const struct arm_store *store, struct fault *fault)
{
	_cleanup_free_ char *shown = display(file->path);
	struct arm_store_file kept;
	int fd = -1;
	int r = store ? arm_store_file_of(file, &kept) : -ENOENT;

	if (r == 0)
		r = arm_store_open_file(store, &kept, &fd);
	if (r == -ENOENT || r == -EBADMSG) {
		fault_void(fault, CAUSE_arm_changed,
			   "files.%s: what was kept of it when the Arm was prepared is %s", shown,
			   r == -ENOENT ? "gone" : "damaged");
		return fault_hint(fault, "prepare it again: trialctl arm prepare FILE.json");
	}
	if (r < 0)
		return r;
	runner->files[runner->file_count++] = (struct runner_file){.file = file, .fd = fd};
	return 0;
}

static int open_files(struct runner_plan *runner, const struct arm_store *store,
		      struct fault *fault)
{
	const struct arm_file_list *files = &runner->arm->files;
	int r = 0;

	runner->files = calloc(files->count + 1, sizeof(*runner->files));
	if (!runner->files)
		return -ENOMEM;
	for (size_t i = 0; r == 0 && i < files->count; i++)
		r = open_file(runner, &files->items[i], store, fault);
	return r;
}

/* --- All of it ------------------------------------------------------------------------------------ */

static int make(struct runner_plan *runner, const struct plan_host *host,
		const struct launch_request *launch, const struct arm_store *store,
		struct fault *fault)
{
	_cleanup_(text_list_done) struct text_list lines = {0};
	struct missing missing = {.lines = &lines, .why = FAULT_INIT};
	bool unknown;
	int r = make_sessions(runner, host, launch, &missing);

	unknown = r == -EINPROGRESS;
	if (r == 0 || unknown)
		r = take_keys(runner, host, &missing);
	if (r == 0 && lines.count > 0)
		r = refuse_missing(&missing, fault);
	free(missing.hint);
	fault_done(&missing.why);
	if (r == 0 && unknown)
		return -EINPROGRESS;
	if (r == 0)
		r = share_home(runner, fault);
	return r == 0 ? open_files(runner, store, fault) : r;
}

int runner_plan_make(struct runner_plan *ret, const struct plan_host *host, const struct arm *arm,
		     const struct launch_request *launch, const struct arm_store *store,
		     struct fault *ret_fault)
{
	int r;

	*ret = (struct runner_plan){.arm = arm};
	r = make(ret, host, launch, store, ret_fault);
	if (r != 0 && r != -EINPROGRESS)
		runner_plan_done(ret);
	return r;
}

void runner_plan_done(struct runner_plan *runner)
{
	for (size_t i = 0; i < runner->session_count; i++)
		session_plan_done(&runner->sessions[i]);
	free(runner->sessions);
	for (size_t i = 0; i < runner->file_count; i++)
		fd_close(runner->files[i].fd);
	free(runner->files);
	for (size_t i = 0; i < runner->keys.count; i++)
		explicit_bzero((char *)runner->keys.items[i].value,
			       strlen(runner->keys.items[i].value));
	pair_list_done(&runner->keys);
	pair_list_done(&runner->environment);
	free(runner->warning);
	*runner = (struct runner_plan){0};
}

/* SPDX-License-Identifier: MIT */
#include "plan/runner_plan.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "keeper/git_pointer.h"
#include "plan/arm_check.h"
#include "plan/build.h"
#include "plan/harness_words.h"
#include "plan/text_file.h"

/*
 * From a Custom runner to parts of a plan: of each of its Harnesses the parts that a session of that has,
 * and what the runner has of its own.
 *
 * What several Harnesses read is bound once. A file that is mapped for the home takes the place of what a
 * Harness would read there, which the outcome notes; it never takes that of a login or of what is made up.
 *
 * Patterns of git_exclude go into a file of git's core.excludesFile, by git's own variables, behind what
 * the file has that is this without them: the repository's, else that of the files mapped for the home. The
 * repository's .git/info/exclude is not mounted over: a mount point in a tree that may be written to
 * could be led elsewhere (rule 8 of destination.c), and a linked worktree's is not its own.
 */

int runner_command(struct plan *plan, const struct runner_plan *runner)
{
	const struct text_list *command = &runner->arm->command;
	int r = 0;

	for (size_t i = 0; r == 0 && i < command->count; i++) {
		const struct arm_file *file = arm_file_find(&runner->arm->files, command->items[i]);

		r = file ? text_list_add_format(&plan->command, RUNNER_FOLDER "/%s", file->path)
			 : text_list_add(&plan->command, command->items[i]);
	}
	return r;
}

/* --- Places of the host --------------------------------------------------------------------------- */

/* A path of the home that a file is mapped at, as a path inside; NULL: it is none. */
static int home_path(const struct plan_host *host, const struct arm_file *file, char **ret_path)
{
	*ret_path = NULL;
	if (!arm_path_is_home(file->path))
		return 0;
	if (asprintf(ret_path, "%s%s", host->home, file->path + 1) < 0) {
		*ret_path = NULL;
		return -ENOMEM;
	}
	return 0;
}

/* Whether a file is mapped at this path inside. */
static bool is_mapped(const struct runner_plan *runner, const struct plan_host *host,
		      const char *inside)
{
	size_t home = strlen(host->home);

	for (size_t i = 0; i < runner->file_count; i++) {
		const char *path = runner->files[i].file->path;

		if (arm_path_is_home(path) && strncmp(inside, host->home, home) == 0 &&
		    strcmp(path + 1, inside + home) == 0)
			return true;
	}
	return false;
}

/* One that is there already, at the same place inside. */
static bool is_there(struct bound_list *bounds, size_t count, const struct bound *bound)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(bounds->items[i].destination, bound->destination) == 0 &&
		    bounds->items[i].place.device == bound->place.device &&
		    bounds->items[i].place.inode == bound->place.inode) {
			bounds->items[i].fresh |= bound->fresh;
			return true;
		}
	return false;
}

static void bound_drop(struct bound_list *bounds, size_t index)
{
	struct bound *bound = &bounds->items[index];

	free(bound->field);
	place_done(&bound->place);
	ancestry_done(&bound->ancestry);
	free(bound->destination);
	memmove(bound, bound + 1, (bounds->count - index - 1) * sizeof(*bound));
	bounds->count--;
}

static int drop_doubles(struct bound_list *bounds, size_t first, struct plan *plan,
			const struct plan_host *host, const struct runner_plan *runner)
{
	int r = 0;

	for (size_t i = first; r == 0 && i < bounds->count;) {
		struct bound *bound = &bounds->items[i];
		bool mapped = is_mapped(runner, host, bound->destination);

		if (mapped)
			r = plan_note(plan,
				      "files: the runner's own %s stands in the place of yours",
				      bound->field);
		if (mapped || is_there(bounds, i, bound))
			bound_drop(bounds, i);
		else
			i++;
	}
	return r;
}

int runner_bounds(struct bound_list *bounds, struct plan *plan, const struct plan_host *host,
		  const struct runner_plan *runner, struct fault *ret_fault)
{
	size_t first = bounds->count;
	int r = 0;

	for (size_t i = 0; r == 0 && i < runner->session_count; i++)
		r = session_bounds(bounds, &runner->sessions[i], ret_fault);
	return r == 0 ? drop_doubles(bounds, first, plan, host, runner) : r;
}

/* --- Wrappers ------------------------------------------------------------------------------------- */

/* A word of sh that stands for exactly this text. */
static void put_quoted(FILE *file, const char *text)
{
	fputc('\'', file);
	for (; *text; text++)
		if (*text == '\'')
			fputs("'\\''", file);
		else
			fputc(*text, file);
	fputc('\'', file);
}

static bool is_name(const char *text)
{
	if (!isalpha((unsigned char)*text) && *text != '_')
		return false;
	for (; *text; text++)
		if (!isalnum((unsigned char)*text) && *text != '_')
			return false;
	return true;
}

/*
 * One that is signed in by itself does not take a provider's key instead, or what is somebody else's
 * account would pay. [Providers] is told of all.
 */
static void put_unset(FILE *file, const struct runner_plan *runner,
		      const struct session_plan *session)
{
	const struct pair_list *keys = &runner->keys;
	const char *own = session->found.secret.name;
	const char *endpoint = own ? session->login->endpoint_variable : NULL;

	if (session->harness->providers.variable)
		return;
	for (size_t i = 0; i < keys->count; i++)
		if (is_name(keys->items[i].name) && (!own || strcmp(keys->items[i].name, own) != 0))
			fprintf(file, "unset %s\n", keys->items[i].name);
	for (size_t i = 0; i < runner->environment.count; i++)
		if (is_name(runner->environment.items[i].name) &&
		    (!endpoint || strcmp(runner->environment.items[i].name, endpoint) != 0))
			fprintf(file, "unset %s\n", runner->environment.items[i].name);
}

int runner_wrapper(const struct runner_plan *runner, const struct session_plan *session,
		   char **ret_text)
{
	const struct text_list *arguments = &session->session.arguments;
	const struct pair_list *own = &session->session.own;
	_cleanup_free_ char *program = session_plan_inside(session, &session->program.file);
	size_t size = 0;
	FILE *file = program ? open_memstream(ret_text, &size) : NULL;

	if (!file)
		return -ENOMEM;
	fprintf(file, "#!/bin/sh\n# %s, as this Trial has it.\n", session->harness->name);
	put_unset(file, runner, session);
	for (size_t i = 0; i < own->count; i++) {
		if (!is_name(own->items[i].name))
			continue;
		fprintf(file, "export %s=", own->items[i].name);
		put_quoted(file, own->items[i].value);
		fputc('\n', file);
	}
	fputs("exec", file);
	if (session->program.interpreter.fd >= 0) {
		fputc(' ', file);
		put_quoted(file, session->program.interpreter.canonical);
	}
	fputc(' ', file);
	put_quoted(file, program);
	for (size_t i = 0; i < arguments->count; i++) {
		fputc(' ', file);
		put_quoted(file, arguments->items[i]);
	}
	fputs(" \"$@\"\n", file);
	if (fclose(file) == 0)
		return 0;
	free(*ret_text);
	*ret_text = NULL;
	return -ENOMEM;
}

/* Takes text. */
static int add_file(struct plan *plan, const char *path, char *text, size_t size, unsigned int mode,
		    bool sealed)
{
	struct plan_operation *operation = plan_add(plan, PLAN_FILE, path, NULL);

	if (!operation) {
		free(text);
		return -ENOMEM;
	}
	operation->mode = mode;
	operation->sealed = sealed;
	return plan_file_new(&operation->file, text, size);
}

static int add_wrappers(struct plan *plan, const struct runner_plan *runner)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < runner->session_count; i++) {
		const struct session_plan *session = &runner->sessions[i];
		_cleanup_free_ char *path = NULL;
		char *text;

		if (asprintf(&path, RUNNER_BIN "/%s", session->harness->name) < 0) {
			path = NULL;
			return -ENOMEM;
		}
		r = runner_wrapper(runner, session, &text);
		if (r == 0)
			r = add_file(plan, path, text, strlen(text), 0555, true);
		if (r == 0)
			plan->operations[plan->operation_count - 1].made_up = true;
	}
	return r;
}

/* --- Its own files -------------------------------------------------------------------------------- */

/* Whether something else is, or is to be, at a path, above it or below it. */
static bool is_taken(const struct plan *plan, const struct plan_host *host, const char *path)
{
	for (size_t i = 0; i < plan->operation_count; i++) {
		const struct plan_operation *operation = &plan->operations[i];

		if (path_within(operation->destination, path))
			return true;
		if (path_within(operation->destination, host->home) &&
		    strcmp(operation->destination, host->home) != 0 &&
		    operation->type != PLAN_DIRECTORY && path_within(path, operation->destination))
			return true;
	}
	return false;
}

static int add_home_file(struct plan *plan, const struct plan_host *host,
			 const struct runner_file *file, const char *path, size_t *total,
			 struct fault *fault)
{
	_cleanup_free_ char *shown = display(file->file->path);
	unsigned int mode = file->file->has.mode ? (unsigned int)file->file->mode : 0644;
	char *text = NULL;
	size_t size = 0;
	int r;

	if (is_taken(plan, host, path))
		return fault_set(fault, ERROR_refused, RUNNER_FILE_TAKEN, shown);
	r = text_file_read_at(file->fd, RUNNER_HOME_FILE_BYTES_MAX, &text, &size);
	if (r == -EFBIG || *total + size > RUNNER_HOME_FILES_BYTES_MAX) {
		free(text);
		return fault_set(fault, ERROR_refused,
				 "files: %s: a file of the home may have 4 MiB, and all of them "
				 "64 MiB; map it beside the runner",
				 shown);
	}
	if (r < 0)
		return r;
	*total += size;
	r = add_file(plan, path, text, size, mode ? mode : 0400, false);
	if (r == 0)
		plan->operations[plan->operation_count - 1].fresh = true;
	return r;
}

static int add_files(struct plan *plan, const struct plan_host *host,
		     const struct runner_plan *runner, struct fault *fault)
{
	size_t total = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < runner->file_count; i++) {
		const struct runner_file *file = &runner->files[i];
		_cleanup_free_ char *path = NULL;

		r = home_path(host, file->file, &path);
		if (r < 0)
			return r;
		if (path) {
			r = add_home_file(plan, host, file, path, &total, fault);
			continue;
		}
		if (asprintf(&path, RUNNER_FOLDER "/%s", file->file->path) < 0) {
			path = NULL;
			return -ENOMEM;
		}
		r = session_bind(plan, path, file->file->source, file->fd, false);
	}
	return r;
}

static int read_mapped(const struct runner_plan *runner, const char *path, char **ret_text)
{
	for (size_t i = 0; i < runner->file_count; i++)
		if (strcmp(runner->files[i].file->path, path) == 0)
			return text_file_read_at(runner->files[i].fd, RUNNER_HOME_FILE_BYTES_MAX,
						 ret_text, NULL);
	return 0;
}

/* Of git's settings that are mapped for the home, the file of what it hides. */
static int mapped_excludes(const struct runner_plan *runner, char **ret_text)
{
	static const char *const settings[] = {"~/.gitconfig", "~/.config/git/config"};
	_cleanup_free_ char *named = NULL;
	int r = 0;

	for (size_t i = 0; r == 0 && !named && i < ARRAY_SIZE(settings); i++) {
		_cleanup_free_ char *text = NULL;

		r = read_mapped(runner, settings[i], &text);
		if (r == 0 && text)
			r = git_excludes_parse(text, strlen(text), &named);
		if (r == -ENOENT || r == -EBADMSG)
			r = 0;
	}
	return r == 0 ? read_mapped(runner, named ? named : "~/.config/git/ignore", ret_text) : r;
}

static int add_exclude(struct plan *plan, const struct runner_plan *runner)
{
	const struct text_list *patterns = &runner->arm->git_exclude;
	_cleanup_free_ char *mapped = NULL;
	const char *own = plan->git_excludes;
	size_t size = 0;
	char *text = NULL;
	FILE *file;
	int r;

	if (patterns->count == 0)
		return 0;
	if (!plan->git_excludes_named) {
		r = mapped_excludes(runner, &mapped);
		if (r < 0)
			return r;
		own = mapped;
	}
	file = open_memstream(&text, &size);
	if (!file)
		return -ENOMEM;
	if (own && own[0])
		fprintf(file, "%s%s", own, own[strlen(own) - 1] == '\n' ? "" : "\n");
	for (size_t i = 0; i < patterns->count; i++)
		fprintf(file, "%s\n", patterns->items[i]);
	if (fclose(file) != 0) {
		free(text);
		return -ENOMEM;
	}
	return add_file(plan, RUNNER_EXCLUDE, text, size, 0444, true);
}

int runner_contents(struct plan *plan, const struct plan_host *host,
		    const struct runner_plan *runner, struct fault *ret_fault)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < runner->session_count; i++)
		r = session_parts(plan, host, &runner->sessions[i], true, ret_fault);
	if (r == 0)
		r = add_files(plan, host, runner, ret_fault);
	if (r == 0)
		r = add_wrappers(plan, runner);
	if (r == 0 && !plan_at(plan, RUNNER_BIN) && runner->session_count == 0)
		r = plan_add(plan, PLAN_DIRECTORY, RUNNER_BIN, NULL) ? 0 : -ENOMEM;
	if (r == 0)
		r = add_exclude(plan, runner);
	if (r == 0 && runner->warning && !words_have(&plan->notes, runner->warning))
		r = plan_warn(plan, "%s", runner->warning);
	return r;
}

/* --- Environment ---------------------------------------------------------------------------------- */

static int add_pairs(struct plan *plan, const struct pair_list *pairs)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < pairs->count; i++)
		r = pair_list_set(&plan->environment, pairs->items[i].name, pairs->items[i].value);
	return r;
}

/* One piece of what a Harness is told of providers. */
static int add_provider(struct text_list *pieces, const struct harness *harness,
			const char *provider, const char *variable)
{
	const char *name = pair_list_get(&harness->providers.names, provider);
	const struct specifier specifiers[] = {
		{'o', name ? name : provider},
		{'v', variable},
		{0},
	};
	_cleanup_free_ char *piece = NULL;
	int r = specifiers_expand(harness->providers.each, specifiers, true, &piece);

	if (r == 0 && !words_have(pieces, piece))
		r = text_list_add(pieces, piece);
	return r;
}

static int provider_pieces(const struct runner_plan *runner, size_t index, struct text_list *pieces)
{
	const struct session_plan *session = &runner->sessions[index];
	const struct arm_harness *own = &runner->arm->harnesses.items[index];
	const char *secret = session->found.secret.name;
	const char *slash = own->model ? strchr(own->model, '/') : NULL;
	_cleanup_free_ char *named = NULL;
	const char *provider = own->provider;
	int r = 0;

	if (!provider && slash) {
		named = strndup(own->model, (size_t)(slash - own->model));
		if (!named)
			return -ENOMEM;
		provider = named;
	}
	for (size_t i = 0; r == 0 && i < runner->arm->providers.count; i++) {
		const struct arm_provider *other = &runner->arm->providers.items[i];

		/* Its own key is the one that it is to use. */
		if (other->variable && !(secret && provider && strcmp(provider, other->name) == 0))
			r = add_provider(pieces, session->harness, other->name, other->variable);
	}
	if (r == 0 && secret && provider)
		r = add_provider(pieces, session->harness, provider, secret);
	return r;
}

static int add_providers(struct plan *plan, const struct runner_plan *runner, size_t index)
{
	const struct harness *harness = runner->sessions[index].harness;
	_cleanup_(text_list_done) struct text_list pieces = {0};
	_cleanup_free_ char *joined = NULL, *text = NULL;
	size_t size = 0;
	FILE *file;
	int r;

	if (!harness->providers.variable)
		return 0;
	r = provider_pieces(runner, index, &pieces);
	if (r < 0 || pieces.count == 0)
		return r;
	file = open_memstream(&joined, &size);
	if (!file)
		return -ENOMEM;
	for (size_t i = 0; i < pieces.count; i++)
		fprintf(file, "%s%s", i ? "," : "", pieces.items[i]);
	if (fclose(file) != 0)
		return -ENOMEM;

	const struct specifier specifiers[] = {{'p', joined}, {0}};

	r = specifiers_expand(harness->providers.text, specifiers, false, &text);
	return r == 0 ? pair_list_set(&plan->environment, harness->providers.variable, text) : r;
}

/* A launch may replace these. */
int runner_environment(struct plan *plan, const struct runner_plan *runner)
{
	int r = pair_list_set(&plan->environment, "TRIALS_RUNNER", RUNNER_FOLDER);

	for (size_t i = 0; r == 0 && i < runner->session_count; i++) {
		r = add_pairs(plan, &runner->sessions[i].session.environment);
		if (r == 0)
			r = add_providers(plan, runner, i);
	}
	return r == 0 ? add_pairs(plan, &runner->environment) : r;
}

static int add_secret(struct plan *plan, const struct pair *secret, struct fault *fault)
{
	const char *there;

	if (!secret->name)
		return 0;
	there = words_have(&plan->secrets, secret->name)
			? pair_list_get(&plan->environment, secret->name)
			: NULL;
	if (there && strcmp(there, secret->value) == 0)
		return 0;
	return environment_secret(plan, secret, fault);
}

/* Behind what the launch sets, whatever that is: keys, and wrappers before anything else on PATH. */
int runner_secrets(struct plan *plan, const struct runner_plan *runner, struct fault *ret_fault)
{
	const char *path = pair_list_get(&plan->environment, "PATH");
	_cleanup_free_ char *first = NULL;
	int r = 0;

	for (size_t i = 0; r == 0 && i < runner->session_count; i++)
		r = add_secret(plan, &runner->sessions[i].found.secret, ret_fault);
	for (size_t i = 0; r == 0 && i < runner->keys.count; i++)
		r = add_secret(plan, &runner->keys.items[i], ret_fault);
	if (r != 0)
		return r;
	if (asprintf(&first, RUNNER_BIN "%s%s", path && *path ? ":" : "", path ? path : "") < 0) {
		first = NULL;
		return -ENOMEM;
	}
	return pair_list_set(&plan->environment, "PATH", first);
}

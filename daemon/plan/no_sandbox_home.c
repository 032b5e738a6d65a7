/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "base/no_sandbox.h"
#include "plan/build.h"
#include "plan/harness_words.h"
#include "plan/no_sandbox.h"
#include "plan/runner_plan.h"

/*
 * A plan's operations, carried out without mounts: what becomes of each.
 *
 *   the person's own files, mapped files, the prompt      a copy
 *   what is made up                                       a file
 *   a login's folder, a Trials home                       a link to the folder itself
 *   a login's file                                        its folder is a link to that with the copy, since
 *                                                         many programs save by a rename: a link in the
 *                                                         place of the file would be replaced, and what it
 *                                                         saved be lost. What else is in that folder is
 *                                                         written into the copy's
 *   a lock that is shared with the host                   a link to the lock
 *   the repository and all else that has the same path    nothing: there it is
 *   the system's part of the root                         nothing: the host's own is there
 *
 * Anything else would be at another place than it was asked for, and is refused.
 */

/* What the fresh home is called in texts that are made up, until it is known which it is. */
#define HOME_TOLD "/run/trials/home"
#define RUN_FOLDER "/run/trials"
#define OPT_FOLDER "/opt/trials"
#define WRITABLE_TOLD 8 /* paths in one note */

const char *plan_home_told(const struct plan_host *host)
{
	return host->no_sandbox ? HOME_TOLD : host->home;
}

struct bare {
	struct plan *plan;
	const struct plan_host *host;
	char *home;
	struct text_list *orders;
};

/* Where something is put: in the home, or in the folder of a login. */
struct spot {
	const char *folder; /* "", or a Harness's name; borrowed */
	enum plan_login kind;
	char *path; /* below it; owned; NULL: it is of no place of the sandbox's own */
};

static void spot_done(struct spot *spot)
{
	free(spot->path);
}

/* --- Places --------------------------------------------------------------------------------------- */

/* What is below a folder, with the "/" before it. NULL: it is not in it. */
static const char *below(const char *path, const char *folder)
{
	return path_within(path, folder) ? path + strlen(folder) : NULL;
}

/* A path of the fresh home or of the sandbox's own folders, below the home. *ret_path NULL: neither. */
static int home_path(const struct bare *bare, const char *path, char **ret_path)
{
	const struct {
		const char *folder, *becomes;
	} folders[] = {
		{RUNNER_FOLDER, NO_SANDBOX_RUNNER},
		{RUN_FOLDER, NO_SANDBOX_OWN},
		{bare->host->home, ""},
	};

	*ret_path = NULL;
	for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
		const char *rest = below(path, folders[i].folder);

		if (!rest)
			continue;
		if (asprintf(ret_path, "%s%s", folders[i].becomes,
			     *folders[i].becomes ? rest : rest + strspn(rest, "/")) < 0) {
			*ret_path = NULL;
			return -ENOMEM;
		}
		return 0;
	}
	return 0;
}

/* The folder of the home that becomes a link, for a login; "" : that would be the home itself. */
static int login_folder(const struct bare *bare, const struct plan_operation *operation,
			char **ret_folder)
{
	int r = home_path(bare, operation->destination, ret_folder);
	char *slash;

	if (r < 0 || !*ret_folder || operation->login_kind != PLAN_LOGIN_file)
		return r;
	slash = strrchr(*ret_folder, '/');
	*(slash ? slash : *ret_folder) = '\0';
	return 0;
}

/* In which login's folder a path of the home is: the innermost one; a login's own folder is not in it. */
static int spot_find(const struct bare *bare, const char *destination, struct spot *spot)
{
	size_t longest = 0;
	char *path;
	int r = home_path(bare, destination, &path);

	*spot = (struct spot){.folder = "", .path = path};
	for (size_t i = 0; r == 0 && path && i < bare->plan->operation_count; i++) {
		const struct plan_operation *operation = &bare->plan->operations[i];
		_cleanup_free_ char *folder = NULL;
		size_t length;

		if (!operation->login)
			continue;
		r = login_folder(bare, operation, &folder);
		length = r == 0 && folder ? strlen(folder) : 0;
		if (length <= longest || strncmp(path, folder, length) != 0 || path[length] != '/')
			continue;
		longest = length;
		spot->folder = operation->login;
		spot->kind = operation->login_kind;
	}
	if (longest > 0)
		memmove(path, path + longest + 1, strlen(path + longest));
	return r;
}

/* --- Texts ---------------------------------------------------------------------------------------- */

static bool ends_path(char c)
{
	return !(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') &&
	       !strchr("._-+~@", c ?: ' ');
}

/* What begins here and is told by another name: its length, and that. 0: nothing. */
static size_t find_told(const struct bare *bare, const char *text, const char **ret_home,
			const char **ret_rest)
{
	static const struct {
		const char *told;
		const char *becomes; /* below the home; NULL: nothing stands for it */
	} names[] = {
		{HOME_TOLD, ""},
		{RUNNER_FOLDER, "/" NO_SANDBOX_RUNNER},
		{RUN_FOLDER, "/" NO_SANDBOX_OWN},
		{OPT_FOLDER, NULL}, /* a release, seen elsewhere than it is */
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		size_t length = strlen(names[i].told);

		if (strncmp(text, names[i].told, length) != 0 ||
		    (text[length] != '/' && (!ends_path(text[length]) || !names[i].becomes)))
			continue;
		*ret_home = names[i].becomes ? bare->home : "";
		*ret_rest = names[i].becomes ?: "";
		return length;
	}
	return 0;
}

/* NULL: memory; to be freed. *ret_size may be NULL. */
static char *retell(const struct bare *bare, const char *text, size_t size, size_t *ret_size)
{
	size_t written = 0;
	char *copy = NULL;
	FILE *file = open_memstream(&copy, &written);

	for (size_t i = 0; file && i < size;) {
		const char *home, *rest;
		size_t length = i == 0 || (text[i - 1] != '/' && ends_path(text[i - 1]))
					? find_told(bare, text + i, &home, &rest)
					: 0;

		if (length > 0)
			fprintf(file, "%s%s", home, rest);
		else
			fputc(text[i], file);
		i += length ?: 1;
	}
	if (!file || (ferror(file) | (fclose(file) != 0))) {
		free(copy);
		return NULL;
	}
	if (ret_size)
		*ret_size = written;
	return copy;
}

static int retell_command(const struct bare *bare)
{
	struct plan *plan = bare->plan;
	size_t first = plan->prompt_word;

	for (size_t i = 0; i < plan->command.count; i++) {
		const char *word = plan->command.items[i];
		char *told;

		if (first > 0 && i + 1 >= first && i + 1 < first + plan->prompt_words)
			continue;
		told = retell(bare, word, strlen(word), NULL);
		if (!told)
			return -ENOMEM;
		free((char *)word);
		plan->command.items[i] = told;
	}
	return 0;
}

static int retell_environment(const struct bare *bare)
{
	struct plan *plan = bare->plan;

	for (size_t i = 0; i < plan->environment.count; i++) {
		struct pair *pair = &plan->environment.items[i];
		char *told;

		if (words_have(&plan->secrets, pair->name))
			continue;
		told = retell(bare, pair->value, strlen(pair->value), NULL);
		if (!told)
			return -ENOMEM;
		free((char *)pair->value);
		pair->value = told;
	}
	return 0;
}

/* The file that the keeper is given is made anew. */
static int retell_file(const struct bare *bare, struct plan_operation *operation)
{
	const struct plan_file *before = operation->file;
	int *fd = &bare->plan->descriptors[operation->descriptor];
	struct plan_file *file;
	size_t size = 0;
	char *text;
	int r;

	if (!operation->made_up || before->size == 0)
		return 0;
	text = retell(bare, before->data, before->size, &size);
	if (!text)
		return -ENOMEM;
	r = plan_file_new(&file, text, size);
	if (r < 0)
		return r;
	plan_file_unref(operation->file);
	operation->file = file;
	*fd = fd_close(*fd);
	return plan_file_open(file, fd);
}

/* --- Orders --------------------------------------------------------------------------------------- */

static int refuse(struct fault *fault, const char *path, const char *why)
{
	_cleanup_free_ char *shown = display(path);
	int r = fault_void(fault, CAUSE_session_unavailable,
			   "%s: %s, and this trialsd runs Trials without a sandbox "
			   "(" NO_SANDBOX_TOLD ")",
			   shown, why);

	return r != FAULT ? r : fault_hint(fault, NO_SANDBOX_ENDS);
}

static int order_login(struct bare *bare, const struct plan_operation *operation,
		       struct fault *fault)
{
	_cleanup_free_ char *folder = NULL, *whole = NULL;
	_cleanup_(spot_done) struct spot spot = {0};
	int r = login_folder(bare, operation, &folder);

	if (r < 0)
		return r;
	if (!folder || !*folder)
		return refuse(fault, operation->destination,
			      "this login is not in a folder of its own, which would have to be "
			      "bound");
	for (size_t i = 0; i < bare->plan->operation_count; i++) {
		const struct plan_operation *other = &bare->plan->operations[i];
		_cleanup_free_ char *its = NULL;

		if (other == operation || !other->login)
			continue;
		r = login_folder(bare, other, &its);
		if (r < 0)
			return r;
		if (its && strcmp(its, folder) == 0)
			return refuse(fault, operation->destination,
				      "another Harness's login is in the same folder");
	}
	if (asprintf(&whole, "%s/%s", bare->host->home, folder) < 0) {
		whole = NULL;
		return -ENOMEM;
	}
	r = spot_find(bare, whole, &spot);
	if (r == 0 && spot.kind == PLAN_LOGIN_home)
		return refuse(fault, operation->destination,
			      "it would be made in the Trials home of another Harness");
	if (r == 0)
		r = text_list_add(bare->orders, "login");
	if (r == 0)
		r = text_list_add(bare->orders, operation->login);
	if (r == 0)
		r = text_list_add(bare->orders, spot.folder);
	return r == 0 ? text_list_add(bare->orders, spot.path) : r;
}

/* A link that the plan has in the home leads into it. */
static int order_link(struct bare *bare, const struct plan_operation *operation)
{
	const char *rest = below(operation->source, bare->host->home);
	int r = text_list_add(bare->orders, "link");

	if (r == 0 && rest)
		r = text_list_add_format(bare->orders, "%s%s", bare->home, rest);
	else if (r == 0)
		r = text_list_add(bare->orders, operation->source);
	return r;
}

static int order_contents(struct bare *bare, struct plan_operation *operation)
{
	bool file = operation->type == PLAN_FILE;
	int r = file ? retell_file(bare, operation) : 0;

	if (r == 0)
		r = text_list_add(bare->orders, file ? "file" : operation->lock ? "lock" : "copy");
	if (r == 0)
		r = text_list_add_format(bare->orders, "%d", operation->descriptor);
	if (r == 0 && file)
		r = text_list_add_format(bare->orders, "%o",
					 operation->mode ? operation->mode : 0444);
	return r;
}

static int order_one(struct bare *bare, struct plan_operation *operation, struct fault *fault)
{
	_cleanup_(spot_done) struct spot spot = {0};
	int r;

	if (operation->login)
		return order_login(bare, operation, fault);
	r = spot_find(bare, operation->destination, &spot);
	if (r < 0)
		return r;
	if (spot.kind == PLAN_LOGIN_home)
		return refuse(fault, operation->destination, "it would be made in the Trials home");
	r = operation->type == PLAN_SYMLINK ? order_link(bare, operation)
					    : order_contents(bare, operation);
	if (r == 0)
		r = text_list_add(bare->orders, spot.folder);
	return r == 0 ? text_list_add(bare->orders, spot.path) : r;
}

/* Of the fresh home, or of a place that only a sandbox has. */
static bool is_ours(const struct plan_operation *operation)
{
	const char *path = operation->destination;

	switch (operation->type) {
	case PLAN_BIND:
	case PLAN_FILE:
	case PLAN_SYMLINK:
		return operation->fresh || path_within(path, RUNNER_FOLDER) ||
		       path_within(path, RUN_FOLDER);
	default:
		return false;
	}
}

/* The host has it at this path, or will be told to look there: a release that is seen elsewhere. */
static bool is_there(const struct plan_operation *operation)
{
	const char *rest = below(operation->destination, OPT_FOLDER);

	return !operation->source || strcmp(operation->destination, operation->source) == 0 ||
	       (rest && strcmp(rest, operation->source) == 0);
}

/* What is never silently different: a mount would have kept these as they are. */
static int note_writable(const struct bare *bare)
{
	_cleanup_free_ char *text = NULL;
	size_t size = 0, count = 0;
	FILE *file = open_memstream(&text, &size);

	if (!file)
		return -ENOMEM;
	for (size_t i = 0; i < bare->plan->operation_count; i++) {
		const struct plan_operation *operation = &bare->plan->operations[i];
		_cleanup_free_ char *shown = NULL;

		if (operation->type != PLAN_BIND || operation->writable || is_ours(operation) ||
		    ++count > WRITABLE_TOLD)
			continue;
		shown = display(operation->source);
		fprintf(file, "%s%s", count > 1 ? ", " : "", shown ?: "?");
	}
	if (count > WRITABLE_TOLD)
		fprintf(file, " and %zu more", count - WRITABLE_TOLD);
	if (ferror(file) | (fclose(file) != 0))
		return -ENOMEM;
	return count == 0 ? 0
			  : plan_note(bare->plan, "only a sandbox keeps from being written to: %s",
				      text);
}

static int order_all(struct bare *bare, struct fault *fault)
{
	struct plan *plan = bare->plan;
	int r = 0;

	for (size_t i = 0; r == 0 && i < plan->operation_count; i++) {
		struct plan_operation *operation = &plan->operations[i];

		if (is_ours(operation))
			r = order_one(bare, operation, fault);
		else if (operation->type == PLAN_BIND && !is_there(operation))
			r = refuse(fault, operation->destination,
				   "only in a sandbox can something be at another place");
	}
	return r;
}

/* --- What is kept of the plan --------------------------------------------------------------------- */

/* Whether the host's own place of that name is meant. */
static bool is_of_host(const struct plan *plan, const char *path)
{
	for (size_t i = 0; i < plan->operation_count; i++)
		if (plan->operations[i].type == PLAN_BIND && !is_ours(&plan->operations[i]) &&
		    path_within(path, plan->operations[i].destination))
			return true;
	return false;
}

static int move_cwd(struct bare *bare)
{
	struct plan *plan = bare->plan;
	_cleanup_free_ char *path = NULL;
	char *moved;
	int r;

	if (is_of_host(plan, plan->cwd))
		return 0;
	r = home_path(bare, plan->cwd, &path);
	if (r < 0 || !path)
		return r;
	if (asprintf(&moved, "%s%s%s", bare->home, *path ? "/" : "", path) < 0)
		return -ENOMEM;
	free(plan->cwd);
	plan->cwd = moved;
	return 0;
}

/* A session's part that lies beside its login is not to be looked for behind a link. */
static int move_state(struct bare *bare)
{
	struct plan *plan = bare->plan;
	int r = 0;

	for (size_t i = 0; r == 0 && plan->home && !plan->bound_home && i < plan->operation_count;
	     i++)
		if (plan->operations[i].login_kind == PLAN_LOGIN_file)
			r = login_folder(bare, &plan->operations[i], &plan->bound_home);
	return r;
}

static int set_variables(struct bare *bare)
{
	struct pair_list *environment = &bare->plan->environment;
	const char *tmp_before = pair_list_get(environment, "TMPDIR");
	_cleanup_free_ char *tmp = NULL;
	int r = 0;

	if (asprintf(&tmp, "%s%s", bare->home, strrchr(NO_SANDBOX_TMP, '/')) < 0) {
		tmp = NULL;
		return -ENOMEM;
	}
	if (!tmp_before || strcmp(tmp_before, "/tmp") == 0)
		r = pair_list_set(environment, "TMPDIR", tmp);
	return r == 0 ? pair_list_set(environment, "HOME", bare->home) : r;
}

static int apply(struct bare *bare, struct fault *fault)
{
	struct plan *plan = bare->plan;
	int r = order_all(bare, fault);

	if (r == 0)
		r = retell_command(bare);
	if (r == 0)
		r = retell_environment(bare);
	if (r == 0)
		r = move_cwd(bare);
	if (r == 0)
		r = move_state(bare);
	if (r == 0)
		r = set_variables(bare);
	if (r == 0)
		r = plan_note(plan, "there was no sandbox: trialsd was told to do without "
				    "(" NO_SANDBOX_TOLD "); it could see and change all that the "
				    "person can, and reach the whole network");
	return r == 0 ? note_writable(bare) : r;
}

int no_sandbox_apply(struct plan *plan, const struct plan_host *host, const char *trial_folder,
		     struct text_list *ret_orders, struct fault *ret_fault)
{
	struct text_list orders = {0};
	struct bare bare = {.plan = plan, .host = host, .orders = &orders};
	int r;

	if (asprintf(&bare.home, "%s/" NO_SANDBOX_HOME, trial_folder) < 0)
		return -ENOMEM;
	r = apply(&bare, ret_fault);
	free(bare.home);
	if (r != 0) {
		text_list_done(&orders);
		return r;
	}
	operations_free(plan->operations, plan->operation_count);
	plan->operations = NULL;
	plan->operation_count = 0;
	text_list_done(&plan->pinned);
	*ret_orders = orders;
	return 0;
}

/* SPDX-License-Identifier: MIT */
#include "toolchain.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/reload.h"
#include "base/words.h"
#include "build.h"
#include "path_pattern.h"
#include "base/text.h"

/*
 * From the words of a toolchain to parts of a plan. Its places go the way of what a launch names,
 * policy and all (rule 9 of policy.c is theirs alone). What PATH is to have and which programs must
 * be there is looked up in the finished plan, as the sandbox will see it: a chain of links that
 * leads out of what is visible is no program inside, wherever it leads on the host.
 */

static int refuse(struct fault *fault, const struct toolchain_found *found, const char *format, ...)
	_printf_(3, 4);

static int refuse(struct fault *fault, const struct toolchain_found *found, const char *format, ...)
{
	const struct toolchain *toolchain = found->toolchain;
	char command[RELOAD_COMMAND_BYTES];
	_cleanup_free_ char *text = NULL, *file = display(toolchain->file);
	va_list arguments;
	int r;

	va_start(arguments, format);
	text = text_vformat(format, arguments);
	va_end(arguments);
	if (!text)
		return -ENOMEM;
	r = fault_set(fault, ERROR_invalid, "toolchains: %s: %s", toolchain->name, text);
	/* Of one's own it is no use to be told to write what stands there. */
	if (r == FAULT && found->own)
		return fault_hint(
			fault,
			"install it, or correct [Toolchain %s] in line %u of %s and have it "
			"read: %s",
			toolchain->name, toolchain->line, file, reload_command(getpid(), command));
	return r < 0 ? r
		     : fault_hint(fault,
				  "install it, or write in a section [Toolchain %s] of your "
				  "trialsd.conf where it is, as line %u of %s does",
				  toolchain->name, toolchain->line, file);
}

/* --- Names ---------------------------------------------------------------------------------------- */

static void put_names(FILE *file, const struct toolchain_list *list,
		      const struct toolchain_list *but)
{
	for (size_t i = 0; i < list->count; i++)
		if (!but || !toolchain_list_find(but, list->items[i].name))
			fprintf(file, "%s%s", ftell(file) > 0 ? ", " : "", list->items[i].name);
}

static int refuse_unknown(const struct plan_host *host, const char *name, struct fault *fault)
{
	_cleanup_free_ char *names = NULL, *shown = display(name);
	char command[RELOAD_COMMAND_BYTES];
	size_t size = 0;
	FILE *file = open_memstream(&names, &size);
	int r;

	if (!file)
		return -ENOMEM;
	put_names(file, &host->toolchains, NULL);
	put_names(file, &host->config->toolchains, &host->toolchains);
	if (fclose(file) != 0)
		return -ENOMEM;
	r = fault_set(fault, ERROR_invalid, "toolchains: there is no \"%s\"; there are %s", shown,
		      size > 0 ? names : "none");
	return r < 0 ? r
		     : fault_hint(fault,
				  "one of your own is a section [Toolchain NAME] of trialsd.conf, "
				  "which a reload takes up (%s); see trialsd.conf(5)",
				  reload_command(getpid(), command));
}

static int find(const struct plan_host *host, const char *name, const struct toolchain **ret,
		struct fault *fault)
{
	*ret = toolchain_list_find(&host->config->toolchains, name);
	if (!*ret)
		*ret = toolchain_list_find(&host->toolchains, name);
	return *ret ? 0 : refuse_unknown(host, name, fault);
}

/* --- Words ---------------------------------------------------------------------------------------- */

static bool is_place(const struct place *place)
{
	return S_ISDIR(place->mode) || S_ISREG(place->mode);
}

static bool is_folder(const struct place *place)
{
	return S_ISDIR(place->mode);
}

/* One alternative: 1, or 0 when there is none. */
static int find_alternative(const struct toolchain_found *found, const char *home, const char *text,
			    path_accept accept, char **ret_path, struct place *ret_place)
{
	const char *base = "";

	if (text[0] == '%') {
		const struct place *place = &found->places[text[1] - '1'];

		if (place->fd < 0)
			return 0;
		base = place->canonical;
		text += 2;
	} else if (text[0] == '~') {
		base = home;
		text++;
	}
	return path_newest(base, text, accept, ret_path, ret_place);
}

/* The first alternative of a word that visible, too, agrees with: 1 or 0. */
static int find_word(const struct toolchain_found *found, const char *home, const char *word,
		     const struct plan *plan, char **ret_path, struct place *ret_place)
{
	_cleanup_free_ char *copy = strdup(word + (word[0] == '-'));
	char *rest = copy, *text;

	if (!copy)
		return -ENOMEM;
	while ((text = strsep(&rest, "|"))) {
		_cleanup_(place_done) struct place place = PLACE_INIT;
		_cleanup_free_ char *path = NULL, *canonical = NULL;
		_cleanup_close_ int fd = -1;
		int r = find_alternative(found, home, text, plan ? is_folder : is_place, &path,
					 &place);

		if (r == 1 && plan) {
			r = inside_find(plan, path, &canonical, &fd);
			r = r == 0 ? 1 : r == -ENOMEM || r == -EMFILE || r == -ENFILE ? r : 0;
		}
		if (r == 0)
			continue;
		if (r == 1) {
			*ret_path = steal(&path);
			*ret_place = place;
			place = PLACE_INIT;
		}
		return r;
	}
	return 0;
}

/* The word for a message: what of it was looked for. */
static char *alternatives_of(const char *word)
{
	char *shown = display(word + (word[0] == '-'));

	for (char *at = shown; at && *at; at++)
		if (*at == '|')
			*at = ' ';
	return shown;
}

/* --- Places --------------------------------------------------------------------------------------- */

static int open_places(struct toolchain_found *found, const struct plan_host *host,
		       struct fault *fault)
{
	const struct text_list *words = &found->toolchain->read_only;

	for (size_t i = 0; i < words->count; i++) {
		_cleanup_free_ char *path = NULL, *shown = NULL;
		int r = find_word(found, host->home, words->items[i], NULL, &path,
				  &found->places[i]);

		if (r < 0)
			return r;
		if (r == 1 || words->items[i][0] == '-')
			continue;
		shown = alternatives_of(words->items[i]);
		return refuse(fault, found, "a part that it needs (ReadOnly=) is not there: %s",
			      shown);
	}
	return 0;
}

static int open_one(struct toolchains *toolchains, const struct plan_host *host, const char *name,
		    struct fault *fault)
{
	struct toolchain_found *found = &toolchains->items[toolchains->count];
	const struct toolchain *toolchain;
	int r = find(host, name, &toolchain, fault);

	if (r != 0)
		return r;
	for (size_t i = 0; i < toolchains->count; i++)
		if (toolchains->items[i].toolchain == toolchain)
			return fault_set(fault, ERROR_invalid,
					 "toolchains: %s is named a second time; once is allowed",
					 toolchain->name);
	found->toolchain = toolchain;
	found->own = toolchain_list_find(&host->config->toolchains, name) == toolchain;
	found->places = calloc(TOOLCHAIN_ENTRIES_MAX, sizeof(*found->places));
	toolchains->count++;
	if (!found->places)
		return -ENOMEM;
	for (size_t i = 0; i < TOOLCHAIN_ENTRIES_MAX; i++)
		found->places[i] = PLACE_INIT;
	return open_places(found, host, fault);
}

int toolchains_open(struct toolchains *ret_toolchains, const struct plan_host *host,
		    const struct launch_request *launch, struct fault *ret_fault)
{
	int r = 0;

	if (launch->toolchains.count == 0)
		return 0;
	ret_toolchains->items = calloc(launch->toolchains.count, sizeof(*ret_toolchains->items));
	if (!ret_toolchains->items)
		return -ENOMEM;
	for (size_t i = 0; r == 0 && i < launch->toolchains.count; i++)
		r = open_one(ret_toolchains, host, launch->toolchains.items[i], ret_fault);
	return r;
}

void toolchains_done(struct toolchains *toolchains)
{
	for (size_t i = 0; i < toolchains->count; i++) {
		struct toolchain_found *found = &toolchains->items[i];

		for (size_t j = 0; found->places && j < TOOLCHAIN_ENTRIES_MAX; j++)
			place_done(&found->places[j]);
		free(found->places);
		text_list_done(&found->path);
		text_list_done(&found->programs);
	}
	free(toolchains->items);
	free(toolchains->path);
	*toolchains = (struct toolchains){0};
}

/* Whether something else of this launch brings exactly this along already. */
static bool is_there(const struct bound_list *bounds, const struct place *place)
{
	for (size_t i = 0; i < bounds->count; i++) {
		const struct bound *bound = &bounds->items[i];

		if (!bound->writable && bound->place.device == place->device &&
		    bound->place.inode == place->inode &&
		    !strcmp(bound->destination, place->canonical))
			return true;
	}
	return false;
}

static int add_bound(struct bound_list *bounds, const struct toolchain *toolchain,
		     struct place *place, struct fault *fault)
{
	_cleanup_free_ char *field = NULL;
	struct bound *bound;
	int r;

	if (asprintf(&field, "toolchains: %s", toolchain->name) < 0) {
		field = NULL;
		return -ENOMEM;
	}
	r = bound_list_add(bounds, field, place, NULL, &bound, fault);
	if (r != 0)
		return r;
	bound->toolchain = true;
	/* The links on the way to it are seen inside, too. */
	bound->place.links = steal(&place->links);
	bound->place.link_count = place->link_count;
	place->link_count = 0;
	return 0;
}

int toolchains_bounds(struct toolchains *toolchains, struct bound_list *bounds,
		      struct fault *ret_fault)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < toolchains->count; i++) {
		struct toolchain_found *found = &toolchains->items[i];
		const struct text_list *words = &found->toolchain->read_only;

		for (size_t j = 0; r == 0 && j < words->count; j++)
			if (found->places[j].fd >= 0 && !is_there(bounds, &found->places[j]))
				r = add_bound(bounds, found->toolchain, &found->places[j],
					      ret_fault);
	}
	return r;
}

/* --- PATH and programs ---------------------------------------------------------------------------- */

static int find_path(struct toolchain_found *found, const struct plan *plan, const char *home,
		     struct fault *fault)
{
	const struct text_list *words = &found->toolchain->path;

	for (size_t i = 0; i < words->count; i++) {
		_cleanup_(place_done) struct place place = PLACE_INIT;
		_cleanup_free_ char *path = NULL, *shown = NULL;
		int r = find_word(found, home, words->items[i], plan, &path, &place);

		if (r == 1)
			r = strchr(path, ':') || words_have(&found->path, path)
				    ? 0
				    : text_list_add(&found->path, path);
		else if (r == 0 && words->items[i][0] != '-') {
			shown = alternatives_of(words->items[i]);
			r = refuse(fault, found,
				   "a folder of its programs (Path=) is not visible inside: %s",
				   shown);
		}
		if (r != 0)
			return r;
	}
	return 0;
}

static int join_path(struct toolchains *toolchains, const struct plan_host *host)
{
	size_t size = 0;
	FILE *file = open_memstream(&toolchains->path, &size);

	if (!file)
		return -ENOMEM;
	for (size_t i = 0; i < toolchains->count; i++) {
		const struct text_list *path = &toolchains->items[i].path;

		for (size_t j = 0; j < path->count; j++)
			fprintf(file, "%s:", path->items[j]);
	}
	fputs(host->config->path, file);
	return fclose(file) == 0 ? 0 : -ENOMEM;
}

/* Its canonical path inside when it is a program there: 1; 0, and -EACCES when it is only a file. */
static int is_program(const struct plan *plan, const char *path, char **ret_canonical)
{
	_cleanup_free_ char *canonical = NULL;
	_cleanup_close_ int fd = -1;
	struct stat st;
	char link[32];
	int r = inside_find(plan, path, &canonical, &fd);

	if (r == -ENOMEM || r == -EMFILE || r == -ENFILE)
		return r;
	if (r < 0 || fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return 0;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (faccessat(AT_FDCWD, link, X_OK, AT_EACCESS) < 0)
		return -EACCES;
	*ret_canonical = steal(&canonical);
	return 1;
}

/* 0: *ret_denied is NULL, or the first that is a file there which may not be executed. */
static int find_program(const struct plan *plan, const char *folders, const char *name,
			char **ret_canonical, char **ret_denied)
{
	_cleanup_free_ char *copy = strdup(folders);
	char *rest = copy, *folder;
	int r = copy ? 0 : -ENOMEM;

	while (r == 0 && (folder = strsep(&rest, ":"))) {
		_cleanup_free_ char *path = NULL;

		if (folder[0] != '/')
			continue;
		if (asprintf(&path, "%s/%s", folder, name) < 0) {
			path = NULL;
			return -ENOMEM;
		}
		r = is_program(plan, path, ret_canonical);
		if (r == -EACCES && !*ret_denied)
			*ret_denied = steal(&path);
		if (r == -EACCES)
			r = 0;
	}
	return r;
}

/* What was looked for and may be missing, for whoever lacks a program. */
static int refuse_program(const struct toolchains *toolchains, const struct toolchain_found *found,
			  const char *name, const char *denied, struct fault *fault)
{
	_cleanup_free_ char *looked = NULL, *path = display(denied ? denied : toolchains->path);
	const struct text_list *words = &found->toolchain->read_only;
	size_t size = 0;
	FILE *file;
	int r;

	if (denied) {
		r = refuse(fault, found, "its program \"%s\" may not be executed: %s", name, path);
		return r == FAULT ? fault_hint(fault, "chmod +x '%s'", path) : r;
	}
	file = open_memstream(&looked, &size);
	if (!file)
		return -ENOMEM;
	for (size_t i = 0; i < words->count; i++) {
		_cleanup_free_ char *shown = alternatives_of(words->items[i]);

		if (found->places[i].fd < 0)
			fprintf(file, "%s%s", ftell(file) > 0 ? " " : "; nothing is at ", shown);
	}
	if (fclose(file) != 0)
		return -ENOMEM;
	return refuse(fault, found, "its program \"%s\" is not visible inside, in none of %s%s",
		      name, path, looked);
}

static int find_programs(const struct toolchains *toolchains, struct toolchain_found *found,
			 const struct plan *plan, struct fault *fault)
{
	const struct text_list *names = &found->toolchain->programs;
	int r = 0;

	for (size_t i = 0; r == 0 && i < names->count; i++) {
		_cleanup_free_ char *canonical = NULL, *denied = NULL;

		r = find_program(plan, toolchains->path, names->items[i], &canonical, &denied);
		if (r == 0)
			return refuse_program(toolchains, found, names->items[i], denied, fault);
		if (r == 1)
			r = text_list_add(&found->programs, canonical);
	}
	return r;
}

static int copy_list(struct text_list *to, const struct text_list *from)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < from->count; i++)
		r = text_list_add(to, from->items[i]);
	return r;
}

static int record_one(struct plan_toolchain *record, const struct toolchain_found *found)
{
	int r = 0;

	record->name = strdup(found->toolchain->name);
	record->file = strdup(found->toolchain->file);
	if (!record->name || !record->file)
		return -ENOMEM;
	for (size_t i = 0; r == 0 && i < found->toolchain->read_only.count; i++)
		if (found->places[i].fd >= 0)
			r = text_list_add(&record->read_only, found->places[i].canonical);
	if (r == 0)
		r = copy_list(&record->path, &found->path);
	return r == 0 ? copy_list(&record->programs, &found->programs) : r;
}

static int record(const struct toolchains *toolchains, struct plan *plan)
{
	int r = 0;

	plan->toolchains = calloc(toolchains->count, sizeof(*plan->toolchains));
	if (!plan->toolchains)
		return -ENOMEM;
	for (size_t i = 0; r == 0 && i < toolchains->count; i++)
		r = record_one(&plan->toolchains[plan->toolchain_count++], &toolchains->items[i]);
	return r;
}

int toolchains_compose(struct toolchains *toolchains, struct plan *plan,
		       const struct plan_host *host, struct fault *ret_fault)
{
	int r = 0;

	if (toolchains->count == 0)
		return 0;
	for (size_t i = 0; r == 0 && i < toolchains->count; i++)
		r = find_path(&toolchains->items[i], plan, host->home, ret_fault);
	if (r == 0)
		r = join_path(toolchains, host);
	for (size_t i = 0; r == 0 && i < toolchains->count; i++)
		r = find_programs(toolchains, &toolchains->items[i], plan, ret_fault);
	return r == 0 ? record(toolchains, plan) : r;
}

/* --- Environment ---------------------------------------------------------------------------------- */

/* Whether a value needs a place that is missing. */
static bool lacks_place(const struct toolchain_found *found, const char *value)
{
	const struct text_list words = {.count = 1, .items = &value};

	for (size_t i = 0; i < TOOLCHAIN_NUMBERED_MAX; i++)
		if (found->places[i].fd < 0 && words_use(&words, (char)('1' + i)))
			return true;
	return false;
}

static int set_variables(const struct toolchain_found *found, struct plan *plan, const char *home)
{
	const struct pair_list *variables = &found->toolchain->environment;
	struct specifier specifiers[TOOLCHAIN_NUMBERED_MAX + 2] = {{'h', home}};
	int r = 0;

	for (size_t i = 0; i < TOOLCHAIN_NUMBERED_MAX; i++)
		specifiers[i + 1] = (struct specifier){(char)('1' + i), found->places[i].canonical};
	for (size_t i = 0; r == 0 && i < variables->count; i++) {
		_cleanup_free_ char *value = NULL;

		if (lacks_place(found, variables->items[i].value))
			continue;
		r = specifiers_expand(variables->items[i].value, specifiers, false, &value);
		if (r == 0)
			r = pair_list_set(&plan->environment, variables->items[i].name, value);
	}
	return r;
}

int toolchains_environment(const struct toolchains *toolchains, struct plan *plan,
			   const struct plan_host *host)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < toolchains->count; i++)
		r = set_variables(&toolchains->items[i], plan, plan_home_told(host));
	return r == 0 && toolchains->path
		       ? pair_list_set(&plan->environment, "PATH", toolchains->path)
		       : r;
}

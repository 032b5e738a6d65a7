/* SPDX-License-Identifier: MIT */
#include "plan/runner_plan.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/text.h"
#include "plan/build.h"
#include "plan/harness_words.h"
#include "plan/path_pattern.h"

/*
 * A Harness that the Arm does not declare is not there: where its program would be seen all the same,
 * beside that of a declared one in a folder of a toolchain, or with the system's programs, something
 * that is no program is mounted over it. By its path inside, through all links, so that no other name
 * in a folder of PATH leads to it either.
 *
 * It is a device, not an empty file: a shell that only asks whether a name is a file would find that.
 */

struct masking {
	struct plan *plan;
	const struct plan_host *host;
	const struct runner_plan *runner;
	const struct harness *harness; /* that is not declared */
};

/* What a path is inside, where it is a file of the host's: 1; else 0. */
static int find_inside(const struct plan *plan, const char *path, char **ret_canonical,
		       struct stat *ret_st)
{
	_cleanup_free_ char *canonical = NULL;
	_cleanup_close_ int fd = -1;
	int r = inside_find(plan, path, &canonical, &fd);

	if (r == -ENOMEM || r == -EMFILE || r == -ENFILE)
		return r;
	if (r < 0 || fd < 0 || fstat(fd, ret_st) < 0 || !S_ISREG(ret_st->st_mode))
		return 0;
	*ret_canonical = steal(&canonical);
	return 1;
}

/* --- What stays ----------------------------------------------------------------------------------- */

static bool is_place(const struct place *place, const struct stat *st)
{
	return place->fd >= 0 && place->device == st->st_dev && place->inode == st->st_ino;
}

/* Whether a declared one would be gone with it: its name, or NULL. */
static const char *needed_by(const struct masking *masking, const struct stat *st)
{
	for (size_t i = 0; i < masking->runner->session_count; i++) {
		const struct session_plan *session = &masking->runner->sessions[i];

		if (is_place(&session->program.file, st) ||
		    is_place(&session->program.interpreter, st))
			return session->harness->name;
	}
	return NULL;
}

static const char *toolchain_of(const struct plan *plan, const char *canonical)
{
	for (size_t i = 0; i < plan->toolchain_count; i++)
		if (words_have(&plan->toolchains[i].programs, canonical))
			return plan->toolchains[i].name;
	return NULL;
}

/* Wrappers are scripts of it. 1 or 0. */
static int is_shell(const struct plan *plan, const struct stat *st)
{
	_cleanup_free_ char *canonical = NULL;
	struct stat shell;
	int r = find_inside(plan, "/bin/sh", &canonical, &shell);

	return r == 1 ? shell.st_dev == st->st_dev && shell.st_ino == st->st_ino : r;
}

/* A mount point in a tree that may be written to could be led elsewhere. */
static bool is_writable(const struct plan *plan, const char *canonical)
{
	const struct plan_operation *nearest = NULL;

	for (size_t i = 0; i < plan->operation_count; i++) {
		const struct plan_operation *operation = &plan->operations[i];

		if (path_within(canonical, operation->destination) &&
		    (!nearest || path_within(operation->destination, nearest->destination)))
			nearest = operation;
	}
	return nearest && nearest->type == PLAN_BIND && nearest->writable;
}

/* *ret_reason: to be freed; NULL when it is to be covered. */
static int find_reason(const struct masking *masking, const char *canonical, const struct stat *st,
		       char **ret_reason)
{
	const char *needed = needed_by(masking, st);
	const char *toolchain = toolchain_of(masking->plan, canonical);
	int shell = is_shell(masking->plan, st);

	*ret_reason = NULL;
	if (shell < 0)
		return shell;
	if (needed)
		*ret_reason = text_format("%s needs the same file", needed);
	else if (toolchain)
		*ret_reason = text_format("the toolchain %s needs the same file", toolchain);
	else if (shell)
		*ret_reason = strdup("it is the shell");
	else if (is_writable(masking->plan, canonical))
		*ret_reason = strdup("it lies in a folder that may be written to");
	else if (masking->plan->operation_count >= PLAN_OPERATIONS_MAX)
		*ret_reason = strdup("the sandbox has too many mounts");
	else
		return 0;
	return *ret_reason ? 0 : -ENOMEM;
}

/* --- What is covered ------------------------------------------------------------------------------ */

static int mask_file(const struct masking *masking, const char *path, char **ret_canonical)
{
	_cleanup_free_ char *canonical = NULL, *reason = NULL, *shown = NULL;
	struct stat st;
	int r = find_inside(masking->plan, path, &canonical, &st);

	if (r == 1)
		r = find_reason(masking, canonical, &st, &reason);
	else
		return r;
	if (r < 0)
		return r;
	if (!reason) {
		if (!plan_add(masking->plan, PLAN_MASK, canonical, NULL))
			return -ENOMEM;
		if (ret_canonical)
			*ret_canonical = steal(&canonical);
		return 0;
	}
	shown = display(canonical);
	return plan_note(masking->plan,
			 "harnesses: %s is not declared, and its program %s is there: %s",
			 masking->harness->name, shown, reason);
}

/* The binary that a script of a package manager would start. */
static int mask_native(const struct masking *masking, const char *script)
{
	const struct text_list *patterns = &masking->harness->program.native;
	const char *slash = strrchr(script, '/');
	_cleanup_(text_list_done) struct text_list paths = {0};
	_cleanup_free_ char *folder = strndup(script, (size_t)(slash - script) + 1);
	int r = folder ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < patterns->count; i++)
		r = path_all(folder, patterns->items[i], &paths);
	for (size_t i = 0; r == 0 && i < paths.count; i++)
		r = mask_file(masking, paths.items[i], NULL);
	return r;
}

static int add_folders(struct text_list *paths, const struct masking *masking, const char *folders)
{
	_cleanup_free_ char *copy = folders ? strdup(folders) : NULL;
	char *rest = copy, *folder;
	int r = folders && !copy ? -ENOMEM : 0;

	while (r == 0 && copy && (folder = strsep(&rest, ":"))) {
		bool in_home = folder[0] == '~' && folder[1] == '/';

		if (folder[0] == '/' || in_home)
			r = text_list_add_format(paths, "%s%s/%s",
						 in_home ? masking->host->home : "",
						 folder + in_home,
						 masking->harness->program.executable);
	}
	return r;
}

/* On PATH inside, where trialsd.conf has it, and where its installer puts it. */
static int mask_harness(const struct masking *masking)
{
	const struct text_list *patterns = &masking->harness->program.installed;
	const char *path = pair_list_get(&masking->plan->environment, "PATH");
	_cleanup_(text_list_done) struct text_list paths = {0};
	int r = add_folders(&paths, masking, path);

	if (r == 0)
		r = add_folders(&paths, masking, masking->host->config->harness_path);
	for (size_t i = 0; r == 0 && i < patterns->count; i++) {
		bool in_home = patterns->items[i][0] == '~';

		r = path_all(in_home ? masking->host->home : "", patterns->items[i] + in_home,
			     &paths);
	}
	for (size_t i = 0; r == 0 && i < paths.count; i++) {
		_cleanup_free_ char *covered = NULL;

		r = mask_file(masking, paths.items[i], &covered);
		if (r == 0 && covered)
			r = mask_native(masking, covered);
	}
	return r;
}

static bool is_declared(const struct runner_plan *runner, const char *name)
{
	for (size_t i = 0; i < runner->session_count; i++)
		if (strcmp(runner->sessions[i].harness->name, name) == 0)
			return true;
	return false;
}

int runner_masks(struct plan *plan, const struct plan_host *host, const struct runner_plan *runner)
{
	struct masking masking = {.plan = plan, .host = host, .runner = runner};
	int r = 0;

	/* Without one nothing is mounted, and all of this host is there. */
	if (plan->no_sandbox || !host->harnesses)
		return 0;
	for (size_t i = 0; r == 0 && i < host->harnesses->count; i++) {
		const struct harness_entry *entry = &host->harnesses->entries[i];

		masking.harness = entry->harness;
		/* One that is declared and cannot be read is void before this. */
		if (!masking.harness)
			r = plan_note(plan,
				      "harnesses: the file of %s cannot be read, so where its "
				      "program is there, it can be run: trialctl harness check",
				      entry->name);
		else if (!is_declared(runner, masking.harness->name))
			r = mask_harness(&masking);
	}
	return r;
}

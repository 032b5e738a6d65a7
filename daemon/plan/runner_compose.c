/* SPDX-License-Identifier: MIT */
#include "plan/runner_plan.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

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
 * Patterns of git_exclude go into a file of git's core.excludesFile, by git's own variables. The
 * repository's .git/info/exclude is not mounted over: a mount point in a tree that may be written to
 * could be led elsewhere (rule 8 of destination.c), and a linked worktree's is not its own.
 */

int runner_command(struct plan *plan, const struct runner_plan *runner)
{
	const struct text_list *command = &runner->arm->command;
	int r = 0;

	for (size_t i = 0; r == 0 && i < command->count; i++) {
		const struct arm_file *file =
			arm_file_find(&runner->arm->files, command->items[i]);

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

static bool is_mapped(const struct runner_plan *runner, const char *below_home)
{
	for (size_t i = 0; i < runner->file_count; i++) {
		const char *path = runner->files[i].file->path;

		if (arm_path_is_home(path) && strcmp(path + 1, below_home) == 0)
			return true;
	}
	return false;
}

/* One that is there already, at the same place inside. */
static bool is_there(const struct bound_list *bounds, size_t count, const struct bound *bound)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(bounds->items[i].destination, bound->destination) == 0 &&
		    bounds->items[i].place.device == bound->place.device &&
		    bounds->items[i].place.inode == bound->place.inode)
			return true;
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
			const struct runner_plan *runner)
{
	int r = 0;

	for (size_t i = first; r == 0 && i < bounds->count;) {
		struct bound *bound = &bounds->items[i];
		bool mapped = bound->field[0] == '~' && is_mapped(runner, bound->field + 1);

		if (mapped)
			r = plan_note(plan, "files: the runner's own %s stands in the place of yours",
				      bound->field);
		if (mapped || is_there(bounds, i, bound))
			bound_drop(bounds, i);
		else
			i++;
	}
	return r;
}

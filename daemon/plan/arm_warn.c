/* SPDX-License-Identifier: MIT */
#include "plan/arm_warn.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "plan/arm_check.h"
#include "plan/build.h"
#include "plan/secret_name.h"

/* The file that the command begins with is run as it is. */
static int check_runner(const struct arm *arm, struct fault *fault)
{
	const char *program = arm->command.count > 0 ? arm->command.items[0] : "";
	_cleanup_free_ char *shown = NULL;

	if (*program == '/' || *program == '~' || !strchr(program, '/'))
		return 0;
	while (strncmp(program, "./", 2) == 0)
		program += 2;
	for (size_t i = 0; i < arm->files.count; i++) {
		const struct arm_file *file = &arm->files.items[i];

		if (!file->path || strcmp(file->path, program) != 0 || (file->mode & 0111) != 0)
			continue;
		shown = display(file->source);
		fault_set(fault, ERROR_refused, "command: %s is not executable", shown);
		return fault_hint(fault,
				  "chmod +x '%s', or let a program that is begin the command",
				  shown);
	}
	return 0;
}

static bool hides(const char *path, const struct place *place)
{
	return place->fd >= 0 &&
	       (path_within(place->canonical, path) || path_within(path, place->canonical));
}

/* What a wrapper runs is the program that was pinned, whatever is mapped. */
static int check_programs(const struct plan_host *host, const struct arm *arm,
			  const struct arm_harness_look *looks, struct fault *fault)
{
	for (size_t i = 0; i < arm->files.count; i++) {
		const struct arm_file *file = &arm->files.items[i];
		_cleanup_free_ char *path = NULL, *shown = NULL;

		if (!arm_path_is_home(file->path))
			continue;
		if (asprintf(&path, "%s%s", host->home, file->path + 1) < 0) {
			path = NULL;
			return -ENOMEM;
		}
		for (size_t k = 0; k < arm->harnesses.count; k++) {
			const struct program *program = &looks[k].program;

			if (!hides(path, &program->file) && !hides(path, &program->release) &&
			    !hides(path, &program->interpreter))
				continue;
			shown = display(file->path);
			return fault_set(fault, ERROR_refused,
					 "files: %s is where the program of %s is, which would be "
					 "run in its place",
					 shown, arm->harnesses.items[k].name);
		}
	}
	return 0;
}

static int warn_voids(const struct text_list *const *voids, size_t count,
		      struct text_list *warnings)
{
	int r = 0;

	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; r == 0 && k < voids[i]->count; k++)
			r = text_list_add_format(
				warnings,
				"%s: its launches are void; mend that, and prepare it again",
				voids[i]->items[k]);
	return r;
}

/* Of what has no digest. */
static int warn_own_files(const struct arm_harness *harness, struct text_list *warnings)
{
	const struct pair_list *files = &harness->own_files;
	int r = 0;

	for (size_t i = 0; r == 0 && i < files->count; i++)
		if (strlen(files->items[i].value) != ARM_ID_BYTES)
			r = text_list_add_format(
				warnings, "%s: %s is %s: what changes in it will not be seen",
				harness->name, files->items[i].name, files->items[i].value);
	return r;
}

static int warn_environment(const struct pair_list *environment, struct text_list *warnings)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < environment->count; i++) {
		const struct pair *pair = &environment->items[i];

		if (secret_variable(pair->name, pair->value))
			r = text_list_add_format(
				warnings,
				"environment: %s looks like a key, and stays in the Arm as it is; "
				"keys belong into the credentials file, as providers of the Arm",
				pair->name);
	}
	return r;
}

int arm_warn(const struct plan_host *host, const struct arm *arm,
	     const struct arm_harness_look *looks, const struct text_list *const *voids,
	     size_t void_count, struct text_list *warnings, struct fault *fault)
{
	int r = check_runner(arm, fault);

	if (r == 0)
		r = check_programs(host, arm, looks, fault);
	if (r == 0)
		r = warn_voids(voids, void_count, warnings);
	for (size_t i = 0; r == 0 && i < arm->harnesses.count; i++)
		r = warn_own_files(&arm->harnesses.items[i], warnings);
	return r == 0 ? warn_environment(&arm->environment, warnings) : r;
}

/* SPDX-License-Identifier: MIT */
#include "plan/arm_check.h"

#include <string.h>

#include "base/list.h"
#include "plan/harness.h"

/* --- Paths inside --------------------------------------------------------------------------------- */

bool arm_path_is_home(const char *path)
{
	return path[0] == '~' && path[1] == '/';
}

bool arm_path_valid(const char *text)
{
	const char *at = arm_path_is_home(text) ? text + 2 : text;

	if (*at == '\0' || *at == '~')
		return false;
	for (unsigned int depth = 1;; depth++) {
		size_t length = strcspn(at, "/");

		if (depth > ARM_PATH_DEPTH_MAX || length == 0 || length > NAME_MAX ||
		    (length == 1 && at[0] == '.') || (length == 2 && at[0] == '.' && at[1] == '.'))
			return false;
		if (at[length] == '\0')
			return true;
		at += length + 1;
	}
}

const struct arm_file *arm_file_find(const struct arm_file_list *files, const char *element)
{
	const char *path = strncmp(element, "./", 2) == 0 ? element + 2 : element;

	for (size_t i = 0; i < files->count; i++)
		if (!arm_path_is_home(files->items[i].path) &&
		    strcmp(files->items[i].path, path) == 0)
			return &files->items[i];
	return NULL;
}

/* Whether a is b, or a folder that b is in. */
static bool in_the_way(const char *a, const char *b)
{
	size_t length = strlen(a);

	return strncmp(a, b, length) == 0 && (b[length] == '\0' || b[length] == '/');
}

static int check_file(const struct arm_file_list *files, size_t index, struct fault *fault)
{
	const struct arm_file *file = &files->items[index];
	_cleanup_free_ char *shown = display(file->path);

	if (!arm_path_valid(file->path))
		return fault_set(fault, ERROR_invalid,
				 "files[%zu].path: \"%s\" is no path beside the runner, and no "
				 "~/PATH: it has at most %d components, and none may be empty, . "
				 "or ..",
				 index, shown, ARM_PATH_DEPTH_MAX);
	if (file->sha256 || file->has.size || file->has.mode_found)
		return fault_set(fault, ERROR_invalid,
				 "files[%zu]: size, sha256 and mode_found are found, and cannot be "
				 "asked for",
				 index);
	for (size_t i = 0; i < files->count; i++)
		if (i != index && in_the_way(file->path, files->items[i].path))
			return fault_set(fault, ERROR_invalid,
					 "files[%zu].path: \"%s\" is in the way of another mapped "
					 "file",
					 index, shown);
	return 0;
}

/* --- Names ---------------------------------------------------------------------------------------- */

static bool is_variable(const char *name)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
	static const char more[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";

	return *name && strchr(letters, *name) && name[strspn(name, more)] == '\0';
}

static int check_variables(const struct arm_spec *spec, struct fault *fault)
{
	for (size_t i = 0; i < spec->variables.count; i++) {
		const char *name = spec->variables.items[i];
		_cleanup_free_ char *shown = display(name);

		if (!is_variable(name))
			return fault_set(fault, ERROR_invalid,
					 "variables: \"%s\" is no name of a variable", shown);
		for (size_t k = 0; k < spec->environment.count; k++)
			if (strcmp(spec->environment.items[k].name, name) == 0)
				return fault_set(fault, ERROR_invalid,
						 "variables: %s has a value in environment, and a "
						 "launch could set another",
						 shown);
	}
	return 0;
}

static int check_roles(const struct arm_spec *spec, struct fault *fault)
{
	for (size_t i = 0; i < spec->roles.count; i++) {
		_cleanup_free_ char *shown = display(spec->roles.items[i]);

		if (role_from_name(spec->roles.items[i]) < 0)
			return fault_set(fault, ERROR_invalid,
					 "roles: there is no role \"%s\"; there are trial and "
					 "grader",
					 shown);
	}
	return 0;
}

static int check_harness(const struct arm_harness_list *harnesses, size_t index,
			 struct fault *fault)
{
	const struct arm_harness *harness = &harnesses->items[index];
	_cleanup_free_ char *shown = display(harness->name);

	if (!harness_name_valid(harness->name))
		return fault_set(fault, ERROR_invalid,
				 "harnesses[%zu].name: \"%s\" is no name of a Harness", index,
				 shown);
	if (harness->version || harness->sha256 || harness->endpoint || harness->hosts.count > 0 ||
	    harness->family || harness->interpreter || harness->interpreter_sha256)
		return fault_set(fault, ERROR_invalid,
				 "harnesses[%zu]: version, sha256, endpoint, hosts, family and "
				 "interpreter are found, and cannot be asked for",
				 index);
	for (size_t i = 0; i < index; i++)
		if (strcmp(harnesses->items[i].name, harness->name) == 0)
			return fault_set(fault, ERROR_invalid, "harnesses: %s is there twice",
					 shown);
	return 0;
}

static int check_provider(const struct arm_provider_list *providers, size_t index,
			  struct fault *fault)
{
	const struct arm_provider *provider = &providers->items[index];
	_cleanup_free_ char *shown = display(provider->name);

	if (provider->variable || provider->endpoint || provider->endpoint_variable ||
	    provider->hosts.count > 0 || provider->family)
		return fault_set(
			fault, ERROR_invalid,
			"providers[%zu]: variable, endpoint, endpoint_variable, hosts and family are found, "
			"and cannot be asked for",
			index);
	for (size_t i = 0; i < index; i++)
		if (strcmp(providers->items[i].name, provider->name) == 0)
			return fault_set(fault, ERROR_invalid, "providers: %s is there twice",
					 shown);
	return 0;
}

/* --- Together ------------------------------------------------------------------------------------- */

static int check_session(const struct arm_spec *spec, struct fault *fault)
{
	const char *key = spec->files.count > 0		? "files"
			  : spec->git_exclude.count > 0 ? "git_exclude"
			  : spec->harnesses.count > 0	? "harnesses"
			  : spec->providers.count > 0	? "providers"
							: NULL;

	if (!key)
		return 0;
	return fault_set(fault, ERROR_invalid,
			 "%s: only of a Custom runner, which has a command instead of a harness",
			 key);
}

static int check_runner(const struct arm_spec *spec, struct fault *fault)
{
	const char *key = spec->model		      ? "model"
			  : spec->effort	      ? "effort"
			  : spec->executable	      ? "executable"
			  : spec->arguments.count > 0 ? "arguments"
						      : NULL;
	const char *program = spec->command.items[0];
	_cleanup_free_ char *shown = display(program);
	int r;

	if (key)
		return fault_set(fault, ERROR_invalid,
				 "%s: only of a harness; a Custom runner says so to those that it "
				 "drives",
				 key);
	if (*program == '\0')
		return fault_set(fault, ERROR_invalid, "command: the program has no name");
	if (program[0] == '/' || !strchr(program, '/') || arm_file_find(&spec->files, program))
		return 0;
	r = fault_set(fault, ERROR_invalid, "command: \"%s\" is no mapped file of this Arm", shown);
	if (r == FAULT && program[0] == '~')
		return fault_hint(fault,
				  "map it, and name it as it is inside: \"files\": {\"%s\": "
				  "\"%s\"}, \"command\": [\"./%s\"]",
				  shown, strrchr(shown, '/') + 1, strrchr(shown, '/') + 1);
	return r < 0 ? r : fault_hint(fault, "map it: \"files\": {\"%s\": \"%s\"}", shown, shown);
}

int arm_spec_check(const struct arm_spec *spec, struct fault *ret_fault)
{
	int r;

	if (!*spec->name)
		return fault_set(ret_fault, ERROR_invalid, "name: it is empty");
	if (!spec->harness == (spec->command.count == 0))
		return fault_set(ret_fault, ERROR_invalid,
				 "an Arm has either a harness or, of a Custom runner, a command");
	r = spec->harness ? check_session(spec, ret_fault) : check_runner(spec, ret_fault);
	for (size_t i = 0; r == 0 && i < spec->files.count; i++)
		r = check_file(&spec->files, i, ret_fault);
	for (size_t i = 0; r == 0 && i < spec->harnesses.count; i++)
		r = check_harness(&spec->harnesses, i, ret_fault);
	for (size_t i = 0; r == 0 && i < spec->providers.count; i++)
		r = check_provider(&spec->providers, i, ret_fault);
	if (r == 0)
		r = check_roles(spec, ret_fault);
	return r == 0 ? check_variables(spec, ret_fault) : r;
}

/* SPDX-License-Identifier: MIT */
#include "plan/arm_freeze.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/text.h"
#include "plan/arm.h"
#include "plan/arm_check.h"
#include "plan/arm_claims.h"
#include "plan/arm_harness.h"
#include "plan/arm_toolchain.h"
#include "plan/arm_warn.h"
#include "plan/build.h"
#include "plan/folder_digest.h"
#include "plan/secret_file.h"

/*
 * Everything is opened on the loop, once, and looked at by that descriptor from then on. What is found
 * depends on the host and on what was asked for, and on nothing that merely happened before: of a look
 * at the same things the same must come. The one exception is a program's version: where that can be
 * told depends on whether it could be asked, so of a program with the same digest it is what it was.
 */
#define HOME_FILE_BYTES_MAX (4u << 20)
#define ALL_FILES_BYTES_MAX (4ull << 30)

struct file_look {
	struct place place; /* fd -1: gone */
	struct arm_store_file found;
	int result;
};

struct folder_look {
	const char *field;
	const char *path; /* NULL: not asked for */
	struct place place;
	struct folder_digest found;
	int result;
};

struct arm_freeze {
	struct arm_freeze_options options;
	struct message *spec_message;
	struct arm_spec spec;	/* points into it */
	struct arm_harness own; /* of an Arm with a harness: the one that there is */
	struct arm_harness_list asked;
	struct arm_harness_look harnesses[ARM_HARNESSES_MAX];
	struct arm_provider_look providers[ARM_PROVIDERS_MAX];
	struct arm_toolchain_look toolchains;
	struct file_look *files;
	struct folder_look build;
	struct folder_look skills;
	struct text_list missing;
	struct text_list signed_out;
	struct text_list claimed;
	struct text_list warnings;
	struct message *arm_message;
	struct arm arm; /* points into it */
};

/* --- Begun: copies -------------------------------------------------------------------------------- */

static int copy_spec(struct arm_freeze *freeze, const struct arm_spec *spec)
{
	struct decode_error error;
	msgpack_sbuffer buffer;
	msgpack_packer packer;
	int r;

	msgpack_sbuffer_init(&buffer);
	msgpack_packer_init(&packer, &buffer, msgpack_sbuffer_write);
	r = message_encode(&packer, &arm_spec_type, spec);
	if (r == 0)
		r = message_parse(&freeze->spec_message, buffer.data, buffer.size);
	if (r == 0)
		r = message_decode(freeze->spec_message, message_root(freeze->spec_message),
				   &arm_spec_type, UNKNOWN_KEYS_REFUSED, &freeze->spec, &error);
	msgpack_sbuffer_destroy(&buffer);
	return r;
}

/* --- Begun: as a launch would have it ------------------------------------------------------------- */

/* What a launch of it would be refused for is refused now. */
static int check_launch(struct arm_freeze *freeze, struct fault *fault)
{
	static const char *some[] = {"true", NULL};
	const struct arm_spec *spec = &freeze->spec;
	struct launch_request launch = {
		.has = {.prompt = spec->harness != NULL,
			.limits = spec->has.limits,
			.environment = spec->environment.count > 0},
		.harness = spec->harness,
		.model = spec->model,
		.effort = spec->effort,
		.executable = spec->executable,
		.arguments = spec->arguments,
		.prompt = {.data = (const uint8_t *)" ", .size = 1},
		.limits = spec->limits,
		.environment = spec->environment,
		.toolchains = spec->toolchains,
		.skills = spec->skills,
		.build = spec->build,
	};

	if (!spec->harness)
		launch.command = (struct text_list){.count = 1, .items = some};
	launch.has.command = !spec->harness;
	return plan_check(freeze->options.host, &launch, NULL, &freeze->warnings, fault);
}

/* --- Begun: files and folders --------------------------------------------------------------------- */

/* fd -1: it is gone, which of an Arm that is looked at again the comparison tells. */
static int open_place(const struct arm_freeze *freeze, const char *field, const char *path,
		      mode_t kind, struct place *ret_place, struct fault *fault)
{
	_cleanup_fault_ struct fault ignored = FAULT_INIT;
	struct fault *told = freeze->options.before ? &ignored : fault;
	_cleanup_free_ char *shown = NULL;
	int r = place_open(ret_place, field, path, NULL, told);

	if (r == 0 && (ret_place->mode & S_IFMT) != kind) {
		shown = display(path);
		r = fault_set(told, ERROR_invalid, "%s: %s is no %s", field, shown,
			      kind == S_IFDIR ? "folder" : "regular file");
		if (r == FAULT && kind == S_IFREG && S_ISDIR(ret_place->mode))
			r = fault_hint(told, "name each of its files, or the folder as build: it "
					     "is read-only inside, at its own path");
		place_done(ret_place);
	}
	return r == FAULT && freeze->options.before ? 0 : r;
}

static bool is_allowed(const struct arm_spec *spec, const char *source, const char *canonical)
{
	for (size_t i = 0; i < spec->secret_files.count; i++)
		if (strcmp(spec->secret_files.items[i], source) == 0 ||
		    strcmp(spec->secret_files.items[i], canonical) == 0)
			return true;
	return false;
}

static int check_secret(struct arm_freeze *freeze, const char *field, const char *source,
			const struct place *place, struct fault *fault)
{
	_cleanup_free_ char *reason = NULL, *shown = NULL;
	int r;

	/* That it may be mapped was decided when it was prepared. */
	if (freeze->options.before || is_allowed(&freeze->spec, source, place->canonical))
		return 0;
	r = secret_file(freeze->options.host, place, source, &reason);
	if (r <= 0) /* 1: a reason */
		return r;
	shown = display(source);
	r = fault_set(fault, ERROR_refused, "%s: %s may not be mapped: %s", field, shown, reason);
	return r < 0 ? r : fault_hint(fault, "if that is meant: --allow-secret-file '%s'", shown);
}

static int begin_file(struct arm_freeze *freeze, size_t index, struct fault *fault)
{
	const struct arm_file *file = &freeze->spec.files.items[index];
	struct file_look *look = &freeze->files[index];
	char field[64];
	mode_t mode;
	int r;

	snprintf(field, sizeof(field), "files[%zu].source", index);
	r = open_place(freeze, field, file->source, S_IFREG, &look->place, fault);
	if (r != 0 || look->place.fd < 0)
		return r;
	mode = file->has.mode ? (mode_t)file->mode : look->place.mode;
	look->found.executable = (mode & 0111) != 0;
	return check_secret(freeze, field, file->source, &look->place, fault);
}

static int begin_files(struct arm_freeze *freeze, struct fault *fault)
{
	size_t count = freeze->spec.files.count;
	int r = 0;

	freeze->files = calloc(count + 1, sizeof(*freeze->files));
	if (!freeze->files)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		freeze->files[i].place = PLACE_INIT;
	for (size_t i = 0; r == 0 && i < count; i++)
		r = begin_file(freeze, i, fault);
	return r;
}

static int begin_folder(struct arm_freeze *freeze, struct folder_look *look, const char *field,
			const char *path, struct fault *fault)
{
	look->field = field;
	look->path = path;
	return path ? open_place(freeze, field, path, S_IFDIR, &look->place, fault) : 0;
}

/* --- Begun: Harnesses, toolchains ----------------------------------------------------------------- */

/* Of an Arm that is looked at again, a Harness that is not known any more is missing, and why is told. */
static int forgive(struct arm_freeze *freeze, int r, const char *name, struct fault *fault)
{
	static const char about[] = "harness: ";
	_cleanup_free_ char *text = NULL;
	const char *message;

	if (r != FAULT || !freeze->options.before)
		return r;
	message = fault->message ?: "";
	if (strncmp(message, about, strlen(about)) == 0)
		message += strlen(about);
	text = text_format("%s: %s", name, message);
	fault_done(fault);
	*fault = FAULT_INIT;
	return text ? text_list_add(&freeze->missing, text) : -ENOMEM;
}

static int begin_harnesses(struct arm_freeze *freeze, struct fault *fault)
{
	const struct arm_spec *spec = &freeze->spec;
	const struct arm_freeze_options *options = &freeze->options;
	char field[64];
	int r = 0;

	freeze->asked = spec->harnesses;
	if (spec->harness) {
		freeze->own = (struct arm_harness){
			.name = spec->harness,
			.executable = spec->executable,
		};
		freeze->asked = (struct arm_harness_list){.count = 1, .items = &freeze->own};
	}
	for (size_t i = 0; r == 0 && i < freeze->asked.count; i++) {
		struct arm_harness_look *look = &freeze->harnesses[i];
		const struct arm_harness_options one = {
			.host = options->host,
			.field = spec->harness ? "harness" : field,
			.model = spec->model,
			.environment = &spec->environment,
			.variables = &spec->variables,
			.own_session = spec->harness != NULL,
			.bwrap_fd = options->bwrap_fd,
			.again = options->before != NULL,
			.before = options->before,
		};

		snprintf(field, sizeof(field), "harnesses[%zu]", i);
		r = arm_harness_look_begin(look, &one, &freeze->asked.items[i], fault);
		r = forgive(freeze, r, freeze->asked.items[i].name, fault);
		if (r == 0 && look->warning)
			r = text_list_add(&freeze->warnings, look->warning);
		if (r == 0 && look->missing)
			r = text_list_add(&freeze->missing, look->missing);
		if (r == 0 && look->signed_out)
			r = text_list_add(&freeze->signed_out, look->signed_out);
	}
	return r;
}

static int begin_providers(struct arm_freeze *freeze, struct fault *fault)
{
	const struct arm_spec *spec = &freeze->spec;
	char field[64];
	int r = 0;

	for (size_t i = 0; r == 0 && i < spec->providers.count; i++) {
		struct arm_provider_look *look = &freeze->providers[i];

		snprintf(field, sizeof(field), "providers[%zu]", i);
		r = arm_provider_look(look, freeze->options.host, field, &spec->providers.items[i],
				      &spec->environment, freeze->options.before != NULL, fault);
		if (r == 0 && look->warning)
			r = text_list_add(&freeze->warnings, look->warning);
		if (r == 0 && look->signed_out)
			r = text_list_add(&freeze->signed_out, look->signed_out);
	}
	return r;
}

static int begin(struct arm_freeze *freeze, struct fault *fault)
{
	const struct arm_spec *spec = &freeze->spec;
	int r = arm_spec_check(spec, fault);

	if (r == 0 && !freeze->options.before)
		r = check_launch(freeze, fault);
	if (r == 0)
		r = begin_harnesses(freeze, fault);
	if (r == 0)
		r = begin_providers(freeze, fault);
	if (r == 0)
		r = arm_toolchain_look_begin(&freeze->toolchains, freeze->options.host,
					     &spec->toolchains, freeze->options.before != NULL,
					     fault);
	if (r == 0)
		r = arm_claims_tell(freeze->options.host, spec, freeze->harnesses,
				    freeze->asked.count, freeze->providers, &freeze->claimed);
	if (r == 0)
		r = begin_files(freeze, fault);
	if (r == 0)
		r = begin_folder(freeze, &freeze->build, "build", spec->build, fault);
	if (r == 0)
		r = begin_folder(freeze, &freeze->skills, "skills", spec->skills, fault);
	return r;
}

int arm_freeze_begin(struct arm_freeze **ret_freeze, const struct arm_freeze_options *options,
		     const struct arm_spec *spec, struct fault *ret_fault)
{
	struct arm_freeze *freeze = calloc(1, sizeof(*freeze));
	int r;

	if (!freeze)
		return -ENOMEM;
	freeze->options = *options;
	freeze->build.place = PLACE_INIT;
	freeze->skills.place = PLACE_INIT;
	for (size_t i = 0; i < ARM_HARNESSES_MAX; i++)
		freeze->harnesses[i] = ARM_HARNESS_LOOK_INIT;
	r = copy_spec(freeze, spec);
	if (r == 0)
		r = begin(freeze, ret_fault);
	if (r != 0) {
		arm_freeze_free(freeze);
		return r;
	}
	*ret_freeze = freeze;
	return 0;
}

/* --- Worked --------------------------------------------------------------------------------------- */

void arm_freeze_work(struct arm_freeze *freeze)
{
	struct folder_look *folders[] = {&freeze->build, &freeze->skills};
	uint64_t total = 0;

	for (size_t i = 0; i < freeze->asked.count; i++)
		arm_harness_look_work(&freeze->harnesses[i]);
	arm_toolchain_look_work(&freeze->toolchains);
	for (size_t i = 0; i < freeze->spec.files.count; i++) {
		struct file_look *look = &freeze->files[i];

		if (look->place.fd < 0)
			continue;
		look->result = total > ALL_FILES_BYTES_MAX
				       ? -EFBIG
				       : arm_store_take(freeze->options.store, look->place.fd,
							&look->found);
		total += look->found.size;
	}
	for (size_t i = 0; i < ARRAY_SIZE(folders); i++)
		if (folders[i]->place.fd >= 0)
			folders[i]->result = folder_digest(folders[i]->place.fd,
							   &folders[i]->found);
}

/* --- Finished ------------------------------------------------------------------------------------- */

static int refuse_read(const char *field, const char *path, int error, struct fault *fault)
{
	_cleanup_free_ char *shown = display(path);

	switch (error) {
	case -EBUSY:
		fault_set(fault, ERROR_busy, "%s: %s changes while it is read", field, shown);
		return fault_hint(fault, "wait until it is not written to, and try again");
	case -EFBIG:
		return fault_set(fault, ERROR_refused,
				 "%s: %s is too large for an Arm: at most 1 GiB for a file, 4 GiB "
				 "for all of them, and 100,000 entries and 16 GiB for a folder",
				 field, shown);
	case -ELOOP:
		return fault_set(fault, ERROR_refused,
				 "%s: %s has folders more than %d deep in each other", field, shown,
				 FOLDER_DEPTH_MAX);
	case -EACCES:
		return fault_set(fault, ERROR_invalid, "%s: %s cannot be read: no permission",
				 field, shown);
	case -ENOSPC:
	case -EDQUOT:
	case -EROFS:
		return fault_set(fault, ERROR_unavailable,
				 "%s: %s cannot be kept in the state folder: %s", field, shown,
				 strerror(-error));
	case -ENOMEM:
		return error;
	default:
		return fault_set(fault, ERROR_unavailable, "%s: %s: %s", field, shown,
				 strerror(-error));
	}
}

/* Whether it is the host's file that says of what mode it is. */
static bool mode_is_found(const struct arm_freeze *freeze, const struct arm_file *asked)
{
	const struct arm *before = freeze->options.before;

	for (size_t i = 0; before && i < before->files.count; i++)
		if (strcmp(before->files.items[i].path, asked->path) == 0)
			return before->files.items[i].mode_found;
	return !asked->has.mode;
}

static int finish_file(const struct arm_freeze *freeze, size_t index, struct arm_file *file,
		       struct fault *fault)
{
	const struct arm_file *asked = &freeze->spec.files.items[index];
	const struct file_look *look = &freeze->files[index];
	bool found = mode_is_found(freeze, asked);
	char field[64];

	*file = (struct arm_file){
		.has = {.mode = true, .mode_found = found},
		.source = asked->source,
		.path = asked->path,
		.mode = found && look->place.fd >= 0 ? look->place.mode & 0777 : asked->mode,
		.mode_found = found,
	};
	if (look->place.fd < 0)
		return 0;
	snprintf(field, sizeof(field), "files[%zu].source", index);
	if (look->result < 0)
		return refuse_read(field, asked->source, look->result, fault);
	if (!freeze->options.before && arm_path_is_home(asked->path) &&
	    look->found.size > HOME_FILE_BYTES_MAX)
		return fault_set(
			fault, ERROR_refused,
			"%s: a file of the fresh home has at most 4 MiB; map it beside the "
			"runner",
			field);
	file->size = look->found.size;
	file->has.size = true;
	file->sha256 = look->found.sha256;
	return 0;
}

static int finish_folder(const struct folder_look *look, struct arm_folder *ret_folder,
			 bool *ret_has, struct fault *fault)
{
	*ret_has = look->path != NULL;
	*ret_folder = (struct arm_folder){.path = look->path};
	if (look->place.fd < 0)
		return 0;
	if (look->result < 0)
		return refuse_read(look->field, look->path, look->result, fault);
	ret_folder->sha256 = look->found.sha256;
	ret_folder->files = look->found.files;
	ret_folder->bytes = look->found.bytes;
	ret_folder->has.files = ret_folder->has.bytes = true;
	return 0;
}

/*
 * The version of the same program is what it was; and an Arm of a time when its .harness file was not
 * frozen does not tell what that was.
 */
static void keep_known(const struct arm *before, struct arm_harness *harness)
{
	const struct arm_harness *was = before ? arm_harness_find(before, harness->name) : NULL;

	if (was && !was->definition) {
		harness->definition = NULL;
		harness->own_files = (struct pair_list){0};
		harness->has.own_files = false;
	}
	/* Nor does one of a time when interpreters were not. */
	if (was && was->executable && !was->interpreter)
		harness->interpreter = harness->interpreter_sha256 = NULL;
	if (was && was->sha256 && harness->sha256 && strcmp(was->sha256, harness->sha256) == 0)
		harness->version = was->version;
}

/* Likewise one of a time when nothing was frozen of toolchains. */
static void keep_unknown(const struct arm *before, struct arm *arm)
{
	if (before && before->toolchains_found.count == 0)
		arm->toolchains_found = (struct pair_list){0};
}

static int finish_harnesses(struct arm_freeze *freeze, struct arm_harness *harnesses,
			    struct text_list *families, struct fault *fault)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < freeze->asked.count; i++) {
		r = arm_harness_look_finish(&freeze->harnesses[i], freeze->options.host,
					    &harnesses[i], fault);
		keep_known(freeze->options.before, &harnesses[i]);
		if (r == 0 && harnesses[i].family)
			r = text_list_add(families, harnesses[i].family);
	}
	return r;
}

static int finish_providers(const struct arm_freeze *freeze, struct arm_provider *providers,
			    struct text_list *families)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < freeze->spec.providers.count; i++) {
		arm_provider_tell(&freeze->providers[i], &providers[i]);
		if (providers[i].family)
			r = text_list_add(families, providers[i].family);
	}
	return r;
}

/* In canonical form, by which it is told and compared. */
static int settle(struct arm_freeze *freeze, const struct arm *arm)
{
	char id[ARM_ID_BYTES + 1];
	msgpack_sbuffer buffer;
	int r = arm_encode(arm, &buffer, id);

	if (r == 0)
		r = arm_decode(&freeze->arm_message, buffer.data, buffer.size, id, &freeze->arm);
	msgpack_sbuffer_destroy(&buffer);
	return r;
}

/* --- Finished: all of it -------------------------------------------------------------------------- */

int arm_freeze_finish(struct arm_freeze *freeze, struct fault *ret_fault)
{
	const struct arm_spec *spec = &freeze->spec;
	_cleanup_(text_list_done) struct text_list families = {0};
	_cleanup_free_ struct arm_file *files = calloc(spec->files.count + 1, sizeof(*files));
	struct arm_harness harnesses[ARM_HARNESSES_MAX];
	struct arm_provider providers[ARM_PROVIDERS_MAX];
	const struct text_list *const voids[] = {&freeze->signed_out, &freeze->claimed};
	struct arm arm = {
		.has = {.form = true, .limits = spec->has.limits},
		.form = ARM_FORM,
		.name = spec->name,
		.harness = spec->harness,
		.model = spec->model,
		.effort = spec->effort,
		.arguments = spec->arguments,
		.command = spec->command,
		.files = {.count = spec->files.count, .items = files},
		.roles = spec->roles,
		.git_exclude = spec->git_exclude,
		.harnesses = {.count = freeze->asked.count, .items = harnesses},
		.providers = {.count = spec->providers.count, .items = providers},
		.limits = spec->limits,
		.environment = spec->environment,
		.variables = spec->variables,
		.toolchains = spec->toolchains,
	};
	int r = files ? 0 : -ENOMEM;

	if (r == 0)
		r = finish_harnesses(freeze, harnesses, &families, ret_fault);
	if (r == 0)
		r = finish_providers(freeze, providers, &families);
	if (r == 0)
		r = arm_toolchain_look_finish(&freeze->toolchains, freeze->options.host, ret_fault);
	for (size_t i = 0; r == 0 && i < spec->files.count; i++)
		r = finish_file(freeze, i, &files[i], ret_fault);
	if (r == 0)
		r = finish_folder(&freeze->build, &arm.build, &arm.has.build, ret_fault);
	if (r == 0)
		r = finish_folder(&freeze->skills, &arm.skills, &arm.has.skills, ret_fault);
	if (r == 0 && !freeze->options.before)
		r = arm_warn(freeze->options.host, &arm, freeze->harnesses, voids,
			     ARRAY_SIZE(voids), &freeze->warnings, ret_fault);
	if (r != 0)
		return r;
	arm.families = families;
	arm.toolchains_found = freeze->toolchains.found;
	keep_unknown(freeze->options.before, &arm);
	return settle(freeze, &arm);
}

struct arm_freeze *arm_freeze_free(struct arm_freeze *freeze)
{
	if (!freeze)
		return NULL;
	for (size_t i = 0; i < ARM_HARNESSES_MAX; i++)
		arm_harness_look_done(&freeze->harnesses[i]);
	for (size_t i = 0; i < ARM_PROVIDERS_MAX; i++)
		arm_provider_look_done(&freeze->providers[i]);
	arm_toolchain_look_done(&freeze->toolchains);
	for (size_t i = 0; freeze->files && i < freeze->spec.files.count; i++)
		place_done(&freeze->files[i].place);
	free(freeze->files);
	place_done(&freeze->build.place);
	place_done(&freeze->skills.place);
	text_list_done(&freeze->missing);
	text_list_done(&freeze->signed_out);
	text_list_done(&freeze->claimed);
	text_list_done(&freeze->warnings);
	message_free(freeze->spec_message);
	message_free(freeze->arm_message);
	free(freeze);
	return NULL;
}

/* --- What was found ------------------------------------------------------------------------------- */

const struct arm *arm_freeze_arm(const struct arm_freeze *freeze)
{
	return &freeze->arm;
}

const struct text_list *arm_freeze_missing(const struct arm_freeze *freeze)
{
	return &freeze->missing;
}

const struct text_list *arm_freeze_signed_out(const struct arm_freeze *freeze)
{
	return &freeze->signed_out;
}

const struct text_list *arm_freeze_claimed(const struct arm_freeze *freeze)
{
	return &freeze->claimed;
}

const struct text_list *arm_freeze_warnings(const struct arm_freeze *freeze)
{
	return &freeze->warnings;
}

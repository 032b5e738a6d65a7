/* SPDX-License-Identifier: MIT */
#include "sandbox_facts.h"

#include <nettle/base16.h>
#include <stdio.h>
#include <string.h>

#include "build.h"
#include "harness_words.h"
#include "secret_name.h"

/* Shorter values stand in much that is no secret. */
#define SECRET_BYTES_MIN 6

static const enum mount_kind kinds[] = {
	[PLAN_BIND] = MOUNT_KIND_bind,	  [PLAN_SYSTEM_BIND] = MOUNT_KIND_system,
	[PLAN_TMPFS] = MOUNT_KIND_tmpfs,  [PLAN_DIRECTORY] = MOUNT_KIND_folder,
	[PLAN_SYMLINK] = MOUNT_KIND_link, [PLAN_FILE] = MOUNT_KIND_file,
	[PLAN_MASK] = MOUNT_KIND_mask,	  [PLAN_PROC] = MOUNT_KIND_proc,
	[PLAN_DEV] = MOUNT_KIND_dev,	  [PLAN_REMOUNT_RO] = MOUNT_KIND_sealed,
};

static void fill_mount(struct sandbox_mount *mount, const struct plan_operation *operation,
		       char digest[65])
{
	bool binds = operation->type == PLAN_BIND || operation->type == PLAN_SYSTEM_BIND;

	*mount = (struct sandbox_mount){
		.has = {.destination = true,
			.kind = true,
			.mode = binds,
			.size = operation->type == PLAN_TMPFS},
		.destination = operation->destination,
		.kind = kinds[operation->type],
		.source = operation->source,
		.mode = operation->writable ? MODE_rw : MODE_ro,
		.size = operation->size,
	};
	if (!operation->file)
		return;
	base16_encode_update(digest, sizeof(operation->file->digest), operation->file->digest);
	digest[64] = '\0';
	mount->sha256 = digest;
}

static int add_mounts(struct sandbox_facts *facts, const struct plan *plan)
{
	struct sandbox_mount_list *mounts = &facts->view.mounts;
	size_t count = plan->operation_count < MOUNTS_MAX ? plan->operation_count : MOUNTS_MAX;

	mounts->items = calloc(count + 1, sizeof(*mounts->items));
	facts->digests = calloc(count + 1, sizeof(*facts->digests));
	if (!mounts->items || !facts->digests)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		fill_mount(&mounts->items[i], &plan->operations[i], facts->digests[i]);
	mounts->count = count;
	return 0;
}

/* What stands for a text: itself, unless it is long. NULL: memory. */
static const char *shown(struct sandbox_facts *facts, const char *text)
{
	size_t length = strlen(text);

	if (length <= SANDBOX_WORD_BYTES_MAX)
		return text;
	if (text_list_add_format(&facts->made, "(%zu bytes)", length) < 0)
		return NULL;
	return facts->made.items[facts->made.count - 1];
}

static int add_environment(struct sandbox_facts *facts, const struct plan *plan)
{
	struct pair_list *environment = &facts->view.environment;
	struct text_list *masked = &facts->view.masked;

	environment->items = calloc(plan->environment.count + 1, sizeof(*environment->items));
	masked->items = calloc(plan->environment.count + 1, sizeof(*masked->items));
	if (!environment->items || !masked->items)
		return -ENOMEM;
	for (size_t i = 0; i < plan->environment.count; i++) {
		const struct pair *pair = &plan->environment.items[i];
		struct pair *copy = &environment->items[environment->count++];

		copy->name = pair->name;
		if (words_have(&plan->secrets, pair->name) ||
		    secret_variable(pair->name, pair->value)) {
			masked->items[masked->count++] = pair->name;
			copy->value = SANDBOX_MASKED;
		} else {
			copy->value = shown(facts, pair->value);
		}
		if (!copy->value)
			return -ENOMEM;
	}
	return 0;
}

static bool holds_secret(const struct sandbox_facts *facts, const struct plan *plan,
			 const char *word)
{
	for (size_t i = 0; i < facts->view.masked.count; i++) {
		const char *value = pair_list_get(&plan->environment, facts->view.masked.items[i]);

		if (value && strlen(value) >= SECRET_BYTES_MIN && strstr(word, value))
			return true;
	}
	return false;
}

static int add_command(struct sandbox_facts *facts, const struct plan *plan)
{
	struct text_list *command = &facts->view.command;

	command->items = calloc(plan->command.count + 1, sizeof(*command->items));
	if (!command->items)
		return -ENOMEM;
	for (size_t i = 0; i < plan->command.count; i++) {
		const char *word = plan->command.items[i];

		bool secret = holds_secret(facts, plan, word) ||
			      secret_word(i > 0 ? plan->command.items[i - 1] : NULL, word);

		command->items[i] = secret ? SANDBOX_MASKED : shown(facts, word);
		if (!command->items[i])
			return -ENOMEM;
		command->count++;
	}
	return 0;
}

static int add_toolchains(struct sandbox_facts *facts, const struct plan *plan)
{
	struct trial_toolchain_list *toolchains = &facts->toolchains;

	toolchains->items = calloc(plan->toolchain_count + 1, sizeof(*toolchains->items));
	if (!toolchains->items)
		return -ENOMEM;
	for (size_t i = 0; i < plan->toolchain_count; i++) {
		const struct plan_toolchain *toolchain = &plan->toolchains[i];

		toolchains->items[toolchains->count++] = (struct trial_toolchain){
			.has = {.name = true, .read_only = true, .path = true, .programs = true},
			.name = toolchain->name,
			.read_only = toolchain->read_only,
			.path = toolchain->path,
			.programs = toolchain->programs,
			.file = toolchain->file,
		};
	}
	return 0;
}

int sandbox_facts_make(struct sandbox_facts *ret, const struct plan *plan)
{
	bool allowlist = plan->network == NETWORK_allowlist;
	int r;

	*ret = (struct sandbox_facts){
		.view = {.has = {.limits = true, .grace_seconds = true, .idle_seconds = allowlist},
			 .cwd = plan->cwd,
			 .limits = plan->limits,
			 .grace_seconds = plan->grace_seconds,
			 .idle_seconds = plan->idle_seconds},
	};
	if (allowlist) {
		ret->view.internal = plan->internal;
		ret->hosts = plan->hosts;
	}
	r = add_mounts(ret, plan);
	if (r == 0)
		r = add_environment(ret, plan);
	if (r == 0)
		r = add_command(ret, plan);
	return r == 0 ? add_toolchains(ret, plan) : r;
}

void sandbox_facts_done(struct sandbox_facts *facts)
{
	free(facts->view.mounts.items);
	free(facts->view.environment.items);
	free(facts->view.masked.items);
	free(facts->view.command.items);
	free(facts->toolchains.items);
	free(facts->digests);
	text_list_done(&facts->made);
	*facts = (struct sandbox_facts){0};
}

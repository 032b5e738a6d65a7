/* SPDX-License-Identifier: MIT */

/*
 * The canonical form. The id is made of it alone, so that whatever two people wrote down in another
 * order, or left out where it stands for nothing, is one Arm.
 */
#include "arm_ordered.h"

#include <nettle/sha2.h>
#include <stdio.h>
#include <string.h>

/* --- In order --- */

/* A copy of a list's items that belongs to ordered; NULL of none, and when out of memory. */
static int copy_list(struct arm_ordered *ordered, const void *items, size_t count, size_t size,
		     void **ret_items)
{
	*ret_items = NULL;
	if (count == 0)
		return 0;
	if (ordered->count == ARM_ORDERED_LISTS_MAX)
		return -EINVAL;
	*ret_items = malloc(count * size);
	if (!*ret_items)
		return -ENOMEM;
	memcpy(*ret_items, items, count * size);
	ordered->lists[ordered->count++] = *ret_items;
	return 0;
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int compare_pairs(const void *a, const void *b)
{
	return strcmp(((const struct pair *)a)->name, ((const struct pair *)b)->name);
}

static int compare_files(const void *a, const void *b)
{
	return strcmp(((const struct arm_file *)a)->path, ((const struct arm_file *)b)->path);
}

static int compare_harnesses(const void *a, const void *b)
{
	return strcmp(((const struct arm_harness *)a)->name, ((const struct arm_harness *)b)->name);
}

static int compare_providers(const void *a, const void *b)
{
	return strcmp(((const struct arm_provider *)a)->name,
		      ((const struct arm_provider *)b)->name);
}

/* Texts whose order says nothing: in the order of their bytes, each once. */
static int order_texts(struct arm_ordered *ordered, struct text_list *list, bool *has)
{
	size_t count = 0;
	void *items;
	int r = copy_list(ordered, list->items, list->count, sizeof(*list->items), &items);

	list->items = items;
	*has = list->count > 0;
	if (r < 0 || !*has)
		return r;
	qsort(list->items, list->count, sizeof(*list->items), compare_texts);
	for (size_t i = 0; i < list->count; i++)
		if (count == 0 || strcmp(list->items[count - 1], list->items[i]) != 0)
			list->items[count++] = list->items[i];
	list->count = count;
	return 0;
}

/* A list of structures: count, items and has of it. */
#define ORDER_LIST(ordered, list, has, compare)                                                    \
	({                                                                                         \
		void *order_items_;                                                                \
		int order_r_ = copy_list(ordered, (list)->items, (list)->count,                    \
					 sizeof(*(list)->items), &order_items_);                   \
		(list)->items = order_items_;                                                      \
		*(has) = (list)->count > 0;                                                        \
		if (order_items_)                                                                  \
			qsort(order_items_, (list)->count, sizeof(*(list)->items), compare);       \
		order_r_;                                                                          \
	})

static int compare_roles(const void *a, const void *b)
{
	return role_from_name(*(const char *const *)a) - role_from_name(*(const char *const *)b);
}

/* Of an Arm that names none it is a trial's. */
static int order_roles(struct arm_ordered *ordered)
{
	static const char *trial[] = {"trial"};
	struct arm *arm = &ordered->arm;
	int r = order_texts(ordered, &arm->roles, &arm->has.roles);

	if (r == 0 && !arm->has.roles) {
		arm->roles = (struct text_list){.count = 1, .items = trial};
		arm->has.roles = true;
		return 0;
	}
	if (r == 0)
		qsort(arm->roles.items, arm->roles.count, sizeof(*arm->roles.items), compare_roles);
	return r;
}

#define LIMIT_SAID_(name, type, presence, limit, doc) said |= limits->has.name;

static bool limits_say(const struct limits_spec *limits)
{
	bool said = false;

	LIMITS_FIELDS(LIMIT_SAID_)
	return said;
}

static int order_inner(struct arm_ordered *ordered)
{
	struct arm *arm = &ordered->arm;
	int r = 0;

	for (size_t i = 0; r == 0 && i < arm->harnesses.count; i++) {
		struct arm_harness *harness = &arm->harnesses.items[i];

		r = order_texts(ordered, &harness->hosts, &harness->has.hosts);
		if (r == 0)
			r = ORDER_LIST(ordered, &harness->own_files, &harness->has.own_files,
				       compare_pairs);
	}
	for (size_t i = 0; r == 0 && i < arm->providers.count; i++)
		r = order_texts(ordered, &arm->providers.items[i].hosts,
				&arm->providers.items[i].has.hosts);
	return r;
}

int arm_order(struct arm_ordered *ret_ordered, const struct arm *asked)
{
	struct arm_ordered *ordered = ret_ordered;
	struct arm *arm = &ordered->arm;
	int r;

	*ordered = (struct arm_ordered){.arm = *asked};
	if (arm->harnesses.count > ARM_HARNESSES_MAX || arm->providers.count > ARM_PROVIDERS_MAX)
		return -EINVAL;
	/* Those whose order counts stay where they are. */
	arm->has.arguments = arm->arguments.count > 0;
	arm->has.command = arm->command.count > 0;
	arm->has.git_exclude = arm->git_exclude.count > 0;
	arm->has.toolchains = arm->toolchains.count > 0;
	arm->has.limits = arm->has.limits && limits_say(&arm->limits);
	r = ORDER_LIST(ordered, &arm->files, &arm->has.files, compare_files);
	if (r == 0)
		r = ORDER_LIST(ordered, &arm->harnesses, &arm->has.harnesses, compare_harnesses);
	if (r == 0)
		r = ORDER_LIST(ordered, &arm->providers, &arm->has.providers, compare_providers);
	if (r == 0)
		r = ORDER_LIST(ordered, &arm->environment, &arm->has.environment, compare_pairs);
	if (r == 0)
		r = ORDER_LIST(ordered, &arm->toolchains_found, &arm->has.toolchains_found,
			       compare_pairs);
	if (r == 0)
		r = order_texts(ordered, &arm->variables, &arm->has.variables);
	if (r == 0)
		r = order_texts(ordered, &arm->families, &arm->has.families);
	if (r == 0)
		r = order_roles(ordered);
	if (r == 0)
		r = order_inner(ordered);
	if (r < 0)
		arm_ordered_done(ordered);
	return r;
}

void arm_ordered_done(struct arm_ordered *ordered)
{
	while (ordered->count > 0)
		free(ordered->lists[--ordered->count]);
}

/* --- As bytes --- */

static void digest_of(const void *bytes, size_t size, char ret_id[ARM_ID_BYTES + 1])
{
	uint8_t digest[SHA256_DIGEST_SIZE];
	struct sha256_ctx hash;

	sha256_init(&hash);
	sha256_update(&hash, size, bytes);
	sha256_digest(&hash, sizeof(digest), digest);
	for (size_t i = 0; i < sizeof(digest); i++)
		snprintf(ret_id + 2 * i, 3, "%02x", digest[i]);
}

int arm_encode(const struct arm *arm, msgpack_sbuffer *ret_buffer, char ret_id[ARM_ID_BYTES + 1])
{
	_cleanup_(arm_ordered_done) struct arm_ordered ordered = {0};
	msgpack_packer packer;
	int r = arm_order(&ordered, arm);

	msgpack_sbuffer_init(ret_buffer);
	msgpack_packer_init(&packer, ret_buffer, msgpack_sbuffer_write);
	if (r == 0)
		r = message_encode(&packer, &arm_type, &ordered.arm);
	if (r < 0) {
		msgpack_sbuffer_destroy(ret_buffer);
		return r;
	}
	digest_of(ret_buffer->data, ret_buffer->size, ret_id);
	return 0;
}

int arm_decode(struct message **ret_message, const void *bytes, size_t size, const char *id,
	       struct arm *ret_arm)
{
	char found[ARM_ID_BYTES + 1];
	struct message *message;
	struct decode_error error;
	int r;

	digest_of(bytes, size, found);
	if (id && strcmp(id, found) != 0)
		return -EBADMSG;
	r = message_parse(&message, bytes, size);
	if (r < 0)
		return r;
	r = message_decode(message, message_root(message), &arm_type, UNKNOWN_KEYS_REFUSED, ret_arm,
			   &error);
	if (r == 0 && ret_arm->form != ARM_FORM)
		r = -EBADMSG;
	if (r < 0) {
		message_free(message);
		return r;
	}
	*ret_message = message;
	return 0;
}

/* --- What was asked for --- */

static int spec_files(const struct arm *arm, struct arm_spec *spec)
{
	if (arm->files.count == 0)
		return 0;
	spec->files.items = calloc(arm->files.count, sizeof(*spec->files.items));
	spec->secret_files.items = calloc(arm->files.count, sizeof(*spec->secret_files.items));
	if (!spec->files.items || !spec->secret_files.items)
		return -ENOMEM;
	spec->files.count = spec->secret_files.count = arm->files.count;
	spec->has.files = spec->has.secret_files = true;
	for (size_t i = 0; i < arm->files.count; i++) {
		const struct arm_file *file = &arm->files.items[i];

		spec->files.items[i] = (struct arm_file){
			.has = {.source = true, .path = true, .mode = file->has.mode},
			.source = file->source,
			.path = file->path,
			.mode = file->mode,
		};
		spec->secret_files.items[i] = file->source;
	}
	return 0;
}

/* Of a Harness's Arm it is the Arm's own `executable`. */
static int spec_harnesses(const struct arm *arm, struct arm_spec *spec)
{
	if (arm->harness) {
		const struct arm_harness *own = arm_harness_find(arm, arm->harness);

		spec->executable = own ? own->executable : NULL;
		spec->has.executable = spec->executable != NULL;
		return 0;
	}
	if (arm->harnesses.count == 0)
		return 0;
	spec->harnesses.items = calloc(arm->harnesses.count, sizeof(*spec->harnesses.items));
	if (!spec->harnesses.items)
		return -ENOMEM;
	spec->harnesses.count = arm->harnesses.count;
	spec->has.harnesses = true;
	for (size_t i = 0; i < arm->harnesses.count; i++) {
		const struct arm_harness *harness = &arm->harnesses.items[i];

		spec->harnesses.items[i] = (struct arm_harness){
			.has = {.name = true,
				.model = harness->has.model,
				.provider = harness->has.provider,
				.executable = harness->has.executable},
			.name = harness->name,
			.model = harness->model,
			.provider = harness->provider,
			.executable = harness->executable,
		};
	}
	return 0;
}

static int spec_providers(const struct arm *arm, struct arm_spec *spec)
{
	if (arm->providers.count == 0)
		return 0;
	spec->providers.items = calloc(arm->providers.count, sizeof(*spec->providers.items));
	if (!spec->providers.items)
		return -ENOMEM;
	spec->providers.count = arm->providers.count;
	spec->has.providers = true;
	for (size_t i = 0; i < arm->providers.count; i++) {
		const struct arm_provider *provider = &arm->providers.items[i];

		spec->providers.items[i] = (struct arm_provider){
			.has = {.name = true, .model = provider->has.model},
			.name = provider->name,
			.model = provider->model,
		};
	}
	return 0;
}

int arm_spec_of(const struct arm *arm, struct arm_spec *ret_spec)
{
	struct arm_spec *spec = ret_spec;
	int r;

	*spec = (struct arm_spec){
		.has = {.name = true,
			.harness = arm->has.harness,
			.model = arm->has.model,
			.effort = arm->has.effort,
			.arguments = arm->has.arguments,
			.command = arm->has.command,
			.roles = arm->has.roles,
			.git_exclude = arm->has.git_exclude,
			.limits = arm->has.limits,
			.environment = arm->has.environment,
			.variables = arm->has.variables,
			.toolchains = arm->has.toolchains,
			.skills = arm->has.skills,
			.build = arm->has.build},
		.name = arm->name,
		.harness = arm->harness,
		.model = arm->model,
		.effort = arm->effort,
		.arguments = arm->arguments,
		.command = arm->command,
		.roles = arm->roles,
		.git_exclude = arm->git_exclude,
		.limits = arm->limits,
		.environment = arm->environment,
		.variables = arm->variables,
		.toolchains = arm->toolchains,
		.skills = arm->has.skills ? arm->skills.path : NULL,
		.build = arm->has.build ? arm->build.path : NULL,
	};
	r = spec_files(arm, spec);
	if (r == 0)
		r = spec_harnesses(arm, spec);
	if (r == 0)
		r = spec_providers(arm, spec);
	if (r < 0)
		arm_spec_done(spec);
	return r;
}

void arm_spec_done(struct arm_spec *spec)
{
	free(spec->files.items);
	free(spec->secret_files.items);
	free(spec->harnesses.items);
	free(spec->providers.items);
	*spec = (struct arm_spec){0};
}

/* --- What it has --- */

bool arm_has_role(const struct arm *arm, enum role role)
{
	const char *name = role_name((int)role);

	for (size_t i = 0; name && i < arm->roles.count; i++)
		if (strcmp(arm->roles.items[i], name) == 0)
			return true;
	return arm->roles.count == 0 && role == ROLE_trial;
}

const struct arm_harness *arm_harness_find(const struct arm *arm, const char *name)
{
	for (size_t i = 0; i < arm->harnesses.count; i++)
		if (strcmp(arm->harnesses.items[i].name, name) == 0)
			return &arm->harnesses.items[i];
	return NULL;
}

int arm_absent(const struct arm *arm, struct text_list *ret_names)
{
	*ret_names = (struct text_list){0};
	if (arm->harnesses.count == 0)
		return 0;
	ret_names->items = calloc(arm->harnesses.count, sizeof(*ret_names->items));
	if (!ret_names->items)
		return -ENOMEM;
	for (size_t i = 0; i < arm->harnesses.count; i++)
		if (!arm->harnesses.items[i].executable)
			ret_names->items[ret_names->count++] = arm->harnesses.items[i].name;
	return 0;
}

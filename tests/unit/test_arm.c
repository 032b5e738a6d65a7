/* SPDX-License-Identifier: MIT */

/*
 * Arms without a host: hundreds that are made up, each in two orders and with each single thing
 * changed; and everything that a launch may not say beside one.
 */
#include "plan/arm.h"
#include "proto/codec.h"
#include "sample.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "base/list.h"

#define ARMS 300

/* --- Arms that are made up ------------------------------------------------------------------------ */

static char *text_of(struct sample *sample, const char *prefix, size_t number, const char *suffix)
{
	char *text = sample_allocate(sample, 64);

	snprintf(text, 64, "%s%zu%s", prefix, number, suffix);
	return text;
}

/* Different ones, of a list whose order does not count. */
static void name_texts(struct sample *sample, struct text_list *list, const char *prefix)
{
	for (size_t i = 0; i < list->count; i++)
		list->items[i] = text_of(sample, prefix, i, "");
}

static struct arm made_up(struct sample *sample, uint64_t seed)
{
	static const char *roles[][2] = {{"trial"}, {"grader"}, {"trial", "grader"}};
	size_t role = seed % 3;
	struct arm arm;

	sample_fill(sample, &arm_type, seed % 4 == 0, &arm);
	arm.form = ARM_FORM;
	arm.has.form = true;
	arm.name = "made up";
	arm.roles = (struct text_list){.count = role == 2 ? 2 : 1, .items = roles[role]};
	for (size_t i = 0; i < arm.files.count; i++)
		arm.files.items[i].path = text_of(sample, "lib/file-", i, ".py");
	for (size_t i = 0; i < arm.harnesses.count; i++) {
		arm.harnesses.items[i].name = text_of(sample, "harness-", i, "");
		name_texts(sample, &arm.harnesses.items[i].hosts, "h");
	}
	for (size_t i = 0; i < arm.providers.count; i++) {
		arm.providers.items[i].name = text_of(sample, "provider-", i, "");
		name_texts(sample, &arm.providers.items[i].hosts, "p");
	}
	for (size_t i = 0; i < arm.environment.count; i++)
		arm.environment.items[i].name = text_of(sample, "PLAIN_", i, "");
	name_texts(sample, &arm.variables, "VARIABLE_");
	name_texts(sample, &arm.families, "family-");
	return arm;
}

static void id_of(const struct arm *arm, char id[ARM_ID_BYTES + 1])
{
	msgpack_sbuffer buffer;

	ck_assert_int_eq(arm_encode(arm, &buffer, id), 0);
	ck_assert_uint_eq(strlen(id), ARM_ID_BYTES);
	msgpack_sbuffer_destroy(&buffer);
}

static void no_difference(const struct arm *a, const struct arm *b)
{
	struct arm_changes changes;

	ck_assert_int_eq(arm_difference(a, b, &changes), 0);
	ck_assert_msg(changes.list.count == 0, "%s",
		      changes.list.count ? changes.list.items[0].what : "");
	ck_assert_uint_eq(changes.more, 0);
	arm_changes_done(&changes);
}

/* --- The same in another order -------------------------------------------------------------------- */

#define REVERSE(list)                                                                              \
	for (size_t i_ = 0; i_ < (list)->count / 2; i_++) {                                        \
		__typeof__(*(list)->items) item_ = (list)->items[i_];                              \
                                                                                                   \
		(list)->items[i_] = (list)->items[(list)->count - 1 - i_];                         \
		(list)->items[(list)->count - 1 - i_] = item_;                                     \
	}

/* The other way round, with the first said twice. */
static void twist_texts(struct sample *sample, struct text_list *list)
{
	const char **items = sample_allocate(sample, (list->count + 1) * sizeof(*items));

	if (list->count == 0)
		return;
	for (size_t i = 0; i < list->count; i++)
		items[i] = list->items[list->count - 1 - i];
	items[list->count] = list->items[0];
	*list = (struct text_list){.count = list->count + 1, .items = items};
}

static void twist(struct sample *sample, struct arm *arm)
{
	REVERSE(&arm->files);
	REVERSE(&arm->harnesses);
	REVERSE(&arm->providers);
	REVERSE(&arm->environment);
	twist_texts(sample, &arm->variables);
	twist_texts(sample, &arm->families);
	twist_texts(sample, &arm->roles);
	for (size_t i = 0; i < arm->harnesses.count; i++)
		twist_texts(sample, &arm->harnesses.items[i].hosts);
	for (size_t i = 0; i < arm->providers.count; i++)
		twist_texts(sample, &arm->providers.items[i].hosts);
	/* An empty list that is mentioned, limits without one. */
	arm->has.arguments = arm->has.command = arm->has.toolchains = true;
	arm->has.files = arm->has.environment = arm->has.git_exclude = true;
	if (!arm->has.limits) {
		arm->has.limits = true;
		arm->limits = (struct limits_spec){0};
	}
}

START_TEST(order_is_nothing)
{
	struct sample *sample = sample_new((uint64_t)_i);
	struct sample *other_sample = sample_new((uint64_t)_i);
	struct arm arm = made_up(sample, (uint64_t)_i), other = made_up(other_sample, (uint64_t)_i);
	char id[ARM_ID_BYTES + 1], other_id[ARM_ID_BYTES + 1];

	id_of(&arm, id);
	twist(other_sample, &other);
	id_of(&other, other_id);
	ck_assert_str_eq(id, other_id);
	no_difference(&arm, &other);
	sample_free(sample);
	sample_free(other_sample);
}
END_TEST

START_TEST(there_and_back)
{
	struct sample *sample = sample_new((uint64_t)_i);
	struct arm arm = made_up(sample, (uint64_t)_i), back;
	char id[ARM_ID_BYTES + 1], again[ARM_ID_BYTES + 1];
	struct message *message;
	msgpack_sbuffer buffer;

	ck_assert_int_eq(arm_encode(&arm, &buffer, id), 0);
	ck_assert_int_eq(arm_decode(&message, buffer.data, buffer.size, id, &back), 0);
	id_of(&back, again);
	ck_assert_str_eq(id, again);
	no_difference(&arm, &back);
	message_free(message);

	buffer.data[buffer.size / 2] ^= 1;
	ck_assert_int_eq(arm_decode(&message, buffer.data, buffer.size, id, &back), -EBADMSG);
	msgpack_sbuffer_destroy(&buffer);

	arm.form = ARM_FORM + 1;
	ck_assert_int_eq(arm_encode(&arm, &buffer, id), 0);
	ck_assert_int_eq(arm_decode(&message, buffer.data, buffer.size, id, &back), -EBADMSG);
	msgpack_sbuffer_destroy(&buffer);

	arm.form = ARM_FORM + 1;
	ck_assert_int_eq(arm_encode(&arm, &buffer, id), 0);
	ck_assert_int_eq(arm_decode(&message, buffer.data, buffer.size, id, &back), -EBADMSG);
	msgpack_sbuffer_destroy(&buffer);
	sample_free(sample);
}
END_TEST

/* --- Each single change --------------------------------------------------------------------------- */

struct mutation {
	struct sample *sample;
	size_t wanted, at;
	const char *path;
	bool done;
};

static char *path_of(struct mutation *mutation, const char *prefix, const char *name)
{
	size_t size = strlen(prefix) + strlen(name) + 2;
	char *path = sample_allocate(mutation->sample, size);

	snprintf(path, size, "%s%s%s", prefix, *prefix && *name ? "." : "", name);
	return path;
}

static bool is_next(struct mutation *mutation, const char *path, const char *name)
{
	if (mutation->done || mutation->at++ != mutation->wanted)
		return false;
	mutation->path = path_of(mutation, path, name);
	mutation->done = true;
	return true;
}

static const char *another(const char *text)
{
	return text && !strcmp(text, "b") ? "c" : "b";
}

static void *one_more(struct mutation *mutation, size_t *count, void *items, size_t size)
{
	char *more = sample_allocate(mutation->sample, (*count + 1) * size);

	if (*count)
		memcpy(more, items, *count * size);
	(*count)++;
	return more;
}

static void mutate(struct mutation *mutation, const struct message_type *type, void *structure,
		   const char *prefix);

static void mutate_pairs(struct mutation *mutation, struct pair_list *pairs, const char *path)
{
	for (size_t i = 0; i < pairs->count; i++)
		if (is_next(mutation, path, pairs->items[i].name))
			pairs->items[i].value = another(pairs->items[i].value);
	if (is_next(mutation, path, "ONE_MORE")) {
		pairs->items = one_more(mutation, &pairs->count, pairs->items,
					sizeof(*pairs->items));
		pairs->items[pairs->count - 1] = (struct pair){"ONE_MORE", ""};
	}
}

static void mutate_list(struct mutation *mutation, const struct field *field, char *member,
			const char *path)
{
	const struct message_type *inner = field_inner_type(field->type);
	bool is_file = field->type == FIELD_ARM_FILES;
	struct any_list list;

	memcpy(&list, member, sizeof(list));
	for (size_t i = 0; i < list.count; i++) {
		char *item = (char *)list.items + i * inner->size;
		const struct arm_file *file = (void *)item;
		const struct arm_harness *named = (void *)item;
		const struct arm_provider *provider = (void *)item;
		const char *name;

		name = is_file				    ? file->path
		       : field->type == FIELD_ARM_HARNESSES ? named->name
							    : provider->name;
		mutate(mutation, inner, item, path_of(mutation, path, name));
	}
	if (!is_next(mutation, path, "one more"))
		return;
	list.items = one_more(mutation, &list.count, list.items, inner->size);
	if (is_file)
		((struct arm_file *)list.items)[list.count - 1] = (struct arm_file){
			.source = "/one/more", .path = "one more"};
	else if (field->type == FIELD_ARM_HARNESSES)
		((struct arm_harness *)list.items)[list.count - 1] = (struct arm_harness){
			.name = "one more"};
	else
		((struct arm_provider *)list.items)[list.count - 1] = (struct arm_provider){
			.name = "one more"};
	memcpy(member, &list, sizeof(list));
}

static void mutate_folder(struct mutation *mutation, bool *has, struct arm_folder *folder,
			  const char *path)
{
	if (*has)
		mutate(mutation, &arm_folder_type, folder, path);
	if (is_next(mutation, path, "")) {
		*has = !*has;
		*folder = (struct arm_folder){.path = "/a/folder"};
	}
}

/* What names an item is what it is found by: another name is another item. */
static bool is_name(const struct message_type *type, const struct field *field)
{
	return (type == &arm_file_type && !strcmp(field->name, "path")) ||
	       ((type == &arm_harness_type || type == &arm_provider_type) &&
		!strcmp(field->name, "name"));
}

static void mutate_field(struct mutation *mutation, const struct field *field, char *structure,
			 const char *path)
{
	bool *has = (bool *)(structure + field->has_offset);
	void *member = structure + field->offset;
	struct text_list *texts = member;

	switch (field->type) {
	case FIELD_BOOL:
		if (is_next(mutation, path, ""))
			*has = *(bool *)member = !*(bool *)member;
		break;
	case FIELD_STRING:
	case FIELD_BYTES:
	case FIELD_PATH:
		if (is_next(mutation, path, ""))
			*(const char **)member = another(*(const char **)member);
		break;
	case FIELD_STRINGS:
	case FIELD_BYTES_LIST:
		if (is_next(mutation, path, "")) {
			if (!strcmp(field->name, "roles") && texts->count == 2) {
				texts->count = 1;
				break;
			}
			texts->items = one_more(mutation, &texts->count, texts->items,
						sizeof(*texts->items));
			texts->items[texts->count - 1] = strcmp(field->name, "roles") != 0 ? "zz"
							 : strcmp(texts->items[0], "trial") == 0
								 ? "grader"
								 : "trial";
		}
		break;
	case FIELD_PAIRS:
		mutate_pairs(mutation, member, path);
		break;
	case FIELD_LIMITS:
		*has = true;
		mutate(mutation, &limits_spec_type, member, path);
		break;
	case FIELD_ARM_FOLDER:
		mutate_folder(mutation, has, member, path);
		break;
	case FIELD_ARM_FILES:
	case FIELD_ARM_HARNESSES:
	case FIELD_ARM_PROVIDERS:
		mutate_list(mutation, field, member, path);
		break;
	case FIELD_SECONDS:
		if (is_next(mutation, path, "")) {
			*(double *)member = *has && *(double *)member < 7 ? 7 : 6;
			*has = true;
		}
		break;
	default: /* an absent one comes to be there */
		ck_assert(field->type == FIELD_UINT || field->type == FIELD_SIZE);
		if (is_next(mutation, path, "")) {
			*(uint64_t *)member ^= *has;
			*has = true;
		}
		break;
	}
}

static void mutate(struct mutation *mutation, const struct message_type *type, void *structure,
		   const char *prefix)
{
	for (size_t i = 0; i < type->count && !mutation->done; i++) {
		if (is_name(type, &type->fields[i]))
			continue;
		mutate_field(mutation, &type->fields[i], structure,
			     path_of(mutation, prefix, type->fields[i].name));
	}
}

START_TEST(each_change_is_told)
{
	struct sample *sample = sample_new((uint64_t)_i);
	struct arm arm = made_up(sample, (uint64_t)_i);
	char id[ARM_ID_BYTES + 1], other_id[ARM_ID_BYTES + 1];
	size_t count = 0;

	id_of(&arm, id);
	for (;; count++) {
		struct sample *other_sample = sample_new((uint64_t)_i);
		struct arm other = made_up(other_sample, (uint64_t)_i);
		struct mutation mutation = {.sample = other_sample, .wanted = count};
		struct arm_changes changes;
		const struct arm_change *change;

		mutate(&mutation, &arm_type, &other, "");
		if (mutation.done) {
			id_of(&other, other_id);
			ck_assert_msg(strcmp(id, other_id) != 0, "%s: the same id", mutation.path);
			ck_assert_int_eq(arm_difference(&arm, &other, &changes), 0);
			ck_assert_msg(changes.list.count == 1, "%s: %zu changes", mutation.path,
				      changes.list.count);
			change = &changes.list.items[0];
			ck_assert_str_eq(change->what, mutation.path);
			ck_assert(change->was || change->is);
			ck_assert_msg(!change->was || !change->is ||
					      strcmp(change->was, change->is) != 0,
				      "%s: was and is %s", change->what, change->is);
			arm_changes_done(&changes);
		}
		sample_free(other_sample);
		if (!mutation.done)
			break;
	}
	ck_assert_uint_gt(count, 20);
	sample_free(sample);
}
END_TEST

START_TEST(words)
{
	struct arm_harness was_harness = {.name = "codex",
					  .executable = "/opt/codex",
					  .sha256 = "aa"};
	struct arm_harness is_harness = {.name = "codex",
					 .executable = "/opt/codex",
					 .sha256 = "bb"};
	struct pair was_pair = {"API_KEY", "sk-one"}, is_pair = {"API_KEY", "sk-two"};
	const char *was_words[] = {"a b"}, *is_words[] = {"a", "b"};
	struct arm was = {.name = "a",
			  .harnesses = {.count = 1, .items = &was_harness},
			  .arguments = {.count = 1, .items = was_words},
			  .environment = {.count = 1, .items = &was_pair}};
	struct arm is = {.name = "b",
			 .harnesses = {.count = 1, .items = &is_harness},
			 .arguments = {.count = 2, .items = is_words},
			 .environment = {.count = 1, .items = &is_pair}};
	struct arm_changes changes;
	char *text;

	ck_assert_int_eq(arm_difference(&was, &is, &changes), 0);
	text = arm_changes_text(&changes, &was);
	ck_assert_str_eq(text, "name was a, and is b; arguments was 'a b', and is a b; "
			       "harnesses.codex.sha256 (/opt/codex) was aa, and is bb; and 1 more");
	free(text);
	ck_assert_str_eq(changes.list.items[3].what, "environment.API_KEY");
	ck_assert_ptr_null(strstr(changes.list.items[3].was, "sk-"));
	ck_assert_ptr_null(strstr(changes.list.items[3].is, "sk-"));
	arm_changes_done(&changes);
}
END_TEST

START_TEST(long_values)
{
	char *was_text = malloc(5001), *is_text = malloc(5001);
	struct pair was_pair = {"LONG", was_text}, is_pair = {"LONG", is_text};
	struct arm was = {.name = "a", .environment = {.count = 1, .items = &was_pair}};
	struct arm is = {.name = "a", .environment = {.count = 1, .items = &is_pair}};
	struct arm_changes changes;

	for (size_t i = 0; i < 5000; i += 2)
		memcpy(was_text + i, "\xc3\xa4", 2);
	was_text[5000] = '\0';
	memcpy(is_text, was_text, 5001);
	is_text[4001] = '\xb6';
	ck_assert_int_eq(arm_difference(&was, &is, &changes), 0);
	ck_assert_uint_eq(changes.list.count, 1);
	ck_assert_str_ne(changes.list.items[0].was, changes.list.items[0].is);
	ck_assert(utf8_valid(changes.list.items[0].is, strlen(changes.list.items[0].is)));
	ck_assert_uint_le(strlen(changes.list.items[0].is), ARM_TEXT_BYTES_MAX);
	arm_changes_done(&changes);
	free(was_text);
	free(is_text);
}
END_TEST

START_TEST(too_many)
{
	struct pair *pairs = calloc(1024, sizeof(*pairs));
	struct arm was = {.name = "a"}, is = {.name = "a", .environment = {1024, pairs}};
	char names[1024][16];
	struct arm_changes changes;

	for (size_t i = 0; i < 1024; i++) {
		snprintf(names[i], sizeof(names[i]), "N%zu", i);
		pairs[i] = (struct pair){names[i], "1"};
	}
	ck_assert_int_eq(arm_difference(&was, &is, &changes), 0);
	ck_assert_uint_eq(changes.list.count, ARM_CHANGES_MAX);
	ck_assert_uint_eq(changes.more, 1024 - ARM_CHANGES_MAX);
	arm_changes_done(&changes);
	free(pairs);
}
END_TEST

/* --- What it was asked for with ------------------------------------------------------------------- */

START_TEST(asked_again)
{
	struct arm_harness own = {.name = "codex", .executable = "/opt/codex"};
	struct arm_file file = {.source = "/home/a/.ssh/known", .path = "known", .sha256 = "aa"};
	struct arm arm = {.name = "a",
			  .harness = "codex",
			  .has = {.build = true},
			  .build = {.path = "/build", .sha256 = "bb"},
			  .harnesses = {.count = 1, .items = &own},
			  .files = {.count = 1, .items = &file}};
	struct text_list absent;
	struct arm_spec spec;

	ck_assert_int_eq(arm_spec_of(&arm, &spec), 0);
	ck_assert_str_eq(spec.executable, "/opt/codex");
	ck_assert_str_eq(spec.build, "/build");
	ck_assert_uint_eq(spec.harnesses.count, 0);
	ck_assert_str_eq(spec.secret_files.items[0], "/home/a/.ssh/known");
	ck_assert_ptr_null(spec.files.items[0].sha256);
	arm_spec_done(&spec);

	arm.harness = NULL;
	ck_assert_int_eq(arm_spec_of(&arm, &spec), 0);
	ck_assert_ptr_null(spec.executable);
	ck_assert_str_eq(spec.harnesses.items[0].executable, "/opt/codex");
	arm_spec_done(&spec);

	ck_assert_int_eq(arm_absent(&arm, &absent), 0);
	ck_assert_uint_eq(absent.count, 0);
	free(absent.items);
	own.executable = NULL;
	ck_assert_int_eq(arm_absent(&arm, &absent), 0);
	ck_assert_str_eq(absent.items[0], "codex");
	free(absent.items);
}
END_TEST

/* --- A launch of one ------------------------------------------------------------------------------ */

static const char *words_of_command[] = {"sh"};
static const char *some_texts[] = {"one"};
static struct bind_spec some_bind = {.source = "/etc"};
static struct pair open_pair = {"OPEN", "1"}, closed_pair = {"CLOSED", "1"};

#define TEXTS                                                                                      \
	{                                                                                          \
		.count = 1, .items = some_texts                                                    \
	}

/* What is refused, by the key that the refusal names. */
static const struct {
	const char *key;
	struct launch_request launch;
} widening[] = {
	{"command", {.command = {.count = 1, .items = words_of_command}}},
	{"command", {.has.command = true}},
	{"harness", {.harness = "codex"}},
	{"model", {.model = "another"}},
	{"effort", {.effort = "high"}},
	{"resume", {.resume = "one"}},
	{"of", {.has.of = true, .of = 1}},
	{"executable", {.executable = "/bin/sh"}},
	{"arguments", {.arguments = TEXTS}},
	{"arguments", {.has.arguments = true}},
	{"build", {.build = "/build"}},
	{"skills", {.skills = "/skills"}},
	{"binds", {.binds = {.count = 1, .items = &some_bind}}},
	{"hosts", {.hosts = TEXTS}},
	{"toolchains", {.toolchains = TEXTS}},
	{"network", {.has.network = true, .network = NETWORK_host}},
	{"role", {.has.role = true, .role = ROLE_grader}},
	{"environment.CLOSED", {.environment = {.count = 1, .items = &closed_pair}}},
	/* The Arm's own limits, then the configured ones. */
	{"limits.memory",
	 {.has.limits = true, .limits = {.has.memory = true, .memory = (1 << 30) + 1}}},
	{"limits.wall_seconds",
	 {.has.limits = true, .limits = {.has.wall_seconds = true, .wall_seconds = 61}}},
	{"limits.tasks", {.has.limits = true, .limits = {.has.tasks = true, .tasks = 2049}}},
	{"limits.stall_seconds",
	 {.has.limits = true, .limits = {.has.stall_seconds = true, .stall_seconds = 100.5}}},
};

static const struct launch_request narrower[] = {
	{.repository = "/repository", .cwd = "/repository/a", .share_repository = true},
	{.has.repository_mode = true, .repository_mode = MODE_ro},
	{.has.repository_mode = true, .repository_mode = MODE_rw},
	{.has.network = true, .network = NETWORK_none},
	{.has.network = true, .network = NETWORK_allowlist},
	{.has.limits = true, .limits = {.has.memory = true, .memory = 1 << 29}},
	{.has.limits = true, .limits = {.has.tasks = true, .tasks = 2048}},
	{.has.limits = true, .limits = {.has.cpu = true, .cpu = 409600}},
	{.environment = {.count = 1, .items = &open_pair}},
	{.key = "a", .has.priority = true, .priority = 5, .has.keep_home = true, .keep_home = true},
	{.has.role = true, .role = ROLE_trial},
	{.has.allow_no_sandbox = true, .allow_no_sandbox = true},
};

static const char *open_names[] = {"OPEN"};
static struct pair own_pair = {"OWN", "2"};
static struct arm_harness own_harness = {.name = "codex", .executable = "/opt/codex/bin/codex"};
static const struct arm an_arm = {
	.has = {.limits = true, .build = true},
	.form = ARM_FORM,
	.name = "an Arm",
	.harness = "codex",
	.model = "a model",
	.harnesses = {.count = 1, .items = &own_harness},
	.build = {.path = "/the/build"},
	.limits = {.has = {.memory = true, .wall_seconds = true},
		   .memory = 1 << 30,
		   .wall_seconds = 60},
	.environment = {.count = 1, .items = &own_pair},
	.variables = {.count = 1, .items = open_names},
};
static const struct limits_spec configured = {
	.has = {.memory = true, .tasks = true, .stall_seconds = true},
	.memory = 1ull << 33,
	.tasks = 2048,
	.stall_seconds = 100,
};

START_TEST(widening_is_refused)
{
	struct fault fault = FAULT_INIT;
	struct arm_launch result;
	size_t size = strlen(widening[_i].key);

	ck_assert_int_eq(arm_apply(&an_arm, "id", &configured, &widening[_i].launch, &result,
				   &fault),
			 FAULT);
	ck_assert_int_eq(fault.code, ERROR_refused);
	ck_assert_msg(strncmp(fault.message, widening[_i].key, size) == 0 &&
			      fault.message[size] == ':',
		      "%s: %s", widening[_i].key, fault.message);
	ck_assert_ptr_nonnull(fault.hint);
	fault_done(&fault);
}
END_TEST

START_TEST(narrower_is_taken)
{
	const struct launch_request *launch = &narrower[_i], *got;
	struct fault fault = FAULT_INIT;
	struct arm_launch result;
	int r = arm_apply(&an_arm, "id", &configured, launch, &result, &fault);

	ck_assert_msg(r == 0, "%s", fault.message);
	got = &result.launch;
	ck_assert_str_eq(got->arm, "id");
	ck_assert_str_eq(got->harness, "codex");
	ck_assert_str_eq(got->model, "a model");
	ck_assert_str_eq(got->executable, "/opt/codex/bin/codex");
	ck_assert_str_eq(got->build, "/the/build");
	ck_assert_ptr_null(got->skills);
	ck_assert(got->has.network);
	ck_assert_int_eq(got->network, launch->has.network ? launch->network : NETWORK_allowlist);
	ck_assert(got->limits.has.memory && got->limits.has.wall_seconds);
	ck_assert_uint_eq(got->limits.memory,
			  launch->limits.has.memory ? launch->limits.memory : 1u << 30);
	ck_assert_int_eq(got->limits.has.tasks, launch->limits.has.tasks);
	ck_assert_str_eq(pair_list_get(&got->environment, "OWN"), "2");
	ck_assert_int_eq(pair_list_get(&got->environment, "OPEN") != NULL,
			 launch->environment.count == 1);
	ck_assert_ptr_eq(got->repository, launch->repository);
	arm_launch_done(&result);
}
END_TEST

START_TEST(roles)
{
	const char *names[] = {"grader"};
	struct arm arm = {.name = "a", .command = {1, words_of_command}, .roles = {1, names}};
	struct launch_request launch = {0};
	struct fault fault = FAULT_INIT;
	struct arm_launch result;

	ck_assert(arm_has_role(&arm, ROLE_grader) && !arm_has_role(&arm, ROLE_trial));
	ck_assert(arm_has_role(&an_arm, ROLE_trial) && !arm_has_role(&an_arm, ROLE_grader));
	ck_assert_int_eq(arm_apply(&arm, "id", &configured, &launch, &result, &fault), FAULT);
	fault_done(&fault);
	fault = FAULT_INIT;
	launch.has.role = true;
	launch.role = ROLE_grader;
	ck_assert_int_eq(arm_apply(&arm, "id", &configured, &launch, &result, &fault), 0);
	ck_assert_ptr_eq(result.launch.command.items, words_of_command);
	ck_assert_ptr_null(result.launch.harness);
	arm_launch_done(&result);
	launch.has.repository_mode = true;
	launch.repository_mode = MODE_rw;
	ck_assert_int_eq(arm_apply(&arm, "id", &configured, &launch, &result, &fault), FAULT);
	ck_assert_int_eq(strncmp(fault.message, "repository_mode:", 16), 0);
	fault_done(&fault);
}
END_TEST

static Suite *arm_suite(void)
{
	Suite *suite = suite_create("arm");
	TCase *test_case = tcase_create("arm");

	tcase_add_loop_test(test_case, order_is_nothing, 0, ARMS);
	tcase_add_loop_test(test_case, there_and_back, 0, ARMS);
	tcase_add_loop_test(test_case, each_change_is_told, 0, ARMS);
	tcase_add_test(test_case, words);
	tcase_add_test(test_case, long_values);
	tcase_add_test(test_case, too_many);
	tcase_add_test(test_case, asked_again);
	tcase_add_loop_test(test_case, widening_is_refused, 0, ARRAY_SIZE(widening));
	tcase_add_loop_test(test_case, narrower_is_taken, 0, ARRAY_SIZE(narrower));
	tcase_add_test(test_case, roles);
	suite_add_tcase(suite, test_case);
	return suite;
}

int main(void)
{
	SRunner *runner = srunner_create(arm_suite());
	int failed;

	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

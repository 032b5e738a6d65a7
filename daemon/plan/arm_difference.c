/* SPDX-License-Identifier: MIT */

/*
 * What differs between two Arms, by their field tables: a field that an Arm gets one day is compared
 * without a line here. Both are put in order first, so that two lists can be walked side by side.
 */
#include "arm_ordered.h"
#include "field_text.h"
#include "secret_name.h"

#include <stdio.h>
#include <string.h>

#include "base/list.h"
#include "proto/codec.h"

#define SHOWN_MOST 3
#define WHOLE_BYTES 1024 /* of a value up to which it is told as a whole */

/* Both values as text, NULL: absent; taken. */
static int add_change(struct arm_changes *changes, const char *what, char *was, char *is)
{
	struct arm_change_list *list = &changes->list;
	struct arm_change *items;

	if (list->count == ARM_CHANGES_MAX) {
		changes->more++;
	} else {
		char *copy = strndup(what, ARM_TEXT_BYTES_MAX);

		items = copy ? realloc(list->items, (list->count + 1) * sizeof(*items)) : NULL;
		if (items) {
			list->items = items;
			items[list->count++] = (struct arm_change){
				.has = {.what = true, .was = was != NULL, .is = is != NULL},
				.what = copy,
				.was = was,
				.is = is,
			};
			return 0;
		}
		free(copy);
	}
	free(was);
	free(is);
	return list->count == ARM_CHANGES_MAX ? 0 : -ENOMEM;
}

/* Adds it where they differ; NULL: absent. */
static int differ(struct arm_changes *changes, const char *what, const char *was, const char *is)
{
	_cleanup_free_ char *was_told = NULL, *is_told = NULL;
	size_t same = was && is ? value_same(was, is) : 0;

	if (was && is && strcmp(was, is) == 0)
		return 0;
	if ((was && !(was_told = value_part(was, same, WHOLE_BYTES))) ||
	    (is && !(is_told = value_part(is, same, WHOLE_BYTES))))
		return -ENOMEM;
	return was || is ? add_change(changes, what, steal(&was_told), steal(&is_told)) : 0;
}

/* --- Lists --- */

static int pairs_differ(struct arm_changes *changes, const char *what, const struct pair_list *a,
			const struct pair_list *b)
{
	size_t i = 0, k = 0;
	int r = 0;

	while (r == 0 && (i < a->count || k < b->count)) {
		int order = i == a->count   ? 1
			    : k == b->count ? -1
					    : strcmp(a->items[i].name, b->items[k].name);
		const char *name = order <= 0 ? a->items[i].name : b->items[k].name;
		const struct pair *was = order <= 0 ? &a->items[i++] : NULL;
		const struct pair *is = order >= 0 ? &b->items[k++] : NULL;
		/* Values of others are digests and paths. */
		bool variable = strcmp(what, "environment") == 0;
		bool secret = variable && ((was && secret_variable(name, was->value)) ||
					   (is && secret_variable(name, is->value)));
		_cleanup_free_ char *path = NULL;

		if (was && is && strcmp(was->value, is->value) == 0)
			continue;
		if (asprintf(&path, "%s.%s", what, name) < 0) {
			path = NULL;
			return -ENOMEM;
		}
		r = differ(changes, path, was ? (secret ? "(masked)" : was->value) : NULL,
			   is ? (secret ? (was ? "(masked, another)" : "(masked)") : is->value)
			      : NULL);
	}
	return r;
}

static int structures_differ(struct arm_changes *changes, const char *prefix,
			     const struct message_type *type, const void *a, const void *b);

/* What an item of a list is called in it, and what is told of one that is new or gone. */
struct item_words {
	const char *name, *telling;
};

static struct item_words item_words(enum field_type type, const void *item)
{
	if (type == FIELD_ARM_FILES) {
		const struct arm_file *file = item;

		return (struct item_words){file->path, file->source};
	}
	if (type == FIELD_ARM_HARNESSES) {
		const struct arm_harness *harness = item;

		return (struct item_words){harness->name, harness->executable ?: harness->name};
	}
	return (struct item_words){((const struct arm_provider *)item)->name,
				   ((const struct arm_provider *)item)->name};
}

static int lists_differ(struct arm_changes *changes, const char *what, enum field_type type,
			const struct any_list *a, const struct any_list *b)
{
	const struct message_type *inner = field_inner_type(type);
	size_t i = 0, k = 0;
	int r = 0;

	while (r == 0 && (i < a->count || k < b->count)) {
		const void *was = i < a->count ? (const char *)a->items + i * inner->size : NULL;
		const void *is = k < b->count ? (const char *)b->items + k * inner->size : NULL;
		struct item_words was_words = was ? item_words(type, was) : (struct item_words){0};
		struct item_words is_words = is ? item_words(type, is) : (struct item_words){0};
		int order = !was ? 1 : !is ? -1 : strcmp(was_words.name, is_words.name);
		_cleanup_free_ char *path = NULL;

		if (asprintf(&path, "%s.%s", what, order <= 0 ? was_words.name : is_words.name) <
		    0) {
			path = NULL;
			return -ENOMEM;
		}
		i += order <= 0;
		k += order >= 0;
		if (order == 0)
			r = structures_differ(changes, path, inner, was, is);
		else
			r = differ(changes, path, order < 0 ? was_words.telling : NULL,
				   order > 0 ? is_words.telling : NULL);
	}
	return r;
}

/* --- All of it --- */

static int folders_differ(struct arm_changes *changes, const char *what,
			  const struct arm_folder *was, const struct arm_folder *is)
{
	if (was && is)
		return structures_differ(changes, what, &arm_folder_type, was, is);
	return differ(changes, what, was ? was->path : NULL, is ? is->path : NULL);
}

static int field_differs(struct arm_changes *changes, const char *path, const struct field *field,
			 const void *a, const void *b)
{
	const char *was = (const char *)a + field->offset, *is = (const char *)b + field->offset;
	_cleanup_free_ char *was_text = NULL, *is_text = NULL;
	struct any_list was_list, is_list;
	int r;

	switch (field->type) {
	case FIELD_LIMITS:
		return structures_differ(changes, path, &limits_spec_type, was, is);
	case FIELD_ARM_FOLDER:
		return folders_differ(changes, path,
				      field_there(field, a) ? (const void *)was : NULL,
				      field_there(field, b) ? (const void *)is : NULL);
	case FIELD_PAIRS:
		return pairs_differ(changes, path, (const void *)was, (const void *)is);
	case FIELD_ARM_FILES:
	case FIELD_ARM_HARNESSES:
	case FIELD_ARM_PROVIDERS:
		memcpy(&was_list, was, sizeof(was_list));
		memcpy(&is_list, is, sizeof(is_list));
		return lists_differ(changes, path, field->type, &was_list, &is_list);
	default:
		r = field_text(field, a, &was_text);
		if (r == 0)
			r = field_text(field, b, &is_text);
		return r < 0 ? r : differ(changes, path, was_text, is_text);
	}
}

/* Of content that is another one its digest is told: how large it is has no need to be, beside. */
static bool told_by_digest(const struct message_type *type, const struct field *field)
{
	if (type == &arm_file_type)
		return strcmp(field->name, "size") == 0;
	return type == &arm_folder_type &&
	       (strcmp(field->name, "files") == 0 || strcmp(field->name, "bytes") == 0);
}

static bool digest_differs(const struct message_type *type, const void *a, const void *b)
{
	const char *was = NULL, *is = NULL;

	if (type == &arm_file_type) {
		was = ((const struct arm_file *)a)->sha256;
		is = ((const struct arm_file *)b)->sha256;
	} else if (type == &arm_folder_type) {
		was = ((const struct arm_folder *)a)->sha256;
		is = ((const struct arm_folder *)b)->sha256;
	}
	return strcmp(was ?: "", is ?: "") != 0;
}

static int structures_differ(struct arm_changes *changes, const char *prefix,
			     const struct message_type *type, const void *a, const void *b)
{
	bool digest = digest_differs(type, a, b);
	int r = 0;

	for (size_t i = 0; r == 0 && i < type->count; i++) {
		const struct field *field = &type->fields[i];
		_cleanup_free_ char *path = NULL;

		if (digest && told_by_digest(type, field))
			continue;
		if (asprintf(&path, "%s%s%s", prefix, *prefix ? "." : "", field->name) < 0) {
			path = NULL;
			return -ENOMEM;
		}
		r = field_differs(changes, path, field, a, b);
	}
	return r;
}

int arm_difference(const struct arm *a, const struct arm *b, struct arm_changes *ret_changes)
{
	_cleanup_(arm_ordered_done) struct arm_ordered was = {0}, is = {0};
	int r;

	*ret_changes = (struct arm_changes){0};
	r = arm_order(&was, a);
	if (r == 0)
		r = arm_order(&is, b);
	if (r == 0)
		r = structures_differ(ret_changes, "", &arm_type, &was.arm, &is.arm);
	if (r < 0)
		arm_changes_done(ret_changes);
	return r;
}

void arm_changes_done(struct arm_changes *changes)
{
	for (size_t i = 0; i < changes->list.count; i++) {
		free((char *)changes->list.items[i].what);
		free((char *)changes->list.items[i].was);
		free((char *)changes->list.items[i].is);
	}
	free(changes->list.items);
	*changes = (struct arm_changes){0};
}

/* --- In words --- */

/* Whether what is this key of the item that is called name, in the list that is called list. */
static bool is_of(const char *what, const char *list, const char *name, const char *key)
{
	size_t length = strlen(list), size = strlen(name);

	return strncmp(what, list, length) == 0 && what[length] == '.' &&
	       strncmp(what + length + 1, name, size) == 0 &&
	       strcmp(what + length + 1 + size, key) == 0;
}

/* Whose content it is that changed: a path of the host, or NULL. */
static const char *path_of(const struct arm *arm, const char *what)
{
	if (strcmp(what, "build.sha256") == 0)
		return arm->has.build ? arm->build.path : NULL;
	if (strcmp(what, "skills.sha256") == 0)
		return arm->has.skills ? arm->skills.path : NULL;
	for (size_t i = 0; i < arm->files.count; i++)
		if (is_of(what, "files", arm->files.items[i].path, ".sha256"))
			return arm->files.items[i].source;
	for (size_t i = 0; i < arm->harnesses.count; i++) {
		const struct arm_harness *harness = &arm->harnesses.items[i];

		if (is_of(what, "harnesses", harness->name, ".sha256"))
			return harness->executable;
		if (is_of(what, "harnesses", harness->name, ".interpreter_sha256"))
			return harness->interpreter;
	}
	return NULL;
}

char *arm_changes_text(const struct arm_changes *changes, const struct arm *before)
{
	size_t count = changes->list.count, shown_count = count < SHOWN_MOST ? count : SHOWN_MOST;
	size_t more = count - shown_count + changes->more, size = 0;
	char *text = NULL;
	FILE *stream = open_memstream(&text, &size);
	bool failed = !stream;

	for (size_t i = 0; !failed && i < shown_count; i++) {
		const struct arm_change *change = &changes->list.items[i];
		_cleanup_free_ char *what = value_shown(change->what),
				    *was = value_shown(change->was), *is = value_shown(change->is);
		const char *path = path_of(before, change->what);
		_cleanup_free_ char *of = value_shown(path ?: "");

		failed = !what || !was || !is || !of ||
			 fprintf(stream, "%s%s%s%s%s was %s, and is %s", i ? "; " : "", what,
				 path ? " (" : "", of, path ? ")" : "", was, is) < 0;
	}
	if (!failed && more)
		failed = fprintf(stream, "; and %zu more", more) < 0;
	if (stream && fclose(stream) != 0)
		failed = true;
	if (failed) {
		free(text);
		return NULL;
	}
	return text;
}

/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "proto/codec.h"
#include "sample.h"

struct block {
	struct block *next;
	_Alignas(max_align_t) char bytes[];
};

struct sample {
	uint64_t state;
	struct block *blocks;
};

#define TYPE_POINTER_(c_name, FIELDS) &c_name##_type,
const struct message_type *const sample_types[] = {PROTOCOL_MESSAGES(TYPE_POINTER_)};
const size_t sample_type_count = sizeof(sample_types) / sizeof(sample_types[0]);

struct sample *sample_new(uint64_t seed)
{
	struct sample *sample = calloc(1, sizeof(*sample));

	if (!sample)
		abort();
	sample->state = seed * 2 + 1;
	return sample;
}

struct sample *sample_free(struct sample *sample)
{
	if (!sample)
		return NULL;
	while (sample->blocks) {
		struct block *next = sample->blocks->next;

		free(sample->blocks);
		sample->blocks = next;
	}
	free(sample);
	return NULL;
}

/* splitmix64 */
static uint64_t next(struct sample *sample)
{
	uint64_t z = sample->state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

uint64_t sample_number(struct sample *sample, uint64_t below)
{
	return next(sample) % below;
}

void *sample_allocate(struct sample *sample, size_t size)
{
	struct block *block = calloc(1, sizeof(*block) + size + 1);

	if (!block)
		abort();
	block->next = sample->blocks;
	sample->blocks = block;
	return block->bytes;
}

/* UTF-8 of at most size bytes, one of 1, 2, 3 or 4 bytes at a time; never empty. */
static char *make_text(struct sample *sample, size_t size)
{
	static const char *const characters[] = {
		"a", "Z", " ", "\n", "=", "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x99\x82"};
	size_t wanted = 1 + sample_number(sample, size < 40 ? size : 40);
	char *text = sample_allocate(sample, size + 1);
	size_t at = 0;

	while (at < wanted) {
		const char *character = characters[sample_number(sample, 8)];
		size_t length = strlen(character);

		if (at + length > size)
			character = "x", length = 1;
		memcpy(text + at, character, length);
		at += length;
	}
	return text;
}

/* Any bytes but NUL. */
static char *make_bytes(struct sample *sample, const char *prefix)
{
	size_t count = sample_number(sample, 30), at = strlen(prefix);
	char *bytes = sample_allocate(sample, at + count + 1);

	memcpy(bytes, prefix, at);
	for (size_t i = 0; i < count; i++)
		bytes[at + i] = (char)(1 + sample_number(sample, 255));
	return bytes;
}

static size_t make_count(struct sample *sample, const struct field *field, bool all)
{
	size_t count = all ? 1 + sample_number(sample, 2) : sample_number(sample, 4);

	return field->limit && count > field->limit ? field->limit : count;
}

/* The name of the index-th pair: they must differ, and hold no '='. */
static char *make_name(struct sample *sample, size_t index)
{
	char *name = make_text(sample, 20);

	for (char *c = name; *c; c++)
		if (*c == '=')
			*c = '-';
	name[0] = (char)('A' + index);
	/* The first character may have been one of several bytes. */
	for (char *c = name + 1; *c && (*c & 0xc0) == 0x80; c++)
		*c = '_';
	return name;
}

static void make_list(struct sample *sample, const struct field *field, bool all, void *member)
{
	const struct message_type *inner = field_inner_type(field->type);
	size_t count = make_count(sample, field, all);
	struct text_list *texts = member;
	struct pair_list *pairs = member;
	struct any_list list = {.count = count};

	switch (field->type) {
	case FIELD_STRINGS:
	case FIELD_BYTES_LIST:
		texts->count = count;
		texts->items = sample_allocate(sample, count * sizeof(*texts->items));
		for (size_t i = 0; i < count; i++)
			texts->items[i] = field->type == FIELD_STRINGS ? make_text(sample, 50)
								       : make_bytes(sample, "");
		return;
	case FIELD_PAIRS:
	case FIELD_STRING_PAIRS:
		pairs->count = count;
		pairs->items = sample_allocate(sample, count * sizeof(*pairs->items));
		for (size_t i = 0; i < count; i++) {
			pairs->items[i].name = make_name(sample, i);
			pairs->items[i].value = field->type == FIELD_STRING_PAIRS
							? make_text(sample, 50)
							: make_bytes(sample, "");
		}
		return;
	default:
		list.items = sample_allocate(sample, count * inner->size);
		for (size_t i = 0; i < count; i++)
			sample_fill(sample, inner, all, (char *)list.items + i * inner->size);
		memcpy(member, &list, sizeof(list));
	}
}

static void make_scalar(struct sample *sample, const struct field *field, bool all, void *member)
{
	uint64_t most = field_max(field);
	/* Small numbers and big ones alike: msgpack has a form for each size. */
	uint64_t number = (next(sample) >> sample_number(sample, 64)) % (most + 1);
	const struct word_set *words = field_words(field->type);
	int word;

	if (words) {
		word = (int)sample_number(sample, words->count);
		memcpy(member, &word, sizeof(word));
		return;
	}
	switch (field->type) {
	case FIELD_INT:
		*(int64_t *)member = sample_number(sample, 2) ? (int64_t)number : -(int64_t)number;
		break;
	case FIELD_SECONDS:
		*(double *)member = (double)(number % 1000000) / 7;
		if (field->limit && *(double *)member > (double)field->limit)
			*(double *)member = (double)field->limit;
		break;
	case FIELD_FLOAT:
		*(double *)member = (double)(int64_t)next(sample) / 3;
		break;
	case FIELD_BOOL:
		*(bool *)member = sample_number(sample, 2);
		break;
	case FIELD_LIMITS:
	case FIELD_BOUNDARY:
	case FIELD_TRIAL:
	case FIELD_TRIAL_HARNESS:
	case FIELD_TRIAL_VERDICT:
	case FIELD_CONNECTION_SUM:
	case FIELD_SANDBOX:
	case FIELD_ARM_FOLDER:
	case FIELD_ARM_SPEC:
	case FIELD_ARM:
	case FIELD_BAR_SPEC:
		sample_fill(sample, field_inner_type(field->type), all, member);
		break;
	default:
		*(uint64_t *)member = number;
	}
}

static void make_member(struct sample *sample, const struct field *field, bool all, void *member)
{
	struct blob *blob = member;
	const char **text = member;

	switch (field->type) {
	case FIELD_STRING:
		*text = make_text(sample, field->limit ? field->limit : 50);
		break;
	case FIELD_BYTES:
		*text = make_bytes(sample, "");
		break;
	case FIELD_PATH:
		*text = make_bytes(sample, "/");
		break;
	case FIELD_BLOB:
		blob->size = all ? 1 + sample_number(sample, 60) : sample_number(sample, 60);
		blob->data = sample_allocate(sample, blob->size);
		for (size_t i = 0; i < blob->size; i++)
			((uint8_t *)blob->data)[i] = (uint8_t)next(sample);
		break;
	case FIELD_STRINGS:
	case FIELD_BYTES_LIST:
	case FIELD_PAIRS:
	case FIELD_STRING_PAIRS:
	case FIELD_BINDS:
	case FIELD_LIMIT_STATES:
	case FIELD_LOG_STATES:
	case FIELD_GIT_CHANGES:
	case FIELD_LOGIN_OUTCOMES:
	case FIELD_KEPT_LIST:
	case FIELD_STATUS_TRIALS:
	case FIELD_DOCTOR_CHECKS:
	case FIELD_TRIALS:
	case FIELD_HARNESSES:
	case FIELD_LOGINS:
	case FIELD_TRIAL_TOOLCHAINS:
	case FIELD_CONNECTIONS:
	case FIELD_MOUNTS:
	case FIELD_TRIAL_HARNESSES:
	case FIELD_ARM_FILES:
	case FIELD_ARM_HARNESSES:
	case FIELD_ARM_PROVIDERS:
	case FIELD_ARM_CHANGES:
	case FIELD_ARM_VIEWS:
	case FIELD_BAR_SEATS:
	case FIELD_BAR_VIEWS:
	case FIELD_PANEL_SEATS:
	case FIELD_PANEL_ARMS:
		make_list(sample, field, all, member);
		break;
	default:
		make_scalar(sample, field, all, member);
	}
}

void sample_fill(struct sample *sample, const struct message_type *type, bool all, void *structure)
{
	memset(structure, 0, type->size);
	for (size_t i = 0; i < type->count; i++) {
		const struct field *field = &type->fields[i];

		if (!field->required && !all && sample_number(sample, 2))
			continue;
		*(bool *)((char *)structure + field->has_offset) = true;
		make_member(sample, field, all, (char *)structure + field->offset);
	}
}

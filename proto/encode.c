/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "codec.h"

/*
 * From a C structure to a msgpack map, driven by the field tables.
 *
 * What a person asks for goes out as it is: a label that is not UTF-8 or too long is for the
 * daemon to refuse, by name. What is told to people goes out in any case: an outcome must not be
 * lost because a message in it quotes a path that is no UTF-8. So in all but requests a STRING is
 * mended (U+FFFD for what is not UTF-8) and cut to its limit.
 */

static const char replacement[] = "\xef\xbf\xbd";

struct context {
	msgpack_packer *packer;
	bool mend;
};

static int encode_map(const struct context *context, const struct message_type *type,
		      const void *structure);

static int encode_unsigned(const struct context *context, const struct field *field,
			   const void *member)
{
	(void)field;
	return msgpack_pack_uint64(context->packer, *(const uint64_t *)member);
}

static int encode_int(const struct context *context, const struct field *field, const void *member)
{
	(void)field;
	return msgpack_pack_int64(context->packer, *(const int64_t *)member);
}

static int encode_float(const struct context *context, const struct field *field,
			const void *member)
{
	(void)field;
	if (!isfinite(*(const double *)member))
		return -EINVAL;
	return msgpack_pack_double(context->packer, *(const double *)member);
}

static int encode_bool(const struct context *context, const struct field *field, const void *member)
{
	(void)field;
	return *(const bool *)member ? msgpack_pack_true(context->packer)
				     : msgpack_pack_false(context->packer);
}

static int pack_str(msgpack_packer *packer, const char *text, size_t size)
{
	int r = msgpack_pack_str(packer, size);

	return r < 0 ? r : msgpack_pack_str_body(packer, text, size);
}

static int pack_bin(msgpack_packer *packer, const void *bytes, size_t size)
{
	int r = msgpack_pack_bin(packer, size);

	return r < 0 ? r : msgpack_pack_bin_body(packer, bytes, size);
}

/* str when it is UTF-8, else bin. */
static int pack_bytes(const struct context *context, const char *text, uint64_t limit)
{
	size_t size = strlen(text);

	(void)limit;
	return utf8_valid(text, size) ? pack_str(context->packer, text, size)
				      : pack_bin(context->packer, text, size);
}

/* One character of the mended text: which bytes stand for it, and how many of text it took. */
static const char *mend_next(const char *text, size_t size, size_t *ret_bytes, size_t *ret_taken)
{
	size_t length = utf8_sequence((const uint8_t *)text, size);

	*ret_bytes = length ? length : sizeof(replacement) - 1;
	*ret_taken = length ? length : 1;
	return length ? text : replacement;
}

/* limit 0: none. */
static int pack_mended(msgpack_packer *packer, const char *text, uint64_t limit)
{
	size_t size = strlen(text), total = 0, end = 0, bytes, taken;
	int r;

	while (end < size) {
		mend_next(text + end, size - end, &bytes, &taken);
		if (limit && total + bytes > limit)
			break;
		total += bytes;
		end += taken;
	}
	r = msgpack_pack_str(packer, total);
	for (size_t at = 0; at < end && r >= 0; at += taken) {
		const char *character = mend_next(text + at, size - at, &bytes, &taken);

		r = msgpack_pack_str_body(packer, character, bytes);
	}
	return r;
}

static int pack_string(const struct context *context, const char *text, uint64_t limit)
{
	size_t size = strlen(text);

	if (!context->mend || ((limit == 0 || size <= limit) && utf8_valid(text, size)))
		return pack_bytes(context, text, limit);
	return pack_mended(context->packer, text, limit);
}

static int encode_string(const struct context *context, const struct field *field,
			 const void *member)
{
	return pack_string(context, *(const char *const *)member, field->limit);
}

static int encode_bytes(const struct context *context, const struct field *field,
			const void *member)
{
	return pack_bytes(context, *(const char *const *)member, field->limit);
}

static int encode_blob(const struct context *context, const struct field *field, const void *member)
{
	const struct blob *blob = member;

	(void)field;
	return pack_bin(context->packer, blob->data, blob->size);
}

typedef int (*pack_text)(const struct context *context, const char *text, uint64_t limit);

static int encode_texts(const struct context *context, const struct text_list *list, pack_text pack)
{
	int r = msgpack_pack_array(context->packer, list->count);

	for (size_t i = 0; i < list->count && r >= 0; i++)
		r = list->items[i] ? pack(context, list->items[i], 0) : -EINVAL;
	return r;
}

static int encode_strings(const struct context *context, const struct field *field,
			  const void *member)
{
	(void)field;
	return encode_texts(context, member, pack_string);
}

static int encode_bytes_list(const struct context *context, const struct field *field,
			     const void *member)
{
	(void)field;
	return encode_texts(context, member, pack_bytes);
}

static int encode_map_of_texts(const struct context *context, const struct pair_list *list,
			       pack_text pack)
{
	int r = msgpack_pack_map(context->packer, list->count);

	for (size_t i = 0; i < list->count && r >= 0; i++) {
		const struct pair *pair = &list->items[i];

		if (!pair->name || !pair->value)
			return -EINVAL;
		/* A key is str whatever it holds: two names that are mended could become one. */
		r = pack_str(context->packer, pair->name, strlen(pair->name));
		if (r >= 0)
			r = pack(context, pair->value, 0);
	}
	return r;
}

static int encode_pairs(const struct context *context, const struct field *field,
			const void *member)
{
	(void)field;
	return encode_map_of_texts(context, member, pack_bytes);
}

static int encode_string_pairs(const struct context *context, const struct field *field,
			       const void *member)
{
	(void)field;
	return encode_map_of_texts(context, member, pack_string);
}

static int encode_word(const struct context *context, const struct field *field, const void *member)
{
	const struct word_set *set = field_words(field->type);
	int word;

	memcpy(&word, member, sizeof(word));
	if (word < 0 || (size_t)word >= set->count)
		return -EINVAL;
	return pack_str(context->packer, set->words[word], strlen(set->words[word]));
}

static int encode_structure(const struct context *context, const struct field *field,
			    const void *member)
{
	return encode_map(context, field_inner_type(field->type), member);
}

static int encode_structures(const struct context *context, const struct field *field,
			     const void *member)
{
	const struct message_type *type = field_inner_type(field->type);
	struct any_list list;
	int r;

	memcpy(&list, member, sizeof(list));
	r = msgpack_pack_array(context->packer, list.count);
	for (size_t i = 0; i < list.count && r >= 0; i++)
		r = encode_map(context, type, (const char *)list.items + i * type->size);
	return r;
}

/* Presence beside `has`: a text is there when its pointer is, a list also when it has elements. */
enum presence { BY_HAS, BY_POINTER, BY_COUNT };

struct encoder {
	int (*encode)(const struct context *context, const struct field *field, const void *member);
	enum presence presence;
};

static const struct encoder encoders[FIELD_TYPE_COUNT] = {
	[FIELD_UINT] = {encode_unsigned, BY_HAS},
	[FIELD_SIZE] = {encode_unsigned, BY_HAS},
	[FIELD_TIME] = {encode_unsigned, BY_HAS},
	[FIELD_INT] = {encode_int, BY_HAS},
	[FIELD_SECONDS] = {encode_float, BY_HAS},
	[FIELD_FLOAT] = {encode_float, BY_HAS},
	[FIELD_BOOL] = {encode_bool, BY_HAS},
	[FIELD_STRING] = {encode_string, BY_POINTER},
	[FIELD_BYTES] = {encode_bytes, BY_POINTER},
	[FIELD_PATH] = {encode_bytes, BY_POINTER},
	[FIELD_BLOB] = {encode_blob, BY_COUNT},
	[FIELD_STRINGS] = {encode_strings, BY_COUNT},
	[FIELD_BYTES_LIST] = {encode_bytes_list, BY_COUNT},
	[FIELD_PAIRS] = {encode_pairs, BY_COUNT},
	[FIELD_STRING_PAIRS] = {encode_string_pairs, BY_COUNT},
	[FIELD_STATE] = {encode_word, BY_HAS},
	[FIELD_OUTCOME] = {encode_word, BY_HAS},
	[FIELD_CAUSE] = {encode_word, BY_HAS},
	[FIELD_ENDER] = {encode_word, BY_HAS},
	[FIELD_ROLE] = {encode_word, BY_HAS},
	[FIELD_MODE] = {encode_word, BY_HAS},
	[FIELD_NETWORK] = {encode_word, BY_HAS},
	[FIELD_BACKEND] = {encode_word, BY_HAS},
	[FIELD_STREAM] = {encode_word, BY_HAS},
	[FIELD_CHECK_STATE] = {encode_word, BY_HAS},
	[FIELD_HOLD] = {encode_word, BY_HAS},
	[FIELD_LOGIN_KIND] = {encode_word, BY_HAS},
	[FIELD_LOGIN_CONDITION] = {encode_word, BY_HAS},
	[FIELD_LIMITS] = {encode_structure, BY_HAS},
	[FIELD_BOUNDARY] = {encode_structure, BY_HAS},
	[FIELD_TRIAL] = {encode_structure, BY_HAS},
	[FIELD_BINDS] = {encode_structures, BY_COUNT},
	[FIELD_LIMIT_STATES] = {encode_structures, BY_COUNT},
	[FIELD_LOG_STATES] = {encode_structures, BY_COUNT},
	[FIELD_GIT_CHANGES] = {encode_structures, BY_COUNT},
	[FIELD_LOGIN_OUTCOMES] = {encode_structures, BY_COUNT},
	[FIELD_KEPT_LIST] = {encode_structures, BY_COUNT},
	[FIELD_STATUS_TRIALS] = {encode_structures, BY_COUNT},
	[FIELD_DOCTOR_CHECKS] = {encode_structures, BY_COUNT},
	[FIELD_TRIALS] = {encode_structures, BY_COUNT},
	[FIELD_TRIAL_HARNESS] = {encode_structure, BY_HAS},
	[FIELD_HARNESSES] = {encode_structures, BY_COUNT},
	[FIELD_LOGINS] = {encode_structures, BY_COUNT},
	[FIELD_TRIAL_TOOLCHAINS] = {encode_structures, BY_COUNT},
	[FIELD_VERDICT] = {encode_word, BY_HAS},
	[FIELD_VOTE] = {encode_word, BY_HAS},
	[FIELD_TRIAL_VERDICT] = {encode_structure, BY_HAS},
	[FIELD_CONNECTIONS] = {encode_structures, BY_COUNT},
	[FIELD_CONNECTION_SUM] = {encode_structure, BY_HAS},
	[FIELD_MOUNT_KIND] = {encode_word, BY_HAS},
	[FIELD_MOUNTS] = {encode_structures, BY_COUNT},
	[FIELD_SANDBOX] = {encode_structure, BY_HAS},
	[FIELD_TRIAL_HARNESSES] = {encode_structures, BY_COUNT},
	[FIELD_ARM_FILES] = {encode_structures, BY_COUNT},
	[FIELD_ARM_HARNESSES] = {encode_structures, BY_COUNT},
	[FIELD_ARM_PROVIDERS] = {encode_structures, BY_COUNT},
	[FIELD_ARM_CHANGES] = {encode_structures, BY_COUNT},
	[FIELD_ARM_VIEWS] = {encode_structures, BY_COUNT},
	[FIELD_ARM_FOLDER] = {encode_structure, BY_HAS},
	[FIELD_ARM_SPEC] = {encode_structure, BY_HAS},
	[FIELD_ARM] = {encode_structure, BY_HAS},
	[FIELD_BAR_SEATS] = {encode_structures, BY_COUNT},
	[FIELD_BAR_SPEC] = {encode_structure, BY_HAS},
	[FIELD_BAR_VIEWS] = {encode_structures, BY_COUNT},
	[FIELD_PANEL_SEATS] = {encode_structures, BY_COUNT},
	[FIELD_PANEL_ARMS] = {encode_structures, BY_COUNT},
};

static bool field_present(const struct field *field, const void *structure)
{
	const char *member = (const char *)structure + field->offset;
	bool has = *(const bool *)((const char *)structure + field->has_offset);

	switch (encoders[field->type].presence) {
	case BY_POINTER:
		return *(const char *const *)(const void *)member != NULL;
	case BY_COUNT:
		/* An empty list that must be there needs no mention. */
		if (has || field->required)
			return true;
		if (field->type == FIELD_BLOB)
			return ((const struct blob *)(const void *)member)->data != NULL;
		return *(const size_t *)(const void *)member > 0;
	default:
		return has;
	}
}

static int encode_map(const struct context *context, const struct message_type *type,
		      const void *structure)
{
	size_t count = 0;
	int r;

	for (size_t i = 0; i < type->count; i++) {
		if (field_present(&type->fields[i], structure))
			count++;
		else if (type->fields[i].required)
			return -EINVAL;
	}
	r = msgpack_pack_map(context->packer, count);
	for (size_t i = 0; i < type->count && r >= 0; i++) {
		const struct field *field = &type->fields[i];

		if (!field_present(field, structure))
			continue;
		r = pack_str(context->packer, field->name, strlen(field->name));
		if (r >= 0)
			r = encoders[field->type].encode(context, field,
							 (const char *)structure + field->offset);
	}
	return r;
}

static bool is_request(const struct message_type *type)
{
	for (int verb = 0; verb < VERB_COUNT; verb++)
		if (verb_arguments_type((enum verb)verb) == type)
			return true;
	return false;
}

int message_encode(msgpack_packer *packer, const struct message_type *type, const void *structure)
{
	struct context context = {.packer = packer, .mend = !is_request(type)};
	int r;

	/* The buffer's writer says -1 when memory ran out; refusals here are -EINVAL. */
	r = encode_map(&context, type, structure);
	if (r == -1)
		return -ENOMEM;
	return r < 0 ? r : 0;
}

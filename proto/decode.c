/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "codec.h"

/*
 * From a msgpack map to a C structure, driven by the field tables: one function per field type,
 * found by the type. What is refused is named by its path from the message ("binds[2].mode") and
 * told what is allowed; the path is a chain on the stack that only an error renders.
 *
 * Strings are copied into the message's arena, since C wants a NUL that msgpack does not have.
 */

/* One step of the path to a value: a key, or an index when name is NULL. */
struct step {
	const struct step *up;
	const char *name;
	size_t name_size;
	size_t index;
};

struct context {
	struct message *message;
	enum unknown_keys unknown;
	const struct step *path;
	struct decode_error *error;
};

static int decode_map(struct context *context, const msgpack_object *map,
		      const struct message_type *type, void *structure);

/* Appends name with every byte that is not plain ASCII as '?': it comes from the other side. */
static void append_name(char *text, size_t size, const char *name, size_t name_size)
{
	size_t at = strlen(text);

	for (size_t i = 0; i < name_size && at + 1 < size; i++)
		text[at++] = (char)(name[i] >= 0x20 && name[i] < 0x7f ? name[i] : '?');
	text[at] = '\0';
}

static void append_step(char *text, size_t size, const struct step *step)
{
	size_t at;

	if (!step)
		return;
	append_step(text, size, step->up);
	at = strlen(text);
	if (step->name) {
		if (at > 0)
			append_name(text, size, ".", 1);
		append_name(text, size, step->name, step->name_size);
	} else {
		snprintf(text + at, size - at, "[%zu]", step->index);
	}
}

__attribute__((format(printf, 2, 3))) static int refuse(const struct context *context,
							const char *format, ...)
{
	struct decode_error *error = context->error;
	va_list arguments;

	if (!error)
		return -EBADMSG;
	error->field[0] = '\0';
	append_step(error->field, sizeof(error->field), context->path);
	if (!context->path)
		append_name(error->field, sizeof(error->field), "message", 7);
	va_start(arguments, format);
	vsnprintf(error->reason, sizeof(error->reason), format, arguments);
	va_end(arguments);
	return -EBADMSG;
}

static struct context descend(const struct context *context, const struct step *step)
{
	struct context inner = *context;

	inner.path = step;
	return inner;
}

static void *allocate(struct context *context, size_t size)
{
	return msgpack_zone_malloc(&context->message->zone, size ? size : 1);
}

static int decode_unsigned(struct context *context, const struct field *field,
			   const msgpack_object *value, void *member, const char *what)
{
	if (value->type != MSGPACK_OBJECT_POSITIVE_INTEGER || value->via.u64 > field_max(field)) {
		if (field->limit == 0)
			return refuse(context, "must be %s", what);
		return refuse(context, "must be %s, at most %llu", what,
			      (unsigned long long)field->limit);
	}
	*(uint64_t *)member = value->via.u64;
	return 0;
}

static int decode_uint(struct context *context, const struct field *field,
		       const msgpack_object *value, void *member)
{
	return decode_unsigned(context, field, value, member, "a whole number, 0 or more");
}

static int decode_size(struct context *context, const struct field *field,
		       const msgpack_object *value, void *member)
{
	return decode_unsigned(context, field, value, member, "a whole number of bytes");
}

static int decode_time(struct context *context, const struct field *field,
		       const msgpack_object *value, void *member)
{
	return decode_unsigned(context, field, value, member,
			       "a time: whole microseconds since 1970, UTC");
}

static int decode_int(struct context *context, const struct field *field,
		      const msgpack_object *value, void *member)
{
	int64_t most = (int64_t)field_max(field);
	bool integer = value->type == MSGPACK_OBJECT_NEGATIVE_INTEGER ||
		       (value->type == MSGPACK_OBJECT_POSITIVE_INTEGER &&
			value->via.u64 <= INT64_MAX);

	if (!integer || value->via.i64 > most || value->via.i64 < -most)
		return refuse(context, "must be a whole number from -%lld to %lld", (long long)most,
			      (long long)most);
	*(int64_t *)member = value->via.i64;
	return 0;
}

/* A finite number, written as float or as integer. */
static bool read_number(const msgpack_object *value, double *ret_number)
{
	switch (value->type) {
	case MSGPACK_OBJECT_FLOAT32:
	case MSGPACK_OBJECT_FLOAT64:
		*ret_number = value->via.f64;
		return isfinite(value->via.f64);
	case MSGPACK_OBJECT_POSITIVE_INTEGER:
		*ret_number = (double)value->via.u64;
		return true;
	case MSGPACK_OBJECT_NEGATIVE_INTEGER:
		*ret_number = (double)value->via.i64;
		return true;
	default:
		return false;
	}
}

static int decode_seconds(struct context *context, const struct field *field,
			  const msgpack_object *value, void *member)
{
	double number;

	if (read_number(value, &number) && number >= 0 &&
	    (field->limit == 0 || number <= (double)field->limit)) {
		*(double *)member = number;
		return 0;
	}
	if (field->limit == 0)
		return refuse(context, "must be a number of seconds, 0 or more");
	return refuse(context, "must be a number of seconds from 0 to %llu",
		      (unsigned long long)field->limit);
}

static int decode_float(struct context *context, const struct field *field,
			const msgpack_object *value, void *member)
{
	double number;

	(void)field;
	if (!read_number(value, &number))
		return refuse(context, "must be a finite number");
	*(double *)member = number;
	return 0;
}

static int decode_bool(struct context *context, const struct field *field,
		       const msgpack_object *value, void *member)
{
	(void)field;
	if (value->type != MSGPACK_OBJECT_BOOLEAN)
		return refuse(context, "must be true or false");
	*(bool *)member = value->via.boolean;
	return 0;
}

/* The bytes of a str or a bin. */
static bool read_bytes(const msgpack_object *value, struct blob *ret_bytes)
{
	if (value->type == MSGPACK_OBJECT_STR)
		*ret_bytes = (struct blob){(const uint8_t *)value->via.str.ptr,
					   value->via.str.size};
	else if (value->type == MSGPACK_OBJECT_BIN)
		*ret_bytes = (struct blob){(const uint8_t *)value->via.bin.ptr,
					   value->via.bin.size};
	else
		return false;
	return true;
}

static int copy_text(struct context *context, struct blob bytes, const char **ret_text)
{
	char *text = allocate(context, bytes.size + 1);

	if (!text)
		return -ENOMEM;
	if (bytes.size)
		memcpy(text, bytes.data, bytes.size);
	text[bytes.size] = '\0';
	*ret_text = text;
	return 0;
}

static bool holds_nul(struct blob bytes)
{
	return bytes.size && memchr(bytes.data, '\0', bytes.size);
}

/* limit 0: none. */
static int refuse_text(const struct context *context, const char *what, uint64_t limit)
{
	if (limit == 0)
		return refuse(context, "must be %s", what);
	return refuse(context, "must be %s, at most %llu bytes", what, (unsigned long long)limit);
}

static int read_string(struct context *context, const msgpack_object *value, uint64_t limit,
		       const char **ret_text)
{
	struct blob bytes;

	if (value->type != MSGPACK_OBJECT_STR || !read_bytes(value, &bytes) ||
	    (limit && bytes.size > limit) || holds_nul(bytes) ||
	    !utf8_valid(bytes.data, bytes.size))
		return refuse_text(context, "text in UTF-8 without NUL", limit);
	return copy_text(context, bytes, ret_text);
}

static int read_byte_string(struct context *context, const msgpack_object *value, uint64_t limit,
			    const char **ret_text)
{
	struct blob bytes;

	if (!read_bytes(value, &bytes) || (limit && bytes.size > limit) || holds_nul(bytes))
		return refuse_text(context, "a string without NUL", limit);
	return copy_text(context, bytes, ret_text);
}

static int decode_string(struct context *context, const struct field *field,
			 const msgpack_object *value, void *member)
{
	return read_string(context, value, field->limit, member);
}

static int decode_bytes(struct context *context, const struct field *field,
			const msgpack_object *value, void *member)
{
	return read_byte_string(context, value, field->limit, member);
}

static int decode_path(struct context *context, const struct field *field,
		       const msgpack_object *value, void *member)
{
	struct blob bytes;

	if (!read_bytes(value, &bytes) || bytes.size == 0 || bytes.data[0] != '/' ||
	    (field->limit && bytes.size > field->limit) || holds_nul(bytes))
		return refuse_text(context, "an absolute path without NUL", field->limit);
	return copy_text(context, bytes, member);
}

static int decode_blob(struct context *context, const struct field *field,
		       const msgpack_object *value, void *member)
{
	struct blob *blob = member;
	const char *copy;
	struct blob bytes;
	int r;

	if (!read_bytes(value, &bytes) || (field->limit && bytes.size > field->limit))
		return refuse_text(context, "a string of bytes", field->limit);
	r = copy_text(context, bytes, &copy);
	if (r < 0)
		return r;
	*blob = (struct blob){(const uint8_t *)copy, bytes.size};
	return 0;
}

static int read_array(const struct context *context, const struct field *field,
		      const msgpack_object *value)
{
	uint64_t limit = field->limit ? field->limit : MESSAGE_ELEMENTS_MAX;

	if (value->type == MSGPACK_OBJECT_ARRAY && value->via.array.size <= limit)
		return 0;
	return refuse(context, "must be a list of at most %llu", (unsigned long long)limit);
}

typedef int (*read_text)(struct context *context, const msgpack_object *value, uint64_t limit,
			 const char **ret_text);

static int decode_texts(struct context *context, const struct field *field,
			const msgpack_object *value, void *member, read_text read)
{
	struct text_list *list = member;
	size_t count;
	int r;

	r = read_array(context, field, value);
	if (r < 0)
		return r;
	count = value->via.array.size;
	/* One more, NULL: a list of arguments is then ready for exec. */
	list->items = allocate(context, (count + 1) * sizeof(*list->items));
	if (!list->items)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		struct step step = {.up = context->path, .index = i};
		struct context inner = descend(context, &step);

		r = read(&inner, &value->via.array.ptr[i], 0, &list->items[i]);
		if (r < 0)
			return r;
	}
	list->items[count] = NULL;
	list->count = count;
	return 0;
}

static int decode_strings(struct context *context, const struct field *field,
			  const msgpack_object *value, void *member)
{
	return decode_texts(context, field, value, member, read_string);
}

static int decode_bytes_list(struct context *context, const struct field *field,
			     const msgpack_object *value, void *member)
{
	return decode_texts(context, field, value, member, read_byte_string);
}

/* refused: a byte that names may not hold, or 0. */
static int read_pair(struct context *context, const msgpack_object_kv *entry, char refused,
		     read_text read, struct pair *ret_pair)
{
	struct step step = {.up = context->path,
			    .name = entry->key.via.str.ptr,
			    .name_size = entry->key.via.str.size};
	struct context inner = descend(context, &step);
	int r;

	r = read_string(context, &entry->key, MESSAGE_DATA_KEY_BYTES_MAX, &ret_pair->name);
	if (r < 0)
		return r == -EBADMSG ? refuse(context, "its names must be text in UTF-8") : r;
	if (ret_pair->name[0] == '\0')
		return refuse(context, "its names must not be empty");
	if (refused && strchr(ret_pair->name, refused))
		return refuse(&inner, "the name must not hold '%c'", refused);
	return read(&inner, &entry->val, 0, &ret_pair->value);
}

static int decode_map_of_texts(struct context *context, const struct field *field,
			       const msgpack_object *value, void *member, char refused,
			       read_text read)
{
	uint64_t limit = field->limit ? field->limit : MESSAGE_MAP_KEYS_MAX;
	struct pair_list *list = member;
	size_t count;
	int r;

	if (value->type != MSGPACK_OBJECT_MAP || value->via.map.size > limit)
		return refuse(context, "must be a map of at most %llu names",
			      (unsigned long long)limit);
	count = value->via.map.size;
	list->items = allocate(context, count * sizeof(*list->items));
	if (!list->items)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		r = read_pair(context, &value->via.map.ptr[i], refused, read, &list->items[i]);
		if (r < 0)
			return r;
	}
	list->count = count;
	return 0;
}

static int decode_pairs(struct context *context, const struct field *field,
			const msgpack_object *value, void *member)
{
	return decode_map_of_texts(context, field, value, member, '=', read_byte_string);
}

static int decode_string_pairs(struct context *context, const struct field *field,
			       const msgpack_object *value, void *member)
{
	return decode_map_of_texts(context, field, value, member, 0, read_string);
}

static int refuse_word(const struct context *context, const struct word_set *set)
{
	char words[192] = "";

	for (size_t i = 0; i < set->count; i++) {
		size_t at = strlen(words);

		snprintf(words + at, sizeof(words) - at, "%s%s", i ? ", " : "", set->words[i]);
	}
	return refuse(context, "must be one of %s", words);
}

static int decode_word(struct context *context, const struct field *field,
		       const msgpack_object *value, void *member)
{
	const struct word_set *set = field_words(field->type);

	if (value->type != MSGPACK_OBJECT_STR)
		return refuse_word(context, set);
	for (size_t i = 0; i < set->count; i++) {
		int word = (int)i;

		if (strlen(set->words[i]) != value->via.str.size ||
		    memcmp(set->words[i], value->via.str.ptr, value->via.str.size) != 0)
			continue;
		/* Every enum of message.h is as wide as an int: fields.c asserts it. */
		memcpy(member, &word, sizeof(word));
		return 0;
	}
	return refuse_word(context, set);
}

static int decode_structure(struct context *context, const struct field *field,
			    const msgpack_object *value, void *member)
{
	return decode_map(context, value, field_inner_type(field->type), member);
}

static int decode_structures(struct context *context, const struct field *field,
			     const msgpack_object *value, void *member)
{
	const struct message_type *type = field_inner_type(field->type);
	struct any_list list;
	int r;

	r = read_array(context, field, value);
	if (r < 0)
		return r;
	list.count = value->via.array.size;
	list.items = allocate(context, list.count * type->size);
	if (!list.items)
		return -ENOMEM;
	for (size_t i = 0; i < list.count; i++) {
		struct step step = {.up = context->path, .index = i};
		struct context inner = descend(context, &step);

		r = decode_map(&inner, &value->via.array.ptr[i], type,
			       (char *)list.items + i * type->size);
		if (r < 0)
			return r;
	}
	memcpy(member, &list, sizeof(list));
	return 0;
}

typedef int (*decode_field)(struct context *context, const struct field *field,
			    const msgpack_object *value, void *member);

static const decode_field decoders[FIELD_TYPE_COUNT] = {
	[FIELD_UINT] = decode_uint,
	[FIELD_SIZE] = decode_size,
	[FIELD_TIME] = decode_time,
	[FIELD_INT] = decode_int,
	[FIELD_SECONDS] = decode_seconds,
	[FIELD_FLOAT] = decode_float,
	[FIELD_BOOL] = decode_bool,
	[FIELD_STRING] = decode_string,
	[FIELD_BYTES] = decode_bytes,
	[FIELD_PATH] = decode_path,
	[FIELD_BLOB] = decode_blob,
	[FIELD_STRINGS] = decode_strings,
	[FIELD_BYTES_LIST] = decode_bytes_list,
	[FIELD_PAIRS] = decode_pairs,
	[FIELD_STRING_PAIRS] = decode_string_pairs,
	[FIELD_STATE] = decode_word,
	[FIELD_OUTCOME] = decode_word,
	[FIELD_CAUSE] = decode_word,
	[FIELD_ENDER] = decode_word,
	[FIELD_ROLE] = decode_word,
	[FIELD_MODE] = decode_word,
	[FIELD_NETWORK] = decode_word,
	[FIELD_BACKEND] = decode_word,
	[FIELD_STREAM] = decode_word,
	[FIELD_CHECK_STATE] = decode_word,
	[FIELD_HOLD] = decode_word,
	[FIELD_LOGIN_KIND] = decode_word,
	[FIELD_LOGIN_CONDITION] = decode_word,
	[FIELD_LIMITS] = decode_structure,
	[FIELD_BOUNDARY] = decode_structure,
	[FIELD_TRIAL] = decode_structure,
	[FIELD_BINDS] = decode_structures,
	[FIELD_LIMIT_STATES] = decode_structures,
	[FIELD_LOG_STATES] = decode_structures,
	[FIELD_GIT_CHANGES] = decode_structures,
	[FIELD_LOGIN_OUTCOMES] = decode_structures,
	[FIELD_KEPT_LIST] = decode_structures,
	[FIELD_STATUS_TRIALS] = decode_structures,
	[FIELD_DOCTOR_CHECKS] = decode_structures,
	[FIELD_TRIALS] = decode_structures,
	[FIELD_TRIAL_HARNESS] = decode_structure,
	[FIELD_HARNESSES] = decode_structures,
	[FIELD_LOGINS] = decode_structures,
	[FIELD_TRIAL_TOOLCHAINS] = decode_structures,
	[FIELD_VERDICT] = decode_word,
	[FIELD_VOTE] = decode_word,
	[FIELD_TRIAL_VERDICT] = decode_structure,
	[FIELD_CONNECTIONS] = decode_structures,
	[FIELD_CONNECTION_SUM] = decode_structure,
	[FIELD_MOUNT_KIND] = decode_word,
	[FIELD_MOUNTS] = decode_structures,
	[FIELD_SANDBOX] = decode_structure,
	[FIELD_TRIAL_HARNESSES] = decode_structures,
	[FIELD_ARM_FILES] = decode_structures,
	[FIELD_ARM_HARNESSES] = decode_structures,
	[FIELD_ARM_PROVIDERS] = decode_structures,
	[FIELD_ARM_CHANGES] = decode_structures,
	[FIELD_ARM_VIEWS] = decode_structures,
	[FIELD_ARM_FOLDER] = decode_structure,
	[FIELD_ARM_SPEC] = decode_structure,
	[FIELD_ARM] = decode_structure,
	[FIELD_BAR_SEATS] = decode_structures,
	[FIELD_BAR_SPEC] = decode_structure,
	[FIELD_BAR_VIEWS] = decode_structures,
	[FIELD_PANEL_SEATS] = decode_structures,
	[FIELD_PANEL_ARMS] = decode_structures,
};

static const struct field *find_field(const struct message_type *type, const msgpack_object *key)
{
	for (size_t i = 0; i < type->count; i++) {
		const char *name = type->fields[i].name;

		if (strlen(name) == key->via.str.size &&
		    memcmp(name, key->via.str.ptr, key->via.str.size) == 0)
			return &type->fields[i];
	}
	return NULL;
}

static int refuse_key(const struct context *context, const struct message_type *type)
{
	char known[224] = "";

	for (size_t i = 0; i < type->count; i++) {
		size_t at = strlen(known);

		snprintf(known + at, sizeof(known) - at, "%s%s", i ? ", " : "",
			 type->fields[i].name);
	}
	return refuse(context, "no such key; there are: %s", type->count ? known : "none");
}

static int decode_entry(struct context *context, const msgpack_object_kv *entry,
			const struct message_type *type, void *structure)
{
	const struct field *field = find_field(type, &entry->key);
	struct step step = {.up = context->path,
			    .name = entry->key.via.str.ptr,
			    .name_size = entry->key.via.str.size};
	struct context inner = descend(context, &step);
	int r;

	if (entry->key.via.str.size > MESSAGE_KEY_BYTES_MAX)
		return refuse(&inner, "a key has at most %d bytes", MESSAGE_KEY_BYTES_MAX);
	if (!field)
		return context->unknown == UNKNOWN_KEYS_REFUSED ? refuse_key(&inner, type) : 0;
	r = decoders[field->type](&inner, field, &entry->val, (char *)structure + field->offset);
	if (r < 0)
		return r;
	*(bool *)((char *)structure + field->has_offset) = true;
	return 0;
}

static int decode_map(struct context *context, const msgpack_object *map,
		      const struct message_type *type, void *structure)
{
	int r;

	memset(structure, 0, type->size);
	if (map->type != MSGPACK_OBJECT_MAP)
		return refuse(context, "must be a map");
	for (uint32_t i = 0; i < map->via.map.size; i++) {
		r = decode_entry(context, &map->via.map.ptr[i], type, structure);
		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < type->count; i++) {
		const struct field *field = &type->fields[i];
		struct step step = {.up = context->path,
				    .name = field->name,
				    .name_size = strlen(field->name)};
		struct context inner = descend(context, &step);

		if (field->required && !*(bool *)((char *)structure + field->has_offset))
			return refuse(&inner, "is required (%s)", field->doc);
	}
	return 0;
}

int message_decode(struct message *message, const msgpack_object *map,
		   const struct message_type *type, enum unknown_keys unknown, void *ret_structure,
		   struct decode_error *ret_error)
{
	struct context context = {.message = message, .unknown = unknown, .error = ret_error};
	int r;

	r = decode_map(&context, map, type, ret_structure);
	if (r < 0)
		memset(ret_structure, 0, type->size);
	return r;
}

/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib.h"

/*
 * A message and the values in it.
 *
 * Values are looked up in what msgpack-c parsed, not decoded by type: a reply of a newer trialsd
 * shows every key it has. msgpack strings are not terminated, so a text asked for is copied once.
 */

static struct trials_message *message_new(struct message *message, size_t size)
{
	struct trials_message *created = calloc(1, sizeof(*created));

	if (!created) {
		message_free(message);
		return NULL;
	}
	created->message = message;
	created->size = size + sizeof(*created);
	return created;
}

struct trials_message *trials_message_free(struct trials_message *message)
{
	struct text_copy *text;

	if (!message)
		return NULL;
	while ((text = message->texts)) {
		message->texts = text->next;
		free(text);
	}
	message_free(message->message);
	free(message->map);
	free(message);
	return NULL;
}

int message_from_frame(struct trials_message **ret_message, const void *bytes, size_t size)
{
	struct trials_message *message;
	struct decode_error decode_error;
	struct envelope envelope;
	struct message *parsed;
	int r;

	r = message_parse(&parsed, bytes, size);
	if (r < 0)
		return r;
	message = message_new(parsed, size);
	if (!message)
		return -ENOMEM;
	r = envelope_decode(parsed, &envelope, &decode_error);
	if (r >= 0 && envelope.kind == ENVELOPE_REQUEST)
		r = -EBADMSG;
	if (r < 0) {
		trials_message_free(message);
		return r;
	}
	message->body = envelope.body;
	message->kind = envelope.kind;
	message->number = envelope.number;
	message->event = envelope.kind == ENVELOPE_EVENT ? envelope.name : NULL;
	message->failed = envelope.failed;
	message->error = envelope.error;
	*ret_message = message;
	return 0;
}

int message_from_map(struct trials_message **ret_message, const void *bytes, size_t size)
{
	struct trials_message *message;
	struct message *parsed;
	int r;

	r = message_parse(&parsed, bytes, size);
	if (r < 0)
		return r;
	message = message_new(parsed, size);
	if (!message)
		return -ENOMEM;
	message->kind = ENVELOPE_REQUEST;
	message->body = message_root(parsed);
	message->map = malloc(size);
	if (!message->map) {
		trials_message_free(message);
		return -ENOMEM;
	}
	memcpy(message->map, bytes, size);
	message->map_size = size;
	*ret_message = message;
	return 0;
}

int message_from_structure(struct trials_message **ret_message, const struct message_type *type,
			   const void *structure)
{
	msgpack_sbuffer buffer;
	msgpack_packer packer;
	int r;

	msgpack_sbuffer_init(&buffer);
	msgpack_packer_init(&packer, &buffer, msgpack_sbuffer_write);
	r = message_encode(&packer, type, structure);
	if (r >= 0)
		r = message_from_map(ret_message, buffer.data, buffer.size);
	msgpack_sbuffer_destroy(&buffer);
	return r;
}

uint64_t trials_message_number(const struct trials_message *message)
{
	return message->number;
}

const char *trials_message_event(const struct trials_message *message)
{
	return message->event;
}

int trials_message_error(const struct trials_message *message, struct trials_error *ret_error)
{
	const struct error_body *error = &message->error;

	if (!message->failed)
		return 0;
	error_set(ret_error, -EREMOTEIO, error->hint, "%s", error->message ? error->message : "");
	if (ret_error)
		snprintf(ret_error->code, sizeof(ret_error->code), "%s",
			 error->code ? error->code : "");
	return -EREMOTEIO;
}

/* What stands under the name's first part, and the rest of the name. */
static const msgpack_object *step_into(const msgpack_object *object, const char **name)
{
	size_t length = strcspn(*name, ".");
	const char *part = *name;

	*name += length + (part[length] == '.');
	if (object->type == MSGPACK_OBJECT_MAP) {
		for (uint32_t i = 0; i < object->via.map.size; i++) {
			const msgpack_object_kv *entry = &object->via.map.ptr[i];

			if (entry->key.type == MSGPACK_OBJECT_STR &&
			    entry->key.via.str.size == length &&
			    memcmp(entry->key.via.str.ptr, part, length) == 0)
				return &entry->val;
		}
	}
	if (object->type == MSGPACK_OBJECT_ARRAY && length && length < 10 &&
	    strspn(part, "0123456789") == length) {
		unsigned long index = strtoul(part, NULL, 10);

		if (index < object->via.array.size)
			return &object->via.array.ptr[index];
	}
	return NULL;
}

static const msgpack_object *find(const struct trials_message *message, const char *name)
{
	const msgpack_object *object = message->body;

	while (object && *name)
		object = step_into(object, &name);
	return object && object->type != MSGPACK_OBJECT_NIL ? object : NULL;
}

int trials_get_string(struct trials_message *message, const char *name, const char **ret_text)
{
	const msgpack_object *object = find(message, name);
	struct text_copy *copy;
	size_t size;

	if (!object)
		return -ENOENT;
	if (object->type != MSGPACK_OBJECT_STR)
		return -EINVAL;
	for (copy = message->texts; copy; copy = copy->next) {
		if (copy->object == object) {
			*ret_text = copy->text;
			return 0;
		}
	}
	size = object->via.str.size;
	if (memchr(object->via.str.ptr, 0, size) || !utf8_valid(object->via.str.ptr, size))
		return -EINVAL;
	copy = malloc(sizeof(*copy) + size + 1);
	if (!copy)
		return -ENOMEM;
	memcpy(copy->text, object->via.str.ptr, size);
	copy->text[size] = 0;
	copy->object = object;
	copy->next = message->texts;
	message->texts = copy;
	*ret_text = copy->text;
	return 0;
}

int trials_get_bytes(const struct trials_message *message, const char *name, const void **ret_bytes,
		     size_t *ret_size)
{
	const msgpack_object *object = find(message, name);

	if (!object)
		return -ENOENT;
	switch (object->type) {
	case MSGPACK_OBJECT_STR:
		*ret_bytes = object->via.str.ptr;
		*ret_size = object->via.str.size;
		return 0;
	case MSGPACK_OBJECT_BIN:
		*ret_bytes = object->via.bin.ptr;
		*ret_size = object->via.bin.size;
		return 0;
	default:
		return -EINVAL;
	}
}

int trials_get_integer(const struct trials_message *message, const char *name, int64_t *ret_value)
{
	const msgpack_object *object = find(message, name);

	if (!object)
		return -ENOENT;
	switch (object->type) {
	case MSGPACK_OBJECT_POSITIVE_INTEGER:
		if (object->via.u64 > INT64_MAX)
			return -ERANGE;
		*ret_value = (int64_t)object->via.u64;
		return 0;
	case MSGPACK_OBJECT_NEGATIVE_INTEGER:
		*ret_value = object->via.i64;
		return 0;
	default:
		return -EINVAL;
	}
}

int trials_get_number(const struct trials_message *message, const char *name, double *ret_value)
{
	const msgpack_object *object = find(message, name);
	int64_t whole;
	int r = trials_get_integer(message, name, &whole);

	if (r == 0)
		*ret_value = (double)whole;
	else if (r == -ERANGE)
		*ret_value = (double)object->via.u64;
	else if (object &&
		 (object->type == MSGPACK_OBJECT_FLOAT32 || object->type == MSGPACK_OBJECT_FLOAT64))
		*ret_value = object->via.f64;
	else
		return r;
	return 0;
}

int trials_get_boolean(const struct trials_message *message, const char *name, int *ret_value)
{
	const msgpack_object *object = find(message, name);

	if (!object)
		return -ENOENT;
	if (object->type != MSGPACK_OBJECT_BOOLEAN)
		return -EINVAL;
	*ret_value = object->via.boolean;
	return 0;
}

int trials_get_count(const struct trials_message *message, const char *name, size_t *ret_count)
{
	const msgpack_object *object = find(message, name);

	if (!object)
		return -ENOENT;
	switch (object->type) {
	case MSGPACK_OBJECT_ARRAY:
		*ret_count = object->via.array.size;
		return 0;
	case MSGPACK_OBJECT_MAP:
		*ret_count = object->via.map.size;
		return 0;
	default:
		return -EINVAL;
	}
}

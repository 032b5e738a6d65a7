/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib.h"
#include "libjson.h"

/*
 * JSON into a verb's arguments.
 *
 * JSON has no bytes, so {"base64": …} stands for them; but a map may also have a key of that
 * name (a variable, a label). Only the field's type tells which is meant: hence the tables lead.
 * Everything else is packed as it stands, wrong or not, and the protocol's own decoder then judges
 * it, so that a spec is refused here with the words trialsd would use.
 */

struct packing {
	msgpack_packer packer;
	struct decode_error error;
};

static int refuse(struct packing *packing, const char *field, const char *reason)
{
	snprintf(packing->error.field, sizeof(packing->error.field), "%s", field);
	snprintf(packing->error.reason, sizeof(packing->error.reason), "%s", reason);
	return -EINVAL;
}

static void pack_text(msgpack_packer *packer, const char *text, size_t size)
{
	msgpack_pack_str(packer, size);
	msgpack_pack_str_body(packer, text, size);
}

static int pack_plain(struct packing *packing, const char *field, const json_t *value,
		      unsigned int depth)
{
	msgpack_packer *packer = &packing->packer;
	const char *key;
	json_t *item;
	size_t i;
	int r;

	if (depth > MESSAGE_DEPTH_MAX)
		return refuse(packing, field, "nested too deep");
	switch (json_typeof(value)) {
	case JSON_OBJECT:
		msgpack_pack_map(packer, json_object_size(value));
		json_object_foreach((json_t *)value, key, item)
		{
			pack_text(packer, key, strlen(key));
			r = pack_plain(packing, field, item, depth + 1);
			if (r < 0)
				return r;
		}
		return 0;
	case JSON_ARRAY:
		msgpack_pack_array(packer, json_array_size(value));
		json_array_foreach(value, i, item)
		{
			r = pack_plain(packing, field, item, depth + 1);
			if (r < 0)
				return r;
		}
		return 0;
	case JSON_STRING:
		pack_text(packer, json_string_value(value), json_string_length(value));
		return 0;
	case JSON_INTEGER:
		return msgpack_pack_int64(packer, json_integer_value(value));
	case JSON_REAL:
		return msgpack_pack_double(packer, json_real_value(value));
	case JSON_TRUE:
		return msgpack_pack_true(packer);
	case JSON_FALSE:
		return msgpack_pack_false(packer);
	case JSON_NULL:
	default:
		return msgpack_pack_nil(packer);
	}
}

static int pack_bytes(struct packing *packing, const char *field, const json_t *value)
{
	size_t size;
	char *bytes;
	int r;

	if (!json_is_object(value))
		return pack_plain(packing, field, value, 0);
	r = json_to_bytes(value, &bytes, &size);
	if (r == -EINVAL)
		return refuse(packing, field,
			      "takes text, or {\"base64\": \"…\"} with well-formed base64");
	if (r < 0)
		return r;
	msgpack_pack_bin(&packing->packer, size);
	msgpack_pack_bin_body(&packing->packer, bytes, size);
	free(bytes);
	return 0;
}

static int pack_pairs(struct packing *packing, const char *field, const json_t *value)
{
	const char *name;
	json_t *item;
	int r;

	if (!json_is_object(value))
		return pack_plain(packing, field, value, 0);
	msgpack_pack_map(&packing->packer, json_object_size(value));
	json_object_foreach((json_t *)value, name, item)
	{
		if (strlen(name) > MESSAGE_DATA_KEY_BYTES_MAX)
			return refuse(packing, field, "a name is too long");
		pack_text(&packing->packer, name, strlen(name));
		r = pack_bytes(packing, field, item);
		if (r < 0)
			return r;
	}
	return 0;
}

static int pack_message(struct packing *packing, const struct message_type *type,
			const json_t *object);

static int pack_list(struct packing *packing, const char *field, const struct message_type *inner,
		     const json_t *value)
{
	json_t *item;
	size_t i;
	int r;

	if (!json_is_array(value))
		return pack_plain(packing, field, value, 0);
	msgpack_pack_array(&packing->packer, json_array_size(value));
	json_array_foreach(value, i, item)
	{
		r = inner ? pack_message(packing, inner, item) : pack_bytes(packing, field, item);
		if (r < 0)
			return r;
	}
	return 0;
}

static int pack_field(struct packing *packing, const struct field *field, const json_t *value)
{
	switch (field->type) {
	case FIELD_BYTES:
	case FIELD_PATH:
	case FIELD_BLOB:
		return pack_bytes(packing, field->name, value);
	case FIELD_BYTES_LIST:
		return pack_list(packing, field->name, NULL, value);
	case FIELD_PAIRS:
	case FIELD_STRING_PAIRS:
		return pack_pairs(packing, field->name, value);
	case FIELD_LIMITS:
		return pack_message(packing, &limits_spec_type, value);
	case FIELD_BINDS:
		return pack_list(packing, field->name, &bind_spec_type, value);
	default:
		return pack_plain(packing, field->name, value, 0);
	}
}

static int pack_message(struct packing *packing, const struct message_type *type,
			const json_t *object)
{
	const char *key;
	json_t *value;
	int r;

	if (!json_is_object(object))
		return pack_plain(packing, type->name, object, 0);
	msgpack_pack_map(&packing->packer, json_object_size(object));
	json_object_foreach((json_t *)object, key, value)
	{
		const struct field *field = NULL;

		for (size_t i = 0; i < type->count && !field; i++)
			if (strcmp(type->fields[i].name, key) == 0)
				field = &type->fields[i];
		if (!field && strlen(key) > MESSAGE_KEY_BYTES_MAX)
			return refuse(packing, "", "a key is too long to be one of the protocol");
		pack_text(&packing->packer, key, strlen(key));
		r = field ? pack_field(packing, field, value) : pack_plain(packing, key, value, 0);
		if (r < 0)
			return r;
	}
	return 0;
}

static int refused(const char *verb, const struct decode_error *error,
		   struct trials_error *ret_error)
{
	return error_set(ret_error, -EINVAL, NULL, "%s: %s", error->field[0] ? error->field : verb,
			 error->reason[0] ? error->reason : "not a message of the protocol");
}

/* Decoded and encoded again: what is kept has passed the checks and has the tables' order. */
static int canonical(const char *verb, const struct message_type *type,
		     const msgpack_sbuffer *packed, struct trials_message **ret_arguments,
		     struct trials_error *ret_error)
{
	struct decode_error decode_error = {0};
	struct message *message;
	void *structure;
	int r;

	if (packed->size > FRAME_BYTES_MAX)
		return error_too_long(ret_error);
	r = message_parse(&message, packed->data, packed->size);
	if (r == -EBADMSG)
		return refused(verb, &decode_error, ret_error);
	if (r < 0)
		return error_set(ret_error, -ENOMEM, NULL, "out of memory");
	structure = calloc(1, type->size);
	if (structure)
		r = message_decode(message, message_root(message), type, UNKNOWN_KEYS_REFUSED,
				   structure, &decode_error);
	else
		r = -ENOMEM;
	if (r >= 0)
		r = message_from_structure(ret_arguments, type, structure);
	if (r == -EBADMSG)
		r = refused(verb, &decode_error, ret_error);
	else if (r < 0)
		error_set(ret_error, r, NULL, "out of memory");
	free(structure);
	message_free(message);
	return r;
}

int arguments_from_json(const char *verb, const json_t *object,
			struct trials_message **ret_arguments, struct trials_error *ret_error)
{
	struct packing packing = {0};
	const struct message_type *type;
	msgpack_sbuffer buffer;
	int number = verb_from_name(verb);
	int r;

	if (number < 0)
		return error_set(ret_error, -EINVAL, NULL, "no such verb: %s", verb);
	if (!json_is_object(object))
		return error_set(ret_error, -EINVAL, NULL, "%s: takes one JSON object", verb);
	type = verb_arguments_type((enum verb)number);
	msgpack_sbuffer_init(&buffer);
	msgpack_packer_init(&packing.packer, &buffer, msgpack_sbuffer_write);
	r = pack_message(&packing, type, object);
	if (r == -EINVAL)
		refused(verb, &packing.error, ret_error);
	else if (r < 0)
		r = error_set(ret_error, -ENOMEM, NULL, "out of memory");
	else
		r = canonical(verb, type, &buffer, ret_arguments, ret_error);
	msgpack_sbuffer_destroy(&buffer);
	return r;
}

int trials_arguments_from_json(const char *verb, const char *text, size_t size,
			       struct trials_message **ret_arguments,
			       struct trials_error *ret_error)
{
	json_error_t json_error;
	json_t *object;
	int r;

	object = json_loadb(text, size, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &json_error);
	if (!object)
		return error_set(ret_error, -EINVAL, NULL, "not JSON: line %d, column %d: %s",
				 json_error.line, json_error.column, json_error.text);
	r = arguments_from_json(verb, object, ret_arguments, ret_error);
	json_decref(object);
	return r;
}

int trials_launch_from_json(const char *text, size_t size, struct trials_message **ret_arguments,
			    struct trials_error *ret_error)
{
	return trials_arguments_from_json("launch", text, size, ret_arguments, ret_error);
}

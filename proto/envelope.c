/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "codec.h"

/*
 * The envelope around a message, read and written. It has no field table, since which keys must
 * be there depends on its kind: exactly one of `verb`, `reply` and `event` says which.
 */

enum key {
	KEY_request,
	KEY_verb,
	KEY_arguments,
	KEY_reply,
	KEY_ok,
	KEY_error,
	KEY_event,
	KEY_body,
	KEY_COUNT
};

static const char *const key_names[KEY_COUNT] = {
	[KEY_request] = "request", [KEY_verb] = "verb", [KEY_arguments] = "arguments",
	[KEY_reply] = "reply",	   [KEY_ok] = "ok",	[KEY_error] = "error",
	[KEY_event] = "event",	   [KEY_body] = "body",
};

struct context {
	struct message *message;
	struct decode_error *error;
	const msgpack_object *values[KEY_COUNT];
};

__attribute__((format(printf, 3, 4))) static int refuse(const struct context *context,
							const char *field, const char *format, ...)
{
	va_list arguments;

	if (!context->error)
		return -EBADMSG;
	snprintf(context->error->field, sizeof(context->error->field), "%s", field);
	va_start(arguments, format);
	vsnprintf(context->error->reason, sizeof(context->error->reason), format, arguments);
	va_end(arguments);
	return -EBADMSG;
}

static int find_keys(struct context *context)
{
	const msgpack_object *root = message_root(context->message);

	if (root->type != MSGPACK_OBJECT_MAP)
		return refuse(context, "frame", "must be a map");
	for (uint32_t i = 0; i < root->via.map.size; i++) {
		const msgpack_object_kv *entry = &root->via.map.ptr[i];

		for (int key = 0; key < KEY_COUNT; key++)
			if (strlen(key_names[key]) == entry->key.via.str.size &&
			    memcmp(key_names[key], entry->key.via.str.ptr,
				   entry->key.via.str.size) == 0)
				context->values[key] = &entry->val;
	}
	return 0;
}

static int read_number(const struct context *context, enum key key, uint64_t least,
		       uint64_t *ret_number)
{
	const msgpack_object *value = context->values[key];

	if (!value || value->type != MSGPACK_OBJECT_POSITIVE_INTEGER || value->via.u64 < least ||
	    value->via.u64 > INT64_MAX)
		return refuse(context, key_names[key], "must be a whole number from %llu to %lld",
			      (unsigned long long)least, (long long)INT64_MAX);
	*ret_number = value->via.u64;
	return 0;
}

static int read_name(const struct context *context, enum key key, const char **ret_name)
{
	const msgpack_object *value = context->values[key];
	uint32_t size;
	char *name;

	if (value->type != MSGPACK_OBJECT_STR || value->via.str.size == 0 ||
	    value->via.str.size > MESSAGE_KEY_BYTES_MAX ||
	    memchr(value->via.str.ptr, '\0', value->via.str.size) ||
	    !utf8_valid(value->via.str.ptr, value->via.str.size))
		return refuse(context, key_names[key], "must be a name of at most %d bytes",
			      MESSAGE_KEY_BYTES_MAX);
	size = value->via.str.size;
	name = msgpack_zone_malloc(&context->message->zone, size + 1);
	if (!name)
		return -ENOMEM;
	memcpy(name, value->via.str.ptr, size);
	name[size] = '\0';
	*ret_name = name;
	return 0;
}

static int read_body(const struct context *context, enum key key, const msgpack_object **ret_body)
{
	const msgpack_object *value = context->values[key];

	if (value && value->type != MSGPACK_OBJECT_MAP)
		return refuse(context, key_names[key], "must be a map");
	*ret_body = value;
	return 0;
}

static int decode_request(const struct context *context, struct envelope *envelope)
{
	int r;

	envelope->kind = ENVELOPE_REQUEST;
	r = read_number(context, KEY_request, 1, &envelope->number);
	if (r >= 0)
		r = read_name(context, KEY_verb, &envelope->name);
	if (r >= 0)
		r = read_body(context, KEY_arguments, &envelope->body);
	return r;
}

static int decode_reply(const struct context *context, struct envelope *envelope)
{
	const msgpack_object *error = NULL;
	int r;

	envelope->kind = ENVELOPE_REPLY;
	/* 0: a frame was refused before its number was known. */
	r = read_number(context, KEY_reply, 0, &envelope->number);
	if (r < 0)
		return r;
	if (!context->values[KEY_ok] == !context->values[KEY_error])
		return refuse(context, "reply", "must come with either ok or error");
	r = read_body(context, KEY_error, &error);
	if (r < 0)
		return r;
	if (!error)
		return read_body(context, KEY_ok, &envelope->body);
	envelope->failed = true;
	return message_decode(context->message, error, &error_body_type, UNKNOWN_KEYS_IGNORED,
			      &envelope->error, context->error);
}

static int decode_event(const struct context *context, struct envelope *envelope)
{
	int r;

	envelope->kind = ENVELOPE_EVENT;
	r = read_number(context, KEY_request, 1, &envelope->number);
	if (r >= 0)
		r = read_name(context, KEY_event, &envelope->name);
	if (r >= 0)
		r = read_body(context, KEY_body, &envelope->body);
	return r;
}

int envelope_decode(struct message *message, struct envelope *ret_envelope,
		    struct decode_error *ret_error)
{
	struct context context = {.message = message, .error = ret_error};
	struct envelope envelope = {0};
	int kinds, r;

	r = find_keys(&context);
	if (r < 0)
		return r;
	kinds = !!context.values[KEY_verb] + !!context.values[KEY_reply] +
		!!context.values[KEY_event];
	if (kinds != 1)
		return refuse(&context, "frame", "must have exactly one of verb, reply, event");
	if (context.values[KEY_verb])
		r = decode_request(&context, &envelope);
	else if (context.values[KEY_reply])
		r = decode_reply(&context, &envelope);
	else
		r = decode_event(&context, &envelope);
	if (r < 0)
		return r;
	*ret_envelope = envelope;
	return 0;
}

/* A frame being written at the end of a buffer; on any failure the buffer is as it was. */
struct frame {
	msgpack_sbuffer *buffer;
	msgpack_packer packer;
	size_t start;
	int result; /* the first failure; -1 is the buffer's: out of memory */
};

static void frame_note(struct frame *frame, int r)
{
	if (frame->result >= 0 && r < 0)
		frame->result = r == -1 ? -ENOMEM : r;
}

static void frame_begin(struct frame *frame, msgpack_sbuffer *buffer, size_t keys)
{
	static const char header[FRAME_HEADER_BYTES];

	*frame = (struct frame){.buffer = buffer, .start = buffer->size};
	msgpack_packer_init(&frame->packer, buffer, msgpack_sbuffer_write);
	frame_note(frame, msgpack_sbuffer_write(buffer, header, sizeof(header)));
	frame_note(frame, msgpack_pack_map(&frame->packer, keys));
}

static void frame_text(struct frame *frame, const char *text)
{
	size_t size = strlen(text);

	frame_note(frame, msgpack_pack_str(&frame->packer, size));
	frame_note(frame, msgpack_pack_str_body(&frame->packer, text, size));
}

static void frame_number(struct frame *frame, enum key key, uint64_t number)
{
	frame_text(frame, key_names[key]);
	frame_note(frame, msgpack_pack_uint64(&frame->packer, number));
}

static void frame_name(struct frame *frame, enum key key, const char *name)
{
	frame_text(frame, key_names[key]);
	if (name)
		frame_text(frame, name);
	else
		frame_note(frame, -EINVAL);
}

static void frame_body(struct frame *frame, enum key key, const struct message_type *type,
		       const void *structure)
{
	frame_text(frame, key_names[key]);
	if (type)
		frame_note(frame, message_encode(&frame->packer, type, structure));
	else
		frame_note(frame, msgpack_pack_map(&frame->packer, 0));
}

static int frame_end(struct frame *frame)
{
	size_t size = frame->buffer->size - frame->start;
	int r = frame->result;

	if (r >= 0 && size - FRAME_HEADER_BYTES > FRAME_BYTES_MAX)
		r = -EMSGSIZE;
	if (r < 0) {
		frame->buffer->size = frame->start;
		return r;
	}
	size -= FRAME_HEADER_BYTES;
	for (int i = 0; i < FRAME_HEADER_BYTES; i++)
		frame->buffer->data[frame->start + (size_t)i] =
			(char)(size >> (8 * (FRAME_HEADER_BYTES - 1 - i)) & 0xff);
	return 0;
}

int frame_write_request(msgpack_sbuffer *buffer, uint64_t number, enum verb verb,
			const struct message_type *type, const void *structure)
{
	struct frame frame;

	frame_begin(&frame, buffer, 3);
	frame_number(&frame, KEY_request, number);
	frame_name(&frame, KEY_verb, verb_name((int)verb));
	frame_body(&frame, KEY_arguments, type, structure);
	return frame_end(&frame);
}

int frame_write_request_raw(msgpack_sbuffer *buffer, uint64_t number, const char *verb,
			    const void *arguments, size_t size)
{
	struct frame frame;
	int r;

	r = message_check(arguments, size);
	if (r < 0)
		return size > FRAME_BYTES_MAX ? -EMSGSIZE : r;
	frame_begin(&frame, buffer, 3);
	frame_number(&frame, KEY_request, number);
	frame_name(&frame, KEY_verb, verb);
	frame_text(&frame, key_names[KEY_arguments]);
	frame_note(&frame, msgpack_sbuffer_write(buffer, arguments, size));
	return frame_end(&frame);
}

int frame_write_reply(msgpack_sbuffer *buffer, uint64_t number, const struct message_type *type,
		      const void *structure)
{
	struct frame frame;

	frame_begin(&frame, buffer, 2);
	frame_number(&frame, KEY_reply, number);
	frame_body(&frame, KEY_ok, type, structure);
	return frame_end(&frame);
}

int frame_write_error(msgpack_sbuffer *buffer, uint64_t number, const struct error_body *error)
{
	struct frame frame;

	frame_begin(&frame, buffer, 2);
	frame_number(&frame, KEY_reply, number);
	frame_body(&frame, KEY_error, &error_body_type, error);
	return frame_end(&frame);
}

int frame_write_event(msgpack_sbuffer *buffer, enum event event, uint64_t number,
		      const struct message_type *type, const void *structure)
{
	struct frame frame;

	frame_begin(&frame, buffer, 3);
	frame_name(&frame, KEY_event, event_name((int)event));
	frame_number(&frame, KEY_request, number);
	frame_body(&frame, KEY_body, type, structure);
	return frame_end(&frame);
}

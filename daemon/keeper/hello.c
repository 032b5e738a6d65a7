/* SPDX-License-Identifier: MIT */

/*
 * A ClientHello (RFC 8446, and 5246 for those before) is one message, in one or more records of the
 * handshake, and nothing may stand between them. First the records' headers are walked, until all of
 * the message is there; then it is read where it lies, across the headers, so that it needs no second
 * place.
 *
 * Whatever is not as it must be is NOT_TLS: a server may read it in its own way. So are two names, two
 * lists of names, a name of another kind than host_name, an empty one, and one with bytes that no
 * host's name has.
 *
 * With an encrypted ClientHello inside, the name is the outer one, which is what the server that gets
 * it is asked for in the open. That there is none cannot be told from outside, since clients send the
 * extension with noise in it.
 */
#include "hello.h"

#include <stdbool.h>
#include <string.h>

#define RECORD_HEADER 5
#define RECORD_HANDSHAKE 22
#define RECORD_BYTES_MAX 16384
#define MESSAGE_HEADER 4
#define MESSAGE_CLIENT_HELLO 1
#define EXTENSION_SERVER_NAME 0
#define NAME_HOST 0

/* --- Records -------------------------------------------------------------------------------------- */

/* The bytes of a message, or of a part of it: `left` of them, `here` of which are in this record. */
struct cursor {
	const uint8_t *at;
	size_t here;
	size_t left;
};

static size_t record_size(const uint8_t *header)
{
	return (size_t)header[3] << 8 | header[4];
}

/* Over a record's end: the walk saw that the next one is there. */
static void settle(struct cursor *cursor)
{
	if (cursor->here > 0 || cursor->left == 0)
		return;
	cursor->here = record_size(cursor->at);
	cursor->at += RECORD_HEADER;
}

static bool skip(struct cursor *cursor, size_t count)
{
	if (count > cursor->left)
		return false;
	cursor->left -= count;
	while (count > cursor->here) {
		count -= cursor->here;
		cursor->at += cursor->here;
		cursor->here = record_size(cursor->at);
		cursor->at += RECORD_HEADER;
	}
	cursor->at += count;
	cursor->here -= count;
	settle(cursor);
	return true;
}

/* A number of so many bytes. */
static bool take(struct cursor *cursor, size_t bytes, size_t *ret)
{
	size_t number = 0;

	if (bytes > cursor->left)
		return false;
	for (; bytes > 0; bytes--) {
		number = number << 8 | *cursor->at;
		skip(cursor, 1);
	}
	*ret = number;
	return true;
}

/* What has its length before it, in so many bytes: *ret is that alone, and the cursor is behind it. */
static bool take_part(struct cursor *cursor, size_t bytes, struct cursor *ret)
{
	size_t size;

	if (!take(cursor, bytes, &size) || size > cursor->left)
		return false;
	*ret = *cursor;
	ret->left = size;
	return skip(cursor, size);
}

/* --- Message -------------------------------------------------------------------------------------- */

static bool name_byte(size_t byte)
{
	return (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9') || byte == '-' ||
	       byte == '_' || byte == '.';
}

static bool read_name(struct cursor *name, char ret_name[ALLOW_HOST_BYTES_MAX + 1])
{
	size_t size = 0, byte;

	while (take(name, 1, &byte)) {
		if (byte >= 'A' && byte <= 'Z')
			byte += 'a' - 'A';
		/* A dot more, which goes below. */
		if (!name_byte(byte) || size > ALLOW_HOST_BYTES_MAX ||
		    (size == ALLOW_HOST_BYTES_MAX && byte != '.'))
			return false;
		if (size < ALLOW_HOST_BYTES_MAX)
			ret_name[size] = (char)byte;
		size++;
	}
	if (size > ALLOW_HOST_BYTES_MAX)
		size = ALLOW_HOST_BYTES_MAX;
	else if (size > 0 && ret_name[size - 1] == '.')
		size--;
	ret_name[size] = '\0';
	return size > 0 && ret_name[0] != '.' && ret_name[size - 1] != '.';
}

/* One list, of one name. */
static bool read_server_name(struct cursor *extension, char ret_name[ALLOW_HOST_BYTES_MAX + 1])
{
	struct cursor list, name;
	size_t kind;

	return take_part(extension, 2, &list) && extension->left == 0 && take(&list, 1, &kind) &&
	       kind == NAME_HOST && take_part(&list, 2, &name) && list.left == 0 &&
	       read_name(&name, ret_name);
}

static enum hello_result read_extensions(struct cursor *extensions,
					 char ret_name[ALLOW_HOST_BYTES_MAX + 1])
{
	enum hello_result result = HELLO_NO_NAME;
	struct cursor extension;
	size_t kind;

	while (extensions->left > 0) {
		if (!take(extensions, 2, &kind) || !take_part(extensions, 2, &extension))
			return HELLO_NOT_TLS;
		if (kind != EXTENSION_SERVER_NAME)
			continue;
		if (result == HELLO_NAME || !read_server_name(&extension, ret_name))
			return HELLO_NOT_TLS;
		result = HELLO_NAME;
	}
	return result;
}

static enum hello_result read_hello(struct cursor *hello, char ret_name[ALLOW_HOST_BYTES_MAX + 1])
{
	struct cursor session, ciphers, compression, extensions;
	size_t version;

	if (!take(hello, 2, &version) || version >> 8 != 3 || !skip(hello, 32) ||
	    !take_part(hello, 1, &session) || session.left > 32 || !take_part(hello, 2, &ciphers) ||
	    ciphers.left == 0 || ciphers.left % 2 != 0 || !take_part(hello, 1, &compression) ||
	    compression.left == 0)
		return HELLO_NOT_TLS;
	if (hello->left == 0)
		return HELLO_NO_NAME;
	if (!take_part(hello, 2, &extensions) || hello->left > 0)
		return HELLO_NOT_TLS;
	return read_extensions(&extensions, ret_name);
}

/* --- All of it ------------------------------------------------------------------------------------ */

/* The first bytes of a record, as many as there are. */
static bool header_valid(const uint8_t *header, size_t size)
{
	return header[0] == RECORD_HANDSHAKE && (size < 2 || header[1] == 3) &&
	       (size < RECORD_HEADER ||
		(record_size(header) > 0 && record_size(header) <= RECORD_BYTES_MAX));
}

/* The message's own header, of the bytes of it that were seen. */
static enum hello_result check_message(const uint8_t header[MESSAGE_HEADER], size_t seen,
				       size_t *ret_size)
{
	*ret_size = SIZE_MAX;
	if (seen > 0 && header[0] != MESSAGE_CLIENT_HELLO)
		return HELLO_NOT_TLS;
	if (seen < MESSAGE_HEADER)
		return HELLO_MORE;
	*ret_size = MESSAGE_HEADER +
		    ((size_t)header[1] << 16 | (size_t)header[2] << 8 | (size_t)header[3]);
	/* In one record it may be there to the last byte. */
	return *ret_size + RECORD_HEADER > HELLO_BYTES_MAX ? HELLO_TOO_LONG : HELLO_MORE;
}

enum hello_result hello_parse(const uint8_t *bytes, size_t size,
			      char ret_name[ALLOW_HOST_BYTES_MAX + 1])
{
	size_t limit = size < HELLO_BYTES_MAX ? size : HELLO_BYTES_MAX, at = 0, seen = 0, message;
	uint8_t header[MESSAGE_HEADER] = {0};
	enum hello_result result;
	struct cursor cursor;

	ret_name[0] = '\0';
	for (int records = 0; at < limit; records++) {
		size_t body, here;

		if (records == HELLO_RECORDS_MAX)
			return HELLO_TOO_LONG;
		if (!header_valid(bytes + at, limit - at))
			return HELLO_NOT_TLS;
		if (limit - at < RECORD_HEADER)
			break;
		body = record_size(bytes + at);
		at += RECORD_HEADER;
		here = body < limit - at ? body : limit - at;
		for (size_t i = 0; i < here && seen + i < MESSAGE_HEADER; i++)
			header[seen + i] = bytes[at + i];
		seen += here;
		result = check_message(header, seen, &message);
		if (result != HELLO_MORE)
			return result;
		if (seen >= message) {
			cursor = (struct cursor){bytes, 0, message};
			settle(&cursor);
			skip(&cursor, MESSAGE_HEADER);
			result = read_hello(&cursor, ret_name);
			if (result != HELLO_NAME)
				ret_name[0] = '\0';
			return result;
		}
		at += here;
	}
	return limit == HELLO_BYTES_MAX ? HELLO_TOO_LONG : HELLO_MORE;
}

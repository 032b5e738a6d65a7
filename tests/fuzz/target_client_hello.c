/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "keeper/hello.h"
#include "stage.h"

/*
 * The first records of a TLS client: whatever pieces they come in, they are decided as the same; a
 * name is one in lower case and is what the bytes of the message hold; and the same message in records
 * of another size says the same.
 */

static enum hello_result parse(const uint8_t *bytes, size_t size, char *ret_name)
{
	uint8_t *copy = malloc(size ? size : 1);
	enum hello_result result;

	must(copy);
	memcpy(copy, bytes, size);
	result = hello_parse(copy, size, ret_name);
	free(copy);
	must((result == HELLO_NAME) == (ret_name[0] != '\0'));
	return result;
}

static void check_pieces(const uint8_t *bytes, size_t size, enum hello_result whole,
			 const char *name)
{
	char found[ALLOW_HOST_BYTES_MAX + 1];
	size_t step = 1 + size / 64;

	for (size_t part = 0; part < size; part += step) {
		enum hello_result result = parse(bytes, part, found);

		must(result == HELLO_MORE || result == whole);
		must(result != HELLO_NAME || strcmp(found, name) == 0);
	}
}

/* Without the records' headers; how many bytes. */
static size_t take_message(const uint8_t *bytes, size_t size, uint8_t *message)
{
	size_t at = 0, taken = 0;

	while (size - at >= 5) {
		size_t body = (size_t)bytes[at + 3] << 8 | bytes[at + 4];

		at += 5;
		body = body < size - at ? body : size - at;
		memcpy(message + taken, bytes + at, body);
		taken += body;
		at += body;
	}
	return taken;
}

static size_t put_records(const uint8_t *message, size_t size, size_t piece, uint8_t *stream)
{
	size_t at = 0;

	for (size_t done = 0; done < size; done += piece) {
		size_t here = size - done < piece ? size - done : piece;
		const uint8_t header[] = {22, 3, 3, (uint8_t)(here >> 8), (uint8_t)here};

		memcpy(stream + at, header, sizeof(header));
		memcpy(stream + at + sizeof(header), message + done, here);
		at += sizeof(header) + here;
	}
	return at;
}

static void check_records(const uint8_t *bytes, size_t size, enum hello_result whole,
			  const char *name)
{
	static uint8_t message[HELLO_BYTES_MAX], stream[2 * HELLO_BYTES_MAX];
	char found[ALLOW_HOST_BYTES_MAX + 1];
	size_t taken, made, needed, piece;

	if (size > 16384 / 2)
		return;
	taken = take_message(bytes, size, message);
	needed = 4 + ((size_t)message[1] << 16 | (size_t)message[2] << 8 | message[3]);
	must(taken >= needed);
	piece = 1 + needed / (1 + bytes[size - 1] % 200);
	made = put_records(message, needed, piece, stream);
	must(parse(stream, made, found) == whole && strcmp(found, name) == 0);
}

int fuzz_client_hello(const uint8_t *data, size_t size)
{
	char name[ALLOW_HOST_BYTES_MAX + 1];
	enum hello_result result = parse(data, size, name);

	must(strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-_.") == strlen(name));
	must(result != HELLO_MORE || size < HELLO_BYTES_MAX);
	check_pieces(data, size, result, name);
	if (result == HELLO_NAME || result == HELLO_NO_NAME)
		check_records(data, size, result, name);
	return 0;
}

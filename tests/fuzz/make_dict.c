/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/codec.h"

/* Prints libFuzzer's dictionary: every key and word of the wire, as msgpack writes it. */

static void print_entry(const char *text)
{
	size_t size = strlen(text);

	if (size < 32)
		printf("\"\\x%02zx%s\"\n", 0xa0 | size, text);
	else
		printf("\"\\xd9\\x%02zx%s\"\n", size, text);
}

static void print_words(const char *(*name)(int value))
{
	for (int i = 0; name(i); i++)
		print_entry(name(i));
}

#define TYPE_POINTER_(c_name, FIELDS) &c_name##_type,
static const struct message_type *const types[] = {PROTOCOL_MESSAGES(TYPE_POINTER_)};

/* Whether an earlier message has the key too. */
static bool printed_before(size_t type, const char *key)
{
	for (size_t i = 0; i < type; i++)
		for (size_t j = 0; j < types[i]->count; j++)
			if (strcmp(types[i]->fields[j].name, key) == 0)
				return true;
	return false;
}

int main(void)
{
	static const char *const envelope[] = {"request", "verb",  "arguments", "reply",
					       "ok",	  "error", "event",	"body"};

	printf("# Made by tests/fuzz/make_dict from proto/protocol.h; make dict.\n");
	for (size_t i = 0; i < sizeof(envelope) / sizeof(envelope[0]); i++)
		print_entry(envelope[i]);
	print_words(verb_name);
	print_words(event_name);
	print_words(error_name);
	for (int type = 0; type < FIELD_TYPE_COUNT; type++) {
		const struct word_set *words = field_words((enum field_type)type);

		for (size_t i = 0; words && i < words->count; i++)
			print_entry(words->words[i]);
	}
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		for (size_t j = 0; j < types[i]->count; j++)
			if (!printed_before(i, types[i]->fields[j].name))
				print_entry(types[i]->fields[j].name);
	/* The forms of msgpack that claim most. */
	printf("\"\\xc4\\x01\"\n\"\\xc6\\xff\\xff\\xff\\xff\"\n\"\\xca\"\n\"\\xcb\\x7f\\xf8\"\n"
	       "\"\\xcf\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xff\"\n\"\\xd3\\x80\"\n"
	       "\"\\xdb\\xff\\xff\\xff\\xff\"\n\"\\xdd\\xff\\xff\\xff\\xff\"\n"
	       "\"\\xdf\\xff\\xff\\xff\\xff\"\n");
	return fflush(stdout) ? EXIT_FAILURE : EXIT_SUCCESS;
}

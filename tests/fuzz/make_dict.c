/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/config.h"
#include "client/command.h"
#include "keeper/channel.h"
#include "plan/harness_words.h"
#include "plan/harness_keys.h"
#include "proto/codec.h"
#include "stage.h"

/*
 * make_dict NAME prints libFuzzer's dictionary of that name, from the tables:
 *   wire    every key and word of the wire and of the keepers' channel, as msgpack writes it
 *   json    the same as JSON writes it
 *   config  the sections and keys of trialsd.conf
 *   harness the same of a .harness file, and its words
 *   launch  the options of launch with their words, and json
 */

/* As libFuzzer reads an entry. */
static void print_entry(const char *text, size_t size)
{
	putchar('"');
	for (size_t i = 0; i < size; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c == '"' || c == '\\')
			printf("\\%c", c);
		else if (c < 0x20 || c >= 0x7f)
			printf("\\x%02x", c);
		else
			putchar(c);
	}
	puts("\"");
}

static void print_packed(const char *text)
{
	size_t size = strlen(text), head = size < 32 ? 1 : 2;
	char entry[2 + UINT8_MAX];

	must(size <= UINT8_MAX);
	entry[0] = (char)(head == 1 ? 0xa0 | size : 0xd9);
	if (head == 2)
		entry[1] = (char)size;
	memcpy(entry + head, text, size);
	print_entry(entry, head + size);
}

static void print_quoted(const char *text)
{
	char entry[UINT8_MAX];
	int size = snprintf(entry, sizeof(entry), "\"%s\"", text);

	must(size > 0 && (size_t)size < sizeof(entry));
	print_entry(entry, (size_t)size);
}

typedef void (*print_text)(const char *text);

#define TYPE_POINTER_(c_name, FIELDS) &c_name##_type,
static const struct message_type *const types[] = {PROTOCOL_MESSAGES(TYPE_POINTER_)
							   CHANNEL_MESSAGES(TYPE_POINTER_)};

enum { TYPE_COUNT = sizeof(types) / sizeof(types[0]) };

/* Whether an earlier message has the key too. */
static bool printed_before(size_t type, const char *key)
{
	for (size_t i = 0; i < type; i++)
		for (size_t j = 0; j < types[i]->count; j++)
			if (strcmp(types[i]->fields[j].name, key) == 0)
				return true;
	return false;
}

static void print_keys(print_text print)
{
	for (size_t i = 0; i < TYPE_COUNT; i++)
		for (size_t j = 0; j < types[i]->count; j++)
			if (!printed_before(i, types[i]->fields[j].name))
				print(types[i]->fields[j].name);
}

static void print_words(print_text print)
{
	for (int type = 0; type < FIELD_TYPE_COUNT; type++) {
		const struct word_set *words = field_words((enum field_type)type);

		for (size_t i = 0; words && i < words->count; i++)
			print(words->words[i]);
	}
}

static void print_names(const char *(*name)(int value))
{
	for (int i = 0; name(i); i++)
		print_packed(name(i));
}

static void print_wire(void)
{
#define VERB_(name) #name,
	static const char *const others[] = {"request", "verb", "arguments",
					     "reply",	"ok",	"error",
					     "event",	"body", CHANNEL_VERBS(VERB_)};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		print_packed(others[i]);
	print_names(verb_name);
	print_names(event_name);
	print_names(error_name);
	print_words(print_packed);
	print_keys(print_packed);
	/* The forms of msgpack that claim most. */
	printf("\"\\xc4\\x01\"\n\"\\xc6\\xff\\xff\\xff\\xff\"\n\"\\xca\"\n\"\\xcb\\x7f\\xf8\"\n"
	       "\"\\xcf\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xff\"\n\"\\xd3\\x80\"\n"
	       "\"\\xdb\\xff\\xff\\xff\\xff\"\n\"\\xdd\\xff\\xff\\xff\\xff\"\n"
	       "\"\\xdf\\xff\\xff\\xff\\xff\"\n");
}

static void print_json(void)
{
	static const char *const forms[] = {
		"{",	"}",   "[",   "]",  ":",       ",",	  "null",
		"true", "1e9", "0.5", "-1", "\\u0000", "\\ud800", "9223372036854775807",
		"/w=="};

	print_quoted("base64");
	print_words(print_quoted);
	print_keys(print_quoted);
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
		print_entry(forms[i], strlen(forms[i]));
}

/* The names behind the reader's own list: it gives them to whoever writes one that is none. */
static char *config_names(const char *text, const char *list)
{
	struct fault fault = FAULT_INIT;
	struct config config;
	char *names;

	must(config_init(&config) == 0);
	must(config_read(&config, stage_file(text, strlen(text)), &fault) == FAULT);
	names = strstr(fault.message, list);
	must(names);
	names = strdup(names + strlen(list));
	must(names);
	fault_done(&fault);
	config_done(&config);
	return names;
}

static void print_config_keys(const char *section)
{
	char text[128], entry[128], *names, *rest, *key;

	snprintf(text, sizeof(text), "%s\nx=1\n", section);
	names = rest = config_names(text, "this section has ");
	while ((key = strsep(&rest, " "))) {
		snprintf(entry, sizeof(entry), "%s=", key);
		print_entry(entry, strlen(entry));
	}
	free(names);
}

static void print_config(void)
{
	static const char *const values[] = {"infinity", "yes", "off",	"K",	       "G",
					     "iB",	 "%",	"ms",	"min",	       "h",
					     "d",	 " ",	"\r\n", "\xef\xbb\xbf"};
	char *names = config_names("[x]\n", "there are "), *rest = names, *section;

	print_entry("[Toolchain a]\n", strlen("[Toolchain a]\n"));
	print_config_keys("[Toolchain a]");
	print_entry("%1", 2);
	*strstr(names, " [Toolchain") = '\0';
	while ((section = strsep(&rest, " "))) {
		print_entry(section, strlen(section));
		print_config_keys(section);
	}
	for (int i = 0; backend_name(i); i++)
		print_entry(backend_name(i), strlen(backend_name(i)));
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		print_entry(values[i], strlen(values[i]));
	free(names);
}

static void print_harness(void)
{
	static const char *const forms[] = {"~/",
					    "%h",
					    "%r",
					    "%m",
					    "%v",
					    "%e",
					    "%i",
					    "%p",
					    "%f",
					    "%%",
					    "'",
					    "\"",
					    "@exp s",
					    "|",
					    "*.",
					    "prefix ",
					    " ms",
					    " rfc3339",
					    "[Session 2.0]",
					    "NAME="};
	char entry[128];

	for (int i = 0; i < HARNESS_SECTIONS; i++) {
		snprintf(entry, sizeof(entry), "[%s]\n",
			 harness_section_name((enum harness_section)i));
		print_entry(entry, strlen(entry));
	}
	for (int i = 0; i < HARNESS_LOGIN_KINDS; i++) {
		snprintf(entry, sizeof(entry), "[Login %s]\n",
			 harness_login_kind_name((enum harness_login_kind)i));
		print_entry(entry, strlen(entry));
	}
	for (size_t i = 0; i < harness_key_count; i++) {
		snprintf(entry, sizeof(entry), "%s=", harness_keys[i].name);
		print_entry(entry, strlen(entry));
	}
	for (int i = 0; i < HARNESS_GROUPS; i++)
		print_entry(harness_group_name(i), strlen(harness_group_name(i)));
	for (int i = 0; harness_saves_name((enum harness_saves)i); i++)
		print_entry(harness_saves_name((enum harness_saves)i),
			    strlen(harness_saves_name((enum harness_saves)i)));
	for (int i = 0; harness_prompt_name((enum harness_prompt)i); i++)
		print_entry(harness_prompt_name((enum harness_prompt)i),
			    strlen(harness_prompt_name((enum harness_prompt)i)));
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
		print_entry(forms[i], strlen(forms[i]));
}

static void print_launch(void)
{
	const struct option *option = command_find("launch")->options;
	char entry[128];

	for (; option->name; option++) {
		snprintf(entry, sizeof(entry), "--%s\n", option->name);
		print_entry(entry, strlen(entry));
		for (const char *word = option->words; word && *word;) {
			size_t length = strcspn(word, " ");

			print_entry(word, length);
			word += length + (word[length] == ' ');
		}
	}
	print_json();
}

static const struct {
	const char *name;
	void (*print)(void);
} dictionaries[] = {{"wire", print_wire},
		    {"json", print_json},
		    {"config", print_config},
		    {"harness", print_harness},
		    {"launch", print_launch}};

int main(int argc, char **argv)
{
	for (size_t i = 0; i < sizeof(dictionaries) / sizeof(dictionaries[0]); i++) {
		if (argc != 2 || strcmp(argv[1], dictionaries[i].name) != 0)
			continue;
		printf("# Made by tests/fuzz/make_dict from the tables; make dict.\n");
		dictionaries[i].print();
		return fflush(stdout) ? EXIT_FAILURE : EXIT_SUCCESS;
	}
	fputs("make_dict wire|json|config|harness|launch\n", stderr);
	return EXIT_FAILURE;
}

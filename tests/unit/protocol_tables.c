/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/codec.h"

/* Prints the tables of the wire as they stand in proto/PROTOCOL; see tests/check-protocol. */

static void heading(const char *text)
{
	printf("\n%s\n", text);
	for (size_t i = 0; i < strlen(text); i++)
		putchar('-');
	putchar('\n');
}

/* Text in a column that starts at `column`, broken at blanks before the 100th. */
static void print_wrapped(const char *text, int column)
{
	int at = column;

	while (*text) {
		int length = (int)strcspn(text, " ");

		if (at > column && at + 1 + length > 98) {
			printf("\n%*s", column, "");
			at = column;
		} else if (at > column) {
			putchar(' ');
			at++;
		}
		printf("%.*s", length, text);
		at += length;
		text += length;
		text += strspn(text, " ");
	}
	putchar('\n');
}

static const struct {
	const char *name;
	uint64_t value;
	const char *meaning;
} limits[] = {
	{"protocol version", PROTOCOL_VERSION, "spoken here"},
	{"oldest version", PROTOCOL_VERSION_OLDEST, "still understood"},
	{"frame", FRAME_BYTES_MAX, "bytes of one frame, header not counted"},
	{"frame deadline", FRAME_DEADLINE_SECONDS, "seconds from a frame's first byte to its last"},
	{"descriptors", FRAME_DESCRIPTORS_MAX, "beside one frame, of a launch that says so"},
	{"depth", MESSAGE_DEPTH_MAX, "maps and lists inside one another, the outermost counted"},
	{"list elements", MESSAGE_ELEMENTS_MAX, "of one list"},
	{"map keys", MESSAGE_MAP_KEYS_MAX, "of one map"},
	{"key", MESSAGE_KEY_BYTES_MAX, "bytes of a key of a message, and of a verb's name"},
	{"data key", MESSAGE_DATA_KEY_BYTES_MAX, "bytes of the name of a variable or a label"},
	{"clients", CLIENTS_MAX, "connected at once"},
	{"open requests", CLIENT_REQUESTS_MAX, "of one client, accepted and not yet answered"},
	{"queued output", CLIENT_OUTPUT_BYTES_MAX, "bytes for one client, not yet read by it"},
	{"path", PATH_BYTES_MAX, "bytes of a path"},
	{"inline prompt", PROMPT_INLINE_BYTES_MAX, "bytes of a prompt inside a launch"},
	{"prompt file", PROMPT_FILE_BYTES_MAX,
	 "bytes of a prompt that is given as a file, or as a descriptor"},
	{"priority", PRIORITY_MAX, "highest priority; its negative is the lowest"},
	{"page", LIST_PAGE_MAX, "Trials in one reply"},
	{"log chunk", LOG_CHUNK_BYTES_MAX, "bytes of output in one event"},
	{"size", LIMIT_BYTES_MAX, "bytes: the largest limit of memory, swap, tmp, home, output"},
	{"least output", LIMIT_OUTPUT_BYTES_MIN, "bytes: the smallest limit of output"},
	{"least memory", LIMIT_MEMORY_BYTES_MIN, "bytes: the smallest limit of memory"},
	{"least tmpfs", LIMIT_TMPFS_BYTES_MIN, "bytes: the smallest limit of tmp, and of home"},
	{"duration", SECONDS_MAX, "seconds: the longest wall limit"},
};

static void print_limits(void)
{
	heading("Limits");
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		printf("  %-18s %16" PRIu64 "  ", limits[i].name, limits[i].value);
		print_wrapped(limits[i].meaning, 39);
	}
}

static void print_word(const char *name, const char *mark, const char *doc)
{
	printf("  %-22s %-8s ", name, mark);
	print_wrapped(doc, 34);
}

#define PRINT_WORD_(name, doc) print_word(#name, "", doc);
#define PRINT_OUTCOME_(name, counts, doc) print_word(#name, (counts) ? "counts" : "", doc);

static void print_words(void)
{
	heading("Verbs");
	PROTOCOL_VERBS(PRINT_WORD_)
	heading("Events");
	PROTOCOL_EVENTS(PRINT_WORD_)
	heading("Error codes");
	PROTOCOL_ERRORS(PRINT_WORD_)
	heading("STATE: states");
	PROTOCOL_STATES(PRINT_WORD_)
	heading("OUTCOME: outcomes (counts: against the Arm)");
	PROTOCOL_OUTCOMES(PRINT_OUTCOME_)
	heading("CAUSE: why a Trial is void");
	PROTOCOL_CAUSES(PRINT_WORD_)
	heading("ENDER: who brought about the end");
	PROTOCOL_ENDERS(PRINT_WORD_)
	heading("HOLD: what holds the queue");
	PROTOCOL_HOLDS(PRINT_WORD_)
	heading("ROLE: roles");
	PROTOCOL_ROLES(PRINT_WORD_)
	heading("MODE: modes of a repository or a bind");
	PROTOCOL_MODES(PRINT_WORD_)
	heading("NETWORK: networks");
	PROTOCOL_NETWORKS(PRINT_WORD_)
	heading("VERDICT: what was made of a connection");
	PROTOCOL_VERDICTS(PRINT_WORD_)
	heading("VOTE: what a Grader says of a result");
	PROTOCOL_VOTES(PRINT_WORD_)
	heading("BACKEND: backends");
	PROTOCOL_BACKENDS(PRINT_WORD_)
	heading("STREAM: streams");
	PROTOCOL_STREAMS(PRINT_WORD_)
	heading("CHECK_STATE: how a check of doctor ended");
	PROTOCOL_CHECK_STATES(PRINT_WORD_)
	heading("LOGIN_KIND: what a Harness is signed in by");
	PROTOCOL_LOGIN_KINDS(PRINT_WORD_)
	heading("LOGIN_CONDITION: how a login is");
	PROTOCOL_LOGIN_CONDITIONS(PRINT_WORD_)
	heading("MOUNT_KIND: what is at a place of the sandbox");
	PROTOCOL_MOUNT_KINDS(PRINT_WORD_)
}

#define TYPE_NAME_(type) [FIELD_##type] = #type,
static const char *const type_names[FIELD_TYPE_COUNT] = {FIELD_TYPES(TYPE_NAME_)};

static bool is_list(enum field_type type)
{
	return type != FIELD_LIMITS && type != FIELD_BOUNDARY && type != FIELD_TRIAL &&
	       type != FIELD_TRIAL_HARNESS && type != FIELD_TRIAL_VERDICT &&
	       type != FIELD_CONNECTION_SUM && type != FIELD_SANDBOX && type != FIELD_ARM_FOLDER &&
	       type != FIELD_ARM_SPEC && type != FIELD_ARM && type != FIELD_BAR_SPEC;
}

static void print_nested(void)
{
	heading("Types that hold messages");
	for (int type = 0; type < FIELD_TYPE_COUNT; type++) {
		const struct message_type *inner = field_inner_type((enum field_type)type);

		if (inner)
			printf("  %-22s %s%s\n", type_names[type],
			       is_list((enum field_type)type) ? "list of " : "", inner->name);
	}
}

/* "launch_request" and "_request": "Arguments of launch". */
static bool print_title(const char *name, const char *suffix, const char *form)
{
	size_t length = strlen(name), end = strlen(suffix);
	char stem[64], title[128];

	if (length < end || strcmp(name + length - end, suffix) != 0)
		return false;
	snprintf(stem, sizeof(stem), "%.*s", (int)(length - end), name);
	snprintf(title, sizeof(title), "%s %s", form, stem);
	heading(title);
	return true;
}

static void print_message(const struct message_type *type)
{
	if (!print_title(type->name, "_request", "Arguments of") &&
	    !print_title(type->name, "_reply", "Reply to") &&
	    !print_title(type->name, "_event", "Body of the event"))
		print_title(type->name, "", "Message");
	if (type->count == 0)
		printf("  (no keys)\n");
	for (size_t i = 0; i < type->count; i++) {
		const struct field *field = &type->fields[i];
		char limit[24] = "";

		if (field->limit)
			snprintf(limit, sizeof(limit), "%" PRIu64, field->limit);
		printf("  %-19s %-13s %-8s %16s  ", field->name, type_names[field->type],
		       field->required ? "required" : "", limit);
		print_wrapped(field->doc, 63);
	}
}

#define TYPE_POINTER_(c_name, FIELDS) &c_name##_type,
static const struct message_type *const types[] = {PROTOCOL_MESSAGES(TYPE_POINTER_)};

int main(void)
{
	print_limits();
	print_words();
	print_nested();
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		print_message(types[i]);
	putchar('\n');
	if (fflush(stdout) || ferror(stdout))
		return EXIT_FAILURE;
	return EXIT_SUCCESS;
}

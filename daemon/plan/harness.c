/* SPDX-License-Identifier: MIT */
/*
 * The reader of .harness files. base/ini_text.c hands it one line at a time, harness_keys.h says
 * what each key may be, harness_check.c what the keys must say together. A refusal names the file,
 * the line and the key, and what is allowed; where something is missing, the line is that of its
 * section, or the file's last one.
 */
#include "harness.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdatomic.h>
#include <string.h>

#include <nettle/base16.h>
#include <nettle/sha2.h>

#include "base/ini_text.h"
#include "harness_keys.h"
#include "harness_words.h"
#include "plan/plan.h"
#include "text_file.h"

#define KEYS_MAX 64
#define SUFFIX ".harness"
#define REFRESH_AHEAD_SECONDS 3600 /* of a CLI of which nobody knows */

/* Where each key of one section of the file was given: a line, or 0. */
struct given {
	bool there;
	unsigned int line;
	unsigned int lines[KEYS_MAX];
};

struct reading {
	struct ini_text ini;
	struct harness *harness;
	bool in_section;
	enum harness_section section;
	size_t index;
	struct given plain[HARNESS_SECTIONS];
	struct given logins[HARNESS_LOGIN_KINDS];
	struct given sessions[HARNESS_SESSIONS_MAX];
};

static const char *const section_names[HARNESS_SECTIONS] = {
	[HARNESS_SECTION_Harness] = "Harness",
	[HARNESS_SECTION_Login] = "Login",
	[HARNESS_SECTION_Home] = "Home",
	[HARNESS_SECTION_Session] = "Session",
	[HARNESS_SECTION_Web] = "Web",
	[HARNESS_SECTION_Network] = "Network",
	[HARNESS_SECTION_Providers] = "Providers",
};

static const char *const kind_names[HARNESS_LOGIN_KINDS] = {
	[HARNESS_LOGIN_file] = "file", [HARNESS_LOGIN_folder] = "folder",
	[HARNESS_LOGIN_home] = "home", [HARNESS_LOGIN_env] = "env",
	[HARNESS_LOGIN_none] = "none",
};

const char *harness_section_name(enum harness_section section)
{
	return (size_t)section < HARNESS_SECTIONS ? section_names[section] : NULL;
}

const char *harness_login_kind_name(enum harness_login_kind kind)
{
	return (size_t)kind < HARNESS_LOGIN_KINDS ? kind_names[kind] : NULL;
}

bool harness_name_valid(const char *name)
{
	size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-_");

	return length > 0 && length <= HARNESS_NAME_BYTES_MAX && name[length] == '\0' &&
	       name[0] != '-' && name[0] != '_';
}

/* --- Sections ------------------------------------------------------------------------------------- */

static struct given *given_of(struct reading *reading, enum harness_section section, size_t index)
{
	if (section == HARNESS_SECTION_Login)
		return &reading->logins[index];
	if (section == HARNESS_SECTION_Session)
		return &reading->sessions[index];
	return &reading->plain[section];
}

static void *section_of(struct harness *harness, enum harness_section section, size_t index)
{
	switch (section) {
	case HARNESS_SECTION_Harness:
		return &harness->program;
	case HARNESS_SECTION_Login:
		return &harness->logins[index];
	case HARNESS_SECTION_Home:
		return &harness->home;
	case HARNESS_SECTION_Session:
		return &harness->sessions[index];
	case HARNESS_SECTION_Web:
		return &harness->web;
	case HARNESS_SECTION_Providers:
		return &harness->providers;
	default:
		return &harness->network;
	}
}

static int enter(struct reading *reading, enum harness_section section, size_t index)
{
	struct given *given = given_of(reading, section, index);

	reading->in_section = true;
	reading->section = section;
	reading->index = index;
	if (!given->there)
		given->line = reading->ini.line;
	given->there = true;
	return 0;
}

static int enter_login(struct reading *reading, const char *name, const char *kind)
{
	struct harness *harness = reading->harness;
	_cleanup_free_ char *shown = display(name);

	for (int i = 0; i < HARNESS_LOGIN_KINDS; i++) {
		size_t index = 0;

		if (strcmp(kind_names[i], kind) != 0)
			continue;
		while (index < harness->login_count && (int)harness->logins[index].kind != i)
			index++;
		if (index == harness->login_count)
			harness->logins[harness->login_count++] = (struct harness_login){
				.kind = (enum harness_login_kind)i,
				.refresh_ahead = REFRESH_AHEAD_SECONDS,
			};
		return enter(reading, HARNESS_SECTION_Login, index);
	}
	return ini_refuse(&reading->ini, reading->ini.line, NULL,
			  "[%s]: a login is [Login file], [Login folder], [Login home], "
			  "[Login env] or [Login none]",
			  shown);
}

static bool is_version(const char *text)
{
	size_t length = strspn(text, "0123456789.");

	return length > 0 && length <= 32 && text[length] == '\0' && text[0] != '.' &&
	       text[length - 1] != '.' && !strstr(text, "..");
}

static int enter_session(struct reading *reading, const char *version)
{
	struct harness *harness = reading->harness;
	struct ini_text *ini = &reading->ini;
	_cleanup_free_ char *shown = version ? display(version) : NULL;
	size_t index = 0, count = harness->session_count;
	struct harness_session *session;

	if (version && !is_version(version))
		return ini_refuse(ini, ini->line, NULL,
				  "[Session %s]: behind Session stands a version such as 2.0",
				  shown);
	for (; index < count; index++)
		if (version && harness->sessions[index].from
			    ? strcmp(version, harness->sessions[index].from) == 0
			    : version == harness->sessions[index].from)
			return enter(reading, HARNESS_SECTION_Session, index);
	if (version && count == 0)
		return ini_refuse(ini, ini->line, NULL, "[Session %s]: [Session] comes first",
				  version);
	if (count > 1 && harness_version_compare(version, harness->sessions[count - 1].from) <= 0)
		return ini_refuse(
			ini, ini->line, NULL,
			"[Session %s]: stands behind [Session %s]; the older one is first", version,
			harness->sessions[count - 1].from);
	if (count == HARNESS_SESSIONS_MAX)
		return ini_refuse(ini, ini->line, NULL, "[Session %s]: more than %d of them",
				  version, HARNESS_SESSIONS_MAX);
	session = &harness->sessions[harness->session_count++];
	*session = (struct harness_session){.prompt_limit = PROMPT_FILE_BYTES_MAX};
	if (version) {
		session->from = strdup(version);
		if (!session->from)
			return -ENOMEM;
	}
	return enter(reading, HARNESS_SECTION_Session, index);
}

static int take_section(struct ini_text *ini, const char *name)
{
	struct reading *reading = container_of(ini, struct reading, ini);
	_cleanup_free_ char *shown = NULL;

	if (strncmp(name, "Login ", 6) == 0)
		return enter_login(reading, name, name + 6);
	if (strcmp(name, "Login") == 0)
		return enter_login(reading, name, "");
	if (strncmp(name, "Session ", 8) == 0)
		return enter_session(reading, name + 8);
	if (strcmp(name, "Session") == 0)
		return enter_session(reading, NULL);
	for (int i = 0; i < HARNESS_SECTIONS; i++)
		if (strcmp(section_names[i], name) == 0)
			return enter(reading, (enum harness_section)i, 0);
	shown = display(name);
	return ini_refuse(ini, ini->line, NULL,
			  "[%s]: unknown section; there are [Harness] [Login KIND] [Home] "
			  "[Session] [Session VERSION] [Web] [Network] [Providers]",
			  shown);
}

/* --- Values --------------------------------------------------------------------------------------- */

static unsigned int kind_of(const struct reading *reading)
{
	return reading->section == HARNESS_SECTION_Login
		       ? 1u << reading->harness->logins[reading->index].kind
		       : HARNESS_ANY;
}

static bool has_key(const struct reading *reading, const struct harness_key *key)
{
	return key->section == reading->section && (key->kinds & kind_of(reading));
}

static int refuse_unknown(struct reading *reading, const char *name)
{
	_cleanup_free_ char *text = NULL, *shown = display(name);
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);

	if (!file)
		return -ENOMEM;
	if (reading->section == HARNESS_SECTION_Login)
		fprintf(file, "unknown key; [Login %s] has",
			kind_names[reading->harness->logins[reading->index].kind]);
	else
		fprintf(file, "unknown key; this section has");
	for (size_t i = 0; i < harness_key_count; i++)
		if (has_key(reading, &harness_keys[i]))
			fprintf(file, " %s", harness_keys[i].name);
	if (fclose(file) != 0)
		return -ENOMEM;
	return ini_refuse(&reading->ini, reading->ini.line, shown, "%s", text);
}

static int refuse_value(struct reading *reading, const struct harness_key *key, const char *value,
			int error)
{
	struct ini_text *ini = &reading->ini;
	_cleanup_free_ char *shown = display(value);

	switch (error) {
	case -EINVAL:
		return ini_refuse(ini, ini->line, key->name, "\"%s\" is not %s", shown,
				  key->allowed);
	case -EEXIST:
		return ini_refuse(ini, ini->line, key->name,
				  "\"%s\" names something that was given before", shown);
	case -E2BIG:
		return ini_refuse(ini, ini->line, key->name, "more than %d entries, or 64 KiB",
				  HARNESS_ENTRIES_MAX);
	default:
		return error;
	}
}

static int take_value(struct ini_text *ini, const char *name, const char *value)
{
	struct reading *reading = container_of(ini, struct reading, ini);
	struct given *given;

	if (!reading->in_section)
		return ini_refuse(ini, ini->line, name, "stands before the first [Section]");
	given = given_of(reading, reading->section, reading->index);
	for (size_t i = 0; i < harness_key_count; i++) {
		const struct harness_key *key = &harness_keys[i];
		int r;

		if (!has_key(reading, key) || strcmp(key->name, name) != 0)
			continue;
		if (given->lines[i] && !key->many)
			return ini_refuse(ini, ini->line, name,
					  "given a second time (line %u has it); once is allowed",
					  given->lines[i]);
		if (!given->lines[i])
			given->lines[i] = ini->line;
		r = key->set(section_of(reading->harness, reading->section, reading->index), key,
			     value);
		return r < 0 ? refuse_value(reading, key, value, r) : 0;
	}
	return refuse_unknown(reading, name);
}

/* --- The whole ------------------------------------------------------------------------------------ */

static int refuse_section(struct reading *reading, const char *heading)
{
	return ini_refuse(&reading->ini, reading->ini.line ? reading->ini.line : 1, NULL,
			  "%s: this section is missing", heading);
}

/* Each key that its section needs. */
static int check_needed(struct reading *reading, enum harness_section section, size_t index)
{
	struct given *given = given_of(reading, section, index);

	if (!given->there)
		return 0;
	reading->section = section;
	reading->index = index;
	for (size_t i = 0; i < harness_key_count; i++)
		if (has_key(reading, &harness_keys[i]) &&
		    (harness_keys[i].needed & kind_of(reading)) && !given->lines[i])
			return ini_refuse(&reading->ini, given->line, harness_keys[i].name,
					  "missing; it must be %s", harness_keys[i].allowed);
	return 0;
}

static int check_sections(struct reading *reading)
{
	const struct harness *harness = reading->harness;
	int r;

	if (!reading->plain[HARNESS_SECTION_Harness].there)
		return refuse_section(reading, "[Harness]");
	if (harness->login_count == 0)
		return refuse_section(reading, "[Login KIND]");
	if (harness->session_count == 0)
		return refuse_section(reading, "[Session]");
	r = check_needed(reading, HARNESS_SECTION_Harness, 0);
	if (r == 0)
		r = check_needed(reading, HARNESS_SECTION_Providers, 0);
	for (size_t i = 0; r == 0 && i < harness->login_count; i++)
		r = check_needed(reading, HARNESS_SECTION_Login, i);
	for (size_t i = 0; r == 0 && i < harness->session_count; i++)
		r = check_needed(reading, HARNESS_SECTION_Session, i);
	return r;
}

static int check_together(struct reading *reading)
{
	struct harness_problem problem = {0};
	struct given *given;
	unsigned int line;
	int r;

	r = harness_check(reading->harness, &problem);
	if (r < 0 || !problem.why)
		return r;
	given = given_of(reading, problem.section, problem.index);
	line = given->line;
	for (size_t i = 0; problem.key && i < harness_key_count; i++)
		if (harness_keys[i].section == problem.section &&
		    strcmp(harness_keys[i].name, problem.key) == 0 && given->lines[i])
			line = given->lines[i];
	r = ini_refuse(&reading->ini, line, problem.key, "%s", problem.why);
	free(problem.why);
	return r;
}

/* What an absent key means, where it is more than nothing. */
static int add_defaults(struct harness *harness)
{
	int r = 0;

	if (harness->program.version_arguments.count == 0)
		r = text_list_add(&harness->program.version_arguments, "--version");
	for (size_t i = 0; r == 0 && i < harness->session_count; i++) {
		struct harness_session *session = &harness->sessions[i];
		struct text_list *words = &session->prompt_arguments[HARNESS_PROMPT_argument];

		for (size_t j = 0; r == 0 && j < session->prompt_count; j++)
			if (session->prompts[j] == HARNESS_PROMPT_argument && words->count == 0)
				r = text_list_add(words, "%p");
	}
	return r;
}

static int harness_new(struct harness **ret_harness, const char *name, const char *path)
{
	static atomic_uint readings;
	struct harness *harness = calloc(1, sizeof(*harness));

	if (!harness)
		return -ENOMEM;
	harness->serial = ++readings;
	harness->program.stop_signal = SIGTERM;
	harness->program.root = true;
	harness->name = strdup(name);
	harness->path = strdup(path);
	harness->logins = calloc(HARNESS_LOGIN_KINDS, sizeof(*harness->logins));
	harness->sessions = calloc(HARNESS_SESSIONS_MAX, sizeof(*harness->sessions));
	if (!harness->name || !harness->path || !harness->logins || !harness->sessions) {
		harness_free(harness);
		return -ENOMEM;
	}
	*ret_harness = harness;
	return 0;
}

static void harness_free_pointer(struct harness **harness)
{
	harness_free(*harness);
}

/* What cannot be read is a fault like what is wrong in it: other files are not to suffer from it. */
static int read_text(const char *shown, int fd, char **ret_text, size_t *ret_size,
		     struct fault *fault)
{
	int r = text_file_read_at(fd, HARNESS_FILE_BYTES_MAX, ret_text, ret_size);

	switch (r) {
	case 0:
	case -ENOMEM:
	case -EMFILE:
	case -ENFILE:
		return r;
	case -EINVAL:
		return fault_set(fault, ERROR_invalid, "%s: not a regular file", shown);
	case -EFBIG:
		return fault_set(fault, ERROR_invalid, "%s: larger than 64 KiB", shown);
	default:
		return fault_set(fault, ERROR_invalid, "%s: %s", shown, strerror(-r));
	}
}

/* What only explains does not change what a session is. */
static void digest_lines(const char *text, size_t size, char ret_digest[65])
{
	uint8_t digest[SHA256_DIGEST_SIZE];
	const char *end = text + size;
	struct sha256_ctx hash;

	sha256_init(&hash);
	for (const char *line = text, *next; line < end; line = next) {
		const char *feed = memchr(line, '\n', (size_t)(end - line)), *at = line;

		next = feed ? feed + 1 : end;
		while (at < next && strchr(" \t\r\n", *at) && *at)
			at++;
		if (at < next && *at != '#' && *at != ';')
			sha256_update(&hash, (size_t)(next - line), (const uint8_t *)line);
	}
	sha256_digest(&hash, sizeof(digest), digest);
	base16_encode_update(ret_digest, sizeof(digest), digest);
	ret_digest[2 * sizeof(digest)] = '\0';
}

int harness_read_at(struct harness **ret_harness, const char *name, const char *path, int fd,
		    struct fault *ret_fault)
{
	_cleanup_(harness_free_pointer) struct harness *harness = NULL;
	_cleanup_free_ struct reading *reading = calloc(1, sizeof(*reading));
	_cleanup_free_ char *text = NULL, *shown = display(path);
	size_t size;
	int r;

	if (!reading || !shown)
		return -ENOMEM;
	if (!harness_name_valid(name))
		return fault_set(ret_fault, ERROR_invalid,
				 "%s: a Harness's name is of 1 to %d small letters, digits, - and "
				 "_, and begins with a letter or digit",
				 shown, HARNESS_NAME_BYTES_MAX);
	r = read_text(shown, fd, &text, &size, ret_fault);
	if (r == 0)
		r = harness_new(&harness, name, path);
	if (r != 0)
		return r;
	digest_lines(text, size, harness->definition);
	reading->harness = harness;
	reading->ini = (struct ini_text){.path = shown,
					 .manual = "trialsd.harness(5)",
					 .fault = ret_fault,
					 .take_section = take_section,
					 .take_value = take_value};
	r = ini_text_read(&reading->ini, text, size);
	if (r == 0)
		r = check_sections(reading);
	if (r == 0)
		r = check_together(reading);
	if (r == 0)
		r = add_defaults(harness);
	if (r == 0)
		*ret_harness = steal(&harness);
	return r;
}

int harness_read(struct harness **ret_harness, const char *path, struct fault *ret_fault)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
	size_t length = strlen(base), suffix = strlen(SUFFIX);
	_cleanup_free_ char *name = NULL, *shown = display(path);
	_cleanup_close_ int fd = -1;

	if (!shown)
		return -ENOMEM;
	if (length <= suffix || strcmp(base + length - suffix, SUFFIX) != 0)
		return fault_set(ret_fault, ERROR_invalid, "%s: not named NAME.harness", shown);
	name = strndup(base, length - suffix);
	if (!name)
		return -ENOMEM;
	fd = open(path, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return fault_set(ret_fault, ERROR_invalid, "%s: %s", shown, strerror(errno));
	return harness_read_at(ret_harness, name, path, fd, ret_fault);
}

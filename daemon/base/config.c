/* SPDX-License-Identifier: MIT */
/*
 * The reader of trialsd.conf: what each key may be, and where it goes. What a line is, and all that
 * is no line, is for ini_text.c. Everything is read into a copy, which takes the place of the
 * configuration at the end.
 */
#include "base/config.h"

#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/ini_text.h"
#include "base/list.h"
#include "base/toolchain.h"
#include "proto/quantity.h"

#define MAX_RUNNING_MAX 1024
#define GRACE_SECONDS_MAX 3600
#define SPARE_SECONDS_MAX 86400
#define IDLE_SECONDS_MAX (7 * 86400)
#define REFUSAL_BYTES_MAX 512
#define INTERNAL_MAX 64

struct config_key {
	const char *section;
	const char *name;
	/* 0, -EINVAL when the value is not what `allowed` says, -ENOMEM. */
	int (*set)(struct config *config, const struct config_key *key, const char *value);
	const char *allowed;
	/* Of a limit: where it goes, what it may be at least, and whether it can be absent. */
	size_t has_offset;
	size_t offset;
	uint64_t least;
	bool infinite;
};

static int set_text(char **text, const char *value)
{
	char *copy = strdup(value);

	if (!copy)
		return -ENOMEM;
	free(*text);
	*text = copy;
	return 0;
}

static int read_number(const char *value, uint64_t most, uint64_t *ret_number)
{
	size_t digits = strspn(value, "0123456789");
	uint64_t number;

	if (digits == 0 || digits > 10 || value[digits] != '\0')
		return -EINVAL;
	number = strtoull(value, NULL, 10);
	if (number < 1 || number > most)
		return -EINVAL;
	*ret_number = number;
	return 0;
}

static int read_boolean(const char *value, bool *ret_boolean)
{
	static const char *const words[][2] = {
		{"no", "yes"}, {"false", "true"}, {"off", "on"}, {"0", "1"}};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		for (int j = 0; j < 2; j++)
			if (strcmp(value, words[i][j]) == 0) {
				*ret_boolean = j;
				return 0;
			}
	return -EINVAL;
}

static int set_max_running(struct config *config, const struct config_key *key, const char *value)
{
	uint64_t number;
	int r = read_number(value, MAX_RUNNING_MAX, &number);

	(void)key;
	if (r == 0)
		config->max_running = (unsigned int)number;
	return r;
}

static int set_min_free(struct config *config, const struct config_key *key, const char *value)
{
	(void)key;
	return quantity_size(value, &config->min_free) < 0 ? -EINVAL : 0;
}

static int set_backend(struct config *config, const struct config_key *key, const char *value)
{
	int backend = backend_from_name(value);

	(void)key;
	if (backend < 0)
		return -EINVAL;
	config->backend = (enum backend)backend;
	return 0;
}

static int set_bwrap(struct config *config, const struct config_key *key, const char *value)
{
	(void)key;
	if (value[0] != '/' || strlen(value) > PATH_BYTES_MAX)
		return -EINVAL;
	return set_text(&config->bwrap, value);
}

static int set_require_limits(struct config *config, const struct config_key *key,
			      const char *value)
{
	(void)key;
	return read_boolean(value, &config->require_limits);
}

/* Absolute folders, separated by colons; with home those in it too (~/bin). */
static int set_folders(char **text, const char *value, bool home)
{
	if (strlen(value) > PATH_BYTES_MAX)
		return -EINVAL;
	/* An empty or relative folder would be the working directory: the Trial's own. */
	for (const char *at = value;; at++) {
		if (*at != '/' && !(home && at[0] == '~' && at[1] == '/'))
			return -EINVAL;
		at += strcspn(at, ":");
		if (*at == '\0')
			return set_text(text, value);
	}
}

static int set_path(struct config *config, const struct config_key *key, const char *value)
{
	(void)key;
	return set_folders(&config->path, value, false);
}

static int set_harness_path(struct config *config, const struct config_key *key, const char *value)
{
	(void)key;
	return set_folders(&config->harness_path, value, true);
}

static bool *limit_has(struct config *config, const struct config_key *key)
{
	return (bool *)((char *)config + key->has_offset);
}

static bool is_absent(const struct config_key *key, const char *value)
{
	return key->infinite && strcmp(value, "infinity") == 0;
}

static int set_limit(struct config *config, const struct config_key *key, const char *value,
		     int (*read)(const char *value, uint64_t *ret_number))
{
	uint64_t number = 0;
	int r;

	*limit_has(config, key) = false;
	if (!is_absent(key, value)) {
		r = read(value, &number);
		if (r < 0 || number < key->least)
			return -EINVAL;
		*limit_has(config, key) = true;
	}
	*(uint64_t *)(void *)((char *)config + key->offset) = number;
	return 0;
}

static int set_size(struct config *config, const struct config_key *key, const char *value)
{
	return set_limit(config, key, value, quantity_size);
}

static int read_tasks(const char *value, uint64_t *ret_number)
{
	return read_number(value, 4194304, ret_number);
}

static int set_tasks(struct config *config, const struct config_key *key, const char *value)
{
	return set_limit(config, key, value, read_tasks);
}

static int read_percent(const char *value, uint64_t *ret_number)
{
	int r = quantity_percent(value, ret_number);

	/* CPU=2 would be a fiftieth of one processor: who means two of them is not to find out late. */
	if (r == 0 && *ret_number < CPU_PERCENT_PLAIN_LEAST && !strchr(value, '%'))
		return -EINVAL;
	return r == 0 && *ret_number > 409600 ? -ERANGE : r;
}

static int set_percent(struct config *config, const struct config_key *key, const char *value)
{
	return set_limit(config, key, value, read_percent);
}

static int set_time(const struct config_key *key, const char *value, bool *ret_has,
		    double *ret_seconds)
{
	double seconds = 0;

	if (!is_absent(key, value) && (quantity_time(value, &seconds) < 0 || seconds < 1))
		return -EINVAL;
	*ret_has = !is_absent(key, value);
	*ret_seconds = seconds;
	return 0;
}

static int set_wall(struct config *config, const struct config_key *key, const char *value)
{
	return set_time(key, value, &config->limits.has.wall_seconds, &config->limits.wall_seconds);
}

static int set_stall(struct config *config, const struct config_key *key, const char *value)
{
	return set_time(key, value, &config->limits.has.stall_seconds,
			&config->limits.stall_seconds);
}

static int set_grace(struct config *config, const struct config_key *key, const char *value)
{
	double seconds;

	(void)key;
	if (quantity_time(value, &seconds) < 0 || seconds > GRACE_SECONDS_MAX)
		return -EINVAL;
	config->grace_seconds = seconds;
	return 0;
}

static int set_spare_keeper(struct config *config, const struct config_key *key, const char *value)
{
	double seconds;

	(void)key;
	if (quantity_time(value, &seconds) < 0 || seconds > SPARE_SECONDS_MAX)
		return -EINVAL;
	config->spare_seconds = seconds;
	return 0;
}

/* Words between blanks. What a word may be is for config->check. */
static int set_words(struct text_list *list, const char *value, size_t most)
{
	struct text_list words = {0};
	int r = 0;

	while (r == 0 && *(value += strspn(value, " \t"))) {
		size_t length = strcspn(value, " \t");

		r = words.count < most ? text_list_add_format(&words, "%.*s", (int)length, value)
				       : -EINVAL;
		value += length;
	}
	if (r < 0) {
		text_list_done(&words);
		return r;
	}
	text_list_done(list);
	*list = words;
	return 0;
}

static int set_hosts(struct config *config, const struct config_key *key, const char *value)
{
	(void)key;
	return set_words(&config->hosts, value, HOSTS_MAX);
}

static int set_internal(struct config *config, const struct config_key *key, const char *value)
{
	(void)key;
	return set_words(&config->internal, value, INTERNAL_MAX);
}

static int set_network(struct config *config, const struct config_key *key, const char *value)
{
	int network = network_from_name(value);

	(void)key;
	if (network < 0)
		return -EINVAL;
	config->network = (enum network)network;
	return 0;
}

static int set_host_network(struct config *config, const struct config_key *key, const char *value)
{
	(void)key;
	return read_boolean(value, &config->host_network);
}

static int set_idle(struct config *config, const struct config_key *key, const char *value)
{
	double seconds;

	(void)key;
	if (quantity_time(value, &seconds) < 0 || seconds < 1 || seconds > IDLE_SECONDS_MAX)
		return -EINVAL;
	config->idle_seconds = seconds;
	return 0;
}

/* It becomes the body of an answer: one line, and of nothing that a line cannot hold. */
static int set_refusal(struct config *config, const struct config_key *key, const char *value)
{
	(void)key;
	if (strlen(value) > REFUSAL_BYTES_MAX || value[0] == '\0')
		return -EINVAL;
	for (const char *at = value; *at; at++)
		if ((unsigned char)*at < ' ' || *at == 0x7f)
			return -EINVAL;
	return set_text(&config->refusal, value);
}

#define LIMIT(name)                                                                                \
	.has_offset = offsetof(struct config, limits.has.name),                                    \
	.offset = offsetof(struct config, limits.name)

static const struct config_key config_keys[] = {
	{.section = "Daemon",
	 .name = "MaxRunning",
	 .set = set_max_running,
	 .allowed = "a whole number from 1 to 1024"},
	{.section = "Daemon",
	 .name = "Backend",
	 .set = set_backend,
	 .allowed = "auto, systemd or none"},
	{.section = "Daemon", .name = "Bwrap", .set = set_bwrap, .allowed = "an absolute path"},
	{.section = "Daemon",
	 .name = "MinFree",
	 .set = set_min_free,
	 .allowed = "a size such as 2G, or 0 for no guard"},
	{.section = "Daemon",
	 .name = "RequireLimits",
	 .set = set_require_limits,
	 .allowed = "yes or no"},
	{.section = "Daemon",
	 .name = "SpareKeeper",
	 .set = set_spare_keeper,
	 .allowed = "a time such as 1min, up to 1d, or 0 for none"},
	{.section = "Sandbox",
	 .name = "Path",
	 .set = set_path,
	 .allowed = "absolute folders separated by colons"},
	{.section = "Harness",
	 .name = "Path",
	 .set = set_harness_path,
	 .allowed = "folders separated by colons, absolute or of the home (~/bin)"},
	{.section = "Network",
	 .name = "Default",
	 .set = set_network,
	 .allowed = "allowlist, none or host"},
	{.section = "Network",
	 .name = "HostNetwork",
	 .set = set_host_network,
	 .allowed = "yes or no"},
	{.section = "Network",
	 .name = "Hosts",
	 .set = set_hosts,
	 .allowed = "at most 512 of HOST[:PORT] or *.SUFFIX[:PORT], separated by blanks"},
	{.section = "Network",
	 .name = "Internal",
	 .set = set_internal,
	 .allowed = "at most 64 of HOST:PORT, separated by blanks"},
	{.section = "Network",
	 .name = "IdleLimit",
	 .set = set_idle,
	 .allowed = "a time such as 30min, from 1s to 7d"},
	{.section = "Network",
	 .name = "Refusal",
	 .set = set_refusal,
	 .allowed = "a line of at most 512 bytes"},
	{.section = "Limits",
	 .name = "Wall",
	 .set = set_wall,
	 .allowed = "a time such as 90min, from 1s to 365d, or infinity",
	 .infinite = true},
	{.section = "Limits",
	 .name = "Stall",
	 .set = set_stall,
	 .allowed = "a time such as 90min, from 1s to 365d, or infinity",
	 .infinite = true},
	{.section = "Limits",
	 .name = "Memory",
	 .set = set_size,
	 .allowed = "a size such as 512M, from 4M to 1P, or infinity",
	 LIMIT(memory),
	 .least = LIMIT_MEMORY_BYTES_MIN,
	 .infinite = true},
	{.section = "Limits",
	 .name = "Swap",
	 .set = set_size,
	 .allowed = "a size such as 512M, from 0 to 1P, or infinity",
	 LIMIT(swap),
	 .infinite = true},
	{.section = "Limits",
	 .name = "Tasks",
	 .set = set_tasks,
	 .allowed = "a whole number from 1 to 4194304, or infinity",
	 LIMIT(tasks),
	 .infinite = true},
	{.section = "Limits",
	 .name = "CPU",
	 .set = set_percent,
	 .allowed =
		 "a percentage from 1% to 409600% (200% is two processors; below 10 only with %), or infinity",
	 LIMIT(cpu),
	 .least = 1,
	 .infinite = true},
	{.section = "Limits",
	 .name = "Tmp",
	 .set = set_size,
	 .allowed = "a size such as 512M, from 4K to 1P",
	 LIMIT(tmp),
	 .least = LIMIT_TMPFS_BYTES_MIN},
	{.section = "Limits",
	 .name = "Home",
	 .set = set_size,
	 .allowed = "a size such as 512M, from 4K to 1P",
	 LIMIT(home),
	 .least = LIMIT_TMPFS_BYTES_MIN},
	{.section = "Limits",
	 .name = "Output",
	 .set = set_size,
	 .allowed = "a size such as 64M, from 64K to 1P",
	 LIMIT(output),
	 .least = LIMIT_OUTPUT_BYTES_MIN},
	{.section = "Limits",
	 .name = "Grace",
	 .set = set_grace,
	 .allowed = "a time such as 10s, from 0 to 1h"},
};

struct reading {
	struct ini_text ini;
	struct config *config;
	const char *section;	     /* that the lines are in; NULL before the first */
	uint64_t given;		     /* bits of config_keys */
	struct toolchain *toolchain; /* whose section it is, or NULL */
};

/* Lists the sections, or the keys of one, for a refusal. */
static int refuse_unknown(struct ini_text *ini, const char *name, const char *section)
{
	_cleanup_free_ char *text = NULL;
	const char *before = "";
	size_t size = 0;
	FILE *file;

	file = open_memstream(&text, &size);
	if (!file)
		return -ENOMEM;
	fprintf(file, section ? "unknown key; this section has" : "unknown section; there are");
	for (size_t i = 0; i < ARRAY_SIZE(config_keys); i++) {
		const struct config_key *key = &config_keys[i];

		if (section && strcmp(key->section, section) == 0)
			fprintf(file, " %s", key->name);
		else if (!section && strcmp(key->section, before) != 0)
			fprintf(file, " [%s]", key->section);
		before = key->section;
	}
	if (!section)
		fprintf(file, " [Toolchain NAME]");
	if (fclose(file) != 0)
		return -ENOMEM;
	return ini_refuse(ini, ini->line, name, "%s", text);
}

static int take_section(struct ini_text *ini, const char *name)
{
	struct reading *reading = container_of(ini, struct reading, ini);
	_cleanup_free_ char *heading = NULL;

	reading->toolchain = NULL;
	if (strcmp(name, "Toolchain") == 0 || strncmp(name, "Toolchain ", 10) == 0) {
		reading->section = "Toolchain";
		return toolchain_enter(&reading->config->toolchains, ini, name,
				       &reading->toolchain);
	}
	for (size_t i = 0; i < ARRAY_SIZE(config_keys); i++)
		if (strcmp(config_keys[i].section, name) == 0) {
			reading->section = config_keys[i].section;
			return 0;
		}
	if (asprintf(&heading, "[%s]", name) < 0) {
		heading = NULL;
		return -ENOMEM;
	}
	return refuse_unknown(ini, heading, NULL);
}

/* Which heading a key wants is told by the first that has it. */
static int refuse_homeless(struct ini_text *ini, const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(config_keys); i++)
		if (strcmp(config_keys[i].name, name) == 0)
			return ini_refuse(ini, ini->line, name,
					  "stands before the first [Section]: [%s] has to stand "
					  "above it",
					  config_keys[i].section);
	return ini_refuse(ini, ini->line, name, "stands before the first [Section]");
}

static int take_value(struct ini_text *ini, const char *name, const char *value)
{
	struct reading *reading = container_of(ini, struct reading, ini);
	int r;

	if (!reading->section)
		return refuse_homeless(ini, name);
	if (reading->toolchain)
		return toolchain_take(reading->toolchain, ini, name, value);
	for (size_t i = 0; i < ARRAY_SIZE(config_keys); i++) {
		const struct config_key *key = &config_keys[i];

		if (strcmp(key->section, reading->section) != 0 || strcmp(key->name, name) != 0)
			continue;
		if (reading->given & (1ull << i))
			return ini_refuse(ini, ini->line, name,
					  "given a second time; once is allowed");
		reading->given |= 1ull << i;
		r = key->set(reading->config, key, value);
		return r != -EINVAL ? r
				    : ini_refuse(ini, ini->line, name, "\"%s\" is not %s", value,
						 key->allowed);
	}
	return refuse_unknown(ini, name, reading->section);
}

int config_init(struct config *config)
{
	cpu_set_t processors;
	int count = 1;

	*config = (struct config){
		.backend = BACKEND_systemd,
		.min_free = 2ull << 30,
		.require_limits = true,
		.spare_seconds = 60,
		.network = NETWORK_allowlist,
		.host_network = true,
		.idle_seconds = 30 * 60,
		.limits =
			{
				.has = {.wall_seconds = true,
					.tasks = true,
					.tmp = true,
					.home = true,
					.output = true},
				.wall_seconds = 2 * 3600,
				.tasks = 2048,
				.tmp = 4ull << 30,
				.home = 4ull << 30,
				.output = 64u << 20,
			},
		.grace_seconds = 10,
	};
	if (sched_getaffinity(0, sizeof(processors), &processors) == 0)
		count = CPU_COUNT(&processors);
	config->max_running = (unsigned int)(count > MAX_RUNNING_MAX ? MAX_RUNNING_MAX : count);
	return set_text(&config->path, "/usr/local/bin:/usr/bin:/bin");
}

void config_done(struct config *config)
{
	free(config->bwrap);
	free(config->path);
	free(config->harness_path);
	free(config->refusal);
	text_list_done(&config->hosts);
	text_list_done(&config->internal);
	toolchain_list_done(&config->toolchains);
	config->bwrap = NULL;
	config->path = NULL;
	config->harness_path = NULL;
	config->refusal = NULL;
}

static int words_copy(const struct text_list *list, struct text_list *ret_copy)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < list->count; i++)
		r = text_list_add(ret_copy, list->items[i]);
	return r;
}

static int config_copy(struct config *ret_copy, const struct config *config)
{
	int r;

	*ret_copy = *config;
	ret_copy->toolchains = (struct toolchain_list){0};
	ret_copy->hosts = ret_copy->internal = (struct text_list){0};
	ret_copy->refusal = config->refusal ? strdup(config->refusal) : NULL;
	ret_copy->bwrap = config->bwrap ? strdup(config->bwrap) : NULL;
	ret_copy->path = config->path ? strdup(config->path) : NULL;
	ret_copy->harness_path = config->harness_path ? strdup(config->harness_path) : NULL;
	r = toolchain_list_copy(&config->toolchains, &ret_copy->toolchains);
	if (r == 0)
		r = words_copy(&config->hosts, &ret_copy->hosts);
	if (r == 0)
		r = words_copy(&config->internal, &ret_copy->internal);
	if (r < 0 || (config->bwrap && !ret_copy->bwrap) || (config->path && !ret_copy->path) ||
	    (config->refusal && !ret_copy->refusal) ||
	    (config->harness_path && !ret_copy->harness_path)) {
		config_done(ret_copy);
		return r < 0 ? r : -ENOMEM;
	}
	return 0;
}

static int check(const struct config *config, const char *path, struct fault *ret_fault)
{
	_cleanup_fault_ struct fault fault = FAULT_INIT;
	int r = config->check(config, &fault);

	if (r != FAULT)
		return r;
	return fault_set(ret_fault, ERROR_invalid, "%s: %s", path, fault.message),
	       fault_hint(ret_fault, "see trialsd.conf(5)");
}

int config_read(struct config *config, const char *path, struct fault *ret_fault)
{
	_cleanup_free_ char *text = NULL;
	struct config copy;
	struct reading reading = {.ini = {.path = path,
					  .manual = "trialsd.conf(5)",
					  .fault = ret_fault,
					  .take_section = take_section,
					  .take_value = take_value},
				  .config = &copy};
	size_t size = 0;
	int r;

	r = ini_file_read(path, &text, &size, ret_fault);
	if (!text)
		return r;
	r = config_copy(&copy, config);
	if (r < 0)
		return r;
	r = ini_text_read(&reading.ini, text, size);
	if (r == 0)
		r = toolchain_list_check(&copy.toolchains, &reading.ini);
	if (r == 0 && copy.check)
		r = check(&copy, path, ret_fault);
	if (r != 0) {
		config_done(&copy);
		return r;
	}
	config_done(config);
	*config = copy;
	return 0;
}

int config_find(struct config *config, const char *file, const char *folder,
		struct fault *ret_fault)
{
	_cleanup_free_ char *usual = NULL;
	int r;

	if (file) {
		r = config_read(config, file, ret_fault);
		return r != -ENOENT ? r
				    : fault_set(ret_fault, ERROR_invalid, "%s: no such file", file);
	}
	if (asprintf(&usual, "%s/trialsd.conf", folder) < 0)
		return -ENOMEM;
	r = config_read(config, usual, ret_fault);
	return r == -ENOENT ? 0 : r;
}

/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/config.h"
#include "fuzz.h"
#include "stage.h"

/*
 * trialsd.conf. What was accepted is written as a file again and must be read as the same; what
 * was refused must have changed nothing, and be told in one line that can be shown.
 */

static bool same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

/* Nine digits are written of a second. */
static bool same_time(bool has_a, double a, bool has_b, double b)
{
	return has_a == has_b && (!has_a || fabs(a - b) <= 1e-9 + a * 1e-12);
}

static bool same_number(bool has_a, uint64_t a, bool has_b, uint64_t b)
{
	return has_a == has_b && (!has_a || a == b);
}

#define SAME_(same, name) same(a->has.name, a->name, b->has.name, b->name)

static bool same_limits(const struct limits_spec *a, const struct limits_spec *b)
{
	return SAME_(same_time, wall_seconds) && SAME_(same_time, stall_seconds) &&
	       SAME_(same_number, memory) && SAME_(same_number, swap) &&
	       SAME_(same_number, tasks) && SAME_(same_number, cpu) && SAME_(same_number, tmp) &&
	       SAME_(same_number, home) && SAME_(same_number, output);
}

static bool same_toolchains(const struct toolchain_list *a, const struct toolchain_list *b)
{
	for (size_t i = 0; i < a->count && a->count == b->count; i++)
		if (strcmp(a->items[i].name, b->items[i].name) != 0 ||
		    !toolchain_equal(&a->items[i], &b->items[i]))
			return false;
	return a->count == b->count;
}

static bool same_words(const struct text_list *a, const struct text_list *b)
{
	for (size_t i = 0; i < a->count && a->count == b->count; i++)
		if (strcmp(a->items[i], b->items[i]) != 0)
			return false;
	return a->count == b->count;
}

static bool same_network(const struct config *a, const struct config *b)
{
	return a->network == b->network && a->host_network == b->host_network &&
	       same_words(&a->hosts, &b->hosts) && same_words(&a->internal, &b->internal) &&
	       same_time(true, a->idle_seconds, true, b->idle_seconds) &&
	       same_text(a->refusal, b->refusal);
}

static bool same(const struct config *a, const struct config *b)
{
	return a->max_running == b->max_running && a->backend == b->backend &&
	       same_text(a->bwrap, b->bwrap) && a->min_free == b->min_free &&
	       a->require_limits == b->require_limits && same_text(a->path, b->path) &&
	       same_limits(&a->limits, &b->limits) && same_network(a, b) &&
	       same_toolchains(&a->toolchains, &b->toolchains) &&
	       same_time(true, a->grace_seconds, true, b->grace_seconds);
}

static void print_number(FILE *file, const char *key, bool has, uint64_t number)
{
	if (has)
		fprintf(file, "%s = %llu\n", key, (unsigned long long)number);
	else
		fprintf(file, "%s = infinity\n", key);
}

static void print_time(FILE *file, const char *key, bool has, double seconds)
{
	if (has)
		fprintf(file, "%s=%.9fs\n", key, seconds);
	else
		fprintf(file, "%s=infinity\n", key);
}

static void print_words(FILE *file, const struct text_list *words)
{
	for (size_t i = 0; i < words->count; i++)
		fprintf(file, " %s ", words->items[i]);
}

static void print(FILE *file, const struct config *config)
{
	const struct limits_spec *limits = &config->limits;

	fprintf(file, "[Sandbox]\nPath=%s\n[Daemon]\n", config->path);
	fprintf(file, "MaxRunning=%u\nBackend=%s\nRequireLimits=%s\n", config->max_running,
		backend_name((int)config->backend), config->require_limits ? "yes" : "off");
	if (config->bwrap)
		fprintf(file, "Bwrap=%s\n", config->bwrap);
	print_number(file, "MinFree", true, config->min_free);
	fprintf(file,
		"[Network]\nDefault=%s\nHostNetwork=%s\nHosts=", network_name((int)config->network),
		config->host_network ? "1" : "0");
	print_words(file, &config->hosts);
	fprintf(file, "\nInternal=\t");
	print_words(file, &config->internal);
	fprintf(file, "\n");
	print_time(file, "IdleLimit", true, config->idle_seconds);
	if (config->refusal)
		fprintf(file, "Refusal=%s\n", config->refusal);
	fprintf(file, "\n# all of them\n[Limits]\n");
	print_time(file, "Wall", limits->has.wall_seconds, limits->wall_seconds);
	print_time(file, "Stall", limits->has.stall_seconds, limits->stall_seconds);
	print_number(file, "Memory", limits->has.memory, limits->memory);
	print_number(file, "Swap", limits->has.swap, limits->swap);
	print_number(file, "Tasks", limits->has.tasks, limits->tasks);
	print_number(file, "CPU", limits->has.cpu, limits->cpu);
	print_number(file, "Tmp", limits->has.tmp, limits->tmp);
	print_number(file, "Home", limits->has.home, limits->home);
	print_number(file, "Output", limits->has.output, limits->output);
	print_time(file, "Grace", true, config->grace_seconds);
	toolchain_list_print(&config->toolchains, file);
}

static void read_again(const struct config *config)
{
	struct fault fault = FAULT_INIT;
	struct config again;
	size_t size = 0;
	char *text = NULL;
	FILE *file = open_memstream(&text, &size);

	must(file);
	print(file, config);
	must(fclose(file) == 0);
	must(config_init(&again) == 0);
	/* A path may make the whole larger than a file may be. */
	if (size <= 65536)
		must(config_read(&again, stage_file(text, size), &fault) == 0 &&
		     same(config, &again));
	config_done(&again);
	free(text);
}

int fuzz_config(const uint8_t *data, size_t size)
{
	struct fault fault = FAULT_INIT;
	struct config before, config;
	const char *path = stage_file(data, size);
	int r;

	must(config_init(&before) == 0 && config_init(&config) == 0);
	r = config_read(&config, path, &fault);
	must(r == 0 || r == FAULT);
	if (r == 0) {
		must(!fault.message);
		read_again(&config);
	} else {
		must(same(&before, &config));
		must(strncmp(fault.message, path, strlen(path)) == 0);
		/* A value that is quoted may have a tab in it. */
		for (char *at = fault.message; (at = strchr(at, '\t'));)
			*at = ' ';
		must(stage_is_text(fault.message));
	}
	fault_done(&fault);
	config_done(&before);
	config_done(&config);
	return 0;
}

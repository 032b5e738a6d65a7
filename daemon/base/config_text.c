/* SPDX-License-Identifier: MIT */
#include "base/config_text.h"

#include <stdio.h>
#include <string.h>

/*
 * Every key has one line, always at the same place: one that has no value is a comment. Two texts
 * can therefore be compared line by line.
 */
struct sink {
	FILE *file;
	const char *section;
};

static void put(struct sink *sink, const char *section, const char *name, const char *value)
{
	if (!sink->section || strcmp(sink->section, section) != 0)
		fprintf(sink->file, "[%s]\n", section);
	sink->section = section;
	if (value)
		fprintf(sink->file, "%s=%s\n", name, value);
	else if (name)
		fprintf(sink->file, "#%s=\n", name);
}

static void put_number(struct sink *sink, const char *section, const char *name, uint64_t number)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
	put(sink, section, name, text);
}

static void put_limit(struct sink *sink, const char *name, bool has, uint64_t number)
{
	if (has)
		put_number(sink, "Limits", name, number);
	else
		put(sink, "Limits", name, "infinity");
}

static void put_percent(struct sink *sink, const char *name, bool has, uint64_t number)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu%%", (unsigned long long)number);
	put(sink, "Limits", name, has ? text : "infinity");
}

static void put_time(struct sink *sink, const char *section, const char *name, bool has,
		     double seconds)
{
	char text[64];

	snprintf(text, sizeof(text), "%.6f", seconds);
	put(sink, section, name, has ? text : "infinity");
}

static void put_words(struct sink *sink, const char *section, const char *name,
		      const struct text_list *words)
{
	put(sink, section, NULL, NULL);
	fprintf(sink->file, "%s%s=", words->count ? "" : "#", name);
	for (size_t i = 0; i < words->count; i++)
		fprintf(sink->file, "%s%s", i ? " " : "", words->items[i]);
	fputc('\n', sink->file);
}

/* All that has one line each, at the same place. */
static int format_keys(const struct config *config, char **ret_text)
{
	const struct limits_spec *limits = &config->limits;
	size_t size = 0;
	char *text = NULL;
	struct sink sink = {.file = open_memstream(&text, &size)};

	if (!sink.file)
		return -ENOMEM;
	put_number(&sink, "Daemon", "MaxRunning", config->max_running);
	put(&sink, "Daemon", "Backend", backend_name((int)config->backend));
	put(&sink, "Daemon", "Bwrap", config->bwrap);
	put_number(&sink, "Daemon", "MinFree", config->min_free);
	put(&sink, "Daemon", "RequireLimits", config->require_limits ? "yes" : "no");
	put_time(&sink, "Daemon", "SpareKeeper", true, config->spare_seconds);
	put(&sink, "Sandbox", "Path", config->path);
	put(&sink, "Harness", "Path", config->harness_path);
	put(&sink, "Network", "Default", network_name((int)config->network));
	put(&sink, "Network", "HostNetwork", config->host_network ? "yes" : "no");
	put_words(&sink, "Network", "Hosts", &config->hosts);
	put_words(&sink, "Network", "Internal", &config->internal);
	put_time(&sink, "Network", "IdleLimit", true, config->idle_seconds);
	put(&sink, "Network", "Refusal", config->refusal);
	put_time(&sink, "Limits", "Wall", limits->has.wall_seconds, limits->wall_seconds);
	put_time(&sink, "Limits", "Stall", limits->has.stall_seconds, limits->stall_seconds);
	put_limit(&sink, "Memory", limits->has.memory, limits->memory);
	put_limit(&sink, "Swap", limits->has.swap, limits->swap);
	put_limit(&sink, "Tasks", limits->has.tasks, limits->tasks);
	put_percent(&sink, "CPU", limits->has.cpu, limits->cpu);
	put_number(&sink, "Limits", "Tmp", limits->tmp);
	put_number(&sink, "Limits", "Home", limits->home);
	put_number(&sink, "Limits", "Output", limits->output);
	put_time(&sink, "Limits", "Grace", true, config->grace_seconds);
	if (fclose(sink.file) != 0) {
		free(text);
		return -ENOMEM;
	}
	*ret_text = text;
	return 0;
}

int config_format(const struct config *config, char **ret_text)
{
	_cleanup_free_ char *keys = NULL;
	size_t size = 0;
	char *text = NULL;
	FILE *file;
	int r = format_keys(config, &keys);

	if (r < 0)
		return r;
	file = open_memstream(&text, &size);
	if (!file)
		return -ENOMEM;
	fputs(keys, file);
	toolchain_list_print(&config->toolchains, file);
	if (fclose(file) != 0) {
		free(text);
		return -ENOMEM;
	}
	*ret_text = text;
	return 0;
}

/* Up to the value, and without the mark of a comment. */
static void note_key(FILE *file, const char *line, bool *restart)
{
	size_t length;

	line += *line == '#';
	length = strcspn(line, "=");
	fprintf(file, "%s%.*s", ftell(file) > 0 ? ", " : "", (int)length, line);
	*restart = *restart || strncmp(line, "Backend=", 8) == 0 || strncmp(line, "Bwrap=", 6) == 0;
}

/* Those of one list that the other has not, or not so; of both each is told once. */
static void note_toolchains(FILE *file, const struct toolchain_list *list,
			    const struct toolchain_list *other, bool both)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct toolchain *toolchain = &list->items[i];
		const struct toolchain *there = toolchain_list_find(other, toolchain->name);

		if (!there || (both && !toolchain_equal(toolchain, there)))
			fprintf(file, "%s[Toolchain %s]", ftell(file) > 0 ? ", " : "",
				toolchain->name);
	}
}

int config_differences(const struct config *a, const struct config *b, char **ret_names,
		       bool *ret_restart)
{
	_cleanup_free_ char *one = NULL, *other = NULL, *names = NULL;
	char *at, *rest_of_one, *rest_of_other;
	size_t size = 0;
	FILE *file;
	int r;

	r = format_keys(a, &one);
	if (r == 0)
		r = format_keys(b, &other);
	if (r < 0)
		return r;
	file = open_memstream(&names, &size);
	if (!file)
		return -ENOMEM;
	*ret_restart = false;
	rest_of_one = one;
	rest_of_other = other;
	while ((at = strsep(&rest_of_one, "\n")) && rest_of_other) {
		const char *beside = strsep(&rest_of_other, "\n");

		if (strcmp(at, beside) != 0)
			note_key(file, at, ret_restart);
	}
	note_toolchains(file, &a->toolchains, &b->toolchains, true);
	note_toolchains(file, &b->toolchains, &a->toolchains, false);
	if (fclose(file) != 0)
		return -ENOMEM;
	*ret_names = size ? steal(&names) : NULL;
	return 0;
}

/* SPDX-License-Identifier: MIT */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attend.h"
#include "command.h"
#include "exit_code.h"
#include "json.h"
#include "proto/protocol.h"

#define NEWER_MOST 5000
#define OTHERS_TOLD 8

/*
 * What a Trial changed, as a patch. The tree may be full of what makes git run programs, so git runs
 * in a sandbox of its own, a Grader's, which can write nothing and reach nothing. There, too, the
 * repository's settings are kept out: a new git folder in /tmp borrows its objects and no more, so
 * that no filter, textconv, external diff, fsmonitor or hook that the Trial wrote can shape what is
 * shown. The patch is for reading; nothing here applies it.
 */
static const char script[] =
	"set -e\n"
	"commit=$1\n"
	"format=$(git rev-parse --show-object-format)\n"
	"objects=$(git rev-parse --git-path objects)\n"
	"exclude=$(git rev-parse --git-path info/exclude)\n"
	"objects=$(cd \"$objects\" && pwd -P)\n"
	"unset GIT_CONFIG_COUNT\n"
	"export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null GIT_ATTR_NOSYSTEM=1\n"
	"git init -q --template= --object-format=\"$format\" /tmp/diff\n"
	"export GIT_DIR=/tmp/diff/.git GIT_WORK_TREE=\"$PWD\"\n"
	"mkdir -p $GIT_DIR/objects/info $GIT_DIR/info\n"
	"printf '%s\\n' \"$objects\" > $GIT_DIR/objects/info/alternates\n"
	"if [ -f \"$exclude\" ]; then cat \"$exclude\" > $GIT_DIR/info/exclude; fi\n"
	"if [ -z \"$commit\" ]; then commit=$(git hash-object -w -t tree /dev/null); fi\n"
	"git read-tree \"$commit\"\n"
	"git -c advice.addEmbeddedRepo=false -c core.safecrlf=false add --all .\n"
	"exec git --no-pager diff --cached --binary --full-index --no-color --no-ext-diff \\\n"
	"	--no-textconv \"$commit\"\n";

/* The launch; NULL with the exit code when there is nothing to compare. */
static json_t *launch_of(struct context *context, const json_t *trial, int *ret)
{
	long long id = (long long)json_whole(trial, "id", 0);
	const char *state = json_text(trial, "state");
	const char *commit = json_text(trial, "commit");
	json_t *repository = json_object_get(trial, "repository");
	char label[24], hint[64];

	if (!repository) {
		*ret = context_refuse(context, EXIT_REFUSED, NULL, "Trial %lld has no repository",
				      id);
		return NULL;
	}
	if (!state || strcmp(state, "ended") != 0) {
		snprintf(hint, sizeof(hint), "wait for it: trialctl wait %lld", id);
		*ret = context_refuse(context, EXIT_REFUSED, hint,
				      "Trial %lld has not run to an end", id);
		return NULL;
	}
	if (!json_object_get(trial, "started_at")) {
		char *outcome = json_display(json_object_get(trial, "outcome"));

		snprintf(hint, sizeof(hint), "why it did not: trialctl show %lld", id);
		*ret = context_refuse(context, EXIT_REFUSED, hint,
				      "Trial %lld ended (%s) without having run: it has changed "
				      "nothing",
				      id, outcome);
		free(outcome);
		return NULL;
	}
	snprintf(label, sizeof(label), "%lld", id);
	return need_memory(json_pack("{s:[s,s,s,s,s], s:s, s:O, s:s, s:{s:s}}", "command",
				     "/bin/sh", "-c", script, "diff", commit ? commit : "", "role",
				     "grader", "repository", repository, "repository_mode", "ro",
				     "labels", "diff-of", label));
}

/* A Trial that could write where the other did, and was there at or after its end. */
static bool wrote_since(const json_t *trial, const json_t *other)
{
	json_int_t ended = json_whole(trial, "ended_at", 0);
	const char *mode = json_text(other, "repository_mode");

	return json_object_get(other, "started_at") && mode && strcmp(mode, "rw") == 0 &&
	       json_equal(json_object_get(other, "repository"),
			  json_object_get(trial, "repository")) &&
	       json_whole(other, "ended_at", INT64_MAX) > ended;
}

/*
 * The patch is of what the tree holds now: that later Trials are in it is said. They are looked for among
 * those of higher ids, the newest NEWER_MOST of them, so that a diff of an old Trial stays quick.
 */
static int warn_of_others(struct context *context, const json_t *trial)
{
	json_int_t id = json_whole(trial, "id", 0), cursor = 0;
	char *names = NULL;
	size_t size = 0, seen = 0, found = 0;
	FILE *file = need_memory(open_memstream(&names, &size));
	int r;

	do {
		json_t *request = need_memory(json_object()), *reply, *other;
		size_t i;

		json_object_set_new(request, "limit", json_integer(LIST_PAGE_MAX));
		if (cursor)
			json_object_set_new(request, "before", json_integer(cursor));
		r = context_call(context, "list", request, &reply);
		if (r)
			break;
		cursor = json_whole(reply, "cursor", 0);
		json_array_foreach(json_object_get(reply, "trials"), i, other)
		{
			if (json_whole(other, "id", 0) <= id)
				cursor = 0;
			else if (wrote_since(trial, other) && found++ < OTHERS_TOLD)
				fprintf(file, "%s%lld", found > 1 ? ", " : "",
					(long long)json_whole(other, "id", 0));
			seen++;
		}
		json_decref(reply);
	} while (cursor && seen < NEWER_MOST);
	fclose(file);
	need_memory(names);
	if (found > 0)
		context_warn(context,
			     "%s %s%s could write to this repository after Trial %lld: the patch "
			     "has their work too",
			     found > 1 ? "Trials" : "Trial", names,
			     found > OTHERS_TOLD ? " and older ones" : "", (long long)id);
	free(names);
	return r;
}

static int run(struct context *context, const struct arguments *arguments)
{
	struct spec spec = {.verb = "launch", .prompt_fd = -1};
	struct trials_error error;
	json_t *trial;
	uint64_t id;
	int r;

	r = parse_trial_id(arguments->operands[0], &id, &error);
	if (r < 0)
		return context_fail(context, r, &error);
	r = context_call(context, "show", id_arguments(id), &trial);
	if (r)
		return r;
	spec.launch = launch_of(context, trial, &r);
	if (spec.launch)
		r = warn_of_others(context, trial);
	json_decref(trial);
	if (!spec.launch || r) {
		json_decref(spec.launch);
		return r;
	}
	signal(SIGPIPE, SIG_IGN);
	r = attend(context, &spec, true);
	json_decref(spec.launch);
	return r;
}

const struct command command_diff = {
	.name = "diff",
	.summary = "what a Trial's repository holds now against its commit then, as a patch",
	.synopsis = "ID",
	.operands = OPERANDS_ID,
	.run = run,
};

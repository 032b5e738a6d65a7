/* SPDX-License-Identifier: MIT */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attend.h"
#include "command.h"
#include "exit_code.h"
#include "json.h"

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
	json_decref(trial);
	if (!spec.launch)
		return r;
	signal(SIGPIPE, SIG_IGN);
	r = attend(context, &spec, true);
	json_decref(spec.launch);
	return r;
}

const struct command command_diff = {
	.name = "diff",
	.summary = "what a Trial changed in its repository, as a patch",
	.synopsis = "ID",
	.operands = OPERANDS_ID,
	.run = run,
};

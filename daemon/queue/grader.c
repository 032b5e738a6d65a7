/* SPDX-License-Identifier: MIT */
#include "queue/grader.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "queue/repository_places.h"

/* --- What there is to judge ----------------------------------------------------------------------- */

void judged_done(struct judged *judged)
{
	free(judged->repository);
	free(judged->asked);
	free(judged->git);
	free(judged->folder);
	*judged = (struct judged){0};
}

int judged_not_found(uint64_t id, struct fault *ret_fault)
{
	fault_set(ret_fault, ERROR_not_found, "of: no Trial has the id %llu",
		  (unsigned long long)id);
	return fault_hint(ret_fault, "trialctl list");
}

static bool has_result(enum outcome outcome)
{
	switch (outcome) {
	case OUTCOME_delivered:
	case OUTCOME_failed:
	case OUTCOME_timed_out:
	case OUTCOME_stalled:
	case OUTCOME_out_of_memory:
		return true;
	default:
		return false;
	}
}

static int refuse(struct fault *fault, uint64_t id, const char *format, ...) _printf_(3, 4);

static int refuse(struct fault *fault, uint64_t id, const char *format, ...)
{
	_cleanup_free_ char *text = NULL;
	va_list arguments;

	va_start(arguments, format);
	text = text_vformat(format, arguments);
	va_end(arguments);
	if (!text)
		return -ENOMEM;
	fault_set(fault, ERROR_refused, "of: Trial %llu %s", (unsigned long long)id, text);
	return fault_hint(fault, "trialctl show %llu", (unsigned long long)id);
}

static int take_view(const struct trial_view *trial, const struct launch_request *spec,
		     struct judged *judged, bool *ret_ended, struct fault *fault)
{
	if (trial->role == ROLE_grader)
		return refuse(fault, trial->id, "is a Grader itself, and leaves no result");
	*ret_ended = trial->state == STATE_ended;
	if (*ret_ended && !has_result(trial->outcome))
		return refuse(fault, trial->id, "has no result: it ended %s%s%s",
			      outcome_name((int)trial->outcome), trial->message ? ": " : "",
			      trial->message ?: "");
	judged->id = trial->id;
	for (size_t i = 0; i < trial->logs.count; i++)
		if (trial->logs.items[i].stream <= STREAM_stderr)
			judged->bytes[trial->logs.items[i].stream] = trial->logs.items[i].bytes;
	if (trial->repository && !(judged->repository = strdup(trial->repository)))
		return -ENOMEM;
	if (spec->repository && !(judged->asked = strdup(spec->repository)))
		return -ENOMEM;
	return 0;
}

/* Which folder it had, and what else of git's is its result. */
static int take_folder(const struct ledger_row *row, struct judged *judged)
{
	struct message *message = NULL;
	struct trial_facts facts;
	bool failed = false;

	if (!judged->repository)
		return 0;
	if (view_decode(&row->facts, &message, &trial_facts_type, &facts) && facts.folder)
		failed = !(judged->folder = strdup(facts.folder));
	message_free(message);
	return failed ? -ENOMEM : repository_git_folder(judged->repository, &judged->git);
}

int judged_take(Queue *queue, const struct ledger_row *row, struct judged *ret_judged,
		bool *ret_ended, struct fault *ret_fault)
{
	struct launch_request spec;
	struct message *message = NULL;
	struct view view;
	int r;

	*ret_judged = (struct judged){0};
	if (!view_decode(&row->spec, &message, &launch_request_type, &spec))
		return refuse(ret_fault, row->id,
			      "cannot be read: its row in the ledger is damaged");
	r = view_make(&view, row, queue_trials_folder(queue), false);
	if (r == 0)
		r = take_view(&view.trial, &spec, ret_judged, ret_ended, ret_fault);
	if (r == 0)
		r = take_folder(row, ret_judged);
	view_done(&view);
	message_free(message);
	if (r != 0)
		judged_done(ret_judged);
	return r;
}

/* --- Waiting -------------------------------------------------------------------------------------- */

bool grader_must_wait(Queue *queue, uint64_t of)
{
	return of != 0 && queue_find(queue, of) != NULL;
}

bool grader_take(struct trial *trial)
{
	struct trial *judged = trial->of ? queue_find(trial->queue, trial->of) : NULL;

	if (!judged)
		return true;
	trial->awaited = judged;
	LIST_INSERT_HEAD(&judged->graders, trial, grader_link);
	return false;
}

void grader_leave(struct trial *trial)
{
	if (!trial->awaited)
		return;
	trial->awaited = NULL;
	LIST_REMOVE(trial, grader_link);
}

void grader_call(struct trial *judged)
{
	struct trial *trial;

	while ((trial = LIST_FIRST(&judged->graders))) {
		grader_leave(trial);
		sched_add(trial->queue, trial);
	}
}

const char *grader_waits_for(const struct trial *trial, char *buffer, size_t size)
{
	if (!trial->awaited)
		return NULL;
	snprintf(buffer, size, "Trial %llu, whose result it judges, to end",
		 (unsigned long long)trial->of);
	return buffer;
}

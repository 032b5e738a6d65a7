/* SPDX-License-Identifier: MIT */
#include "outcome.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "init/control.h"

static void say(struct outcome_decision *decision, const char *format, ...) _printf_(2, 3);

static void say(struct outcome_decision *decision, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(decision->message, sizeof(decision->message), format, arguments);
	va_end(arguments);
}

static void decide_void(struct outcome_decision *decision, enum cause cause)
{
	decision->outcome = OUTCOME_void;
	decision->has_cause = true;
	decision->cause = cause;
	decision->ended_by = ENDER_keeper;
}

/* Where something is missing, or goes wrong. */
static const char *inside(const struct outcome_facts *facts)
{
	return facts->bare ? "" : " inside the sandbox";
}

static void decide_exec_failed(const struct outcome_facts *facts, struct outcome_decision *decision)
{
	int error = (int)facts->error;

	decide_void(decision, CAUSE_session_unavailable);
	decision->exit_code = 126;
	if (facts->step == CONTROL_STEP_INTERPRETER) {
		say(decision, "the interpreter that this file names is not %s: %s",
		    facts->bare ? "there" : "inside the sandbox", facts->command);
		decision->hint = facts->bare ? "install what its #! line (or its ELF header) names"
					     : "bind what its #! line (or its ELF header) names";
	} else if (error == ENOENT || error == ENOTDIR) {
		decision->exit_code = 127;
		say(decision, "command not found%s: %s", inside(facts), facts->command);
		decision->hint =
			strpbrk(facts->command, " \t\n")
				? "all of it was taken as the program's name: give its arguments as "
				  "words of their own, or have a shell take it apart: sh -c '...'"
			: facts->bare
				? "a path starts at the working directory or at /, a name is "
				  "searched for in PATH"
				: "a path is taken as it is inside the sandbox, a name is searched "
				  "for in PATH";
	} else {
		say(decision, "cannot be executed%s: %s: %s", inside(facts), facts->command,
		    strerror(error));
		if (error == ENOEXEC)
			decision->hint =
				"it is no program for this machine, or a script without a #! line";
	}
}

static void decide_not_started(const struct outcome_facts *facts, struct outcome_decision *decision)
{
	static const char *const steps[] = {
		[CONTROL_STEP_LAUNCH] = "reading what to start",
		[CONTROL_STEP_FORK] = "starting a process",
		[CONTROL_STEP_STDIO] = "connecting its standard input and output",
		[CONTROL_STEP_LIMITS] = "limiting core dumps",
	};
	const char *step = NULL;

	switch (facts->step) {
	case CONTROL_STEP_EXEC:
	case CONTROL_STEP_INTERPRETER:
		decide_exec_failed(facts, decision);
		break;
	case CONTROL_STEP_CWD:
		decide_void(decision, CAUSE_session_unavailable);
		say(decision, "the working directory cannot be used%s: %s: %s", inside(facts),
		    facts->cwd, strerror((int)facts->error));
		break;
	default:
		decide_void(decision, CAUSE_sandbox_unavailable);
		if (facts->step < ARRAY_SIZE(steps))
			step = steps[facts->step];
		say(decision, "%s%s failed: %s", facts->bare ? "" : "inside the sandbox, ",
		    step ? step : "the start", strerror((int)facts->error));
		break;
	}
}

/* Whether what ended was ended by SIGKILL while the payload's memory limit was killing. */
static bool killed_for_memory(const struct outcome_facts *facts)
{
	if (facts->oom_kills == 0)
		return false;
	if (facts->exited)
		return WIFSIGNALED(facts->status) && WTERMSIG(facts->status) == SIGKILL;
	return facts->init_gone || facts->bwrap_signal == SIGKILL;
}

static void decide_gone(const struct outcome_facts *facts, struct outcome_decision *decision)
{
	decision->outcome = OUTCOME_failed;
	if (facts->bwrap_gone) {
		decision->ended_by = ENDER_outside;
		if (facts->bwrap_signal)
			say(decision, "bubblewrap was ended from outside by signal %d",
			    facts->bwrap_signal);
		else
			say(decision, "bubblewrap ended before what it contained");
		return;
	}
	/* Nothing but the Trial's own processes can have done that while the keeper lives. */
	decision->ended_by = ENDER_agent;
	say(decision, "pid 1 of the sandbox ended without a report: the Trial brought it down");
}

static void decide_by_itself(const struct outcome_facts *facts, struct outcome_decision *decision)
{
	if (killed_for_memory(facts)) {
		decision->outcome = OUTCOME_out_of_memory;
		decision->ended_by = ENDER_memory_limit;
		say(decision, "the main process was killed for the Trial's memory limit");
		return;
	}
	if (facts->bwrap_gone || !facts->exited) {
		decide_gone(facts, decision);
		return;
	}
	decision->ended_by = ENDER_agent;
	if (!WIFEXITED(facts->status) || WEXITSTATUS(facts->status) != 0) {
		decision->outcome = OUTCOME_failed;
	} else if (facts->no_verdict) {
		decide_void(decision, CAUSE_no_verdict);
		decision->ended_by = ENDER_agent;
		say(decision, "it gave no verdict: %s", facts->no_verdict);
	} else {
		decision->outcome = OUTCOME_delivered;
	}
}

static void decide_ordered(const struct outcome_facts *facts, struct outcome_decision *decision)
{
	decision->ended_by = outcome_ender(facts->order);
	switch (facts->order) {
	case END_CANCEL:
		decision->outcome = OUTCOME_canceled;
		break;
	case END_WALL_LIMIT:
		decision->outcome = OUTCOME_timed_out;
		break;
	case END_STALL_LIMIT:
		decision->outcome = OUTCOME_stalled;
		say(decision,
		    "nothing happened for %.1f s: no output, %.3f s of processor time (less than %.0f%% of one processor), no bytes through the proxy",
		    facts->inactivity.seconds, facts->inactivity.cpu_seconds,
		    ACTIVITY_CPU_SHARE * 100);
		break;
	default:
		decision->outcome = OUTCOME_interrupted;
		say(decision,
		    "the Trial's keeper was told to end from outside: the session or the host is going down");
		break;
	}
}

enum ender outcome_ender(enum end_order order)
{
	static const enum ender enders[] = {
		[END_NOT_ORDERED] = ENDER_agent,     [END_CANCEL] = ENDER_client,
		[END_WALL_LIMIT] = ENDER_wall_limit, [END_STALL_LIMIT] = ENDER_stall_limit,
		[END_OUTSIDE] = ENDER_outside,
	};

	return enders[order];
}

void outcome_decide(const struct outcome_facts *facts, struct outcome_decision *ret)
{
	*ret = (struct outcome_decision){.exit_code = -1, .exit_signal = -1};

	if (facts->exited && WIFEXITED(facts->status))
		ret->exit_code = WEXITSTATUS(facts->status);
	else if (facts->exited && WIFSIGNALED(facts->status))
		ret->exit_signal = WTERMSIG(facts->status);

	if (facts->order != END_NOT_ORDERED) {
		decide_ordered(facts, ret);
	} else if (facts->fault) {
		decide_void(ret, facts->fault->cause);
		if (facts->fault->message)
			say(ret, "%s", facts->fault->message);
		ret->hint = facts->fault->hint;
	} else if (facts->not_started) {
		decide_not_started(facts, ret);
	} else if (!facts->started) {
		decide_void(ret, CAUSE_sandbox_unavailable);
		say(ret, facts->oom_kills
				 ? "the memory limit is too small for the sandbox itself"
				 : "the sandbox ended before the main process was started");
	} else {
		decide_by_itself(facts, ret);
	}
}

enum end_order outcome_order(enum ender ender)
{
	for (int order = END_CANCEL; order <= END_OUTSIDE; order++)
		if (outcome_ender((enum end_order)order) == ender)
			return (enum end_order)order;
	return END_NOT_ORDERED;
}

static enum outcome ordered_outcome(enum end_order order)
{
	static const enum outcome outcomes[] = {
		[END_NOT_ORDERED] = OUTCOME_lost,     [END_CANCEL] = OUTCOME_canceled,
		[END_WALL_LIMIT] = OUTCOME_timed_out, [END_STALL_LIMIT] = OUTCOME_stalled,
		[END_OUTSIDE] = OUTCOME_interrupted,
	};

	return outcomes[order];
}

void outcome_decide_unseen(const struct unseen_facts *facts, struct outcome_decision *ret)
{
	const char *gone = facts->silent ? "the Trial's keeper did not answer and was ended"
					 : "the Trial's keeper is gone and left no record: it was "
					   "killed from outside";

	*ret = (struct outcome_decision){
		.exit_code = -1,
		.exit_signal = -1,
		.outcome = ordered_outcome(facts->order),
		.ended_by = facts->order == END_NOT_ORDERED ? ENDER_outside
							    : outcome_ender(facts->order),
	};
	if (facts->order != END_NOT_ORDERED) {
		say(ret, "%s; the end had been ordered before", gone);
	} else if (facts->oom_kills > 0) {
		ret->outcome = OUTCOME_out_of_memory;
		ret->ended_by = ENDER_memory_limit;
		say(ret, "%s; %llu processes had been killed for the Trial's memory limit", gone,
		    (unsigned long long)facts->oom_kills);
	} else if (facts->task_limit_hits > 0) {
		ret->outcome = OUTCOME_out_of_memory;
		say(ret, "%s; the Trial's task limit had been hit %llu times", gone,
		    (unsigned long long)facts->task_limit_hits);
	} else {
		say(ret, "%s", gone);
	}
}

void outcome_fill(const struct outcome_decision *decision, struct outcome_record *record)
{
	record->has.outcome = true;
	record->outcome = decision->outcome;
	record->has.cause = decision->has_cause;
	record->cause = decision->cause;
	record->has.ended_by = true;
	record->ended_by = decision->ended_by;
	record->has.message = decision->message[0] != '\0';
	record->message = record->has.message ? decision->message : NULL;
	record->has.hint = decision->hint != NULL;
	record->hint = decision->hint;
	record->has.exit_code = decision->exit_code >= 0;
	record->exit_code = record->has.exit_code ? (uint64_t)decision->exit_code : 0;
	record->has.exit_signal = decision->exit_signal >= 0;
	record->exit_signal = record->has.exit_signal ? (uint64_t)decision->exit_signal : 0;
}

/* SPDX-License-Identifier: MIT */

/*
 * A Trial's life, and the only writer of its state.
 *
 * Memory decides (there is one loop, so there are no races between its own deciders) and the
 * ledger follows, in order: each change is a compare-and-swap there too, from any state that may
 * legally come before, so that a change lost to a full disk does not block those after it. Two
 * changes must not be lost and are tried again until they are durable: an end, whose record stays
 * here and in the Trial's folder until then, and the claim, which simply puts the Trial back.
 *
 * Nobody is told of a change before it is durable.
 *
 * A keeper outlives its trialsd. Leaving, what runs is let go of; starting, each Trial that the
 * ledger has unended is recovered: its keeper, if it still holds the Trial's folder, is found and
 * taken up; else its record, if there is one, is the end; else it was lost, or had not begun.
 */
#include "queue/login.h"
#include "queue/look.h"
#include "queue/repository.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/fault_point.h"
#include "base/now.h"
#include "base/log.h"
#include "keeper/record.h"

#define CHANGE_RETRY_MILLISECONDS 1000

#define TO(state) (1u << STATE_##state)

/* Row: from; bits: where it may go. */
static const unsigned int transitions[STATE_COUNT] = {
	[STATE_queued] = TO(held) | TO(leasing) | TO(starting) | TO(ended),
	/* In memory it is queued; a ledger may have it so. */
	[STATE_held] = TO(queued) | TO(starting) | TO(ended),
	[STATE_leasing] = TO(queued) | TO(starting) | TO(ended),
	[STATE_starting] = TO(starting) | TO(queued) | TO(running) | TO(ending) | TO(ended),
	[STATE_running] = TO(ending) | TO(ended),
	[STATE_ending] = TO(ended),
	[STATE_ended] = 0,
};

/* One change on its way through the ledger. */
struct transition {
	struct ledger_call call;
	struct trial *trial;
	enum state before;
	enum state to;
};

static void trial_claimed(struct trial *trial, const struct ledger_row *row);
static void trial_over(struct trial *trial);

static unsigned int states_before(enum state to)
{
	unsigned int mask = 0;

	for (int from = 0; from < STATE_COUNT; from++)
		if (transitions[from] & (1u << to))
			mask |= 1u << from;
	/* A change to `running` that was lost leaves `starting` behind; both lead on. */
	return mask;
}

void queue_notify(Queue *queue, const struct ledger_call *call, int before)
{
	const struct queue_change change = {
		.row = call->row,
		.before = before,
		.number = call->number,
		.at = call->at,
	};
	struct queue_watch *watch, *next;

	for (watch = TAILQ_FIRST(&queue->watches); watch; watch = next) {
		next = TAILQ_NEXT(watch, link);
		watch->changed(watch, &change);
	}
}

/* Back to its place: nothing of it has been started. */
static void trial_unclaim(struct trial *trial)
{
	trial->state = STATE_queued;
	trial_release_slot(trial);
	trial_work_free(trial);
	if (trial->listed)
		sched_add(trial->queue, trial);
	queue_check_stopped(trial->queue);
}

/* The one writer. */

static void on_change_retry(uv_timer_t *timer)
{
	struct trial_work *work = timer->data;

	trial_end_recorded(work->trial);
}

/* Its end is known: it is recorded now, or waits for its login, whatever the state is until then. */
static bool has_end(const struct trial *trial)
{
	return trial->work && trial->work->outcome >= 0;
}

static void transition_failed(struct transition *transition)
{
	_cleanup_fault_ struct fault fault = FAULT_INIT;
	struct trial *trial = transition->trial;

	ledger_fault(trial->queue->ledger, transition->call.result, &fault);
	log_write(LOG_LEVEL_ERROR, LOG_ID_LEDGER_FAILED, trial->id,
		  "change from %s to %s not recorded: %s", state_name(transition->before),
		  state_name(transition->to),
		  fault.message ? fault.message : strerror(-transition->call.result));
	sched_pause(trial->queue, SCHED_STORAGE);
	if (transition->to == STATE_ended) {
		uv_timer_start(&trial->work->timer, on_change_retry, CHANGE_RETRY_MILLISECONDS, 0);
	} else if (has_end(trial)) {
		return; /* it is over, and that is recorded once its login is dealt with */
	} else if ((transition->to == STATE_starting && trial->state == STATE_starting) ||
		   (transition->to == STATE_queued && trial->state == STATE_queued)) {
		/* Nothing was started: it goes back to its place. The ledger may go on saying
		 * `starting`, from which the next claim, with its own uuid, leads on. */
		trial_unclaim(trial);
	}
}

/* What a durable change leads to. False: the Trial is gone. */
static bool transition_reached(struct trial *trial, const struct ledger_row *row)
{
	Queue *queue = trial->queue;

	switch (row->state) {
	case STATE_starting:
		FAULT_POINT(launch_claimed);
		trial_claimed(trial, row);
		return true;
	case STATE_queued:
		if (trial->state != STATE_queued || has_end(trial))
			return true; /* ended meanwhile, or about to */
		trial_release_slot(trial);
		trial_work_free(trial);
		sched_add(queue, trial);
		queue_check_stopped(queue);
		sched_kick(queue);
		return true;
	case STATE_ended:
		FAULT_POINT(finish_committed);
		trial_over(trial);
		return false;
	case STATE_running:
		FAULT_POINT(launch_recorded);
		return true;
	default:
		FAULT_POINT(finish_ending);
		return true;
	}
}

static void on_transition(struct ledger_call *call)
{
	struct transition *transition = container_of(call, struct transition, call);
	struct trial *trial = transition->trial;
	Queue *queue = trial->queue;
	enum state before;
	bool there = true;

	trial->changes--;
	if (!trial->listed) {
		/* Its launch was not accepted, or is not yet and then waits for its turn. */
		trial_unclaim(trial);
		if (trial->refused)
			trial_forget(trial);
		sched_kick(queue);
		free(transition);
		queue_call_ended(queue);
		return;
	}
	if (call->result == -ESTALE && call->row && call->row->state == STATE_ended)
		call->result = 0; /* ended already: an earlier try was durable after all */
	if (call->result < 0) {
		transition_failed(transition);
	} else {
		/* Not transition->before: that change may have been lost. */
		before = trial->recorded;
		trial->recorded = transition->to;
		if (transition->to == STATE_ended)
			login_end_kept(trial);
		queue_notify(queue, call, before);
		there = transition_reached(trial, call->row);
	}
	if (there && queue->leaving)
		trial_leave(trial);
	free(transition);
	queue_call_ended(queue);
}

static int trial_set_state(struct trial *trial, enum state to, const struct ledger_change *change)
{
	struct transition *transition;

	if (!(transitions[trial->state] & (1u << to))) {
		log_write(LOG_LEVEL_ERROR, LOG_ID_TRIAL_STATE, trial->id, "illegal change %s to %s",
			  state_name(trial->state), state_name(to));
		return -EINVAL;
	}
	transition = calloc(1, sizeof(*transition));
	if (!transition)
		return -ENOMEM;
	log_write(LOG_LEVEL_DEBUG, LOG_ID_TRIAL_STATE, trial->id, "%s -> %s",
		  state_name(trial->state), state_name(to));
	transition->trial = trial;
	transition->before = trial->state;
	transition->to = to;
	transition->call.done = on_transition;
	trial->state = to;
	trial->changes++;
	queue_call_begun(trial->queue);
	ledger_change(trial->queue->ledger, &transition->call, trial->id, states_before(to),
		      change);
	return 0;
}

/*
 * Nothing of it has run: it gets its turn again, and another uuid, since the name of a scope or a
 * keeper's socket may still be taken by the attempt that was given up.
 */
void trial_requeue(struct trial *trial)
{
	struct ledger_change back = LEDGER_CHANGE(STATE_queued);
	char uuid[SD_ID128_UUID_STRING_MAX];

	if (sd_id128_randomize(&trial->uuid) >= 0)
		back.uuid = sd_id128_to_uuid_string(trial->uuid, uuid);
	trial_set_state(trial, STATE_queued, &back);
}

/* From claim to launch. */

static struct blob sbuffer_blob(const msgpack_sbuffer *buffer)
{
	return (struct blob){.data = (const uint8_t *)buffer->data, .size = buffer->size};
}

/* For the launch that may come next. */
static void trial_keep_spare(Queue *queue, bool soon)
{
	if (!queue->stopping)
		launcher_keep_spare(queue->launcher, queue->host->config->spare_seconds, soon);
}

static void trial_tell_group(struct trial *trial)
{
	char group[4096];

	if (trial->login)
		login_running(trial, launch_group(trial->work->launch, group, sizeof(group)) == 0
					     ? group
					     : NULL);
}

static void on_running(void *context, uint64_t started_at, uint64_t pid)
{
	struct trial *trial = context;
	struct ledger_change change = LEDGER_CHANGE(STATE_running);

	FAULT_POINT(launch_running);
	(void)pid;
	trial_keep_spare(trial->queue, false);
	start_done(trial->work);
	trial_tell_group(trial);
	trial->work->started_at = started_at;
	if (trial->state != STATE_starting)
		return;
	change.started_at = started_at;
	change.plan_digest = trial->work->plan_digest[0] ? trial->work->plan_digest : NULL;
	change.facts = sbuffer_blob(&trial->work->facts);
	change.patient = true;
	trial_set_state(trial, STATE_running, &change);
}

static void on_ending(void *context)
{
	struct trial *trial = context;
	struct ledger_change change = LEDGER_CHANGE(STATE_ending);

	change.patient = true;
	if (trial->state == STATE_running)
		trial_set_state(trial, STATE_ending, &change);
}

static void on_stuck(void *context)
{
	struct trial *trial = context;

	trial->stuck = true;
	log_write(LOG_LEVEL_WARNING, LOG_ID_TRIAL_STUCK, trial->id,
		  "its end is overdue: the kernel does not let go of one of its processes; its "
		  "slot and its leases are held until it does");
}

void trial_ended(void *context, const struct outcome_record *record)
{
	struct trial *trial = context;
	struct trial_work *work = trial->work;
	struct outcome_record guarded;
	msgpack_sbuffer buffer;

	FAULT_POINT(finish_record);
	if (work->outcome >= 0)
		return; /* its end is known, and waits for its login */
	if (work->guarded && record->outcome == OUTCOME_canceled) {
		/* Not a client's wish, and not the agent's end. */
		guarded = *record;
		guarded.outcome = OUTCOME_interrupted;
		guarded.ended_by = ENDER_daemon;
		guarded.message = work->guarded;
		guarded.has.ended_by = guarded.has.message = true;
		record = &guarded;
	}
	work->outcome = record->outcome;
	work->ended_at = record->ended_at;
	if (record->has.started_at)
		work->started_at = record->started_at;
	if (view_encode(&buffer, &outcome_record_type, record) == 0) {
		msgpack_sbuffer_destroy(&work->record);
		work->record = buffer;
	}
	if (!login_finish(trial, record))
		trial_end_recorded(trial);
}

/*
 * Something that passes is used up: its turn comes again, after a while. Or the keeper that waited
 * for it was gone: it comes at once, and with a keeper of its own.
 */
static void on_not_started(void *context, int error)
{
	struct trial *trial = context;

	if (trial->cancel) {
		trial_end_with(trial, OUTCOME_canceled, ENDER_client,
			       "canceled before it was started");
		return;
	}
	trial->fresh = true;
	if (error) {
		log_write(LOG_LEVEL_WARNING, LOG_ID_LEDGER_FAILED, trial->id,
			  "not started, and queued again: %s", strerror(-error));
		sched_pause(trial->queue, "something this user has used up to come back");
	}
	trial_requeue(trial);
}

const struct launch_watch trial_launch_watch = {
	.not_started = on_not_started,
	.running = on_running,
	.ending = on_ending,
	.stuck = on_stuck,
	.ended = trial_ended,
};

/* Puts everything known into the ledger; also the retry, when the last try failed. */
void trial_end_recorded(struct trial *trial)
{
	struct trial_work *work = trial->work;
	struct ledger_change change = LEDGER_CHANGE(STATE_ended);

	if (trial->state == STATE_ended)
		trial->state = STATE_ending; /* the retry */
	change.outcome = work->outcome;
	change.started_at = work->started_at;
	change.ended_at = work->ended_at;
	change.canceled_by = work->outcome == OUTCOME_canceled ? work->canceled_by : NULL;
	change.plan_digest = work->plan_digest[0] ? work->plan_digest : NULL;
	change.facts = sbuffer_blob(&work->facts);
	change.record = sbuffer_blob(&work->record);
	if (trial_set_state(trial, STATE_ended, &change) < 0) {
		trial->state = STATE_ended;
		uv_timer_start(&work->timer, on_change_retry, CHANGE_RETRY_MILLISECONDS, 0);
	}
}

void trial_end_with(struct trial *trial, enum outcome outcome, enum ender by, const char *message)
{
	struct outcome_record record = {
		.has = {.outcome = true, .ended_by = true, .ended_at = true, .message = true},
		.outcome = outcome,
		.ended_by = by,
		.ended_at = now_microseconds(),
		.message = message,
	};

	trial_ended(trial, &record);
}

static void trial_over(struct trial *trial)
{
	Queue *queue = trial->queue;

	log_write(LOG_LEVEL_INFO, LOG_ID_TRIAL_ENDED, trial->id, "%s",
		  outcome_name(trial->work->outcome) ?: "ended");
	trial_forget(trial);
	trial_keep_spare(queue, true);
	queue_check_stopped(queue);
	sched_kick(queue);
}

char *trial_unit(const struct trial *trial, char unit[TRIAL_UNIT_BYTES])
{
	char uuid[SD_ID128_UUID_STRING_MAX];

	snprintf(unit, TRIAL_UNIT_BYTES, LAUNCH_UNIT, sd_id128_to_uuid_string(trial->uuid, uuid));
	return unit;
}

/* The attempt is then the spare's, uuid and all. */
static void trial_take_spare(struct trial *trial)
{
	Launch *spare = trial->fresh ? NULL : launcher_take_spare(trial->queue->launcher);

	trial->work->spare = spare;
	if (spare)
		sd_id128_from_string(launch_uuid(spare), &trial->uuid);
}

int trial_start(struct trial *trial)
{
	struct ledger_change change = LEDGER_CHANGE(STATE_starting);
	Queue *queue = trial->queue;
	char unit[TRIAL_UNIT_BYTES], uuid[SD_ID128_UUID_STRING_MAX];

	if (trial_work_new(trial) == 0)
		trial_take_spare(trial);
	change.backend = launcher_backend(queue->launcher);
	change.boot_id = queue->boot_id;
	change.uuid = sd_id128_to_uuid_string(trial->uuid, uuid);
	if (change.backend == BACKEND_systemd)
		change.unit = trial_unit(trial, unit);
	if (trial->work && trial_set_state(trial, STATE_starting, &change) == 0) {
		/* What is done before it is accepted would have to be undone. */
		if (trial->listed)
			login_prepare(trial);
		return 0;
	}
	trial_unclaim(trial);
	return -ENOMEM;
}

void trial_refuse(struct trial *trial)
{
	trial->refused = true;
	if (trial->changes == 0)
		trial_forget(trial);
}

/* What stood in the way of a start is the Trial's outcome: void, with the fault's words. */
static void trial_end_by_fault(struct trial *trial, const struct fault *fault)
{
	struct outcome_record record = {
		.has = {.outcome = true,
			.cause = true,
			.ended_by = true,
			.ended_at = true,
			.message = true,
			.hint = fault->hint != NULL},
		.outcome = OUTCOME_void,
		.cause = fault->cause,
		.ended_by = ENDER_daemon,
		.ended_at = now_microseconds(),
		.message = fault->message,
		.hint = fault->hint,
	};

	trial_ended(trial, &record);
}

static void trial_claimed(struct trial *trial, const struct ledger_row *row)
{
	_cleanup_fault_ struct fault fault = FAULT_INIT;
	char unit[TRIAL_UNIT_BYTES];
	int r;

	if (trial->state != STATE_starting || has_end(trial))
		return; /* ended meanwhile, or about to */
	if (trial->cancel) {
		trial_end_with(trial, OUTCOME_canceled, ENDER_client,
			       "canceled before it was started");
		return;
	}
	if (trial->queue->stopping) {
		trial_requeue(trial);
		return;
	}
	r = start_launch(trial, row, trial_unit(trial, unit), &trial_launch_watch, &fault);
	if (r == -EINPROGRESS) {
		look_await(trial);
		login_await(trial);
		return;
	}
	/* Its login has changed since it was taken. */
	if (r == -EAGAIN) {
		trial_give_up(trial, 0);
		return;
	}
	if (r < 0)
		fault_void(&fault, CAUSE_sandbox_unavailable, "it could not be started: %s",
			   strerror(-r));
	if (r)
		trial_end_by_fault(trial, &fault);
}

void trial_go_on(struct trial *trial, const struct ledger_row *row)
{
	if (trial->state == STATE_starting && trial->work && !trial->work->launch)
		trial_claimed(trial, row);
}

void trial_give_up(struct trial *trial, int error)
{
	if (trial->state == STATE_starting && trial->work && !trial->work->launch &&
	    trial->work->outcome < 0)
		on_not_started(trial, error);
}

/* Ends that are ordered. */

void trial_cancel(struct trial *trial, double grace_seconds, const char *by)
{
	struct ledger_change change = LEDGER_CHANGE(STATE_ending);

	if (!trial->work && trial_work_new(trial) < 0)
		return;
	if (!trial->work->canceled_by)
		trial->work->canceled_by = strdup(by);
	trial->cancel = true;
	switch (trial->state) {
	case STATE_queued:
	case STATE_held:
		sched_remove(trial->queue, trial);
		trial_end_with(trial, OUTCOME_canceled, ENDER_client, "canceled before its turn");
		break;
	case STATE_starting:
		if (trial->work->launch)
			launch_cancel(trial->work->launch, grace_seconds);
		else if (trial->work->recovering)
			trial->work->grace_seconds = grace_seconds; /* its keeper may be there */
		else
			trial_end_with(trial, OUTCOME_canceled, ENDER_client,
				       "canceled before it was started");
		break;
	case STATE_running:
		change.canceled_by = trial->work->canceled_by;
		trial_set_state(trial, STATE_ending, &change);
		/* fall through */
	case STATE_ending:
		if (trial->work->launch)
			launch_cancel(trial->work->launch, grace_seconds);
		else
			trial->work->grace_seconds = grace_seconds;
		break;
	default:
		break;
	}
}

void trial_leave(struct trial *trial)
{
	Queue *queue = trial->queue;

	if (!trial->work || trial->changes || login_is_finishing(trial))
		return; /* its change is answered first, which comes back here */
	if (trial->work->launch) {
		if (launch_leave(trial->work->launch)) {
			trial_requeue(trial);
			return;
		}
		trial->work->launch = NULL;
	}
	trial_forget(trial);
	queue_check_stopped(queue);
}

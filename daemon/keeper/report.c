/* SPDX-License-Identifier: MIT */

/*
 * The end of a Trial: what is left in the pipes is taken, what the kernel counted is read before
 * the control group goes, and the record is written and told.
 */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "state.h"

#define RECORD_RETRY_SECONDS 1.0
#define BLOCK_BYTES 512u

/* What only rusage knows, where no control group counted it. */
static void fill_usage(struct keeper *keeper)
{
	struct outcome_record *record = &keeper->record;
	const struct control_usage *usage = &keeper->usage;

	if (!keeper->has_usage)
		return;
	if (!record->has.cpu_seconds) {
		record->has.cpu_seconds = true;
		record->has.cpu_user_seconds = record->has.cpu_system_seconds = true;
		record->cpu_user_seconds = (double)usage->user_microseconds / 1e6;
		record->cpu_system_seconds = (double)usage->system_microseconds / 1e6;
		record->cpu_seconds = record->cpu_user_seconds + record->cpu_system_seconds;
	}
	if (!record->has.memory_peak) {
		record->has.memory_peak = true;
		record->memory_peak = usage->peak_bytes;
	}
	if (!record->has.io_read_bytes) {
		record->has.io_read_bytes = record->has.io_write_bytes = true;
		record->io_read_bytes = usage->read_blocks * BLOCK_BYTES;
		record->io_write_bytes = usage->write_blocks * BLOCK_BYTES;
	}
}

static void fill_inside(struct keeper *keeper)
{
	struct outcome_record *record = &keeper->record;

	record->has.limits = keeper->limit_count > 0;
	record->limits.count = keeper->limit_count;
	record->limits.items = keeper->limits;
	record->has.boundary = keeper->has_boundary;
	record->boundary = keeper->boundary;
}

/* Output that could not be stored is part of what happened. */
static void note_unstored(struct keeper *keeper, const struct capture *capture)
{
	char *message = keeper->decision.message;
	size_t length = strlen(message);

	snprintf(message + length, sizeof(keeper->decision.message) - length,
		 "%s%" PRIu64 " bytes of %s could not be stored: %s", length ? "; " : "",
		 capture->unstored, stream_name((int)capture->stream), strerror(-capture->error));
}

static void fill_logs(struct keeper *keeper)
{
	int count = keeper->plan.network == NETWORK_allowlist ? STREAM_COUNT : STREAM_network;
	int i;

	if (!keeper->capturing)
		return;
	for (i = 0; i < count; i++) {
		const struct capture *capture = &keeper->captures[i];

		keeper->logs[i] = (struct log_state){
			.has = {.stream = true, .bytes = true, .kept = true},
			.stream = (enum stream)i,
			.bytes = capture->bytes,
			.kept = capture->kept,
		};
		if (capture->unstored > 0)
			note_unstored(keeper, capture);
	}
	keeper->record.has.logs = true;
	keeper->record.logs.count = (size_t)count;
	keeper->record.logs.items = keeper->logs;
}

static void fill_git(struct keeper *keeper)
{
	struct git_watch *git = &keeper->git;
	struct outcome_record *record = &keeper->record;

	if (keeper->facts.started)
		git_watch_end(git);
	record->commit = git->commit[0] ? git->commit : NULL;
	record->git_changes.count = git->change_count;
	record->git_changes.items = git->changes;
}

/* Of a Grader whose main process ended as it should. */
static void read_verdict(struct keeper *keeper)
{
	const struct outcome_facts *facts = &keeper->facts;
	struct grader_verdict *verdict = &keeper->verdict;
	int r;

	if (!keeper->plan.judges || !keeper->capturing || !facts->exited || facts->status != 0)
		return;
	r = verdict_read_output(&keeper->plan.answers, keeper->folder,
				keeper->captures[STREAM_stdout].bytes, verdict);
	if (r < 0)
		snprintf(verdict->why, sizeof(verdict->why), "its output cannot be read: %s",
			 strerror(-r));
	if (!verdict->found)
		keeper->facts.no_verdict = verdict->why;
}

void keeper_report(struct keeper *keeper)
{
	struct payload_counters counters;
	int i;

	keeper->reported = true;
	keeper_set_deadline(keeper, DEADLINE_NONE, 0);
	timer_stop(&keeper->wall);
	timer_stop(&keeper->stall);
	moment_now(&keeper->span.end);
	/* Before anything is cloned: no look-up's thread can then hold what a child would wait for. */
	network_finish(&keeper->network, &keeper->plan, &keeper->record);
	/* Whatever wrote is gone: what the pipes hold now is all there is. */
	if (keeper->capturing)
		for (i = 0; i < STREAM_COUNT; i++)
			capture_drain(&keeper->captures[i]);
	payload_count(&keeper->payload, &counters);
	loop_remove(&keeper->loop, &keeper->payload_source);
	payload_done(&keeper->payload);

	/* The host may have run out of memory, and killed for that: not the Trial's doing. */
	keeper->facts.oom_kills = counters.oom_limit ? counters.oom_kills : 0;
	keeper->facts.fault = keeper->has_fault ? &keeper->fault : NULL;
	keeper->facts.command = keeper->plan.command.count ? keeper->plan.command.items[0] : "";
	keeper->facts.cwd = keeper->plan.cwd;
	keeper->facts.bare = keeper->plan.no_sandbox;
	read_verdict(keeper);
	outcome_decide(&keeper->facts, &keeper->decision);
	fill_logs(keeper);
	outcome_fill(&keeper->decision, &keeper->record);
	if (keeper->decision.outcome == OUTCOME_delivered)
		verdict_fill(&keeper->verdict, &keeper->record);
	span_fill(&keeper->span, &keeper->record);
	payload_fill(&counters, &keeper->record);
	fill_usage(keeper);
	fill_inside(keeper);
	fill_git(keeper);
	keep_learn_logins(&keeper->keep, &keeper->logins);
	logins_finish(&keeper->logins, &keeper->record, keeper->decision.message,
		      sizeof(keeper->decision.message));
	keep_learn_logins(&keeper->keep, &keeper->logins);
	keeper_write_record(keeper);
	keeper_keep_home(keeper);
}

/* Its connections are in the record's file: trialsd keeps of them what is always told alone. */
void keeper_say_ended(struct keeper *keeper)
{
	struct outcome_record record = keeper->record;

	record_leave_out_connections(&record);
	if (keeper->channel_open && channel_send(keeper->channel, CHANNEL_ended,
						 &outcome_record_type, &record, NULL, 0, false) < 0)
		keeper->channel_open = false;
}

static bool may_pass(int error)
{
	return error == -ENOSPC || error == -EDQUOT || error == -ENOMEM || error == -ENFILE ||
	       error == -EMFILE;
}

void keeper_write_record(struct keeper *keeper)
{
	/* Only the file has its connections, so it has to be there whatever comes. */
	bool durable = !keeper->channel_open || keeper->record.connections.count > 0;

	keeper->result = record_write(&keeper->record_file, keeper->folder, &keeper->record,
				      durable);
	keeper->recorded = keeper->result == 0;
	keeper->durable = keeper->recorded && durable;
	/* Where there is room for less only, that is better than to wait for more. */
	if (may_pass(keeper->result) && keeper->record.connections.count > 0) {
		network_sum(&keeper->record);
		keeper_write_record(keeper);
		return;
	}
	/* Leaving without it would make the Trial lost. */
	if (may_pass(keeper->result))
		keeper_set_deadline(keeper, DEADLINE_RECORD, RECORD_RETRY_SECONDS);
}

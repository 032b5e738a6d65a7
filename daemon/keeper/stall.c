/* SPDX-License-Identifier: MIT */

/*
 * The stall limit: on one timer, from the main process's start to the Trial's end, the samples that
 * activity.h judges.
 *
 * Processor time is the payload's own counter. Where there is no control group (backend none), pid
 * 1 is asked for the sum over the processes it sees and those they waited for: getrusage would give
 * it only what it reaped itself, and nothing of what still runs. Its answer comes later, as a
 * packet, and if none comes nothing is known and nothing is ended.
 */

#include "state.h"

static void arm(struct keeper *keeper)
{
	timer_set(&keeper->stall, keeper->plan.limits.stall_seconds / ACTIVITY_PARTS);
}

static void take(struct keeper *keeper, uint64_t cpu_microseconds)
{
	struct activity_sample sample = {.cpu_microseconds = cpu_microseconds,
					 .proxy_bytes = network_bytes(&keeper->network)};
	struct moment now;
	size_t i;

	moment_now(&now);
	sample.at = now.monotonic;
	/* Not what is told of its connections: to ask for what is refused is no work. */
	for (i = 0; i < STREAM_network; i++)
		sample.output_bytes += keeper->captures[i].bytes;
	if (activity_take(&keeper->activity, &sample, &keeper->facts.inactivity))
		keeper_order(keeper, END_STALL_LIMIT, keeper->plan.grace_seconds);
	else
		arm(keeper);
}

void keeper_stall_look(struct keeper *keeper)
{
	uint64_t cpu;

	if (!keeper->plan.has.limits || !keeper->plan.limits.has.stall_seconds)
		return;
	if (payload_cpu(&keeper->payload, &cpu)) {
		take(keeper, cpu);
		return;
	}
	keeper->counting = sandbox_count(&keeper->sandbox) == 0;
	if (!keeper->counting)
		arm(keeper);
}

void keeper_stall_counted(struct keeper *keeper, const struct control_usage *usage)
{
	/* An end that has begun stops the timer, and must not find it set again. */
	if (keeper->counting && !keeper->ending_said)
		take(keeper, usage->user_microseconds + usage->system_microseconds);
	keeper->counting = false;
}

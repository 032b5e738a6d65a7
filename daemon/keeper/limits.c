/* SPDX-License-Identifier: MIT */
#include "limits.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define CPU_PERIOD_MICROSECONDS 100000u
#define CPU_QUOTA_PER_PERCENT (CPU_PERIOD_MICROSECONDS / 100u)

struct knob {
	const char *name; /* a key of limits */
	const char *controller;
	const char *file;
	void (*format)(uint64_t value, char *text, size_t size);
	bool rounded; /* the kernel rounds it down to whole pages */
};

static void format_bytes(uint64_t value, char *text, size_t size)
{
	snprintf(text, size, "%" PRIu64, value);
}

static void format_tasks(uint64_t value, char *text, size_t size)
{
	snprintf(text, size, "%" PRIu64, value + LIMITS_OWN_TASKS);
}

static void format_cpu(uint64_t value, char *text, size_t size)
{
	snprintf(text, size, "%" PRIu64 " %u", value * CPU_QUOTA_PER_PERCENT,
		 CPU_PERIOD_MICROSECONDS);
}

static const struct knob memory_knob = {"memory", "memory", "memory.max", format_bytes, true};
static const struct knob swap_knob = {"swap", "memory", "memory.swap.max", format_bytes, true};
static const struct knob tasks_knob = {"tasks", "pids", "pids.max", format_tasks, false};
static const struct knob cpu_knob = {"cpu", "cpu", "cpu.max", format_cpu, false};

/* In force is what the kernel gives back, not what a write returned. */
static bool in_force(const struct payload *payload, const struct knob *knob, uint64_t value)
{
	char wanted[64], got[64];
	uint64_t number;
	char *end;

	if (payload->fd < 0)
		return false;
	knob->format(value, wanted, sizeof(wanted));
	payload_write(payload, knob->file, wanted);
	if (payload_read(payload, knob->file, got, sizeof(got)) < 0)
		return false;
	if (!knob->rounded)
		return strcmp(got, wanted) == 0;
	number = strtoull(got, &end, 10);
	return *end == '\0' && end != got && number <= value &&
	       value - number < (uint64_t)sysconf(_SC_PAGESIZE);
}

static bool was_asked(const struct keeper_plan *plan, const char *name)
{
	size_t i;

	for (i = 0; i < plan->asked.count; i++)
		if (strcmp(plan->asked.items[i], name) == 0)
			return true;
	return false;
}

struct applying {
	const struct payload *payload;
	const struct keeper_plan *plan;
	struct limit_state *states;
	size_t count;
	const struct knob *missing; /* the first that was asked for and is not in force */
};

static struct limit_state *add_state(struct applying *applying, const char *name, double value)
{
	struct limit_state *state = &applying->states[applying->count++];

	*state = (struct limit_state){
		.has = {.name = true, .asked = true, .by_default = true, .enforced = true},
		.name = name,
		.asked = value,
		.by_default = !was_asked(applying->plan, name),
		.enforced = true,
	};
	return state;
}

static void apply_knob(struct applying *applying, const struct knob *knob, uint64_t value)
{
	struct limit_state *state = add_state(applying, knob->name, (double)value);

	state->enforced = in_force(applying->payload, knob, value);
	if (!state->enforced && !state->by_default && !applying->missing)
		applying->missing = knob;
}

/* What hands a controller on differs from machine to machine: the doctor looks at this one. */
#define LIMITS_HINT                                                                                  \
	"trialctl doctor says what would enforce it here (user_manager, controllers); or leave the " \
	"limit out, or set RequireLimits=no in [Daemon] of trialsd.conf"

static int refuse(const struct applying *applying, struct fault *fault)
{
	const struct knob *knob = applying->missing;

	if (applying->payload->fd < 0) {
		fault_void(fault, CAUSE_limits_unavailable,
			   "the limit on %s cannot be enforced: without a systemd user manager "
			   "there is no control group for the %s controller",
			   knob->name, knob->controller);
		return fault_hint(fault, LIMITS_HINT);
	}
	fault_void(fault, CAUSE_limits_unavailable,
		   "the limit on %s cannot be enforced: %s is not in force, "
		   "the %s controller is not delegated to this user",
		   knob->name, knob->file, knob->controller);
	return fault_hint(fault, LIMITS_HINT);
}

int limits_apply(const struct payload *payload, const struct keeper_plan *plan,
		 struct limit_state ret_states[LIMITS_COUNT], size_t *ret_count,
		 struct fault *ret_fault)
{
	const struct limits_spec *limits = &plan->limits;
	struct applying applying = {.payload = payload, .plan = plan, .states = ret_states};

	/* The keeper's own clock, bwrap's own mounts and the keeper's own files enforce these. */
	if (limits->has.wall_seconds)
		add_state(&applying, "wall_seconds", limits->wall_seconds);
	if (limits->has.stall_seconds)
		add_state(&applying, "stall_seconds", limits->stall_seconds);
	if (limits->has.memory)
		apply_knob(&applying, &memory_knob, limits->memory);
	if (limits->has.swap)
		apply_knob(&applying, &swap_knob, limits->swap);
	if (limits->has.tasks)
		apply_knob(&applying, &tasks_knob, limits->tasks);
	if (limits->has.cpu)
		apply_knob(&applying, &cpu_knob, limits->cpu);
	if (limits->has.tmp)
		add_state(&applying, "tmp", (double)limits->tmp)->enforced = !plan->no_sandbox;
	if (limits->has.home)
		add_state(&applying, "home", (double)limits->home)->enforced = !plan->no_sandbox;
	if (limits->has.output)
		add_state(&applying, "output", (double)limits->output);
	*ret_count = applying.count;
	if (applying.missing && !plan->unchecked)
		return refuse(&applying, ret_fault);
	return 0;
}

/* SPDX-License-Identifier: MIT */
#include "build.h"

#include "proto/quantity.h"

/*
 * Limits: the launch's own, else the configuration's. What the launch asked for is remembered by
 * name, since one of those that is not in force voids the Trial and a mere default does not.
 *
 * tmpfs is charged to the memory limit and is not freed when processes are killed, so a Trial
 * whose tmpfs may grow to the whole limit can kill itself for good. Hence, with a memory limit:
 * sizes the launch gave must together stay below it, and each of the others is at most a quarter
 * of what those leave.
 */

#define TMPFS_DEFAULT_BYTES (4ull << 30)
#define SHM_DEFAULT_BYTES (1ull << 30)

/* Copies the launch's value, else the configuration's. */
#define LIMIT_SETTLE_(name, type, presence, limit, doc)                                            \
	if (launch->limits.has.name) {                                                             \
		plan->limits.has.name = true;                                                      \
		plan->limits.name = launch->limits.name;                                           \
		if (text_list_add(&plan->asked, #name) < 0)                                        \
			return -ENOMEM;                                                            \
	} else if (config->limits.has.name) {                                                      \
		plan->limits.has.name = true;                                                      \
		plan->limits.name = config->limits.name;                                           \
	}

static int limits_copy(struct plan *plan, const struct config *config,
		       const struct launch_request *launch)
{
	LIMITS_FIELDS(LIMIT_SETTLE_)
	return 0;
}

static int minimum_check(const char *name, bool has, uint64_t value, uint64_t minimum,
			 struct fault *fault)
{
	if (!has || value >= minimum)
		return 0;
	return fault_set(fault, ERROR_invalid, "limits.%s: %llu is too small: at least %llu", name,
			 (unsigned long long)value, (unsigned long long)minimum);
}

static int bytes_minimum_check(const char *name, bool has, uint64_t value, uint64_t minimum,
			       struct fault *fault)
{
	char least[32];

	if (!has || value >= minimum)
		return 0;
	return fault_set(fault, ERROR_invalid, "limits.%s: %llu bytes is too small: at least %s",
			 name, (unsigned long long)value,
			 quantity_format_size(minimum, least, sizeof(least)));
}

static int limits_check(const struct plan *plan, struct fault *fault)
{
	const struct limits_spec *limits = &plan->limits;
	int r;

	if (limits->has.wall_seconds && !(limits->wall_seconds > 0))
		return fault_set(fault, ERROR_invalid,
				 "limits.wall_seconds: must be more than 0 seconds");
	if (limits->has.stall_seconds && !(limits->stall_seconds > 0))
		return fault_set(fault, ERROR_invalid,
				 "limits.stall_seconds: must be more than 0 seconds");
	r = bytes_minimum_check("memory", limits->has.memory, limits->memory,
				LIMIT_MEMORY_BYTES_MIN, fault);
	if (r == 0)
		r = minimum_check("tasks", limits->has.tasks, limits->tasks, 1, fault);
	if (r == 0)
		r = minimum_check("cpu", limits->has.cpu, limits->cpu, 1, fault);
	if (r == 0)
		r = bytes_minimum_check("tmp", limits->has.tmp, limits->tmp, LIMIT_TMPFS_BYTES_MIN,
					fault);
	if (r == 0)
		r = bytes_minimum_check("home", limits->has.home, limits->home,
					LIMIT_TMPFS_BYTES_MIN, fault);
	if (r == 0)
		r = bytes_minimum_check("output", limits->has.output, limits->output,
					LIMIT_OUTPUT_BYTES_MIN, fault);
	return r;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static int shrink(struct plan *plan, const char *name, uint64_t *size, uint64_t most)
{
	char before[32], after[32];

	if (*size <= most)
		return 0;
	quantity_format_size(*size, before, sizeof(before));
	*size = most;
	quantity_format_size(*size, after, sizeof(after));
	return plan_note(plan, "limits.%s: %s instead of the default %s, to fit the memory limit",
			 name, after, before);
}

/* The sizes that nobody asked for, under a memory limit. */
static int sizes_fit(struct plan *plan, const struct launch_request *launch,
		     struct tmpfs_sizes *sizes, struct fault *fault)
{
	bool tmp_asked = launch->limits.has.tmp, home_asked = launch->limits.has.home;
	uint64_t memory = plan->limits.memory, left, share;
	uint64_t asked = (tmp_asked ? sizes->tmp : 0) + (home_asked ? sizes->home : 0);
	char asked_text[32], memory_text[32];
	int r = 0;

	left = asked < memory ? memory - asked : 0;
	share = left / 4 & ~(uint64_t)(LIMIT_TMPFS_BYTES_MIN - 1);
	if (share < LIMIT_TMPFS_BYTES_MIN)
		return fault_set(
			fault, ERROR_invalid,
			"limits.%s: %s of %s do not fit below limits.memory of %s: tmpfs is charged to it",
			tmp_asked && home_asked ? "tmp and limits.home"
			: tmp_asked		? "tmp"
						: "home",
			quantity_format_size(asked, asked_text, sizeof(asked_text)),
			tmp_asked && home_asked ? "/tmp and HOME together"
			: tmp_asked		? "/tmp"
						: "HOME",
			quantity_format_size(memory, memory_text, sizeof(memory_text)));
	if (!tmp_asked)
		r = shrink(plan, "tmp", &sizes->tmp, share);
	if (r == 0 && !home_asked)
		r = shrink(plan, "home", &sizes->home, share);
	sizes->shm = smaller(sizes->shm, share);
	sizes->var_tmp = smaller(sizes->var_tmp, share / 2);
	return r;
}

int limits_settle(struct plan *plan, const struct config *config,
		  const struct launch_request *launch, struct tmpfs_sizes *ret_sizes,
		  struct fault *ret_fault)
{
	struct limits_spec *limits = &plan->limits;
	struct tmpfs_sizes sizes = {.shm = SHM_DEFAULT_BYTES, .var_tmp = SHM_DEFAULT_BYTES};
	int r;

	r = limits_copy(plan, config, launch);
	if (r == 0)
		r = limits_check(plan, ret_fault);
	if (r != 0)
		return r;
	sizes.tmp = limits->has.tmp ? limits->tmp : TMPFS_DEFAULT_BYTES;
	sizes.home = limits->has.home ? limits->home : TMPFS_DEFAULT_BYTES;
	if (limits->has.memory)
		r = sizes_fit(plan, launch, &sizes, ret_fault);
	if (r != 0)
		return r;
	limits->has.tmp = limits->has.home = true;
	limits->tmp = sizes.tmp;
	limits->home = sizes.home;
	plan->grace_seconds = launch->has.grace_seconds ? launch->grace_seconds
							: config->grace_seconds;
	*ret_sizes = sizes;
	return 0;
}

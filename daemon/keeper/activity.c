/* SPDX-License-Identifier: MIT */
#include "activity.h"

#include "base/mem.h"

bool activity_take(struct activity *activity, const struct activity_sample *sample,
		   struct inactivity *ret)
{
	const size_t length = ARRAY_SIZE(activity->ring);
	struct activity_sample *now = &activity->ring[activity->count % length];
	const struct activity_sample *then;
	uint64_t cpu = sample->cpu_microseconds;

	if (activity->count > 0)
		activity->cpu_used += cpu > activity->cpu_last ? cpu - activity->cpu_last
							       : activity->cpu_last - cpu;
	activity->cpu_last = cpu;
	*now = *sample;
	now->cpu_microseconds = activity->cpu_used;
	activity->count++;
	if (activity->count < length)
		return false;
	then = &activity->ring[activity->count % length];
	ret->seconds = now->at - then->at;
	ret->cpu_seconds = (double)(now->cpu_microseconds - then->cpu_microseconds) / 1e6;
	return now->output_bytes == then->output_bytes && now->proxy_bytes == then->proxy_bytes &&
	       ret->cpu_seconds < ret->seconds * ACTIVITY_CPU_SHARE;
}

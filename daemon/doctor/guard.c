/* SPDX-License-Identifier: MIT */
#include "doctor/guard.h"

#include <string.h>

#define AGAIN_MILLISECONDS 30000

struct Guard {
	struct guard_options options;
	DoctorChild *child;
	uv_timer_t timer;
};

static void on_timer(uv_timer_t *timer)
{
	Guard *guard = timer->data;

	doctor_child_look(guard->child);
}

static void guard_shut(Guard *guard, struct fault *fault)
{
	const struct fault *before = launcher_unavailable(guard->options.launcher);
	bool same = launcher_proved(guard->options.launcher) && before && before->message &&
		    strcmp(before->message, fault->message) == 0;

	launcher_set_unavailable(guard->options.launcher, fault);
	uv_timer_start(&guard->timer, on_timer, AGAIN_MILLISECONDS, 0);
	if (!same)
		guard->options.changed(guard->options.context,
				       launcher_unavailable(guard->options.launcher));
}

static void guard_open(Guard *guard)
{
	bool was = launcher_proved(guard->options.launcher) &&
		   !launcher_unavailable(guard->options.launcher);

	launcher_set_unavailable(guard->options.launcher, NULL);
	uv_timer_stop(&guard->timer);
	if (!was)
		guard->options.changed(guard->options.context, NULL);
}

static void on_verdict(void *context, const struct doctor_reply *reply, const struct fault *fault)
{
	_cleanup_fault_ struct fault copy = FAULT_INIT;
	Guard *guard = context;
	int r;

	if (reply && reply->launchable) {
		r = guard->options.mended(guard->options.context, &copy);
		if (r < 0)
			fault_errno(&copy, r, "sandbox");
		if (r == 0) {
			guard_open(guard);
			return;
		}
	} else if (reply) {
		fault_void(&copy, CAUSE_sandbox_unavailable, "%s",
			   reply->message ? reply->message : "no Trial can be launched");
		if (reply->hint)
			fault_hint(&copy, "%s", reply->hint);
	} else {
		fault_void(&copy, CAUSE_sandbox_unavailable, "%s", fault->message);
		if (fault->hint)
			fault_hint(&copy, "%s", fault->hint);
	}
	if (!copy.message) /* not enough memory to say why; it is tried again */
		uv_timer_start(&guard->timer, on_timer, AGAIN_MILLISECONDS, 0);
	else
		guard_shut(guard, &copy);
}

int guard_new(Guard **ret_guard, const struct guard_options *options)
{
	Guard *guard = calloc(1, sizeof(*guard));
	const char *const arguments[] = {
		"--state",   options->state_folder,
		"--runtime", options->runtime_folder,
		"--backend", backend_name((int)options->backend),
		"--config",  options->config_file,
	};
	const struct doctor_child_options child = {
		.loop = options->loop,
		.arguments = arguments,
		.argument_count = ARRAY_SIZE(arguments) - (options->config_file ? 0 : 2),
		.heard = on_verdict,
		.context = guard,
	};
	int r;

	if (!guard)
		return -ENOMEM;
	guard->options = *options;
	r = doctor_child_new(&guard->child, &child);
	if (r < 0) {
		free(guard);
		return r;
	}
	uv_timer_init(options->loop, &guard->timer);
	guard->timer.data = guard;
	*ret_guard = guard;
	doctor_child_look(guard->child);
	return 0;
}

DoctorChild *guard_doctor(Guard *guard)
{
	return guard->child;
}

static void on_timer_closed(uv_handle_t *handle)
{
	free(handle->data);
}

void guard_stop(Guard *guard)
{
	uv_timer_stop(&guard->timer);
	doctor_child_stop(guard->child);
}

Guard *guard_free(Guard *guard)
{
	if (!guard)
		return NULL;
	doctor_child_free(steal(&guard->child));
	uv_close((uv_handle_t *)&guard->timer, on_timer_closed);
	return NULL;
}

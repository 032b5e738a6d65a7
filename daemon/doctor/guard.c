/* SPDX-License-Identifier: MIT */
#include "doctor/guard.h"

#include <string.h>
#include <sys/mman.h>

#include "base/config_text.h"
#include "base/no_sandbox.h"

#define AGAIN_MILLISECONDS 30000

struct Guard {
	struct guard_options options;
	DoctorChild *child;
	struct queue_watch watch;
	uv_timer_t timer;
	bool told; /* that launches are possible, last */
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

	guard->told = false;
	launcher_set_unavailable(guard->options.launcher, fault);
	uv_timer_start(&guard->timer, on_timer, AGAIN_MILLISECONDS, 0);
	if (!same)
		guard->options.changed(guard->options.context,
				       launcher_unavailable(guard->options.launcher));
}

static void guard_open(Guard *guard)
{
	launcher_set_unavailable(guard->options.launcher, NULL);
	uv_timer_stop(&guard->timer);
	if (!guard->told)
		guard->options.changed(guard->options.context, NULL);
	guard->told = true;
	queue_kick(guard->options.queue);
}

/* What only a sandbox needs, for a daemon that was told to do without. */
static bool is_of_sandbox(const char *name)
{
	static const char *const names[] = {
		"bwrap",
		"container",
		"max_user_namespaces",
		"apparmor",
		"user_namespace",
		"unprivileged_userns_clone",
		"mount_namespace",
		"pid_namespace",
		"proc",
		"network_namespace",
		"ipc_namespace",
		"uts_namespace",
		"cgroup_namespace",
		"sandbox",
		"proxy",
		"limits",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

/*
 * What stands in the way of a launch, or NULL. Room is the queue's to judge, with each launch and
 * by the same words: it comes and goes, and must not wait until the doctor looks again.
 */
static const struct doctor_check *find_failed(const struct doctor_reply *reply)
{
	for (size_t i = 0; i < reply->checks.count; i++) {
		const struct doctor_check *check = &reply->checks.items[i];

		if (check->state == CHECK_failed && strcmp(check->name, "disk") != 0 &&
		    !(no_sandbox_wanted() && is_of_sandbox(check->name)))
			return check;
	}
	return NULL;
}

static void on_verdict(void *context, const struct doctor_reply *reply, const struct fault *fault)
{
	_cleanup_fault_ struct fault copy = FAULT_INIT;
	const struct doctor_check *failed;
	Guard *guard = context;
	int r;

	/* One that could not even look says nothing of the sandbox. */
	if (!reply && launcher_proved(guard->options.launcher)) {
		uv_timer_start(&guard->timer, on_timer, AGAIN_MILLISECONDS, 0);
		return;
	}
	failed = reply ? find_failed(reply) : NULL;
	if (failed) {
		fault_void(&copy, CAUSE_sandbox_unavailable, "%s",
			   failed->message ? failed->message : "no Trial can be launched");
		if (failed->hint)
			fault_hint(&copy, "%s", failed->hint);
	} else if (reply) {
		r = guard->options.mended(guard->options.context, &copy);
		if (r < 0)
			fault_errno(&copy, r, "sandbox");
		if (r == 0) {
			guard_open(guard);
			return;
		}
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

static bool is_without_sandbox(const struct ledger_row *row)
{
	struct message *message = NULL;
	struct outcome_record record;
	struct decode_error error;
	bool without;

	if (row->outcome != OUTCOME_void ||
	    message_parse(&message, row->record.data, row->record.size) < 0)
		return false;
	without = message_decode(message, message_root(message), &outcome_record_type,
				 UNKNOWN_KEYS_IGNORED, &record, &error) == 0 &&
		  record.has.cause && record.cause == CAUSE_sandbox_unavailable;
	message_free(message);
	return without;
}

static void on_trial_changed(struct queue_watch *watch, const struct queue_change *change)
{
	Guard *guard = container_of(watch, struct Guard, watch);

	if (change->row->state != STATE_ended || !launcher_ready(guard->options.launcher) ||
	    !is_without_sandbox(change->row))
		return;
	launcher_doubt(guard->options.launcher);
	doctor_child_look(guard->child);
}

/* The configuration in force, as a file. */
static int on_input(void *context, int *ret_fd)
{
	_cleanup_free_ char *text = NULL;
	_cleanup_close_ int fd = -1;
	Guard *guard = context;
	size_t size;
	int r = config_format(guard->options.config, &text);

	if (r < 0)
		return r;
	size = strlen(text);
	fd = memfd_create("trialsd.conf", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (write(fd, text, size) != (ssize_t)size)
		return errno ? -errno : -EIO;
	*ret_fd = fd_steal(&fd);
	return 0;
}

int guard_new(Guard **ret_guard, const struct guard_options *options)
{
	Guard *guard = calloc(1, sizeof(*guard));
	const char *arguments[10] = {
		"--state",    options->state_folder, "--runtime", options->runtime_folder,
		"--in-force", "/proc/self/fd/3",
	};
	struct doctor_child_options child = {
		.loop = options->loop,
		.arguments = arguments,
		.argument_count = 6,
		.input = on_input,
		.heard = on_verdict,
		.context = guard,
	};
	int r;

	if (!guard)
		return -ENOMEM;
	if (options->config_file) {
		arguments[child.argument_count++] = "--config";
		arguments[child.argument_count++] = options->config_file;
	}
	if (options->backend >= 0) {
		arguments[child.argument_count++] = "--backend";
		arguments[child.argument_count++] = backend_name(options->backend);
	}
	guard->options = *options;
	r = doctor_child_new(&guard->child, &child);
	if (r < 0) {
		free(guard);
		return r;
	}
	uv_timer_init(options->loop, &guard->timer);
	guard->timer.data = guard;
	guard->watch.changed = on_trial_changed;
	queue_watch_add(options->queue, &guard->watch);
	*ret_guard = guard;
	doctor_child_look(guard->child);
	return 0;
}

DoctorChild *guard_doctor(Guard *guard)
{
	return guard->child;
}

void guard_look(Guard *guard)
{
	doctor_child_look(guard->child);
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
	queue_watch_remove(guard->options.queue, &guard->watch);
	doctor_child_free(steal(&guard->child));
	uv_close((uv_handle_t *)&guard->timer, on_timer_closed);
	return NULL;
}

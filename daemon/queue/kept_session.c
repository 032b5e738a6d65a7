/* SPDX-License-Identifier: MIT */
#include "queue/kept_session.h"

#include <fcntl.h>
#include <string.h>

#include "keeper/keep.h"
#include "queue/view.h"

static int refuse(enum error_code code, uint64_t id, const char *why, struct fault *fault)
{
	fault_set(fault, code, "of: Trial %llu %s", (unsigned long long)id, why);
	return fault_hint(fault, "trialctl show %llu", (unsigned long long)id);
}

int kept_session_not_found(const struct launch_request *launch, struct fault *ret_fault)
{
	fault_set(ret_fault, ERROR_not_found, "of: no Trial has the id %llu",
		  (unsigned long long)launch->of);
	return fault_hint(ret_fault, "trialctl list");
}

static int open_folder(Queue *queue, uint64_t id, int *ret_fd)
{
	_cleanup_close_ int folder = -1;
	int r = launch_folder(queue->trials_fd, id, false, &folder);

	if (r < 0)
		return r;
	*ret_fd = openat(folder, KEEP_SESSION, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return *ret_fd < 0 ? -errno : 0;
}

/* NULL: nothing was said of it. */
static const struct kept *kept_session(const struct trial_view *trial)
{
	for (size_t i = 0; i < trial->kept.count; i++)
		if (strcmp(trial->kept.items[i].what, KEEP_SESSION) == 0)
			return &trial->kept.items[i];
	return NULL;
}

static int check_view(Queue *queue, const struct trial_view *trial,
		      const struct launch_request *launch, struct fault *fault)
{
	const struct kept *kept = kept_session(trial);
	_cleanup_close_ int fd = -1;
	int r;

	if (trial->state != STATE_ended)
		return refuse(ERROR_conflict, trial->id, "is not over", fault);
	if (!trial->has.harness)
		return refuse(ERROR_invalid, trial->id, "had no harness", fault);
	if (strcmp(trial->harness.name, launch->harness) != 0) {
		fault_set(fault, ERROR_invalid, "of: Trial %llu was a session of %s, not of %s",
			  (unsigned long long)trial->id, trial->harness.name, launch->harness);
		return fault_hint(fault, "trialctl show %llu", (unsigned long long)trial->id);
	}
	if (!kept || strcmp(kept->state, "none") == 0) {
		fault_set(fault, ERROR_invalid, "of: no session was kept of Trial %llu%s%s",
			  (unsigned long long)trial->id, kept && kept->reason ? ": " : "",
			  kept && kept->reason ? kept->reason : "");
		return fault_hint(fault, "trialctl show %llu", (unsigned long long)trial->id);
	}
	r = open_folder(queue, trial->id, &fd);
	return r == -ENOENT
		       ? refuse(ERROR_invalid, trial->id, "has no kept session any more", fault)
		       : r;
}

int kept_session_check(Queue *queue, const struct ledger_row *row,
		       const struct launch_request *launch, struct fault *ret_fault)
{
	struct view view;
	int r = view_make(&view, row, queue_trials_folder(queue), false);

	if (r == 0)
		r = check_view(queue, &view.trial, launch, ret_fault);
	view_done(&view);
	return r;
}

int kept_session_open(Queue *queue, uint64_t id, int *ret_fd, struct fault *ret_fault)
{
	int r = open_folder(queue, id, ret_fd);

	if (r == -ENOMEM || r == -EMFILE || r == -ENFILE)
		return r;
	return r < 0 ? fault_void(ret_fault, CAUSE_session_unavailable,
				  "of: the kept session of Trial %llu: %s", (unsigned long long)id,
				  r == -ENOENT ? "it is gone" : strerror(-r))
		     : 0;
}

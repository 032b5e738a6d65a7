/* SPDX-License-Identifier: MIT */
#pragma once

#include <sys/queue.h>
#include <uv.h>

#include "base/fault.h"

/*
 * `trialsd --doctor` as a child of the daemon, so that the loop never waits for what it looks at.
 * One at a time: who asks while one is under way hears of the next, which sees what was changed
 * before the question.
 */
typedef struct DoctorChild DoctorChild;

/* Exactly one of the two is given, and is good for the call. */
typedef void (*doctor_verdict)(void *context, const struct doctor_reply *reply,
			       const struct fault *fault);

/* Embedded by who asks; alive until done is called, which may free it. */
struct doctor_question {
	TAILQ_ENTRY(doctor_question) link;
	doctor_verdict done;
	void *context;
};

struct doctor_child_options {
	uv_loop_t *loop;
	/* After argv[0]: the daemon's own options, so that both look at the same things. Copied. */
	const char *const *arguments;
	size_t argument_count;
	/*
	 * A file for the child to read, opened anew for each run: its descriptor 3, the child's from
	 * the call on. 0 or -errno.
	 */
	int (*input)(void *context, int *ret_fd);
	/* Hears every verdict, before those that asked for it. */
	doctor_verdict heard;
	void *context;
};

int doctor_child_new(DoctorChild **ret_child, const struct doctor_child_options *options);
void doctor_child_ask(DoctorChild *child, struct doctor_question *question);
/* A run without a question of one's own; of one that is under way nothing is `heard` any more. */
void doctor_child_look(DoctorChild *child);
/*
 * Ends the process in order and answers what is asked, then and from then on, with a fault.
 * `heard` is not called any more.
 */
void doctor_child_stop(DoctorChild *child);
/* Once stopped: frees, when the process is gone; the loop runs until then. */
void doctor_child_free(DoctorChild *child);

/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>

/*
 * A task of trial-keeper (`--task WORD…`): a short-lived child that reads what a Trial may have
 * written, confines itself, and answers with one message on descriptor 3. It has that and what it
 * is given, nothing else of ours, and an empty environment.
 *
 * The call blocks until the child is gone, so for what may wait it belongs on a thread. A child that
 * is late is killed, by pidfd.
 */
#define TASK_WORDS_MAX 4
#define TASK_DESCRIPTORS_MAX 8
#define TASK_MILLISECONDS 15000 /* a task's own patience ends before */

struct task_order {
	const char *keeper;		       /* the program */
	const char *words[TASK_WORDS_MAX];     /* behind --task; NULL ends them */
	int descriptors[TASK_DESCRIPTORS_MAX]; /* become 4 and up; borrowed */
	size_t descriptor_count;
	size_t most; /* bytes of an answer */
	unsigned int milliseconds;
};

/*
 * 0 with the answer (to be freed; wiped by whoever holds it, where that matters), -EBADMSG when it
 * did not exit with 0 or said too much, -ETIMEDOUT, or what kept it from being started.
 */
int task_run(const struct task_order *order, char **ret_answer, size_t *ret_size);

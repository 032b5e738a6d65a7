/* SPDX-License-Identifier: MIT */
#pragma once

#include <uv.h>

#include "proto/message.h"
#include "queue/home_guard.h"

/*
 * Deleting what was set aside, on a thread of its own: it may take long, and neither the thread
 * pool nor the end of the daemon is to wait for it. What that end interrupts is found again by its
 * name.
 */
struct home_deletion;

/* names is taken over. async is sent when it is over. */
int home_deletion_start(struct home_deletion **ret_deletion, const struct home_folder *folder,
			struct text_list *names, uv_async_t *async);
/* Entries deleted so far. */
uint64_t home_deletion_count(const struct home_deletion *deletion);
/* Whether it is over, and with what result: 0, or the first -errno. */
bool home_deletion_over(struct home_deletion *deletion, int *ret_result);
/* Lets go of it, over or not; from now on async is left alone. */
struct home_deletion *home_deletion_free(struct home_deletion *deletion);

/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdio.h>

#include "proto/message.h"

/* The golden vectors of proto/vectors/: one frame of fixed content per message. */
struct golden {
	const char *name;		 /* of its files, NAME.frame and NAME.json */
	const struct message_type *type; /* of what the envelope holds; NULL for an error */
	int (*write)(msgpack_sbuffer *buffer);
};

extern const struct golden goldens[];
extern const size_t golden_count;

/* As in PROTOCOL: bytes that are no UTF-8, and all that is bin, become {"base64": "…"}. */
void golden_print_json(FILE *file, const msgpack_object *object);

/* golden_service.c */
int request_prune(msgpack_sbuffer *buffer);
int request_pause(msgpack_sbuffer *buffer);
int request_resume(msgpack_sbuffer *buffer);
int request_drain(msgpack_sbuffer *buffer);
int reply_prune(msgpack_sbuffer *buffer);
int reply_pause(msgpack_sbuffer *buffer);
int reply_resume(msgpack_sbuffer *buffer);
int reply_drain(msgpack_sbuffer *buffer);
int reply_status(msgpack_sbuffer *buffer);
int reply_doctor(msgpack_sbuffer *buffer);
int reply_status_paused(msgpack_sbuffer *buffer);
int request_launch_descriptor(msgpack_sbuffer *buffer);
int reply_show_held(msgpack_sbuffer *buffer);
int reply_status_held(msgpack_sbuffer *buffer);
int reply_watch_held(msgpack_sbuffer *buffer);
int event_queue_held(msgpack_sbuffer *buffer);
int event_queue(msgpack_sbuffer *buffer);

/* golden_rerun.c */
int request_rerun(msgpack_sbuffer *buffer);
int reply_rerun(msgpack_sbuffer *buffer);
int reply_show_sandbox(msgpack_sbuffer *buffer);

/* golden_harness.c */
int request_launch_harness(msgpack_sbuffer *buffer);
int request_harness(msgpack_sbuffer *buffer);
int reply_harness(msgpack_sbuffer *buffer);
int request_logins(msgpack_sbuffer *buffer);
int request_login_restore(msgpack_sbuffer *buffer);
int reply_logins(msgpack_sbuffer *buffer);
int reply_login_restore(msgpack_sbuffer *buffer);
int reply_show_harness(msgpack_sbuffer *buffer);

/* golden_network.c */
int request_launch_hosts(msgpack_sbuffer *buffer);
int request_logs_network(msgpack_sbuffer *buffer);
int reply_show_network(msgpack_sbuffer *buffer);
int reply_show_given(msgpack_sbuffer *buffer);
int reply_shutdown_running(msgpack_sbuffer *buffer);

/* golden_arm.c */
int request_launch_arm(msgpack_sbuffer *buffer);
int reply_launch_arm(msgpack_sbuffer *buffer);
int request_arm_prepare(msgpack_sbuffer *buffer);
int request_arm_prepare_harness(msgpack_sbuffer *buffer);
int request_arm_list(msgpack_sbuffer *buffer);
int request_arm_show(msgpack_sbuffer *buffer);
int request_arm_verify(msgpack_sbuffer *buffer);
int request_arm_diff(msgpack_sbuffer *buffer);
int reply_arm_prepare(msgpack_sbuffer *buffer);
int reply_arm_list(msgpack_sbuffer *buffer);
int reply_arm_show(msgpack_sbuffer *buffer);
int reply_arm_verify(msgpack_sbuffer *buffer);
int reply_arm_diff(msgpack_sbuffer *buffer);
int request_arm_remove(msgpack_sbuffer *buffer);
int reply_arm_remove(msgpack_sbuffer *buffer);

/* golden_bar.c */
int request_launch_bar(msgpack_sbuffer *buffer);
int reply_launch_bar(msgpack_sbuffer *buffer);
int request_bar_set(msgpack_sbuffer *buffer);
int reply_bar_set(msgpack_sbuffer *buffer);
int request_bar_list(msgpack_sbuffer *buffer);
int reply_bar_list(msgpack_sbuffer *buffer);
int request_bar_show(msgpack_sbuffer *buffer);
int reply_bar_show(msgpack_sbuffer *buffer);
int request_panel_check(msgpack_sbuffer *buffer);
int reply_panel_check(msgpack_sbuffer *buffer);

/* golden_grader.c */
int reply_show_grader(msgpack_sbuffer *buffer);

/* For all. */
#define LIST(items)                                                                                \
	{                                                                                          \
		sizeof(items) / sizeof((items)[0]), items                                          \
	}

#define SUBMITTED 1735689600000000u /* 2025-01-01 00:00:00 UTC */
#define SECOND 1000000u

/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "context.h"
#include "neutralise.h"

/*
 * A Trial's output on its way to ours: its exact bytes, each chunk written at once; made visible
 * where the output is a terminal (the policy is in neutralise.h); one object per event with --json.
 */
struct stream_writer {
	struct context *context;
	const char *stream; /* "stdout", "stderr" */
	FILE *file;
	bool escape;
	bool inside_line; /* the last byte written did not end one */
	struct neutraliser neutraliser;
};

void stream_writer_init(struct stream_writer *writer, struct context *context, const char *stream,
			FILE *file);

/* 0: more may come; 1: that was the end; -errno: it could not be written. */
int stream_writer_event(struct stream_writer *writer, const struct trials_message *event);

/* Arguments of logs, for context_send(). Never NULL. */
json_t *stream_arguments(uint64_t id, const char *stream, bool follow);

/* SPDX-License-Identifier: MIT */
#pragma once

#include "harness_words.h"
#include "session.h"

/* Adds the copies of [Home] and the generated files of [Home] and, with web off, of [Web]. */
int session_files_add(struct session *session, const struct session_request *request,
		      const struct specifier *specifiers, struct fault *ret_fault);

/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/list.h"

/*
 * Absolute paths of sockets that a process of this network namespace listens or receives on.
 * Best effort by nature: a socket's path is what its owner called it when it was bound.
 */
int listeners_read(struct text_list *ret_paths);
/* The same from text in the format of /proc/net/unix. */
int listeners_parse(struct text_list *ret_paths, char *text);

/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Where a trialsd finds the keepers of an earlier life: a SOCK_SEQPACKET listener for each, named
 * by its Trial's uuid, in RUNTIME/k. Both sides reach it through the folder's descriptor, so that
 * the length of the runtime folder's name never matters. What is said there is what the channel
 * says; the keeper begins with `hello`, which proves whose it is.
 */

/* The keeper's side. The listener is non-blocking. A socket left by a dead keeper is replaced. */
int attach_listen(int folder_fd, const char *uuid, int *ret_listener);

/*
 * One connection: -EAGAIN when none waits; -EPERM for a peer of another user or another user
 * namespace, which is closed without a word.
 */
int attach_accept(int listener, int *ret_fd);

/* trialsd's side: -ENOENT or -ECONNREFUSED when no keeper is there. Non-blocking from then on. */
int attach_connect(int folder_fd, const char *uuid, int *ret_fd);

/* The peer's pidfd: of the process that listened, not of whoever has its number now. */
int attach_peer(int fd, int *ret_pidfd);

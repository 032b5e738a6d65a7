/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Where a trialsd finds the keepers of an earlier life: a SOCK_SEQPACKET listener for each, named
 * by its Trial's uuid, in RUNTIME/k. Both sides reach it through the folder's descriptor, so that
 * the length of the runtime folder's name never matters. What is said there is what the channel
 * says; trialsd begins with its proof, the keeper with `hello`, which says whose it is.
 */

/* The keeper's side. The listener is non-blocking. A socket left by a dead keeper is replaced. */
int attach_listen(int folder_fd, const char *uuid, int *ret_listener);

/* One connection: -EAGAIN when none waits; -EPERM for another user's, which is closed. */
int attach_accept(int listener, int *ret_fd);

/*
 * Whether it is of our own user namespace: 0, -EAGAIN as long as it has said nothing, -EPERM. The
 * uid alone says nothing, since a sandbox keeps it. It proves it by its first packet, a descriptor of
 * its namespace: there is no other way to have one, and /proc/PID/ns can be read of processes only
 * that may be traced.
 */
int attach_proved(int fd);

/* trialsd's side: -ENOENT or -ECONNREFUSED when no keeper is there. Non-blocking from then on. */
int attach_connect(int folder_fd, const char *uuid, int *ret_fd);

/* The peer's pidfd: of the process that listened, not of whoever has its number now. */
int attach_peer(int fd, int *ret_pidfd);

/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/fault.h"

/*
 * A folder of trialsd's own: made with its parents when missing (0700), and then opened, looked at
 * and made canonical by that very descriptor: *path is replaced by the canonical one. Refused: not
 * ours, open to others, read-only, not a folder.
 */
int folder_private(char **path, int *ret_fd, struct fault *ret_fault);

/*
 * The name of such a folder, which need not be there, unless *path has one already: that in the
 * variable systemd gives it (or NULL), else trialsd in what the variable xdg says, else in below_home
 * of home. Variables that hold no absolute path do not count.
 */
int folder_default(char **path, const char *systemd, const char *xdg, const char *home,
		   const char *below_home);

/*
 * One inside such a folder, made when missing; a link is never followed, since what is below is
 * ours alone. *ret_path is the caller's.
 */
int folder_below(int parent_fd, const char *parent, const char *name, char **ret_path, int *ret_fd,
		 struct fault *ret_fault);

/*
 * take is called with each name in the folder that is open as folder_fd, O_PATH too, but "." and "..", in
 * no order, until it returns something else than 0, which is returned then. -errno. What it removes is
 * removed; whether it meets what it adds is not said.
 */
int folder_each(int folder_fd, int (*take)(void *context, const char *name), void *context);

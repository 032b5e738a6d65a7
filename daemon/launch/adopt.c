/* SPDX-License-Identifier: MIT */

/*
 * Taking up the keepers that an earlier trialsd left at work.
 *
 * A keeper is known by what only it can have: it listens under its Trial's uuid in our own private
 * runtime folder, holds the flock of its Trial's folder, and says trial and uuid before anything
 * else. Its pidfd is asked of the kernel for that very connection, so no number from a file is ever
 * trusted.
 */
#include "keeper/attach.h"
#include "launch/attempt.h"

int launch_adopt(Launch **ret_launch, Launcher *launcher, uint64_t id, const char *uuid,
		 const char *unit, double wall_seconds, const struct launch_watch *watch,
		 void *context)
{
	int channel, pidfd = -1, r;
	Launch *launch;

	r = attach_connect(launcher->keepers_fd, uuid, &channel);
	if (r < 0)
		return r;
	r = attach_peer(channel, &pidfd);
	if (r == 0)
		r = launch_make(&launch, launcher, id, uuid, unit, watch, context);
	if (r != 0) {
		fd_close(pidfd);
		close(channel);
		return r;
	}
	launch->adopted = launch->started = true;
	r = launch_folder(launcher->trials_fd, id, false, &launch->folder_fd);
	if (r == 0)
		r = launch_listen(launch, channel);
	else
		close(channel);
	if (r == 0)
		r = launch_listen_keeper(launch, pidfd);
	else
		close(pidfd);
	if (r < 0) {
		launch_leave(launch);
		return r;
	}
	overdue_adopted(launch, wall_seconds);
	*ret_launch = launch;
	return 0;
}

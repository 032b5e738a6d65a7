/* SPDX-License-Identifier: MIT */

/*
 * The spare keeper: the first half of a launch, done before there is one.
 *
 * A launch's dearest steps need nothing of the Trial: to start the keeper, to have the user manager
 * make its scope, to move the keeper into its control group (on an idle machine the kernel waits
 * out a grace period for each move). So one is made once a Trial runs, and the next launch begins
 * with it. It may be taken while its scope is still on its way.
 *
 * It is no more than a launch that was not ordered yet. Whatever befalls it before it has made
 * anything of its order is no fault of the Trial's, which is then launched again without a spare:
 * that way a machine on which no spare lives long still runs every Trial.
 */
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <systemd/sd-id128.h>

#include "base/fault_point.h"
#include "launch/attempt.h"

/* Not before what led to it has been told to whoever waits for that. */
#define SOON_MILLISECONDS 1
/* Not beside a Trial that only begins, and may be over at once. */
#define LATER_MILLISECONDS 1000

const char *launch_uuid(const Launch *launch)
{
	return launch->uuid;
}

/* Nothing can be ordered of it any more. Whoever has taken it still has to let it go. */
void spare_gone(Launch *launch)
{
	Launcher *launcher = launch->launcher;

	launch->gone = true;
	launch_close_channel(launch);
	if (launcher->spare != launch)
		return;
	launcher->spare = NULL;
	launch_finish(launch);
}

static int spare_enter(Launch *launch)
{
	struct keeper_enter order = {.has = {.cgroup = true}};
	char cgroup[4096];
	int r = launch_keeper_cgroup(launch, cgroup, sizeof(cgroup));

	if (r < 0)
		return r;
	launch->cgroup = strdup(cgroup);
	if (!launch->cgroup)
		return -ENOMEM;
	order.cgroup = launch->cgroup;
	return channel_send(launch->channel, CHANNEL_enter, &keeper_enter_type, &order, NULL, 0,
			    true);
}

void spare_scoped(Launch *launch, int r)
{
	if (launch->gone)
		return;
	if (r == 0)
		r = spare_enter(launch);
	FAULT_POINT(spare_scoped);
	if (r)
		spare_gone(launch);
}

static void on_spare_timer(uv_timer_t *timer)
{
	spare_gone(timer->data);
}

static void spare_make(Launcher *launcher)
{
	char uuid[SD_ID128_UUID_STRING_MAX], unit[LAUNCH_UNIT_BYTES];
	Launch *launch;
	sd_id128_t id;

	if (launcher->spare || launcher->closing || !launcher_ready(launcher) ||
	    sd_id128_randomize(&id) < 0)
		return;
	snprintf(unit, sizeof(unit), LAUNCH_UNIT, sd_id128_to_uuid_string(id, uuid));
	if (launch_make(&launch, launcher, 0, uuid, unit, NULL, NULL) < 0)
		return;
	launch->spare = launch->waits = true;
	launcher->spare = launch;
	if (stat(launcher->keeper, &launch->binary) < 0 || launch_spawn(launch) < 0) {
		spare_gone(launch);
		return;
	}
	FAULT_POINT(spare_spawned);
	uv_timer_start(&launch->timer, on_spare_timer, (uint64_t)(launcher->spare_seconds * 1000),
		       0);
	launch_scope(launch);
}

static void on_spare_due(uv_timer_t *timer)
{
	spare_make(timer->data);
}

void launcher_keep_spare(Launcher *launcher, double seconds, bool soon)
{
	launcher->spare_seconds = seconds;
	if (!launcher->spare && launcher->scopes && !launcher->closing && seconds > 0)
		uv_timer_start(&launcher->spare_timer, on_spare_due,
			       soon ? SOON_MILLISECONDS : LATER_MILLISECONDS, 0);
}

/* An update has brought another: what is installed is what runs. */
static bool is_outdated(const Launch *launch)
{
	const struct stat *a = &launch->binary;
	struct stat b;

	return stat(launch->launcher->keeper, &b) < 0 || a->st_dev != b.st_dev ||
	       a->st_ino != b.st_ino || a->st_size != b.st_size ||
	       a->st_mtim.tv_sec != b.st_mtim.tv_sec || a->st_mtim.tv_nsec != b.st_mtim.tv_nsec;
}

Launch *launcher_take_spare(Launcher *launcher)
{
	Launch *launch = launcher->spare;
	struct pollfd ended;

	if (!launch)
		return NULL;
	ended = (struct pollfd){.fd = launch->pidfd, .events = POLLIN};
	if (poll(&ended, 1, 0) != 0 || is_outdated(launch)) {
		spare_gone(launch);
		return NULL;
	}
	launcher->spare = NULL;
	uv_timer_stop(&launch->timer);
	return launch;
}

void launcher_drop_spare(Launcher *launcher)
{
	uv_timer_stop(&launcher->spare_timer);
	if (launcher->spare)
		spare_gone(launcher->spare);
}

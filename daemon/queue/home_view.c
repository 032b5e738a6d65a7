/* SPDX-License-Identifier: MIT */
#include "queue/home_private.h"

#include <stdio.h>
#include <string.h>

#include "queue/home_delete.h"
#include "queue/home_group.h"

size_t home_position(const struct home_waiter *waiter, size_t most)
{
	struct home_waiter *other;
	size_t position = 0;

	if (!waiter->waiting)
		return 0;
	RB_FOREACH(other, home_waiters, &waiter->home->waiting)
	if (++position > most || other == waiter)
		break;
	return position > most ? 0 : position;
}

static void holder_text(const struct home_holder *holder, char *buffer, size_t size)
{
	if (holder->pid)
		snprintf(buffer, size, "its home: %s (pid %d) holds it",
			 holder->command[0] ? holder->command : "a process", (int)holder->pid);
	else if (holder->taken_by == getpid())
		snprintf(buffer, size, "its home: the keeper of the Trial before is leaving");
	else if (holder->taken_by)
		snprintf(buffer, size, "its home: held by what pid %d, now gone, left",
			 (int)holder->taken_by);
	else
		snprintf(buffer, size, "its home: another process holds it");
}

const char *home_waits_for(const struct home_waiter *waiter, char *buffer, size_t size)
{
	const Home *home = waiter->home;

	if (!waiter->waiting)
		return NULL;
	if (home_is_held(home))
		snprintf(buffer, size, "its home, which is held: %s",
			 home->hold ? home->hold : home->unfinished);
	else if (home->users > 0)
		snprintf(buffer, size, "its home: Trial %llu has it",
			 (unsigned long long)home->user);
	else if (home->job)
		snprintf(buffer, size, "its home: it is being emptied");
	else if (home->held_by_other)
		holder_text(&home->holder, buffer, size);
	else if (home->ending)
		snprintf(buffer, size, "its home: what is left of the Trial before is ending");
	else if (home->lock_error)
		snprintf(buffer, size, "its home: it cannot be locked: %s",
			 strerror(-home->lock_error));
	else
		snprintf(buffer, size, "its home: others wait for it before");
	return buffer;
}

static enum home_state state_of(const Home *home, struct home_status *status)
{
	if (home->job)
		return HOME_wiping;
	if (home->users > 0)
		return HOME_used;
	if (home_is_held(home))
		return HOME_held;
	if (home_holder_find(&home->folder, true, &status->holder) == 1)
		return status->holder.taken_by == getpid() ? HOME_ending : HOME_other;
	return home->homes->locks_fd >= 0 &&
			       home_group_is_populated(home->homes->locks_fd, &home->folder)
		       ? HOME_ending
		       : HOME_free;
}

void home_look(const Home *home, struct home_status *ret_status)
{
	*ret_status = (struct home_status){
		.path = home->folder.path,
		.trial = home->users > 0 ? home->user : 0,
		.waiting = home->waiting_count,
		.deleting = home->deletion != NULL,
		.deleted = home->deletion ? home_deletion_count(home->deletion) : 0,
	};
	ret_status->state = state_of(home, ret_status);
	ret_status->reason = home->hold		? home->hold
			     : home->unfinished ? home->unfinished
						: home->left;
}

const char *home_state_name(enum home_state state)
{
	static const char *const names[] = {
		[HOME_free] = "free",	[HOME_used] = "used",	  [HOME_wiping] = "wiping",
		[HOME_other] = "other", [HOME_ending] = "ending", [HOME_held] = "held",
	};

	return names[state];
}

Home *home_first(Homes *homes)
{
	return RB_MIN(homes_by_inode, &homes->by_inode);
}

Home *home_next(Home *home)
{
	return RB_NEXT(homes_by_inode, &home->homes->by_inode, home);
}

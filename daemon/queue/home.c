/* SPDX-License-Identifier: MIT */

/*
 * The homes of a daemon, in memory: who has each, who waits, what is being done to it.
 *
 * A flock that somebody else holds tells nobody when it falls. A thread that waits in flock(2)
 * would take the home the moment it is free, whether or not a Trial can start then (no slot, a
 * pause), and keep others from it meanwhile. So a timer looks into /proc/locks, only while somebody
 * waits and the home is not ours: soon after an end, since a keeper leaves a moment after it told,
 * and then four times a second. It never tries the lock itself; that is for the Trial whose turn it
 * is.
 *
 * What is called back is out of the list until it takes the home, waits again or is released, and
 * nobody else is called meanwhile.
 */
#include "queue/home_private.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "plan/plan.h"
#include "queue/home_delete.h"
#include "queue/home_group.h"
#include "queue/home_wipe.h"

#define LOOK_FIRST_MILLISECONDS 2
#define LOOK_LAST_MILLISECONDS 250
#define LOOKS_PER_SEARCH 20
#define WIPE_RETRY_MILLISECONDS 5000

struct wipe_job {
	uv_work_t work;
	Home *home;
	struct home_waiter *waiter; /* NULL: it was released, or nobody's */
	struct home_where *where;
	int result;
	struct fault fault;
	bool unfinished;
	struct text_list leftovers;
};

static int home_compare_turn(const struct home_waiter *a, const struct home_waiter *b)
{
	if (a->priority != b->priority)
		return a->priority > b->priority ? -1 : 1;
	return a->id < b->id ? -1 : a->id > b->id;
}

static int home_compare_inode(const Home *a, const Home *b)
{
	if (a->folder.device != b->folder.device)
		return a->folder.device < b->folder.device ? -1 : 1;
	return a->folder.inode < b->folder.inode ? -1 : a->folder.inode > b->folder.inode;
}

RB_GENERATE(home_waiters, home_waiter, by_turn, home_compare_turn)
RB_GENERATE(homes_by_inode, Home, by_inode, home_compare_inode)

/* --- Their life ----------------------------------------------------------------------------------- */

static void handle_closed(Homes *homes)
{
	if (--homes->handles > 0)
		return;
	if (homes->closed)
		homes->closed(homes->context);
	free(homes);
}

static void on_home_closed(uv_handle_t *handle)
{
	Home *home = handle->data;
	Homes *homes = home->homes;

	home_folder_done(&home->folder);
	home_where_free(home->retry);
	text_list_done(&home->leftovers);
	free(home->hold);
	free(home->unfinished);
	free(home->left);
	free(home);
	handle_closed(homes);
}

/* Frees it when nobody knows it and nothing is being done to it. */
static void home_settle(Home *home)
{
	if (home->job || (!home->homes->closing && (home->references > 0 || home->deletion)))
		return;
	RB_REMOVE(homes_by_inode, &home->homes->by_inode, home);
	home->lock_fd = fd_close(home->lock_fd);
	home->deletion = home_deletion_free(home->deletion);
	uv_close((uv_handle_t *)&home->timer, on_home_closed);
}

static void deletion_begin(Home *home)
{
	if (home->deletion || home->leftovers.count == 0 || home->homes->closing)
		return;
	/* Without a thread it is left to the next wipe. */
	home_deletion_start(&home->deletion, &home->folder, &home->leftovers, &home->homes->async);
}

static void deletion_ended(Home *home)
{
	int result;

	if (!home->deletion || !home_deletion_over(home->deletion, &result))
		return;
	home->deletion = home_deletion_free(home->deletion);
	free(steal(&home->left));
	if (result < 0 &&
	    asprintf(&home->left,
		     "what was set aside of it (" HOME_ASIDE_PREFIX
		     "…, beside it) cannot be deleted: %s",
		     result == -EXDEV ? "something is mounted in it" : strerror(-result)) < 0)
		home->left = NULL;
	deletion_begin(home);
	home_settle(home);
}

static void on_async(uv_async_t *async)
{
	Homes *homes = async->data;
	Home *home, *next;

	for (home = RB_MIN(homes_by_inode, &homes->by_inode); home; home = next) {
		next = RB_NEXT(homes_by_inode, &homes->by_inode, home);
		deletion_ended(home);
	}
}

int homes_new(Homes **ret_homes, uv_loop_t *loop, int locks_fd)
{
	Homes *homes = calloc(1, sizeof(*homes));
	int r;

	if (!homes)
		return -ENOMEM;
	homes->loop = loop;
	homes->locks_fd = locks_fd;
	RB_INIT(&homes->by_inode);
	r = uv_async_init(loop, &homes->async, on_async);
	if (r < 0) {
		free(homes);
		return r;
	}
	homes->async.data = homes;
	homes->handles = 1;
	/* Never what keeps the loop alive. */
	uv_unref((uv_handle_t *)&homes->async);
	*ret_homes = homes;
	return 0;
}

static void on_homes_closed(uv_handle_t *handle)
{
	handle_closed(handle->data);
}

void homes_close(Homes *homes, void (*closed)(void *context), void *context)
{
	Home *home, *next;

	homes->closing = true;
	homes->closed = closed;
	homes->context = context;
	for (home = RB_MIN(homes_by_inode, &homes->by_inode); home; home = next) {
		next = RB_NEXT(homes_by_inode, &homes->by_inode, home);
		home_settle(home);
	}
	uv_close((uv_handle_t *)&homes->async, on_homes_closed);
}

/* --- The flock ------------------------------------------------------------------------------------ */

static int lock_try(Home *home)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
	_cleanup_close_ int fd = openat(home->folder.fd, ".", flags);

	/* The Trial before may have closed it to all. */
	if (fd < 0 && errno == EACCES && fchmod(home->folder.fd, 0700) == 0)
		fd = openat(home->folder.fd, ".", flags);
	if (fd < 0)
		return -errno;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return -errno;
	home->lock_fd = fd_steal(&fd);
	return 0;
}

static void on_timer(uv_timer_t *timer);

static void look_later(Home *home, uint64_t milliseconds)
{
	if (home->unfinished)
		milliseconds = WIPE_RETRY_MILLISECONDS;
	if (home->waiting_count == 0 || home_is_ours(home) || home->hold || home->called ||
	    home->homes->closing)
		return;
	uv_timer_start(&home->timer, on_timer, milliseconds, 0);
}

static void look_again(Home *home)
{
	home->pause = home->pause * 2 < LOOK_LAST_MILLISECONDS ? home->pause * 2
							       : LOOK_LAST_MILLISECONDS;
	look_later(home, home->pause);
}

/* It may be free from now on. */
static void look_soon(Home *home)
{
	home->pause = LOOK_FIRST_MILLISECONDS;
	look_later(home, 0);
}

static void waiting_remove(Home *home, struct home_waiter *waiter)
{
	RB_REMOVE(home_waiters, &home->waiting, waiter);
	home->waiting_count--;
	waiter->waiting = false;
}

/* Whether somebody else is in the way, as far as can be told without taking it. */
static bool is_taken(Home *home)
{
	bool deep = home->looks++ % LOOKS_PER_SEARCH == 0;
	struct home_holder holder;

	home->held_by_other = home_holder_find(&home->folder, deep, &holder) == 1;
	if (home->held_by_other && (deep || holder.pid || holder.taken_by != home->holder.taken_by))
		home->holder = holder;
	home->ending = !home->held_by_other && home->homes->locks_fd >= 0 &&
		       home_group_is_populated(home->homes->locks_fd, &home->folder);
	return home->held_by_other || home->ending;
}

static int wipe_begin(Home *home, struct home_waiter *waiter, struct home_where *where);

static void wipe_retry(Home *home)
{
	struct home_where *where;

	if (lock_try(home) == 0) {
		where = steal(&home->retry);
		if (wipe_begin(home, NULL, where) == 0)
			return;
		home->retry = where;
		home->lock_fd = fd_close(home->lock_fd);
	}
	look_later(home, 0);
}

static void on_timer(uv_timer_t *timer)
{
	Home *home = timer->data;
	struct home_waiter *first = RB_MIN(home_waiters, &home->waiting);

	if (!first || home_is_ours(home) || home->hold || home->called)
		return;
	if (is_taken(home)) {
		look_again(home);
	} else if (home->unfinished) {
		wipe_retry(home);
	} else {
		waiting_remove(home, first);
		home->called = first;
		first->called(first);
	}
}

/* --- Getting one ---------------------------------------------------------------------------------- */

/* What an earlier life was deleting. Whoever has the home now does it otherwise, after its wipe. */
static void sweep(Home *home)
{
	if (lock_try(home) < 0)
		return;
	home_wipe_leftovers(&home->folder, &home->leftovers);
	home->lock_fd = fd_close(home->lock_fd);
	deletion_begin(home);
}

static int home_new(Home **ret_home, Homes *homes, struct home_folder *folder)
{
	Home *home = calloc(1, sizeof(*home));
	int r;

	if (!home)
		return -ENOMEM;
	home->homes = homes;
	home->lock_fd = -1;
	home->pause = LOOK_FIRST_MILLISECONDS;
	RB_INIT(&home->waiting);
	r = uv_timer_init(homes->loop, &home->timer);
	if (r < 0) {
		free(home);
		return r;
	}
	home->timer.data = home;
	uv_unref((uv_handle_t *)&home->timer);
	homes->handles++;
	home->folder = *folder;
	*folder = HOME_FOLDER_INIT;
	RB_INSERT(homes_by_inode, &homes->by_inode, home);
	sweep(home);
	*ret_home = home;
	return 0;
}

int home_get(Home **ret_home, Homes *homes, const struct home_where *where, struct fault *ret_fault)
{
	_cleanup_(home_folder_done) struct home_folder folder = HOME_FOLDER_INIT;
	Home key = {0}, *home;
	int r = home_folder_open(&folder, where, ret_fault);

	if (r == 0)
		r = home_login_check(&folder, where, ret_fault);
	if (r)
		return r;
	key.folder = folder;
	home = RB_FIND(homes_by_inode, &homes->by_inode, &key);
	if (!home)
		r = home_new(&home, homes, &folder);
	if (r < 0)
		return r;
	home->references++;
	*ret_home = home;
	return 0;
}

void home_put(Home *home)
{
	if (home && --home->references == 0)
		home_settle(home);
}

/* --- The lease ------------------------------------------------------------------------------------ */

bool home_is_free(const Home *home)
{
	return !home_is_ours(home) && !home_is_held(home) && !home->called &&
	       home->waiting_count == 0;
}

static bool may_take(Home *home, const struct home_waiter *waiter)
{
	const struct home_waiter *first = RB_MIN(home_waiters, &home->waiting);

	if (home_is_ours(home) || home_is_held(home))
		return false;
	/* One that came in between is not served before those that wait. */
	if (first && home_compare_turn(first, waiter) < 0)
		return false;
	return home->homes->locks_fd < 0 ||
	       !home_group_is_populated(home->homes->locks_fd, &home->folder);
}

static void use(Home *home, struct home_waiter *waiter)
{
	waiter->has = true;
	home->users++;
	home->user = waiter->id;
	home->looks = 0;
	home->held_by_other = home->ending = false;
	uv_timer_stop(&home->timer);
}

bool home_take(Home *home, struct home_waiter *waiter)
{
	bool may = may_take(home, waiter);
	int r = may ? lock_try(home) : -EWOULDBLOCK;

	waiter->home = home;
	if (home->called == waiter)
		home->called = NULL;
	home->lock_error = r == -EWOULDBLOCK ? 0 : r;
	if (r == 0) {
		use(home, waiter);
		return true;
	}
	home->held_by_other = may && r == -EWOULDBLOCK;
	waiter->waiting = true;
	home->waiting_count++;
	RB_INSERT(home_waiters, &home->waiting, waiter);
	if (!uv_is_active((uv_handle_t *)&home->timer))
		look_again(home);
	return false;
}

void home_take_again(Home *home, struct home_waiter *waiter)
{
	waiter->home = home;
	use(home, waiter);
}

void home_release(struct home_waiter *waiter)
{
	Home *home = waiter->home;

	if (!home)
		return;
	waiter->home = NULL;
	if (waiter->waiting)
		waiting_remove(home, waiter);
	if (home->called == waiter) {
		home->called = NULL;
		look_soon(home);
	}
	if (home->job && home->job->waiter == waiter)
		home->job->waiter = NULL;
	if (!waiter->has)
		return;
	waiter->has = false;
	if (--home->users > 0 || home->job)
		return;
	home->lock_fd = fd_close(home->lock_fd);
	look_soon(home);
}

int home_lock(const struct home_waiter *waiter)
{
	return waiter->has ? waiter->home->lock_fd : -1;
}

int home_fd(const Home *home)
{
	return home->folder.fd;
}

int home_note_group(const struct home_waiter *waiter, const char *group)
{
	const Home *home = waiter->home;

	if (!waiter->has || home->homes->locks_fd < 0)
		return -EINVAL;
	return home_group_note(home->homes->locks_fd, &home->folder, group);
}

int home_hold(Home *home, const char *reason)
{
	char *copy = reason ? strdup(reason) : NULL;

	if (reason && !copy)
		return -ENOMEM;
	free(home->hold);
	home->hold = copy;
	if (!reason)
		look_soon(home);
	return 0;
}

/* --- The wipe ------------------------------------------------------------------------------------- */

static void wipe_work(uv_work_t *work)
{
	struct wipe_job *job = container_of(work, struct wipe_job, work);
	const struct home_folder *folder = &job->home->folder;

	job->result = home_wipe_empty(folder, job->where, &job->unfinished, &job->fault);
	/* Whatever came of it, what was moved is to go. */
	home_wipe_leftovers(folder, &job->leftovers);
}

/* What it found out about the home. */
static void wipe_note(Home *home, struct wipe_job *job)
{
	text_list_done(&home->leftovers);
	home->leftovers = job->leftovers;
	job->leftovers = (struct text_list){0};
	deletion_begin(home);
	free(steal(&home->unfinished));
	home->retry = home_where_free(home->retry);
	if (job->result == FAULT && job->unfinished) {
		home->unfinished = strdup(job->fault.message);
		home->retry = steal(&job->where);
	}
}

static void on_wiped(uv_work_t *work, int status)
{
	struct wipe_job *job = container_of(work, struct wipe_job, work);
	struct home_waiter *waiter = job->waiter;
	Home *home = job->home;

	(void)status;
	home->job = NULL;
	wipe_note(home, job);
	if (home->users == 0) {
		home->lock_fd = fd_close(home->lock_fd);
		look_soon(home);
		home_settle(home);
	}
	if (waiter)
		waiter->wiped(waiter, job->result, &job->fault);
	fault_done(&job->fault);
	home_where_free(job->where);
	free(job);
}

static int wipe_begin(Home *home, struct home_waiter *waiter, struct home_where *where)
{
	struct wipe_job *job = calloc(1, sizeof(*job));
	int r;

	if (!job)
		return -ENOMEM;
	job->home = home;
	job->waiter = waiter;
	job->where = where;
	job->fault = FAULT_INIT;
	r = uv_queue_work(home->homes->loop, &job->work, wipe_work, on_wiped);
	if (r < 0) {
		free(job);
		return r;
	}
	home->job = job;
	return 0;
}

int home_wipe(struct home_waiter *waiter, const struct home_where *where)
{
	struct home_where *copy;
	int r;

	if (!waiter->has || waiter->home->job || waiter->home->lock_fd < 0)
		return -EINVAL;
	r = home_where_copy(&copy, where);
	if (r < 0)
		return r;
	r = wipe_begin(waiter->home, waiter, copy);
	if (r < 0)
		home_where_free(copy);
	return r;
}

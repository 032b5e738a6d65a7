/* SPDX-License-Identifier: MIT */

/*
 * Both folders are watched by descriptor (through /proc/self/fd), for the login's name alone. What
 * happens in the Trial's may come by the thousand: the events are read away and looked at as one,
 * and between two looks there is a pause, which costs a single refresh nothing.
 *
 * A bound file is watched itself too: what is written through the binding need not be told to the
 * folder. What is mapped into memory tells nobody; the end of the Trial looks once more.
 */
#include "carry.h"

#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>

#include "base/mem.h"

#define BUFFER_BYTES 4096
#define READS_PER_WAKE_UP 16
#define REST_SECONDS 0.01
#define POLL_SECONDS 0.25

#define CHANGES                                                                                    \
	(IN_CLOSE_WRITE | IN_MODIFY | IN_MOVED_TO | IN_MOVED_FROM | IN_CREATE | IN_DELETE |        \
	 IN_ATTRIB)

static void look(struct carry_watch *watch)
{
	struct carry *carry = watch->carry;
	uint64_t out = carry->carried_out, in = carry->carried_in;
	enum login_state state = carry->state;
	double rest = watch->polling ? POLL_SECONDS : 0;

	if (carry_look(carry) == CARRY_LOOK_AGAIN)
		rest = carry->pause;
	if (rest > 0)
		timer_set(&watch->timer, rest);
	if (watch->changed &&
	    (out != carry->carried_out || in != carry->carried_in || state != carry->state))
		watch->changed(watch);
}

static void on_timer(struct timer *timer)
{
	struct carry_watch *watch = container_of(timer, struct carry_watch, timer);

	/* The events were left in the queue meanwhile. */
	if (watch->source.fd < 0 && watch->inotify >= 0)
		loop_add(watch->loop, &watch->source, watch->inotify, EPOLLIN);
	look(watch);
}

static bool concerns(const struct carry_watch *watch, const struct inotify_event *event)
{
	const struct keeper_login *login = &watch->carry->login;

	if (event->mask & (IN_Q_OVERFLOW | IN_IGNORED) || event->wd == watch->copy_file)
		return true;
	/* Where both are the same folder, one name or the other. */
	return event->len > 0 &&
	       ((event->wd == watch->production && strcmp(event->name, login->file) == 0) ||
		(event->wd == watch->copy && strcmp(event->name, login->copy) == 0));
}

/* Whether one of those that came concerns the login. */
static bool read_events(struct carry_watch *watch)
{
	_Alignas(struct inotify_event) char buffer[BUFFER_BYTES];
	bool concerned = false;

	for (int i = 0; i < READS_PER_WAKE_UP; i++) {
		ssize_t n = read(watch->inotify, buffer, sizeof(buffer));

		if (n <= 0)
			break;
		for (char *at = buffer; at < buffer + n;) {
			const struct inotify_event *event = (void *)at;

			concerned = concerned || concerns(watch, event);
			at += sizeof(*event) + event->len;
		}
	}
	return concerned;
}

static void on_events(struct source *source, uint32_t events)
{
	struct carry_watch *watch = container_of(source, struct carry_watch, source);

	(void)events;
	if (read_events(watch))
		look(watch);
	/* A Trial that does nothing but write costs us a look in so long. */
	loop_remove(watch->loop, source);
	if (timer_left(&watch->timer) <= 0 || timer_left(&watch->timer) > REST_SECONDS)
		timer_set(&watch->timer, REST_SECONDS);
}

static int add(struct carry_watch *watch, int folder_fd, const char *name, int *ret)
{
	char path[64 + LOGIN_NAME_BYTES_MAX];

	snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", folder_fd, name);
	*ret = inotify_add_watch(watch->inotify, path, CHANGES | (*name ? IN_DONT_FOLLOW : 0));
	return *ret < 0 ? -errno : 0;
}

static int start_inotify(struct carry_watch *watch)
{
	const struct carry *carry = watch->carry;
	int r;

	watch->inotify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (watch->inotify < 0)
		return -errno;
	r = add(watch, carry->folders[LOGIN_FD_PRODUCTION], "", &watch->production);
	if (r == 0)
		r = add(watch, carry->folders[LOGIN_FD_COPY], "", &watch->copy);
	if (r == 0 && carry->login.in_place)
		r = add(watch, carry->folders[LOGIN_FD_COPY], carry->login.copy, &watch->copy_file);
	return r == 0 ? loop_add(watch->loop, &watch->source, watch->inotify, EPOLLIN) : r;
}

int carry_watch_start(struct carry_watch *watch, struct carry *carry, struct loop *loop,
		      void (*changed)(struct carry_watch *watch))
{
	void *context = watch->context;
	int r;

	*watch = CARRY_WATCH_INIT;
	watch->context = context;
	/* A home is looked at once, at the end. */
	if (carry->login.home)
		return 0;
	watch->carry = carry;
	watch->loop = loop;
	watch->changed = changed;
	watch->source.callback = on_events;
	r = timer_init(&watch->timer, loop, on_timer);
	if (r < 0) {
		watch->loop = NULL;
		return r;
	}
	if (start_inotify(watch) < 0) {
		watch->inotify = fd_close(watch->inotify);
		watch->polling = true;
	}
	look(watch);
	return 0;
}

void carry_watch_stop(struct carry_watch *watch)
{
	if (!watch->loop)
		return;
	loop_remove(watch->loop, &watch->source);
	timer_done(&watch->timer, watch->loop);
	watch->loop = NULL;
}

void carry_watch_done(struct carry_watch *watch)
{
	carry_watch_stop(watch);
	watch->inotify = fd_close(watch->inotify);
}

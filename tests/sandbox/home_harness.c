/* SPDX-License-Identifier: MIT */
#include "queue/home.h"

#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/*
 * A daemon's homes put to the test without a daemon: orders come on stdin, one a line, and what
 * happens is told on stdout.
 *
 * home_harness --home DIR --production DIR --person DIR [--state DIR] [--runtime DIR] [--locks DIR]
 *
 *   get                  ok PATH | fault MESSAGE
 *   take N [PRIORITY]    has N | waits N; and has N later, when it is called
 *   slow N               tell "called N" instead, and wait for another take
 *   again N              home_take_again
 *   wipe N               wiped N 0|stale|ERRNO, or fault N MESSAGE
 *   release N            released N
 *   keep N               a process that inherits the lock, as a keeper does: kept N PID
 *   hold TEXT, unhold, note N GROUP
 *   why N                why N TEXT; position N
 *   status               status STATE trial=N pid=N taken_by=N waiting=N deleting=0|1 deleted=N
 *                        command=… reason=…
 *   settled              settled, once nothing is being deleted
 *   kill COUNT           ends this process by SIGKILL once so many entries are deleted: a crash
 *   race COUNT FILE      takes, wipes and releases it so often, with FILE made while it has it:
 *                        raced COUNT, or both, when somebody else had made it
 */
#define WAITERS 32

struct trial {
	struct home_waiter waiter;
	bool slow;
};

static struct trial trials[WAITERS];
static uv_loop_t *loop;
static Homes *homes;
static Home *home;
static uv_poll_t input;
static uv_timer_t settle, race_timer;
static char line[4096];
static size_t line_size;
static const char *const keep[] = {"auth.json", "auth.json.lock"};
static struct home_where where = {
	.product = "Grok Build",
	.sign_in = "GROK_HOME=~/.thirdshift/trials/grok grok login",
	.login = "auth.json",
	.keep = keep,
	.keep_count = 2,
};
static int races;
static char race_file[1024];

#define say(...) ((void)(printf(__VA_ARGS__), putchar('\n'), fflush(stdout)))

static void die(const char *what, int error)
{
	fprintf(stderr, "home_harness: %s: %s\n", what, strerror(-error));
	exit(70);
}

static void take(struct trial *trial);

static void on_race(uv_timer_t *timer)
{
	(void)timer;
	unlink(race_file);
	home_release(&trials[0].waiter);
	if (--races > 0)
		take(&trials[0]);
	else
		say("raced");
}

static void race_has(void)
{
	int fd = open(race_file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0) {
		say("both");
		_exit(1);
	}
	close(fd);
	/* Something for the next one to wipe. */
	fd = openat(home_fd(home), "left", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	fd_close(fd);
	uv_timer_start(&race_timer, on_race, (uint64_t)(rand() % 2), 0);
}

static void take(struct trial *trial)
{
	bool has = home_take(home, &trial->waiter);

	if (races == 0)
		say("%s %d", has ? "has" : "waits", (int)trial->waiter.id);
	else if (has && home_wipe(&trial->waiter, &where) < 0)
		die("home_wipe", -EIO);
}

static void on_called(struct home_waiter *waiter)
{
	struct trial *trial = container_of(waiter, struct trial, waiter);

	if (trial->slow)
		say("called %d", (int)waiter->id);
	else
		take(trial);
}

static void on_wiped(struct home_waiter *waiter, int result, struct fault *fault)
{
	if (races > 0 && result == 0)
		race_has();
	else if (result == FAULT)
		say("fault %d %s", (int)waiter->id, fault->message);
	else
		say("wiped %d %s", (int)waiter->id,
		    result == -ESTALE ? "stale"
		    : result	      ? strerror(-result)
				      : "0");
}

/* What a keeper does with a lease: it has it, and only it, until it ends. */
static void keep_lock(struct trial *trial)
{
	int fd = home_lock(&trial->waiter);
	pid_t pid = fork();

	if (pid < 0)
		die("fork", -errno);
	if (pid == 0) {
		dup2(fd, 9);
		execlp("sleep", "sleep", "1000", NULL);
		_exit(127);
	}
	say("kept %d %d", (int)trial->waiter.id, (int)pid);
}

static void status(void)
{
	struct home_status now;

	home_look(home, &now);
	say("status %s trial=%d pid=%d taken_by=%d waiting=%zu deleting=%d deleted=%llu command=%s "
	    "reason=%s",
	    home_state_name(now.state), (int)now.trial, (int)now.holder.pid,
	    (int)now.holder.taken_by, now.waiting, now.deleting, (unsigned long long)now.deleted,
	    now.holder.command, now.reason ? now.reason : "");
}

static void on_settle(uv_timer_t *timer)
{
	struct home_status now;

	home_look(home, &now);
	if (now.deleting)
		return;
	uv_timer_stop(timer);
	say("settled");
}

/* Without the loop, so that the deletion is all that happens meanwhile. */
static void kill_at(uint64_t count)
{
	struct home_status now;

	do
		home_look(home, &now);
	while (now.deleting && now.deleted < count);
	kill(getpid(), SIGKILL);
}

static void get(void)
{
	_cleanup_fault_ struct fault fault = FAULT_INIT;
	struct home_status now;
	int r = home_get(&home, homes, &where, &fault);

	if (r < 0)
		die("home_get", r);
	if (r == FAULT) {
		say("fault %s%s%s", fault.message, fault.hint ? " | " : "",
		    fault.hint ? fault.hint : "");
		return;
	}
	home_look(home, &now);
	say("ok %s", now.path);
}

static void order_of_trial(const char *verb, struct trial *trial, char *rest)
{
	char text[512];
	int r = 0;

	if (!strcmp(verb, "take")) {
		trial->waiter.priority = rest ? strtol(rest, NULL, 10) : 0;
		take(trial);
	} else if (!strcmp(verb, "slow")) {
		trial->slow = true;
	} else if (!strcmp(verb, "again")) {
		home_take_again(home, &trial->waiter);
	} else if (!strcmp(verb, "wipe")) {
		r = home_wipe(&trial->waiter, &where);
	} else if (!strcmp(verb, "release")) {
		home_release(&trial->waiter);
		say("released %d", (int)trial->waiter.id);
	} else if (!strcmp(verb, "keep")) {
		keep_lock(trial);
	} else if (!strcmp(verb, "note")) {
		r = home_note_group(&trial->waiter, rest);
	} else if (!strcmp(verb, "position")) {
		say("position %zu", home_position(&trial->waiter, 100));
	} else if (!strcmp(verb, "why")) {
		say("why %s", home_waits_for(&trial->waiter, text, sizeof(text)) ? text : "");
	} else {
		r = -EINVAL;
	}
	if (r < 0)
		die(verb, r);
}

static void order(char *text)
{
	char *verb = strsep(&text, " ");
	char *number = text;

	if (!strcmp(verb, "get")) {
		get();
	} else if (!strcmp(verb, "status")) {
		status();
	} else if (!strcmp(verb, "settled")) {
		uv_timer_start(&settle, on_settle, 0, 1);
	} else if (!strcmp(verb, "hold")) {
		home_hold(home, text);
	} else if (!strcmp(verb, "unhold")) {
		home_hold(home, NULL);
	} else if (!strcmp(verb, "kill")) {
		kill_at(strtoull(text, NULL, 10));
	} else if (!strcmp(verb, "race")) {
		races = (int)strtol(strsep(&text, " "), NULL, 10);
		snprintf(race_file, sizeof(race_file), "%s", text);
		take(&trials[0]);
	} else {
		strsep(&text, " ");
		order_of_trial(verb, &trials[strtoul(number ? number : "0", NULL, 10) % WAITERS],
			       text);
	}
}

static void on_closed(void *context)
{
	(void)context;
	uv_stop(loop);
}

static void finish(void)
{
	for (size_t i = 0; i < WAITERS; i++)
		home_release(&trials[i].waiter);
	home_put(home);
	uv_close((uv_handle_t *)&input, NULL);
	homes_close(homes, on_closed, NULL);
}

static void on_input(uv_poll_t *poll, int poll_status, int events)
{
	ssize_t n = read(0, line + line_size, sizeof(line) - line_size - 1);
	char *end;

	(void)poll;
	(void)poll_status;
	(void)events;
	if (n <= 0) {
		finish();
		return;
	}
	line_size += (size_t)n;
	line[line_size] = '\0';
	while ((end = strchr(line, '\n'))) {
		char one[sizeof(line)];

		*end = '\0';
		snprintf(one, sizeof(one), "%s", line);
		line_size -= (size_t)(end + 1 - line);
		memmove(line, end + 1, line_size + 1);
		order(one);
	}
}

static int options_read(int argc, char **argv)
{
	static const struct option options[] = {
		{"home", required_argument, NULL, 'h'},
		{"production", required_argument, NULL, 'p'},
		{"person", required_argument, NULL, 'u'},
		{"state", required_argument, NULL, 's'},
		{"runtime", required_argument, NULL, 'r'},
		{"locks", required_argument, NULL, 'l'},
		{NULL, 0, NULL, 0},
	};
	int option, locks = -1;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 'h':
			where.path = optarg;
			break;
		case 'p':
			where.production = optarg;
			break;
		case 'u':
			where.home = optarg;
			break;
		case 's':
			where.state_folder = optarg;
			break;
		case 'r':
			where.runtime_folder = optarg;
			break;
		case 'l':
			locks = open(optarg, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
			break;
		default:
			exit(64);
		}
	}
	return locks;
}

int main(int argc, char **argv)
{
	int locks = options_read(argc, argv), r;

	signal(SIGCHLD, SIG_IGN);
	srand((unsigned int)getpid());
	loop = uv_default_loop();
	r = homes_new(&homes, loop, locks);
	if (r < 0)
		die("homes_new", r);
	for (size_t i = 0; i < WAITERS; i++)
		trials[i].waiter = (struct home_waiter){.id = i,
							.called = on_called,
							.wiped = on_wiped};
	uv_timer_init(loop, &settle);
	uv_timer_init(loop, &race_timer);
	uv_poll_init(loop, &input, 0);
	uv_poll_start(&input, UV_READABLE, on_input);
	uv_run(loop, UV_RUN_DEFAULT);
	fd_close(locks);
	return 0;
}

/* SPDX-License-Identifier: MIT */
#include "queue/login_private.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/now.h"
#include "keeper/login_state.h"

/* How often those that wait look whether a lock has fallen, or a login has been mended. */
#define LOOK_MILLISECONDS 250

static int login_line_compare(const struct login_line *a, const struct login_line *b)
{
	return strcmp(a->harness, b->harness);
}

static int trial_login_compare(const struct trial_login *a, const struct trial_login *b)
{
	const struct trial *one = a->trial, *other = b->trial;

	if (one->priority != other->priority)
		return one->priority > other->priority ? -1 : 1;
	return one->id < other->id ? -1 : one->id > other->id;
}

RB_GENERATE(login_lines, login_line, by_name, login_line_compare)
RB_GENERATE(trial_logins, trial_login, by_turn, trial_login_compare)

/* --- Lines ---------------------------------------------------------------------------------------- */

void logins_init(Queue *queue)
{
	RB_INIT(&queue->logins.lines);
	queue->logins.folders = LOGIN_FOLDERS_INIT;
}

void logins_free(Queue *queue)
{
	queue->logins.memory = login_memory_free(queue->logins.memory);
	login_folders_done(&queue->logins.folders);
}

/* --- Lines ---------------------------------------------------------------------------------------- */

static void on_line_closed(uv_handle_t *handle)
{
	struct login_line *line = handle->data;

	free(line->known.reason);
	free(line->harness);
	free(line);
}

void login_line_drop(struct login_line *line)
{
	if (--line->references > 0)
		return;
	RB_REMOVE(login_lines, &line->queue->logins.lines, line);
	login_remember(&line->queue->logins.memory, line->harness, &line->known);
	uv_close((uv_handle_t *)&line->timer, on_line_closed);
}

static void on_look(uv_timer_t *timer)
{
	struct login_line *line = timer->data;

	login_call(line);
	sched_kick(line->queue);
}

struct login_line *login_line_find(Queue *queue, const char *harness)
{
	struct login_line key = {.harness = (char *)harness};

	return RB_FIND(login_lines, &queue->logins.lines, &key);
}

struct login_line *login_line_get(Queue *queue, const char *harness)
{
	struct login_line *line = login_line_find(queue, harness);

	if (!line) {
		line = calloc(1, sizeof(*line));
		if (!line || !(line->harness = strdup(harness))) {
			free(line);
			return NULL;
		}
		line->queue = queue;
		RB_INIT(&line->waiting);
		login_recall(queue->logins.memory, harness, &line->known);
		uv_timer_init(queue->loop, &line->timer);
		line->timer.data = line;
		/* Never what keeps the loop alive. */
		uv_unref((uv_handle_t *)&line->timer);
		RB_INSERT(login_lines, &queue->logins.lines, line);
	}
	line->references++;
	return line;
}

bool login_lease_get(struct trial_login *login)
{
	struct login_lease *lease = login->lease ?: calloc(1, sizeof(*lease));

	if (!lease || login->lease)
		return lease != NULL;
	lease->login = login;
	lease->fault = FAULT_INIT;
	lease->use_fd = lease->bind_fd = lease->lease_fd = -1;
	login->lease = lease;
	return true;
}

static void lease_put(struct trial_login *login)
{
	struct login_lease *lease = login->lease;

	if (!lease)
		return;
	login_drop_copy(login);
	login_drop_home(login);
	fd_close(lease->use_fd);
	free(lease->key);
	fault_done(&lease->fault);
	free(lease);
	login->lease = NULL;
}

static void leave_line(struct trial_login *login)
{
	struct login_line *line = login->line;

	if (line->called == login)
		line->called = NULL;
	if (line->at_home == login)
		line->at_home = NULL;
	if (!login->waiting)
		return;
	RB_REMOVE(trial_logins, &line->waiting, login);
	line->waiting_count--;
	login->waiting = false;
	if (line->waiting_count == 0)
		uv_timer_stop(&line->timer);
}

void login_let_go(struct trial_login *login)
{
	struct login_line *line = login->line;
	bool had = login->has || line->called == login || line->at_home == login;

	leave_line(login);
	lease_put(login);
	login->has = false;
	if (had)
		login_call(line);
}

/* --- Waiting -------------------------------------------------------------------------------------- */

void login_wait(struct trial_login *login)
{
	struct login_line *line = login->line;

	login->waiting = true;
	line->waiting_count++;
	RB_INSERT(trial_logins, &line->waiting, login);
	if (!uv_is_active((uv_handle_t *)&line->timer))
		uv_timer_start(&line->timer, on_look, LOOK_MILLISECONDS, LOOK_MILLISECONDS);
}

void login_call(struct login_line *line)
{
	struct trial_login *first = RB_MIN(trial_logins, &line->waiting);

	if (!first || line->called || line->checking ||
	    (line->at_home && trial_login_compare(line->at_home, first) < 0))
		return;
	leave_line(first);
	line->called = first;
	sched_add(line->queue, first->trial);
}

/* One that came in between is not served before those that wait. */
static bool others_first(const struct trial_login *login)
{
	struct login_line *line = login->line;
	const struct trial_login *first = RB_MIN(trial_logins, &line->waiting);

	return (first && trial_login_compare(first, login) < 0) ||
	       (line->called && trial_login_compare(line->called, login) < 0) ||
	       (line->at_home && trial_login_compare(line->at_home, login) < 0);
}

/* --- Taking --------------------------------------------------------------------------------------- */

int login_choose(const struct trial_login *login, struct session_login *ret_found,
		 const struct harness **ret_harness, struct fault *ret_fault)
{
	const struct plan_host *host = login->line->queue->host;
	int r;

	*ret_found = SESSION_LOGIN_INIT;
	if (!host->harnesses) {
		r = fault_void(ret_fault, CAUSE_session_unavailable,
			       "harness: none could be read; the daemon's log says why");
		return r < 0 ? r : FAULT;
	}
	r = harness_set_find(host->harnesses, login->line->harness, ret_harness, ret_fault);
	if (r == FAULT) {
		ret_fault->code = ERROR_unavailable;
		ret_fault->cause = CAUSE_session_unavailable;
	}
	return r ? r : session_login_find(ret_found, host, *ret_harness, ret_fault);
}

static bool is_marked(const Queue *queue, const char *key)
{
	struct message *message = NULL;
	struct login_result result;
	int r = login_suspect_read(queue->logins.folders.state, key, &message, &result);

	if (r == 0)
		message_free(message);
	return r != -ENOENT;
}

static bool is_known(const struct login_line *line, const struct harness *harness, const char *key,
		     const struct stat *st)
{
	const struct login_known *known = &line->known;

	return known->valid && known->serial == harness->serial && strcmp(known->key, key) == 0 &&
	       login_stat_same(&known->st, st) && known->marked == is_marked(line->queue, key);
}

enum login_taking login_judge(struct trial_login *login, const struct harness *harness,
			      const struct session_login *found, int folder_fd, const char *name,
			      bool *ret_held, struct fault *ret_fault)
{
	struct login_line *line = login->line;
	struct login_known *known = &line->known;
	char key[LOGIN_KEY_BYTES];
	struct stat st = {0};
	int r = login_key(folder_fd, name, key);

	free(login->lease->key);
	login->lease->key = r < 0 ? NULL : strdup(key);
	if (r == 0 && !login->lease->key)
		r = -ENOMEM;
	if (r < 0 || fstatat(folder_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
		session_login_refuse(harness, found->login, strerror(r < 0 ? -r : errno),
				     ret_fault);
		return LOGIN_DENIED;
	}
	if (line->checking)
		return LOGIN_WAITS;
	if (!is_known(line, harness, key, &st)) {
		known->valid = false;
		known->serial = harness->serial;
		known->st = st;
		known->marked = is_marked(line->queue, key);
		memcpy(known->key, key, sizeof(known->key));
		r = login_check(line, harness, found, folder_fd);
		if (r == 0)
			return LOGIN_WAITS;
		session_login_refuse(harness, found->login, strerror(-r), ret_fault);
		return LOGIN_DENIED;
	}
	if (known->state == LOGIN_good)
		return LOGIN_TAKEN;
	if (known->state == LOGIN_suspect) {
		*ret_held = true;
		return LOGIN_WAITS;
	}
	/* What may pass is not remembered. */
	if (known->state == LOGIN_failed)
		known->valid = false;
	session_login_refuse(harness, found->login, known->reason ? known->reason : "no login",
			     ret_fault);
	return LOGIN_DENIED;
}

/* A refresh token that can be used once is for one Trial at a time. */
static bool may_refresh(const struct trial_login *login, const struct harness_login *how)
{
	const struct login_known *known = &login->line->known;
	double ends;

	if (how->concurrency != HARNESS_CONCURRENCY_auto)
		return how->concurrency == HARNESS_CONCURRENCY_exclusive;
	/* A key of its vendor's. */
	if (!known->refreshable)
		return false;
	if (!known->ends || login->wall_seconds < 0)
		return true;
	ends = (double)known->ends_at / 1e6 - how->refresh_ahead;
	return ends <= (double)now_microseconds() / 1e6 + login->wall_seconds;
}

/*
 * Two Harnesses of one Trial may be signed in by one file: they have one lock, since a second one would
 * wait for the first. 1: taken; 0: no other of the Trial's has it; -EAGAIN.
 */
static int lock_beside(struct trial_login *login, bool alone, int *ret_fd)
{
	struct trial_login *other = login->trial ? login->trial->login : NULL;

	while (other &&
	       (other == login || !other->has || !other->lease || other->lease->use_fd < 0 ||
		strcmp(other->lease->key, login->lease->key) != 0))
		other = other->next;
	if (!other)
		return 0;
	/* One that fails may have lost what there was. */
	if (alone && !other->lease->alone && flock(other->lease->use_fd, LOCK_EX | LOCK_NB) < 0) {
		login_let_go(other);
		return -EAGAIN;
	}
	*ret_fd = fcntl(other->lease->use_fd, F_DUPFD_CLOEXEC, 3);
	if (*ret_fd < 0)
		return -EAGAIN;
	other->lease->alone = login->lease->alone = alone || other->lease->alone;
	login->lease->use_fd = login->lease->lease_fd = fd_steal(ret_fd);
	return 1;
}

static enum login_taking lock(struct trial_login *login, const struct harness *harness,
			      const struct session_login *found, struct fault *fault)
{
	bool alone = may_refresh(login, found->login);
	_cleanup_close_ int fd = -1;
	int r = lock_beside(login, alone, &fd);

	if (r != 0)
		return r > 0 ? LOGIN_TAKEN : LOGIN_WAITS;
	r = login_lock_open(login->line->queue->logins.folders.locks, login->lease->key,
			    LOGIN_LOCK_use, &fd);
	if (r == 0 && flock(fd, (alone ? LOCK_EX : LOCK_SH) | LOCK_NB) < 0)
		r = -errno;
	if (r == -EWOULDBLOCK)
		return LOGIN_WAITS;
	if (r < 0) {
		session_login_refuse(harness, found->login, strerror(-r), fault);
		return LOGIN_DENIED;
	}
	login->lease->use_fd = login->lease->lease_fd = fd_steal(&fd);
	login->lease->alone = alone;
	return LOGIN_TAKEN;
}

static enum login_taking take_file(struct trial_login *login, const struct harness *harness,
				   const struct session_login *found, bool *ret_held,
				   struct fault *fault)
{
	enum login_taking taking = login_judge(login, harness, found, found->place.folder_fd,
					       found->place.name, ret_held, fault);

	return taking == LOGIN_TAKEN ? lock(login, harness, found, fault) : taking;
}

/* at_once: a home is not tried, since it has to be wiped first. */
static enum login_taking take(struct trial_login *login, bool at_once, bool *ret_held)
{
	_cleanup_(session_login_done) struct session_login found = SESSION_LOGIN_INIT;
	const struct harness *harness;
	Queue *queue = login->line->queue;
	struct fault *fault = &login->lease->fault;
	int r = login_choose(login, &found, &harness, fault);

	if (r == 0 && found.login->kind != HARNESS_LOGIN_env &&
	    found.login->kind != HARNESS_LOGIN_none)
		r = login_folders_open(&queue->logins.folders, queue->host, fault);
	if (r == 0 && at_once && found.login->kind == HARNESS_LOGIN_home)
		return LOGIN_WAITS;
	if (r == 0) {
		login->lease->kind = found.login->kind;
		if (login->lease->kind != HARNESS_LOGIN_home)
			login_drop_home(login);
	}
	if (r != 0) {
		login->lease->denied = r;
		return LOGIN_DENIED;
	}
	switch (login->lease->kind) {
	case HARNESS_LOGIN_home:
		return login_take_home(login, harness, &found, ret_held, fault);
	case HARNESS_LOGIN_file:
	case HARNESS_LOGIN_folder:
		return take_file(login, harness, &found, ret_held, fault);
	default:
		return LOGIN_TAKEN;
	}
}

/* Denied: the Trial starts, and is void with the reason. */
static void settle(struct trial_login *login, enum login_taking taking)
{
	struct login_lease *lease = login->lease;

	login->has = true;
	if (taking == LOGIN_DENIED && lease->denied == 0)
		lease->denied = lease->fault.message ? FAULT : -ENOMEM;
	/* The next may be one that can have it beside this one. */
	login_call(login->line);
}

static void wait(struct trial_login *login)
{
	struct login_line *line = login->line;
	struct login_lease *lease = login->lease;

	if (!lease || !lease->at_home.waiting) {
		login_wait(login);
		/* Nothing is held meanwhile, but for a home that is being looked at. */
		if (lease && !lease->home)
			lease_put(login);
		return;
	}
	if (!line->at_home || trial_login_compare(login, line->at_home) < 0)
		line->at_home = login;
}

static void set_held(struct login_line *line, bool held)
{
	if (held && !line->held)
		line->held_at = now_microseconds();
	line->held = held;
}

bool login_take_one(struct trial_login *login)
{
	bool held = false, has_home;
	enum login_taking taking;

	if (login->has)
		return true;
	has_home = login->lease && login->lease->at_home.has;
	leave_line(login);
	/* One that has the home already is what others wait for. */
	if (!has_home && others_first(login)) {
		wait(login);
		login_call(login->line);
		return false;
	}
	if (!login_lease_get(login)) {
		wait(login);
		return false;
	}
	taking = take(login, false, &held);
	set_held(login->line, held);
	if (taking == LOGIN_WAITS) {
		wait(login);
		return false;
	}
	settle(login, taking);
	return true;
}

bool login_take_one_at_once(struct trial_login *login)
{
	const struct login_line *line = login->line;
	enum login_taking taking;
	bool held = false;

	if (!RB_EMPTY(&line->waiting) || line->called || line->at_home || !login_lease_get(login))
		return false;
	taking = take(login, true, &held);
	if (taking == LOGIN_WAITS) {
		lease_put(login);
		return false;
	}
	settle(login, taking);
	return true;
}

void login_wait_held(struct trial_login *login)
{
	login_let_go(login);
	set_held(login->line, true);
	wait(login);
}

/* Of one that has none yet. The lock of a home is the home's own, and comes after those of files. */
static int find_rank(const struct trial_login *login, struct login_rank *ret_rank)
{
	_cleanup_(session_login_done) struct session_login found = SESSION_LOGIN_INIT;
	_cleanup_fault_ struct fault ignored = FAULT_INIT;
	Queue *queue = login->line->queue;
	_cleanup_close_ int home = -1;
	_cleanup_free_ char *path = NULL;
	const struct harness *harness;
	const char *name = NULL;
	struct stat st;
	int fd = -1, r;

	r = login_choose(login, &found, &harness, &ignored);
	if (r == 0 && found.login->kind == HARNESS_LOGIN_home) {
		path = session_login_path(queue->host, found.login->home);
		home = path ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
		name = login_copy_name(found.login);
		fd = home;
	} else if (r == 0 && (found.login->kind == HARNESS_LOGIN_file ||
			      found.login->kind == HARNESS_LOGIN_folder)) {
		name = found.place.name;
		fd = found.place.folder_fd;
	}
	if (fd < 0)
		return -ENOENT;
	ret_rank->text[0] = home >= 0 ? 'h' : 'f';
	r = login_key(fd, name, ret_rank->text + 1);
	if (r == 0 && fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    login_folders_open(&queue->logins.folders, queue->host, &ignored) == 0)
		ret_rank->suspect = login->line->known.state == LOGIN_suspect &&
				    is_known(login->line, harness, ret_rank->text + 1, &st);
	return r;
}

void login_rank(struct trial_login *login, struct login_rank *ret_rank)
{
	const struct login_lease *lease = login->lease;

	ret_rank->suspect = false;
	ret_rank->text[0] = '\0';
	if (!login->has) {
		if (find_rank(login, ret_rank) < 0)
			ret_rank->text[0] = '\0';
	} else if (lease && lease->key && (lease->use_fd >= 0 || lease->home)) {
		snprintf(ret_rank->text, sizeof(ret_rank->text), "%c%s", lease->home ? 'h' : 'f',
			 lease->key);
	}
}

void login_changed(Queue *queue, const char *harness)
{
	struct login_line *line = login_line_find(queue, harness);

	login_forget(queue->logins.memory, harness);
	if (!line)
		return;
	line->known.valid = false;
	login_call(line);
	sched_kick(queue);
}

bool login_at_home(const struct trial_login *login)
{
	return login->lease && login->lease->at_home.waiting;
}

bool login_is_waiting(const struct trial_login *login)
{
	return login->waiting || login_at_home(login);
}

/* SPDX-License-Identifier: MIT */
#include "queue/login_view.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#include "keeper/login_state.h"
#include "base/list.h"
#include "plan/credentials.h"
#include "queue/home_group.h"
#include "queue/login_private.h"

/*
 * In three steps, since no one place may see it all. The loop finds each way's file by descriptor,
 * with nothing of its content read, and makes an order of it. A thread has tasks look at the contents
 * (login_order.h) and reads what keepers left of it in the state folder. Who waits and who has it the
 * loop tells again when it answers (serve/logins.c).
 */
#define OWN_LOCK_TRIES 1000 /* the queue has a home's lock for moments, to see if it is mended */
#define MOMENT_NANOSECONDS (5 * 1000 * 1000)

static void wait_a_moment(void)
{
	const struct timespec moment = {.tv_nsec = MOMENT_NANOSECONDS};

	nanosleep(&moment, NULL);
}

/* --- On the loop: where they are -------------------------------------------------------------------- */

/* That it is in the way of a launch. Takes over what the fault says. */
static void way_fault(struct login_way *way, struct fault *fault)
{
	way->faulty = true;
	way->reason = steal(&fault->message);
	way->hint = steal(&fault->hint);
}

static void way_changed(struct login_way *way, int folder_fd, const char *name)
{
	struct stat st;

	if (fstatat(folder_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	way->present = true;
	way->changed_at = (uint64_t)st.st_mtim.tv_sec * 1000000u +
			  (uint64_t)st.st_mtim.tv_nsec / 1000u;
}

static int way_order(struct login_way *way, Queue *queue, const struct harness *harness,
		     const struct session_login *found)
{
	const struct login_trial nobody = {.seconds = -1, .folder_fd = -1, .copy_fd = -1};
	bool home = way->kind == HARNESS_LOGIN_home;
	int folder = home ? way->folder.fd : found->place.folder_fd;
	int r = login_order_make(&way->order, &queue->logins.folders, harness, found,
				 home ? folder : -1, &nobody);

	if (r < 0)
		return r;
	way->ordered = true;
	way_changed(way, folder, home ? login_copy_name(found->login) : found->place.name);
	return 0;
}

/* Not by one that waits, and only has its login looked at. */
static bool used_by_trial(Queue *queue, const char *harness, const struct home_status *home)
{
	const struct trial *trial = queue_find(queue, home->trial);

	if (!home->path || home->state == HOME_wiping)
		return home->path != NULL;
	if (home->state != HOME_used || !trial)
		return false;
	LOGIN_EACH(login, trial)
	if (login->has && strcmp(login->line->harness, harness) == 0)
		return true;
	return false;
}

/* One that a Trial of ours has is left alone: what it makes of it is not over. */
static int find_home(struct login_way *way, Queue *queue, const struct harness *harness,
		     const struct session_login *found, struct fault *fault)
{
	struct login_line_status status;
	int r;

	way->home = session_login_path(queue->host, found->login->home);
	if (!way->home)
		return -ENOMEM;
	login_line_look(queue, way->harness, &status);
	if (used_by_trial(queue, way->harness, &status.home)) {
		way->present = way->in_use = true;
		way->trial = status.home.trial;
		return 0;
	}
	r = login_home_folder(queue, harness, found->login, &way->folder, fault);
	return r == 0 ? way_order(way, queue, harness, found) : r;
}

static int find_file(struct login_way *way, Queue *queue, const struct harness *harness,
		     const struct session_login *found, struct fault *fault)
{
	int r;

	way->path = found->path ? strdup(found->path)
				: session_login_path(queue->host, found->login->file);
	if (!way->path)
		return -ENOMEM;
	r = login_folders_open(&queue->logins.folders, queue->host, fault);
	if (r == 0 && way->kind == HARNESS_LOGIN_home)
		return find_home(way, queue, harness, found, fault);
	if (r == 0 && found->place.folder_fd >= 0)
		return way_order(way, queue, harness, found);
	return r;
}

static int find_key(struct login_way *way, const struct plan_host *host,
		    const struct session_login *found)
{
	way->path = session_login_path(host, "~/" CREDENTIALS_FILE);
	way->credential = strdup(found->login->credential);
	if (way->path)
		way_changed(way, AT_FDCWD, way->path);
	if (found->warning)
		way->reason = strdup(found->warning);
	return way->path && way->credential && (!found->warning || way->reason) ? 0 : -ENOMEM;
}

/* 0 or -errno; there: a launch would use it, or be refused for it. */
static int find_way(struct login_way *way, Queue *queue, const struct harness *harness,
		    const struct harness_login *login, bool *ret_there)
{
	_cleanup_(session_login_done) struct session_login found = SESSION_LOGIN_INIT;
	_cleanup_fault_ struct fault fault = FAULT_INIT;
	int r;

	way->kind = (int)login->kind;
	for (size_t i = 0; i < login->sign_in.count; i++)
		if (text_list_add(&way->sign_in, login->sign_in.items[i]) < 0)
			return -ENOMEM;
	r = session_login_look(&found, queue->host, harness, login, ret_there, &fault);
	if (r < 0)
		return r;
	found.login = login;
	if (r == FAULT)
		way_fault(way, &fault);
	r = 0;
	if (login->kind == HARNESS_LOGIN_env)
		r = find_key(way, queue->host, &found);
	else if (login->kind != HARNESS_LOGIN_none)
		r = find_file(way, queue, harness, &found, &fault);
	if (r == FAULT && !way->faulty)
		way_fault(way, &fault);
	way->present = way->present || (way->faulty && *ret_there);
	/* The credentials file may be there without the key. */
	if (login->kind == HARNESS_LOGIN_env || login->kind == HARNESS_LOGIN_none)
		way->present = *ret_there;
	return r < 0 ? r : 0;
}

static void way_init(struct login_way *way)
{
	*way = (struct login_way){.kind = -1,
				  .order = LOGIN_ORDER_INIT,
				  .folder = HOME_FOLDER_INIT};
}

static int find_ways(struct login_ways *ways, Queue *queue, const struct harness_entry *entry)
{
	const struct harness *harness = entry->harness;
	struct login_way *way;
	bool used = false, there;

	for (size_t i = 0; i < (harness ? harness->login_count : 1); i++) {
		int r;

		way = &ways->items[ways->count++];
		way_init(way);
		way->harness = strdup(entry->name);
		if (!way->harness)
			return -ENOMEM;
		if (!harness) {
			way->faulty = true;
			way->reason = strdup(entry->fault.message ? entry->fault.message : "");
			way->hint = entry->fault.hint ? strdup(entry->fault.hint) : NULL;
			return way->reason ? 0 : -ENOMEM;
		}
		r = find_way(way, queue, harness, &harness->logins[i], &there);
		if (r < 0)
			return r;
		way->used = there && !used;
		used = used || there;
	}
	return 0;
}

int login_ways_find(Queue *queue, const char *name, struct login_ways *ret, struct fault *ret_fault)
{
	const struct harness_set *set = queue->host->harnesses;
	const struct harness *harness;
	size_t most = 0;
	int r = 0;

	*ret = (struct login_ways){.locks_fd = -1};
	if (!set)
		return fault_set(ret_fault, ERROR_unavailable,
				 "no Harness could be read; the daemon's log says why");
	if (name)
		r = harness_set_find(set, name, &harness, ret_fault);
	/* One whose file is at fault is there, and tells it. */
	if (r == FAULT && ret_fault->code == ERROR_invalid) {
		ret_fault->code = ERROR_not_found;
		return FAULT;
	}
	for (size_t i = 0; i < set->count; i++)
		most += set->entries[i].harness ? set->entries[i].harness->login_count : 1;
	ret->items = calloc(most + 1, sizeof(*ret->items));
	ret->keeper = strdup(queue->host->keeper);
	r = ret->items && ret->keeper ? 0 : -ENOMEM;
	for (size_t i = 0; r == 0 && i < set->count; i++)
		if (!name || strcmp(set->entries[i].name, name) == 0)
			r = find_ways(ret, queue, &set->entries[i]);
	ret->locks_fd = queue->logins.folders.locks;
	if (r < 0)
		login_ways_done(ret);
	return r;
}

static void way_done(struct login_way *way)
{
	free(way->harness);
	free(way->path);
	free(way->home);
	free(way->credential);
	free(way->reason);
	free(way->hint);
	text_list_done(&way->sign_in);
	login_order_done(&way->order);
	home_folder_done(&way->folder);
	for (size_t i = 0; i < ARRAY_SIZE(way->messages); i++)
		message_free(way->messages[i]);
}

void login_ways_done(struct login_ways *ways)
{
	for (size_t i = 0; ways->items && i < ways->count; i++)
		way_done(&ways->items[i]);
	free(ways->items);
	free(ways->keeper);
	*ways = (struct login_ways){.locks_fd = -1};
}

bool login_turn(const struct trial *trial, size_t index, struct login_turn *ret)
{
	const struct trial_login *login = trial->login;

	while (login && index-- > 0)
		login = login->next;
	if (!login)
		return false;
	*ret = (struct login_turn){
		.harness = login->line->harness,
		.kind = login->lease ? login->lease->kind : HARNESS_LOGIN_none,
		.waits = login_is_waiting(login),
		.has = login->has,
	};
	return true;
}

/* --- On a thread: what is in them --------------------------------------------------------------------- */

/* Whether somebody has it but the queue, which lets go of it when it has looked at its login. */
static bool has_other(struct login_way *way)
{
	return home_holder_find(&way->folder, true, &way->holder) == 1 &&
	       way->holder.pid != getpid() && way->holder.taken_by != getpid();
}

static bool home_is_used(struct login_way *way)
{
	for (int i = 0; i < OWN_LOCK_TRIES; i++) {
		if (has_other(way))
			return true;
		if (!way->holder.pid && !way->holder.taken_by)
			return false;
		wait_a_moment();
	}
	return true;
}

static bool is_kept(const struct login_way *way, enum login_kept kept)
{
	return login_kept_there(way->order.descriptors[LOGIN_FD_STATE], way->order.key, kept);
}

static void look(struct login_way *way, const char *keeper)
{
	int state = way->order.descriptors[LOGIN_FD_STATE];
	bool good;

	if (login_suspect_read(state, way->order.key, &way->messages[0], &way->mark) < 0)
		way->mark = (struct login_result){0};
	if (login_refreshed_read(state, way->order.key, &way->messages[1], &way->refreshed) < 0)
		way->refreshed = (struct login_result){0};
	if (way->folder.fd >= 0 && home_is_used(way)) {
		way->in_use = true;
		return;
	}
	way->result = login_order_run(&way->order, keeper, "check", &way->messages[2], &way->told);
	good = way->result == 0 && strcmp(way->told.state, login_state_name(LOGIN_good)) == 0;
	way->restorable = (!good && is_kept(way, LOGIN_KEPT_good)) ||
			  is_kept(way, LOGIN_KEPT_previous);
}

void login_ways_look(struct login_ways *ways)
{
	for (size_t i = 0; i < ways->count; i++)
		if (ways->items[i].ordered)
			look(&ways->items[i], ways->keeper);
}

/* --- On a thread: the way back ------------------------------------------------------------------------ */

static int refuse_used(const struct login_way *way, struct fault *fault)
{
	const struct home_holder *holder = &way->holder;

	if (holder->pid)
		return fault_set(fault, ERROR_refused,
				 "the home of %s is in use: %s (pid %d) holds it", way->harness,
				 holder->command[0] ? holder->command : "a process",
				 (int)holder->pid);
	if (!way->trial)
		return fault_set(fault, ERROR_refused, "the home of %s is in use", way->harness);
	fault_set(fault, ERROR_refused,
		  "the home of %s is in use by Trial %" PRIu64
		  "; the login that it leaves there is looked at when it ends",
		  way->harness, way->trial);
	return fault_hint(fault, "trialctl wait %" PRIu64, way->trial);
}

/* The home's own flock, for as long as it takes; none for other logins. */
static int lock_home(struct login_way *way, int locks_fd, int *ret_fd, struct fault *fault)
{
	int fd;

	*ret_fd = -1;
	if (way->folder.fd < 0)
		return 0;
	fd = openat(way->folder.fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	for (int i = 0; i < OWN_LOCK_TRIES; i++) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0 &&
		    !home_group_is_populated(locks_fd, &way->folder)) {
			*ret_fd = fd;
			return 0;
		}
		flock(fd, LOCK_UN);
		if (has_other(way))
			break;
		wait_a_moment();
	}
	close(fd);
	return refuse_used(way, fault);
}

/* The one that is suspect; else the preferred one. */
static struct login_way *to_restore(struct login_ways *ways)
{
	struct login_way *chosen = NULL;

	for (size_t i = 0; i < ways->count; i++) {
		struct login_way *way = &ways->items[i];

		if (!way->ordered && !way->in_use)
			continue;
		if (way->ordered && is_kept(way, LOGIN_KEPT_suspect))
			return way;
		chosen = chosen ? chosen : way;
	}
	return chosen;
}

static int refuse_none(const struct login_ways *ways, struct fault *fault)
{
	const struct login_way *way = ways->count > 0 ? &ways->items[0] : NULL;

	for (size_t i = 0; i < ways->count; i++)
		if (ways->items[i].kind == HARNESS_LOGIN_file ||
		    ways->items[i].kind == HARNESS_LOGIN_folder ||
		    ways->items[i].kind == HARNESS_LOGIN_home || ways->items[i].kind < 0)
			way = &ways->items[i];
	if (way && way->reason && way->kind != HARNESS_LOGIN_env) {
		fault_set(fault, ERROR_refused, "%s: %s", way->harness, way->reason);
		return way->hint ? fault_hint(fault, "%s", way->hint) : FAULT;
	}
	if (way && way->kind == HARNESS_LOGIN_env) {
		fault_set(fault, ERROR_refused,
			  "%s is signed in by a key, which no Trial can damage; it is %s in %s",
			  way->harness, way->credential, way->path);
		return fault_hint(fault, "trialctl logins %s", way->harness);
	}
	fault_set(fault, ERROR_refused, "%s has no login that is kept",
		  way ? way->harness : "this Harness");
	return fault_hint(fault, "trialctl logins");
}

static int refuse_good(const struct login_way *way, struct fault *fault)
{
	fault_set(fault, ERROR_refused, "%s: its login is good and not suspect, and stays",
		  way->harness);
	if (!is_kept(way, LOGIN_KEPT_good) && !is_kept(way, LOGIN_KEPT_previous))
		return fault_hint(fault, "trialctl logins %s", way->harness);
	return fault_hint(fault,
			  "to go back to the one before it all the same: trialctl login restore "
			  "--previous %s",
			  way->harness);
}

static bool is_good(const struct login_result *told)
{
	return strcmp(told->state, login_state_name(LOGIN_good)) == 0;
}

/* Whoever asks a second time must not lose the one that the first time brought back. */
static int refuse_to_go_back(const struct login_way *way, const char *keeper, struct fault *fault)
{
	struct message *message = NULL;
	struct login_result told;
	int r = login_order_run(&way->order, keeper, "check", &message, &told);

	if (r == 0 && is_good(&told))
		r = refuse_good(way, fault);
	message_free(message);
	return r;
}

static int restore(struct login_way *way, const char *keeper, bool previous, struct fault *fault)
{
	struct message *message = NULL;
	struct login_result told;
	int r = previous ? 0 : refuse_to_go_back(way, keeper, fault);

	if (r == 0)
		r = login_order_run(&way->order, keeper, "restore", &message, &told);
	if (r != 0)
		return r;
	way->restored_from = told.refreshed_at;
	if (!is_good(&told)) {
		fault_set(fault, ERROR_refused, "%s: %s", way->harness,
			  told.reason ? told.reason : told.state);
		r = fault_hint(fault, "trialctl login %s", way->harness);
	}
	message_free(message);
	return r;
}

int login_ways_restore(struct login_ways *ways, bool previous, struct fault *ret_fault)
{
	struct login_way *way = to_restore(ways);
	_cleanup_close_ int lock = -1;
	int r;

	if (!way)
		return refuse_none(ways, ret_fault);
	if (way->in_use)
		return refuse_used(way, ret_fault);
	r = lock_home(way, ways->locks_fd, &lock, ret_fault);
	return r == 0 ? restore(way, ways->keeper, previous, ret_fault) : r;
}

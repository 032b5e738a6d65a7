/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Two queues of one person with the real leases, and all around them that the test moves by itself:
 * what has a turn is decided here as sched.c does, and a login is looked at by a table. For
 * test_login_sets alone: what is defined here takes the place of trial.c, sched.c and of the tasks.
 */
#include <check.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/list.h"
#include "base/now.h"
#include "keeper/login_state.h"
#include "launch/task.h"
#include "queue/login_private.h"
#include "queue/look.h"
#include "queue/repository.h"

#define QUEUES 2
#define TRIALS 24
#define HARNESSES 11
#define AT_RANDOM 10 /* the last one is for a test of its own */
/* Of TRIALS random sets each. Tasks of a program with sanitizers take their time. */
#ifdef __SANITIZE_ADDRESS__
#define WORLDS 10
#else
#define WORLDS 50
#endif
#define SLOTS 4
#define PATIENCE_MICROSECONDS (120u * 1000000u) /* without anything that happens */

/* Two names for one file stand in opposite orders beside those of another: a and d, b and c. */
static const struct {
	const char *name;
	const char *kind;
	const char *at;
} harnesses[HARNESSES] = {
	{"a", "file", "one"},	{"b", "file", "two"},	{"c", "folder", "two"},
	{"d", "folder", "one"}, {"e", "file", "three"}, {"f", "home", "six"},
	{"g", "file", "four"},	{"h", "home", "seven"}, {"i", "folder", "five"},
	{"j", "file", "eight"}, {"k", "home", "six"},
};

static char root[] = "/tmp/test-login-sets-XXXXXX";
static struct config config;
static struct plan_host host = {.config = &config, .home = root};
static uv_loop_t loop;
static Queue queues[QUEUES];
static struct trial trials[TRIALS];
static bool over[TRIALS];
static const char *wanted[HARNESSES];
static size_t wanted_count;
static const char *suspect; /* the file whose login is */
static unsigned int chance_state = 1;

static unsigned int chance(unsigned int of)
{
	chance_state = chance_state * 1103515245u + 12345u;
	return (chance_state >> 16) % of;
}

/* --- In the place of trial.c, sched.c, and of the tasks ------------------------------------------- */

static int compare_id(const struct trial *a, const struct trial *b)
{
	return a->id < b->id ? -1 : a->id > b->id;
}

static int compare_turn(const struct trial *a, const struct trial *b)
{
	if (a->priority != b->priority)
		return a->priority > b->priority ? -1 : 1;
	return compare_id(a, b);
}

int trial_compare_id(const struct trial *a, const struct trial *b);
int trial_compare_turn(const struct trial *a, const struct trial *b);

int trial_compare_id(const struct trial *a, const struct trial *b)
{
	return compare_id(a, b);
}

int trial_compare_turn(const struct trial *a, const struct trial *b)
{
	return compare_turn(a, b);
}

RB_GENERATE(trials_by_id, trial, by_id, trial_compare_id)
RB_GENERATE(trials_by_turn, trial, by_turn, trial_compare_turn)

int login_wanted(const struct launch_request *request, const struct trial_facts *facts,
		 struct text_list *ret_names)
{
	int r = 0;

	(void)request;
	(void)facts;
	*ret_names = (struct text_list){0};
	for (size_t i = 0; r == 0 && i < wanted_count; i++)
		r = text_list_add(ret_names, wanted[i]);
	return r;
}

/* Which login it is, a keeper_login says. */
int task_run(const struct task_order *order, char **ret_answer, size_t *ret_size)
{
	struct keeper_login about;
	struct message *message;
	struct login_result result = {.has = {.state = true, .refreshable = true},
				      .state = login_state_name(LOGIN_good),
				      .refreshable = true};
	msgpack_sbuffer buffer;
	int r = login_about_read(order->descriptors[LOGIN_FD_ABOUT], &message, &about);

	if (r < 0)
		return r;
	if (suspect && strcmp(about.harness, suspect) == 0)
		result.state = login_state_name(LOGIN_suspect);
	msgpack_sbuffer_init(&buffer);
	r = login_result_pack(&buffer, &result);
	message_free(message);
	*ret_size = buffer.size;
	*ret_answer = msgpack_sbuffer_release(&buffer);
	return r;
}

void sched_add(Queue *queue, struct trial *trial)
{
	ck_assert(!trial->in_turn && !trial->slot);
	trial->in_turn = true;
	RB_INSERT(trials_by_turn, &queue->by_turn, trial);
}

void sched_kick(Queue *queue)
{
	(void)queue;
}

void sched_pause(Queue *queue, const char *reason)
{
	ck_abort_msg("paused for %s, of %zu", reason, queue->trials);
}

struct trial *queue_first(Queue *queue)
{
	return RB_MIN(trials_by_id, &queue->by_id);
}

struct trial *queue_next(struct trial *trial)
{
	return RB_NEXT(trials_by_id, &trial->queue->by_id, trial);
}

struct trial *queue_find(Queue *queue, uint64_t id)
{
	struct trial key = {.id = id};

	return RB_FIND(trials_by_id, &queue->by_id, &key);
}

void queue_call_begun(Queue *queue)
{
	queue->under_way++;
}

void queue_call_ended(Queue *queue)
{
	queue->under_way--;
}

void trial_end_recorded(struct trial *trial)
{
	ck_abort_msg("%llu ends", (unsigned long long)trial->id);
}

void trial_read_again(struct trial *trial)
{
	ck_abort_msg("%llu is read", (unsigned long long)trial->id);
}

/* --- The world ------------------------------------------------------------------------------------ */

static char *path_of(const char *format, const char *name)
{
	static char paths[8][256];
	static unsigned int next;
	char *path = paths[next++ % 8];
	int size = snprintf(path, 256, "%s/", root);

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	snprintf(path + size, 256 - (size_t)size, format, name, name);
#pragma GCC diagnostic pop
	return path;
}

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "we");

	ck_assert_ptr_nonnull(file);
	fputs(text, file);
	ck_assert_int_eq(fclose(file), 0);
	chmod(path, 0600);
}

static void write_harness(size_t i)
{
	const char *name = harnesses[i].name, *at = harnesses[i].at, *kind = harnesses[i].kind;
	FILE *file = fopen(path_of("harness.d/%s.harness", name), "we");

	ck_assert_ptr_nonnull(file);
	fprintf(file, "[Harness]\nProduct=%s\nExecutable=%s\nRelease=file\n", name, name);
	fprintf(file, "[Login %s]\nFile=~/%s%s/auth.json\nSignIn=%s login\n", kind, at,
		strcmp(kind, "home") == 0 ? "-trials" : "", name);
	fprintf(file, "Concurrency=exclusive\nSaves=%s\n",
		strcmp(kind, "file") == 0 ? "in-place" : "rename");
	mkdir(path_of("%s", at), 0700);
	write_file(path_of("%s/auth.json", at), "{}");
	if (strcmp(kind, "folder") == 0)
		fprintf(file, "Target=~/%s/login\n", at);
	if (strcmp(kind, "home") == 0) {
		fprintf(file, "Target=~/%s\nHome=~/%s-trials\nKeep=auth.json\n", at, at);
		mkdir(path_of("%s-trials", at), 0700);
		write_file(path_of("%s-trials/auth.json", at), "{}");
	}
	fputs("[Session]\nArguments={extra} {prompt}\nPrompt=stdin\nPromptStdin=-\n", file);
	ck_assert_int_eq(fclose(file), 0);
}

static void open_queue(Queue *queue)
{
	*queue = (Queue){.loop = &loop, .host = &host, .hold = {.told = -1}};
	queue->trials_fd = open(path_of("%s", "trials"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	RB_INIT(&queue->by_id);
	RB_INIT(&queue->by_turn);
	RB_INIT(&queue->grounds);
	logins_init(queue);
}

static void setup(void)
{
	_cleanup_fault_ struct fault fault = FAULT_INIT;

	ck_assert_ptr_nonnull(mkdtemp(root));
	mkdir(path_of("%s", "harness.d"), 0700);
	mkdir(path_of("%s", "trials"), 0700);
	mkdir(path_of("%s", "repository"), 0700);
	mkdir(path_of("%s", "state"), 0700);
	for (size_t i = 0; i < HARNESSES; i++)
		write_harness(i);
	host.uid = getuid();
	host.gid = getgid();
	host.state_folder = strdup(path_of("%s", "state"));
	host.runtime_folder = strdup(path_of("%s", "run"));
	host.config_folder = strdup(path_of("%s", "conf"));
	host.keeper = strdup("none");
	ck_assert_int_eq(
		harness_set_load(&host.harnesses, path_of("%s", "harness.d"), NULL, &fault), 0);
	for (size_t i = 0; i < HARNESSES; i++) {
		const struct harness *harness;
		int r = harness_set_find(host.harnesses, harnesses[i].name, &harness, &fault);

		ck_assert_msg(r == 0, "%s", fault.message);
	}
	ck_assert_int_eq(uv_loop_init(&loop), 0);
	for (size_t i = 0; i < QUEUES; i++)
		open_queue(&queues[i]);
	suspect = NULL;
}

static void on_homes_closed(void *context)
{
	(void)context;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	(void)st;
	(void)kind;
	(void)ftw;
	return remove(path);
}

static void teardown(void)
{
	for (size_t i = 0; i < QUEUES; i++) {
		ck_assert(RB_EMPTY(&queues[i].logins.lines));
		if (queues[i].logins.homes)
			homes_close(queues[i].logins.homes, on_homes_closed, NULL);
	}
	uv_run(&loop, UV_RUN_DEFAULT);
	ck_assert_int_eq(uv_loop_close(&loop), 0);
	for (size_t i = 0; i < QUEUES; i++) {
		logins_free(&queues[i]);
		close(queues[i].trials_fd);
	}
	host.harnesses = harness_set_free(host.harnesses);
	free(host.state_folder);
	free(host.runtime_folder);
	free(host.config_folder);
	free(host.keeper);
	nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	strcpy(root + strlen(root) - 6, "XXXXXX");
}

/* Of the Harnesses whose names these letters are. */
static struct trial *make_trial(size_t at, Queue *queue, const char *letters, bool writes)
{
	struct launch_request request = {.repository = writes ? path_of("%s", "repository") : NULL};
	struct trial *trial = &trials[at];
	int r;

	wanted_count = 0;
	for (size_t i = 0; i < HARNESSES; i++)
		if (strchr(letters, harnesses[i].name[0]))
			wanted[wanted_count++] = harnesses[i].name;
	*trial = (struct trial){
		.queue = queue, .id = at + 1, .state = STATE_queued, .listed = true};
	login_attach(trial, login_get(queue, &config, &request, NULL, &r));
	ck_assert_int_eq(r, 0);
	ck_assert_int_eq(repository_get(queue, &request, &trial->repository), 0);
	RB_INSERT(trials_by_id, &queue->by_id, trial);
	queue->trials++;
	over[at] = false;
	return trial;
}

static void end_trial(struct trial *trial)
{
	Queue *queue = trial->queue;

	if (trial->in_turn)
		RB_REMOVE(trials_by_turn, &queue->by_turn, trial);
	trial->in_turn = false;
	queue->slots_used -= trial->slot;
	trial->slot = false;
	repository_release(trial);
	login_release(trial);
	repository_put(queue, trial->repository);
	login_put(trial->login);
	trial->login = NULL;
	RB_REMOVE(trials_by_id, &queue->by_id, trial);
	queue->trials--;
	over[trial->id - 1] = true;
}

/* As sched_claim. True: something started. */
static bool claim(Queue *queue)
{
	bool started = false;
	struct trial *trial;

	while (queue->slots_used < SLOTS && (trial = RB_MIN(trials_by_turn, &queue->by_turn))) {
		trial->in_turn = false;
		RB_REMOVE(trials_by_turn, &queue->by_turn, trial);
		if (!repository_take(trial)) {
			login_release(trial);
			continue;
		}
		if (!login_take(trial)) {
			repository_release(trial);
			continue;
		}
		trial->slot = started = true;
		queue->slots_used++;
	}
	return started;
}

/* What each line's clock would do, without waiting for it. */
static void look_again(void)
{
	struct login_line *line;

	for (size_t i = 0; i < QUEUES; i++)
		RB_FOREACH(line, login_lines, &queues[i].logins.lines)
	login_call(line);
}

static bool turn(void)
{
	bool moved = false;

	uv_run(&loop, UV_RUN_NOWAIT);
	look_again();
	for (size_t i = 0; i < QUEUES; i++)
		moved = claim(&queues[i]) || moved;
	return moved;
}

/* Each condition comes of what a thread does meanwhile. */
#define TURN_UNTIL(condition)                                                                      \
	do {                                                                                       \
		uint64_t turning_since = now_microseconds();                                       \
                                                                                                   \
		while (!(condition)) {                                                             \
			turn();                                                                    \
			ck_assert_msg(now_microseconds() - turning_since < PATIENCE_MICROSECONDS,  \
				      "never: " #condition);                                       \
		}                                                                                  \
	} while (0)

static void turn_until_it_starts(const struct trial *trial)
{
	TURN_UNTIL(trial->slot);
}

static struct trial_login *login_of(const struct trial *trial, const char *harness)
{
	LOGIN_EACH(login, trial)
	if (strcmp(login->line->harness, harness) == 0)
		return login;
	ck_abort_msg("%s", harness);
}

static size_t held_by(const struct trial *trial)
{
	size_t count = 0;

	LOGIN_EACH(login, trial)
	count += login->has ||
		 (login->lease && (login->lease->use_fd >= 0 || login->lease->at_home.has));
	return count;
}

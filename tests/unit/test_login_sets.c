/* SPDX-License-Identifier: MIT */

/*
 * Trials that want several logins, on the real leases (queue/login*.c, home.c, repository.c), with two
 * queues in one process, as two daemons of one person would have them: flock(2) keeps them apart by
 * open files. What has a turn is decided here as sched.c does; a login is looked at by a table.
 *
 * What must hold at every step: whoever waits has no lock that comes later in the order than the one it
 * waits for, and none at all while it waits for a repository; an exclusive login is one Trial's. At the
 * end each Trial has had all that it wanted.
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

static void turn_until_it_starts(const struct trial *trial)
{
	uint64_t began = now_microseconds();

	while (!trial->slot) {
		turn();
		ck_assert_msg(now_microseconds() - began < PATIENCE_MICROSECONDS, "it waits");
	}
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

/* --- What must hold ------------------------------------------------------------------------------- */

static void check_waiting(const struct trial *trial)
{
	struct trial_login *waits = NULL;
	struct login_rank own, other;

	LOGIN_EACH(login, trial)
	{
		ck_assert_msg(!waits || !login_is_waiting(login), "it waits twice");
		/* No line is kept for one that waits elsewhere. */
		ck_assert(trial->in_turn || login->line->called != login);
		if (login_is_waiting(login))
			waits = login;
	}
	if (trial->in_repository)
		ck_assert_uint_eq(held_by(trial), 0);
	if (!waits)
		return;
	ck_assert(!trial->writing);
	login_rank(waits, &own);
	LOGIN_EACH(login, trial)
	{
		if (!login->has)
			continue;
		login_rank(login, &other);
		ck_assert_msg(strcmp(other.text, own.text) <= 0, "%s is had, %s waited for",
			      login->line->harness, waits->line->harness);
	}
}

static void check_running(const struct trial *trial)
{
	LOGIN_EACH(login, trial)
	{
		ck_assert(login->has && login->lease->denied == 0 && login->lease->lease_fd >= 0);
		for (size_t i = 0; i < TRIALS; i++) {
			if (over[i] || &trials[i] == trial || !trials[i].slot)
				continue;
			LOGIN_EACH(other, &trials[i])
			ck_assert_str_ne(other->lease->key, login->lease->key);
		}
	}
}

static void check_all(void)
{
	for (size_t i = 0; i < TRIALS; i++) {
		if (over[i] || !trials[i].queue)
			continue;
		if (trials[i].slot)
			check_running(&trials[i]);
		else
			check_waiting(&trials[i]);
	}
}

/* --- Tests ---------------------------------------------------------------------------------------- */

/* Some of the letters; f and h (homes, for which a queue looks now and then) in few of them. */
static void random_set(char letters[HARNESSES + 1])
{
	size_t most = 1 + chance(6), count = 0;

	while (count < most) {
		char letter = (char)('a' + chance(AT_RANDOM));

		letters[count] = '\0';
		if (!strchr(letters, letter) && (letter != 'f' || chance(8) == 0) &&
		    (letter != 'h' || chance(8) == 0))
			letters[count++] = letter;
	}
	letters[count] = '\0';
}

static void one_world(unsigned int number)
{
	uint64_t moved_at = now_microseconds();
	size_t left = TRIALS;

	chance_state = number;
	for (size_t i = 0; i < TRIALS; i++) {
		char letters[HARNESSES + 1];

		random_set(letters);
		make_trial(i, &queues[chance(QUEUES)], letters, chance(4) == 0);
		trials[i].priority = (int64_t)chance(3);
		sched_add(trials[i].queue, &trials[i]);
	}
	while (left > 0) {
		size_t i = chance(TRIALS);
		bool moved = turn();

		check_all();
		/* Some end, some are canceled while they wait, and now and then a queue is held. */
		if (!over[i] && (trials[i].slot || chance(400) == 0)) {
			end_trial(&trials[i]);
			moved = true;
			left--;
		}
		if (chance(50) == 0)
			logins_give_back(&queues[chance(QUEUES)]);
		if (moved)
			moved_at = now_microseconds();
		ck_assert_msg(now_microseconds() - moved_at < PATIENCE_MICROSECONDS,
			      "world %u: %zu Trials wait for each other", number, left);
	}
}

START_TEST(sets_at_random_never_wait_for_each_other)
{
	for (unsigned int i = 0; i < WORLDS; i++)
		one_world((unsigned int)_i * WORLDS + i + 1);
}
END_TEST

START_TEST(two_names_of_one_file_have_one_lock)
{
	struct trial *both = make_trial(0, &queues[0], "ad", false);
	struct trial *other = make_trial(1, &queues[1], "d", false);

	sched_add(both->queue, both);
	turn_until_it_starts(both);
	sched_add(other->queue, other);
	for (int i = 0; i < 20; i++)
		turn();
	ck_assert(login_waiting(other));
	end_trial(both);
	turn_until_it_starts(other);
	end_trial(other);
}
END_TEST

START_TEST(what_it_has_it_keeps_while_it_waits_for_the_next)
{
	struct trial *first = make_trial(0, &queues[0], "e", false);
	struct trial *several = make_trial(1, &queues[0], "eg", false);
	struct trial *last = make_trial(2, &queues[1], "eg", false);
	char text[QUEUE_REASON_BYTES];

	sched_add(first->queue, first);
	turn_until_it_starts(first);
	sched_add(several->queue, several);
	for (int i = 0; i < 200; i++)
		turn();
	ck_assert(login_is_waiting(login_of(several, "e")));
	ck_assert_str_eq(login_waits_for(several, text, sizeof(text)),
			 "its login of e: one of those that use it may refresh it");
	ck_assert_uint_eq(login_position(several, 10), 1);
	/* Whether it has the other one depends on which lock comes first, and on that alone. */
	struct login_rank e, g;

	login_rank(login_of(several, "e"), &e);
	login_rank(login_of(several, "g"), &g);
	ck_assert_int_eq(login_of(several, "g")->has, strcmp(g.text, e.text) < 0);
	/* A cancel lets go of it. */
	end_trial(several);
	end_trial(first);
	sched_add(last->queue, last);
	turn_until_it_starts(last);
	end_trial(last);
}
END_TEST

START_TEST(one_that_waits_for_a_suspect_one_has_no_other)
{
	static const char *const letters = "egij";
	struct trial *several = make_trial(0, &queues[0], letters, false), *other;

	suspect = (const char *[]){"e", "g", "i", "j"}[_i];
	sched_add(several->queue, several);
	for (int i = 0; i < 2000 && !login_held_since(several); i++) {
		turn();
		usleep(100);
	}
	ck_assert_uint_gt(login_held_since(several), 0);
	ck_assert_uint_eq(held_by(several), 0);
	/* The others are there for whoever wants them, however often it looks. */
	for (const char *letter = letters; *letter; letter++) {
		if (*letter == *suspect)
			continue;
		other = make_trial(1, &queues[1], (const char[]){*letter, '\0'}, false);
		sched_add(other->queue, other);
		turn_until_it_starts(other);
		end_trial(other);
		turn();
		ck_assert_uint_eq(held_by(several), 0);
	}
	suspect = NULL;
	login_changed(&queues[0], (const char *[]){"e", "g", "i", "j"}[_i]);
	turn_until_it_starts(several);
	ck_assert_uint_eq(held_by(several), 4);
	end_trial(several);
}
END_TEST

START_TEST(a_queue_that_is_held_has_none)
{
	struct trial *first = make_trial(0, &queues[0], "egij", false), *several, *other;
	struct login_rank last = {0}, rank;
	const char *letter = NULL;

	/* The one that all others come before. */
	LOGIN_EACH(login, first)
	{
		login_rank(login, &rank);
		if (strcmp(rank.text, last.text) > 0) {
			last = rank;
			letter = login->line->harness;
		}
	}
	other = make_trial(1, &queues[1], letter, false);
	sched_add(other->queue, other);
	turn_until_it_starts(other);
	several = first;
	sched_add(several->queue, several);
	for (int i = 0; i < 20000 && held_by(several) < 3; i++) {
		turn();
		usleep(100);
	}
	ck_assert_uint_eq(held_by(several), 3);
	logins_give_back(&queues[0]);
	ck_assert_uint_eq(held_by(several), 0);
	end_trial(other);
	turn_until_it_starts(several);
	ck_assert_uint_eq(held_by(several), 4);
	end_trial(several);
}
END_TEST

START_TEST(all_that_is_missing_is_told)
{
	struct trial *trial = make_trial(0, &queues[0], "egi", false);
	int fd;

	ck_assert_int_eq(unlink(path_of("%s/auth.json", "three")), 0);
	ck_assert_int_eq(unlink(path_of("%s/auth.json", "five")), 0);
	sched_add(trial->queue, trial);
	turn_until_it_starts(trial);
	for (size_t i = 0; i < 3; i++) {
		const char *harness = (const char *[]){"e", "g", "i"}[i];
		_cleanup_fault_ struct fault fault = FAULT_INIT;
		int r = login_bind(trial, harness, NULL, &fd, &fault);

		ck_assert_int_eq(r, i == 1 ? -EINPROGRESS : FAULT);
		if (i != 1) {
			ck_assert_int_eq(fault.cause, CAUSE_session_unavailable);
			ck_assert_ptr_nonnull(strstr(fault.message, harness));
		}
	}
	end_trial(trial);
}
END_TEST

START_TEST(two_homes_are_two_leases)
{
	struct trial *trial = make_trial(0, &queues[0], "fh", false);

	sched_add(trial->queue, trial);
	turn_until_it_starts(trial);
	ck_assert_uint_eq(held_by(trial), 2);
	ck_assert_int_eq(login_of(trial, "f")->lease->denied, 0);
	ck_assert_int_eq(login_of(trial, "h")->lease->denied, 0);
	ck_assert_int_ne(login_of(trial, "f")->lease->lease_fd,
			 login_of(trial, "h")->lease->lease_fd);
	end_trial(trial);
}
END_TEST

START_TEST(one_home_is_nobodys_twice)
{
	struct trial *trial = make_trial(0, &queues[0], "fk", false);
	_cleanup_fault_ struct fault fault = FAULT_INIT;
	int fd;

	sched_add(trial->queue, trial);
	turn_until_it_starts(trial);
	ck_assert_int_eq(login_bind(trial, "f", NULL, &fd, &fault), -EINPROGRESS);
	ck_assert_int_eq(login_bind(trial, "k", NULL, &fd, &fault), FAULT);
	ck_assert_int_eq(fault.cause, CAUSE_session_unavailable);
	ck_assert_ptr_nonnull(strstr(fault.message, "f and k"));
	end_trial(trial);
}
END_TEST

/* Each of a Trial's own locks is the lease that its login names to the keeper. */
START_TEST(a_keeper_counts_the_leases_from_the_folders_own)
{
	struct trial *trial = make_trial(0, &queues[0], "aefi", false);
	unsigned int next = LAUNCH_LEASE;

	sched_add(trial->queue, trial);
	turn_until_it_starts(trial);
	LOGIN_EACH(login, trial)
	{
		bool home = login->lease->home != NULL;

		ck_assert_str_eq(login_part(login), login->line->harness);
		ck_assert_uint_eq(login_lease_number(login), home ? 0 : next);
		next++;
	}
	end_trial(trial);
	trial = make_trial(0, &queues[0], "e", false);
	sched_add(trial->queue, trial);
	turn_until_it_starts(trial);
	ck_assert_ptr_null(login_part(trial->login));
	ck_assert_uint_eq(login_lease_number(trial->login), LAUNCH_LEASE);
	end_trial(trial);
}
END_TEST

START_TEST(notes_of_one_and_of_several)
{
	static const char *const names[] = {"12.carry",	     "13.codex.carry", "13.grok.carry",
					    "14..carry",     ".carry",	       "x.carry",
					    "15.codex.cary", "0.carry"};
	struct login_note_names notes;
	size_t with_part = 0;
	int fd;

	mkdir(path_of("%s", "notes"), 0700);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		write_file(path_of("notes/%s", names[i]), "");
	fd = open(path_of("%s", "notes"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_eq(login_notes(fd, &notes), 0);
	ck_assert_uint_eq(notes.count, 3);
	for (size_t i = 0; i < notes.count; i++) {
		ck_assert_uint_eq(notes.items[i].id, notes.items[i].part ? 13 : 12);
		with_part += notes.items[i].part && (strcmp(notes.items[i].part, "codex") == 0 ||
						     strcmp(notes.items[i].part, "grok") == 0);
	}
	ck_assert_uint_eq(with_part, 2);
	login_note_names_done(&notes);
	login_note_remove(fd, 13, "grok");
	ck_assert_int_eq(faccessat(fd, "13.grok.carry", F_OK, 0), -1);
	ck_assert_int_eq(faccessat(fd, "13.codex.carry", F_OK, 0), 0);
	login_note_remove(fd, 12, NULL);
	ck_assert_int_eq(faccessat(fd, "12.carry", F_OK, 0), -1);
	close(fd);
}
END_TEST

START_TEST(each_copy_is_removed_by_itself)
{
	static const char *const left[] = {"login.grok", "login-grok.seen", "login"};
	int fd = open(path_of("%s", "trials"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	for (size_t i = 0; i < 3; i++)
		mkdir(path_of("trials/%s",
			      (const char *[]){"login", "login.codex", "login.grok"}[i]),
		      0700);
	write_file(path_of("trials/%s", "login.codex/auth.json"), "{}");
	write_file(path_of("trials/%s", "login-codex.seen"), "");
	write_file(path_of("trials/%s", "login-grok.seen"), "");
	ck_assert_int_eq(login_remove_copy(fd, "codex"), 0);
	ck_assert_int_eq(faccessat(fd, "login.codex", F_OK, 0), -1);
	ck_assert_int_eq(faccessat(fd, "login-codex.seen", F_OK, 0), -1);
	for (size_t i = 0; i < ARRAY_SIZE(left); i++)
		ck_assert_int_eq(faccessat(fd, left[i], F_OK, 0), 0);
	ck_assert_int_eq(login_remove_copy(fd, NULL), 0);
	ck_assert_int_eq(faccessat(fd, "login", F_OK, 0), -1);
	close(fd);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("login_sets");
	TCase *tests = tcase_create("login_sets");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_set_timeout(tests, 600);
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, sets_at_random_never_wait_for_each_other);
	tcase_add_test(tests, two_names_of_one_file_have_one_lock);
	tcase_add_test(tests, what_it_has_it_keeps_while_it_waits_for_the_next);
	tcase_add_loop_test(tests, one_that_waits_for_a_suspect_one_has_no_other, 0, 4);
	tcase_add_test(tests, a_queue_that_is_held_has_none);
	tcase_add_test(tests, all_that_is_missing_is_told);
	tcase_add_test(tests, two_homes_are_two_leases);
	tcase_add_test(tests, one_home_is_nobodys_twice);
	tcase_add_test(tests, a_keeper_counts_the_leases_from_the_folders_own);
	tcase_add_test(tests, notes_of_one_and_of_several);
	tcase_add_test(tests, each_copy_is_removed_by_itself);
	suite_add_tcase(suite, tests);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* SPDX-License-Identifier: MIT */

/*
 * 10,000 random interleavings of launch, cancel, a slot that comes free, a reply that is lost, a
 * retry by key, storage that fails, a crash and a restart; on the real queue and the real ledger
 * (interleavings.h). TRIALS_INTERLEAVINGS says how many, TRIALS_SEED runs a single one.
 *
 * What must hold, at every step: no canceled Trial runs, none runs twice, a key means one Trial, never
 * more than MaxRunning keepers, one writer to a repository or those who judge, nobody is passed over. At
 * the end: each accepted Trial has ended exactly once, with its keeper's outcome, each change is in the
 * ledger as it was told, and no slot, lease or Trial is left.
 */
#include "interleavings.h"
#include "interleavings_grader.h"
#include "interleavings_request.h"

#include <ftw.h>

#define EACH 100 /* interleavings in one process, on one ledger */
#define STEPS 90
struct fact {
	bool told;     /* its acceptance was, in this life */
	bool canceled; /* a cancel was accepted before its gate opened, in this life */
	bool ended;    /* its end is durable */
	bool answered; /* a client knows of it */
};

struct told {
	uint64_t number;
	uint64_t id;
	int before;
	enum state state;
};

/* A client with a launch under way. */
struct client {
	int key; /* -1: none */
	bool gone;
	bool differs; /* the key belongs to another launch */
	bool judges;  /* there may be nothing to judge */
};

static char top[64]; /* made and removed by main: a failure ends the process that works in it */
static char folder[80];
static char repositories[REPOSITORIES][REPOSITORY_BYTES];
static char trials_folder[96];
static struct config config;
static struct plan_host host = {.config = &config};

/* One life of trialsd. */
static uv_loop_t *loop;
static Ledger *ledger;
static Queue *queue;
static struct queue_watch watch;
static uint64_t last_number; /* told in this life */
static bool pausing;	     /* a pause or resume is under way */
static bool paused;

/* Of crashed lives: what they held is not freed, as nobody was there to. */
static void *crashed[8 * EACH];
static size_t crashed_count;

/* One interleaving. */
static uint64_t first_id;
static uint64_t last_id; /* in the ledger */
static size_t launches;
static uint64_t first_number;
static struct fact facts[4 * TRIALS_MOST];
static uint64_t key_ids[KEYS];
static size_t clients_answered;
static int last_answer;
static struct told told[8 * TRIALS_MOST];
static size_t told_count;

static struct fact *fact(uint64_t id)
{
	MUST(id >= first_id && id < first_id + ARRAY_SIZE(facts), "Trial %llu is of another time",
	     (unsigned long long)id);
	return &facts[id - first_id];
}

static bool is_before(const struct trial *a, const struct trial *b)
{
	return a->priority != b->priority ? a->priority > b->priority : a->id < b->id;
}

/* Whether somebody but `except` has what this one wants. */
static bool repository_is_taken(const struct trial *trial, const struct trial *except)
{
	struct trial *other;
	size_t listed = 0;

	if (!trial->repository)
		return false;
	if (!repository_meets(trial->repository, except->repository))
		return !repository_is_free(trial->repository, trial->shares, trial);
	for (other = queue_first(queue); other; other = queue_next(other)) {
		listed += other->slot;
		if (other != trial && other != except && other->slot &&
		    repository_meets(other->repository, trial->repository) &&
		    !goes_with(trial, other))
			return true;
		/* Or comes first there: one that has a place bound need not be in that one's way. */
		if (other != except && other->in_repository && is_before(other, trial) &&
		    repository_meets(other->repository, trial->repository))
			return true;
	}
	/* One claimed with its acceptance is not among them yet. */
	return listed < queue_slots_used(queue);
}

/* For a turn; a Grader has none before the end of what it judges, and who wants two places may be passed. */
static bool waits(const struct trial *trial)
{
	return trial->state == STATE_queued && !trial->slot && fact(trial->id)->told &&
	       repository_places_wanted(trial->repository) < 2 &&
	       !grader_must_wait(queue, trial->of);
}

/* A claim: whoever waits and could go is behind it. */
static void look_at_change(const struct ledger_work *work)
{
	const struct trial *trial;
	struct trial *other;

	if (work->type != WORK_CHANGE || work->change.state != STATE_starting)
		return;
	trial = queue_find(queue, work->id);
	MUST(!paused, "Trial %llu: claimed in a pause", (unsigned long long)work->id);
	MUST(queue_slots_used(queue) <= config.max_running, "%zu slots are taken",
	     queue_slots_used(queue));
	MUST(!fact(work->id)->canceled, "Trial %llu: claimed after its cancel",
	     (unsigned long long)work->id);
	/* Not known yet: it is accepted and claimed in one, so nobody's turn may be before its. */
	for (other = queue_first(queue); !trial && other; other = queue_next(other))
		MUST(!waits(other) || other->in_repository, "Trial %llu was passed over by %llu",
		     (unsigned long long)other->id, (unsigned long long)work->id);
	for (other = queue_first(queue); trial && other; other = queue_next(other))
		MUST(other == trial || !waits(other) || !is_before(other, trial) ||
			     repository_is_taken(other, trial),
		     "Trial %llu was passed over by %llu", (unsigned long long)other->id,
		     (unsigned long long)trial->id);
}

static void look_at_launch(const struct keeper *keeper)
{
	const struct trial *trial = queue_find(queue, keeper->id);
	size_t alive = 0;

	MUST(!fact(keeper->id)->ended, "Trial %llu: launched after its end",
	     (unsigned long long)keeper->id);
	look_at_judged(trial);
	for (size_t i = 0; i < keeper_count; i++) {
		const struct keeper *other = &keepers[i];
		const struct trial *their = queue_find(queue, other->id);

		alive += other->phase != PHASE_gone;
		MUST(other == keeper || other->id != keeper->id ||
			     (!other->opened && other->phase == PHASE_gone),
		     "Trial %llu: launched twice", (unsigned long long)keeper->id);
		MUST(other == keeper || other->phase == PHASE_gone || !trial->repository ||
			     !their || !repository_meets(their->repository, trial->repository) ||
			     goes_with(trial, their),
		     "Trials %llu and %llu have one repository", (unsigned long long)keeper->id,
		     (unsigned long long)other->id);
	}
	MUST(alive <= config.max_running, "%zu keepers, MaxRunning is %u", alive,
	     config.max_running);
}

static void look_at_gate(const struct keeper *keeper)
{
	MUST(!fact(keeper->id)->canceled, "Trial %llu runs although it was canceled",
	     (unsigned long long)keeper->id);
}

static void look_at_queue(void)
{
	const struct trial *trial;

	for (trial = queue_first(queue); trial; trial = queue_next((struct trial *)trial)) {
		MUST(!(trial->in_turn && trial->slot), "Trial %llu waits with a slot",
		     (unsigned long long)trial->id);
		MUST(!trial->in_turn || trial->state == STATE_queued, "Trial %llu waits, and is %s",
		     (unsigned long long)trial->id, state_name(trial->state));
	}
}

static void on_changed(struct queue_watch *of, const struct queue_change *change)
{
	uint64_t id = change->row->id;

	(void)of;
	TELL("told of change %llu: Trial %llu %s\n", (unsigned long long)change->number,
	     (unsigned long long)id, state_name(change->row->state));
	MUST(change->number > last_number, "change %llu was told after %llu",
	     (unsigned long long)change->number, (unsigned long long)last_number);
	last_number = change->number;
	MUST(!fact(id)->ended, "Trial %llu: a change after its end", (unsigned long long)id);
	if (change->before == -1)
		fact(id)->told = true;
	if (change->row->state == STATE_ended)
		fact(id)->ended = true;
	MUST(told_count < ARRAY_SIZE(told), "too many changes");
	told[told_count++] = (struct told){
		.number = change->number,
		.id = id,
		.before = change->before,
		.state = change->row->state,
	};
}

/* --- Lives of trialsd --- */

static void begin(void)
{
	_cleanup_fault_ struct fault fault = FAULT_INIT;
	struct queue_options options = {
		.host = &host,
		.trials_fd = trials_fd,
		.trials_folder = trials_folder,
	};
	struct trial *trial;

	loop = calloc(1, sizeof(*loop));
	ck_assert_int_eq(uv_loop_init(loop), 0);
	ck_assert_int_eq(ledger_open(&ledger, loop, folder, &fault), 0);
	options.loop = loop;
	options.ledger = ledger;
	ck_assert_int_eq(queue_new(&queue, &options), 0);
	watch = (struct queue_watch){.changed = on_changed};
	queue_watch_add(queue, &watch);
	last_number = 0;
	pausing = false;
	/* Whoever was there before is told by the ledger, and takes a turn at once. */
	for (size_t i = 0; i < ARRAY_SIZE(facts); i++) {
		facts[i].told = true;
		facts[i].canceled = false;
	}
	paused = false;
	ck_assert_int_eq(queue_load(queue), 0);
	paused = queue_paused_reason(queue) != NULL;
	for (size_t i = 0; i < ARRAY_SIZE(facts); i++)
		facts[i].told = false;
	for (trial = queue_first(queue); trial; trial = queue_next(trial))
		fact(trial->id)->told = true;
}

static void run_loop(size_t answers)
{
	answers_most = answers;
	if (answers > 0 && writer->answers.first)
		uv_async_send(writer->answered);
	uv_run(loop, UV_RUN_NOWAIT);
}

static void close_one(uv_handle_t *handle, void *context)
{
	(void)context;
	if (!uv_is_closing(handle))
		uv_close(handle, NULL);
}

/* Nothing of it is done any more, and what was not committed has not been. */
static void crash(void)
{
	TELL("a crash\n");
	for (size_t i = 0; i < keeper_count; i++)
		if (keepers[i].launch)
			launch_disconnect(keepers[i].launch);
	store_free(writer->store);
	uv_walk(loop, close_one, NULL);
	uv_run(loop, UV_RUN_NOWAIT);
	ck_assert_int_eq(uv_loop_close(loop), 0);
	free(loop);
	ck_assert_uint_lt(crashed_count + 2, ARRAY_SIZE(crashed));
	crashed[crashed_count++] = queue;
	crashed[crashed_count++] = ledger;
}

static void on_flag(void *context)
{
	*(bool *)context = true;
}

/* Leaves what runs to its keepers. */
static void stop(void)
{
	bool stopped = false, closed = false;

	TELL("a stop\n");
	queue_stop(queue, true, on_flag, &stopped);
	for (int i = 0; i < 50 && (!stopped || writer->waiting.first || writer->answers.first);
	     i++) {
		writer_commit(SIZE_MAX, false);
		run_loop(SIZE_MAX);
	}
	MUST(stopped, "it does not stop");
	queue_free(queue);
	ledger_close(ledger, on_flag, &closed);
	for (int i = 0; i < 50 && (!closed || uv_loop_alive(loop)); i++)
		run_loop(SIZE_MAX);
	MUST(closed, "the ledger does not close");
	MUST(uv_loop_close(loop) == 0, "the loop has handles left");
	free(loop);
}

/* --- Clients --- */

static void on_submitted(void *context, const struct submit_result *result)
{
	struct client *client = context;
	uint64_t *key_id = client->key < 0 ? NULL : &key_ids[client->key];

	clients_answered++;
	last_answer = result->result;
	if (client->gone) {
		free(client);
		return;
	}
	if (result->result != 0) {
		MUST(result->fault->code == ERROR_unavailable ||
			     (client->differs && result->fault->code == ERROR_conflict) ||
			     (client->judges && (result->fault->code == ERROR_refused ||
						 result->fault->code == ERROR_not_found)),
		     "refused: %s", result->fault->message);
		free(client);
		return;
	}
	MUST(!client->differs, "another launch was taken for key %d", client->key);
	fact(result->row->id)->answered = true;
	if (key_id) {
		MUST(!*key_id || (*key_id == result->row->id && result->existed),
		     "key %d: Trials %llu and %llu", client->key, (unsigned long long)*key_id,
		     (unsigned long long)result->row->id);
		*key_id = result->row->id;
	}
	free(client);
}

/* key < 0: none; any body will do. */
static void launch(int key_number, bool gone, bool differs)
{
	struct client *client = calloc(1, sizeof(*client));
	struct made_request made;

	launches++;
	client->key = key_number;
	client->gone = gone;
	client->differs = differs;
	request_make(&made, key_number, differs, first_id, launches, repositories);
	client->judges = made.request.has.of;
	queue_submit(queue, &made.request, -1, on_submitted, client);
}

static void launch_any(void)
{
	int key = (int)chance(KEYS + 3) < KEYS ? (int)chance(KEYS) : -1;

	launch(key, chance(4) == 0, key >= 0 && key_ids[key] && chance(5) == 0);
}

/* Long afterwards a key still means its Trial, and only with its own launch. */
static void retry_keys(void)
{
	for (int key = 0; key < KEYS; key++)
		for (int differs = 0; differs < 2 && key_ids[key]; differs++) {
			size_t before = clients_answered;

			launch(key, false, differs);
			writer_commit(SIZE_MAX, false);
			run_loop(SIZE_MAX);
			MUST(clients_answered == before + 1, "key %d: no answer", key);
			MUST(differs || last_answer == 0, "key %d: refused", key);
		}
}

static void cancel(void)
{
	/* By place, not by id, which depends on what was before this interleaving. */
	uint64_t place = chance(12), id = 0;
	const struct keeper *keeper;

	for (size_t i = 0; i < ARRAY_SIZE(facts); i++)
		if (facts[i].answered && place-- == 0)
			id = first_id + i;
	keeper = keeper_last(id);
	if (!id || fact(id)->ended)
		return;
	if (queue_cancel(queue, id, chance(2) ? 0 : -1, "the test") < 0)
		return;
	TELL("cancel of %llu accepted\n", (unsigned long long)id);
	if (!keeper || !keeper->opened)
		fact(id)->canceled = true;
}

static void on_paused(void *context, int result)
{
	(void)context;
	pausing = false;
	if (result < 0)
		paused = queue_paused_reason(queue) != NULL; /* what the ledger has is in force */
}

static void set_pause(bool on)
{
	static const struct queue_hold hold = {.kind = HOLD_pause, .reason = "the test"};

	if (pausing)
		return;
	pausing = true;
	paused = on;
	ck_assert_int_eq(queue_pause(queue, on ? &hold : NULL, on_paused, NULL), 0);
}

/* --- One interleaving --- */

static void pass_time(void)
{
	clock_nanoseconds += 300000000u + chance(900000000u);
	run_loop(0);
}

static void step(void)
{
	struct keeper *keeper = keeper_count ? &keepers[chance(keeper_count)] : NULL;
	uint64_t roll = chance(1000);

	clock_nanoseconds += 1000;
	if (roll < 150 && launches < TRIALS_MOST)
		launch_any();
	else if (roll < 230)
		cancel();
	else if (roll < 430)
		writer_commit(1 + chance(4), chance(15) == 0);
	else if (roll < 640)
		run_loop(1 + chance(3));
	else if (roll < 900 && keeper)
		keeper_step(keeper);
	else if (roll < 930)
		pass_time();
	else if (roll < 940)
		set_pause(chance(3) == 0);
	else if (roll < 944)
		launcher_is_ready = chance(2), queue_kick(queue);
	else if (roll < 948)
		crash(), begin();
	else if (roll < 951)
		stop(), begin();
	else if (keeper)
		keeper_step(keeper);
	keeper = keeper_count ? &keepers[chance(keeper_count)] : NULL;
	if (keeper && keeper->launch && chance(2))
		launch_tell(keeper->launch);
	look_at_queue();
}

/* Nothing more is asked for and nothing fails: all comes to its end. */
static void settle(void)
{
	const struct trial *trial;

	launcher_is_ready = true;
	queue_kick(queue);
	for (int i = 0; i < 600 && (queue->trials || writer->waiting.first ||
				    writer->answers.first || paused || pausing);
	     i++) {
		if (paused)
			set_pause(false);
		writer_commit(SIZE_MAX, false);
		run_loop(SIZE_MAX);
		for (size_t j = 0; j < keeper_count; j++) {
			keeper_step(&keepers[j]);
			if (keepers[j].launch)
				launch_tell(keepers[j].launch);
		}
		look_at_queue();
		if (i % 4 == 3)
			pass_time();
	}
	trial = queue_first(queue);
	if (trial)
		fail_with_seed("Trial %llu is stuck: %s%s%s%s", (unsigned long long)trial->id,
			       state_name(trial->state), trial->slot ? ", with a slot" : "",
			       trial->in_turn ? ", in turn" : "",
			       trial->awaited	      ? ", with what it judges"
			       : trial->in_repository ? ", with its repository"
						      : "");
	/* No pause for the storage's sake reaches into the next interleaving. */
	for (int i = 0; i < 10 && queue->paused_for; i++)
		pass_time();
	MUST(!queue->paused_for, "nothing is claimed: %s", queue->paused_for);
	MUST(queue_slots_used(queue) == 0, "%zu slots are lost", queue_slots_used(queue));
	MUST(RB_EMPTY(&queue->grounds), "a lease is lost");
}

static void check_end(const struct ledger_row *row)
{
	const struct keeper *keeper = NULL;

	for (size_t i = 0; i < keeper_count; i++)
		if (keepers[i].id == row->id && keepers[i].opened)
			keeper = &keepers[i];
	if (keeper)
		MUST(row->outcome == (int)(keeper->recorded ? keeper->outcome : OUTCOME_lost),
		     "Trial %llu is %s, its keeper said %s", (unsigned long long)row->id,
		     outcome_name(row->outcome),
		     keeper->recorded ? outcome_name(keeper->outcome) : "nothing");
	else
		MUST(row->outcome == OUTCOME_canceled ||
			     (row->outcome == OUTCOME_void && !fact(row->id)->canceled),
		     "Trial %llu never ran and is %s", (unsigned long long)row->id,
		     outcome_name(row->outcome));
}

static const struct told *find_told(uint64_t number)
{
	for (size_t i = 0; i < told_count; i++)
		if (told[i].number == number)
			return &told[i];
	return NULL;
}

/* What the ledger says happened, from the first to the last. */
static void check_events(void)
{
	int states[ARRAY_SIZE(facts)];
	uint64_t after = first_number, cursor, newest;
	struct ledger_event *events;
	size_t count, found = 0;

	for (size_t i = 0; i < ARRAY_SIZE(states); i++)
		states[i] = -1;
	for (;; after = cursor) {
		MUST(store_events(writer->store, after, 0, &events, &count, &cursor, &newest) == 0,
		     "the changes cannot be read");
		for (size_t i = 0; i < count; i++) {
			const struct ledger_event *event = &events[i];
			const struct told *live = find_told(event->number);
			uint64_t id = event->row->id;
			int *state = &states[id - first_id];

			fact(id); /* of this interleaving */
			last_id = id > last_id ? id : last_id;
			MUST(event->before == *state && *state != STATE_ended,
			     "Trial %llu: change %llu leads from %s, it was %s",
			     (unsigned long long)id, (unsigned long long)event->number,
			     state_name(event->before), state_name(*state));
			MUST(!live || (live->id == id && live->state == event->state &&
				       live->before == event->before),
			     "change %llu was told otherwise (Trial %llu, %s to %s)",
			     (unsigned long long)event->number, (unsigned long long)live->id,
			     state_name(live->before), state_name(live->state));
			found += live != NULL;
			*state = event->state;
			if (event->state == STATE_ended)
				check_end(event->row);
		}
		events_free(events, count);
		if (cursor == after)
			break;
	}
	MUST(found == told_count, "%zu changes were told, %zu of them are there", told_count,
	     found);
	for (size_t i = 0; i < ARRAY_SIZE(states); i++)
		MUST(states[i] == STATE_ended || (states[i] == -1 && !facts[i].answered),
		     "Trial %llu ended up %s", (unsigned long long)(first_id + i),
		     state_name(states[i]));
	first_number = newest;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	return ftw->level > 0 ? remove(path) : 0;
}

static void interleaving(uint64_t number)
{
	seed = number;
	chance_state = number * 0x2545f4914f6cdd1du;
	memset(facts, 0, sizeof(facts));
	memset(key_ids, 0, sizeof(key_ids));
	keeper_count = told_count = 0;
	/* One that was drawn and not committed may be drawn again after a crash. */
	first_id = last_id + 1;
	launches = 0;
	/* At a round time, so that timers fall due alike whatever was before. */
	clock_nanoseconds = (clock_nanoseconds / 1000000000000u + 1) * 1000000000000u;
	run_loop(0);
	config.max_running = 1 + (unsigned int)chance(3);
	for (size_t i = 0; i < STEPS; i++)
		step();
	settle();
	retry_keys();
	check_events();
	nftw(trials_folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* --- */

static void setup(void)
{
	snprintf(folder, sizeof(folder), "%s/XXXXXX", top);
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(trials_folder, sizeof(trials_folder), "%s/trials", folder);
	ck_assert_int_eq(mkdir(trials_folder, 0700), 0);
	trials_fd = open(trials_folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(trials_fd, 0);
	for (int i = 0; i < REPOSITORIES; i++) {
		snprintf(repositories[i], sizeof(repositories[i]),
			 i == REPOSITORIES - 1 ? "%s/r0/sub%d" : "%s/r%d", folder, i);
		ck_assert_int_eq(mkdir(repositories[i], 0700), 0);
	}
	ck_assert_int_eq(config_init(&config), 0);
	config.min_free = 0;
	begin();
}

static void teardown(void)
{
	stop();
	config_done(&config);
	close(trials_fd);
	nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	rmdir(folder);
}

static uint64_t given(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 10) : otherwise;
}

START_TEST(nothing_is_lost_and_nothing_happens_twice)
{
	uint64_t first = given("TRIALS_SEED", (uint64_t)_i * EACH + 1);
	uint64_t most = getenv("TRIALS_SEED") ? 1 : EACH;

	for (uint64_t i = 0; i < most; i++)
		interleaving(first + i);
}
END_TEST

#ifdef __SANITIZE_ADDRESS__
#define USUAL 1000 /* they take many times as long, and differ little in what they reach */
#else
#define USUAL 10000
#endif

int main(void)
{
	uint64_t all = getenv("TRIALS_SEED") ? 1 : given("TRIALS_INTERLEAVINGS", USUAL);
	Suite *suite = suite_create("interleavings");
	TCase *tcase = tcase_create("interleavings");
	SRunner *runner;
	int failed;

	/* In memory where that can be had: it is the queue that is tried, not a disk. */
	snprintf(top, sizeof(top), "%s/test_interleavings.XXXXXX",
		 access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : "/tmp");
	if (!mkdtemp(top))
		return 1;
	talkative = getenv("TRIALS_SEED") != NULL;
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, nothing_is_lost_and_nothing_happens_twice, 0,
			    (int)((all + EACH - 1) / EACH));
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	nftw(top, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	rmdir(top);
	return failed ? 1 : 0;
}

/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The queue on ground that the test alone moves: keepers are entries of a table, the writer thread
 * is a function that commits when it is called, and the clock stands still until it is put on.
 * queue/, ledger.c and the ledger's statements are the real ones. So an interleaving is a number,
 * and happens again whenever that number does.
 *
 * For test_interleavings alone: what is defined here takes the place of writer.c, of launch/, and of
 * start.c and look.c in that program.
 */
#include "base/log.h"
#include "keeper/record.h"
#include "ledger/events.h"
#include "ledger/writer.h"
#include "plan/provider.h"
#include "plan/session_plan.h"
#include "queue/bar_seats.h"
#include "queue/login.h"
#include "queue/look.h"
#include "queue/queue.h"
#include "queue/repository.h"
#include "queue/start.h"

#include <check.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define TRIALS_MOST 64 /* accepted in one interleaving */

/* --- Chance --- */

static uint64_t seed;
static uint64_t chance_state;
static bool talkative; /* each step is told */
#define TELL(...) (talkative ? (void)fprintf(stderr, __VA_ARGS__) : (void)0)

static inline void fail_with_seed(const char *format, ...) _printf_(1, 2);
static inline void fail_with_seed(const char *format, ...)
{
	char text[400];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	ck_abort_msg("TRIALS_SEED=%llu: %s", (unsigned long long)seed, text);
}

#define MUST(condition, ...)                                                                       \
	do {                                                                                       \
		if (!(condition))                                                                  \
			fail_with_seed(__VA_ARGS__);                                               \
	} while (0)

/* splitmix64; 0 … below - 1 */
static inline uint64_t chance(uint64_t below)
{
	uint64_t z = (chance_state += 0x9e3779b97f4a7c15u);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return (z ^ (z >> 31)) % below;
}

/* --- The clock, and storage that need not survive the machine --- */

static uint64_t clock_nanoseconds = 1700000000000000000u;

int clock_gettime(clockid_t clock, struct timespec *time)
{
	(void)clock;
	time->tv_sec = (time_t)(clock_nanoseconds / 1000000000u);
	time->tv_nsec = (long)(clock_nanoseconds % 1000000000u);
	return 0;
}

int fsync(int fd)
{
	(void)fd;
	return 0;
}

int fdatasync(int fd)
{
	(void)fd;
	return 0;
}

/* --- The log: shown for a single interleaving; what must never be said there --- */

void log_write(enum log_level level, const char *message_id, unsigned long long trial,
	       const char *format, ...)
{
	va_list arguments;

	(void)level;
	(void)message_id;
	MUST(strncmp(format, "illegal", 7) != 0, "Trial %llu: an illegal change", trial);
	if (!talkative)
		return;
	fprintf(stderr, "Trial %llu: ", trial);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
}

/* --- Keepers and launches --- */

enum phase {
	PHASE_gate, /* it waits; nothing has run */
	PHASE_open, /* the gate is open */
	PHASE_running,
	PHASE_ending,
	PHASE_ended, /* its record is there; it waits to be told to leave */
	PHASE_gone,
};

struct keeper {
	uint64_t id;
	char uuid[37];
	enum phase phase;
	bool opened;   /* the gate was */
	bool recorded; /* the outcome is known, also to a later trialsd */
	bool canceled; /* it was told to cancel */
	enum outcome outcome;
	Launch *launch; /* of the trialsd that is connected, or NULL */
};

struct Launch {
	struct keeper *keeper;
	const struct launch_watch *watch;
	void *context;
	enum phase told; /* as far as trialsd was told */
	bool canceled;	 /* before the gate opened */
	bool ended;	 /* nothing more is told: it only waits to be finished */
	bool spare;	 /* it waited for its launch; until then it has no keeper here */
	char uuid[SD_ID128_UUID_STRING_MAX]; /* of a spare */
};

static struct keeper keepers[4 * TRIALS_MOST];
static size_t keeper_count;
static int trials_fd = -1;
static uint64_t folder_ids[1024]; /* by descriptor */
static bool launcher_is_ready = true;

/* The test's own look at each new launch, and at each gate that opens. */
static void look_at_launch(const struct keeper *keeper);
static void look_at_gate(const struct keeper *keeper);

static inline struct keeper *keeper_last(uint64_t id)
{
	for (size_t i = keeper_count; i > 0; i--)
		if (keepers[i - 1].id == id)
			return &keepers[i - 1];
	return NULL;
}

static inline Launch *launch_connect(struct keeper *keeper, const struct launch_watch *watch,
				     void *context)
{
	Launch *launch = calloc(1, sizeof(*launch));

	MUST(launch, "no memory");
	launch->keeper = keeper;
	launch->watch = watch;
	launch->context = context;
	keeper->launch = launch;
	return launch;
}

void start_prepare(struct trial *trial, const struct blob *spec, const struct blob *facts)
{
	(void)trial;
	(void)spec;
	(void)facts;
}

/* No launch names a Bar. The real ones read files by the keeper's rules, and with them its record. */
bool harness_name_valid(const char *name)
{
	return *name;
}

bool provider_name_valid(const char *name)
{
	return *name;
}

int harness_set_find(const struct harness_set *set, const char *name,
		     const struct harness **ret_harness, struct fault *ret_fault)
{
	(void)set;
	*ret_harness = NULL;
	return fault_set(ret_fault, ERROR_invalid, "harness: there is none called %s", name);
}

int bar_seat_freeze(Queue *queue, struct bar_held *held, struct bar_seat *seat,
		    struct fault *ret_fault)
{
	(void)queue;
	(void)held;
	(void)seat;
	return fault_set(ret_fault, ERROR_invalid, "there is no Bar here");
}

void harness_family(const struct provider_set *set, const struct harness *harness,
		    const char *model, const char *provider, char ret_family[FAMILY_BYTES_MAX + 1],
		    bool *ret_known)
{
	(void)set;
	(void)harness;
	(void)model;
	(void)provider;
	ret_family[0] = '\0';
	*ret_known = false;
}

void launcher_keep_spare(Launcher *launcher, double seconds, bool soon)
{
	(void)launcher;
	(void)seconds;
	(void)soon;
}

Launch *launcher_take_spare(Launcher *launcher)
{
	Launch *launch;
	sd_id128_t uuid;

	(void)launcher;
	if (chance(2))
		return NULL;
	launch = calloc(1, sizeof(*launch));
	MUST(launch, "no memory");
	MUST(sd_id128_randomize(&uuid) >= 0, "no randomness");
	launch->spare = true;
	sd_id128_to_uuid_string(uuid, launch->uuid);
	return launch;
}

const char *launch_uuid(const Launch *launch)
{
	return launch->uuid;
}

int start_launch(struct trial *trial, const struct ledger_row *row, const char *unit,
		 const struct launch_watch *watch, struct fault *ret_fault)
{
	struct keeper *keeper = &keepers[keeper_count];

	(void)unit;
	if (chance(40) == 0)
		return fault_void(ret_fault, CAUSE_sandbox_unavailable, "as planned by the test");
	MUST(keeper_count < ARRAY_SIZE(keepers), "too many launches");
	keeper_count++;
	*keeper = (struct keeper){.id = row->id};
	snprintf(keeper->uuid, sizeof(keeper->uuid), "%s", row->uuid);
	look_at_launch(keeper);
	trial->work->launch = launch_connect(keeper, watch, trial);
	if (trial->work->spare) {
		MUST(!trial->fresh && strcmp(trial->work->spare->uuid, row->uuid) == 0,
		     "Trial %llu: not the spare's attempt", (unsigned long long)row->id);
		trial->work->launch->spare = true;
		free(steal(&trial->work->spare));
	}
	return 0;
}

void start_done(struct trial_work *work)
{
	(void)work;
}

int launch_adopt(Launch **ret_launch, Launcher *launcher, uint64_t id, const char *uuid,
		 const char *unit, double wall_left, const struct launch_watch *watch,
		 void *context)
{
	(void)launcher;
	(void)unit;
	(void)wall_left;
	for (size_t i = 0; i < keeper_count; i++) {
		struct keeper *keeper = &keepers[i];

		if (keeper->id != id || strcmp(keeper->uuid, uuid) != 0 ||
		    keeper->phase == PHASE_gone)
			continue;
		MUST(!keeper->launch, "Trial %llu: taken up twice", (unsigned long long)id);
		*ret_launch = launch_connect(keeper, watch, context);
		return 0;
	}
	return -ENOENT;
}

void launch_cancel(Launch *launch, double grace_seconds)
{
	(void)grace_seconds;
	if (launch->ended)
		return;
	if (launch->keeper->phase == PHASE_gate)
		launch->canceled = true;
	else
		launch->keeper->canceled = true;
}

static inline void launch_disconnect(Launch *launch)
{
	launch->keeper->launch = NULL;
	/* A keeper that nobody is connected to leaves as soon as its record is stored. */
	if (launch->keeper->phase == PHASE_gate || launch->keeper->phase == PHASE_ended)
		launch->keeper->phase = PHASE_gone;
	free(launch);
}

/* The gate is closed, and the keeper goes without having done anything. */
static inline void launch_close(Launch *launch)
{
	launch->ended = true;
	launch->keeper->phase = PHASE_gone;
}

bool launch_leave(Launch *launch)
{
	if (launch->keeper->phase == PHASE_gate && !launch->ended) {
		launch_close(launch);
		return true;
	}
	launch_disconnect(launch);
	return false;
}

void launch_finish(Launch *launch)
{
	if (!launch->keeper) {
		free(launch);
		return;
	}
	MUST(launch->ended, "Trial %llu: finished before its end",
	     (unsigned long long)launch->keeper->id);
	launch_disconnect(launch);
}

int launch_folder(int trials, uint64_t id, bool make, int *ret_fd)
{
	char name[24];
	int fd;

	snprintf(name, sizeof(name), "%llu", (unsigned long long)id);
	if (make && mkdirat(trials, name, 0700) < 0 && errno != EEXIST)
		return -errno;
	fd = openat(trials, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	MUST(fd < (int)ARRAY_SIZE(folder_ids), "too many descriptors");
	folder_ids[fd] = id;
	*ret_fd = fd;
	return 0;
}

int launch_folder_held(int folder_fd)
{
	const struct keeper *keeper = keeper_last(folder_ids[folder_fd]);

	return keeper && keeper->phase != PHASE_gone;
}

int record_read(int folder_fd, struct message **ret_message, struct outcome_record *ret_record)
{
	const struct keeper *keeper = keeper_last(folder_ids[folder_fd]);

	if (!keeper || !keeper->recorded)
		return -ENOENT;
	*ret_message = NULL;
	*ret_record = (struct outcome_record){
		.has = {.outcome = true, .ended_at = true},
		.outcome = keeper->outcome,
		.ended_at = clock_nanoseconds / 1000u,
	};
	return 0;
}

int record_read_whole(int folder_fd, struct message **ret_message,
		      struct outcome_record *ret_record)
{
	return record_read(folder_fd, ret_message, ret_record);
}

enum backend launcher_backend(const Launcher *launcher)
{
	(void)launcher;
	return BACKEND_none;
}

const struct fault *launcher_unavailable(const Launcher *launcher)
{
	(void)launcher;
	return NULL;
}

bool launcher_proved(const Launcher *launcher)
{
	(void)launcher;
	return true;
}

bool launcher_ready(const Launcher *launcher)
{
	(void)launcher;
	return launcher_is_ready;
}

int plan_check(const struct plan_host *host, const struct launch_request *request,
	       char **ret_repository, struct text_list *ret_warnings, struct fault *ret_fault)
{
	(void)host;
	(void)request;
	(void)ret_repository;
	(void)ret_warnings;
	(void)ret_fault;
	return 0;
}

/* No Trial here has a Harness, so that there is nothing to look at. */
int session_plan_check(const struct plan_host *host, const struct launch_request *launch,
		       const struct session_prompt *prompt, struct text_list *ret_warnings,
		       struct fault *ret_fault)
{
	(void)host;
	(void)launch;
	(void)prompt;
	(void)ret_warnings;
	(void)ret_fault;
	return 0;
}

void look_await(struct trial *trial)
{
	MUST(false, "Trial %llu waits for a look at a program", (unsigned long long)trial->id);
}

void look_leave(struct trial_work *work)
{
	(void)work;
}

#include "interleavings_login.h"

/* --- What keepers do by themselves --- */

static inline void keeper_end(struct keeper *keeper, enum outcome outcome)
{
	keeper->phase = keeper->launch ? PHASE_ended : PHASE_gone;
	keeper->outcome = outcome;
	keeper->recorded = true;
}

static inline void keeper_open(struct keeper *keeper)
{
	_cleanup_close_ int folder = -1;

	look_at_gate(keeper);
	keeper->phase = PHASE_open;
	keeper->opened = true;
	MUST(launch_folder(trials_fd, keeper->id, true, &folder) == 0, "no folder");
	fd_close(openat(folder, "stdout", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
}

/* One step of one keeper; trialsd is told of it later. */
static inline void keeper_step(struct keeper *keeper)
{
	static const enum outcome ends[] = {OUTCOME_delivered, OUTCOME_failed, OUTCOME_timed_out};

	if (keeper->phase > PHASE_gate && keeper->phase < PHASE_ended && chance(60) == 0) {
		keeper->phase = PHASE_gone; /* killed from outside */
		return;
	}
	TELL("keeper of %llu goes on from phase %d\n", (unsigned long long)keeper->id,
	     keeper->phase);
	switch (keeper->phase) {
	case PHASE_gate:
		/* It is trialsd that opens it, and one that is gone has closed it. */
		if (!keeper->launch)
			keeper->phase = PHASE_gone;
		else if (!keeper->launch->canceled && !keeper->launch->ended)
			keeper_open(keeper);
		break;
	case PHASE_open:
		keeper->phase = PHASE_running;
		break;
	case PHASE_running:
		keeper->phase = PHASE_ending;
		break;
	case PHASE_ending:
		keeper_end(keeper, keeper->canceled ? OUTCOME_canceled : ends[chance(3)]);
		break;
	default:
		break;
	}
}

static inline void launch_tell_end(Launch *launch, enum outcome outcome)
{
	const struct outcome_record record = {
		.has = {.outcome = true, .ended_at = true},
		.outcome = outcome,
		.ended_at = clock_nanoseconds / 1000u,
	};

	launch->ended = true;
	launch->watch->ended(launch->context, &record);
}

/* The next thing that the loop would hear of this launch. */
static inline void launch_tell(Launch *launch)
{
	const struct keeper *keeper = launch->keeper;

	if (launch->ended)
		return;
	if (keeper->phase == PHASE_gate) {
		if (launch->canceled) {
			launch_close(launch);
			launch_tell_end(launch, OUTCOME_canceled);
		} else if (chance(8) == 0) {
			launch_close(launch);
			launch->watch->not_started(launch->context,
						   launch->spare && chance(2) ? 0 : -EMFILE);
		}
	} else if (keeper->phase == PHASE_gone) {
		launch_tell_end(launch, keeper->recorded ? keeper->outcome : OUTCOME_lost);
	} else if (launch->told < keeper->phase) {
		launch->told++;
		if (launch->told == PHASE_running)
			launch->watch->running(launch->context, clock_nanoseconds / 1000u, 1);
		else if (launch->told == PHASE_ending)
			launch->watch->ending(launch->context);
		else if (launch->told == PHASE_ended)
			launch_tell_end(launch, keeper->outcome);
	}
}

/* --- The writer, without a thread --- */

static struct writer *writer;
static size_t answers_most; /* that the next look of the loop may take */

/* The test's own look at a change that was asked for. */
static void look_at_change(const struct ledger_work *work);

void work_queue_init(struct work_queue *queue)
{
	queue->first = NULL;
	queue->last = &queue->first;
}

static inline void queue_push(struct work_queue *queue, struct ledger_work *work)
{
	work->next = NULL;
	*queue->last = work;
	queue->last = &work->next;
}

static inline struct ledger_work *queue_pop(struct work_queue *queue)
{
	struct ledger_work *work = queue->first;

	queue->first = work->next;
	if (!queue->first)
		queue->last = &queue->first;
	return work;
}

struct ledger_work *ledger_work_free(struct ledger_work *work)
{
	ledger_row_free(work->row);
	for (size_t i = 0; work->rows && i < work->count; i++)
		ledger_row_free(work->rows[i]);
	free(work->rows);
	free(work);
	return NULL;
}

int writer_start(struct writer *started, Store *store, uv_async_t *answered)
{
	*started = (struct writer){.store = store, .answered = answered};
	work_queue_init(&started->waiting);
	work_queue_init(&started->answers);
	writer = started;
	return 0;
}

void writer_submit(struct writer *to, struct ledger_work *work)
{
	look_at_change(work);
	queue_push(&to->waiting, work);
}

bool writer_collect(struct writer *from, struct work_queue *ret_answers)
{
	for (; answers_most > 0 && from->answers.first; answers_most--)
		queue_push(ret_answers, queue_pop(&from->answers));
	if (from->stopping && !from->waiting.first && !from->answers.first && !from->stopped) {
		from->store = store_free(from->store);
		from->stopped = true;
	}
	return from->stopped;
}

int writer_hold(struct writer *held)
{
	return held->waiting.first ? -EBUSY : 0;
}

void writer_release(struct writer *held)
{
	(void)held;
}

void writer_stop(struct writer *stopped)
{
	stopped->stopping = true;
	uv_async_send(stopped->answered);
}

void writer_join(struct writer *joined)
{
	(void)joined;
}

/* One transaction of the first so many calls; one that fails leaves nothing behind. */
static inline void writer_commit(size_t most, bool fails)
{
	Store *store = writer->store;
	struct work_queue batch;
	int r = 0;

	work_queue_init(&batch);
	for (; most > 0 && writer->waiting.first; most--)
		queue_push(&batch, queue_pop(&writer->waiting));
	if (!batch.first)
		return;
	r = store_begin(store, true);
	for (struct ledger_work *work = batch.first; work && r == 0; work = work->next) {
		if (work->type == WORK_INSERT)
			r = store_insert(store, &work->trial, &work->result, &work->row,
					 &work->number, &work->at);
		else if (work->type == WORK_CHANGE)
			r = store_change(store, work->id, work->from, &work->change, &work->result,
					 &work->row, &work->number, &work->at);
		else if (work->type == WORK_GET)
			r = store_get(store, work->id, &work->result, &work->row);
		else if (work->type == WORK_SINCE_END)
			r = store_since_end(store, work->id, work->since.wanted,
					    work->since.context, &work->rows, &work->count);
		else if (work->type == WORK_NAMING)
			r = store_naming(store, work->id, work->named, &work->rows, &work->count);
		else if (work->type == WORK_SET)
			r = store_set(store, work->setting.name, work->setting.value);
		else
			fail_with_seed("a call that nothing here makes: %d", work->type);
	}
	MUST(r == 0, "the ledger failed: %d", r);
	TELL("a transaction %s\n", fails ? "fails" : "is committed");
	if (fails)
		store_rollback(store);
	else
		MUST(store_commit(store) == 0, "a commit failed");
	while (batch.first) {
		struct ledger_work *work = queue_pop(&batch);

		if (fails) {
			work->row = ledger_row_free(work->row);
			work->result = -ENOSPC;
		}
		queue_push(&writer->answers, work);
	}
}

/* SPDX-License-Identifier: MIT */

/*
 * Who runs next: higher priority first, then the smaller id. A Trial takes a slot when it is
 * claimed and gives it back when its end is in the ledger, so that there are never more than
 * MaxRunning between the two. Nothing waits while it holds a slot.
 */
#include "queue/bare_home.h"
#include "queue/frozen.h"
#include "queue/grader.h"
#include "queue/login.h"
#include "queue/prune.h"
#include "queue/repository.h"
#include "queue/reserve.h"
#include "queue/space.h"

#include <stdio.h>
#include <string.h>
#include <systemd/sd-id128.h>

#include "base/descriptor_limit.h"

static int trial_compare_id(const struct trial *a, const struct trial *b)
{
	return a->id < b->id ? -1 : a->id > b->id;
}

static int trial_compare_turn(const struct trial *a, const struct trial *b)
{
	if (a->priority != b->priority)
		return a->priority > b->priority ? -1 : 1;
	return trial_compare_id(a, b);
}

RB_GENERATE(trials_by_id, trial, by_id, trial_compare_id)
RB_GENERATE(trials_by_turn, trial, by_turn, trial_compare_turn)

#define RETRY_MILLISECONDS 1000

static void on_retry(uv_timer_t *timer)
{
	Queue *queue = timer->data;

	queue->paused_for = NULL;
	sched_kick(queue);
}

int queue_new(Queue **ret_queue, const struct queue_options *options)
{
	Queue *queue = calloc(1, sizeof(*queue));
	sd_id128_t boot;

	if (!queue)
		return -ENOMEM;
	queue->loop = options->loop;
	queue->ledger = options->ledger;
	queue->launcher = options->launcher;
	queue->host = options->host;
	queue->arms = options->arms;
	queue->bars = options->bars;
	queue->trials_fd = options->trials_fd;
	queue->trials_folder = strdup(options->trials_folder);
	queue->boot_id = malloc(SD_ID128_STRING_MAX);
	queue->hold.told = -1;
	queue->descriptors = descriptor_limit();
	RB_INIT(&queue->by_id);
	RB_INIT(&queue->by_turn);
	RB_INIT(&queue->grounds);
	RB_INIT(&queue->repositories);
	TAILQ_INIT(&queue->seats_at_vote);
	TAILQ_INIT(&queue->watches);
	uv_timer_init(queue->loop, &queue->retry);
	queue->retry.data = queue;
	/* Never what keeps the loop alive. */
	uv_unref((uv_handle_t *)&queue->retry);
	space_init(queue);
	logins_init(queue);
	queue->handles = 2;
	if (!queue->trials_folder || !queue->boot_id || sd_id128_get_boot(&boot) < 0) {
		queue_free(queue);
		return -ENOMEM;
	}
	sd_id128_to_string(boot, queue->boot_id);
	*ret_queue = queue;
	return 0;
}

static void on_queue_closed(uv_handle_t *handle)
{
	Queue *queue = handle->data;

	if (--queue->handles > 0)
		return;
	free(queue->trials_folder);
	free(queue->boot_id);
	pause_done(&queue->pause);
	logins_free(queue);
	free(queue);
}

Queue *queue_free(Queue *queue)
{
	struct trial *trial, *next;

	if (!queue)
		return NULL;
	for (trial = RB_MIN(trials_by_id, &queue->by_id); trial; trial = next) {
		next = RB_NEXT(trials_by_id, &queue->by_id, trial);
		trial_forget(trial);
	}
	uv_close((uv_handle_t *)&queue->retry, on_queue_closed);
	uv_close((uv_handle_t *)&queue->space, on_queue_closed);
	return NULL;
}

void sched_add(Queue *queue, struct trial *trial)
{
	trial->in_turn = true;
	RB_INSERT(trials_by_turn, &queue->by_turn, trial);
}

void sched_remove(Queue *queue, struct trial *trial)
{
	grader_leave(trial);
	repository_release(trial);
	login_release(trial);
	if (!trial->in_turn)
		return;
	trial->in_turn = false;
	RB_REMOVE(trials_by_turn, &queue->by_turn, trial);
	/* It may have been the one that was called to a free repository. */
	repository_pass_on(trial);
}

/* Starting more would only make more that cannot be recorded, or that fails alike. */
void sched_pause(Queue *queue, const char *reason)
{
	if (queue->paused_for || queue->stopping)
		return;
	queue->paused_for = reason;
	uv_timer_start(&queue->retry, on_retry, RETRY_MILLISECONDS, 0);
}

/* Those that MaxRunning allows, and for which there are descriptors. */
static unsigned int sched_most(const Queue *queue)
{
	return descriptor_limit_running(queue->descriptors, queue->host->config->max_running);
}

static bool sched_open(const Queue *queue)
{
	return !queue->stopping && !queue->paused_for && !queue->pause.text &&
	       launcher_ready(queue->launcher) && queue->slots_used < sched_most(queue);
}

static void sched_take_slot(struct trial *trial)
{
	trial->slot = true;
	trial->queue->slots_used++;
	space_watch(trial->queue);
}

bool sched_is_free(Queue *queue)
{
	return sched_open(queue) && queue->accepting == 0 &&
	       !RB_MIN(trials_by_turn, &queue->by_turn) &&
	       !space_is_low(queue, NULL, queue->space_reason);
}

int sched_claim_new(struct trial *trial)
{
	repository_take(trial);
	sched_take_slot(trial);
	return trial_start(trial);
}

static void sched_claim(Queue *queue)
{
	struct trial *trial;

	if (RB_MIN(trials_by_turn, &queue->by_turn) &&
	    space_is_low(queue, NULL, queue->space_reason)) {
		sched_pause(queue, queue->space_reason);
		return;
	}
	while (sched_open(queue)) {
		trial = RB_MIN(trials_by_turn, &queue->by_turn);
		if (!trial)
			break;
		trial->in_turn = false;
		RB_REMOVE(trials_by_turn, &queue->by_turn, trial);
		/*
		 * Before the slot: nothing waits while it holds one. And the repository before the logins:
		 * who waits for it has none of them, and who waits for a login has not its repository.
		 */
		if (!grader_take(trial))
			continue;
		if (!repository_take(trial)) {
			login_release(trial);
			continue;
		}
		if (!login_take(trial)) {
			repository_release(trial);
			continue;
		}
		sched_take_slot(trial);
		if (trial_start(trial) < 0)
			sched_pause(queue, SCHED_STORAGE);
	}
}

void sched_kick(Queue *queue)
{
	sched_claim(queue);
	hold_look(queue);
}

void queue_kick(Queue *queue)
{
	sched_kick(queue);
}

struct trial *queue_find(Queue *queue, uint64_t id)
{
	struct trial key = {.id = id};

	return RB_FIND(trials_by_id, &queue->by_id, &key);
}

size_t queue_waiting(const Queue *queue)
{
	return queue->trials - queue->slots_used;
}

size_t queue_slots_used(const Queue *queue)
{
	return queue->slots_used;
}

size_t queue_position(Queue *queue, const struct trial *trial, size_t most)
{
	struct trial *other;
	size_t position = 0;

	if (login_waiting(trial))
		return login_position(trial, most);
	if (trial->awaited)
		return 0;
	if (!trial->in_turn)
		return repository_position(trial, most);
	RB_FOREACH(other, trials_by_turn, &queue->by_turn)
	{
		if (++position > most)
			return 0;
		if (other == trial)
			return position;
	}
	return 0;
}

const char *queue_waits_for(const Queue *queue, const struct trial *trial,
			    char buffer[QUEUE_REASON_BYTES])
{
	const char *paused = queue_paused_reason(queue);

	if (trial->stuck)
		return "stuck: a process that the kernel does not let end";
	if (paused &&
	    (trial->awaited || trial->in_repository || trial->in_turn || login_waiting(trial))) {
		snprintf(buffer, QUEUE_REASON_BYTES, "the queue is paused%s%s", *paused ? ": " : "",
			 paused);
		return buffer;
	}
	if (trial->awaited)
		return grader_waits_for(trial, buffer, QUEUE_REASON_BYTES);
	if (trial->in_repository)
		return repository_waits_for(trial, buffer, QUEUE_REASON_BYTES);
	if (login_waiting(trial))
		return login_waits_for(trial, buffer, QUEUE_REASON_BYTES);
	if (!trial->in_turn)
		return NULL;
	if (queue->stopping)
		return "the daemon is stopping";
	if (queue->paused_for)
		return queue->paused_for;
	if (!launcher_proved(queue->launcher))
		return "the sandbox to be tried once";
	if (launcher_unavailable(queue->launcher))
		return "the sandbox to be mended: trialctl doctor";
	if (sched_most(queue) < queue->host->config->max_running) {
		snprintf(buffer, QUEUE_REASON_BYTES,
			 "a free slot: the limit on open files allows %u at once",
			 sched_most(queue));
		return buffer;
	}
	return "a free slot";
}

struct trial *queue_first(Queue *queue)
{
	return RB_MIN(trials_by_id, &queue->by_id);
}

struct trial *queue_next(struct trial *trial)
{
	return RB_NEXT(trials_by_id, &trial->queue->by_id, trial);
}

const char *queue_trials_folder(const Queue *queue)
{
	return queue->trials_folder;
}

void queue_watch_add(Queue *queue, struct queue_watch *watch)
{
	TAILQ_INSERT_TAIL(&queue->watches, watch, link);
}

void queue_watch_remove(Queue *queue, struct queue_watch *watch)
{
	TAILQ_REMOVE(&queue->watches, watch, link);
}

int queue_cancel(Queue *queue, uint64_t id, double grace_seconds, const char *by)
{
	struct trial *trial = queue_find(queue, id);

	if (!trial || trial->state == STATE_ended)
		return -ESRCH;
	trial_cancel(trial, grace_seconds, by);
	return 0;
}

size_t queue_cancel_running(Queue *queue, const char *by)
{
	struct trial *trial, *next;
	size_t count = 0;

	for (trial = RB_MIN(trials_by_id, &queue->by_id); trial; trial = next) {
		next = RB_NEXT(trials_by_id, &queue->by_id, trial);
		if (!trial->slot || trial->state == STATE_ended)
			continue;
		trial_cancel(trial, -1, by);
		count++;
	}
	return count;
}

void queue_stop(Queue *queue, bool leave, void (*stopped)(void *context), void *context)
{
	struct trial *trial, *next;

	queue->stopping = true;
	queue->leaving = queue->leaving || leave;
	queue->stopped = stopped;
	queue->context = context;
	logins_give_back(queue);
	for (trial = RB_MIN(trials_by_id, &queue->by_id); trial; trial = next) {
		next = RB_NEXT(trials_by_id, &queue->by_id, trial);
		if (leave)
			trial_leave(trial);
	}
	queue_check_stopped(queue);
}

void queue_check_stopped(Queue *queue)
{
	void (*stopped)(void *context) = queue->stopped;

	if (queue->slots_used == 0 && !queue->stopping)
		queue_settled(queue);
	if (!queue->stopping || queue->slots_used > 0 || queue->under_way > 0 || queue->prune ||
	    !stopped)
		return;
	queue->stopped = NULL;
	stopped(queue->context);
}

void queue_call_begun(Queue *queue)
{
	queue->under_way++;
}

void queue_call_ended(Queue *queue)
{
	if (--queue->under_way == 0 && queue->stopping)
		queue_check_stopped(queue);
}

/* Which repository it writes to, and whose login it uses, from the launch as the ledger has it. */
static int load_leases(struct trial *trial, const struct ledger_row *row)
{
	struct message *message = NULL, *facts_message = NULL;
	struct trial_facts facts = {0};
	struct frozen_host storage;
	struct launch_request request;
	const struct plan_host *host;
	int ignored, r;

	if (!view_decode(&row->spec, &message, &launch_request_type, &request))
		return 0;
	if (!view_decode(&row->facts, &facts_message, &trial_facts_type, &facts))
		facts = (struct trial_facts){0};
	host = frozen_host(&storage, trial->queue->host, &facts);
	r = repository_get(trial->queue, &request, &trial->repository);
	trial->shares = request.share_repository;
	trial->of = launch_judges(&request) ? request.of : 0;
	login_attach(trial, login_get(trial->queue, host->config, &request, &facts, &ignored));
	message_free(facts_message);
	message_free(message);
	return r;
}

static int load_one(const struct ledger_row *row, void *context)
{
	Queue *queue = context;
	struct trial *trial;
	sd_id128_t uuid;
	int r;

	if (sd_id128_from_string(row->uuid, &uuid) < 0)
		uuid = SD_ID128_NULL;
	trial = trial_new(queue, row->id, uuid, row->priority, row->state);
	if (!trial)
		return -ENOMEM;
	r = load_leases(trial, row);
	if (r < 0)
		return r;
	if (row->state == STATE_queued || row->state == STATE_held || row->state == STATE_leasing) {
		trial->state = STATE_queued;
		sched_add(queue, trial);
		return 0;
	}
	sched_take_slot(trial);
	repository_take_again(trial);
	login_take_again(trial);
	trial_recover(trial, row);
	return 0;
}

int queue_load(Queue *queue)
{
	bool pruned = false;
	int r;

	reserve_keep(queue->trials_fd);
	r = pause_load(queue);
	if (r == 0)
		r = ledger_any_pruned(queue->ledger, &pruned);
	if (r == 0)
		r = ledger_each_unended(queue->ledger, load_one, queue);
	if (r < 0)
		return r;
	if (pruned)
		queue_prune_resume(queue);
	logins_load(queue);
	bare_homes_load(queue);
	sched_kick(queue);
	return 0;
}

/* SPDX-License-Identifier: MIT */

/*
 * The verbs logins and login_restore: how each Harness is signed in, and the way back to the last good
 * login. What is in a login a task looks at, for which a thread of the pool waits; who waits for it and
 * who has it is told as it is when the answer is sent.
 */
#include "serve/request.h"

#include <string.h>

#include "queue/login_view.h"

#define TURNS_MOST 20 /* Trials told of one login, waiting and using */

struct logins {
	uv_work_t work;
	struct request *request;
	char *restore; /* whose, or NULL */
	bool previous;
	struct login_ways ways;
	int result;
	struct fault fault;
};

/* Of one way, what the view points to. */
struct answer {
	struct status_trial waiters[TURNS_MOST];
	struct status_trial users[TURNS_MOST];
	char reasons[TURNS_MOST][QUEUE_REASON_BYTES];
	size_t waiter_count, user_count;
	uint64_t waiting;
};

static void asked_free(struct logins *logins)
{
	login_ways_done(&logins->ways);
	fault_done(&logins->fault);
	free(logins->restore);
	free(logins);
}

/* --- Who waits, who has it ------------------------------------------------------------------------- */

static void add_turn(struct answer *answer, Queue *queue, struct trial *trial, bool waits)
{
	size_t *count = waits ? &answer->waiter_count : &answer->user_count;
	struct status_trial *view = waits ? &answer->waiters[*count] : &answer->users[*count];
	char reason[QUEUE_REASON_BYTES];
	struct queue_hold hold;

	answer->waiting += waits;
	if (*count >= TURNS_MOST)
		return;
	*view = (struct status_trial){
		.has = {.id = true, .state = true},
		.id = trial->id,
		.state = queue_held(queue, trial, reason, &hold) ? STATE_held : trial->state,
	};
	if (waits)
		view->waits_for = queue_waits_for(queue, trial, answer->reasons[*count]);
	(*count)++;
}

/* Those that wait want what the next launch would use. */
static void add_turns_of(struct answer *answers, const struct login_ways *ways, Queue *queue,
			 struct trial *trial)
{
	struct login_turn turn;

	for (size_t index = 0; login_turn(trial, index, &turn); index++) {
		if (!turn.waits && !turn.has)
			continue;
		for (size_t i = 0; i < ways->count; i++) {
			const struct login_way *way = &ways->items[i];

			if ((turn.waits ? way->used : way->kind == (int)turn.kind) &&
			    strcmp(way->harness, turn.harness) == 0)
				add_turn(&answers[i], queue, trial, turn.waits);
		}
	}
}

static void add_turns(struct answer *answers, const struct login_ways *ways, Queue *queue)
{
	for (struct trial *trial = queue_first(queue); trial; trial = queue_next(trial))
		add_turns_of(answers, ways, queue, trial);
}

/* --- The view ----------------------------------------------------------------------------------------- */

static enum login_condition condition_of(const struct login_way *way)
{
	int known;

	if (way->kind < 0)
		return LOGIN_CONDITION_failed;
	/* The login may be good, in a home that is none. */
	if (way->faulty && way->present && way->kind == HARNESS_LOGIN_home)
		return LOGIN_CONDITION_failed;
	if (way->faulty)
		return way->present ? LOGIN_CONDITION_damaged : LOGIN_CONDITION_absent;
	if (way->in_use)
		return LOGIN_CONDITION_in_use;
	if (!way->ordered)
		return way->present ? LOGIN_CONDITION_good : LOGIN_CONDITION_absent;
	known = way->result < 0 ? -1 : login_condition_from_name(way->told.state);
	return known < 0 ? LOGIN_CONDITION_failed : (enum login_condition)known;
}

static const char *reason_of(const struct login_way *way)
{
	if (way->reason || way->in_use)
		return way->reason;
	return way->result < 0 ? strerror(-way->result) : way->told.reason;
}

static void add_task(struct login_view *view, const struct login_way *way)
{
	view->has.ends_at = way->told.has.ends_at;
	view->ends_at = way->told.ends_at;
	if (way->refreshed.at > 0) {
		view->refreshed_at = way->refreshed.has.refreshed_at ? way->refreshed.refreshed_at
								     : way->refreshed.at;
		view->refreshed_by = way->refreshed.trial;
		view->has.refreshed_at = true;
		view->has.refreshed_by = way->refreshed.has.trial;
	}
	if (view->state == LOGIN_CONDITION_suspect && way->mark.at > 0) {
		view->suspect_at = way->mark.at;
		view->suspect_by = way->mark.trial;
		view->has.suspect_at = true;
		view->has.suspect_by = way->mark.has.trial;
	}
	view->restorable = view->has.restorable = way->restorable;
	view->restored_from = way->restored_from;
	view->has.restored_from = way->restored_from > 0;
}

static void add_answer(struct login_view *view, struct answer *answer)
{
	view->waiting = answer->waiting;
	view->has.waiting = answer->waiting > 0;
	view->waiters = (struct status_trial_list){answer->waiter_count, answer->waiters};
	view->users = (struct status_trial_list){answer->user_count, answer->users};
}

static void fill(struct login_view *view, const struct login_way *way, struct answer *answer)
{
	const struct home_holder *holder = &way->holder;

	*view = (struct login_view){
		.has = {.harness = true,
			.kind = way->kind >= 0,
			.used = true,
			.state = true,
			.present = true,
			.changed_at = way->changed_at > 0},
		.harness = way->harness,
		.used = way->used,
		.state = condition_of(way),
		.present = way->present,
		.path = way->path,
		.credential = way->credential,
		.home = way->home,
		.reason = reason_of(way),
		.hint = way->hint,
		.sign_in = way->sign_in,
		.changed_at = way->changed_at,
	};
	if (way->kind >= 0)
		view->kind = (enum login_kind)login_kind_from_name(
			harness_login_kind_name((enum harness_login_kind)way->kind));
	if (way->ordered)
		add_task(view, way);
	add_answer(view, answer);
	if (way->in_use && answer->user_count == 0) {
		view->has.holder_pid = holder->pid > 0;
		view->holder_pid = (uint64_t)holder->pid;
		view->holder = holder->command[0] ? holder->command : NULL;
	}
}

static int reply(struct logins *logins)
{
	struct request *request = logins->request;
	Queue *queue = request->session->server->options.queue;
	size_t count = logins->ways.count;
	_cleanup_free_ struct login_view *views = calloc(count + 1, sizeof(*views));
	_cleanup_free_ struct answer *answers = calloc(count + 1, sizeof(*answers));
	struct logins_reply answer = {.has = {.logins = true}, .logins = {count, views}};

	if (!views || !answers)
		return -ENOMEM;
	add_turns(answers, &logins->ways, queue);
	for (size_t i = 0; i < count; i++)
		fill(&views[i], &logins->ways.items[i], &answers[i]);
	session_reply(request->session, request->number, &logins_reply_type, &answer);
	return 0;
}

/* --- The requests ------------------------------------------------------------------------------------- */

static void refuse(struct logins *logins, int error)
{
	struct request *request = logins->request;

	if (error == FAULT)
		request_refuse(request, logins->fault.code, logins->fault.message,
			       logins->fault.hint);
	else
		request_refuse(request, ERROR_internal, strerror(-error), NULL);
	asked_free(logins);
}

static void logins_work(uv_work_t *work)
{
	struct logins *logins = container_of(work, struct logins, work);

	if (logins->restore)
		logins->result = login_ways_restore(&logins->ways, logins->previous,
						    &logins->fault);
	if (logins->result == 0)
		login_ways_look(&logins->ways);
}

static void on_looked(uv_work_t *work, int status)
{
	struct logins *logins = container_of(work, struct logins, work);
	struct request *request = logins->request;
	int r = status < 0 ? status : logins->result;

	/* Whatever came of it: who waits looks again. */
	if (logins->restore)
		login_changed(request->session->server->options.queue, logins->restore);
	if (r == 0)
		r = reply(logins);
	if (r != 0) {
		refuse(logins, r);
		return;
	}
	asked_free(logins);
	request_done(request);
}

static void begin(struct request *request, const char *name, bool restore, bool previous)
{
	struct logins *logins = calloc(1, sizeof(*logins));
	Server *server = request->session->server;
	int r;

	if (!logins) {
		request_refuse(request, ERROR_internal, strerror(ENOMEM), NULL);
		return;
	}
	logins->request = request;
	logins->fault = FAULT_INIT;
	logins->restore = restore ? strdup(name) : NULL;
	logins->previous = previous;
	r = restore && !logins->restore ? -ENOMEM : 0;
	if (r == 0)
		r = login_ways_find(server->options.queue, name, &logins->ways, &logins->fault);
	if (r == 0)
		r = uv_queue_work(server->loop, &logins->work, logins_work, on_looked);
	if (r != 0)
		refuse(logins, r);
}

void handle_logins(struct request *request, const void *arguments)
{
	const struct logins_request *asked = arguments;

	begin(request, asked->name, false, false);
}

void handle_login_restore(struct request *request, const void *arguments)
{
	const struct login_restore_request *asked = arguments;

	begin(request, asked->name, true, asked->previous);
}

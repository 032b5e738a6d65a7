/* SPDX-License-Identifier: MIT */

/*
 * Accepting a Grader. Whether there is what it is to judge is asked of the ledger first; its launch is
 * then one on the repository of the judged Trial, and is accepted like any other.
 *
 * A key that was used before means the Trial that has it, whatever became of what that judged: a
 * refusal is held back until the ledger has said that there is none (submit.c).
 */
#include "queue/grader.h"
#include "queue/bar_launch.h"
#include "queue/bar_votes.h"

#include <string.h>
#include <sys/stat.h>

struct grader_submit {
	struct ledger_call call;
	Queue *queue;
	submit_done done;
	void *context;
	int prompt_fd;
	msgpack_sbuffer request_bytes, facts_bytes;
	struct message *request_message, *facts_message;
	struct launch_request launch;
	struct trial_facts facts;
	bool has_facts;
	struct judged judged;
	struct text_list notes;
	struct fault fault;
	TAILQ_ENTRY(grader_submit) link;
	bool at_vote; /* it is in that list */
	bool waits;   /* for one before it there, of the same seat and Trial */
};

static void grader_submit_free(struct grader_submit *submit)
{
	Queue *queue = submit->queue;

	fd_close(submit->prompt_fd);
	judged_done(&submit->judged);
	text_list_done(&submit->notes);
	message_free(submit->request_message);
	message_free(submit->facts_message);
	msgpack_sbuffer_destroy(&submit->request_bytes);
	msgpack_sbuffer_destroy(&submit->facts_bytes);
	fault_done(&submit->fault);
	free(submit);
	queue_call_ended(queue);
}

/* The repository that a launch names beside of: it can only be the same. */
static int check_repository(const struct judged *judged, const char *given, struct fault *fault)
{
	_cleanup_free_ char *shown = NULL;
	struct stat a, b;

	if (!given || (judged->asked && strcmp(given, judged->asked) == 0) ||
	    (judged->repository && strcmp(given, judged->repository) == 0))
		return 0;
	if (judged->repository && stat(given, &a) == 0 && stat(judged->repository, &b) == 0 &&
	    a.st_dev == b.st_dev && a.st_ino == b.st_ino)
		return 0;
	shown = display(judged->repository ?: "none");
	fault_set(fault, ERROR_refused, "repository: that of Trial %llu is %s, and no other",
		  (unsigned long long)judged->id, shown);
	return fault_hint(fault, "leave repository out: of says which it is");
}

static void ask_votes(struct grader_submit *submit);

static struct grader_submit *find_same(struct grader_submit *submit, bool waits)
{
	const struct launch_request *launch = &submit->launch;
	struct grader_submit *other;

	TAILQ_FOREACH(other, &submit->queue->seats_at_vote, link)
	if (other != submit && other->waits == waits && other->launch.of == launch->of &&
	    strcmp(other->launch.seat, launch->seat) == 0 &&
	    strcmp(other->launch.bar, launch->bar) == 0)
		return other;
	return NULL;
}

/* It is in the ledger, or refused: the next launch of that seat can be looked at. */
static void on_seated(void *context, const struct submit_result *result)
{
	struct grader_submit *submit = context, *next = find_same(submit, true);

	TAILQ_REMOVE(&submit->queue->seats_at_vote, submit, link);
	submit->done(submit->context, result);
	if (next) {
		next->waits = false;
		ask_votes(next);
	}
	grader_submit_free(submit);
}

static void go_on(struct grader_submit *submit, int r)
{
	const struct trial_facts *facts = submit->has_facts ? &submit->facts : NULL;
	struct launch_request *launch = &submit->launch;
	bool seated = submit->at_vote;

	if (r < 0)
		fault_errno(&submit->fault, r, "launch");
	if (submit->judged.asked) {
		launch->repository = submit->judged.asked;
		launch->has.repository = true;
	}
	submit_begin(submit->queue, launch, fd_steal(&submit->prompt_fd), facts,
		     r != 0 ? &submit->fault : NULL, &submit->notes,
		     seated ? on_seated : submit->done, seated ? submit : submit->context);
	if (!seated)
		grader_submit_free(submit);
}

static void on_votes(struct ledger_call *call)
{
	struct grader_submit *submit = container_of(call, struct grader_submit, call);
	int r = call->result;

	if (r < 0)
		r = ledger_fault(submit->queue->ledger, r, &submit->fault);
	else
		r = bar_vote_check(&submit->launch, call->rows, call->count, &submit->fault);
	go_on(submit, r);
}

static void ask_votes(struct grader_submit *submit)
{
	msgpack_sbuffer bytes;
	int r = bar_votes_named(submit->launch.of, &bytes);

	if (r == 0) {
		struct blob named = {.data = (const uint8_t *)bytes.data, .size = bytes.size};

		submit->call.done = on_votes;
		ledger_list_naming(submit->queue->ledger, &submit->call, submit->launch.of, named);
		msgpack_sbuffer_destroy(&bytes);
	} else {
		go_on(submit, r);
	}
}

/*
 * All else is as it should be; of a rerun too, since it would vote once more. Of two launches of one
 * seat at the same moment the ledger knows neither: so the second waits until the first is there.
 */
static void check_votes(struct grader_submit *submit, int r)
{
	if (r != 0 || !submit->launch.bar || !submit->launch.seat) {
		go_on(submit, r);
		return;
	}
	submit->waits = find_same(submit, false) != NULL;
	submit->at_vote = true;
	TAILQ_INSERT_TAIL(&submit->queue->seats_at_vote, submit, link);
	if (!submit->waits)
		ask_votes(submit);
}

static void on_since(struct ledger_call *call)
{
	struct grader_submit *submit = container_of(call, struct grader_submit, call);
	int r = call->result;

	if (r < 0)
		r = ledger_fault(submit->queue->ledger, r, &submit->fault);
	else
		r = judged_check_since(&submit->judged, call->rows, call->count, &submit->fault);
	if (r == 0)
		r = judged_check_folder(&submit->judged, &submit->fault);
	check_votes(submit, r);
}

static void on_judged(struct ledger_call *call)
{
	struct grader_submit *submit = container_of(call, struct grader_submit, call);
	Queue *queue = submit->queue;
	bool ended = false;
	int r;

	if (call->result == -ENOENT)
		r = judged_not_found(submit->launch.of, &submit->fault);
	else if (call->result < 0)
		r = ledger_fault(queue->ledger, call->result, &submit->fault);
	else
		r = judged_take(queue, call->row, &submit->judged, &ended, &submit->fault);
	if (r == 0)
		r = check_repository(&submit->judged, submit->launch.repository, &submit->fault);
	/* A rerun has the seat that it had. */
	if (r == 0 && !submit->facts.has.rerun_of)
		r = bar_seat_check(queue, &submit->launch, call->row, &submit->fault);
	if (r == 0)
		r = bar_vote_notes(&submit->launch, call->row, &submit->notes);
	if (r == 0 && ended && submit->judged.repository) {
		submit->call.done = on_since;
		ledger_list_since_end(queue->ledger, &submit->call, submit->judged.id, judged_wrote,
				      &submit->judged);
		return;
	}
	check_votes(submit, r);
}

/* Both are good for the call only, and are looked at after it. */
static int copy_request(struct grader_submit *submit, const struct launch_request *request,
			const struct trial_facts *facts)
{
	struct blob blob;
	int r = view_encode(&submit->request_bytes, &launch_request_type, request);

	blob = (struct blob){.data = (const uint8_t *)submit->request_bytes.data,
			     .size = submit->request_bytes.size};
	if (r == 0 &&
	    !view_decode(&blob, &submit->request_message, &launch_request_type, &submit->launch))
		r = -EBADMSG;
	if (r < 0 || !facts)
		return r;
	r = view_encode(&submit->facts_bytes, &trial_facts_type, facts);
	blob = (struct blob){.data = (const uint8_t *)submit->facts_bytes.data,
			     .size = submit->facts_bytes.size};
	if (r == 0 && blob.size > 0 &&
	    !view_decode(&blob, &submit->facts_message, &trial_facts_type, &submit->facts))
		r = -EBADMSG;
	submit->has_facts = true;
	return r;
}

void grader_submit(Queue *queue, const struct launch_request *request, int prompt_fd,
		   const struct trial_facts *facts, submit_done done, void *context)
{
	struct submit_result failed = {.result = -ENOMEM};
	struct grader_submit *submit = calloc(1, sizeof(*submit));

	if (!submit) {
		fd_close(prompt_fd);
		done(context, &failed);
		return;
	}
	queue_call_begun(queue);
	submit->queue = queue;
	submit->done = done;
	submit->context = context;
	submit->prompt_fd = prompt_fd;
	submit->fault = FAULT_INIT;
	msgpack_sbuffer_init(&submit->request_bytes);
	msgpack_sbuffer_init(&submit->facts_bytes);
	if (copy_request(submit, request, facts) < 0) {
		done(context, &failed);
		grader_submit_free(submit);
		return;
	}
	submit->call.done = on_judged;
	ledger_get(queue->ledger, &submit->call, request->of);
}

/* SPDX-License-Identifier: MIT */

/*
 * The verb arm_remove, step by step:
 *
 *   1 leave    from here on nobody finds the Arm, and nobody is just about to need it (queue/arm_use.h)
 *   2 count    the ledger's Trials of it: page by page, so that others get their turn
 *   3 remove   on a thread, while nothing is prepared: unless a Bar names it, its file, which is durable,
 *              and then the contents that no other Arm names
 *
 * A crash in step 3 leaves contents that no Arm names, which the next start collects.
 */
#include "serve/arms.h"
#include "serve/request.h"

#include <stdio.h>
#include <string.h>

#include "plan/arm.h"
#include "plan/arm_store.h"
#include "plan/bar_store.h"
#include "queue/arm_launch.h"
#include "queue/arm_use.h"

struct removal {
	struct lane_work work;
	struct ledger_call call;
	struct request *request;
	char id[ARM_ID_BYTES + 1];
	char name[ARM_NAME_BYTES_MAX + 1]; /* "": it is damaged */
	msgpack_sbuffer facts;
	struct blob named; /* in facts */
	uint64_t trials, unended;
	char bar[BAR_NAME_BYTES_MAX + 1]; /* that names it, or is damaged and may; or "" */
	bool bar_damaged;
	struct arm_store_collected collected;
	int left;
	int result;
};

static Server *server_of(const struct removal *removal)
{
	return removal->request->session->server;
}

static void removal_free(struct removal *removal)
{
	msgpack_sbuffer_destroy(&removal->facts);
	free(removal);
}

/* FAULT or -errno. */
static void refuse(struct removal *removal, int r, const struct fault *fault)
{
	if (r == FAULT)
		request_refuse(removal->request, fault->code, fault->message, fault->hint);
	else
		request_refuse(removal->request, ERROR_internal, strerror(-r), NULL);
	removal_free(removal);
}

static void give_up(struct removal *removal, int r, const struct fault *fault)
{
	arm_leave_end(server_of(removal)->options.queue);
	refuse(removal, r, fault);
}

/* --- remove --------------------------------------------------------------------------------------- */

static bool has_seat_of(const struct bar_seat_list *seats, const char *id)
{
	for (size_t i = 0; i < seats->count; i++)
		if (seats->items[i].arm && strcmp(seats->items[i].arm, id) == 0)
			return true;
	return false;
}

/* A Bar does not change, and its seats are to be launched for as long as it is there. */
static int find_bar(struct removal *removal, const struct bar_store *store)
{
	_cleanup_(text_list_done) struct text_list names = {0};
	int r = bar_store_list(store, &names);

	for (size_t i = 0; r == 0 && !*removal->bar && i < names.count; i++) {
		_cleanup_(bar_kept_done) struct bar_kept kept = BAR_KEPT_INIT;

		r = bar_store_read(store, names.items[i], &kept);
		removal->bar_damaged = r == -EBADMSG;
		if (removal->bar_damaged ||
		    (r == 0 && (has_seat_of(&kept.held.bar.seats, removal->id) ||
				has_seat_of(&kept.held.bar.stand_ins, removal->id))))
			snprintf(removal->bar, sizeof(removal->bar), "%s", names.items[i]);
		if (r == -EBADMSG || r == -ENOENT)
			r = 0;
	}
	return r;
}

static void remove_work(struct lane_work *work)
{
	struct removal *removal = container_of(work, struct removal, work);
	const struct server_options *options = &server_of(removal)->options;

	removal->result = find_bar(removal, options->bars);
	if (removal->result == 0 && !*removal->bar)
		removal->result = arm_store_remove(options->arms, removal->id, &removal->collected,
						   &removal->left);
}

static int refuse_bar(const struct removal *removal, struct fault *fault)
{
	if (removal->bar_damaged) {
		fault_set(
			fault, ERROR_unavailable,
			"arm: what is kept of Bar %s is damaged, and it may have a seat of this Arm",
			removal->bar);
		return fault_hint(fault, "set the very same Bar again, which mends it");
	}
	fault_set(fault, ERROR_refused,
		  "arm: Bar %s has a seat of it, and a Bar is there to be judged by again",
		  removal->bar);
	return FAULT;
}

static int why_not(const struct removal *removal, struct fault *fault)
{
	if (removal->result == 0)
		return refuse_bar(removal, fault);
	if (removal->result == -ENOENT)
		return fault_set(fault, ERROR_not_found, "arm: %.12s is gone by now", removal->id);
	return fault_set(fault, ERROR_unavailable, "arm: %.12s cannot be removed: %s", removal->id,
			 removal->result == -EPERM ? "what has its name is not a file of trialsd's"
						   : strerror(-removal->result));
}

static void reply_removed(struct removal *removal)
{
	const char *warning = "contents of its files may be left, which the next start of trialsd "
			      "removes";
	const char *damaged = "contents of its files are left: another Arm is damaged, and may be "
			      "what names them (trialctl arm list)";
	struct arm_remove_reply reply = {
		.has = {.id = true, .files = true, .bytes = true},
		.id = removal->id,
		.name = *removal->name ? removal->name : NULL,
		.files = removal->collected.files,
		.bytes = removal->collected.bytes,
	};

	if (removal->left == -EBADMSG)
		warning = damaged;
	if (removal->left < 0)
		reply.warnings = (struct text_list){1, &warning};
	session_reply(removal->request->session, removal->request->number, &arm_remove_reply_type,
		      &reply);
	request_done(removal->request);
	removal_free(removal);
}

static void on_removed(struct lane_work *work, int status)
{
	struct removal *removal = container_of(work, struct removal, work);
	_cleanup_fault_ struct fault fault = FAULT_INIT;

	if (status < 0)
		removal->result = status;
	if (removal->result == 0 && !*removal->bar) {
		arm_leave_end(server_of(removal)->options.queue);
		reply_removed(removal);
		return;
	}
	give_up(removal, why_not(removal, &fault), &fault);
}

/* --- count ---------------------------------------------------------------------------------------- */

static int refuse_trials(const struct removal *removal, struct fault *fault)
{
	char unended[64] = "";

	if (removal->unended > 0)
		snprintf(unended, sizeof(unended), ", of which %llu %s not over",
			 (unsigned long long)removal->unended,
			 removal->unended == 1 ? "is" : "are");
	fault_set(fault, ERROR_refused, "arm: %llu %s of it in the ledger%s",
		  (unsigned long long)removal->trials,
		  removal->trials == 1 ? "Trial is" : "Trials are", unended);
	return fault_hint(fault,
			  "trialctl prune lets those go that are over; trialctl list --arm %.12s "
			  "shows them",
			  removal->id);
}

static void on_counted(struct ledger_call *call)
{
	struct removal *removal = container_of(call, struct removal, call);
	_cleanup_fault_ struct fault fault = FAULT_INIT;
	Server *server = server_of(removal);
	int r = 0;

	if (call->result < 0) {
		r = ledger_fault(server->options.ledger, call->result, &fault);
		give_up(removal, r != 0 ? r : call->result, &fault);
		return;
	}
	removal->trials += call->number;
	removal->unended += call->newest;
	if (call->at > 0) {
		ledger_count_named(server->options.ledger, call, call->at, removal->named);
		return;
	}
	if (removal->trials > 0)
		r = refuse_trials(removal, &fault);
	if (r == 0)
		r = lane_begin(&arms_lane, server->loop, &removal->work, remove_work, on_removed);
	if (r != 0)
		give_up(removal, r, &fault);
}

/* --- leave ---------------------------------------------------------------------------------------- */

/* For the reply; of a damaged one it is not known. */
static void name_it(struct removal *removal)
{
	_cleanup_(arm_known_done) struct arm_known known = {0};
	_cleanup_fault_ struct fault fault = FAULT_INIT;
	Queue *queue = server_of(removal)->options.queue;

	if (arm_known_find(queue, removal->id, &known, &fault) == 0)
		snprintf(removal->name, sizeof(removal->name), "%s", known.arm.name);
}

void handle_arm_remove(struct request *request, const void *arguments)
{
	const struct arm_remove_request *remove = arguments;
	const struct server_options *options = &request->session->server->options;
	struct removal *removal = calloc(1, sizeof(*removal));
	_cleanup_fault_ struct fault fault = FAULT_INIT;
	int r;

	if (!removal) {
		request_refuse(request, ERROR_internal, strerror(ENOMEM), NULL);
		return;
	}
	removal->request = request;
	msgpack_sbuffer_init(&removal->facts);
	r = arm_known_id(options->queue, remove->id, removal->id, &fault);
	if (r == 0)
		name_it(removal);
	if (r == 0)
		r = arm_facts_bytes(removal->id, &removal->facts, &removal->named);
	if (r == 0)
		r = arm_leave_begin(options->queue, removal->id, &fault);
	if (r != 0) {
		refuse(removal, r, &fault);
		return;
	}
	removal->call.done = on_counted;
	ledger_count_named(options->ledger, &removal->call, 0, removal->named);
}

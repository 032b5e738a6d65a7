/* SPDX-License-Identifier: MIT */
#include "queue/bar_votes.h"

#include <string.h>

#include "base/list.h"
#include "queue/view.h"

int bar_votes_named(uint64_t of, msgpack_sbuffer *ret_named)
{
	msgpack_packer packer;
	int r;

	msgpack_sbuffer_init(ret_named);
	msgpack_packer_init(&packer, ret_named, msgpack_sbuffer_write);
	r = msgpack_pack_str_with_body(&packer, "of", strlen("of"));
	if (r == 0)
		r = msgpack_pack_uint64(&packer, of);
	if (r == 0)
		return 0;
	msgpack_sbuffer_destroy(ret_named);
	msgpack_sbuffer_init(ret_named);
	return -ENOMEM;
}

static bool same_seat(const struct launch_request *launch, const struct launch_request *other)
{
	return other->has.of && other->of == launch->of && other->bar && other->seat &&
	       strcmp(other->bar, launch->bar) == 0 && strcmp(other->seat, launch->seat) == 0;
}

static int refuse(const struct launch_request *launch, const struct ledger_row *row,
		  const struct trial_verdict *verdict, struct fault *fault)
{
	unsigned long long of = launch->of, id = row->id;

	if (!verdict) {
		fault_set(fault, ERROR_refused,
			  "seat: Trial %llu has seat %s for Trial %llu, and has not ended", id,
			  launch->seat, of);
		return fault_hint(fault, "trialctl wait %llu", id);
	}
	fault_set(fault, ERROR_refused,
		  "seat: %s has voted on Trial %llu already: %s, as Trial %llu", launch->seat, of,
		  vote_name((int)verdict->vote), id);
	return fault_hint(fault, "a seat has one vote: trialctl show %llu", id);
}

/* 0; FAULT. */
static int check_row(const struct launch_request *launch, const struct ledger_row *row,
		     struct fault *fault)
{
	struct message *spec_message = NULL, *record_message = NULL;
	struct launch_request other;
	struct outcome_record record;
	int r = 0;

	if (!view_decode(&row->spec, &spec_message, &launch_request_type, &other))
		return 0;
	if (same_seat(launch, &other) && row->state != STATE_ended)
		r = refuse(launch, row, NULL, fault);
	else if (same_seat(launch, &other) &&
		 view_decode(&row->record, &record_message, &outcome_record_type, &record) &&
		 record.has.verdict)
		r = refuse(launch, row, &record.verdict, fault);
	message_free(record_message);
	message_free(spec_message);
	return r;
}

int bar_vote_check(const struct launch_request *launch, struct ledger_row *const *rows,
		   size_t count, struct fault *ret_fault)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < count; i++)
		r = check_row(launch, rows[i], ret_fault);
	return r;
}

/* Its families were looked for when it was accepted under a Bar, or as an Arm. */
static bool is_unknown(const struct ledger_row *judged, const struct launch_request *spec)
{
	struct message *message = NULL;
	struct trial_facts facts;
	bool unknown = false;

	if (spec->harness && view_decode(&judged->facts, &message, &trial_facts_type, &facts))
		unknown = facts.families.count == 0;
	message_free(message);
	return unknown;
}

static int note_bars(const struct launch_request *launch, const struct ledger_row *judged,
		     const struct launch_request *spec, struct text_list *notes)
{
	unsigned long long of = launch->of;
	int r = 0;

	if (spec->bar && strcmp(spec->bar, launch->bar) != 0)
		r = text_list_add_format(
			notes,
			"Trial %llu is of Bar %s, and this grader is of Bar %s: it "
			"is judged by another standard than its own",
			of, spec->bar, launch->bar);
	if (r == 0 && !launch->seat)
		r = text_list_add_format(notes,
					 "it has no seat of Bar %s, so that its vote is nobody's: "
					 "--seat NAME gives it one",
					 launch->bar);
	if (r == 0 && launch->seat && is_unknown(judged, spec))
		r = text_list_add_format(
			notes,
			"Trial %llu was launched under no Bar: of which family its "
			"model is was not written down, and no vote is withheld",
			of);
	return r;
}

int bar_vote_notes(const struct launch_request *launch, const struct ledger_row *judged,
		   struct text_list *notes)
{
	struct message *message = NULL;
	struct launch_request spec;
	int r = 0;

	if (launch->bar && view_decode(&judged->spec, &message, &launch_request_type, &spec))
		r = note_bars(launch, judged, &spec, notes);
	message_free(message);
	return r;
}

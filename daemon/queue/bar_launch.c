/* SPDX-License-Identifier: MIT */
#include "queue/bar_launch.h"

#include <stdio.h>
#include <string.h>

#include "base/list.h"
#include "base/now.h"
#include "plan/panel.h"
#include "plan/provider.h"
#include "queue/bar_seats.h"

#define BAR_LIST_HINT "trialctl bar list"

int bar_known_find(Queue *queue, const char *name, struct bar_kept *ret_kept,
		   struct fault *ret_fault)
{
	_cleanup_free_ char *shown = display(name);
	int r = queue->bars ? bar_store_read(queue->bars, name, ret_kept) : -ENOENT;

	if (r == 0 || r == -ENOMEM)
		return r;
	if (r == -ENOENT) {
		fault_set(ret_fault, ERROR_not_found, "bar: there is none called %s", shown);
		return fault_hint(ret_fault, BAR_LIST_HINT);
	}
	if (r == -EBADMSG) {
		fault_set(ret_fault, ERROR_unavailable, "bar: what is kept of %s is damaged",
			  shown);
		return fault_hint(
			ret_fault,
			"set the very same again, or another name: trialctl bar set FILE.json");
	}
	return fault_set(ret_fault, ERROR_unavailable, "bar: %s cannot be read: %s", shown,
			 strerror(-r));
}

/* --- As it is set --------------------------------------------------------------------------------- */

/* In front of what is wrong with a seat: which one. */
static int refuse_seat(const char *list, size_t index, struct fault *fault)
{
	_cleanup_free_ char *message = fault->message, *hint = fault->hint;

	fault->message = fault->hint = NULL;
	fault_set(fault, fault->code, "%s[%zu]: %s", list, index, message);
	return hint ? fault_hint(fault, "%s", hint) : FAULT;
}

int bar_freeze(Queue *queue, const struct bar_spec *spec, struct bar_held *ret_held,
	       struct fault *ret_fault)
{
	struct bar_held *held = ret_held;
	size_t count = spec->seats.count + spec->stand_ins.count;
	int r = bar_make(spec, held);

	for (size_t i = 0; r == 0 && i < count; i++) {
		bool stands_in = i >= spec->seats.count;

		r = bar_seat_freeze(queue, held, &held->seats[i], ret_fault);
		if (r == FAULT)
			refuse_seat(stands_in ? "stand_ins" : "seats",
				    stands_in ? i - spec->seats.count : i, ret_fault);
	}
	if (r != 0)
		bar_held_done(held);
	return r;
}

/* --- A seat's launch ------------------------------------------------------------------------------ */

static int refuse_beside(const char *key, struct fault *fault)
{
	fault_set(fault, ERROR_refused, "%s: is the Bar's to say, and cannot stand beside seat",
		  key);
	return fault_hint(fault, "leave it out, or set another Bar: trialctl bar set FILE.json");
}

static int check_beside(const struct launch_request *launch, struct fault *fault)
{
	const struct {
		const char *key;
		bool said;
	} keys[] = {
		{"command", launch->has.command || launch->command.count > 0},
		{"harness", launch->harness != NULL},
		{"model", launch->model != NULL},
		{"effort", launch->effort != NULL},
		{"arm", launch->arm != NULL},
		{"resume", launch->resume != NULL},
		{"executable", launch->executable != NULL},
		{"arguments", launch->has.arguments || launch->arguments.count > 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (keys[i].said)
			return refuse_beside(keys[i].key, fault);
	return 0;
}

static int no_seat(const struct bar *bar, const char *name, struct fault *fault)
{
	_cleanup_free_ char *shown = display(name);
	char names[1024] = "";

	for (size_t i = 0; i < bar->seats.count + bar->stand_ins.count; i++) {
		size_t used = strlen(names);

		snprintf(names + used, sizeof(names) - used, "%s%s", i ? ", " : "",
			 i < bar->seats.count ? bar->seats.items[i].name
					      : bar->stand_ins.items[i - bar->seats.count].name);
	}
	fault_set(fault, ERROR_invalid, "seat: Bar %s has none called %s; there are %s", bar->name,
		  shown, names);
	return FAULT;
}

static int take_seat(struct launch_request *launch, struct bar_accepted *accepted,
		     struct fault *fault)
{
	const struct bar_seat *seat = bar_seat_find(&accepted->kept.held.bar, launch->seat);
	int r = check_beside(launch, fault);

	if (r != 0)
		return r;
	if (!seat)
		return no_seat(&accepted->kept.held.bar, launch->seat, fault);
	accepted->seat = seat;
	launch->arm = seat->arm;
	launch->has.arm = seat->arm != NULL;
	launch->harness = seat->harness;
	launch->has.harness = seat->harness != NULL;
	launch->model = seat->model;
	launch->has.model = seat->model != NULL;
	launch->effort = seat->effort;
	launch->has.effort = seat->effort != NULL;
	return 0;
}

int bar_accept(Queue *queue, struct launch_request *launch, struct bar_accepted *ret_accepted,
	       struct fault *ret_fault)
{
	struct bar_accepted *accepted = ret_accepted;
	bool grades = launch->has.role && launch->role == ROLE_grader;
	int r;

	*accepted = (struct bar_accepted){0};
	if (launch->seat && (!launch->bar || !grades || !launch->has.of)) {
		fault_set(ret_fault, ERROR_invalid,
			  "seat: is of a grader of a Trial, under a bar, alone");
		return fault_hint(ret_fault, "--role grader --of ID --bar NAME --seat NAME");
	}
	if (!launch->bar)
		return 0;
	r = bar_known_find(queue, launch->bar, &accepted->kept, ret_fault);
	accepted->named = r == 0;
	if (r == 0 && launch->seat)
		r = take_seat(launch, accepted, ret_fault);
	return r;
}

void bar_accepted_done(struct bar_accepted *accepted)
{
	bar_kept_done(&accepted->kept);
	*accepted = (struct bar_accepted){0};
}

/* --- Its families, and its Panel ------------------------------------------------------------------ */

static int find_families(Queue *queue, const struct launch_request *launch, const struct arm *arm,
			 struct bar_accepted *accepted, struct text_list *ret_families,
			 struct fault *fault)
{
	const struct plan_host *host = queue->host;
	const struct harness *harness = NULL;
	bool known;
	int r;

	*ret_families = (struct text_list){0};
	if (accepted->seat)
		*ret_families = accepted->seat->families;
	else if (arm)
		*ret_families = arm->families;
	/* Also without a Bar: a Grader of its result may have one. */
	if (accepted->seat || arm || !launch->harness || !host->harnesses)
		return 0;
	r = harness_set_find(host->harnesses, launch->harness, &harness, fault);
	if (r != 0)
		return r;
	harness_family(host->providers, harness, launch->model, NULL, accepted->family, &known);
	accepted->families[0] = accepted->family;
	*ret_families = (struct text_list){1, accepted->families};
	return 0;
}

static int check_panel(const struct bar *bar, const struct launch_request *launch,
		       const struct arm *arm, const struct text_list *families, struct fault *fault)
{
	_cleanup_(panel_done) struct panel panel = PANEL_INIT;
	_cleanup_free_ char *whom = NULL;
	int r;

	if (asprintf(&whom, "%s%s",
		     arm		? "Arm "
		     : launch->harness	? "the Harness "
					: "this command",
		     arm ? arm->name : launch->harness ?: "") < 0) {
		whom = NULL;
		return -ENOMEM;
	}
	r = panel_make(bar, whom, families, &panel);
	if (r < 0 || panel.holds)
		return r;
	fault_set(fault, ERROR_refused, "%s", panel.reason);
	return fault_hint(fault, "%s", panel.hint);
}

int bar_settle(Queue *queue, const struct launch_request *launch, const struct arm *arm,
	       struct bar_accepted *accepted, const struct trial_facts **facts,
	       struct fault *ret_fault)
{
	bool grades = launch->has.role && launch->role == ROLE_grader;
	struct text_list families;
	int r = find_families(queue, launch, arm, accepted, &families, ret_fault);

	if (r == 0 && accepted->named && !grades)
		r = check_panel(&accepted->kept.held.bar, launch, arm, &families, ret_fault);
	if (r != 0 || (families.count == 0 && !accepted->named))
		return r;
	if (*facts)
		accepted->facts = **facts;
	accepted->facts.families = families;
	accepted->facts.has.families = families.count > 0;
	accepted->facts.bar_id = accepted->named ? accepted->kept.id : NULL;
	*facts = &accepted->facts;
	return 0;
}

/* --- Its mark ------------------------------------------------------------------------------------- */

struct mark {
	uv_work_t work;
	Queue *queue;
	char name[BAR_NAME_BYTES_MAX + 1];
	char id[BAR_ID_BYTES + 1];
	bar_marked done;
	void *context;
	int result;
};

static void mark_work(uv_work_t *work)
{
	struct mark *mark = container_of(work, struct mark, work);

	mark->result = bar_store_use(mark->queue->bars, mark->name, mark->id, now_microseconds());
}

static void on_mark(uv_work_t *work, int status)
{
	struct mark *mark = container_of(work, struct mark, work);
	_cleanup_fault_ struct fault fault = FAULT_INIT;
	int r = status < 0 ? status : mark->result;

	if (r == -ESTALE || r == -ENOENT || r == -EBADMSG)
		r = fault_set(&fault, ERROR_unavailable,
			      "bar: %s has just been changed; launch again", mark->name);
	else if (r < 0)
		r = fault_set(&fault, ERROR_unavailable,
			      "bar: %s could not be marked as used: %s; nothing was recorded",
			      mark->name, strerror(-r));
	mark->done(mark->context, r, &fault);
	free(mark);
}

int bar_mark(Queue *queue, const char *name, const char *id, bar_marked done, void *context)
{
	struct mark *mark = calloc(1, sizeof(*mark));
	int r;

	if (!mark)
		return -ENOMEM;
	mark->queue = queue;
	mark->done = done;
	mark->context = context;
	snprintf(mark->name, sizeof(mark->name), "%s", name);
	snprintf(mark->id, sizeof(mark->id), "%s", id);
	r = uv_queue_work(queue->loop, &mark->work, mark_work, on_mark);
	if (r < 0)
		free(mark);
	return r;
}

/* --- A Grader's seat, of the Trial that it judges ------------------------------------------------- */

static int withheld(const struct panel *panel, const struct bar_seat *seat,
		    const struct launch_request *launch, struct fault *fault)
{
	const struct panel_place *place = panel_place_of(panel, seat);
	unsigned long long of = launch->of;

	if (!place) {
		fault_set(fault, ERROR_refused,
			  "the vote of stand-in %s is withheld: it takes no seat in the Panel of "
			  "Trial %llu",
			  seat->name, of);
		return fault_hint(fault, "trialctl panel check --bar %s --arm ID says who votes",
				  launch->bar);
	}
	fault_set(fault, ERROR_refused,
		  "the vote of seat %s is withheld: Trial %llu is of its family %s", seat->name, of,
		  place->because.items[0]);
	if (place->stand_in)
		return fault_hint(fault, "its stand-in is %s: --seat %s", place->stand_in->name,
				  place->stand_in->name);
	return fault_hint(fault, "trialctl panel check --bar %s --arm ID says who votes",
			  launch->bar);
}

int bar_seat_check(Queue *queue, const struct launch_request *launch,
		   const struct ledger_row *judged, struct fault *ret_fault)
{
	_cleanup_(bar_kept_done) struct bar_kept kept = BAR_KEPT_INIT;
	_cleanup_(panel_done) struct panel panel = PANEL_INIT;
	struct message *message = NULL;
	struct trial_facts facts = {0};
	const struct bar_seat *seat;
	int r;

	if (!launch->bar || !launch->seat)
		return 0;
	r = bar_known_find(queue, launch->bar, &kept, ret_fault);
	if (r != 0)
		return r;
	seat = bar_seat_find(&kept.held.bar, launch->seat);
	if (!seat)
		return no_seat(&kept.held.bar, launch->seat, ret_fault);
	/* Without facts it was accepted without families: a command, or before there were Bars. */
	if (!view_decode(&judged->facts, &message, &trial_facts_type, &facts))
		facts = (struct trial_facts){0};
	r = panel_make(&kept.held.bar, "it", &facts.families, &panel);
	if (r == 0 && !panel_votes(&panel, seat))
		r = withheld(&panel, seat, launch, ret_fault);
	message_free(message);
	return r;
}

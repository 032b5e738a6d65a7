/* SPDX-License-Identifier: MIT */

/*
 * The verb about Panels. What the Bar's seats come to is known at once; whether an Arm that has a seat is
 * as it was prepared takes reading its programs and folders, one Arm after the other, on a thread.
 */
#include "serve/request.h"

#include <stdio.h>
#include <string.h>

#include "base/lane.h"
#include "plan/arm_freeze.h"
#include "plan/panel.h"
#include "queue/bar_launch.h"
#include "queue/bar_seats.h"

/* As of arm_verify: who starts Trials does not wait behind several. */
static struct lane lane = LANE_INIT(lane, 1);

struct checking {
	struct lane_work work;
	struct request *request;
	struct bar_kept kept;
	struct bar_doubts doubts;
	struct arm_known arms[PANEL_ARMS_MAX];
	struct panel panels[PANEL_ARMS_MAX];
	struct panel_arm views[PANEL_ARMS_MAX];
	struct panel_seat seats[PANEL_ARMS_MAX][BAR_SEATS_MAX];
	const char *voters[PANEL_ARMS_MAX][BAR_SEATS_MAX];
	size_t count;
	/* The seat whose Arm is looked at, seats before stand-ins. */
	size_t at;
	struct arm_known known;
	struct arm_freeze *freeze;
};

static Server *server_of(const struct checking *checking)
{
	return checking->request->session->server;
}

static void checking_free(struct checking *checking)
{
	for (size_t i = 0; i < checking->count; i++) {
		panel_done(&checking->panels[i]);
		arm_known_done(&checking->arms[i]);
	}
	arm_freeze_free(checking->freeze);
	arm_known_done(&checking->known);
	bar_doubts_done(&checking->doubts);
	bar_kept_done(&checking->kept);
	free(checking);
}

/* FAULT or -errno; consumes all. */
static void refuse(struct checking *checking, int r, const struct fault *fault)
{
	struct request *request = checking->request;

	if (r == FAULT)
		request_refuse(request, fault->code, fault->message, fault->hint);
	else
		request_refuse(request, ERROR_internal, strerror(-r), NULL);
	checking_free(checking);
}

static void reply(struct checking *checking)
{
	struct request *request = checking->request;
	struct panel_check_reply answer = {
		.has = {.ok = true, .arms = true},
		.bar = checking->kept.held.bar.name,
		.ok = true,
		.arms = {checking->count, checking->views},
		.warnings = checking->doubts.warnings,
	};

	for (size_t i = 0; i < checking->count; i++)
		answer.ok = answer.ok && checking->views[i].ok;
	session_reply(request->session, request->number, &panel_check_reply_type, &answer);
	request_done(request);
	checking_free(checking);
}

/* --- Panels --------------------------------------------------------------------------------------- */

static struct panel_seat seat_view(const struct panel_place *place)
{
	const struct bar_seat *seat = place->seat, *stand_in = place->stand_in;

	return (struct panel_seat){
		.has = {.withheld = true},
		.seat = seat->name,
		.harness = seat->harness,
		.model = seat->model,
		.arm = seat->arm,
		.arm_name = seat->arm_name,
		.families = seat->families,
		.withheld = place->withheld,
		.because = place->because,
		.stand_in = stand_in ? stand_in->name : NULL,
		.stand_in_families = stand_in ? stand_in->families : (struct text_list){0},
	};
}

/* A voter that can never vote leaves too few, whatever the numbers say. */
static void check_voters(struct checking *checking, size_t at)
{
	const struct panel *panel = &checking->panels[at];
	struct panel_arm *view = &checking->views[at];

	for (size_t i = 0; view->ok && i < panel->voter_count; i++) {
		const char *never = bar_doubts_never(&checking->doubts, &checking->kept.held.bar,
						     panel->voters[i]);

		if (!never)
			continue;
		view->ok = false;
		view->reason = never;
	}
}

static int check_arm(struct checking *checking, Queue *queue, const char *digits,
		     struct fault *fault)
{
	size_t at = checking->count;
	struct arm_known *known = &checking->arms[at];
	struct panel *panel = &checking->panels[at];
	_cleanup_free_ char *whom = NULL;
	int r = arm_known_find(queue, digits, known, fault);

	if (r != 0)
		return r;
	checking->count++;
	if (asprintf(&whom, "Arm %s", known->arm.name) < 0) {
		whom = NULL;
		return -ENOMEM;
	}
	r = panel_make(&checking->kept.held.bar, whom, &known->arm.families, panel);
	if (r < 0)
		return r;
	for (size_t i = 0; i < panel->count; i++)
		checking->seats[at][i] = seat_view(&panel->places[i]);
	for (size_t i = 0; i < panel->voter_count; i++)
		checking->voters[at][i] = panel->voters[i]->name;
	checking->views[at] = (struct panel_arm){
		.has = {.ok = true, .seats = true},
		.arm = known->id,
		.name = known->arm.name,
		.families = known->arm.families,
		.ok = panel->holds,
		.reason = panel->reason,
		.hint = panel->hint,
		.seats = {panel->count, checking->seats[at]},
		.voters = {panel->voter_count, checking->voters[at]},
		.families_left = panel->families,
	};
	check_voters(checking, at);
	return 0;
}

static int check_all(struct checking *checking, const struct panel_check_request *asked,
		     struct fault *fault)
{
	Queue *queue = server_of(checking)->options.queue;
	int r;

	if (asked->arms.count == 0)
		return fault_set(fault, ERROR_invalid, "arms: there must be at least one");
	r = bar_known_find(queue, asked->bar, &checking->kept, fault);
	if (r == 0)
		r = bar_doubts_find(queue, &checking->kept.held, &checking->doubts);
	for (size_t i = 0; r == 0 && i < asked->arms.count; i++)
		r = check_arm(checking, queue, asked->arms.items[i], fault);
	return r;
}

/* --- Arms that have a seat ------------------------------------------------------------------------ */

static const struct bar_seat *seat_at(const struct bar *bar, size_t at)
{
	return at < bar->seats.count ? &bar->seats.items[at]
				     : &bar->stand_ins.items[at - bar->seats.count];
}

static int warn_of_arm(struct checking *checking, const char *what)
{
	const struct bar_seat *seat = seat_at(&checking->kept.held.bar, checking->at);

	if (checking->doubts.warnings.count == BAR_WARNINGS_MAX)
		return 0;
	return text_list_add_format(
		&checking->doubts.warnings,
		"%s: as things are each of its votes would be void: its Arm %s %s", seat->name,
		checking->known.arm.name, what);
}

/* Of what is finished. */
static int warn_of_changes(struct checking *checking)
{
	const struct text_list *lists[] = {arm_freeze_missing(checking->freeze),
					   arm_freeze_signed_out(checking->freeze),
					   arm_freeze_claimed(checking->freeze)};
	_cleanup_(arm_changes_done) struct arm_changes changes = {0};
	_cleanup_free_ char *text = NULL, *what = NULL;
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		if (lists[i]->count == 0)
			continue;
		if (asprintf(&what, "lacks something: %s", lists[i]->items[0]) < 0) {
			what = NULL;
			return -ENOMEM;
		}
		return warn_of_arm(checking, what);
	}
	r = arm_difference(&checking->known.arm, arm_freeze_arm(checking->freeze), &changes);
	if (r < 0 || (changes.list.count == 0 && changes.more == 0))
		return r;
	text = arm_changes_text(&changes, &checking->known.arm);
	if (!text || asprintf(&what, "has changed since it was prepared: %s", text) < 0) {
		what = NULL;
		return -ENOMEM;
	}
	return warn_of_arm(checking, what);
}

static void look_at_next(struct checking *checking);

static void arm_work(struct lane_work *work)
{
	arm_freeze_work(container_of(work, struct checking, work)->freeze);
}

static void on_arm(struct lane_work *work, int status)
{
	struct checking *checking = container_of(work, struct checking, work);
	_cleanup_fault_ struct fault fault = FAULT_INIT;
	int r = status < 0 ? status : arm_freeze_finish(checking->freeze, &fault);

	r = r == FAULT ? warn_of_arm(checking, fault.message)
	    : r == 0   ? warn_of_changes(checking)
		       : r;
	checking->freeze = arm_freeze_free(checking->freeze);
	arm_known_done(&checking->known);
	if (r < 0) {
		refuse(checking, r, NULL);
		return;
	}
	checking->at++;
	look_at_next(checking);
}

/* FAULT: there is nothing to look at, which was told already or is told by fault. */
static int look_begin(struct checking *checking, const char *id, struct fault *fault)
{
	Server *server = server_of(checking);
	const struct arm_freeze_options options = {
		.host = server->options.host,
		.bwrap_fd = launcher_bwrap(server->options.launcher),
		.before = &checking->known.arm,
	};
	struct arm_spec spec = {0};
	int r = arm_known_find(server->options.queue, id, &checking->known, fault);

	if (r != 0)
		return r;
	r = arm_spec_of(&checking->known.arm, &spec);
	if (r == 0)
		r = arm_freeze_begin(&checking->freeze, &options, &spec, fault);
	arm_spec_done(&spec);
	if (r == FAULT)
		r = warn_of_arm(checking, fault->message);
	else if (r == 0)
		return lane_begin(&lane, server->loop, &checking->work, arm_work, on_arm);
	arm_known_done(&checking->known);
	return r < 0 ? r : FAULT;
}

static void look_at_next(struct checking *checking)
{
	const struct bar *bar = &checking->kept.held.bar;

	for (; checking->at < bar->seats.count + bar->stand_ins.count; checking->at++) {
		_cleanup_fault_ struct fault fault = FAULT_INIT;
		const struct bar_seat *seat = seat_at(bar, checking->at);
		int r = seat->arm ? look_begin(checking, seat->arm, &fault) : FAULT;

		if (r == 0)
			return;
		if (r < 0) {
			refuse(checking, r, NULL);
			return;
		}
	}
	reply(checking);
}

void handle_panel_check(struct request *request, const void *arguments)
{
	_cleanup_fault_ struct fault fault = FAULT_INIT;
	struct checking *checking = calloc(1, sizeof(*checking));
	int r;

	if (!checking) {
		request_refuse(request, ERROR_internal, strerror(ENOMEM), NULL);
		return;
	}
	checking->request = request;
	r = check_all(checking, arguments, &fault);
	if (r == 0)
		look_at_next(checking);
	else
		refuse(checking, r, &fault);
}

/* SPDX-License-Identifier: MIT */
#include "queue/bar_seats.h"

#include <stdio.h>
#include <string.h>

#include "base/list.h"
#include "base/words.h"
#include "plan/arm_provider.h"
#include "plan/panel.h"
#include "plan/provider.h"
#include "plan/session_plan.h"
#include "queue/arm_launch.h"

static int find_harness(Queue *queue, const struct bar_seat *seat,
			const struct harness **ret_harness, struct fault *fault)
{
	if (!queue->host->harnesses)
		return fault_set(fault, ERROR_unavailable,
				 "no Harness could be read; the daemon's log says why");
	return harness_set_find(queue->host->harnesses, seat->harness, ret_harness, fault);
}

/* The launch that it comes to, of some Trial. */
static struct launch_request launch_of(const struct bar_seat *seat)
{
	return (struct launch_request){
		.has = {.harness = true,
			.model = seat->model != NULL,
			.effort = seat->effort != NULL,
			.role = true,
			.of = true},
		.harness = seat->harness,
		.model = seat->model,
		.effort = seat->effort,
		.role = ROLE_grader,
		.of = 1,
	};
}

/* Whatever such a launch would be refused for. */
static int check_session(Queue *queue, const struct bar_seat *seat, struct fault *fault)
{
	const struct session_prompt some = {.there = true, .size = 1, .data = " ", .fd = -1};
	const struct launch_request launch = launch_of(seat);

	return session_plan_check(queue->host, &launch, &some, NULL, fault);
}

static int check_role(const struct arm_known *known, struct fault *fault)
{
	if (arm_has_role(&known->arm, ROLE_grader))
		return 0;
	fault_set(fault, ERROR_refused, "the Arm %s does not serve as a grader", known->arm.name);
	return fault_hint(fault, "prepare it with \"roles\": [\"grader\"]: "
				 "trialctl arm prepare FILE.json");
}

/* --- As it is set --------------------------------------------------------------------------------- */

static int freeze_harness(Queue *queue, struct bar_held *held, struct bar_seat *seat,
			  struct fault *fault)
{
	const struct plan_host *host = queue->host;
	char family[FAMILY_BYTES_MAX + 1];
	const struct harness *harness = NULL;
	bool known;
	int r = find_harness(queue, seat, &harness, fault);

	if (r != 0)
		return r;
	if (seat->provider && !(host->providers && provider_find(host->providers, seat->provider)))
		return arm_provider_unknown(host, "provider", seat->provider, fault);
	r = check_session(queue, seat, fault);
	if (r != 0)
		return r;
	harness_family(host->providers, harness, seat->model, seat->provider, family, &known);
	r = bar_seat_family(held, seat, family);
	return r == 0 && seat->family ? bar_seat_family(held, seat, seat->family) : r;
}

static int refuse_family(const struct bar_seat *seat, const struct arm *arm, struct fault *fault)
{
	fault_set(fault, ERROR_invalid,
		  "family: the Arm %s has its own, %s%s; only one of which none is known takes "
		  "another",
		  arm->name, arm->families.items[0], arm->families.count > 1 ? ", …" : "");
	return fault_hint(fault, "leave out \"family\": \"%s\"", seat->family);
}

static int freeze_arm(Queue *queue, struct bar_held *held, struct bar_seat *seat,
		      struct fault *fault)
{
	_cleanup_(arm_known_done) struct arm_known known = {0};
	int r = arm_known_find(queue, seat->arm, &known, fault);

	if (r == 0)
		r = check_role(&known, fault);
	if (r == 0 && seat->family && known.arm.families.count > 0)
		r = refuse_family(seat, &known.arm, fault);
	if (r == 0)
		r = text_list_add(&held->texts, known.id);
	if (r == 0)
		r = text_list_add(&held->texts, known.arm.name);
	if (r != 0)
		return r;
	seat->arm = held->texts.items[held->texts.count - 2];
	seat->arm_name = held->texts.items[held->texts.count - 1];
	if (seat->family)
		r = bar_seat_family(held, seat, seat->family);
	for (size_t i = 0; r == 0 && i < known.arm.families.count; i++)
		r = bar_seat_family(held, seat, known.arm.families.items[i]);
	return r;
}

int bar_seat_freeze(Queue *queue, struct bar_held *held, struct bar_seat *seat,
		    struct fault *ret_fault)
{
	return seat->arm ? freeze_arm(queue, held, seat, ret_fault)
			 : freeze_harness(queue, held, seat, ret_fault);
}

/* --- In doubt ------------------------------------------------------------------------------------- */

/* Whether a Harness, provider or pattern of models has it. */
static bool anybody_has(const struct plan_host *host, const char *family)
{
	const struct provider_set *set = host->providers;

	for (size_t i = 0; set && i < set->count; i++)
		if (set->providers[i].family && strcmp(set->providers[i].family, family) == 0)
			return true;
	for (size_t i = 0; set && i < set->pattern_count; i++)
		if (strcmp(set->patterns[i].family, family) == 0)
			return true;
	for (size_t i = 0; host->harnesses && i < host->harnesses->count; i++) {
		const struct harness *harness = host->harnesses->entries[i].harness;

		if (harness && harness->program.family &&
		    strcmp(harness->program.family, family) == 0)
			return true;
	}
	return false;
}

static int doubt_stated(const struct plan_host *host, const struct bar_seat *seat,
			struct text_list *warnings)
{
	if (!seat->family || anybody_has(host, seat->family))
		return 0;
	return text_list_add_format(
		warnings,
		"%s: its \"family\" is %s, which nothing else here is of: if that is misspelled, a "
		"model may judge its own work",
		seat->name, seat->family);
}

static int doubt_family(const struct plan_host *host, const struct bar_seat *seat,
			const struct harness *harness, struct text_list *warnings)
{
	char family[FAMILY_BYTES_MAX + 1];
	bool known;

	harness_family(host->providers, harness, seat->model, seat->provider, family, &known);
	if (!known && seat->family)
		return doubt_stated(host, seat, warnings);
	if (!known)
		return text_list_add_format(
			warnings,
			"%s: whose model %s is, is not known: its family is called %s; \"family\" "
			"of the seat can say",
			seat->name, seat->model ?: "it will use", family);
	if (!words_have(&seat->families, family))
		return text_list_add_format(
			warnings,
			"%s: its model is of the family %s, and this Bar was set with another: its "
			"vote is not withheld for %s; a Bar of another name has what is known now",
			seat->name, family, family);
	if (seat->family && strcmp(seat->family, family) != 0)
		return text_list_add_format(
			warnings,
			"%s: its \"family\" is %s, but its model is known to be of the family %s: "
			"its vote is withheld for both; leave \"family\" out, or mend it",
			seat->name, seat->family, family);
	return 0;
}

/* What passes by itself: the program is installed, somebody signs in. */
static int doubt_session(Queue *queue, const struct bar_seat *seat, const struct harness *harness,
			 struct text_list *warnings)
{
	struct session_login found = SESSION_LOGIN_INIT;
	struct program program = PROGRAM_INIT;
	_cleanup_fault_ struct fault fault = FAULT_INIT;
	const struct launch_request launch = launch_of(seat);
	const char *text;
	size_t length = strlen(harness->name);
	int r = session_login_find(&found, queue->host, harness, &fault);

	if (r == FAULT)
		r = session_plan_add_program(queue->host, &launch, &fault);
	else if (r == 0)
		r = session_plan_program(queue->host, harness, &program, &fault);
	session_login_done(&found);
	program_done(&program);
	if (r != FAULT)
		return r;
	text = fault.message;
	if (strncmp(text, harness->name, length) == 0 && strncmp(text + length, ": ", 2) == 0)
		text += length + 2;
	return text_list_add_format(warnings, "%s: cannot vote yet: %s%s%s", seat->name, text,
				    fault.hint ? "; " : "", fault.hint ?: "");
}

static int doubt_harness(Queue *queue, const struct bar_seat *seat, bool legacy,
			 struct text_list *warnings, struct fault *never)
{
	const struct harness *harness = NULL;
	int r = find_harness(queue, seat, &harness, never);

	if (r == 0)
		r = check_session(queue, seat, never);
	if (r != 0)
		return r;
	r = legacy ? 0 : doubt_family(queue->host, seat, harness, warnings);
	return r == 0 ? doubt_session(queue, seat, harness, warnings) : r;
}

static int doubt_arm(Queue *queue, const struct bar_seat *seat, struct text_list *warnings,
		     struct fault *never)
{
	_cleanup_(arm_known_done) struct arm_known known = {0};
	int r = arm_known_find(queue, seat->arm, &known, never);

	if (r == 0)
		r = check_role(&known, never);
	if (r != 0)
		return r;
	if (seat->families.count > 0)
		return doubt_stated(queue->host, seat, warnings);
	return text_list_add_format(
		warnings,
		"%s: its Arm %s has no family that is known: its vote is never withheld, and adds "
		"nothing to the breadth; \"family\" of the seat can say",
		seat->name, known.arm.name);
}

static int doubt_seat(Queue *queue, const struct bar_held *held, const struct bar_seat *seat,
		      struct bar_doubts *doubts, char **ret_never)
{
	_cleanup_fault_ struct fault never = FAULT_INIT;
	int r = seat->arm ? doubt_arm(queue, seat, &doubts->warnings, &never)
			  : doubt_harness(queue, seat, held->legacy, &doubts->warnings, &never);

	if (r != FAULT)
		return r;
	if (asprintf(ret_never, "%s cannot vote: %s%s%s", seat->name, never.message,
		     never.hint ? "; " : "", never.hint ?: "") < 0) {
		*ret_never = NULL;
		return -ENOMEM;
	}
	return text_list_add(&doubts->warnings, *ret_never);
}

/* What its numbers come to. */
static int doubt_numbers(const struct bar *bar, struct text_list *warnings)
{
	static const struct text_list nobody;
	_cleanup_(panel_done) struct panel panel = PANEL_INIT;
	size_t seats = bar->seats.count;
	int r = panel_make(bar, "anybody", &nobody, &panel);

	/* Stand-ins may make it hold for some. */
	if (r == 0 && !panel.holds)
		r = text_list_add_format(warnings,
					 "its seats alone are of %zu distinct families, and its "
					 "breadth is %llu",
					 panel.families.count, (unsigned long long)bar->breadth);
	if (r == 0 && 2 * bar->votes <= seats)
		r = text_list_add_format(
			warnings,
			"votes: %llu of %zu seats can be for pass and as many for fail, and such a "
			"result is undecided; with %zu one of them wins",
			(unsigned long long)bar->votes, seats, seats / 2 + 1);
	return r;
}

/* Of sixteen seats and as many stand-ins there may be more to tell than is told. */
static int bound_warnings(struct text_list *warnings)
{
	size_t more = warnings->count > BAR_WARNINGS_MAX ? warnings->count - (BAR_WARNINGS_MAX - 1)
							 : 0;

	for (size_t i = 0; i < more; i++)
		free((char *)warnings->items[--warnings->count]);
	return more > 0 ? text_list_add_format(warnings, "and %zu more", more) : 0;
}

int bar_doubts_find(Queue *queue, const struct bar_held *held, struct bar_doubts *ret_doubts)
{
	const struct bar *bar = &held->bar;
	size_t count = bar->seats.count + bar->stand_ins.count;
	struct bar_doubts *doubts = ret_doubts;
	int r = 0;

	*doubts = BAR_DOUBTS_INIT;
	for (size_t i = 0; r == 0 && i < count; i++)
		r = doubt_seat(queue, held,
			       i < bar->seats.count ? &bar->seats.items[i]
						    : &bar->stand_ins.items[i - bar->seats.count],
			       doubts, &doubts->never[i]);
	if (r == 0)
		r = doubt_numbers(bar, &doubts->warnings);
	if (r == 0)
		r = bound_warnings(&doubts->warnings);
	if (r < 0)
		bar_doubts_done(doubts);
	return r;
}

const char *bar_doubts_never(const struct bar_doubts *doubts, const struct bar *bar,
			     const struct bar_seat *seat)
{
	for (size_t i = 0; i < bar->seats.count; i++)
		if (seat == &bar->seats.items[i])
			return doubts->never[i];
	for (size_t i = 0; i < bar->stand_ins.count; i++)
		if (seat == &bar->stand_ins.items[i])
			return doubts->never[bar->seats.count + i];
	return NULL;
}

void bar_doubts_done(struct bar_doubts *doubts)
{
	text_list_done(&doubts->warnings);
	for (size_t i = 0; i < ARRAY_SIZE(doubts->never); i++)
		free(doubts->never[i]);
	*doubts = BAR_DOUBTS_INIT;
}

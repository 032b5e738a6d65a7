/* SPDX-License-Identifier: MIT */
#include "queue/arm_look.h"

#include <string.h>

#include "base/lane.h"
#include "plan/arm_freeze.h"
#include "plan/arm_store.h"
#include "plan/credentials.h"
#include "queue/look.h"

struct arm_look {
	struct lane_work work;
	Queue *queue;
	struct trial_work *waiting; /* NULL: it has left */
	struct arm_known known;	    /* as it was prepared */
	struct arm_freeze *freeze;
	bool changed; /* what has changed is noted, not refused */
	bool awaited;
	int kept; /* of the contents of its files, which are what it runs */
};

/* Of those that start: programs and folders are read as a whole. */
static struct lane lane = LANE_INIT(lane, 2);

/* What is gone cannot be frozen again, and what was changed by mistake need not be. */
#define PREPARE_AGAIN                                                                              \
	"put it back as it was; or, to go on with what there is now, prepare it again: trialctl "  \
	"arm prepare FILE.json"

static void look_free(struct arm_look *look)
{
	Queue *queue = look->queue;

	arm_freeze_free(look->freeze);
	arm_known_done(&look->known);
	free(look);
	queue_call_ended(queue);
}

/* --- What it saw ---------------------------------------------------------------------------------- */

static int void_changed(const struct arm_known *known, const char *text, struct fault *fault)
{
	fault_void(fault, CAUSE_arm_changed, "the Arm %s (%.12s) has changed: %s", known->arm.name,
		   known->id, text);
	return fault_hint(fault, PREPARE_AGAIN);
}

/* All that is missing, in one sentence. */
static int check_missing(const struct arm_look *look, struct fault *fault)
{
	const struct text_list *lists[] = {arm_freeze_missing(look->freeze),
					   arm_freeze_signed_out(look->freeze)};
	_cleanup_free_ char *text = NULL;
	bool program = false;

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		for (size_t k = 0; k < lists[i]->count; k++) {
			char *longer;

			program |= i == 0;
			if (asprintf(&longer, "%s%s%s", text ?: "", text ? "; " : "",
				     lists[i]->items[k]) < 0)
				return -ENOMEM;
			free(text);
			text = longer;
		}
	}
	if (!text)
		return 0;
	fault_void(fault, CAUSE_session_unavailable, "%s", text);
	return program ? fault_hint(
				 fault,
				 "install what is missing: trialctl harness list tells what was found")
		       : fault_hint(fault, "%s", credentials_hint(lists[1]));
}

static int check_changes(struct arm_look *look, struct trial_work *work, struct fault *fault)
{
	_cleanup_(arm_changes_done) struct arm_changes changes = {0};
	_cleanup_free_ char *text = NULL;
	int r = arm_difference(&look->known.arm, arm_freeze_arm(look->freeze), &changes);

	if (r < 0 || changes.list.count == 0)
		return r;
	text = arm_changes_text(&changes, &look->known.arm);
	if (!text)
		return -ENOMEM;
	if (!look->changed)
		return void_changed(&look->known, text, fault);
	work->arm_note = steal(&text);
	return 0;
}

static int look_result(struct arm_look *look, struct trial_work *work, int status,
		       struct fault *fault)
{
	_cleanup_fault_ struct fault why = FAULT_INIT;
	int r = status;

	if (r == 0)
		r = arm_freeze_finish(look->freeze, &why);
	/* What cannot be read any more, or does not stay as it is, is not what it was. */
	if (r == FAULT)
		return void_changed(&look->known, why.message, fault);
	if (r == 0 && look->kept < 0)
		return look->kept == -ENOMEM
			       ? -ENOMEM
			       : void_changed(&look->known,
					      "what is kept of its files is damaged or gone",
					      fault);
	if (r == 0)
		r = check_missing(look, fault);
	if (r == 0)
		r = check_changes(look, work, fault);
	return r;
}

static void look_work(struct lane_work *work)
{
	struct arm_look *look = container_of(work, struct arm_look, work);

	arm_freeze_work(look->freeze);
	look->kept = arm_store_check(look->queue->arms, &look->known.arm.files);
}

static void on_looked(struct lane_work *work, int status)
{
	struct arm_look *look = container_of(work, struct arm_look, work);
	struct trial_work *waiting = look->waiting;
	struct trial *trial = waiting ? waiting->trial : NULL;
	bool awaited = look->awaited;
	_cleanup_fault_ struct fault fault = FAULT_INIT;

	if (waiting) {
		waiting->arm_look = NULL;
		waiting->arm_looked = true;
		look_over(waiting, look_result(look, waiting, status, &fault), &fault);
		if (awaited)
			trial_read_again(trial);
	}
	look_free(look);
}

/* --- Waiting for it ------------------------------------------------------------------------------- */

static int look_new(struct arm_look **ret_look, Queue *queue, const struct trial_facts *accepted,
		    struct fault *fault)
{
	_cleanup_(arm_spec_done) struct arm_spec spec = {0};
	_cleanup_fault_ struct fault why = FAULT_INIT;
	struct arm_look *look = calloc(1, sizeof(*look));
	struct arm_freeze_options options = {
		.host = queue->host,
		.bwrap_fd = launcher_bwrap(queue->launcher),
	};
	int r;

	if (!look)
		return -ENOMEM;
	look->queue = queue;
	look->changed = accepted->rerun_changed;
	queue_call_begun(queue);
	r = arm_known_of_facts(accepted, &look->known);
	options.before = &look->known.arm;
	if (r == 0)
		r = arm_spec_of(&look->known.arm, &spec);
	if (r == 0)
		r = arm_freeze_begin(&look->freeze, &options, &spec, &why);
	if (r == FAULT)
		r = void_changed(&look->known, why.message, fault);
	if (r == 0)
		r = lane_begin(&lane, queue->loop, &look->work, look_work, on_looked);
	if (r == 0)
		*ret_look = look;
	else
		look_free(look);
	return r;
}

int arm_look(struct trial *trial, const struct trial_facts *accepted, struct fault *ret_fault)
{
	struct trial_work *work = trial->work;
	struct arm_look *look;
	int r;

	if (!accepted->arm_id || work->arm_looked)
		return 0;
	if (work->arm_look)
		return -EINPROGRESS;
	r = look_new(&look, trial->queue, accepted, ret_fault);
	if (r != 0)
		return r;
	look->waiting = work;
	work->arm_look = look;
	return -EINPROGRESS;
}

void arm_look_await(struct trial *trial)
{
	if (trial->work->arm_look)
		trial->work->arm_look->awaited = true;
}

/* One that has not begun never will. */
void arm_look_leave(struct trial_work *work)
{
	struct arm_look *look = steal(&work->arm_look);

	if (!look)
		return;
	look->waiting = NULL;
	lane_cancel(&look->work);
}

int arm_look_program(const struct trial_facts *accepted, const char *harness, const char *digest,
		     struct fault *ret_fault)
{
	_cleanup_(arm_known_done) struct arm_known known = {0};
	_cleanup_free_ char *text = NULL;
	const struct arm_harness *own;
	int r = accepted->arm_id ? arm_known_of_facts(accepted, &known) : 0;

	if (r < 0 || !accepted->arm_id || accepted->rerun_changed)
		return r;
	own = arm_harness_find(&known.arm, harness);
	if (own && own->sha256 && strcmp(own->sha256, digest) == 0)
		return 0;
	if (asprintf(&text, "harnesses.%s.sha256%s%s%s was %s, and is %s", harness,
		     own && own->executable ? " (" : "",
		     own && own->executable ? own->executable : "",
		     own && own->executable ? ")" : "", own && own->sha256 ? own->sha256 : "absent",
		     digest) < 0) {
		text = NULL;
		return -ENOMEM;
	}
	return void_changed(&known, text, ret_fault);
}

int arm_look_interpreter(const struct trial_facts *accepted, const char *harness,
			 char **ret_interpreter)
{
	_cleanup_(arm_known_done) struct arm_known known = {0};
	const struct arm_harness *own;
	int r;

	*ret_interpreter = NULL;
	if (!accepted->arm_id)
		return 0;
	r = arm_known_of_facts(accepted, &known);
	own = r == 0 ? arm_harness_find(&known.arm, harness) : NULL;
	if (!own || !own->interpreter)
		return r;
	*ret_interpreter = strdup(own->interpreter);
	return *ret_interpreter ? 0 : -ENOMEM;
}

int arm_look_hosts(const struct trial_facts *accepted, const char *harness, struct text_list *hosts)
{
	_cleanup_(arm_known_done) struct arm_known known = {0};
	const struct arm_harness *own;
	int r;

	if (!accepted->arm_id || accepted->rerun_changed)
		return 0;
	r = arm_known_of_facts(accepted, &known);
	if (r < 0)
		return r;
	own = arm_harness_find(&known.arm, harness);
	if (!own)
		return -EBADMSG;
	text_list_done(hosts);
	for (size_t i = 0; r == 0 && i < own->hosts.count; i++)
		r = text_list_add(hosts, own->hosts.items[i]);
	return r;
}

/* SPDX-License-Identifier: MIT */

/*
 * The verbs about Arms. What is small is read at once; what reads programs and folders, or waits for the
 * disk, is done on a thread of the pool. Who asked may have left by then: an Arm is prepared all the same.
 */
#include "serve/arms.h"
#include "serve/request.h"

#include <string.h>

#include "base/fault_point.h"
#include "plan/arm_freeze.h"
#include "plan/secret_name.h"
#include "queue/arm_launch.h"

struct lane arms_lane = LANE_INIT(arms_lane, 1);

struct asked {
	struct lane_work work;
	struct request *request;
	struct arm_known known; /* of arm_verify */
	struct arm_freeze *freeze;
	msgpack_sbuffer bytes; /* of a new one: its canonical form */
	char id[ARM_ID_BYTES + 1];
	uint64_t prepared_at;
	struct text_list warnings; /* of arm_verify: what is missing */
	bool existed;
	int result;
};

static Server *server_of(const struct request *request)
{
	return request->session->server;
}

static void asked_free(struct asked *asked)
{
	arm_freeze_free(asked->freeze);
	arm_known_done(&asked->known);
	text_list_done(&asked->warnings);
	msgpack_sbuffer_destroy(&asked->bytes);
	free(asked);
}

/* FAULT or -errno; consumes the request. */
static void refuse(struct request *request, int r, const struct fault *fault)
{
	if (r == FAULT)
		request_refuse(request, fault->code, fault->message, fault->hint);
	else
		request_refuse(request, ERROR_internal, strerror(-r), NULL);
}

static void asked_refuse(struct asked *asked, int r, const struct fault *fault)
{
	refuse(asked->request, r, fault);
	asked_free(asked);
}

static int asked_new(struct asked **ret_asked, struct request *request)
{
	struct asked *asked = calloc(1, sizeof(*asked));

	if (!asked) {
		request_refuse(request, ERROR_internal, strerror(ENOMEM), NULL);
		return -ENOMEM;
	}
	asked->request = request;
	msgpack_sbuffer_init(&asked->bytes);
	*ret_asked = asked;
	return 0;
}

static struct arm_view view_of(const char *id, const struct arm *arm, uint64_t prepared_at)
{
	return (struct arm_view){
		.has = {.id = true, .name = true, .prepared_at = true, .arm = true},
		.id = id,
		.name = arm->name,
		.prepared_at = prepared_at,
		.families = arm->families,
		.arm = *arm,
	};
}

static struct arm_freeze_options options_of(const struct request *request, const struct arm *before)
{
	const struct server_options *options = &server_of(request)->options;

	return (struct arm_freeze_options){
		.host = options->host,
		.bwrap_fd = launcher_bwrap(options->launcher),
		.store = before ? NULL : options->arms,
		.before = before,
	};
}

static void freeze_work(struct lane_work *work)
{
	struct asked *asked = container_of(work, struct asked, work);

	arm_freeze_work(asked->freeze);
}

/* --- arm_prepare ---------------------------------------------------------------------------------- */

static void reply_prepared(struct asked *asked)
{
	struct arm_view view = view_of(asked->id, arm_freeze_arm(asked->freeze),
				       asked->prepared_at);

	view.existed = asked->existed;
	view.has.existed = true;
	view.missing = *arm_freeze_missing(asked->freeze);
	view.warnings = asked->warnings;
	session_reply(asked->request->session, asked->request->number, &arm_prepare_reply_type,
		      &view);
	request_done(asked->request);
	asked_free(asked);
}

static void store_work(struct lane_work *work)
{
	struct asked *asked = container_of(work, struct asked, work);
	const struct arm_store *store = server_of(asked->request)->options.arms;
	_cleanup_free_ void *bytes = NULL;
	size_t size;

	FAULT_POINT(arm_taken);
	asked->result = arm_store_add(store, asked->id, asked->bytes.data, asked->bytes.size,
				      &asked->existed);
	if (asked->result == 0)
		asked->result = arm_store_read(store, asked->id, &bytes, &size,
					       &asked->prepared_at);
	FAULT_POINT(arm_stored);
}

static void on_stored(struct lane_work *work, int status)
{
	struct asked *asked = container_of(work, struct asked, work);
	_cleanup_fault_ struct fault fault = FAULT_INIT;
	int r = status < 0 ? status : asked->result;

	if (r == 0) {
		reply_prepared(asked);
		return;
	}
	if (r == -EFBIG)
		r = fault_set(&fault, ERROR_invalid,
			      "the Arm is too large: in canonical form it may have %u bytes",
			      ARM_STORE_ARM_BYTES_MAX);
	else if (r != -ENOMEM)
		r = fault_set(&fault, ERROR_unavailable,
			      "the Arm cannot be kept in the state folder: %s", strerror(-r));
	asked_refuse(asked, r, &fault);
}

static void on_frozen(struct lane_work *work, int status)
{
	struct asked *asked = container_of(work, struct asked, work);
	_cleanup_fault_ struct fault fault = FAULT_INIT;
	int r = status < 0 ? status : arm_freeze_finish(asked->freeze, &fault);

	if (r == 0)
		r = text_list_merge(&asked->warnings, arm_freeze_warnings(asked->freeze));
	if (r == 0)
		r = plan_arm_warnings(server_of(asked->request)->options.host,
				      arm_freeze_arm(asked->freeze), &asked->warnings);
	if (r == 0) {
		msgpack_sbuffer_destroy(&asked->bytes);
		r = arm_encode(arm_freeze_arm(asked->freeze), &asked->bytes, asked->id);
	}
	/* From in here it is next: nobody else has the lane in between. */
	if (r == 0)
		r = lane_begin(&arms_lane, server_of(asked->request)->loop, &asked->work,
			       store_work, on_stored);
	if (r != 0)
		asked_refuse(asked, r, &fault);
}

void handle_arm_prepare(struct request *request, const void *arguments)
{
	const struct arm_prepare_request *prepare = arguments;
	const struct arm_freeze_options options = options_of(request, NULL);
	_cleanup_fault_ struct fault fault = FAULT_INIT;
	struct asked *asked;
	int r;

	if (asked_new(&asked, request) < 0)
		return;
	r = arm_freeze_begin(&asked->freeze, &options, &prepare->spec, &fault);
	if (r == 0)
		r = lane_begin(&arms_lane, server_of(request)->loop, &asked->work, freeze_work,
			       on_frozen);
	if (r != 0)
		asked_refuse(asked, r, &fault);
}

/* --- arm_verify ----------------------------------------------------------------------------------- */

static int reply_verified(struct asked *asked)
{
	struct arm_view view = view_of(asked->known.id, &asked->known.arm, asked->prepared_at);
	struct arm_changes changes = {0};
	int r = arm_difference(&asked->known.arm, arm_freeze_arm(asked->freeze), &changes);

	if (r < 0)
		return r;
	view.has.arm = false;
	view.changes = changes.list;
	view.has.changes = true;
	view.verified = changes.list.count == 0 && changes.more == 0;
	view.has.verified = true;
	/* Logins and keys are no part of an Arm, and a launch needs them. */
	r = text_list_merge(&asked->warnings, arm_freeze_missing(asked->freeze));
	if (r == 0)
		r = text_list_merge(&asked->warnings, arm_freeze_signed_out(asked->freeze));
	if (r == 0)
		r = text_list_merge(&asked->warnings, arm_freeze_claimed(asked->freeze));
	view.missing = asked->warnings;
	if (r == 0)
		session_reply(asked->request->session, asked->request->number,
			      &arm_verify_reply_type, &view);
	arm_changes_done(&changes);
	return r;
}

/* What of its files is kept is what a launch uses, so that belongs to it. */
static void verify_work(struct lane_work *work)
{
	struct asked *asked = container_of(work, struct asked, work);

	arm_freeze_work(asked->freeze);
	asked->result = arm_store_check(server_of(asked->request)->options.arms,
					&asked->known.arm.files);
}

static void on_verified(struct lane_work *work, int status)
{
	struct asked *asked = container_of(work, struct asked, work);
	_cleanup_fault_ struct fault fault = FAULT_INIT;
	int r = status < 0 ? status : arm_freeze_finish(asked->freeze, &fault);

	if (r == 0 && asked->result < 0) {
		fault_set(&fault, ERROR_unavailable,
			  "what is kept of the files of Arm %.12s is damaged or gone",
			  asked->known.id);
		r = fault_hint(
			&fault,
			"prepare it again, which has it anew: trialctl arm prepare FILE.json");
	}
	if (r == 0)
		r = reply_verified(asked);
	if (r != 0) {
		asked_refuse(asked, r, &fault);
		return;
	}
	request_done(asked->request);
	asked_free(asked);
}

static int begin_verify(struct asked *asked, const char *digits, struct fault *fault)
{
	struct request *request = asked->request;
	const struct arm_freeze_options options = options_of(request, &asked->known.arm);
	struct arm_spec spec = {0};
	int r = arm_known_find(server_of(request)->options.queue, digits, &asked->known, fault);

	if (r != 0)
		return r;
	asked->prepared_at = asked->known.prepared_at;
	r = arm_spec_of(&asked->known.arm, &spec);
	if (r == 0)
		r = arm_freeze_begin(&asked->freeze, &options, &spec, fault);
	arm_spec_done(&spec);
	return r == 0 ? lane_begin(&arms_lane, server_of(request)->loop, &asked->work, verify_work,
				   on_verified)
		      : r;
}

void handle_arm_verify(struct request *request, const void *arguments)
{
	const struct arm_verify_request *verify = arguments;
	_cleanup_fault_ struct fault fault = FAULT_INIT;
	struct asked *asked;
	int r;

	if (asked_new(&asked, request) < 0)
		return;
	r = begin_verify(asked, verify->id, &fault);
	if (r != 0)
		asked_refuse(asked, r, &fault);
}

/* --- arm_show, arm_diff --------------------------------------------------------------------------- */

/* What looks like a key is told by its name alone, as of a plan. *ret_items: the pairs, to be freed. */
static int mask(struct pair_list *environment, struct pair **ret_items)
{
	struct pair *items = calloc(environment->count + 1, sizeof(*items));

	if (!items)
		return -ENOMEM;
	for (size_t i = 0; i < environment->count; i++) {
		items[i] = environment->items[i];
		if (secret_variable(items[i].name, items[i].value))
			items[i].value = "(masked)";
	}
	environment->items = items;
	*ret_items = items;
	return 0;
}

void handle_arm_show(struct request *request, const void *arguments)
{
	const struct arm_show_request *show = arguments;
	_cleanup_fault_ struct fault fault = FAULT_INIT;
	struct arm_known known;
	struct arm_view view;
	struct text_list missing = {0};
	struct pair *shown = NULL;
	int r = arm_known_find(server_of(request)->options.queue, show->id, &known, &fault);

	if (r == 0) {
		r = arm_absent(&known.arm, &missing);
		view = view_of(known.id, &known.arm, known.prepared_at);
		view.missing = missing;
		if (r == 0)
			r = mask(&view.arm.environment, &shown);
		if (r == 0)
			session_reply(request->session, request->number, &arm_show_reply_type,
				      &view);
		free(shown);
		free(missing.items);
		arm_known_done(&known);
	}
	if (r != 0)
		refuse(request, r, &fault);
	else
		request_done(request);
}

static int diff(struct request *request, const struct arm_known *a, const struct arm_known *b)
{
	struct arm_changes changes = {0};
	struct arm_diff_reply reply = {
		.has = {.id = true, .other = true, .changes = true},
		.id = a->id,
		.other = b->id,
	};
	int r = arm_difference(&a->arm, &b->arm, &changes);

	if (r < 0)
		return r;
	reply.changes = changes.list;
	session_reply(request->session, request->number, &arm_diff_reply_type, &reply);
	arm_changes_done(&changes);
	return 0;
}

void handle_arm_diff(struct request *request, const void *arguments)
{
	const struct arm_diff_request *asked = arguments;
	Queue *queue = server_of(request)->options.queue;
	_cleanup_fault_ struct fault fault = FAULT_INIT;
	struct arm_known a = {0}, b = {0};
	int r = arm_known_find(queue, asked->id, &a, &fault);

	if (r == 0)
		r = arm_known_find(queue, asked->other, &b, &fault);
	if (r == 0)
		r = diff(request, &a, &b);
	arm_known_done(&a);
	arm_known_done(&b);
	if (r != 0)
		refuse(request, r, &fault);
	else
		request_done(request);
}

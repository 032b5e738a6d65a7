/* SPDX-License-Identifier: MIT */

/*
 * The verbs about Bars and Panels. A Bar is read at once, being one small file; what waits for the disk,
 * or reads all of them, is done on a thread. Who asked may have left by then: a Bar is kept all the same.
 */
#include "serve/request.h"

#include <string.h>

#include "base/list.h"
#include "base/now.h"
#include "plan/bar_store.h"
#include "queue/arm_use.h"
#include "queue/bar_launch.h"
#include "queue/bar_seats.h"

#define PAGE 50
#define PAGE_BYTES (FRAME_BYTES_MAX / 2)

static Server *server_of(const struct request *request)
{
	return request->session->server;
}

/* FAULT, or -errno, which needs no fault; consumes the request. */
static void refuse(struct request *request, int r, const struct fault *fault)
{
	if (r == FAULT && fault)
		request_refuse(request, fault->code, fault->message, fault->hint);
	else
		request_refuse(request, ERROR_internal, strerror(-r), NULL);
}

static struct bar_view view_of(const struct bar_kept *kept)
{
	const struct bar *bar = &kept->held.bar;

	return (struct bar_view){
		.has = {.name = true,
			.created_at = true,
			.used = true,
			.used_at = kept->used_at != 0,
			.legacy = true,
			.votes = true,
			.breadth = true,
			.seats = true},
		.name = bar->name,
		.id = kept->id,
		.created_at = kept->created_at,
		.used = kept->used,
		.used_at = kept->used_at,
		.legacy = kept->held.legacy,
		.votes = bar->votes,
		.breadth = bar->breadth,
		.seats = bar->seats,
		.stand_ins = bar->stand_ins,
		.standard = bar->standard,
	};
}

/* --- bar_set -------------------------------------------------------------------------------------- */

struct setting {
	uv_work_t work;
	struct request *request;
	char name[BAR_NAME_BYTES_MAX + 1];
	msgpack_sbuffer bytes; /* canonical form */
	bool only_existing;    /* of the one that is there, which asks for the same */
	uint64_t now;
	struct bar_doubts doubts;
	enum bar_put put;
	struct bar_kept kept;
	struct arm_use arm_use; /* of any that its seats may be */
	int result;
};

static void setting_free(struct setting *setting)
{
	arm_use_end(&setting->arm_use);
	msgpack_sbuffer_destroy(&setting->bytes);
	bar_doubts_done(&setting->doubts);
	bar_kept_done(&setting->kept);
	free(setting);
}

static int set_refused(int error, const char *name, struct fault *fault)
{
	switch (error) {
	case -EPERM:
		fault_set(fault, ERROR_refused,
			  "Bar %s cannot change after the first Trial that used it", name);
		return fault_hint(fault, "give it another name");
	case -EUCLEAN:
		fault_set(fault, ERROR_refused,
			  "Bar %s cannot change after the first Trial that used it, and what is "
			  "kept of it is damaged",
			  name);
		return fault_hint(fault, "set the very same again, or give it another name");
	case -ESTALE:
		fault_set(fault, ERROR_busy, "Bar %s has just been changed by somebody else", name);
		return fault_hint(fault, "try again");
	case -E2BIG:
		fault_set(fault, ERROR_refused, "there are %d Bars already", BAR_STORE_BARS_MAX);
		return fault_hint(fault, "trialctl bar list");
	case -ENOMEM:
		return error;
	default:
		return fault_set(fault, ERROR_unavailable,
				 "the Bar cannot be kept in the state folder: %s",
				 strerror(-error));
	}
}

/* Of one that was there too: whoever sets it is about to use it. */
static int add_warnings(struct setting *setting)
{
	Queue *queue = server_of(setting->request)->options.queue;
	int r = bar_doubts_find(queue, &setting->kept.held, &setting->doubts);

	if (r < 0 || !setting->kept.held.legacy ||
	    setting->doubts.warnings.count == BAR_WARNINGS_MAX)
		return r;
	return text_list_add_format(
		&setting->doubts.warnings,
		"Bar %s was saved in an older form, without families: it goes on with those that it "
		"had then",
		setting->name);
}

static void reply_set(struct setting *setting)
{
	struct bar_view view = view_of(&setting->kept);

	view.existed = setting->put == BAR_PUT_EXISTED;
	view.has.existed = true;
	view.warnings = setting->doubts.warnings;
	session_reply(setting->request->session, setting->request->number, &bar_set_reply_type,
		      &view);
	request_done(setting->request);
	setting_free(setting);
}

static void set_work(uv_work_t *work)
{
	struct setting *setting = container_of(work, struct setting, work);
	struct bar_store *store = server_of(setting->request)->options.bars;

	setting->result = bar_store_put(store, setting->bytes.data, setting->bytes.size,
					setting->now, setting->only_existing, &setting->put);
	if (setting->result == 0)
		setting->result = bar_store_read(store, setting->name, &setting->kept);
}

static void on_set(uv_work_t *work, int status)
{
	struct setting *setting = container_of(work, struct setting, work);
	_cleanup_fault_ struct fault fault = FAULT_INIT;
	int r = status < 0 ? status : setting->result;

	if (r < 0)
		r = set_refused(r, setting->name, &fault);
	if (r == 0)
		r = add_warnings(setting);
	if (r == 0) {
		reply_set(setting);
		return;
	}
	refuse(setting->request, r, &fault);
	setting_free(setting);
}

/*
 * One that asks for the same is there, or may not change: families and Arms are not looked for then,
 * whatever has become of the Harnesses, Arms and providers since. The one that is there has them, and
 * whole ids where an Arm was asked for by its first digits.
 */
static int set_form(struct setting *setting, const struct bar_spec *spec, struct fault *fault)
{
	Server *server = server_of(setting->request);
	_cleanup_(bar_held_done) struct bar_held held = BAR_HELD_INIT;
	_cleanup_(bar_kept_done) struct bar_kept kept = BAR_KEPT_INIT;
	char id[BAR_ID_BYTES + 1];
	int r = bar_make(spec, &held), found;

	if (r < 0)
		return r;
	found = bar_store_read(server->options.bars, spec->name, &kept);
	setting->only_existing = found == 0 && bar_same_asked(&kept.held.bar, &held.bar);
	if (found == 0 && kept.used && !setting->only_existing)
		return set_refused(-EPERM, spec->name, fault);
	if (!setting->only_existing) {
		bar_held_done(&held);
		r = bar_freeze(server->options.queue, spec, &held, fault);
	}
	if (r == 0) {
		msgpack_sbuffer_destroy(&setting->bytes);
		r = bar_encode(setting->only_existing ? &kept.held.bar : &held.bar, &setting->bytes,
			       id);
	}
	return r;
}

void handle_bar_set(struct request *request, const void *arguments)
{
	const struct bar_spec *spec = &((const struct bar_set_request *)arguments)->spec;
	_cleanup_fault_ struct fault fault = FAULT_INIT;
	struct setting *setting;
	int r = bar_spec_check(spec, &fault);

	if (r != 0) {
		refuse(request, r, &fault);
		return;
	}
	setting = calloc(1, sizeof(*setting));
	if (!setting) {
		refuse(request, -ENOMEM, NULL);
		return;
	}
	setting->request = request;
	setting->now = now_microseconds();
	snprintf(setting->name, sizeof(setting->name), "%s", spec->name);
	msgpack_sbuffer_init(&setting->bytes);
	arm_use_begin(server_of(request)->options.queue, &setting->arm_use, NULL);
	r = set_form(setting, spec, &fault);
	if (r == 0)
		r = uv_queue_work(server_of(request)->loop, &setting->work, set_work, on_set);
	if (r == 0)
		return;
	refuse(request, r, &fault);
	setting_free(setting);
}

/* --- bar_show ------------------------------------------------------------------------------------- */

void handle_bar_show(struct request *request, const void *arguments)
{
	const struct bar_show_request *show = arguments;
	_cleanup_(bar_kept_done) struct bar_kept kept = BAR_KEPT_INIT;
	_cleanup_fault_ struct fault fault = FAULT_INIT;
	int r = bar_known_find(server_of(request)->options.queue, show->name, &kept, &fault);

	if (r == 0) {
		struct bar_view view = view_of(&kept);

		session_reply(request->session, request->number, &bar_show_reply_type, &view);
		request_done(request);
	} else {
		refuse(request, r, &fault);
	}
}

/* --- bar_list ------------------------------------------------------------------------------------- */

struct listing {
	uv_work_t work;
	struct request *request;
	char after[BAR_NAME_BYTES_MAX + 1];
	size_t limit;
	struct text_list names;
	size_t begin, end; /* the page */
	struct bar_kept *kept;
	struct bar_view *views;
	int result;
};

static void listing_free(struct listing *listing)
{
	for (size_t i = 0; listing->kept && i < listing->end - listing->begin; i++)
		bar_kept_done(&listing->kept[i]);
	free(listing->kept);
	free(listing->views);
	text_list_done(&listing->names);
	free(listing);
}

/* More than its seats can take in a frame. */
static size_t size_of(const struct bar_seat_list *seats)
{
	size_t size = 256;

	for (size_t i = 0; i < seats->count; i++)
		size += 1024 + seats->items[i].families.count * (FAMILY_BYTES_MAX + 2);
	return size;
}

static int list_page(struct listing *listing, const struct bar_store *store)
{
	static const char *damaged[] = {"what is kept of it is damaged"};
	size_t size = 0;

	for (listing->end = listing->begin;
	     listing->end < listing->names.count &&
	     listing->end - listing->begin < listing->limit && size < PAGE_BYTES;
	     listing->end++) {
		size_t at = listing->end - listing->begin;
		const char *name = listing->names.items[listing->end];
		struct bar_kept *kept = &listing->kept[at];
		struct bar_view *view = &listing->views[at];
		int r = bar_store_read(store, name, kept);

		if (r == -ENOMEM)
			return r;
		if (r < 0) {
			*view = (struct bar_view){.name = name, .warnings = {1, damaged}};
			continue;
		}
		*view = view_of(kept);
		view->standard = NULL;
		size += size_of(&view->seats) + size_of(&view->stand_ins);
	}
	return 0;
}

static void list_work(uv_work_t *work)
{
	struct listing *listing = container_of(work, struct listing, work);
	const struct bar_store *store = server_of(listing->request)->options.bars;
	int r = bar_store_list(store, &listing->names);

	while (r == 0 && listing->begin < listing->names.count &&
	       strcmp(listing->names.items[listing->begin], listing->after) <= 0)
		listing->begin++;
	listing->end = listing->begin;
	listing->kept = calloc(listing->limit, sizeof(*listing->kept));
	listing->views = calloc(listing->limit, sizeof(*listing->views));
	if (!listing->kept || !listing->views)
		r = -ENOMEM;
	listing->result = r == 0 ? list_page(listing, store) : r;
}

static void on_listed(uv_work_t *work, int status)
{
	struct listing *listing = container_of(work, struct listing, work);
	struct request *request = listing->request;
	struct bar_list_reply answer = {.has = {.bars = true}};
	int r = status < 0 ? status : listing->result;

	if (r == 0) {
		answer.bars.count = listing->end - listing->begin;
		answer.bars.items = listing->views;
		if (listing->end < listing->names.count)
			answer.cursor = listing->names.items[listing->end - 1];
		session_reply(request->session, request->number, &bar_list_reply_type, &answer);
		request_done(request);
	} else {
		refuse(request, r, NULL);
	}
	listing_free(listing);
}

void handle_bar_list(struct request *request, const void *arguments)
{
	const struct bar_list_request *asked = arguments;
	struct listing *listing = calloc(1, sizeof(*listing));
	int r = listing ? 0 : -ENOMEM;

	if (r == 0) {
		listing->request = request;
		listing->limit = asked->has.limit && asked->limit > 0 ? asked->limit : PAGE;
		if (asked->after)
			snprintf(listing->after, sizeof(listing->after), "%s", asked->after);
		r = uv_queue_work(server_of(request)->loop, &listing->work, list_work, on_listed);
	}
	if (r == 0)
		return;
	free(listing);
	refuse(request, r, NULL);
}

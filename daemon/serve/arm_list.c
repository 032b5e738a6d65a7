/* SPDX-License-Identifier: MIT */

/*
 * The verb arm_list. Each Arm is read, since only so its name is known, and whether it is whole: on a
 * thread. A damaged one is told as that.
 */
#include "serve/request.h"

#include <string.h>

#include "plan/arm.h"
#include "plan/arm_store.h"

#define PAGE 50

struct listed {
	char id[ARM_ID_BYTES + 1];
	char name[ARM_NAME_BYTES_MAX + 1]; /* "": it is damaged */
	uint64_t prepared_at;
	struct text_list families; /* owned; of those in the page */
	struct text_list missing;
};

struct listing {
	uv_work_t work;
	struct request *request;
	char after[ARM_ID_BYTES + 1];
	size_t limit;
	struct listed *items;
	size_t count;
	size_t begin, end; /* the page */
	int result;
};

static void listing_free(struct listing *listing)
{
	for (size_t i = 0; i < listing->count; i++) {
		text_list_done(&listing->items[i].families);
		text_list_done(&listing->items[i].missing);
	}
	free(listing->items);
	free(listing);
}

static int copy_list(struct text_list *to, const struct text_list *from)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < from->count; i++)
		r = text_list_add(to, from->items[i]);
	return r;
}

/* whole: with what only a page needs. */
static int read_arm(const struct arm_store *store, struct listed *listed, bool whole)
{
	_cleanup_free_ void *bytes = NULL;
	struct message *message = NULL;
	struct text_list absent = {0};
	struct arm arm;
	size_t size;
	int r = arm_store_read(store, listed->id, &bytes, &size, &listed->prepared_at);

	if (r == 0)
		r = arm_decode(&message, bytes, size, listed->id, &arm);
	if (r == -ENOMEM)
		return r;
	listed->name[0] = '\0';
	if (r == 0)
		snprintf(listed->name, sizeof(listed->name), "%s", arm.name);
	if (r == 0 && whole) {
		r = copy_list(&listed->families, &arm.families);
		if (r == 0)
			r = arm_absent(&arm, &absent);
		if (r == 0)
			r = copy_list(&listed->missing, &absent);
		free(absent.items);
	}
	message_free(message);
	return r == -ENOMEM ? r : 0;
}

static int compare(const void *a, const void *b)
{
	const struct listed *left = a, *right = b;
	int r = strcmp(left->name, right->name);

	return r ? r : strcmp(left->id, right->id);
}

static int read_all(struct listing *listing, const struct arm_store *store)
{
	_cleanup_(text_list_done) struct text_list ids = {0};
	int r = arm_store_list(store, &ids);

	if (r < 0)
		return r;
	listing->items = calloc(ids.count + 1, sizeof(*listing->items));
	if (!listing->items)
		return -ENOMEM;
	listing->count = ids.count;
	for (size_t i = 0; r == 0 && i < ids.count; i++) {
		memcpy(listing->items[i].id, ids.items[i], ARM_ID_BYTES + 1);
		r = read_arm(store, &listing->items[i], false);
	}
	qsort(listing->items, listing->count, sizeof(*listing->items), compare);
	return r;
}

static void list_work(uv_work_t *work)
{
	struct listing *listing = container_of(work, struct listing, work);
	const struct arm_store *store = listing->request->session->server->options.arms;
	int r = read_all(listing, store);

	if (r == 0 && listing->after[0]) {
		while (listing->begin < listing->count &&
		       strcmp(listing->items[listing->begin].id, listing->after) != 0)
			listing->begin++;
		r = listing->begin == listing->count ? -ENOENT : 0;
		listing->begin++;
	}
	listing->end = listing->begin;
	while (r == 0 && listing->end < listing->count &&
	       listing->end - listing->begin < listing->limit)
		r = read_arm(store, &listing->items[listing->end++], true);
	listing->result = r;
}

static int reply(struct listing *listing)
{
	static const char *damaged[] = {"what is kept of it is damaged: prepare it again"};
	struct request *request = listing->request;
	size_t count = listing->end - listing->begin;
	_cleanup_free_ struct arm_view *views = calloc(count + 1, sizeof(*views));
	struct arm_list_reply answer = {.has = {.arms = true}, .arms = {count, views}};

	if (!views)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		const struct listed *listed = &listing->items[listing->begin + i];

		views[i] = (struct arm_view){
			.has = {.id = true, .name = true, .prepared_at = true},
			.id = listed->id,
			.name = listed->name,
			.prepared_at = listed->prepared_at,
			.missing = listed->missing,
			.families = listed->families,
		};
		if (!listed->name[0])
			views[i].warnings = (struct text_list){1, damaged};
	}
	if (count > 0 && listing->end < listing->count)
		answer.cursor = views[count - 1].id;
	session_reply(request->session, request->number, &arm_list_reply_type, &answer);
	return 0;
}

static void on_listed(uv_work_t *work, int status)
{
	struct listing *listing = container_of(work, struct listing, work);
	struct request *request = listing->request;
	int r = status < 0 ? status : listing->result;

	if (r == 0)
		r = reply(listing);
	if (r == -ENOENT)
		request_refuse(request, ERROR_invalid, "after: no Arm has this id", NULL);
	else if (r < 0)
		request_refuse(request, ERROR_internal, strerror(-r), NULL);
	else
		request_done(request);
	listing_free(listing);
}

void handle_arm_list(struct request *request, const void *arguments)
{
	const struct arm_list_request *asked = arguments;
	struct listing *listing = calloc(1, sizeof(*listing));
	int r = listing ? 0 : -ENOMEM;

	if (r == 0) {
		listing->request = request;
		listing->limit = asked->has.limit && asked->limit > 0 ? asked->limit : PAGE;
		if (asked->after)
			snprintf(listing->after, sizeof(listing->after), "%s", asked->after);
		r = uv_queue_work(request->session->server->loop, &listing->work, list_work,
				  on_listed);
	}
	if (r == 0)
		return;
	free(listing);
	request_refuse(request, ERROR_internal, strerror(-r), NULL);
}

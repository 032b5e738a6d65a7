/* SPDX-License-Identifier: MIT */
#include "plan/bar.h"

#include <nettle/base16.h>
#include <nettle/sha2.h>
#include <string.h>

#include "base/list.h"
#include "plan/harness.h"
#include "plan/provider.h"

#define PRESENCE_REQUIRED true
#define PRESENCE_OPTIONAL false
#define THIS bar
#define FIELDS BAR_FIELDS
#include "proto/field_table.h"

/* The older form. Its seats say less than those of today: legacy_seat_valid. */
#define BAR_LEGACY_FIELDS(X)                                                                       \
	X(name, STRING, REQUIRED, BAR_NAME_BYTES_MAX, "as asked")                                  \
	X(standard, STRING, REQUIRED, BAR_STANDARD_BYTES_MAX, "as asked")                          \
	X(votes, UINT, OPTIONAL, BAR_SEATS_MAX, "as asked")                                        \
	X(breadth, UINT, OPTIONAL, BAR_SEATS_MAX, "as asked")                                      \
	X(seats, BAR_SEATS, REQUIRED, BAR_SEATS_MAX, "as asked")                                   \
	X(stand_ins, BAR_SEATS, OPTIONAL, BAR_SEATS_MAX, "as asked")

MESSAGE_STRUCT_(bar_legacy, BAR_LEGACY_FIELDS)
#define THIS bar_legacy
#define FIELDS BAR_LEGACY_FIELDS
MESSAGE_TYPE_(bar_legacy, BAR_LEGACY_FIELDS)
#include "proto/field_table.h"

/* What the .harness files said when that form was written. What they say today is of no account. */
static const struct {
	const char *harness;
	const char *family;
} legacy_families[] = {
	{"codex", "openai"}, {"claude", "anthropic"}, {"grok", "xai"},		{"muse", "meta"},
	{"agy", "google"},   {"kimi", "moonshot"},    {"opencode", "opencode"},
};

bool bar_name_valid(const char *name)
{
	size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "0123456789._-");

	return length > 0 && length <= BAR_NAME_BYTES_MAX && name[length] == '\0' &&
	       name[0] != '.' && name[0] != '_' && name[0] != '-';
}

/* --- What is asked for ---------------------------------------------------------------------------- */

#define NAMES "1 to 64 letters, digits, and . _ - behind the first"

static const char *name_of(const struct bar_seat *seat)
{
	return seat->name ?: seat->harness;
}

struct place {
	const char *list; /* "seats" or "stand_ins" */
	size_t index;
};

static int refuse(struct fault *fault, const struct place *place, const char *key, const char *text)
{
	return fault_set(fault, ERROR_invalid, "%s[%zu]%s%s: %s", place->list, place->index,
			 *key ? "." : "", key, text);
}

static int check_harness_seat(const struct bar_seat *seat, const struct place *place,
			      struct fault *fault)
{
	if (!harness_name_valid(seat->harness))
		return refuse(fault, place, "harness", "is no name of a Harness");
	if (seat->provider && !provider_name_valid(seat->provider))
		return refuse(fault, place, "provider", "is no name of a provider");
	if (seat->model && !*seat->model)
		return refuse(fault, place, "model", "is empty; leave it out");
	return 0;
}

static int check_arm_seat(const struct bar_seat *seat, const struct place *place,
			  struct fault *fault)
{
	if (seat->model || seat->provider || seat->effort)
		return refuse(fault, place, "arm",
			      "an Arm has its model, provider and effort itself");
	if (!seat->name)
		return refuse(fault, place, "name", "a seat of an Arm needs one");
	return 0;
}

static int check_seat(const struct bar_seat *seat, const struct place *place, struct fault *fault)
{
	if (seat->families.count > 0 || seat->has.families)
		return refuse(fault, place, "families",
			      "are found, and cannot be said; family says one");
	if (seat->arm_name)
		return refuse(fault, place, "arm_name", "is found, and cannot be said");
	if (!seat->harness == !seat->arm)
		return refuse(fault, place, "", "takes one of harness and arm");
	if (seat->name && !bar_name_valid(seat->name))
		return refuse(fault, place, "name", "takes " NAMES);
	if (seat->family && !provider_name_valid(seat->family))
		return refuse(fault, place, "family",
			      "takes 1 to 32 small letters, digits, - and _");
	return seat->arm ? check_arm_seat(seat, place, fault)
			 : check_harness_seat(seat, place, fault);
}

static const struct bar_seat *seat_at(const struct bar_spec *spec, size_t i,
				      struct place *ret_place)
{
	bool stands_in = i >= spec->seats.count;

	*ret_place = (struct place){stands_in ? "stand_ins" : "seats",
				    stands_in ? i - spec->seats.count : i};
	return stands_in ? &spec->stand_ins.items[ret_place->index] : &spec->seats.items[i];
}

static int check_seats(const struct bar_spec *spec, struct fault *fault)
{
	size_t count = spec->seats.count + spec->stand_ins.count;

	for (size_t i = 0; i < count; i++) {
		struct place place, other;
		const struct bar_seat *seat = seat_at(spec, i, &place);
		int r = check_seat(seat, &place, fault);

		if (r != 0)
			return r;
		for (size_t j = 0; j < i; j++) {
			if (strcmp(name_of(seat_at(spec, j, &other)), name_of(seat)) != 0)
				continue;
			fault_set(fault, ERROR_invalid, "%s[%zu].name: %s is %s[%zu] already",
				  place.list, place.index, name_of(seat), other.list, other.index);
			return fault_hint(fault, "give each seat and stand-in a name of its own");
		}
	}
	return 0;
}

int bar_spec_check(const struct bar_spec *spec, struct fault *ret_fault)
{
	int r;

	if (!bar_name_valid(spec->name))
		return fault_set(ret_fault, ERROR_invalid, "name: takes " NAMES);
	if (!*spec->standard)
		return fault_set(ret_fault, ERROR_invalid,
				 "standard: is empty; it says what is to be judged, and how");
	if (spec->seats.count == 0)
		return fault_set(ret_fault, ERROR_invalid, "seats: there must be at least one");
	r = check_seats(spec, ret_fault);
	if (r != 0)
		return r;
	if (spec->has.votes && (spec->votes < 1 || spec->votes > spec->seats.count))
		return fault_set(ret_fault, ERROR_invalid,
				 "votes: takes 1 to %zu, as many as there are seats",
				 spec->seats.count);
	if (spec->has.breadth && (spec->breadth < 1 || spec->breadth > spec->seats.count))
		return fault_set(ret_fault, ERROR_invalid,
				 "breadth: takes 1 to %zu, as many as there are seats",
				 spec->seats.count);
	return 0;
}

/* --- One that is held ----------------------------------------------------------------------------- */

void bar_held_done(struct bar_held *held)
{
	message_free(held->message);
	text_list_done(&held->texts);
	free(held->seats);
	free(held->lists);
	*held = BAR_HELD_INIT;
}

static uint64_t votes_by_default(size_t seats)
{
	return seats / 2 + 1;
}

/* Each with its name, and room for families. */
static int hold_seats(struct bar_held *held, const struct bar_seat_list *seats,
		      const struct bar_seat_list *stand_ins)
{
	size_t count = seats->count + stand_ins->count;

	held->seats = calloc(count + 1, sizeof(*held->seats));
	held->lists = calloc(count + 1, FAMILIES_MAX * sizeof(*held->lists));
	if (!held->seats || !held->lists)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		struct bar_seat *seat = &held->seats[i];

		*seat = i < seats->count ? seats->items[i] : stand_ins->items[i - seats->count];
		seat->name = name_of(seat);
		seat->families = (struct text_list){0, held->lists + i * FAMILIES_MAX};
		seat->has.families = false;
	}
	held->bar.seats = (struct bar_seat_list){seats->count, held->seats};
	held->bar.stand_ins = (struct bar_seat_list){stand_ins->count, held->seats + seats->count};
	return 0;
}

int bar_make(const struct bar_spec *spec, struct bar_held *ret_held)
{
	struct bar_held held = {
		.bar = {.has = {.form = true, .votes = true, .breadth = true},
			.form = BAR_FORM,
			.name = spec->name,
			.standard = spec->standard,
			.votes = spec->has.votes ? spec->votes
						 : votes_by_default(spec->seats.count),
			.breadth = spec->has.breadth ? spec->breadth : 1},
	};
	int r = hold_seats(&held, &spec->seats, &spec->stand_ins);

	if (r < 0)
		bar_held_done(&held);
	*ret_held = held;
	return r;
}

int bar_seat_family(struct bar_held *held, struct bar_seat *seat, const char *family)
{
	struct text_list *families = &seat->families;
	size_t at = 0;
	int r;

	while (at < families->count && strcmp(families->items[at], family) < 0)
		at++;
	if (at < families->count && strcmp(families->items[at], family) == 0)
		return 0;
	if (families->count == FAMILIES_MAX)
		return -E2BIG;
	r = text_list_add(&held->texts, family);
	if (r < 0)
		return r;
	memmove(families->items + at + 1, families->items + at,
		(families->count - at) * sizeof(*families->items));
	families->items[at] = held->texts.items[held->texts.count - 1];
	families->count++;
	return 0;
}

/* --- Forms ---------------------------------------------------------------------------------------- */

void bar_id_of(const void *bytes, size_t size, char ret_id[BAR_ID_BYTES + 1])
{
	uint8_t digest[SHA256_DIGEST_SIZE];
	struct sha256_ctx hash;

	sha256_init(&hash);
	sha256_update(&hash, size, bytes);
	sha256_digest(&hash, sizeof(digest), digest);
	base16_encode_update(ret_id, sizeof(digest), digest);
	ret_id[BAR_ID_BYTES] = '\0';
}

int bar_encode(const struct bar *bar, msgpack_sbuffer *ret_buffer, char ret_id[BAR_ID_BYTES + 1])
{
	msgpack_packer packer;
	int r;

	msgpack_sbuffer_init(ret_buffer);
	msgpack_packer_init(&packer, ret_buffer, msgpack_sbuffer_write);
	r = message_encode(&packer, &bar_type, bar);
	if (r < 0) {
		msgpack_sbuffer_destroy(ret_buffer);
		return r;
	}
	bar_id_of(ret_buffer->data, ret_buffer->size, ret_id);
	return 0;
}

static int decode(struct message **ret_message, const void *bytes, size_t size,
		  const struct message_type *type, void *structure)
{
	struct decode_error error;
	int r = message_parse(ret_message, bytes, size);

	if (r == 0)
		r = message_decode(*ret_message, message_root(*ret_message), type,
				   UNKNOWN_KEYS_REFUSED, structure, &error);
	return r;
}

/* As bar_spec_check would have it, so that whoever reads one may rely on it. */
static bool bar_sound(const struct bar *bar)
{
	_cleanup_fault_ struct fault ignored = FAULT_INIT;
	struct bar_seat seats[BAR_SEATS_MAX], stand_ins[BAR_SEATS_MAX];
	struct bar_spec spec = {
		.has = {.votes = true, .breadth = true},
		.name = bar->name,
		.standard = bar->standard,
		.votes = bar->votes,
		.breadth = bar->breadth,
		.seats = {bar->seats.count, seats},
		.stand_ins = {bar->stand_ins.count, stand_ins},
	};

	for (size_t i = 0; i < bar->seats.count + bar->stand_ins.count; i++) {
		bool stands_in = i >= bar->seats.count;
		size_t at = stands_in ? i - bar->seats.count : i;
		struct bar_seat *seat = stands_in ? &stand_ins[at] : &seats[at];

		*seat = stands_in ? bar->stand_ins.items[at] : bar->seats.items[at];
		for (size_t j = 0; j < seat->families.count; j++)
			if (!provider_name_valid(seat->families.items[j]))
				return false;
		if (!seat->name || (seat->arm && strlen(seat->arm) != ARM_ID_BYTES) ||
		    (seat->arm_name && !seat->arm))
			return false;
		seat->arm_name = NULL;
		seat->families = (struct text_list){0};
		seat->has.families = false;
	}
	return bar_spec_check(&spec, &ignored) == 0;
}

int bar_decode(const void *bytes, size_t size, struct bar_held *ret_held)
{
	struct bar_held held = BAR_HELD_INIT;
	int r = decode(&held.message, bytes, size, &bar_type, &held.bar);

	if (r == 0 && (held.bar.form != BAR_FORM || !bar_sound(&held.bar)))
		r = -EBADMSG;
	if (r < 0)
		bar_held_done(&held);
	*ret_held = held;
	return r;
}

static bool legacy_seat_valid(const struct bar_seat *seat)
{
	return seat->harness && !seat->arm && !seat->family && !seat->has.families;
}

static const char *legacy_family(const struct bar_seat *seat)
{
	if (seat->provider)
		return seat->provider;
	for (size_t i = 0; i < ARRAY_SIZE(legacy_families); i++)
		if (strcmp(legacy_families[i].harness, seat->harness) == 0)
			return legacy_families[i].family;
	return seat->harness;
}

static int hold_legacy(struct bar_held *held, const struct bar_legacy *legacy)
{
	const struct bar_spec spec = {
		.has = {.votes = legacy->has.votes, .breadth = legacy->has.breadth},
		.name = legacy->name,
		.standard = legacy->standard,
		.votes = legacy->votes,
		.breadth = legacy->breadth,
		.seats = legacy->seats,
		.stand_ins = legacy->stand_ins,
	};
	_cleanup_fault_ struct fault ignored = FAULT_INIT;
	struct message *message = held->message;
	int r;

	for (size_t i = 0; i < spec.seats.count; i++)
		if (!legacy_seat_valid(&spec.seats.items[i]))
			return -EBADMSG;
	for (size_t i = 0; i < spec.stand_ins.count; i++)
		if (!legacy_seat_valid(&spec.stand_ins.items[i]))
			return -EBADMSG;
	if (bar_spec_check(&spec, &ignored) != 0)
		return -EBADMSG;
	r = bar_make(&spec, held);
	held->message = message;
	held->legacy = true;
	for (size_t i = 0; r == 0 && i < spec.seats.count + spec.stand_ins.count; i++)
		r = bar_seat_family(held, &held->seats[i], legacy_family(&held->seats[i]));
	return r;
}

int bar_decode_legacy(const void *bytes, size_t size, struct bar_held *ret_held)
{
	struct bar_held held = BAR_HELD_INIT;
	struct bar_legacy legacy;
	int r = decode(&held.message, bytes, size, &bar_legacy_type, &legacy);

	if (r == 0)
		r = hold_legacy(&held, &legacy);
	if (r < 0)
		bar_held_done(&held);
	*ret_held = held;
	return r;
}

/* --- Whether it is the same ----------------------------------------------------------------------- */

static bool same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool same_seats(const struct bar_seat_list *kept, const struct bar_seat_list *asked)
{
	if (kept->count != asked->count)
		return false;
	for (size_t i = 0; i < kept->count; i++) {
		const struct bar_seat *a = &kept->items[i], *b = &asked->items[i];

		if (!same_text(a->name, b->name) || !same_text(a->harness, b->harness) ||
		    !same_text(a->model, b->model) || !same_text(a->provider, b->provider) ||
		    !same_text(a->effort, b->effort) || !same_text(a->family, b->family) ||
		    !a->arm != !b->arm)
			return false;
		if (a->arm && (strlen(b->arm) < 8 || strncmp(a->arm, b->arm, strlen(b->arm)) != 0))
			return false;
	}
	return true;
}

bool bar_same_asked(const struct bar *kept, const struct bar *asked)
{
	return strcmp(kept->name, asked->name) == 0 &&
	       strcmp(kept->standard, asked->standard) == 0 && kept->votes == asked->votes &&
	       kept->breadth == asked->breadth && same_seats(&kept->seats, &asked->seats) &&
	       same_seats(&kept->stand_ins, &asked->stand_ins);
}

const struct bar_seat *bar_seat_find(const struct bar *bar, const char *name)
{
	for (size_t i = 0; i < bar->seats.count; i++)
		if (strcmp(bar->seats.items[i].name, name) == 0)
			return &bar->seats.items[i];
	for (size_t i = 0; i < bar->stand_ins.count; i++)
		if (strcmp(bar->stand_ins.items[i].name, name) == 0)
			return &bar->stand_ins.items[i];
	return NULL;
}

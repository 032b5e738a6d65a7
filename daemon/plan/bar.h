/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/fault.h"
#include "proto/message.h"

/*
 * Bars, as far as they can be judged without looking at a host: their canonical form and its digest,
 * the older form that is still read, and whether two ask for the same. Pure.
 *
 * The canonical form is struct bar as message_encode writes it, with nothing left to a default. Seats
 * and stand-ins are in the order they were asked for, which means something; families are in the order
 * of their bytes.
 */
#define BAR_FORM 1

#define BAR_FIELDS(X)                                                                              \
	X(form, UINT, REQUIRED, 0, "of this form: 1")                                              \
	X(name, STRING, REQUIRED, BAR_NAME_BYTES_MAX, "as asked")                                  \
	X(standard, STRING, REQUIRED, BAR_STANDARD_BYTES_MAX, "as asked")                          \
	X(votes, UINT, REQUIRED, BAR_SEATS_MAX, "as asked, or the default")                        \
	X(breadth, UINT, REQUIRED, BAR_SEATS_MAX, "as asked, or the default")                      \
	X(seats, BAR_SEATS, REQUIRED, BAR_SEATS_MAX, "as asked, each with name and families")      \
	X(stand_ins, BAR_SEATS, OPTIONAL, BAR_SEATS_MAX, "likewise")

MESSAGE_STRUCT_(bar, BAR_FIELDS)
MESSAGE_TYPE_(bar, BAR_FIELDS)

/* 1 to BAR_NAME_BYTES_MAX letters, digits, and . _ - behind the first. */
bool bar_name_valid(const char *name);

/*
 * What can be refused by what it says alone. FAULT. families of a seat may not be said; harness and arm
 * are looked up by others.
 */
int bar_spec_check(const struct bar_spec *spec, struct fault *ret_fault);

/* A Bar, and what its seats point to. BAR_HELD_INIT; bar_held_done. */
struct bar_held {
	struct bar bar;
	bool legacy;		 /* of the older form: its families are those of its own time */
	struct message *message; /* of one that was decoded */
	struct bar_seat *seats;	 /* of one that was made: seats, then stand-ins */
	struct text_list texts;	 /* families and ids, owned */
	const char **lists;	 /* of families */
};

#define BAR_HELD_INIT ((struct bar_held){0})

void bar_held_done(struct bar_held *held);

/*
 * The Bar that is asked for, checked: each seat with its name, nothing left to a default, and without
 * families, which whoever knows them adds with bar_seat_family. Texts are the spec's. -ENOMEM.
 */
int bar_make(const struct bar_spec *spec, struct bar_held *ret_held);
/* One family more of a seat of held, kept in the order of bytes, each once: -ENOMEM, -E2BIG. */
int bar_seat_family(struct bar_held *held, struct bar_seat *seat, const char *family);

/* The canonical form and its digest, in hexadecimal: the Bar's id. Initialises the buffer. */
int bar_encode(const struct bar *bar, msgpack_sbuffer *ret_buffer, char ret_id[BAR_ID_BYTES + 1]);
/* The digest of bytes. */
void bar_id_of(const void *bytes, size_t size, char ret_id[BAR_ID_BYTES + 1]);

/* From these bytes. -EBADMSG: no Bar of a form that is known here; -ENOMEM. */
int bar_decode(const void *bytes, size_t size, struct bar_held *ret_held);
/*
 * From the older form, which has no `form` and no families of seats. The families that it had: a
 * provider's alias where there was one, as it stands, else what the Harness's file of that time said;
 * never the model's, whatever is known of it now.
 */
int bar_decode_legacy(const void *bytes, size_t size, struct bar_held *ret_held);

/*
 * Whether asked asks for what kept asked for, whatever families either has. An Arm of asked may be named
 * by its first digits.
 */
bool bar_same_asked(const struct bar *kept, const struct bar *asked);

/* The seat or stand-in of this name, or NULL. */
const struct bar_seat *bar_seat_find(const struct bar *bar, const char *name);

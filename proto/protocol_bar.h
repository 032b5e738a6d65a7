/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Bars and Panels: a part of protocol.h, which includes it and states the rules.
 *
 * A Bar is the standard that an Experiment's results are held to, and who votes on them: its seats,
 * each a Harness with its model, or an Arm that serves as a Grader. bar_set freezes it: what it asked
 * for (BAR_SPEC_FIELDS), and with it the families of each seat's models. Its id is the SHA-256 of that
 * (plan/bar.h has the form). Once a launch has named it, it never changes.
 *
 * A Panel is what a Bar comes to for one Arm: who shares a family with the Arm has no vote on its
 * results, and a stand-in of another family has it.
 */
#define BAR_ID_BYTES 64 /* hexadecimal */
#define BAR_NAME_BYTES_MAX 64
#define BAR_STANDARD_BYTES_MAX (256u * 1024u)
#define BAR_SEATS_MAX 16 /* and as many stand-ins */
#define PANEL_ARMS_MAX 32
#define FAMILIES_MAX 64 /* of an Arm, or of a seat */

/* A seat, or a stand-in. families and arm_name are found, and may not be asked for. */
#define BAR_SEAT_FIELDS(X)                                                                         \
	X(name, STRING, OPTIONAL, BAR_NAME_BYTES_MAX,                                              \
	  "no other seat or stand-in has it; default: the Harness's")                              \
	X(harness, STRING, OPTIONAL, HARNESS_NAME_BYTES_MAX, "its Grader is this Harness's")       \
	X(model, STRING, OPTIONAL, 256, "of harness: the model")                                   \
	X(provider, STRING, OPTIONAL, PROVIDER_NAME_BYTES_MAX,                                     \
	  "of harness: whose model it is reached by; says its family, and signs nobody in")        \
	X(effort, STRING, OPTIONAL, 32, "of harness: how much effort the model is to make")        \
	X(family, STRING, OPTIONAL, FAMILY_BYTES_MAX,                                              \
	  "of its model, where nobody knows that; what is known counts beside it")                 \
	X(arm, STRING, OPTIONAL, ARM_ID_BYTES,                                                     \
	  "instead of harness: an Arm that serves as a grader")                                    \
	X(families, STRINGS, OPTIONAL, FAMILIES_MAX,                                               \
	  "of its models, as they were when it was set")                                           \
	X(arm_name, STRING, OPTIONAL, ARM_NAME_BYTES_MAX, "of arm: what that is called (found)")

/* What a Bar asks for. Unknown keys in it are refused. */
#define BAR_SPEC_FIELDS(X)                                                                         \
	X(name, STRING, REQUIRED, BAR_NAME_BYTES_MAX, "what it is called")                         \
	X(standard, STRING, REQUIRED, BAR_STANDARD_BYTES_MAX, "what is to be judged, and how")     \
	X(votes, UINT, OPTIONAL, BAR_SEATS_MAX,                                                    \
	  "how many that agree decide; default: more than half of the seats")                      \
	X(breadth, UINT, OPTIONAL, BAR_SEATS_MAX,                                                  \
	  "least distinct families of those who vote; default: 1")                                 \
	X(seats, BAR_SEATS, REQUIRED, BAR_SEATS_MAX, "who votes; at least one")                    \
	X(stand_ins, BAR_SEATS, OPTIONAL, BAR_SEATS_MAX,                                           \
	  "who takes a seat whose vote is withheld, the first that may")

/* A Bar, as it is told. Of one that is damaged there is its name, and a warning. */
#define BAR_VIEW_FIELDS(X)                                                                         \
	X(name, STRING, REQUIRED, BAR_NAME_BYTES_MAX, "what a launch names")                       \
	X(id, STRING, OPTIONAL, BAR_ID_BYTES, "which it is; absent: it is damaged")                \
	X(created_at, TIME, OPTIONAL, 0, "when it was set")                                        \
	X(existed, BOOL, OPTIONAL, 0, "of bar_set: it was there, and is as it was")                \
	X(used, BOOL, OPTIONAL, 0,                                                                 \
	  "a launch has named it (or may have: legacy): it cannot change")                         \
	X(used_at, TIME, OPTIONAL, 0, "the first that did, where that is known")                   \
	X(legacy, BOOL, OPTIONAL, 0,                                                               \
	  "saved in an older form, without families: those it had then")                           \
	X(votes, UINT, OPTIONAL, BAR_SEATS_MAX, "how many that agree decide")                      \
	X(breadth, UINT, OPTIONAL, BAR_SEATS_MAX, "least distinct families of those who vote")     \
	X(seats, BAR_SEATS, OPTIONAL, BAR_SEATS_MAX, "who votes")                                  \
	X(stand_ins, BAR_SEATS, OPTIONAL, BAR_SEATS_MAX, "who takes a seat")                       \
	X(standard, STRING, OPTIONAL, BAR_STANDARD_BYTES_MAX, "(not in bar_list)")                 \
	X(warnings, STRINGS, OPTIONAL, 64, "what is damaged, or will hardly do what was meant")

/* What becomes of a seat for one Arm. */
#define PANEL_SEAT_FIELDS(X)                                                                       \
	X(seat, STRING, REQUIRED, BAR_NAME_BYTES_MAX, "its name")                                  \
	X(harness, STRING, OPTIONAL, HARNESS_NAME_BYTES_MAX, "its Harness")                        \
	X(model, STRING, OPTIONAL, 256, "its model")                                               \
	X(arm, STRING, OPTIONAL, ARM_ID_BYTES, "or its Arm")                                       \
	X(families, STRINGS, OPTIONAL, FAMILIES_MAX, "of its models")                              \
	X(withheld, BOOL, REQUIRED, 0, "it has no vote on results of this Arm")                    \
	X(because, STRINGS, OPTIONAL, FAMILIES_MAX, "of withheld: families that the Arm has too")  \
	X(stand_in, STRING, OPTIONAL, BAR_NAME_BYTES_MAX, "of withheld: who has its vote")         \
	X(stand_in_families, STRINGS, OPTIONAL, FAMILIES_MAX, "of that one's models")              \
	X(arm_name, STRING, OPTIONAL, ARM_NAME_BYTES_MAX, "of arm: what that is called")

/* The Panel of one Arm. */
#define PANEL_ARM_FIELDS(X)                                                                        \
	X(arm, STRING, REQUIRED, ARM_ID_BYTES, "the Arm")                                          \
	X(name, STRING, REQUIRED, ARM_NAME_BYTES_MAX, "what that is called")                       \
	X(families, STRINGS, OPTIONAL, FAMILIES_MAX, "of its models")                              \
	X(ok, BOOL, REQUIRED, 0,                                                                   \
	  "enough are left who may vote (else its Trials are refused), and each of them can")      \
	X(reason, STRING, OPTIONAL, 4096, "why not")                                               \
	X(hint, STRING, OPTIONAL, 4096, "what mends it")                                           \
	X(seats, PANEL_SEATS, REQUIRED, BAR_SEATS_MAX, "in the Bar's order")                       \
	X(voters, STRINGS, OPTIONAL, BAR_SEATS_MAX, "seats and stand-ins that vote, by name")      \
	X(families_left, STRINGS, OPTIONAL, 1024, "of those who vote, each once")

#define BAR_SET_FIELDS(X) X(spec, BAR_SPEC, REQUIRED, 0, "what is to be kept")
#define BAR_LIST_FIELDS(X)                                                                         \
	X(after, STRING, OPTIONAL, BAR_NAME_BYTES_MAX, "cursor: only what comes behind this one")  \
	X(limit, UINT, OPTIONAL, LIST_PAGE_MAX, "most Bars in the page; default 50")
#define BAR_SHOW_FIELDS(X) X(name, STRING, REQUIRED, BAR_NAME_BYTES_MAX, "the Bar")
#define PANEL_CHECK_FIELDS(X)                                                                      \
	X(bar, STRING, REQUIRED, BAR_NAME_BYTES_MAX, "the Bar")                                    \
	X(arms, STRINGS, REQUIRED, PANEL_ARMS_MAX, "ids of Arms; at least one")

#define BAR_LIST_REPLY_FIELDS(X)                                                                   \
	X(bars, BAR_VIEWS, REQUIRED, LIST_PAGE_MAX, "by name")                                     \
	X(cursor, STRING, OPTIONAL, BAR_NAME_BYTES_MAX,                                            \
	  "there is more: ask again with after=cursor")
#define PANEL_CHECK_REPLY_FIELDS(X)                                                                \
	X(bar, STRING, REQUIRED, BAR_NAME_BYTES_MAX, "the Bar")                                    \
	X(ok, BOOL, REQUIRED, 0, "the Panels of all of these Arms are")                            \
	X(arms, PANEL_ARMS, REQUIRED, PANEL_ARMS_MAX, "as asked for")                              \
	X(warnings, STRINGS, OPTIONAL, 64,                                                         \
	  "of its seats: what keeps one from voting, or is in doubt")

/* Their part of PROTOCOL_REQUESTS, and of PROTOCOL_MESSAGES: what others hold, then the rest. */
#define BAR_REQUESTS(X)                                                                            \
	X(bar_set, BAR_SET_FIELDS)                                                                 \
	X(bar_list, BAR_LIST_FIELDS)                                                               \
	X(bar_show, BAR_SHOW_FIELDS)                                                               \
	X(panel_check, PANEL_CHECK_FIELDS)

#define BAR_INNER_MESSAGES(M)                                                                      \
	M(bar_seat, BAR_SEAT_FIELDS)                                                               \
	M(bar_spec, BAR_SPEC_FIELDS)                                                               \
	M(bar_view, BAR_VIEW_FIELDS)                                                               \
	M(panel_seat, PANEL_SEAT_FIELDS)                                                           \
	M(panel_arm, PANEL_ARM_FIELDS)

#define BAR_REQUEST_MESSAGES(M)                                                                    \
	M(bar_set_request, BAR_SET_FIELDS)                                                         \
	M(bar_list_request, BAR_LIST_FIELDS)                                                       \
	M(bar_show_request, BAR_SHOW_FIELDS)                                                       \
	M(panel_check_request, PANEL_CHECK_FIELDS)

#define BAR_REPLY_MESSAGES(M)                                                                      \
	M(bar_set_reply, BAR_VIEW_FIELDS)                                                          \
	M(bar_list_reply, BAR_LIST_REPLY_FIELDS)                                                   \
	M(bar_show_reply, BAR_VIEW_FIELDS)                                                         \
	M(panel_check_reply, PANEL_CHECK_REPLY_FIELDS)

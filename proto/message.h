/* SPDX-License-Identifier: MIT */
#pragma once

#include <msgpack.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol.h"

/*
 * Messages as C structures, decoded and encoded by the tables of protocol.h.
 *
 * A frame's bytes become a `struct message` (message_parse): its structure is checked on the raw
 * bytes first (depth, element counts that the remaining bytes can hold, key lengths, no duplicate
 * keys), so that msgpack-c never allocates for a claim the bytes do not back. The message owns an
 * arena; every structure decoded from it points into that arena and lives as long.
 *
 * All functions return 0 or -errno: -EBADMSG for bytes that are not such a message (the
 * decode_error says which field and why), -ENOMEM.
 */

/* The words of each closed set: enum state { STATE_queued, … }. */
#define ENUMERATOR_(prefix, name) prefix##_##name,
#define VERB_ENUMERATOR_(name, doc) VERB_##name,
#define EVENT_ENUMERATOR_(name, doc) EVENT_##name,
#define ERROR_ENUMERATOR_(name, doc) ERROR_##name,
#define STATE_ENUMERATOR_(name, doc) STATE_##name,
#define OUTCOME_ENUMERATOR_(name, counts, doc) OUTCOME_##name,
#define CAUSE_ENUMERATOR_(name, doc) CAUSE_##name,
#define ENDER_ENUMERATOR_(name, doc) ENDER_##name,
#define HOLD_ENUMERATOR_(name, doc) HOLD_##name,
#define ROLE_ENUMERATOR_(name, doc) ROLE_##name,
#define MODE_ENUMERATOR_(name, doc) MODE_##name,
#define NETWORK_ENUMERATOR_(name, doc) NETWORK_##name,
#define VERDICT_ENUMERATOR_(name, doc) VERDICT_##name,
#define VOTE_ENUMERATOR_(name, doc) VOTE_##name,
#define BACKEND_ENUMERATOR_(name, doc) BACKEND_##name,
#define STREAM_ENUMERATOR_(name, doc) STREAM_##name,
#define CHECK_ENUMERATOR_(name, doc) CHECK_##name,
#define MOUNT_KIND_ENUMERATOR_(name, doc) MOUNT_KIND_##name,
#define LOGIN_KIND_ENUMERATOR_(name, doc) LOGIN_KIND_##name,
#define LOGIN_CONDITION_ENUMERATOR_(name, doc) LOGIN_CONDITION_##name,

enum verb { PROTOCOL_VERBS(VERB_ENUMERATOR_) VERB_COUNT };
enum event { PROTOCOL_EVENTS(EVENT_ENUMERATOR_) EVENT_COUNT };
enum error_code { PROTOCOL_ERRORS(ERROR_ENUMERATOR_) ERROR_COUNT };
enum state { PROTOCOL_STATES(STATE_ENUMERATOR_) STATE_COUNT };
enum outcome { PROTOCOL_OUTCOMES(OUTCOME_ENUMERATOR_) OUTCOME_COUNT };
enum cause { PROTOCOL_CAUSES(CAUSE_ENUMERATOR_) CAUSE_COUNT };
enum ender { PROTOCOL_ENDERS(ENDER_ENUMERATOR_) ENDER_COUNT };
enum hold { PROTOCOL_HOLDS(HOLD_ENUMERATOR_) HOLD_COUNT };
enum role { PROTOCOL_ROLES(ROLE_ENUMERATOR_) ROLE_COUNT };
enum mode { PROTOCOL_MODES(MODE_ENUMERATOR_) MODE_COUNT };
enum network { PROTOCOL_NETWORKS(NETWORK_ENUMERATOR_) NETWORK_COUNT };
enum verdict { PROTOCOL_VERDICTS(VERDICT_ENUMERATOR_) VERDICT_COUNT };
enum vote { PROTOCOL_VOTES(VOTE_ENUMERATOR_) VOTE_COUNT };
enum backend { PROTOCOL_BACKENDS(BACKEND_ENUMERATOR_) BACKEND_COUNT };
enum stream { PROTOCOL_STREAMS(STREAM_ENUMERATOR_) STREAM_COUNT };
enum check_state { PROTOCOL_CHECK_STATES(CHECK_ENUMERATOR_) CHECK_COUNT };
enum login_kind { PROTOCOL_LOGIN_KINDS(LOGIN_KIND_ENUMERATOR_) LOGIN_KIND_COUNT };
enum mount_kind { PROTOCOL_MOUNT_KINDS(MOUNT_KIND_ENUMERATOR_) MOUNT_KIND_COUNT };
enum login_condition {
	PROTOCOL_LOGIN_CONDITIONS(LOGIN_CONDITION_ENUMERATOR_) LOGIN_CONDITION_COUNT
};

/* The word of a value, or NULL when out of range; the value of a word, or -EINVAL. */
#define DECLARE_WORDS_(set)                                                                      \
	const char *set##_name(int value);                                                       \
	int set##_from_name(const char *name);
DECLARE_WORDS_(verb)
DECLARE_WORDS_(event)
DECLARE_WORDS_(error)
DECLARE_WORDS_(state)
DECLARE_WORDS_(outcome)
DECLARE_WORDS_(cause)
DECLARE_WORDS_(ender)
DECLARE_WORDS_(hold)
DECLARE_WORDS_(role)
DECLARE_WORDS_(mode)
DECLARE_WORDS_(network)
DECLARE_WORDS_(verdict)
DECLARE_WORDS_(vote)
DECLARE_WORDS_(backend)
DECLARE_WORDS_(stream)
DECLARE_WORDS_(check_state)
DECLARE_WORDS_(login_kind)
DECLARE_WORDS_(login_condition)
DECLARE_WORDS_(mount_kind)

/* Whether an outcome counts against the Arm. */
bool outcome_counts(enum outcome outcome);

/*
 * Member types. A pointer that is NULL, a list whose count is 0 and `has.x == false` are absent.
 * Decoding sets `has` for all that was there. Encoding looks at `has` alone for numbers, words and
 * nested structures, at the pointer alone for strings, and at either for lists and blobs, so that
 * an empty one can be sent. The items of a decoded text_list end with a NULL that count leaves out.
 */
struct blob {
	const uint8_t *data;
	size_t size;
};
struct text_list {
	size_t count;
	const char **items;
};
struct pair {
	const char *name;
	const char *value;
};
struct pair_list {
	size_t count;
	struct pair *items;
};

#define LIST_TYPE_(list, item)                                                                   \
	struct list {                                                                            \
		size_t count;                                                                    \
		struct item *items;                                                              \
	};
LIST_TYPE_(bind_list, bind_spec)
LIST_TYPE_(limit_state_list, limit_state)
LIST_TYPE_(log_state_list, log_state)
LIST_TYPE_(git_change_list, git_change)
LIST_TYPE_(login_outcome_list, login_outcome)
LIST_TYPE_(kept_list, kept)
LIST_TYPE_(trial_connection_list, trial_connection)
LIST_TYPE_(status_trial_list, status_trial)
LIST_TYPE_(trial_list, trial_view)
LIST_TYPE_(doctor_check_list, doctor_check)
LIST_TYPE_(harness_view_list, harness_view)
LIST_TYPE_(login_view_list, login_view)
LIST_TYPE_(trial_toolchain_list, trial_toolchain)
LIST_TYPE_(sandbox_mount_list, sandbox_mount)
LIST_TYPE_(trial_harness_list, trial_harness)
LIST_TYPE_(arm_file_list, arm_file)
LIST_TYPE_(arm_harness_list, arm_harness)
LIST_TYPE_(arm_provider_list, arm_provider)
LIST_TYPE_(arm_change_list, arm_change)
LIST_TYPE_(arm_view_list, arm_view)
LIST_TYPE_(bar_seat_list, bar_seat)
LIST_TYPE_(bar_view_list, bar_view)
LIST_TYPE_(panel_seat_list, panel_seat)
LIST_TYPE_(panel_arm_list, panel_arm)

/*
 * The C member of each field type, and what it is on the wire.
 *   UINT, SIZE   unsigned integer            TIME    unsigned integer, microseconds UTC
 *   INT          integer, |value| <= limit   SECONDS float or integer, finite, 0 … limit
 *   FLOAT        float or integer, finite    BOOL    boolean
 *   STRING       str, UTF-8, no NUL          BYTES, PATH  str or bin, no NUL; PATH is absolute
 *   BLOB         str or bin, any bytes       a limit of 0 means: no limit but the frame's
 *   STRINGS, BYTES_LIST   array of those     PAIRS   map of STRING to BYTES (no '=' in the name)
 *   STRING_PAIRS map of STRING to STRING
 * Encoding writes BYTES and PATH as str when they are UTF-8 and as bin when they are not.
 */
#define MEMBER_UINT_(n) uint64_t n;
#define MEMBER_SIZE_(n) uint64_t n;
#define MEMBER_TIME_(n) uint64_t n;
#define MEMBER_INT_(n) int64_t n;
#define MEMBER_SECONDS_(n) double n;
#define MEMBER_FLOAT_(n) double n;
#define MEMBER_BOOL_(n) bool n;
#define MEMBER_STRING_(n) const char *n;
#define MEMBER_BYTES_(n) const char *n;
#define MEMBER_PATH_(n) const char *n;
#define MEMBER_BLOB_(n) struct blob n;
#define MEMBER_STRINGS_(n) struct text_list n;
#define MEMBER_BYTES_LIST_(n) struct text_list n;
#define MEMBER_PAIRS_(n) struct pair_list n;
#define MEMBER_STRING_PAIRS_(n) struct pair_list n;
#define MEMBER_STATE_(n) enum state n;
#define MEMBER_OUTCOME_(n) enum outcome n;
#define MEMBER_CAUSE_(n) enum cause n;
#define MEMBER_ENDER_(n) enum ender n;
#define MEMBER_HOLD_(n) enum hold n;
#define MEMBER_ROLE_(n) enum role n;
#define MEMBER_MODE_(n) enum mode n;
#define MEMBER_NETWORK_(n) enum network n;
#define MEMBER_VERDICT_(n) enum verdict n;
#define MEMBER_VOTE_(n) enum vote n;
#define MEMBER_BACKEND_(n) enum backend n;
#define MEMBER_STREAM_(n) enum stream n;
#define MEMBER_CHECK_STATE_(n) enum check_state n;
#define MEMBER_LIMITS_(n) struct limits_spec n;
#define MEMBER_BOUNDARY_(n) struct boundary n;
#define MEMBER_TRIAL_(n) struct trial_view n;
#define MEMBER_BINDS_(n) struct bind_list n;
#define MEMBER_LIMIT_STATES_(n) struct limit_state_list n;
#define MEMBER_LOG_STATES_(n) struct log_state_list n;
#define MEMBER_GIT_CHANGES_(n) struct git_change_list n;
#define MEMBER_LOGIN_OUTCOMES_(n) struct login_outcome_list n;
#define MEMBER_KEPT_LIST_(n) struct kept_list n;
#define MEMBER_CONNECTIONS_(n) struct trial_connection_list n;
#define MEMBER_CONNECTION_SUM_(n) struct connection_sum n;
#define MEMBER_TRIAL_VERDICT_(n) struct trial_verdict n;
#define MEMBER_STATUS_TRIALS_(n) struct status_trial_list n;
#define MEMBER_TRIALS_(n) struct trial_list n;
#define MEMBER_DOCTOR_CHECKS_(n) struct doctor_check_list n;
#define MEMBER_TRIAL_HARNESS_(n) struct trial_harness n;
#define MEMBER_HARNESSES_(n) struct harness_view_list n;
#define MEMBER_LOGIN_KIND_(n) enum login_kind n;
#define MEMBER_LOGIN_CONDITION_(n) enum login_condition n;
#define MEMBER_LOGINS_(n) struct login_view_list n;
#define MEMBER_TRIAL_TOOLCHAINS_(n) struct trial_toolchain_list n;
#define MEMBER_MOUNT_KIND_(n) enum mount_kind n;
#define MEMBER_MOUNTS_(n) struct sandbox_mount_list n;
#define MEMBER_SANDBOX_(n) struct sandbox_view n;
#define MEMBER_TRIAL_HARNESSES_(n) struct trial_harness_list n;
#define MEMBER_ARM_FILES_(n) struct arm_file_list n;
#define MEMBER_ARM_HARNESSES_(n) struct arm_harness_list n;
#define MEMBER_ARM_PROVIDERS_(n) struct arm_provider_list n;
#define MEMBER_ARM_FOLDER_(n) struct arm_folder n;
#define MEMBER_ARM_SPEC_(n) struct arm_spec n;
#define MEMBER_ARM_(n) struct arm n;
#define MEMBER_ARM_CHANGES_(n) struct arm_change_list n;
#define MEMBER_ARM_VIEWS_(n) struct arm_view_list n;
#define MEMBER_BAR_SEATS_(n) struct bar_seat_list n;
#define MEMBER_BAR_SPEC_(n) struct bar_spec n;
#define MEMBER_BAR_VIEWS_(n) struct bar_view_list n;
#define MEMBER_PANEL_SEATS_(n) struct panel_seat_list n;
#define MEMBER_PANEL_ARMS_(n) struct panel_arm_list n;

/* The types themselves; X(TYPE). */
#define FIELD_TYPES(X)                                                                           \
	X(UINT) X(SIZE) X(TIME) X(INT) X(SECONDS) X(FLOAT) X(BOOL) X(STRING) X(BYTES) X(PATH)    \
	X(BLOB) X(STRINGS) X(BYTES_LIST) X(PAIRS) X(STRING_PAIRS) X(STATE) X(OUTCOME) X(CAUSE)   \
	X(ENDER) X(ROLE) X(MODE) X(NETWORK) X(BACKEND) X(STREAM) X(LIMITS) X(BOUNDARY) X(TRIAL)  \
	X(BINDS) X(LIMIT_STATES) X(LOG_STATES) X(GIT_CHANGES) X(LOGIN_OUTCOMES) X(STATUS_TRIALS) X(TRIALS)  \
	X(CHECK_STATE) X(DOCTOR_CHECKS) X(HOLD) X(TRIAL_HARNESS) X(HARNESSES)            \
	X(LOGIN_KIND) X(LOGIN_CONDITION) X(LOGINS) X(TRIAL_TOOLCHAINS) X(KEPT_LIST)  \
	X(VOTE) X(TRIAL_VERDICT)  \
	X(VERDICT) X(CONNECTIONS) X(CONNECTION_SUM) X(MOUNT_KIND) X(MOUNTS) X(SANDBOX) \
	X(TRIAL_HARNESSES) X(ARM_FILES) X(ARM_HARNESSES) X(ARM_PROVIDERS) X(ARM_FOLDER)  \
	X(ARM_SPEC) X(ARM) X(ARM_CHANGES) X(ARM_VIEWS) X(BAR_SEATS) X(BAR_SPEC) X(BAR_VIEWS)  \
	X(PANEL_SEATS) X(PANEL_ARMS)

#define FIELD_TYPE_(type) FIELD_##type,
enum field_type { FIELD_TYPES(FIELD_TYPE_) FIELD_TYPE_COUNT };

/* struct launch_request { struct { bool command; … } has; struct text_list command; … }; */
#define MEMBER_HAS_(name, type, presence, limit, doc) bool name;
#define MEMBER_VALUE_(name, type, presence, limit, doc) MEMBER_##type##_(name)
#define MESSAGE_STRUCT_(c_name, FIELDS)                                                          \
	struct c_name {                                                                          \
		struct {                                                                         \
			FIELDS(MEMBER_HAS_)                                                      \
		} has;                                                                           \
		FIELDS(MEMBER_VALUE_)                                                            \
	};
PROTOCOL_MESSAGES(MESSAGE_STRUCT_)

/* One field as data: what decoder, encoder, docs and fuzz dictionary read. */
struct field {
	const char *name;
	enum field_type type;
	bool required;
	uint64_t limit;
	size_t offset;
	size_t has_offset;
	const char *doc;
};

struct message_type {
	const char *name;
	const struct field *fields;
	size_t count;
	size_t size; /* of the C structure */
};

#define MESSAGE_TYPE_(c_name, FIELDS) extern const struct message_type c_name##_type;
PROTOCOL_MESSAGES(MESSAGE_TYPE_)

/* The type of a verb's arguments. */
const struct message_type *verb_arguments_type(enum verb verb);

/* Which field was refused and why, for a person: "limits.memory: a whole number of bytes …". */
struct decode_error {
	char field[128];
	char reason[256];
};

struct message;

/* Structure only; what message_parse does first. Pure; allocates nothing. */
int message_check(const void *bytes, size_t size);

/* Takes no ownership of bytes and copies what it needs. The bytes are one msgpack map. */
int message_parse(struct message **ret_message, const void *bytes, size_t size);
struct message *message_free(struct message *message);
const msgpack_object *message_root(const struct message *message);

/* What message_decode does with a key that the type does not have. */
enum unknown_keys { UNKNOWN_KEYS_IGNORED, UNKNOWN_KEYS_REFUSED };

/*
 * Fills *ret_structure (zeroed first) from map, which lies in message. Nested structures follow
 * the same rule for unknown keys. The structure points into the message's arena.
 */
int message_decode(struct message *message, const msgpack_object *map,
		   const struct message_type *type, enum unknown_keys unknown, void *ret_structure,
		   struct decode_error *ret_error);

/* Writes one map: every field that is present. A required field that is absent is a bug: -EINVAL. */
int message_encode(msgpack_packer *packer, const struct message_type *type, const void *structure);

/*
 * The envelope of a frame.
 *   request {request: N, verb: "…", arguments: {…}}     N > 0, chosen by the client
 *   reply   {reply: N, ok: {…}} or {reply: N, error: {code, message, hint}}
 *   event   {event: "…", request: N, body: {…}}         N: the request that subscribed
 * Unknown keys in an envelope are ignored. Replies may come in any order.
 */
enum envelope_kind { ENVELOPE_REQUEST, ENVELOPE_REPLY, ENVELOPE_EVENT };

struct envelope {
	enum envelope_kind kind;
	uint64_t number;
	const char *name;	     /* request: the verb; event: the event; as sent, maybe unknown */
	const msgpack_object *body;  /* arguments, ok or body; NULL when absent or for an error */
	bool failed;		     /* reply: it is an error, below */
	struct error_body error;
};

int envelope_decode(struct message *message, struct envelope *ret_envelope,
		    struct decode_error *ret_error);

/*
 * Frames, written whole (header included) to the end of a buffer. A frame over FRAME_BYTES_MAX
 * is not written: -EMSGSIZE, the buffer is as before. type NULL: an empty body.
 */
int frame_write_request(msgpack_sbuffer *buffer, uint64_t number, enum verb verb,
			const struct message_type *type, const void *structure);
int frame_write_reply(msgpack_sbuffer *buffer, uint64_t number, const struct message_type *type,
		      const void *structure);
int frame_write_error(msgpack_sbuffer *buffer, uint64_t number, const struct error_body *error);
int frame_write_event(msgpack_sbuffer *buffer, enum event event, uint64_t number,
		      const struct message_type *type, const void *structure);
/* A request whose arguments are one already encoded msgpack map. */
int frame_write_request_raw(msgpack_sbuffer *buffer, uint64_t number, const char *verb,
			    const void *arguments, size_t size);

/* Whether text is valid UTF-8 (no surrogates, no overlong forms). */
bool utf8_valid(const void *text, size_t size);

/* SPDX-License-Identifier: MIT */

/*
 * Three versions decide: what the host has, what the Trial has, and what both last had. The last is
 * kept as bytes, in memory and in the Trial's folder (0600): to hold a change against it takes more
 * than a digest, and what equals it is an echo of our own writing.
 *
 * Order of writing: backup, the host's file, what is remembered. Killed anywhere in between, the
 * next look finds both sides equal, or finds the same to do again.
 */
#include "carry.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/fault_point.h"
#include "base/mem.h"
#include "base/now.h"
#include "carry_parts.h"
#include "login_state.h"

struct sides {
	struct login_content production;
	struct login_content copy;
	int production_r;
	int copy_r;
	char production_reason[GATE_REASON_BYTES];
	char copy_reason[GATE_REASON_BYTES];
};

static void sides_done(struct sides *sides)
{
	login_content_done(&sides->production);
	login_content_done(&sides->copy);
}

static double monotonic(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static bool same_bytes(const struct login_content *a, const struct login_content *b)
{
	return a->data && b->data && a->size == b->size && memcmp(a->data, b->data, a->size) == 0;
}

/* --- Carrying ------------------------------------------------------------------------------------- */

static void keep_previous(struct carry *carry, const struct login_content *production)
{
	int state = carry->folders[LOGIN_FD_STATE];

	if (!login_carried_is(state, carry->key, production->data, production->size))
		login_kept_write(state, carry->key, LOGIN_KEPT_previous, production->data,
				 production->size);
	FAULT_POINT(carry_backed_up);
}

/* All is well; a doubt, and the mark that came of it, go. */
static enum carry_look settle(struct carry *carry)
{
	if (carry->marked)
		login_kept_remove(carry->folders[LOGIN_FD_STATE], carry->key, LOGIN_KEPT_suspect);
	carry->doubted = carry->marked = false;
	carry->held_since = 0;
	return carry_say(carry, LOGIN_good, NULL);
}

/* For people; nothing is decided by it. */
static void tell_refreshed(const struct carry *carry)
{
	struct login_result result;

	carry_fill(carry, &result);
	login_refreshed_write(carry->folders[LOGIN_FD_STATE], carry->key, &result);
}

/* That a backup cannot be written is no reason to lose a new login too. */
static enum carry_look carry_out(struct carry *carry, const struct sides *sides)
{
	const struct login_content *copy = &sides->copy;
	int state = carry->folders[LOGIN_FD_STATE], r;

	keep_previous(carry, &sides->production);
	r = login_file_replace(carry->folders[LOGIN_FD_PRODUCTION], carry->login.file, copy->data,
			       copy->size, &sides->production.st, true);
	if (r == -EAGAIN)
		return carry_again(carry, CARRY_BUSY_SECONDS);
	if (r < 0) {
		carry_fail(carry, "the Trial's new login cannot be written to the host's file", r);
		return carry_again(carry, CARRY_FAILED_SECONDS);
	}
	carry->carried_out++;
	carry->refreshed_at = now_microseconds();
	r = carry_remember(carry, copy);
	login_carried_write(state, carry->key, copy->data, copy->size);
	tell_refreshed(carry);
	carry_keep_good(carry, copy);
	return r < 0 ? carry_fail(carry, "the new login cannot be kept", r) : settle(carry);
}

/* Only in the place of what was read: the Trial may have refreshed it since. */
static int write_copy(struct carry *carry, const struct sides *sides)
{
	const struct login_content *content = &sides->production;
	int folder = carry->folders[LOGIN_FD_COPY];
	double now = monotonic();

	if (!carry->login.in_place)
		return login_file_replace(folder, carry->login.copy, content->data, content->size,
					  &sides->copy.st, false);
	if (carry->held_since <= 0)
		carry->held_since = now;
	return login_file_overwrite(folder, carry->login.copy, &sides->copy, content->data,
				    content->size, now - carry->held_since > CARRY_HELD_SECONDS);
}

/* The Trial gets what the host has, if that is a login. */
static enum carry_look carry_in(struct carry *carry, const struct sides *sides, bool final)
{
	const struct login_content *content = &sides->production;
	const struct blob blob = login_content_blob(content);
	char reason[GATE_REASON_BYTES];
	int r;

	if (final || gate_check(&carry->rules, &blob, reason) < 0)
		return settle(carry);
	r = write_copy(carry, sides);
	if (r == -EAGAIN)
		return carry_again(carry, CARRY_BUSY_SECONDS);
	/* A Trial that put something in the way does without. */
	if (r == 0) {
		carry->carried_in++;
		r = carry_remember(carry, content);
	}
	carry_keep_good(carry, content);
	return settle(carry);
}

/* --- What is damaged ------------------------------------------------------------------------------ */

static void mark(struct carry *carry)
{
	struct login_result result;

	carry_fill(carry, &result);
	login_suspect_write(carry->folders[LOGIN_FD_STATE], carry->key, &result);
	FAULT_POINT(carry_marked);
	carry->marked = true;
}

static void keep_aside(struct carry *carry, const struct login_content *copy)
{
	if (copy->data)
		login_kept_write(carry->folders[LOGIN_FD_STATE], carry->key, LOGIN_KEPT_damaged,
				 copy->data, copy->size);
}

/* A file that is being written looks like this too, for a while. */
static enum carry_look doubt(struct carry *carry, const struct sides *sides, const char *reason,
			     bool final)
{
	double now = monotonic();

	if (!carry->doubted || !login_stat_same(&sides->copy.st, &carry->doubted_st)) {
		carry->doubted = true;
		carry->doubted_st = sides->copy.st;
		carry->doubted_since = now;
	} else if (carry->state == LOGIN_suspect && !final) {
		return CARRY_LOOK_DONE;
	}
	if (!final && now - carry->doubted_since < CARRY_SETTLE_SECONDS)
		return carry_again(carry, carry->doubted_since + CARRY_SETTLE_SECONDS - now + 0.01);
	carry_say(carry, LOGIN_suspect, reason);
	keep_aside(carry, &sides->copy);
	mark(carry);
	return CARRY_LOOK_DONE;
}

/* --- The decision --------------------------------------------------------------------------------- */

/* Good, but not to be carried out. */
static enum carry_look decide_older(struct carry *carry, const struct sides *sides,
				    const char *reason, bool moved, bool final)
{
	const struct blob production = login_content_blob(&sides->production);
	char check[GATE_REASON_BYTES];

	if (!moved && carry->carried_in == 0)
		return doubt(carry, sides, reason, final);
	if (gate_check(&carry->rules, &production, check) == 0)
		return carry_in(carry, sides, final);
	/* The host's own program lost it: what the Trial has can still be put back. */
	carry_keep_good(carry, &sides->copy);
	return carry_say(carry, LOGIN_failed, reason);
}

static enum carry_look decide(struct carry *carry, const struct sides *sides, bool final)
{
	const struct blob production = login_content_blob(&sides->production),
			  last = login_content_blob(&carry->last),
			  copy = login_content_blob(&sides->copy);
	bool moved = !same_bytes(&sides->production, &carry->last);
	struct gate_result result;
	int r;

	/* It was dealt with before, by one that was killed afterwards. */
	if (sides->copy_r == -ENOENT && !carry->last.data)
		return settle(carry);
	if (sides->copy_r < 0)
		return doubt(carry, sides,
			     sides->copy_r == -ENOENT ? "it is gone" : sides->copy_reason, final);
	r = gate_judge(&carry->rules, &production, &last, &copy, now_microseconds(), &result);
	if (r < 0)
		return carry_fail(carry, "it cannot be looked at", r);
	switch (result.verdict) {
	case GATE_carry:
		return carry_out(carry, sides);
	case GATE_older:
		return decide_older(carry, sides, result.reason, moved, final);
	case GATE_damaged:
		return doubt(carry, sides, result.reason, final);
	default:
		break;
	}
	if (moved && same_bytes(&sides->production, &sides->copy)) {
		carry_remember(carry, &sides->copy);
		carry_keep_good(carry, &sides->copy);
	} else if (moved && production.data) {
		return carry_in(carry, sides, final);
	}
	return settle(carry);
}

static void read_sides(struct carry *carry, struct sides *ret)
{
	ret->production_r = login_file_read(carry->folders[LOGIN_FD_PRODUCTION], carry->login.file,
					    &ret->production, ret->production_reason);
	ret->copy_r = login_file_read(carry->folders[LOGIN_FD_COPY], carry->login.copy, &ret->copy,
				      ret->copy_reason);
	FAULT_POINT(carry_read);
}

static enum carry_look look_at(struct carry *carry, struct sides *sides, bool final)
{
	read_sides(carry, sides);
	if (sides->production_r == -EAGAIN || sides->copy_r == -EAGAIN)
		return carry_again(carry, CARRY_BUSY_SECONDS);
	if (sides->production_r < 0 && sides->production_r != -ENOENT &&
	    sides->production_r != -EBADMSG)
		return carry_fail(carry, "the host's file cannot be read", sides->production_r);
	if (sides->copy_r < 0 && sides->copy_r != -ENOENT && sides->copy_r != -EBADMSG)
		return carry_fail(carry, "the Trial's copy cannot be read", sides->copy_r);
	return decide(carry, sides, final);
}

/* --- A home: the Trial has the file itself -------------------------------------------------------- */

static enum carry_look refuse_home(struct carry *carry, const struct sides *sides,
				   const char *reason)
{
	char text[GATE_REASON_BYTES];
	int r;

	snprintf(text, sizeof(text), "%s", reason);
	keep_aside(carry, &sides->production);
	r = carry->last.data ? login_file_put(carry->folders[LOGIN_FD_PRODUCTION],
					      carry->login.file, carry->last.data, carry->last.size)
			     : -ENOENT;
	if (r < 0)
		carry_fail(carry, "the last good login cannot be put back", r);
	else
		carry_say(carry, LOGIN_suspect, text);
	mark(carry);
	return CARRY_LOOK_DONE;
}

static int check_alone(const struct carry *carry, const struct blob *login, struct gate_result *ret)
{
	int r = gate_check(&carry->rules, login, ret->reason);

	ret->verdict = r == 0 ? GATE_same : GATE_damaged;
	return r == -EBADMSG ? 0 : r;
}

static enum carry_look look_at_home(struct carry *carry, struct sides *sides)
{
	struct gate_result result;
	struct blob candidate, last;
	int r;

	/* Of one that was dealt with before, the backup is what it was given, or made of it. */
	if (!carry->last.data)
		login_kept_read(carry->folders[LOGIN_FD_STATE], carry->key, LOGIN_KEPT_good,
				&carry->last);
	last = login_content_blob(&carry->last);

	r = login_file_read(carry->folders[LOGIN_FD_PRODUCTION], carry->login.file,
			    &sides->production, sides->production_reason);
	if (r == -EAGAIN)
		return carry_again(carry, CARRY_BUSY_SECONDS);
	if (r == -ENOENT)
		return refuse_home(carry, sides, "it is gone");
	if (r == -EBADMSG)
		return refuse_home(carry, sides, sides->production_reason);
	if (r < 0)
		return carry_fail(carry, "it cannot be read", r);
	candidate = login_content_blob(&sides->production);
	/* Of one whose Trial was not even prepared nothing was seen. */
	if (last.data)
		r = gate_judge(&carry->rules, &last, &last, &candidate, now_microseconds(),
			       &result);
	else
		r = check_alone(carry, &candidate, &result);
	if (r < 0)
		return carry_fail(carry, "it cannot be looked at", r);
	if (result.verdict != GATE_same && result.verdict != GATE_carry)
		return refuse_home(carry, sides, result.reason);
	if (result.verdict == GATE_carry) {
		carry->carried_out++;
		carry->refreshed_at = now_microseconds();
		keep_previous(carry, &carry->last);
		login_carried_write(carry->folders[LOGIN_FD_STATE], carry->key, candidate.data,
				    candidate.size);
		tell_refreshed(carry);
	}
	carry_keep_good(carry, &sides->production);
	return settle(carry);
}

/* --- Looking -------------------------------------------------------------------------------------- */

/* Whether this Trial's was found damaged, and dealt with, by one that was killed afterwards. */
static bool was_refused(struct carry *carry)
{
	struct message *message = NULL;
	struct login_result mark;
	bool ours;

	if (carry->last.data || !carry->login.has.trial ||
	    login_suspect_read(carry->folders[LOGIN_FD_STATE], carry->key, &message, &mark) < 0)
		return false;
	ours = mark.has.trial && mark.trial == carry->login.trial;
	if (ours)
		carry_say(carry, LOGIN_suspect, mark.reason);
	message_free(message);
	return ours;
}

static enum carry_look look(struct carry *carry, bool final)
{
	struct sides sides = {0};
	enum carry_look result;

	if (!carry_lock(carry))
		return carry_again(carry, CARRY_BUSY_SECONDS);
	if (final && was_refused(carry)) {
		carry_unlock(carry);
		return CARRY_LOOK_DONE;
	}
	result = carry->login.home ? look_at_home(carry, &sides) : look_at(carry, &sides, final);
	carry_unlock(carry);
	sides_done(&sides);
	return result;
}

enum carry_look carry_look(struct carry *carry)
{
	return carry->login.home ? CARRY_LOOK_DONE : look(carry, false);
}

/*
 * What a Trial leaves of a login that was dealt with. In this order: one that was killed before it
 * could tell is asked again, and a copy that is gone while what was last seen is there was removed
 * by the Trial.
 */
static void forget(struct carry *carry)
{
	char name[CARRY_SEEN_BYTES];

	unlinkat(carry->folders[LOGIN_FD_TRIAL], carry_seen_name(carry, name), 0);
	FAULT_POINT(carry_forgotten);
	if (!carry->login.home)
		unlinkat(carry->folders[LOGIN_FD_COPY], carry->login.copy, 0);
}

/* Of one that was killed before it could tell: that its Trial's had reached the host. */
static void recall_refreshed(struct carry *carry)
{
	struct message *message = NULL;
	struct login_result mark;

	if (carry->refreshed_at > 0 || !carry->login.has.trial ||
	    login_refreshed_read(carry->folders[LOGIN_FD_STATE], carry->key, &message, &mark) < 0)
		return;
	if (mark.has.trial && mark.trial == carry->login.trial && mark.has.refreshed_at)
		carry->refreshed_at = mark.refreshed_at;
	message_free(message);
}

void carry_finish(struct carry *carry)
{
	const struct timespec moment = {.tv_nsec = 5 * 1000 * 1000};
	double until = monotonic() + CARRY_PATIENCE_SECONDS;

	while (look(carry, true) == CARRY_LOOK_AGAIN) {
		/* A disk without room has none a moment later either. */
		if (carry->pause >= CARRY_FAILED_SECONDS)
			break;
		if (monotonic() > until) {
			carry_say(carry, LOGIN_failed,
				  "it was in use all the time, so it was not carried");
			break;
		}
		nanosleep(&moment, NULL);
	}
	recall_refreshed(carry);
	if (carry->state != LOGIN_failed)
		forget(carry);
}

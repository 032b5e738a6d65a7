/* SPDX-License-Identifier: MIT */

/*
 * The host's side alone: whether there is a login, the Trial's copy of it before a launch, and the
 * way back to the last good one. And what that has in common with carry.c.
 */
#include "carry.h"

#include <stdio.h>
#include <string.h>
#include <sys/file.h>

#include "base/fault_point.h"
#include "base/mem.h"
#include "base/now.h"
#include "carry_parts.h"
#include "login_state.h"

enum carry_look carry_again(struct carry *carry, double seconds)
{
	carry->pause = seconds;
	return CARRY_LOOK_AGAIN;
}

enum carry_look carry_say(struct carry *carry, enum login_state state, const char *reason)
{
	carry->state = state;
	snprintf(carry->reason, sizeof(carry->reason), "%s", reason ? reason : "");
	return CARRY_LOOK_DONE;
}

enum carry_look carry_fail(struct carry *carry, const char *what, int error)
{
	char reason[GATE_REASON_BYTES];

	snprintf(reason, sizeof(reason), "%s: %s", what, strerror(error < 0 ? -error : error));
	return carry_say(carry, LOGIN_failed, reason);
}

bool carry_lock(struct carry *carry)
{
	if (flock(carry->lock, LOCK_EX | LOCK_NB) < 0)
		return false;
	login_file_tidy(carry->folders[LOGIN_FD_PRODUCTION], carry->login.file);
	return true;
}

void carry_unlock(struct carry *carry)
{
	flock(carry->lock, LOCK_UN);
}

/* --- What both sides last had --------------------------------------------------------------------- */

const char *carry_seen_name(const struct carry *carry, char name[CARRY_SEEN_BYTES])
{
	snprintf(name, CARRY_SEEN_BYTES, "login-%s.seen", carry->login.harness);
	return name;
}

/* Forgetting it after a crash costs no more than a less exact judgement. */
int carry_remember(struct carry *carry, const struct login_content *content)
{
	char name[CARRY_SEEN_BYTES];
	int r = login_content_copy(&carry->last, content->data, content->size);

	if (r == 0)
		login_file_replace(carry->folders[LOGIN_FD_TRIAL], carry_seen_name(carry, name),
				   content->data, content->size, NULL, false);
	FAULT_POINT(carry_remembered);
	return r;
}

static int recall(struct carry *carry)
{
	char name[CARRY_SEEN_BYTES], reason[GATE_REASON_BYTES];
	int r = login_file_read(carry->folders[LOGIN_FD_TRIAL], carry_seen_name(carry, name),
				&carry->last, reason);

	return r == -ENOMEM ? r : 0;
}

void carry_keep_good(struct carry *carry, const struct login_content *content)
{
	login_kept_write(carry->folders[LOGIN_FD_STATE], carry->key, LOGIN_KEPT_good, content->data,
			 content->size);
}

/* --- Opening -------------------------------------------------------------------------------------- */

int carry_open(struct carry *carry, int descriptors[LOGIN_FDS])
{
	int r;

	*carry = CARRY_INIT;
	for (int i = 0; i < LOGIN_FDS; i++)
		carry->folders[i] = fd_steal(&descriptors[i]);
	r = login_about_read(carry->folders[LOGIN_FD_ABOUT], &carry->message, &carry->login);
	if (r < 0)
		return r;
	carry->rules = login_rules(&carry->login);
	r = login_key(carry->folders[LOGIN_FD_PRODUCTION], carry->login.file, carry->key);
	if (r == 0)
		r = login_lock_open(carry->folders[LOGIN_FD_LOCKS], carry->key, LOGIN_LOCK_carry,
				    &carry->lock);
	return r == 0 ? recall(carry) : r;
}

void carry_done(struct carry *carry)
{
	for (int i = 0; i < LOGIN_FDS; i++)
		carry->folders[i] = fd_close(carry->folders[i]);
	carry->lock = fd_close(carry->lock);
	login_content_done(&carry->last);
	carry->message = message_free(carry->message);
}

void carry_fill(const struct carry *carry, struct login_result *ret)
{
	const struct blob last = login_content_blob(&carry->last);
	uint64_t now = now_microseconds();
	struct gate_expiry expiry;
	bool refreshable;

	if (gate_expiry(&carry->rules, &last, &expiry) < 0)
		expiry = (struct gate_expiry){0};
	if (gate_refreshable(&carry->rules, &last, &refreshable) < 0)
		refreshable = true;
	*ret = (struct login_result){
		.has = {.trial = carry->login.has.trial,
			.at = true,
			.carried_out = true,
			.carried_in = true,
			.refreshed_at = carry->refreshed_at > 0,
			.ends_at = expiry.known,
			.may_refresh = last.data != NULL,
			.refreshable = last.data != NULL},
		.state = login_state_name(carry->state),
		.reason = carry->reason[0] ? carry->reason : NULL,
		.harness = carry->login.harness,
		.trial = carry->login.trial,
		.at = now,
		.carried_out = carry->carried_out,
		.carried_in = carry->carried_in,
		.refreshed_at = carry->refreshed_at,
		.ends_at = expiry.ends_at,
		.may_refresh = gate_may_refresh(&carry->rules, &expiry, now, carry->login.seconds),
		.refreshable = refreshable,
		.key = carry->key,
	};
}

/* --- The host's --------------------------------------------------------------------------------- */

/* Whether somebody signed in, or a refresh arrived, after the mark was made. */
static bool mark_is_over(struct carry *carry, const struct login_content *production)
{
	uint64_t changed = (uint64_t)production->st.st_ctim.tv_sec * 1000000u +
			   (uint64_t)production->st.st_ctim.tv_nsec / 1000u;
	struct message *message = NULL;
	struct login_result result;
	bool over;
	int r;

	r = login_suspect_read(carry->folders[LOGIN_FD_STATE], carry->key, &message, &result);
	if (r < 0)
		return r == -ENOENT;
	over = result.has.at && changed > result.at;
	if (!over)
		carry_say(carry, LOGIN_suspect, result.reason);
	message_free(message);
	return over;
}

/* What the host has, if it is a good login; else the state says what is the matter. */
static enum carry_look read_host(struct carry *carry, struct login_content *ret)
{
	char reason[GATE_REASON_BYTES];
	struct blob blob;
	int r;

	r = login_file_read(carry->folders[LOGIN_FD_PRODUCTION], carry->login.file, ret, reason);
	if (r == -EAGAIN)
		return carry_again(carry, CARRY_BUSY_SECONDS);
	if (r == -ENOENT)
		return carry_say(carry, LOGIN_absent, "it is not there");
	if (r == -EBADMSG)
		return carry_say(carry, LOGIN_damaged, reason);
	if (r < 0)
		return carry_fail(carry, "it cannot be read", r);
	blob = login_content_blob(ret);
	r = gate_check(&carry->rules, &blob, reason);
	if (r == -EBADMSG)
		return carry_say(carry, LOGIN_damaged, reason);
	if (r < 0)
		return carry_fail(carry, "it cannot be looked at", r);
	carry_say(carry, LOGIN_good, NULL);
	if (!mark_is_over(carry, ret))
		carry->state = LOGIN_suspect;
	return CARRY_LOOK_DONE;
}

enum carry_look carry_check(struct carry *carry)
{
	_cleanup_login_content_ struct login_content content = {0};
	enum carry_look result = read_host(carry, &content);

	if (result == CARRY_LOOK_DONE && content.data &&
	    login_content_copy(&carry->last, content.data, content.size) < 0)
		return carry_fail(carry, "it cannot be looked at", -ENOMEM);
	return result;
}

static void make_copy(struct carry *carry, const struct login_content *content)
{
	int r = 0;

	if (!carry->login.home)
		r = login_file_replace(carry->folders[LOGIN_FD_COPY], carry->login.copy,
				       content->data, content->size, NULL, false);
	FAULT_POINT(carry_copied);
	if (r == 0)
		r = carry_remember(carry, content);
	if (r < 0) {
		carry_fail(carry, "the Trial's copy cannot be made", r);
		return;
	}
	login_kept_remove(carry->folders[LOGIN_FD_STATE], carry->key, LOGIN_KEPT_suspect);
	carry_keep_good(carry, content);
}

enum carry_look carry_prepare(struct carry *carry)
{
	_cleanup_login_content_ struct login_content content = {0};
	enum carry_look result;

	if (!carry_lock(carry))
		return carry_again(carry, CARRY_BUSY_SECONDS);
	result = read_host(carry, &content);
	if (result == CARRY_LOOK_DONE && carry->state == LOGIN_good)
		make_copy(carry, &content);
	carry_unlock(carry);
	return result;
}

static bool same(const struct login_content *a, const struct login_content *b)
{
	return a->data && b->data && a->size == b->size && memcmp(a->data, b->data, a->size) == 0;
}

static bool is_marked(const struct carry *carry)
{
	_cleanup_login_content_ struct login_content mark = {0};

	return login_kept_read(carry->folders[LOGIN_FD_STATE], carry->key, LOGIN_KEPT_suspect,
			       &mark) != -ENOENT;
}

/*
 * The good one. Where the host has that already it stays, if there is a mark: what a Trial made of
 * its copy never reached the host, and what came before may be used up. Else it is the one before.
 */
static int find_good(struct carry *carry, const struct login_content *production,
		     struct login_content *ret)
{
	int state = carry->folders[LOGIN_FD_STATE];
	int r = login_kept_read(state, carry->key, LOGIN_KEPT_good, ret);

	if (r == 0 && same(ret, production) && !is_marked(carry)) {
		login_content_done(ret);
		r = login_kept_read(state, carry->key, LOGIN_KEPT_previous, ret);
	}
	return r;
}

static int put_good_back(struct carry *carry)
{
	_cleanup_login_content_ struct login_content good = {0}, production = {0};
	char reason[GATE_REASON_BYTES];
	int r;

	login_file_read(carry->folders[LOGIN_FD_PRODUCTION], carry->login.file, &production,
			reason);
	r = find_good(carry, &production, &good);
	if (r == 0 && !same(&good, &production))
		r = login_file_put(carry->folders[LOGIN_FD_PRODUCTION], carry->login.file,
				   good.data, good.size);
	if (r == 0)
		r = login_content_copy(&carry->last, good.data, good.size);
	carry->refreshed_at = (uint64_t)good.st.st_mtim.tv_sec * 1000000u +
			      (uint64_t)good.st.st_mtim.tv_nsec / 1000u;
	if (r == 0)
		r = login_kept_remove(carry->folders[LOGIN_FD_STATE], carry->key,
				      LOGIN_KEPT_suspect);
	return r;
}

enum carry_look carry_restore(struct carry *carry)
{
	int r;

	if (!carry_lock(carry))
		return carry_again(carry, CARRY_BUSY_SECONDS);
	r = put_good_back(carry);
	if (r == -ENOENT)
		carry_say(carry, LOGIN_absent, "there is no other good one to put back");
	else if (r < 0)
		carry_fail(carry, "it cannot be put back", r);
	else
		carry_say(carry, LOGIN_good, NULL);
	carry_unlock(carry);
	return CARRY_LOOK_DONE;
}

/* SPDX-License-Identifier: MIT */
#include "logins.h"

#include <stdio.h>
#include <string.h>
#include <sys/file.h>

#include "base/mem.h"

static int refuse(const struct carry *carry, int error, struct fault *fault)
{
	const char *harness = carry->message ? carry->login.harness : NULL;

	return fault_void(fault, CAUSE_session_unavailable, "the login%s%s cannot be carried: %s",
			  harness ? " of " : "", harness ? harness : "", strerror(-error));
}

int logins_open(struct logins *logins, int *descriptors, size_t count, struct fault *ret_fault)
{
	int r = 0;

	for (size_t i = 0; i < count; i++) {
		struct carry *carry = &logins->carries[i];
		int opened = carry_open(carry, descriptors + i * LOGIN_FDS);

		logins->watches[i] = CARRY_WATCH_INIT;
		logins->count++;
		if (opened < 0 && r == 0)
			r = refuse(carry, opened, ret_fault);
	}
	return r;
}

static void on_changed(struct carry_watch *watch)
{
	const struct carry *carry = watch->carry;
	const struct keeper_login *login = &carry->login;
	struct logins *logins = watch->context;
	struct login_result result;

	/* Those who only use it need not wait for one that may refresh it. */
	if (carry->refreshed_at && login->lease > 0 && login->lease <= logins->lease_count)
		flock(logins->leases[login->lease - 1], LOCK_SH | LOCK_NB);
	carry_fill(carry, &result);
	if (logins->changed)
		logins->changed(logins, &result);
}

int logins_watch(struct logins *logins, struct loop *loop)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < logins->count; i++) {
		logins->watches[i].context = logins;
		r = carry_watch_start(&logins->watches[i], &logins->carries[i], loop, on_changed);
	}
	return r;
}

static void note(struct logins *logins, const struct carry *carry, struct outcome_record *record,
		 char *message, size_t size)
{
	const char *harness = carry->login.harness;
	const char *what = "could not be carried";
	size_t length = strlen(message);
	bool damaged = carry->state == LOGIN_suspect;

	if (damaged)
		what = carry->login.home
			       ? "was damaged by the Trial, and the last good one put back"
			       : "was damaged by the Trial, and not carried to the host";
	snprintf(message + length, size - length, "%sthe login of %s %s: %s", length ? "; " : "",
		 harness, what, carry->reason);
	record->message = message;
	record->has.message = true;
	if (record->hint || !damaged)
		return;
	snprintf(logins->hint, sizeof(logins->hint), "trialctl login restore %s", harness);
	record->hint = logins->hint;
	record->has.hint = true;
}

static void tell(const struct carry *carry, struct login_outcome *ret)
{
	struct login_result result;

	carry_fill(carry, &result);
	*ret = (struct login_outcome){
		.has = {.harness = true,
			.state = true,
			.reason = result.reason != NULL,
			.refreshed_at = result.has.refreshed_at,
			.ends_at = result.has.ends_at},
		.harness = result.harness,
		.state = result.state,
		.reason = result.reason,
		.refreshed_at = result.refreshed_at,
		.ends_at = result.ends_at,
	};
}

void logins_finish(struct logins *logins, struct outcome_record *record, char *message,
		   size_t message_size)
{
	size_t told = 0;

	for (size_t i = 0; i < logins->count; i++) {
		struct carry *carry = &logins->carries[i];

		carry_watch_stop(&logins->watches[i]);
		/* One that could not be opened. */
		if (carry->lock < 0)
			continue;
		carry_finish(carry);
		tell(carry, &logins->outcomes[told++]);
		if (carry->state != LOGIN_good)
			note(logins, carry, record, message, message_size);
	}
	record->has.logins = told > 0;
	record->logins.count = told;
	record->logins.items = logins->outcomes;
}

void logins_done(struct logins *logins)
{
	for (size_t i = 0; i < logins->count; i++) {
		carry_watch_done(&logins->watches[i]);
		carry_done(&logins->carries[i]);
	}
	logins->count = 0;
}

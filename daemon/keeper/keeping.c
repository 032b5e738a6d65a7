/* SPDX-License-Identifier: MIT */

/*
 * When a Trial's home is filled, and when it is kept.
 *
 * An earlier Trial's session is put there between the sandbox's HELLO and its GO: it is there, as
 * the main process will see it, and nothing runs in it. What is kept is copied when the sandbox is
 * empty, the logins are carried and the record is written: whatever becomes of it, and of the keeper
 * meanwhile, the Trial has ended as the record says. It is written once more with what was kept.
 */
#include <string.h>

#include "bare_home.h"
#include "state.h"

#define HELLO_SECONDS 30

static int refuse(struct keeper *keeper, const char *what, int error)
{
	return fault_void(&keeper->fault, CAUSE_sandbox_unavailable, "%s: %s", what,
			  strerror(-error));
}

/* Only what was kept is missing in the one that is there: that is no reason to do without it. */
static void write_record_again(struct keeper *keeper)
{
	struct record_file file = RECORD_FILE_INIT;
	bool durable = !keeper->channel_open || keeper->record.connections.count > 0;
	int r = record_write(&file, keeper->folder, &keeper->record, durable);

	if (r < 0) {
		keeper->record.has.kept = false;
		keeper->record.kept.count = 0;
	} else {
		keeper->durable = durable;
	}
	record_file_done(&file, keeper->folder);
}

/* Nothing needs the home any more. */
static void over(struct keeper *keeper)
{
	if (keeper->plan.no_sandbox)
		bare_home_remove(keeper->folder);
	keeper_say_ended(keeper);
}

static void kept(struct keeper *keeper)
{
	keeper->keeping = false;
	keeper_set_deadline(keeper, DEADLINE_NONE, 0);
	keep_fill(&keeper->keep, &keeper->record);
	write_record_again(keeper);
	over(keeper);
}

static void put_back(struct keeper *keeper)
{
	int r = keep_restored(&keeper->keep, &keeper->fault);

	keeper_set_deadline(keeper, DEADLINE_HELLO, HELLO_SECONDS);
	if (r == 0)
		r = keeper_go(keeper);
	if (r != 0)
		keeper_fail(keeper, r);
}

void keeper_stop_keeping(struct keeper *keeper)
{
	loop_remove(&keeper->loop, &keeper->keep_source);
	keep_stop(&keeper->keep);
}

static void child_ended(struct keeper *keeper)
{
	keeper_stop_keeping(keeper);
	if (keeper->keeping)
		kept(keeper);
	else if (!keeper->has_fault && !keeper->reported && keeper->sandbox.control >= 0)
		put_back(keeper);
}

static void on_child(struct source *source, uint32_t events)
{
	struct keeper *keeper = container_of(source, struct keeper, keep_source);

	(void)events;
	child_ended(keeper);
	keeper_progress(keeper);
}

void keeper_keep_overdue(struct keeper *keeper)
{
	child_ended(keeper);
}

static int watch_child(struct keeper *keeper)
{
	int r;

	keeper->keep_source.callback = on_child;
	r = loop_add(&keeper->loop, &keeper->keep_source, keeper->keep.pidfd, EPOLLIN);
	if (r < 0)
		keep_stop(&keeper->keep);
	else
		keeper_set_deadline(keeper, DEADLINE_KEEP, KEEP_SECONDS);
	return r;
}

int keeper_prepare_home(struct keeper *keeper)
{
	const struct keeper_plan *plan = &keeper->plan;
	int r = plan->no_sandbox ? keep_open_bare(&keeper->keep, plan, keeper->folder)
				 : keep_open(&keeper->keep, plan, keeper->sandbox.root);

	keeper->sandbox.root = fd_close(keeper->sandbox.root);
	if (r < 0)
		return refuse(keeper, "the fresh home cannot be opened", r);
	if (!plan->has.session)
		return keeper_go(keeper);
	if (!plan->home || plan->session == 0 ||
	    plan->session > keeper->start->count - CHANNEL_FD_BINDS)
		return fault_void(&keeper->fault, CAUSE_sandbox_unavailable,
				  "the plan and the descriptors that came with it do not agree");
	r = keep_restore(&keeper->keep,
			 keeper->start->descriptors[CHANNEL_FD_BINDS + plan->session - 1],
			 keeper->payload.fd, keeper->leases, keeper->lease_count);
	if (r == 0)
		r = watch_child(keeper);
	return r < 0 ? refuse(keeper, "the kept session cannot be put back", r) : 0;
}

void keeper_keep_home(struct keeper *keeper)
{
	const struct keeper_plan *plan = &keeper->plan;

	/* What never ran has left nothing; and where there is no room for the record, none is there. */
	if (keeper->keep.home >= 0 && keeper->facts.started && keeper->recorded &&
	    (plan->state.count > 0 || plan->keep_home) &&
	    keep_save(&keeper->keep, keeper->folder, keeper->leases, keeper->lease_count) == 0 &&
	    watch_child(keeper) == 0) {
		keeper->keeping = true;
		return;
	}
	over(keeper);
}

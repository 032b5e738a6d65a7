/* SPDX-License-Identifier: MIT */
#pragma once

#include "activity.h"
#include "attach.h"
#include "base/fault.h"
#include "base/loop.h"
#include "boundary.h"
#include "capture.h"
#include "cgroup.h"
#include "channel.h"
#include "clock.h"
#include "git_watch.h"
#include "keep.h"
#include "limits.h"
#include "logins.h"
#include "network.h"
#include "outcome.h"
#include "record.h"
#include "sandbox.h"
#include "verdict.h"

/* The keeper's state; shared by keeper.c and the files named below only. */

/* What the one deadline is for: there is never a need for two. */
enum deadline {
	DEADLINE_NONE,
	DEADLINE_HELLO,	 /* pid 1 has to have reported */
	DEADLINE_GRACE,	 /* from TERM to FINISH */
	DEADLINE_FORCE,	 /* from FINISH, or whatever should end it, to SIGKILL; repeats */
	DEADLINE_RECORD, /* writing the record again */
	DEADLINE_KEEP,	 /* a session is put back, or kept */
};

struct keeper {
	struct loop loop;
	int channel;
	bool channel_open;
	bool taken;
	struct source channel_source;
	int keepers;  /* RUNTIME/k */
	int listener; /* where a later trialsd finds us */
	struct source listener_source;
	int caller; /* who has connected there, and not proved who it is yet */
	struct source caller_source;
	int signals;
	struct source signal_source;

	/* The plan and what came with it. */
	struct message *plan_message;
	struct keeper_plan plan;
	struct channel_packet *start; /* its descriptors are open until GO */
	int folder;
	int leases[CONTROL_LEASES_MAX];
	size_t lease_count;
	int stdio[3]; /* the main process's ends, until GO */

	struct sandbox sandbox;
	struct source control_source;
	struct source text_source;
	struct source bwrap_source;
	struct source init_source;
	struct payload payload;
	struct source payload_source;
	struct git_watch git;
	struct logins logins;
	struct keep keep;
	struct source keep_source; /* its child, while that is at work */
	bool keeping;		   /* after the record: `ended` waits for it */
	struct capture captures[STREAM_COUNT];
	bool capturing;
	struct trial_network network; /* of allowlist */
	uint64_t namespaces[CONTROL_NS_COUNT];

	struct timer wall;
	struct timer stall;
	struct activity activity;
	bool counting; /* pid 1 was asked for the processor time */
	struct timer timer;
	enum deadline deadline;

	/* What is known of the Trial. */
	bool go;
	bool ending_said;
	struct fault fault;
	bool has_fault;
	struct outcome_facts facts;
	struct span span;
	bool has_boundary;
	struct boundary boundary;
	struct limit_state limits[LIMITS_COUNT];
	size_t limit_count;
	bool has_usage;
	struct control_usage usage;

	/* The end. */
	bool reported;
	struct record_file record_file;
	bool recorded; /* the record's file is there */
	bool durable;
	int result;
	struct grader_verdict verdict; /* of a Grader */
	struct outcome_decision decision;
	struct log_state logs[STREAM_COUNT];
	struct outcome_record record;
};

/* begin.c: from the packet to a bwrap that was started. FAULT with keeper->fault filled, -errno. */
int keeper_begin(struct keeper *keeper);
/* HELLO was verified: what came with it, and the proxy. FAULT, -errno. */
int keeper_open_network(struct keeper *keeper, const struct control_packet *hello);
/* HELLO was verified: hands over what is to be started. FAULT. */
int keeper_go(struct keeper *keeper);
/* Closes what is needed only to start. */
void keeper_forget_start(struct keeper *keeper);

/* report.c: the sandbox is empty: counters, record, `ended`. */
void keeper_report(struct keeper *keeper);
/* Writes the record's file, durable when trialsd is not there to take it; sets a deadline when
 * the disk has no room for it. */
void keeper_write_record(struct keeper *keeper);

/*
 * keeping.c. The sandbox has told what it is: what is to be put back is, and then the main process
 * is started. FAULT, -errno.
 */
int keeper_prepare_home(struct keeper *keeper);
/* The record is written: keeps what is to be kept of the home, and then tells the end. */
void keeper_keep_home(struct keeper *keeper);
/* Ends what copies, and forgets it. */
void keeper_stop_keeping(struct keeper *keeper);
/* It takes too long. */
void keeper_keep_overdue(struct keeper *keeper);

/* stall.c: takes a sample, and the next ones by its timer, if there is a limit. */
void keeper_stall_look(struct keeper *keeper);
/* What pid 1 answered. */
void keeper_stall_counted(struct keeper *keeper, const struct control_usage *usage);

/* report.c: tells the record, once it is there. */
void keeper_say_ended(struct keeper *keeper);

/* attached.c: the channel to trialsd ends; another trialsd connects, and proves that it is one. */
void keeper_channel_gone(struct keeper *keeper);
void keeper_on_listener(struct source *source, uint32_t events);
void keeper_on_caller(struct source *source, uint32_t events);

/* keeper.c */
void keeper_say(struct keeper *keeper, enum channel_verb verb, const struct message_type *type,
		const void *structure);
void keeper_say_running(struct keeper *keeper);
void keeper_say_ending(struct keeper *keeper);
/* TERM, grace, the end. A second order can only shorten the grace. */
void keeper_order(struct keeper *keeper, enum end_order order, double grace);
/* fault is filled, or r is -errno, or 0 for an order: nothing will be started any more. */
void keeper_fail(struct keeper *keeper, int r);
/* After each event: whether it is over, and what then. */
void keeper_progress(struct keeper *keeper);
void keeper_set_deadline(struct keeper *keeper, enum deadline deadline, double seconds);

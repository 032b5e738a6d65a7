/* SPDX-License-Identifier: MIT */
#pragma once

#include "serve/session.h"

#ifndef TRIALSD_VERSION
#define TRIALSD_VERSION "0"
#endif

/* One request of a client, from its frame to its last word. Shared by request.c and logs.c. */
struct request {
	LIST_ENTRY(request) link;      /* the session's, while it stands */
	LIST_ENTRY(request) wait_link; /* the server's, while it waits for a Trial's end */
	Session *session;	       /* referenced */
	uint64_t number;
	enum verb verb;
	struct ledger_call call;
	uint64_t id; /* the Trial it is about, or 0 */
	bool with_plan;
	bool whole;			  /* with what is told of one Trial alone */
	const struct text_list *warnings; /* of a launch, while it is answered */
	bool with_sizes;
	int only;	  /* enum state that a list is of, -1: any */
	bool with_prompt; /* counted in session->prompts */
	int prompt_fd;	  /* that came with a launch, or -1 */
	bool pending;	  /* counted in session->pending */
	bool standing;	  /* counted in session->standing, in its list */
	bool waiting;	  /* in a wait bucket */
	struct logs *logs;
	struct watch *watch;
};

/* The request has had its last word. */
void request_done(struct request *request);
/*
 * It goes on after its reply, until the session or itself ends. False (and answered): too many.
 * Where it is not answered at once, session_settled must follow: its session may have stopped reading
 * for too many that were pending, of which this was one.
 */
bool request_stand(struct request *request);
/* Sends the Trial as the reply. */
void request_reply_row(struct request *request, const struct ledger_row *row);

/* Fills the keys of HOLD_FIELDS, in any message that has them. */
#define view_add_hold(message, from)                                                               \
	({                                                                                         \
		(message)->hold = (from)->kind;                                                    \
		(message)->held_reason = *(from)->reason ? (from)->reason : NULL;                  \
		(message)->held_by = (from)->by;                                                   \
		(message)->held_at = (from)->at;                                                   \
		(message)->has.hold = true;                                                        \
		(message)->has.held_at = (from)->at > 0;                                           \
	})

/* Fills place and wait of a queued Trial, and that it is held, which no row knows. */
void view_add_queue(struct trial_view *view, Queue *queue, char reason[QUEUE_REASON_BYTES]);
/* Answers a call's error and is done with the request; false when there was none. */
bool request_ledger_failed(struct request *request);
void request_refuse(struct request *request, enum error_code code, const char *message,
		    const char *hint);

/* list.c: leaves out what a launch may fill a whole frame with. */
void view_shorten(struct trial_view *view);

/* list.c, status.c, logs.c, watch.c, pause.c, prune.c, doctor.c, harness.c, logins.c, arms.c,
 * arm_list.c, arm_remove.c, bars.c: handlers of verbs */
void handle_list(struct request *request, const void *arguments);
void handle_doctor(struct request *request, const void *arguments);
void handle_status(struct request *request, const void *arguments);
void handle_logs(struct request *request, const void *arguments);
void handle_watch(struct request *request, const void *arguments);
void handle_prune(struct request *request, const void *arguments);
void handle_pause(struct request *request, const void *arguments);
void handle_resume(struct request *request, const void *arguments);
void handle_drain(struct request *request, const void *arguments);
void handle_harness(struct request *request, const void *arguments);
void handle_logins(struct request *request, const void *arguments);
void handle_login_restore(struct request *request, const void *arguments);
void handle_arm_prepare(struct request *request, const void *arguments);
void handle_arm_list(struct request *request, const void *arguments);
void handle_arm_show(struct request *request, const void *arguments);
void handle_arm_verify(struct request *request, const void *arguments);
void handle_arm_diff(struct request *request, const void *arguments);
void handle_arm_remove(struct request *request, const void *arguments);
void handle_bar_set(struct request *request, const void *arguments);
void handle_bar_list(struct request *request, const void *arguments);
void handle_bar_show(struct request *request, const void *arguments);
void handle_panel_check(struct request *request, const void *arguments);

/* logs.c: the Trial it follows has changed; the client takes more again; the request ends. */
void logs_trial_changed(struct request *request, const struct ledger_row *row);
void logs_writable(struct request *request);
void logs_free(struct request *request);

/* watch.c: likewise. The event is a Trial's it watches. */
void watch_trial_changed(struct request *request, const struct state_event *event);
void watch_writable(struct request *request);
/* What holds the queue has changed. */
void watch_queue_held(struct request *request);
void watch_free(struct request *request);

#define PROGRAM "trialsd " TRIALSD_VERSION

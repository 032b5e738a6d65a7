/* SPDX-License-Identifier: MIT */
#pragma once

#include <sys/queue.h>
#include <uv.h>

#include "proto/frame.h"
#include "queue/trial.h"
#include "queue/view.h"
#include "serve/descriptors.h"
#include "serve/server.h"

/* Shared by the files of serve/ only. */

typedef struct Session Session;
struct request;

#define WAIT_BUCKETS 256

TAILQ_HEAD(session_list, Session);

struct Server {
	uv_loop_t *loop;
	struct server_options options;
	char *socket_path;
	uint64_t started_at;
	int listener_fd;
	uv_poll_t listener;
	bool listening;	    /* false: there was no descriptor for a newcomer */
	uv_prepare_t flush; /* before the loop sleeps: what was queued for clients is written */
	uv_idle_t settle;   /* runs only while there are sessions to settle */
	uv_timer_t sweep;   /* frame deadlines; runs only while there is something to look at */
	struct queue_watch watch;
	struct session_list sessions; /* the longest idle first */
	struct session_list dirty;
	struct session_list written; /* that are to go on, as their output is written */
	LIST_HEAD(, request) waits[WAIT_BUCKETS]; /* by the Trial's id */
	size_t clients;
	size_t backlog; /* of all clients */
	int handles;
	bool closing;
	ino_t user_namespace;
	char input[65536]; /* shared: a read is consumed before the next */
	void (*closed)(void *context);
	void *context;
};

struct Session {
	TAILQ_ENTRY(Session) link;
	TAILQ_ENTRY(Session) dirty_link;
	TAILQ_ENTRY(Session) written_link;
	Server *server;
	int fd;
	uv_poll_t poll;
	int polled; /* what it is polled for */
	struct frame_reader reader;
	struct descriptors descriptors; /* not yet taken by their frames */
	msgpack_sbuffer output;		/* gathered */
	msgpack_sbuffer writing;	/* being written, from `written` on */
	size_t written;
	size_t counted; /* of its backlog, in the server's sum */
	pid_t pid;
	char program[65];
	bool hello;
	bool closing;
	bool dirty;
	bool settling; /* in the list of those written */
	bool reading;
	bool draining;		 /* closed once everything is written */
	const char *broken;	 /* why it is drained, still to be said; or NULL */
	unsigned int references; /* requests under way, and the poll handle */
	unsigned int pending;	 /* requests that wait for the ledger or a thread */
	unsigned int lists;	 /* of them, those that make pages */
	unsigned int prompts;	 /* of them, those that read a descriptor */
	unsigned int standing;	 /* waits and subscriptions */
	uint64_t partial_since;	 /* uv_now of a frame's first byte, 0 for none */
	LIST_HEAD(, request) subscriptions;
};

/* A client on its connection, which it takes. */
int session_new(Server *server, int fd);
Session *session_ref(Session *session);
void session_unref(Session *session);
/* At once: the client broke a rule, or went away. */
void session_close(Session *session);
/* After what is queued is written. */
void session_drain(Session *session);
/* The client broke a rule: likewise, with this constant as the last word. */
void session_break(Session *session, const char *message);
void session_flush(Session *session);
/* What stands in `output` is written before the loop sleeps. */
void session_flush_later(Session *session);
/* Goes on with frames that were left when too many requests were pending. */
void session_resume(Session *session);
/* A request is over, or output was written: resumes, or ends a drained session. */
void session_settled(Session *session);
/* Its output was written: what waited for that goes on. */
void session_go_on(Session *session);
/* Bytes not yet taken by the client's socket. */
size_t session_backlog(const Session *session);
void session_check_deadline(Session *session, uint64_t now);
/* Names the client, for canceled_by. */
void session_describe(const Session *session, char *buffer, size_t size);

/* All of these drop silently when the session is closing. */
void session_reply(Session *session, uint64_t number, const struct message_type *type,
		   const void *structure);
void session_error(Session *session, uint64_t number, enum error_code code, const char *message,
		   const char *hint);
void session_event(Session *session, uint64_t number, enum event event,
		   const struct message_type *type, const void *structure);

/* request.c: one whole frame. Closes the session when it breaks the protocol. */
void request_handle(Session *session, const uint8_t *body, size_t size);
/* request.c: the server's one watch of the queue. */
void request_trial_changed(struct queue_watch *watch, const struct queue_change *change);
/* pause.c: likewise; drains may be due. */
void request_queue_settled(struct queue_watch *watch);
/* request.c: likewise; what holds the queue has changed. */
void request_queue_held(struct queue_watch *watch);
/* request.c: the session is going; lets go of its subscriptions. */
void request_session_gone(Session *session);
/* request.c: the client has taken what was written; subscriptions may go on. */
void request_session_writable(Session *session);

/* server.c: frame deadlines are looked at while there is one; a session is freed; room is made. */
void server_sweep_later(Server *server);
/* From the loop, not at once: one client that takes all it gets must not keep others waiting. */
void server_go_on_later(Session *session);
void server_session_gone(Server *server);
bool server_make_room(Server *server);

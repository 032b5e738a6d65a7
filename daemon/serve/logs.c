/* SPDX-License-Identifier: MIT */

/*
 * The logs verb: a Trial's output, read from its files at the pace of the client.
 *
 * Nothing is read for a client that has not taken what it was sent before, so a slow follower costs
 * one chunk and the Trial never waits. While following, inotify on the Trial's folder says when
 * there is more; the folder, not the file, since the tail moves from file to file. The end is when
 * the Trial has ended and everything that is kept was sent.
 */
#include "serve/request.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "keeper/record.h"

#define CHUNK_BYTES LOG_CHUNK_BYTES_MAX
#define BACKLOG_BYTES (256u * 1024u) /* above this the client is left to catch up */
#define TAIL_BYTES_MAX (4u * 1024u * 1024u)

struct logs {
	uv_fs_event_t event;
	struct request *request; /* NULL once it is gone and the handle is closing */
	int folder_fd;
	enum stream stream;
	uint64_t offset;
	uint64_t tail; /* lines; 0: from offset */
	bool follow;
	bool by_tail;
	bool ended; /* the Trial has */
	bool watching;
	bool replied;
};

static char chunk[CHUNK_BYTES]; /* one loop, one chunk at a time */

static void on_logs_closed(uv_handle_t *handle)
{
	struct logs *logs = handle->data;

	fd_close(logs->folder_fd);
	free(logs);
}

void logs_free(struct request *request)
{
	struct logs *logs = steal(&request->logs);

	if (!logs)
		return;
	logs->request = NULL;
	uv_close((uv_handle_t *)&logs->event, on_logs_closed);
}

static void logs_gap(struct logs *logs, uint64_t to)
{
	struct gap_event gap = {
		.has = {.from = true, .to = true},
		.from = logs->offset,
		.to = to,
	};

	session_event(logs->request->session, logs->request->number, EVENT_gap, &gap_event_type,
		      &gap);
}

static void logs_chunk(struct logs *logs, size_t size)
{
	struct log_event event = {
		.has = {.offset = true, .data = true},
		.offset = logs->offset,
		.data = {.data = (const uint8_t *)chunk, .size = size},
	};

	session_event(logs->request->session, logs->request->number, EVENT_log, &log_event_type,
		      &event);
}

static void logs_end(struct logs *logs)
{
	struct request *request = logs->request;
	struct log_end_event end = {.has = {.offset = true}, .offset = logs->offset};

	session_event(request->session, request->number, EVENT_log_end, &log_end_event_type, &end);
	request_done(request);
}

/* Sends what there is, as far as the client takes it. May end the request. */
static void logs_pump(struct logs *logs)
{
	Session *session = logs->request->session;
	struct record_stream stream;
	uint64_t gap;
	size_t size;
	int r = 0;

	if (session->closing || session->draining)
		return;
	if (logs->folder_fd >= 0)
		r = record_stream_open(&stream, logs->folder_fd, logs->stream);
	while (logs->folder_fd >= 0 && r >= 0 && session_backlog(session) < BACKLOG_BYTES &&
	       !session->closing) {
		r = record_stream_read(&stream, logs->offset, chunk, sizeof(chunk), &size, &gap);
		if (r <= 0)
			break;
		if (size) {
			logs_chunk(logs, size);
			logs->offset += size;
		} else {
			logs_gap(logs, gap);
			logs->offset = gap;
		}
	}
	if (session->closing || session_backlog(session) >= BACKLOG_BYTES)
		return;
	if (logs->ended || !logs->follow)
		logs_end(logs);
}

static void on_folder_event(uv_fs_event_t *event, const char *name, int events, int status)
{
	struct logs *logs = event->data;

	(void)name;
	(void)events;
	(void)status;
	if (logs->request && session_backlog(logs->request->session) < BACKLOG_BYTES)
		logs_pump(logs);
}

/* Opens the folder once there is one, and watches it when following. */
static void logs_open_folder(struct logs *logs)
{
	Server *server = logs->request->session->server;
	Queue *queue = server->options.queue;
	char path[PATH_BYTES_MAX + 1];

	snprintf(path, sizeof(path), "%s/%llu", queue_trials_folder(queue),
		 (unsigned long long)logs->request->id);
	if (logs->folder_fd < 0)
		logs->folder_fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (logs->folder_fd >= 0 && logs->follow && !logs->ended && !logs->watching)
		logs->watching = uv_fs_event_start(&logs->event, on_folder_event, path, 0) == 0;
}

/*
 * Fills chunk with what is kept of [from, to) up to its last gap: *ret_begin is where that starts.
 * False when nothing before `to` is kept.
 */
static bool chunk_before(struct record_stream *stream, uint64_t from, uint64_t to,
			 uint64_t *ret_begin)
{
	uint64_t at = from, gap;
	size_t held = 0, size;

	*ret_begin = from;
	while (at < to) {
		if (record_stream_read(stream, at, chunk + held, to - at, &size, &gap) <= 0)
			return false;
		if (size == 0) {
			held = 0;
			at = *ret_begin = gap;
			continue;
		}
		held += size;
		at += size;
	}
	return at == to && held > 0;
}

/* Where the last `tail` lines begin, looking back over at most TAIL_BYTES_MAX. */
static uint64_t tail_offset(const struct logs *logs)
{
	struct record_stream stream;
	uint64_t lines = 0, at, low, from, begin;
	bool last = true;

	if (logs->folder_fd < 0 || record_stream_open(&stream, logs->folder_fd, logs->stream) < 0)
		return 0;
	at = stream.bytes;
	if (logs->tail == 0)
		return at;
	low = at > TAIL_BYTES_MAX ? at - TAIL_BYTES_MAX : 0;
	while (at > low) {
		from = at - low > sizeof(chunk) ? at - sizeof(chunk) : low;
		if (!chunk_before(&stream, from, at, &begin))
			return at;
		for (size_t i = (size_t)(at - begin); i > 0; i--) {
			/* The newline that ends the last line begins none. */
			if (chunk[i - 1] == '\n' && !last && ++lines == logs->tail)
				return begin + i;
			last = false;
		}
		at = begin;
		if (begin > from)
			return at; /* nothing is kept just before */
	}
	return at;
}

static void logs_begin(struct request *request, const struct ledger_row *row)
{
	struct logs *logs = request->logs;
	struct logs_reply reply = {.has = {.offset = true}};
	Session *session = request->session;

	logs->ended = row->state == STATE_ended;
	if (!request_stand(request))
		return;
	logs_open_folder(logs);
	if (logs->by_tail)
		logs->offset = tail_offset(logs);
	reply.offset = logs->offset;
	session_reply(request->session, request->number, &logs_reply_type, &reply);
	logs->replied = true;
	session_ref(session);
	logs_pump(logs);
	session_settled(session);
	session_unref(session);
}

static void on_logs_got(struct ledger_call *call)
{
	struct request *request = container_of(call, struct request, call);

	if (!request_ledger_failed(request))
		logs_begin(request, call->row);
}

void handle_logs(struct request *request, const void *arguments)
{
	const struct logs_request *wanted = arguments;
	struct logs *logs;

	request->id = wanted->id;
	if (wanted->has.tail && wanted->has.offset) {
		request_refuse(request, ERROR_invalid, "tail: give tail or offset, not both", NULL);
		return;
	}
	logs = calloc(1, sizeof(*logs));
	if (!logs) {
		request_refuse(request, ERROR_internal, "not enough memory", NULL);
		return;
	}
	uv_fs_event_init(request->session->server->loop, &logs->event);
	logs->event.data = logs;
	logs->request = request;
	logs->folder_fd = -1;
	logs->stream = wanted->has.stream ? wanted->stream : STREAM_stdout;
	logs->offset = wanted->offset;
	logs->tail = wanted->tail;
	logs->by_tail = wanted->has.tail;
	logs->follow = wanted->follow;
	request->logs = logs;
	request->call.done = on_logs_got;
	ledger_get(request->session->server->options.ledger, &request->call, request->id);
}

void logs_trial_changed(struct request *request, const struct ledger_row *row)
{
	struct logs *logs = request->logs;

	logs->ended = logs->ended || row->state == STATE_ended;
	if (!logs->replied)
		return;
	logs_open_folder(logs);
	logs_pump(logs);
}

void logs_writable(struct request *request)
{
	if (request->logs && request->logs->replied)
		logs_pump(request->logs);
}

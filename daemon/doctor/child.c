/* SPDX-License-Identifier: MIT */
#include "doctor/child.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#define REPORT_BYTES_MAX (256u * 1024u)
#define ARGUMENTS_MAX 16
#define DOCTOR_MILLISECONDS 60000 /* then it is killed */
#define LEAVE_MILLISECONDS 12000  /* the same, once told to end: longer than its keeper has */

struct DoctorChild {
	uv_loop_t *loop;
	char *arguments[ARGUMENTS_MAX + 1];
	int (*input)(void *context, int *ret_fd);
	doctor_verdict heard;
	void *context;
	TAILQ_HEAD(questions, doctor_question) questions; /* for the next run */
	struct questions asked;				  /* of this one */
	uv_process_t process;
	uv_pipe_t output;
	uv_timer_t timer;
	char *report;
	size_t size;
	int64_t status;
	int signal;
	unsigned int handles; /* of this run, not yet closed */
	bool running;
	bool again; /* what this one finds is not to be heard: another look was wanted meanwhile */
	bool closing;
	bool released; /* freed once nothing runs */
};

static void child_free(DoctorChild *child)
{
	for (size_t i = 0; i < ARGUMENTS_MAX; i++)
		free(child->arguments[i]);
	free(child->report);
	free(child);
}

int doctor_child_new(DoctorChild **ret_child, const struct doctor_child_options *options)
{
	DoctorChild *child = calloc(1, sizeof(*child));
	size_t i;

	if (!child)
		return -ENOMEM;
	child->loop = options->loop;
	child->input = options->input;
	child->heard = options->heard;
	child->context = options->context;
	TAILQ_INIT(&child->questions);
	TAILQ_INIT(&child->asked);
	for (i = 0; i < options->argument_count && i < ARGUMENTS_MAX; i++) {
		child->arguments[i] = strdup(options->arguments[i]);
		if (!child->arguments[i]) {
			child_free(child);
			return -ENOMEM;
		}
	}
	*ret_child = child;
	return 0;
}

/* Answers those who asked before it began; what they ask from within is for the next run. */
static void child_answer(DoctorChild *child, const struct doctor_reply *reply,
			 const struct fault *fault)
{
	struct questions answered = TAILQ_HEAD_INITIALIZER(answered);
	struct doctor_question *question;

	TAILQ_CONCAT(&answered, &child->asked, link);
	if (!child->closing && !child->again)
		child->heard(child->context, reply, fault);
	while ((question = TAILQ_FIRST(&answered))) {
		TAILQ_REMOVE(&answered, question, link);
		question->done(question->context, reply, fault);
	}
}

static void child_refuse(DoctorChild *child, const char *why)
{
	_cleanup_fault_ struct fault fault = FAULT_INIT;

	fault_set(&fault, ERROR_unavailable, "the sandbox could not be examined: %s", why);
	fault_hint(&fault, "trialsd --doctor");
	child_answer(child, NULL, &fault);
}

static void child_refuse_all(DoctorChild *child, const char *why)
{
	TAILQ_CONCAT(&child->asked, &child->questions, link);
	child_refuse(child, why);
}

static void child_judge(DoctorChild *child)
{
	struct message *message = NULL;
	struct doctor_reply reply;
	struct decode_error error;
	char why[128];
	int r;

	r = message_parse(&message, child->report, child->size);
	/* The message is a copy; whoever is answered may ask again, and a new run begins. */
	free(steal(&child->report));
	if (r == 0)
		r = message_decode(message, message_root(message), &doctor_reply_type,
				   UNKNOWN_KEYS_IGNORED, &reply, &error);
	if (r == 0) {
		child_answer(child, &reply, NULL);
	} else {
		if (child->signal)
			snprintf(why, sizeof(why), "trialsd --doctor was ended by signal %d",
				 child->signal);
		else
			snprintf(why, sizeof(why), "trialsd --doctor exited %lld without a report",
				 (long long)child->status);
		child_refuse(child, why);
	}
	message_free(message);
}

static void child_begin(DoctorChild *child);

static void on_run_closed(uv_handle_t *handle)
{
	DoctorChild *child = handle->data;

	if (--child->handles > 0)
		return;
	child->running = false;
	if (!child->closing)
		child_judge(child);
	if (child->released)
		child_free(child);
	else if (!child->closing && (child->again || !TAILQ_EMPTY(&child->questions)))
		child_begin(child);
}

static void close_handle(uv_handle_t *handle)
{
	if (!uv_is_closing(handle))
		uv_close(handle, on_run_closed);
}

/* The process and its output both have to end; the timer goes with the later of them. */
static void run_advance(DoctorChild *child)
{
	if (uv_is_closing((uv_handle_t *)&child->process) &&
	    uv_is_closing((uv_handle_t *)&child->output))
		close_handle((uv_handle_t *)&child->timer);
}

static void on_exit_status(uv_process_t *process, int64_t status, int signal)
{
	DoctorChild *child = process->data;

	child->status = status;
	child->signal = signal;
	close_handle((uv_handle_t *)process);
	run_advance(child);
}

static void on_allocate(uv_handle_t *handle, size_t suggested, uv_buf_t *ret_buffer)
{
	DoctorChild *child = handle->data;

	(void)suggested;
	*ret_buffer = uv_buf_init(child->report + child->size,
				  (unsigned int)(REPORT_BYTES_MAX - child->size));
}

static void on_output(uv_stream_t *stream, ssize_t count, const uv_buf_t *buffer)
{
	DoctorChild *child = stream->data;

	(void)buffer;
	if (count > 0)
		child->size += (size_t)count;
	if (count >= 0)
		return;
	/* End-of-file; or no room (UV_ENOBUFS), and then what is there does not decode. */
	close_handle((uv_handle_t *)stream);
	run_advance(child);
}

static void on_timer(uv_timer_t *timer)
{
	DoctorChild *child = timer->data;

	if (!uv_is_closing((uv_handle_t *)&child->process))
		uv_process_kill(&child->process, SIGKILL);
	/* What it started may hold the pipe. */
	close_handle((uv_handle_t *)&child->output);
	run_advance(child);
}

static int run_spawn(DoctorChild *child, int input)
{
	char program[] = "trialsd", doctor[] = "--doctor", form[] = "--msgpack";
	char *arguments[ARGUMENTS_MAX + 4] = {program, doctor, form};
	uv_stdio_container_t stdio[] = {
		{.flags = UV_IGNORE},
		{.flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE,
		 .data.stream = (uv_stream_t *)&child->output},
		{.flags = UV_INHERIT_FD, .data.fd = 2},
		{.flags = UV_INHERIT_FD, .data.fd = input},
	};
	const uv_process_options_t options = {
		.exit_cb = on_exit_status,
		/* The very program that runs, even when its file was replaced. */
		.file = "/proc/self/exe",
		.args = arguments,
		.stdio = stdio,
		.stdio_count = ARRAY_SIZE(stdio),
	};
	int r;

	memcpy(arguments + 3, child->arguments, sizeof(child->arguments));
	r = uv_spawn(child->loop, &child->process, &options);
	return r < 0 ? r : uv_read_start((uv_stream_t *)&child->output, on_allocate, on_output);
}

static void child_begin(DoctorChild *child)
{
	_cleanup_close_ int input = -1;
	int r;

	if (child->running || child->closing)
		return;
	child->again = false;
	TAILQ_CONCAT(&child->asked, &child->questions, link);
	r = child->input(child->context, &input);
	if (r == 0 && !child->report) {
		child->report = malloc(REPORT_BYTES_MAX);
		r = child->report ? 0 : -ENOMEM;
	}
	if (r < 0) {
		child_refuse(child, strerror(-r));
		return;
	}
	child->running = true;
	child->size = 0;
	child->status = 0;
	child->signal = 0;
	child->handles = 3;
	uv_timer_init(child->loop, &child->timer);
	uv_pipe_init(child->loop, &child->output, 0);
	child->process.data = child->output.data = child->timer.data = child;
	uv_timer_start(&child->timer, on_timer, DOCTOR_MILLISECONDS, 0);
	r = run_spawn(child, input);
	if (r < 0) {
		/* Even a process that could not be spawned is a handle to be closed. */
		child->status = r;
		uv_timer_start(&child->timer, on_timer, 0, 0);
		close_handle((uv_handle_t *)&child->process);
	}
}

void doctor_child_look(DoctorChild *child)
{
	child->again = child->running;
	child_begin(child);
}

void doctor_child_ask(DoctorChild *child, struct doctor_question *question)
{
	TAILQ_INSERT_TAIL(&child->questions, question, link);
	if (child->closing)
		child_refuse_all(child, "the daemon is stopping");
	else
		child_begin(child);
}

void doctor_child_stop(DoctorChild *child)
{
	if (child->closing)
		return;
	child->closing = true;
	child_refuse_all(child, "the daemon is stopping");
	if (!child->running)
		return;
	if (!uv_is_closing((uv_handle_t *)&child->process))
		uv_process_kill(&child->process, SIGTERM);
	if (!uv_is_closing((uv_handle_t *)&child->timer))
		uv_timer_start(&child->timer, on_timer, LEAVE_MILLISECONDS, 0);
}

void doctor_child_free(DoctorChild *child)
{
	child->released = true;
	if (!child->running)
		child_free(child);
}

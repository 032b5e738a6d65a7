/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "attend.h"
#include "exit_code.h"
#include "hold_tell.h"
#include "json.h"
#include "print.h"
#include "stream.h"
#include "trial_print.h"

/*
 * One loop over the connection and a signalfd. The signals are blocked before the launch is sent:
 * one that comes before trialsd has answered cancels the Trial as soon as its number is known, so
 * that no moment exists in which Ctrl-C leaves a Trial behind that nobody knows of.
 *
 * A signal that was ignored when we were started (a background job of a script, nohup) stays so.
 */

enum { STREAMS = 2 };

/* timeout(1) and batch systems signal the process and then its group: that is one wish, not two. */
#define SAME_SIGNAL_SECONDS 2

struct attendance {
	struct context *context;
	bool follow;
	bool joined; /* stdout and stderr are one file: a terminal, or by 2>&1 */
	int signal_fd;
	int last_signal;   /* INT or TERM; 0: none came */
	time_t first_came; /* monotonic seconds */
	bool leaving;
	uint64_t launch_number;
	uint64_t wait_number;
	uint64_t cancel_number;
	uint64_t show_number; /* 0: no look at what holds it is under way */
	bool waits;	      /* for its start, as far as is known */
	struct hold_teller teller;
	uint64_t stream_numbers[STREAMS];
	struct stream_writer writers[STREAMS];
	int last_stream; /* that something came on */
	bool streams_ended[STREAMS];
	int64_t id; /* 0 until trialsd has answered */
	json_t *trial;
};

static int watch_signals(struct attendance *attendance)
{
	static const int wanted[] = {SIGINT, SIGTERM};
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		struct sigaction action;

		if (sigaction(wanted[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
			sigaddset(&set, wanted[i]);
	}
	sigprocmask(SIG_BLOCK, &set, NULL);
	attendance->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (attendance->signal_fd < 0)
		return context_refuse(attendance->context, EXIT_SYSTEM, NULL,
				      "cannot watch for signals: %s", strerror(errno));
	return 0;
}

static bool are_one_file(int fd, int other_fd)
{
	struct stat status, other;

	return fstat(fd, &status) == 0 && fstat(other_fd, &other) == 0 &&
	       status.st_dev == other.st_dev && status.st_ino == other.st_ino;
}

/* What we say begins a line of its own, also behind output that did not end its last one. */
static void begin_line(struct attendance *attendance)
{
	int stream = attendance->joined ? attendance->last_stream : STREAMS - 1;

	if (attendance->writers[stream].inside_line)
		fputc('\n', stderr);
	attendance->writers[stream].inside_line = false;
}

static int ask_cancel(struct attendance *attendance)
{
	if (!attendance->id || attendance->cancel_number)
		return 0;
	return context_send(attendance->context, "cancel", id_arguments((uint64_t)attendance->id),
			    &attendance->cancel_number);
}

/* Whoever took our output has gone: there is nobody to stay for. */
static int output_failed(const struct attendance *attendance, const char *stream)
{
	char hint[96];

	snprintf(hint, sizeof(hint), "trialctl wait %lld, or trialctl cancel %lld",
		 (long long)attendance->id, (long long)attendance->id);
	return context_refuse(attendance->context, EXIT_OUTPUT, hint,
			      "cannot write to %s: %s; Trial %lld was accepted and goes on", stream,
			      strerror(errno), (long long)attendance->id);
}

static void look_at_hold(struct attendance *attendance, const json_t *trial)
{
	attendance->waits = !attendance->context->json && hold_tell(&attendance->teller, trial);
}

static int ask_hold(struct attendance *attendance)
{
	if (!attendance->waits || attendance->show_number || !attendance->id)
		return 0;
	return context_send(attendance->context, "show", id_arguments((uint64_t)attendance->id),
			    &attendance->show_number);
}

/* The Trial has a number: from here on it is waited for. */
static int launched(struct attendance *attendance, const json_t *trial)
{
	struct context *context = attendance->context;
	int r;

	attendance->id = json_whole(trial, "id", 0);
	if (attendance->id <= 0)
		return context_refuse(context, EXIT_PROTOCOL, NULL,
				      "trialsd answered without the number of a Trial");
	if (context->json && attendance->follow) {
		json_t *accepted = need_memory(
			json_pack("{s:s, s:O}", "event", "accepted", "trial", trial));

		context_print(context, accepted);
		json_decref(accepted);
	} else if (!context->json && !attendance->follow) {
		printf("%lld\n", (long long)attendance->id);
	}
	if (fflush(stdout) != 0)
		return output_failed(attendance, "stdout");
	if (!context->json && (attendance->follow || isatty(STDERR_FILENO))) {
		fprintf(stderr, "Trial %lld was accepted%s\n", (long long)attendance->id,
			isatty(STDERR_FILENO) ? "; Ctrl-C cancels it" : "");
	}
	look_at_hold(attendance, trial);
	trial_tell_warnings(context, trial);
	r = context_send(context, "wait", id_arguments((uint64_t)attendance->id),
			 &attendance->wait_number);
	for (int i = 0; !r && attendance->follow && i < STREAMS; i++)
		r = context_send(context, "logs",
				 stream_arguments((uint64_t)attendance->id,
						  attendance->writers[i].stream, true),
				 &attendance->stream_numbers[i]);
	if (!r && attendance->last_signal)
		r = ask_cancel(attendance);
	return r;
}

static int stream_of(const struct attendance *attendance, uint64_t number)
{
	for (int i = 0; i < STREAMS; i++)
		if (number && attendance->stream_numbers[i] == number)
			return i;
	return -1;
}

static int take_error(struct attendance *attendance, uint64_t number,
		      const struct trials_error *error)
{
	int stream = stream_of(attendance, number);

	/* A cancel that came too late, for one: the end says what there is to say. */
	if (number == attendance->cancel_number || number == attendance->show_number)
		return 0;
	begin_line(attendance);
	if (stream < 0)
		return context_fail(attendance->context, -EREMOTEIO, error);
	context_warn(attendance->context, "cannot follow %s: %s",
		     attendance->writers[stream].stream, error->message);
	attendance->streams_ended[stream] = true;
	return 0;
}

static int take_event(struct attendance *attendance, const struct trials_message *event)
{
	int stream = stream_of(attendance, trials_message_number(event));
	int r;

	if (stream < 0)
		return 0;
	r = stream_writer_event(&attendance->writers[stream], event);
	if (r < 0)
		return output_failed(attendance, attendance->writers[stream].stream);
	if (r == 0)
		attendance->last_stream = stream;
	attendance->streams_ended[stream] = r > 0;
	return 0;
}

static int take_message(struct attendance *attendance, const struct trials_message *message)
{
	uint64_t number = trials_message_number(message);
	struct trials_error error;
	json_t *reply;
	int r = 0;

	if (trials_message_error(message, &error) < 0)
		return take_error(attendance, number, &error);
	if (trials_message_event(message))
		return take_event(attendance, message);
	reply = need_memory(json_from_message(message));
	if (number == attendance->launch_number) {
		r = launched(attendance, reply);
	} else if (number == attendance->show_number) {
		attendance->show_number = 0;
		look_at_hold(attendance, reply);
	} else if (number == attendance->wait_number && !attendance->trial) {
		attendance->trial = json_incref(reply);
	}
	json_decref(reply);
	return r;
}

static bool has_ended(const struct attendance *attendance)
{
	if (!attendance->trial)
		return false;
	return !attendance->follow ||
	       (attendance->streams_ended[0] && attendance->streams_ended[1]);
}

static int lost_connection(struct attendance *attendance, int number,
			   const struct trials_error *error)
{
	char hint[96];

	begin_line(attendance);
	if (!attendance->id || number != -ECONNRESET)
		return context_fail(attendance->context, number, error);
	snprintf(hint, sizeof(hint), "once trialsd runs again: trialctl wait %lld",
		 (long long)attendance->id);
	return context_refuse(attendance->context, EXIT_NO_DAEMON, hint,
			      "trialsd went away; Trial %lld goes on", (long long)attendance->id);
}

/* Everything that has been read, and what the socket has now. */
static int take_messages(struct attendance *attendance)
{
	int r = 0;

	while (!r && !has_ended(attendance)) {
		struct trials_message *message;
		struct trials_error error;

		r = trials_next(attendance->context->connection, 0, &message, &error);
		if (r == -ETIMEDOUT)
			return 0;
		if (r < 0)
			return lost_connection(attendance, r, &error);
		r = take_message(attendance, message);
		trials_message_free(message);
	}
	return r;
}

static int take_signals(struct attendance *attendance)
{
	struct signalfd_siginfo info;
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	while (read(attendance->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (!attendance->last_signal)
			attendance->first_came = now.tv_sec;
		else if (now.tv_sec - attendance->first_came >= SAME_SIGNAL_SECONDS)
			attendance->leaving = true;
		attendance->last_signal = (int)info.ssi_signo;
	}
	if (attendance->leaving) {
		begin_line(attendance);
		if (attendance->id)
			fprintf(stderr, "trialctl: leaving; Trial %lld is being canceled\n",
				(long long)attendance->id);
		return EXIT_SIGNAL + attendance->last_signal;
	}
	return attendance->last_signal ? ask_cancel(attendance) : 0;
}

static int attend_until_end(struct attendance *attendance)
{
	int r = take_messages(attendance);

	while (!r && !has_ended(attendance)) {
		int ready;
		struct pollfd pollfds[] = {
			{.fd = trials_fd(attendance->context->connection), .events = POLLIN},
			{.fd = attendance->signal_fd, .events = POLLIN},
		};

		ready = poll(pollfds, 2, attendance->waits ? HOLD_LOOK_SECONDS * 1000 : -1);
		if (ready < 0 && errno != EINTR)
			return context_refuse(attendance->context, EXIT_SYSTEM, NULL,
					      "cannot wait: %s", strerror(errno));
		r = ready == 0 ? ask_hold(attendance) : take_signals(attendance);
		if (!r)
			r = take_messages(attendance);
	}
	return r;
}

int attend(struct context *context, const struct spec *spec, bool follow)
{
	struct attendance attendance = {.context = context, .follow = follow, .signal_fd = -1};
	int r;

	stream_writer_init(&attendance.writers[0], context, "stdout", stdout);
	stream_writer_init(&attendance.writers[1], context, "stderr", stderr);
	attendance.joined = are_one_file(STDOUT_FILENO, STDERR_FILENO);
	r = context_connect(context);
	if (!r)
		r = watch_signals(&attendance);
	if (r)
		return r;
	r = context_send_launch(context, spec->verb, spec->launch, spec->prompt_fd,
				&attendance.launch_number);
	if (!r)
		r = attend_until_end(&attendance);
	if (!r) {
		if (context->json)
			context_print(context, attendance.trial);
		else if (!trial_delivered(attendance.trial) ||
			 json_object_get(attendance.trial, "verdict"))
			begin_line(&attendance);
		trial_report(context, attendance.trial);
		trial_tell_verdict(context, attendance.trial);
		r = exit_code_of_trial(attendance.trial);
	}
	hold_teller_done(&attendance.teller);
	close(attendance.signal_fd);
	json_decref(attendance.trial);
	return r;
}

static int launch_only(struct context *context, const struct spec *spec)
{
	json_t *trial = NULL;
	uint64_t number;
	long long id;
	int r;

	r = context_send_launch(context, spec->verb, spec->launch, spec->prompt_fd, &number);
	if (!r)
		r = context_receive(context, number, &trial);
	if (r)
		return r;
	id = (long long)json_whole(trial, "id", 0);
	if (context->json)
		context_print(context, trial);
	else
		printf("%lld\n", id);
	if (fflush(stdout) != 0 || ferror(stdout)) {
		json_decref(trial);
		return context_refuse(context, EXIT_OUTPUT, NULL,
				      "cannot write to standard output: %s; Trial %lld was "
				      "accepted and goes on",
				      strerror(errno), id);
	}
	trial_tell_warnings(context, trial);
	if (!context->json && isatty(STDERR_FILENO)) {
		fprintf(stderr, "Trial %lld was accepted; trialctl wait %lld waits for its end\n",
			id, id);
		trial_tell_hold(trial);
	}
	json_decref(trial);
	return 0;
}

int launch(struct context *context, const struct arguments *arguments, const struct spec *spec)
{
	bool follow = arguments_given(arguments, "follow");

	/* A reader that goes must not end us in silence: a Trial is under way then. */
	signal(SIGPIPE, SIG_IGN);
	if (follow || arguments_given(arguments, "wait"))
		return attend(context, spec, follow);
	return launch_only(context, spec);
}

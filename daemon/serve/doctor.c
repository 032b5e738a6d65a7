/* SPDX-License-Identifier: MIT */

/*
 * The doctor verb: asks the doctor's process, and answers when it has spoken. Its verdict has then
 * reached the launcher too, which refuses or allows launches by it.
 */
#include "serve/request.h"

struct doctor_request_state {
	struct doctor_question question;
	struct request *request;
};

static void on_verdict(void *context, const struct doctor_reply *reply, const struct fault *fault)
{
	struct doctor_request_state *state = context;
	struct request *request = state->request;

	free(state);
	if (reply) {
		session_reply(request->session, request->number, &doctor_reply_type, reply);
		request_done(request);
	} else {
		request_refuse(request, fault->code, fault->message, fault->hint);
	}
}

void handle_doctor(struct request *request, const void *arguments)
{
	struct doctor_request_state *state = calloc(1, sizeof(*state));
	Server *server = request->session->server;

	(void)arguments;
	if (!state) {
		request_refuse(request, ERROR_internal, "not enough memory", NULL);
		return;
	}
	state->request = request;
	state->question.done = on_verdict;
	state->question.context = state;
	doctor_child_ask(server->options.doctor, &state->question);
}

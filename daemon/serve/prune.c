/* SPDX-License-Identifier: MIT */
#include "serve/request.h"

#include <stdio.h>
#include <string.h>

#include "queue/prune.h"

static void on_pruned(void *context, const struct queue_pruned *pruned)
{
	struct request *request = context;
	struct prune_reply reply = {
		.has = {.pruned = true, .bytes = true, .left = pruned->left > 0},
		.pruned = pruned->count,
		.bytes = pruned->bytes,
		.left = pruned->left,
	};
	_cleanup_fault_ struct fault fault = FAULT_INIT;
	char text[512];

	if (pruned->result == 0) {
		session_reply(request->session, request->number, &prune_reply_type, &reply);
		request_done(request);
		return;
	}
	if (pruned->result != -ESHUTDOWN)
		ledger_fault(request->session->server->options.ledger, pruned->result, &fault);
	snprintf(text, sizeof(text), "it was broken off after %llu Trials: %s",
		 (unsigned long long)pruned->count,
		 fault.message ? fault.message : "the daemon is stopping");
	request_refuse(request, ERROR_unavailable, text, fault.hint);
}

void handle_prune(struct request *request, const void *arguments)
{
	int r = queue_prune(request->session->server->options.queue, arguments, on_pruned, request);

	if (r == -EINVAL)
		request_refuse(request, ERROR_invalid,
			       "it needs one of older_seconds, keep, total_bytes, labels",
			       "keep=0 is every Trial that has ended");
	else if (r == -EBUSY)
		request_refuse(request, ERROR_busy, "another prune is at work", "try again later");
	else if (r == -ESHUTDOWN)
		request_refuse(request, ERROR_unavailable, "the daemon is stopping", NULL);
	else if (r < 0)
		request_refuse(request, ERROR_internal, strerror(-r), NULL);
}

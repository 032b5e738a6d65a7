/* SPDX-License-Identifier: MIT */

/*
 * Accepting a launch: check, keep the prompt, commit, answer.
 *
 * The prompt is not stored in the ledger: it may be large, and the Trial reads it from a file
 * anyway. It is written to the Trial's folder and synced before the commit, so that an accepted
 * Trial has it; the id is drawn before the commit for that reason. A crash in between leaves a folder
 * without a Trial. Nothing at start can tell it from one whose ledger was lost or put back to an
 * older state, so it is left alone, and no id is ever given that a folder already bears
 * (ledger/opening.c).
 *
 * The key compares bodies: the launch as it will be stored, and the SHA-256 of the prompt's bytes,
 * wherever they came from.
 */
#include "base/fault_point.h"
#include "base/now.h"
#include "base/space.h"
#include "queue/arm_launch.h"
#include "queue/arm_use.h"
#include "queue/bar_launch.h"
#include "queue/frozen.h"
#include "queue/grader.h"
#include "queue/kept_session.h"
#include "queue/key_body.h"
#include "queue/key_difference.h"
#include "queue/login.h"
#include "queue/prompt.h"
#include "queue/repository.h"
#include "queue/space.h"
#include "base/file.h"

#include <fcntl.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct submit {
	uv_work_t work;
	struct ledger_call call;
	Queue *queue;
	submit_done done;
	void *context;
	uint64_t id;
	sd_id128_t uuid;
	int64_t priority;
	char *key;
	struct repository *repository;
	struct trial_login *login;
	struct trial *trial; /* made already; it may have a slot */
	bool shares;
	uint64_t of;		 /* of a Grader: the Trial that it judges; else 0 */
	bool refused;		 /* for refusal, unless there is a Trial of its key */
	bool waits;		 /* counted as accepting */
	struct pair_list labels; /* point into spec_message */
	struct text_list warnings;
	struct message *spec_message;
	msgpack_sbuffer spec;
	msgpack_sbuffer facts; /* that it is accepted with; maybe empty */
	msgpack_sbuffer asked; /* of an Arm's: what its key stands for; else empty */
	char *prompt;	       /* inline bytes, copied */
	size_t prompt_size;
	char *prompt_file;
	char *bar; /* that it names, which is marked as used; or NULL */
	char bar_id[BAR_ID_BYTES + 1];
	struct arm_use arm_use; /* until it is in the ledger */
	int prompt_fd;		/* that the client sent, or -1 */
	int prompt_result;	/* 0, FAULT or -errno, from the thread */
	bool has_prompt;
	bool folder_made;
	uint8_t prompt_digest[SHA256_DIGEST_SIZE];
	char *generated; /* prompt, or NULL */
	struct fault fault;
	struct fault refusal;
};

static void submit_free(struct submit *submit)
{
	Queue *queue = submit->queue;

	arm_use_end(&submit->arm_use);
	free(submit->key);
	repository_put(queue, submit->repository);
	login_put(submit->login);
	free(submit->prompt);
	free(submit->prompt_file);
	free(submit->generated);
	free(submit->bar);
	fd_close(submit->prompt_fd);
	message_free(submit->spec_message);
	msgpack_sbuffer_destroy(&submit->spec);
	text_list_done(&submit->warnings);
	msgpack_sbuffer_destroy(&submit->facts);
	msgpack_sbuffer_destroy(&submit->asked);
	fault_done(&submit->fault);
	fault_done(&submit->refusal);
	free(submit);
	queue_call_ended(queue);
}

/* What was made for a Trial that did not come to be: two names, in a folder we made. */
static void prompt_folder_remove(Queue *queue, uint64_t id)
{
	_cleanup_close_ int folder = -1;
	char name[24];

	if (launch_folder(queue->trials_fd, id, false, &folder) < 0)
		return;
	unlinkat(folder, "prompt", 0);
	snprintf(name, sizeof(name), "%llu", (unsigned long long)id);
	unlinkat(queue->trials_fd, name, AT_REMOVEDIR);
}

static void submit_undo_folder(struct submit *submit)
{
	if (submit->folder_made)
		prompt_folder_remove(submit->queue, submit->id);
}

static struct trial *submit_make_trial(struct submit *submit)
{
	struct trial *trial = trial_make(submit->queue, submit->id, submit->uuid, submit->priority,
					 STATE_queued);

	if (trial) {
		trial->repository = steal(&submit->repository);
		trial->shares = submit->shares;
		trial->of = submit->of;
		login_attach(trial, steal(&submit->login));
	}
	return trial;
}

static void submit_refuse(struct submit *submit)
{
	struct submit_result result = {.result = FAULT, .fault = &submit->fault};

	submit_undo_folder(submit);
	submit->done(submit->context, &result);
	submit_free(submit);
}

/* It is in the ledger: now others may see it. */
static bool submit_list(struct submit *submit)
{
	struct trial *trial = steal(&submit->trial);

	if (!trial)
		trial = submit_make_trial(submit);
	if (!trial) {
		fault_errno(&submit->fault, ENOMEM, "launch");
		return false;
	}
	trial_list(trial);
	if (!trial->slot)
		sched_add(submit->queue, trial);
	return true;
}

/* What its key stands for. */
static struct blob submit_asked(const struct submit *submit)
{
	const msgpack_sbuffer *asked = submit->asked.size ? &submit->asked : &submit->spec;

	return (struct blob){.data = (const uint8_t *)asked->data, .size = asked->size};
}

static void on_inserted(struct ledger_call *call)
{
	struct submit *submit = container_of(call, struct submit, call);
	struct submit_result result = {.row = call->row, .warnings = &submit->warnings};
	Queue *queue = submit->queue;
	struct blob asked;

	queue->accepting -= submit->waits;
	if (call->result != 0 && submit->trial)
		trial_refuse(steal(&submit->trial));
	switch (call->result) {
	case 0:
		/* The prompt's folder is the Trial's now, whatever becomes of it. */
		if (!submit_list(submit))
			break;
		FAULT_POINT(accept_committed);
		submit->done(submit->context, &result);
		FAULT_POINT(accept_replied);
		queue_notify(queue, call, -1);
		sched_kick(queue);
		submit_free(submit);
		return;
	case -EEXIST:
		submit_undo_folder(submit);
		result.existed = true;
		submit->done(submit->context, &result);
		submit_free(submit);
		return;
	case -ENOENT:
		fault_move(&submit->fault, &submit->refusal);
		break;
	case -ENOTUNIQ:
		asked = submit_asked(submit);
		key_conflict(submit->key, call->row, &asked, &submit->fault);
		break;
	case -ENOLINK:
	case -EUCLEAN:
		ledger_fault(queue->ledger, call->result, &submit->fault);
		break;
	default:
		fault_set(&submit->fault, ERROR_unavailable,
			  "the ledger could not be written: %s; nothing was recorded",
			  strerror(-call->result));
		if (call->result == -ENOSPC)
			fault_hint(&submit->fault, SPACE_FULL_HINT);
		break;
	}
	submit_refuse(submit);
}

/*
 * Where a slot is free, the Trial is queued and started in one commit. Its claim is the call that
 * follows its insertion, and is answered after it; it finds no such Trial if that was refused.
 */
static bool submit_may_claim(struct submit *submit)
{
	if (submit->refused || !sched_is_free(submit->queue) ||
	    grader_must_wait(submit->queue, submit->of) ||
	    !repository_is_free(submit->repository, submit->shares, NULL))
		return false;
	submit->trial = submit_make_trial(submit);
	return submit->trial && login_take_at_once(submit->trial);
}

static void submit_insert(struct submit *submit)
{
	struct ledger_new trial = {
		.id = submit->id,
		.priority = submit->priority,
		.key = submit->key,
		.spec = {.data = (const uint8_t *)submit->spec.data, .size = submit->spec.size},
		.facts = {.data = (const uint8_t *)submit->facts.data, .size = submit->facts.size},
		.labels = submit->labels,
		.only_existing = submit->refused,
	};
	struct blob asked = submit_asked(submit);
	_cleanup_free_ void *body = NULL;
	char uuid[SD_ID128_UUID_STRING_MAX];
	bool claims;

	if (key_body(&asked, submit->prompt_digest, &trial.body) < 0) {
		fault_errno(&submit->fault, ENOMEM, "launch");
		submit_refuse(submit);
		return;
	}
	body = (void *)trial.body.data;
	trial.uuid = sd_id128_to_uuid_string(submit->uuid, uuid);
	trial.submitted_at = now_microseconds();
	submit->call.done = on_inserted;
	claims = submit_may_claim(submit);
	trial.patient = claims;
	submit->waits = !claims;
	submit->queue->accepting += submit->waits;
	ledger_insert(submit->queue->ledger, &submit->call, &trial);
	/* While that is written, it is planned. */
	if (claims && sched_claim_new(submit->trial) == 0)
		start_prepare(submit->trial, &trial.spec, &trial.facts);
}

/* The prompt, on a thread of the pool: it syncs, and a path may lead anywhere. */

/* "prompt_file: /path", "prompt_descriptor": how a refusal names where the prompt comes from. */
#define PROMPT_NAME "%s%s%s"
#define PROMPT_NAME_OF(submit)                                                                     \
	(submit)->prompt_file ? "prompt_file" : "prompt_descriptor",                               \
		(submit)->prompt_file ? ": " : "",                                                 \
		(submit)->prompt_file ? (submit)->prompt_file : ""

/* A path is opened without waiting for whatever else than a file it may lead to. */
static int prompt_open(struct submit *submit, int *ret_fd)
{
	int flags;

	if (!submit->prompt_file) {
		*ret_fd = fd_steal(&submit->prompt_fd);
		flags = fcntl(*ret_fd, F_GETFL);
		if (flags < 0 || (flags & O_ACCMODE) == O_WRONLY || (flags & O_PATH))
			return fault_set(&submit->fault, ERROR_invalid,
					 "prompt_descriptor: not open for reading");
		return 0;
	}
	*ret_fd = open(submit->prompt_file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (*ret_fd < 0)
		return fault_set(&submit->fault, ERROR_invalid, "prompt_file: %s: %s",
				 submit->prompt_file, strerror(errno));
	return 0;
}

static int prompt_check(struct submit *submit, int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return fault_set(&submit->fault, ERROR_invalid, PROMPT_NAME ": not a regular file",
				 PROMPT_NAME_OF(submit));
	if (st.st_size > (off_t)PROMPT_FILE_BYTES_MAX)
		return fault_set(&submit->fault, ERROR_invalid,
				 PROMPT_NAME ": %lld bytes; at most %u are allowed",
				 PROMPT_NAME_OF(submit), (long long)st.st_size,
				 PROMPT_FILE_BYTES_MAX);
	return 0;
}

/* From the start, wherever the client has its offset, which stays where it is. */
static int prompt_copy(struct submit *submit, int from, int to, struct sha256_ctx *sha)
{
	char buffer[65536];
	off_t total = 0;

	for (;;) {
		ssize_t n = pread(from, buffer, sizeof(buffer), total);
		int r;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return fault_set(&submit->fault, ERROR_invalid,
					 PROMPT_NAME ": cannot be read: %s", PROMPT_NAME_OF(submit),
					 strerror(errno));
		if (n == 0)
			return 0;
		total += n;
		if (total > (off_t)PROMPT_FILE_BYTES_MAX)
			return fault_set(&submit->fault, ERROR_invalid,
					 PROMPT_NAME ": grew over %u bytes", PROMPT_NAME_OF(submit),
					 PROMPT_FILE_BYTES_MAX);
		sha256_update(sha, (size_t)n, (const uint8_t *)buffer);
		r = file_write(to, buffer, (size_t)n);
		if (r < 0)
			return r;
	}
}

static int prompt_keep(struct submit *submit)
{
	_cleanup_close_ int folder = -1, from = -1, to = -1;
	struct sha256_ctx sha;
	int r;

	if (!submit->prompt) {
		r = prompt_open(submit, &from);
		if (r == 0)
			r = prompt_check(submit, from);
		if (r)
			return r;
	}
	r = launch_folder(submit->queue->trials_fd, submit->id, true, &folder);
	if (r < 0)
		return r;
	submit->folder_made = true;
	to = openat(folder, "prompt", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (to < 0)
		return -errno;
	sha256_init(&sha);
	if (from >= 0) {
		r = prompt_copy(submit, from, to, &sha);
	} else {
		sha256_update(&sha, submit->prompt_size, (const uint8_t *)submit->prompt);
		r = file_write(to, submit->prompt, submit->prompt_size);
	}
	if (r)
		return r;
	sha256_digest(&sha, sizeof(submit->prompt_digest), submit->prompt_digest);
	if (fsync(to) < 0 || fsync(folder) < 0 || fsync(submit->queue->trials_fd) < 0)
		return -errno;
	return 0;
}

static void prompt_work(uv_work_t *work)
{
	struct submit *submit = container_of(work, struct submit, work);

	submit->prompt_result = prompt_keep(submit);
}

/* Now that its size and bytes are known: whether a Harness has a way to take it. */
static int prompt_fits(struct submit *submit)
{
	_cleanup_(kept_prompt_done) struct kept_prompt kept = KEPT_PROMPT_INIT;
	Queue *queue = submit->queue;
	struct launch_request launch, checked;
	struct decode_error error;
	int r;

	r = message_decode(submit->spec_message, message_root(submit->spec_message),
			   &launch_request_type, UNKNOWN_KEYS_REFUSED, &launch, &error);
	if (r == 0 && !launch.harness)
		return 0;
	if (r == 0)
		r = kept_prompt_open(&kept, queue->trials_fd, submit->id);
	if (r == 0)
		r = session_plan_check(queue->host, arm_checked(&checked, &launch), &kept.prompt,
				       NULL, &submit->fault);
	return r < 0 ? fault_errno(&submit->fault, r, "prompt") : r;
}

static void on_prompt_kept(uv_work_t *work, int status)
{
	struct submit *submit = container_of(work, struct submit, work);
	int r = status < 0 ? status : submit->prompt_result;

	/* A folder that is gone is gone with the ledger, which is what there is to tell. */
	if (r < 0 && ledger_fault(submit->queue->ledger, 0, &submit->fault) == 0)
		fault_set(&submit->fault, ERROR_unavailable,
			  "the prompt could not be kept: %s; nothing was recorded", strerror(-r));
	FAULT_POINT(accept_prompt);
	if (r == 0)
		r = prompt_fits(submit);
	if (r)
		submit_refuse(submit);
	else
		submit_insert(submit);
}

/*
 * The request in its stored form: without the key (a column) and the prompt (a file), of which is left
 * only that there is one, as if each came as a descriptor.
 */
static int submit_take(struct submit *submit, const struct launch_request *request,
		       const struct trial_facts *facts)
{
	struct frozen_host storage;
	const struct plan_host *host = frozen_host(&storage, submit->queue->host, facts);
	struct launch_request spec = *request, stored;
	struct decode_error error;
	int r;

	spec.key = NULL;
	spec.has.key = false;
	spec.prompt = (struct blob){0};
	spec.has.prompt = false;
	spec.prompt_file = NULL;
	spec.has.prompt_file = false;
	submit->priority = request->priority;
	submit->has_prompt = request->has.prompt || request->has.prompt_file ||
			     submit->prompt_fd >= 0;
	spec.has.prompt_descriptor = submit->has_prompt;
	spec.prompt_descriptor = submit->has_prompt;
	r = view_encode(&submit->spec, &launch_request_type, &spec);
	if (r == 0)
		r = message_parse(&submit->spec_message, submit->spec.data, submit->spec.size);
	if (r == 0)
		r = message_decode(submit->spec_message, message_root(submit->spec_message),
				   &launch_request_type, UNKNOWN_KEYS_REFUSED, &stored, &error);
	if (r < 0)
		return r;
	submit->labels = stored.labels;
	r = repository_get(submit->queue, request, &submit->repository);
	if (r < 0)
		return r;
	submit->shares = request->share_repository;
	submit->of = launch_judges(request) ? request->of : 0;
	submit->login = login_get(submit->queue, host->config, request, facts, &r);
	if (r < 0)
		return r;
	if (request->has.key && !(submit->key = strdup(request->key)))
		return -ENOMEM;
	if (request->has.prompt_file && !(submit->prompt_file = strdup(request->prompt_file)))
		return -ENOMEM;
	if (request->has.prompt) {
		submit->prompt_size = request->prompt.size;
		submit->prompt = malloc(request->prompt.size + 1);
		if (!submit->prompt)
			return -ENOMEM;
		memcpy(submit->prompt, request->prompt.data, request->prompt.size);
	}
	return sd_id128_randomize(&submit->uuid);
}

static int submit_check(struct submit *submit, const struct launch_request *request,
			const struct trial_facts *facts)
{
	struct frozen_host storage;
	const struct plan_host *host = frozen_host(&storage, submit->queue->host, facts);
	Queue *queue = submit->queue;
	const struct fault *unavailable = launcher_unavailable(queue->launcher);
	char reason[QUEUE_REASON_BYTES];
	struct launch_request checked;
	int r;

	if (queue->stopping)
		return fault_set(&submit->fault, ERROR_unavailable, "the daemon is stopping");
	if (unavailable) {
		fault_set(&submit->fault, ERROR_unavailable, "%s", unavailable->message);
		if (unavailable->hint)
			fault_hint(&submit->fault, "%s", unavailable->hint);
		return FAULT;
	}
	if (request->has.key && !request->key[0])
		return fault_set(&submit->fault, ERROR_invalid,
				 "key: may not be empty; leave it out to do without one");
	if (request->has.prompt + request->has.prompt_file + request->prompt_descriptor > 1)
		return fault_set(&submit->fault, ERROR_invalid,
				 "prompt: give one of prompt, prompt_file and prompt_descriptor");
	if (space_is_low(queue, NULL, reason) ||
	    (request->repository && space_is_low(queue, request->repository, reason)))
		return fault_set(&submit->fault, ERROR_unavailable, "too little %s", reason),
		       fault_hint(&submit->fault, SPACE_HINT);
	r = plan_check(host, arm_checked(&checked, request), NULL, &submit->warnings,
		       &submit->fault);
	return r == FAULT ? judged_explain(host, request, &submit->fault) : r;
}

/* Nothing stands in its way: its prompt, then its row. */
static void submit_keep(struct submit *submit, int r)
{
	Queue *queue = submit->queue;

	if (r == 0)
		submit->id = ledger_next_id(queue->ledger);
	if (r == 0 && submit->has_prompt)
		r = uv_queue_work(queue->loop, &submit->work, prompt_work, on_prompt_kept);
	else if (r == 0)
		submit_insert(submit);
	if (r < 0)
		fault_errno(&submit->fault, r, "launch");
	if (r)
		submit_refuse(submit);
}

static void on_marked(void *context, int result, struct fault *fault)
{
	struct submit *submit = context;

	FAULT_POINT(bar_marked);
	if (result == FAULT)
		fault_move(&submit->fault, fault);
	submit_keep(submit, result);
}

/* It was looked at: 0, FAULT, -errno. */
static void submit_go_on(struct submit *submit, int r)
{
	bool marks = r == 0 && submit->bar && !submit->refused;

	if (marks)
		r = bar_mark(submit->queue, submit->bar, submit->bar_id, on_marked, submit);
	if (!marks || r < 0)
		submit_keep(submit, r);
}

/* The Trial whose session it is to go on with. */
static void on_of_got(struct ledger_call *call)
{
	struct submit *submit = container_of(call, struct submit, call);
	struct launch_request launch;
	struct decode_error error;
	int r = message_decode(submit->spec_message, message_root(submit->spec_message),
			       &launch_request_type, UNKNOWN_KEYS_REFUSED, &launch, &error);

	if (r == 0 && call->result == -ENOENT)
		r = kept_session_not_found(&launch, &submit->fault);
	else if (r == 0 && call->result < 0)
		r = ledger_fault(submit->queue->ledger, call->result, &submit->fault);
	else if (r == 0)
		r = kept_session_check(submit->queue, call->row, &launch, &submit->fault);
	submit_go_on(submit, r);
}

void queue_submit(Queue *queue, const struct launch_request *request, int prompt_fd,
		  submit_done done, void *context)
{
	queue_submit_frozen(queue, request, prompt_fd, NULL, done, context);
}

/*
 * What a launch leaves open is settled as it is accepted, whatever is configured by the time that it is
 * started: what its Arm says, and the network. *facts may become those of accepted.
 */
static int submit_settle(struct submit *submit, struct launch_request *request,
			 struct arm_accepted *accepted, struct bar_accepted *bar,
			 const struct trial_facts **facts)
{
	Queue *queue = submit->queue;
	bool again = *facts && (*facts)->has.rerun_of;
	int r = again ? 0 : bar_accept(queue, request, bar, &submit->fault);

	if (r != 0)
		return r;
	/* A rerun's launch is what its Arm made of it already. */
	if (request->arm && !(*facts && (*facts)->arm_id)) {
		r = arm_accept(submit->queue, request, accepted, &submit->fault);
		if (r != 0)
			return r;
		*request = accepted->applied.launch;
		*facts = &accepted->facts;
		/* What of an Arm's network there is without a sandbox. */
		if (submit->queue->host->no_sandbox && request->network == NETWORK_allowlist)
			request->network = NETWORK_host;
		submit->asked = accepted->asked;
		msgpack_sbuffer_init(&accepted->asked);
	}
	if (!request->has.network) {
		request->has.network = true;
		request->network = submit->queue->host->no_sandbox
					   ? NETWORK_host
					   : submit->queue->host->config->network;
	}
	if (again)
		return 0;
	r = bar_settle(queue, request, accepted->known.message ? &accepted->known.arm : NULL, bar,
		       facts, &submit->fault);
	if (r != 0 || !bar->named)
		return r;
	memcpy(submit->bar_id, bar->kept.id, sizeof(submit->bar_id));
	submit->bar = strdup(request->bar);
	return submit->bar ? 0 : -ENOMEM;
}

void queue_submit_frozen(Queue *queue, const struct launch_request *asked, int prompt_fd,
			 const struct trial_facts *facts, submit_done done, void *context)
{
	if (launch_judges(asked))
		grader_submit(queue, asked, prompt_fd, facts, done, context);
	else
		submit_begin(queue, asked, prompt_fd, facts, NULL, NULL, done, context);
}

/* What is refused may have been accepted before, under its key: then that is the answer. */
static int submit_hold_back(struct submit *submit, const struct launch_request *request,
			    struct fault *refusal)
{
	if (!refusal)
		return 0;
	submit->refused = true;
	fault_move(request->has.key ? &submit->refusal : &submit->fault, refusal);
	return request->has.key ? 0 : FAULT;
}

void submit_begin(Queue *queue, const struct launch_request *asked, int prompt_fd,
		  const struct trial_facts *facts, struct fault *refusal,
		  const struct text_list *notes, submit_done done, void *context)
{
	static const struct trial_facts none;
	_cleanup_(arm_accepted_done) struct arm_accepted accepted = {0};
	_cleanup_(bar_accepted_done) struct bar_accepted bar = {0};
	struct submit_result failed = {.result = -ENOMEM};
	struct launch_request settled = *asked, *request = &settled;
	struct submit *submit = calloc(1, sizeof(*submit));
	int r;

	if (!submit) {
		fd_close(prompt_fd);
		done(context, &failed);
		return;
	}
	submit->prompt_fd = prompt_fd;
	submit->queue = queue;
	queue_call_begun(queue);
	submit->done = done;
	submit->context = context;
	submit->fault = FAULT_INIT;
	submit->refusal = FAULT_INIT;
	msgpack_sbuffer_init(&submit->spec);
	msgpack_sbuffer_init(&submit->facts);
	msgpack_sbuffer_init(&submit->asked);
	r = submit_hold_back(submit, request, refusal);
	if (r == 0)
		r = submit_settle(submit, request, &accepted, &bar, &facts);
	if (r == 0 && submit->prompt_fd < 0)
		r = grader_prompt(request, &submit->generated);
	if (submit->generated) {
		request->prompt.data = (const uint8_t *)submit->generated;
		request->prompt.size = strlen(submit->generated);
		request->has.prompt = true;
	}
	if (r == 0)
		r = submit_check(submit, request, facts ?: &none);
	/* What arm prepare told whoever did that is told again to who launches it. */
	if (r == 0 && accepted.known.message && request->network == NETWORK_allowlist)
		r = plan_arm_loopback(&accepted.known.arm, &submit->warnings);
	if (r == 0 && notes)
		r = text_list_merge(&submit->warnings, notes);
	if (r == 0)
		r = submit_take(submit, request, facts ?: &none);
	if (r == 0 && facts)
		r = view_encode(&submit->facts, &trial_facts_type, facts);
	if (facts && facts->arm_id)
		arm_use_begin(queue, &submit->arm_use, facts->arm_id);
	FAULT_POINT(accept_checked);
	if (r == 0 && request->has.of && !launch_judges(request)) {
		submit->call.done = on_of_got;
		ledger_get(queue->ledger, &submit->call, request->of);
		return;
	}
	submit_go_on(submit, r);
}

/* SPDX-License-Identifier: MIT */

/*
 * A Trial once more: its launch as the ledger has it, with the prompt of its folder and what was
 * configured for it then (frozen.h), is submitted like any other.
 *
 * It is the daemon that does so, since a client could not: what show tells of a launch has no variables
 * in it, which may be secrets, and no prompt.
 *
 * What is gone is refused. What is there and is not what it was is refused too, unless that was asked
 * for: the program of a session is read as a whole for it, on a thread; a command is planned for it,
 * as it will be again when its turn has come. Of a session the rest is only known then, when it has its
 * login: such a Trial is void.
 */
#include "plan/grading.h"
#include "queue/frozen.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "plan/session_plan.h"

struct rerun {
	uv_work_t work;
	struct ledger_call call;
	Queue *queue;
	submit_done done;
	void *context;
	uint64_t id; /* of the one that is to be had once more */
	bool changed;
	bool has_priority;
	int64_t priority;
	struct pair_list asked_labels; /* owned */
	struct pair_list labels;       /* both, owned */
	struct ledger_row *row;
	struct message *spec_message;
	struct message *facts_message;
	struct launch_request launch; /* points into both, and below */
	struct trial_facts old;
	struct trial_facts facts; /* that the new one is accepted with */
	char *executable;	  /* that ran, where another one would be found now */
	struct program program;
	struct program_stamp stamp;
	char digest[PROGRAM_DIGEST_BYTES];
	int digest_result;
	int prompt_fd;
	struct fault fault;
};

static void rerun_free(struct rerun *rerun)
{
	Queue *queue = rerun->queue;

	pair_list_done(&rerun->asked_labels);
	pair_list_done(&rerun->labels);
	message_free(rerun->spec_message);
	message_free(rerun->facts_message);
	ledger_row_free(rerun->row);
	program_done(&rerun->program);
	fd_close(rerun->prompt_fd);
	free(rerun->executable);
	fault_done(&rerun->fault);
	free(rerun);
	queue_call_ended(queue);
}

/* FAULT or -errno: answered. */
static void rerun_refuse(struct rerun *rerun, int r)
{
	struct submit_result result = {.result = FAULT, .fault = &rerun->fault};

	if (r < 0)
		fault_errno(&rerun->fault, r, "rerun");
	rerun->done(rerun->context, &result);
	rerun_free(rerun);
}

static int refuse_changed(struct rerun *rerun, const char *what)
{
	fault_set(&rerun->fault, ERROR_refused, "rerun of Trial %llu: %s",
		  (unsigned long long)rerun->id, what);
	return fault_hint(&rerun->fault, "to launch it all the same: trialctl rerun --changed %llu",
			  (unsigned long long)rerun->id);
}

/* --- What is kept of it --------------------------------------------------------------------------- */

static int take_labels(struct rerun *rerun)
{
	const struct pair_list *lists[] = {&rerun->launch.labels, &rerun->asked_labels};
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		for (size_t k = 0; r == 0 && k < lists[i]->count; k++)
			r = pair_list_set(&rerun->labels, lists[i]->items[k].name,
					  lists[i]->items[k].value);
	if (r == 0 && rerun->labels.count > 64)
		return fault_set(
			&rerun->fault, ERROR_invalid,
			"labels: with those that it had there would be %zu; at most 64 are "
			"allowed",
			rerun->labels.count);
	rerun->launch.labels = rerun->labels;
	rerun->launch.has.labels = rerun->labels.count > 0;
	return r;
}

/* The launch, with what was settled for it. */
static int take_launch(struct rerun *rerun)
{
	const struct ledger_row *row = rerun->row;
	struct launch_request *launch = &rerun->launch;

	if (!view_decode(&row->spec, &rerun->spec_message, &launch_request_type, launch))
		return fault_set(&rerun->fault, ERROR_refused,
				 "rerun of Trial %llu: how it was launched is not known any more",
				 (unsigned long long)rerun->id);
	if (!view_decode(&row->facts, &rerun->facts_message, &trial_facts_type, &rerun->old))
		rerun->old = (struct trial_facts){0};
	if (rerun->old.has.network) {
		launch->network = rerun->old.network;
		launch->has.network = true;
	}
	if (rerun->has_priority) {
		launch->priority = rerun->priority;
		launch->has.priority = true;
	}
	frozen_take(&rerun->facts, rerun->id, &rerun->old, row->plan_digest);
	rerun->facts.rerun_changed = rerun->changed;
	rerun->facts.has.rerun_changed = rerun->changed;
	return take_labels(rerun);
}

/* Its prompt is in its folder; that it had one, its launch says. */
static int take_prompt(struct rerun *rerun)
{
	_cleanup_close_ int folder = -1;
	struct stat st;
	int r = launch_folder(rerun->queue->trials_fd, rerun->id, false, &folder);

	if (r < 0 && r != -ENOENT)
		return r;
	if (r == 0)
		rerun->prompt_fd = openat(folder, "prompt",
					  O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (rerun->prompt_fd < 0 && r == 0 && errno != ENOENT && errno != ELOOP)
		return -errno;
	if (rerun->prompt_fd >= 0 && fstat(rerun->prompt_fd, &st) == 0 && S_ISREG(st.st_mode)) {
		rerun->launch.prompt_descriptor = rerun->launch.has.prompt_descriptor = true;
		return 0;
	}
	rerun->prompt_fd = fd_close(rerun->prompt_fd);
	if (!rerun->launch.prompt_descriptor)
		return 0;
	fault_set(&rerun->fault, ERROR_refused,
		  "rerun of Trial %llu: its prompt is gone from its folder",
		  (unsigned long long)rerun->id);
	return fault_hint(&rerun->fault, "launch it anew, with --prompt-file");
}

/* --- Whether it can be had again ------------------------------------------------------------------ */

static int find_program(struct rerun *rerun)
{
	program_done(&rerun->program);
	rerun->digest[0] = '\0';
	return session_plan_look(rerun->queue->host, &rerun->launch,
				 rerun->old.arm_id ? rerun->old.harness.interpreter : NULL,
				 &rerun->program, &rerun->stamp, rerun->digest, &rerun->fault);
}

/* The release that ran, where it is still there, and not one that was installed since. */
static int take_program(struct rerun *rerun)
{
	const char *ran = rerun->old.harness.executable;
	int r = find_program(rerun);

	if (!ran || rerun->launch.executable ||
	    (r == 0 && strcmp(rerun->program.file.canonical, ran) == 0))
		return r;
	if (r < 0 && r != FAULT)
		return r;
	fault_done(&rerun->fault);
	rerun->fault = FAULT_INIT;
	rerun->executable = strdup(ran);
	if (!rerun->executable)
		return -ENOMEM;
	rerun->launch.executable = rerun->executable;
	r = find_program(rerun);
	if (r != FAULT || !rerun->changed)
		return r;
	fault_done(&rerun->fault);
	rerun->fault = FAULT_INIT;
	rerun->launch.executable = NULL;
	return find_program(rerun);
}

static int check_program(struct rerun *rerun)
{
	const char *wanted = rerun->old.harness.sha256;
	_cleanup_free_ char *path = display(rerun->program.file.canonical), *text = NULL;
	int r;

	if (rerun->digest_result < 0)
		return rerun->digest_result;
	if (!wanted || rerun->changed || strcmp(wanted, rerun->digest) == 0)
		return 0;
	if (asprintf(&text, "%s is not what ran: its SHA-256 is %.12s, and was %.12s", path,
		     rerun->digest, wanted) < 0) {
		text = NULL;
		return -ENOMEM;
	}
	r = refuse_changed(rerun, text);
	return r;
}

static int check_command(struct rerun *rerun)
{
	int r;

	/*
	 * Of one that never came to a plan there is nothing that it could differ from; a Grader's has
	 * what it judges in it, and is compared at its start.
	 */
	if (rerun->launch.harness || rerun->launch.arm || launch_judges(&rerun->launch) ||
	    rerun->changed || !rerun->facts.rerun_digest)
		return 0;
	r = start_compare(rerun->queue, &rerun->launch, &rerun->facts, &rerun->fault);
	if (r == FAULT)
		rerun->fault.code = ERROR_refused;
	return r;
}

static void rerun_submit(struct rerun *rerun)
{
	int r = rerun->launch.harness ? check_program(rerun) : check_command(rerun);

	if (r != 0) {
		rerun_refuse(rerun, r);
		return;
	}
	queue_submit_frozen(rerun->queue, &rerun->launch, fd_steal(&rerun->prompt_fd),
			    &rerun->facts, rerun->done, rerun->context);
	rerun_free(rerun);
}

static void digest_work(uv_work_t *work)
{
	struct rerun *rerun = container_of(work, struct rerun, work);

	rerun->digest_result = program_digest(rerun->program.file.fd, &rerun->stamp, rerun->digest);
}

static void on_digest(uv_work_t *work, int status)
{
	struct rerun *rerun = container_of(work, struct rerun, work);

	if (status < 0)
		rerun->digest_result = status;
	rerun_submit(rerun);
}

static void on_got(struct ledger_call *call)
{
	struct rerun *rerun = container_of(call, struct rerun, call);
	int r = call->result;

	if (r == -ENOENT)
		r = fault_set(&rerun->fault, ERROR_not_found, "no Trial has the id %llu",
			      (unsigned long long)rerun->id),
		fault_hint(&rerun->fault, "trialctl list");
	else if (r < 0)
		r = ledger_fault(rerun->queue->ledger, r, &rerun->fault);
	else
		rerun->row = ledger_steal_row(call);
	if (r == 0)
		r = take_launch(rerun);
	if (r == 0)
		r = take_prompt(rerun);
	if (r == 0 && rerun->launch.harness)
		r = take_program(rerun);
	if (r == 0 && rerun->launch.harness && !rerun->digest[0]) {
		r = uv_queue_work(rerun->queue->loop, &rerun->work, digest_work, on_digest);
		if (r == 0)
			return;
	}
	if (r != 0)
		rerun_refuse(rerun, r);
	else
		rerun_submit(rerun);
}

void queue_rerun(Queue *queue, const struct rerun_request *request, submit_done done, void *context)
{
	struct submit_result failed = {.result = -ENOMEM};
	struct rerun *rerun = calloc(1, sizeof(*rerun));
	int r = 0;

	if (!rerun) {
		done(context, &failed);
		return;
	}
	queue_call_begun(queue);
	rerun->queue = queue;
	rerun->done = done;
	rerun->context = context;
	rerun->id = request->id;
	rerun->changed = request->changed;
	rerun->has_priority = request->has.priority;
	rerun->priority = request->priority;
	rerun->prompt_fd = -1;
	rerun->program = PROGRAM_INIT;
	rerun->fault = FAULT_INIT;
	for (size_t i = 0; r == 0 && i < request->labels.count; i++)
		r = pair_list_set(&rerun->asked_labels, request->labels.items[i].name,
				  request->labels.items[i].value);
	if (r < 0) {
		rerun_refuse(rerun, r);
		return;
	}
	rerun->call.done = on_got;
	ledger_get(queue->ledger, &rerun->call, rerun->id);
}

/* SPDX-License-Identifier: MIT */

/*
 * The last look before a Grader starts: it has its leases, so that what is true now stays so. The
 * ledger is asked for the judged Trial and for who wrote to its repository since, and then a thread
 * gets at hand what that Trial wrote, if it was asked for.
 */
#include "queue/grader.h"

#include <string.h>
#include <sys/stat.h>

#include "queue/bar_launch.h"
#include "queue/judged_output.h"
#include "queue/look.h"

struct grader_look {
	struct ledger_call call;
	uv_work_t work;
	Queue *queue;
	struct trial_work *waiting; /* NULL: it has left */
	uint64_t id;		    /* the Grader */
	uint64_t of;
	bool outputs; /* were asked for */
	bool awaited;
	bool done;
	int from, to; /* folders: the judged Trial's, the Grader's */
	int result;   /* of the thread */
	struct judged judged;
	struct bar_kept bar; /* whose standard it has */
	struct grading grading;
};

static void look_free(struct grader_look *look)
{
	judged_done(&look->judged);
	bar_kept_done(&look->bar);
	for (size_t i = 0; i < ARRAY_SIZE(look->grading.outputs); i++)
		fd_close(look->grading.outputs[i]);
	if (look->to >= 0 && look->outputs)
		judged_output_remove(look->to);
	fd_close(look->from);
	fd_close(look->to);
	free(look);
}

/* It was looked at: 0, FAULT with fault (taken), -errno. */
static void look_end(struct grader_look *look, int r, struct fault *fault)
{
	struct trial_work *waiting = look->waiting;
	Queue *queue = look->queue;

	look->done = true;
	if (!waiting) {
		look_free(look);
	} else {
		if (r == FAULT) {
			/* Whatever a refusal would be: what it was to judge is not there. */
			fault->code = ERROR_unavailable;
			fault->cause = CAUSE_no_result;
		}
		look_over(waiting, r, fault);
		if (look->awaited)
			trial_read_again(waiting->trial);
	}
	queue_call_ended(queue);
}

/* --- Its output ----------------------------------------------------------------------------------- */

static void output_work(uv_work_t *work)
{
	struct grader_look *look = container_of(work, struct grader_look, work);

	for (int i = STREAM_stdout; look->result == 0 && i <= STREAM_stderr; i++)
		look->result = judged_output_open(look->from, look->to, (enum stream)i,
						  look->judged.bytes[i], &look->grading.outputs[i]);
}

static void on_output(uv_work_t *work, int status)
{
	struct grader_look *look = container_of(work, struct grader_look, work);
	_cleanup_fault_ struct fault fault = FAULT_INIT;
	int r = status < 0 ? status : look->result;

	if (r == -ENOENT)
		r = fault_set(&fault, ERROR_unavailable,
			      "outputs: what Trial %llu wrote is not there any more",
			      (unsigned long long)look->of);
	look_end(look, r, &fault);
}

static int outputs_begin(struct grader_look *look, struct fault *fault)
{
	Queue *queue = look->queue;
	int r = launch_folder(queue->trials_fd, look->of, false, &look->from);

	if (r == -ENOENT)
		return fault_set(fault, ERROR_unavailable,
				 "outputs: the folder of Trial %llu is not there any more",
				 (unsigned long long)look->of);
	if (r == 0)
		r = launch_folder(queue->trials_fd, look->id, true, &look->to);
	return r == 0 ? uv_queue_work(queue->loop, &look->work, output_work, on_output) : r;
}

/* Whatever else keeps it from being bound, the plan tells. */
static int check_repository(const struct grader_look *look, struct fault *fault)
{
	const char *path = look->judged.repository;
	_cleanup_free_ char *shown = NULL;
	struct stat st;

	if (!path || stat(path, &st) == 0 || (errno != ENOENT && errno != ENOTDIR))
		return 0;
	shown = display(path);
	return fault_set(fault, ERROR_unavailable, "of: the repository of Trial %llu is gone: %s",
			 (unsigned long long)look->of, shown);
}

static void look_on(struct grader_look *look, int r, struct fault *fault)
{
	if (r == 0)
		r = check_repository(look, fault);
	if (r == 0 && look->outputs) {
		r = outputs_begin(look, fault);
		if (r == 0)
			return;
	}
	look_end(look, r, fault);
}

/* --- The judged Trial ----------------------------------------------------------------------------- */

static void on_since(struct ledger_call *call)
{
	struct grader_look *look = container_of(call, struct grader_look, call);
	_cleanup_fault_ struct fault fault = FAULT_INIT;
	int r = call->result;

	/* What the ledger cannot say now it may say at the next try. */
	if (r == 0)
		r = judged_check_since(&look->judged, call->rows, call->count, &fault);
	else
		r = -EAGAIN;
	look_on(look, r, &fault);
}

static void on_judged(struct ledger_call *call)
{
	struct grader_look *look = container_of(call, struct grader_look, call);
	_cleanup_fault_ struct fault fault = FAULT_INIT;
	Queue *queue = look->queue;
	bool ended = false;
	int r = call->result;

	if (r == -ENOENT)
		r = fault_set(&fault, ERROR_unavailable, "of: Trial %llu is no more",
			      (unsigned long long)look->of);
	else if (r == 0)
		r = judged_take(queue, call->row, &look->judged, &ended, &fault);
	else if (r == -EBADMSG || r == -EUCLEAN)
		r = fault_set(&fault, ERROR_unavailable,
			      "of: what the ledger has of Trial %llu is damaged",
			      (unsigned long long)look->of);
	else
		r = -EAGAIN;
	if (r == 0 && !ended)
		r = -EAGAIN;
	if (r == 0 && look->judged.repository) {
		look->call.done = on_since;
		ledger_list_since_end(queue->ledger, &look->call, look->of, judged_wrote,
				      &look->judged);
		return;
	}
	look_on(look, r, &fault);
}

/* The standard, of the very Bar that it was accepted under. */
static int look_at_bar(struct grader_look *look, const struct launch_request *launch,
		       const struct trial_facts *accepted, struct fault *fault)
{
	_cleanup_fault_ struct fault why = FAULT_INIT;
	const char *standard;
	int r;

	if (!launch->bar)
		return 0;
	r = bar_known_find(look->queue, launch->bar, &look->bar, &why);
	if (r == FAULT)
		return fault_void(fault, CAUSE_panel_refused, "%s", why.message);
	if (r == 0 && accepted->bar_id && strcmp(accepted->bar_id, look->bar.id) != 0)
		return fault_void(fault, CAUSE_panel_refused,
				  "bar: %s is not the one that this Grader was launched under",
				  launch->bar);
	if (r < 0)
		return r;
	standard = look->bar.held.bar.standard;
	look->grading.bar = standard;
	look->grading.bar_size = strlen(standard);
	return 0;
}

int grader_look(struct trial *trial, const struct launch_request *launch,
		const struct trial_facts *accepted, struct fault *ret_fault)
{
	struct grader_look *look = trial->work->grader_look;
	Queue *queue = trial->queue;
	int r;

	if (!launch_judges(launch))
		return 0;
	if (look)
		return look->done ? 0 : -EINPROGRESS;
	look = calloc(1, sizeof(*look));
	if (!look)
		return -ENOMEM;
	look->queue = queue;
	look->waiting = trial->work;
	look->id = trial->id;
	look->of = launch->of;
	look->outputs = launch->outputs;
	look->from = look->to = -1;
	look->grading = GRADING_INIT;
	r = look_at_bar(look, launch, accepted, ret_fault);
	if (r != 0) {
		look_free(look);
		return r;
	}
	trial->work->grader_look = look;
	queue_call_begun(queue);
	look->call.done = on_judged;
	ledger_get(queue->ledger, &look->call, launch->of);
	return -EINPROGRESS;
}

const struct grading *grader_grading(const struct trial *trial)
{
	const struct grader_look *look = trial->work->grader_look;

	return look ? &look->grading : NULL;
}

static int check_bound(const struct grader_look *look, const struct plan *plan, struct fault *fault)
{
	int r = 0;

	if (plan->repository_folder > 0)
		r = judged_check_bound(&look->judged,
				       plan->descriptors[plan->repository_folder - 1], fault);
	if (r == FAULT) {
		fault->code = ERROR_unavailable;
		fault->cause = CAUSE_no_result;
	}
	return r;
}

int grader_check_plan(const struct trial *trial, const struct plan *plan, struct fault *ret_fault)
{
	const struct grader_look *look = trial->work->grader_look;
	_cleanup_free_ char *shown = NULL;

	if (!look || !look->judged.repository)
		return 0;
	if (plan->repository && strcmp(plan->repository, look->judged.repository) == 0)
		return check_bound(look, plan, ret_fault);
	shown = display(look->judged.repository);
	return fault_void(ret_fault, CAUSE_no_result,
			  "of: the repository of Trial %llu is not where it was: %s",
			  (unsigned long long)look->of, shown);
}

void grader_look_await(struct trial *trial)
{
	if (trial->work->grader_look)
		trial->work->grader_look->awaited = true;
}

void grader_look_leave(struct trial_work *work)
{
	struct grader_look *look = steal(&work->grader_look);

	if (!look)
		return;
	look->waiting = NULL;
	if (look->done)
		look_free(look);
}

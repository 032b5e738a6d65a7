/* SPDX-License-Identifier: MIT */
#pragma once

#include "plan/grading.h"
#include "queue/queue.h"

/*
 * Graders: Trials that judge the result of another one, what that left in its repository.
 *
 * Where the judged Trial has not ended, its Grader steps out of the queue and waits with it, holding
 * neither slot nor lease, until that one's end is durable: nothing of it can write any more then. In
 * memory that is when it is forgotten. From its own turn on a Grader has its repository's lease
 * together with other Graders, so that none that writes to it runs; what came in between is looked for
 * once it has all of its leases. Nothing is remembered over a restart but the launch: the ledger has
 * what else there is to know.
 */

/* --- What there is to judge --- */

struct judged {
	uint64_t id;
	char *repository;  /* canonical; NULL: it had none */
	char *asked;	   /* the same as its launch spelled it */
	char *git;	   /* its git folder, where that lies elsewhere; or NULL */
	char *folder;	   /* which folder it had (folder_identity.h); NULL: it is not known */
	uint64_t bytes[2]; /* that it wrote to stdout and stderr, as its record says */
};

void judged_done(struct judged *judged);

/*
 * What a Trial that is to be judged left: of a row of the ledger. *ret_ended: it has ended, and there
 * is a result; else it has not ended. FAULT, as a refusal: there is none, and will be none.
 */
int judged_take(Queue *queue, const struct ledger_row *row, struct judged *ret_judged,
		bool *ret_ended, struct fault *ret_fault);
/* FAULT: there is no such Trial. */
int judged_not_found(uint64_t id, struct fault *ret_fault);

/* Whether a Trial of these facts may write to what struct judged *context left (ledger_wanted). */
bool judged_wrote(const struct blob *facts, const void *context);
/* FAULT: one of these rows wrote to the repository, so that it is no longer what was left. */
int judged_check_since(const struct judged *judged, struct ledger_row *const *rows, size_t count,
		       struct fault *ret_fault);
/* FAULT: at its path is another folder than it had, or a symbolic link; or that is what is open here. -errno. */
int judged_check_folder(const struct judged *judged, struct fault *ret_fault);
int judged_check_bound(const struct judged *judged, int fd, struct fault *ret_fault);

/*
 * A launch was refused, with fault: of a Grader it is looked whether that is because the repository it
 * is to judge cannot be opened by anybody. Then it is said so (code refused, cause no_result), since
 * neither this machine nor the Grader is to blame. FAULT, -errno. (judged_explain.c)
 */
int judged_explain(const struct plan_host *host, const struct launch_request *launch,
		   struct fault *fault);

/* --- Accepting (grader_submit.c) --- */

/* As queue_submit_frozen, of a launch that judges. */
void grader_submit(Queue *queue, const struct launch_request *request, int prompt_fd,
		   const struct trial_facts *facts, submit_done done, void *context);

/*
 * The prompt of a Grader under a Bar that was given none, or NULL: it has one, or no Bar. To be freed;
 * -ENOMEM. (grader_prompt.c)
 */
int grader_prompt(const struct launch_request *launch, char **ret_prompt);

/* --- Waiting (grader.c) --- */

/* Whether a Trial that judges would have to wait for the one that it judges. */
bool grader_must_wait(Queue *queue, uint64_t of);
/* Its turn has come: true when it has nothing to wait for; else it waits with the judged Trial. */
bool grader_take(struct trial *trial);
/* It waits no longer. */
void grader_leave(struct trial *trial);
/* A Trial is over: those that wait for it get their turn back. */
void grader_call(struct trial *judged);
/* What it waits for, into buffer; NULL when it does not wait. */
const char *grader_waits_for(const struct trial *trial, char *buffer, size_t size);

/* --- Its start (grader_look.c) --- */

/*
 * Looks once more whether there is what it is to judge, now that nobody can write to it, and gets at
 * hand what it is given of it. 0: it was looked at; -EINPROGRESS: it is, and the Trial is planned
 * again then; FAULT, -errno.
 */
int grader_look(struct trial *trial, const struct launch_request *launch,
		const struct trial_facts *accepted, struct fault *ret_fault);
/* What was found, for the plan; NULL: it is no Grader. */
const struct grading *grader_grading(const struct trial *trial);
/* That the repository that was planned is the one that the judged Trial had. FAULT, void. */
int grader_check_plan(const struct trial *trial, const struct plan *plan, struct fault *ret_fault);
/* Its start is durable: once the look is over, it goes on. */
void grader_look_await(struct trial *trial);
/* It waits no longer, and needs nothing of it any more. */
void grader_look_leave(struct trial_work *work);

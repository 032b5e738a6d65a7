/* SPDX-License-Identifier: MIT */
#pragma once

#include "place.h"
#include "plan/plan.h"
#include "program.h"
#include "session.h"
#include "session_login.h"

/*
 * What a session of a Harness takes from this host, beside what its launch names: its program and
 * release, its login, the person's own files that it reads, its prompt. Looked up here, effectful;
 * from it plan.c composes as from a launch.
 *
 * The harness is the set's, so nothing of this may be kept while the set can be replaced.
 */

/* The prompt, as it is kept in the Trial's folder. Everything is borrowed. */
struct session_prompt {
	bool there;
	uint64_t size;
	const char *data; /* all of it, when it is short enough for an argument; else NULL */
	int fd;		  /* of the file; -1: it is not to be bound */
};

/* A file or folder of the person's own, and where it is seen inside. */
struct session_source {
	char *path;
	struct place place;
};

struct session_plan {
	const struct harness *harness;
	const struct harness_login *login;
	struct program program;
	struct program_stamp stamp;
	char digest[PROGRAM_DIGEST_BYTES]; /* of the program; "" when it is not known yet */
	struct session session;
	struct session_login found; /* how it is signed in */
	struct session_source *sources;
	size_t source_count;
	char *bound_home; /* the path that has a home of its own inside, or NULL */
	int prompt_fd;	  /* to be bound at SESSION_PROMPT_FILE; borrowed, -1: none */
	int login_fd;	  /* to be bound as its login; borrowed, -1: none */
	int kept_fd;	  /* the kept session of an earlier Trial; borrowed, -1: none */
};

/*
 * Of a login in a file the session has a copy, which is its owner's to make (queue/login.h) before
 * the plan is composed: login_fd is the file (file), the folder that it is in, by the name that
 * the .harness file calls it (folder), or the Trials home (home).
 */
#define SESSION_PLAN_INIT                                                                          \
	((struct session_plan){.found = SESSION_LOGIN_INIT,                                        \
			       .program = PROGRAM_INIT,                                            \
			       .prompt_fd = -1,                                                    \
			       .login_fd = -1,                                                     \
			       .kept_fd = -1})

/*
 * 0, FAULT (a void's cause), -errno; -EINPROGRESS: the digest of its program is not known. Then
 * harness, login, program and stamp are filled, the caller looks at the program elsewhere
 * (program_digest, and program_ask when it has no version), and comes again once plan_learn_program
 * has it. interpreter: that its Arm has frozen, or NULL.
 */
int session_plan_make(struct session_plan *ret, const struct plan_host *host,
		      const struct launch_request *launch, const struct session_prompt *prompt,
		      const char *interpreter, struct fault *ret_fault);
/*
 * The same of one that a Custom runner drives, without a prompt and arguments. provider: it is signed in
 * by the key of one, not by a login of its own.
 */
struct session_declared {
	const char *name;
	const char *executable;			 /* NULL: wherever it is found */
	const char *interpreter;		 /* that its Arm has frozen, or NULL */
	const char *model, *provider, *endpoint; /* or NULL */
	const char *credential;			 /* of provider: TABLE.KEY */
	const char *repository;			 /* of the launch */
};
int session_plan_declared(struct session_plan *ret, const struct plan_host *host,
			  const struct session_declared *declared, struct fault *ret_fault);
void session_plan_done(struct session_plan *session);

/* What its program is called inside. NULL when out of memory; to be freed. */
char *session_plan_inside(const struct session_plan *session, const struct place *place);

/* Its program as it is found now, when no launch names another; a fault as of program_find. */
int session_plan_program(const struct plan_host *host, const struct harness *harness,
			 struct program *ret_program, struct fault *ret_fault);

/*
 * fault: that of its login. Where its program is missing too, that comes first, so that whoever has
 * neither is told of both. Returns FAULT.
 */
int session_plan_add_program(const struct plan_host *host, const struct launch_request *launch,
			     struct fault *fault);

/*
 * The program that a launch with a harness would have now, and its digest, "" when that is not known.
 * interpreter: as of session_plan_make.
 * FAULT: there is none.
 */
int session_plan_look(const struct plan_host *host, const struct launch_request *launch,
		      const char *interpreter, struct program *ret_program,
		      struct program_stamp *ret_stamp, char ret_digest[PROGRAM_DIGEST_BYTES],
		      struct fault *ret_fault);

/*
 * What can be refused before a launch is accepted: all that does not depend on whether the program
 * (but one that the launch names) and a login are there. prompt NULL: it is not at hand yet. ret_warnings (optional) is added to.
 */
int session_plan_check(const struct plan_host *host, const struct launch_request *launch,
		       const struct session_prompt *prompt, struct text_list *ret_warnings,
		       struct fault *ret_fault);

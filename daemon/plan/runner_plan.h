/* SPDX-License-Identifier: MIT */
#pragma once

#include "plan/arm_store.h"
#include "plan/session_plan.h"

/*
 * What a Custom runner takes from this host, beside what its launch names: of each Harness that its Arm
 * declares what a session of that would (session_plan.h), the keys of its providers, and the files that
 * are mapped for it, as they are kept. Looked up here, effectful; runner_compose.c makes the plan of it.
 *
 * Inside:
 *   RUNNER_FOLDER/PATH   its mapped files, read-only; ~/PATH in the fresh home, to be written to
 *   RUNNER_BIN/NAME      a wrapper for each Harness, first on PATH: it runs the pinned program with that
 *                        Harness's own variables and its web tools off, and passes on the rest
 * What switches web tools off in a file of the home is mounted read-only there. All of that only keeps
 * Harnesses from what they are not to do by themselves: whoever calls the program past its wrapper has
 * its tools, and what is enforced are the hosts that the Trial may reach.
 */
#define RUNNER_FOLDER "/opt/trials/runner"
#define RUNNER_BIN "/run/trials/bin"
#define RUNNER_EXCLUDE "/run/trials/git-exclude"
#define RUNNER_HOME_FILE_BYTES_MAX (4u << 20)	/* of a mapped file of the home */
#define RUNNER_HOME_FILES_BYTES_MAX (64u << 20) /* of all of them */

/* %s: Harnesses. */
#define RUNNER_TWO_HOMES                                                                            \
	"%s and %s: each is signed in by a home of its own, and a Trial can hold one; sign one of " \
	"them in by a key"
/* Of a mapped file of the home; %s: its path. */
#define RUNNER_FILE_TAKEN                                                                          \
	"files: nothing can be mapped at %s: a login or what is made up for a Harness is there"

struct runner_file {
	const struct arm_file *file;
	int fd; /* its content; owned */
};

struct runner_plan {
	const struct arm *arm;	       /* borrowed */
	struct session_plan *sessions; /* as the Arm's harnesses */
	size_t session_count;
	struct runner_file *files; /* as the Arm's files */
	size_t file_count;
	struct pair_list keys;	      /* of providers, by their variables; wiped */
	struct pair_list environment; /* of their SDKs, without keys */
	char *warning;		      /* of the credentials file, or NULL */
};

/*
 * 0; FAULT (a void's cause): all that is missing, of every Harness and provider, at once; -errno;
 * -EINPROGRESS: the digest of a program is not known, that of the session which runner_plan_unknown then
 * tells (session_plan_make). store: NULL when the Arm has no files.
 */
int runner_plan_make(struct runner_plan *ret, const struct plan_host *host, const struct arm *arm,
		     const struct launch_request *launch, const struct arm_store *store,
		     struct fault *ret_fault);
const struct session_plan *runner_plan_unknown(const struct runner_plan *runner);
void runner_plan_done(struct runner_plan *runner);

/* Where the credentials file has the key of a provider: TABLE.KEY. To be freed; NULL: memory. */
char *runner_credential(const struct plan_host *host, const char *provider);

/* The plan of such a Trial, as plan_make_session. */
int plan_make_runner(struct plan **ret_plan, const struct plan_host *host,
		     const struct launch_request *launch, const struct runner_plan *runner,
		     const struct grading *grading, struct fault *ret_fault);

/* The text of a Harness's wrapper; to be freed. */
int runner_wrapper(const struct runner_plan *runner, const struct session_plan *session,
		   char **ret_text);

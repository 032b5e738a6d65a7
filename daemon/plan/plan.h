/* SPDX-License-Identifier: MIT */
#pragma once

#include <sys/types.h>

#include "base/config.h"
#include "base/fault.h"
#include "base/list.h"

/*
 * The sandbox plan: from a launch to a typed list of what the sandbox will hold, and from that to
 * bwrap's arguments.
 *
 * Three steps, so that effects stay apart from logic:
 *   place   (place.h, effectful)  a host path, resolved once by descriptor: canonical path, the
 *                                 links passed on the way, device, inode, owner, kind
 *   plan    (build.h, pure)       launch + places + host facts -> operations, environment, limits
 *   bwrap   (bwrap.c, pure)       plan -> arguments, written for the descriptor numbers that
 *                                 keeper/channel.h fixes
 *
 * The policy of binds (what may be bound, what may be writable) is stated at the head of policy.c
 * and enforced there only, that of destinations (where) in destination.c, that of variables in
 * environment.c.
 */

/*
 * What is true of this host and this daemon; made once at start. Strings are owned. The cache is
 * what plans have in common, filled by the functions below: one thread at a time may call them.
 */
struct plan_host {
	uid_t uid;
	gid_t gid;
	char *user;	    /* the person's name, the same inside */
	char *home;	    /* canonical, from $HOME; the same path inside */
	char *home_given;   /* as $HOME spells it; its links are recreated inside */
	char *state_folder; /* canonical */
	char *runtime_folder;
	char *config_folder; /* may not exist */
	char *keeper;	     /* trial-keeper, whose tasks read what Trials may have written */
	const struct config *config;
	struct plan_cache *cache;
	struct harness_set *harnesses;	  /* borrowed; NULL: none could be read */
	struct toolchain_list toolchains; /* those that came with trialsd; owned */
	bool no_sandbox;		  /* base/no_sandbox.h */
	struct provider_set *providers;	  /* owned; NULL: none could be read */
	char *providers_fault;		  /* owned; what keeps providers.conf from being in force */
	struct text_list
		file_faults; /* owned; what of the person's files is not in force, and why */
};

int plan_host_init(struct plan_host *host, const char *home, const char *state_folder,
		   const char *runtime_folder, const char *config_folder,
		   const struct config *config, struct fault *ret_fault);
void plan_host_done(struct plan_host *host);

enum plan_operation_type {
	PLAN_BIND,	  /* descriptor -> destination */
	PLAN_SYSTEM_BIND, /* root-owned host path -> the same path, read-only */
	PLAN_TMPFS,	  /* size, mode */
	PLAN_DIRECTORY,
	PLAN_SYMLINK, /* source is the link's text */
	PLAN_FILE,    /* a file; mode 0: read-only; sealed: mounted, so that it stays what it is */
	PLAN_MASK,    /* a file that reads as empty, and is no program */
	PLAN_PROC,
	PLAN_DEV,
	PLAN_REMOUNT_RO,
};

/* How a login is bound: its file, the folder with its copy, the Trials home. */
enum plan_login { PLAN_LOGIN_none, PLAN_LOGIN_file, PLAN_LOGIN_folder, PLAN_LOGIN_home };

struct plan_operation {
	enum plan_operation_type type;
	char *destination; /* inside */
	char *source;	   /* host path (for the record) or link text */
	bool writable;
	int descriptor; /* index in plan->descriptors, -1 for none */
	uint64_t size;	/* PLAN_TMPFS: bytes at most */
	unsigned int mode;
	bool sealed;		/* PLAN_FILE */
	struct plan_file *file; /* PLAN_FILE: its contents */
	/* What a plan without a sandbox has to know: plan/no_sandbox.c. */
	bool fresh;   /* it is of the fresh home, wherever that is, and not of this host's place */
	bool made_up; /* PLAN_FILE: its text may name places of the sandbox */
	bool lock;    /* PLAN_BIND: the very file, and never a copy of it */
	enum plan_login login_kind;
	char *login; /* PLAN_BIND: of the Harness of this name; owned */
};

struct plan_toolchain {
	char *name;
	char *file; /* that says so */
	struct text_list read_only;
	struct text_list path;
	struct text_list programs;
};

struct plan {
	struct plan_operation *operations;
	size_t operation_count;
	int *descriptors; /* O_PATH, or sealed memfds for PLAN_FILE; owned */
	size_t descriptor_count;
	struct text_list command; /* owned copies, as all below */
	size_t prompt_word;	  /* of its words, from 1: the first that has the prompt; 0: none */
	size_t prompt_words;
	struct pair_list environment;
	int stop_signal;	  /* that the command is told to end with; 0: TERM */
	bool prompt_elsewhere;	  /* standard input is empty: the prompt is not given there */
	struct text_list secrets; /* names in environment whose values are wiped, and never told */
	char *cwd;
	char *repository; /* canonical, or NULL */
	bool repository_writable;
	size_t repository_folder; /* the number of its descriptor, from 1; 0: there is none */
	size_t git_folder;	  /* that of its git folder, where that lies elsewhere */
	bool git_shared;	  /* it is a worktree's, the rest of it made up */
	/* Of a runner with git_exclude: core.excludesFile of the repository. */
	bool git_excludes_named;
	char *git_excludes; /* what that has; NULL: nothing, inside */
	/* What the keeper keeps of the home at its end, or puts there: keep.c. Paths are below home. */
	char *home; /* NULL: nothing */
	char *bound_home;
	struct text_list state;
	struct text_list login_paths;
	struct text_list bound;
	bool keep_home;
	size_t session_folder;	  /* the number of its descriptor, from 1; 0: there is none */
	bool judges;		  /* a Grader: its verdict is read */
	struct text_list answers; /* of a session that judges: verdict.h */
	struct text_list pinned;  /* mount points inside, to be looked at from within */
	enum network network;
	/* Of network allowlist: network.c. */
	struct text_list hosts;	   /* that may be reached, as allow.h reads them */
	struct text_list internal; /* of trialsd.conf; of those allowed, what may be internal */
	char *refusal;		   /* or NULL */
	double idle_seconds;
	bool expects_network;	   /* its Harness needs hosts */
	bool no_sandbox;	   /* plan/no_sandbox.h: nothing is mounted */
	bool own_no_proxy;	   /* the launch says itself what the proxy is not asked for */
	struct limits_spec limits; /* effective: the launch's, else the configuration's */
	struct text_list asked;	   /* names in limits that the launch itself asked for */
	double grace_seconds;
	struct plan_toolchain *toolchains; /* as they were found, for the record */
	size_t toolchain_count;
	struct text_list notes;	   /* optional paths that were missing, shrunk sizes, … */
	struct text_list warnings; /* those of them that whoever launches should see at once */
};

struct session_plan; /* session_plan.h */
struct program_known;
struct grading; /* grading.h */

/*
 * Everything that can be refused about a launch, without opening anything for it: used before one
 * is accepted. ret_repository (optional) is the canonical repository, to be freed. ret_warnings
 * (optional): what is no reason to refuse it, and will hardly do what was meant.
 */
int plan_check(const struct plan_host *host, const struct launch_request *launch,
	       char **ret_repository, struct text_list *ret_warnings, struct fault *ret_fault);

/* The plan, with its descriptors open. Refusals are filled for a void outcome (cause). */
int plan_make(struct plan **ret_plan, const struct plan_host *host,
	      const struct launch_request *launch, struct fault *ret_fault);
/* That of a launch with a harness (session), of a Grader (grading), of both, or of neither. */
int plan_make_session(struct plan **ret_plan, const struct plan_host *host,
		      const struct launch_request *launch, const struct session_plan *session,
		      const struct grading *grading, struct fault *ret_fault);
/* What a look at a program found, for session_plan_make. */
void plan_learn_program(const struct plan_host *host, const struct program_known *program);
struct plan *plan_free(struct plan *plan);

/* What of a configuration only this layer can judge: for config.check. */
int plan_config_check(const struct config *config, struct fault *ret_fault);
/* What of it is no fault, and will hardly do what was meant: 1 with *ret_warning, to be freed; or 0. */
int plan_config_warning(const struct config *config, char **ret_warning);

/*
 * What of an Arm will hardly do what was meant, added to warnings: providers of it that are not as their
 * file has them, which is at fault; and what plan_arm_loopback says.
 */
struct arm;
int plan_arm_warnings(const struct plan_host *host, const struct arm *arm,
		      struct text_list *warnings);
/* A host of its Harnesses or providers that is this machine's loopback, and inside the Trial's own. */
int plan_arm_loopback(const struct arm *arm, struct text_list *warnings);

/* bwrap's options (no command) as a list; free with text_list_done. Pure. */
int plan_bwrap_arguments(const struct plan *plan, const struct plan_host *host,
			 struct text_list *ret_arguments);

/*
 * SHA-256, hexadecimal, of arguments, sources, file contents, command, environment and limits:
 * equal plans are equal. ret_digest holds 65 bytes.
 */
int plan_digest(const struct plan *plan, const struct text_list *arguments, char ret_digest[65]);

/*
 * The seccomp filter as a sealed memfd for bwrap's --seccomp. bwrap reads it to its end from the
 * position that everyone who holds this open file shares: give each launch one of its own, opened
 * anew through /proc/self/fd. judges: a Grader's, which refuses more.
 */
int plan_seccomp(bool judges, int *ret_fd, struct fault *ret_fault);

/*
 * The bwrap to use, pinned: an O_PATH descriptor, its path and version. Taken from configured, or
 * the first `bwrap` in the folders of PATH that only root can write (all the way up). Refused,
 * each with its remedy: none found, set-user-ID, writable by others than root, an option that a
 * sandbox needs missing (probed from --help, versions are not compared).
 */
struct plan_bwrap {
	int fd;
	char *path;
	char *version;
};
int plan_bwrap_pin(struct plan_bwrap *ret_bwrap, const char *configured, struct fault *ret_fault);
/* Whether another file is there by now: what is pinned goes on to be used until it is pinned anew. */
bool plan_bwrap_replaced(const struct plan_bwrap *bwrap);
void plan_bwrap_done(struct plan_bwrap *bwrap);

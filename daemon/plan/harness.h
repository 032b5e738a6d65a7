/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/list.h"

#include "base/fault.h"

/*
 * A Harness as its .harness file says: trialsd.harness(5) explains each key; the table of them is
 * in harness_keys.h. Nothing here is code for one Harness; what differs between them is data.
 *
 * Reading is pure but for the file itself: no path that a file names is looked at. Paths begin
 * with "~/" or "/", as written; "~" is the person's home, on the host and inside alike.
 *
 * All strings and lists are owned by the struct harness and never changed after the reading.
 * Absent texts are NULL, absent lists empty.
 */

#define HARNESS_FILE_BYTES_MAX 65536
#define HARNESS_ENTRIES_MAX 128 /* of one list */
#define HARNESS_SESSIONS_MAX 8	/* [Session] and [Session VERSION] together */
#define HARNESS_FILES_MAX 256	/* of one harness.d */
#define HARNESS_RELEASE_LEVELS_MAX 8

enum harness_login_kind {
	HARNESS_LOGIN_file,
	HARNESS_LOGIN_folder,
	HARNESS_LOGIN_home,
	HARNESS_LOGIN_env,
	HARNESS_LOGIN_none,
	HARNESS_LOGIN_KINDS,
};

enum harness_saves {
	HARNESS_SAVES_in_place,
	HARNESS_SAVES_rename,
	HARNESS_SAVES_rename_or_in_place,
};

enum harness_concurrency {
	HARNESS_CONCURRENCY_auto, /* exclusive while a Trial may refresh the login, else shared */
	HARNESS_CONCURRENCY_shared,
	HARNESS_CONCURRENCY_exclusive,
};

enum harness_expiry_unit {
	HARNESS_EXPIRY_s,
	HARNESS_EXPIRY_ms,
	HARNESS_EXPIRY_rfc3339,
};

enum harness_prompt {
	HARNESS_PROMPT_argument,
	HARNESS_PROMPT_stdin,
	HARNESS_PROMPT_file,
	HARNESS_PROMPT_WAYS,
};

/* NULL when there is no such value. */
const char *harness_login_kind_name(enum harness_login_kind kind);
const char *harness_saves_name(enum harness_saves saves);
const char *harness_concurrency_name(enum harness_concurrency concurrency);
const char *harness_prompt_name(enum harness_prompt prompt);

/* A generated file: its lines, with %h and %r still in them. */
struct harness_seed {
	char *path; /* "~/…" */
	char *text; /* each line ends with a line feed */
};

struct harness_seed_list {
	size_t count;
	struct harness_seed *items;
};

/* [Harness] */
struct harness_program {
	char *product;
	char *executable;
	char *family;
	struct text_list installed; /* patterns: a * stands for any bytes of one component */
	struct text_list native;    /* the same, from the folder of a script that was found */
	unsigned int release;	    /* 0: the file; N: the folder N above it, with all in it */
	char *interpreter;
	char *interpreter_version; /* the least, or NULL */
	char *version_file;	   /* below the release; JSON */
	char *version_path;	   /* in it */
	struct text_list version_arguments;
	struct text_list install; /* words: the command that installs it */
	struct pair_list environment;
	int stop_signal;
	bool root; /* whether it runs as uid 0 */
};

/* [Login KIND]; keys that another kind has are absent. */
struct harness_login {
	enum harness_login_kind kind;
	char *file;
	char *home;
	char *target;
	enum harness_saves saves;
	struct text_list locks;
	char *shared_lock;
	struct text_list keep;
	struct text_list require; /* PATH|PATH…: one of each must be there */
	struct text_list identity;
	struct text_list refreshes;
	struct text_list optional; /* of these, what a refresh may leave out */
	char *expiry;		   /* path */
	enum harness_expiry_unit expiry_unit;
	double refresh_ahead; /* seconds */
	struct text_list sign_in;
	enum harness_concurrency concurrency;
	char *credential; /* TABLE.KEY */
	char *variable;
	char *model_variable;
	char *provider_variable; /* that a provider's key goes into; NULL: variable */
	char *endpoint_variable;
	struct pair_list environment;
	struct text_list hosts;
};

/* [Home] */
struct harness_home {
	struct text_list read_only;
	struct text_list copies;
	struct harness_seed_list seeds;
};

/* [Session], or [Session VERSION]: that of releases from this version on. */
struct harness_session {
	char *from; /* NULL: [Session] */
	struct text_list arguments;
	struct text_list model, effort, model_effort, resume;
	struct text_list efforts;
	struct text_list never;
	unsigned int prompt_count;
	enum harness_prompt prompts[HARNESS_PROMPT_WAYS]; /* the preferred one first */
	struct text_list prompt_arguments[HARNESS_PROMPT_WAYS];
	uint64_t prompt_limit;	  /* bytes on stdin or in a file */
	struct text_list answers; /* rules of keeper/verdict.h: where in its output its answer is */
	struct text_list state;
};

/* [Web] */
struct harness_web {
	struct text_list arguments;
	struct text_list wrapper_arguments; /* that may stand before any others; or none */
	struct pair_list environment;
	struct harness_seed_list seeds;
};

/* [Providers]: how it is told of several, whose keys are in variables */
struct harness_providers {
	char *variable;
	char *text;		/* with %p for the pieces */
	char *each;		/* one: %o is the provider as it calls it, %v the variable */
	struct pair_list names; /* provider -> what it calls it, where that is another */
};

/* [Network]; HOST or HOST:PORT */
struct harness_network {
	struct text_list hosts;
	struct text_list also_tries;
	struct pair_list provider_hosts;
};

struct harness {
	char *name;
	char *path;
	unsigned int serial; /* of this reading: another one has another */
	struct harness_program program;
	struct harness_login *logins; /* the preferred one first */
	size_t login_count;
	struct harness_home home;
	struct harness_session *sessions; /* [0] is [Session]; the others in rising order */
	size_t session_count;
	struct harness_web web;
	struct harness_network network;
	struct harness_providers providers;
};

/* Whether a Harness can have this name, which is its file's without ".harness". */
bool harness_name_valid(const char *name);

/*
 * Reads the file that fd is open on (O_PATH will do); name is the Harness's and path is only for
 * faults and the record. -errno, or FAULT: "PATH:LINE: KEY: …".
 */
int harness_read_at(struct harness **ret_harness, const char *name, const char *path, int fd,
		    struct fault *ret_fault);
/* By its path, which must end in NAME.harness. What is missing is a fault too. */
int harness_read(struct harness **ret_harness, const char *path, struct fault *ret_fault);
struct harness *harness_free(struct harness *harness);

/* That of the newest VERSION that is not newer than this one; [Session] when it is NULL. */
const struct harness_session *harness_session_for(const struct harness *harness,
						  const char *version);
/* <0, 0, >0: 1.9 < 1.10 < 1.10.1; what follows the numbers ("-beta") does not count. */
int harness_version_compare(const char *a, const char *b);

/* The alternative of this kind, or NULL. */
const struct harness_login *harness_login_of(const struct harness *harness,
					     enum harness_login_kind kind);

/*
 * All Harnesses there are: the shipped folder's and, in the place of those of the same name, the
 * person's own. One with a faulty file is there with its fault; a faulty file of the person's own
 * never makes way for the shipped one.
 */
struct harness_entry {
	char *name;
	char *path;
	bool own;
	struct harness *harness; /* NULL: see fault */
	struct fault fault;
};

struct harness_set {
	struct harness_entry *entries; /* by name */
	size_t count;
	size_t faulty;
	char *own_folder; /* or NULL: for what is put there later */
};

/*
 * shipped_folder must be there, own_folder (or NULL) need not. What is not NAME.harness is passed
 * over. A fault only when a folder itself cannot be read.
 */
int harness_set_load(struct harness_set **ret_set, const char *shipped_folder,
		     const char *own_folder, struct fault *ret_fault);
struct harness_set *harness_set_free(struct harness_set *set);

/* The set's own. Refused: no such name (those there are, named), or its file is at fault. */
int harness_set_find(const struct harness_set *set, const char *name,
		     const struct harness **ret_harness, struct fault *ret_fault);

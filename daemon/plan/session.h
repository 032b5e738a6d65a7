/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/fault.h"
#include "harness.h"

/*
 * One session of a Harness: from its file and what a launch asks for to arguments, environment and
 * generated files. Pure: no path is looked at.
 */

/* The kernel's limit of one argument, without its NUL. */
#define SESSION_ARGUMENT_BYTES_MAX (128u * 1024u - 1u)
#define SESSION_MODEL_BYTES_MAX 256
#define SESSION_RESUME_BYTES_MAX 256
/*
 * Where a prompt that is read from a file stands inside. Without an ending: Grok takes a file
 * NAME.json for content blocks.
 */
#define SESSION_PROMPT_FILE "/run/trials/prompt"

/* Everything is borrowed. */
struct session_request {
	const struct harness *harness;
	const char *version;		   /* of the binary; NULL: not known */
	const struct harness_login *login; /* the alternative that is used, one of the harness's */
	const char *model, *effort, *resume; /* or NULL */
	bool has_prompt;
	const void *prompt; /* NULL: not at hand; it then cannot be an argument */
	size_t prompt_size; /* bytes */
	struct text_list extra;
	bool declared;				/* a Custom runner drives it, through a wrapper */
	const char *endpoint;			/* declared: the URL that its key is for, or NULL */
	const struct text_list *endpoint_hosts; /* in the place of its login's; NULL: those */
	bool judges;				/* a Grader: a Bar has a prompt to give */
	bool web;				/* leaves the Harness's own web tools on */
	uid_t uid;				/* that it runs as */
	const char *home;			/* canonical */
	const char *home_told;			/* what %h stands for; NULL: home */
	const char *repository;			/* canonical; NULL: there is none */
};

/*
 * A file of the fresh home: what the person's own file of the same path holds (if copy, and if
 * there is one), then, beginning a line, text. Ready to be written: nothing is left to be replaced.
 */
struct session_file {
	char *path; /* absolute */
	bool copy;
	bool web;   /* it switches web tools off */
	char *text; /* "" when there is only the copy */
};

struct session {
	struct text_list arguments;   /* behind the program's own name; declared: before others */
	struct pair_list environment; /* without the secret of [Login env] */
	struct pair_list own;	      /* declared: of its wrapper alone */
	enum harness_prompt prompt;   /* stdin: else that is /dev/null; see has_prompt */
	bool has_prompt;
	size_t prompt_word; /* of the arguments, from 1: the first of those that {prompt} became */
	size_t prompt_words;
	bool web_left_on;	    /* it was to be off, and the Harness's file does not say how */
	struct session_file *files; /* by path */
	size_t file_count;
	struct text_list hosts; /* that it needs: HOST or HOST:PORT */
};

/*
 * Refused, naming the field of the launch: what the Harness has no way to be told (a model, an
 * effort, a session to resume), a prompt that no way it takes one will hold, no prompt at all, an
 * argument that its file forbids.
 *
 * Of one that is declared there are only what signs it in, its files, and of arguments and environment
 * what its wrapper gives it: what it is asked is for whoever calls it to say.
 */
int session_compose(struct session *ret_session, const struct session_request *request,
		    struct fault *ret_fault);
void session_done(struct session *session);

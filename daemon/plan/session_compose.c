/* SPDX-License-Identifier: MIT */
#include "build.h"
#include "session_plan.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "harness_words.h"
#include "session_file.h"
#include "text_file.h"

/*
 * From a session to parts of a plan. What trialsd found itself goes the way of what a launch names,
 * policy and all; only files that are made up, and the prompt, are put in directly.
 *
 * A prompt in a file is bound from the Trial's folder, read-only: it may be of 20 MiB, and what is
 * written into the sandbox's own memory counts against its limit.
 */

int session_command(struct plan *plan, const struct session_plan *session)
{
	const struct program *program = &session->program;
	const struct text_list *arguments = &session->session.arguments;
	_cleanup_free_ char *file = session_plan_inside(session, &program->file);
	const struct session *own = &session->session;
	int r = file ? 0 : -ENOMEM;

	if (r == 0 && program->interpreter.fd >= 0)
		r = text_list_add(&plan->command, program->interpreter.canonical);
	if (r == 0)
		r = text_list_add(&plan->command, file);
	if (own->has_prompt && own->prompt == HARNESS_PROMPT_argument) {
		plan->prompt_word = plan->command.count + own->prompt_word;
		plan->prompt_words = own->prompt_words;
	}
	for (size_t i = 0; r == 0 && i < arguments->count; i++)
		r = text_list_add(&plan->command, arguments->items[i]);
	return r;
}

/* Whether a place is there already, as a part of another one of the same session. */
static bool is_part(const struct place *place, const struct place *whole)
{
	return whole->canonical && path_within(place->canonical, whole->canonical);
}

static int add_program(struct bound_list *bounds, const struct session_plan *session,
		       const struct place *place, const char *field, struct fault *fault)
{
	_cleanup_free_ char *destination = session_plan_inside(session, place);
	struct bound *bound;
	int r;

	if (!destination)
		return -ENOMEM;
	r = bound_list_add(bounds, field, place, destination, &bound, fault);
	if (r != 0)
		return r;
	bound->usual = true;
	bound->release = true;
	return 0;
}

int session_bounds(struct bound_list *bounds, const struct session_plan *session,
		   struct fault *ret_fault)
{
	const struct program *program = &session->program;
	bool folder = program->release.fd >= 0;
	int r = 0;

	if (program->interpreter.fd >= 0 && !is_part(&program->interpreter, &program->release))
		r = add_program(bounds, session, &program->interpreter, "interpreter", ret_fault);
	if (r == 0)
		r = add_program(bounds, session, folder ? &program->release : &program->file,
				folder ? "release" : "executable", ret_fault);
	for (size_t i = 0; r == 0 && i < session->source_count; i++) {
		const struct session_source *source = &session->sources[i];
		struct bound *bound;

		r = bound_list_add(bounds, source->path, &source->place, source->path, &bound,
				   ret_fault);
		if (r == 0)
			bound->usual = bound->fresh = true;
	}
	return r;
}

static int check_tables(const char *own, const struct session_file *file, const char *shown,
			struct fault *fault)
{
	_cleanup_free_ char *table = NULL;
	int r = session_file_table_twice(own, file->text, &table);

	if (r < 0 || !table)
		return r;
	r = fault_set(fault, ERROR_unavailable, SESSION_TABLE_TWICE, shown, table);
	return r == FAULT ? fault_hint(fault, SESSION_TABLE_HINT, table, shown) : r;
}

/* The person's own file, if there is one, with the lines that were made up behind it. */
static int file_text(const struct session_file *file, char **ret_text, size_t *ret_size,
		     struct fault *fault)
{
	_cleanup_(place_done) struct place place = PLACE_INIT;
	_cleanup_fault_ struct fault why = FAULT_INIT;
	_cleanup_free_ char *copy = NULL, *shown = display(file->path);
	size_t size = 0, more = strlen(file->text);
	bool missing = true, line;
	char *text;
	int r = 0;

	if (file->copy)
		r = place_open(&place, "copy", file->path, &missing, &why);
	if (r == FAULT && !missing)
		return fault_set(fault, ERROR_unavailable, "%s", why.message);
	if (r < 0)
		return r;
	if (file->copy && !missing) {
		r = text_file_read_at(place.fd, SESSION_COPY_BYTES_MAX, &copy, &size);
		if (r == -ENOMEM || r == -EMFILE || r == -ENFILE)
			return r;
		if (r < 0)
			return fault_set(fault, ERROR_unavailable, "%s cannot be copied: %s", shown,
					 r == -EFBIG ? "larger than 4 MiB" : strerror(-r));
		r = check_tables(copy, file, shown, fault);
		if (r != 0)
			return r;
	}
	line = more > 0 && size > 0 && copy[size - 1] != '\n';
	text = malloc(size + line + more + 1);
	if (!text)
		return -ENOMEM;
	if (size > 0)
		memcpy(text, copy, size);
	text[size] = '\n';
	memcpy(text + size + line, file->text, more + 1);
	*ret_text = text;
	*ret_size = size + line + more;
	return 0;
}

static int add_file(struct plan *plan, const struct session_file *file, bool sealed,
		    struct fault *fault)
{
	struct plan_operation *operation;
	char *text = NULL;
	size_t size = 0;
	int r;

	r = file_text(file, &text, &size, fault);
	if (r != 0)
		return r;
	/* A copy of nothing is left out: the program makes its own. */
	if (size == 0) {
		free(text);
		return 0;
	}
	operation = plan_add(plan, PLAN_FILE, file->path, NULL);
	if (!operation) {
		free(text);
		return -ENOMEM;
	}
	operation->mode = sealed ? 0400 : 0600;
	operation->sealed = sealed;
	operation->fresh = operation->made_up = true;
	return plan_file_new(&operation->file, text, size);
}

int session_bind(struct plan *plan, const char *destination, const char *source, int fd,
		 bool writable)
{
	int *descriptors = realloc(plan->descriptors,
				   (plan->descriptor_count + 1) * sizeof(*descriptors));
	struct plan_operation *operation;
	int copy;

	if (!descriptors)
		return -ENOMEM;
	plan->descriptors = descriptors;
	operation = plan_add(plan, PLAN_BIND, destination, source);
	if (!operation)
		return -ENOMEM;
	copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (copy < 0)
		return -errno;
	operation->writable = writable;
	operation->descriptor = (int)plan->descriptor_count;
	descriptors[plan->descriptor_count++] = copy;
	return 0;
}

/* A folder elsewhere than the login's usual place has a link there that leads to it. */
static int add_login_link(struct plan *plan, const char *folder, const char *file)
{
	struct plan_operation *operation;
	_cleanup_free_ char *to = NULL;

	if (path_within(file, folder))
		return 0;
	if (asprintf(&to, "%s/%s", folder, strrchr(file, '/') + 1) < 0) {
		to = NULL;
		return -ENOMEM;
	}
	operation = plan_add(plan, PLAN_SYMLINK, file, to);
	if (operation)
		operation->fresh = true;
	return operation ? 0 : -ENOMEM;
}

/* It may be written to, since programs open their locks so; what is in it is nothing. */
static int add_shared_lock(struct plan *plan, const struct plan_host *host,
			   const struct session_plan *session)
{
	_cleanup_free_ char *path = NULL;
	int r;

	if (session->found.lock_fd < 0)
		return 0;
	path = session_login_path(host, session->login->shared_lock);
	r = path ? session_bind(plan, path, "lock", session->found.lock_fd, true) : -ENOMEM;
	if (r == 0)
		plan->operations[plan->operation_count - 1].fresh =
			plan->operations[plan->operation_count - 1].lock = true;
	return r;
}

/* The copy, or the Trials home, at its place. */
static int bind_login(struct plan *plan, const struct session_plan *session, const char *path,
		      enum plan_login kind)
{
	int r = session_bind(plan, path, "login", session->login_fd, true);
	struct plan_operation *operation;

	if (r < 0)
		return r;
	operation = &plan->operations[plan->operation_count - 1];
	operation->fresh = true;
	operation->login_kind = kind;
	operation->login = strdup(session->harness->name);
	return operation->login ? 0 : -ENOMEM;
}

static int add_login(struct plan *plan, const struct plan_host *host,
		     const struct session_plan *session)
{
	const struct harness_login *login = session->login;
	_cleanup_free_ char *file = session_login_path(host, login->file);
	_cleanup_free_ char *target = NULL;
	int r;

	if (!file)
		return -ENOMEM;
	if (login->kind == HARNESS_LOGIN_file) {
		r = bind_login(plan, session, file, PLAN_LOGIN_file);
		return r == 0 ? add_shared_lock(plan, host, session) : r;
	}
	target = session_login_path(host, login->target);
	if (!target)
		return -ENOMEM;
	r = bind_login(plan, session, target,
		       login->kind == HARNESS_LOGIN_home ? PLAN_LOGIN_home : PLAN_LOGIN_folder);
	return r == 0 && login->kind == HARNESS_LOGIN_folder ? add_login_link(plan, target, file)
							     : r;
}

int session_parts(struct plan *plan, const struct plan_host *host,
		  const struct session_plan *session, bool sealed, struct fault *ret_fault)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < session->session.file_count; i++) {
		const struct session_file *file = &session->session.files[i];

		r = add_file(plan, file, sealed && file->web, ret_fault);
	}
	if (r == 0 && session->login_fd >= 0)
		r = add_login(plan, host, session);
	if (r == 0 && session->session.web_left_on)
		r = plan_note(plan,
			      "harness: %s's own web tools are as it has them: its file does not "
			      "say how to switch them off",
			      session->harness->name);
	if (r == 0 && session->found.warning && !words_have(&plan->notes, session->found.warning))
		r = plan_warn(plan, "%s", session->found.warning);
	return r;
}

int session_contents(struct plan *plan, const struct plan_host *host,
		     const struct session_plan *session, struct fault *ret_fault)
{
	int r = 0;

	plan->stop_signal = session->harness->program.stop_signal;
	plan->prompt_elsewhere = session->session.has_prompt &&
				 session->session.prompt != HARNESS_PROMPT_stdin;
	if (session->prompt_fd >= 0)
		r = session_bind(plan, SESSION_PROMPT_FILE, "prompt", session->prompt_fd, false);
	return r == 0 ? session_parts(plan, host, session, false, ret_fault) : r;
}

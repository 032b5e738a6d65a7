/* SPDX-License-Identifier: MIT */
#include "session_login.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "build.h"
#include "credentials.h"

#define LOCK_BYTES_MAX 4096

char *session_login_path(const struct plan_host *host, const char *path)
{
	char *text;

	if (path[0] != '~')
		return strdup(path);
	return asprintf(&text, "%s%s", host->home, path + 1) < 0 ? NULL : text;
}

int session_login_command(const struct harness_login *login, char **ret_command)
{
	size_t size = 0;
	FILE *file = open_memstream(ret_command, &size);

	if (!file)
		return -ENOMEM;
	for (size_t i = 0; i < login->sign_in.count; i++)
		fprintf(file, "%s%s", i ? " " : "", login->sign_in.items[i]);
	return fclose(file) == 0 ? 0 : -ENOMEM;
}

/* --- None is there -------------------------------------------------------------------------------- */

static int what_was_looked_for(const struct harness *harness, char **ret_text)
{
	size_t size = 0;
	FILE *file = open_memstream(ret_text, &size);

	if (!file)
		return -ENOMEM;
	for (size_t i = 0; i < harness->login_count; i++) {
		const struct harness_login *login = &harness->logins[i];
		_cleanup_free_ char *line = NULL;

		fputs(i == 0 ? "" : ", and ", file);
		if (login->kind == HARNESS_LOGIN_env)
			line = credentials_line(login->credential);
		if (line)
			fprintf(file, "~/" CREDENTIALS_FILE " has no %s", line);
		else
			fprintf(file, "there is no %s", login->file);
	}
	return fclose(file) == 0 ? 0 : -ENOMEM;
}

/* By the first way that has a command; NULL when none has. */
static int how_to_sign_in(const struct harness *harness, char **ret_text)
{
	const struct harness_login *env = harness_login_of(harness, HARNESS_LOGIN_env);

	*ret_text = NULL;
	for (size_t i = 0; i < harness->login_count; i++) {
		const struct harness_login *login = &harness->logins[i];
		_cleanup_free_ char *command = NULL, *line = NULL;
		int r;

		if (login->sign_in.count == 0)
			continue;
		r = session_login_command(login, &command);
		if (r == 0 && login->kind == HARNESS_LOGIN_env) {
			line = credentials_line(login->credential);
			*ret_text = line ? text_format("%s, whose key goes into ~/" CREDENTIALS_FILE
						       " as %s",
						       command, line)
					 : NULL;
			r = *ret_text ? 0 : -ENOMEM;
		} else if (r == 0) {
			*ret_text = steal(&command);
		}
		return r;
	}
	if (env) {
		_cleanup_free_ char *line = credentials_line(env->credential);

		*ret_text = line ? text_format("put its key into ~/" CREDENTIALS_FILE ", as %s",
					       line)
				 : NULL;
		return *ret_text ? 0 : -ENOMEM;
	}
	return 0;
}

/* Names all that was looked for, and the command in the message too. */
static int refuse_all(const struct harness *harness, struct fault *fault)
{
	_cleanup_free_ char *text = NULL, *how = NULL;
	int r = what_was_looked_for(harness, &text);

	if (r == 0)
		r = how_to_sign_in(harness, &how);
	if (r < 0)
		return r;
	r = fault_void(fault, CAUSE_session_unavailable, "%s: it is not signed in: %s%s%s",
		       harness->name, text, how ? "; to sign in: " : "", how ? how : "");
	return how ? fault_hint(fault, SESSION_LOGIN_HINT, harness->name) : r;
}

/* Adds how to sign in: to the message too, since some show only that. */
static int name_command(const struct harness *harness, const struct harness_login *login,
			struct fault *fault)
{
	_cleanup_free_ char *command = NULL, *message = NULL;
	int r = session_login_command(login, &command);

	if (r < 0 || !*command)
		return r < 0 ? r : FAULT;
	if (asprintf(&message, "%s; to sign in: %s", fault->message, command) < 0) {
		message = NULL;
		return -ENOMEM;
	}
	free(fault->message);
	fault->message = steal(&message);
	return fault_hint(fault, SESSION_LOGIN_HINT, harness->name);
}

int session_login_refuse(const struct harness *harness, const struct harness_login *login,
			 const char *reason, struct fault *ret_fault)
{
	int r = fault_void(ret_fault, CAUSE_session_unavailable, "%s: its login %s: %s",
			   harness->name, login->file, reason);

	return r < 0 ? r : name_command(harness, login, ret_fault);
}

/* --- Whether one is there ------------------------------------------------------------------------- */

static void secret_done(struct pair *secret)
{
	if (secret->value)
		explicit_bzero((char *)secret->value, strlen(secret->value));
	free((char *)secret->name);
	free((char *)secret->value);
	*secret = (struct pair){0};
}

static void credentials_done(struct credentials **credentials)
{
	credentials_free(*credentials);
}

/* 1: it is there, and in *ret_secret; 0: it is not. FAULT: the file is at fault. */
static int take_key(const struct plan_host *host, struct session_login *found,
		    const char *credential, const char *variable, struct fault *fault)
{
	_cleanup_(credentials_done) struct credentials *credentials = NULL;
	_cleanup_free_ char *path = session_login_path(host, "~/" CREDENTIALS_FILE);
	const char *value = NULL;
	int r;

	if (!path)
		return -ENOMEM;
	r = credentials_read(&credentials, path, fault);
	if (r == 0)
		r = credentials_get(credentials, credential, &value, fault);
	if (r != 0 || !value)
		return r == FAULT ? -EBADMSG : r;
	if (credentials_warning(credentials)) {
		found->warning = strdup(credentials_warning(credentials));
		if (!found->warning)
			return -ENOMEM;
	}
	found->secret.name = strdup(variable);
	found->secret.value = strdup(value);
	return found->secret.name && found->secret.value ? 1 : -ENOMEM;
}

/*
 * The host's own is bound, so that the lock holds on both sides. One that is not there yet is made
 * by whoever needs it, each on its own side.
 */
static int take_lock(const struct plan_host *host, struct session_login *found,
		     const struct harness_login *login, struct fault *fault)
{
	_cleanup_free_ char *path = session_login_path(host, login->shared_lock);
	_cleanup_close_ int fd = -1;
	struct stat st;

	if (!path)
		return -ENOMEM;
	fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	if (fd < 0 || fstat(fd, &st) < 0)
		return fault_void(fault, CAUSE_session_unavailable, "the login's lock %s: %s",
				  login->shared_lock, strerror(errno));
	if (!S_ISREG(st.st_mode) || st.st_uid != getuid() || st.st_nlink != 1 ||
	    st.st_size > LOCK_BYTES_MAX)
		return fault_void(fault, CAUSE_session_unavailable,
				  "the login's lock %s is not a small regular file of yours with "
				  "one name; remove it",
				  login->shared_lock);
	found->lock_fd = fd_steal(&fd);
	return 0;
}

/* What the home must be like is for its lease to see (queue/home_guard.h). */
static int take_file(const struct plan_host *host, struct session_login *found,
		     const struct harness *harness, const struct harness_login *login,
		     struct fault *fault)
{
	struct stat st;
	bool there;
	int r = 0;

	found->path = session_login_path(host, login->file);
	if (!found->path)
		return -ENOMEM;
	if (login->kind != HARNESS_LOGIN_home)
		r = login_place_find(found->path, &found->place, fault);
	if (r == FAULT)
		r = name_command(harness, login, fault);
	if (r != 0)
		return r == FAULT ? -EBADMSG : r;
	there = login->kind == HARNESS_LOGIN_home
			? fstatat(AT_FDCWD, found->path, &st, AT_SYMLINK_NOFOLLOW) == 0
			: found->place.there;
	if (there && login->shared_lock) {
		r = take_lock(host, found, login, fault);
		if (r != 0)
			return r == FAULT ? -EBADMSG : r;
	}
	return there;
}

static int take(const struct plan_host *host, struct session_login *found,
		const struct harness *harness, const struct harness_login *login,
		struct fault *fault)
{
	switch (login->kind) {
	case HARNESS_LOGIN_none:
		return 1;
	case HARNESS_LOGIN_env:
		return take_key(host, found, login->credential, login->variable, fault);
	default:
		return take_file(host, found, harness, login, fault);
	}
}

int session_login_look(struct session_login *ret, const struct plan_host *host,
		       const struct harness *harness, const struct harness_login *login,
		       bool *ret_there, struct fault *ret_fault)
{
	int r;

	*ret = SESSION_LOGIN_INIT;
	r = take(host, ret, harness, login, ret_fault);
	*ret_there = r != 0;
	if (r < 0) {
		session_login_done(ret);
		return r == -EBADMSG ? FAULT : r;
	}
	ret->login = login;
	return 0;
}

int session_login_find(struct session_login *ret, const struct plan_host *host,
		       const struct harness *harness, struct fault *ret_fault)
{
	*ret = SESSION_LOGIN_INIT;
	for (size_t i = 0; i < harness->login_count; i++) {
		int r = take(host, ret, harness, &harness->logins[i], ret_fault);

		if (r > 0) {
			ret->login = &harness->logins[i];
			return 0;
		}
		session_login_done(ret);
		if (r == 0)
			continue;
		if (r != -EBADMSG)
			return r;
		/* What is there and at fault is not passed over: another account may come next. */
		ret_fault->code = ERROR_unavailable;
		ret_fault->cause = CAUSE_session_unavailable;
		return FAULT;
	}
	return refuse_all(harness, ret_fault);
}

int session_login_by_provider(struct session_login *ret, const struct plan_host *host,
			      const struct harness *harness, const char *provider,
			      const char *credential, struct fault *ret_fault)
{
	const struct harness_login *login = harness_login_of(harness, HARNESS_LOGIN_env);
	int r;

	*ret = SESSION_LOGIN_INIT;
	if (!login)
		return fault_void(ret_fault, CAUSE_session_unavailable,
				  "%s: it has no way to be given the key of a provider: its "
				  ".harness file has no [Login env]",
				  harness->name);
	r = take_key(host, ret, credential,
		     login->provider_variable ? login->provider_variable : login->variable,
		     ret_fault);
	if (r > 0) {
		ret->login = login;
		return 0;
	}
	session_login_done(ret);
	if (r == 0) {
		_cleanup_free_ char *absent = credentials_absent(credential);
		const char *lines[] = {absent};

		if (!absent)
			return -ENOMEM;
		fault_void(ret_fault, CAUSE_session_unavailable, "%s: the provider %s: %s",
			   harness->name, provider, absent);
		return fault_hint(ret_fault, "%s", credentials_hint(&(struct text_list){1, lines}));
	}
	if (r != -EBADMSG)
		return r;
	ret_fault->code = ERROR_unavailable;
	ret_fault->cause = CAUSE_session_unavailable;
	return FAULT;
}

void session_login_done(struct session_login *found)
{
	secret_done(&found->secret);
	free(found->warning);
	free(found->path);
	fd_close(found->place.folder_fd);
	fd_close(found->lock_fd);
	*found = SESSION_LOGIN_INIT;
}

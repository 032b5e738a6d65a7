/* SPDX-License-Identifier: MIT */
#pragma once

/* Of interleavings.h: no Trial there has a Harness, and so none has a login. */
#include "queue/login.h"

void logins_init(Queue *queue)
{
	(void)queue;
}

void logins_free(Queue *queue)
{
	(void)queue;
}

void logins_load(Queue *queue)
{
	(void)queue;
}

struct trial_login *login_get(Queue *queue, const struct config *config,
			      const struct launch_request *request, const struct trial_facts *facts,
			      int *ret_error)
{
	(void)facts;
	(void)config;
	(void)queue;
	(void)request;
	*ret_error = 0;
	return NULL;
}

void login_put(struct trial_login *login)
{
	(void)login;
}

void login_attach(struct trial *trial, struct trial_login *login)
{
	trial->login = login;
}

bool login_take_at_once(struct trial *trial)
{
	(void)trial;
	return true;
}

bool login_take(struct trial *trial)
{
	(void)trial;
	return true;
}

void login_take_again(struct trial *trial)
{
	(void)trial;
}

void login_release(struct trial *trial)
{
	(void)trial;
}

void logins_give_back(Queue *queue)
{
	(void)queue;
}

void login_prepare(struct trial *trial)
{
	(void)trial;
}

void login_await(struct trial *trial)
{
	(void)trial;
}

void login_running(struct trial *trial, const char *cgroup)
{
	(void)trial;
	(void)cgroup;
}

bool login_finish(struct trial *trial, const struct outcome_record *record)
{
	(void)trial;
	(void)record;
	return false;
}

bool login_is_finishing(const struct trial *trial)
{
	(void)trial;
	return false;
}

void login_end_kept(struct trial *trial)
{
	(void)trial;
}

bool login_waiting(const struct trial *trial)
{
	(void)trial;
	return false;
}

uint64_t login_held_since(const struct trial *trial)
{
	(void)trial;
	return 0;
}

size_t login_position(const struct trial *trial, size_t most)
{
	(void)trial;
	(void)most;
	return 0;
}

const char *login_waits_for(const struct trial *trial, char *buffer, size_t size)
{
	(void)trial;
	if (size > 0)
		buffer[0] = '\0';
	return NULL;
}

int launch_group(const Launch *launch, char *buffer, size_t size)
{
	(void)launch;
	if (size > 0)
		buffer[0] = '\0';
	return -ENOENT;
}

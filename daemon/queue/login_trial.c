/* SPDX-License-Identifier: MIT */
#include "queue/login_private.h"

#include <stdio.h>
#include <string.h>

#include "base/list.h"

/* All logins of a Trial: login.h. */

_Static_assert(LOGINS_MAX >= ARM_HARNESSES_MAX,
	       "a Trial may want a login of each of its Harnesses");

static struct trial_login *get_one(Queue *queue, const char *harness, double wall_seconds)
{
	struct trial_login *login = calloc(1, sizeof(*login));

	if (login)
		login->line = login_line_get(queue, harness);
	if (!login || !login->line) {
		free(login);
		return NULL;
	}
	login->wall_seconds = wall_seconds;
	return login;
}

struct trial_login *login_get(Queue *queue, const struct config *config,
			      const struct launch_request *request, int *ret_error)
{
	double wall_seconds = request->limits.has.wall_seconds	? request->limits.wall_seconds
			      : config->limits.has.wall_seconds ? config->limits.wall_seconds
								: -1;
	struct trial_login *first = NULL, **end = &first;
	struct text_list names;

	*ret_error = login_wanted(request, &names);
	if (*ret_error == 0 && names.count > LOGINS_MAX)
		*ret_error = -E2BIG;
	for (size_t i = 0; *ret_error == 0 && i < names.count; i++) {
		*end = get_one(queue, names.items[i], wall_seconds);
		if (*end)
			end = &(*end)->next;
		else
			*ret_error = -ENOMEM;
	}
	text_list_done(&names);
	if (*ret_error == 0)
		return first;
	login_put(first);
	return NULL;
}

void login_put(struct trial_login *login)
{
	while (login) {
		struct trial_login *next = login->next;

		login_let_go(login);
		login_forget_stale(login);
		login_line_drop(login->line);
		free(login);
		login = next;
	}
}

void login_attach(struct trial *trial, struct trial_login *first)
{
	trial->login = first;
	LOGIN_EACH(login, trial)
	login->trial = trial;
}

const char *login_part(const struct trial_login *login)
{
	const struct trial *trial = login->trial;

	return trial && trial->login && trial->login->next ? login->line->harness : NULL;
}

unsigned int login_lease_number(const struct trial_login *login)
{
	unsigned int number = LAUNCH_LEASE;

	if (login->lease->use_fd < 0)
		return 0;
	for (const struct trial_login *other = login->trial->login; other != login;
	     other = other->next)
		number += other->lease && other->lease->lease_fd >= 0;
	return number;
}

/* --- Taking --------------------------------------------------------------------------------------- */

struct ranked {
	struct trial_login *login;
	struct login_rank rank;
};

/* In the order in which all take theirs; how many. */
static size_t rank_all(struct trial *trial, struct ranked ranked[LOGINS_MAX])
{
	size_t count = 0, at;

	LOGIN_EACH(login, trial)
	{
		struct ranked one = {.login = login};

		login_rank(login, &one.rank);
		for (at = count++; at > 0 && strcmp(ranked[at - 1].rank.text, one.rank.text) > 0;
		     at--)
			ranked[at] = ranked[at - 1];
		ranked[at] = one;
	}
	return count;
}

/* What is suspect may be so for days: nobody else is to wait for what this one would have. */
static void wait_for_suspect(struct trial *trial, struct trial_login *suspect)
{
	LOGIN_EACH(login, trial)
	if (login != suspect)
		login_let_go(login);
	login_wait_held(suspect);
}

static bool take_all(struct trial *trial)
{
	struct ranked ranked[LOGINS_MAX];
	size_t count = rank_all(trial, ranked), i;

	for (i = 0; i < count; i++) {
		if (!ranked[i].rank.suspect)
			continue;
		wait_for_suspect(trial, ranked[i].login);
		return false;
	}
	for (i = 0; i < count && login_take_one(ranked[i].login); i++)
		;
	if (i == count)
		return true;
	/* What comes later in the order it must not have while it waits for this one. */
	for (size_t later = i + 1; later < count; later++)
		login_let_go(ranked[later].login);
	if (ranked[i].login->line->held)
		wait_for_suspect(trial, ranked[i].login);
	return false;
}

bool login_take(struct trial *trial)
{
	if (!trial->login)
		return true;
	return trial->login->next ? take_all(trial) : login_take_one(trial->login);
}

bool login_take_at_once(struct trial *trial)
{
	LOGIN_EACH(login, trial)
	if (!login_take_one_at_once(login)) {
		for (struct trial_login *taken = trial->login; taken != login; taken = taken->next)
			login_let_go(taken);
		return false;
	}
	return true;
}

void login_release(struct trial *trial)
{
	Queue *queue = trial->queue;

	LOGIN_EACH(login, trial)
	{
		/*
		 * Of what a keeper was given and did not start nothing is to stay. Once all has stopped
		 * nothing is begun any more: the next trialsd sees to it.
		 */
		if (trial->state == STATE_queued && (!queue->stopping || queue->stopped) &&
		    (login->left || (login->lease && login->lease->given)))
			login_clean(login);
		login_let_go(login);
	}
}

void logins_give_back(Queue *queue)
{
	for (struct trial *trial = queue_first(queue); trial; trial = queue_next(trial)) {
		if (trial->slot || !trial->login || !trial->login->next)
			continue;
		LOGIN_EACH(login, trial)
		if (login->has)
			login_let_go(login);
	}
}

/* --- For people ----------------------------------------------------------------------------------- */

/* The one that it waits for, or NULL. */
static const struct trial_login *waits_for(const struct trial *trial)
{
	LOGIN_EACH(login, trial)
	if (login_is_waiting(login))
		return login;
	return NULL;
}

bool login_waiting(const struct trial *trial)
{
	return waits_for(trial) != NULL;
}

size_t login_position(const struct trial *trial, size_t most)
{
	const struct trial_login *login = waits_for(trial);
	struct trial_login *other;
	size_t position;

	if (!login)
		return 0;
	if (login_at_home(login))
		return home_position(&login->lease->at_home, most);
	position = login->line->at_home != NULL;
	RB_FOREACH(other, trial_logins, &login->line->waiting)
	if (++position > most || other == login)
		break;
	return position > most ? 0 : position;
}

/* Which of several. */
static const char *called(const struct trial_login *login, char *buffer, size_t size)
{
	const char *part = login_part(login);

	snprintf(buffer, size, part ? "its login of %s" : "its login", part ? part : "");
	return buffer;
}

const char *login_waits_for(const struct trial *trial, char *buffer, size_t size)
{
	const struct trial_login *login = waits_for(trial);
	const struct login_line *line;
	char name[HARNESS_NAME_BYTES_MAX + 32];

	if (!login)
		return NULL;
	line = login->line;
	called(login, name, sizeof(name));
	/* What the first of them waits for all others wait for. */
	if (login->waiting && line->at_home && login_at_home(line->at_home))
		login = line->at_home;
	if (login_at_home(login))
		return home_waits_for(&login->lease->at_home, buffer, size);
	if (line->held)
		snprintf(buffer, size,
			 "%s, which is suspect: %.100s; see trialctl logins, or: "
			 "trialctl login restore %s",
			 name, line->known.reason ? line->known.reason : "", line->harness);
	else if (line->checking)
		snprintf(buffer, size, "%s to be looked at", name);
	else
		snprintf(buffer, size, "%s: one of those that use it may refresh it", name);
	return buffer;
}

uint64_t login_held_since(const struct trial *trial)
{
	const struct trial_login *login = waits_for(trial);

	return login && login->waiting && login->line->held ? login->line->held_at : 0;
}

void login_line_look(Queue *queue, const char *harness, struct login_line_status *ret_status)
{
	struct login_line *line = login_line_find(queue, harness);
	struct trial *trial;

	*ret_status = (struct login_line_status){0};
	if (!line)
		return;
	for (trial = queue_first(queue); trial; trial = queue_next(trial))
		LOGIN_EACH(login, trial)
		{
			if (login->line != line)
				continue;
			ret_status->waiting += login_is_waiting(login);
			if (login->lease && login->lease->home && !ret_status->home.path)
				home_look(login->lease->home, &ret_status->home);
		}
}

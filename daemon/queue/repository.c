/* SPDX-License-Identifier: MIT */
#include "queue/repository.h"

#include "base/mem.h"
#include "queue/repository_places.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/*
 * A file or folder of the host that a Trial's place is, or that one lies in. To take a place is to be
 * counted here, and as one below in all the folders above: so whether it is free is seen by looking at
 * it and up from it, however many Trials there are.
 */
struct ground {
	RB_ENTRY(ground) by_file;
	dev_t device;
	ino_t inode;
	unsigned int references; /* of Trials that are not over */
	unsigned int here[CLAIMS];
	unsigned int below[CLAIMS];
	uint64_t last[CLAIMS]; /* the id of the last that took it, for people */
	/* Graders apart: a writer that waits for a Grader is not in the way of the next one. */
	struct trials_by_turn waiting[2];
};

struct held_place {
	enum claim claim;
	size_t count;
	struct ground **steps; /* [0] is the place itself */
};

/* Of all Trials that want the same: most of those that wait do. */
struct repository {
	RB_ENTRY(repository) by_places;
	unsigned int references;
	size_t count;
	struct held_place *places;
};

static int ground_compare(const struct ground *a, const struct ground *b)
{
	if (a->device != b->device)
		return a->device < b->device ? -1 : 1;
	return a->inode < b->inode ? -1 : a->inode > b->inode;
}

RB_GENERATE_STATIC(grounds, ground, by_file, ground_compare)

static int repository_compare(const struct repository *a, const struct repository *b)
{
	int order = a->count < b->count ? -1 : a->count > b->count;

	for (size_t i = 0; order == 0 && i < a->count; i++) {
		const struct held_place *one = &a->places[i], *other = &b->places[i];

		order = one->claim < other->claim ? -1 : one->claim > other->claim;
		if (order == 0)
			order = one->count < other->count ? -1 : one->count > other->count;
		if (order == 0)
			order = memcmp(one->steps, other->steps,
				       one->count * sizeof(struct ground *));
	}
	return order;
}

RB_GENERATE_STATIC(repositories, repository, by_places, repository_compare)

#define BIT(claim) (1u << (claim))

/* Whose claims keep one away. */
static unsigned int against(enum claim claim, bool shares)
{
	switch (claim) {
	case CLAIM_judged:
		return BIT(CLAIM_repository) | BIT(CLAIM_bind) | BIT(CLAIM_git);
	case CLAIM_repository:
		return BIT(CLAIM_judged) | (shares ? 0 : BIT(CLAIM_repository) | BIT(CLAIM_bind));
	case CLAIM_bind:
		return BIT(CLAIM_judged) | (shares ? 0 : BIT(CLAIM_repository));
	default:
		return BIT(CLAIM_judged);
	}
}

static struct trials_by_turn *waiting_with(struct ground *ground, const struct trial *trial)
{
	return &ground->waiting[trial->of != 0];
}

static bool is_before(const struct trial *trial, const struct trial *other)
{
	return trial->priority != other->priority ? trial->priority > other->priority
						  : trial->id < other->id;
}

/* --- What there is -------------------------------------------------------------------------------- */

static struct ground *ground_get(Queue *queue, struct place_step step)
{
	struct ground key = {.device = step.device, .inode = step.inode};
	struct ground *ground = RB_FIND(grounds, &queue->grounds, &key);

	if (!ground) {
		ground = calloc(1, sizeof(*ground));
		if (!ground)
			return NULL;
		ground->device = step.device;
		ground->inode = step.inode;
		RB_INIT(&ground->waiting[0]);
		RB_INIT(&ground->waiting[1]);
		RB_INSERT(grounds, &queue->grounds, ground);
	}
	ground->references++;
	return ground;
}

static void ground_put(Queue *queue, struct ground *ground)
{
	if (--ground->references > 0)
		return;
	RB_REMOVE(grounds, &queue->grounds, ground);
	free(ground);
}

static int place_take_over(Queue *queue, struct held_place *place,
			   const struct repository_place *opened)
{
	place->claim = opened->claim;
	place->steps = calloc(opened->ancestry.count, sizeof(struct ground *));
	if (!place->steps)
		return -ENOMEM;
	for (size_t i = 0; i < opened->ancestry.count; i++) {
		place->steps[i] = ground_get(queue, opened->ancestry.steps[i]);
		if (!place->steps[i])
			return -ENOMEM;
		place->count++;
	}
	return 0;
}

static void repository_free(Queue *queue, struct repository *repository)
{
	for (size_t i = 0; i < repository->count; i++) {
		for (size_t k = 0; k < repository->places[i].count; k++)
			ground_put(queue, repository->places[i].steps[k]);
		free(repository->places[i].steps);
	}
	free(repository->places);
	free(repository);
}

int repository_get(Queue *queue, const struct launch_request *request,
		   struct repository **ret_repository)
{
	_cleanup_(repository_places_done) struct repository_places opened = {0};
	struct repository *repository, *same;
	int r = repository_places_open(&opened, request);

	*ret_repository = NULL;
	if (r < 0 || opened.count == 0)
		return r;
	repository = calloc(1, sizeof(*repository));
	if (repository)
		repository->places = calloc(opened.count, sizeof(*repository->places));
	if (!repository || !repository->places) {
		free(repository);
		return -ENOMEM;
	}
	for (size_t i = 0; r == 0 && i < opened.count; i++, repository->count++)
		r = place_take_over(queue, &repository->places[i], &opened.items[i]);
	same = r == 0 ? RB_INSERT(repositories, &queue->repositories, repository) : repository;
	if (same)
		repository_free(queue, repository);
	*ret_repository = r < 0 ? NULL : same ?: repository;
	if (r == 0)
		(*ret_repository)->references++;
	return r;
}

void repository_put(Queue *queue, struct repository *repository)
{
	if (!repository || --repository->references > 0)
		return;
	RB_REMOVE(repositories, &queue->repositories, repository);
	repository_free(queue, repository);
}

static bool place_has(const struct held_place *place, const struct ground *ground)
{
	for (size_t i = 0; i < place->count; i++)
		if (place->steps[i] == ground)
			return true;
	return false;
}

bool repository_meets(const struct repository *a, const struct repository *b)
{
	for (size_t i = 0; a && b && i < a->count; i++)
		for (size_t k = 0; k < b->count; k++) {
			const struct held_place *one = &a->places[i], *other = &b->places[k];

			if ((against(one->claim, false) & BIT(other->claim)) &&
			    (place_has(one, other->steps[0]) || place_has(other, one->steps[0])))
				return true;
		}
	return false;
}

size_t repository_places_wanted(const struct repository *repository)
{
	return repository ? repository->count : 0;
}

/* --- Whether it is free --------------------------------------------------------------------------- */

static unsigned int sum(const unsigned int *counts, unsigned int claims)
{
	unsigned int total = 0;

	for (unsigned int claim = 0; claim < CLAIMS; claim++)
		if (claims & BIT(claim))
			total += counts[claim];
	return total;
}

/* Somebody waits there whose turn is before this one's. trial NULL: it comes behind all. */
static bool is_awaited(struct ground *ground, const struct trial *trial)
{
	for (size_t i = 0; i < ARRAY_SIZE(ground->waiting); i++) {
		const struct trial *first = RB_MIN(trials_by_turn, &ground->waiting[i]);

		if (first && (!trial || is_before(first, trial)))
			return true;
	}
	return false;
}

/* Where somebody is in the way; NULL: nobody is. */
static struct ground *find_taken(const struct repository *repository, bool shares,
				 const struct trial *trial)
{
	for (size_t i = 0; i < repository->count; i++) {
		const struct held_place *place = &repository->places[i];
		unsigned int claims = against(place->claim, shares);
		bool polite = !shares &&
			      (place->claim == CLAIM_repository || place->claim == CLAIM_bind);

		if (sum(place->steps[0]->below, claims) > 0)
			return place->steps[0];
		for (size_t k = 0; k < place->count; k++)
			if (sum(place->steps[k]->here, claims) > 0 ||
			    (polite && is_awaited(place->steps[k], trial)))
				return place->steps[k];
	}
	return NULL;
}

bool repository_is_free(const struct repository *repository, bool shares, const struct trial *trial)
{
	return !repository || !find_taken(repository, shares, trial);
}

/* --- Taking and waiting --------------------------------------------------------------------------- */

static void take(struct trial *trial)
{
	const struct repository *repository = trial->repository;

	trial->writing = true;
	for (size_t i = 0; i < repository->count; i++) {
		const struct held_place *place = &repository->places[i];

		place->steps[0]->here[place->claim]++;
		for (size_t k = 0; k < place->count; k++) {
			place->steps[k]->below[place->claim] += k > 0;
			place->steps[k]->last[place->claim] = trial->id;
		}
	}
}

/*
 * The first of those that wait there gets its turn, if nobody there is in its way any more; and so does
 * the first Grader. What comes of that turn calls the next (pass_on): none is called that would only
 * have to wait again.
 */
static void call(struct ground *ground)
{
	for (size_t i = 0; i < ARRAY_SIZE(ground->waiting); i++) {
		struct trial *next = RB_MIN(trials_by_turn, &ground->waiting[i]);

		if (!next || find_taken(next->repository, next->shares, next) == ground)
			continue;
		next->in_repository = false;
		RB_REMOVE(trials_by_turn, &ground->waiting[i], next);
		sched_add(next->queue, next);
	}
}

void repository_pass_on(struct trial *trial)
{
	struct ground *ground = trial->in_repository ? NULL : steal(&trial->ground);

	if (ground)
		call(ground);
}

bool repository_take(struct trial *trial)
{
	struct ground *called = steal(&trial->ground), *taken;

	if (!trial->repository || trial->writing)
		return true;
	taken = find_taken(trial->repository, trial->shares, trial);
	if (taken) {
		trial->in_repository = true;
		trial->ground = taken;
		RB_INSERT(trials_by_turn, waiting_with(taken, trial), trial);
	} else {
		take(trial);
	}
	if (called)
		call(called);
	return !taken;
}

void repository_take_again(struct trial *trial)
{
	if (trial->repository && !trial->writing)
		take(trial);
}

static void leave(struct trial *trial)
{
	const struct repository *repository = trial->repository;

	trial->writing = false;
	for (size_t i = 0; i < repository->count; i++) {
		const struct held_place *place = &repository->places[i];

		place->steps[0]->here[place->claim]--;
		for (size_t k = 1; k < place->count; k++)
			place->steps[k]->below[place->claim]--;
	}
	/* Those that lie in it wait with it; those that hold it, with themselves. */
	for (size_t i = 0; i < repository->count; i++)
		for (size_t k = 0; k < repository->places[i].count; k++)
			call(repository->places[i].steps[k]);
}

void repository_release(struct trial *trial)
{
	if (!trial->repository)
		return;
	if (trial->in_repository) {
		RB_REMOVE(trials_by_turn, waiting_with(trial->ground, trial), trial);
		trial->in_repository = false;
		repository_pass_on(trial);
	}
	if (trial->writing)
		leave(trial);
}

static bool covers(const struct repository *repository, const struct stat *st)
{
	for (size_t i = 0; repository && i < repository->count; i++) {
		const struct ground *ground = repository->places[i].steps[0];

		if (ground->device == st->st_dev && ground->inode == st->st_ino)
			return true;
	}
	return false;
}

int repository_look_again(struct trial *trial, const struct launch_request *request,
			  int repository_fd)
{
	struct repository *now;
	struct stat st;
	int r = repository_get(trial->queue, request, &now);

	if (r < 0)
		return r;
	if (now != trial->repository) {
		repository_release(trial);
		repository_put(trial->queue, trial->repository);
		trial->repository = now;
		return -EAGAIN;
	}
	repository_put(trial->queue, now);
	if (repository_fd < 0 || !repository_is_wanted(request))
		return 0;
	if (fstat(repository_fd, &st) < 0)
		return -errno;
	return covers(now, &st) ? 0 : -EAGAIN;
}

/* --- For people ----------------------------------------------------------------------------------- */

size_t repository_position(const struct trial *trial, size_t most)
{
	struct trial *other;
	size_t position = 1;

	if (!trial->in_repository)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(trial->ground->waiting); i++)
		RB_FOREACH(other, trials_by_turn, &trial->ground->waiting[i])
		{
			if (other == trial || !is_before(other, trial))
				break;
			if (++position > most)
				return 0;
		}
	return position > most ? 0 : position;
}

/* Of its places, the one because of which it waits there. */
static const struct held_place *waiting_place(const struct trial *trial)
{
	const struct repository *repository = trial->repository;

	for (size_t i = 0; i < repository->count; i++)
		if (place_has(&repository->places[i], trial->ground))
			return &repository->places[i];
	return &repository->places[0];
}

const char *repository_waits_for(const struct trial *trial, char *buffer, size_t size)
{
	const struct ground *ground = trial->ground;
	const struct held_place *place;
	const char *what;
	unsigned int claims;

	if (!trial->in_repository)
		return NULL;
	place = waiting_place(trial);
	claims = against(place->claim, trial->shares);
	what = place->claim == CLAIM_bind ? "what it has bound to write to" : "its repository";
	for (unsigned int claim = 0; claim < CLAIMS; claim++) {
		if (!(claims & BIT(claim)) || ground->here[claim] + ground->below[claim] == 0)
			continue;
		snprintf(buffer, size, "%s: Trial %llu %s", what,
			 (unsigned long long)ground->last[claim],
			 claim == CLAIM_judged ? "judges what is there" : "writes to it");
		return buffer;
	}
	snprintf(buffer, size, "%s: others that wait for it come first", what);
	return buffer;
}

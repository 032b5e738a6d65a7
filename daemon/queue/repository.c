/* SPDX-License-Identifier: MIT */
#include "queue/repository.h"

#include "plan/grading.h"

#include <stdio.h>
#include <sys/stat.h>

struct repository {
	RB_ENTRY(repository) by_file;
	dev_t device;
	ino_t inode;
	unsigned int references; /* of Trials that are not over */
	unsigned int writers;	 /* that run */
	unsigned int readers;	 /* Graders that run */
	uint64_t writer;	 /* the id of the last that took it, for people */
	uint64_t reader;	 /* likewise, of Graders */
	struct trials_by_turn waiting;
};

static int repository_compare(const struct repository *a, const struct repository *b)
{
	if (a->device != b->device)
		return a->device < b->device ? -1 : 1;
	return a->inode < b->inode ? -1 : a->inode > b->inode;
}

RB_GENERATE_STATIC(repositories, repository, by_file, repository_compare)

static bool writes(const struct launch_request *request)
{
	if (!request->repository)
		return false;
	if (request->has.repository_mode)
		return request->repository_mode == MODE_rw;
	return !request->has.role || request->role != ROLE_grader;
}

struct repository *repository_get(Queue *queue, const struct launch_request *request)
{
	struct repository key = {0}, *repository;
	struct stat st;

	if ((!writes(request) && !launch_judges(request)) || !request->repository ||
	    stat(request->repository, &st) < 0)
		return NULL;
	key.device = st.st_dev;
	key.inode = st.st_ino;
	repository = RB_FIND(repositories, &queue->repositories, &key);
	if (!repository) {
		repository = calloc(1, sizeof(*repository));
		if (!repository)
			return NULL;
		repository->device = st.st_dev;
		repository->inode = st.st_ino;
		RB_INIT(&repository->waiting);
		RB_INSERT(repositories, &queue->repositories, repository);
	}
	repository->references++;
	return repository;
}

void repository_put(Queue *queue, struct repository *repository)
{
	if (!repository || --repository->references > 0)
		return;
	RB_REMOVE(repositories, &queue->repositories, repository);
	free(repository);
}

bool repository_is_free(const struct repository *repository, bool shares, bool judges)
{
	if (!repository)
		return true;
	if (judges)
		return repository->writers == 0;
	return repository->readers == 0 && (shares || repository->writers == 0);
}

static void take(struct trial *trial)
{
	struct repository *repository = trial->repository;

	trial->writing = true;
	if (trial->of) {
		repository->readers++;
		repository->reader = trial->id;
	} else {
		repository->writers++;
		repository->writer = trial->id;
	}
}

bool repository_take(struct trial *trial)
{
	struct repository *repository = trial->repository;

	if (!repository || trial->writing)
		return true;
	if (!repository_is_free(repository, trial->shares, trial->of != 0)) {
		trial->in_repository = true;
		RB_INSERT(trials_by_turn, &repository->waiting, trial);
		return false;
	}
	take(trial);
	/* Those that wait behind a Grader may be Graders too. */
	if (trial->of)
		repository_call(repository);
	return true;
}

void repository_take_again(struct trial *trial)
{
	if (trial->repository && !trial->writing)
		take(trial);
}

void repository_call(struct repository *repository)
{
	struct trial *next;

	if (!repository || repository->writers > 0)
		return;
	next = RB_MIN(trials_by_turn, &repository->waiting);
	if (!next)
		return;
	next->in_repository = false;
	RB_REMOVE(trials_by_turn, &repository->waiting, next);
	sched_add(next->queue, next);
}

void repository_release(struct trial *trial)
{
	struct repository *repository = trial->repository;

	if (!repository)
		return;
	if (trial->in_repository) {
		trial->in_repository = false;
		RB_REMOVE(trials_by_turn, &repository->waiting, trial);
	}
	if (!trial->writing)
		return;
	trial->writing = false;
	if (trial->of)
		repository->readers--;
	else
		repository->writers--;
	repository_call(repository);
}

size_t repository_position(const struct trial *trial, size_t most)
{
	struct trial *other;
	size_t position = 0;

	if (!trial->in_repository)
		return 0;
	RB_FOREACH(other, trials_by_turn, &trial->repository->waiting)
	if (++position > most || other == trial)
		break;
	return position > most ? 0 : position;
}

const char *repository_waits_for(const struct trial *trial, char *buffer, size_t size)
{
	if (!trial->in_repository)
		return NULL;
	if (trial->repository->writers == 0 && trial->repository->readers > 0)
		snprintf(buffer, size, "its repository: Trial %llu judges what is there",
			 (unsigned long long)trial->repository->reader);
	else
		snprintf(buffer, size, "its repository: Trial %llu writes to it",
			 (unsigned long long)trial->repository->writer);
	return buffer;
}

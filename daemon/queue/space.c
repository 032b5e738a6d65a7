/* SPDX-License-Identifier: MIT */

/*
 * Who has written most? The kernel counts it only where the io controller is delegated, which it
 * hardly ever is, and then not by file system. So the files are asked: the blocks of what has
 * changed since a Trial started, in the places that it may write to, walked by descriptor on a
 * thread of the pool, and only when space is short. It is a measure, not an account: a file that
 * was large before and was touched counts whole.
 */
#include "queue/space.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/space.h"
#include "proto/quantity.h"

#define LOOK_MILLISECONDS 2000
#define ENTRIES_MAX 200000 /* looked at for one Trial */
#define DEPTH_MAX 64
#define GRACE_SECONDS 1.0

struct space_trial {
	uint64_t id;
	uint64_t started_at; /* microseconds */
	char **places;
	size_t count;
	uint64_t bytes;
};

struct space_look {
	uv_work_t work;
	Queue *queue;
	char where[QUEUE_REASON_BYTES];
	struct space_trial *trials;
	size_t count;
};

bool space_is_low(const Queue *queue, const char *path, char reason[QUEUE_REASON_BYTES])
{
	const struct plan_host *host = queue->host;

	return space_is_below(host->config->min_free, path ? -1 : queue->trials_fd,
			      path ? path : host->state_folder, reason, QUEUE_REASON_BYTES);
}

bool queue_is_short(const Queue *queue, char reason[QUEUE_REASON_BYTES])
{
	char short_of[QUEUE_REASON_BYTES];

	if (!space_is_low(queue, NULL, short_of))
		return false;
	snprintf(reason, QUEUE_REASON_BYTES, "too little %.240s", short_of);
	return true;
}

/* On a thread of the pool. */

static uint64_t changed_bytes(int parent, const char *name, uint64_t since, unsigned int depth,
			      unsigned int *entries)
{
	struct dirent *entry;
	uint64_t total = 0;
	struct stat st;
	DIR *folder;
	int fd;

	if (*entries >= ENTRIES_MAX || fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	(*entries)++;
	if ((uint64_t)st.st_ctim.tv_sec * 1000000u + 1000000u >= since && S_ISREG(st.st_mode))
		return (uint64_t)st.st_blocks * 512u;
	if (!S_ISDIR(st.st_mode) || depth == 0)
		return 0;
	fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	folder = fd < 0 ? NULL : fdopendir(fd);
	if (!folder) {
		fd_close(fd);
		return 0;
	}
	while ((entry = readdir(folder)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			total += changed_bytes(dirfd(folder), entry->d_name, since, depth - 1,
					       entries);
	closedir(folder);
	return total;
}

static void look_work(uv_work_t *work)
{
	struct space_look *look = container_of(work, struct space_look, work);

	for (size_t i = 0; i < look->count; i++) {
		struct space_trial *trial = &look->trials[i];
		unsigned int entries = 0;

		for (size_t j = 0; j < trial->count; j++)
			trial->bytes += changed_bytes(AT_FDCWD, trial->places[j], trial->started_at,
						      DEPTH_MAX, &entries);
	}
}

static void look_free(struct space_look *look)
{
	for (size_t i = 0; look->trials && i < look->count; i++) {
		for (size_t j = 0; j < look->trials[i].count; j++)
			free(look->trials[i].places[j]);
		free(look->trials[i].places);
	}
	free(look->trials);
	free(look);
}

/* The largest writer is ended, unless it was told to end already. */
static void on_looked(uv_work_t *work, int status)
{
	struct space_look *look = container_of(work, struct space_look, work);
	struct space_trial *most = NULL;
	Queue *queue = look->queue;
	struct trial *trial;
	char size[32];

	(void)status;
	queue->space_looking = false;
	for (size_t i = 0; i < look->count; i++)
		if (!most || look->trials[i].bytes > most->bytes)
			most = &look->trials[i];
	trial = most ? queue_find(queue, most->id) : NULL;
	if (trial && trial->work && !trial->work->guarded && !trial->cancel) {
		if (asprintf(&trial->work->guarded,
			     "ended by trialsd, as it wrote most (%s since its start): %s",
			     quantity_format_size(most->bytes, size, sizeof(size)),
			     look->where) < 0)
			trial->work->guarded = NULL;
		log_write(LOG_LEVEL_WARNING, NULL, trial->id, "ended for want of %s", look->where);
		trial_cancel(trial, GRACE_SECONDS, "trialsd");
	}
	look_free(look);
	queue_call_ended(queue);
}

/* On the loop. */

static int look_add(struct space_look *look, const struct trial *trial)
{
	struct space_trial *entry = &look->trials[look->count];
	const struct text_list *writable = &trial->work->writable;

	entry->id = trial->id;
	entry->started_at = trial->work->started_at;
	entry->places = calloc(writable->count + 1, sizeof(*entry->places));
	if (!entry->places)
		return -ENOMEM;
	look->count++;
	for (size_t i = 0; i < writable->count; i++)
		if ((entry->places[entry->count] = strdup(writable->items[i])))
			entry->count++;
	if (asprintf(&entry->places[entry->count], "%s/%llu", trial->queue->trials_folder,
		     (unsigned long long)trial->id) >= 0)
		entry->count++;
	return 0;
}

static void look_start(Queue *queue, const char *where)
{
	struct space_look *look = calloc(1, sizeof(*look));
	struct trial *trial;

	if (!look)
		return;
	look->queue = queue;
	snprintf(look->where, sizeof(look->where), "%s", where);
	look->trials = calloc(queue->slots_used + 1, sizeof(*look->trials));
	for (trial = queue_first(queue); look->trials && trial; trial = queue_next(trial))
		if (trial->slot && trial->work && trial->work->started_at &&
		    look->count < queue->slots_used)
			look_add(look, trial);
	if (!look->trials || !look->count ||
	    uv_queue_work(queue->loop, &look->work, look_work, on_looked) < 0) {
		look_free(look);
		return;
	}
	queue->space_looking = true;
	queue_call_begun(queue);
}

/* Below half of MinFree, anywhere that a running Trial writes. */
static bool space_is_short(Queue *queue, char where[QUEUE_REASON_BYTES])
{
	uint64_t least = queue->host->config->min_free / 2;
	struct trial *trial;

	if (space_is_low(queue, NULL, where) && space_free(queue->trials_fd, NULL) < least)
		return true;
	for (trial = queue_first(queue); trial; trial = queue_next(trial)) {
		if (!trial->slot || !trial->work)
			continue;
		for (size_t i = 0; i < trial->work->writable.count; i++) {
			const char *path = trial->work->writable.items[i];

			if (space_is_low(queue, path, where) && space_free(-1, path) < least)
				return true;
		}
	}
	return false;
}

static void on_space_timer(uv_timer_t *timer)
{
	char where[QUEUE_REASON_BYTES];
	Queue *queue = timer->data;

	if (queue->slots_used == 0) {
		uv_timer_stop(timer);
		return;
	}
	if (!queue->space_looking && space_is_short(queue, where))
		look_start(queue, where);
}

int space_init(Queue *queue)
{
	int r = uv_timer_init(queue->loop, &queue->space);

	queue->space.data = queue;
	uv_unref((uv_handle_t *)&queue->space);
	return r;
}

void space_watch(Queue *queue)
{
	if (queue->host->config->min_free && !uv_is_active((uv_handle_t *)&queue->space))
		uv_timer_start(&queue->space, on_space_timer, LOOK_MILLISECONDS, LOOK_MILLISECONDS);
}

void space_done(Queue *queue)
{
	uv_timer_stop(&queue->space);
}

/* SPDX-License-Identifier: MIT */
#include "queue/bare_home.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/no_sandbox.h"
#include "base/wipe.h"
#include "launch/launch.h"

#define NOTES "../bare-homes" /* beside the Trials' own folders */

struct removal {
	uv_work_t work;
	Queue *queue;
	uint64_t id;
	int folder_fd;
	int result;
};

static void note_name(uint64_t id, char name[48])
{
	snprintf(name, 48, NOTES "/%" PRIu64, id);
}

int bare_home_note(Queue *queue, uint64_t id)
{
	_cleanup_close_ int fd = -1;
	char name[48];

	note_name(id, name);
	if (mkdirat(queue->trials_fd, NOTES, 0700) < 0 && errno != EEXIST)
		return -errno;
	fd = openat(queue->trials_fd, name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	return fd < 0 ? -errno : 0;
}

static void note_remove(Queue *queue, uint64_t id)
{
	char name[48];

	note_name(id, name);
	unlinkat(queue->trials_fd, name, 0);
}

static void on_work(uv_work_t *work)
{
	struct removal *removal = container_of(work, struct removal, work);

	removal->result = wipe_remove(removal->folder_fd, NO_SANDBOX_HOME, NULL);
}

static void on_removed(uv_work_t *work, int status)
{
	struct removal *removal = container_of(work, struct removal, work);
	Queue *queue = removal->queue;
	int r = status < 0 ? status : removal->result;

	/* With its note it is tried again at the next start. */
	if (r == 0)
		note_remove(queue, removal->id);
	else
		log_write(LOG_LEVEL_WARNING, LOG_ID_TRIAL_STATE, removal->id,
			  "the home that it had without a sandbox cannot be removed: %s",
			  strerror(-r));
	fd_close(removal->folder_fd);
	free(removal);
	queue_call_ended(queue);
}

static void removal_begin(Queue *queue, uint64_t id)
{
	struct removal *removal = calloc(1, sizeof(*removal));
	int r;

	if (!removal)
		return;
	removal->queue = queue;
	removal->id = id;
	r = launch_folder(queue->trials_fd, id, false, &removal->folder_fd);
	if (r == 0) {
		r = uv_queue_work(queue->loop, &removal->work, on_work, on_removed);
		if (r == 0) {
			queue_call_begun(queue);
			return;
		}
		fd_close(removal->folder_fd);
	}
	if (r == -ENOENT)
		note_remove(queue, id);
	free(removal);
}

void bare_home_ended(Queue *queue, uint64_t id)
{
	struct stat st;
	char name[48];

	note_name(id, name);
	if (fstatat(queue->trials_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		removal_begin(queue, id);
}

static void load(Queue *queue, const char *name)
{
	_cleanup_close_ int folder = -1;
	char *end;
	uint64_t id = strtoull(name, &end, 10);

	if (id == 0 || *end || queue_find(queue, id))
		return;
	if (launch_folder(queue->trials_fd, id, false, &folder) == 0 &&
	    launch_folder_held(folder) != 0)
		return;
	removal_begin(queue, id);
}

void bare_homes_load(Queue *queue)
{
	int fd = openat(queue->trials_fd, NOTES, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *folder = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	if (!folder) {
		fd_close(fd);
		return;
	}
	while ((entry = readdir(folder)))
		load(queue, entry->d_name);
	closedir(folder);
}

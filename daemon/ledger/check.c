/* SPDX-License-Identifier: MIT */
#include "check.h"

#include <errno.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "schema.h"

#define STEPS 10000 /* of SQLite's machine, between two looks whether to stop */
#define NICE 19
#define IOPRIO_WHO_THREAD 1
#define IOPRIO_IDLE (3 << 13)

static int on_steps(void *context)
{
	struct check *check = context;

	return atomic_load(&check->stop);
}

static void check_thread(void *context)
{
	struct check *check = context;
	int r;

	/* Of this thread alone. Where it is not allowed, it is merely less considerate. */
	setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), NICE);
	syscall(SYS_ioprio_set, IOPRIO_WHO_THREAD, 0, IOPRIO_IDLE);
	r = schema_integrity(check->database, check->what);
	sqlite3_close(check->database);
	atomic_store(&check->result, r);
	uv_async_send(check->answered);
}

int check_start(struct check *check, const char *path, uv_async_t *answered)
{
	int r;

	check->answered = answered;
	r = sqlite3_open_v2(path, &check->database, SQLITE_OPEN_READONLY | SQLITE_OPEN_EXRESCODE,
			    NULL);
	if (r != SQLITE_OK) {
		sqlite3_close(check->database);
		return -EIO;
	}
	sqlite3_progress_handler(check->database, STEPS, on_steps, check);
	atomic_store(&check->result, 1);
	r = uv_thread_create(&check->thread, check_thread, check);
	if (r < 0)
		sqlite3_close(check->database);
	check->started = r == 0;
	return r;
}

void check_stop(struct check *check)
{
	if (!check->started)
		return;
	atomic_store(&check->stop, true);
	uv_thread_join(&check->thread);
	check->started = false;
}

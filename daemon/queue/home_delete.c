/* SPDX-License-Identifier: MIT */
#include "queue/home_delete.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "plan/plan.h"
#include "queue/home_wipe.h"

/* Belongs to its thread and to its owner; the last of them frees. */
struct home_deletion {
	pthread_mutex_t lock;
	unsigned int owners;
	uv_async_t *async; /* NULL: nobody is to be told */
	bool over;
	int result;
	_Atomic uint64_t removed;
	int parent_fd;
	struct text_list names;
};

static void deletion_drop(struct home_deletion *deletion)
{
	bool last;

	pthread_mutex_lock(&deletion->lock);
	last = --deletion->owners == 0;
	pthread_mutex_unlock(&deletion->lock);
	if (!last)
		return;
	pthread_mutex_destroy(&deletion->lock);
	fd_close(deletion->parent_fd);
	text_list_done(&deletion->names);
	free(deletion);
}

static void *delete_all(void *context)
{
	struct home_deletion *deletion = context;
	int r, result = 0;

	for (size_t i = 0; i < deletion->names.count; i++) {
		r = home_wipe_remove(deletion->parent_fd, deletion->names.items[i],
				     &deletion->removed);
		/* Another daemon that is at it will finish it. */
		if (r < 0 && r != -EWOULDBLOCK && result == 0)
			result = r;
	}
	pthread_mutex_lock(&deletion->lock);
	deletion->over = true;
	deletion->result = result;
	if (deletion->async)
		uv_async_send(deletion->async);
	pthread_mutex_unlock(&deletion->lock);
	deletion_drop(deletion);
	return NULL;
}

/* Detached, and deaf to the signals that the loop waits for. */
static int thread_start(struct home_deletion *deletion)
{
	pthread_attr_t attributes;
	pthread_t thread;
	sigset_t all, before;
	int r;

	r = pthread_attr_init(&attributes);
	if (r)
		return -r;
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(&thread, &attributes, delete_all, deletion);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	return -r;
}

int home_deletion_start(struct home_deletion **ret_deletion, const struct home_folder *folder,
			struct text_list *names, uv_async_t *async)
{
	struct home_deletion *deletion = calloc(1, sizeof(*deletion));
	int r = 0;

	if (!deletion)
		return -ENOMEM;
	pthread_mutex_init(&deletion->lock, NULL);
	deletion->owners = 2;
	deletion->async = async;
	deletion->names = *names;
	*names = (struct text_list){0};
	deletion->parent_fd = fcntl(folder->parent_fd, F_DUPFD_CLOEXEC, 0);
	if (deletion->parent_fd < 0)
		r = -errno;
	if (r == 0)
		r = thread_start(deletion);
	if (r < 0) {
		deletion->owners = 1;
		deletion_drop(deletion);
		return r;
	}
	*ret_deletion = deletion;
	return 0;
}

uint64_t home_deletion_count(const struct home_deletion *deletion)
{
	return atomic_load_explicit(&deletion->removed, memory_order_relaxed);
}

bool home_deletion_over(struct home_deletion *deletion, int *ret_result)
{
	bool over;

	pthread_mutex_lock(&deletion->lock);
	over = deletion->over;
	*ret_result = deletion->result;
	pthread_mutex_unlock(&deletion->lock);
	return over;
}

struct home_deletion *home_deletion_free(struct home_deletion *deletion)
{
	if (!deletion)
		return NULL;
	pthread_mutex_lock(&deletion->lock);
	deletion->async = NULL;
	pthread_mutex_unlock(&deletion->lock);
	deletion_drop(deletion);
	return NULL;
}

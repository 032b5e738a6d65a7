/* SPDX-License-Identifier: MIT */

/*
 * Look-ups on threads.
 *
 * The keeper is of one thread but for these, and it clones children (keep.c) that go on using malloc
 * without an exec. A thread that held one of malloc's locks at that moment would hold it in the child
 * for ever. So the threads are ended before (resolver_done), all but those that are inside getaddrinfo,
 * which nothing can call off, and for these it is arranged that they never have a lock of the arena
 * that the main thread, and so the child, allocates from: each thread has an arena of its own, which
 * M_ARENA_MAX makes room for also where there is one processor, where glibc would have let the eighth
 * share the first. What the main thread allocated it also frees, joins and never leaves to a thread; a
 * thread that was left behind touches its pool and its job, which are then nobody else's, and leaves
 * both to the end of the process. It waits for a packet, for seconds, and is ended with the process.
 *
 * Arenas are reserved, not used: a thread's costs some pages, and those who come later have it again.
 *
 * A thread is given a name when it has nothing else to do, so what waits is the main thread's alone and
 * can be taken back. A thread that is inside getaddrinfo for a name that nobody wants any more stays
 * there until the resolver has answered or resolv.conf's own timeout has passed.
 *
 * A name is looked up as it is, and never below a domain of resolv.conf's search list: that would be
 * another name, which nothing allows. So the resolver's state of the thread is made anew for each
 * look-up, from resolv.conf as it is then, and told so. (A name with a dot behind would say the same to
 * DNS, and is not found in /etc/hosts.) nscd and nss-resolve, where nsswitch.conf leads there, are
 * other processes with a way of their own: systemd-resolved searches for names of one label alone.
 */
#include "resolve.h"

#include <errno.h>
#include <malloc.h>
#include <netdb.h>
#include <pthread.h>
#include <resolv.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>

#include "base/mem.h"

/* What getaddrinfo and the modules of nsswitch.conf take; reserved, and used as far as they reach. */
#define STACK_BYTES ((size_t)512 * 1024)
#define THREAD_IDLE_SECONDS 5

struct job {
	TAILQ_ENTRY(job) entry;
	struct resolve_name *owner; /* the main thread's */
	char name[ALLOW_HOST_BYTES_MAX + 1];
	struct resolve_answer answer;
};
TAILQ_HEAD(job_list, job);

enum thread_state { THREAD_NONE, THREAD_IDLE, THREAD_BUSY, THREAD_ENDED };

struct thread {
	struct resolve_pool *pool;
	enum thread_state state;
	pthread_t id;
	struct job *job;
};

struct resolve_pool {
	pthread_mutex_t lock; /* of all below */
	pthread_cond_t wanted;
	struct job_list waiting;
	struct job_list done;
	bool stopped;
	int event_fd; /* the resolver's; not touched once stopped */
	struct thread threads[RESOLVE_THREADS_MAX];
	struct resolve_pool *next_left_behind;
};

struct resolve_name {
	struct resolver *resolver;
	TAILQ_ENTRY(resolve_name) entry;
	enum resolve_state state;
	bool exact;
	TAILQ_HEAD(, resolve_wait) waits;
	struct resolve_answer *answer; /* NULL while it is being looked up */
	time_t until;
	char name[ALLOW_HOST_BYTES_MAX + 1];
};

/* Pools with a thread that never came back: still reachable, so no leak. */
static struct resolve_pool *left_behind;

static time_t now_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

/* --- Threads -------------------------------------------------------------------------------------- */

static void look_up(struct job *job)
{
	const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
	struct resolve_answer *answer = &job->answer;
	struct addrinfo *found = NULL, *at;

	/* Of this thread: _res is no variable. */
	if (res_ninit(&_res) < 0) {
		answer->error = EAI_AGAIN;
		return;
	}
	_res.options &= ~(unsigned long)(RES_DNSRCH | RES_DEFNAMES);
	_res.options |= RES_NOALIASES;
	answer->error = getaddrinfo(job->name, NULL, &hints, &found);
	answer->system_error = answer->error == EAI_SYSTEM ? errno : 0;
	res_nclose(&_res);
	if (answer->error)
		return;
	for (at = found; at && answer->count < RESOLVE_ADDRESSES_MAX; at = at->ai_next) {
		if (at->ai_addrlen > sizeof(answer->addresses[0]))
			continue;
		memcpy(&answer->addresses[answer->count++], at->ai_addr, at->ai_addrlen);
	}
	freeaddrinfo(found);
	if (answer->count == 0)
		answer->error = EAI_NONAME;
}

static void notify(const struct resolve_pool *pool)
{
	const uint64_t one = 1;
	ssize_t n;

	/* It cannot be full: whoever reads it takes all. */
	do
		n = write(pool->event_fd, &one, sizeof(one));
	while (n < 0 && errno == EINTR);
}

/* The next job; NULL: the thread is to leave. Called with the lock. */
static struct job *await_job(struct resolve_pool *pool)
{
	struct timespec until;
	struct job *job;
	int r = 0;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += THREAD_IDLE_SECONDS;
	while (!pool->stopped && TAILQ_EMPTY(&pool->waiting) && r != ETIMEDOUT)
		r = pthread_cond_timedwait(&pool->wanted, &pool->lock, &until);
	job = pool->stopped ? NULL : TAILQ_FIRST(&pool->waiting);
	if (job)
		TAILQ_REMOVE(&pool->waiting, job, entry);
	return job;
}

static void *run_thread(void *argument)
{
	struct thread *thread = argument;
	struct resolve_pool *pool = thread->pool;
	struct job *job;

	pthread_mutex_lock(&pool->lock);
	while ((job = await_job(pool))) {
		thread->job = job;
		thread->state = THREAD_BUSY;
		pthread_mutex_unlock(&pool->lock);
		look_up(job);
		pthread_mutex_lock(&pool->lock);
		if (pool->stopped)
			break;
		thread->job = NULL;
		thread->state = THREAD_IDLE;
		TAILQ_INSERT_TAIL(&pool->done, job, entry);
		notify(pool);
	}
	thread->state = THREAD_ENDED;
	if (!pool->stopped)
		notify(pool);
	pthread_mutex_unlock(&pool->lock);
	return NULL;
}

/* --- The pool, by the main thread ----------------------------------------------------------------- */

static int start_thread(struct thread *thread)
{
	pthread_attr_t attributes;
	sigset_t all, before;
	int r;

	r = pthread_attr_init(&attributes);
	if (r)
		return -r;
	r = pthread_attr_setstacksize(&attributes, STACK_BYTES);
	thread->state = THREAD_IDLE;
	/* The keeper's signals are the keeper's. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (r == 0)
		r = pthread_create(&thread->id, &attributes, run_thread, thread);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	if (r)
		thread->state = THREAD_NONE;
	return -r;
}

/* Called with the lock: a thread that says so with the lock needs it no more. */
static void join_ended(struct resolve_pool *pool)
{
	for (size_t i = 0; i < RESOLVE_THREADS_MAX; i++) {
		struct thread *thread = &pool->threads[i];

		if (thread->state != THREAD_ENDED)
			continue;
		pthread_join(thread->id, NULL);
		thread->state = THREAD_NONE;
	}
}

/* Called with the lock. Joins those that left, and has one more if nobody is free. */
static int want_thread(struct resolve_pool *pool)
{
	struct thread *none = NULL;
	size_t idle = 0, waiting = 0, alive = 0;
	struct job *job;

	join_ended(pool);
	for (size_t i = 0; i < RESOLVE_THREADS_MAX; i++) {
		struct thread *thread = &pool->threads[i];

		if (thread->state == THREAD_NONE)
			none = thread;
		else
			alive++;
		idle += thread->state == THREAD_IDLE;
	}
	TAILQ_FOREACH(job, &pool->waiting, entry)
	waiting++;
	if (!none || idle >= waiting)
		return 0;
	/* Those that are at work will come to it. */
	return start_thread(none) < 0 && alive == 0 ? -EAGAIN : 0;
}

static struct resolve_pool *pool_new(int event_fd)
{
	struct resolve_pool *pool = calloc(1, sizeof(*pool));
	pthread_condattr_t attributes;

	if (!pool)
		return NULL;
#ifdef M_ARENA_MAX
	mallopt(M_ARENA_MAX, 1 + RESOLVE_THREADS_MAX);
#endif
	pthread_mutex_init(&pool->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&pool->wanted, &attributes);
	pthread_condattr_destroy(&attributes);
	TAILQ_INIT(&pool->waiting);
	TAILQ_INIT(&pool->done);
	pool->event_fd = event_fd;
	for (size_t i = 0; i < RESOLVE_THREADS_MAX; i++)
		pool->threads[i].pool = pool;
	return pool;
}

static void drop_jobs(struct job_list *list)
{
	struct job *job;

	while ((job = TAILQ_FIRST(list))) {
		TAILQ_REMOVE(list, job, entry);
		free(job);
	}
}

static void pool_free(struct resolve_pool *pool)
{
	size_t busy = 0;

	pthread_mutex_lock(&pool->lock);
	pool->stopped = true;
	pool->event_fd = -1;
	drop_jobs(&pool->waiting);
	drop_jobs(&pool->done);
	pthread_cond_broadcast(&pool->wanted);
	for (size_t i = 0; i < RESOLVE_THREADS_MAX; i++)
		busy += pool->threads[i].state == THREAD_BUSY;
	if (busy > 0) {
		pool->next_left_behind = left_behind;
		left_behind = pool;
	}
	for (size_t i = 0; i < RESOLVE_THREADS_MAX; i++) {
		struct thread *thread = &pool->threads[i];

		/* Those of which it is known now are busy until they end, and may be so for long. */
		if (thread->state != THREAD_IDLE && thread->state != THREAD_ENDED)
			continue;
		pthread_mutex_unlock(&pool->lock);
		pthread_join(thread->id, NULL);
		pthread_mutex_lock(&pool->lock);
		thread->state = THREAD_NONE;
	}
	pthread_mutex_unlock(&pool->lock);
	if (busy > 0)
		return;
	pthread_cond_destroy(&pool->wanted);
	pthread_mutex_destroy(&pool->lock);
	free(pool);
}

/* --- Names ---------------------------------------------------------------------------------------- */

static void put(struct resolve_name *name, enum resolve_state state)
{
	struct resolver *resolver = name->resolver;

	name->state = state;
	TAILQ_INSERT_TAIL(&resolver->names[state], name, entry);
	resolver->known += state == RESOLVE_KNOWN;
	resolver->handed += state == RESOLVE_HANDED;
	resolver->handed_suffix += state == RESOLVE_HANDED && !name->exact;
}

static void pull(struct resolve_name *name)
{
	struct resolver *resolver = name->resolver;

	TAILQ_REMOVE(&resolver->names[name->state], name, entry);
	resolver->known -= name->state == RESOLVE_KNOWN;
	resolver->handed -= name->state == RESOLVE_HANDED;
	resolver->handed_suffix -= name->state == RESOLVE_HANDED && !name->exact;
}

static void forget(struct resolve_name *name)
{
	pull(name);
	free(name->answer);
	free(name);
}

static void forget_old(struct resolver *resolver)
{
	const time_t now = now_seconds();
	struct resolve_name *name, *next;

	for (name = TAILQ_FIRST(&resolver->names[RESOLVE_KNOWN]); name; name = next) {
		next = TAILQ_NEXT(name, entry);
		if (name->until <= now)
			forget(name);
	}
}

static struct resolve_name *find(const struct resolver *resolver, const char *text)
{
	struct resolve_name *name;

	for (size_t i = 0; i < RESOLVE_STATES; i++)
		TAILQ_FOREACH(name, &resolver->names[i], entry)
	if (strcmp(name->name, text) == 0)
		return name;
	return NULL;
}

/* Keeps the answer, and tells those who wait. */
static void answer_name(struct resolve_name *name, const struct resolve_answer *answer)
{
	struct resolver *resolver = name->resolver;
	size_t size = offsetof(struct resolve_answer, addresses) +
		      answer->count * sizeof(answer->addresses[0]);
	struct resolve_wait *wait;

	while ((wait = TAILQ_FIRST(&name->waits))) {
		TAILQ_REMOVE(&name->waits, wait, entry);
		wait->name = NULL;
		wait->done(wait, answer);
	}
	name->answer = malloc(size);
	if (!name->answer) {
		forget(name);
		return;
	}
	memcpy(name->answer, answer, size);
	name->until = now_seconds() +
		      (answer->error ? RESOLVE_KEEP_FAILURE_SECONDS : RESOLVE_KEEP_SECONDS);
	if (resolver->known >= RESOLVE_NAMES_MAX)
		forget(TAILQ_FIRST(&resolver->names[RESOLVE_KNOWN]));
	pull(name);
	put(name, RESOLVE_KNOWN);
}

/* Hands the name to a thread. */
static int begin(struct resolve_name *name)
{
	struct resolve_pool *pool = name->resolver->pool;
	struct job *job = calloc(1, sizeof(*job));
	int r;

	if (!job)
		return -ENOMEM;
	job->owner = name;
	memcpy(job->name, name->name, sizeof(job->name));
	pthread_mutex_lock(&pool->lock);
	TAILQ_INSERT_TAIL(&pool->waiting, job, entry);
	r = want_thread(pool);
	if (r < 0)
		TAILQ_REMOVE(&pool->waiting, job, entry);
	else
		pthread_cond_signal(&pool->wanted);
	pthread_mutex_unlock(&pool->lock);
	if (r < 0) {
		free(job);
		return r;
	}
	pull(name);
	put(name, RESOLVE_HANDED);
	return 0;
}

static struct resolve_name *next_wanted(struct resolver *resolver)
{
	struct resolve_name *name = TAILQ_FIRST(&resolver->names[RESOLVE_WANTED]);

	if (resolver->handed >= RESOLVE_THREADS_MAX)
		return NULL;
	if (!name && resolver->handed_suffix < RESOLVE_SUFFIX_THREADS_MAX)
		name = TAILQ_FIRST(&resolver->names[RESOLVE_WANTED_SUFFIX]);
	return name;
}

/* As many as there are threads for. */
static void hand_out(struct resolver *resolver)
{
	struct resolve_name *name;
	int r;

	while ((name = next_wanted(resolver))) {
		r = begin(name);
		if (r < 0) {
			const struct resolve_answer failed = {.error = EAI_SYSTEM,
							      .system_error = -r};

			answer_name(name, &failed);
		}
	}
}

static void on_done(struct source *source, uint32_t events)
{
	struct resolver *resolver = container_of(source, struct resolver, source);
	struct resolve_pool *pool = resolver->pool;
	struct job_list done = TAILQ_HEAD_INITIALIZER(done);
	uint64_t count;
	struct job *job;

	(void)events;
	if (read(resolver->event_fd, &count, sizeof(count)) < 0)
		return;
	pthread_mutex_lock(&pool->lock);
	TAILQ_CONCAT(&done, &pool->done, entry);
	join_ended(pool);
	pthread_mutex_unlock(&pool->lock);
	while ((job = TAILQ_FIRST(&done))) {
		TAILQ_REMOVE(&done, job, entry);
		answer_name(job->owner, &job->answer);
		free(job);
	}
	hand_out(resolver);
}

/* --- Asking --------------------------------------------------------------------------------------- */

static int open_pool(struct resolver *resolver)
{
	int r;

	if (resolver->pool)
		return 0;
	resolver->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (resolver->event_fd < 0)
		return -errno;
	resolver->source.callback = on_done;
	r = loop_add(resolver->loop, &resolver->source, resolver->event_fd, EPOLLIN);
	if (r == 0 && !(resolver->pool = pool_new(resolver->event_fd)))
		r = -ENOMEM;
	if (r < 0) {
		loop_remove(resolver->loop, &resolver->source);
		resolver->event_fd = fd_close(resolver->event_fd);
	}
	return r;
}

/* Nothing is done about it yet. */
static int want(struct resolver *resolver, const char *text, bool exact, struct resolve_name **ret)
{
	struct resolve_name *name;
	int r = open_pool(resolver);

	if (r < 0)
		return r;
	name = calloc(1, sizeof(*name));
	if (!name)
		return -ENOMEM;
	name->resolver = resolver;
	name->exact = exact;
	TAILQ_INIT(&name->waits);
	strncpy(name->name, text, ALLOW_HOST_BYTES_MAX);
	put(name, exact ? RESOLVE_WANTED : RESOLVE_WANTED_SUFFIX);
	*ret = name;
	return 0;
}

void resolver_init(struct resolver *resolver, struct loop *loop)
{
	*resolver = RESOLVER_INIT;
	resolver->loop = loop;
	for (size_t i = 0; i < RESOLVE_STATES; i++)
		TAILQ_INIT(&resolver->names[i]);
}

int resolve(struct resolver *resolver, const char *text, bool exact, struct resolve_wait *wait)
{
	struct resolve_name *name;
	int r;

	forget_old(resolver);
	name = find(resolver, text);
	if (name && name->answer) {
		wait->done(wait, name->answer);
		return 0;
	}
	if (!name) {
		r = want(resolver, text, exact, &name);
		if (r < 0)
			return r;
	} else if (exact && name->state == RESOLVE_WANTED_SUFFIX) {
		pull(name);
		name->exact = true;
		put(name, RESOLVE_WANTED);
	}
	TAILQ_INSERT_TAIL(&name->waits, wait, entry);
	wait->name = name;
	hand_out(resolver);
	return 0;
}

void resolve_cancel(struct resolve_wait *wait)
{
	struct resolve_name *name = wait->name;

	if (!name)
		return;
	TAILQ_REMOVE(&name->waits, wait, entry);
	wait->name = NULL;
	if (TAILQ_EMPTY(&name->waits) &&
	    (name->state == RESOLVE_WANTED || name->state == RESOLVE_WANTED_SUFFIX))
		forget(name);
}

void resolver_done(struct resolver *resolver)
{
	struct resolve_name *name;

	if (resolver->pool)
		pool_free(resolver->pool);
	resolver->pool = NULL;
	if (resolver->event_fd >= 0)
		loop_remove(resolver->loop, &resolver->source);
	resolver->event_fd = fd_close(resolver->event_fd);
	for (size_t i = 0; i < RESOLVE_STATES; i++)
		while ((name = TAILQ_FIRST(&resolver->names[i])))
			forget(name);
}

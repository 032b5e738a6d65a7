/* SPDX-License-Identifier: MIT */
/*
 * What is answered when, and what survives. This program's own fdatasync stands before libc's, so
 * that a test can count the syncs, hold one back, or let one fail.
 */
#include "ledger_fixture.h"

#include <fcntl.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static atomic_uint syncs;
static atomic_int failing_sync; /* errno for the next sync, then 0 */
static atomic_bool held_sync;	/* the next one waits: `begun` is posted, `go` awaited */
static sem_t begun, go;

int fdatasync(int fd)
{
	int error = atomic_exchange(&failing_sync, 0);

	atomic_fetch_add(&syncs, 1);
	if (atomic_exchange(&held_sync, false)) {
		sem_post(&begun);
		while (sem_wait(&go) < 0)
			;
	}
	if (error) {
		errno = error;
		return -1;
	}
	return (int)syscall(SYS_fdatasync, fd);
}

/* Waits until the writer thread is inside the sync of a commit. */
static void hold_next_sync(void)
{
	atomic_store(&held_sync, true);
}

static void await_sync(void)
{
	while (sem_wait(&begun) < 0)
		;
}

START_TEST(nothing_is_answered_before_it_is_durable)
{
	struct ledger_new trial = new_trial();
	struct asked asked[2];

	hold_next_sync();
	ledger_insert(ledger, &ask(&asked[0])->call, &trial);
	await_sync();
	/* A reader that comes now waits too, and then sees it. */
	ledger_get(ledger, &ask(&asked[1])->call, trial.id);
	uv_run(&loop, UV_RUN_NOWAIT);
	ck_assert(!asked[0].done);
	ck_assert(!asked[1].done);
	sem_post(&go);
	finish();
	ck_assert_int_eq(asked[0].call.result, 0);
	ck_assert_int_eq(asked[1].call.result, 0);
	forget(&asked[0]);
	forget(&asked[1]);
}
END_TEST

START_TEST(a_call_is_copied_whole)
{
	struct ledger_new first = new_trial(), second = new_trial();
	char uuid[] = UUID, key[] = "key", body[] = "body", spec[] = "spec";
	char name[] = "name", value[] = "value";
	struct pair label = {.name = name, .value = value};
	struct asked asked[2];

	hold_next_sync();
	ledger_insert(ledger, &ask(&asked[0])->call, &first);
	await_sync();
	second.uuid = uuid;
	second.key = key;
	second.body = (struct blob){.data = (uint8_t *)body, .size = 4};
	second.spec = (struct blob){.data = (uint8_t *)spec, .size = 4};
	second.labels = (struct pair_list){.count = 1, .items = &label};
	ledger_insert(ledger, &ask(&asked[1])->call, &second);
	label.name = label.value = NULL;
	uuid[0] = key[0] = body[0] = spec[0] = name[0] = value[0] = '?';
	sem_post(&go);
	finish();
	ck_assert_int_eq(asked[1].call.result, 0);
	ck_assert_str_eq(asked[1].row->uuid, UUID);
	ck_assert_str_eq(asked[1].row->key, "key");
	ck_assert_mem_eq(asked[1].row->spec.data, "spec", 4);
	ck_assert_str_eq(list(WANTED(.labels = LABELS({"name", "value"}))), "2");
	forget(&asked[0]);
	forget(&asked[1]);
	second.uuid = UUID;
	second.key = "key";
	second.body = BLOB("body");
	second.labels.count = 0;
	ck_assert_int_eq(insert(&second), -EEXIST);
}
END_TEST

#define BURST 1000

START_TEST(calls_that_wait_share_a_commit)
{
	struct asked *asked = calloc(BURST + 1, sizeof(*asked));
	unsigned int before;

	hold_next_sync();
	for (int i = 0; i <= BURST; i++) {
		struct ledger_new trial = new_trial();

		ledger_insert(ledger, &ask(&asked[i])->call, &trial);
		if (i == 0)
			await_sync();
	}
	before = atomic_load(&syncs);
	sem_post(&go);
	finish();
	for (int i = 0; i <= BURST; i++) {
		ck_assert_int_eq(asked[i].call.result, 0);
		ck_assert_uint_eq(asked[i].row->id, (uint64_t)i + 1);
		forget(&asked[i]);
	}
	free(asked);
	/* One for them all, and what a checkpoint may need. */
	ck_assert_uint_ge(atomic_load(&syncs), before + 1);
	ck_assert_uint_le(atomic_load(&syncs), before + 4);
	close_ledger();
	ck_assert_str_eq(query("SELECT count(*), max(id) FROM trials"), "1001 1001");
	ck_assert_str_eq(query("SELECT count(DISTINCT trial) FROM events"), "1001");
}
END_TEST

START_TEST(reads_and_refusals_sync_nothing)
{
	struct ledger_change to = LEDGER_CHANGE(STATE_running);
	struct ledger_new trial = new_trial();
	unsigned int before;

	trial.key = "key";
	ck_assert_int_eq(insert(&trial), 0);
	before = atomic_load(&syncs);
	ck_assert(present(1));
	ck_assert_str_eq(list(WANTED(0)), "1");
	ck_assert_uint_eq(count_ended(), 0);
	ck_assert_int_eq(insert(&trial), -EEXIST);
	ck_assert_int_eq(change(1, 1u << STATE_held, &to), -ESTALE);
	ck_assert_int_eq(change(2, ANY, &to), -ENOENT);
	ck_assert_uint_eq(atomic_load(&syncs), before);
	ck_assert_int_eq(change(1, ANY, &to), 0);
	ck_assert_uint_gt(atomic_load(&syncs), before);
}
END_TEST

static void copy_file(const char *name)
{
	char from[160], to[160], buffer[65536];
	int in, out;
	ssize_t n;

	snprintf(from, sizeof(from), "%s/%s", folder, name);
	snprintf(to, sizeof(to), "%s/crash/%s", folder, name);
	in = open(from, O_RDONLY | O_CLOEXEC);
	out = open(to, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	ck_assert(in >= 0 && out >= 0);
	while ((n = read(in, buffer, sizeof(buffer))) > 0)
		ck_assert_int_eq(write(out, buffer, (size_t)n), n);
	close(in);
	close(out);
}

/* What a daemon that crashed now would leave; the ledger's own locks are lost by the copying. */
static void crash_image(void)
{
	char path[160];

	snprintf(path, sizeof(path), "%s/crash", folder);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	copy_file("ledger.db");
	copy_file("ledger.db-wal");
}

START_TEST(a_failed_commit_leaves_nothing)
{
	struct ledger_change to = LEDGER_CHANGE(STATE_ended);
	struct ledger_new trial = new_trial(), other = new_trial();
	struct asked asked[5];

	/* The first waits in its sync, so that the others share the next, which fails. */
	hold_next_sync();
	ledger_insert(ledger, &ask(&asked[0])->call, &trial);
	await_sync();
	ledger_insert(ledger, &ask(&asked[1])->call, &other);
	ledger_change(ledger, &ask(&asked[2])->call, 1, ANY, &to);
	ledger_get(ledger, &ask(&asked[3])->call, 2);
	ledger_count_ended(ledger, &ask(&asked[4])->call);
	atomic_store(&failing_sync, EIO);
	sem_post(&go);
	finish();
	ck_assert_int_eq(asked[0].call.result, 0);
	ck_assert_int_eq(asked[1].call.result, -EIO);
	ck_assert_int_eq(asked[2].call.result, -EIO);
	ck_assert_int_eq(asked[3].call.result, -ENOENT);
	ck_assert_int_eq(asked[4].call.result, 0);
	ck_assert_uint_eq(asked[4].call.number, 0);
	for (int i = 0; i < 5; i++)
		forget(&asked[i]);
	/* Neither now, nor after a crash, though its frames had been written before the sync. */
	crash_image();
	ck_assert_int_eq(insert(&other), 0);
	ck_assert_int_eq(change(1, ANY, &to), 0);
	ck_assert_uint_eq(count_ended(), 1);
	close_ledger();
	ck_assert_str_eq(query("SELECT id, state FROM trials"), "1 ended, 2 queued");
	memcpy(folder + strlen(folder), "/crash", sizeof("/crash"));
	ck_assert_str_eq(query("SELECT id, state FROM trials"), "1 queued");
	*strrchr(folder, '/') = '\0';
}
END_TEST

/* In a child: inserts without end, 64 at a time, writing each answered id to out. */
struct inserter {
	struct ledger_call call;
	char key[32];
};

static int stream_out = -1;

static void stream_insert(struct inserter *inserter)
{
	struct ledger_new trial = new_trial();

	snprintf(inserter->key, sizeof(inserter->key), "key %llu", (unsigned long long)trial.id);
	trial.key = inserter->key;
	trial.body = BLOB("body");
	ledger_insert(ledger, &inserter->call, &trial);
}

static void on_streamed(struct ledger_call *call)
{
	struct inserter *inserter = container_of(call, struct inserter, call);
	uint64_t id = call->row->id;

	if (call->result != 0 || write(stream_out, &id, sizeof(id)) != sizeof(id))
		_exit(1);
	stream_insert(inserter);
}

static void stream_forever(int out)
{
	static struct inserter inserters[64];
	struct fault fault = FAULT_INIT;

	stream_out = out;
	if (uv_loop_init(&loop) < 0 || ledger_open(&ledger, &loop, folder, &fault) != 0)
		_exit(1);
	for (size_t i = 0; i < ARRAY_SIZE(inserters); i++) {
		inserters[i].call.done = on_streamed;
		stream_insert(&inserters[i]);
	}
	uv_run(&loop, UV_RUN_DEFAULT);
	_exit(1);
}

#define STREAM_IDS 4096

/* Reads at least `least` ids from a streaming child, kills it, reads the rest. */
static size_t stream_and_kill(size_t least, uint64_t *ret_ids)
{
	size_t bytes = 0;
	int pipes[2];
	int status;
	ssize_t n;
	pid_t pid;

	ck_assert_int_eq(pipe2(pipes, O_CLOEXEC), 0);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		close(pipes[0]);
		stream_forever(pipes[1]);
	}
	close(pipes[1]);
	while ((n = read(pipes[0], (char *)ret_ids + bytes,
			 STREAM_IDS * sizeof(*ret_ids) - bytes)) > 0) {
		bytes += (size_t)n;
		if (bytes / sizeof(*ret_ids) >= least)
			kill(pid, SIGKILL);
	}
	close(pipes[0]);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	return bytes / sizeof(*ret_ids);
}

START_TEST(a_killed_daemon_loses_nothing)
{
	uint64_t ids[STREAM_IDS], last = 0;

	for (size_t round = 0; round < 8; round++) {
		size_t count = stream_and_kill(1 + round * 37, ids);

		open_ledger();
		for (size_t i = 0; i < count; i++) {
			struct ledger_new again = new_trial();
			char key[32];

			/* Never an id of an earlier life; there once, by id and by key. */
			ck_assert_uint_gt(ids[i], last);
			ck_assert(present(ids[i]));
			snprintf(key, sizeof(key), "key %llu", (unsigned long long)ids[i]);
			again.key = key;
			again.body = BLOB("body");
			ck_assert_int_eq(insert(&again), -EEXIST);
		}
		last = count ? ids[count - 1] : last;
		ck_assert_uint_gt(ledger_next_id(ledger), last);
		close_ledger();
		ck_assert_str_eq(query("SELECT count(*) - count(DISTINCT key), count(*) - "
				       "(SELECT count(*) FROM events) FROM trials"),
				 "0 0");
	}
}
END_TEST

static bool write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	fd_close(fd);
	return ok;
}

/* A 2 MiB filesystem on folder, seen by this process only; NULL or why it cannot be had. */
static const char *small_filesystem(void)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	char uids[64], gids[64];

	snprintf(uids, sizeof(uids), "%u %u 1", uid, uid);
	snprintf(gids, sizeof(gids), "%u %u 1", gid, gid);
	if (unshare(uid == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER) < 0)
		return "no namespace of its own";
	if (uid != 0 &&
	    !(write_text("/proc/self/setgroups", "deny") &&
	      write_text("/proc/self/uid_map", uids) && write_text("/proc/self/gid_map", gids)))
		return "no user namespace of its own";
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("small", folder, "tmpfs", MS_NOSUID | MS_NODEV, "size=2M,mode=0700") < 0)
		return "a tmpfs cannot be mounted";
	return NULL;
}

START_TEST(a_full_disk_refuses_and_recovers)
{
	const char *reason = small_filesystem();
	struct ledger_new trial;
	char spec[8192], path[160];
	size_t inserted = 0;
	int ballast, r;

	if (reason) {
		printf("skipped: test_ledger_durable a_full_disk_refuses_and_recovers: %s\n",
		       reason);
		return;
	}
	open_ledger();
	memset(spec, 's', sizeof(spec));
	snprintf(path, sizeof(path), "%s/ballast", folder);
	ballast = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	ck_assert_int_eq(fallocate(ballast, 0, 0, 512 * 1024), 0);
	close(ballast);
	do {
		trial = new_trial();
		trial.spec = (struct blob){.data = (uint8_t *)spec, .size = sizeof(spec)};
		r = insert(&trial);
		inserted += r == 0;
	} while (r == 0 && inserted < 1000);
	ck_assert_int_eq(r, -ENOSPC);
	ck_assert_uint_gt(inserted, 10);
	/* What is there can be read; what was refused is not there. */
	ck_assert(present(inserted));
	ck_assert(!present(trial.id));
	ck_assert_int_eq(insert(&trial), -ENOSPC);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(insert(&trial), 0);
	reopen();
	ck_assert(present(trial.id));
	ck_assert(present(inserted));
	close_ledger();
	ck_assert_int_eq(umount2(folder, MNT_DETACH), 0);
}
END_TEST

int main(void)
{
	/* Each test runs in a process of its own, that has its own copy of these. */
	Suite *suite = suite_create("ledger durability");
	TCase *storage = tcase_create("storage");
	TCase *bare = tcase_create("bare");
	SRunner *runner = srunner_create(suite);
	int failed;

	sem_init(&begun, 0, 0);
	sem_init(&go, 0, 0);
	tcase_add_checked_fixture(storage, setup, teardown);
	tcase_add_test(storage, nothing_is_answered_before_it_is_durable);
	tcase_add_test(storage, a_call_is_copied_whole);
	tcase_add_test(storage, calls_that_wait_share_a_commit);
	tcase_add_test(storage, reads_and_refusals_sync_nothing);
	tcase_add_test(storage, a_failed_commit_leaves_nothing);
	suite_add_tcase(suite, storage);

	tcase_add_checked_fixture(bare, setup_folder, teardown);
	tcase_set_timeout(bare, 60);
	tcase_add_test(bare, a_killed_daemon_loses_nothing);
	tcase_add_test(bare, a_full_disk_refuses_and_recovers);
	suite_add_tcase(suite, bare);

	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* SPDX-License-Identifier: MIT */

/* Work that waits its turn: how much of it runs at once, in which order, and what becomes of what is called off. */
#include "base/lane.h"

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define WORKS 12

struct job {
	struct lane_work work;
	char name;
	int status;
	bool again; /* its done begins one more */
	bool ran;
	struct job *cancels; /* called off by its done */
};

static uv_loop_t loop;
static uv_sem_t gate;
static uv_mutex_t lock;
static int running, most;
static bool gated;
static char order[64]; /* names, as done was called */

static void setup(void)
{
	ck_assert_int_eq(uv_loop_init(&loop), 0);
	ck_assert_int_eq(uv_sem_init(&gate, 0), 0);
	ck_assert_int_eq(uv_mutex_init(&lock), 0);
	running = most = 0;
	gated = false;
	order[0] = '\0';
}

static void teardown(void)
{
	ck_assert_int_eq(uv_loop_close(&loop), 0);
	uv_sem_destroy(&gate);
	uv_mutex_destroy(&lock);
}

static void run(struct lane_work *work)
{
	struct job *job = container_of(work, struct job, work);

	uv_mutex_lock(&lock);
	job->ran = true;
	if (++running > most)
		most = running;
	uv_mutex_unlock(&lock);
	if (gated)
		uv_sem_wait(&gate);
	uv_mutex_lock(&lock);
	running--;
	uv_mutex_unlock(&lock);
}

static void done(struct lane_work *work, int status)
{
	struct job *job = container_of(work, struct job, work);
	size_t length = strlen(order);

	order[length] = job->name;
	order[length + 1] = '\0';
	job->status = status;
	if (job->cancels)
		lane_cancel(&job->cancels->work);
	if (!job->again)
		return;
	job->again = false;
	job->name = '+';
	ck_assert_int_eq(lane_begin(work->lane, &loop, work, run, done), 0);
}

static void begin(struct lane *lane, struct job *job, char name)
{
	job->name = name;
	job->status = 1;
	ck_assert_int_eq(lane_begin(lane, &loop, &job->work, run, done), 0);
}

static void finish(void)
{
	ck_assert_int_eq(uv_run(&loop, UV_RUN_DEFAULT), 0);
}

START_TEST(one_after_the_other)
{
	struct lane lane = LANE_INIT(lane, 1);
	struct job jobs[WORKS] = {{.again = false}};

	for (int i = 0; i < WORKS; i++)
		begin(&lane, &jobs[i], (char)('a' + i));
	ck_assert(!jobs[0].work.queued && jobs[1].work.queued);
	finish();
	ck_assert_str_eq(order, "abcdefghijkl");
	ck_assert_int_eq(most, 1);
	for (int i = 0; i < WORKS; i++)
		ck_assert(jobs[i].ran && jobs[i].status == 0);
	ck_assert_uint_eq(lane.running, 0);
}
END_TEST

/* All that may run at once does, and no more: each of them waits until the last one is there. */
START_TEST(as_many_as_it_has_room_for)
{
	struct lane lane = LANE_INIT(lane, 2);
	struct job jobs[WORKS] = {{.again = false}};

	gated = true;
	for (int i = 0; i < WORKS; i++)
		begin(&lane, &jobs[i], (char)('a' + i));
	for (bool both = false; !both;) {
		uv_mutex_lock(&lock);
		both = running == 2;
		uv_mutex_unlock(&lock);
	}
	ck_assert_uint_eq(lane.running, 2);
	for (int i = 0; i < WORKS; i++)
		uv_sem_post(&gate);
	finish();
	ck_assert_int_eq(most, 2);
	ck_assert_uint_eq(strlen(order), WORKS);
}
END_TEST

/* What done begins is next: who has two steps keeps its turn in between. */
START_TEST(a_second_step_is_next)
{
	struct lane lane = LANE_INIT(lane, 1);
	struct job jobs[3] = {{.again = true}, {.again = true}, {.again = false}};

	for (int i = 0; i < 3; i++)
		begin(&lane, &jobs[i], (char)('a' + i));
	finish();
	ck_assert_str_eq(order, "a+b+c");
	ck_assert_int_eq(most, 1);
}
END_TEST

START_TEST(what_is_called_off)
{
	struct lane lane = LANE_INIT(lane, 1);
	struct job jobs[4] = {{.again = false}};

	gated = true;
	for (int i = 0; i < 4; i++)
		begin(&lane, &jobs[i], (char)('a' + i));
	lane_cancel(&jobs[2].work);
	ck_assert_str_eq(order, "");
	uv_sem_post(&gate);
	/* From within a done, too. */
	jobs[0].cancels = &jobs[1];
	uv_sem_post(&gate);
	finish();
	ck_assert(jobs[0].ran && jobs[3].ran);
	ck_assert(!jobs[1].ran && !jobs[2].ran);
	ck_assert_int_eq(jobs[1].status, -ECANCELED);
	ck_assert_int_eq(jobs[2].status, -ECANCELED);
	ck_assert_int_eq(jobs[3].status, 0);
	ck_assert_uint_eq(lane.running, 0);
	ck_assert_int_eq(most, 1);
	/* It goes on to be used. */
	uv_sem_post(&gate);
	begin(&lane, &jobs[2], 'z');
	finish();
	ck_assert(jobs[2].ran && jobs[2].status == 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("lane");
	TCase *tests = tcase_create("lane");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, one_after_the_other);
	tcase_add_test(tests, as_many_as_it_has_room_for);
	tcase_add_test(tests, a_second_step_is_next);
	tcase_add_test(tests, what_is_called_off);
	suite_add_tcase(suite, tests);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

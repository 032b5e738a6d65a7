/* SPDX-License-Identifier: MIT */

/* What trialsd decides of a Trial whose keeper is gone without a record. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "keeper/cgroup.h"
#include "keeper/outcome.h"

struct unseen_case {
	const char *name;
	struct unseen_facts facts;
	enum outcome outcome;
	enum ender ended_by;
	const char *message; /* a part of it */
};

static const struct unseen_case cases[] = {
	{"killed from outside", {0}, OUTCOME_lost, ENDER_outside, "killed from outside"},
	{"after a kill for memory",
	 {.oom_kills = 3},
	 OUTCOME_out_of_memory,
	 ENDER_memory_limit,
	 "3 processes had been killed for the Trial's memory limit"},
	{"at the task limit",
	 {.task_limit_hits = 7},
	 OUTCOME_out_of_memory,
	 ENDER_outside,
	 "task limit had been hit 7 times"},
	{"at both",
	 {.oom_kills = 1, .task_limit_hits = 7},
	 OUTCOME_out_of_memory,
	 ENDER_memory_limit,
	 "memory limit"},
	{"after a cancel", {.order = END_CANCEL}, OUTCOME_canceled, ENDER_client, "ordered before"},
	{"silent at a cancel",
	 {.order = END_CANCEL, .silent = true},
	 OUTCOME_canceled,
	 ENDER_client,
	 "did not answer"},
	{"silent at the wall limit",
	 {.order = END_WALL_LIMIT, .silent = true},
	 OUTCOME_timed_out,
	 ENDER_wall_limit,
	 "did not answer"},
	{"an order stands before a kill for memory",
	 {.order = END_CANCEL, .silent = true, .oom_kills = 1},
	 OUTCOME_canceled,
	 ENDER_client,
	 "did not answer"},
	{"the stall limit's order",
	 {.order = END_STALL_LIMIT},
	 OUTCOME_stalled,
	 ENDER_stall_limit,
	 "gone"},
	{"the session's end", {.order = END_OUTSIDE}, OUTCOME_interrupted, ENDER_outside, "gone"},
	{"silent for no reason that is known",
	 {.silent = true},
	 OUTCOME_lost,
	 ENDER_outside,
	 "did not answer"},
};

START_TEST(decision)
{
	const struct unseen_case *wanted = &cases[_i];
	struct outcome_record record = {0};
	struct outcome_decision decided;

	outcome_decide_unseen(&wanted->facts, &decided);
	outcome_fill(&decided, &record);
	ck_assert_msg(record.outcome == wanted->outcome, "%s: outcome is %s", wanted->name,
		      outcome_name((int)record.outcome));
	ck_assert_msg(record.ended_by == wanted->ended_by, "%s: ended_by is %s", wanted->name,
		      ender_name((int)record.ended_by));
	ck_assert_msg(record.message && strstr(record.message, wanted->message),
		      "%s: message is \"%s\"", wanted->name, record.message);
	ck_assert(!record.has.exit_code && !record.has.exit_signal && !record.has.cause);
}
END_TEST

/* Who ordered an end stands in `ending`; nobody else gives orders. */
START_TEST(orders)
{
	for (int order = END_NOT_ORDERED; order <= END_OUTSIDE; order++)
		ck_assert_int_eq(outcome_order(outcome_ender((enum end_order)order)), order);
	ck_assert_int_eq(outcome_order(ENDER_memory_limit), END_NOT_ORDERED);
	ck_assert_int_eq(outcome_order(ENDER_daemon), END_NOT_ORDERED);
}
END_TEST

START_TEST(only_what_was_counted)
{
	struct payload_counters counters = {
		.has = {.oom_kills = true, .memory_peak = true},
		.oom_kills = 2,
		.memory_peak = 4096,
		.user_microseconds = 1,
	};
	struct outcome_record record = {0};

	payload_fill(&counters, &record);
	ck_assert(record.has.oom_kills && record.oom_kills == 2);
	ck_assert(record.has.memory_peak && record.memory_peak == 4096);
	ck_assert(!record.has.cpu_seconds && !record.has.tasks_peak && !record.has.io_read_bytes &&
		  !record.has.task_limit_hits);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("outcome_unseen");
	TCase *tcase = tcase_create("unseen");
	SRunner *runner;
	int failed;

	tcase_add_loop_test(tcase, decision, 0, sizeof(cases) / sizeof(cases[0]));
	tcase_add_test(tcase, orders);
	tcase_add_test(tcase, only_what_was_counted);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

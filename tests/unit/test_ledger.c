/* SPDX-License-Identifier: MIT */
/* What each call of the ledger answers. */
#include "ledger_fixture.h"

START_TEST(an_insert_is_found_whole)
{
	struct ledger_new trial = new_trial();
	struct ledger_row *row;
	int result;

	trial.priority = -7;
	trial.key = "key";
	trial.body = BLOB("body");
	ck_assert_uint_eq(trial.id, 1);
	ck_assert_int_eq(insert(&trial), 0);
	row = get(1, &result);
	ck_assert_int_eq(result, 0);
	ck_assert_uint_eq(row->id, 1);
	ck_assert_str_eq(row->uuid, UUID);
	ck_assert_int_eq(row->state, STATE_queued);
	ck_assert_int_eq(row->outcome, -1);
	ck_assert_int_eq(row->backend, -1);
	ck_assert_int_eq(row->priority, -7);
	ck_assert_uint_eq(row->submitted_at, 1700000000000000u);
	ck_assert_uint_eq(row->started_at, 0);
	ck_assert_str_eq(row->key, "key");
	ck_assert_ptr_null(row->unit);
	ck_assert_mem_eq(row->spec.data, "spec", 4);
	ck_assert_uint_eq(row->spec.size, 4);
	ck_assert_uint_eq(row->record.size, 0);
	ledger_row_free(row);
	ck_assert(!present(2));
	ck_assert(!present(0));
	ck_assert(!present(UINT64_MAX));
}
END_TEST

START_TEST(an_insert_answers_with_its_row)
{
	struct ledger_new trial = new_trial();
	struct asked asked;

	trial.spec = (struct blob){0};
	ledger_insert(ledger, &ask(&asked)->call, &trial);
	finish();
	ck_assert_int_eq(asked.call.result, 0);
	ck_assert_uint_eq(asked.row->id, trial.id);
	ck_assert_uint_eq(asked.row->spec.size, 0);
	forget(&asked);
	/* The same id again changes nothing. */
	ck_assert_int_eq(insert(&trial), -EINVAL);
	trial = new_trial();
	trial.uuid = NULL;
	ck_assert_int_eq(insert(&trial), -EINVAL);
	ck_assert_str_eq(list(WANTED(0)), "1");
}
END_TEST

START_TEST(a_key_is_one_trial)
{
	struct ledger_new first = new_trial(), again = new_trial(), other = new_trial();
	struct asked asked[3];

	first.key = again.key = other.key = "key";
	first.body = again.body = BLOB("body");
	other.body = BLOB("bodY");
	/* All in one transaction: the later ones meet what is not committed yet. */
	ledger_insert(ledger, &ask(&asked[0])->call, &first);
	ledger_insert(ledger, &ask(&asked[1])->call, &again);
	ledger_insert(ledger, &ask(&asked[2])->call, &other);
	finish();
	ck_assert_int_eq(asked[0].call.result, 0);
	ck_assert_int_eq(asked[1].call.result, -EEXIST);
	ck_assert_uint_eq(asked[1].row->id, first.id);
	ck_assert_int_eq(asked[2].call.result, -ENOTUNIQ);
	ck_assert_uint_eq(asked[2].row->id, first.id);
	for (int i = 0; i < 3; i++)
		forget(&asked[i]);
	reopen();
	ck_assert_int_eq(insert(&again), -EEXIST);
	ck_assert_int_eq(insert(&other), -ENOTUNIQ);
	other.key = "another";
	ck_assert_int_eq(insert(&other), 0);
	ck_assert_str_eq(list(WANTED(0)), "3 1");
}
END_TEST

START_TEST(a_change_compares_and_swaps)
{
	struct ledger_change to = LEDGER_CHANGE(STATE_starting);
	struct ledger_new trial = new_trial();
	struct asked asked[2];
	struct ledger_row *row;
	int result;

	ck_assert_int_eq(insert(&trial), 0);
	ck_assert_int_eq(change(99, ANY, &to), -ENOENT);
	to.unit = "trial-x.scope";
	to.boot_id = "boot";
	to.backend = BACKEND_none;
	to.facts = BLOB("facts");
	/* A cancel and a claim at once: the first that comes wins, the other is told. */
	ledger_change(ledger, &ask(&asked[0])->call, 1, 1u << STATE_queued, &to);
	to = LEDGER_CHANGE(STATE_ended);
	to.outcome = OUTCOME_canceled;
	ledger_change(ledger, &ask(&asked[1])->call, 1, 1u << STATE_queued, &to);
	finish();
	ck_assert_int_eq(asked[0].call.result, 0);
	ck_assert_int_eq(asked[0].row->state, STATE_starting);
	ck_assert_int_eq(asked[1].call.result, -ESTALE);
	ck_assert_int_eq(asked[1].row->state, STATE_starting);
	ck_assert_int_eq(asked[1].row->outcome, -1);
	forget(&asked[0]);
	forget(&asked[1]);
	ck_assert_uint_eq(count_ended(), 0);

	to.record = BLOB("record");
	to.ended_at = 5;
	to.canceled_by = "me";
	ck_assert_int_eq(change(1, 1u << STATE_starting | 1u << STATE_running, &to), 0);
	row = get(1, &result);
	ck_assert_int_eq(row->state, STATE_ended);
	ck_assert_int_eq(row->outcome, OUTCOME_canceled);
	ck_assert_int_eq(row->backend, BACKEND_none);
	ck_assert_uint_eq(row->ended_at, 5);
	ck_assert_str_eq(row->unit, "trial-x.scope");
	ck_assert_str_eq(row->boot_id, "boot");
	ck_assert_str_eq(row->canceled_by, "me");
	ck_assert_mem_eq(row->facts.data, "facts", 5);
	ck_assert_mem_eq(row->record.data, "record", 6);
	ck_assert_mem_eq(row->spec.data, "spec", 4);
	ledger_row_free(row);
	ck_assert_uint_eq(count_ended(), 1);
	ck_assert_int_eq(change(1, 1u << STATE_starting, &to), -ESTALE);
	ck_assert_uint_eq(count_ended(), 1);
	reopen();
	ck_assert_uint_eq(count_ended(), 1);
}
END_TEST

START_TEST(a_list_is_filtered)
{
	ten_trials();
	ck_assert_str_eq(list(WANTED(0)), "10 9 8 7 6 5 4 3 2 1");
	ck_assert_str_eq(list(WANTED(.state = "queued")), "10 8 7 4 2 1");
	ck_assert_str_eq(list(WANTED(.state = "ended")), "9 6 5 3");
	ck_assert_str_eq(list(WANTED(.state = "held")), "");
	ck_assert_str_eq(list(WANTED(.outcome = "failed")), "9 6 3");
	ck_assert_str_eq(list(WANTED(.outcome = "lost")), "");
	ck_assert_str_eq(list(WANTED(.state = "queued", .outcome = "failed")), "");
	ck_assert_str_eq(list(WANTED(.state = "ended", .outcome = "delivered")), "5");
	ck_assert_str_eq(list(WANTED(.since = 8000)), "10 9 8");
	ck_assert_str_eq(list(WANTED(.since = 8001)), "10 9");
	ck_assert_str_eq(list(WANTED(.since = 11000)), "");
	ck_assert_str_eq(list(WANTED(.since = 4000, .state = "ended")), "9 6 5");
}
END_TEST

START_TEST(a_list_by_labels_is_filtered)
{
	ten_trials();
	ck_assert_str_eq(list(WANTED(.labels = LABELS({"odd", "yes"}))), "9 7 5 3 1");
	ck_assert_str_eq(list(WANTED(.labels = LABELS({"odd", "yes"}, {"third", "yes"}))), "9 3");
	ck_assert_str_eq(list(WANTED(.labels = LABELS({"odd", "maybe"}))), "");
	ck_assert_str_eq(list(WANTED(.labels = LABELS({"odd", "yes"}, {"even", "no"}))), "");
	ck_assert_str_eq(list(WANTED(.labels = LABELS({"odd", "no"}), .state = "queued")),
			 "10 8 4 2");
	ck_assert_str_eq(list(WANTED(.labels = LABELS({"odd", "no"}), .state = "ended")), "6");
	ck_assert_str_eq(list(WANTED(.labels = LABELS({"odd", "yes"}), .since = 4000,
				     .outcome = "failed")),
			 "9");
	ck_assert_str_eq(list(WANTED(.labels = LABELS({"odd", "yes"}), .limit = 2)), "9 7 (7)");
	ck_assert_str_eq(list(WANTED(.labels = LABELS({"odd", "yes"}), .limit = 2, .before = 7)),
			 "5 3 (3)");
}
END_TEST

START_TEST(a_list_comes_in_pages)
{
	ten_trials();
	ck_assert_str_eq(list(WANTED(.limit = 4)), "10 9 8 7 (7)");
	ck_assert_str_eq(list(WANTED(.limit = 4, .before = 7)), "6 5 4 3 (3)");
	ck_assert_str_eq(list(WANTED(.limit = 4, .before = 3)), "2 1");
	ck_assert_str_eq(list(WANTED(.limit = 2, .before = 3)), "2 1");
	ck_assert_str_eq(list(WANTED(.limit = 3, .state = "queued")), "10 8 7 (7)");
	ck_assert_str_eq(list(WANTED(.limit = 3, .state = "queued", .before = 7)), "4 2 1");
	ck_assert_str_eq(list(WANTED(.before = 1)), "");
}
END_TEST

START_TEST(since_holds_when_the_clock_was_set_back)
{
	static const uint64_t times[] = {9000, 1000, 2000, 9500, 3000};

	for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
		struct ledger_new trial = new_trial();

		trial.submitted_at = times[i];
		ck_assert_int_eq(insert(&trial), 0);
	}
	ck_assert_str_eq(list(WANTED(.since = 9000)), "4 1");
	ck_assert_str_eq(list(WANTED(.since = 2000)), "5 4 3 1");
}
END_TEST

static int note_id(const struct ledger_row *row, void *context)
{
	char *text = context;
	size_t length = strlen(text);

	snprintf(text + length, 64 - length, "%llu ", (unsigned long long)row->id);
	return row->id == 8 ? 42 : 0;
}

START_TEST(each_unended_is_oldest_first)
{
	struct ledger_change to = LEDGER_CHANGE(STATE_running);
	char text[64] = "";

	ten_trials();
	ck_assert_int_eq(change(2, ANY, &to), 0);
	ck_assert_int_eq(ledger_each_unended(ledger, note_id, text), 42);
	ck_assert_str_eq(text, "1 2 4 7 8 ");
	reopen();
	text[0] = '\0';
	ck_assert_int_eq(ledger_each_unended(ledger, note_id, text), 42);
	ck_assert_str_eq(text, "1 2 4 7 8 ");
}
END_TEST

START_TEST(every_change_is_an_event)
{
	struct ledger_change to = LEDGER_CHANGE(STATE_starting);
	struct ledger_new trial = new_trial(), keyed = new_trial();

	ck_assert_int_eq(insert(&trial), 0);
	keyed.key = "key";
	ck_assert_int_eq(insert(&keyed), 0);
	ck_assert_int_eq(insert(&keyed), -EEXIST);
	ck_assert_int_eq(change(1, ANY, &to), 0);
	ck_assert_int_eq(change(1, 1u << STATE_queued, &to), -ESTALE);
	to.state = STATE_ended;
	to.outcome = OUTCOME_void;
	ck_assert_int_eq(change(1, ANY, &to), 0);
	close_ledger();
	ck_assert_str_eq(query("SELECT number, trial, before, state FROM events ORDER BY number"),
			 "1 1 - queued, 2 2 - queued, 3 1 queued starting, 4 1 starting ended");
	ck_assert_str_eq(query("SELECT state, outcome FROM trials WHERE id = 1"), "ended void");
	ck_assert_str_eq(query("SELECT length(key_body) FROM trials WHERE id = 2"), "32");
}
END_TEST

static void on_refused(struct ledger_call *call)
{
	ck_assert_int_eq(call->result, -ESHUTDOWN);
	on_done(call);
}

START_TEST(close_answers_what_was_asked)
{
	struct ledger_new trial = new_trial(), late = new_trial();
	struct asked asked, refused;
	bool closed = false;

	ledger_insert(ledger, &ask(&asked)->call, &trial);
	ledger_close(ledger, on_closed, &closed);
	ask(&refused)->call.done = on_refused;
	ledger_insert(ledger, &refused.call, &late);
	ck_assert(!refused.done);
	uv_run(&loop, UV_RUN_DEFAULT);
	ck_assert(closed && asked.done && refused.done);
	ck_assert_int_eq(asked.call.result, 0);
	forget(&asked);
	open_ledger();
	ck_assert_str_eq(list(WANTED(0)), "1");
}
END_TEST

/* A call that frees itself, as the daemon's own do. */
static void on_freeing(struct ledger_call *call)
{
	struct asked *asked = container_of(call, struct asked, call);

	ck_assert_int_eq(call->result, 0);
	ck_assert_ptr_nonnull(call->row);
	pending--;
	free(asked);
}

START_TEST(a_call_may_go_in_done)
{
	struct ledger_new trial = new_trial();
	struct asked *asked = calloc(1, sizeof(*asked));

	ask(asked)->call.done = on_freeing;
	ledger_insert(ledger, &asked->call, &trial);
	finish();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ledger");
	TCase *calls = tcase_create("calls");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_checked_fixture(calls, setup, teardown);
	tcase_add_test(calls, an_insert_is_found_whole);
	tcase_add_test(calls, an_insert_answers_with_its_row);
	tcase_add_test(calls, a_key_is_one_trial);
	tcase_add_test(calls, a_change_compares_and_swaps);
	tcase_add_test(calls, a_list_is_filtered);
	tcase_add_test(calls, a_list_by_labels_is_filtered);
	tcase_add_test(calls, a_list_comes_in_pages);
	tcase_add_test(calls, since_holds_when_the_clock_was_set_back);
	tcase_add_test(calls, each_unended_is_oldest_first);
	tcase_add_test(calls, every_change_is_an_event);
	tcase_add_test(calls, close_answers_what_was_asked);
	tcase_add_test(calls, a_call_may_go_in_done);
	suite_add_tcase(suite, calls);

	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

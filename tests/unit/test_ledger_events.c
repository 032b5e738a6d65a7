/* SPDX-License-Identifier: MIT */
/* Numbered changes, settings, and what a prune leaves of a ledger. */
#include "ledger_fixture.h"

/* A call whose answers are lists; of them, as text, until the next. */
struct listed {
	struct ledger_call call;
	bool done;
	char text[8192];
};

static void on_listed(struct ledger_call *call)
{
	struct listed *listed = container_of(call, struct listed, call);
	size_t at = 0;

	for (size_t i = 0; call->events && i < call->count; i++) {
		const struct ledger_event *event = &call->events[i];

		at += (size_t)snprintf(listed->text + at, sizeof(listed->text) - at,
				       "%s%llu:%llu>%s", i ? " " : "",
				       (unsigned long long)event->number,
				       (unsigned long long)event->row->id,
				       state_name(event->state));
	}
	for (size_t i = 0; call->ended && i < call->count; i++)
		at += (size_t)snprintf(listed->text + at, sizeof(listed->text) - at, "%s%llu",
				       i ? " " : "", (unsigned long long)call->ended[i].id);
	listed->done = true;
}

static struct ledger_call *listing(struct listed *listed)
{
	*listed = (struct listed){.call.done = on_listed};
	return &listed->call;
}

static const char *answer(struct listed *listed)
{
	while (!listed->done)
		uv_run(&loop, UV_RUN_ONCE);
	ck_assert_int_eq(listed->call.result, 0);
	return listed->text;
}

static const char *events(struct listed *listed, uint64_t after, uint64_t trial)
{
	ledger_events(ledger, listing(listed), after, trial);
	return answer(listed);
}

START_TEST(changes_are_numbered_and_told)
{
	struct ledger_change start = LEDGER_CHANGE(STATE_starting);
	struct ledger_new one = new_trial(), two = new_trial();
	struct listed listed;
	struct asked asked;

	ck_assert_str_eq(events(&listed, 0, 0), "");
	ck_assert_uint_eq(listed.call.newest, 0);
	ledger_insert(ledger, &ask(&asked)->call, &one);
	finish();
	forget(&asked);
	ck_assert_uint_eq(asked.call.number, 1);
	ck_assert_uint_eq(asked.call.at, one.submitted_at);
	ck_assert_int_eq(insert(&two), 0);
	ledger_change(ledger, &ask(&asked)->call, one.id, ANY, &start);
	finish();
	forget(&asked);
	ck_assert_uint_eq(asked.call.number, 3);
	ck_assert_uint_gt(asked.call.at, one.submitted_at);
	ck_assert_str_eq(events(&listed, 0, 0), "1:1>queued 2:2>queued 3:1>starting");
	ck_assert_uint_eq(listed.call.number, 3);
	ck_assert_uint_eq(listed.call.newest, 3);
	ck_assert_str_eq(events(&listed, 1, 0), "2:2>queued 3:1>starting");
	ck_assert_str_eq(events(&listed, 0, 2), "2:2>queued");
	ck_assert_uint_eq(listed.call.number, 3);
	ck_assert_str_eq(events(&listed, 3, 0), "");
	ck_assert_uint_eq(listed.call.number, 3);
	/* One that is there already is told by its own number; any other mismatch by none. */
	ledger_change(ledger, &ask(&asked)->call, one.id, 1u << STATE_queued, &start);
	finish();
	forget(&asked);
	ck_assert_int_eq(asked.call.result, -ESTALE);
	ck_assert_uint_eq(asked.call.number, 3);
	start.state = STATE_running;
	ledger_change(ledger, &ask(&asked)->call, one.id, 1u << STATE_queued, &start);
	finish();
	forget(&asked);
	ck_assert_int_eq(asked.call.result, -ESTALE);
	ck_assert_uint_eq(asked.call.number, 0);
	reopen();
	ledger_newest_event(ledger, listing(&listed));
	answer(&listed);
	ck_assert_uint_eq(listed.call.newest, 3);
}
END_TEST

/* Pages are bounded in number and in bytes, and each goes on where the one before it ended. */
START_TEST(pages_of_changes)
{
	static const uint8_t large[50000];
	struct listed listed;
	uint64_t after = 0, pages = 0, count = 0;

	for (int i = 0; i < 150; i++) {
		struct ledger_new trial = new_trial();

		if (i >= 140)
			trial.spec = (struct blob){.data = large, .size = sizeof(large)};
		ck_assert_int_eq(insert(&trial), 0);
	}
	for (;; pages++) {
		events(&listed, after, 0);
		if (listed.call.number == after)
			break;
		ck_assert_uint_le(listed.call.count, 64);
		ck_assert_uint_eq(listed.call.number, after + listed.call.count);
		if (after >= 140)
			ck_assert_uint_le(listed.call.count, 3);
		after = listed.call.number;
		count += listed.call.count;
	}
	ck_assert_uint_eq(count, 150);
	ck_assert_uint_ge(pages, 6);
}
END_TEST

START_TEST(a_setting_is_kept)
{
	_cleanup_free_ char *value = NULL;
	struct asked asked;

	ck_assert_int_eq(ledger_setting(ledger, "paused", &value), 0);
	ck_assert_ptr_null(value);
	ledger_set(ledger, &ask(&asked)->call, "paused", "one");
	ledger_set(ledger, &ask(&asked)->call, "paused", "two");
	finish();
	reopen();
	ck_assert_int_eq(ledger_setting(ledger, "paused", &value), 0);
	ck_assert_str_eq(value, "two");
	free(steal(&value));
	ledger_set(ledger, &ask(&asked)->call, "paused", "");
	finish();
	ck_assert_int_eq(ledger_setting(ledger, "paused", &value), 0);
	ck_assert_str_eq(value, "");
	free(steal(&value));
	ledger_set(ledger, &ask(&asked)->call, "paused", NULL);
	finish();
	ck_assert_int_eq(ledger_setting(ledger, "paused", &value), 0);
	ck_assert_ptr_null(value);
}
END_TEST

START_TEST(a_prune)
{
	static const uint64_t ids[] = {3, 4, 5, 99};
	struct ledger_filter filter = {.labels = LABELS({"third", "yes"})};
	struct listed listed;
	struct asked asked;

	ten_trials();
	ledger_list_ended(ledger, listing(&listed), &(struct ledger_filter){0});
	ck_assert_str_eq(answer(&listed), "9 6 5 3");
	ledger_list_ended(ledger, listing(&listed), &(struct ledger_filter){.limit = 3});
	ck_assert_str_eq(answer(&listed), "9 6 5");
	ck_assert_uint_eq(listed.call.number, 5);
	filter.before = 9;
	ledger_list_ended(ledger, listing(&listed), &filter);
	ck_assert_str_eq(answer(&listed), "6 3");
	/* Only those that are there and have ended. */
	ledger_prune(ledger, listing(&listed), ids, ARRAY_SIZE(ids));
	ck_assert_str_eq(answer(&listed), "3 5");
	ck_assert_uint_eq(count_ended(), 2);
	ck_assert_str_eq(list(WANTED(0)), "10 9 8 7 6 4 2 1");
	ck_assert_str_eq(query("SELECT count(*) FROM labels WHERE trial IN (3, 5)"), "0");
	reopen();
	ck_assert_uint_eq(count_ended(), 2);
	ledger_list_pruned(ledger, listing(&listed), 10);
	ck_assert_str_eq(answer(&listed), "3 5");
	ledger_pruned(ledger, &ask(&asked)->call, ids, 1);
	finish();
	ledger_list_pruned(ledger, listing(&listed), 10);
	ck_assert_str_eq(answer(&listed), "5");
	/* Its changes are passed over, and then deleted. */
	ck_assert_str_eq(events(&listed, 0, 3), "");
	ck_assert_str_eq(query("SELECT count(*) FROM events WHERE trial IN (3, 5)"), "4");
	ledger_prune_events(ledger, listing(&listed), 0);
	answer(&listed);
	ck_assert_uint_eq(listed.call.number, 14);
	ledger_prune_events(ledger, listing(&listed), 14);
	answer(&listed);
	ck_assert_uint_eq(listed.call.number, 0);
	ck_assert_str_eq(query("SELECT count(*) FROM events WHERE trial IN (3, 5)"), "0");
	ck_assert_str_eq(query("SELECT count(*) FROM events"), "10");
}
END_TEST

static uint64_t run(const char *facts, const char *end)
{
	struct ledger_change starting = LEDGER_CHANGE(STATE_starting);
	struct ledger_change running = LEDGER_CHANGE(STATE_running);
	struct ledger_change ended = LEDGER_CHANGE(STATE_ended);
	struct ledger_new trial = new_trial();

	running.started_at = 1700000000000001u;
	running.facts = (struct blob){.data = (const uint8_t *)facts, .size = strlen(facts)};
	ended.outcome = OUTCOME_delivered;
	ended.ended_at = 1700000000000002u;
	ck_assert_int_eq(insert(&trial), 0);
	ck_assert_int_eq(change(trial.id, ANY, &starting), 0);
	if (strcmp(end, "starting") != 0)
		ck_assert_int_eq(change(trial.id, ANY, &running), 0);
	if (strcmp(end, "ended") == 0)
		ck_assert_int_eq(change(trial.id, ANY, &ended), 0);
	return trial.id;
}

static bool has_text(const struct blob *facts, const void *text)
{
	return memmem(facts->data, facts->size, text, strlen(text)) != NULL;
}

static const char *since(uint64_t id)
{
	static char text[256];
	struct asked asked;
	size_t at = 0;

	ledger_list_since_end(ledger, &ask(&asked)->call, id, has_text, "/repo");
	finish();
	ck_assert_int_eq(asked.call.result, 0);
	text[0] = '\0';
	for (size_t i = 0; i < asked.call.count; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%llu", i ? " " : "",
				       (unsigned long long)asked.rows[i]->id);
	forget(&asked);
	return text;
}

/* "COUNT UNENDED", page by page: how many pages it took is told behind them. */
static const char *counted(const char *bytes, size_t size)
{
	struct blob named = {.data = (const uint8_t *)bytes, .size = size};
	unsigned long long count = 0, unended = 0;
	static char text[64];
	uint64_t before = 0;
	int pages = 0;

	do {
		struct asked asked;

		ledger_count_named(ledger, &ask(&asked)->call, before, named);
		finish();
		ck_assert_int_eq(asked.call.result, 0);
		count += asked.call.number;
		unended += asked.call.newest;
		ck_assert(!before || asked.call.at < before);
		before = asked.call.at;
		pages++;
	} while (before);
	snprintf(text, sizeof(text), "%llu %llu, %d", count, unended, pages);
	return text;
}

START_TEST(how_many_have_something_in_their_facts)
{
	struct ledger_new trial = new_trial();

	ck_assert_str_eq(counted("a\0b", 3), "0 0, 1");
	/* One without facts. */
	ck_assert_int_eq(insert(&trial), 0);
	ck_assert_str_eq(counted("a\0b", 3), "0 0, 1");
	close_ledger();
	edit("WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 1006) "
	     "INSERT INTO trials (id, uuid, state, outcome, priority, submitted_at, spec, facts) "
	     "SELECT i, '" UUID "', iif(i > 302, 'ended', 'queued'), iif(i > 302, 'failed', NULL), "
	     "0, 1, x'00', iif(i % 100 = 3, x'7861006279', x'78610063') FROM n");
	open_ledger();
	/* 3, 103 and so on to 1003, of which those up to 302 have not ended. */
	ck_assert_str_eq(counted("a\0b", 3), "11 3, 2");
	ck_assert_str_eq(counted("a\0d", 3), "0 0, 2");
}
END_TEST

START_TEST(who_ran_since_another_ended)
{
	struct ledger_change ended = LEDGER_CHANGE(STATE_ended);
	uint64_t before = run("x/repo", "ended"), shares = run("x/repo", "running");
	uint64_t judged = run("x/repo", "ended");

	ended.outcome = OUTCOME_failed;
	ended.ended_at = 1600000000000000u; /* the clock was set back */
	ck_assert_uint_eq(before, 1);
	/* It ran when that ended, and runs still. */
	ck_assert_str_eq(since(judged), "2");
	ck_assert_str_eq(since(before), "3 2");
	ck_assert_int_eq(change(shares, ANY, &ended), 0);
	ck_assert_str_eq(since(judged), "2");
	ck_assert_uint_eq(run("elsewhere", "ended"), 4);
	ck_assert_uint_eq(run("x/repo", "starting"), 5);
	ck_assert_str_eq(since(judged), "2");
	ck_assert_uint_eq(run("x/repo/below", "running"), 6);
	ck_assert_str_eq(since(judged), "6 2");
	/* Rebuilt, without changes: times are what is left. */
	close_ledger();
	edit("DELETE FROM events");
	open_ledger();
	ck_assert_str_eq(since(judged), "6");
}
END_TEST

static struct blob blob_of(const char *text)
{
	return (struct blob){.data = (const uint8_t *)text, .size = strlen(text)};
}

static const char *naming(uint64_t id, const char *bytes)
{
	static char text[64];
	struct asked asked;
	size_t at = 0;

	ledger_list_naming(ledger, &ask(&asked)->call, id, blob_of(bytes));
	finish();
	ck_assert_int_eq(asked.call.result, 0);
	text[0] = '\0';
	for (size_t i = 0; i < asked.call.count; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%llu", i ? " " : "",
				       (unsigned long long)asked.rows[i]->id);
	forget(&asked);
	return text;
}

START_TEST(who_names_another_in_its_launch)
{
	static const char *const specs[] = {"of 1", "x of 1", "of 2", "", "of 1 x"};

	for (size_t i = 0; i < ARRAY_SIZE(specs); i++) {
		struct ledger_new trial = new_trial();

		trial.spec = blob_of(specs[i]);
		ck_assert_int_eq(insert(&trial), 0);
	}
	ck_assert_str_eq(naming(0, "of 1"), "5 2 1");
	ck_assert_str_eq(naming(1, "of 1"), "5 2");
	ck_assert_str_eq(naming(1, "of 2"), "3");
	ck_assert_str_eq(naming(5, "of 1"), "");
}
END_TEST

/* A ledger of the first schema: all is there afterwards, and what is new works. */
START_TEST(from_the_first_schema)
{
	_cleanup_free_ char *value = NULL;
	struct listed listed;
	struct asked asked;

	ten_trials();
	close_ledger();
	edit("DROP TABLE settings; DROP TABLE prunes; PRAGMA user_version=1");
	open_ledger();
	ck_assert_str_eq(query("PRAGMA user_version"), "2");
	ck_assert_str_eq(list(WANTED(.limit = 3)), "10 9 8 (8)");
	events(&listed, 0, 0);
	ck_assert_uint_eq(listed.call.count, 14);
	ledger_set(ledger, &ask(&asked)->call, "paused", "why");
	finish();
	ck_assert_int_eq(asked.call.result, 0);
	ck_assert_int_eq(ledger_setting(ledger, "paused", &value), 0);
	ck_assert_str_eq(value, "why");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ledger events");
	TCase *cases = tcase_create("events");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_checked_fixture(cases, setup, teardown);
	tcase_add_test(cases, changes_are_numbered_and_told);
	tcase_add_test(cases, pages_of_changes);
	tcase_add_test(cases, a_setting_is_kept);
	tcase_add_test(cases, a_prune);
	tcase_add_test(cases, who_ran_since_another_ended);
	tcase_add_test(cases, how_many_have_something_in_their_facts);
	tcase_add_test(cases, who_names_another_in_its_launch);
	tcase_add_test(cases, from_the_first_schema);
	suite_add_tcase(suite, cases);

	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

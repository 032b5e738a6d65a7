/* SPDX-License-Identifier: MIT */

/*
 * Trials that want several logins, on the real leases (queue/login*.c, home.c, repository.c), with two
 * queues in one process, as two daemons of one person would have them: flock(2) keeps them apart by
 * open files. What has a turn is decided here as sched.c does; a login is looked at by a table.
 *
 * What must hold at every step: whoever waits has no lock that comes later in the order than the one it
 * waits for, and none at all while it waits for a repository; an exclusive login is one Trial's. At the
 * end each Trial has had all that it wanted.
 */
#include "login_sets.h"

/* --- What must hold ------------------------------------------------------------------------------- */

static void check_waiting(const struct trial *trial)
{
	struct trial_login *waits = NULL;
	struct login_rank own, other;

	LOGIN_EACH(login, trial)
	{
		ck_assert_msg(!waits || !login_is_waiting(login), "it waits twice");
		/* No line is kept for one that waits elsewhere. */
		ck_assert(trial->in_turn || login->line->called != login);
		if (login_is_waiting(login))
			waits = login;
	}
	if (trial->in_repository)
		ck_assert_uint_eq(held_by(trial), 0);
	if (!waits)
		return;
	ck_assert(!trial->writing);
	login_rank(waits, &own);
	LOGIN_EACH(login, trial)
	{
		if (!login->has)
			continue;
		login_rank(login, &other);
		ck_assert_msg(strcmp(other.text, own.text) <= 0, "%s is had, %s waited for",
			      login->line->harness, waits->line->harness);
	}
}

static void check_running(const struct trial *trial)
{
	LOGIN_EACH(login, trial)
	{
		ck_assert(login->has && login->lease->denied == 0 && login->lease->lease_fd >= 0);
		for (size_t i = 0; i < TRIALS; i++) {
			if (over[i] || &trials[i] == trial || !trials[i].slot)
				continue;
			LOGIN_EACH(other, &trials[i])
			ck_assert_str_ne(other->lease->key, login->lease->key);
		}
	}
}

static void check_all(void)
{
	for (size_t i = 0; i < TRIALS; i++) {
		if (over[i] || !trials[i].queue)
			continue;
		if (trials[i].slot)
			check_running(&trials[i]);
		else
			check_waiting(&trials[i]);
	}
}

/* --- Tests ---------------------------------------------------------------------------------------- */

/* Some of the letters; f and h (homes, for which a queue looks now and then) in few of them. */
static void random_set(char letters[HARNESSES + 1])
{
	size_t most = 1 + chance(6), count = 0;

	while (count < most) {
		char letter = (char)('a' + chance(AT_RANDOM));

		letters[count] = '\0';
		if (!strchr(letters, letter) && (letter != 'f' || chance(8) == 0) &&
		    (letter != 'h' || chance(8) == 0))
			letters[count++] = letter;
	}
	letters[count] = '\0';
}

static void one_world(unsigned int number)
{
	uint64_t moved_at = now_microseconds();
	size_t left = TRIALS;

	chance_state = number;
	for (size_t i = 0; i < TRIALS; i++) {
		char letters[HARNESSES + 1];

		random_set(letters);
		make_trial(i, &queues[chance(QUEUES)], letters, chance(4) == 0);
		trials[i].priority = (int64_t)chance(3);
		sched_add(trials[i].queue, &trials[i]);
	}
	while (left > 0) {
		size_t i = chance(TRIALS);
		bool moved = turn();

		check_all();
		/* Some end, some are canceled while they wait, and now and then a queue is held. */
		if (!over[i] && (trials[i].slot || chance(400) == 0)) {
			end_trial(&trials[i]);
			moved = true;
			left--;
		}
		if (chance(50) == 0)
			logins_give_back(&queues[chance(QUEUES)]);
		if (moved)
			moved_at = now_microseconds();
		ck_assert_msg(now_microseconds() - moved_at < PATIENCE_MICROSECONDS,
			      "world %u: %zu Trials wait for each other", number, left);
	}
}

START_TEST(sets_at_random_never_wait_for_each_other)
{
	for (unsigned int i = 0; i < WORLDS; i++)
		one_world((unsigned int)_i * WORLDS + i + 1);
}
END_TEST

START_TEST(two_names_of_one_file_have_one_lock)
{
	struct trial *both = make_trial(0, &queues[0], "ad", false);
	struct trial *other = make_trial(1, &queues[1], "d", false);

	sched_add(both->queue, both);
	turn_until_it_starts(both);
	sched_add(other->queue, other);
	for (int i = 0; i < 20; i++)
		turn();
	ck_assert(login_waiting(other));
	end_trial(both);
	turn_until_it_starts(other);
	end_trial(other);
}
END_TEST

START_TEST(what_it_has_it_keeps_while_it_waits_for_the_next)
{
	struct trial *first = make_trial(0, &queues[0], "e", false);
	struct trial *several = make_trial(1, &queues[0], "eg", false);
	struct trial *last = make_trial(2, &queues[1], "eg", false);
	char text[QUEUE_REASON_BYTES];

	sched_add(first->queue, first);
	turn_until_it_starts(first);
	sched_add(several->queue, several);
	for (int i = 0; i < 200; i++)
		turn();
	ck_assert(login_is_waiting(login_of(several, "e")));
	ck_assert_str_eq(login_waits_for(several, text, sizeof(text)),
			 "its login of e: one of those that use it may refresh it");
	ck_assert_uint_eq(login_position(several, 10), 1);
	/* Whether it has the other one depends on which lock comes first, and on that alone. */
	struct login_rank e, g;

	login_rank(login_of(several, "e"), &e);
	login_rank(login_of(several, "g"), &g);
	ck_assert_int_eq(login_of(several, "g")->has, strcmp(g.text, e.text) < 0);
	/* A cancel lets go of it. */
	end_trial(several);
	end_trial(first);
	sched_add(last->queue, last);
	turn_until_it_starts(last);
	end_trial(last);
}
END_TEST

START_TEST(one_that_waits_for_a_suspect_one_has_no_other)
{
	static const char *const letters = "egij";
	struct trial *several = make_trial(0, &queues[0], letters, false), *other;

	suspect = (const char *[]){"e", "g", "i", "j"}[_i];
	sched_add(several->queue, several);
	TURN_UNTIL(login_held_since(several));
	ck_assert_uint_eq(held_by(several), 0);
	/* The others are there for whoever wants them, however often it looks. */
	for (const char *letter = letters; *letter; letter++) {
		if (*letter == *suspect)
			continue;
		other = make_trial(1, &queues[1], (const char[]){*letter, '\0'}, false);
		sched_add(other->queue, other);
		turn_until_it_starts(other);
		end_trial(other);
		turn();
		ck_assert_uint_eq(held_by(several), 0);
	}
	suspect = NULL;
	login_changed(&queues[0], (const char *[]){"e", "g", "i", "j"}[_i]);
	turn_until_it_starts(several);
	ck_assert_uint_eq(held_by(several), 4);
	end_trial(several);
}
END_TEST

START_TEST(a_queue_that_is_held_has_none)
{
	struct trial *first = make_trial(0, &queues[0], "egij", false), *several, *other;
	struct login_rank last = {0}, rank;
	const char *letter = NULL;

	/* The one that all others come before. */
	LOGIN_EACH(login, first)
	{
		login_rank(login, &rank);
		if (strcmp(rank.text, last.text) > 0) {
			last = rank;
			letter = login->line->harness;
		}
	}
	other = make_trial(1, &queues[1], letter, false);
	sched_add(other->queue, other);
	turn_until_it_starts(other);
	several = first;
	sched_add(several->queue, several);
	TURN_UNTIL(held_by(several) == 3);
	logins_give_back(&queues[0]);
	ck_assert_uint_eq(held_by(several), 0);
	end_trial(other);
	turn_until_it_starts(several);
	ck_assert_uint_eq(held_by(several), 4);
	end_trial(several);
}
END_TEST

START_TEST(all_that_is_missing_is_told)
{
	struct trial *trial = make_trial(0, &queues[0], "egi", false);
	int fd;

	ck_assert_int_eq(unlink(path_of("%s/auth.json", "three")), 0);
	ck_assert_int_eq(unlink(path_of("%s/auth.json", "five")), 0);
	sched_add(trial->queue, trial);
	turn_until_it_starts(trial);
	for (size_t i = 0; i < 3; i++) {
		const char *harness = (const char *[]){"e", "g", "i"}[i];
		_cleanup_fault_ struct fault fault = FAULT_INIT;
		int r = login_bind(trial, harness, NULL, &fd, &fault);

		ck_assert_int_eq(r, i == 1 ? -EINPROGRESS : FAULT);
		if (i != 1) {
			ck_assert_int_eq(fault.cause, CAUSE_session_unavailable);
			ck_assert_ptr_nonnull(strstr(fault.message, harness));
		}
	}
	end_trial(trial);
}
END_TEST

START_TEST(two_homes_are_two_leases)
{
	struct trial *trial = make_trial(0, &queues[0], "fh", false);

	sched_add(trial->queue, trial);
	turn_until_it_starts(trial);
	ck_assert_uint_eq(held_by(trial), 2);
	ck_assert_int_eq(login_of(trial, "f")->lease->denied, 0);
	ck_assert_int_eq(login_of(trial, "h")->lease->denied, 0);
	ck_assert_int_ne(login_of(trial, "f")->lease->lease_fd,
			 login_of(trial, "h")->lease->lease_fd);
	end_trial(trial);
}
END_TEST

START_TEST(one_home_is_nobodys_twice)
{
	struct trial *trial = make_trial(0, &queues[0], "fk", false);
	_cleanup_fault_ struct fault fault = FAULT_INIT;
	int fd;

	sched_add(trial->queue, trial);
	turn_until_it_starts(trial);
	ck_assert_int_eq(login_bind(trial, "f", NULL, &fd, &fault), -EINPROGRESS);
	ck_assert_int_eq(login_bind(trial, "k", NULL, &fd, &fault), FAULT);
	ck_assert_int_eq(fault.cause, CAUSE_session_unavailable);
	ck_assert_ptr_nonnull(strstr(fault.message, "f and k"));
	end_trial(trial);
}
END_TEST

/* Each of a Trial's own locks is the lease that its login names to the keeper. */
START_TEST(a_keeper_counts_the_leases_from_the_folders_own)
{
	struct trial *trial = make_trial(0, &queues[0], "aefi", false);
	unsigned int next = LAUNCH_LEASE;

	sched_add(trial->queue, trial);
	turn_until_it_starts(trial);
	LOGIN_EACH(login, trial)
	{
		bool home = login->lease->home != NULL;

		ck_assert_str_eq(login_part(login), login->line->harness);
		ck_assert_uint_eq(login_lease_number(login), home ? 0 : next);
		next++;
	}
	end_trial(trial);
	trial = make_trial(0, &queues[0], "e", false);
	sched_add(trial->queue, trial);
	turn_until_it_starts(trial);
	ck_assert_ptr_null(login_part(trial->login));
	ck_assert_uint_eq(login_lease_number(trial->login), LAUNCH_LEASE);
	end_trial(trial);
}
END_TEST

START_TEST(notes_of_one_and_of_several)
{
	static const char *const names[] = {"12.carry",	     "13.codex.carry", "13.grok.carry",
					    "14..carry",     ".carry",	       "x.carry",
					    "15.codex.cary", "0.carry"};
	struct login_note_names notes;
	size_t with_part = 0;
	int fd;

	mkdir(path_of("%s", "notes"), 0700);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		write_file(path_of("notes/%s", names[i]), "");
	fd = open(path_of("%s", "notes"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_eq(login_notes(fd, &notes), 0);
	ck_assert_uint_eq(notes.count, 3);
	for (size_t i = 0; i < notes.count; i++) {
		ck_assert_uint_eq(notes.items[i].id, notes.items[i].part ? 13 : 12);
		with_part += notes.items[i].part && (strcmp(notes.items[i].part, "codex") == 0 ||
						     strcmp(notes.items[i].part, "grok") == 0);
	}
	ck_assert_uint_eq(with_part, 2);
	login_note_names_done(&notes);
	login_note_remove(fd, 13, "grok");
	ck_assert_int_eq(faccessat(fd, "13.grok.carry", F_OK, 0), -1);
	ck_assert_int_eq(faccessat(fd, "13.codex.carry", F_OK, 0), 0);
	login_note_remove(fd, 12, NULL);
	ck_assert_int_eq(faccessat(fd, "12.carry", F_OK, 0), -1);
	close(fd);
}
END_TEST

START_TEST(each_copy_is_removed_by_itself)
{
	static const char *const left[] = {"login.grok", "login-grok.seen", "login"};
	int fd = open(path_of("%s", "trials"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	for (size_t i = 0; i < 3; i++)
		mkdir(path_of("trials/%s",
			      (const char *[]){"login", "login.codex", "login.grok"}[i]),
		      0700);
	write_file(path_of("trials/%s", "login.codex/auth.json"), "{}");
	write_file(path_of("trials/%s", "login-codex.seen"), "");
	write_file(path_of("trials/%s", "login-grok.seen"), "");
	ck_assert_int_eq(login_remove_copy(fd, "codex"), 0);
	ck_assert_int_eq(faccessat(fd, "login.codex", F_OK, 0), -1);
	ck_assert_int_eq(faccessat(fd, "login-codex.seen", F_OK, 0), -1);
	for (size_t i = 0; i < ARRAY_SIZE(left); i++)
		ck_assert_int_eq(faccessat(fd, left[i], F_OK, 0), 0);
	ck_assert_int_eq(login_remove_copy(fd, NULL), 0);
	ck_assert_int_eq(faccessat(fd, "login", F_OK, 0), -1);
	close(fd);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("login_sets");
	TCase *tests = tcase_create("login_sets");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_set_timeout(tests, 600);
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, sets_at_random_never_wait_for_each_other);
	tcase_add_test(tests, two_names_of_one_file_have_one_lock);
	tcase_add_test(tests, what_it_has_it_keeps_while_it_waits_for_the_next);
	tcase_add_loop_test(tests, one_that_waits_for_a_suspect_one_has_no_other, 0, 4);
	tcase_add_test(tests, a_queue_that_is_held_has_none);
	tcase_add_test(tests, all_that_is_missing_is_told);
	tcase_add_test(tests, two_homes_are_two_leases);
	tcase_add_test(tests, one_home_is_nobodys_twice);
	tcase_add_test(tests, a_keeper_counts_the_leases_from_the_folders_own);
	tcase_add_test(tests, notes_of_one_and_of_several);
	tcase_add_test(tests, each_copy_is_removed_by_itself);
	suite_add_tcase(suite, tests);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* SPDX-License-Identifier: MIT */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/panel.h"

/*
 * Panels. The oracle at the end knows the policy in another way: it tries, for each Arm, all that could be
 * made of the stand-ins, by bits of families, and keeps what the policy's words allow.
 */

static const char *letters[] = {"a", "b", "c", "d", "e", "f"};

#define LETTERS 6

/* Families as a text: "ab" is {a, b}. A list lives until a thousand others were made. */
static struct text_list list_of(const char *text)
{
	static const char *items[1000][LETTERS];
	static size_t made;
	struct text_list list = {0, items[made++ % 1000]};

	for (; *text; text++)
		list.items[list.count++] = letters[*text - 'a'];
	return list;
}

struct made {
	struct bar_seat seats[BAR_SEATS_MAX], stand_ins[BAR_SEATS_MAX];
	char names[2 * BAR_SEATS_MAX][8];
	struct bar bar;
};

/* "a b cd": three seats. */
static void fill(struct made *made, struct bar_seat *seats, size_t *count, char prefix,
		 const char *text, size_t first_name)
{
	char copy[256], *word, *rest = NULL;

	snprintf(copy, sizeof(copy), "%s", text);
	for (word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
		char *name = made->names[first_name + *count];

		snprintf(name, sizeof(made->names[0]), "%c%zu", prefix, *count);
		seats[(*count)++] = (struct bar_seat){
			.name = name,
			.harness = name,
			.families = list_of(strcmp(word, "-") == 0 ? "" : word),
		};
	}
}

static void make(struct made *made, unsigned int votes, unsigned int breadth, const char *seats,
		 const char *stand_ins)
{
	*made = (struct made){.bar = {.name = "bar", .votes = votes, .breadth = breadth}};
	made->bar.seats.items = made->seats;
	made->bar.stand_ins.items = made->stand_ins;
	fill(made, made->seats, &made->bar.seats.count, 's', seats, 0);
	fill(made, made->stand_ins, &made->bar.stand_ins.count, 't', stand_ins, BAR_SEATS_MAX);
}

/* "s0 t1": who votes; then "!" where it does not hold. */
static void expect(struct made *made, const char *families, const char *voters)
{
	struct text_list of = list_of(families);
	struct panel panel;
	char text[256] = "";

	ck_assert_int_eq(panel_make(&made->bar, "Arm x", &of, &panel), 0);
	for (size_t i = 0; i < panel.voter_count; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", i ? " " : "",
			 panel.voters[i]->name);
	if (!panel.holds)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "!");
	ck_assert_str_eq(text, voters);
	ck_assert_int_eq(panel.holds, panel.reason == NULL);
	panel_done(&panel);
}

START_TEST(votes_withheld)
{
	struct made made;

	make(&made, 2, 1, "a b c", "d e");
	expect(&made, "", "s0 s1 s2");
	expect(&made, "f", "s0 s1 s2");
	expect(&made, "b", "s0 t0 s2");
	expect(&made, "ab", "t0 t1 s2");
	expect(&made, "abc", "t0 t1");
	expect(&made, "bd", "s0 t1 s2");
	expect(&made, "abcde", "!");
}
END_TEST

/* Any family of several counts; a seat of none is never withheld and adds none. */
START_TEST(several_families)
{
	struct made made;

	make(&made, 1, 2, "ab - c", "cd");
	expect(&made, "b", "t0 s1 s2");
	expect(&made, "bc", "s1!");
	expect(&made, "d", "s0 s1 s2");
	make(&made, 1, 1, "-", "");
	expect(&made, "", "s0!");
}
END_TEST

/* Of whom the Bar states another family than is known: withheld for either, and broad for neither. */
START_TEST(in_doubt)
{
	struct made made;

	make(&made, 1, 2, "ab b c", "d");
	made.seats[0].family = "a";
	expect(&made, "", "s0 s1 s2");
	expect(&made, "a", "t0 s1 s2");
	expect(&made, "b", "t0 s2");
	expect(&made, "c", "s0 s1 t0");
	/* It shares one with s1, then with another one in doubt, then with nobody. */
	make(&made, 1, 2, "ab b", "");
	made.seats[0].family = "a";
	expect(&made, "", "s0 s1!");
	make(&made, 1, 2, "ab bc", "");
	made.seats[0].family = made.seats[1].family = "b";
	expect(&made, "", "s0 s1!");
	make(&made, 1, 2, "ab cd", "");
	made.seats[0].family = "a";
	made.seats[1].family = "d";
	expect(&made, "", "s0 s1");
	make(&made, 1, 3, "ab cd", "");
	made.seats[0].family = "a";
	made.seats[1].family = "d";
	expect(&made, "", "s0 s1!");
	/* An Arm's are several models, and all count. */
	make(&made, 1, 2, "ab", "");
	expect(&made, "", "s0");
}
END_TEST

START_TEST(breadth)
{
	struct made made;

	make(&made, 1, 2, "a a b", "a");
	expect(&made, "", "s0 s1 s2");
	expect(&made, "b", "s0 s1 t0!");
	expect(&made, "a", "s2!");
	make(&made, 3, 1, "a b c", "");
	expect(&made, "c", "s0 s1!");
}
END_TEST

/* The first stand-in that may, even where another one would make it broad enough. */
START_TEST(the_first_stand_in)
{
	struct made made;

	make(&made, 2, 2, "a b", "a c");
	expect(&made, "b", "s0 t0!");
	make(&made, 2, 2, "a b", "b c a");
	expect(&made, "b", "s0 t1");
}
END_TEST

static bool tells(const char *text, const char *part)
{
	return strstr(text, part) != NULL;
}

START_TEST(reason)
{
	struct text_list of = list_of("bc");
	struct made made;
	struct panel panel;

	make(&made, 3, 3, "a b c", "d");
	ck_assert_int_eq(panel_make(&made.bar, "Arm x", &of, &panel), 0);
	ck_assert(!panel.holds);
	ck_assert(tells(panel.reason, "Bar bar") && tells(panel.reason, "Arm x"));
	ck_assert(tells(panel.reason, "s2 (c)") && !tells(panel.reason, "s1"));
	ck_assert(tells(panel.reason, "2 that may vote are left: s0 (a), t0 (d)"));
	ck_assert(tells(panel.reason, "votes: 3") && tells(panel.reason, "breadth: 3"));
	ck_assert(tells(panel.hint, "than b, c") && tells(panel.hint, "fewer votes"));
	ck_assert_str_eq(panel.places[2].because.items[0], "c");
	ck_assert_ptr_eq(panel_place_of(&panel, &made.seats[1]), &panel.places[1]);
	ck_assert_ptr_null(panel_place_of(&panel, &made.stand_ins[0]));
	ck_assert(panel_votes(&panel, &made.stand_ins[0]) && !panel_votes(&panel, &made.seats[1]));
	panel_done(&panel);
}
END_TEST

/* As many seats as there may be, each of many families: what is said still fits an error. */
START_TEST(long_reason)
{
	static char names[FAMILIES_MAX][FAMILY_BYTES_MAX + 1];
	const char *items[FAMILIES_MAX];
	struct bar_seat seats[BAR_SEATS_MAX];
	struct text_list all = {FAMILIES_MAX, items};
	struct bar bar = {.name = "bar",
			  .votes = BAR_SEATS_MAX,
			  .breadth = BAR_SEATS_MAX,
			  .seats = {BAR_SEATS_MAX, seats}};
	struct panel panel;

	for (size_t i = 0; i < FAMILIES_MAX; i++) {
		snprintf(names[i], sizeof(names[i]), "family-of-thirty-two-bytes-%05zu", i);
		items[i] = names[i];
	}
	for (size_t i = 0; i < BAR_SEATS_MAX; i++)
		seats[i] = (struct bar_seat){.name = "seat", .families = all};
	ck_assert_int_eq(panel_make(&bar, "Arm \xc3\xa9\xc3\xa9", &all, &panel), 0);
	ck_assert(!panel.holds);
	ck_assert_uint_lt(strlen(panel.reason), 4000);
	ck_assert_uint_lt(strlen(panel.hint), 4000);
	ck_assert(utf8_valid(panel.reason, strlen(panel.reason)));
	ck_assert(utf8_valid(panel.hint, strlen(panel.hint)));
	panel_done(&panel);
}
END_TEST

/* --- The oracle ----------------------------------------------------------------------------------- */

static unsigned int bits_of(const struct text_list *families)
{
	unsigned int bits = 0;

	for (size_t i = 0; i < families->count; i++)
		bits |= 1u << (families->items[i][0] - 'a');
	return bits;
}

/*
 * Every way to give stand-ins to withheld seats, as a number in base (stand-ins + 1) with the first
 * withheld seat as its highest digit, 0 for nobody last. The policy's way is the first in this order
 * that gives no stand-in twice and none that shares a family, and leaves nobody out who could be had.
 */
static bool way_is_allowed(const struct made *made, unsigned int arm, const size_t *way,
			   size_t withheld)
{
	size_t stand_ins = made->bar.stand_ins.count;

	for (size_t i = 0; i < withheld; i++) {
		if (way[i] == stand_ins)
			continue;
		if (bits_of(&made->stand_ins[way[i]].families) & arm)
			return false;
		for (size_t j = 0; j < i; j++)
			if (way[j] == way[i])
				return false;
	}
	return true;
}

static bool next_way(size_t *way, size_t withheld, size_t stand_ins)
{
	for (size_t i = withheld; i-- > 0;) {
		if (way[i] < stand_ins) {
			way[i]++;
			return true;
		}
		way[i] = 0;
	}
	return false;
}

static void oracle(const struct made *made, unsigned int arm, size_t *ret_voters,
		   unsigned int *ret_families, unsigned int *ret_names)
{
	size_t way[BAR_SEATS_MAX] = {0}, withheld = 0;

	*ret_voters = 0;
	*ret_families = *ret_names = 0;
	for (size_t i = 0; i < made->bar.seats.count; i++) {
		unsigned int own = bits_of(&made->seats[i].families);

		if (own & arm) {
			withheld++;
			continue;
		}
		(*ret_voters)++;
		*ret_families |= own;
		*ret_names |= 1u << i;
	}
	while (!way_is_allowed(made, arm, way, withheld))
		ck_assert(next_way(way, withheld, made->bar.stand_ins.count));
	for (size_t i = 0; i < withheld; i++) {
		if (way[i] == made->bar.stand_ins.count)
			continue;
		(*ret_voters)++;
		*ret_families |= bits_of(&made->stand_ins[way[i]].families);
		*ret_names |= 1u << (8 + way[i]);
	}
}

/* The same each time, and nothing that a guess is to be kept from: xorshift64*. */
static uint64_t drawn;

static unsigned int draw(void)
{
	drawn ^= drawn >> 12;
	drawn ^= drawn << 25;
	drawn ^= drawn >> 27;
	return (unsigned int)((drawn * 0x2545f4914f6cdd1dull) >> 33);
}

static void random_seats(char *text, size_t count)
{
	*text = '\0';
	for (size_t i = 0; i < count; i++) {
		unsigned int bits = draw() % 64;
		char word[16] = "";

		/* Mostly one family. */
		if (draw() % 3)
			bits = 1u << (draw() % LETTERS);
		for (int j = 0; j < LETTERS; j++)
			if (bits & (1u << j))
				strcat(word, letters[j]);
		sprintf(text + strlen(text), "%s%s", i ? " " : "", *word ? word : "-");
	}
}

static unsigned int names_of(const struct made *made, const struct panel *panel)
{
	unsigned int names = 0;

	for (size_t i = 0; i < panel->voter_count; i++)
		for (size_t j = 0; j < 8; j++) {
			if (panel->voters[i] == &made->seats[j])
				names |= 1u << j;
			if (panel->voters[i] == &made->stand_ins[j])
				names |= 1u << (8 + j);
		}
	return names;
}

static void compare_once(void)
{
	unsigned int count = 1 + draw() % 5, arm = draw() % 64, families, names;
	size_t voters;
	char seats[128], stand_ins[128], of[8] = "";
	struct made made;
	struct panel panel;
	struct text_list list;

	random_seats(seats, count);
	random_seats(stand_ins, draw() % 5);
	make(&made, 1 + draw() % 5 % (unsigned int)count, 1 + draw() % 5 % (unsigned int)count,
	     seats, stand_ins);
	for (int j = 0; j < LETTERS; j++)
		if (arm & (1u << j))
			strcat(of, letters[j]);
	list = list_of(of);
	ck_assert_int_eq(panel_make(&made.bar, "Arm x", &list, &panel), 0);
	oracle(&made, arm, &voters, &families, &names);
	ck_assert_uint_eq(panel.voter_count, voters);
	ck_assert_uint_eq(bits_of(&panel.families), families);
	ck_assert_uint_eq(panel.families.count, (unsigned int)__builtin_popcount(families));
	ck_assert_uint_eq(names_of(&made, &panel), names);
	ck_assert_int_eq(panel.holds,
			 voters >= made.bar.votes &&
				 (unsigned int)__builtin_popcount(families) >= made.bar.breadth);
	panel_done(&panel);
}

START_TEST(against_the_oracle)
{
	drawn = 20;
	for (int i = 0; i < 20000; i++)
		compare_once();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("panel");
	TCase *test = tcase_create("panel");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_set_timeout(test, 60);
	tcase_add_test(test, votes_withheld);
	tcase_add_test(test, several_families);
	tcase_add_test(test, in_doubt);
	tcase_add_test(test, breadth);
	tcase_add_test(test, the_first_stand_in);
	tcase_add_test(test, reason);
	tcase_add_test(test, long_reason);
	tcase_add_test(test, against_the_oracle);
	suite_add_tcase(suite, test);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

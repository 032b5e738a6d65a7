/* SPDX-License-Identifier: MIT */
#include <check.h>
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../fuzz/fuzz.h"
#include "proto/protocol.h"
#include "sample.h"

/*
 * The fuzz targets, each on its corpus (tests/fuzz/corpus/NAME: what is meant to be tried, and what
 * fuzzing once found), those of frames on the golden vectors too, and on mutations of all that:
 * tried with every compiler, whether it can fuzz or not.
 */

#define MUTATIONS 20 /* of each input */
#define VECTORS "proto/vectors"

#define TARGET_(target) {#target, fuzz_##target},
static const struct target {
	const char *name;
	int (*run)(const uint8_t *data, size_t size);
} targets[] = {FUZZ_TARGETS(TARGET_)};

enum { TARGET_COUNT = sizeof(targets) / sizeof(targets[0]) };

/* What is a whole frame, and is tried by these three. */
static bool takes_frames(const struct target *target)
{
	return target->run == fuzz_frame || target->run == fuzz_message ||
	       target->run == fuzz_terminal;
}

static void run_target(const struct target *target, const uint8_t *data, size_t size)
{
	/* Of just that size, for the sanitizers. */
	uint8_t *copy = malloc(size ? size : 1);

	ck_assert(copy != NULL);
	memcpy(copy, data, size);
	ck_assert_int_eq(target->run(copy, size), 0);
	free(copy);
}

static void run_mutations(const struct target *target, uint8_t *data, size_t size)
{
	struct sample *sample = sample_new(size);

	for (int i = 0; i < MUTATIONS && size > 0; i++) {
		size_t at = sample_number(sample, size);

		data[at] = (uint8_t)sample_number(sample, 256);
		run_target(target, data, size);
	}
	sample_free(sample);
}

static void run_file(const struct target *target, const char *folder, const char *name)
{
	uint8_t *data = malloc(FRAME_BYTES_MAX);
	char path[4096];
	size_t size;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "rbe");
	ck_assert_msg(file != NULL, "%s", path);
	size = fread(data, 1, FRAME_BYTES_MAX, file);
	fclose(file);
	run_target(target, data, size);
	run_mutations(target, data, size);
	free(data);
}

static void run_folder(const struct target *target, const char *folder)
{
	const char *top = getenv("TOP");
	struct dirent *entry;
	char path[2048];
	int count = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/%s", top ? top : ".", folder);
	dir = opendir(path);
	ck_assert_msg(dir != NULL, "%s", path);
	while ((entry = readdir(dir))) {
		size_t length = strlen(entry->d_name);

		if (entry->d_name[0] == '.' ||
		    (strcmp(folder, VECTORS) == 0 &&
		     (length < strlen(".frame") ||
		      strcmp(entry->d_name + length - strlen(".frame"), ".frame") != 0)))
			continue;
		run_file(target, path, entry->d_name);
		count++;
	}
	closedir(dir);
	ck_assert_int_gt(count, 0);
}

START_TEST(corpus)
{
	const struct target *target = &targets[_i];
	char folder[256];

	snprintf(folder, sizeof(folder), "tests/fuzz/corpus/%s", target->name);
	run_folder(target, folder);
	if (takes_frames(target))
		run_folder(target, VECTORS);
}
END_TEST

static Suite *corpus_suite(void)
{
	Suite *suite = suite_create("corpus");
	TCase *test_case = tcase_create("corpus");

	tcase_set_timeout(test_case, 60);
	tcase_add_loop_test(test_case, corpus, 0, TARGET_COUNT);
	suite_add_tcase(suite, test_case);
	return suite;
}

int main(void)
{
	SRunner *runner = srunner_create(corpus_suite());
	int failed;

	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

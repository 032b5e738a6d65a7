/* SPDX-License-Identifier: MIT */
#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../fuzz/fuzz.h"
#include "proto/protocol.h"
#include "sample.h"

/*
 * The wire's fuzz targets on the golden vectors, on what fuzzing once found (tests/fuzz/corpus/),
 * and on mutations of both: tried with every compiler, whether it can fuzz or not.
 */

#define MUTATIONS 20 /* of each input */

static const char *const folders[] = {"proto/vectors", "tests/fuzz/corpus"};

static void run_targets(const uint8_t *data, size_t size)
{
	/* Of just that size, for the sanitizers. */
	uint8_t *copy = malloc(size ? size : 1);

	memcpy(copy, data, size);
	ck_assert_int_eq(fuzz_frame(copy, size), 0);
	ck_assert_int_eq(fuzz_message(copy, size), 0);
	free(copy);
}

static void run_mutations(uint8_t *data, size_t size)
{
	struct sample *sample = sample_new(size);

	for (int i = 0; i < MUTATIONS && size > 0; i++) {
		size_t at = sample_number(sample, size);

		data[at] = (uint8_t)sample_number(sample, 256);
		run_targets(data, size);
	}
	sample_free(sample);
}

static void run_file(const char *folder, const char *name)
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
	run_targets(data, size);
	run_mutations(data, size);
	free(data);
}

START_TEST(corpus)
{
	const char *top = getenv("TOP");
	char folder[2048];
	struct dirent *entry;
	int count = 0;
	DIR *dir;

	snprintf(folder, sizeof(folder), "%s/%s", top ? top : ".", folders[_i]);
	dir = opendir(folder);
	ck_assert_msg(dir != NULL, "%s", folder);
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		run_file(folder, entry->d_name);
		count++;
	}
	closedir(dir);
	ck_assert_int_gt(count, 0);
}
END_TEST

static Suite *corpus_suite(void)
{
	Suite *suite = suite_create("corpus");
	TCase *test_case = tcase_create("corpus");

	tcase_set_timeout(test_case, 60);
	tcase_add_loop_test(test_case, corpus, 0, 2);
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

/* SPDX-License-Identifier: MIT */
#include <check.h>
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "client/arm_file.h"

static const struct row {
	const char *file;
	const char *spec; /* or, of one that is refused, NULL */
	const char *refused;
} rows[] = {
	{"{\"name\":\"a\",\"harness\":\"codex\",\"build\":\"b\",\"skills\":\"~/s\",\"executable\":\"/x\"}",
	 "{\"name\":\"a\",\"harness\":\"codex\",\"build\":\"/arm/b\",\"skills\":\"/home/ada/s\","
	 "\"executable\":\"/x\"}",
	 NULL},
	{"{\"name\":\"a\",\"command\":[\"./run\",\"./data\",\"x/y\",\"../z\"]}",
	 "{\"name\":\"a\",\"command\":[\"./run\",\"./data\",\"x/y\",\"../z\"],\"files\":["
	 "{\"source\":\"/arm/run\",\"path\":\"run\"},{\"source\":\"/arm/data\",\"path\":\"data\"}]}",
	 NULL},
	{"{\"name\":\"a\",\"command\":[\"bin/run\"],\"files\":{\"other\":\"bin/run\"}}",
	 "{\"name\":\"a\",\"command\":[\"bin/run\"],\"files\":["
	 "{\"source\":\"/arm/other\",\"path\":\"bin/run\"}]}",
	 NULL},
	{"{\"name\":\"a\",\"command\":[\"sh\"],\"files\":{\"n\":{\"path\":\"~/n\",\"mode\":\"0640\"}}}",
	 "{\"name\":\"a\",\"command\":[\"sh\"],\"files\":["
	 "{\"source\":\"/arm/n\",\"path\":\"~/n\",\"mode\":416}]}",
	 NULL},
	{"{\"name\":\"a\",\"command\":[\"sh\"],\"harnesses\":[\"grok\",{\"name\":\"kimi\",\"provider\":"
	 "\"p\"}],\"providers\":[\"openai\"],\"environment\":{\"A\":\"1\",\"B\":null}}",
	 "{\"name\":\"a\",\"command\":[\"sh\"],\"harnesses\":[{\"name\":\"grok\"},{\"name\":\"kimi\","
	 "\"provider\":\"p\"}],\"providers\":[{\"name\":\"openai\"}],\"environment\":{\"A\":\"1\"},"
	 "\"variables\":[\"B\"]}",
	 NULL},
	{"{\"name\":\"a\",\"environment\":[\"B\"]}", "{\"name\":\"a\",\"variables\":[\"B\"]}",
	 NULL},
	{"[]", NULL, "JSON object"},
	{"{\"secret_files\":[]}", NULL, "secret_files"},
	{"{\"nmae\":\"a\"}", NULL, "git_exclude"},
	{"{\"files\":[\"a\"]}", NULL, "a map"},
	{"{\"files\":{\"a\":{\"path\":\"b\",\"size\":1}}}", NULL, "path, mode"},
	{"{\"files\":{\"a\":{\"path\":\"b\",\"mode\":\"0999\"}}}", NULL, "octal"},
	{"{\"files\":{\"a\":{\"path\":\"b\",\"mode\":\"04755\"}}}", NULL, "octal"},
	{"{\"harnesses\":[{\"name\":\"a\",\"sha256\":\"b\"}]}", NULL, "name, model, provider"},
	{"{\"limits\":{\"memroy\":1}}", NULL, "memory"},
	{"{\"command\":[\"./../run\"]}", NULL, ".. in it"},
	{"{\"limits\":{\"memory\":\"4G\"}}", NULL, "limits.memory: takes a plain number of bytes"},
	{"{\"limits\":{\"wall_seconds\":\"30m\"}}", NULL, "takes a plain number of seconds"},
	{"{\"limits\":{\"tasks\":\"many\"}}", NULL, "takes a plain number;"},
	{"{\"environment\":\"A\"}", NULL, "null"},
	{"{\"build\":1}", NULL, "a path"},
};

START_TEST(forms)
{
	const struct row *row = &rows[_i];
	json_t *file = json_loads(row->file, 0, NULL), *wanted, *spec = NULL;
	struct trials_error error = {0};
	int r;

	ck_assert_ptr_nonnull(file);
	r = arm_file_spec(file, "/arm", "/home/ada", &spec, &error);
	if (row->spec) {
		ck_assert_msg(r == 0, "%s: %s", row->file, error.message);
		wanted = json_loads(row->spec, 0, NULL);
		ck_assert_msg(json_equal(spec, wanted), "%s", json_dumps(spec, 0));
		json_decref(wanted);
		json_decref(spec);
	} else {
		ck_assert_int_eq(r, -EINVAL);
		ck_assert_msg(strstr(error.message, row->refused) != NULL, "%s", error.message);
	}
	json_decref(file);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("client_arm_file");
	TCase *tcase = tcase_create("client_arm_file");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_loop_test(tcase, forms, 0, sizeof(rows) / sizeof(rows[0]));
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* SPDX-License-Identifier: MIT */
#include "plan_fixture.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "plan/grading.h"
#include "plan/text_file.h"

/*
 * Whole plans against tests/data/plans/NAME.plan: bwrap's arguments one per line, then what is
 * beside them. What differs between machines (the temporary folder, the user) stands as @ROOT@,
 * @USER@ and @UID@. PLAN_GOLDEN_WRITE=1 writes the files anew; read the diff.
 */

static struct plan_fixture fixture;

static void setup(void)
{
	fixture_init(&fixture);
	free(fixture.host.user);
	fixture.host.user = strdup("@USER@");
	make_folder(at(&fixture, "repo/sub"));
	make_folder(at(&fixture, "build"));
	make_folder(at(&fixture, "home/skills"));
	make_folder(at(&fixture, "data"));
}

static void teardown(void)
{
	fixture_done(&fixture);
}

/* A line with ROOT as @ROOT@ and control characters shown. */
static void put_line(FILE *file, const char *text)
{
	size_t length = strlen(fixture.root);

	for (; *text; text++) {
		if (!strncmp(text, fixture.root, length)) {
			fputs("@ROOT@", file);
			text += length - 1;
		} else if (*text == '\n') {
			fputs("\\n", file);
		} else {
			fputc(*text, file);
		}
	}
	fputc('\n', file);
}

static void put_list(FILE *file, const char *title, const struct text_list *list)
{
	fprintf(file, "\n# %s\n", title);
	for (size_t i = 0; i < list->count; i++) {
		bool user = i > 0 && (!strcmp(list->items[i - 1], "--uid") ||
				      !strcmp(list->items[i - 1], "--gid"));

		put_line(file, user ? "@UID@" : list->items[i]);
	}
}

static void put_files(FILE *file, const struct plan *plan)
{
	fprintf(file, "\n# files\n");
	for (size_t i = 0; i < plan->operation_count; i++) {
		const struct plan_operation *operation = &plan->operations[i];

		if (operation->type != PLAN_FILE ||
		    !strcmp(operation->destination, "/etc/passwd") ||
		    !strcmp(operation->destination, "/etc/group"))
			continue;
		fprintf(file, "%s: ", operation->destination);
		put_line(file, operation->file->data);
	}
}

static void put_plan(FILE *file, const struct plan *plan)
{
	struct text_list arguments = {0};

	ck_assert_int_eq(plan_bwrap_arguments(plan, &fixture.host, &arguments), 0);
	put_list(file, "arguments", &arguments);
	text_list_done(&arguments);
	put_list(file, "command", &plan->command);
	fprintf(file, "\n# environment\n");
	for (size_t i = 0; i < plan->environment.count; i++) {
		fprintf(file, "%s=", plan->environment.items[i].name);
		put_line(file, plan->environment.items[i].value);
	}
	fprintf(file, "\n# sources\n");
	for (size_t i = 0; i < plan->operation_count; i++)
		if (plan->operations[i].type == PLAN_BIND) {
			fprintf(file, "%d: ", plan->operations[i].descriptor);
			put_line(file, plan->operations[i].source);
		}
	put_files(file, plan);
	fprintf(file, "\n# cwd\n");
	put_line(file, plan->cwd);
	if (plan->network == NETWORK_allowlist)
		put_list(file, "hosts", &plan->hosts);
	put_list(file, "asked", &plan->asked);
	put_list(file, "notes", &plan->notes);
}

static void compare(const char *name)
{
	const char *top = getenv("TOP");
	_cleanup_free_ char *path = NULL, *made = NULL, *kept = NULL;
	struct plan *plan = NULL;
	size_t size = 0;
	FILE *file;
	int r;

	r = build(&fixture, &plan);
	ck_assert_msg(r == 0, "%s", fixture.fault.message ? fixture.fault.message : "");
	file = open_memstream(&made, &size);
	ck_assert_ptr_nonnull(file);
	fprintf(file, "%s\n", name);
	put_plan(file, plan);
	ck_assert_int_eq(fclose(file), 0);
	plan_free(plan);
	ck_assert_int_ge(asprintf(&path, "%s/tests/data/plans/%s.plan", top ? top : ".", name), 0);
	if (getenv("PLAN_GOLDEN_WRITE")) {
		make_file(path, made);
		return;
	}
	ck_assert_msg(text_file_read(path, 1u << 20, &kept, NULL) == 0, "cannot read %s", path);
	ck_assert_str_eq(made, kept);
}

START_TEST(least)
{
	compare("least");
}
END_TEST

START_TEST(trial)
{
	make_link(at(&fixture, "lnk"), at(&fixture, "repo"));
	fixture.launch.repository = at(&fixture, "lnk");
	fixture.launch.cwd = at(&fixture, "lnk/sub");
	fixture.launch.build = at(&fixture, "build");
	fixture.launch.skills = at(&fixture, "home/skills");
	add_bind(&fixture, at(&fixture, "data"), "/data", "ro");
	add_bind(&fixture, at(&fixture, "repo/sub"), NULL, "rw"); /* there already */
	add_bind(&fixture, at(&fixture, "missing"), "/opt/missing", "optional");
	fixture.variables[0] = (struct pair){"CI", "1"};
	fixture.launch.environment.count = 1;
	fixture.launch.limits.has.memory = true;
	fixture.launch.limits.memory = 1u << 30;
	fixture.command[1] = "-rf";
	fixture.launch.command.count = 2;
	compare("trial");
}
END_TEST

START_TEST(grader)
{
	fixture.launch.repository = at(&fixture, "repo");
	fixture.launch.has.role = true;
	fixture.launch.role = ROLE_grader;
	compare("grader");
}
END_TEST

START_TEST(grader_of_a_trial)
{
	struct grading grading = {.bar = "It must build.\n", .bar_size = 15};

	fixture.launch.repository = at(&fixture, "repo");
	fixture.launch.has.role = fixture.launch.has.of = true;
	fixture.launch.role = ROLE_grader;
	fixture.launch.of = 7;
	fixture.launch.outputs = fixture.launch.has.outputs = true;
	/* It cannot be told another place. */
	fixture.variables[0] = (struct pair){"TRIALS_STDOUT", "mine"};
	fixture.launch.environment.count = 1;
	make_file(at(&fixture, "state/out"), "o");
	make_file(at(&fixture, "state/err"), "e");
	grading.outputs[0] = open(at(&fixture, "state/out"), O_PATH | O_CLOEXEC);
	grading.outputs[1] = open(at(&fixture, "state/err"), O_PATH | O_CLOEXEC);
	fixture.grading = &grading;
	compare("grader-of");
	fixture.grading = NULL;
	fd_close(grading.outputs[0]);
	fd_close(grading.outputs[1]);
}
END_TEST

START_TEST(network_host)
{
	fixture.launch.has.network = true;
	fixture.launch.network = NETWORK_host;
	compare("network-host");
}
END_TEST

START_TEST(allowlist)
{
	const char *hosts[] = {"registry.example", "*.cdn.example:8443"};

	fixture.launch.has.network = true;
	fixture.launch.network = NETWORK_allowlist;
	fixture.launch.hosts = (struct text_list){.count = 2, .items = hosts};
	fixture.variables[0] = (struct pair){"NO_PROXY", "mine"};
	fixture.launch.environment.count = 1;
	compare("allowlist");
}
END_TEST

START_TEST(odd_paths)
{
	make_folder(at(&fixture, "-rf"));
	make_folder(at(&fixture, "new\nline"));
	fixture.launch.repository = at(&fixture, "new\nline");
	add_bind(&fixture, at(&fixture, "-rf"), NULL, "rw");
	add_bind(&fixture, at(&fixture, "data"), "/var/tmp/-x", "ro");
	compare("odd-paths");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("plan_golden");
	TCase *plans = tcase_create("plans");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(plans, setup, teardown);
	tcase_add_test(plans, least);
	tcase_add_test(plans, trial);
	tcase_add_test(plans, grader);
	tcase_add_test(plans, grader_of_a_trial);
	tcase_add_test(plans, network_host);
	tcase_add_test(plans, allowlist);
	tcase_add_test(plans, odd_paths);
	suite_add_tcase(suite, plans);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}

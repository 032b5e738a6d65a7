/* SPDX-License-Identifier: MIT */

/*
 * The text of a wrapper, as /bin/sh runs it: the program gets each argument as it was given, the wrapper's
 * own before those of its caller; and stdin, signals, exit status and pid are its own, since it takes the
 * wrapper's place.
 */
#include "plan_fixture.h"

#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plan/runner_plan.h"

/* Says what it was given, each in angles. */
#define TELL "#!/bin/sh\nprintf '<%s>' \"$@\"\n"

static struct plan_fixture fixture;
static struct harness harness;
static struct harness_login login;
static struct session_plan session;
static struct runner_plan runner;
static char *wrapper_text;

static void setup(void)
{
	fixture_init(&fixture);
	harness = (struct harness){.name = "tool"};
	login = (struct harness_login){.kind = HARNESS_LOGIN_none};
	session = SESSION_PLAN_INIT;
	session.harness = &harness;
	session.login = &login;
	runner = (struct runner_plan){0};
	wrapper_text = NULL;
}

static void teardown(void)
{
	text_list_done(&session.session.arguments);
	pair_list_done(&session.session.own);
	pair_list_done(&runner.keys);
	pair_list_done(&runner.environment);
	free(wrapper_text);
	fixture_done(&fixture);
}

static void make_program(const char *path, const char *text)
{
	make_file(path, text);
	ck_assert_int_eq(chmod(path, 0755), 0);
}

/* Makes ROOT/wrapper, of a program with this text at ROOT/name. */
static void wrap(const char *name, const char *text)
{
	make_program(at(&fixture, "%s", name), text);
	session.program.file.canonical = (char *)at(&fixture, "%s", name);
	free(wrapper_text);
	wrapper_text = NULL;
	ck_assert_int_eq(runner_wrapper(&runner, &session, &wrapper_text), 0);
	make_program(at(&fixture, "wrapper"), wrapper_text);
}

struct run {
	pid_t pid;
	int input, output; /* pipes to and from it */
};

/* Calls it as a runner would, with an environment of these variables alone. */
static struct run start(char *const *arguments, char *const *environment)
{
	int input[2], output[2];
	struct run run;

	ck_assert_int_eq(pipe2(input, O_CLOEXEC), 0);
	ck_assert_int_eq(pipe2(output, O_CLOEXEC), 0);
	run.pid = fork();
	ck_assert_int_ge(run.pid, 0);
	if (run.pid == 0) {
		if (dup2(input[0], 0) == 0 && dup2(output[1], 1) == 1)
			execve(at(&fixture, "wrapper"), arguments, environment);
		_exit(126);
	}
	close(input[0]);
	close(output[1]);
	run.input = input[1];
	run.output = output[0];
	return run;
}

/* All that it says, ended; and how it ended. */
static int finish(struct run *run, char *text, size_t size)
{
	size_t length = 0;
	ssize_t r;
	int status;

	if (run->input >= 0)
		close(run->input);
	while ((r = read(run->output, text + length, size - 1 - length)) > 0)
		length += (size_t)r;
	text[length] = '\0';
	close(run->output);
	ck_assert_int_eq(waitpid(run->pid, &status, 0), run->pid);
	return status;
}

static char *const no_environment[] = {NULL};

static void expect(const char *text, const char *const *arguments)
{
	char said[4096];
	struct run run = start((char *const *)arguments, no_environment);
	int status = finish(&run, said, sizeof(said));

	ck_assert_str_eq(said, text);
	ck_assert_int_eq(status, 0);
}

START_TEST(arguments)
{
	static const char *const own[] = {"--no-web",	     "a b",	  "it's",
					  "$HOME `id` \\",   "",	  "-rf",
					  "new\nline",	     "ends so\n", "\xc3\xbc \xff",
					  "\"both\" 'kinds'"};
	static const char *const caller[] = {"tool", "--",   "-x", "a\nb", "",
					     "it's", "$1 *", "\\", "\n",   NULL};

	for (size_t i = 0; i < ARRAY_SIZE(own); i++)
		ck_assert_int_eq(text_list_add(&session.session.arguments, own[i]), 0);
	wrap("tool", TELL);
	expect("<--no-web><a b><it's><$HOME `id` \\><><-rf><new\nline><ends so\n><\xc3\xbc \xff>"
	       "<\"both\" 'kinds'><--><-x><a\nb><><it's><$1 *><\\><\n>",
	       caller);
}
END_TEST

START_TEST(none_of_its_own)
{
	static const char *const none[] = {"tool", NULL}, *const dash[] = {"tool", "-c", "id",
									   NULL};

	wrap("tool", "#!/bin/sh\necho \"$#\"\n");
	expect("0\n", none);
	expect("2\n", dash);
}
END_TEST

/* Whatever the folders of a release are called. */
START_TEST(path_of_the_program)
{
	static const char *const caller[] = {"tool", "x", NULL};
	static const char *const names[] = {"it's a \"release\"/run me", "new\nline/$(id)/-c",
					    "-rf/\\/`id`"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		wrap(names[i], TELL);
		expect("<x>", caller);
	}
}
END_TEST

START_TEST(interpreter)
{
	static const char *const caller[] = {"tool", "x", NULL};
	char wanted[128];

	make_program(at(&fixture, "inter preter"), TELL);
	session.program.interpreter.canonical = (char *)at(&fixture, "inter preter");
	session.program.interpreter.fd = 0;
	ck_assert_int_eq(text_list_add(&session.session.arguments, "-w"), 0);
	wrap("script", "not run by itself\n");
	snprintf(wanted, sizeof(wanted), "<%s/script><-w><x>", fixture.root);
	expect(wanted, caller);
	session.program.interpreter = PLACE_INIT;
}
END_TEST

START_TEST(variables_of_its_own)
{
	static char *const caller[] = {"tool", NULL}, *const environment[] = {"MINE=1", "QUIET=no",
									      NULL};
	char said[4096];
	struct run run;

	ck_assert_int_eq(pair_list_set(&session.session.own, "QUIET", "it's\nquiet $HOME\n"), 0);
	ck_assert_int_eq(pair_list_set(&session.session.own, "EMPTY", ""), 0);
	/* No name of sh: it would be an error in the middle of the text. */
	ck_assert_int_eq(pair_list_set(&session.session.own, "9BAD;id", "x"), 0);
	wrap("tool", "#!/bin/sh\nprintf '<%s>' \"$MINE\" \"$QUIET\" \"${EMPTY-unset}\"\n");
	ck_assert_ptr_null(strstr(wrapper_text, "9BAD"));
	run = start(caller, environment);
	ck_assert_int_eq(finish(&run, said, sizeof(said)), 0);
	ck_assert_str_eq(said, "<1><it's\nquiet $HOME\n><>");
}
END_TEST

/* Signed in by itself it is not paid for by another's key; its own key is its own. */
START_TEST(keys_of_others_are_not_its)
{
	static char *const caller[] = {"tool", NULL};
	static char *const environment[] = {"OTHER_KEY=1", "OTHER_URL=2", "OWN_KEY=3", "OWN_URL=4",
					    NULL};
	static const char tell[] = "#!/bin/sh\nprintf '<%s>' \"${OTHER_KEY-unset}\" "
				   "\"${OTHER_URL-unset}\" \"${OWN_KEY-unset}\" "
				   "\"${OWN_URL-unset}\"\n";
	char said[4096];
	struct run run;

	ck_assert_int_eq(pair_list_set(&runner.keys, "OTHER_KEY", "sk-1"), 0);
	ck_assert_int_eq(pair_list_set(&runner.keys, "OWN_KEY", "sk-2"), 0);
	ck_assert_int_eq(pair_list_set(&runner.environment, "OTHER_URL", "u"), 0);
	ck_assert_int_eq(pair_list_set(&runner.environment, "OWN_URL", "u"), 0);
	for (int own = 0; own <= 1; own++) {
		session.found.secret.name = own ? "OWN_KEY" : NULL;
		login.endpoint_variable = own ? "OWN_URL" : NULL;
		wrap("tool", tell);
		ck_assert_ptr_null(strstr(wrapper_text, "sk-"));
		run = start(caller, environment);
		ck_assert_int_eq(finish(&run, said, sizeof(said)), 0);
		ck_assert_str_eq(said,
				 own ? "<unset><unset><3><4>" : "<unset><unset><unset><unset>");
	}
}
END_TEST

START_TEST(stdin_and_exit_status)
{
	static char *const caller[] = {"tool", NULL};
	char said[4096], wanted[64];
	struct run run;
	int status;

	wrap("tool", "#!/bin/sh\necho \"$$\"\ncat\nexit 7\n");
	run = start(caller, no_environment);
	ck_assert_int_eq(write(run.input, "in\nput", 6), 6);
	status = finish(&run, said, sizeof(said));
	/* Its pid is the wrapper's. */
	snprintf(wanted, sizeof(wanted), "%d\nin\nput", (int)run.pid);
	ck_assert_str_eq(said, wanted);
	ck_assert(WIFEXITED(status));
	ck_assert_int_eq(WEXITSTATUS(status), 7);
}
END_TEST

START_TEST(signals)
{
	static char *const caller[] = {"tool", NULL};
	char said[4096] = "";
	struct run run;
	int status;

	wrap("tool", "#!/bin/sh\n"
		     "trap 'echo TERM; exit 43' TERM\n"
		     "echo ready\n"
		     "while read -r line; do :; done\n");
	run = start(caller, no_environment);
	ck_assert_int_eq(read(run.output, said, sizeof(said) - 1), 6);
	ck_assert_str_eq(said, "ready\n");
	ck_assert_int_eq(kill(run.pid, SIGTERM), 0);
	/* The trap runs at the latest once its read is over. */
	status = finish(&run, said, sizeof(said));
	ck_assert_str_eq(said, "TERM\n");
	ck_assert(WIFEXITED(status));
	ck_assert_int_eq(WEXITSTATUS(status), 43);

	run = start(caller, no_environment);
	ck_assert_int_eq(read(run.output, said, sizeof(said) - 1), 6);
	ck_assert_int_eq(kill(run.pid, SIGKILL), 0);
	status = finish(&run, said, sizeof(said));
	ck_assert(WIFSIGNALED(status));
	ck_assert_int_eq(WTERMSIG(status), SIGKILL);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("runner_wrapper");
	TCase *wrapper = tcase_create("wrapper");
	SRunner *suite_runner;
	int failed;

	signal(SIGPIPE, SIG_IGN);
	tcase_add_checked_fixture(wrapper, setup, teardown);
	tcase_add_test(wrapper, arguments);
	tcase_add_test(wrapper, none_of_its_own);
	tcase_add_test(wrapper, path_of_the_program);
	tcase_add_test(wrapper, interpreter);
	tcase_add_test(wrapper, variables_of_its_own);
	tcase_add_test(wrapper, keys_of_others_are_not_its);
	tcase_add_test(wrapper, stdin_and_exit_status);
	tcase_add_test(wrapper, signals);
	suite_add_tcase(suite, wrapper);
	suite_runner = srunner_create(suite);
	srunner_run_all(suite_runner, CK_ENV);
	failed = srunner_ntests_failed(suite_runner);
	srunner_free(suite_runner);
	return failed ? 1 : 0;
}

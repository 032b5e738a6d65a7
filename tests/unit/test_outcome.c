/* SPDX-License-Identifier: MIT */
#include <check.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "init/control.h"
#include "keeper/boundary.h"
#include "keeper/outcome.h"

#define EXIT(code) W_EXITCODE(code, 0)
#define KILLED(number) W_EXITCODE(0, number)
#define NONE (-1)

struct outcome_case {
	const char *name;
	struct outcome_facts facts;
	enum outcome outcome;
	enum ender ended_by;
	int cause; /* or NONE */
	int exit_code;
	int exit_signal;
	const char *message; /* a part of it; NULL: there is none */
};

static const struct outcome_case cases[] = {
	/* By itself. */
	{"exit 0",
	 {.started = true, .exited = true, .status = EXIT(0)},
	 OUTCOME_delivered,
	 ENDER_agent,
	 NONE,
	 0,
	 NONE,
	 NULL},
	{"exit 3",
	 {.started = true, .exited = true, .status = EXIT(3)},
	 OUTCOME_failed,
	 ENDER_agent,
	 NONE,
	 3,
	 NONE,
	 NULL},
	{"exit 137 is a code",
	 {.started = true, .exited = true, .status = EXIT(137)},
	 OUTCOME_failed,
	 ENDER_agent,
	 NONE,
	 137,
	 NONE,
	 NULL},
	{"SIGKILL",
	 {.started = true, .exited = true, .status = KILLED(SIGKILL)},
	 OUTCOME_failed,
	 ENDER_agent,
	 NONE,
	 NONE,
	 SIGKILL,
	 NULL},
	{"SIGSEGV, core flag",
	 {.started = true, .exited = true, .status = KILLED(SIGSEGV) | 0x80},
	 OUTCOME_failed,
	 ENDER_agent,
	 NONE,
	 NONE,
	 SIGSEGV,
	 NULL},

	/* Memory. */
	{"killed for memory",
	 {.started = true, .exited = true, .status = KILLED(SIGKILL), .oom_kills = 1},
	 OUTCOME_out_of_memory,
	 ENDER_memory_limit,
	 NONE,
	 NONE,
	 SIGKILL,
	 "memory limit"},
	{"a child was, main exits 0",
	 {.started = true, .exited = true, .status = EXIT(0), .oom_kills = 1},
	 OUTCOME_delivered,
	 ENDER_agent,
	 NONE,
	 0,
	 NONE,
	 NULL},
	{"a child was, main exits 137",
	 {.started = true, .exited = true, .status = EXIT(137), .oom_kills = 1},
	 OUTCOME_failed,
	 ENDER_agent,
	 NONE,
	 137,
	 NONE,
	 NULL},
	{"a child was, main crashed",
	 {.started = true, .exited = true, .status = KILLED(SIGABRT), .oom_kills = 2},
	 OUTCOME_failed,
	 ENDER_agent,
	 NONE,
	 NONE,
	 SIGABRT,
	 NULL},
	{"pid 1 was",
	 {.started = true, .init_gone = true, .oom_kills = 1},
	 OUTCOME_out_of_memory,
	 ENDER_memory_limit,
	 NONE,
	 NONE,
	 NONE,
	 "memory limit"},
	{"killed for memory before it started",
	 {.init_gone = true, .oom_kills = 1},
	 OUTCOME_void,
	 ENDER_keeper,
	 CAUSE_sandbox_unavailable,
	 NONE,
	 NONE,
	 "too small"},

	/* Ordered: what came first decides, the code stands beside it. */
	{"canceled, then exit 0",
	 {.order = END_CANCEL, .started = true, .exited = true, .status = EXIT(0)},
	 OUTCOME_canceled,
	 ENDER_client,
	 NONE,
	 0,
	 NONE,
	 NULL},
	{"canceled, ended by TERM",
	 {.order = END_CANCEL, .started = true, .exited = true, .status = KILLED(SIGTERM)},
	 OUTCOME_canceled,
	 ENDER_client,
	 NONE,
	 NONE,
	 SIGTERM,
	 NULL},
	{"canceled, then killed for memory",
	 {.order = END_CANCEL,
	  .started = true,
	  .exited = true,
	  .status = KILLED(SIGKILL),
	  .oom_kills = 1},
	 OUTCOME_canceled,
	 ENDER_client,
	 NONE,
	 NONE,
	 SIGKILL,
	 NULL},
	{"canceled before it started",
	 {.order = END_CANCEL},
	 OUTCOME_canceled,
	 ENDER_client,
	 NONE,
	 NONE,
	 NONE,
	 NULL},
	{"canceled, then not executable",
	 {.order = END_CANCEL,
	  .not_started = true,
	  .step = CONTROL_STEP_EXEC,
	  .error = ENOENT,
	  .command = "x"},
	 OUTCOME_canceled,
	 ENDER_client,
	 NONE,
	 NONE,
	 NONE,
	 NULL},
	{"canceled, pid 1 gone",
	 {.order = END_CANCEL, .started = true, .init_gone = true},
	 OUTCOME_canceled,
	 ENDER_client,
	 NONE,
	 NONE,
	 NONE,
	 NULL},
	{"stalled",
	 {.started = true,
	  .exited = true,
	  .status = KILLED(SIGTERM),
	  .order = END_STALL_LIMIT,
	  .inactivity = {.seconds = 300.25, .cpu_seconds = 0.5}},
	 OUTCOME_stalled,
	 ENDER_stall_limit,
	 NONE,
	 NONE,
	 SIGTERM,
	 "for 300.2 s: no output, 0.500 s of processor time (less than 1% of one processor), no bytes "
	 "through the proxy"},
	{"out of time, then exit 0",
	 {.order = END_WALL_LIMIT, .started = true, .exited = true, .status = EXIT(0)},
	 OUTCOME_timed_out,
	 ENDER_wall_limit,
	 NONE,
	 0,
	 NONE,
	 NULL},
	{"out of time, killed",
	 {.order = END_WALL_LIMIT, .started = true, .exited = true, .status = KILLED(SIGKILL)},
	 OUTCOME_timed_out,
	 ENDER_wall_limit,
	 NONE,
	 NONE,
	 SIGKILL,
	 NULL},
	{"session gone",
	 {.order = END_OUTSIDE, .started = true, .bwrap_gone = true},
	 OUTCOME_interrupted,
	 ENDER_outside,
	 NONE,
	 NONE,
	 NONE,
	 "session"},

	/* Brought down. */
	{"pid 1 gone without a report",
	 {.started = true, .init_gone = true},
	 OUTCOME_failed,
	 ENDER_agent,
	 NONE,
	 NONE,
	 NONE,
	 "pid 1"},
	{"bwrap killed, main ended after it",
	 {.started = true,
	  .bwrap_gone = true,
	  .bwrap_signal = SIGKILL,
	  .exited = true,
	  .status = KILLED(SIGKILL)},
	 OUTCOME_failed,
	 ENDER_outside,
	 NONE,
	 NONE,
	 SIGKILL,
	 "signal 9"},
	{"bwrap gone, main exits 0 at the same time",
	 {.started = true, .bwrap_gone = true, .exited = true, .status = EXIT(0)},
	 OUTCOME_failed,
	 ENDER_outside,
	 NONE,
	 0,
	 NONE,
	 "bubblewrap"},

	/* Not started: void, never failed. */
	{"nothing at all",
	 {.init_gone = true},
	 OUTCOME_void,
	 ENDER_keeper,
	 CAUSE_sandbox_unavailable,
	 NONE,
	 NONE,
	 "before the main"},
	{"command not found",
	 {.not_started = true, .step = CONTROL_STEP_EXEC, .error = ENOENT, .command = "codex"},
	 OUTCOME_void,
	 ENDER_keeper,
	 CAUSE_session_unavailable,
	 127,
	 NONE,
	 "command not found inside the sandbox: codex"},
	{"command not found, and no sandbox",
	 {.not_started = true,
	  .step = CONTROL_STEP_EXEC,
	  .error = ENOENT,
	  .command = "codex",
	  .bare = true},
	 OUTCOME_void,
	 ENDER_keeper,
	 CAUSE_session_unavailable,
	 127,
	 NONE,
	 "command not found: codex"},
	{"below a file",
	 {.not_started = true, .step = CONTROL_STEP_EXEC, .error = ENOTDIR, .command = "/a/b"},
	 OUTCOME_void,
	 ENDER_keeper,
	 CAUSE_session_unavailable,
	 127,
	 NONE,
	 "/a/b"},
	{"not executable",
	 {.not_started = true, .step = CONTROL_STEP_EXEC, .error = EACCES, .command = "/x"},
	 OUTCOME_void,
	 ENDER_keeper,
	 CAUSE_session_unavailable,
	 126,
	 NONE,
	 "cannot be executed inside the sandbox: /x: Permission denied"},
	{"no program",
	 {.not_started = true, .step = CONTROL_STEP_EXEC, .error = ENOEXEC, .command = "/x"},
	 OUTCOME_void,
	 ENDER_keeper,
	 CAUSE_session_unavailable,
	 126,
	 NONE,
	 "Exec format error"},
	{"no interpreter",
	 {.not_started = true, .step = CONTROL_STEP_INTERPRETER, .error = ENOENT, .command = "/x"},
	 OUTCOME_void,
	 ENDER_keeper,
	 CAUSE_session_unavailable,
	 126,
	 NONE,
	 "interpreter"},
	{"no working directory",
	 {.not_started = true, .step = CONTROL_STEP_CWD, .error = ENOENT, .cwd = "/gone"},
	 OUTCOME_void,
	 ENDER_keeper,
	 CAUSE_session_unavailable,
	 NONE,
	 NONE,
	 "/gone: No such file"},
	{"no process",
	 {.not_started = true, .step = CONTROL_STEP_FORK, .error = EAGAIN},
	 OUTCOME_void,
	 ENDER_keeper,
	 CAUSE_sandbox_unavailable,
	 NONE,
	 NONE,
	 "starting a process"},
	{"launch file refused",
	 {.not_started = true, .step = CONTROL_STEP_LAUNCH, .error = EBADMSG},
	 OUTCOME_void,
	 ENDER_keeper,
	 CAUSE_sandbox_unavailable,
	 NONE,
	 NONE,
	 "Bad message"},
	{"a step of another build",
	 {.not_started = true, .step = 99, .error = EPERM},
	 OUTCOME_void,
	 ENDER_keeper,
	 CAUSE_sandbox_unavailable,
	 NONE,
	 NONE,
	 "the start failed"},
};

START_TEST(decisions)
{
	const struct outcome_case *c = &cases[_i];
	struct outcome_decision decision;
	struct outcome_record record = {0};

	outcome_decide(&c->facts, &decision);
	ck_assert_msg(decision.outcome == c->outcome, "%s: %s", c->name,
		      outcome_name((int)decision.outcome));
	ck_assert_msg(decision.ended_by == c->ended_by, "%s: %s", c->name,
		      ender_name((int)decision.ended_by));
	ck_assert_msg(decision.has_cause == (c->cause != NONE), "%s", c->name);
	if (decision.has_cause)
		ck_assert_msg((int)decision.cause == c->cause, "%s", c->name);
	ck_assert_msg(decision.exit_code == c->exit_code, "%s: %d", c->name, decision.exit_code);
	ck_assert_msg(decision.exit_signal == c->exit_signal, "%s: %d", c->name,
		      decision.exit_signal);
	if (c->message)
		ck_assert_msg(strstr(decision.message, c->message), "%s: %s", c->name,
			      decision.message);
	else
		ck_assert_msg(decision.message[0] == '\0', "%s: %s", c->name, decision.message);

	outcome_fill(&decision, &record);
	ck_assert(record.has.outcome && record.has.ended_by);
	ck_assert(record.has.exit_code == (c->exit_code != NONE));
	ck_assert(record.has.exit_signal == (c->exit_signal != NONE));
	ck_assert(record.has.message == (c->message != NULL));
}
END_TEST

START_TEST(fault_is_carried)
{
	_cleanup_fault_ struct fault fault = FAULT_INIT;
	struct outcome_decision decision;
	struct outcome_facts facts = {.fault = &fault};

	fault_void(&fault, CAUSE_limits_unavailable, "no memory controller");
	fault_hint(&fault, "delegate it");
	outcome_decide(&facts, &decision);
	ck_assert_int_eq(decision.outcome, OUTCOME_void);
	ck_assert(decision.has_cause);
	ck_assert_int_eq(decision.cause, CAUSE_limits_unavailable);
	ck_assert_str_eq(decision.message, "no memory controller");
	ck_assert_str_eq(decision.hint, "delegate it");

	facts.order = END_CANCEL;
	outcome_decide(&facts, &decision);
	ck_assert_int_eq(decision.outcome, OUTCOME_canceled);
}
END_TEST

static const uint64_t outside[CONTROL_NS_COUNT] = {11, 12, 13, 14, 15, 16, 17};

static struct control_packet good_hello(void)
{
	struct control_packet packet = {.type = CONTROL_HELLO, .version = CONTROL_VERSION};

	for (int i = 0; i < CONTROL_NS_COUNT; i++)
		packet.hello.namespaces[i] = 100 + (uint64_t)i;
	packet.hello.pid = 1;
	packet.hello.uid = 1001;
	packet.hello.no_new_privileges = 1;
	packet.hello.seccomp = 2;
	return packet;
}

static int check_hello(const struct control_packet *packet, enum network network, const char *text)
{
	_cleanup_fault_ struct fault fault = FAULT_INIT;
	struct boundary boundary;
	int r;

	r = boundary_check(packet, outside, 1001, network, &boundary, &fault);
	if (r == FAULT) {
		ck_assert_int_eq(fault.cause, CAUSE_sandbox_unavailable);
		ck_assert_ptr_nonnull(fault.hint);
		if (text)
			ck_assert_msg(strstr(fault.message, text), "%s", fault.message);
	}
	ck_assert(boundary.has.pid && boundary.has.capabilities);
	return r;
}

START_TEST(boundary_proved)
{
	struct control_packet packet = good_hello();

	ck_assert_int_eq(check_hello(&packet, NETWORK_none, NULL), 0);
	packet.hello.namespaces[CONTROL_NS_NET] = outside[CONTROL_NS_NET];
	ck_assert_int_eq(check_hello(&packet, NETWORK_host, NULL), 0);
}
END_TEST

START_TEST(boundary_namespace_shared)
{
	static const char *const names[] = {"(user)", "(mnt)",	  "(pid)", "(ipc)",
					    "(uts)",  "(cgroup)", "(net)"};
	struct control_packet packet = good_hello();

	packet.hello.namespaces[_i] = outside[_i];
	ck_assert_int_eq(check_hello(&packet, NETWORK_none, names[_i]), FAULT);
	/* One that could not be read proves nothing. */
	packet.hello.namespaces[_i] = 0;
	ck_assert_int_eq(check_hello(&packet, NETWORK_none, names[_i]), FAULT);
}
END_TEST

START_TEST(boundary_incomplete)
{
	struct control_packet packet = good_hello();

	ck_assert_int_eq(check_hello(&packet, NETWORK_host, "(net)"), FAULT);
	packet = good_hello();
	packet.hello.pid = 2;
	ck_assert_int_eq(check_hello(&packet, NETWORK_none, "pid 1"), FAULT);
	packet = good_hello();
	packet.hello.uid = 0;
	ck_assert_int_eq(check_hello(&packet, NETWORK_none, "user id"), FAULT);
	packet = good_hello();
	packet.hello.no_new_privileges = 0;
	ck_assert_int_eq(check_hello(&packet, NETWORK_none, "privileges"), FAULT);
	packet = good_hello();
	packet.hello.seccomp = 0;
	ck_assert_int_eq(check_hello(&packet, NETWORK_none, "filter"), FAULT);
	packet = good_hello();
	packet.hello.capabilities = 1;
	ck_assert_int_eq(check_hello(&packet, NETWORK_none, "capabilities"), FAULT);
}
END_TEST

static Suite *outcome_suite(void)
{
	Suite *suite = suite_create("outcome");
	TCase *test_case = tcase_create("outcome");

	tcase_add_loop_test(test_case, decisions, 0, (int)ARRAY_SIZE(cases));
	tcase_add_test(test_case, fault_is_carried);
	suite_add_tcase(suite, test_case);
	test_case = tcase_create("boundary");
	tcase_add_test(test_case, boundary_proved);
	tcase_add_loop_test(test_case, boundary_namespace_shared, 0, CONTROL_NS_COUNT);
	tcase_add_test(test_case, boundary_incomplete);
	suite_add_tcase(suite, test_case);
	return suite;
}

int main(void)
{
	SRunner *runner = srunner_create(outcome_suite());
	int failed;

	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* SPDX-License-Identifier: MIT */
#include "plan_fixture.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

/* What a plan holds beside its binds: limits, environment, working directory, files, digest. */

static struct plan_fixture fixture;
static struct plan *plan;

static void setup(void)
{
	fixture_init(&fixture);
	plan = NULL;
}

static void teardown(void)
{
	plan_free(plan);
	fixture_done(&fixture);
}

static void make_plan(void)
{
	int r;

	plan = plan_free(plan);
	r = build(&fixture, &plan);
	ck_assert_msg(r == 0, "refused (%d): %s", r,
		      fixture.fault.message ? fixture.fault.message : "");
}

static void expect_invalid(const char *part, const char *other)
{
	expect_refusal(&fixture, ERROR_invalid, part, other);
}

START_TEST(command_is_required)
{
	fixture.launch.command.count = 0;
	expect_invalid("command: ", "required");
	fixture.launch.command.count = 1;
	fixture.command[0] = "";
	expect_invalid("command: ", "required");
}
END_TEST

START_TEST(limits_by_default)
{
	make_plan();
	ck_assert_uint_eq(plan->limits.tmp, 4ull << 30);
	ck_assert_uint_eq(plan->limits.home, 4ull << 30);
	ck_assert(!plan->limits.has.memory && !plan->limits.has.wall_seconds);
	ck_assert_uint_eq(plan->asked.count, 0);
	ck_assert_uint_eq(plan->notes.count, 0);
	ck_assert_double_eq(plan->grace_seconds, 10);
}
END_TEST

START_TEST(limits_of_launch_and_configuration)
{
	struct limits_spec *ours = &fixture.config.limits, *theirs = &fixture.launch.limits;

	ours->has.tasks = ours->has.wall_seconds = ours->has.home = true;
	ours->tasks = 2048;
	ours->wall_seconds = 7200;
	ours->home = 1 << 20;
	theirs->has.tasks = theirs->has.cpu = true;
	theirs->tasks = 12;
	theirs->cpu = 150;
	fixture.launch.has.grace_seconds = true;
	fixture.launch.grace_seconds = 0;
	make_plan();
	ck_assert_uint_eq(plan->limits.tasks, 12);
	ck_assert_uint_eq(plan->limits.cpu, 150);
	ck_assert_double_eq(plan->limits.wall_seconds, 7200);
	ck_assert_uint_eq(plan->limits.home, 1 << 20);
	ck_assert_uint_eq(plan->asked.count, 2);
	ck_assert_str_eq(plan->asked.items[0], "tasks");
	ck_assert_str_eq(plan->asked.items[1], "cpu");
	ck_assert_double_eq(plan->grace_seconds, 0);
}
END_TEST

static uint64_t size_of(const char *destination)
{
	const struct plan_operation *operation = plan_at(plan, destination);

	ck_assert_ptr_nonnull(operation);
	ck_assert_int_eq(operation->type, PLAN_TMPFS);
	return operation->size;
}

/* tmpfs is charged to the memory limit: defaults shrink to a quarter of it, together below it. */
START_TEST(sizes_under_a_memory_limit)
{
	struct limits_spec *limits = &fixture.launch.limits;

	limits->has.memory = true;
	limits->memory = 1 << 30;
	make_plan();
	ck_assert_uint_eq(size_of("/tmp"), 1 << 28);
	ck_assert_uint_eq(size_of("/dev/shm"), 1 << 28);
	ck_assert_uint_eq(size_of(fixture.host.home), 1 << 28);
	ck_assert_uint_eq(plan->limits.tmp, 1 << 28);
	ck_assert_uint_eq(plan->notes.count, 2);
	limits->has.tmp = true;
	limits->tmp = 768 << 20;
	make_plan();
	ck_assert_uint_eq(size_of("/tmp"), 768 << 20);
	ck_assert_uint_eq(size_of(fixture.host.home), 64 << 20);
	limits->has.home = true;
	limits->home = 512 << 20;
	expect_invalid("limits.tmp and limits.home", "limits.memory");
	limits->has.tmp = false;
	limits->home = 2ull << 30;
	expect_invalid("limits.home: ", "HOME");
	limits->memory = 64ull << 30;
	limits->home = 1 << 20;
	make_plan();
	ck_assert_uint_eq(size_of("/tmp"), 4ull << 30);
	ck_assert_uint_eq(size_of(fixture.host.home), 1 << 20);
}
END_TEST

START_TEST(limits_too_small)
{
	struct limits_spec *limits = &fixture.launch.limits;

#define TOO_SMALL(name, value)                                                                     \
	limits->has.name = true;                                                                   \
	limits->name = (value);                                                                    \
	expect_invalid("limits." #name ": ", "");                                                  \
	limits->has.name = false
	TOO_SMALL(output, LIMIT_OUTPUT_BYTES_MIN - 1);
	TOO_SMALL(tmp, 0);
	TOO_SMALL(home, 0);
	TOO_SMALL(memory, 0);
	TOO_SMALL(tasks, 0);
	TOO_SMALL(cpu, 0);
	TOO_SMALL(wall_seconds, 0);
	TOO_SMALL(stall_seconds, 0);
	limits->has.output = true;
	limits->output = LIMIT_OUTPUT_BYTES_MIN;
	limits->has.swap = true;
	limits->swap = 0;
	make_plan();
}
END_TEST

static const char *variable(const char *name)
{
	const char *value = pair_list_get(&plan->environment, name);

	return value ? value : "(unset)";
}

static void set_variable(const char *name, const char *value)
{
	fixture.variables[fixture.launch.environment.count++] = (struct pair){name, value};
}

START_TEST(environment_from_nothing)
{
	ck_assert_int_eq(setenv("OPENAI_API_KEY", "canary", 1), 0);
	make_plan();
	ck_assert_uint_eq(plan->environment.count, 8);
	ck_assert_str_eq(variable("HOME"), fixture.host.home);
	ck_assert_str_eq(variable("USER"), fixture.host.user);
	ck_assert_str_eq(variable("LOGNAME"), fixture.host.user);
	ck_assert_str_eq(variable("SHELL"), "/bin/sh");
	ck_assert_str_eq(variable("PATH"), "/usr/local/bin:/usr/bin:/bin");
	ck_assert_str_eq(variable("LANG"), "C.UTF-8");
	ck_assert_str_eq(variable("TMPDIR"), "/tmp");
	ck_assert_str_eq(variable("TERM"), "dumb");
}
END_TEST

START_TEST(environment_of_the_launch)
{
	static char path[] = "/opt/bin:/bin";

	fixture.config.path = path;
	set_variable("TERM", "xterm");
	set_variable("ODD", "a\nb=\xff");
	make_plan();
	ck_assert_str_eq(variable("PATH"), "/opt/bin:/bin");
	ck_assert_str_eq(variable("TERM"), "xterm");
	ck_assert_str_eq(variable("ODD"), "a\nb=\xff");
	ck_assert_uint_eq(plan->environment.count, 9);
	set_variable("PATH", "/x");
	make_plan();
	ck_assert_str_eq(variable("PATH"), "/x");
}
END_TEST

START_TEST(environment_refused)
{
	static const char *const fixed[] = {"HOME", "USER", "LOGNAME"};

	for (size_t i = 0; i < ARRAY_SIZE(fixed); i++) {
		fixture.launch.environment.count = 0;
		set_variable(fixed[i], "/x");
		expect_refusal(&fixture, ERROR_refused, "environment.", fixed[i]);
	}
	fixture.launch.environment.count = 0;
	set_variable("", "x");
	expect_invalid("environment: ", "empty");
	fixture.launch.environment.count = 0;
	set_variable("A=B", "x");
	expect_invalid("environment: ", "A=B");
}
END_TEST

/* git trusts exactly the repository, by its canonical path, unless the launch has its own way. */
START_TEST(git_trusts_the_repository)
{
	make_plan();
	ck_assert_str_eq(variable("GIT_CONFIG_COUNT"), "(unset)");
	make_link(at(&fixture, "lnk"), "repo");
	fixture.launch.repository = at(&fixture, "lnk");
	make_plan();
	ck_assert_str_eq(variable("GIT_CONFIG_COUNT"), "1");
	ck_assert_str_eq(variable("GIT_CONFIG_KEY_0"), "safe.directory");
	ck_assert_str_eq(variable("GIT_CONFIG_VALUE_0"), at(&fixture, "repo"));
	set_variable("GIT_CONFIG_COUNT", "0");
	make_plan();
	ck_assert_str_eq(variable("GIT_CONFIG_COUNT"), "0");
	ck_assert_str_eq(variable("GIT_CONFIG_KEY_0"), "(unset)");
}
END_TEST

static void expect_cwd(const char *cwd, const char *inside)
{
	fixture.launch.cwd = cwd;
	make_plan();
	ck_assert_str_eq(plan->cwd, inside);
}

START_TEST(working_directory)
{
	make_folder(at(&fixture, "repo/a/b"));
	make_link(at(&fixture, "lnk"), at(&fixture, "repo"));
	make_link(at(&fixture, "repo/up"), "a/../a/b");
	make_link(at(&fixture, "repo/abs"), at(&fixture, "lnk/a"));
	expect_cwd(NULL, fixture.host.home);
	fixture.launch.repository = at(&fixture, "lnk");
	expect_cwd(NULL, at(&fixture, "repo"));
	expect_cwd(at(&fixture, "repo/a/b"), at(&fixture, "repo/a/b"));
	expect_cwd(at(&fixture, "lnk/a"), at(&fixture, "repo/a"));
	expect_cwd(at(&fixture, "lnk/up/../"), at(&fixture, "repo/a"));
	expect_cwd(at(&fixture, "repo/abs/b"), at(&fixture, "repo/a/b"));
	expect_cwd("/tmp", "/tmp");
	expect_cwd("/var/tmp", "/tmp");
	expect_cwd(fixture.host.home, fixture.host.home);
	add_bind(&fixture, at(&fixture, "repo"), "/data/x", "ro");
	expect_cwd("/data/x/a", "/data/x/a");
	expect_cwd("/data/x/abs", at(&fixture, "repo/a"));
}
END_TEST

START_TEST(working_directory_refused)
{
	make_file(at(&fixture, "repo/file"), "");
	make_link(at(&fixture, "repo/loop"), "loop");
	make_link(at(&fixture, "repo/out"), at(&fixture, "other"));
	make_folder(at(&fixture, "other"));
	fixture.launch.repository = at(&fixture, "repo");
	fixture.launch.cwd = at(&fixture, "repo/none");
	expect_invalid("cwd: ", "does not exist inside");
	fixture.launch.cwd = at(&fixture, "other");
	expect_invalid("cwd: ", "does not exist inside");
	fixture.launch.cwd = at(&fixture, "repo/out");
	expect_invalid("cwd: ", "does not exist inside");
	fixture.launch.cwd = at(&fixture, "repo/file");
	expect_invalid("cwd: ", "Not a directory");
	fixture.launch.cwd = at(&fixture, "repo/loop");
	expect_invalid("cwd: ", "symbolic links");
	fixture.launch.cwd = "/usr";
	expect_invalid("cwd: /usr must be in the repository", "/tmp");
	fixture.launch.cwd = "/";
	expect_invalid("cwd: / must be in the repository", "");
	fixture.launch.cwd = "relative";
	expect_invalid("cwd: ", "absolute");
}
END_TEST

/* Read-write for a trial, read-only for a grader, unless the launch says. */
START_TEST(repository_modes)
{
	fixture.launch.repository = at(&fixture, "repo");
	make_plan();
	ck_assert(plan->repository_writable && plan_at(plan, at(&fixture, "repo"))->writable);
	fixture.launch.has.role = true;
	fixture.launch.role = ROLE_grader;
	make_plan();
	ck_assert(!plan->repository_writable && !plan_at(plan, at(&fixture, "repo"))->writable);
	fixture.launch.has.repository_mode = true;
	fixture.launch.repository_mode = MODE_rw;
	make_plan();
	ck_assert(plan->repository_writable);
}
END_TEST

/* The spelling of a path is recreated inside, once, and only where nothing bound has it. */
START_TEST(links_recreated)
{
	const struct plan_operation *link;

	make_link(at(&fixture, "one"), at(&fixture, "two"));
	make_link(at(&fixture, "two"), "repo");
	make_link(at(&fixture, "repo/in"), "sub");
	make_folder(at(&fixture, "repo/sub"));
	fixture.launch.repository = at(&fixture, "one");
	add_bind(&fixture, at(&fixture, "one/in"), "/data", "ro");
	make_plan();
	link = plan_at(plan, at(&fixture, "one"));
	ck_assert_ptr_nonnull(link);
	ck_assert_int_eq(link->type, PLAN_SYMLINK);
	ck_assert_str_eq(link->source, at(&fixture, "two"));
	ck_assert_str_eq(plan_at(plan, at(&fixture, "two"))->source, "repo");
	ck_assert_ptr_null(plan_at(plan, at(&fixture, "repo/in")));
	ck_assert_str_eq(plan_at(plan, "/data")->source, at(&fixture, "repo/sub"));
}
END_TEST

START_TEST(home_spelled_by_a_link)
{
	struct plan_host host;

	make_link(at(&fixture, "users"), at(&fixture, "."));
	ck_assert_int_eq(plan_host_init(&host, at(&fixture, "users/home"), at(&fixture, "state"),
					at(&fixture, "run"), "/nonexistent/x", &fixture.config,
					&fixture.fault),
			 0);
	ck_assert_str_eq(host.home, at(&fixture, "home"));
	ck_assert_str_eq(host.config_folder, "/nonexistent/x");
	plan_host_done(&fixture.host);
	fixture.host = host;
	make_plan();
	ck_assert_int_eq(plan_at(plan, at(&fixture, "users"))->type, PLAN_SYMLINK);
}
END_TEST

START_TEST(homes_that_cannot_be)
{
	static const char *const homes[] = {"/", "/tmp", "/usr/share", "/etc", "/nonexistent/u"};
	struct plan_host host;

	for (size_t i = 0; i < ARRAY_SIZE(homes); i++) {
		ck_assert_int_eq(plan_host_init(&host, homes[i], at(&fixture, "state"),
						at(&fixture, "run"), "/x", &fixture.config,
						&fixture.fault),
				 FAULT);
		ck_assert_msg(!strncmp(fixture.fault.message, "HOME: ", 6), "%s",
			      fixture.fault.message);
	}
	make_folder(at(&fixture, "a:b"));
	ck_assert_int_eq(plan_host_init(&host, at(&fixture, "a:b"), at(&fixture, "state"),
					at(&fixture, "run"), "/x", &fixture.config, &fixture.fault),
			 FAULT);
	ck_assert_int_eq(plan_host_init(&host, NULL, "/", "/", "/x", &fixture.config,
					&fixture.fault),
			 FAULT);
}
END_TEST

START_TEST(parents_come_first)
{
	fixture.launch.repository = at(&fixture, "repo");
	add_bind(&fixture, at(&fixture, "home"), at(&fixture, "home/in"), "ro");
	add_bind(&fixture, at(&fixture, "home"), "/tmp/a", "ro");
	add_bind(&fixture, at(&fixture, "home"), "/tmp-a", "ro");
	make_plan();
	for (size_t i = 0; i + 2 < plan->operation_count; i++)
		for (size_t k = 0; k < i; k++)
			ck_assert_msg(!path_within(plan->operations[k].destination,
						   plan->operations[i].destination),
				      "%s before %s", plan->operations[k].destination,
				      plan->operations[i].destination);
	ck_assert_str_eq(plan->operations[plan->operation_count - 2].destination, "/dev");
	ck_assert_str_eq(plan->operations[plan->operation_count - 1].destination, "/");
	ck_assert_int_eq(plan->operations[plan->operation_count - 1].type, PLAN_REMOUNT_RO);
}
END_TEST

START_TEST(files_are_sealed_memfds)
{
	const struct plan_operation *passwd;
	char text[256], expected[256];
	ssize_t size;
	int fd;

	make_plan();
	passwd = plan_at(plan, "/etc/passwd");
	fd = plan->descriptors[passwd->descriptor];
	size = read(fd, text, sizeof(text) - 1);
	ck_assert_int_gt(size, 0);
	text[size] = '\0';
	snprintf(
		expected, sizeof(expected),
		"%s:x:%u:%u:%s:%s:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
		fixture.host.user, (unsigned int)getuid(), (unsigned int)getgid(),
		fixture.host.user, fixture.host.home);
	ck_assert_str_eq(text, expected);
	ck_assert_int_eq(fcntl(fd, F_GET_SEALS),
			 F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
	for (size_t i = 0; i < plan->descriptor_count; i++)
		ck_assert_int_eq(fcntl(plan->descriptors[i], F_GETFD), FD_CLOEXEC);
}
END_TEST

START_TEST(too_many_descriptors)
{
	for (unsigned int i = 0; i < 128; i++) {
		make_folder(at(&fixture, "repo/%u", i));
		add_bind(&fixture, at(&fixture, "repo/%u", i), NULL, "ro");
	}
	make_plan();
	ck_assert_uint_le(plan->descriptor_count, PLAN_DESCRIPTORS_MAX);
}
END_TEST

static void digest_now(char digest[65])
{
	struct text_list arguments = {0};

	make_plan();
	ck_assert_int_eq(plan_bwrap_arguments(plan, &fixture.host, &arguments), 0);
	ck_assert_int_eq(plan_digest(plan, &arguments, digest), 0);
	text_list_done(&arguments);
	ck_assert_uint_eq(strspn(digest, "0123456789abcdef"), 64);
}

START_TEST(digests)
{
	char first[65], second[65];

	make_folder(at(&fixture, "repo2"));
	add_bind(&fixture, at(&fixture, "repo"), "/data", "ro");
	digest_now(first);
	digest_now(second);
	ck_assert_str_eq(first, second);
	/* Same destination, same arguments, another source. */
	free((char *)fixture.binds[0].source);
	fixture.binds[0].source = strdup(at(&fixture, "repo2"));
	digest_now(second);
	ck_assert_str_ne(first, second);
	memcpy(first, second, sizeof(first));
	fixture.command[1] = "x";
	fixture.launch.command.count = 2;
	digest_now(second);
	ck_assert_str_ne(first, second);
	memcpy(first, second, sizeof(first));
	set_variable("A", "B");
	digest_now(second);
	ck_assert_str_ne(first, second);
	memcpy(first, second, sizeof(first));
	fixture.launch.limits.has.tasks = true;
	fixture.launch.limits.tasks = 7;
	digest_now(second);
	ck_assert_str_ne(first, second);
}
END_TEST

/* With the facts of this host: check accepts and keeps nothing, make voids what check refuses. */
START_TEST(check_and_make)
{
	char *repository = NULL;

	make_link(at(&fixture, "lnk"), "repo");
	fixture.launch.repository = at(&fixture, "lnk");
	ck_assert_int_eq(
		plan_check(&fixture.host, &fixture.launch, &repository, NULL, &fixture.fault), 0);
	ck_assert_str_eq(repository, at(&fixture, "repo"));
	free(repository);
	fixture.launch.has.network = true;
	fixture.launch.network = NETWORK_host;
	ck_assert_int_eq(plan_make(&plan, &fixture.host, &fixture.launch, &fixture.fault), 0);
	ck_assert_int_eq(plan->network, NETWORK_host);
	fixture.launch.repository = at(&fixture, "gone");
	ck_assert_int_eq(plan_check(&fixture.host, &fixture.launch, NULL, NULL, &fixture.fault),
			 FAULT);
	ck_assert_int_eq(fixture.fault.code, ERROR_invalid);
	plan = plan_free(plan);
	ck_assert_int_eq(plan_make(&plan, &fixture.host, &fixture.launch, &fixture.fault), FAULT);
	ck_assert_int_eq(fixture.fault.code, ERROR_unavailable);
	ck_assert_int_eq(fixture.fault.cause, CAUSE_sandbox_unavailable);
	ck_assert_ptr_nonnull(strstr(fixture.fault.message, "\"gone\""));
}
END_TEST

static int passwd_of(const struct plan *from)
{
	return from->descriptors[plan_at(from, "/etc/passwd")->descriptor];
}

static const struct plan_file *file_of(const struct plan *from, const char *path)
{
	const struct plan_operation *operation = plan_at(from, path);

	return operation ? operation->file : NULL;
}

static struct plan *make_real(void)
{
	struct plan *made = NULL;

	ck_assert_int_eq(plan_make(&made, &fixture.host, &fixture.launch, &fixture.fault), 0);
	return made;
}

/* Plans share a file's contents, not the position at which bwrap reads it. */
START_TEST(files_are_shared_but_not_their_position)
{
	struct plan *first = make_real(), *second = make_real();
	char text[4096], again[4096];
	ssize_t size = read(passwd_of(first), text, sizeof(text));

	ck_assert_ptr_eq(file_of(first, "/etc/passwd"), file_of(second, "/etc/passwd"));
	ck_assert_int_gt(size, 0);
	first = plan_free(first);
	ck_assert_int_eq(read(passwd_of(second), again, sizeof(again)), size);
	ck_assert_mem_eq(text, again, (size_t)size);
	plan_free(second);
}
END_TEST

/* What the host's own part is made of is read again when one thing of it is not as it was. */
START_TEST(facts_are_kept_while_they_hold)
{
	struct plan_cache *cache = fixture.host.cache;
	struct plan *first = make_real(), *second;

	ck_assert(cache->facts_valid && cache->facts_stamps.count > 10);
	cache->facts_looked = 0;
	for (size_t i = 0; i < cache->facts_stamps.count; i++)
		cache->facts_stamps.items[i].recent = false;
	second = make_real();
	ck_assert_ptr_eq(file_of(first, "/etc/hosts"), file_of(second, "/etc/hosts"));
	second = plan_free(second);
	cache->facts_stamps.items[cache->facts_stamps.count / 2].inode ^= 1;
	second = make_real();
	ck_assert_ptr_eq(file_of(first, "/etc/hosts"), file_of(second, "/etc/hosts"));
	second = plan_free(second);
	cache->facts_looked = 0;
	second = make_real();
	ck_assert_ptr_ne(file_of(first, "/etc/hosts"), file_of(second, "/etc/hosts"));
	plan_free(second);
	plan_free(first);
}
END_TEST

/* The names in each network are their own, from one cache. */
START_TEST(facts_of_both_networks)
{
	struct plan *first = make_real(), *second;

	fixture.launch.has.network = true;
	fixture.launch.network = NETWORK_host;
	second = make_real();
	ck_assert_ptr_null(strstr(file_of(first, "/etc/nsswitch.conf")->data, "dns"));
	ck_assert_ptr_nonnull(strstr(file_of(second, "/etc/nsswitch.conf")->data, "dns"));
	plan_free(second);
	plan_free(first);
}
END_TEST

/* Accepting a launch that names no path looks at nothing of the host. */
START_TEST(check_without_a_path)
{
	ck_assert_int_eq(plan_check(&fixture.host, &fixture.launch, NULL, NULL, &fixture.fault), 0);
	ck_assert(!fixture.host.cache->facts_valid && !fixture.host.cache->guards.valid);
	set_variable("HOME", "/x");
	ck_assert_int_eq(plan_check(&fixture.host, &fixture.launch, NULL, NULL, &fixture.fault),
			 FAULT);
	fixture.launch.environment.count = 0;
	fixture.launch.limits.has.tmp = true;
	ck_assert_int_eq(plan_check(&fixture.host, &fixture.launch, NULL, NULL, &fixture.fault),
			 FAULT);
	fixture.launch.limits.has.tmp = false;
	fixture.launch.cwd = "/nonexistent";
	ck_assert_int_eq(plan_check(&fixture.host, &fixture.launch, NULL, NULL, &fixture.fault),
			 FAULT);
	ck_assert(fixture.host.cache->facts_valid);
}
END_TEST

/* The kernel's lists of the person's keys are covered, where there are any. */
START_TEST(keys_are_covered)
{
	static const char *const files[] = {"/proc/keys", "/proc/key-users"};

	plan = make_real();
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		ck_assert_int_eq(access(files[i], F_OK) == 0, plan_at(plan, files[i]) != NULL);
}
END_TEST

static void add_host(TCase *tests)
{
	tcase_add_test(tests, files_are_shared_but_not_their_position);
	tcase_add_test(tests, facts_are_kept_while_they_hold);
	tcase_add_test(tests, facts_of_both_networks);
	tcase_add_test(tests, check_without_a_path);
	tcase_add_test(tests, keys_are_covered);
}

static void add_plan(TCase *tests)
{
	tcase_add_test(tests, command_is_required);
	tcase_add_test(tests, limits_by_default);
	tcase_add_test(tests, limits_of_launch_and_configuration);
	tcase_add_test(tests, sizes_under_a_memory_limit);
	tcase_add_test(tests, limits_too_small);
	tcase_add_test(tests, environment_from_nothing);
	tcase_add_test(tests, environment_of_the_launch);
	tcase_add_test(tests, environment_refused);
	tcase_add_test(tests, git_trusts_the_repository);
	tcase_add_test(tests, working_directory);
	tcase_add_test(tests, working_directory_refused);
	tcase_add_test(tests, repository_modes);
	tcase_add_test(tests, links_recreated);
	tcase_add_test(tests, home_spelled_by_a_link);
	tcase_add_test(tests, homes_that_cannot_be);
	tcase_add_test(tests, parents_come_first);
	tcase_add_test(tests, files_are_sealed_memfds);
	tcase_add_test(tests, too_many_descriptors);
	tcase_add_test(tests, digests);
	tcase_add_test(tests, check_and_make);
}

int main(void)
{
	Suite *suite = suite_create("plan");
	TCase *tests = tcase_create("plan");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tests, setup, teardown);
	add_plan(tests);
	add_host(tests);
	suite_add_tcase(suite, tests);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}

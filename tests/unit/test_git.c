/* SPDX-License-Identifier: MIT */
#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "keeper/git_look.h"
#include "keeper/git_watch.h"
#include "plan_fixture.h"

/* The small files that git is found by, as git reads them, and the trees that they are in. */

#define COMMIT "0123456789abcdef0123456789abcdef01234567"

static struct plan_fixture fixture;

static void setup(void)
{
	fixture_init(&fixture);
}

static void teardown(void)
{
	fixture_done(&fixture);
}

typedef int (*path_parser)(const char *bytes, size_t size, char **ret_path);

static void expect(path_parser parse, const char *text, const char *path)
{
	char *found = NULL;

	ck_assert_msg(parse(text, strlen(text), &found) == 0, "%s", text);
	ck_assert_str_eq(found, path);
	free(found);
}

static void expect_error(path_parser parse, const char *text, int error)
{
	char *found = NULL;

	ck_assert_msg(parse(text, strlen(text), &found) == error, "%s", text);
	ck_assert_ptr_null(found);
}

START_TEST(pointers)
{
	static const char nul[] = "gitdir: /a\0b\n";
	char *found = NULL;

	expect(git_pointer_parse, "gitdir: /a/b\n", "/a/b");
	expect(git_pointer_parse, "gitdir: ../a b\r\n\n", "../a b");
	expect(git_pointer_parse, "gitdir:  blank", " blank");
	expect_error(git_pointer_parse, "gitdir:/a", -EBADMSG);
	expect_error(git_pointer_parse, "gitdir: \n", -EBADMSG);
	expect_error(git_pointer_parse, "GITDIR: /a", -EBADMSG);
	expect_error(git_pointer_parse, "", -EBADMSG);
	ck_assert_int_eq(git_pointer_parse(nul, sizeof(nul) - 1, &found), -EBADMSG);
	expect(git_path_parse, "../..\n", "../..");
	expect_error(git_path_parse, "\n", -EBADMSG);
}
END_TEST

START_TEST(lengths)
{
	size_t size = GIT_PATH_BYTES_MAX + 1;
	char *text = malloc(size + 1), *found = NULL;

	memset(text, 'x', size);
	text[size] = '\0';
	expect_error(git_path_parse, text, -EBADMSG);
	text[size - 1] = '\0';
	expect(git_path_parse, text, text);
	ck_assert_int_eq(git_path_join("/", text, false, &found), -EBADMSG);
	ck_assert_ptr_null(found);
	free(text);
}
END_TEST

static void expect_join(const char *base, const char *path, const char *joined)
{
	char *found = NULL;
	int r = git_path_join(base, path, true, &found);

	ck_assert_int_eq(r, joined ? 0 : -EBADMSG);
	if (joined)
		ck_assert_str_eq(found, joined);
	free(found);
}

START_TEST(joining)
{
	expect_join("/a/b", "c", "/a/b/c");
	expect_join("/a/b", "../../c/./d//e/", "/c/d/e");
	expect_join("/a/b", "/c/..", "/");
	expect_join("/a", "...", "/a/...");
	expect_join("/a", "../..", NULL);
	expect_join("/a", "", NULL);
}
END_TEST

START_TEST(alternates)
{
	static const char text[] =
		"# no\n/one\n../two\n\n\"/th\\162ee \\\"x\\\"\"\n\"open\n\"\\q\"\n/last";
	static const char *const wanted[] = {"/one",   "../two",  "/three \"x\"",
					     "\"open", "\"\\q\"", "/last"};
	struct git_paths paths;
	char many[3 * (GIT_ALTERNATES_MAX + 1) + 1] = "";

	ck_assert_int_eq(git_alternates_parse(text, sizeof(text) - 1, &paths), 0);
	ck_assert_uint_eq(paths.count, ARRAY_SIZE(wanted));
	for (size_t i = 0; i < paths.count; i++)
		ck_assert_str_eq(paths.items[i], wanted[i]);
	git_paths_done(&paths);
	for (int i = 0; i <= GIT_ALTERNATES_MAX; i++)
		strcat(many, "/x\n");
	ck_assert_int_eq(git_alternates_parse(many, strlen(many) - 3, &paths), 0);
	git_paths_done(&paths);
	ck_assert_int_eq(git_alternates_parse(many, strlen(many), &paths), -ENOSPC);
	ck_assert_int_eq(git_alternates_parse("/a\0b", 4, &paths), -EBADMSG);
}
END_TEST

START_TEST(worktree_of_a_configuration)
{
	expect(git_worktree_parse, "[core]\n\tbare = false\n\tworktree = ../x ; y\n", "../x");
	expect(git_worktree_parse, "[CORE] WorkTree=a\\\n b\n", "a b");
	expect(git_worktree_parse, "[core]\nworktree = \"a # b\" \n[other]\nworktree = no\n",
	       "a # b");
	expect(git_worktree_parse, "[core]\nworktree=1\n[x \"]\"]\ny\n[core]\nworktree=2", "2");
	expect(git_worktree_parse, "\xef\xbb\xbf[core]\r\nworktree=a\\tb\r\n", "a\tb");
	expect_error(git_worktree_parse, "[core \"x\"]\nworktree = a\n", -ENOENT);
	expect_error(git_worktree_parse, "[core]\n# worktree = a\n", -ENOENT);
	expect_error(git_worktree_parse, "", -ENOENT);
	expect_error(git_worktree_parse, "[core]\nworktree\n", -EBADMSG);
	expect_error(git_worktree_parse, "[core]\nworktree = \"a\n", -EBADMSG);
	expect_error(git_worktree_parse, "[core\nworktree = a\n", -EBADMSG);
	expect(git_excludes_parse,
	       "[core]\nworktree = a\n\texcludesFile = ~/b\n[x]\nexcludesFile = c\n", "~/b");
	expect_error(git_excludes_parse, "[core]\nworktree = a\n", -ENOENT);
	expect_error(git_worktree_parse, "[core]\nworktree = a\\q\n", -EBADMSG);
	expect_error(git_worktree_parse, "[core]\nworktree = a\n=\n", -EBADMSG);
}
END_TEST

static void expect_head(const char *text, const char *commit, const char *ref)
{
	struct git_head head;
	int r = git_head_parse(text, strlen(text), &head);

	ck_assert_msg(r == (commit || ref ? 0 : -EBADMSG), "%s", text);
	if (r < 0)
		return;
	ck_assert_str_eq(head.commit, commit ? commit : "");
	ck_assert_str_eq(head.ref, ref ? ref : "");
}

START_TEST(heads)
{
	char found[GIT_COMMIT_BYTES];
	static const char packed[] = "# pack-refs with: peeled\n" COMMIT
				     " refs/heads/main2\n" COMMIT "a refs/heads/main\n"
				     "1123456789abcdef0123456789abcdef01234567 refs/heads/main\n";

	expect_head("ref: refs/heads/a/b\n", NULL, "refs/heads/a/b");
	expect_head("ref:refs/heads/main", NULL, "refs/heads/main");
	expect_head(COMMIT "\n", COMMIT, NULL);
	expect_head(COMMIT "a", NULL, NULL);
	expect_head("ref: refs/heads/../config\n", NULL, NULL);
	expect_head("ref: refs/heads//x\n", NULL, NULL);
	expect_head("ref: refs/.x\n", NULL, NULL);
	expect_head("ref: config\n", NULL, NULL);
	expect_head("ref: refs/heads/\n", NULL, NULL);
	expect_head("", NULL, NULL);
	ck_assert_int_eq(git_packed_find(packed, sizeof(packed) - 1, "refs/heads/main", found), 0);
	ck_assert_str_eq(found, "1123456789abcdef0123456789abcdef01234567");
	ck_assert_int_eq(git_packed_find(packed, sizeof(packed) - 1, "refs/heads/x", found),
			 -ENOENT);
}
END_TEST

static void make_worktree(void)
{
	make_file(at(&fixture, "main/.git/objects/info/x"), "");
	make_file(at(&fixture, "main/.git/worktrees/w/commondir"), "../..\n");
	make_file(at(&fixture, "main/.git/worktrees/w/HEAD"), "ref: refs/heads/w\n");
	make_file(at(&fixture, "main/.git/packed-refs"), COMMIT " refs/heads/w\n");
	make_file(at(&fixture, "w/.git"), "gitdir: ../main/.git/worktrees/w\n");
	make_file(at(&fixture, "main/.git/worktrees/w/gitdir"), at(&fixture, "w/.git\n"));
}

static struct git_findings look_at(const char *path)
{
	_cleanup_close_ int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct git_findings findings;

	ck_assert_int_eq(git_look(fd, path, &findings), 0);
	return findings;
}

static void expect_problem(enum git_problem problem)
{
	struct git_findings findings = look_at(at(&fixture, "w"));

	ck_assert_int_eq(findings.problem, problem);
	git_findings_done(&findings);
}

START_TEST(a_worktree_is_found_and_believed)
{
	struct git_findings findings;
	struct stat st;

	make_worktree();
	make_file(at(&fixture, "main/.git/objects/info/alternates"), "../../../other/objects\n");
	make_folder(at(&fixture, "other/objects"));
	findings = look_at(at(&fixture, "w"));
	ck_assert_int_eq(findings.problem, GIT_PROBLEM_none);
	ck_assert_int_eq(findings.kind, GIT_linked);
	ck_assert_int_eq(stat(at(&fixture, "main/.git/worktrees/w"), &st), 0);
	ck_assert(findings.device == st.st_dev && findings.inode == st.st_ino);
	ck_assert_uint_eq(findings.alternates.count, 1);
	ck_assert_str_eq(findings.alternates.items[0], at(&fixture, "other/objects"));
	git_findings_done(&findings);
}
END_TEST

START_TEST(a_worktree_that_its_repository_has_no_more)
{
	make_file(at(&fixture, "main/.git/objects/info/x"), "");
	make_file(at(&fixture, "w/.git"), "gitdir: ../main/.git/worktrees/w\n");
	expect_problem(GIT_PROBLEM_pruned);
	make_file(at(&fixture, "w/.git"), "gitdir: ../moved/.git/worktrees/w\n");
	expect_problem(GIT_PROBLEM_missing);
	make_file(at(&fixture, "w/.git"), "gitdir: ../main/.git/modules/w\n");
	expect_problem(GIT_PROBLEM_missing);
}
END_TEST

START_TEST(a_worktree_is_not_believed)
{
	make_worktree();
	make_file(at(&fixture, "x/.git"), "gitdir: ../main/.git/worktrees/w\n");
	make_file(at(&fixture, "main/.git/worktrees/w/gitdir"), at(&fixture, "x/.git"));
	expect_problem(GIT_PROBLEM_foreign);
	make_worktree();
	make_file(at(&fixture, "main/.git/worktrees/w/commondir"), "..\n");
	expect_problem(GIT_PROBLEM_common);
	make_file(at(&fixture, "main/.git/worktrees/w/commondir"), "/\n");
	expect_problem(GIT_PROBLEM_common);
	make_worktree();
	make_file(at(&fixture, "main/.git/objects/info/alternates"), "/nonexistent/objects\n");
	expect_problem(GIT_PROBLEM_alternate);
	make_folder(at(&fixture, "x"));
	make_file(at(&fixture, "main/.git/objects/info/alternates"), "../../../../../../../../x\n");
	expect_problem(GIT_PROBLEM_unreadable);
	ck_assert_int_eq(unlink(at(&fixture, "main/.git/objects/info/alternates")), 0);
	expect_problem(GIT_PROBLEM_none);
	/* One that lies elsewhere, with a worktrees/ that leads to it by a link. */
	make_file(at(&fixture, "p/.git/worktrees.real/w/gitdir"), at(&fixture, "w/.git"));
	make_file(at(&fixture, "p/.git/worktrees.real/w/commondir"), "../..\n");
	make_link(at(&fixture, "p/.git/worktrees"), "worktrees.real");
	make_file(at(&fixture, "w/.git"),
		  at(&fixture, "gitdir: %s/p/.git/worktrees/w", fixture.root) +
			  strlen(fixture.root) + 1);
	expect_problem(GIT_PROBLEM_common);
}
END_TEST

/* In a process of its own: what it gives up is gone for good. */
static _Noreturn void run_task(void)
{
	char text[64];
	int ends[2], tree;
	ssize_t n;

	tree = open(at(&fixture, "w"), O_PATH | O_CLOEXEC);
	if (tree < 0 || pipe(ends) < 0)
		_exit(1);
	if (fcntl(tree, F_DUPFD, 20) != 20 || fcntl(ends[0], F_DUPFD, 21) != 21 ||
	    fcntl(ends[1], F_DUPFD, 22) != 22 || dup2(22, GIT_TASK_FD_RESULT) < 0 ||
	    dup2(20, GIT_TASK_FD_REPOSITORY) < 0)
		_exit(2);
	if (git_task(at(&fixture, "w")) < 0)
		_exit(3);
	n = read(21, text, sizeof(text));
	if (n <= 0)
		_exit(4);
	if (open(at(&fixture, "new"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600) >= 0 ||
	    open(at(&fixture, "w/.git"), O_RDWR | O_CLOEXEC) >= 0 ||
	    open(at(&fixture, "w/.git"), O_RDONLY | O_TRUNC | O_CLOEXEC) >= 0 ||
	    open(fixture.root, O_RDWR | O_TMPFILE | O_CLOEXEC, 0600) >= 0)
		_exit(5);
	if (unlink(at(&fixture, "w/.git")) == 0 || mkdir(at(&fixture, "new"), 0700) == 0 ||
	    rename(at(&fixture, "w"), at(&fixture, "v")) == 0)
		_exit(6);
	if (socket(AF_UNIX, SOCK_STREAM, 0) >= 0 || kill(getppid(), 0) == 0 || fork() >= 0)
		_exit(7);
	execl("/bin/true", "true", (char *)NULL);
	_exit(open(at(&fixture, "w/.git"), O_RDONLY | O_CLOEXEC) < 0 ? 8 : 0);
}

START_TEST(the_task_can_only_read)
{
	int status;
	pid_t pid;

	make_worktree();
	pid = fork();
	if (pid == 0)
		run_task();
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %x", status);
	ck_assert_int_eq(access(at(&fixture, "w/.git"), F_OK), 0);
}
END_TEST

START_TEST(a_submodule_is_believed_by_its_worktree)
{
	struct git_findings findings;

	make_file(at(&fixture, "w/.git"), "gitdir: ../super/.git/modules/w\n");
	make_file(at(&fixture, "super/.git/modules/w/config"),
		  "[core]\nworktree = ../../../../w\n");
	findings = look_at(at(&fixture, "w"));
	ck_assert_int_eq(findings.problem, GIT_PROBLEM_none);
	ck_assert_int_eq(findings.kind, GIT_separate);
	git_findings_done(&findings);
	make_file(at(&fixture, "super/.git/modules/w/config"),
		  "[core]\nworktree = ../../../../x\n");
	expect_problem(GIT_PROBLEM_foreign);
	make_file(at(&fixture, "super/.git/modules/w/config"), "");
	expect_problem(GIT_PROBLEM_foreign);
}
END_TEST

START_TEST(the_commit_of_a_worktree)
{
	char commit[GIT_COMMIT_BYTES];
	int fd;

	make_worktree();
	fd = open(at(&fixture, "main/.git/worktrees/w"), O_PATH | O_CLOEXEC);
	ck_assert_int_eq(git_commit(fd, commit), 0);
	ck_assert_str_eq(commit, COMMIT);
	make_file(at(&fixture, "main/.git/refs/heads/w"), "ref: refs/heads/w\n");
	ck_assert_int_eq(git_commit(fd, commit), 0);
	ck_assert_str_eq(commit, "");
	close(fd);
}
END_TEST

START_TEST(others_files_are_named)
{
	struct plan *plan;

	make_file(at(&fixture, "repo/theirs"), "");
	fixture.launch.repository = at(&fixture, "repo");
	fixture.launch.has.repository_mode = true;
	fixture.launch.repository_mode = MODE_ro;
	ck_assert_int_eq(build(&fixture, &plan), 0);
	ck_assert_uint_eq(plan->notes.count, 0);
	plan_free(plan);
	/* As if all of it were somebody else's. */
	fixture.host.uid++;
	ck_assert_int_eq(build(&fixture, &plan), 0);
	ck_assert_uint_ge(plan->notes.count, 1);
	ck_assert(strstr(plan->notes.items[plan->notes.count - 1], "to nobody inside"));
	plan_free(plan);
}
END_TEST

START_TEST(a_reader_that_fails_is_a_refusal)
{
	make_file(at(&fixture, "repo/.git"), "gitdir: /x\n");
	fixture.launch.repository = at(&fixture, "repo");
	free(fixture.host.keeper);
	fixture.host.keeper = strdup("/bin/true");
	expect_refusal(&fixture, ERROR_unavailable, "repository: it could not be found out", "");
	free(fixture.host.keeper);
	fixture.host.keeper = strdup("/nonexistent/keeper");
	expect_refusal(&fixture, ERROR_unavailable, "repository: it could not be found out", "");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("git");
	TCase *parsing = tcase_create("parsing");
	TCase *trees = tcase_create("trees");
	SRunner *runner;
	int failed;

	tcase_add_test(parsing, pointers);
	tcase_add_test(parsing, lengths);
	tcase_add_test(parsing, joining);
	tcase_add_test(parsing, alternates);
	tcase_add_test(parsing, worktree_of_a_configuration);
	tcase_add_test(parsing, heads);
	tcase_add_checked_fixture(trees, setup, teardown);
	tcase_add_test(trees, a_worktree_is_found_and_believed);
	tcase_add_test(trees, a_worktree_is_not_believed);
	tcase_add_test(trees, a_worktree_that_its_repository_has_no_more);
	tcase_add_test(trees, the_task_can_only_read);
	tcase_add_test(trees, a_submodule_is_believed_by_its_worktree);
	tcase_add_test(trees, the_commit_of_a_worktree);
	tcase_add_test(trees, others_files_are_named);
	tcase_add_test(trees, a_reader_that_fails_is_a_refusal);
	suite_add_tcase(suite, parsing);
	suite_add_tcase(suite, trees);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}

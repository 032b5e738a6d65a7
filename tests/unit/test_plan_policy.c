/* SPDX-License-Identifier: MIT */
#include "plan_fixture.h"

#include <check.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "plan/listeners.h"
#include "plan/mounts.h"
#include "plan/text_file.h"

/* Every rule at the head of policy.c, refused and allowed. */

static struct plan_fixture fixture;

static void setup(void)
{
	fixture_init(&fixture);
}

static void teardown(void)
{
	fixture_done(&fixture);
}

static void refused(const char *source, const char *destination, const char *mode, const char *part,
		    const char *other)
{
	expect_bind_refused(&fixture, source, destination, mode, part, other);
}

static void allowed(const char *source, const char *destination, const char *mode)
{
	expect_bind(&fixture, source, destination, mode);
}

/* Rule 1. */
START_TEST(kernel_file_systems)
{
	refused("/proc/1/task", "/data", "ro", "file system of the kernel", "/proc/1");
	refused("/sys/kernel", "/data", "ro", "file system of the kernel", "/sys/kernel");
	refused("/dev", "/data", "ro", "which shows the host", "/dev/pts");
	refused("/dev/null", "/data", "ro", "neither a folder nor a regular file", "/dev/null");
}
END_TEST

/* Rule 2: not even to read. */
START_TEST(own_folders)
{
	make_folder(at(&fixture, "state/trials/1"));
	make_link(at(&fixture, "way"), "state/trials");
	refused(at(&fixture, "state"), "/data", "ro", "state folder", at(&fixture, "state"));
	refused(at(&fixture, "state/trials/1"), "/data", "ro", "lies in", "state folder");
	refused(at(&fixture, "way/1"), "/data", "ro", "state folder", "");
	refused(at(&fixture, "run"), "/data", "ro", "runtime folder", "");
	refused(fixture.root, "/data", "ro", "contains", "state folder");
	refused("/tmp", "/data", "ro", "contains", "state folder");
	refused("/", "/data", "ro", "contains", "state folder");
	fixture.launch.build = at(&fixture, "state");
	expect_refusal(&fixture, ERROR_refused, "build: ", "state folder");
	fixture.launch.build = NULL;
	fixture.launch.skills = at(&fixture, "run");
	expect_refusal(&fixture, ERROR_refused, "skills: ", "runtime folder");
}
END_TEST

/* Rule 3. As root the owner is made another one. */
START_TEST(owner)
{
	if (geteuid() == 0)
		fixture.host.uid = 12345;
	refused("/usr/share", "/data", "rw", "belongs to uid 0, not to you", "/usr/share");
	allowed("/usr/share", "/data", "ro");
	if (geteuid() == 0)
		refused(at(&fixture, "repo"), "/data", "rw", "belongs to uid 0", "12345");
}
END_TEST

/* Rules 4 and 5, for what exists. */
START_TEST(guarded_folders)
{
	static const char *const guarded[] = {
		".thirdshift",
		".thirdshift/trials",
		".codex",
		".claude",
		".grok",
		".kimi",
		".kimi-code",
		".config/muse",
		".gemini",
		".ssh",
		".gnupg",
		".local/share/opencode",
		".local/bin",
		".config/systemd",
		".local/share/systemd",
		".config/autostart",
	};

	for (size_t i = 0; i < ARRAY_SIZE(guarded); i++) {
		make_folder(at(&fixture, "home/%s/deep/er", guarded[i]));
		refused(at(&fixture, "home/%s", guarded[i]), "/data", "rw", "writable", "binds[0]");
		refused(at(&fixture, "home/%s/deep/er", guarded[i]), "/data", "rw", "lies in", "");
		allowed(at(&fixture, "home/%s", guarded[i]), "/data", "ro");
	}
	refused(at(&fixture, "home"), "/data", "rw", "home folder", "writable");
	refused(at(&fixture, "home/.config"), "/data", "rw", "contains", "");
	refused(at(&fixture, "home/.local"), "/data", "rw", "contains", "");
	make_folder(at(&fixture, "home/code/project"));
	allowed(at(&fixture, "home/code/project"), NULL, "rw");
	allowed(at(&fixture, "home/code"), NULL, "rw");
}
END_TEST

/* Rule 5: what does not exist yet could be made in a writable folder around it. */
START_TEST(guarded_and_missing)
{
	make_folder(at(&fixture, "home/.config"));
	make_folder(at(&fixture, "home/.local/share"));
	refused(at(&fixture, "home/.config"), "/data", "rw", "contains", "muse");
	refused(at(&fixture, "home/.local/share"), "/data", "rw", "contains", "opencode");
	make_folder(at(&fixture, "home/.local/share/other"));
	allowed(at(&fixture, "home/.local/share/other"), "/data", "rw");
	make_folder(at(&fixture, "conf"));
	refused(at(&fixture, "conf"), "/data", "rw", "configuration", "conf/trialsd");
}
END_TEST

/* Rule 5, the whole list by its kinds: what the host runs, is told by, or is logged in with. */
START_TEST(guarded_places)
{
	static const char *const files[] = {
		".bash_login",	    ".bash_profile", ".bashrc",	     ".profile",
		".zshrc",	    ".zprofile",     ".zshenv",	     ".zlogin",
		".xprofile",	    ".xsession",     ".xinitrc",     ".pam_environment",
		".gitconfig",	    ".vimrc",	     ".netrc",	     ".npmrc",
		".pypirc",	    ".cargo/env",    ".gdbinit",     ".git-credentials",
		".tmux.conf",	    ".cargo/config", ".claude.json", ".cargo/config.toml",
		".m2/settings.xml",
	};
	static const char *const folders[] = {
		"bin",
		".local/bin",
		".local/lib",
		".local/share/dbus-1",
		".cargo/bin",
		".config/fish",
		".config/git",
		".local/share/applications",
		".config/nvim",
		".emacs.d",
		".config/systemd",
		".local/share/keyrings",
		".config/gh",
		".aws",
		".azure",
		".local/share/systemd",
		".config/gcloud",
		".docker",
		".kube",
		".password-store",
		".vim",
		".config/cron",
		"go/bin",
		".config/containers",
	};
	static const char *const free_ones[] = {
		".cargo/registry", ".npm/_cacache",  ".cache/pip",    "go/pkg/mod",
		".m2/repository",  ".gradle/caches", ".config/other", ".local/share/other",
		".cargo/git",	   ".local/state/x", "binaries",      ".sshx",
	};

	for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
		make_folder(at(&fixture, "home/%s/in", folders[i]));
		refused(at(&fixture, "home/%s", folders[i]), "/data", "rw", "writable", "home/");
		refused(at(&fixture, "home/%s/in", folders[i]), "/data", "rw", "lies in", "");
		allowed(at(&fixture, "home/%s", folders[i]), "/data", "ro");
	}
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		make_file(at(&fixture, "home/%s", files[i]), "");
		refused(at(&fixture, "home/%s", files[i]), "/data/x", "rw", "writable", "home/");
		allowed(at(&fixture, "home/%s", files[i]), "/data/x", "ro");
	}
	refused(at(&fixture, "home/.cargo"), "/data", "rw", "writable", "contains");
	refused(at(&fixture, "home/go"), "/data", "rw", "writable", "go/bin");
	for (size_t i = 0; i < ARRAY_SIZE(free_ones); i++) {
		make_folder(at(&fixture, "home/%s", free_ones[i]));
		allowed(at(&fixture, "home/%s", free_ones[i]), "/data", "rw");
	}
	allowed(at(&fixture, "home/.npm"), "/data", "rw");
	allowed(at(&fixture, "home/.cache"), "/data", "rw");
}
END_TEST

/* Rule 5: a folder that nobody may search now is opened by its owner with one call. */
START_TEST(guarded_and_closed)
{
	bool root = geteuid() == 0;

	make_folder(at(&fixture, "home/.config/gh/in"));
	make_folder(at(&fixture, "home/tools/.local"));
	make_link(at(&fixture, "home/.local"), "tools/.local");
	make_folder(at(&fixture, "home/.local/bin"));
	ck_assert_int_eq(chmod(at(&fixture, "home/.config/gh"), 0), 0);
	ck_assert_int_eq(chmod(at(&fixture, "home/.local"), 0), 0);
	if (root) {
		ck_assert_int_eq(seteuid(65534), 0);
		fixture.host.uid = 0;
	}
	refused(at(&fixture, "home/.config"), "/data", "rw", "contains", ".config");
	refused(at(&fixture, "home/tools"), "/data", "rw", "contains", ".local");
	if (root)
		ck_assert_int_eq(seteuid(0), 0);
	ck_assert_int_eq(chmod(at(&fixture, "home/.config/gh"), 0700), 0);
	ck_assert_int_eq(chmod(at(&fixture, "home/.local"), 0700), 0);
}
END_TEST

/* Builds until what was learned is old enough to be kept. */
static void settle(void)
{
	const struct guards *guards = &fixture.host.cache->guards;

	for (int i = 0; i < 1000; i++) {
		allowed(at(&fixture, "other"), "/data", "rw");
		if (guards->valid && stamps_hold(&guards->stamps))
			return;
		usleep(5000);
	}
	ck_abort_msg("what was learned of the guarded places never holds");
}

/* What is kept from launch to launch is never older than the launch. */
START_TEST(guards_are_kept_and_true)
{
	const struct guards *guards = &fixture.host.cache->guards;
	const struct guard *kept;

	make_folder(at(&fixture, "other/.config/in"));
	make_folder(at(&fixture, "home/.config"));
	make_link(at(&fixture, "home/.ssh"), "keys");
	make_folder(at(&fixture, "home/keys"));
	settle();
	kept = guards->items;
	make_file(at(&fixture, "home/.config/beside/x"), "");
	settle();
	kept = guards->items;
	allowed(at(&fixture, "other"), "/data", "rw");
	make_file(at(&fixture, "home/.config/beside/y"), "");
	allowed(at(&fixture, "other"), "/data", "rw");
	ck_assert_ptr_eq(guards->items, kept);
	/* Where there was none. */
	make_folder(at(&fixture, "other/ssh"));
	allowed(at(&fixture, "other/ssh"), "/data", "rw");
	make_link(at(&fixture, "home/.aws"), at(&fixture, "other/ssh"));
	refused(at(&fixture, "other"), "/data", "rw", "logins", "");
	ck_assert_int_eq(unlink(at(&fixture, "home/.aws")), 0);
	/* One that leads elsewhere. */
	settle();
	ck_assert_int_eq(unlink(at(&fixture, "home/.ssh")), 0);
	make_link(at(&fixture, "home/.ssh"), at(&fixture, "other/ssh"));
	refused(at(&fixture, "other/ssh"), "/data", "rw", "ssh keys", "");
	ck_assert_int_eq(unlink(at(&fixture, "home/.ssh")), 0);
	/* A folder on the way that is another one now. */
	settle();
	allowed(at(&fixture, "other/.config/in"), "/data", "rw");
	ck_assert_int_eq(rename(at(&fixture, "home/.config"), at(&fixture, "old")), 0);
	make_link(at(&fixture, "home/.config"), at(&fixture, "other/.config"));
	refused(at(&fixture, "other/.config"), "/data", "rw", "writable", "");
}
END_TEST

/* Into a mount namespace of this test's own, where it may mount; false when there is none to be had. */
static bool enter_mounts(void)
{
	char map[64];
	FILE *file;

	if (geteuid() == 0)
		return unshare(CLONE_NEWNS) == 0 &&
		       mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
	snprintf(map, sizeof(map), "%u %u 1\n", (unsigned int)geteuid(), (unsigned int)geteuid());
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		return false;
	file = fopen("/proc/self/uid_map", "we");
	ck_assert(file && fputs(map, file) >= 0 && fclose(file) == 0);
	return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

static void bind_mount(const char *from, const char *to)
{
	ck_assert_int_eq(mount(from, to, NULL, MS_BIND, NULL), 0);
}

/* A mount changes no folder's times, and gives a guarded folder a second place. */
START_TEST(guards_follow_mounts)
{
	make_folder(at(&fixture, "other/in/deep"));
	make_folder(at(&fixture, "home/.ssh/keys"));
	make_folder(at(&fixture, "second"));
	if (!enter_mounts())
		return;
	settle();
	bind_mount(at(&fixture, "home/.ssh/keys"), at(&fixture, "other/in"));
	refused(at(&fixture, "other"), "/data", "rw", "ssh keys", "contains");
	refused(at(&fixture, "other/in"), "/data", "rw", "ssh keys", "lies in");
	ck_assert_int_eq(umount(at(&fixture, "other/in")), 0);
	settle();
	/* The home folder itself, and then other keys over the old ones. */
	bind_mount(fixture.host.home, at(&fixture, "other/in"));
	refused(at(&fixture, "other"), "/data", "rw", "the home folder", "");
	ck_assert_int_eq(umount(at(&fixture, "other/in")), 0);
	settle();
	allowed(at(&fixture, "second"), "/data", "rw");
	bind_mount(at(&fixture, "second"), at(&fixture, "home/.ssh"));
	refused(at(&fixture, "second"), "/data", "rw", "ssh keys", "");
	ck_assert_int_eq(umount(at(&fixture, "home/.ssh")), 0);
}
END_TEST

/* Rule 3: another name of a file may be that of a guarded one. */
START_TEST(hard_links)
{
	make_file(at(&fixture, "home/.ssh/authorized_keys"), "");
	ck_assert_int_eq(link(at(&fixture, "home/.ssh/authorized_keys"), at(&fixture, "repo/x")),
			 0);
	refused(at(&fixture, "repo/x"), "/data/x", "rw", "2 names (hard links)", "repo/x");
	allowed(at(&fixture, "repo/x"), "/data/x", "ro");
	allowed(at(&fixture, "repo"), "/data", "rw");
	ck_assert_int_eq(unlink(at(&fixture, "home/.ssh/authorized_keys")), 0);
	allowed(at(&fixture, "repo/x"), "/data/x", "rw");
}
END_TEST

/* The home folder's parent, the root: whichever way they are spelled. */
START_TEST(home_and_root)
{
	struct plan_host host = fixture.host;

	/* State and runtime elsewhere, so that only the rule on HOME can refuse. */
	make_folder(at(&fixture, "homes/person"));
	make_link(at(&fixture, "homes/again"), "person/../../homes");
	fixture.host.home = strdup(at(&fixture, "homes/person"));
	refused(at(&fixture, "homes"), "/data", "rw", "is or contains the home folder", "");
	refused(at(&fixture, "homes/again"), "/data", "rw", "is or contains the home folder", "");
	refused(at(&fixture, "homes/person/.."), "/data", "rw", "the home folder", "");
	refused("/", "/data", "rw", "is or contains the root folder", "");
	allowed(at(&fixture, "homes"), "/data", "ro");
	fixture.launch.repository = at(&fixture, "homes");
	expect_refusal(&fixture, ERROR_refused, "repository: ", "home folder");
	free(fixture.host.home);
	fixture.host = host;
}
END_TEST

/* A login folder that is a link to somewhere else is guarded there, and so is the link. */
START_TEST(guarded_through_links)
{
	make_folder(at(&fixture, "dotfiles/ssh"));
	make_folder(at(&fixture, "links"));
	make_link(at(&fixture, "home/.ssh"), at(&fixture, "links/ssh"));
	make_link(at(&fixture, "links/ssh"), at(&fixture, "dotfiles/ssh"));
	refused(at(&fixture, "dotfiles"), "/data", "rw", "ssh keys", "");
	refused(at(&fixture, "dotfiles/ssh"), "/data", "rw", "ssh keys", "");
	refused(at(&fixture, "links"), "/data", "rw", "ssh keys", "");
}
END_TEST

/* Rule 5 for single files. */
START_TEST(guarded_files)
{
	make_file(at(&fixture, "home/.bashrc"), "");
	make_file(at(&fixture, "home/.ssh/id"), "");
	make_file(at(&fixture, "home/notes"), "");
	refused(at(&fixture, "home/.bashrc"), "/data/rc", "rw", "start-up file", "");
	refused(at(&fixture, "home/.ssh/id"), "/data/id", "rw", "ssh keys", "");
	allowed(at(&fixture, "home/notes"), "/data/notes", "rw");
}
END_TEST

static int listen_at(const char *path, int type, bool listening)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

	ck_assert_uint_lt(strlen(path), sizeof(address.sun_path));
	memcpy(address.sun_path, path, strlen(path) + 1);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	if (listening)
		ck_assert_int_eq(listen(fd, 1), 0);
	return fd;
}

/* Rule 6, however the socket's owner and the launch spell the place. */
START_TEST(listening_sockets)
{
	int fd;

	make_folder(at(&fixture, "repo/deep"));
	make_link(at(&fixture, "lnk"), "repo");
	fd = listen_at(at(&fixture, "repo/deep/s"), SOCK_STREAM, true);
	refused(at(&fixture, "repo"), NULL, "ro", "listens on the socket", "repo/deep/s");
	refused(at(&fixture, "lnk"), NULL, "ro", "listens on the socket", "");
	allowed(at(&fixture, "home"), "/data", "ro");
	close(fd);
	allowed(at(&fixture, "repo"), NULL, "ro");
	fd = listen_at(at(&fixture, "lnk/deep/t"), SOCK_SEQPACKET, true);
	refused(at(&fixture, "repo"), NULL, "ro", "listens on the socket", "lnk/deep/t");
	close(fd);
	fd = listen_at(at(&fixture, "repo/deep/d"), SOCK_DGRAM, false);
	refused(at(&fixture, "repo"), NULL, "ro", "listens on the socket", "repo/deep/d");
	close(fd);
	fd = listen_at(at(&fixture, "repo/deep/idle"), SOCK_STREAM, false);
	allowed(at(&fixture, "repo"), NULL, "ro");
	close(fd);
}
END_TEST

START_TEST(sockets_in_the_list)
{
	char text[] = "Num       RefCount Protocol Flags    Type St Inode Path\n"
		      "0000000000000001: 00000002 00000000 00010000 0001 01  1000 /run/a b\n"
		      "0000000000000002: 00000003 00000000 00000000 0001 03  1001 /run/connected\n"
		      "0000000000000003: 00000002 00000000 00010000 0001 01  1002 @abstract\n"
		      "0000000000000004: 00000002 00000000 00000000 0002 01  1003 /run/log\n"
		      "0000000000000005: 00000002 00000000 00010000 0005 01 99999 /run/seq\n"
		      "0000000000000006: 00000002 00000000 00010000 0001 01  1004\n"
		      "garbage\n";
	struct text_list paths;

	ck_assert_int_eq(listeners_parse(&paths, text), 0);
	ck_assert_uint_eq(paths.count, 3);
	ck_assert_str_eq(paths.items[0], "/run/a b");
	ck_assert_str_eq(paths.items[1], "/run/log");
	ck_assert_str_eq(paths.items[2], "/run/seq");
	text_list_done(&paths);
}
END_TEST

/* Rule 7. */
START_TEST(read_only_stays_so)
{
	make_folder(at(&fixture, "work/repo"));
	fixture.launch.repository = at(&fixture, "work/repo");
	fixture.launch.has.role = true;
	fixture.launch.role = ROLE_grader;
	refused(at(&fixture, "work"), "/data", "rw", "bound read-only", "repository");
	refused(at(&fixture, "work"), NULL, "rw", "bound read-only", "repository");
	allowed(at(&fixture, "work"), "/data", "ro");
	refused(at(&fixture, "work/repo"), "/data", "rw", "bound read-only", "repository");
}
END_TEST

START_TEST(required_and_optional)
{
	struct plan *plan = NULL;

	add_bind(&fixture, at(&fixture, "none/at all"), "/data", "optional");
	add_bind(&fixture, at(&fixture, "home"), "/opt/h", "optional");
	ck_assert_int_eq(build(&fixture, &plan), 0);
	ck_assert_uint_eq(plan->notes.count, 1);
	ck_assert_ptr_nonnull(strstr(plan->notes.items[0], "none/at all"));
	ck_assert_ptr_nonnull(plan_at(plan, "/opt/h"));
	ck_assert_ptr_null(plan_at(plan, "/data"));
	plan_free(plan);
	forget_binds(&fixture);
	add_bind(&fixture, at(&fixture, "none/at all"), "/data", "ro");
	expect_refusal(&fixture, ERROR_invalid, "binds[0]: ", "there is no \"none\"");
	/* Optional is about what is missing, not about what is forbidden. */
	forget_binds(&fixture);
	refused(at(&fixture, "state"), "/data", "optional", "state folder", "");
}
END_TEST

START_TEST(many_missing)
{
	struct plan *plan = NULL;

	for (unsigned int i = 0; i < 128; i++)
		add_bind(&fixture, at(&fixture, "none%u", i), NULL, "optional");
	ck_assert_int_eq(build(&fixture, &plan), 0);
	ck_assert_uint_eq(plan->notes.count, PLAN_NOTES_MAX);
	ck_assert_ptr_nonnull(strstr(plan->notes.items[PLAN_NOTES_MAX - 1], "more notes"));
	plan_free(plan);
}
END_TEST

START_TEST(kinds)
{
	make_file(at(&fixture, "file"), "");
	fixture.launch.repository = at(&fixture, "file");
	expect_refusal(&fixture, ERROR_invalid, "repository: ", "is not a folder");
	fixture.launch.repository = NULL;
	fixture.launch.build = at(&fixture, "file");
	expect_plan(&fixture);
}
END_TEST

START_TEST(mount_table)
{
	char text[] =
		"27 1 254:0 / / rw - ext4 /dev/vda rw\n"
		"28 27 254:0 /home/u/.ssh /mnt/a\\040b rw shared:1 master:2 - ext4 /dev/vda rw\n"
		"29 27 0:5 / /proc rw - proc proc rw\n"
		"nonsense\n";
	struct mount_table table;

	ck_assert_int_eq(mount_table_parse(&table, text), 0);
	ck_assert_uint_eq(table.count, 3);
	ck_assert_str_eq(table.mounts[1].point, "/mnt/a b");
	ck_assert_str_eq(table.mounts[1].root, "/home/u/.ssh");
	ck_assert_str_eq(table.mounts[2].type, "proc");
	ck_assert_uint_eq(table.mounts[0].major, 254);
	mount_table_done(&table);
}
END_TEST

START_TEST(position_in_a_file_system)
{
	_cleanup_(mount_table_done) struct mount_table table = {0};
	_cleanup_(mount_position_done) struct mount_position position = {0};
	_cleanup_(place_done) struct place place = PLACE_INIT;
	_cleanup_free_ char *text = NULL;

	ck_assert_int_eq(text_file_read("/proc/self/mountinfo", 1u << 24, &text, NULL), 0);
	ck_assert_int_eq(mount_table_parse(&table, text), 0);
	ck_assert_int_eq(place_open(&place, "x", at(&fixture, "repo"), NULL, &fixture.fault), 0);
	ck_assert_int_eq(mount_position(&table, &place, &position), 0);
	ck_assert_ptr_nonnull(strstr(position.path, strrchr(fixture.root, '/')));
}
END_TEST

static void add_policy(TCase *policy)
{
	tcase_add_test(policy, kernel_file_systems);
	tcase_add_test(policy, own_folders);
	tcase_add_test(policy, owner);
	tcase_add_test(policy, guarded_folders);
	tcase_add_test(policy, guarded_and_missing);
	tcase_add_test(policy, guarded_places);
	tcase_add_test(policy, guarded_and_closed);
	tcase_add_test(policy, guards_are_kept_and_true);
	tcase_add_test(policy, guards_follow_mounts);
	tcase_add_test(policy, hard_links);
	tcase_add_test(policy, home_and_root);
	tcase_add_test(policy, guarded_through_links);
	tcase_add_test(policy, guarded_files);
	tcase_add_test(policy, listening_sockets);
	tcase_add_test(policy, sockets_in_the_list);
	tcase_add_test(policy, read_only_stays_so);
	tcase_add_test(policy, required_and_optional);
	tcase_add_test(policy, many_missing);
	tcase_add_test(policy, kinds);
	tcase_add_test(policy, mount_table);
	tcase_add_test(policy, position_in_a_file_system);
}

int main(void)
{
	Suite *suite = suite_create("plan_policy");
	TCase *policy = tcase_create("policy");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(policy, setup, teardown);
	add_policy(policy);
	suite_add_tcase(suite, policy);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}

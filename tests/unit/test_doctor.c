/* SPDX-License-Identifier: MIT */

/*
 * What doctor makes of machines that are not at hand: each is a folder with the files that such a
 * machine has, which host.c reads as its root. No launch is made here, as there is no bwrap.
 */
#include <check.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "doctor/check.h"
#include "doctor/namespaces.h"

#define BWRAP "/usr/bin/bwrap"

static char root[64];
static struct doctor doctor;
static struct config config;
static struct doctor_options options;

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static void set_up(void)
{
	strcpy(root, "/tmp/trials-doctor.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(root));
	config = (struct config){.backend = BACKEND_systemd};
	options = (struct doctor_options){.config = &config};
	doctor = (struct doctor){
		.options = &options,
		.root = root,
		.bwrap = {.fd = -1},
		.seccomp_fd = -1,
		.trial = {.fault = FAULT_INIT},
	};
	doctor.current = &doctor.findings[0];
}

static void tear_down(void)
{
	free(doctor.findings[0].message);
	free(doctor.findings[0].hint);
	trial_done(&doctor.trial);
	ck_assert_int_eq(nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

static const char *below(const char *path)
{
	static char buffer[4096];

	snprintf(buffer, sizeof(buffer), "%s%s", root, path);
	return buffer;
}

static void make_folders(const char *path, bool whole)
{
	char copy[4096];

	snprintf(copy, sizeof(copy), "%s", below(path));
	for (char *slash = copy + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(copy, 0755);
		*slash = '/';
	}
	if (whole)
		mkdir(copy, 0755);
}

static void give(const char *path, const char *text)
{
	FILE *file;

	make_folders(path, false);
	file = fopen(below(path), "we");
	ck_assert_ptr_nonnull(file);
	ck_assert(fputs(text, file) >= 0);
	ck_assert_int_eq(fclose(file), 0);
}

static void look(void (*check)(struct doctor *doctor))
{
	free(doctor.findings[0].message);
	free(doctor.findings[0].hint);
	doctor.findings[0] = (struct finding){0};
	host_facts_read(&doctor.facts, root, doctor.bwrap.path ? doctor.bwrap.path : BWRAP);
	check(&doctor);
	ck_assert_ptr_nonnull(doctor.findings[0].message);
}

static void expect(enum check_state state, const char *part, const char *hint)
{
	const struct finding *finding = &doctor.findings[0];

	ck_assert_msg(finding->state == state, "%s: %s", check_state_name((int)finding->state),
		      finding->message);
	ck_assert_msg(strstr(finding->message, part) != NULL, "\"%s\" is not in: %s", part,
		      finding->message);
	if (hint)
		ck_assert_msg(finding->hint && strstr(finding->hint, hint),
			      "\"%s\" is not in the hint: %s", hint,
			      finding->hint ? finding->hint : "none");
	else
		ck_assert_msg(!finding->hint, "a hint: %s", finding->hint);
}

#define RESTRICT "/proc/sys/kernel/apparmor_restrict_unprivileged_userns"

START_TEST(switches)
{
	look(check_max_user_namespaces);
	expect(CHECK_not_applicable, "no such switch", NULL);
	look(check_unprivileged_userns_clone);
	expect(CHECK_not_applicable, "no such switch", NULL);
	give("/proc/sys/user/max_user_namespaces", "63000\n");
	give("/proc/sys/kernel/unprivileged_userns_clone", "1\n");
	look(check_max_user_namespaces);
	expect(CHECK_ok, "63000", NULL);
	look(check_unprivileged_userns_clone);
	expect(CHECK_ok, "1", NULL);
	give("/proc/sys/user/max_user_namespaces", "0\n");
	give("/proc/sys/kernel/unprivileged_userns_clone", "0\n");
	look(check_max_user_namespaces);
	expect(CHECK_failed, "user.max_user_namespaces is 0",
	       "sudo sysctl -w user.max_user_namespaces=15000");
	look(check_unprivileged_userns_clone);
	expect(CHECK_failed, "kernel.unprivileged_userns_clone is 0",
	       "sudo sysctl -w kernel.unprivileged_userns_clone=1");
	/* A launch that went well proves more than any switch. */
	doctor.trial.tried = doctor.trial.delivered = true;
	look(check_unprivileged_userns_clone);
	expect(CHECK_ok, "0", NULL);
}
END_TEST

START_TEST(apparmor_off)
{
	look(check_apparmor);
	expect(CHECK_not_applicable, "no such switch", NULL);
	give(RESTRICT, "0\n");
	look(check_apparmor);
	expect(CHECK_ok, "not restricted", NULL);
}
END_TEST

START_TEST(apparmor_without_profile)
{
	give(RESTRICT, "1\n");
	give("/etc/apparmor.d/chrome",
	     "profile chrome /opt/chrome flags=(unconfined) {\n userns,\n}\n");
	give("/etc/apparmor.d/comment", "# profile bwrap /usr/bin/bwrap {\n");
	look(check_apparmor);
	expect(CHECK_failed, "no profile allows them", "/etc/apparmor.d/trialsd-bwrap");
	ck_assert_ptr_nonnull(strstr(doctor.findings[0].message,
				     "kernel.apparmor_restrict_unprivileged_userns=0"));
	ck_assert_ptr_nonnull(strstr(doctor.findings[0].hint, BWRAP " flags=(unconfined)"));
	doctor.trial.tried = doctor.trial.delivered = true;
	look(check_apparmor);
	expect(CHECK_ok, "not those of bwrap", NULL);
}
END_TEST

#define VENDOR                                                                                     \
	"abi <abi/4.0>,\ninclude <tunables/global>\n\n"                                            \
	"profile bwrap /usr/bin/bwrap flags=(attach_disconnected,mediate_deleted) {\n"             \
	"  allow userns,\n  allow pix /** -> &bwrap//&unpriv_bwrap,\n}\n"                          \
	"profile unpriv_bwrap flags=(attach_disconnected) {\n  audit deny capability,\n}\n"

START_TEST(apparmor_with_half_a_profile)
{
	give(RESTRICT, "1\n");
	give("/etc/apparmor.d/bwrap-userns-restrict", VENDOR);
	look(check_apparmor);
	expect(CHECK_failed, "but not what it starts inside",
	       "/etc/apparmor.d/bwrap-userns-restrict");
	/* Switched off: as if it were not there. */
	give("/etc/apparmor.d/disable/bwrap-userns-restrict", "");
	look(check_apparmor);
	expect(CHECK_failed, "no profile allows them", "trialsd-bwrap");
}
END_TEST

START_TEST(apparmor_for_another_bwrap)
{
	give(RESTRICT, "1\n");
	give("/etc/apparmor.d/bwrap", "profile bwrap /{usr/,}bin/bwrap flags=(unconfined) {\n"
				      "  userns,\n}\n");
	doctor.bwrap.path = (char *)"/opt/bubblewrap/bin/bwrap";
	look(check_apparmor);
	expect(CHECK_failed, "is for /{usr/,}bin/bwrap, not for /opt/bubblewrap/bin/bwrap",
	       "/opt/bubblewrap/bin/bwrap");
	doctor.bwrap.path = NULL;
}
END_TEST

START_TEST(apparmor_with_a_profile_that_is_not_loaded)
{
	static const char *const patterns[] = {"/usr/bin/bwrap", "/{usr/,}bin/bwrap",
					       "@{bin}/bwrap", "/usr/{local/,}bin/bwrap",
					       "/**/bwrap"};

	give(RESTRICT, "1\n");
	for (size_t i = 0; i < ARRAY_SIZE(patterns) - 1; i++) {
		char text[256];

		snprintf(text, sizeof(text),
			 "profile bwrap %s flags=(unconfined) {\n  userns,\n}\n", patterns[i]);
		give("/etc/apparmor.d/bwrap", text);
		doctor.trial.tried = true;
		fault_void(&doctor.trial.fault, CAUSE_sandbox_unavailable,
			   "the sandbox could not be built: bwrap: setting up uid map: Permission "
			   "denied");
		look(check_apparmor);
		expect(CHECK_failed, "is not in force",
		       "sudo apparmor_parser -r /etc/apparmor.d/bwrap");
		/* Something else was wrong: the profile is not to blame. */
		fault_void(&doctor.trial.fault, CAUSE_sandbox_unavailable, "no space left");
		look(check_apparmor);
		expect(CHECK_ok, "allows user namespaces", NULL);
	}
}
END_TEST

static void expect_container(enum container container, const char *name)
{
	struct host_facts facts;

	host_facts_read(&facts, root, BWRAP);
	ck_assert_int_eq(facts.container, container);
	ck_assert_str_eq(facts.container_name, name);
}

START_TEST(containers)
{
	give("/proc/version", "Linux version 6.1.0-28-amd64 (debian-kernel@lists.debian.org)\n");
	give("/proc/sys/kernel/osrelease", "6.1.0-28-amd64\n");
	expect_container(CONTAINER_NONE, "");
	give("/run/systemd/container", "lxc\n");
	expect_container(CONTAINER_LXC, "a container (lxc)");
	give("/run/systemd/container", "systemd-nspawn\n");
	expect_container(CONTAINER_OTHER, "a container (systemd-nspawn)");
	give("/proc/sys/kernel/osrelease", "5.15.90.1-microsoft-standard-WSL2\n");
	expect_container(CONTAINER_WSL2, "WSL 2");
	give("/proc/sys/kernel/osrelease", "4.4.0-19041-Microsoft\n");
	expect_container(CONTAINER_WSL1, "WSL 1");
	give("/.dockerenv", "");
	expect_container(CONTAINER_DOCKER, "a Docker container");
	make_folders("/run/secrets/kubernetes.io", true);
	expect_container(CONTAINER_KUBERNETES, "a Kubernetes pod");
	give("/run/.containerenv", "engine=\"podman-4.3.1\"\n");
	expect_container(CONTAINER_PODMAN, "a Podman container");
	give("/proc/version", "Linux version 4.4.0 #1 SMP Sun Jan 10 15:06:54 PST 2016\n");
	expect_container(CONTAINER_GVISOR, "gVisor");
}
END_TEST

START_TEST(containers_that_never_work)
{
	give("/proc/sys/kernel/osrelease", "4.4.0-19041-Microsoft\n");
	look(check_container);
	expect(CHECK_failed, "WSL 1", "wsl.exe --set-version");
	give("/proc/version", "Linux version 4.4.0 #1 SMP Sun Jan 10 15:06:54 PST 2016\n");
	look(check_container);
	expect(CHECK_failed, "gVisor", "--runtime=runc");
	doctor.trial.tried = doctor.trial.delivered = true;
	look(check_container);
	expect(CHECK_ok, "lets the sandbox be built", NULL);
}
END_TEST

/* A container shares the host's kernel: what the kernel is told can be told on the host alone. */
START_TEST(switches_in_a_container)
{
	give("/.dockerenv", "");
	give("/proc/sys/user/max_user_namespaces", "0\n");
	give("/proc/sys/kernel/unprivileged_userns_clone", "0\n");
	look(check_max_user_namespaces);
	expect(CHECK_failed, "max_user_namespaces is 0",
	       "on the host of this container: sudo sysctl");
	look(check_unprivileged_userns_clone);
	expect(CHECK_failed, "clone is 0", "on the host of this container: sudo sysctl");
	unlink(below("/.dockerenv"));
	give("/proc/sys/kernel/osrelease", "5.15.90.1-microsoft-standard-WSL2\n");
	look(check_max_user_namespaces);
	expect(CHECK_failed, "max_user_namespaces is 0", "sudo sysctl");
	ck_assert_int_eq(strncmp(doctor.findings[0].hint, "sudo", 4), 0);
}
END_TEST

START_TEST(apparmor_in_a_container)
{
	const char *what;

	give(RESTRICT, "1\n");
	give("/.dockerenv", "");
	look(check_apparmor);
	/* Where even a namespace is refused it is not AppArmor that refuses it. */
	if (namespace_try(STEP_USER, &what) < 0) {
		expect(CHECK_ok, "refused before that", NULL);
		return;
	}
	expect(CHECK_failed, "takes the capabilities",
	       "on the host of this container: sudo sysctl -w "
	       "kernel.apparmor_restrict_unprivileged_userns=0");
	ck_assert_ptr_null(strstr(doctor.findings[0].hint, "apparmor.d"));
}
END_TEST

static uid_t uid;
static char usual[64], manager_controllers[128];

static enum manager_lack lack(uid_t who, const char *runtime, const char *sudo_user)
{
	manager_facts_read(&doctor.manager, root, who, "ann", runtime, sudo_user);
	return doctor.manager.lack;
}

static void name_places(void)
{
	uid = getuid();
	snprintf(usual, sizeof(usual), "/run/user/%u", (unsigned int)uid);
	snprintf(manager_controllers, sizeof(manager_controllers),
		 "/sys/fs/cgroup/user.slice/user-%u.slice/user@%u.service/cgroup.controllers",
		 (unsigned int)uid, (unsigned int)uid);
}

static void listen_in(const char *folder, const char *name)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	make_folders(path, false);
	ck_assert_uint_lt(strlen(below(path)), sizeof(address.sun_path));
	strcpy(address.sun_path, below(path));
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	close(fd);
}

START_TEST(managers)
{
	name_places();
	ck_assert_int_eq(lack(uid, NULL, NULL), MANAGER_NO_SYSTEMD);
	make_folders("/run/systemd/system", true);
	ck_assert_int_eq(lack(uid, NULL, NULL), MANAGER_NO_LINGERING);
	ck_assert(!doctor.manager.lingers);
	give("/var/lib/systemd/linger/ann", "");
	ck_assert_int_eq(lack(uid, NULL, NULL), MANAGER_NOT_STARTED);
	ck_assert(doctor.manager.lingers);
	make_folders(usual, true);
	ck_assert_int_eq(lack(uid, NULL, NULL), MANAGER_NOT_RUNNING);
	/* What su and sudo leave: the variable of who called them. */
	ck_assert_int_eq(lack(uid + 1, usual, NULL), MANAGER_WRONG_USER);
	ck_assert_int_eq(doctor.manager.owner, uid);
	ck_assert(!doctor.manager.own_exists);
	ck_assert_int_eq(lack(uid, "/nonexistent", NULL), MANAGER_WRONG_FOLDER);
	make_folders("/own", true);
	ck_assert_int_eq(lack(uid, "/own", NULL), MANAGER_NOT_RUNNING);
	listen_in(usual, "bus");
	ck_assert_int_eq(lack(uid, "/own", NULL), MANAGER_WRONG_FOLDER);
	ck_assert_int_eq(lack(uid, NULL, NULL), MANAGER_THERE);
	ck_assert_int_eq(lack(uid, usual, NULL), MANAGER_THERE);
	ck_assert_str_eq(doctor.manager.folder, usual);
	ck_assert_int_eq(lack(uid + 1, usual, NULL), MANAGER_WRONG_USER);
	listen_in("/own", "systemd/private");
	ck_assert_int_eq(lack(uid, "/own", NULL), MANAGER_THERE);
}
END_TEST

/* sudo -i: no variable is left, and root has no manager; sudo -E: somebody else's. */
START_TEST(root_by_way_of_sudo)
{
	make_folders("/run/systemd/system", true);
	ck_assert_int_eq(lack(0, NULL, "ann"), MANAGER_ROOT_BY_SUDO);
	ck_assert_int_eq(lack(0, NULL, "root"), MANAGER_NO_LINGERING);
	ck_assert_int_eq(lack(0, NULL, NULL), MANAGER_NO_LINGERING);
	ck_assert_int_eq(lack(1, NULL, "ann"), MANAGER_NO_LINGERING);
}
END_TEST

static void expect_explained(enum manager_lack number, enum container container, bool runtime,
			     const char *message, const char *hint)
{
	_cleanup_fault_ struct fault fault = FAULT_INIT;

	doctor.manager.lack = number;
	ck_assert_int_eq(manager_explain(&fault, &doctor.manager, container, "ann", runtime),
			 FAULT);
	ck_assert_msg(strstr(fault.message, message) != NULL, "%s", fault.message);
	ck_assert_msg(strcmp(fault.hint, hint) == 0, "%s", fault.hint);
}

START_TEST(what_brings_a_manager)
{
	char start[64], export_usual[128], linger[192];

	name_places();
	lack(uid, NULL, NULL);
	snprintf(start, sizeof(start), "sudo systemctl start user@%u.service", (unsigned int)uid);
	snprintf(export_usual, sizeof(export_usual), "export XDG_RUNTIME_DIR=%s", usual);
	snprintf(linger, sizeof(linger), "sudo loginctl enable-linger ann; %s", export_usual);
	expect_explained(MANAGER_NO_LINGERING, CONTAINER_NONE, false, "no lingering",
			 "sudo loginctl enable-linger ann");
	expect_explained(MANAGER_NOT_STARTED, CONTAINER_NONE, false, "no user manager: ann lingers",
			 start);
	expect_explained(MANAGER_NOT_RUNNING, CONTAINER_NONE, false, "none runs for ann", start);
	expect_explained(MANAGER_ROOT_BY_SUDO, CONTAINER_NONE, false, "wrong user: this is root",
			 "leave the shell of root (exit), and do without sudo");
	expect_explained(
		MANAGER_NO_SYSTEMD, CONTAINER_NONE, false, "no systemd: this system",
		"trialsd --backend none, or Backend=none in [Daemon] of trialsd.conf: without scopes "
		"and limits");
	expect_explained(MANAGER_NO_SYSTEMD, CONTAINER_DOCKER, true, "no runtime folder",
			 "export XDG_RUNTIME_DIR=\"$HOME/.local/run\"; mkdir -p -m 700 "
			 "\"$XDG_RUNTIME_DIR\"; trialsd --backend none");
	expect_explained(MANAGER_NO_SYSTEMD, CONTAINER_WSL2, false, "no systemd",
			 "printf '[boot]\\nsystemd=true\\n' | sudo tee -a /etc/wsl.conf && "
			 "wsl.exe --shutdown");
	lack(uid, "/nonexistent", NULL);
	expect_explained(MANAGER_NO_LINGERING, CONTAINER_NONE, false, "no lingering", linger);
	expect_explained(MANAGER_WRONG_USER, CONTAINER_NONE, false, "wrong user", linger);
	make_folders(usual, true);
	lack(uid, "/nonexistent", NULL);
	expect_explained(MANAGER_WRONG_USER, CONTAINER_NONE, false, "wrong user", export_usual);
	expect_explained(MANAGER_WRONG_FOLDER, CONTAINER_NONE, false, "wrong folder", export_usual);
}
END_TEST

static void expect_controllers(enum check_state state, const char *message, const char *hint)
{
	doctor.manager.lack = MANAGER_THERE;
	look(check_controllers);
	expect(state, message, hint);
}

#define TOP "/sys/fs/cgroup/cgroup.controllers"

/* R1: who can hand down what is missing. */
START_TEST(controllers)
{
	name_places();
	expect_controllers(CHECK_warning, "no cgroups are mounted", "sudo mount");
	make_folders("/sys/fs/cgroup/memory", true);
	expect_controllers(CHECK_warning, "version 1, which are not delegated: cpu, memory, pids",
			   "add systemd.unified_cgroup_hierarchy=1");
	give("/.dockerenv", "");
	expect_controllers(CHECK_warning, "version 1",
			   "on the host of this container: add systemd");
	give(TOP, "cpuset cpu io memory pids\n");
	expect_controllers(CHECK_not_applicable, "has no cgroup", NULL);
	give(manager_controllers, "memory pids\n");
	expect_controllers(CHECK_warning, "not delegated to the user manager: cpu",
			   "user@.service.d");
	ck_assert_ptr_null(strstr(doctor.findings[0].message, "memory"));
	give(manager_controllers, "cpuset pids\n");
	expect_controllers(CHECK_warning, "user manager: cpu, memory", "user@.service.d");
	give(manager_controllers, "cpu memory pids\n");
	expect_controllers(CHECK_ok, "cpu memory pids", NULL);
	give(TOP, "cpu pids\n");
	give(manager_controllers, "cpu pids\n");
	expect_controllers(CHECK_warning, "none here at all for memory",
			   "on the host of this container: hand memory down");
	unlink(below("/.dockerenv"));
	expect_controllers(CHECK_warning, "none here at all for memory", "cgroup_enable=memory");
	doctor.manager.lack = MANAGER_NO_SYSTEMD;
	look(check_controllers);
	expect(CHECK_not_applicable, "without a user manager", NULL);
	config.backend = BACKEND_none;
	expect_controllers(CHECK_not_applicable, "backend none", NULL);
}
END_TEST

static Suite *doctor_suite(void)
{
	Suite *suite = suite_create("doctor");
	TCase *cases = tcase_create("machines");

	tcase_add_checked_fixture(cases, set_up, tear_down);
	tcase_add_test(cases, switches);
	tcase_add_test(cases, apparmor_off);
	tcase_add_test(cases, apparmor_without_profile);
	tcase_add_test(cases, apparmor_with_half_a_profile);
	tcase_add_test(cases, apparmor_for_another_bwrap);
	tcase_add_test(cases, apparmor_with_a_profile_that_is_not_loaded);
	tcase_add_test(cases, containers);
	tcase_add_test(cases, containers_that_never_work);
	tcase_add_test(cases, switches_in_a_container);
	tcase_add_test(cases, apparmor_in_a_container);
	tcase_add_test(cases, managers);
	tcase_add_test(cases, root_by_way_of_sudo);
	tcase_add_test(cases, what_brings_a_manager);
	tcase_add_test(cases, controllers);
	suite_add_tcase(suite, cases);
	return suite;
}

int main(void)
{
	SRunner *runner = srunner_create(doctor_suite());
	int failed;

	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

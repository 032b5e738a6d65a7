/* SPDX-License-Identifier: MIT */

/*
 * What this machine allows: the container it is in, the user manager, and the switches that
 * distributions put before user namespaces. A switch that is on does no harm where the real launch
 * went well; where it did not, the switch is its cause.
 */
#include "doctor/check.h"

#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>

static const char *user_name(char *buffer, size_t size)
{
	struct passwd *entry = getpwuid(getuid());

	if (entry && entry->pw_name[0])
		snprintf(buffer, size, "%s", entry->pw_name);
	else
		snprintf(buffer, size, "%u", (unsigned int)getuid());
	return buffer;
}

void check_container(struct doctor *doctor)
{
	const struct host_facts *facts = &doctor->facts;
	bool delivered = doctor_trial(doctor)->delivered;

	if (facts->container == CONTAINER_NONE) {
		found(doctor, CHECK_ok, "none");
	} else if (facts->container == CONTAINER_WSL1 && !delivered) {
		found(doctor, CHECK_failed,
		      "this is WSL 1, whose kernel is not Linux: it has no namespaces");
		mend(doctor, "wsl.exe --set-version DISTRIBUTION 2");
	} else if (facts->container == CONTAINER_GVISOR && !delivered) {
		found(doctor, CHECK_failed, "this is gVisor, whose kernel lacks what bwrap needs");
		mend(doctor, "docker run --runtime=runc IMAGE");
	} else {
		found(doctor, CHECK_ok, "%s%s", facts->container_name,
		      delivered ? ", which lets the sandbox be built" : "");
	}
}

static void say_lack(struct doctor *doctor, enum check_state state, const char *user)
{
	const struct manager_facts *facts = &doctor->manager;
	unsigned int uid = (unsigned int)getuid();

	switch (facts->lack) {
	case MANAGER_NO_SYSTEMD:
		found(doctor, state,
		      "no systemd: %s was not started with it, so there is no user manager in %s to "
		      "make scopes and limits",
		      doctor->facts.container == CONTAINER_NONE ? "this system"
								: doctor->facts.container_name,
		      facts->folder);
		mend(doctor,
		     "trialsd --backend none, or Backend=none in trialsd.conf: without scopes and limits");
		break;
	case MANAGER_WRONG_USER:
		found(doctor, state,
		      "wrong user: XDG_RUNTIME_DIR is %s, which is user %u's, and this is user %u "
		      "(su and sudo keep it)",
		      facts->folder, (unsigned int)facts->owner, uid);
		if (facts->own_exists)
			mend(doctor, "export XDG_RUNTIME_DIR=/run/user/%u", uid);
		else
			mend(doctor,
			     "sudo loginctl enable-linger %s; export "
			     "XDG_RUNTIME_DIR=/run/user/%u",
			     user, uid);
		break;
	case MANAGER_NO_LINGERING:
		if (facts->lingers) {
			found(doctor, state, "no user manager: %s lingers, and yet there is no %s",
			      user, facts->folder);
			mend(doctor, "sudo systemctl start user@%u.service", uid);
			break;
		}
		found(doctor, state,
		      "no lingering: %s is not logged in and does not linger, so there is no "
		      "user manager and no %s",
		      user, facts->folder);
		mend(doctor, "sudo loginctl enable-linger %s", user);
		break;
	default:
		found(doctor, state,
		      "no user manager: systemd is there, and none runs for %s (neither "
		      "systemd/private nor bus is in %s)",
		      user, facts->folder);
		mend(doctor, "sudo systemctl start user@%u.service", uid);
		break;
	}
}

void check_user_manager(struct doctor *doctor)
{
	const struct config *config = doctor->options->config;
	const struct trial *trial = doctor_trial(doctor);
	enum check_state state = CHECK_failed;
	char user[256];

	user_name(user, sizeof(user));
	manager_facts_read(&doctor->manager, "", getuid(), user, getenv("XDG_RUNTIME_DIR"));
	if (!config || config->backend == BACKEND_none) {
		found(doctor, CHECK_not_applicable,
		      "backend none: no scopes, and no limits on memory, tasks and processor");
		return;
	}
	if (config->backend == BACKEND_auto)
		state = CHECK_warning;
	if (trial->tried && !trial->unscoped && trial->backend == BACKEND_systemd)
		found(doctor, CHECK_ok, "it answers in %s", doctor->manager.folder);
	else if (doctor->manager.lack != MANAGER_THERE)
		say_lack(doctor, state, user);
	else if (trial->unscoped)
		found_fault(doctor, state, &trial->fault);
	else if (trial->tried && trial->backend == BACKEND_none)
		found(doctor, state, "it is there in %s and does not answer",
		      doctor->manager.folder);
	else
		found(doctor, CHECK_ok, "it is in %s", doctor->manager.folder);
	if (!doctor->current->hint && doctor->current->state != CHECK_ok)
		mend(doctor, "sudo systemctl restart user@%u.service", (unsigned int)getuid());
}

void check_linger(struct doctor *doctor)
{
	const struct config *config = doctor->options->config;
	char user[256];

	if (!config || config->backend == BACKEND_none ||
	    doctor->manager.lack == MANAGER_NO_SYSTEMD) {
		found(doctor, CHECK_not_applicable, "without a user manager it means nothing");
		return;
	}
	user_name(user, sizeof(user));
	if (doctor->manager.lingers) {
		found(doctor, CHECK_ok, "%s lingers", user);
	} else {
		found(doctor, CHECK_warning,
		      "%s does not linger: the end of the last session ends the user manager, "
		      "and every Trial with it",
		      user);
		mend(doctor, "loginctl enable-linger %s", user);
	}
}

/* What the user manager was given: the file of its own cgroup. */
static int read_controllers(char *text, size_t size)
{
	char path[256];
	unsigned int uid = (unsigned int)getuid();
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path),
		 "/sys/fs/cgroup/user.slice/user-%u.slice/user@%u.service/cgroup.controllers", uid,
		 uid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = read(fd, text, size - 1);
	close(fd);
	if (n < 0)
		return -EIO;
	text[n] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return 0;
}

static bool has_word(const char *text, const char *word)
{
	size_t length = strlen(word);

	for (const char *at = text; (at = strstr(at, word)); at += length)
		if ((at == text || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
			return true;
	return false;
}

void check_controllers(struct doctor *doctor)
{
	static const char *const wanted[] = {"cpu", "memory", "pids", "io"};
	char text[512], missing[64] = "";
	int r;

	if (doctor_trial(doctor)->tried && doctor->trial.backend == BACKEND_none) {
		found(doctor, CHECK_not_applicable, "backend none");
		return;
	}
	r = read_controllers(text, sizeof(text));
	if (r < 0) {
		found(doctor, CHECK_not_applicable,
		      "the cgroup of the user manager cannot be found (%s); limits tells what is in "
		      "force",
		      strerror(-r));
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
		if (!has_word(text, wanted[i]))
			snprintf(missing + strlen(missing), sizeof(missing) - strlen(missing),
				 "%s%s", missing[0] ? ", " : "", wanted[i]);
	if (!missing[0]) {
		found(doctor, CHECK_ok, "%s", text);
	} else if (strcmp(missing, "io") == 0) {
		found(doctor, CHECK_ok, "%s; io, of which only counters are read, is not", text);
	} else {
		found(doctor, CHECK_warning, "not delegated to the user manager: %s", missing);
		mend(doctor, DELEGATE_COMMAND);
	}
}

/* The switches. */

void check_max_user_namespaces(struct doctor *doctor)
{
	long most = doctor->facts.max_user_namespaces;

	if (most == 0 && !doctor_trial(doctor)->delivered) {
		found(doctor, CHECK_failed,
		      "user namespaces are switched off: user.max_user_namespaces is 0");
		mend(doctor, "sudo sysctl -w user.max_user_namespaces=15000");
	} else if (most < 0) {
		found(doctor, CHECK_not_applicable, "there is no such switch");
	} else {
		found(doctor, CHECK_ok, "%ld", most);
	}
}

void check_unprivileged_userns_clone(struct doctor *doctor)
{
	long allowed = doctor->facts.unprivileged_userns_clone;

	if (allowed == 0 && !doctor_trial(doctor)->delivered) {
		found(doctor, CHECK_failed,
		      "user namespaces are kept for root: kernel.unprivileged_userns_clone is 0");
		mend(doctor, "sudo sysctl -w kernel.unprivileged_userns_clone=1");
	} else if (allowed < 0) {
		found(doctor, CHECK_not_applicable, "there is no such switch");
	} else {
		found(doctor, CHECK_ok, "%ld", allowed);
	}
}

#define RESTRICTED                                                                                 \
	"AppArmor takes the capabilities from unprivileged user namespaces "                       \
	"(kernel.apparmor_restrict_unprivileged_userns is 1)"
#define OR_SYSCTL                                                                                  \
	"; the other remedy, less good, is "                                                       \
	"sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"

static void mend_profile(struct doctor *doctor)
{
	const char *path = doctor->bwrap.path ? doctor->bwrap.path : "/usr/bin/bwrap";

	mend(doctor,
	     "printf 'abi <abi/4.0>,\\nprofile trialsd-bwrap %s flags=(unconfined) "
	     "{\\n  userns,\\n}\\n' | sudo tee /etc/apparmor.d/trialsd-bwrap && "
	     "sudo apparmor_parser -r /etc/apparmor.d/trialsd-bwrap",
	     path);
}

/* Only what AppArmor says when it refuses. */
static bool looks_denied(const struct trial *trial)
{
	const char *message = trial->fault.message;

	return trial->tried && message &&
	       (strcasestr(message, "permission denied") || strcasestr(message, "not permitted"));
}

void check_apparmor(struct doctor *doctor)
{
	const struct host_facts *facts = &doctor->facts;
	const struct trial *trial = doctor_trial(doctor);
	const char *path = doctor->bwrap.path ? doctor->bwrap.path : "bwrap";

	if (facts->apparmor_restricts_userns < 0) {
		found(doctor, CHECK_not_applicable, "there is no such switch");
	} else if (facts->apparmor_restricts_userns == 0) {
		found(doctor, CHECK_ok, "user namespaces are not restricted");
	} else if (trial->delivered) {
		found(doctor, CHECK_ok,
		      "user namespaces are restricted, and not those of bwrap%s%s",
		      facts->profile == PROFILE_ABSENT ? "" : ", by the profile ",
		      facts->profile_file);
	} else if (facts->profile == PROFILE_ABSENT) {
		found(doctor, CHECK_failed,
		      RESTRICTED ", and no profile allows them to %s" OR_SYSCTL, path);
		mend_profile(doctor);
	} else if (facts->profile == PROFILE_OTHER_PATH) {
		found(doctor, CHECK_failed,
		      RESTRICTED ", and the profile %s is for %s, not for %s" OR_SYSCTL,
		      facts->profile_file, facts->profile_path, path);
		mend_profile(doctor);
	} else if (facts->profile == PROFILE_PARTIAL) {
		found(doctor, CHECK_failed,
		      RESTRICTED ", and the profile %s lets bwrap through but not what it starts "
				 "inside" OR_SYSCTL,
		      facts->profile_file);
		mend(doctor,
		     "sudo ln -sf %s /etc/apparmor.d/disable/ && sudo apparmor_parser -R %s, "
		     "then run trialctl doctor again",
		     facts->profile_file, facts->profile_file);
	} else if (looks_denied(trial)) {
		found(doctor, CHECK_failed,
		      RESTRICTED ", and the profile %s, which would allow them to %s, is not in "
				 "force" OR_SYSCTL,
		      facts->profile_file, path);
		mend(doctor, "sudo apparmor_parser -r %s", facts->profile_file);
	} else {
		found(doctor, CHECK_ok, "the profile %s allows user namespaces to %s",
		      facts->profile_file, path);
	}
}

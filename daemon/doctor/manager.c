/* SPDX-License-Identifier: MIT */

/*
 * The user manager: whether there is one, and what it was given to limit Trials with. What is
 * missing has many causes, each with a remedy of its own, and a remedy of another does nothing: no
 * lingering can be enabled where there is no systemd, and no controller delegated that the kernel
 * does not have.
 */
#include "doctor/check.h"

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

static void read_manager(struct manager_facts *ret_facts, const char *root, char *user, size_t size)
{
	user_name(user, size);
	manager_facts_read(ret_facts, root, getuid(), user, getenv("XDG_RUNTIME_DIR"),
			   getenv("SUDO_USER"));
}

static int refuse_without_systemd(struct fault *ret_fault, const struct manager_facts *facts,
				  enum container container, bool runtime)
{
	if (runtime)
		fault_set(ret_fault, ERROR_unavailable,
			  "no runtime folder: %s is not a folder of ours, and there is no systemd "
			  "here to make one",
			  facts->folder);
	else
		fault_set(ret_fault, ERROR_unavailable,
			  "no systemd: this %s was not started with it, so there is no user "
			  "manager in %s to make scopes and limits",
			  container == CONTAINER_NONE || container == CONTAINER_WSL2 ? "system"
										     : "container",
			  facts->folder);
	if (container == CONTAINER_WSL2)
		return fault_hint(ret_fault, "printf '[boot]\\nsystemd=true\\n' | sudo tee -a "
					     "/etc/wsl.conf && wsl.exe --shutdown");
	if (runtime)
		return fault_hint(ret_fault,
				  "export XDG_RUNTIME_DIR=\"$HOME/.local/run\"; mkdir -p "
				  "-m 700 \"$XDG_RUNTIME_DIR\"; trialsd --backend none");
	return fault_hint(ret_fault, "trialsd --backend none, or Backend=none in [Daemon] of "
				     "trialsd.conf: without scopes and limits");
}

int manager_explain(struct fault *ret_fault, const struct manager_facts *facts,
		    enum container container, const char *user, bool runtime)
{
	unsigned int uid = (unsigned int)getuid();

	switch (facts->lack) {
	case MANAGER_NO_SYSTEMD:
		return refuse_without_systemd(ret_fault, facts, container, runtime);
	case MANAGER_ROOT_BY_SUDO:
		fault_set(ret_fault, ERROR_unavailable,
			  "wrong user: this is root, by way of sudo; trialsd serves the person who "
			  "starts it, and has no user manager of root's");
		return fault_hint(ret_fault, "leave the shell of root (exit), and do without sudo");
	case MANAGER_WRONG_USER:
		fault_set(ret_fault, ERROR_unavailable,
			  "wrong user: XDG_RUNTIME_DIR is %s, which is user %u's, and this is "
			  "user %u (su and sudo keep it)",
			  facts->folder, (unsigned int)facts->owner, uid);
		return fault_hint(ret_fault, "%s%s%sexport XDG_RUNTIME_DIR=%s",
				  facts->own_exists ? "" : "sudo loginctl enable-linger ",
				  facts->own_exists ? "" : user, facts->own_exists ? "" : "; ",
				  facts->usual);
	case MANAGER_WRONG_FOLDER:
		fault_set(ret_fault, ERROR_unavailable,
			  "wrong folder: XDG_RUNTIME_DIR is %s, where no user manager is",
			  facts->folder);
		return fault_hint(ret_fault, "export XDG_RUNTIME_DIR=%s", facts->usual);
	case MANAGER_NO_LINGERING:
		fault_set(ret_fault, ERROR_unavailable,
			  "no lingering: %s is not logged in and does not linger, so there is no "
			  "user manager and no %s",
			  user, facts->folder);
		return fault_hint(ret_fault, "sudo loginctl enable-linger %s%s%s", user,
				  strcmp(facts->folder, facts->usual) == 0
					  ? ""
					  : "; export XDG_RUNTIME_DIR=",
				  strcmp(facts->folder, facts->usual) == 0 ? "" : facts->usual);
	case MANAGER_NOT_STARTED:
		fault_set(ret_fault, ERROR_unavailable,
			  "no user manager: %s lingers, and yet there is no %s", user,
			  facts->folder);
		return fault_hint(ret_fault, "sudo systemctl start user@%u.service", uid);
	default:
		fault_set(ret_fault, ERROR_unavailable,
			  "no user manager: systemd is there, and none runs for %s (neither "
			  "systemd/private nor bus is in %s)",
			  user, facts->folder);
		return fault_hint(ret_fault, "sudo systemctl start user@%u.service", uid);
	}
}

int doctor_no_runtime(struct fault *ret_fault)
{
	struct manager_facts manager;
	struct host_facts host;
	char user[256];

	read_manager(&manager, "", user, sizeof(user));
	host_facts_read(&host, "", "/usr/bin/bwrap");
	return manager_explain(ret_fault, &manager, host.container, user, true);
}

void check_user_manager(struct doctor *doctor)
{
	const struct config *config = doctor->options->config;
	const struct trial *trial = doctor_trial(doctor);
	_cleanup_fault_ struct fault lack = FAULT_INIT;
	enum check_state state = CHECK_failed;
	char user[256];

	read_manager(&doctor->manager, doctor->root, user, sizeof(user));
	if (doctor->options->config_lacking) {
		found(doctor, CHECK_not_applicable, "not tried: it takes trialsd.conf");
		return;
	}
	if (config->backend == BACKEND_none) {
		found(doctor, CHECK_not_applicable,
		      "backend none: no scopes, and no limits on memory, tasks and processor");
		return;
	}
	if (config->backend == BACKEND_auto)
		state = CHECK_warning;
	if (trial->tried && !trial->unscoped && trial->backend == BACKEND_systemd) {
		found(doctor, CHECK_ok, "it answers in %s", doctor->manager.folder);
	} else if (doctor->manager.lack != MANAGER_THERE) {
		manager_explain(&lack, &doctor->manager, doctor->facts.container, user, false);
		found_fault(doctor, state, &lack);
	} else if (trial->unscoped) {
		found_fault(doctor, state, &trial->fault);
	} else if (trial->tried && trial->backend == BACKEND_none) {
		found(doctor, state, "it is there in %s and does not answer",
		      doctor->manager.folder);
	} else {
		found(doctor, CHECK_ok, "it is in %s", doctor->manager.folder);
	}
	if (!doctor->current->hint && doctor->current->state != CHECK_ok)
		mend(doctor, "sudo systemctl restart user@%u.service", (unsigned int)getuid());
}

void check_linger(struct doctor *doctor)
{
	char user[256];

	if (doctor->options->config_lacking) {
		found(doctor, CHECK_not_applicable, "not tried: it takes trialsd.conf");
		return;
	}
	if (doctor->options->config->backend == BACKEND_none ||
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

/* Controllers. */

static bool has_word(const char *text, const char *word)
{
	size_t length = strlen(word);

	for (const char *at = text; (at = strstr(at, word)); at += length)
		if ((at == text || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
			return true;
	return false;
}

/* Of what limits need; io's counters are read, and nothing of it is limited. */
static void list_missing(const char *given, char *ret_missing, size_t size)
{
	static const char *const wanted[] = {"cpu", "memory", "pids"};
	size_t used = 0;

	ret_missing[0] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
		if (!has_word(given, wanted[i]))
			used += (size_t)snprintf(ret_missing + used, size - used, "%s%s",
						 used ? ", " : "", wanted[i]);
}

/* What is missing at the top cannot be handed down by anybody below. */
void mend_controllers(struct doctor *doctor)
{
	const struct cgroup_facts *facts = &doctor->cgroup;
	const char *host = doctor_host(doctor);
	char top[64], given[64];

	list_missing(facts->top, top, sizeof(top));
	list_missing(facts->manager, given, sizeof(given));
	if (facts->version == CGROUP_ABSENT || facts->read_only)
		mend(doctor, "%s",
		     *host ? "docker run --cgroupns=private -v /sys/fs/cgroup:/sys/fs/cgroup:rw IMAGE"
			   : "sudo mount -o remount,rw /sys/fs/cgroup || sudo mount -t cgroup2 "
			     "cgroup2 /sys/fs/cgroup");
	else if (facts->version == CGROUP_V1)
		mend(doctor,
		     "%sadd systemd.unified_cgroup_hierarchy=1 to the kernel's command line, and "
		     "boot again",
		     host);
	else if (top[0] && *host)
		mend(doctor, "%shand %s down to the cgroup of this container", host, top);
	else if (has_word(top, "memory") || has_word(top, "memory,"))
		mend(doctor,
		     "add cgroup_enable=memory to the kernel's command line, and boot again");
	else if (top[0])
		mend(doctor, "boot a kernel that is built with the controllers %s", top);
	else if (!facts->manager_found || given[0])
		mend(doctor, "%s", DELEGATE_COMMAND);
	else
		mend(doctor, "sudo systemctl restart user@%u.service", (unsigned int)getuid());
}

static void found_missing(struct doctor *doctor, const char *given)
{
	const struct cgroup_facts *facts = &doctor->cgroup;
	char top[64];

	list_missing(facts->top, top, sizeof(top));
	if (facts->version == CGROUP_ABSENT)
		found(doctor, CHECK_warning, "no cgroups are mounted at /sys/fs/cgroup");
	else if (facts->read_only)
		found(doctor, CHECK_warning, "/sys/fs/cgroup is read-only");
	else if (facts->version == CGROUP_V1)
		found(doctor, CHECK_warning,
		      "cgroups are those of version 1, which are not delegated: %s", given);
	else if (top[0])
		found(doctor, CHECK_warning, "there are none here at all for %s", top);
	else
		found(doctor, CHECK_warning, "not delegated to the user manager: %s", given);
	mend_controllers(doctor);
}

void check_controllers(struct doctor *doctor)
{
	const struct cgroup_facts *facts = &doctor->cgroup;
	const struct trial *trial = doctor_trial(doctor);
	char missing[64];

	cgroup_facts_read(&doctor->cgroup, doctor->root, getuid());
	if (doctor->options->config_lacking) {
		found(doctor, CHECK_not_applicable, "not tried: it takes trialsd.conf");
		return;
	}
	if (doctor->options->config->backend == BACKEND_none ||
	    (trial->tried && trial->backend == BACKEND_none)) {
		found(doctor, CHECK_not_applicable, "backend none");
		return;
	}
	if (doctor->manager.lack == MANAGER_NO_SYSTEMD) {
		found(doctor, CHECK_not_applicable, "without a user manager nobody hands them on");
		return;
	}
	list_missing(facts->manager, missing, sizeof(missing));
	if (facts->version == CGROUP_V2 && !facts->read_only && !facts->manager_found)
		found(doctor, CHECK_not_applicable,
		      "the user manager has no cgroup where systemd makes it; limits tells what is "
		      "in force");
	else if (facts->version == CGROUP_V2 && !facts->read_only && !missing[0])
		found(doctor, CHECK_ok, "%s", facts->manager);
	else
		found_missing(doctor, missing);
}

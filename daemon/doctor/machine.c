/* SPDX-License-Identifier: MIT */

/*
 * What this machine allows: the container it is in, and the switches that distributions put before
 * user namespaces. A switch that is on does no harm where the real launch went well; where it did
 * not, the switch is its cause. In a container the switches are the host's, and read-only.
 */
#include "doctor/check.h"

#include <string.h>

#include "doctor/namespaces.h"

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

/* The switches. */

const char *doctor_host(const struct doctor *doctor)
{
	switch (doctor->facts.container) {
	case CONTAINER_NONE:
	case CONTAINER_WSL1:
	case CONTAINER_WSL2:
		return "";
	default:
		return "on the host of this container: ";
	}
}

void check_max_user_namespaces(struct doctor *doctor)
{
	long most = doctor->facts.max_user_namespaces;

	if (most == 0 && !doctor_trial(doctor)->delivered) {
		found(doctor, CHECK_failed,
		      "user namespaces are switched off: user.max_user_namespaces is 0");
		mend(doctor, "%ssudo sysctl -w user.max_user_namespaces=15000",
		     doctor_host(doctor));
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
		mend(doctor, "%ssudo sysctl -w kernel.unprivileged_userns_clone=1",
		     doctor_host(doctor));
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

/*
 * The profiles of a container are not those that the kernel has, and there may be a filter before
 * them: AppArmor lets namespaces be made, and takes their capabilities.
 */
static void check_apparmor_of_host(struct doctor *doctor)
{
	const char *what;

	if (namespace_try(STEP_USER, &what) < 0) {
		found(doctor, CHECK_ok,
		      "the host restricts user namespaces, and here they are refused before that");
		return;
	}
	found(doctor, CHECK_failed, RESTRICTED);
	mend(doctor, "%ssudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
	     doctor_host(doctor));
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
	} else if (*doctor_host(doctor)) {
		check_apparmor_of_host(doctor);
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

/* SPDX-License-Identifier: MIT */

/*
 * The checks in their order, and the verdict: that of the first that failed. Causes stand before
 * what they cause, so that the first failure is what there is to mend. The real launch is made by
 * the first check that asks for it.
 */
#include "doctor/check.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/list.h"
#include "base/text.h"

#ifndef TRIALSD_VERSION
#define TRIALSD_VERSION "0"
#endif

struct check {
	const char *name;
	const char *proves;
	void (*make)(struct doctor *doctor);
};

static const struct check checks[] = {
	{"configuration", "trialsd.conf can be used", check_configuration},
	{"harnesses", "the .harness files can be used", check_harnesses},
	{"providers", "providers.conf can be used", check_providers},
	{"clock", "the times of Trials can be trusted", check_clock},
	{"state_folder", "the state folder is this user's alone", check_state_folder},
	{"disk", "there is room for ledger and output", check_disk},
	{"runtime_folder", "there is a place for the socket", check_runtime_folder},
	{"daemon", "at most one daemon serves these folders", check_daemon},
	{"ledger", "the ledger is in its place, and can be read by this version", check_ledger},
	{"helpers", "trial-keeper and trials-init are there", check_helpers},
	{"bwrap", "there is a bwrap that can be trusted and has what is needed", check_bwrap},
	{"filter", "the filter of system calls can be made", check_filter},
	{"descriptors", "enough files can be open for MaxRunning Trials", check_descriptors},
	{"container", "what this machine runs in allows sandboxes", check_container},
	{"user_manager", "scopes can be had from the user manager", check_user_manager},
	{"linger", "Trials outlive the session they were launched from", check_linger},
	{"controllers", "the controllers that limits need are delegated", check_controllers},
	{"max_user_namespaces", "user namespaces are not switched off", check_max_user_namespaces},
	{"unprivileged_userns_clone", "user namespaces are not root's alone (Debian's switch)",
	 check_unprivileged_userns_clone},
	{"apparmor", "AppArmor lets bwrap make and use user namespaces", check_apparmor},
	{"user_namespace", "a user namespace can be made", check_part},
	{"mount_namespace", "a mount namespace can be made, and mounts in it", check_part},
	{"pid_namespace", "a pid namespace can be made", check_part},
	{"proc", "a /proc of its own can be mounted", check_part},
	{"network_namespace", "a network namespace can be made, and its loopback brought up",
	 check_part},
	{"ipc_namespace", "an ipc namespace can be made", check_part},
	{"uts_namespace", "a uts namespace can be made, and its host name set", check_part},
	{"cgroup_namespace", "a cgroup namespace can be made", check_part},
	{"sandbox", "a Trial's own sandbox can be built, entered and left", check_sandbox},
	{"proxy", "a Trial's proxy lets pass what is allowed, and nothing else", check_proxy},
	{"limits", "limits are in force when read back", check_limits},
};

_Static_assert(ARRAY_SIZE(checks) <= CHECKS_MAX, "room for every check");

void found(struct doctor *doctor, enum check_state state, const char *format, ...)
{
	_cleanup_free_ char *text = NULL;
	va_list arguments;

	va_start(arguments, format);
	text = text_vformat(format, arguments);
	va_end(arguments);
	doctor->current->state = state;
	free(doctor->current->message);
	doctor->current->message = text ? display(text) : NULL;
}

void mend(struct doctor *doctor, const char *format, ...)
{
	_cleanup_free_ char *text = NULL;
	va_list arguments;

	va_start(arguments, format);
	text = text_vformat(format, arguments);
	va_end(arguments);
	free(doctor->current->hint);
	doctor->current->hint = text ? display(text) : NULL;
}

void found_fault(struct doctor *doctor, enum check_state state, const struct fault *fault)
{
	found(doctor, state, "%s", fault->message ? fault->message : "not enough memory");
	if (fault->hint)
		mend(doctor, "%s", fault->hint);
}

static void doctor_make(struct doctor *doctor)
{
	for (size_t i = 0; i < ARRAY_SIZE(checks); i++) {
		doctor->current = &doctor->findings[i];
		doctor->current->check = checks[i].name;
		checks[i].make(doctor);
		if (doctor->current->state == CHECK_failed && !doctor->current->hint)
			mend(doctor, "man 8 trialsd");
	}
}

static int doctor_report(const struct doctor *doctor, int fd, enum doctor_form form)
{
	struct doctor_check items[ARRAY_SIZE(checks)];
	struct doctor_reply reply = {
		.has = {.launchable = true},
		.program = "trialsd " TRIALSD_VERSION,
		.launchable = true,
		.checks = {.count = ARRAY_SIZE(checks), .items = items},
	};
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(checks); i++) {
		const struct finding *finding = &doctor->findings[i];

		items[i] = (struct doctor_check){
			.has = {.state = true},
			.name = checks[i].name,
			.proves = checks[i].proves,
			.state = finding->state,
			.message = finding->message,
			.hint = finding->hint,
		};
		if (finding->state != CHECK_failed || !reply.launchable)
			continue;
		reply.launchable = false;
		reply.message = finding->message;
		reply.hint = finding->hint;
	}
	r = report_write(fd, form, &reply);
	if (r < 0)
		return r;
	return reply.launchable ? 0 : FAULT;
}

static void doctor_done(struct doctor *doctor)
{
	for (size_t i = 0; i < ARRAY_SIZE(checks); i++) {
		free(doctor->findings[i].message);
		free(doctor->findings[i].hint);
	}
	trial_done(&doctor->trial);
	plan_bwrap_done(&doctor->bwrap);
	fd_close(doctor->seccomp_fd);
}

int doctor_run(const struct doctor_options *options, int fd, enum doctor_form form)
{
	struct doctor doctor = {
		.options = options,
		.root = "",
		.bwrap = {.fd = -1},
		.seccomp_fd = -1,
		.trial = {.fault = FAULT_INIT},
	};
	int r;

	signal(SIGPIPE, SIG_IGN);
	doctor_make(&doctor);
	r = doctor_report(&doctor, fd, form);
	doctor_done(&doctor);
	return r;
}

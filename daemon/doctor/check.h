/* SPDX-License-Identifier: MIT */
#pragma once

#include "doctor/doctor.h"
#include "doctor/host.h"
#include "doctor/trial.h"
#include "plan/plan.h"

#include <stdio.h>

/* Shared by the files of doctor/ only. */

#define CHECKS_MAX 32

struct finding {
	const char *check; /* its name */
	enum check_state state;
	char *message; /* or NULL */
	char *hint;    /* or NULL */
};

/* One run. What an earlier check found is there for the later ones. */
struct doctor {
	const struct doctor_options *options;
	const char *root; /* of what host.c reads: "" but in tests */
	struct finding findings[CHECKS_MAX];
	struct finding *current;
	struct plan_bwrap bwrap; /* fd -1 unless it will do */
	int seccomp_fd;
	bool helpers; /* both are there */
	struct host_facts facts;
	struct manager_facts manager;
	struct cgroup_facts cgroup;
	struct trial trial;  /* the launch; made by the first check that asks */
	bool user_namespace; /* one can be made, tried alone */
};

/* Fill the current finding. Text of others may hold any bytes: it is made printable here. */
void found(struct doctor *doctor, enum check_state state, const char *format, ...) _printf_(3, 4);
void mend(struct doctor *doctor, const char *format, ...) _printf_(2, 3);
/* The same from a fault: its message and hint. */
void found_fault(struct doctor *doctor, enum check_state state, const struct fault *fault);

/* The launch, made once. */
const struct trial *doctor_trial(struct doctor *doctor);
/* What stands before a command that must be run elsewhere: "" unless this is a container. */
const char *doctor_host(const struct doctor *doctor);
/* Hints at what brings limits that are not in force. */
void mend_controllers(struct doctor *doctor);
/* Why there is no user manager, and for `runtime` no folder of its; facts->lack is not THERE. */
int manager_explain(struct fault *ret_fault, const struct manager_facts *facts,
		    enum container container, const char *user, bool runtime);

/* folders.c */
void check_configuration(struct doctor *doctor);
void check_clock(struct doctor *doctor);
void check_state_folder(struct doctor *doctor);
void check_disk(struct doctor *doctor);
void check_runtime_folder(struct doctor *doctor);
void check_daemon(struct doctor *doctor);
/* Hints at how the daemon that runs takes up what a file says now. */
void mend_in_force(struct doctor *doctor, const char *before, bool restart);
/* Who holds a folder's lock: 1 with its pid (0 when it cannot be seen), 0 for nobody. */
int folder_lock_holder(const char *folder, long *ret_pid);

/* harness_file.c */
void check_harnesses(struct doctor *doctor);
void check_providers(struct doctor *doctor);

/* ledger.c */
void check_ledger(struct doctor *doctor);

/* descriptors.c */
void check_descriptors(struct doctor *doctor);

/* programs.c */
void check_helpers(struct doctor *doctor);
void check_bwrap(struct doctor *doctor);
void check_filter(struct doctor *doctor);

/* machine.c */
void check_container(struct doctor *doctor);
void check_max_user_namespaces(struct doctor *doctor);
void check_unprivileged_userns_clone(struct doctor *doctor);
void check_apparmor(struct doctor *doctor);

/* manager.c */
void check_user_manager(struct doctor *doctor);
void check_linger(struct doctor *doctor);
void check_controllers(struct doctor *doctor);

/* sandbox.c */
void check_part(struct doctor *doctor); /* each namespace, and /proc: by the check's name */
void check_sandbox(struct doctor *doctor);
void check_limits(struct doctor *doctor);

/* way_out.c */
void check_proxy(struct doctor *doctor);

/* report.c */
int report_write(int fd, enum doctor_form form, const struct doctor_reply *reply);

/* Hands all that a Trial's limits need to every user manager, from its next start on. */
#define DELEGATE_COMMAND                                                                             \
	"sudo mkdir -p /etc/systemd/system/user@.service.d && printf '[Service]\\nDelegate=cpu "     \
	"cpuset io memory pids\\n' | sudo tee /etc/systemd/system/user@.service.d/delegate.conf && " \
	"sudo systemctl daemon-reload"

/* report.c: `"key":"text"` of JSON behind what separates it, or nothing for NULL. UTF-8, printable. */
void report_text(FILE *file, const char *separator, const char *key, const char *text);

/* SPDX-License-Identifier: MIT */

/*
 * The sandbox: where the real launch went well, its own boundary is the proof of every namespace;
 * where it did not, each is tried alone, and the first that is refused is the cause.
 */
#include "doctor/check.h"

#include "base/no_sandbox.h"

#include <stdio.h>
#include <string.h>

#include "doctor/namespaces.h"

struct step {
	const char *check;
	const char *name;   /* for people */
	const char *limit;  /* its switch below /proc/sys/user, or NULL */
	const char *config; /* the kernel's option */
	size_t boundary;    /* offset in struct boundary, or SIZE_MAX */
};

static const struct step steps[STEP_COUNT] = {
	[STEP_USER] = {"user_namespace", "user namespace", "max_user_namespaces", "CONFIG_USER_NS",
		       offsetof(struct boundary, own_user)},
	[STEP_MOUNT] = {"mount_namespace", "mount namespace", "max_mnt_namespaces",
			"CONFIG_NAMESPACES", offsetof(struct boundary, own_mount)},
	[STEP_PID] = {"pid_namespace", "pid namespace", "max_pid_namespaces", "CONFIG_PID_NS",
		      offsetof(struct boundary, own_pid)},
	[STEP_PROC] = {"proc", "/proc of its own", "max_pid_namespaces", "CONFIG_PROC_FS",
		       SIZE_MAX},
	[STEP_NETWORK] = {"network_namespace", "network namespace", "max_net_namespaces",
			  "CONFIG_NET_NS", offsetof(struct boundary, own_network)},
	[STEP_IPC] = {"ipc_namespace", "ipc namespace", "max_ipc_namespaces", "CONFIG_IPC_NS",
		      offsetof(struct boundary, own_ipc)},
	[STEP_UTS] = {"uts_namespace", "uts namespace", "max_uts_namespaces", "CONFIG_UTS_NS",
		      offsetof(struct boundary, own_uts)},
	[STEP_CGROUP] = {"cgroup_namespace", "cgroup namespace", "max_cgroup_namespaces",
			 "CONFIG_CGROUPS", offsetof(struct boundary, own_cgroup)},
};

const struct trial *doctor_trial(struct doctor *doctor)
{
	const struct doctor_options *options = doctor->options;
	const struct trial_order order = {
		.config = options->config,
		.home = options->home,
		.state_folder = options->state_folder,
		.runtime_folder = options->runtime_folder,
		.config_folder = options->config_folder,
		.keeper = options->keeper,
		.init = options->init,
		.bwrap_fd = doctor->bwrap.fd,
		.seccomp_fd = doctor->seccomp_fd,
	};
	bool possible = !options->config_lacking && doctor->helpers && doctor->bwrap.fd >= 0 &&
			doctor->seccomp_fd >= 0;

	if (!doctor->trial.tried && possible)
		trial_run(&doctor->trial, &order);
	return &doctor->trial;
}

/* What opens the door of a container, as an option of what started it. */
static const char *container_remedy(enum container container)
{
	switch (container) {
	case CONTAINER_DOCKER:
		return "docker run --security-opt seccomp=unconfined --security-opt "
		       "apparmor=unconfined --security-opt systempaths=unconfined IMAGE";
	case CONTAINER_PODMAN:
		return "podman run --security-opt seccomp=unconfined --security-opt unmask=ALL "
		       "IMAGE";
	case CONTAINER_KUBERNETES:
		return "kubectl edit the pod: securityContext with seccompProfile Unconfined, "
		       "procMount Unmasked and hostUsers false";
	case CONTAINER_LXC:
		return "lxc config set NAME security.nesting true && lxc restart NAME";
	case CONTAINER_GVISOR:
		return "docker run --runtime=runc IMAGE";
	case CONTAINER_WSL1:
		return "wsl.exe --set-version DISTRIBUTION 2";
	default:
		return NULL;
	}
}

static void mend_step(struct doctor *doctor, const struct step *step, int error)
{
	const struct host_facts *facts = &doctor->facts;
	const char *remedy = container_remedy(facts->container);

	if (error == -ENOSPC)
		mend(doctor, "%ssudo sysctl -w user.%s=15000", doctor_host(doctor), step->limit);
	else if (error == -EUSERS)
		mend(doctor, "start trialsd outside of other sandboxes: they are nested too deep");
	else if (remedy)
		mend(doctor, "%s", remedy);
	else if (error == -EINVAL || error == -ENOSYS)
		mend(doctor, "boot a kernel that is built with %s", step->config);
	else if (facts->container == CONTAINER_OTHER)
		mend(doctor, "allow nested user namespaces where this container is started");
	else
		mend(doctor, "start trialsd outside of what confines this process (grep Seccomp "
			     "/proc/self/status; cat /proc/self/attr/current)");
}

static void try_step(struct doctor *doctor, enum namespace_step number)
{
	const struct step *step = &steps[number];
	const struct trial *trial = doctor_trial(doctor);
	const char *what;
	int r;

	if (trial->delivered) {
		bool own = trial->has_boundary &&
			   (step->boundary == SIZE_MAX ||
			    *((const bool *)&trial->boundary + step->boundary));

		if (own)
			found(doctor, CHECK_ok, "as seen from inside the sandbox");
		else
			found(doctor, CHECK_failed, "the sandbox that was built has no %s",
			      step->name);
		return;
	}
	if (number != STEP_USER && !doctor->user_namespace) {
		found(doctor, CHECK_not_applicable, "not tried: it takes a user namespace");
		return;
	}
	r = namespace_try(number, &what);
	if (number == STEP_USER)
		doctor->user_namespace = r == 0;
	if (r == 0) {
		found(doctor, CHECK_ok, "tried alone");
		return;
	}
	found(doctor, CHECK_failed, "no %s can be made%s%s: %s: %s", step->name,
	      doctor->facts.container == CONTAINER_NONE ? "" : " in ", doctor->facts.container_name,
	      what, strerror(-r));
	mend_step(doctor, step, r);
}

void check_part(struct doctor *doctor)
{
	for (int i = 0; i < STEP_COUNT; i++)
		if (strcmp(steps[i].check, doctor->current->check) == 0)
			try_step(doctor, (enum namespace_step)i);
}

/* Where a check before this one failed, that is the cause; else only bwrap itself can say more. */
static void found_unbuilt(struct doctor *doctor, const struct fault *fault)
{
	const char *remedy = container_remedy(doctor->facts.container);
	bool explained = false;

	for (const struct finding *finding = doctor->findings; finding < doctor->current; finding++)
		explained = explained || finding->state == CHECK_failed;
	found_fault(doctor, CHECK_failed, fault);
	if (doctor->current->hint)
		return;
	if (explained)
		mend(doctor, "mend the first that failed");
	else if (remedy)
		mend(doctor, "%s", remedy);
	else
		mend(doctor, "%s --unshare-all --ro-bind / / true, to see what it says by itself",
		     doctor->bwrap.path);
}

void check_sandbox(struct doctor *doctor)
{
	const struct trial *trial = doctor_trial(doctor);

	if (no_sandbox_wanted()) {
		found(doctor, CHECK_warning,
		      "Trials run without one: trialsd was told so (" NO_SANDBOX_VARIABLE
		      "=1 or --no-sandbox)");
		mend(doctor, "start trialsd as usual");
	} else if (!trial->tried)
		found(doctor, CHECK_not_applicable, "not tried: see what failed before");
	else if (trial->unscoped)
		found(doctor, CHECK_not_applicable, "not tried: it takes the user manager");
	else if (trial->delivered)
		found(doctor, CHECK_ok, "built, entered, proved from inside, and left again");
	else
		found_unbuilt(doctor, &trial->fault);
}

void check_limits(struct doctor *doctor)
{
	const struct trial *trial = doctor_trial(doctor);
	char missing[128] = "", held[128] = "";

	if (!trial->delivered) {
		found(doctor, CHECK_not_applicable, "not tried: it takes a sandbox");
		return;
	}
	for (size_t i = 0; i < trial->limit_count; i++) {
		const struct limit_state *limit = &trial->limits[i];
		char *text = limit->enforced ? held : missing;
		size_t used = strlen(text);

		snprintf(text + used, sizeof(held) - used, "%s%s", used ? ", " : "", limit->name);
	}
	if (!missing[0]) {
		found(doctor, CHECK_ok, "read back: %s", held);
	} else if (trial->backend == BACKEND_none) {
		found(doctor, CHECK_warning,
		      "not in force without a user manager: %s; in force: %s", missing, held);
		if (doctor->manager.lack == MANAGER_THERE)
			mend(doctor, "trialsd --backend systemd");
	} else {
		found(doctor, CHECK_warning,
		      "asked for and not in force when read back: %s; in force: %s", missing, held);
		mend_controllers(doctor);
	}
}

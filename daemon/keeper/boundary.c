/* SPDX-License-Identifier: MIT */
#include "boundary.h"

#include <stdio.h>
#include <sys/stat.h>

static const char *const namespace_names[CONTROL_NS_COUNT] = {
	[CONTROL_NS_USER] = "user", [CONTROL_NS_MNT] = "mnt", [CONTROL_NS_PID] = "pid",
	[CONTROL_NS_IPC] = "ipc",   [CONTROL_NS_UTS] = "uts", [CONTROL_NS_CGROUP] = "cgroup",
	[CONTROL_NS_NET] = "net",
};

int boundary_own_namespaces(uint64_t ret_namespaces[CONTROL_NS_COUNT])
{
	char path[64];
	struct stat st;
	size_t i;

	for (i = 0; i < CONTROL_NS_COUNT; i++) {
		snprintf(path, sizeof(path), "/proc/self/ns/%s", namespace_names[i]);
		if (stat(path, &st) < 0)
			return -errno;
		ret_namespaces[i] = st.st_ino;
	}
	return 0;
}

static void fill(const struct control_packet *hello, const bool own[CONTROL_NS_COUNT],
		 struct boundary *ret)
{
	*ret = (struct boundary){
		.has = {.pid = true,
			.own_user = true,
			.own_mount = true,
			.own_pid = true,
			.own_ipc = true,
			.own_uts = true,
			.own_cgroup = true,
			.own_network = true,
			.no_new_privileges = true,
			.seccomp = true,
			.capabilities = true},
		.pid = hello->hello.pid,
		.own_user = own[CONTROL_NS_USER],
		.own_mount = own[CONTROL_NS_MNT],
		.own_pid = own[CONTROL_NS_PID],
		.own_ipc = own[CONTROL_NS_IPC],
		.own_uts = own[CONTROL_NS_UTS],
		.own_cgroup = own[CONTROL_NS_CGROUP],
		.own_network = own[CONTROL_NS_NET],
		.no_new_privileges = hello->hello.no_new_privileges == 1,
		.seccomp = hello->hello.seccomp == 2,
		.capabilities = hello->hello.capabilities,
	};
}

static int refuse(struct fault *fault, const char *what)
{
	fault_void(fault, CAUSE_sandbox_unavailable,
		   "the sandbox is not what was asked for, nothing was started in it: %s", what);
	return fault_hint(fault, "check which bwrap this is: bwrap --version");
}

int boundary_check(const struct control_packet *hello, const uint64_t own[CONTROL_NS_COUNT],
		   uid_t uid, enum network network, struct boundary *ret_boundary,
		   struct fault *ret_fault)
{
	bool differs[CONTROL_NS_COUNT];
	char what[80];
	bool wanted;
	size_t i;

	/* 0 is one that could not be read: never taken for a namespace of its own. */
	for (i = 0; i < CONTROL_NS_COUNT; i++)
		differs[i] = hello->hello.namespaces[i] != 0 && own[i] != 0 &&
			     hello->hello.namespaces[i] != own[i];
	fill(hello, differs, ret_boundary);

	if (hello->hello.pid != 1)
		return refuse(ret_fault, "its first process is not pid 1 of a namespace");
	for (i = 0; i < CONTROL_NS_COUNT; i++) {
		wanted = i != CONTROL_NS_NET || network != NETWORK_host;
		if (differs[i] == wanted)
			continue;
		snprintf(what, sizeof(what), "%s namespace of its own (%s)",
			 wanted ? "there is no" : "there is a", namespace_names[i]);
		return refuse(ret_fault, what);
	}
	if (hello->hello.uid != uid)
		return refuse(ret_fault, "the user id inside is another one");
	if (hello->hello.no_new_privileges != 1)
		return refuse(ret_fault, "new privileges are not ruled out");
	if (hello->hello.seccomp != 2)
		return refuse(ret_fault, "no system call filter is loaded");
	if (hello->hello.capabilities != 0)
		return refuse(ret_fault, "capabilities are left");
	return 0;
}

int boundary_check_bare(const struct control_packet *hello, const uint64_t own[CONTROL_NS_COUNT],
			uid_t uid, struct boundary *ret_boundary, struct fault *ret_fault)
{
	bool differs[CONTROL_NS_COUNT];

	for (size_t i = 0; i < CONTROL_NS_COUNT; i++)
		differs[i] = hello->hello.namespaces[i] != own[i];
	fill(hello, differs, ret_boundary);
	for (size_t i = 0; i < CONTROL_NS_COUNT; i++)
		if (differs[i])
			return fault_void(ret_fault, CAUSE_sandbox_unavailable,
					  "the first process is not where it was started");
	if (hello->hello.uid != uid || hello->hello.no_new_privileges != 1)
		return fault_void(ret_fault, CAUSE_sandbox_unavailable,
				  "the first process could not rule out new privileges");
	return 0;
}

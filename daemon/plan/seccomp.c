/* SPDX-License-Identifier: MIT */
#include "plan/plan.h"

#include <asm/ioctls.h>
#include <fcntl.h>
#include <seccomp.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

/*
 * The system calls that a sandbox has no use for and an attacker has: parts of the kernel that
 * namespaces do not divide, or that are young, large and reachable without any right. It is a
 * list of what is refused; all else is allowed. bwrap loads it last, just before trials-init.
 *
 * Which error: the one that programs already meet and handle. EPERM where the kernel itself, a
 * sysctl or a container refuses so; ENOSYS where programs probe for the call and fall back;
 * EAFNOSUPPORT for a socket family, as from a kernel without it.
 *
 * Namespace calls (unshare, clone, setns) are not here: --disable-userns has taken the right to
 * use them, and clone3's flags lie in memory that a filter cannot read. Other machine modes: the
 * 32-bit one gets the same rules (its socketcall hides the family, so it is absent); x32, whose
 * numbers alias, gets ENOSYS for everything.
 */

static const struct {
	int number;
	int error;
} refused[] = {
	/* Keyrings belong to the uid, not to a namespace: ours holds the person's keys. */
	{SCMP_SYS(keyctl), EPERM},
	{SCMP_SYS(add_key), EPERM},
	{SCMP_SYS(request_key), EPERM},
	/* Lets a race in the kernel be stretched for as long as one likes. */
	{SCMP_SYS(userfaultfd), EPERM},
	/* Programs in the kernel, and what it measures of the whole host. */
	{SCMP_SYS(bpf), EPERM},
	{SCMP_SYS(perf_event_open), EPERM},
	/* The host's kernel log, where dmesg_restrict is off. */
	{SCMP_SYS(syslog), EPERM},
	/* Does its work past this filter. libuv, and others, fall back. */
	{SCMP_SYS(io_uring_setup), ENOSYS},
	{SCMP_SYS(io_uring_enter), ENOSYS},
	{SCMP_SYS(io_uring_register), ENOSYS},
};

/*
 * A Grader's agent runs what the judged Trial left, a test say, beside itself: what could speak in the
 * agent's place, by its memory or its descriptors. Elsewhere a debugger may have them.
 */
static const int refused_to_graders[] = {
	SCMP_SYS(ptrace),
	SCMP_SYS(process_vm_readv),
	SCMP_SYS(process_vm_writev),
	SCMP_SYS(pidfd_getfd),
};

/* Families up to AF_NETLINK that stay: unix, IPv4, IPv6, netlink (getifaddrs needs it). */
static bool family_allowed(int family)
{
	return family == AF_UNIX || family == AF_INET || family == AF_INET6 || family == AF_NETLINK;
}

/* An int in a register: what the kernel uses is its low half, the rest may be anything. */
#define LOW_HALF 0xffffffffu

static int refuse_families(scmp_filter_ctx filter, int number)
{
	int r;

	/* All that came after netlink: packet, alg, bluetooth, vsock, xdp, can, tipc, … */
	r = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EAFNOSUPPORT), number, 1,
			     SCMP_A0(SCMP_CMP_GT, AF_NETLINK, 0));
	for (int family = 1; r == 0 && family < AF_NETLINK; family++)
		if (!family_allowed(family))
			r = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EAFNOSUPPORT), number, 1,
					     SCMP_A0(SCMP_CMP_MASKED_EQ, LOW_HALF,
						     (scmp_datum_t)family));
	return r;
}

static int fill(scmp_filter_ctx filter, bool judges)
{
	static const unsigned int requests[] = {TIOCSTI, TIOCLINUX};
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(refused); i++)
		r = seccomp_rule_add(filter, SCMP_ACT_ERRNO((uint16_t)refused[i].error),
				     refused[i].number, 0);
	for (size_t i = 0; r == 0 && judges && i < ARRAY_SIZE(refused_to_graders); i++)
		r = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), refused_to_graders[i], 0);
	/* Typing into, or pasting from, the terminal of whoever started us. */
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(requests); i++)
		r = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(ioctl), 1,
				     SCMP_A1(SCMP_CMP_MASKED_EQ, LOW_HALF, requests[i]));
	/* Another process's limits: RLIMIT_CPU 0 would end pid 1. One's own are pid 0. */
	if (r == 0)
		r = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(prlimit64), 1,
				     SCMP_A0(SCMP_CMP_NE, 0, 0));
	if (r == 0)
		r = refuse_families(filter, SCMP_SYS(socket));
	if (r == 0)
		r = refuse_families(filter, SCMP_SYS(socketpair));
	return r;
}

static int build(scmp_filter_ctx filter, bool judges)
{
	int r;

	r = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(ENOSYS));
	if (r == 0 && seccomp_arch_native() == SCMP_ARCH_X86_64)
		r = seccomp_arch_add(filter, SCMP_ARCH_X86);
	if (r == 0)
		r = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(socketcall), 0);
	return r == 0 ? fill(filter, judges) : r;
}

int plan_seccomp(bool judges, int *ret_fd, struct fault *ret_fault)
{
	_cleanup_close_ int fd = memfd_create("trials-seccomp", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	scmp_filter_ctx filter;
	int r;

	if (fd < 0)
		return -errno;
	filter = seccomp_init(SCMP_ACT_ALLOW);
	if (!filter)
		return -ENOMEM;
	r = build(filter, judges);
	if (r == 0)
		r = seccomp_export_bpf(filter, fd);
	seccomp_release(filter);
	if (r < 0)
		return fault_set(ret_fault, ERROR_unavailable,
				 "the system call filter cannot be made: libseccomp: %s",
				 strerror(-r));
	if (lseek(fd, 0, SEEK_SET) < 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		return -errno;
	*ret_fd = fd_steal(&fd);
	return 0;
}

/* SPDX-License-Identifier: MIT */
#include "harden.h"

#include <fcntl.h>
#include <libgen.h>
#include <linux/landlock.h>
#include <seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/mem.h"

/* As Linux 6.12 has them; headers may be older. */
#define FS_REFER (1ULL << 13)	   /* version 2 */
#define FS_TRUNCATE (1ULL << 14)   /* version 3 */
#define FS_IOCTL_DEV (1ULL << 15)  /* version 5 */
#define NET_BIND_TCP (1ULL << 0)   /* version 4 */
#define SCOPE_ABSTRACT (1ULL << 0) /* version 6 */

#define FS_VERSION_1 ((1ULL << 13) - 1)
#define FS_READ (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define FS_CHANGE                                                                                  \
	(FS_READ | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |                 \
	 LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_DIR |                            \
	 LANDLOCK_ACCESS_FS_MAKE_REG | FS_TRUNCATE)
/* What a plain file can be given. */
#define FS_OF_FILES (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | FS_TRUNCATE)

struct ruleset {
	uint64_t handled_fs;
	uint64_t handled_net;
	uint64_t scoped;
};

static int add_descriptor(int ruleset, uint64_t handled, int fd, uint64_t access)
{
	struct landlock_path_beneath_attr rule = {.parent_fd = fd};
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	rule.allowed_access = access & handled & (S_ISDIR(st.st_mode) ? ~0ULL : FS_OF_FILES);
	return syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0
		       ? -errno
		       : 0;
}

/* What is not there needs no rule. */
static int add_path(int ruleset, uint64_t handled, const char *path, uint64_t access)
{
	_cleanup_close_ int fd = open(path, O_PATH | O_CLOEXEC);

	if (fd < 0)
		return errno == ENOENT || errno == EACCES || errno == ENOTDIR ? 0 : -errno;
	return add_descriptor(ruleset, handled, fd, access);
}

/*
 * Where files of /etc are that a look-up reads: the folder, since they are replaced by renaming. Not
 * a folder as wide as / or a home.
 */
static int add_target(int ruleset, uint64_t handled, const char *path)
{
	_cleanup_free_ char *target = realpath(path, NULL);
	_cleanup_close_ int fd = -1;

	if (!target || strncmp(target, "/etc/", 5) == 0)
		return 0;
	fd = open(target, O_PATH | O_CLOEXEC);
	if (fd >= 0 && strncmp(target, "/run/", 5) != 0)
		return add_descriptor(ruleset, handled, fd, LANDLOCK_ACCESS_FS_READ_FILE);
	return add_path(ruleset, handled, dirname(target), LANDLOCK_ACCESS_FS_READ_FILE);
}

static int fill(int ruleset, uint64_t handled, const struct harden_order *order)
{
	static const char *const read_only[] = {"/etc",	  "/usr",    "/lib", "/lib64",
						"/lib32", "/libx32", "/proc"};
	static const char *const look_up[] = {"/etc/resolv.conf", "/etc/hosts",
					      "/etc/nsswitch.conf", "/etc/gai.conf"};
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(read_only); i++)
		r = add_path(ruleset, handled, read_only[i], FS_READ);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(look_up); i++)
		r = add_target(ruleset, handled, look_up[i]);
	if (r == 0)
		r = add_path(ruleset, handled, "/dev/null", FS_OF_FILES);
	for (size_t i = 0; r == 0 && i < order->count; i++)
		if (order->folders[i].fd >= 0)
			r = add_descriptor(ruleset, handled, order->folders[i].fd,
					   order->folders[i].writable ? FS_CHANGE : FS_READ);
	return r;
}

static struct ruleset ruleset_for(long version)
{
	struct ruleset ruleset = {.handled_fs = FS_VERSION_1};

	if (version >= 2)
		ruleset.handled_fs |= FS_REFER;
	if (version >= 3)
		ruleset.handled_fs |= FS_TRUNCATE;
	if (version >= 4)
		ruleset.handled_net = NET_BIND_TCP;
	if (version >= 5)
		ruleset.handled_fs |= FS_IOCTL_DEV;
	if (version >= 6)
		ruleset.scoped = SCOPE_ABSTRACT;
	return ruleset;
}

static int restrict_files(const struct harden_order *order)
{
	long version = syscall(SYS_landlock_create_ruleset, NULL, 0,
			       LANDLOCK_CREATE_RULESET_VERSION);
	_cleanup_close_ int fd = -1;
	struct ruleset ruleset;
	size_t size;
	int r;

	/* Not in this kernel, or not among those it was started with. */
	if (version < 0)
		return errno == ENOSYS || errno == EOPNOTSUPP ? 0 : -errno;
	ruleset = ruleset_for(version);
	size = version >= 6   ? sizeof(ruleset)
	       : version >= 4 ? offsetof(struct ruleset, scoped)
			      : offsetof(struct ruleset, handled_net);
	fd = (int)syscall(SYS_landlock_create_ruleset, &ruleset, size, 0);
	if (fd < 0)
		return -errno;
	r = fill(fd, ruleset.handled_fs, order);
	if (r == 0 && syscall(SYS_landlock_restrict_self, fd, 0) < 0)
		r = -errno;
	return r;
}

static const int refused[] = {
	SCMP_SYS(execve),
	SCMP_SYS(execveat),
	SCMP_SYS(ptrace),
	SCMP_SYS(process_vm_readv),
	SCMP_SYS(process_vm_writev),
	SCMP_SYS(pidfd_getfd),
	SCMP_SYS(kcmp),
	SCMP_SYS(mount),
	SCMP_SYS(umount2),
	SCMP_SYS(pivot_root),
	SCMP_SYS(chroot),
	SCMP_SYS(fsopen),
	SCMP_SYS(fsmount),
	SCMP_SYS(fspick),
	SCMP_SYS(open_tree),
	SCMP_SYS(move_mount),
	SCMP_SYS(mount_setattr),
	SCMP_SYS(setns),
	SCMP_SYS(unshare),
	SCMP_SYS(keyctl),
	SCMP_SYS(add_key),
	SCMP_SYS(request_key),
	SCMP_SYS(bpf),
	SCMP_SYS(perf_event_open),
	SCMP_SYS(userfaultfd),
	SCMP_SYS(io_uring_setup),
	SCMP_SYS(io_uring_enter),
	SCMP_SYS(io_uring_register),
	SCMP_SYS(open_by_handle_at),
	SCMP_SYS(personality),
	SCMP_SYS(init_module),
	SCMP_SYS(finit_module),
	SCMP_SYS(delete_module),
	SCMP_SYS(kexec_load),
	SCMP_SYS(swapon),
	SCMP_SYS(swapoff),
	SCMP_SYS(reboot),
	SCMP_SYS(acct),
	SCMP_SYS(quotactl),
	SCMP_SYS(modify_ldt),
};

static int fill_calls(scmp_filter_ctx filter)
{
	/* Those between and above them. */
	static const int families[] = {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK};
	unsigned int from = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(refused); i++)
		r = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), refused[i], 0);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(families); i++) {
		for (; r == 0 && from < (unsigned int)families[i]; from++)
			r = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EAFNOSUPPORT), SCMP_SYS(socket),
					     1, SCMP_A0(SCMP_CMP_EQ, from, 0));
		from = (unsigned int)families[i] + 1;
	}
	if (r == 0)
		r = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EAFNOSUPPORT), SCMP_SYS(socket), 1,
				     SCMP_A0(SCMP_CMP_GE, from, 0));
	return r;
}

static int restrict_calls(void)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	int r;

	if (!filter)
		return -ENOMEM;
	r = fill_calls(filter);
	if (r == 0)
		r = seccomp_load(filter);
	seccomp_release(filter);
	return r;
}

int harden(const struct harden_order *order, struct fault *ret_fault)
{
	int r = prctl(PR_SET_NO_NEW_PRIVS, 1L, 0L, 0L, 0L) < 0 ? -errno : 0;

	if (r == 0)
		r = restrict_files(order);
	if (r == 0)
		r = restrict_calls();
	if (r == 0)
		return 0;
	return fault_void(ret_fault, CAUSE_sandbox_unavailable,
			  "the keeper cannot give up what it does not need: %s", strerror(-r));
}

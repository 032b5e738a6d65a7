/* SPDX-License-Identifier: MIT */
#include "confine.h"

#include <fcntl.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>

/*
 * What the task's own code and libc's allocation, time and end need. A list of what is allowed, so
 * that what nobody thought of is not there.
 */
static const int allowed[] = {
	SCMP_SYS(read),		 SCMP_SYS(pread64),
	SCMP_SYS(write),	 SCMP_SYS(pwrite64),
	SCMP_SYS(close),	 SCMP_SYS(fstat),
	SCMP_SYS(lseek),	 SCMP_SYS(ftruncate),
	SCMP_SYS(fsync),	 SCMP_SYS(flock),
	SCMP_SYS(brk),		 SCMP_SYS(munmap),
	SCMP_SYS(mremap),	 SCMP_SYS(madvise),
	SCMP_SYS(clock_gettime), SCMP_SYS(clock_nanosleep),
	SCMP_SYS(nanosleep),	 SCMP_SYS(futex),
	SCMP_SYS(getrandom),	 SCMP_SYS(getuid),
	SCMP_SYS(geteuid),	 SCMP_SYS(getpid),
	SCMP_SYS(rt_sigreturn),	 SCMP_SYS(restart_syscall),
#ifdef TRIALSD_FAULT_POINTS
	SCMP_SYS(kill),
#endif
	SCMP_SYS(exit),		 SCMP_SYS(exit_group),
};

/* Their first argument is the folder. */
static const int by_folder[] = {
	SCMP_SYS(openat),
	SCMP_SYS(newfstatat),
	SCMP_SYS(unlinkat),
};

/* Their first and third are. */
static const int by_two_folders[] = {
	SCMP_SYS(renameat),
	SCMP_SYS(renameat2),
};

/* Descriptors are ints: what the kernel does not look at of a register may be anything. */
#define LOW_HALF 0xffffffffu

static int allow_folder(scmp_filter_ctx filter, scmp_datum_t fd)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(by_folder); i++)
		r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, by_folder[i], 1,
				     SCMP_A0(SCMP_CMP_MASKED_EQ, LOW_HALF, fd));
	/* From one folder to another nothing is moved. */
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(by_two_folders); i++)
		r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, by_two_folders[i], 2,
				     SCMP_A0(SCMP_CMP_MASKED_EQ, LOW_HALF, fd),
				     SCMP_A2(SCMP_CMP_MASKED_EQ, LOW_HALF, fd));
	return r;
}

static int fill(scmp_filter_ctx filter, int first, int last)
{
	static const int memory[] = {SCMP_SYS(mmap), SCMP_SYS(mprotect)};
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(allowed); i++)
		r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, allowed[i], 0);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(memory); i++)
		r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, memory[i], 1,
				     SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
	for (int fd = first; r == 0 && fd <= last; fd++)
		r = allow_folder(filter, (scmp_datum_t)fd);
	/* How libc asks what a descriptor is: by an empty name. */
	if (r == 0)
		r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(newfstatat), 1,
				     SCMP_A3(SCMP_CMP_MASKED_EQ, AT_EMPTY_PATH, AT_EMPTY_PATH));
	return r;
}

int confine(int first, int last)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(ENOSYS));
	int r;

	if (!filter)
		return -ENOMEM;
	/* Sets no_new_privs too. */
	r = fill(filter, first, last);
	if (r == 0)
		r = seccomp_load(filter);
	seccomp_release(filter);
	return r;
}

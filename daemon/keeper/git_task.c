/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <seccomp.h>
#include <sys/mman.h>

#include "git_look.h"
#include "base/file.h"

/* What looking, allocating and ending takes; the last one is for the address sanitizer. */
static const int allowed[] = {
	SCMP_SYS(read),	      SCMP_SYS(write),		SCMP_SYS(close),	SCMP_SYS(fstat),
	SCMP_SYS(newfstatat), SCMP_SYS(getdents64),	SCMP_SYS(readlinkat),	SCMP_SYS(lseek),
	SCMP_SYS(brk),	      SCMP_SYS(munmap),		SCMP_SYS(mremap),	SCMP_SYS(madvise),
	SCMP_SYS(futex),      SCMP_SYS(getrandom),	SCMP_SYS(rt_sigreturn), SCMP_SYS(exit),
	SCMP_SYS(exit_group), SCMP_SYS(rt_sigprocmask), SCMP_SYS(sigaltstack),
};

#define LOW_HALF 0xffffffffu
#define OPEN_WRITES (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | O_TMPFILE)

static int fill(scmp_filter_ctx filter)
{
	static const int memory[] = {SCMP_SYS(mmap), SCMP_SYS(mprotect)};
	static const scmp_datum_t flags[] = {F_GETFD, F_SETFD, F_GETFL};
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(allowed); i++)
		r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, allowed[i], 0);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(memory); i++)
		r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, memory[i], 1,
				     SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
	/* fdopendir asks how a descriptor is open. */
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(flags); i++)
		r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(fcntl), 1,
				     SCMP_A1(SCMP_CMP_MASKED_EQ, LOW_HALF, flags[i]));
	/* O_TMPFILE holds O_DIRECTORY, which is no harm. */
	if (r == 0)
		r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(openat), 1,
				     SCMP_A2(SCMP_CMP_MASKED_EQ, OPEN_WRITES & ~O_DIRECTORY, 0));
	return r;
}

/* Leaves this process, for good, only what it takes to read files. */
static int confine_to_reading(void)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(ENOSYS));
	int r;

	if (!filter)
		return -ENOMEM;
	r = fill(filter);
	/* Sets no_new_privs too. */
	if (r == 0)
		r = seccomp_load(filter);
	seccomp_release(filter);
	return r;
}

static int write_layout(const struct git_findings *findings)
{
	const struct git_layout layout = {
		.has = {.kind = true,
			.problem = true,
			.error = findings->error != 0,
			.device = findings->folder != NULL,
			.inode = findings->folder != NULL},
		.kind = findings->kind,
		.problem = findings->problem,
		.path = findings->path,
		.error = (uint64_t)findings->error,
		.folder = findings->folder,
		.excludes = {.count = findings->excludes ? 1 : 0,
			     .items = (const char **)&findings->excludes},
		.device = findings->device,
		.inode = findings->inode,
		.alternates = {.count = findings->alternates.count,
			       .items = (const char **)findings->alternates.items},
	};
	msgpack_sbuffer buffer;
	msgpack_packer packer;
	int r;

	msgpack_sbuffer_init(&buffer);
	msgpack_packer_init(&packer, &buffer, msgpack_sbuffer_write);
	r = message_encode(&packer, &git_layout_type, &layout);
	if (r == 0)
		r = file_write(GIT_TASK_FD_RESULT, buffer.data, buffer.size);
	msgpack_sbuffer_destroy(&buffer);
	return r;
}

int git_task(const char *repository)
{
	_cleanup_(git_findings_done) struct git_findings findings = {0};
	int r = repository[0] == '/' ? confine_to_reading() : -EINVAL;

	if (r == 0)
		r = git_look(GIT_TASK_FD_REPOSITORY, repository, &findings);
	return r == 0 ? write_layout(&findings) : r;
}

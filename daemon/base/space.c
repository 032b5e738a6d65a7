/* SPDX-License-Identifier: MIT */
#include "base/space.h"

#include <stdio.h>
#include <sys/statvfs.h>

#include "proto/quantity.h"

uint64_t space_free(int fd, const char *path)
{
	struct statvfs fs;

	/* What cannot be looked at is not short of room. */
	if ((fd < 0 ? statvfs(path, &fs) : fstatvfs(fd, &fs)) < 0)
		return UINT64_MAX;
	return (uint64_t)fs.f_bavail * fs.f_frsize;
}

bool space_is_below(uint64_t least, int fd, const char *path, char *reason, size_t size)
{
	uint64_t bytes = least ? space_free(fd, path) : 0;
	char there[32], wanted[32];

	if (!least || bytes >= least)
		return false;
	snprintf(reason, size, "free space: %s where %s is, MinFree is %s",
		 quantity_format_size(bytes, there, sizeof(there)), path,
		 quantity_format_size(least, wanted, sizeof(wanted)));
	return true;
}

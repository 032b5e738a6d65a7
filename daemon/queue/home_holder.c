/* SPDX-License-Identifier: MIT */
#include "queue/home_holder.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "plan/text_file.h"

#define LOCKS_BYTES_MAX (4u << 20)
#define LOCKS_READINGS 4
#define FIRST_PID_NAMESPACE 0xEFFFFFFCu /* its inode, fixed in the kernel */
#define PROCESSES_MAX 4096
#define DESCRIPTORS_MAX 16384 /* of all of them together */

int home_holder_parse(char *text, unsigned int major, unsigned int minor, ino_t inode,
		      pid_t *ret_pid)
{
	char *line;

	while ((line = strsep(&text, "\n"))) {
		unsigned long long there;
		unsigned int device[2];
		int pid;

		/* Those that wait have an arrow behind the number. */
		if (sscanf(line, "%*u: FLOCK %*s %*s %d %x:%x:%llu", &pid, &device[0], &device[1],
			   &there) != 4 ||
		    there != inode)
			continue;
		/* An overlay's locks name the filesystem below it. */
		if (major != 0 && (device[0] != major || device[1] != minor))
			continue;
		*ret_pid = pid;
		return 1;
	}
	return 0;
}

static void command_read(pid_t pid, char *command, size_t size)
{
	char path[32];
	ssize_t n;
	int fd;

	command[0] = '\0';
	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	n = read(fd, command, size - 1);
	close(fd);
	command[n > 0 ? n : 0] = '\0';
	command[strcspn(command, "\n")] = '\0';
	for (char *at = command; *at; at++)
		if (!isprint((unsigned char)*at))
			*at = '?';
}

/* Whether descriptor name of a process has the folder open, and locked. */
static bool has_lock(int process_fd, int descriptors_fd, const char *name, const char *folder)
{
	_cleanup_close_ int fd = -1;
	char text[PATH_MAX], path[64];
	ssize_t n = readlinkat(descriptors_fd, name, text, sizeof(text) - 1);

	/* By name: to look at the file itself could wait for a filesystem that does not answer. */
	if (n < 0)
		return false;
	text[n] = '\0';
	if (strcmp(text, folder) != 0)
		return false;
	snprintf(path, sizeof(path), "fdinfo/%.20s", name);
	fd = openat(process_fd, path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n < 0)
		return false;
	text[n] = '\0';
	return strstr(text, "FLOCK") != NULL;
}

/* 1, 0, or -errno when its descriptors may not be looked at (-EACCES), or it is gone (-ENOENT). */
static int process_has_lock(const char *pid, const char *folder, int *budget)
{
	_cleanup_close_ int process_fd = -1;
	const struct dirent *entry;
	DIR *descriptors;
	char path[32];
	int found = 0, fd;

	snprintf(path, sizeof(path), "/proc/%.12s", pid);
	process_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (process_fd < 0)
		return -errno;
	fd = openat(process_fd, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	descriptors = fdopendir(fd);
	if (!descriptors) {
		close(fd);
		return -ENOMEM;
	}
	while (!found && *budget > 0 && (entry = readdir(descriptors))) {
		(*budget)--;
		found = has_lock(process_fd, fd, entry->d_name, folder);
	}
	closedir(descriptors);
	return found;
}

static pid_t search(const char *folder)
{
	DIR *proc = opendir("/proc");
	int processes = PROCESSES_MAX, descriptors = DESCRIPTORS_MAX;
	const struct dirent *entry;
	pid_t found = 0;

	while (proc && !found && processes > 0 && descriptors > 0 && (entry = readdir(proc))) {
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		processes--;
		if (process_has_lock(entry->d_name, folder, &descriptors) == 1)
			found = (pid_t)strtol(entry->d_name, NULL, 10);
	}
	if (proc)
		closedir(proc);
	return found;
}

/* Whether a process of this pid may be who took it. Its pid may be another's by now. */
static bool may_have_it(pid_t pid, const char *folder)
{
	int budget = DESCRIPTORS_MAX;
	char name[16];
	int r;

	snprintf(name, sizeof(name), "%d", (int)pid);
	r = process_has_lock(name, folder, &budget);
	return r == 1 || r == -EACCES || r == -EPERM;
}

/*
 * The kernel gives its list a page at a time, and goes on by the number of the entry: one that goes
 * away meanwhile hides another. So that nobody has it has to be read several times.
 */
int lock_holder_find(unsigned int major, unsigned int minor, ino_t inode, pid_t *ret_pid)
{
	int r = 0, i;

	for (i = 0; r == 0 && i < LOCKS_READINGS; i++) {
		_cleanup_free_ char *text = NULL;

		r = text_file_read("/proc/locks", LOCKS_BYTES_MAX, &text, NULL);
		if (r == 0)
			r = home_holder_parse(text, major, minor, inode, ret_pid);
	}
	return r;
}

/* Below the first pid namespace the list leaves out what was taken by a process that is gone. */
static bool list_is_whole(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) == 0 && st.st_ino == FIRST_PID_NAMESPACE;
}

int home_holder_find(const struct home_folder *folder, bool deep, struct home_holder *ret_holder)
{
	pid_t pid = 0;
	int r = lock_holder_find(folder->lock_major, folder->lock_minor, folder->inode, &pid);

	*ret_holder = (struct home_holder){0};
	if (r < 0 || (r == 0 && list_is_whole()))
		return r;
	if (pid > 0 && may_have_it(pid, folder->path)) {
		ret_holder->pid = pid;
	} else {
		ret_holder->taken_by = pid > 0 ? pid : 0;
		ret_holder->pid = deep || r == 0 ? search(folder->path) : 0;
	}
	if (r == 0 && !ret_holder->pid)
		return 0;
	if (ret_holder->pid)
		command_read(ret_holder->pid, ret_holder->command, sizeof(ret_holder->command));
	return 1;
}

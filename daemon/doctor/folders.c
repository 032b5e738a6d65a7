/* SPDX-License-Identifier: MIT */

/* What trialsd itself needs: its configuration, its folders, a clock, and to be the only one. */
#include "doctor/check.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <time.h>

#include "base/mem.h"
#include "proto/quantity.h"

#define YEAR_2024 1704067200 /* seconds; nothing of ours is older */
#define YEAR_2100 4102444800
#define SPACE_LOW (2ull << 30)
#define SPACE_LEAST (16ull << 20) /* the ledger, an outcome and the head of an output */
#define INODES_LEAST 64

void check_configuration(struct doctor *doctor)
{
	const struct fault *lacking = doctor->options->config_lacking;

	if (lacking)
		found_fault(doctor, CHECK_failed, lacking);
	else
		found(doctor, CHECK_ok, "backend %s, at most %u at once",
		      backend_name((int)doctor->options->config->backend),
		      doctor->options->config->max_running);
}

void check_clock(struct doctor *doctor)
{
	struct timespec real, monotonic, boot;
	char text[64];
	struct tm tm;

	clock_gettime(CLOCK_REALTIME, &real);
	clock_gettime(CLOCK_MONOTONIC, &monotonic);
	clock_gettime(CLOCK_BOOTTIME, &boot);
	strftime(text, sizeof(text), "%F %T UTC", gmtime_r(&real.tv_sec, &tm));
	if (real.tv_sec < YEAR_2024 || real.tv_sec > YEAR_2100) {
		found(doctor, CHECK_warning, "the clock says %s: the times of Trials will be wrong",
		      text);
		mend(doctor, "sudo timedatectl set-ntp true");
	} else if (boot.tv_sec + 1 < monotonic.tv_sec || real.tv_sec < boot.tv_sec) {
		found(doctor, CHECK_warning, "the clocks contradict each other at %s", text);
		mend(doctor, "sudo timedatectl set-ntp true");
	} else {
		found(doctor, CHECK_ok, "%s", text);
	}
}

/* The folder, or what is there of the way to it. */
static int existing(const char *path, char *ret_path, size_t size, struct stat *ret_stat)
{
	char *slash;

	snprintf(ret_path, size, "%s", path);
	while (stat(ret_path, ret_stat) < 0) {
		if (errno != ENOENT)
			return -errno;
		slash = strrchr(ret_path, '/');
		if (!slash)
			return -ENOENT;
		slash[slash == ret_path] = '\0';
	}
	return 0;
}

/* As trialsd will judge it at its start, without making anything. */
static void check_folder(struct doctor *doctor, const char *folder)
{
	char there[PATH_BYTES_MAX + 1];
	struct stat st;
	int r = existing(folder, there, sizeof(there), &st);

	if (r < 0) {
		found(doctor, CHECK_failed, "%s: %s", folder, strerror(-r));
		mend(doctor, "mkdir -p -m 700 '%s'", folder);
	} else if (!S_ISDIR(st.st_mode)) {
		found(doctor, CHECK_failed, "%s is not a folder", there);
		mend(doctor, "mv '%s' '%s.old'", there, there);
	} else if (strcmp(there, folder) != 0 && access(there, W_OK | X_OK) < 0) {
		found(doctor, CHECK_failed, "%s does not exist, and cannot be made in %s: %s",
		      folder, there, strerror(errno));
		mend(doctor, "sudo install -d -m 700 -o %u '%s'", (unsigned int)getuid(), folder);
	} else if (strcmp(there, folder) != 0) {
		found(doctor, CHECK_ok, "%s will be made", folder);
	} else if (st.st_uid != getuid()) {
		found(doctor, CHECK_failed, "%s belongs to another user", folder);
		mend(doctor, "sudo chown %u '%s'", (unsigned int)getuid(), folder);
	} else if (st.st_mode & 0077) {
		found(doctor, CHECK_failed, "%s: others can enter it (mode %04o)", folder,
		      (unsigned int)(st.st_mode & 07777));
		mend(doctor, "chmod 700 '%s'", folder);
	} else if (access(folder, W_OK | X_OK) < 0) {
		found(doctor, CHECK_failed, "%s cannot be written: %s", folder, strerror(errno));
		mend(doctor, "chmod 700 '%s'", folder);
	} else {
		found(doctor, CHECK_ok, "%s", folder);
	}
}

void check_state_folder(struct doctor *doctor)
{
	check_folder(doctor, doctor->options->state_folder);
}

void check_runtime_folder(struct doctor *doctor)
{
	if (doctor->options->runtime_folder)
		check_folder(doctor, doctor->options->runtime_folder);
	else
		found_fault(doctor, CHECK_failed, doctor->options->runtime_lacking);
}

void check_disk(struct doctor *doctor)
{
	char there[PATH_BYTES_MAX + 1], free_text[32];
	struct statvfs fs;
	struct stat st;
	uint64_t space;

	if (existing(doctor->options->state_folder, there, sizeof(there), &st) < 0 ||
	    statvfs(there, &fs) < 0) {
		found(doctor, CHECK_not_applicable, "there is no state folder to look at");
		return;
	}
	space = (uint64_t)fs.f_bavail * fs.f_frsize;
	quantity_format_size(space, free_text, sizeof(free_text));
	if (space < SPACE_LEAST || (fs.f_files > 0 && fs.f_favail < INODES_LEAST)) {
		found(doctor, CHECK_failed, "the filesystem of %s is full: %s and %llu files free",
		      there, free_text, (unsigned long long)fs.f_favail);
		mend(doctor, "df -h '%s'; df -i '%s'; and make room there", there, there);
	} else if (space < SPACE_LOW) {
		found(doctor, CHECK_warning, "only %s free on the filesystem of %s", free_text,
		      there);
		mend(doctor, "df -h '%s'; and make room there", there);
	} else {
		found(doctor, CHECK_ok, "%s free", free_text);
	}
}

/*
 * Who holds a folder's lock: 1 with its pid (0 when it cannot be seen), 0 for nobody. By
 * /proc/locks: to try the lock would be to hold it for a moment, and a daemon that starts in that
 * moment would be turned away.
 */
static int lock_holder(const char *folder, long *ret_pid)
{
	char path[PATH_BYTES_MAX + 32], line[256];
	struct stat st;
	FILE *locks;
	int held = 0;

	snprintf(path, sizeof(path), "%s/trialsd.lock", folder);
	if (stat(path, &st) < 0)
		return 0;
	locks = fopen("/proc/locks", "re");
	while (locks && !held && fgets(line, sizeof(line), locks)) {
		unsigned long long inode;
		unsigned int major_number, minor_number;
		long pid;

		/* The device is the layer below where the filesystem is an overlay. */
		held = sscanf(line, "%*d: FLOCK ADVISORY WRITE %ld %x:%x:%llu", &pid, &major_number,
			      &minor_number, &inode) == 4 &&
		       inode == st.st_ino &&
		       (major(st.st_dev) == 0 ||
			(major_number == major(st.st_dev) && minor_number == minor(st.st_dev)));
		if (held)
			*ret_pid = pid;
	}
	if (locks)
		fclose(locks);
	return held;
}

void check_daemon(struct doctor *doctor)
{
	const char *state = doctor->options->state_folder;
	const char *runtime = doctor->options->runtime_folder;
	long of_state = 0, of_runtime = 0;
	int state_held = lock_holder(state, &of_state);
	int runtime_held = runtime ? lock_holder(runtime, &of_runtime) : 0;

	if (!state_held && !runtime_held) {
		found(doctor, CHECK_ok, "none serves these folders now");
	} else if (state_held && runtime_held && of_state == of_runtime) {
		found(doctor, CHECK_ok, "pid %ld serves these folders", of_state);
	} else if (state_held && runtime_held) {
		found(doctor, CHECK_failed,
		      "two daemons: pid %ld has the state folder %s, and pid %ld the runtime "
		      "folder %s",
		      of_state, state, of_runtime, runtime);
		mend(doctor, "trialctl --socket '%s/socket' shutdown", runtime);
	} else if (state_held) {
		found(doctor, CHECK_failed,
		      "another trialsd, pid %ld, serves the state folder %s at another socket",
		      of_state, state);
		mend(doctor, "kill %ld", of_state);
	} else {
		found(doctor, CHECK_failed,
		      "another trialsd, pid %ld, serves the runtime folder %s with another state "
		      "folder",
		      of_runtime, runtime);
		mend(doctor, "trialctl --socket '%s/socket' shutdown", runtime);
	}
}

/* SPDX-License-Identifier: MIT */

/* What trialsd itself needs: its configuration, its folders, a clock, and to be the only one. */
#include "doctor/check.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <time.h>

#include "base/config_text.h"
#include "base/reload.h"
#include "base/space.h"
#include "proto/quantity.h"
#include "queue/home_holder.h"

#define YEAR_2024 1704067200 /* seconds; nothing of ours is older */
#define YEAR_2100 4102444800
#define CLOCK_SLACK_SECONDS 60

/*
 * By /proc/locks: to try the lock would be to hold it for a moment, and a daemon that starts in that
 * moment would be turned away.
 */
int folder_lock_holder(const char *folder, long *ret_pid)
{
	char path[PATH_BYTES_MAX + 32];
	struct stat st;
	pid_t pid;

	snprintf(path, sizeof(path), "%s/trialsd.lock", folder);
	if (stat(path, &st) < 0 ||
	    lock_holder_find(major(st.st_dev), minor(st.st_dev), st.st_ino, &pid) <= 0)
		return 0;
	*ret_pid = pid;
	return 1;
}

/* How the daemon that has a configuration in force is told to take up another. */
void mend_in_force(struct doctor *doctor, const char *before, bool restart)
{
	const char *runtime = doctor->options->runtime_folder;
	char command[RELOAD_COMMAND_BYTES];
	long pid = 0;

	if (runtime)
		folder_lock_holder(runtime, &pid);
	if (restart && reload_is_service((pid_t)pid))
		mend(doctor, "%ssystemctl --user restart trialsd", before);
	else if (restart || pid <= 0)
		mend(doctor, "%strialctl shutdown, and start trialsd again", before);
	else
		mend(doctor, "%s%s", before, reload_command((pid_t)pid, command));
}

static void check_configuration_in_force(struct doctor *doctor)
{
	const struct doctor_options *options = doctor->options;
	_cleanup_free_ char *names = NULL, *file = NULL;
	bool restart = false;

	if (options->config_at_fault) {
		found(doctor, CHECK_warning,
		      "what is in force is good, and trialsd would not start with what the file says "
		      "since: %s",
		      options->config_at_fault->message);
		mend_in_force(doctor, "correct the file; then ", false);
		return;
	}
	if (asprintf(&file, "%s/trialsd.conf", options->config_folder) < 0)
		file = NULL;
	if (config_differences(options->config, options->config_on_disk, &names, &restart) < 0 ||
	    !names)
		return;
	found(doctor, CHECK_warning, "%s was changed since it was read, and is not in force: %s",
	      options->config_file ? options->config_file : file, names);
	mend_in_force(doctor, "", restart);
}

/* What may stand there, and will hardly do what was meant. */
static void check_configuration_meant(struct doctor *doctor)
{
	_cleanup_free_ char *warning = NULL;

	if (plan_config_warning(doctor->options->config, &warning) == 1 && warning) {
		found(doctor, CHECK_warning, "%s", warning);
		mend(doctor, "trialsd.conf(5), EXAMPLES, has such a server");
	}
}

void check_configuration(struct doctor *doctor)
{
	const struct doctor_options *options = doctor->options;

	if (options->config_lacking) {
		found_fault(doctor, CHECK_failed, options->config_lacking);
		return;
	}
	found(doctor, CHECK_ok, "backend %s, at most %u at once",
	      backend_name((int)options->config->backend), options->config->max_running);
	check_configuration_meant(doctor);
	if (options->config_on_disk)
		check_configuration_in_force(doctor);
}

static void mend_clock(struct doctor *doctor)
{
	if (*doctor_host(doctor))
		mend(doctor, "%ssudo timedatectl set-ntp true", doctor_host(doctor));
	else if (access("/run/systemd/system", F_OK) == 0)
		mend(doctor, "sudo timedatectl set-ntp true");
	else
		mend(doctor, "sudo date --set='YYYY-MM-DD HH:MM:SS'");
}

void check_clock(struct doctor *doctor)
{
	struct timespec real, monotonic, boot;
	char text[64], ledger[PATH_BYTES_MAX + 32];
	struct stat st;
	struct tm tm;

	clock_gettime(CLOCK_REALTIME, &real);
	clock_gettime(CLOCK_MONOTONIC, &monotonic);
	clock_gettime(CLOCK_BOOTTIME, &boot);
	strftime(text, sizeof(text), "%F %T UTC", gmtime_r(&real.tv_sec, &tm));
	snprintf(ledger, sizeof(ledger), "%s/ledger.db", doctor->options->state_folder);
	if (real.tv_sec < YEAR_2024 || real.tv_sec > YEAR_2100)
		found(doctor, CHECK_warning, "the clock says %s: the times of Trials will be wrong",
		      text);
	else if (boot.tv_sec + 1 < monotonic.tv_sec || real.tv_sec < boot.tv_sec)
		found(doctor, CHECK_warning, "the clocks contradict each other at %s", text);
	else if (stat(ledger, &st) == 0 && st.st_mtim.tv_sec > real.tv_sec + CLOCK_SLACK_SECONDS)
		found(doctor, CHECK_warning,
		      "the clock says %s, and the ledger was written later than that", text);
	else
		found(doctor, CHECK_ok, "%s", text);
	if (doctor->current->state != CHECK_ok)
		mend_clock(doctor);
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
	const struct doctor_options *options = doctor->options;
	uint64_t least = options->config_lacking ? 0 : options->config->min_free;
	char there[PATH_BYTES_MAX + 1], reason[PATH_BYTES_MAX + 128], size[32], wanted[32];
	struct statvfs fs;
	struct stat st;

	if (existing(options->state_folder, there, sizeof(there), &st) < 0 ||
	    statvfs(there, &fs) < 0) {
		found(doctor, CHECK_not_applicable, "there is no state folder to look at");
	} else if (space_is_below(least, -1, there, reason, sizeof(reason))) {
		found(doctor, CHECK_failed, "too little %s", reason);
		mend(doctor, SPACE_HINT);
	} else if (fs.f_bavail == 0 || (fs.f_files > 0 && fs.f_favail == 0)) {
		found(doctor, CHECK_failed, "the file system of %s is full: no %s is left", there,
		      fs.f_bavail == 0 ? "block" : "inode");
		mend(doctor, SPACE_FULL_HINT);
	} else if (options->config_lacking) {
		quantity_format_size((uint64_t)fs.f_bavail * fs.f_frsize, size, sizeof(size));
		found(doctor, CHECK_ok, "%s free", size);
	} else {
		quantity_format_size((uint64_t)fs.f_bavail * fs.f_frsize, size, sizeof(size));
		quantity_format_size(least, wanted, sizeof(wanted));
		found(doctor, CHECK_ok, "%s free, MinFree is %s", size, least ? wanted : "0");
	}
}

/* The file is not read in one go: a lock of somebody else that comes or goes can hide one. */
#define LOCK_READINGS 20
#define LOCK_READING_GAP_NANOSECONDS 10000000

void check_daemon(struct doctor *doctor)
{
	const struct timespec gap = {.tv_nsec = LOCK_READING_GAP_NANOSECONDS};
	const char *state = doctor->options->state_folder;
	const char *runtime = doctor->options->runtime_folder;
	long of_state = 0, of_runtime = 0;
	int state_held, runtime_held, i;

	for (i = 0; i < LOCK_READINGS; i++) {
		state_held = folder_lock_holder(state, &of_state);
		runtime_held = runtime ? folder_lock_holder(runtime, &of_runtime) : 0;
		if (state_held == runtime_held && (!state_held || of_state == of_runtime))
			break;
		nanosleep(&gap, NULL);
	}
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

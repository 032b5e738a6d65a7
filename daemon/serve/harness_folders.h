/* SPDX-License-Identifier: MIT */
#pragma once

#include "plan/harness.h"
#include "plan/plan.h"

/* Where the .harness files, toolchains and providers that came with trialsd are, and the person's own. */
struct harness_folders {
	char *shipped; /* beside the helper programs, in a build tree too */
	char *own;     /* need not be there */
	char *toolchains;
	char *providers;
	char *own_providers; /* need not be there */
};

/* Names them and reads them for the first time. helper: the path of one of the helper programs. */
int harness_folders_open(struct harness_folders *ret_folders, const char *helper,
			 struct plan_host *host);
void harness_folders_done(struct harness_folders *folders);

/*
 * Reads them all and puts them in the place of the host's (NULL: none was read before). What is at
 * fault is told (file_fault) by file and line: one .harness file is there with its fault; of a folder,
 * of toolchains or of providers all stays as it is.
 */
void harness_folders_read(const struct harness_folders *folders, struct plan_host *host);

/* A file that is not in force: to the log, and kept for the status verb until all are read again. */
#define FILE_FAULTS_MAX 64
void file_fault(struct plan_host *host, const char *log_id, const char *format, ...) _printf_(3, 4);

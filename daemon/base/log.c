/* SPDX-License-Identifier: MIT */
#include "base/log.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#define SD_JOURNAL_SUPPRESS_LOCATION
#include <systemd/sd-journal.h>

static const char *log_name = "trialsd";
static enum log_level log_most = LOG_LEVEL_INFO;
static bool log_to_journal;

/* systemd sets JOURNAL_STREAM=dev:inode of the stream it gave: only then is stderr the journal. */
static bool stderr_is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long device, inode;
	struct stat st;

	if (!stream || sscanf(stream, "%llu:%llu", &device, &inode) != 2)
		return false;
	return fstat(STDERR_FILENO, &st) == 0 && st.st_dev == device && st.st_ino == inode;
}

void log_open(const char *name, enum log_level level)
{
	log_name = name;
	log_most = level;
	log_to_journal = stderr_is_journal();
}

void log_write(enum log_level level, const char *message_id, unsigned long long trial,
	       const char *format, ...)
{
	_cleanup_free_ char *text = NULL;
	va_list arguments;
	int r;

	if (level > log_most)
		return;
	va_start(arguments, format);
	r = vasprintf(&text, format, arguments);
	va_end(arguments);
	if (r < 0) {
		text = NULL;
		return;
	}
	if (log_to_journal) {
		if (trial && message_id)
			r = sd_journal_send("MESSAGE=%s", text, "PRIORITY=%d", level,
					    "TRIAL_ID=%llu", trial, "MESSAGE_ID=%s", message_id,
					    NULL);
		else if (trial)
			r = sd_journal_send("MESSAGE=%s", text, "PRIORITY=%d", level,
					    "TRIAL_ID=%llu", trial, NULL);
		else if (message_id)
			r = sd_journal_send("MESSAGE=%s", text, "PRIORITY=%d", level,
					    "MESSAGE_ID=%s", message_id, NULL);
		else
			r = sd_journal_send("MESSAGE=%s", text, "PRIORITY=%d", level, NULL);
		if (r >= 0)
			return;
	}
	if (trial)
		fprintf(stderr, "%s: trial %llu: %s\n", log_name, trial, text);
	else
		fprintf(stderr, "%s: %s\n", log_name, text);
}

/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/mem.h"

/*
 * The journal when it is there (stderr is connected to it), else plain lines on stderr. Only
 * top-level code logs; lower code returns.
 */
enum log_level {
	LOG_LEVEL_ERROR = 3,
	LOG_LEVEL_WARNING = 4,
	LOG_LEVEL_NOTICE = 5,
	LOG_LEVEL_INFO = 6,
	LOG_LEVEL_DEBUG = 7
};

/* Decides between journal and stderr; name is the program's. Lines above level are dropped. */
void log_open(const char *name, enum log_level level);

/*
 * trial: the Trial's id for the field TRIAL_ID=, 0 for none. message_id: 32 hexadecimal digits of
 * the message catalog, or NULL.
 */
void log_write(enum log_level level, const char *message_id, unsigned long long trial,
	       const char *format, ...) _printf_(4, 5);

#define log_error(...) log_write(LOG_LEVEL_ERROR, NULL, 0, __VA_ARGS__)
#define log_warning(...) log_write(LOG_LEVEL_WARNING, NULL, 0, __VA_ARGS__)
#define log_notice(...) log_write(LOG_LEVEL_NOTICE, NULL, 0, __VA_ARGS__)
#define log_info(...) log_write(LOG_LEVEL_INFO, NULL, 0, __VA_ARGS__)
#define log_debug(...) log_write(LOG_LEVEL_DEBUG, NULL, 0, __VA_ARGS__)

/* The journal's message ids; systemd/trialsd.catalog explains each. */
#define LOG_ID_TRIAL_STATE "3f1d0c5e4b7a4e0f9d4a6f1c2b8e7a01"
#define LOG_ID_TRIAL_ENDED "3f1d0c5e4b7a4e0f9d4a6f1c2b8e7a02"
#define LOG_ID_NO_BACKEND "3f1d0c5e4b7a4e0f9d4a6f1c2b8e7a03"
#define LOG_ID_LEDGER_FAILED "3f1d0c5e4b7a4e0f9d4a6f1c2b8e7a04"
#define LOG_ID_CONFIG_REFUSED "3f1d0c5e4b7a4e0f9d4a6f1c2b8e7a05"
#define LOG_ID_TRIAL_STUCK "3f1d0c5e4b7a4e0f9d4a6f1c2b8e7a06"
#define LOG_ID_LEDGER_REBUILT "3f1d0c5e4b7a4e0f9d4a6f1c2b8e7a07"
#define LOG_ID_LEDGER_DAMAGED "3f1d0c5e4b7a4e0f9d4a6f1c2b8e7a08"
#define LOG_ID_HARNESS_REFUSED "3f1d0c5e4b7a4e0f9d4a6f1c2b8e7a09"
#define LOG_ID_NO_SANDBOX "3f1d0c5e4b7a4e0f9d4a6f1c2b8e7a0a"

/* SPDX-License-Identifier: MIT */
#pragma once

#include "launch/launch.h"

/* Shared by the files of launch/ only. */
struct Launcher {
	uv_loop_t *loop;
	enum backend backend;
	char *backend_reason;
	struct fault unavailable; /* message NULL: all is well */
	char *keeper;
	int init_fd;	       /* O_PATH of trials-init */
	int bwrap_fd;	       /* borrowed */
	int seccomp_fd;	       /* borrowed */
	int grader_seccomp_fd; /* borrowed */
	int null_fd;
	int trials_fd;		/* borrowed */
	int keepers_fd;		/* borrowed */
	ScopeManager *scopes;	/* NULL for backend none */
	Launch *spare;		/* a keeper that waits, or NULL */
	double spare_seconds;	/* for which the next may wait */
	uv_timer_t spare_timer; /* when it is made */
	size_t launches;	/* alive; closing waits for none */
	bool proved;		/* launcher_ready may say yes */
	bool lacks;		/* something was missing when it was made */
	bool closing;
	void (*closed)(void *context);
	void *context;
};

/* A launch has gone; the last one lets a closing launcher go. */
void launcher_put(Launcher *launcher);

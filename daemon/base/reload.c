/* SPDX-License-Identifier: MIT */
#include "base/reload.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool reload_is_service(pid_t pid)
{
	const char *started = getenv("SYSTEMD_EXEC_PID");

	return pid > 0 && started && strtol(started, NULL, 10) == pid;
}

const char *reload_command(pid_t pid, char ret_command[RELOAD_COMMAND_BYTES])
{
	if (reload_is_service(pid))
		snprintf(ret_command, RELOAD_COMMAND_BYTES, "systemctl --user reload trialsd");
	else
		snprintf(ret_command, RELOAD_COMMAND_BYTES, "kill -HUP %d", (int)pid);
	return ret_command;
}

static bool same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

int config_reload(struct config *config, const char *file, const char *folder, int backend,
		  bool *ret_later, struct fault *ret_fault)
{
	struct config fresh;
	char *bwrap;
	int r;

	r = config_init(&fresh);
	fresh.check = config->check;
	if (r == 0)
		r = config_find(&fresh, file, folder, ret_fault);
	if (r) {
		config_done(&fresh);
		return r;
	}
	if (backend >= 0)
		fresh.backend = (enum backend)backend;
	*ret_later = fresh.backend != config->backend || !same_text(fresh.bwrap, config->bwrap);
	fresh.backend = config->backend;
	bwrap = fresh.bwrap;
	fresh.bwrap = config->bwrap;
	config->bwrap = bwrap;
	config_done(config);
	*config = fresh;
	return 0;
}

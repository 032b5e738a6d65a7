/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "command.h"

/* The order is that of help: as a person meets them. */
extern const struct command command_launch, command_list, command_show, command_wait, command_logs,
	command_net, command_watch, command_cancel, command_pause, command_resume, command_drain,
	command_prune, command_doctor, command_diff, command_harness, command_logins, command_login,
	command_status, command_shutdown, command_help, command_export, command_rerun, command_arm,
	command_bar, command_panel;

const struct command *const commands[] = {
	&command_launch, &command_rerun, &command_list,	  &command_export,
	&command_show,	 &command_diff,	 &command_wait,	  &command_logs,
	&command_net,	 &command_watch, &command_cancel, &command_pause,
	&command_resume, &command_drain, &command_prune,  &command_doctor,
	&command_arm,	 &command_bar,	 &command_panel,  &command_harness,
	&command_logins, &command_login, &command_status, &command_shutdown,
	&command_help,	 NULL,
};

const struct option global_options[] = {
	{"socket", 0, "PATH", NULL, COMPLETE_FILE, false,
	 "where trialsd listens (default: $TRIALSD_SOCKET, else in $XDG_RUNTIME_DIR)"},
	{"json", 0, NULL, NULL, COMPLETE_NOTHING, false, "objects as JSON, one to a line"},
	{"help", 'h', NULL, NULL, COMPLETE_NOTHING, false, "what the command does and takes"},
	{"version", 0, NULL, NULL, COMPLETE_NOTHING, false, "the version of trialctl"},
	{0},
};

const struct command *command_find(const char *name)
{
	for (const struct command *const *command = commands; *command; command++)
		if (strcmp((*command)->name, name) == 0)
			return *command;
	return NULL;
}

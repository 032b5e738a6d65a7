/* SPDX-License-Identifier: MIT */
#pragma once

#include "doctor/doctor.h"

/* The command line of trialsd. Texts are owned; NULL: not given. */
struct options {
	char *config_file;
	char *state_folder;
	char *runtime_folder;
	char *in_force;	    /* a file with the configuration of the daemon that asks --doctor */
	char *harness_file; /* to be checked, and nothing else */
	int backend;	    /* -1: the configuration's */
	bool doctor;	    /* examine, say so, and leave */
	enum doctor_form doctor_form;
};

/* 0: go on; else exit with *ret_exit. */
int options_read(struct options *options, int argc, char **argv, int *ret_exit);
void options_done(struct options *options);

/* SPDX-License-Identifier: MIT */
#pragma once

#include <jansson.h>

#include "trials.h"

/*
 * The program's exit codes: those of the Trial, and sysexits for trialctl's own.
 */
enum {
	EXIT_TIMED_OUT = 124,	  /* timed_out, stalled */
	EXIT_NOT_RUN = 125,	  /* void, interrupted, lost */
	EXIT_SIGNAL = 128,	  /* plus the signal */
	EXIT_CANCELED = 130,	  /* canceled */
	EXIT_OUT_OF_MEMORY = 137, /* out_of_memory */
	EXIT_USED_WRONG = 64,	  /* EX_USAGE: options, --spec, operands */
	EXIT_NO_INPUT = 66,	  /* EX_NOINPUT: a file named on the command line */
	EXIT_NO_DAEMON = 69,	  /* EX_UNAVAILABLE: none, or it went away */
	EXIT_INTERNAL = 70,	  /* EX_SOFTWARE: a fault in trialsd or trialctl */
	EXIT_SYSTEM = 71,	  /* EX_OSERR: memory, descriptors */
	EXIT_OUTPUT = 74,	  /* EX_IOERR: what was to be printed was not */
	EXIT_BUSY = 75,		  /* EX_TEMPFAIL: busy, or it does not answer */
	EXIT_PROTOCOL = 76,	  /* EX_PROTOCOL: the two do not understand each other */
	EXIT_REFUSED = 77,	  /* EX_NOPERM: refused; nothing was recorded */
};

/* Of an ended Trial, from its JSON object. Pure. */
int exit_code_of_trial(const json_t *trial);

/* Of what a function of trials.h returned and put into its error. Pure. */
int exit_code_of_error(int number, const struct trials_error *error);

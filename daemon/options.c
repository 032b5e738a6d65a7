/* SPDX-License-Identifier: MIT */
#include "options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/no_sandbox.h"
#include "proto/message.h"

#ifndef TRIALSD_VERSION
#define TRIALSD_VERSION "0"
#endif

static const char usage[] =
	"usage: trialsd [--config FILE] [--state DIR] [--runtime DIR]\n"
	"               [--backend auto|systemd|none] [--no-sandbox] [--debug]\n"
	"               [--doctor [--json | --msgpack] [--in-force FILE]]\n"
	"               [--check-harness FILE [--json]]\n"
	"\n"
	"The per-user supervisor of Trials. Serves DIR/socket of the runtime folder; trialctl(1) is\n"
	"its client. See trialsd(8).\n";

static int text_set(char **field, const char *text)
{
	free(*field);
	*field = strdup(text);
	return *field ? 0 : -ENOMEM;
}

static const struct option long_options[] = {
	{"config", required_argument, NULL, 'c'},
	{"state", required_argument, NULL, 's'},
	{"runtime", required_argument, NULL, 'r'},
	{"backend", required_argument, NULL, 'b'},
	{"no-sandbox", no_argument, NULL, 'S'},
	{"debug", no_argument, NULL, 'd'},
	{"doctor", no_argument, NULL, 'D'},
	{"in-force", required_argument, NULL, 'f'},
	{"check-harness", required_argument, NULL, 'H'},
	{"json", no_argument, NULL, 'J'},
	{"msgpack", no_argument, NULL, 'M'},
	{"help", no_argument, NULL, 'h'},
	{"version", no_argument, NULL, 'v'},
	{NULL, 0, NULL, 0},
};

int options_read(struct options *options, int argc, char **argv, int *ret_exit)
{
	int option, r = 0;

	*ret_exit = EX_USAGE;
	while (r == 0 && (option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
		switch (option) {
		case 'c':
			r = text_set(&options->config_file, optarg);
			break;
		case 's':
			r = text_set(&options->state_folder, optarg);
			break;
		case 'r':
			r = text_set(&options->runtime_folder, optarg);
			break;
		case 'b':
			options->backend = backend_from_name(optarg);
			if (options->backend < 0) {
				log_error("--backend: auto, systemd or none, not \"%s\"", optarg);
				return 1;
			}
			break;
		case 'S':
			r = setenv(NO_SANDBOX_VARIABLE, "1", true);
			break;
		case 'd':
			log_open("trialsd", LOG_LEVEL_DEBUG);
			break;
		case 'D':
			options->doctor = true;
			break;
		case 'f':
			r = text_set(&options->in_force, optarg);
			break;
		case 'H':
			r = text_set(&options->harness_file, optarg);
			break;
		case 'J':
		case 'M':
			options->doctor_form = option == 'J' ? DOCTOR_JSON : DOCTOR_MESSAGE;
			break;
		case 'h':
			fputs(usage, stdout);
			*ret_exit = 0;
			return 1;
		case 'v':
			puts("trialsd " TRIALSD_VERSION);
			*ret_exit = 0;
			return 1;
		default:
			fputs(usage, stderr);
			return 1;
		}
	}
	if (r == 0 && optind < argc) {
		log_error("no operand is expected: \"%s\"", argv[optind]);
		return 1;
	}
	return r < 0;
}

void options_done(struct options *options)
{
	free(options->config_file);
	free(options->state_folder);
	free(options->runtime_folder);
	free(options->in_force);
	free(options->harness_file);
}

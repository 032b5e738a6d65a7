/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/fault.h"
#include "base/toolchain.h"

/*
 * trialsd.conf: systemd's INI style, read strictly. An unknown section or key, a value out of
 * range or a key given twice is a fault that names file, line and key; nothing is half-applied.
 * The same names stand in trialsd.conf(5).
 */
struct config {
	/* [Daemon] */
	unsigned int max_running; /* MaxRunning=, 1 … 1024, default: number of processors */
	enum backend backend;	  /* Backend=auto|systemd|none, default systemd */
	char *bwrap;		  /* Bwrap=, absolute; NULL: found in root-owned folders of PATH */
	uint64_t min_free;	  /* MinFree=, bytes, default 2G; 0: no guard */
	bool require_limits;	  /* RequireLimits=yes|no, default yes */
	double spare_seconds;	  /* SpareKeeper=, default 1min; 0: none */
	/* [Sandbox] */
	char *path; /* Path=, PATH inside; default /usr/local/bin:/usr/bin:/bin */
	/* [Harness] */
	char *harness_path; /* Path=, where programs of Harnesses are looked for first; or NULL */
	/* [Limits]: defaults for launches that do not say. Absent ones are not set. */
	struct limits_spec limits; /* Wall= Stall= Memory= Swap= Tasks= CPU= Tmp= Home= Output= */
	double grace_seconds;	   /* Grace=, default 10 */
	/* [Network] */
	enum network network;	   /* Default=allowlist|none|host, default allowlist */
	bool host_network;	   /* HostNetwork=yes|no: whether a launch may ask for it */
	struct text_list hosts;	   /* Hosts=, what every Trial of network allowlist may reach */
	struct text_list internal; /* Internal=, of the hosts allowed those that may be internal */
	double idle_seconds;	   /* IdleLimit=, of a tunnel, default 30min */
	char *refusal;		   /* Refusal=, what a refused connection is told; or NULL */
	/* [Toolchain NAME]: the person's own, each in the place of the shipped one of its name */
	struct toolchain_list toolchains;
	/*
	 * What is beyond this layer to judge, or NULL: called with what was read, before that takes
	 * the place of what was there. FAULT names section and key; the file is put in front.
	 */
	int (*check)(const struct config *config, struct fault *ret_fault);
};

/* The shipped defaults: wall 2h, tasks 2048, tmp and home 4G each, output 64M, grace 10s. */
int config_init(struct config *config);
void config_done(struct config *config);

/* On top of what config holds. -ENOENT when there is no such file. */
int config_read(struct config *config, const char *path, struct fault *ret_fault);

/* The file when one was named, which must exist; else folder's trialsd.conf, which need not. */
int config_find(struct config *config, const char *file, const char *folder,
		struct fault *ret_fault);

/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * How many files this process may have open, and what they suffice for. The daemon itself comes
 * first, then a few clients (somebody must be able to ask what is wrong), then Trials.
 */
#define DESCRIPTORS_OF_DAEMON 48 /* at rest 30; a request on its way takes a few */
#define DESCRIPTORS_OF_CLIENTS 16
/* Ten while it runs; until then also what its sandbox binds, which is far from 240 as a rule. */
#define DESCRIPTORS_OF_TRIAL 32
/* A keeper inherits the limit, and the highest number that it may use for a sandbox is below. */
#define DESCRIPTORS_OF_SANDBOX 600

/* As many as the hard limit allows; how many that is. */
unsigned int descriptor_limit_raise(void);
/* The soft limit as it is. */
unsigned int descriptor_limit(void);

/* Trials at once, `most` at most, that so many suffice for. At least one: it can be tried. Pure. */
unsigned int descriptor_limit_running(unsigned int limit, unsigned int most);
/* What `running` Trials at once should have. Pure. */
unsigned int descriptor_limit_wanted(unsigned int running);

/* Warns in the log when it does not suffice for `most` Trials at once. */
void descriptor_limit_tell(unsigned int most);

/* SPDX-License-Identifier: MIT */
#pragma once

#include "plan/build.h"

/*
 * A host of its own below /tmp for tests of the plan: home, state, run, conf and repo folders,
 * a launch to fill, and short ways to make things in it. Not thread-safe, one at a time.
 */
struct plan_fixture {
	char root[64]; /* canonical */
	struct config config;
	struct plan_host host;
	struct launch_request launch;
	const char *command[4];
	struct bind_spec binds[160];
	struct pair variables[16];
	struct fault fault;
	const struct grading *grading; /* of a Grader; or NULL */
};

void fixture_init(struct plan_fixture *fixture);
void fixture_done(struct plan_fixture *fixture);

/* ROOT/format…: in one of many buffers used in turn; absolute when it begins with "/". */
const char *at(struct plan_fixture *fixture, const char *format, ...) _printf_(2, 3);

/* Parents are made. */
void make_folder(const char *path);
void make_file(const char *path, const char *text);
void make_link(const char *path, const char *text);

/* Adds a bind; mode "ro", "rw" or "optional", destination or NULL. The strings are copied. */
void add_bind(struct plan_fixture *fixture, const char *source, const char *destination,
	      const char *mode);

void forget_binds(struct plan_fixture *fixture);

/* With one bind more for the time of the call: builds and expects a plan, or a refusal. */
void expect_bind(struct plan_fixture *fixture, const char *source, const char *destination,
		 const char *mode);
void expect_bind_refused(struct plan_fixture *fixture, const char *source, const char *destination,
			 const char *mode, const char *part, const char *other);

/* This host's fixed part as no host has it, for the same plan everywhere. */
void fixed_facts(struct system_facts *facts);

/* plan_build with fixed facts. */
int build(struct plan_fixture *fixture, struct plan **ret_plan);

/* Builds and expects a plan, or a refusal whose message holds both parts. */
void expect_plan(struct plan_fixture *fixture);
void expect_refusal(struct plan_fixture *fixture, enum error_code code, const char *part,
		    const char *other);

/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>

/*
 * Which option a field of the request came from. A message about a field ("limits.tasks: …",
 * trialsd's or our own) is told with what the person wrote ("--tasks: …"). Fields that --spec
 * brought have no origin and keep their names. Pure.
 */
struct origin {
	char *field;  /* "limits.tasks", "binds[2]", "environment.PATH" */
	char *option; /* "--tasks", "--bind /a:/b", "--env PATH" */
};

struct origins {
	struct origin *items;
	size_t count;
	const char *
		within; /* "spec": all of a file has become that, so of "spec.votes" votes is left; or NULL */
};

/* Zeroed is empty. Both texts are copied. */
void origins_add(struct origins *origins, const char *field, const char *option);
/* With its colon ("model:", "--model:"): what such a message is about when no option set the field. */
void origins_add_usual(struct origins *origins, const char *field, const char *option);
void origins_done(struct origins *origins);

/* The message in the person's words; the caller's to free(), never NULL. */
char *origins_rewrite(const struct origins *origins, const char *message);

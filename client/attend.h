/* SPDX-License-Identifier: MIT */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "context.h"
#include "spec.h"

/*
 * Launches a Trial and stays with it: waits for its end and, with follow, passes its output on.
 * INT and TERM to this process cancel the Trial, which is then waited for as before; another one
 * some seconds later leaves. Returns the exit code.
 */
int attend(struct context *context, const struct spec *spec, bool follow);

/* The same with the options --wait or --follow among the arguments; without, its number is told. */
int launch(struct context *context, const struct arguments *arguments, const struct spec *spec);

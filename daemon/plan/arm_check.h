/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/fault.h"

/*
 * What can be refused about an Arm by what it says alone: keys that do not go together, names, paths
 * inside. Pure.
 */
int arm_spec_check(const struct arm_spec *spec, struct fault *ret_fault);

/*
 * Whether text is a path that a mapped file can have inside: beside the runner, or ~/PATH; no empty
 * component, no `.` and no `..`, and not deeper than folders that a sandbox is made of can be many.
 */
#define ARM_PATH_DEPTH_MAX 30
bool arm_path_valid(const char *text);
/* Of the fresh home. */
bool arm_path_is_home(const char *path);
/* The mapped file that an element of the command names, as PATH or ./PATH, or NULL. */
const struct arm_file *arm_file_find(const struct arm_file_list *files, const char *element);

/* SPDX-License-Identifier: MIT */
#pragma once

#include "harness.h"
#include "keeper/login.h"

/*
 * What a keeper or a task is told of a login, from what its .harness file says: all of keeper_login
 * but the order, the Trial and the time it is wanted for. file: its name where it really is
 * (login_place). Points into all three; for kinds file, folder and home.
 */
struct keeper_login login_about(const struct harness *harness, const struct harness_login *login,
				const char *file);

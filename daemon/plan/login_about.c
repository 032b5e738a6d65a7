/* SPDX-License-Identifier: MIT */
#include "login_about.h"

#include <string.h>

static const char *const units[] = {
	[HARNESS_EXPIRY_s] = "s",
	[HARNESS_EXPIRY_ms] = "ms",
	[HARNESS_EXPIRY_rfc3339] = "rfc3339",
};

struct keeper_login login_about(const struct harness *harness, const struct harness_login *login,
				const char *file)
{
	const char *slash = strrchr(login->file, '/');

	return (struct keeper_login){
		.has = {.version = true,
			.harness = true,
			.file = true,
			.copy = true,
			.in_place = true,
			.home = true,
			.require = login->require.count > 0,
			.identity = login->identity.count > 0,
			.refreshes = login->refreshes.count > 0,
			.optional = login->optional.count > 0,
			.expiry = login->expiry != NULL,
			.unit = login->expiry != NULL,
			.refresh_ahead = login->refresh_ahead > 0},
		.version = LOGIN_VERSION,
		.harness = harness->name,
		.file = file,
		.copy = slash ? slash + 1 : login->file,
		.in_place = login->kind == HARNESS_LOGIN_file,
		.home = login->kind == HARNESS_LOGIN_home,
		.require = login->require,
		.identity = login->identity,
		.refreshes = login->refreshes,
		.optional = login->optional,
		.expiry = login->expiry,
		.unit = login->expiry ? units[login->expiry_unit] : NULL,
		.refresh_ahead = login->refresh_ahead,
	};
}

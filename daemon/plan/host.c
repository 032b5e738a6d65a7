/* SPDX-License-Identifier: MIT */
#include "build.h"

#include "launch/launch.h"
#include "base/no_sandbox.h"
#include "provider.h"

#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* What is true of this host and this person for as long as the daemon lives. */

/* HOME is made anew inside at the same path, so that must be a place where it can be made. */
static int home_check(const char *home, struct fault *fault)
{
	static const char *const taken[] = {"/usr",  "/etc", "/bin",  "/sbin", "/lib", "/lib64",
					    "/proc", "/sys", "/boot", "/run",  "/dev"};
	_cleanup_free_ char *shown = display(home);
	int r = 0;

	if (strpbrk(home, ":\n"))
		r = fault_set(fault, ERROR_invalid,
			      "HOME: %s holds a colon or a newline, which passwd(5) cannot", shown);
	if (!strcmp(home, "/") || !strcmp(home, "/tmp") || !strcmp(home, "/var/tmp"))
		r = fault_set(fault, ERROR_invalid, "HOME: %s cannot be a home folder of its own",
			      shown);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(taken); i++)
		if (path_within(home, taken[i]))
			r = fault_set(fault, ERROR_invalid,
				      "HOME: %s lies in %s, which the sandbox has from the system",
				      shown, taken[i]);
	return r == FAULT ? fault_hint(fault, "start trialsd with HOME set to a folder of your own")
			  : r;
}

static int host_home(struct plan_host *host, const char *home, struct fault *fault)
{
	_cleanup_(place_done) struct place place = PLACE_INIT;
	int r;

	if (!home)
		return fault_set(fault, ERROR_invalid, "HOME is not set");
	r = place_open(&place, "HOME", home, NULL, fault);
	if (r != 0)
		return r;
	if (!S_ISDIR(place.mode)) {
		_cleanup_free_ char *shown = display(home);

		return fault_set(fault, ERROR_invalid, "HOME: %s is not a folder", shown);
	}
	host->home_given = strdup(home);
	host->home = steal(&place.canonical);
	return host->home_given ? home_check(host->home, fault) : -ENOMEM;
}

/* Canonical as far as it exists; the rest as it is written. */
static int host_folder(char **ret_folder, const char *field, const char *path, bool must_exist,
		       struct fault *fault)
{
	_cleanup_(place_done) struct place place = PLACE_INIT;
	_cleanup_free_ char *rest = NULL;
	int r;

	if (must_exist) {
		r = place_open(&place, field, path, NULL, fault);
		if (r == 0)
			*ret_folder = steal(&place.canonical);
		return r;
	}
	r = place_open_existing(&place, path, &rest, NULL);
	if (r < 0)
		return r == -ENOENT ? place_open(&place, field, path, NULL, fault) : r;
	if (!rest)
		*ret_folder = steal(&place.canonical);
	else if (asprintf(ret_folder, "%s/%s", strcmp(place.canonical, "/") ? place.canonical : "",
			  rest) < 0)
		return -ENOMEM;
	return 0;
}

static int host_user(struct plan_host *host)
{
	struct passwd entry, *found = NULL;
	char buffer[16384];

	if (getpwuid_r(host->uid, &entry, buffer, sizeof(buffer), &found) == 0 && found &&
	    found->pw_name[0] && !strpbrk(found->pw_name, ":\n"))
		host->user = strdup(found->pw_name);
	else if (asprintf(&host->user, "user%u", (unsigned int)host->uid) < 0)
		host->user = NULL;
	return host->user ? 0 : -ENOMEM;
}

static int host_keeper(struct plan_host *host)
{
	_cleanup_free_ char *init = NULL;

	return launcher_helpers(&host->keeper, &init);
}

int plan_host_init(struct plan_host *host, const char *home, const char *state_folder,
		   const char *runtime_folder, const char *config_folder,
		   const struct config *config, struct fault *ret_fault)
{
	int r;

	*host = (struct plan_host){.uid = getuid(),
				   .gid = getgid(),
				   .config = config,
				   .no_sandbox = no_sandbox_wanted()};
	r = plan_cache_new(&host->cache);
	if (r == 0)
		r = host_user(host);
	if (r == 0)
		r = host_home(host, home, ret_fault);
	if (r == 0)
		r = host_folder(&host->state_folder, "state folder", state_folder, true, ret_fault);
	if (r == 0)
		r = host_folder(&host->runtime_folder, "runtime folder", runtime_folder, true,
				ret_fault);
	if (r == 0)
		r = host_folder(&host->config_folder, "configuration folder", config_folder, false,
				ret_fault);
	if (r == 0)
		r = host_keeper(host);
	if (r != 0)
		plan_host_done(host);
	return r;
}

void plan_host_done(struct plan_host *host)
{
	free(host->user);
	free(host->home);
	free(host->home_given);
	free(host->state_folder);
	free(host->runtime_folder);
	free(host->config_folder);
	free(host->keeper);
	plan_cache_free(host->cache);
	toolchain_list_done(&host->toolchains);
	provider_set_free(host->providers);
	free(host->providers_fault);
	text_list_done(&host->file_faults);
	*host = (struct plan_host){0};
}

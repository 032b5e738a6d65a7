/* SPDX-License-Identifier: MIT */
#include "serve/harness_folders.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "plan/provider.h"

static int name_them(struct harness_folders *ret_folders, const char *helper,
		     const char *config_folder)
{
	int length = (int)(strrchr(helper, '/') - helper);

	if (asprintf(&ret_folders->shipped, "%.*s/harness.d", length, helper) < 0) {
		ret_folders->shipped = NULL;
		return -ENOMEM;
	}
	if (asprintf(&ret_folders->toolchains, "%.*s/toolchains.conf", length, helper) < 0) {
		ret_folders->toolchains = NULL;
		return -ENOMEM;
	}
	if (asprintf(&ret_folders->providers, "%.*s/providers.conf", length, helper) < 0) {
		ret_folders->providers = NULL;
		return -ENOMEM;
	}
	if (asprintf(&ret_folders->own_providers, "%s/providers.conf", config_folder) < 0) {
		ret_folders->own_providers = NULL;
		return -ENOMEM;
	}
	if (asprintf(&ret_folders->own, "%s/harness.d", config_folder) < 0) {
		ret_folders->own = NULL;
		return -ENOMEM;
	}
	return 0;
}

void harness_folders_done(struct harness_folders *folders)
{
	free(folders->shipped);
	free(folders->own);
	free(folders->toolchains);
	free(folders->providers);
	free(folders->own_providers);
	*folders = (struct harness_folders){0};
}

static void read_harnesses(const struct harness_folders *folders, struct harness_set **set)
{
	_cleanup_fault_ struct fault fault = FAULT_INIT;
	struct harness_set *fresh = NULL;
	int r = harness_set_load(&fresh, folders->shipped, folders->own, &fault);

	if (r < 0)
		fault_errno(&fault, r, "harness.d");
	if (r) {
		log_write(LOG_LEVEL_ERROR, LOG_ID_HARNESS_REFUSED, 0,
			  "%s; the Harnesses stay as they were read before", fault.message);
		return;
	}
	for (size_t i = 0; i < fresh->count; i++)
		if (!fresh->entries[i].harness)
			log_write(LOG_LEVEL_ERROR, LOG_ID_HARNESS_REFUSED, 0,
				  "%s; until that is mended, \"%s\" cannot be launched",
				  fresh->entries[i].fault.message, fresh->entries[i].name);
	harness_set_free(*set);
	*set = fresh;
}

static void read_toolchains(const struct harness_folders *folders, struct toolchain_list *list)
{
	_cleanup_fault_ struct fault fault = FAULT_INIT;
	struct toolchain_list fresh = {0};
	int r = toolchain_list_read(&fresh, folders->toolchains, &fault);

	if (r < 0)
		fault_errno(&fault, r, folders->toolchains);
	if (r) {
		log_write(LOG_LEVEL_ERROR, LOG_ID_CONFIG_REFUSED, 0,
			  "%s; the toolchains that came with trialsd stay as they were read before",
			  fault.message);
		return;
	}
	toolchain_list_done(list);
	*list = fresh;
}

static void read_providers(const struct harness_folders *folders, struct plan_host *host)
{
	_cleanup_fault_ struct fault fault = FAULT_INIT;
	struct provider_set *fresh = NULL;
	int r = provider_set_load(&fresh, folders->providers, folders->own_providers, &fault);

	if (r < 0)
		fault_errno(&fault, r, "providers.conf");
	free(host->providers_fault);
	host->providers_fault = r ? strdup(fault.message ?: "providers.conf") : NULL;
	if (r) {
		log_write(LOG_LEVEL_ERROR, LOG_ID_CONFIG_REFUSED, 0,
			  "%s; the providers stay as they were read before", fault.message);
		return;
	}
	provider_set_free(host->providers);
	host->providers = fresh;
}

void harness_folders_read(const struct harness_folders *folders, struct plan_host *host)
{
	read_harnesses(folders, &host->harnesses);
	read_toolchains(folders, &host->toolchains);
	read_providers(folders, host);
}

int harness_folders_open(struct harness_folders *ret_folders, const char *helper,
			 struct plan_host *host)
{
	int r = name_them(ret_folders, helper, host->config_folder);

	if (r == 0)
		harness_folders_read(ret_folders, host);
	return r;
}

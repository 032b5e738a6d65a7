/* SPDX-License-Identifier: MIT */
#include "serve/harness_folders.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"
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

void file_fault(struct plan_host *host, const char *log_id, const char *format, ...)
{
	_cleanup_free_ char *text = NULL;
	va_list arguments;

	va_start(arguments, format);
	text = text_vformat(format, arguments);
	va_end(arguments);
	log_write(LOG_LEVEL_ERROR, log_id, 0, "%s", text ?: strerror(ENOMEM));
	if (text && host->file_faults.count < FILE_FAULTS_MAX)
		text_list_add(&host->file_faults, text);
}

static void read_harnesses(const struct harness_folders *folders, struct plan_host *host)
{
	_cleanup_fault_ struct fault fault = FAULT_INIT;
	struct harness_set *fresh = NULL;
	int r = harness_set_load(&fresh, folders->shipped, folders->own, &fault);

	if (r < 0)
		fault_errno(&fault, r, "harness.d");
	if (r) {
		file_fault(host, LOG_ID_HARNESS_REFUSED, "%s; %s", fault.message,
			   host->harnesses ? "the Harnesses stay as they were read before"
					   : "until that is mended, there is no Harness");
		return;
	}
	for (size_t i = 0; i < fresh->count; i++)
		if (!fresh->entries[i].harness)
			file_fault(host, LOG_ID_HARNESS_REFUSED,
				   "%s; until that is mended, \"%s\" cannot be launched",
				   fresh->entries[i].fault.message, fresh->entries[i].name);
	harness_set_free(host->harnesses);
	host->harnesses = fresh;
}

static void read_toolchains(const struct harness_folders *folders, struct plan_host *host)
{
	_cleanup_fault_ struct fault fault = FAULT_INIT;
	struct toolchain_list fresh = {0};
	int r = toolchain_list_read(&fresh, folders->toolchains, &fault);

	if (r < 0)
		fault_errno(&fault, r, folders->toolchains);
	if (r) {
		file_fault(host, LOG_ID_CONFIG_REFUSED,
			   "%s; the toolchains that came with trialsd stay as they were read "
			   "before",
			   fault.message);
		return;
	}
	toolchain_list_done(&host->toolchains);
	host->toolchains = fresh;
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
		file_fault(host, LOG_ID_CONFIG_REFUSED, "%s; %s", fault.message,
			   host->providers ? "the providers stay as they were read before"
					   : "until that is mended, no provider is known");
		return;
	}
	provider_set_free(host->providers);
	host->providers = fresh;
}

void harness_folders_read(const struct harness_folders *folders, struct plan_host *host)
{
	text_list_done(&host->file_faults);
	read_harnesses(folders, host);
	read_toolchains(folders, host);
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

/* SPDX-License-Identifier: MIT */
#include "doctor/harness_file.h"

#include "doctor/check.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include "base/log.h"
#include "base/text.h"
#include "plan/provider.h"
#include "plan/harness.h"
#include "base/list.h"

static void print_json(const char *path, const struct harness *harness, const struct fault *fault)
{
	_cleanup_free_ char *shown = display(path);

	printf("{\"ok\":%s", harness ? "true" : "false");
	report_text(stdout, ",", "file", shown);
	report_text(stdout, ",", "name", harness ? harness->name : NULL);
	report_text(stdout, ",", "product", harness ? harness->program.product : NULL);
	report_text(stdout, ",", "message", fault->message);
	report_text(stdout, ",", "hint", fault->hint);
	puts("}");
}

int harness_file_check(const char *path, bool json)
{
	_cleanup_fault_ struct fault fault = FAULT_INIT;
	struct harness *harness = NULL;
	int r = harness_read(&harness, path, &fault);
	int status = r == FAULT ? EX_DATAERR : 0;

	if (r >= 0 && json)
		print_json(path, harness, &fault);
	else if (r == 0)
		printf("%s: a Harness \"%s\" (%s)\n", path, harness->name,
		       harness->program.product);
	else if (r == FAULT)
		printf("%s\n", fault.message);
	harness_free(harness);
	if (r < 0)
		log_error("%s: %s", path, strerror(-r));
	return r < 0 ? EX_OSERR : fflush(stdout) == 0 ? status : EX_IOERR;
}

/* As harness_folders_open() names them: what is shipped lies beside the helpers. NULL: cannot be told. */
static void name_them(const struct doctor *doctor, const char *name, char **ret_shipped,
		      char **ret_own)
{
	const struct doctor_options *options = doctor->options;
	const char *slash = options->keeper ? strrchr(options->keeper, '/') : NULL;

	*ret_shipped = slash ? text_format("%.*s/%s", (int)(slash - options->keeper),
					   options->keeper, name)
			     : NULL;
	*ret_own = text_format("%s/%s", options->config_folder, name);
}

static void mend_file(struct doctor *doctor, const char *otherwise)
{
	if (doctor->options->config_on_disk)
		mend_in_force(doctor, "mend the file; then ", false);
	else
		mend(doctor, "%s", otherwise);
}

void check_providers(struct doctor *doctor)
{
	_cleanup_free_ char *shipped = NULL, *own = NULL;
	_cleanup_fault_ struct fault fault = FAULT_INIT;
	struct provider_set *set = NULL;
	int r;

	name_them(doctor, "providers.conf", &shipped, &own);
	r = shipped && own ? provider_set_load(&set, shipped, own, &fault) : -ENOMEM;
	if (r < 0)
		fault_errno(&fault, r, "providers.conf");
	if (r == 0) {
		found(doctor, CHECK_ok, "%zu can be used", set->count);
	} else {
		found(doctor, CHECK_warning, "the providers cannot be read anew: %s",
		      fault.message ? fault.message : strerror(ENOMEM));
		mend_file(doctor, "mend the file");
	}
	provider_set_free(set);
}

void check_harnesses(struct doctor *doctor)
{
	_cleanup_free_ char *shipped = NULL, *own = NULL;
	_cleanup_fault_ struct fault fault = FAULT_INIT;
	struct harness_set *set = NULL;
	int r;

	name_them(doctor, "harness.d", &shipped, &own);
	r = shipped && own ? harness_set_load(&set, shipped, own, &fault) : -ENOMEM;
	if (r < 0)
		fault_errno(&fault, r, "harness.d");
	if (r)
		found(doctor, CHECK_warning, "%s",
		      fault.message ? fault.message : strerror(ENOMEM));
	else
		found(doctor, CHECK_ok, "%zu can be used", set->count);
	for (size_t i = 0; set && set->faulty > 0 && i < set->count; i++) {
		if (set->entries[i].harness)
			continue;
		found(doctor, CHECK_warning, "\"%s\" cannot be launched%s: %s",
		      set->entries[i].name, set->faulty > 1 ? ", nor others" : "",
		      set->entries[i].fault.message);
		mend_file(doctor, "mend the file; trialctl harness check FILE says when it is "
				  "good");
		break;
	}
	harness_set_free(set);
}

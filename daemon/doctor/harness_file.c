/* SPDX-License-Identifier: MIT */
#include "doctor/harness_file.h"

#include "doctor/check.h"

#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include "base/log.h"
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

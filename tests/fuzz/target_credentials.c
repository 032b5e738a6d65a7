/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "plan/credentials.h"
#include "stage.h"

/*
 * The person's credentials file. What is refused is told in one line that can be shown and names the
 * file. What is accepted gives for each name a string that is text, or nothing; or, for a name that
 * is not ours, says that it is no string.
 */

#define PATH "/x/credentials.toml"

static const char *const names[] = {
	"resend.key",
	"claude.setup_token",
	"opencode.api_key",
	"providers.openai",
	"providers.",
	"mine.key",
	"a.b",
};

static void check_fault(struct fault *fault)
{
	must(fault->message && stage_is_text(fault->message));
	must(strncmp(fault->message, PATH ":", strlen(PATH) + 1) == 0);
	fault_done(fault);
	*fault = FAULT_INIT;
}

int fuzz_credentials(const uint8_t *data, size_t size)
{
	struct credentials *credentials = NULL;
	struct fault fault = FAULT_INIT;
	int r = credentials_parse(&credentials, PATH, (const char *)data, size, &fault);

	must(r == 0 || r == FAULT);
	if (r == FAULT) {
		must(!credentials);
		check_fault(&fault);
		return 0;
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *value;

		r = credentials_get(credentials, names[i], &value, &fault);
		must(r == 0 || r == FAULT);
		if (r == FAULT) {
			must(i >= 5 && !value);
			check_fault(&fault);
		} else if (value) {
			must(*value && strlen(value) < size && utf8_valid(value, strlen(value)));
		}
	}
	credentials_free(credentials);
	return 0;
}

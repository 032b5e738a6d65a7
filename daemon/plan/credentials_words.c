/* SPDX-License-Identifier: MIT */
#include "plan/credentials.h"

#include <string.h>

#include "base/text.h"

#define ABSENT "there is no key: ~/" CREDENTIALS_FILE " has no "

char *credentials_line(const char *name)
{
	const char *dot = strchrnul(name, '.');

	return text_format("%s = \"...\" under [%.*s]", *dot ? dot + 1 : name, (int)(dot - name),
			   name);
}

char *credentials_absent(const char *name)
{
	_cleanup_free_ char *line = credentials_line(name);

	return line ? text_format(ABSENT "%s", line) : NULL;
}

const char *credentials_hint(const struct text_list *missing)
{
	size_t keys = 0;

	for (size_t i = 0; i < missing->count; i++)
		keys += strstr(missing->items[i], ABSENT) != NULL;
	if (keys == 0)
		return "trialctl logins";
	if (keys == missing->count)
		return "add that line to ~/" CREDENTIALS_FILE
		       ", which only you may read (mode 0600)";
	return "trialctl logins tells of the logins; a key's line goes into ~/" CREDENTIALS_FILE
	       ", which only you may read (mode 0600)";
}

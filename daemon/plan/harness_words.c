/* SPDX-License-Identifier: MIT */
#include "harness_words.h"

#include <string.h>

#include "proto/protocol.h"

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"

bool json_path_valid(const char *text, size_t length, bool claim)
{
	const char *end = text + length;

	for (;;) {
		size_t part = strspn(text, LETTERS DIGITS "_-$");

		if (*text == '*')
			part = 1;
		if (part == 0 || text + part > end)
			return false;
		text += part;
		if (text == end)
			return true;
		if (*text == '@' && claim) {
			claim = false;
			part = strspn(text + 1, LETTERS DIGITS "_-");
			return part > 0 && text + 1 + part == end;
		}
		if (*text != '.')
			return false;
		text++;
	}
}

static const char *const groups[HARNESS_GROUPS] = {
	[HARNESS_GROUP_model] = "{model}",   [HARNESS_GROUP_effort] = "{effort}",
	[HARNESS_GROUP_resume] = "{resume}", [HARNESS_GROUP_web] = "{web}",
	[HARNESS_GROUP_extra] = "{extra}",   [HARNESS_GROUP_prompt] = "{prompt}",
};

const char *harness_group_name(int group)
{
	return groups[group];
}

int harness_group_of(const char *word)
{
	size_t letters;

	if (word[0] != '{')
		return -1;
	letters = strspn(word + 1, LETTERS);
	if (word[1 + letters] != '}' || word[2 + letters] != '\0')
		return -1;
	for (int i = 0; i < HARNESS_GROUPS; i++)
		if (strcmp(groups[i], word) == 0)
			return i;
	return HARNESS_GROUPS;
}

/* SPDX-License-Identifier: MIT */
#include "secret_name.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"

/* A part of a name, wherever it stands. */
static const char *const parts[] = {
	"SECRET", "TOKEN",  "PASSW",   "PASSPHRASE", "APIKEY",	  "CREDENTIAL",
	"COOKIE", "BEARER", "PRIVATE", "WEBHOOK",    "SIGNATURE",
};

/* A whole word of one: AUTH, and not AUTHOR; KEY, and not KEYBOARD. */
static const char *const words[] = {
	"KEY", "KEYS", "PASS",	"PWD",	"PW",  "PIN",  "PAT",		"AUTH",
	"JWT", "DSN",  "CREDS", "CRED", "SAS", "SALT", "AUTHORIZATION",
};

/* What a value begins with. */
static const char *const beginnings[] = {
	"sk-",	"pk-",	       "rk_",	 "sk_", "ghp_", "gho_",	 "ghu_",
	"ghs_", "github_pat_", "glpat-", "xox", "xai-", "AKIA",	 "ASIA",
	"AIza", "ya29.",       "eyJ",	 "hf_", "npm_", "pypi-", "-----BEGIN",
};

/* Of a name that is another thing: a working folder, names of settings. */
static const char *const exceptions[] = {"PWD", "OLDPWD"};

static bool has_word(const char *name, const char *word)
{
	size_t length = strlen(word);

	for (const char *at = name; *at; at++) {
		if ((at == name || !isalnum((unsigned char)at[-1])) &&
		    strncasecmp(at, word, length) == 0 && !isalnum((unsigned char)at[length]))
			return true;
	}
	return false;
}

static bool name_tells(const char *name)
{
	/* Names of git's settings, GIT_CONFIG_KEY_0; their values are looked at. */
	if (strncmp(name, "GIT_CONFIG_KEY_", strlen("GIT_CONFIG_KEY_")) == 0)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(exceptions); i++)
		if (strcmp(name, exceptions[i]) == 0)
			return false;
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (strcasestr(name, parts[i]))
			return true;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (has_word(name, words[i]))
			return true;
	return false;
}

/* "scheme://name:password@host", anywhere in it. */
static bool has_password(const char *value)
{
	for (const char *at = value; (at = strstr(at, "://")); at += 3) {
		size_t length = strcspn(at + 3, "/?# \t\n\"'");

		if (memchr(at + 3, '@', length))
			return true;
	}
	return false;
}

/* What it begins with, or has in it, wherever it stands. */
static bool value_tells(const char *value)
{
	if (has_password(value) || strcasestr(value, "authorization:") ||
	    strcasestr(value, "bearer "))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(beginnings); i++)
		if (strncmp(value, beginnings[i], strlen(beginnings[i])) == 0)
			return true;
	return false;
}

bool secret_variable(const char *name, const char *value)
{
	return name_tells(name) || value_tells(value);
}

bool secret_word(const char *before, const char *word)
{
	const char *value = strchr(word, '=');
	char name[64];

	/* --key VALUE; what follows it may as well be an option of its own. */
	if (before && before[0] == '-' && word[0] != '-' && !strchr(before, '=') &&
	    name_tells(before))
		return true;
	if (value_tells(word))
		return true;
	if (!value)
		return false;
	/* NAME=VALUE, --key=VALUE; what stands before a = in a script is no name. */
	snprintf(name, sizeof(name), "%.*s", (int)(value - word), word);
	return value_tells(value + 1) || (!strpbrk(name, " \t\n;|&") && name_tells(name));
}

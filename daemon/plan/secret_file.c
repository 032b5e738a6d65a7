/* SPDX-License-Identifier: MIT */
#include "plan/secret_file.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "plan/build.h"
#include "plan/session_login.h"

struct secret_name {
	const char *pattern;
	const char *what; /* NULL: none, whatever stands below */
};

/* The first that matches decides. */
static const struct secret_name names[] = {
	{"*.pub", NULL},
	{".env.example", NULL},
	{".env.sample", NULL},
	{".env.template", NULL},
	{"id_rsa*", "an ssh key"},
	{"id_dsa*", "an ssh key"},
	{"id_ecdsa*", "an ssh key"},
	{"id_ed25519*", "an ssh key"},
	{"*.ppk", "an ssh key"},
	{"*.pem", "a key or certificate"},
	{"*.key", "a key"},
	{"*.p12", "a key"},
	{"*.pfx", "a key"},
	{"*.p8", "a key"},
	{"*.jks", "a key store"},
	{"*.keystore", "a key store"},
	{"*.kdbx", "a password store"},
	{"*.keytab", "a Kerberos key"},
	{"*.ovpn", "a VPN's key"},
	{"secring.*", "a gpg key"},
	{".env", "variables that are often keys"},
	{".env.*", "variables that are often keys"},
	{"*.env", "variables that are often keys"},
	{".netrc", "logins"},
	{"_netrc", "logins"},
	{".authinfo*", "logins"},
	{".git-credentials", "logins"},
	{".npmrc", "logins"},
	{".pypirc", "logins"},
	{".pgpass", "logins"},
	{".htpasswd", "passwords"},
	{"auth.json", "a login"},
	{"*credentials", "credentials"},
	{"*credentials.*", "credentials"},
	{"secret", "secrets"},
	{"secrets", "secrets"},
	{"secret.*", "secrets"},
	{"secrets.*", "secrets"},
	{"token", "a token"},
	{"*.token", "a token"},
	{"token.*", "a token"},
	{"service-account*.json", "a key"},
};

const char *secret_file_name(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (fnmatch(names[i].pattern, name, FNM_CASEFOLD) == 0)
			return names[i].what;
	return NULL;
}

static int by_name(const char *path, char **ret_reason)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	const char *what = secret_file_name(name);
	_cleanup_free_ char *shown = NULL;

	if (!what)
		return 0;
	shown = display(name);
	return asprintf(ret_reason, "%s is the name of %s", shown, what) < 0 ? -ENOMEM : 1;
}

/* Of a login in a file that file; of one in a folder, or a home, all that is in it. */
static int is_login_path(const struct plan_host *host, const char *path, bool folder,
			 const struct ancestry *ancestry)
{
	_cleanup_(place_done) struct place place = PLACE_INIT;
	_cleanup_free_ char *on_host = session_login_path(host, path), *rest = NULL;
	struct place_step step;
	int r;

	if (!on_host)
		return -ENOMEM;
	r = place_open_existing(&place, on_host, &rest, NULL);
	if (r < 0 || rest)
		return r == -ENOENT || rest ? 0 : r;
	step = (struct place_step){.device = place.device, .inode = place.inode};
	if (!folder && ancestry->count > 0)
		return ancestry->steps[0].device == step.device &&
		       ancestry->steps[0].inode == step.inode;
	return ancestry_has(ancestry, step);
}

static int is_login(const struct plan_host *host, const struct harness *harness,
		    const struct ancestry *ancestry)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < harness->login_count; i++) {
		const struct harness_login *login = &harness->logins[i];

		if (login->file)
			r = is_login_path(host, login->file, false, ancestry);
		if (r == 0 && login->home)
			r = is_login_path(host, login->home, true, ancestry);
	}
	return r;
}

static int by_harness(const struct plan_host *host, const struct ancestry *ancestry,
		      char **ret_reason)
{
	for (size_t i = 0; host->harnesses && i < host->harnesses->count; i++) {
		const struct harness *harness = host->harnesses->entries[i].harness;
		int r = harness ? is_login(host, harness, ancestry) : 0;

		if (r == 1 && asprintf(ret_reason, "it is the login of %s", harness->name) < 0)
			return -ENOMEM;
		if (r != 0)
			return r;
	}
	return 0;
}

int secret_file(const struct plan_host *host, const struct place *place, const char *given,
		char **ret_reason)
{
	_cleanup_(ancestry_done) struct ancestry ancestry = {0};
	int r = policy_find_secret(host, place, ret_reason);

	if (r == 0)
		r = by_name(given, ret_reason);
	if (r == 0)
		r = by_name(place->canonical, ret_reason);
	for (size_t i = 0; r == 0 && i < place->link_count; i++)
		r = by_name(place->links[i].location, ret_reason);
	if (r == 0)
		r = place_ancestry(place, &ancestry);
	if (r == 0)
		r = by_harness(host, &ancestry, ret_reason);
	if (r == 0 && place->names > 1)
		r = asprintf(ret_reason,
			     "it has %llu names (hard links), and another may be that of a key",
			     (unsigned long long)place->names) < 0
			    ? -ENOMEM
			    : 1;
	return r;
}

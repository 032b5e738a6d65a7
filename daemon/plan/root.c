/* SPDX-License-Identifier: MIT */
#include "build.h"
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/*
 * The part of the sandbox's root that does not depend on what a launch binds. Pure: the host's
 * side of it comes in as facts.
 *
 * Names resolve from /etc/hosts alone when there is no network. nsswitch says so to glibc, which
 * then asks nobody; the resolv.conf without a nameserver is for programs with a resolver of their
 * own, which fall back to 127.0.0.1, where nothing answers and the refusal comes at once.
 */

/* NULL when out of memory. */
static char *root_file_text(enum root_file which, enum network network,
			    const struct plan_host *host, const struct system_facts *facts)
{
	bool shared = network == NETWORK_host;
	unsigned int uid = host->uid, gid = host->gid;

	switch (which) {
	case ROOT_PASSWD:
		return text_format("%s:x:%u:%u:%s:%s:/bin/sh\n"
				   "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
				   host->user, uid, gid, host->user, host->home);
	case ROOT_GROUP:
		return text_format("%s:x:%u:\nnogroup:x:65534:\n", host->user, gid);
	case ROOT_HOSTS:
		return text_format("127.0.0.1 localhost\n::1 localhost\n127.0.1.1 trial\n%s",
				   shared && facts->hosts ? facts->hosts : "");
	case ROOT_NSSWITCH:
		return text_format("passwd: files\ngroup: files\nshadow: files\nhosts: files%s\n"
				   "networks: files\nprotocols: files\nservices: files\n",
				   shared ? " dns" : "");
	case ROOT_HOSTNAME:
		return strdup("trial\n");
	default:
		return strdup(shared && facts->resolv_conf ? facts->resolv_conf
							   : "# This sandbox has no name server.\n"
							     "options timeout:1 attempts:1\n");
	}
}

static int add_files(struct plan *plan, const struct plan_host *host, struct system_facts *facts)
{
	static const char *const paths[ROOT_FILES] = {
		[ROOT_PASSWD] = "/etc/passwd",	   [ROOT_GROUP] = "/etc/group",
		[ROOT_HOSTS] = "/etc/hosts",	   [ROOT_NSSWITCH] = "/etc/nsswitch.conf",
		[ROOT_HOSTNAME] = "/etc/hostname", [ROOT_RESOLV_CONF] = "/etc/resolv.conf",
	};
	struct plan_file **files = facts->root[plan->network == NETWORK_host];

	for (enum root_file i = 0; i < ROOT_FILES; i++) {
		struct plan_operation *operation;

		if (!files[i]) {
			char *text = root_file_text(i, plan->network, host, facts);

			if (!text || plan_file_new(&files[i], text, strlen(text)) < 0)
				return -ENOMEM;
		}
		/* The host's own place for it may be elsewhere; ours is what the sandbox has. */
		operation = plan_add(plan, PLAN_FILE, paths[i], NULL);
		if (!operation)
			return -ENOMEM;
		operation->file = plan_file_ref(files[i]);
	}
	return 0;
}

static int add_tmpfs(struct plan *plan, const char *path, uint64_t size, unsigned int mode)
{
	struct plan_operation *operation = plan_add(plan, PLAN_TMPFS, path, NULL);

	if (!operation)
		return -ENOMEM;
	operation->size = size;
	operation->mode = mode;
	return 0;
}

/* /var/tmp is a second name of /tmp, except where a bind needs a folder there. */
static int add_var_tmp(struct plan *plan, const struct bound_list *bounds, uint64_t size)
{
	for (size_t i = 0; i < bounds->count; i++)
		if (path_within(bounds->items[i].destination, "/var/tmp"))
			return add_tmpfs(plan, "/var/tmp", size, 01777);
	return plan_add(plan, PLAN_SYMLINK, "/var/tmp", "../tmp") ? 0 : -ENOMEM;
}

/* The host's operations, but for those whose place is taken. */
static int add_facts(struct plan *plan, const struct system_facts *facts)
{
	for (size_t i = 0; i < facts->operation_count; i++) {
		const struct plan_operation *fact = &facts->operations[i];
		struct plan_operation *operation;

		if (plan_at(plan, fact->destination))
			continue;
		operation = plan_add(plan, fact->type, fact->destination, fact->source);
		if (!operation)
			return -ENOMEM;
		operation->size = fact->size;
		operation->mode = fact->mode;
		operation->file = plan_file_ref(fact->file);
	}
	return 0;
}

int root_compose(struct plan *plan, const struct plan_host *host, struct system_facts *facts,
		 const struct tmpfs_sizes *sizes, const struct bound_list *bounds)
{
	int r;

	r = add_files(plan, host, facts);
	if (r == 0 &&
	    (!plan_add(plan, PLAN_PROC, "/proc", NULL) || !plan_add(plan, PLAN_DEV, "/dev", NULL) ||
	     !plan_add(plan, PLAN_DIRECTORY, "/run", NULL)))
		r = -ENOMEM;
	if (r == 0)
		r = add_tmpfs(plan, "/tmp", sizes->tmp, 01777);
	if (r == 0)
		r = add_tmpfs(plan, "/dev/shm", sizes->shm, 01777);
	if (r == 0)
		r = add_tmpfs(plan, host->home, sizes->home, 0700);
	if (r == 0)
		r = add_var_tmp(plan, bounds, sizes->var_tmp);
	return r == 0 ? add_facts(plan, facts) : r;
}

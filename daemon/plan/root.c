/* SPDX-License-Identifier: MIT */
#include "build.h"

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

static int add_file(struct plan *plan, const char *path, const char *text)
{
	struct plan_operation *operation;

	/* The host's own place for it may be elsewhere; ours is what the sandbox has. */
	operation = plan_add(plan, PLAN_FILE, path, NULL);
	if (!operation)
		return -ENOMEM;
	operation->data = strdup(text);
	operation->size = strlen(text);
	return operation->data ? 0 : -ENOMEM;
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

static int add_users(struct plan *plan, const struct plan_host *host)
{
	_cleanup_free_ char *passwd = NULL, *group = NULL;
	int r;

	if (asprintf(&passwd,
		     "%s:x:%u:%u:%s:%s:/bin/sh\n"
		     "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
		     host->user, (unsigned int)host->uid, (unsigned int)host->gid, host->user,
		     host->home) < 0)
		return -ENOMEM;
	if (asprintf(&group, "%s:x:%u:\nnogroup:x:65534:\n", host->user, (unsigned int)host->gid) <
	    0)
		return -ENOMEM;
	r = add_file(plan, "/etc/passwd", passwd);
	return r == 0 ? add_file(plan, "/etc/group", group) : r;
}

static int add_names(struct plan *plan, const struct system_facts *facts)
{
	bool host = plan->network == NETWORK_host;
	_cleanup_free_ char *hosts = NULL, *nsswitch = NULL;
	int r;

	if (asprintf(&hosts, "127.0.0.1 localhost\n::1 localhost\n127.0.1.1 trial\n%s",
		     facts->hosts ? facts->hosts : "") < 0)
		return -ENOMEM;
	if (asprintf(&nsswitch,
		     "passwd: files\ngroup: files\nshadow: files\nhosts: files%s\n"
		     "networks: files\nprotocols: files\nservices: files\n",
		     host ? " dns" : "") < 0)
		return -ENOMEM;
	r = add_file(plan, "/etc/hosts", hosts);
	if (r == 0)
		r = add_file(plan, "/etc/nsswitch.conf", nsswitch);
	if (r == 0)
		r = add_file(plan, "/etc/hostname", "trial\n");
	if (r == 0)
		r = add_file(plan, "/etc/resolv.conf",
			     facts->resolv_conf ? facts->resolv_conf
						: "# This sandbox has no name server.\n"
						  "options timeout:1 attempts:1\n");
	return r;
}

/* /var/tmp is a second name of /tmp, except where a bind needs a folder there. */
static int add_var_tmp(struct plan *plan, const struct bound_list *bounds, uint64_t size)
{
	for (size_t i = 0; i < bounds->count; i++)
		if (path_within(bounds->items[i].destination, "/var/tmp"))
			return add_tmpfs(plan, "/var/tmp", size, 01777);
	return plan_add(plan, PLAN_SYMLINK, "/var/tmp", "../tmp") ? 0 : -ENOMEM;
}

/* Takes the host's operations, but for those whose place is taken. */
static int take_facts(struct plan *plan, struct system_facts *facts)
{
	for (size_t i = 0; i < facts->operation_count; i++) {
		struct plan_operation *fact = &facts->operations[i];
		struct plan_operation *operation;

		if (plan_at(plan, fact->destination))
			continue;
		operation = plan_add(plan, fact->type, fact->destination, fact->source);
		if (!operation)
			return -ENOMEM;
		operation->size = fact->size;
		operation->mode = fact->mode;
		operation->data = steal(&fact->data);
	}
	return 0;
}

int root_compose(struct plan *plan, const struct plan_host *host, struct system_facts *facts,
		 const struct tmpfs_sizes *sizes, const struct bound_list *bounds)
{
	int r;

	r = add_users(plan, host);
	if (r == 0)
		r = add_names(plan, facts);
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
	return r == 0 ? take_facts(plan, facts) : r;
}

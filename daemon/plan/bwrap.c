/* SPDX-License-Identifier: MIT */
#include "base/list.h"
#include "plan/plan.h"

#include "keeper/channel.h"

/*
 * A plan as bwrap's options. Pure, and written for the descriptor numbers that the keeper will put
 * things at. Two options are left out on purpose: --die-with-parent, whose SIGKILL of pid 1 lets
 * a lease fall before the rest of the sandbox is dead (trials-init ends it instead, in order),
 * and --chdir and --setenv, which are trials-init's.
 */

struct writer {
	struct text_list *list;
	int error; /* the first one; later writes do nothing */
};

static void put(struct writer *writer, const char *argument)
{
	if (writer->error == 0)
		writer->error = text_list_add(writer->list, argument);
}

static void put2(struct writer *writer, const char *option, const char *value)
{
	put(writer, option);
	put(writer, value);
}

static void put_number(struct writer *writer, const char *option, unsigned long long value)
{
	put(writer, option);
	if (writer->error == 0)
		writer->error = text_list_add_format(writer->list, "%llu", value);
}

static void put_mode(struct writer *writer, unsigned int mode)
{
	put(writer, "--perms");
	if (writer->error == 0)
		writer->error = text_list_add_format(writer->list, "%04o", mode);
}

static void put_boundary(struct writer *writer, const struct plan *plan,
			 const struct plan_host *host)
{
	put(writer, "--unshare-all");
	put(writer, "--unshare-user"); /* --disable-userns wants it spelled out */
	put(writer, "--disable-userns");
	if (plan->network == NETWORK_host)
		put(writer, "--share-net");
	put(writer, "--new-session");
	put(writer, "--as-pid-1");
	put2(writer, "--cap-drop", "ALL");
	put2(writer, "--hostname", "trial");
	put_number(writer, "--uid", host->uid);
	put_number(writer, "--gid", host->gid);
	put(writer, "--clearenv");
	put_number(writer, "--seccomp", SANDBOX_FD_SECCOMP);
}

static void put_operation(struct writer *writer, const struct plan_operation *operation)
{
	unsigned long long fd = operation->descriptor < 0
					? 0
					: (unsigned int)operation->descriptor + SANDBOX_FD_BINDS;

	switch (operation->type) {
	case PLAN_BIND:
		put_number(writer, operation->writable ? "--bind-fd" : "--ro-bind-fd", fd);
		break;
	case PLAN_SYSTEM_BIND:
		put2(writer, "--ro-bind", operation->source);
		break;
	case PLAN_TMPFS:
		put_number(writer, "--size", operation->size);
		put_mode(writer, operation->mode);
		put(writer, "--tmpfs");
		break;
	case PLAN_DIRECTORY:
		put(writer, "--dir");
		break;
	case PLAN_SYMLINK:
		put2(writer, "--symlink", operation->source);
		break;
	case PLAN_FILE:
		put_mode(writer, operation->mode ? operation->mode : 0444);
		put_number(writer, operation->sealed ? "--ro-bind-data" : "--file", fd);
		break;
	case PLAN_MASK:
		/* As a device: on a mount without devices it could not even be opened. */
		put2(writer, "--dev-bind", "/dev/null");
		break;
	case PLAN_PROC:
		put(writer, "--proc");
		break;
	case PLAN_DEV:
		put(writer, "--dev");
		break;
	case PLAN_REMOUNT_RO:
		put(writer, "--remount-ro");
		break;
	}
	put(writer, operation->destination);
}

int plan_bwrap_arguments(const struct plan *plan, const struct plan_host *host,
			 struct text_list *ret_arguments)
{
	struct text_list arguments = {0};
	struct writer writer = {.list = &arguments};

	put_boundary(&writer, plan, host);
	for (size_t i = 0; i < plan->operation_count; i++)
		put_operation(&writer, &plan->operations[i]);
	if (writer.error < 0)
		text_list_done(&arguments);
	else
		*ret_arguments = arguments;
	return writer.error;
}

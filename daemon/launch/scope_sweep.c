/* SPDX-License-Identifier: MIT */

/*
 * Scopes of Trials in which nothing lives. A keeper that dies while it is being attached leaves
 * one that the manager thinks is active, for good: nobody is left to make its cgroup empty. Only
 * names of ours, only what the kernel calls unpopulated, and a stop of that is the end of nothing.
 *
 * Three questions one after the other, none waited for: which scopes there are, each one's cgroup,
 * and the stop.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "launch/scope_manager.h"

struct looked_at {
	ScopeManager *manager;
	char unit[128];
};

static bool group_is_empty(const char *group)
{
	char path[PATH_MAX], text[256];
	ssize_t n;
	int fd;

	/* Without a cgroup there is nothing in it; an empty string must never become the root. */
	if (!*group)
		return true;
	snprintf(path, sizeof(path), "/sys/fs/cgroup%s/cgroup.events", group);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return false;
	text[n] = '\0';
	return strstr(text, "populated 0") != NULL;
}

static int on_stopped(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
	ScopeManager *manager = userdata;

	(void)message;
	(void)error;
	manager->sweeping--;
	return 0;
}

static int on_group(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
	struct looked_at *looked_at = userdata;
	ScopeManager *manager = looked_at->manager;
	const char *group;

	(void)error;
	manager->sweeping--;
	if (sd_bus_message_get_error(message) ||
	    sd_bus_message_read(message, "v", "s", &group) < 0 || !group_is_empty(group))
		return 0;
	if (sd_bus_call_method_async(manager->bus, NULL, MANAGER_NAME, MANAGER_PATH,
				     MANAGER_INTERFACE, "StopUnit", on_stopped, manager, "ss",
				     looked_at->unit, "fail") >= 0)
		manager->sweeping++;
	return 0;
}

static void look_at(ScopeManager *manager, const char *unit, const char *path)
{
	struct looked_at *looked_at = calloc(1, sizeof(*looked_at));
	sd_bus_slot *slot;

	if (!looked_at)
		return;
	looked_at->manager = manager;
	snprintf(looked_at->unit, sizeof(looked_at->unit), "%s", unit);
	if (sd_bus_call_method_async(manager->bus, &slot, MANAGER_NAME, path,
				     "org.freedesktop.DBus.Properties", "Get", on_group, looked_at,
				     "ss", "org.freedesktop.systemd1.Scope", "ControlGroup") < 0) {
		free(looked_at);
		return;
	}
	/* It lives as long as the question, which may never be answered. */
	sd_bus_slot_set_destroy_callback(slot, free);
	sd_bus_slot_set_floating(slot, 1);
	sd_bus_slot_unref(slot);
	manager->sweeping++;
}

static int on_list(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
	ScopeManager *manager = userdata;
	const char *unit, *path;

	(void)error;
	manager->sweeping--;
	if (sd_bus_message_get_error(message) ||
	    sd_bus_message_enter_container(message, 'a', "(ssssssouso)") < 0)
		return 0;
	while (sd_bus_message_read(message, "(ssssssouso)", &unit, NULL, NULL, NULL, NULL, NULL,
				   &path, NULL, NULL, NULL) > 0)
		look_at(manager, unit, path);
	return 0;
}

void scope_sweep(ScopeManager *manager)
{
	if (manager->ready &&
	    sd_bus_call_method_async(manager->bus, NULL, MANAGER_NAME, MANAGER_PATH,
				     MANAGER_INTERFACE, "ListUnitsByPatterns", on_list, manager,
				     "asas", 1, "active", 1, "trial-*.scope") >= 0)
		manager->sweeping++;
}

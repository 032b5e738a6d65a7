/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/*
 * What this machine's own files say about sandboxes and user managers. Read below a root ("" for
 * the real one), so that tests can give machines that are not at hand. Only looks.
 */

enum container {
	CONTAINER_NONE,
	CONTAINER_DOCKER,
	CONTAINER_PODMAN,
	CONTAINER_KUBERNETES,
	CONTAINER_LXC,
	CONTAINER_OTHER,
	CONTAINER_GVISOR,
	CONTAINER_WSL1,
	CONTAINER_WSL2,
};

/* What AppArmor's profiles say of this bwrap. */
enum apparmor_profile {
	PROFILE_ABSENT,	    /* there is none */
	PROFILE_WHOLE,	    /* it may make namespaces and use them */
	PROFILE_PARTIAL,    /* it may, and what it starts in them may not */
	PROFILE_OTHER_PATH, /* there is one, for a bwrap at another place */
};

struct host_facts {
	long max_user_namespaces;	/* -1: there is no such switch, as below */
	long unprivileged_userns_clone; /* Debian's older one */
	long apparmor_restricts_userns; /* Ubuntu's */
	enum apparmor_profile profile;
	char profile_file[256]; /* unless it is absent */
	char profile_path[256]; /* what it is for, as it stands there */
	enum container container;
	char container_name[64]; /* for people */
};

void host_facts_read(struct host_facts *ret_facts, const char *root, const char *bwrap_path);

/* What is missing for a user manager, the first of it. */
enum manager_lack {
	MANAGER_THERE,
	MANAGER_NO_SYSTEMD,   /* this system was not started with it */
	MANAGER_ROOT_BY_SUDO, /* this is root, and the person is somebody else */
	MANAGER_WRONG_USER,   /* XDG_RUNTIME_DIR is somebody else's */
	MANAGER_WRONG_FOLDER, /* XDG_RUNTIME_DIR has none, and the usual folder has one */
	MANAGER_NO_LINGERING, /* no session and no lingering: no runtime folder */
	MANAGER_NOT_STARTED,  /* the same, and yet this user lingers */
	MANAGER_NOT_RUNNING,  /* a runtime folder, and nothing that answers in it */
};

struct manager_facts {
	enum manager_lack lack;
	char folder[256]; /* the runtime folder that was looked at */
	char usual[64];	  /* where it usually is */
	uid_t owner;	  /* of it, for the wrong user */
	bool own_exists;  /* the usual folder of this user is there and is this user's */
	bool lingers;
};

/* runtime is XDG_RUNTIME_DIR and sudo_user SUDO_USER, as they are set, or NULL. */
void manager_facts_read(struct manager_facts *ret_facts, const char *root, uid_t uid,
			const char *user, const char *runtime, const char *sudo_user);

/* Whose the controllers are that limits need. */
struct cgroup_facts {
	enum {
		CGROUP_ABSENT, /* nothing is mounted where cgroups are */
		CGROUP_V1,     /* or hybrid: nothing can be delegated to an ordinary user */
		CGROUP_V2,
	} version;
	bool read_only;
	bool manager_found; /* below: what its own cgroup has */
	char top[256];	    /* what there is of controllers at all, separated by blanks */
	char manager[256];  /* what the user manager was given of them */
};

void cgroup_facts_read(struct cgroup_facts *ret_facts, const char *root, uid_t uid);

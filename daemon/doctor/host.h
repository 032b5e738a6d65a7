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
	MANAGER_WRONG_USER,   /* XDG_RUNTIME_DIR is somebody else's */
	MANAGER_NO_LINGERING, /* no session and no lingering: no runtime folder */
	MANAGER_NOT_RUNNING,  /* a runtime folder, and nothing that answers in it */
};

struct manager_facts {
	enum manager_lack lack;
	char folder[256]; /* the runtime folder that was looked at */
	uid_t owner;	  /* of it, for the wrong user */
	bool own_exists;  /* the usual folder of this user is there and is this user's */
	bool lingers;
};

/* runtime is XDG_RUNTIME_DIR as it is set, or NULL. */
void manager_facts_read(struct manager_facts *ret_facts, const char *root, uid_t uid,
			const char *user, const char *runtime);

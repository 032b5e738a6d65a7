/* SPDX-License-Identifier: MIT */
#pragma once

#include "guarded.h"
#include "base/list.h"
#include "place.h"
#include "plan/plan.h"
#include "program.h"
#include "stamp.h"
#include "toolchain.h"

/*
 * What the parts of a plan share. plan.c calls them in this order:
 *   network.c      which network, and which hosts may be reached
 *   limits.c       what is asked for and in force, and the sizes of the tmpfs
 *   bound.c        the launch's host paths, resolved
 *   repository_git.c  what git needs beside the repository's tree
 *   policy.c       which of them may be bound
 *   system.c       what this host's /usr, /bin, /etc/ssl, … look like (effectful)
 *   root.c         the part of the root that is the same for every Trial
 *   destination.c  where they may be bound
 *   inside.c       the working directory, resolved as the sandbox will see it
 *   environment.c
 * Refusals carry ERROR_invalid or ERROR_refused; plan_make turns them into a void's cause.
 */
struct runner_plan; /* runner_plan.h */

#define PLAN_DESCRIPTORS_MAX 230 /* with leases and logins: keeper/channel.h */
#define PLAN_NOTES_MAX 64	 /* notes of a Trial */
/* Mounts, folders and files of a sandbox: bwrap takes some ten microseconds for each. */
#define PLAN_OPERATIONS_MAX 4000

/* Sizes of the sandbox's tmpfs, in bytes. */
struct tmpfs_sizes {
	uint64_t tmp;
	uint64_t home;
	uint64_t shm;
	uint64_t var_tmp; /* when it cannot be a link to /tmp */
};

int limits_settle(struct plan *plan, const struct config *config,
		  const struct launch_request *launch, struct tmpfs_sizes *ret_sizes,
		  struct fault *ret_fault);

/* The network: network.c. What the launch asks for; what its session needs; its variables. */
#define PLAN_PROXY_URL "http://127.0.0.1:3128"
int network_settle(struct plan *plan, const struct plan_host *host,
		   const struct launch_request *launch, struct fault *ret_fault);
int network_session(struct plan *plan, const struct session_plan *session, struct fault *ret_fault);
int network_environment(struct plan *plan);

/* A host path that a launch names, and where it goes. */
struct bound {
	char *field;	   /* "repository", "binds[2]", for faults */
	const char *given; /* as the launch spells it; borrowed */
	struct place place;
	struct ancestry ancestry;
	char *destination;
	bool writable;
	bool own_path;	/* the destination is the source's own canonical path */
	bool covered;	/* there already, with a tree around it: nothing is to be mounted */
	bool release;	/* of a Harness: it must not hold any guarded place */
	bool fresh;	/* a part of the fresh home: plan_operation */
	bool usual;	/* at the place it is known by: no links that lead there are recreated */
	bool toolchain; /* of one: it must not show any place of logins or keys */
	bool pinned;	/* a read-only part of a writable tree: rule 8 of destination.c */
	size_t *descriptor_index; /* NULL, or where its descriptor's number is kept, from 1 */
};

struct bound_list {
	struct bound *items;
	size_t count;
};

int bound_list_open(struct bound_list *ret_bounds, struct plan *plan,
		    const struct launch_request *launch, struct fault *ret_fault);
void bound_list_done(struct bound_list *bounds);
/* A place that was resolved already; copied. NULL destination: its own path. */
int bound_list_add(struct bound_list *bounds, const char *field, const struct place *place,
		   const char *destination, struct bound **ret_bound, struct fault *ret_fault);
/* Binds, and the links by which the launch spelled them. Takes the descriptors. */
int bound_list_compose(struct bound_list *bounds, struct plan *plan, struct fault *ret_fault);
/* Links passed on the way to a place, recreated where they can be. */
int links_compose(const struct place *place, const char *field, struct plan *plan,
		  struct fault *ret_fault);

/* The policy of binds: policy.c. */
int policy_check(const struct plan_host *host, const struct bound_list *bounds, struct plan *plan,
		 struct fault *ret_fault);

/*
 * Whether a file is or lies in a place that holds logins or keys, or in trialsd's own folders: 1 with
 * *ret_reason, to be freed; 0; -errno.
 */
int policy_find_secret(const struct plan_host *host, const struct place *place, char **ret_reason);

/* The policy of destinations: destination.c. plan holds the root, and no bind yet. */
int destination_check(struct bound_list *bounds, const struct plan *plan, struct fault *ret_fault);
/* Whether nothing of a launch's may be put at this path (links are then left out). */
bool destination_reserved(const char *path);

/*
 * Contents of a PLAN_FILE, shared by the plans that have it and never changed. Counted without
 * locks: all of one host's stay on one thread.
 */
struct plan_file {
	unsigned int references;
	int fd;	    /* sealed memfd, once one was needed; else -1 */
	char *data; /* any bytes */
	size_t size;
	unsigned char digest[32]; /* SHA-256 of them */
};

/* Takes data, even when it fails. */
int plan_file_new(struct plan_file **ret_file, char *data, size_t size);
struct plan_file *plan_file_ref(struct plan_file *file);
struct plan_file *plan_file_unref(struct plan_file *file);
/* A descriptor of its own to read it from the start. */
int plan_file_open(struct plan_file *file, int *ret_fd);

/* The files that root.c makes up. */
enum root_file {
	ROOT_PASSWD,
	ROOT_GROUP,
	ROOT_HOSTS,
	ROOT_NSSWITCH,
	ROOT_HOSTNAME,
	ROOT_RESOLV_CONF,
	ROOT_FILES,
};

/* This host's fixed part, as operations on a root; data and links as they are now. */
struct system_facts {
	struct plan_operation *operations;
	size_t operation_count;
	char *resolv_conf; /* the host's; for a launch on its network */
	char *hosts;
	struct plan_file *root[2][ROOT_FILES]; /* without and with the network, once made */
};

/* Everything that it looked at is added to stamps. */
int system_facts_read(struct system_facts *ret_facts, struct stamps *stamps);
void system_facts_done(struct system_facts *facts);

/* What one launch learns of the host and the next can use: cache.c. */
struct plan_cache {
	struct guards guards;
	struct system_facts facts;
	struct stamps facts_stamps;
	bool facts_valid;
	long long facts_looked; /* CLOCK_MONOTONIC, in nanoseconds */
	struct programs_known programs;
	struct programs_known tools; /* of toolchains: nobody asks them for a version */
};

int plan_cache_new(struct plan_cache **ret_cache);
struct plan_cache *plan_cache_free(struct plan_cache *cache);
/* As they are now, or were at most FACTS_MILLISECONDS ago; the cache's own. */
#define FACTS_MILLISECONDS 100
int plan_cache_facts(struct plan_cache *cache, struct system_facts **ret_facts);

/* Pure, but that it makes those of facts' root files that are not made yet. */
int root_compose(struct plan *plan, const struct plan_host *host, struct system_facts *facts,
		 const struct tmpfs_sizes *sizes, const struct bound_list *bounds);

/*
 * What an absolute path is inside: its canonical path there, to be freed, and where it is something
 * of the host's an O_PATH descriptor of it, else -1. -ENOENT, -ENOTDIR, … as the kernel would say.
 */
int inside_find(const struct plan *plan, const char *path, char **ret_canonical, int *ret_fd);
int inside_resolve(const struct plan *plan, const char *path, char **ret_canonical,
		   struct fault *ret_fault);

int environment_compose(struct plan *plan, const struct plan_host *host,
			const struct launch_request *launch, const struct session_plan *session,
			const struct runner_plan *runner, const struct toolchains *toolchains,
			struct fault *ret_fault);
#define ENVIRONMENT_HAS_KEY "environment.%s: the key of the credentials file is given in it"
/* A key, which is wiped with the plan and never told. name NULL: none. */
int environment_secret(struct plan *plan, const struct pair *secret, struct fault *ret_fault);

/* A session's part: session_compose.c. Its command; its places; its files and prompt. */
int session_command(struct plan *plan, const struct session_plan *session);
int session_bounds(struct bound_list *bounds, const struct session_plan *session,
		   struct fault *ret_fault);
int session_contents(struct plan *plan, const struct plan_host *host,
		     const struct session_plan *session, struct fault *ret_fault);

/* What one has beside its command and its prompt. sealed: what switches web tools off stays so. */
int session_parts(struct plan *plan, const struct plan_host *host,
		  const struct session_plan *session, bool sealed, struct fault *ret_fault);
/* What trialsd itself has at hand, at its place inside. The descriptor is borrowed. */
int session_bind(struct plan *plan, const char *destination, const char *source, int fd,
		 bool writable);

/* A Custom runner's part: runner_compose.c, in the order in which plan.c calls them. */
int runner_command(struct plan *plan, const struct runner_plan *runner);
int runner_bounds(struct bound_list *bounds, struct plan *plan, const struct plan_host *host,
		  const struct runner_plan *runner, struct fault *ret_fault);
int runner_contents(struct plan *plan, const struct plan_host *host,
		    const struct runner_plan *runner, struct fault *ret_fault);
int runner_environment(struct plan *plan, const struct runner_plan *runner);
int runner_secrets(struct plan *plan, const struct runner_plan *runner, struct fault *ret_fault);
/* Covers the programs of Harnesses that are not declared; once PATH is settled. runner_mask.c */
int runner_masks(struct plan *plan, const struct plan_host *host, const struct runner_plan *runner);
/* Those that an Arm's Harnesses and providers need. */
int network_runner(struct plan *plan, const struct runner_plan *runner, struct fault *ret_fault);

/* What a Grader has: grading.c. Where its answer is; its places; its variables. */
int grading_answers(struct plan *plan, const struct session_plan *session, struct fault *ret_fault);
int grading_compose(struct plan *plan, const struct grading *grading);
int grading_environment(struct plan *plan, const struct grading *grading);

/* What the keeper keeps of the home, and puts there: keep.c. The binds are all in the plan. */
int keep_compose(struct plan *plan, const struct plan_host *host,
		 const struct launch_request *launch, const struct session_plan *session,
		 const struct runner_plan *runner, struct fault *ret_fault);
/* The places of a session's logins, and the home that it is bound in. */
int keep_logins(struct plan *plan, const struct session_plan *session);
/* Refused: trialsd keeps no session of this Harness. */
int keep_check(const struct harness *harness, const struct launch_request *launch,
	       struct fault *ret_fault);

/*
 * What a program, open as O_PATH, prints on standard output when executed with one option and
 * nothing else: -EFBIG for more than 64 KiB, -ETIMEDOUT when it has not ended in time (it is then
 * killed), -ENOEXEC when it did not exit with 0.
 */
int bwrap_ask(int fd, const char *option, unsigned int milliseconds, char **ret_text);

/* The first option that a sandbox needs and bwrap's help does not name, or NULL. */
const char *bwrap_missing_option(const char *help);

/* What the fresh home is called in texts that are made up: with no sandbox a name for it. no_sandbox.c */
const char *plan_home_told(const struct plan_host *host);

/* plan_make with the host's fixed part given: what tests call to be the same everywhere. */
/* parents.c: spelled out, since bwrap would make them 0700. FAULT: there would be too many. */
int parents_add(struct plan *plan, struct fault *ret_fault);

int plan_build(struct plan **ret_plan, const struct plan_host *host, struct system_facts *facts,
	       const struct launch_request *launch, struct fault *ret_fault);

int plan_build_runner(struct plan **ret_plan, const struct plan_host *host,
		      struct system_facts *facts, const struct launch_request *launch,
		      const struct runner_plan *runner, struct fault *ret_fault);

int plan_build_grader(struct plan **ret_plan, const struct plan_host *host,
		      struct system_facts *facts, const struct launch_request *launch,
		      const struct grading *grading, struct fault *ret_fault);

/*
 * Appends an operation with copies of destination and source (may be NULL); NULL when out of
 * memory. The pointer is good until the next one is added.
 */
struct plan_operation *operation_add(struct plan_operation **operations, size_t *count,
				     enum plan_operation_type type, const char *destination,
				     const char *source);
void operations_free(struct plan_operation *operations, size_t count);
struct plan_operation *plan_add(struct plan *plan, enum plan_operation_type type,
				const char *destination, const char *source);
/* The operation at exactly this destination, or NULL. */
const struct plan_operation *plan_at(const struct plan *plan, const char *destination);
/* Adds a note; where there would be more than PLAN_NOTES_MAX the last one says so. */
int plan_note(struct plan *plan, const char *format, ...) _printf_(2, 3);
/* A note that whoever launches is told of at once. */
int plan_warn(struct plan *plan, const char *format, ...) _printf_(2, 3);

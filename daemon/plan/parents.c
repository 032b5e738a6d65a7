/* SPDX-License-Identifier: MIT */

/*
 * Folders on the way to a destination. By a tree of the paths, since there can be thousands, and the
 * loop waits for it.
 */
#include "build.h"

#include <search.h>
#include <string.h>

/* A path that something is at; of a tree that is bound, all folders in it come with it. */
struct taken {
	const char *path; /* its own */
	bool tree;
};

static int taken_compare(const void *a, const void *b)
{
	return strcmp(((const struct taken *)a)->path, ((const struct taken *)b)->path);
}

static void taken_free(void *taken)
{
	struct taken *freed = taken;

	free((char *)freed->path);
	free(freed);
}

static int taken_add(void **root, const char *path, bool tree)
{
	struct taken *taken = malloc(sizeof(*taken)), **there;

	if (!taken)
		return -ENOMEM;
	*taken = (struct taken){.path = strdup(path), .tree = tree};
	there = taken->path ? tsearch(taken, root, taken_compare) : NULL;
	if (!there || *there != taken) {
		if (there)
			(*there)->tree |= tree;
		taken_free(taken);
	}
	return there ? 0 : -ENOMEM;
}

static const struct taken *taken_find(void **root, const char *path)
{
	const struct taken wanted = {.path = path};
	struct taken **there = tfind(&wanted, root, taken_compare);

	return there ? *there : NULL;
}

static bool is_in_tree(void **root, const char *path)
{
	_cleanup_free_ char *above = strdup(path);
	const struct taken *there;
	char *slash;

	while (above && *above) {
		there = taken_find(root, above);
		if (there && there->tree)
			return true;
		slash = strrchr(above, '/');
		if (!slash)
			break;
		*slash = '\0';
	}
	return false;
}

static int parents_of(struct plan *plan, void **root, const char *destination, struct fault *fault)
{
	_cleanup_free_ char *path = strdup(destination);
	char *slash;
	int r = path ? 0 : -ENOMEM;

	while (r == 0 && (slash = strrchr(path, '/')) && slash > path) {
		*slash = '\0';
		if (taken_find(root, path) || is_in_tree(root, path))
			break;
		if (plan->operation_count >= PLAN_OPERATIONS_MAX)
			return fault_set(fault, ERROR_invalid,
					 "binds: the sandbox would have more than %d mounts and "
					 "folders: bind fewer paths, or paths that are less deep",
					 PLAN_OPERATIONS_MAX);
		r = plan_add(plan, PLAN_DIRECTORY, path, NULL) ? taken_add(root, path, false)
							       : -ENOMEM;
	}
	return r;
}

int parents_add(struct plan *plan, struct fault *fault)
{
	size_t count = plan->operation_count;
	void *root = NULL;
	int r = 0;

	for (size_t i = 0; r == 0 && i < count; i++) {
		enum plan_operation_type type = plan->operations[i].type;

		r = taken_add(&root, plan->operations[i].destination,
			      type == PLAN_BIND || type == PLAN_SYSTEM_BIND);
	}
	for (size_t i = 0; r == 0 && i < count; i++) {
		/* plan->operations moves. */
		_cleanup_free_ char *destination = strdup(plan->operations[i].destination);

		r = destination ? parents_of(plan, &root, destination, fault) : -ENOMEM;
	}
	tdestroy(root, taken_free);
	return r;
}

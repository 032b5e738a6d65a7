/* SPDX-License-Identifier: MIT */
#include "build.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/*
 * The host paths that a launch names: resolved into places, and later, once the policies have
 * agreed, turned into binds on their canonical paths and into the links by which they were
 * spelled, so that the user's own paths work inside.
 */

#define LINKS_COMPOSED_MAX 512 /* of one plan; each is two arguments of bwrap */

void bound_list_done(struct bound_list *bounds)
{
	for (size_t i = 0; i < bounds->count; i++) {
		free(bounds->items[i].field);
		place_done(&bounds->items[i].place);
		ancestry_done(&bounds->items[i].ancestry);
		free(bounds->items[i].destination);
	}
	free(bounds->items);
	*bounds = (struct bound_list){0};
}

/* What the launch says of one path. */
struct request {
	const char *field;
	const char *source;
	const char *destination; /* or NULL */
	bool writable;
	bool optional;
	bool folder; /* only a folder will do */
};

static struct bound *bound_new(struct bound_list *bounds)
{
	struct bound *items = realloc(bounds->items, (bounds->count + 1) * sizeof(*items));

	if (!items)
		return NULL;
	bounds->items = items;
	items[bounds->count] = (struct bound){.place = PLACE_INIT};
	return &items[bounds->count++];
}

/* What a resolved place still lacks. */
static int bound_settle(struct bound *bound, const char *destination, const char *shown,
			struct fault *fault)
{
	int r = place_ancestry(&bound->place, &bound->ancestry);

	if (r == -EACCES)
		return fault_set(fault, ERROR_invalid,
				 "%s: %s cannot be entered: no permission to search it",
				 bound->field, shown);
	if (r < 0)
		return r;
	bound->destination = strdup(destination ? destination : bound->place.canonical);
	if (!bound->destination)
		return -ENOMEM;
	bound->own_path = !strcmp(bound->destination, bound->place.canonical);
	return 0;
}

int bound_list_add(struct bound_list *bounds, const char *field, const struct place *place,
		   const char *destination, struct bound **ret_bound, struct fault *ret_fault)
{
	struct bound *bound = bound_new(bounds);
	_cleanup_free_ char *shown = display(place->canonical);
	int r;

	if (!bound)
		return -ENOMEM;
	bound->field = strdup(field);
	if (!bound->field)
		return -ENOMEM;
	r = place_copy(place, &bound->place);
	if (r < 0)
		return r;
	bound->given = bound->place.canonical;
	*ret_bound = bound;
	return bound_settle(bound, destination, shown, ret_fault);
}

static int bound_open(struct bound_list *bounds, struct plan *plan, const struct request *request,
		      struct fault *fault)
{
	struct bound *bound = bound_new(bounds);
	_cleanup_free_ char *shown = display(request->source);
	bool missing;
	int r;

	if (!bound)
		return -ENOMEM;
	bound->field = strdup(request->field);
	bound->given = request->source;
	bound->writable = request->writable;
	if (!bound->field)
		return -ENOMEM;
	r = place_open(&bound->place, request->field, request->source, &missing, fault);
	if (r == FAULT && missing && request->optional) {
		free(bound->field);
		bounds->count--;
		fault_done(fault);
		return plan_note(plan, "%s: %s does not exist and is left out (optional)",
				 request->field, shown);
	}
	if (r != 0)
		return r;
	if (request->folder && !S_ISDIR(bound->place.mode))
		return fault_set(fault, ERROR_invalid, "%s: %s is not a folder", request->field,
				 shown);
	return bound_settle(bound, request->destination, shown, fault);
}

static int binds_open(struct bound_list *bounds, struct plan *plan,
		      const struct launch_request *launch, struct fault *fault)
{
	for (size_t i = 0; i < launch->binds.count; i++) {
		const struct bind_spec *spec = &launch->binds.items[i];
		struct request request = {
			.source = spec->source,
			.destination = spec->destination,
			.writable = spec->has.mode && spec->mode == MODE_rw,
			.optional = spec->has.optional && spec->optional,
		};
		_cleanup_free_ char *field = NULL;
		int r;

		if (asprintf(&field, "binds[%zu]", i) < 0)
			return -ENOMEM;
		request.field = field;
		r = bound_open(bounds, plan, &request, fault);
		if (r != 0)
			return r;
	}
	return 0;
}

static int repository_open(struct bound_list *bounds, struct plan *plan,
			   const struct launch_request *launch, struct fault *fault)
{
	bool grader = launch->has.role && launch->role == ROLE_grader;
	struct request request = {
		.field = "repository",
		.source = launch->repository,
		.writable = launch->has.repository_mode ? launch->repository_mode == MODE_rw
							: !grader,
		.folder = true,
	};
	int r = bound_open(bounds, plan, &request, fault);

	if (r != 0)
		return r;
	bounds->items[bounds->count - 1].descriptor_index = &plan->repository_folder;
	plan->repository = strdup(bounds->items[bounds->count - 1].place.canonical);
	plan->repository_writable = request.writable;
	return plan->repository ? 0 : -ENOMEM;
}

int bound_list_open(struct bound_list *ret_bounds, struct plan *plan,
		    const struct launch_request *launch, struct fault *ret_fault)
{
	const struct request build = {.field = "build", .source = launch->build};
	const struct request skills = {.field = "skills", .source = launch->skills, .folder = true};
	int r = 0;

	if (launch->repository)
		r = repository_open(ret_bounds, plan, launch, ret_fault);
	if (r == 0 && launch->build)
		r = bound_open(ret_bounds, plan, &build, ret_fault);
	if (r == 0 && launch->skills)
		r = bound_open(ret_bounds, plan, &skills, ret_fault);
	return r == 0 ? binds_open(ret_bounds, plan, launch, ret_fault) : r;
}

/* Takes its descriptor: the plan's last. */
static int descriptor_take(struct bound *bound, struct plan *plan)
{
	int *descriptors = realloc(plan->descriptors,
				   (plan->descriptor_count + 1) * sizeof(*descriptors));

	if (!descriptors)
		return -ENOMEM;
	plan->descriptors = descriptors;
	descriptors[plan->descriptor_count++] = fd_steal(&bound->place.fd);
	if (bound->descriptor_index)
		*bound->descriptor_index = plan->descriptor_count;
	return 0;
}

static int bind_compose(struct bound *bound, struct plan *plan)
{
	struct plan_operation *operation;

	operation = plan_add(plan, PLAN_BIND, bound->destination, bound->place.canonical);
	if (!operation)
		return -ENOMEM;
	operation->writable = bound->writable;
	operation->fresh = bound->fresh;
	operation->descriptor = (int)plan->descriptor_count;
	return descriptor_take(bound, plan);
}

/* Whether a bound or system tree, or a folder that stays as it is, has this path already. */
static bool is_covered(const struct plan *plan, const char *path)
{
	for (size_t i = 0; i < plan->operation_count; i++) {
		const struct plan_operation *operation = &plan->operations[i];

		if ((operation->type == PLAN_BIND || operation->type == PLAN_SYSTEM_BIND) &&
		    path_within(path, operation->destination))
			return true;
	}
	return false;
}

/* Rule 9 of destination.c. */
static const struct plan_operation *below_link(const struct plan *plan, const char *location)
{
	for (size_t i = 0; i < plan->operation_count; i++) {
		const struct plan_operation *operation = &plan->operations[i];

		if (path_within(operation->destination, location))
			return operation;
	}
	return NULL;
}

static int link_compose(const struct place_link *link, const char *field, struct plan *plan,
			struct fault *fault)
{
	const struct plan_operation *there = plan_at(plan, link->location);
	_cleanup_free_ char *shown = NULL, *other = NULL;

	if (there && there->type == PLAN_SYMLINK && !strcmp(there->source, link->text))
		return 0;
	if (is_covered(plan, link->location))
		return 0;
	shown = display(link->location);
	if (destination_reserved(link->location))
		return plan_note(plan, "%s: the symbolic link %s is not there inside", field,
				 shown);
	there = below_link(plan, link->location);
	if (there) {
		other = display(there->destination);
		return fault_set(
			fault, ERROR_refused,
			"%s: it is given through the symbolic link %s, and inside %s is to be there: give its canonical path",
			field, shown, other);
	}
	return plan_add(plan, PLAN_SYMLINK, link->location, link->text) ? 0 : -ENOMEM;
}

int links_compose(const struct place *place, const char *field, struct plan *plan,
		  struct fault *ret_fault)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < place->link_count; i++)
		r = link_compose(&place->links[i], field, plan, ret_fault);
	return r;
}

int bound_list_compose(struct bound_list *bounds, struct plan *plan, struct fault *ret_fault)
{
	size_t links = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < bounds->count; i++)
		/* Without a sandbox what is around it is elsewhere. */
		if (!bounds->items[i].covered || (bounds->items[i].fresh && plan->no_sandbox))
			r = bind_compose(&bounds->items[i], plan);
		else if (bounds->items[i].descriptor_index)
			r = descriptor_take(&bounds->items[i], plan);
	for (size_t i = 0; r == 0 && i < bounds->count; i++) {
		if (bounds->items[i].usual)
			continue;
		links += bounds->items[i].place.link_count;
		if (links > LINKS_COMPOSED_MAX)
			return fault_set(
				ret_fault, ERROR_invalid,
				"%s: the paths of this launch pass more than %d symbolic links",
				bounds->items[i].field, LINKS_COMPOSED_MAX);
		r = links_compose(&bounds->items[i].place, bounds->items[i].field, plan, ret_fault);
	}
	return r;
}

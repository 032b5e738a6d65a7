/* SPDX-License-Identifier: MIT */

/*
 * A launch that names an Arm. This is the one place that says what it may say beside it:
 *
 *   how it is queued, kept and called: key, labels, priority, grace_seconds, keep_home, role (one that
 *   the Arm serves), bar (and seat, which named the Arm), allow_no_sandbox;
 *   what it works on: of (of a Grader) and outputs, repository, repository_mode (no wider than the role's own), cwd,
 *   share_repository, and its prompt;
 *   less than the Arm has: lower limits, network none, values of the variables that the Arm leaves
 *   open.
 *
 * All else would make it another way of doing the work, and is refused, also where it says what the
 * Arm says.
 */
#include "arm.h"

#include <stdio.h>
#include <string.h>

#include "base/list.h"
#include "plan/grading.h"
#include "proto/quantity.h"

#define PREPARE_HINT "prepare another Arm that says so: trialctl arm prepare FILE.json"

static int refuse(struct fault *fault, const char *key)
{
	fault_set(fault, ERROR_refused, "%s: is the Arm's to say, and cannot stand beside arm",
		  key);
	return fault_hint(fault, PREPARE_HINT);
}

/* What is the Arm's alone. */
static int check_keys(const struct launch_request *launch, struct fault *fault)
{
	const struct {
		const char *key;
		bool said;
	} keys[] = {
		{"command", launch->has.command || launch->command.count > 0},
		{"harness", launch->harness != NULL},
		{"model", launch->model != NULL},
		{"effort", launch->effort != NULL},
		{"resume", launch->resume != NULL},
		{"of", launch->has.of && !launch_judges(launch)},
		{"executable", launch->executable != NULL},
		{"arguments", launch->has.arguments || launch->arguments.count > 0},
		{"build", launch->build != NULL},
		{"skills", launch->skills != NULL},
		{"binds", launch->has.binds || launch->binds.count > 0},
		{"hosts", launch->has.hosts || launch->hosts.count > 0},
		{"toolchains", launch->has.toolchains || launch->toolchains.count > 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (keys[i].said)
			return refuse(fault, keys[i].key);
	if (launch->has.network && launch->network == NETWORK_host) {
		fault_set(fault, ERROR_refused,
			  "network: host is wider than the Arm's, which is the hosts of its "
			  "Harnesses and providers");
		return fault_hint(fault, "leave network out, or say none");
	}
	return 0;
}

static int check_role(const struct arm *arm, const struct launch_request *launch,
		      struct fault *fault)
{
	enum role role = launch->has.role ? launch->role : ROLE_trial;

	if (!arm_has_role(arm, role)) {
		fault_set(fault, ERROR_refused, "role: the Arm %s does not serve as a %s",
			  arm->name, role_name((int)role));
		return fault_hint(
			fault,
			"launch it as a %s, or prepare it with \"roles\": [\"trial\", \"grader\"]: "
			"trialctl arm prepare FILE.json",
			role == ROLE_grader ? "trial" : "grader (--role grader --of ID)");
	}
	if (role == ROLE_grader && launch->has.repository_mode &&
	    launch->repository_mode == MODE_rw) {
		fault_set(fault, ERROR_refused,
			  "repository_mode: a grader of an Arm has its repository ro");
		return fault_hint(fault, "leave repository_mode out");
	}
	return 0;
}

/* A limit of which all that is known is its value as text. */
static int refuse_limit(struct fault *fault, const char *name, const char *asked, const char *most,
			bool of_arm)
{
	fault_set(fault, ERROR_refused, "limits.%s: %s is more than %s, which is %s", name, asked,
		  most,
		  of_arm ? "the Arm's limit"
			 : "the configured limit of what the Arm does not limit");
	return fault_hint(fault, "ask for no more than that, or leave it out");
}

static void limit_text(enum field_type type, double value, char *text, size_t size)
{
	if (type == FIELD_SIZE)
		quantity_format_size((uint64_t)value, text, size);
	else
		snprintf(text, size, "%.15g", value);
}

/* The launch's value, no more than the Arm's, or than the configured one where it has none. */
#define LIMIT_APPLY_(name, type, presence, limit, doc)                                             \
	{                                                                                          \
		bool bounded = arm->limits.has.name || defaults->has.name;                         \
		double most = arm->limits.has.name ? (double)arm->limits.name                      \
						   : (double)defaults->name;                       \
		if (limits->has.name && bounded && (double)limits->name > most) {                  \
			char asked_text[32], most_text[32];                                        \
                                                                                                   \
			limit_text(FIELD_##type, (double)limits->name, asked_text,                 \
				   sizeof(asked_text));                                            \
			limit_text(FIELD_##type, most, most_text, sizeof(most_text));              \
			return refuse_limit(fault, #name, asked_text, most_text,                   \
					    arm->limits.has.name);                                 \
		}                                                                                  \
		if (!limits->has.name && arm->limits.has.name) {                                   \
			limits->has.name = true;                                                   \
			limits->name = arm->limits.name;                                           \
		}                                                                                  \
		said |= limits->has.name;                                                          \
	}

static int apply_limits(const struct arm *arm, const struct limits_spec *defaults,
			struct launch_request *launch, struct fault *fault)
{
	struct limits_spec *limits = &launch->limits;
	bool said = false;

	LIMITS_FIELDS(LIMIT_APPLY_)
	launch->has.limits = said;
	return 0;
}

static bool has_text(const struct text_list *list, const char *text)
{
	for (size_t i = 0; i < list->count; i++)
		if (strcmp(list->items[i], text) == 0)
			return true;
	return false;
}

static int apply_environment(const struct arm *arm, const struct launch_request *launch,
			     struct pair_list *environment, struct fault *fault)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < arm->environment.count; i++)
		r = pair_list_set(environment, arm->environment.items[i].name,
				  arm->environment.items[i].value);
	for (size_t i = 0; r == 0 && i < launch->environment.count; i++) {
		const struct pair *pair = &launch->environment.items[i];
		_cleanup_free_ char *name = NULL;

		if (has_text(&arm->variables, pair->name)) {
			r = pair_list_set(environment, pair->name, pair->value);
			continue;
		}
		name = display(pair->name);
		fault_set(fault, ERROR_refused,
			  "environment.%s: is no variable that the Arm %s leaves to its launches",
			  name, arm->name);
		return fault_hint(fault, PREPARE_HINT);
	}
	return r;
}

/* What the Arm says, where the launch said nothing. */
static void apply_arm(const struct arm *arm, struct launch_request *launch)
{
	const struct arm_harness *own = arm->harness ? arm_harness_find(arm, arm->harness) : NULL;

	launch->command = arm->command;
	launch->has.command = arm->command.count > 0;
	launch->harness = arm->harness;
	launch->has.harness = arm->harness != NULL;
	launch->model = arm->model;
	launch->has.model = arm->model != NULL;
	launch->effort = arm->effort;
	launch->has.effort = arm->effort != NULL;
	launch->executable = own ? own->executable : NULL;
	launch->has.executable = launch->executable != NULL;
	launch->arguments = arm->arguments;
	launch->has.arguments = arm->arguments.count > 0;
	launch->build = arm->has.build ? arm->build.path : NULL;
	launch->has.build = arm->has.build;
	launch->skills = arm->has.skills ? arm->skills.path : NULL;
	launch->has.skills = arm->has.skills;
	launch->toolchains = arm->toolchains;
	launch->has.toolchains = arm->toolchains.count > 0;
	if (!launch->has.network) {
		launch->has.network = true;
		launch->network = NETWORK_allowlist;
	}
}

int arm_apply(const struct arm *arm, const char *id, const struct limits_spec *defaults,
	      const struct launch_request *launch, struct arm_launch *ret_launch,
	      struct fault *ret_fault)
{
	struct arm_launch *result = ret_launch;
	int r;

	*result = (struct arm_launch){.launch = *launch};
	r = check_keys(launch, ret_fault);
	if (r == 0)
		r = check_role(arm, launch, ret_fault);
	if (r == 0)
		r = apply_limits(arm, defaults, &result->launch, ret_fault);
	if (r == 0)
		r = apply_environment(arm, launch, &result->environment, ret_fault);
	if (r != 0) {
		arm_launch_done(result);
		return r;
	}
	apply_arm(arm, &result->launch);
	result->launch.environment = result->environment;
	result->launch.has.environment = result->environment.count > 0;
	result->launch.arm = id;
	result->launch.has.arm = true;
	return 0;
}

void arm_launch_done(struct arm_launch *launch)
{
	pair_list_done(&launch->environment);
	*launch = (struct arm_launch){0};
}

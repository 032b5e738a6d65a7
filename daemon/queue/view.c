/* SPDX-License-Identifier: MIT */

/*
 * A ledger row as clients see it: three stored messages (the launch, what trialsd knows, the
 * keeper's record) and the row's own columns, in one trial_view. Nothing is copied.
 *
 * A stored message that does not decode (a damaged row) leaves its part absent: the columns still
 * tell the truth, and one bad row must not hide the others.
 */
#include "queue/view.h"

#include "keeper/record.h"
#include "plan/grading.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define PRESENCE_REQUIRED true
#define PRESENCE_OPTIONAL false
#define THIS trial_facts
#define FIELDS TRIAL_FACTS_FIELDS
#include "proto/field_table.h"

int view_encode(msgpack_sbuffer *ret_buffer, const struct message_type *type, const void *structure)
{
	msgpack_packer packer;
	int r;

	msgpack_sbuffer_init(ret_buffer);
	msgpack_packer_init(&packer, ret_buffer, msgpack_sbuffer_write);
	r = message_encode(&packer, type, structure);
	if (r < 0)
		msgpack_sbuffer_destroy(ret_buffer);
	return r;
}

bool view_decode(const struct blob *blob, struct message **ret_message,
		 const struct message_type *type, void *ret_structure)
{
	struct decode_error error;
	struct message *message;

	if (!blob->size || message_parse(&message, blob->data, blob->size) < 0)
		return false;
	if (message_decode(message, message_root(message), type, UNKNOWN_KEYS_IGNORED,
			   ret_structure, &error) < 0) {
		message_free(message);
		return false;
	}
	*ret_message = message;
	return true;
}

/* As asked; what was found of it comes with the facts. */
static void view_harness(struct trial_view *trial, const struct launch_request *spec)
{
	trial->has.harness = spec->harness != NULL;
	trial->harness = (struct trial_harness){
		.has = {.name = true, .of = spec->has.of && !launch_judges(spec)},
		.of = launch_judges(spec) ? 0 : spec->of,
		.name = spec->harness,
		.model = spec->model,
		.effort = spec->effort,
		.resume = spec->resume,
	};
}

/* Their names, as asked; lost when there is no memory, like the logs of a Trial. */
static void view_toolchains(struct view *view, const struct launch_request *spec)
{
	struct trial_toolchain_list *list = &view->trial.toolchains;

	if (spec->toolchains.count == 0)
		return;
	view->toolchains = calloc(spec->toolchains.count, sizeof(*view->toolchains));
	if (!view->toolchains)
		return;
	for (size_t i = 0; i < spec->toolchains.count; i++)
		view->toolchains[i] = (struct trial_toolchain){
			.has = {.name = true},
			.name = spec->toolchains.items[i],
		};
	list->items = view->toolchains;
	list->count = spec->toolchains.count;
	view->trial.has.toolchains = true;
}

/* Of variables the names only: a value may be a secret. */
static void view_variables(struct view *view, const struct pair_list *environment)
{
	if (environment->count == 0)
		return;
	view->variables.items = calloc(environment->count, sizeof(*view->variables.items));
	if (!view->variables.items)
		return;
	for (size_t i = 0; i < environment->count; i++)
		view->variables.items[i] = environment->items[i].name;
	view->variables.count = environment->count;
}

static void view_spec(struct trial_view *trial, const struct launch_request *spec)
{
	view_harness(trial, spec);
	trial->command = spec->command;
	trial->repository = spec->repository;
	trial->repository_mode = spec->repository_mode;
	trial->has.repository_mode = spec->repository != NULL;
	trial->role = spec->has.role ? spec->role : ROLE_trial;
	if (!spec->has.repository_mode)
		trial->repository_mode = trial->role == ROLE_grader ? MODE_ro : MODE_rw;
	trial->of = spec->of;
	trial->has.of = launch_judges(spec);
	trial->cwd = spec->cwd;
	trial->network = spec->has.network ? spec->network : NETWORK_none;
	trial->labels = spec->labels;
	trial->has.command = spec->has.command;
	trial->has.repository = spec->repository != NULL;
	trial->has.cwd = spec->cwd != NULL;
	trial->has.labels = spec->has.labels;
	trial->bar = spec->bar;
	trial->has.bar = spec->bar != NULL;
	trial->seat = spec->seat;
	trial->has.seat = spec->seat != NULL;
}

/* The record's keys are the Trial's keys: OUTCOME_FIELDS stands in both tables. */
#define COPY_FACT_(name, type, presence, limit, doc)                                               \
	trial->name = record->name;                                                                \
	trial->has.name = record->has.name;

static void view_record(struct trial_view *trial, const struct outcome_record *record)
{
	OUTCOME_FIELDS(COPY_FACT_)
}

static void view_row(struct view *view, const struct ledger_row *row)
{
	struct trial_view *trial = &view->trial;

	trial->id = row->id;
	trial->uuid = row->uuid;
	trial->state = row->state;
	trial->priority = row->priority;
	trial->submitted_at = row->submitted_at;
	trial->has.id = trial->has.uuid = trial->has.state = true;
	trial->has.priority = trial->has.submitted_at = true;
	trial->has.role = trial->has.network = true;
	trial->key = row->key;
	trial->has.key = row->key != NULL;
	trial->unit = row->unit;
	trial->has.unit = row->unit != NULL;
	trial->canceled_by = row->canceled_by;
	trial->has.canceled_by = row->canceled_by != NULL;
	trial->plan_digest = row->plan_digest;
	trial->has.plan_digest = row->plan_digest != NULL;
	if (row->backend >= 0) {
		trial->backend = row->backend;
		trial->has.backend = true;
	}
	if (row->outcome >= 0) {
		trial->outcome = row->outcome;
		trial->has.outcome = true;
	}
	if (row->started_at) {
		trial->started_at = row->started_at;
		trial->has.started_at = true;
	}
	if (row->ended_at) {
		trial->ended_at = row->ended_at;
		trial->has.ended_at = true;
	}
	if (row->backend >= 0) {
		trial->folder = view->folder;
		trial->has.folder = true;
	}
}

/* The record names streams; where their files are is the daemon's knowledge. */
static int view_logs(struct view *view)
{
	struct log_state_list *logs = &view->trial.logs;
	size_t folder = strlen(view->folder);

	if (!logs->count)
		return 0;
	view->logs = calloc(logs->count, sizeof(*view->logs));
	if (!view->logs)
		return -ENOMEM;
	for (size_t i = 0; i < logs->count; i++) {
		const char *name = stream_name(logs->items[i].stream);
		char *path = malloc(folder + strlen(name) + 2);

		view->logs[i] = logs->items[i];
		view->logs[i].path = path;
		view->logs[i].has.path = path != NULL;
		if (!path)
			return -ENOMEM;
		sprintf(path, "%s/%s", view->folder, name);
	}
	logs->items = view->logs;
	return 0;
}

static void view_plan(struct trial_view *trial, const struct trial_facts *facts)
{
	trial->plan = facts->plan;
	trial->has.plan = facts->has.plan;
	trial->sandbox = facts->sandbox;
	trial->has.sandbox = facts->has.sandbox;
	/* Not what is masked there, beside it. */
	if (facts->has.sandbox && trial->has.command)
		trial->command = facts->sandbox.command;
}

int view_make(struct view *ret_view, const struct ledger_row *row, const char *trials_folder,
	      bool with_plan)
{
	struct outcome_record record;
	struct launch_request spec;
	struct trial_facts facts;
	struct trial_view *trial = &ret_view->trial;

	memset(ret_view, 0, sizeof(*ret_view));
	snprintf(ret_view->folder, sizeof(ret_view->folder), "%s/%llu", trials_folder,
		 (unsigned long long)row->id);
	if (view_decode(&row->spec, &ret_view->spec, &launch_request_type, &spec)) {
		view_spec(trial, &spec);
		view_toolchains(ret_view, &spec);
		view_variables(ret_view, &spec.environment);
		ret_view->build = spec.build;
		ret_view->skills = spec.skills;
		ret_view->binds = spec.binds;
	}
	if (view_decode(&row->record, &ret_view->record, &outcome_record_type, &record))
		view_record(trial, &record);
	if (view_decode(&row->facts, &ret_view->facts, &trial_facts_type, &facts)) {
		trial->notes = facts.notes;
		trial->has.notes = facts.has.notes;
		if (facts.repository) {
			trial->repository = facts.repository;
			trial->has.repository = true;
		}
		if (facts.has.harness) {
			trial->harness = facts.harness;
			trial->has.harness = true;
		}
		trial->harnesses = facts.harnesses;
		trial->has.harnesses = facts.has.harnesses;
		trial->providers = facts.providers;
		trial->has.providers = facts.has.providers;
		if (facts.has.toolchains) {
			trial->toolchains = facts.toolchains;
			trial->has.toolchains = true;
		}
		trial->arm = facts.arm_id;
		trial->has.arm = facts.arm_id != NULL;
		trial->arm_name = facts.arm_name;
		trial->has.arm_name = facts.arm_name != NULL;
		trial->families = facts.families;
		trial->has.families = facts.families.count > 0;
		trial->bar_id = facts.bar_id;
		trial->has.bar_id = facts.bar_id != NULL;
		trial->no_sandbox = facts.no_sandbox;
		trial->has.no_sandbox = facts.has.no_sandbox;
		trial->rerun_of = facts.rerun_of;
		trial->has.rerun_of = facts.has.rerun_of;
		ret_view->hosts = facts.hosts;
		if (with_plan)
			view_plan(trial, &facts);
	}
	/* Whatever its keeper said, which knows no number. */
	if (trial->has.cause && trial->cause == CAUSE_no_verdict) {
		snprintf(ret_view->hint, sizeof(ret_view->hint),
			 "what it wrote: trialctl logs %llu", (unsigned long long)row->id);
		trial->hint = ret_view->hint;
		trial->has.hint = true;
	}
	/* Of a seat with several, families tells them all. */
	if (trial->has.verdict && trial->families.count == 1)
		trial->verdict.family = trial->families.items[0];
	view_row(ret_view, row);
	return view_logs(ret_view);
}

void view_add_whole(struct view *view)
{
	_cleanup_close_ int folder_fd = open(view->folder,
					     O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct trial_view *trial = &view->trial;
	struct outcome_record record;

	trial->hosts = view->hosts;
	trial->has.hosts = view->hosts.count > 0;
	trial->build = view->build;
	trial->has.build = view->build != NULL;
	trial->skills = view->skills;
	trial->has.skills = view->skills != NULL;
	trial->binds = view->binds;
	trial->has.binds = view->binds.count > 0;
	trial->environment_names = view->variables;
	trial->has.environment_names = view->variables.count > 0;
	if (trial->state != STATE_ended || folder_fd < 0 ||
	    record_read_whole(folder_fd, &view->connections, &record) < 0)
		return;
	trial->connections = record.connections;
	trial->has.connections = record.has.connections;
	trial->connections_more = record.connections_more;
	trial->has.connections_more = record.has.connections_more;
}

void view_drop_whole(struct view *view)
{
	struct trial_view *trial = &view->trial;

	connection_sum_add(&trial->connections_more, &trial->connections);
	trial->has.connections_more = trial->has.connections_more || trial->connections.count > 0;
	trial->has.connections = false;
	trial->connections.count = 0;
	trial->has.hosts = trial->has.binds = trial->has.environment_names = false;
	trial->hosts.count = trial->binds.count = trial->environment_names.count = 0;
}

void view_done(struct view *view)
{
	for (size_t i = 0; view->logs && i < view->trial.logs.count; i++)
		free((char *)view->logs[i].path);
	free(view->logs);
	free(view->toolchains);
	free(view->variables.items);
	message_free(view->spec);
	message_free(view->facts);
	message_free(view->record);
	message_free(view->connections);
	memset(view, 0, sizeof(*view));
}

void view_writable(const struct ledger_row *row, struct text_list *ret_writable)
{
	struct message *message = NULL;
	struct trial_facts facts;

	*ret_writable = (struct text_list){0};
	if (!view_decode(&row->facts, &message, &trial_facts_type, &facts))
		return;
	ret_writable->items = calloc(facts.writable.count + 1, sizeof(*ret_writable->items));
	for (size_t i = 0; ret_writable->items && i < facts.writable.count; i++) {
		char *path = strdup(facts.writable.items[i]);

		if (path)
			ret_writable->items[ret_writable->count++] = path;
	}
	message_free(message);
}

double view_wall_seconds(const struct ledger_row *row)
{
	struct message *message = NULL;
	struct trial_facts facts;
	double seconds = -1;

	if (view_decode(&row->facts, &message, &trial_facts_type, &facts) && facts.has.wall_seconds)
		seconds = facts.wall_seconds;
	message_free(message);
	return seconds;
}

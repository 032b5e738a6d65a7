/* SPDX-License-Identifier: MIT */
#include "queue/frozen.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "queue/launch_file.h"
#include "base/text.h"
#include "base/words.h"

/* What may be internal is a permission, and is one only for as long as it is configured. */
static bool is_allowed_still(const struct text_list *internal, const struct config *config)
{
	for (size_t i = 0; i < internal->count; i++)
		if (!words_have(&config->internal, internal->items[i]))
			return false;
	return true;
}

const struct plan_host *frozen_host(struct frozen_host *storage, const struct plan_host *host,
				    const struct trial_facts *facts)
{
	if (!facts->has.rerun_of)
		return host;
	storage->host = *host;
	storage->config = *host->config;
	storage->host.config = &storage->config;
	if (facts->has.rerun_limits)
		storage->config.limits = facts->rerun_limits;
	if (facts->has.rerun_hosts)
		storage->config.hosts = facts->rerun_hosts;
	if (facts->has.rerun_internal && is_allowed_still(&facts->rerun_internal, host->config))
		storage->config.internal = facts->rerun_internal;
	if (facts->has.rerun_grace_seconds)
		storage->config.grace_seconds = facts->rerun_grace_seconds;
	if (facts->has.rerun_idle_seconds)
		storage->config.idle_seconds = facts->rerun_idle_seconds;
	return &storage->host;
}

void frozen_take(struct trial_facts *ret_facts, uint64_t of, const struct trial_facts *old,
		 const char *plan_digest)
{
	const struct sandbox_view *sandbox = &old->sandbox;

	*ret_facts = (struct trial_facts){
		.has = {.rerun_of = true,
			.rerun_limits = sandbox->has.limits,
			/* Also when there were none: what is configured now is not to be added. */
			.rerun_hosts = old->has.hosts,
			.rerun_internal = old->has.hosts && old->has.sandbox,
			.rerun_grace_seconds = sandbox->has.grace_seconds,
			.rerun_idle_seconds = sandbox->has.idle_seconds},
		.rerun_of = of,
		.rerun_digest = plan_digest,
		.rerun_sha256 = old->harness.sha256,
		.rerun_limits = sandbox->limits,
		.rerun_hosts = old->hosts,
		.rerun_internal = sandbox->internal,
		.rerun_grace_seconds = sandbox->grace_seconds,
		.rerun_idle_seconds = sandbox->idle_seconds,
		/* Its launch is what the Arm made of it, and is not made of it again. */
		.arm_id = old->arm_id,
		.arm_name = old->arm_name,
		.arm = old->arm,
		.asked = old->asked,
		.families = old->families,
		.bar_id = old->bar_id,
	};
}

int frozen_session_hosts(const struct trial_facts *accepted, struct text_list *hosts)
{
	int r = 0;

	if (!accepted->has.rerun_hosts || accepted->arm_id || accepted->rerun_changed)
		return 0;
	text_list_done(hosts);
	for (size_t i = 0; r == 0 && i < accepted->rerun_hosts.count; i++)
		r = text_list_add(hosts, accepted->rerun_hosts.items[i]);
	return r;
}

void frozen_copy(struct trial_facts *facts, const struct trial_facts *accepted)
{
	facts->has.rerun_of = accepted->has.rerun_of;
	facts->has.rerun_changed = accepted->has.rerun_changed;
	facts->has.rerun_limits = accepted->has.rerun_limits;
	facts->has.rerun_hosts = accepted->has.rerun_hosts;
	facts->has.rerun_internal = accepted->has.rerun_internal;
	facts->has.rerun_grace_seconds = accepted->has.rerun_grace_seconds;
	facts->has.rerun_idle_seconds = accepted->has.rerun_idle_seconds;
	facts->rerun_of = accepted->rerun_of;
	facts->rerun_changed = accepted->rerun_changed;
	facts->rerun_digest = accepted->rerun_digest;
	facts->rerun_sha256 = accepted->rerun_sha256;
	facts->rerun_limits = accepted->rerun_limits;
	facts->rerun_hosts = accepted->rerun_hosts;
	facts->rerun_internal = accepted->rerun_internal;
	facts->rerun_grace_seconds = accepted->rerun_grace_seconds;
	facts->rerun_idle_seconds = accepted->rerun_idle_seconds;
	facts->arm_id = accepted->arm_id;
	facts->arm_name = accepted->arm_name;
	facts->arm = accepted->arm;
	facts->asked = accepted->asked;
	facts->families = accepted->families;
	facts->bar_id = accepted->bar_id;
}

/* --- What is different ---------------------------------------------------------------------------- */

static bool same(const char *a, const char *b)
{
	return strcmp(a ?: "", b ?: "") == 0;
}

/* Of a text: "what is A, and was B". */
static char *changed(const char *what, const char *now, const char *old)
{
	_cleanup_free_ char *shown_now = display(now ?: "none"),
			    *shown_old = display(old ?: "none");

	return text_format("%s is %s, and was %s", what, shown_now, shown_old);
}

static char *program_difference(const struct trial_harness *old, const struct trial_harness *now)
{
	_cleanup_free_ char *path = display(now->executable ?: "its program");

	if (!same(old->executable, now->executable))
		return changed("its program", now->executable, old->executable);
	if (!same(old->sha256, now->sha256))
		return text_format("%s is not what ran: it is %s (%.12s), and was %s (%.12s)", path,
				   now->version ?: "of no version", now->sha256 ?: "",
				   old->version ?: "of no version", old->sha256 ?: "");
	return NULL;
}

/* What one list of texts has and the other has not, or their order. */
static char *texts_difference(const char *what, const struct text_list *old,
			      const struct text_list *now)
{
	for (size_t i = 0; i < old->count || i < now->count; i++) {
		const char *was = i < old->count ? old->items[i] : NULL;
		const char *is = i < now->count ? now->items[i] : NULL;

		if (!same(was, is))
			return changed(what, is, was);
	}
	return NULL;
}

static char *toolchains_difference(const struct trial_toolchain_list *old,
				   const struct trial_toolchain_list *now)
{
	for (size_t i = 0; i < old->count && i < now->count; i++) {
		const struct trial_toolchain *was = &old->items[i], *is = &now->items[i];
		char what[128];
		char *text;

		snprintf(what, sizeof(what), "of toolchain %s a program", is->name);
		text = texts_difference(what, &was->programs, &is->programs);
		if (!text) {
			snprintf(what, sizeof(what), "of toolchain %s a path", is->name);
			text = texts_difference(what, &was->read_only, &is->read_only);
		}
		if (text)
			return text;
	}
	return NULL;
}

#define LIMIT_DIFFERENCE_(name, type, presence, limit, doc)                                        \
	if (old->has.name != now->has.name || (double)old->name != (double)now->name)              \
		return text_format("limits.%s is %.15g, and was %.15g", #name, (double)now->name,  \
				   (double)old->name);

static char *limits_difference(const struct limits_spec *old, const struct limits_spec *now)
{
	LIMITS_FIELDS(LIMIT_DIFFERENCE_)
	return NULL;
}

static const struct sandbox_mount *mount_at(const struct sandbox_mount_list *mounts,
					    const char *destination, enum mount_kind kind)
{
	for (size_t i = 0; i < mounts->count; i++)
		if (mounts->items[i].kind == kind &&
		    strcmp(mounts->items[i].destination, destination) == 0)
			return &mounts->items[i];
	return NULL;
}

static char *mount_difference(const struct sandbox_mount *was, const struct sandbox_mount *is)
{
	_cleanup_free_ char *path = display(was->destination);

	if (!is)
		return text_format("%s was there (%s), and is not", path,
				   mount_kind_name(was->kind));
	if (!same(was->source, is->source))
		return changed(path, is->source, was->source);
	if (was->mode != is->mode)
		return changed(path, mode_name(is->mode), mode_name(was->mode));
	if (!same(was->sha256, is->sha256))
		return text_format("the content of %s has changed", path);
	if (was->size != is->size)
		return text_format("%s has %llu bytes, and had %llu", path,
				   (unsigned long long)is->size, (unsigned long long)was->size);
	return NULL;
}

static char *mounts_difference(const struct sandbox_mount_list *old,
			       const struct sandbox_mount_list *now)
{
	char *text = NULL;

	for (size_t i = 0; !text && i < old->count; i++)
		text = mount_difference(&old->items[i], mount_at(now, old->items[i].destination,
								 old->items[i].kind));
	for (size_t i = 0; !text && i < now->count; i++) {
		const struct sandbox_mount *is = &now->items[i];
		_cleanup_free_ char *path = display(is->destination);

		if (!mount_at(old, is->destination, is->kind))
			text = text_format("%s is there (%s), and was not", path,
					   mount_kind_name(is->kind));
	}
	return text;
}

static char *environment_difference(const struct pair_list *old, const struct pair_list *now)
{
	for (size_t i = 0; i < old->count; i++) {
		const char *is = pair_list_get(now, old->items[i].name);

		if (!is)
			return text_format("the variable %s was set, and is not",
					   old->items[i].name);
		if (!same(old->items[i].value, is))
			return changed(old->items[i].name, is, old->items[i].value);
	}
	for (size_t i = 0; i < now->count; i++)
		if (!pair_list_get(old, now->items[i].name))
			return text_format("the variable %s is set, and was not",
					   now->items[i].name);
	return NULL;
}

char *frozen_difference(const struct trial_facts *old, const struct trial_facts *now)
{
	const struct sandbox_view *was = &old->sandbox, *is = &now->sandbox;
	char *text = program_difference(&old->harness, &now->harness);

	if (!text && old->network != now->network)
		text = changed("network", network_name((int)now->network),
			       network_name((int)old->network));
	if (!text)
		text = texts_difference("a host that it may reach", &old->hosts, &now->hosts);
	if (!text)
		text = texts_difference("an internal host", &was->internal, &is->internal);
	if (!text)
		text = toolchains_difference(&old->toolchains, &now->toolchains);
	if (!text)
		text = limits_difference(&was->limits, &is->limits);
	if (!text)
		text = environment_difference(&was->environment, &is->environment);
	if (!text)
		text = mounts_difference(&was->mounts, &is->mounts);
	if (!text && !same(was->cwd, is->cwd))
		text = changed("its working directory", is->cwd, was->cwd);
	if (!text)
		text = texts_difference("a word of its command", &was->command, &is->command);
	return text;
}

/* The facts of the other one, from its folder; a Trial that was pruned has none any more. */
static char *difference_from(Queue *queue, uint64_t of, const struct trial_facts *now)
{
	struct message *file_message = NULL, *message = NULL;
	_cleanup_close_ int folder = -1;
	struct launch_file file;
	struct trial_facts old;
	char *text = NULL;

	if (launch_folder(queue->trials_fd, of, false, &folder) == 0 &&
	    launch_file_read(folder, of, &file_message, &file) == 0 &&
	    view_decode(&file.facts, &message, &trial_facts_type, &old))
		text = frozen_difference(&old, now);
	message_free(message);
	message_free(file_message);
	return text;
}

int frozen_compare(Queue *queue, const struct trial_facts *accepted, const char *plan_digest,
		   const struct trial_facts *now, char **ret_difference)
{
	bool plan = !accepted->rerun_digest || same(accepted->rerun_digest, plan_digest);
	bool program = !accepted->rerun_sha256 || same(accepted->rerun_sha256, now->harness.sha256);

	*ret_difference = NULL;
	if (plan && program)
		return 0;
	*ret_difference = difference_from(queue, accepted->rerun_of, now);
	if (!*ret_difference)
		*ret_difference = strdup(program ? "its sandbox is made of something else"
						 : "its program is not what ran");
	return *ret_difference ? 0 : -ENOMEM;
}

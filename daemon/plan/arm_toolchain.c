/* SPDX-License-Identifier: MIT */
#include "plan/arm_toolchain.h"

#include <nettle/base16.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "plan/build.h"

static int add(struct pair_list *list, const char *value, const char *format, ...) _printf_(3, 4);

static int add(struct pair_list *list, const char *value, const char *format, ...)
{
	_cleanup_free_ char *name = NULL;
	va_list arguments;

	va_start(arguments, format);
	name = text_vformat(format, arguments);
	va_end(arguments);
	return name ? pair_list_set(list, name, value) : -ENOMEM;
}

/* --- Begun ---------------------------------------------------------------------------------------- */

/* Of what the section says, wherever it stands. */
static int section_digest(const struct toolchain *toolchain, char ret_digest[65])
{
	struct toolchain copy = *toolchain;
	const struct toolchain_list one = {.items = &copy, .count = 1};
	_cleanup_free_ char *text = NULL;
	uint8_t digest[SHA256_DIGEST_SIZE];
	struct sha256_ctx hash;
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);

	if (!file)
		return -ENOMEM;
	toolchain_list_print(&one, file);
	if (fclose(file) != 0)
		return -ENOMEM;
	sha256_init(&hash);
	sha256_update(&hash, size, (const uint8_t *)text);
	sha256_digest(&hash, sizeof(digest), digest);
	base16_encode_update(ret_digest, sizeof(digest), digest);
	ret_digest[64] = '\0';
	return 0;
}

static int begin_program(struct arm_toolchain_look *look, const struct plan_host *host,
			 const char *toolchain, const char *name, const char *path,
			 struct fault *fault)
{
	struct arm_toolchain_program *programs = realloc(look->programs,
							 (look->count + 1) * sizeof(*programs));
	struct arm_toolchain_program *program;
	const struct program_known *known;
	int r;

	if (!programs)
		return -ENOMEM;
	look->programs = programs;
	program = &programs[look->count++];
	*program = (struct arm_toolchain_program){.place = PLACE_INIT};
	program->key = text_format("%s.Programs.%s", toolchain, name);
	if (!program->key)
		return -ENOMEM;
	r = place_open(&program->place, "toolchains", path, NULL, fault);
	if (r == 0)
		r = program_stamp_of(program->place.fd, &program->known.stamp);
	if (r != 0)
		return r;
	known = programs_find(&host->cache->tools, &program->known.stamp);
	if (known) {
		program->known = *known;
		program->digested = true;
	}
	return 0;
}

static int begin_one(struct arm_toolchain_look *look, const struct plan_host *host,
		     const struct plan_toolchain *found, struct fault *fault)
{
	const struct toolchain *toolchain = toolchain_list_find(&host->config->toolchains,
								found->name);
	char digest[65];
	int r;

	if (!toolchain)
		toolchain = toolchain_list_find(&host->toolchains, found->name);
	if (!toolchain)
		return 0; /* it was found a moment ago */
	r = section_digest(toolchain, digest);
	if (r == 0)
		r = add(&look->found, digest, "%s", found->name);
	for (size_t i = 0; r == 0 && i < found->read_only.count; i++)
		r = add(&look->found, found->read_only.items[i], "%s.ReadOnly.%zu", found->name,
			i + 1);
	for (size_t i = 0; r == 0 && i < found->path.count; i++)
		r = add(&look->found, found->path.items[i], "%s.Path.%zu", found->name, i + 1);
	for (size_t i = 0; r == 0 && i < found->programs.count && i < toolchain->programs.count;
	     i++)
		r = begin_program(look, host, found->name, toolchain->programs.items[i],
				  found->programs.items[i], fault);
	return r;
}

int arm_toolchain_look_begin(struct arm_toolchain_look *look, const struct plan_host *host,
			     const struct text_list *names, bool again, struct fault *ret_fault)
{
	_cleanup_fault_ struct fault ignored = FAULT_INIT;
	struct fault *told = again ? &ignored : ret_fault;
	const char *word = "true";
	const struct launch_request launch = {
		.has = {.command = true, .network = true, .toolchains = true},
		.command = {.items = &word, .count = 1},
		.network = NETWORK_none,
		.toolchains = *names,
	};
	struct plan *plan = NULL;
	int r;

	if (names->count == 0)
		return 0;
	/* As a launch would have them: what is visible inside, through all links. */
	r = plan_make(&plan, host, &launch, told);
	for (size_t i = 0; r == 0 && i < plan->toolchain_count; i++)
		r = begin_one(look, host, &plan->toolchains[i], told);
	plan_free(plan);
	return r == FAULT && again ? 0 : r;
}

/* --- Worked, finished ----------------------------------------------------------------------------- */

void arm_toolchain_look_work(struct arm_toolchain_look *look)
{
	for (size_t i = 0; i < look->count; i++) {
		struct arm_toolchain_program *program = &look->programs[i];

		if (!program->digested && program->place.fd >= 0)
			program->result = program_digest(program->place.fd, &program->known.stamp,
							 program->known.digest);
	}
}

int arm_toolchain_look_finish(struct arm_toolchain_look *look, const struct plan_host *host,
			      struct fault *ret_fault)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < look->count; i++) {
		struct arm_toolchain_program *program = &look->programs[i];
		_cleanup_free_ char *text = NULL, *shown = NULL;

		if (program->place.fd < 0)
			continue;
		shown = display(program->place.canonical);
		if (program->result == -ENOMEM)
			return -ENOMEM;
		if (program->result < 0)
			return fault_set(ret_fault, ERROR_unavailable,
					 "toolchains: %s cannot be read: %s", shown,
					 program->result == -EBUSY ? "it does not stop changing"
								   : strerror(-program->result));
		if (!program->digested)
			programs_learn(&host->cache->tools, &program->known);
		text = text_format("%s %s", program->known.digest, program->place.canonical);
		r = text ? pair_list_set(&look->found, program->key, text) : -ENOMEM;
	}
	return r;
}

void arm_toolchain_look_done(struct arm_toolchain_look *look)
{
	for (size_t i = 0; i < look->count; i++) {
		free(look->programs[i].key);
		place_done(&look->programs[i].place);
	}
	free(look->programs);
	pair_list_done(&look->found);
	*look = (struct arm_toolchain_look){0};
}

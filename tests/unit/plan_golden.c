/* SPDX-License-Identifier: MIT */
#include "plan_golden.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/words.h"
#include "plan/sandbox_facts.h"
#include "plan/text_file.h"

/* A line with ROOT as @ROOT@ and control characters shown. */
static void put_line(FILE *file, const struct plan_fixture *fixture, const char *text)
{
	size_t length = strlen(fixture->root);

	for (; *text; text++) {
		if (!strncmp(text, fixture->root, length)) {
			fputs("@ROOT@", file);
			text += length - 1;
		} else if (*text == '\n') {
			fputs("\\n", file);
		} else {
			fputc(*text, file);
		}
	}
	fputc('\n', file);
}

static void put_list(FILE *file, const struct plan_fixture *fixture, const char *title,
		     const struct text_list *list)
{
	fprintf(file, "\n# %s\n", title);
	for (size_t i = 0; i < list->count; i++) {
		bool user = i > 0 && (!strcmp(list->items[i - 1], "--uid") ||
				      !strcmp(list->items[i - 1], "--gid"));

		put_line(file, fixture, user ? "@UID@" : list->items[i]);
	}
}

static void put_files(FILE *file, const struct plan_fixture *fixture, const struct plan *plan)
{
	fprintf(file, "\n# files\n");
	for (size_t i = 0; i < plan->operation_count; i++) {
		const struct plan_operation *operation = &plan->operations[i];
		_cleanup_free_ char *text = NULL;

		if (operation->type != PLAN_FILE ||
		    !strcmp(operation->destination, "/etc/passwd") ||
		    !strcmp(operation->destination, "/etc/group"))
			continue;
		ck_assert_int_ge(asprintf(&text, "%s: %s", operation->destination,
					  (const char *)operation->file->data),
				 0);
		put_line(file, fixture, text);
	}
}

static void put_arguments(FILE *file, const struct plan_fixture *fixture, const struct plan *plan)
{
	struct text_list arguments = {0};

	ck_assert_int_eq(plan_bwrap_arguments(plan, &fixture->host, &arguments), 0);
	put_list(file, fixture, "arguments", &arguments);
	text_list_done(&arguments);
}

/* Each on a line of its own: no word of these is the name of an order. */
static void put_orders(FILE *file, const struct plan_fixture *fixture, const struct plan *plan,
		       const struct text_list *orders)
{
	put_list(file, fixture, "orders", orders);
	fprintf(file, "\n# files\n");
	for (size_t i = 0; i + 1 < orders->count; i++) {
		char text[4096] = "";

		if (strcmp(orders->items[i], "file") != 0)
			continue;
		ck_assert_int_ge(pread(plan->descriptors[atoi(orders->items[i + 1])], text,
				       sizeof(text) - 1, 0),
				 0);
		put_line(file, fixture, text);
	}
}

static void put_plan(FILE *file, const struct plan_fixture *fixture, const struct plan *plan,
		     const struct text_list *orders)
{
	if (orders)
		put_orders(file, fixture, plan, orders);
	else
		put_arguments(file, fixture, plan);
	put_list(file, fixture, "command", &plan->command);
	fprintf(file, "\n# environment\n");
	for (size_t i = 0; i < plan->environment.count; i++) {
		const struct pair *pair = &plan->environment.items[i];

		fprintf(file, "%s=", pair->name);
		put_line(file, fixture,
			 words_have(&plan->secrets, pair->name) ? SANDBOX_MASKED : pair->value);
	}
	if (!orders)
		fprintf(file, "\n# sources\n");
	for (size_t i = 0; i < plan->operation_count; i++)
		if (plan->operations[i].type == PLAN_BIND) {
			fprintf(file, "%d: ", plan->operations[i].descriptor);
			put_line(file, fixture, plan->operations[i].source);
		}
	if (!orders)
		put_files(file, fixture, plan);
	fprintf(file, "\n# cwd\n");
	put_line(file, fixture, plan->cwd);
	if (plan->network == NETWORK_allowlist)
		put_list(file, fixture, "hosts", &plan->hosts);
	put_list(file, fixture, "asked", &plan->asked);
	put_list(file, fixture, "notes", &plan->notes);
}

void plan_golden_compare(struct plan_fixture *fixture, const struct plan *plan, const char *name)
{
	plan_golden_compare_bare(fixture, plan, NULL, name);
}

void plan_golden_compare_bare(struct plan_fixture *fixture, const struct plan *plan,
			      const struct text_list *orders, const char *name)
{
	const char *top = getenv("TOP");
	_cleanup_free_ char *path = NULL, *made = NULL, *kept = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&made, &size);

	ck_assert_ptr_nonnull(file);
	fprintf(file, "%s\n", name);
	put_plan(file, fixture, plan, orders);
	ck_assert_int_eq(fclose(file), 0);
	ck_assert_int_ge(asprintf(&path, "%s/tests/data/plans/%s.plan", top ? top : ".", name), 0);
	if (getenv("PLAN_GOLDEN_WRITE")) {
		make_file(path, made);
		return;
	}
	ck_assert_msg(text_file_read(path, 1u << 20, &kept, NULL) == 0, "cannot read %s", path);
	ck_assert_str_eq(made, kept);
}

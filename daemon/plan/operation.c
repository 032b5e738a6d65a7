/* SPDX-License-Identifier: MIT */
#include "build.h"
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct plan_operation *operation_add(struct plan_operation **operations, size_t *count,
				     enum plan_operation_type type, const char *destination,
				     const char *source)
{
	struct plan_operation operation = {.type = type, .descriptor = -1};
	struct plan_operation *larger = realloc(*operations, (*count + 1) * sizeof(*larger));

	if (!larger)
		return NULL;
	*operations = larger;
	operation.destination = strdup(destination);
	operation.source = source ? strdup(source) : NULL;
	if (!operation.destination || (source && !operation.source)) {
		free(operation.destination);
		free(operation.source);
		return NULL;
	}
	larger[*count] = operation;
	return &larger[(*count)++];
}

void operations_free(struct plan_operation *operations, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free(operations[i].destination);
		free(operations[i].source);
		free(operations[i].login);
		plan_file_unref(operations[i].file);
	}
	free(operations);
}

struct plan_operation *plan_add(struct plan *plan, enum plan_operation_type type,
				const char *destination, const char *source)
{
	return operation_add(&plan->operations, &plan->operation_count, type, destination, source);
}

const struct plan_operation *plan_at(const struct plan *plan, const char *destination)
{
	for (size_t i = 0; i < plan->operation_count; i++)
		if (!strcmp(plan->operations[i].destination, destination))
			return &plan->operations[i];
	return NULL;
}

static int add_note(struct text_list *notes, const char *text)
{
	if (notes->count >= PLAN_NOTES_MAX)
		return 0;
	if (notes->count == PLAN_NOTES_MAX - 1)
		text = "there are more notes than a Trial keeps";
	return text_list_add(notes, text);
}

int plan_note(struct plan *plan, const char *format, ...)
{
	_cleanup_free_ char *text = NULL;
	va_list arguments;

	va_start(arguments, format);
	text = text_vformat(format, arguments);
	va_end(arguments);
	if (!text)
		return -ENOMEM;
	return add_note(&plan->notes, text);
}

int plan_warn(struct plan *plan, const char *format, ...)
{
	_cleanup_free_ char *text = NULL;
	va_list arguments;
	int r;

	va_start(arguments, format);
	text = text_vformat(format, arguments);
	va_end(arguments);
	if (!text)
		return -ENOMEM;
	r = add_note(&plan->notes, text);
	return r == 0 ? add_note(&plan->warnings, text) : r;
}

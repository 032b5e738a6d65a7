/* SPDX-License-Identifier: MIT */
#include "base/fault.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void fault_done(struct fault *fault)
{
	free(fault->message);
	free(fault->hint);
	*fault = FAULT_INIT;
}

static int _printf_(2, 0) fault_fill(struct fault *fault, const char *format, va_list arguments)
{
	char *message = NULL;

	if (vasprintf(&message, format, arguments) < 0)
		return -ENOMEM;
	free(fault->message);
	free(fault->hint);
	fault->message = message;
	fault->hint = NULL;
	return FAULT;
}

int fault_set(struct fault *fault, enum error_code code, const char *format, ...)
{
	va_list arguments;
	int r;

	fault->code = code;
	va_start(arguments, format);
	r = fault_fill(fault, format, arguments);
	va_end(arguments);
	return r;
}

int fault_void(struct fault *fault, enum cause cause, const char *format, ...)
{
	va_list arguments;
	int r;

	fault->code = ERROR_unavailable;
	fault->cause = cause;
	va_start(arguments, format);
	r = fault_fill(fault, format, arguments);
	va_end(arguments);
	return r;
}

int fault_hint(struct fault *fault, const char *format, ...)
{
	va_list arguments;
	char *hint = NULL;
	int r;

	va_start(arguments, format);
	r = vasprintf(&hint, format, arguments);
	va_end(arguments);
	if (r < 0)
		return -ENOMEM;
	free(fault->hint);
	fault->hint = hint;
	return FAULT;
}

int fault_errno(struct fault *fault, int error, const char *what)
{
	return fault_set(fault, ERROR_internal, "%s: %s", what,
			 strerror(error < 0 ? -error : error));
}

void fault_move(struct fault *to, struct fault *from)
{
	fault_done(to);
	*to = *from;
	*from = FAULT_INIT;
}

/* SPDX-License-Identifier: MIT */
#include "base/text.h"

#include <stdio.h>

char *text_vformat(const char *format, va_list arguments)
{
	char *text;

	/* What vasprintf leaves there when it fails is not said. */
	return vasprintf(&text, format, arguments) < 0 ? NULL : text;
}

char *text_format(const char *format, ...)
{
	va_list arguments;
	char *text;

	va_start(arguments, format);
	text = text_vformat(format, arguments);
	va_end(arguments);
	return text;
}

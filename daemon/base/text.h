/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/mem.h"

#include <stdarg.h>

/* A text that is to be freed. NULL: out of memory. */
char *text_format(const char *format, ...) _printf_(1, 2);
char *text_vformat(const char *format, va_list arguments) _printf_(1, 0);

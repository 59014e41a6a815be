/*
 * Puts values into a text by a format, as printf would, without libc behind it. It knows %s, %.*s, %u, %d,
 * %ld, %lu, a plus for either of the signed ones, and %%; anything else is our mistake.
 */
#ifndef RL_BASE_FORMAT_H
#define RL_BASE_FORMAT_H

#include <stdarg.h>
#include <stdbool.h>

#include "base/bytes.h"

/* Adds to the text; what does not fit is cut. */
void rl_text_format(struct rl_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void rl_text_format_list(struct rl_text *text, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));

#endif

/*
 * Formats; see format.h. No locale, no floating point, no allocation.
 */
#include "base/format.h"

#include <assert.h>
#include <string.h>

/* What stands between a percent sign and its letter. */
struct directive {
    bool plus, measured, wide; /* %+d, %.*s, %ld */
};

static void add_signed(struct rl_text *text, int64_t value, bool plus)
{
    if (plus && value >= 0)
        rl_text_add(text, "+");
    rl_text_add_integer(text, value);
}

/* Reads up to the letter. */
static struct directive read_directive(const char **format)
{
    struct directive directive = {0};

    for (;; ++*format) {
        if (**format == '+')
            directive.plus = true;
        else if (**format == '*')
            directive.measured = true;
        else if (**format == 'l')
            directive.wide = true;
        else if (**format != '.')
            return directive;
    }
}

void rl_text_format_list(struct rl_text *text, const char *format, va_list arguments)
{
    while (*format != '\0') {
        const char *words = format;
        struct directive directive;
        size_t length;

        while (*format != '\0' && *format != '%')
            format++;
        rl_text_add_bytes(text, words, (size_t)(format - words));
        if (*format == '\0')
            return;
        format++;
        directive = read_directive(&format);
        switch (*format++) {
        case 's':
            length = directive.measured ? (size_t)va_arg(arguments, int) : SIZE_MAX;
            words = va_arg(arguments, const char *);
            rl_text_add_bytes(text, words, length != SIZE_MAX ? length : strlen(words));
            break;
        case 'u':
            rl_text_add_unsigned(text, directive.wide ? va_arg(arguments, unsigned long)
                                                      : va_arg(arguments, unsigned));
            break;
        case 'd':
            add_signed(text, directive.wide ? va_arg(arguments, long) : va_arg(arguments, int),
                       directive.plus);
            break;
        case '%':
            rl_text_add(text, "%");
            break;
        default:
            assert(!"a format that rl_text_format does not know");
        }
    }
}

void rl_text_format(struct rl_text *text, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    rl_text_format_list(text, format, arguments);
    va_end(arguments);
}

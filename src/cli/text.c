/*
 * Words and numbers for people: durations in and out, clean text, percent-encoding, near misspellings.
 * Pure functions on strings; nothing here prints.
 */
#include "cli/text.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* 68 years: beyond any wait anybody means, far below where sums overflow. */
#define LONGEST_MS (INT64_C(2147483647) * 1000)

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* How many milliseconds a unit has; 0 when it is none. */
static int64_t unit_ms(const char *unit)
{
    static const struct {
        const char *name;
        int64_t ms;
    } units[] = {{"", 1000}, {"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}};

    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (strcmp(unit, units[i].name) == 0)
            return units[i].ms;
    return 0;
}

const char *cli_text_read_duration(const char *text, int64_t *ms)
{
    static const char junk[] = "is not a duration such as 250ms, 15s, 2m or 1h";
    int64_t whole = 0, thousandths = 0;
    int decimals = 0;
    const char *c = text;

    if (!is_digit(*c))
        return junk;
    for (; is_digit(*c); c++) {
        whole = whole * 10 + (*c - '0');
        if (whole > LONGEST_MS)
            return "is too long";
    }
    if (*c == '.' && is_digit(c[1]))
        for (c++; is_digit(*c); c++) {
            if (++decimals > 3)
                return "has more than three decimals";
            thousandths = thousandths * 10 + (*c - '0');
        }
    for (; decimals < 3; decimals++)
        thousandths *= 10;

    int64_t unit = unit_ms(c);
    if (unit == 0)
        return junk;
    if (whole > LONGEST_MS / unit)
        return "is too long";
    int64_t sum = whole * unit + (thousandths * unit + 999) / 1000;
    if (sum > LONGEST_MS)
        return "is too long";
    *ms = sum;
    return NULL;
}

const char *cli_text_read_number(const char *text, uint32_t max, uint32_t *number)
{
    uint64_t value = 0;

    if (!is_digit(*text))
        return "is not a whole number";
    for (; is_digit(*text); text++) {
        value = value * 10 + (uint64_t)(*text - '0');
        if (value > max)
            return "is too large";
    }
    if (*text != '\0')
        return "is not a whole number";
    *number = (uint32_t)value;
    return NULL;
}

struct cli_span cli_text_span(int64_t ms)
{
    struct cli_span span;
    long long seconds = ms / 1000;
    size_t size = sizeof span.text;

    if (ms < 0)
        snprintf(span.text, size, "0s");
    else if (ms < 1000)
        snprintf(span.text, size, "%lldms", (long long)ms);
    else if (seconds < 60)
        snprintf(span.text, size, "%llds", seconds);
    else if (seconds < 3600)
        snprintf(span.text, size, "%lldm%02llds", seconds / 60, seconds % 60);
    else if (seconds < 86400)
        snprintf(span.text, size, "%lldh%02lldm", seconds / 3600, seconds / 60 % 60);
    else
        snprintf(span.text, size, "%lldd%02lldh", seconds / 86400, seconds / 3600 % 24);
    return span;
}

struct cli_span cli_text_nodes(uint32_t count)
{
    struct cli_span words;

    snprintf(words.text, sizeof words.text, "%u node%s", count, count == 1 ? "" : "s");
    return words;
}

struct cli_span cli_text_needed(uint32_t count)
{
    struct cli_span words;

    snprintf(words.text, sizeof words.text, "%u %s needed", count, count == 1 ? "is" : "are");
    return words;
}

struct cli_span cli_text_latency(int64_t us)
{
    struct cli_span span;

    if (us < 10000)
        snprintf(span.text, sizeof span.text, "%.1fms", (double)us / 1000);
    else
        snprintf(span.text, sizeof span.text, "%lldms", (long long)(us / 1000));
    return span;
}

struct cli_span cli_text_offset(int64_t us)
{
    uint64_t size = us < 0 ? 0 - (uint64_t)us : (uint64_t)us;
    struct cli_span plain = size < 1000000 ? cli_text_latency((int64_t)size)
                                           : cli_text_span((int64_t)(size / 1000)),
                    span;

    snprintf(span.text, sizeof span.text, "%c%.30s", us < 0 && size >= 50 ? '-' : '+', plain.text);
    return span;
}

struct cli_span cli_text_clock(int64_t ms)
{
    struct cli_span span;
    long long seconds = ms / 1000;

    if (seconds < 3600)
        snprintf(span.text, sizeof span.text, "%lld:%02lld", seconds / 60, seconds % 60);
    else
        snprintf(span.text, sizeof span.text, "%lld:%02lld:%02lld", seconds / 3600, seconds / 60 % 60,
                 seconds % 60);
    return span;
}

struct cli_span cli_text_since(int64_t wall_ms, int64_t now_ms)
{
    struct cli_span span;
    struct tm then, now;
    time_t then_s = (time_t)(wall_ms / 1000), now_s = (time_t)(now_ms / 1000);

    if (localtime_r(&then_s, &then) == NULL || localtime_r(&now_s, &now) == NULL)
        snprintf(span.text, sizeof span.text, "?");
    else if (then.tm_yday == now.tm_yday && then.tm_year == now.tm_year)
        strftime(span.text, sizeof span.text, "%H:%M:%S", &then);
    else
        strftime(span.text, sizeof span.text, "%Y-%m-%d %H:%M:%S", &then);
    return span;
}

/* Length of the printable UTF-8 character at `at`, 0 when there is none. */
static size_t printable_length(const unsigned char *at)
{
    static const struct {
        unsigned char mask, mark, length;
        uint32_t least;
    } shapes[] = {
        {0x80, 0x00, 1, 0x20}, {0xe0, 0xc0, 2, 0xa0}, {0xf0, 0xe0, 3, 0x800}, {0xf8, 0xf0, 4, 0x10000}};

    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        if ((at[0] & shapes[i].mask) != shapes[i].mark)
            continue;
        uint32_t point = at[0] & (unsigned char)~shapes[i].mask;
        for (size_t k = 1; k < shapes[i].length; k++) {
            if ((at[k] & 0xc0) != 0x80)
                return 0;
            point = point << 6 | (at[k] & 0x3f);
        }
        /* Refused: overlong forms, C0 and C1 controls, DEL, surrogates, line separators, writing-direction
         * marks. */
        bool bad = point < shapes[i].least || point == 0x7f || point > 0x10ffff ||
                   (point >= 0xd800 && point <= 0xdfff) || (point >= 0x200e && point <= 0x200f) ||
                   (point >= 0x2028 && point <= 0x202e) || (point >= 0x2066 && point <= 0x2069);
        return bad ? 0 : shapes[i].length;
    }
    return 0;
}

void cli_text_clean(const char *from, char *to, size_t size)
{
    size_t used = 0;

    while (*from != '\0') {
        size_t length = printable_length((const unsigned char *)from);
        size_t room = length == 0 ? 1 : length;
        if (used + room >= size)
            break;
        if (length == 0)
            to[used] = '?';
        else
            memcpy(to + used, from, length);
        used += room;
        from += room;
    }
    to[used] = '\0';
}

const char *cli_text_fit(const char *from, char *to, size_t size)
{
    if (from == NULL)
        return NULL;
    cli_text_clean(from, to, size);
    return to;
}

static bool is_harmless(const char *name)
{
    static const char more[] = "_@%+=:,./-";

    for (const char *c = name; *c != '\0'; c++)
        if (!is_digit(*c) && !(*c >= 'a' && *c <= 'z') && !(*c >= 'A' && *c <= 'Z') &&
            strchr(more, *c) == NULL)
            return false;
    return name[0] != '\0';
}

static bool is_printable(const char *text)
{
    size_t length = 1;

    for (; *text != '\0' && length != 0; text += length)
        length = printable_length((const unsigned char *)text);
    return length != 0;
}

/* A quote ends the quoted text, stands for itself, and begins it again; in the form for bytes it has a
 * backslash. */
static void quote(const char *name, char *to, size_t size)
{
    bool printable = is_printable(name);
    size_t used = (size_t)snprintf(to, size, "%s", printable ? "'" : "$'");

    for (const char *c = name; *c != '\0' && used + 6 < size; c++) {
        unsigned char byte = (unsigned char)*c;
        bool as_it_is = printable || (byte >= ' ' && byte < 0x7f && byte != '\\');
        char piece[8] = {*c};

        if (byte == '\'')
            snprintf(piece, sizeof piece, "%s", printable ? "'\\''" : "\\'");
        else if (!as_it_is)
            snprintf(piece, sizeof piece, "\\x%02x", byte);
        used += (size_t)snprintf(to + used, size - used, "%s", piece);
    }
    snprintf(to + used, size - used, "'");
}

void cli_text_quote(const char *word, char *to, size_t size)
{
    if (is_harmless(word))
        snprintf(to, size, "%s", word);
    else
        quote(word, to, size);
}

uint64_t cli_text_hash(uint64_t seed, const char *text)
{
    for (; *text != '\0'; text++)
        seed = (seed ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return seed;
}

char *cli_text_percent_encode(const char *from, const char *keep)
{
    char *encoded = malloc(strlen(from) * 3 + 1);
    char *to = encoded;

    if (encoded == NULL)
        return NULL;
    for (; *from != '\0'; from++) {
        bool plain = is_digit(*from) || (*from >= 'a' && *from <= 'z') || (*from >= 'A' && *from <= 'Z') ||
                     strchr(keep, *from) != NULL;
        if (plain)
            *to++ = *from;
        else
            to += sprintf(to, "%%%02X", (unsigned)(unsigned char)*from);
    }
    *to = '\0';
    return encoded;
}

int cli_text_distance(const char *a, const char *b)
{
    enum { LONGEST = 31 };
    int row[LONGEST + 1];
    size_t a_length = strlen(a), b_length = strlen(b);

    if (a_length > LONGEST || b_length > LONGEST)
        return LONGEST;
    for (size_t j = 0; j <= b_length; j++)
        row[j] = (int)j;
    for (size_t i = 1; i <= a_length; i++) {
        int diagonal = row[0];
        row[0] = (int)i;
        for (size_t j = 1; j <= b_length; j++) {
            int best = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    return row[b_length];
}

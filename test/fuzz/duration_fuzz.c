/*
 * Takes any text for a duration and for a number of the command line, and compares with a twin that is as
 * dumb as can be: it looks at the text from the end and counts in 128 bits. What is said about a refusal is
 * not compared.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/text.h"

#define CHECK(fact) ((fact) ? (void)0 : (fprintf(stderr, "does not hold: %s\n", #fact), abort()))

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

__extension__ typedef __int128 wide;

/* ---- the twin ---- */

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), end_length = strlen(end);

    return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

/* Cuts the unit off and tells how many milliseconds it has. "ms" ends like "s", so it is looked for first. */
static int64_t cut_unit(char *text)
{
    static const struct {
        const char *unit;
        int64_t ms;
    } units[] = {{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"", 1000}};
    size_t i = 0;

    while (!ends_with(text, units[i].unit))
        i++;
    text[strlen(text) - strlen(units[i].unit)] = '\0';
    return units[i].ms;
}

static bool all_digits(const char *text)
{
    return *text != '\0' && text[strspn(text, "0123456789")] == '\0';
}

/* The value of digits; whatever is beyond a thousand years of milliseconds is as good as infinite. */
static wide value_of(const char *digits)
{
    wide value = 0;

    for (; *digits != '\0'; digits++)
        if (value < (wide)1 << 64)
            value = value * 10 + (*digits - '0');
    return value;
}

static bool twin_duration(const char *from, int64_t *ms)
{
    char text[64], *point;
    wide thousandths = 0, sum;

    snprintf(text, sizeof text, "%s", from);
    int64_t unit = cut_unit(text);
    point = strchr(text, '.');
    if (point != NULL) {
        *point++ = '\0';
        if (!all_digits(point) || strlen(point) > 3)
            return false;
        thousandths = value_of(point);
        for (size_t i = strlen(point); i < 3; i++)
            thousandths *= 10;
    }
    if (!all_digits(text))
        return false;
    sum = value_of(text) * 1000 + thousandths; /* thousandths of the unit */
    sum = (sum * unit + 999) / 1000;
    *ms = (int64_t)sum;
    return sum <= (wide)INT32_MAX * 1000;
}

static bool twin_number(const char *text, uint32_t max, uint32_t *number)
{
    if (!all_digits(text) || value_of(text) > max)
        return false;
    *number = (uint32_t)value_of(text);
    return true;
}

/* ---- the comparison ---- */

static void check_words(const char *problem)
{
    CHECK(problem[0] != '\0' && strchr(problem, '\n') == NULL && !(problem[0] >= 'A' && problem[0] <= 'Z'));
}

/* What was understood can be written down in milliseconds and is understood as the same. */
static void check_again(int64_t ms)
{
    char text[32];
    int64_t again = -1;

    snprintf(text, sizeof text, "%lldms", (long long)ms);
    CHECK(cli_text_read_duration(text, &again) == NULL && again == ms);
    CHECK(ms % 1000 != 0 || (snprintf(text, sizeof text, "%lld", (long long)(ms / 1000)) > 0 &&
                             cli_text_read_duration(text, &again) == NULL && again == ms));
    CHECK(strlen(cli_text_span(ms).text) > 1 && strlen(cli_text_clock(ms).text) > 3);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint32_t bounds[] = {0, 255, 500000, INT32_MAX, UINT32_MAX};
    char text[48];
    int64_t ms = -1, twin_ms = -1;

    if (size >= sizeof text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    const char *problem = cli_text_read_duration(text, &ms);
    CHECK((problem == NULL) == twin_duration(text, &twin_ms));
    CHECK(problem == NULL ? ms == twin_ms : ms == -1);
    if (problem == NULL)
        check_again(ms);
    else
        check_words(problem);
    for (size_t i = 0; i < sizeof bounds / sizeof bounds[0]; i++) {
        uint32_t number = 0, twin = 0;

        problem = cli_text_read_number(text, bounds[i], &number);
        CHECK((problem == NULL) == twin_number(text, bounds[i], &twin));
        CHECK(number == twin || problem != NULL);
    }
    return 0;
}

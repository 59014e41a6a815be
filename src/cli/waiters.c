/*
 * The waiters for a lock, as far as the nodes know of them: how many, who and since when, for people and for
 * programs. Nothing here waits.
 */
#include "cli/waiters.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/clock.h"
#include "cli/holder.h"
#include "cli/output.h"
#include "cli/text.h"

/* In whose name we ask, and since when: that process may have asked before. */
static struct {
    uint32_t pid; /* 0: our own */
    int64_t since_ms;
} us;

void cli_waiters_set_us(uint32_t pid)
{
    us.pid = pid;
    us.since_ms = cli_clock_wall();
}

bool cli_waiters_is_us(const redlock_holder *who)
{
    char host[sizeof who->host] = "";
    uint32_t pid = us.pid != 0 ? us.pid : (uint32_t)getpid();

    gethostname(host, sizeof host - 1);
    return who->pid == pid && strcmp(who->host, host) == 0 && who->since_ms >= us.since_ms;
}

/* How many callers the named ones are. */
static uint32_t count_named(const redlock_report *report)
{
    redlock_waiter waiter = REDLOCK_WAITER_INIT;
    uint32_t named = 0;

    for (uint32_t i = 0; redlock_report_waiter(report, i, &waiter); i++)
        named += waiter.count;
    return named;
}

uint32_t cli_waiters_count_others(const redlock_report *report)
{
    redlock_waiter waiter = REDLOCK_WAITER_INIT;
    uint32_t ours = 0;

    for (uint32_t i = 0; redlock_report_waiter(report, i, &waiter); i++)
        if (cli_waiters_is_us(&waiter.who))
            ours += waiter.count;
    /* In a long line we are among those that are not named. */
    if (ours == 0 && report->waiting > count_named(report))
        ours = 1;
    return report->waiting > ours ? report->waiting - ours : 0;
}

uint32_t cli_waiters_place(const redlock_report *report)
{
    redlock_waiter waiter = REDLOCK_WAITER_INIT;

    for (uint32_t i = 0; redlock_report_waiter(report, i, &waiter); i++)
        if (waiter.place > 0 && cli_waiters_is_us(&waiter.who))
            return waiter.place;
    return 0;
}

/* How many in line are named, when there are more: we are somewhere behind them. */
static uint32_t count_before_unnamed(const redlock_report *report)
{
    redlock_waiter waiter = REDLOCK_WAITER_INIT;
    uint32_t last = 0;

    for (uint32_t i = 0; redlock_report_waiter(report, i, &waiter); i++)
        last = waiter.place > last ? waiter.place : last;
    return report->waiting > count_named(report) ? last : 0;
}

static const char *ordinal_ending(uint32_t number)
{
    static const char *const endings[] = {"th", "st", "nd", "rd"};
    bool teen = number / 10 % 10 == 1;

    return teen || number % 10 > 3 ? endings[0] : endings[number % 10];
}

void cli_waiters_describe_us(const redlock_report *report, char *text, size_t size)
{
    uint32_t place = cli_waiters_place(report), before = count_before_unnamed(report),
             others = cli_waiters_count_others(report);

    text[0] = '\0';
    if (place > 0 && report->waiting > place)
        snprintf(text, size, "%u%s in line, %u behind", place, ordinal_ending(place),
                 report->waiting - place);
    else if (place > 0)
        snprintf(text, size, "%u%s in line", place, ordinal_ending(place));
    else if (before > 0)
        snprintf(text, size, "%u%s in line or later", before + 1, ordinal_ending(before + 1));
    else if (others > 0)
        snprintf(text, size, "%u waiting", others);
}

/* Since when the first of them waits; 0 when none of them says. */
static int64_t find_longest(const redlock_report *report)
{
    redlock_waiter waiter = REDLOCK_WAITER_INIT;
    int64_t since_ms = 0;

    for (uint32_t i = 0; redlock_report_waiter(report, i, &waiter); i++) {
        int64_t one = waiter.who.since_ms;
        if (one > 0 && (since_ms == 0 || one < since_ms))
            since_ms = one;
    }
    return since_ms;
}

static void print_one(const redlock_waiter *waiter)
{
    char words[512], clean[512];

    cli_holder_describe_since(&waiter->who, words, sizeof words);
    cli_text_clean(words, clean, sizeof clean);
    printf("  waiting ");
    if (waiter->place > 0)
        printf("%u. ", waiter->place);
    printf("%s", clean);
    if (waiter->count > 1)
        printf(", %u callers", waiter->count);
    printf("\n");
}

void cli_waiters_print(const redlock_report *report)
{
    int64_t since_ms = find_longest(report), now = cli_clock_wall();
    redlock_waiter waiter = REDLOCK_WAITER_INIT;
    uint32_t named = count_named(report);

    if (report->waiting == 0)
        return;
    printf("  waiting %u", report->waiting);
    if (since_ms > 0)
        printf(", since %s (%s)", cli_text_since(since_ms, now).text, cli_text_span(now - since_ms).text);
    printf("\n");
    for (uint32_t i = 0; redlock_report_waiter(report, i, &waiter); i++)
        print_one(&waiter);
    if (report->waiting > named)
        printf("  waiting and %u more\n", report->waiting - named);
}

json_t *cli_waiters_json(const redlock_report *report)
{
    redlock_waiter waiter = REDLOCK_WAITER_INIT;
    json_t *waiters = json_array();

    for (uint32_t i = 0; redlock_report_waiter(report, i, &waiter); i++) {
        json_t *one =
            json_pack("{s:o, s:o, s:o, s:I, s:I, s:I}", "host", cli_output_string(waiter.who.host), "user",
                      cli_output_string(waiter.who.user), "why", cli_output_string(waiter.who.why), "pid",
                      (json_int_t)waiter.who.pid, "since_ms", (json_int_t)waiter.who.since_ms, "count",
                      (json_int_t)waiter.count);
        json_object_set_new(one, "place", waiter.place > 0 ? json_integer(waiter.place) : json_null());
        json_array_append_new(waiters, one);
    }
    return waiters;
}

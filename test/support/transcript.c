/*
 * The player for transcript.h.
 */
#include "support/transcript.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/trace.h"

enum { TRACE_MAX = 16384, LINE_MAX_BYTES = 200 };

/* Either an acquisition or a lease; the other one stays unused. */
struct player {
    bool leasing;
    struct rl_prng prng;
    struct rl_lease_terms terms;
    struct rl_acquire acquire;
    struct rl_lease lease;
    struct rl_text trace;
};

/* ---- reading ------------------------------------------------------------------------------------------- */

static int64_t setting(const char *line, const char *name, int64_t otherwise)
{
    char pattern[40];
    const char *found;

    snprintf(pattern, sizeof pattern, " %s=", name);
    found = strstr(line, pattern);
    return found == NULL ? otherwise : strtoll(found + strlen(pattern), NULL, 10);
}

static bool has_word(const char *line, const char *word)
{
    const char *found = strstr(line, word);

    return found != NULL && found[-1] == ' ' && (found[strlen(word)] == '\0' || found[strlen(word)] == ' ');
}

static enum rl_verdict verdict_of(const char *line)
{
    static const struct {
        const char *word;
        enum rl_verdict verdict;
    } table[] = {
        {"granted", RL_GRANTED}, {"free", RL_GRANTED},          {"released", RL_GRANTED},
        {"denied", RL_DENIED},   {"gone", RL_DENIED},           {"held", RL_DENIED},
        {"absent", RL_DENIED},   {"ineligible", RL_INELIGIBLE}, {"failed", RL_FAILED},
        {"silent", RL_SILENT},
    };

    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (has_word(line, table[i].word))
            return table[i].verdict;
    fail_msg("no verdict in: %s", line);
    return RL_SILENT;
}

static enum rl_cause cause_of(const char *line)
{
    static const struct {
        const char *word;
        enum rl_cause cause;
    } table[] = {
        {"unreachable", RL_CAUSE_UNREACHABLE}, {"rights", RL_CAUSE_RIGHTS},
        {"foreign", RL_CAUSE_FOREIGN_TYPE},    {"duplicate", RL_CAUSE_DUPLICATE},
        {"replica", RL_CAUSE_REPLICA},         {"loading", RL_CAUSE_LOADING},
    };

    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (has_word(line, table[i].word))
            return table[i].cause;
    return RL_CAUSE_NONE;
}

/* The number behind a verdict, or `otherwise`. */
static int64_t number_of(const char *line, int64_t otherwise)
{
    long long number;

    return sscanf(line, "%*d node %*d %*s %lld", &number) == 1 ? number : otherwise;
}

static bool to_second_question(const char *line)
{
    return has_word(line, "gone") || has_word(line, "free") || has_word(line, "held");
}

static uint32_t question_of(const struct player *player, const char *line)
{
    const char *of = strstr(line, " of ");

    if (of != NULL)
        return (uint32_t)strtoul(of + 4, NULL, 10);
    if (player->leasing)
        return player->lease.question;
    return to_second_question(line) ? player->acquire.question : player->acquire.round_question;
}

/* What happened to a node, if it is not an answer of it. */
static bool is_news(const char *line, enum rl_event_kind *kind)
{
    static const struct {
        const char *word;
        enum rl_event_kind kind;
    } table[] = {{"changed", RL_EVENT_CHANGED}, {"up", RL_EVENT_UP}, {"down", RL_EVENT_DOWN}};

    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (has_word(line, table[i].word)) {
            *kind = table[i].kind;
            return true;
        }
    return false;
}

static struct rl_event read_node(const struct player *player, const char *line, struct rl_time now)
{
    struct rl_event event = {.kind = RL_EVENT_ANSWER, .now = now, .question = question_of(player, line)};

    if (sscanf(line, "%*d node %u", &event.node) != 1 || event.node == 0)
        fail_msg("no node in: %s", line);
    event.node--;
    if (is_news(line, &event.kind))
        return event;
    event.answer.verdict = verdict_of(line);
    event.answer.armed = has_word(line, "armed");
    event.answer.holder = (uint64_t)setting(line, "by", 0);
    event.answer.cause = cause_of(line);
    event.answer.ttl_left_ms = -2;
    if (event.answer.verdict == RL_GRANTED)
        event.answer.fence = (uint64_t)number_of(line, 0);
    else
        event.answer.ttl_left_ms = number_of(line, -2);
    return event;
}

/* ---- playing ------------------------------------------------------------------------------------------- */

static struct rl_time time_at(int64_t ms)
{
    return (struct rl_time){rl_span_ms(ms).us};
}

static void play(struct player *player, const struct rl_event *event)
{
    struct rl_effects effects;

    if (player->leasing) {
        rl_lease_step(&player->lease, event, &effects);
        rl_trace_lease(&player->trace, &player->lease, event, &effects);
    } else {
        rl_acquire_step(&player->acquire, event, &effects);
        rl_trace_acquire(&player->trace, &player->acquire, event, &effects);
    }
}

/* Lets the timers fire that are due by then. */
static void pass_time(struct player *player, struct rl_time until)
{
    const struct rl_time *wake_at = player->leasing ? &player->lease.wake_at : &player->acquire.wake_at;
    struct rl_time now = *wake_at;

    while (!rl_time_before(until, *wake_at)) {
        now = rl_time_max(now, *wake_at);
        play(player, &(struct rl_event){.kind = RL_EVENT_TIMER, .now = now});
    }
}

static void start_acquire(struct player *player, const char *line)
{
    struct rl_acquire_config config = {
        .node_count = (uint32_t)setting(line, "nodes", 3),
        .ttl = rl_span_ms(setting(line, "ttl", 10000)),
        .drift_ppm = 10000,
        .node_timeout = rl_span_ms(setting(line, "timeout", 50)),
        .give_up_at = time_at(setting(line, "wait", 0)),
        .retry_min = rl_span_ms(setting(line, "retry", 10)),
        .retry_max = rl_span_ms(setting(line, "retry", 10)),
        .peek = has_word(line, "peek"),
        .watch = has_word(line, "watch"),
        .queued = has_word(line, "queued"),
    };
    const char *name = strchr(line, '"') + 1;

    rl_acquire_init(&player->acquire, &config, &player->prng);
    rl_trace_acquire_start(&player->trace, name, (size_t)(strchr(name, '"') - name), &player->acquire);
    play(player, &(struct rl_event){.kind = RL_EVENT_START, .now = time_at(0)});
}

static void start_lease(struct player *player, const char *line)
{
    struct rl_lease_config config = {
        .terms = &player->terms,
        .ttl = rl_span_ms(setting(line, "ttl", 10000)),
        .renew_every = rl_span_ms(setting(line, "renew", 0)),
        .max_hold = rl_span_ms(setting(line, "max-hold", 0)),
        .max_extensions = (uint32_t)setting(line, "max-extensions", 0),
    };

    player->terms = (struct rl_lease_terms){
        .node_count = (uint32_t)setting(line, "nodes", 3),
        .drift_ppm = 10000,
        .node_timeout = rl_span_ms(setting(line, "timeout", 50)),
        .retry_min = rl_span_ms(setting(line, "retry", 10)),
        .retry_max = rl_span_ms(setting(line, "retry", 10)),
        .prng = &player->prng,
    };
    player->leasing = true;
    rl_lease_init(&player->lease, &config, time_at(0), time_at(setting(line, "valid", 9898)));
}

static void play_line(struct player *player, const char *line)
{
    struct rl_event event = {.now = time_at(strtoll(line, NULL, 10))};
    const char *extend = strstr(line, " extend ");

    pass_time(player, event.now);
    if (has_word(line, "end"))
        return;
    if (has_word(line, "node"))
        event = read_node(player, line, event.now);
    else if (has_word(line, "turn"))
        event = (struct rl_event){
            .kind = RL_EVENT_TURN, .now = event.now, .others_first = has_word(line, "others-first")};
    else if (has_word(line, "cancel"))
        event.kind = RL_EVENT_CANCEL;
    else if (has_word(line, "release"))
        event.kind = RL_EVENT_RELEASE;
    else if (has_word(line, "abandon"))
        event.kind = RL_EVENT_ABANDON;
    else if (extend != NULL)
        event = (struct rl_event){
            .kind = RL_EVENT_EXTEND, .now = event.now, .ttl = rl_span_ms(strtoll(extend + 8, NULL, 10))};
    else
        fail_msg("cannot read: %s", line);
    play(player, &event);
}

/* Copies one line without what surrounds it; returns where the next one begins. */
static const char *next_line(const char *story, char *line)
{
    size_t length;

    story += strspn(story, " \n");
    length = strcspn(story, "\n");
    assert_true(length < LINE_MAX_BYTES);
    memcpy(line, story, length);
    line[length] = '\0';
    return story + length + strspn(story + length, " \n");
}

char *transcript_of(const char *story)
{
    char line[LINE_MAX_BYTES];
    char *bytes = malloc(TRACE_MAX);
    struct player player = {.prng = rl_prng_seed(1), .trace = rl_text_on(bytes, TRACE_MAX)};

    story = next_line(story, line);
    if (strncmp(line, "lease", 5) == 0)
        start_lease(&player, line);
    else
        start_acquire(&player, line);
    while (*story != '\0') {
        story = next_line(story, line);
        play_line(&player, line);
    }
    return bytes;
}

void assert_transcript(const char *story, const char *expected)
{
    char *trace = transcript_of(story);
    bool same = strcmp(trace, expected) == 0;

    if (!same)
        print_error("the story\n%s\nshould read\n%s\nbut reads\n%s\n", story, expected, trace);
    free(trace);
    assert_true(same);
}

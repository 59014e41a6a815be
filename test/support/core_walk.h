/*
 * Leads an acquisition or a lease through a random life and watches it from outside: after every step the
 * rules that must hold whatever happens are checked by a plain record of what was asked and answered. Where
 * the choices come from, a seed or a fuzzer, is the caller's business; a header, so that the fuzzer needs no
 * library of ours for tests.
 */
#ifndef TEST_SUPPORT_CORE_WALK_H
#define TEST_SUPPORT_CORE_WALK_H

#include <stddef.h>
#include <string.h>

#include "core/acquire.h"
#include "core/lease.h"
#include "core/trace.h"

enum { WALK_STEPS_MAX = 60, WALK_REQUESTS_MAX = WALK_STEPS_MAX };

/* Where choices come from: any number below bound, and false once there are no more. */
struct walk_source {
    uint32_t (*draw)(struct walk_source *source, uint32_t bound);
    bool (*more)(struct walk_source *source);
};

/* Returns from the watching function with the rule that was broken. */
#define MUST(rule, holds)   \
    do {                    \
        if (!(holds))       \
            return "" rule; \
    } while (0)

static inline struct rl_answer walk_answer(struct walk_source *source)
{
    static const enum rl_verdict verdicts[] = {RL_GRANTED, RL_GRANTED,    RL_GRANTED, RL_GRANTED,
                                               RL_DENIED,  RL_INELIGIBLE, RL_FAILED,  RL_SILENT};
    static const enum rl_cause causes[] = {RL_CAUSE_NONE, RL_CAUSE_NONE, RL_CAUSE_NONE, RL_CAUSE_RIGHTS,
                                           RL_CAUSE_FOREIGN_TYPE};
    struct rl_answer answer = {.verdict = verdicts[source->draw(source, 8)], .ttl_left_ms = -2};

    if (answer.verdict == RL_GRANTED)
        answer.fence = 100 + source->draw(source, 3);
    else
        answer.cause = causes[source->draw(source, 5)];
    if (answer.verdict == RL_DENIED) {
        answer.ttl_left_ms = (int64_t)source->draw(source, 3000) - 2;
        answer.holder = source->draw(source, 3);
    }
    return answer;
}

/* Time goes on: mostly a little, sometimes to the next timer, rarely far beyond everything. */
static inline struct rl_time walk_on(struct walk_source *source, struct rl_time now, struct rl_time wake_at)
{
    switch (source->draw(source, 8)) {
    case 0:
        return now;
    case 1:
    case 2:
        return wake_at.us == RL_TIME_NEVER.us ? now : rl_time_max(now, wake_at);
    case 3:
        return rl_time_add(now, rl_span_ms(source->draw(source, 12000)));
    default:
        return rl_time_add(now, rl_span_us(source->draw(source, 9000)));
    }
}

static inline struct rl_span walk_limit(struct walk_source *source, int64_t ms)
{
    return rl_span_ms(source->draw(source, 3) == 0 ? ms : 0);
}

/* ---- the acquisition ---- */

/* What an onlooker writes down. */
struct acquire_watch {
    struct rl_time asked;
    uint32_t round_question;
    uint32_t latest_question;
    rl_node_set answered; /* in this round */
    rl_node_set granted;
    rl_node_set denied;   /* in this round: they have nothing of ours */
    bool undone;          /* the latest round was released wherever it may have left something */
    bool turn;            /* it was told that it is its turn, or need not wait for that */
    bool waiting;         /* since the latest step */
    rl_node_set armed;    /* nodes that said so, and have told nothing since */
    rl_node_set may_free; /* nodes where it may be free: they said so, told of a change, or named an end */
    bool done;
};

/* What nodes say while it waits. */
static inline void watch_acquire_wait(struct acquire_watch *watch, const struct rl_event *event)
{
    rl_node_set one = rl_node_set_one(event->node);

    if (event->kind == RL_EVENT_ANSWER && event->question == watch->latest_question) {
        watch->may_free &= ~one;
        watch->armed &= ~one;
        if (event->answer.verdict == RL_GRANTED ||
            (event->answer.verdict == RL_DENIED && event->answer.ttl_left_ms >= 0))
            watch->may_free |= one;
        if (event->answer.verdict == RL_DENIED && event->answer.armed)
            watch->armed |= one;
    } else if (event->kind == RL_EVENT_CHANGED && (watch->armed & one) != 0) {
        watch->armed &= ~one;
        watch->may_free |= one;
    } else if (event->kind == RL_EVENT_DOWN) {
        watch->armed &= ~one;
        watch->may_free &= ~one;
    }
}

static inline void watch_acquire_answer(struct acquire_watch *watch, const struct rl_event *event)
{
    rl_node_set one = rl_node_set_one(event->node);
    bool granted = event->answer.verdict == RL_GRANTED;

    if (event->answer.verdict == RL_SILENT)
        return;
    if (event->question == watch->round_question && (watch->answered & one) == 0) {
        watch->answered |= one;
        watch->granted |= granted ? one : 0;
        watch->denied |= event->answer.verdict == RL_DENIED ? one : 0;
    }
}

static inline const char *watch_acquire_win(const struct acquire_watch *watch, const struct rl_acquire *after,
                                            const struct rl_event *event, const struct rl_effects *effects)
{
    const struct rl_acquire_config *config = &after->config;
    uint32_t quorum = config->node_count / 2 + 1;
    int64_t drift_us = config->ttl.us * config->drift_ppm / 1000000 + 2000;

    MUST("won only by an answer", event->kind == RL_EVENT_ANSWER);
    MUST("won only with a quorum of grants", rl_node_set_count(watch->granted) >= quorum);
    MUST("nothing is released when it is won", effects->release == 0 && !watch->undone);
    MUST("validity is ttl less drift from the question on",
         after->valid_until.us <= watch->asked.us + config->ttl.us - drift_us);
    MUST("handed out only while it is valid", event->now.us < after->valid_until.us);
    return NULL;
}

static inline const char *watch_acquire_asks(struct acquire_watch *watch, const struct rl_acquire *after,
                                             const struct rl_event *event, const struct rl_effects *effects)
{
    bool asks = (effects->acquire | effects->peek | effects->watch) != 0;
    bool again = effects->watch != 0 && event->kind != RL_EVENT_TURN; /* single nodes are asked once more */

    MUST("question numbers only rise", !asks || effects->question > watch->latest_question ||
                                           (again && effects->question == watch->latest_question));
    MUST("one question at a time",
         (effects->acquire != 0) + (effects->peek != 0) + (effects->watch != 0) <= 1);
    MUST("it asks only when it is its turn", !asks || watch->turn);
    if (effects->watch != 0 && effects->question != watch->latest_question)
        watch->armed = watch->may_free = 0;
    if (asks)
        watch->latest_question = effects->question;
    if (effects->acquire != 0) {
        bool first = watch->round_question == 0;

        MUST("a round asks all nodes", effects->acquire == rl_node_set_all(after->config.node_count));
        MUST("no round before the last one was undone", first || watch->undone);
        MUST("no new round after giving up", first || event->now.us < after->config.give_up_at.us);
        *watch = (struct acquire_watch){.asked = event->now,
                                        .round_question = effects->question,
                                        .turn = watch->turn,
                                        .latest_question = watch->latest_question};
    }
    MUST("plain nodes have no fences", effects->raise == 0);
    MUST("peeked at only after it was undone", effects->peek == 0 || watch->undone);
    MUST("watched only after it was undone",
         effects->watch == 0 || watch->undone || watch->round_question == 0);
    return NULL;
}

static inline bool walk_no_effects(const struct rl_effects *effects)
{
    return (effects->release | effects->acquire | effects->raise | effects->peek | effects->watch |
            effects->extend | effects->mend) == 0 &&
           !effects->lost && !effects->done && !effects->extended && effects->rest.us == 0;
}

/* NULL, or the rule that this step broke. */
static inline const char *watch_acquire(struct acquire_watch *watch, const struct rl_acquire *after,
                                        const struct rl_event *event, const struct rl_effects *effects)
{
    rl_node_set all = rl_node_set_all(after->config.node_count);
    const char *broken;

    MUST("nothing happens after the end", !watch->done || walk_no_effects(effects));
    if (event->kind == RL_EVENT_ANSWER)
        watch_acquire_answer(watch, event);
    if (watch->waiting)
        watch_acquire_wait(watch, event);
    watch->turn |= event->kind == RL_EVENT_TURN || (event->kind == RL_EVENT_START && !after->config.queued);
    MUST("a release goes to all nodes that may have it",
         effects->release == 0 || effects->release == (all & ~watch->denied));
    watch->undone |=
        effects->lost || effects->release != 0 || (event->kind == RL_EVENT_CANCEL && watch->denied == all);
    MUST("woken only where a quorum may be free",
         !watch->waiting || !after->woken ||
             rl_node_set_count(watch->may_free) > after->config.node_count / 2);
    broken = watch_acquire_asks(watch, after, event, effects);
    if (broken != NULL)
        return broken;
    MUST("done and ended are the same", (watch->done || effects->done) == (after->phase == RL_ACQUIRE_ENDED));
    if (effects->done && after->outcome == RL_OUTCOME_OK)
        broken = watch_acquire_win(watch, after, event, effects);
    if (broken != NULL)
        return broken;
    if (effects->done && after->outcome != RL_OUTCOME_OK)
        MUST("what was not won is undone", watch->round_question == 0 || watch->undone);
    watch->done |= effects->done;
    watch->waiting = after->phase == RL_ACQUIRE_WAITING;
    MUST("it never waits without a timer",
         watch->done || watch->round_question == 0 || after->wake_at.us < RL_TIME_NEVER.us);
    MUST("a timer that has come is moved",
         watch->done || event->kind != RL_EVENT_TIMER || after->wake_at.us > event->now.us);
    MUST("it rests no longer than it may", effects->rest.us <= after->config.retry_max.us);
    MUST("it does not rest beyond the wait",
         effects->rest.us == 0 || after->wake_at.us <= after->config.give_up_at.us);
    return NULL;
}

static inline struct rl_acquire_config walk_acquire_config(struct walk_source *source, struct rl_time now)
{
    struct rl_acquire_config config = {
        .node_count = 1 + source->draw(source, 7),
        .ttl = rl_span_ms(50 + source->draw(source, 10000)),
        .drift_ppm = source->draw(source, 20000),
        .node_timeout = rl_span_ms(1 + source->draw(source, 500)),
        .retry_min = rl_span_ms(1 + source->draw(source, 20)),
        .peek = source->draw(source, 2) == 1,
        .watch = source->draw(source, 2) == 1,
    };

    config.queued = config.watch && source->draw(source, 3) == 0;
    config.retry_max = rl_span_add(config.retry_min, rl_span_ms(source->draw(source, 500)));
    config.give_up_at = rl_time_add(now, walk_limit(source, source->draw(source, 20000)));
    return config;
}

static inline struct rl_event walk_acquire_event(struct walk_source *source, const struct rl_acquire *acquire,
                                                 struct rl_time now)
{
    struct rl_event event = {.now = walk_on(source, now, acquire->wake_at)};
    uint32_t choice = source->draw(source, 40);

    if (choice == 0) {
        event.kind = RL_EVENT_CANCEL;
    } else if (choice < 12) {
        event.kind = RL_EVENT_TIMER;
    } else if (choice < 14 && acquire->config.queued) {
        event.kind = RL_EVENT_TURN;
        event.others_first = choice == 13;
    } else if (choice < 20 && acquire->config.watch) {
        static const enum rl_event_kind kinds[] = {RL_EVENT_CHANGED, RL_EVENT_CHANGED, RL_EVENT_UP,
                                                   RL_EVENT_DOWN};

        event.kind = kinds[source->draw(source, 4)];
        event.node = source->draw(source, acquire->config.node_count);
    } else {
        event.kind = RL_EVENT_ANSWER;
        event.node = source->draw(source, acquire->config.node_count);
        event.question = choice < 16   ? source->draw(source, acquire->question + 2)
                         : choice < 28 ? acquire->round_question
                                       : acquire->question;
        event.answer = walk_answer(source);
        event.answer.armed = acquire->phase == RL_ACQUIRE_WAITING && source->draw(source, 3) > 0;
    }
    return event;
}

/* NULL, or the first rule that was broken on the way. */
static inline const char *walk_acquire(struct walk_source *source)
{
    struct rl_time now = {INT64_C(1000000)};
    struct rl_prng prng = rl_prng_seed(source->draw(source, 1000));
    struct rl_acquire_config config = walk_acquire_config(source, now);
    struct rl_event event = {.kind = RL_EVENT_START, .now = now};
    struct acquire_watch watch = {0};
    struct rl_acquire acquire;
    const char *broken = NULL;
    char trace[256];

    rl_acquire_init(&acquire, &config, &prng);
    for (int step = 0; step < WALK_STEPS_MAX && broken == NULL && source->more(source); step++) {
        struct rl_effects effects;
        struct rl_text text = rl_text_on(trace, sizeof trace);

        rl_acquire_step(&acquire, &event, &effects);
        rl_trace_acquire(&text, &acquire, &event, &effects);
        broken = watch_acquire(&watch, &acquire, &event, &effects);
        event = walk_acquire_event(source, &acquire, event.now);
    }
    return broken;
}

/* ---- the lease ---- */

struct lease_watch {
    struct rl_time valid_until;
    struct rl_time asked;
    struct rl_span asked_ttl;
    uint32_t extend_question; /* of the round under way; 0 none */
    uint32_t latest_question;
    rl_node_set answered;
    rl_node_set granted;
    bool gone; /* it was not held once, so never again */
    bool done;
    bool abandoned;
    uint32_t requests[WALK_REQUESTS_MAX]; /* questions that callers wait for */
    uint32_t request_count;
};

static inline void watch_lease_answer(struct lease_watch *watch, const struct rl_event *event)
{
    rl_node_set one = rl_node_set_one(event->node);

    if (event->question != watch->extend_question || event->answer.verdict == RL_SILENT)
        return;
    if ((watch->answered & one) == 0 && event->answer.verdict == RL_GRANTED)
        watch->granted |= one;
    watch->answered |= one;
}

/* Validity grows by nothing but a quorum, asked in time and answered in time. */
static inline const char *watch_validity(const struct lease_watch *watch, const struct rl_lease *after,
                                         const struct rl_event *event)
{
    const struct rl_lease_config *config = &after->config;
    int64_t ttl_us = watch->asked_ttl.us;
    int64_t drift_us = ttl_us * config->terms->drift_ppm / 1000000 + 2000;

    MUST("validity never shrinks", after->valid_until.us >= watch->valid_until.us);
    if (after->valid_until.us == watch->valid_until.us)
        return NULL;
    MUST("validity grows only while held", !watch->gone);
    MUST("validity grows only by an answer", event->kind == RL_EVENT_ANSWER && watch->extend_question != 0);
    MUST("validity grows only before it has ended", event->now.us < watch->valid_until.us);
    MUST("validity grows only with a quorum",
         rl_node_set_count(watch->granted) >= config->terms->node_count / 2 + 1);
    MUST("validity is ttl less drift from the question on",
         after->valid_until.us <= watch->asked.us + ttl_us - drift_us);
    MUST("validity does not pass max_hold",
         config->max_hold.us == 0 || after->valid_until.us <= after->held_since.us + config->max_hold.us);
    return NULL;
}

/* Everybody who asked for an extension is told, once. */
static inline const char *watch_requests(struct lease_watch *watch, const struct rl_lease *after,
                                         const struct rl_event *event, const struct rl_effects *effects,
                                         bool was_held)
{
    uint32_t kept = 0;

    if (event->kind == RL_EVENT_EXTEND && was_held && !effects->extended)
        watch->requests[watch->request_count++] =
            effects->extend != 0 ? effects->question : after->question + 1;
    if (effects->extended)
        for (uint32_t i = 0; i < watch->request_count; i++)
            if (watch->requests[i] > after->ended_question)
                watch->requests[kept++] = watch->requests[i];
    if (effects->extended) {
        MUST("only a caller's own round ends his wait", kept == watch->request_count || after->ended_manual);
        watch->request_count = kept;
    }
    MUST("nobody waits for an extension of what is not held", watch->request_count == 0 || !watch->gone);
    return NULL;
}

static inline const char *watch_lease_asks(struct lease_watch *watch, const struct rl_lease *after,
                                           const struct rl_event *event, const struct rl_effects *effects)
{
    rl_node_set all = rl_node_set_all(after->config.terms->node_count);

    MUST("a release goes to all nodes", effects->release == 0 || effects->release == all);
    MUST("an extension goes to all nodes", effects->extend == 0 || effects->extend == all);
    MUST("only what is held is extended", effects->extend == 0 || !watch->gone);
    MUST("what is abandoned is left to others",
         effects->release == 0 || !watch->abandoned || event->kind == RL_EVENT_RELEASE);
    if ((effects->extend | effects->release) == 0)
        return NULL;
    MUST("question numbers only rise", effects->question > watch->latest_question);
    watch->latest_question = effects->question;
    watch->extend_question = effects->extend != 0 ? effects->question : 0;
    watch->asked = event->now;
    watch->asked_ttl = effects->ttl;
    watch->answered = watch->granted = 0;
    return NULL;
}

static inline const char *watch_lease_end(struct lease_watch *watch, const struct rl_lease *after,
                                          const struct rl_event *event, const struct rl_effects *effects)
{
    uint32_t limit = after->config.max_extensions;

    MUST("done and ended are the same", (watch->done || effects->done) == (after->phase == RL_LEASE_ENDED));
    watch->done |= effects->done;
    MUST("not more extensions than allowed", limit == 0 || after->extensions <= limit);
    MUST("what is gone stays gone", !watch->gone || !rl_lease_held(after, event->now));
    MUST("its loss is noticed when it happens",
         !rl_lease_held(after, event->now) || after->wake_at.us <= after->valid_until.us);
    MUST("it never waits without a timer", watch->done || after->wake_at.us < RL_TIME_NEVER.us);
    MUST("no timer lies in the past", after->wake_at.us >= event->now.us);
    MUST("only a lock that is held is planted, and only where it is missing",
         effects->mend == 0 || (rl_lease_held(after, event->now) && (effects->mend & ~after->behind) == 0));
    return NULL;
}

/* NULL, or the rule that this step broke. */
static inline const char *watch_lease(struct lease_watch *watch, const struct rl_lease *after,
                                      const struct rl_event *event, const struct rl_effects *effects)
{
    bool was_held = !watch->gone;
    const char *broken;

    MUST("nothing happens after the end", !watch->done || walk_no_effects(effects));
    if (event->kind == RL_EVENT_ANSWER)
        watch_lease_answer(watch, event);
    watch->abandoned |= event->kind == RL_EVENT_ABANDON;
    broken = watch_validity(watch, after, event);
    watch->valid_until = after->valid_until;
    watch->gone |= !rl_lease_held(after, event->now);
    if (broken == NULL)
        broken = watch_requests(watch, after, event, effects, was_held);
    if (effects->extended && watch->extend_question != 0 && after->ended_question >= watch->extend_question)
        watch->extend_question = 0;
    if (broken == NULL)
        broken = watch_lease_asks(watch, after, event, effects);
    if (broken == NULL)
        broken = watch_lease_end(watch, after, event, effects);
    return broken;
}

static inline struct rl_lease_terms walk_lease_terms(struct walk_source *source, struct rl_prng *prng)
{
    struct rl_lease_terms terms = {
        .node_count = 1 + source->draw(source, 7),
        .drift_ppm = source->draw(source, 20000),
        .node_timeout = rl_span_ms(1 + source->draw(source, 500)),
        .retry_min = rl_span_ms(1 + source->draw(source, 20)),
        .prng = prng,
    };

    terms.retry_max = rl_span_add(terms.retry_min, rl_span_ms(source->draw(source, 500)));
    return terms;
}

static inline struct rl_lease_config walk_lease_config(struct walk_source *source,
                                                       const struct rl_lease_terms *terms)
{
    return (struct rl_lease_config){
        .terms = terms,
        .ttl = rl_span_ms(50 + source->draw(source, 10000)),
        .renew_every = walk_limit(source, 1 + source->draw(source, 4000)),
        .max_hold = walk_limit(source, 1 + source->draw(source, 30000)),
        .max_extensions = source->draw(source, 5),
    };
}

static inline struct rl_event walk_lease_event(struct walk_source *source, const struct rl_lease *lease,
                                               struct rl_time now)
{
    struct rl_event event = {.now = walk_on(source, now, lease->wake_at)};
    uint32_t choice = source->draw(source, 60);

    if (choice == 0) {
        event.kind = RL_EVENT_RELEASE;
    } else if (choice == 1) {
        event.kind = RL_EVENT_ABANDON;
    } else if (choice < 10) {
        event.kind = RL_EVENT_EXTEND;
        event.ttl = rl_span_ms(1 + source->draw(source, 20000));
    } else if (choice < 25) {
        event.kind = RL_EVENT_TIMER;
    } else if (choice < 29) {
        event.kind = choice < 27 ? RL_EVENT_MISSED : RL_EVENT_UP;
        event.node = source->draw(source, lease->config.terms->node_count);
    } else {
        event.kind = RL_EVENT_ANSWER;
        event.node = source->draw(source, lease->config.terms->node_count);
        if (choice < 32)
            event.question = RL_QUESTION_MEND;
        else
            event.question = choice < 35 ? source->draw(source, lease->question + 2) : lease->question;
        event.answer = walk_answer(source);
    }
    return event;
}

/* NULL, or the first rule that was broken on the way. */
static inline const char *walk_lease(struct walk_source *source)
{
    struct rl_time now = {INT64_C(1000000)};
    struct rl_prng prng = rl_prng_seed(source->draw(source, 1000));
    struct rl_lease_terms terms = walk_lease_terms(source, &prng);
    struct rl_lease_config config = walk_lease_config(source, &terms);
    struct lease_watch watch = {0};
    struct rl_lease lease;
    const char *broken = NULL;
    char trace[256];

    rl_lease_init(&lease, &config, now, rl_time_add(now, rl_span_ms(1 + source->draw(source, 10000))));
    watch.valid_until = lease.valid_until;
    for (int step = 0; step < WALK_STEPS_MAX && broken == NULL && source->more(source); step++) {
        struct rl_event event = walk_lease_event(source, &lease, now);
        struct rl_text text = rl_text_on(trace, sizeof trace);
        struct rl_effects effects;

        rl_lease_step(&lease, &event, &effects);
        rl_trace_lease(&text, &lease, &event, &effects);
        broken = watch_lease(&watch, &lease, &event, &effects);
        now = event.now;
    }
    return broken;
}

#endif

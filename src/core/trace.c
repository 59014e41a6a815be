/*
 * Sentences for trace.h. A line is "[ms] who     > what"; what was concluded from it stands below, indented.
 */
#include "core/trace.h"

#include <string.h>

#include "core/validity.h"

enum { TIME_WIDTH = 4, WHO_WIDTH = 7 };

/* ---- words --------------------------------------------------------------------------------------------- */

static const char *outcome_words(enum rl_outcome outcome)
{
    switch (outcome) {
    case RL_OUTCOME_OK:
        return "ok";
    case RL_OUTCOME_BUSY:
        return "busy";
    case RL_OUTCOME_TIMEOUT:
        return "timeout";
    case RL_OUTCOME_NOT_HELD:
        return "not held";
    case RL_OUTCOME_LOST:
        return "lost";
    case RL_OUTCOME_CANCELED:
        return "canceled";
    case RL_OUTCOME_NO_QUORUM:
        return "no quorum";
    case RL_OUTCOME_TOO_SLOW:
        return "too slow";
    case RL_OUTCOME_QUARANTINE:
        return "quarantine";
    case RL_OUTCOME_DENIED:
        return "denied";
    case RL_OUTCOME_FOREIGN_TYPE:
        return "foreign type";
    case RL_OUTCOME_INVALID:
        return "invalid";
    }
    return "unknown";
}

/* What is wrong with a node; NULL when nothing is to be said. */
static const char *cause_words(enum rl_cause cause)
{
    switch (cause) {
    case RL_CAUSE_NONE:
        return NULL;
    case RL_CAUSE_SILENT:
        return "still owes an answer";
    case RL_CAUSE_UNREACHABLE:
        return "unreachable";
    case RL_CAUSE_RIGHTS:
        return "no rights";
    case RL_CAUSE_FOREIGN_TYPE:
        return "another type of key";
    case RL_CAUSE_REPLICA:
        return "a replica";
    case RL_CAUSE_MEMORY:
        return "out of memory";
    case RL_CAUSE_LOADING:
        return "loading";
    case RL_CAUSE_BUSY:
        return "busy with a script";
    case RL_CAUSE_DISK:
        return "cannot write to disk";
    case RL_CAUSE_CLUSTER:
        return "part of a cluster";
    case RL_CAUSE_PROTOCOL:
        return "does not speak the protocol";
    case RL_CAUSE_DUPLICATE:
        return "the same server twice";
    case RL_CAUSE_ERROR:
        return "error reply";
    }
    return NULL;
}

/* ---- parts of a line ----------------------------------------------------------------------------------- */

static void add_spaces(struct rl_text *text, size_t count)
{
    while (count-- > 0)
        rl_text_add(text, " ");
}

static void begin_line(struct rl_text *text)
{
    if (text->length > 0 && text->bytes[text->length - 1] != '\n')
        rl_text_add(text, "\n");
}

/* Below a line, under what it says who did it. */
static void begin_conclusion(struct rl_text *text)
{
    begin_line(text);
    add_spaces(text, TIME_WIDTH + 3 + 6);
}

static void add_stamp(struct rl_text *text, struct rl_time now, struct rl_time since)
{
    char digits[24];
    struct rl_text number = rl_text_on(digits, sizeof digits);

    rl_text_add_integer(&number, rl_span_ms_down(rl_time_since(now, since)));
    begin_line(text);
    rl_text_add(text, "[");
    add_spaces(text, number.length < TIME_WIDTH ? TIME_WIDTH - number.length : 0);
    rl_text_add(text, digits);
    rl_text_add(text, "] ");
}

static void add_list(struct rl_text *text, rl_node_set nodes)
{
    while (nodes != 0) {
        rl_text_add_unsigned(text, rl_node_set_first(nodes) + 1);
        nodes &= nodes - 1;
        if (nodes != 0)
            rl_text_add(text, ",");
    }
}

/* "who     > ": a word and perhaps which nodes or which round. */
static void add_who(struct rl_text *text, const char *who, rl_node_set nodes, uint32_t number)
{
    size_t before = text->length;
    size_t width;

    rl_text_add(text, who);
    if (nodes != 0 || number != 0)
        rl_text_add(text, " ");
    add_list(text, nodes);
    if (number != 0)
        rl_text_add_unsigned(text, number);
    width = text->length - before;
    add_spaces(text, width < WHO_WIDTH ? WHO_WIDTH - width : 0);
    rl_text_add(text, " > ");
}

static void add_ms(struct rl_text *text, int64_t ms)
{
    rl_text_add_integer(text, ms);
    rl_text_add(text, " ms");
}

/* "2 of 3 after 9 ms" */
static void add_count(struct rl_text *text, const struct rl_tally *tally, struct rl_span elapsed)
{
    rl_text_add_unsigned(text, rl_node_set_count(tally->granted));
    rl_text_add(text, " of ");
    rl_text_add_unsigned(text, tally->node_count);
    rl_text_add(text, " after ");
    add_ms(text, rl_span_ms_up(elapsed));
}

static void add_drift(struct rl_text *text, struct rl_span ttl, uint32_t drift_ppm)
{
    rl_text_add(text, ", drift ");
    rl_text_add_integer(text, rl_span_ms_up(rl_validity_drift(ttl, drift_ppm)));
    rl_text_add(text, " -> ");
}

static void add_validity(struct rl_text *text, struct rl_time valid_until, struct rl_time now)
{
    rl_text_add(text, "valid ");
    add_ms(text, rl_span_ms_down(rl_time_since(valid_until, now)));
}

static void add_need(struct rl_text *text, uint32_t node_count)
{
    rl_text_add(text, ", need ");
    rl_text_add_unsigned(text, rl_quorum(node_count));
    rl_text_add(text, " -> ");
}

static void add_release(struct rl_text *text, rl_node_set nodes)
{
    if (nodes == 0)
        return;
    rl_text_add(text, ": release ");
    add_list(text, nodes);
}

static void add_fence(struct rl_text *text, uint64_t fence)
{
    if (fence == 0)
        return;
    rl_text_add(text, ", fence ");
    rl_text_add_unsigned(text, fence);
}

/* ---- answers ------------------------------------------------------------------------------------------- */

/* Yes and no mean something else for every question. */
struct answer_words {
    const char *granted;
    const char *denied;
};

static const struct answer_words vote_words = {"granted", "denied"};
static const struct answer_words raise_words = {"raised", "not ours any more"};
static const struct answer_words peek_words = {"free", "held"};
static const struct answer_words release_words = {"released", "not there"};

static const char *verdict_words(enum rl_verdict verdict, const struct answer_words *words)
{
    switch (verdict) {
    case RL_SILENT:
        return "silent";
    case RL_GRANTED:
        return words->granted;
    case RL_DENIED:
        return words->denied;
    case RL_UNFIT:
        return "unfit";
    case RL_BROKEN:
        return "broken";
    }
    return "unknown";
}

static void add_answer(struct rl_text *text, const struct rl_event *event, const struct answer_words *words)
{
    const char *cause = cause_words(event->answer.cause);

    add_who(text, "node", rl_node_set_one(event->node), 0);
    rl_text_add(text, verdict_words(event->answer.verdict, words));
    if (cause != NULL) {
        rl_text_add(text, ", ");
        rl_text_add(text, cause);
    }
}

/* How long whoever is in the way will be there. */
static void add_time_left(struct rl_text *text, const struct rl_answer *answer)
{
    if (answer->verdict != RL_DENIED)
        return;
    if (answer->ttl_left_ms == -1)
        rl_text_add(text, ", without end");
    if (answer->ttl_left_ms < 0)
        return;
    rl_text_add(text, ", ");
    add_ms(text, answer->ttl_left_ms);
    rl_text_add(text, " left");
}

static void add_silent(struct rl_text *text, rl_node_set nodes, struct rl_time now, struct rl_time since)
{
    if (nodes == 0)
        return;
    add_stamp(text, now, since);
    add_who(text, "node", nodes, 0);
    rl_text_add(text, "silent");
}

/* ---- acquisition --------------------------------------------------------------------------------------- */

void rl_trace_acquire_start(struct rl_text *text, const char *name, size_t name_length,
                            const struct rl_acquire *acquire)
{
    begin_line(text);
    rl_text_add(text, "acquire \"");
    rl_text_add_printable(text, name, name_length);
    rl_text_add(text, "\" ttl=");
    rl_text_add_integer(text, rl_span_ms_down(acquire->config.ttl));
    rl_text_add(text, " nodes=");
    rl_text_add_unsigned(text, acquire->config.node_count);
}

/* The second question of a round is a raise when the first one was won, else a peek. */
static bool had_raise(const struct rl_acquire *acquire)
{
    return acquire->question != acquire->round_question && rl_tally_decide(&acquire->tally) == RL_WON;
}

static bool had_peek(const struct rl_acquire *acquire)
{
    return acquire->question != acquire->round_question && rl_tally_decide(&acquire->tally) != RL_WON;
}

/* Whether an answer came while its question still mattered. */
static bool answer_in_time(const struct rl_acquire *after, const struct rl_event *event,
                           const struct rl_effects *effects)
{
    bool of_round = event->question == after->round_question;
    bool of_second = event->question == after->question && !of_round;

    if (effects->release != 0 || effects->raise != 0 || effects->rest.us > 0 || effects->done)
        return true;
    if (after->phase == RL_ACQUIRE_ASKING)
        return of_round;
    if (after->phase == RL_ACQUIRE_RAISING)
        return of_round || of_second;
    return after->phase == RL_ACQUIRE_PEEKING && of_second;
}

static void add_acquire_answer(struct rl_text *text, const struct rl_acquire *after,
                               const struct rl_event *event, const struct rl_effects *effects)
{
    bool of_second = event->question == after->question && event->question != after->round_question;
    const struct answer_words *words = &vote_words;

    if (of_second)
        words = had_raise(after) ? &raise_words : &peek_words;
    add_stamp(text, event->now, after->started);
    add_answer(text, event, words);
    if (words != &raise_words)
        add_time_left(text, &event->answer);
    if (words == &vote_words && event->answer.verdict == RL_GRANTED)
        add_fence(text, event->answer.fence);
    if (event->question < after->round_question)
        rl_text_add(text, ", to an older question");
    else if (!answer_in_time(after, event, effects))
        rl_text_add(text, ", after the decision");
}

/* Which nodes a deadline that has just passed caught without an answer. */
static rl_node_set silent_nodes(const struct rl_acquire *after, const struct rl_effects *effects)
{
    rl_node_set unheard = rl_node_set_all(after->config.node_count) & ~rl_tally_answered(&after->tally);

    if (effects->release != 0)
        return had_raise(after) ? after->raising & ~rl_tally_answered(&after->second) : unheard;
    if (had_peek(after))
        return (after->tally.granted | after->tally.denied) & ~rl_tally_answered(&after->second);
    return 0;
}

static void add_acquire_timer(struct rl_text *text, const struct rl_acquire *after,
                              const struct rl_event *event, const struct rl_effects *effects)
{
    bool waited = rl_time_before(after->started, after->config.give_up_at);

    if (effects->done && effects->release == 0 && waited) {
        add_stamp(text, event->now, after->started);
        add_who(text, "wait", 0, 0);
        rl_text_add(text, "over");
    } else if (effects->done || effects->rest.us > 0 || effects->release != 0) {
        add_silent(text, silent_nodes(after, effects), event->now, after->started);
    }
}

static void add_cancel(struct rl_text *text, const struct rl_acquire *after, const struct rl_event *event,
                       const struct rl_effects *effects)
{
    add_stamp(text, event->now, after->started);
    add_who(text, "cancel", 0, 0);
    if (effects->release != 0) {
        rl_text_add(text, "release ");
        add_list(text, effects->release);
    } else {
        rl_text_add(text, "nothing to undo");
    }
}

/* The line for what happened. A timer that begins a round needs none: the round has its own. */
static void add_acquire_event(struct rl_text *text, const struct rl_acquire *after,
                              const struct rl_event *event, const struct rl_effects *effects)
{
    if (event->kind == RL_EVENT_ANSWER)
        add_acquire_answer(text, after, event, effects);
    if (event->kind == RL_EVENT_TIMER)
        add_acquire_timer(text, after, event, effects);
    if (event->kind == RL_EVENT_CANCEL && effects->done)
        add_cancel(text, after, event, effects);
}

static void add_win(struct rl_text *text, const struct rl_acquire *after, struct rl_time now)
{
    begin_conclusion(text);
    add_count(text, &after->tally, rl_time_since(now, after->asked));
    add_drift(text, after->config.ttl, after->config.drift_ppm);
    add_validity(text, after->valid_until, now);
    if (after->config.fenced)
        add_fence(text, after->fence);
}

static void add_raise(struct rl_text *text, const struct rl_effects *effects)
{
    begin_conclusion(text);
    rl_text_add(text, "fence ");
    rl_text_add_unsigned(text, effects->fence);
    rl_text_add(text, " > raise on ");
    add_list(text, effects->raise);
}

/* Why a round was not won: by count, by the clock, or because its fence did not get through. */
static void add_loss_reason(struct rl_text *text, const struct rl_acquire *after, struct rl_time now)
{
    const struct rl_acquire_config *config = &after->config;
    bool won = rl_tally_decide(&after->tally) == RL_WON;

    if (won && rl_time_before(now, rl_validity_end(after->asked, config->ttl, config->drift_ppm))) {
        rl_text_add(text, "fence ");
        rl_text_add_unsigned(text, after->fence);
        rl_text_add(text, " is not on ");
        rl_text_add_unsigned(text, rl_quorum(config->node_count));
        rl_text_add(text, " -> ");
        return;
    }
    add_count(text, &after->tally, rl_time_since(now, after->asked));
    if (won)
        add_drift(text, config->ttl, config->drift_ppm);
    else
        add_need(text, config->node_count);
}

static void add_what_next(struct rl_text *text, const struct rl_effects *effects, const char *separator)
{
    if (effects->peek != 0) {
        rl_text_add(text, separator);
        rl_text_add(text, "ask who holds it on ");
        add_list(text, effects->peek);
    }
    if (effects->rest.us > 0) {
        rl_text_add(text, separator);
        rl_text_add(text, "rest ");
        add_ms(text, rl_span_ms_up(effects->rest));
    }
}

static void add_loss(struct rl_text *text, const struct rl_acquire *after, struct rl_time now,
                     const struct rl_effects *effects)
{
    begin_conclusion(text);
    add_loss_reason(text, after, now);
    rl_text_add(text, outcome_words(after->outcome));
    add_release(text, effects->release);
    add_what_next(text, effects, "; ");
}

/* A round that was undone before: after the peek, or when the wait is over. */
static void add_end_of_pause(struct rl_text *text, const struct rl_acquire *after,
                             const struct rl_effects *effects)
{
    begin_conclusion(text);
    if (effects->done)
        rl_text_add(text, "-> ");
    rl_text_add(text, outcome_words(after->outcome));
    add_what_next(text, effects, ": ");
}

static void add_round(struct rl_text *text, const struct rl_acquire *after, struct rl_time now,
                      const struct rl_effects *effects)
{
    add_stamp(text, now, after->started);
    add_who(text, "round", 0, after->round);
    rl_text_add(text, "ask ");
    add_list(text, effects->acquire);
}

void rl_trace_acquire(struct rl_text *text, const struct rl_acquire *after, const struct rl_event *event,
                      const struct rl_effects *effects)
{
    add_acquire_event(text, after, event, effects);
    if (event->kind == RL_EVENT_CANCEL)
        return;
    if (effects->acquire != 0)
        add_round(text, after, event->now, effects);
    else if (effects->raise != 0)
        add_raise(text, effects);
    else if (effects->release != 0)
        add_loss(text, after, event->now, effects);
    else if (effects->done && after->outcome == RL_OUTCOME_OK)
        add_win(text, after, event->now);
    else if (effects->done || effects->rest.us > 0)
        add_end_of_pause(text, after, effects);
}

/* ---- lease --------------------------------------------------------------------------------------------- */

static bool releasing_or_ended(const struct rl_lease *lease)
{
    return lease->phase == RL_LEASE_RELEASING || lease->phase == RL_LEASE_ENDED;
}

/* Its validity ran out. A loss by denial has another outcome, and a release after the end has one of its own. */
static bool lost_by_time(const struct rl_lease *after, const struct rl_effects *effects)
{
    return effects->done && after->extend_outcome == RL_OUTCOME_LOST &&
           after->release_outcome == RL_OUTCOME_OK;
}

static void add_lease_answer(struct rl_text *text, const struct rl_lease *after, const struct rl_event *event,
                             const struct rl_effects *effects)
{
    bool of_release = releasing_or_ended(after) && event->question == after->question;
    bool counted = (effects->extended && !lost_by_time(after, effects)) ||
                   (after->phase == RL_LEASE_EXTENDING && event->question == after->question);

    add_stamp(text, event->now, after->held_since);
    add_answer(text, event, of_release ? &release_words : &vote_words);
    if (!counted && !of_release)
        rl_text_add(text, event->question < after->question && effects->question == 0
                              ? ", to an older question"
                              : ", after the decision");
}

/* The first half of a line about something the holder or the clock did. */
static void add_lease_turn(struct rl_text *text, const struct rl_lease *after, const struct rl_event *event,
                           const char *what)
{
    add_stamp(text, event->now, after->held_since);
    add_who(text, what, 0, 0);
}

static void add_extension(struct rl_text *text, const struct rl_lease *after, const struct rl_event *event,
                          const struct rl_effects *effects)
{
    add_lease_turn(text, after, event, after->manual ? "extend" : "renew");
    rl_text_add(text, "ask ");
    add_list(text, effects->extend);
    if (after->manual) {
        rl_text_add(text, " for ");
        add_ms(text, rl_span_ms_down(effects->ttl));
    }
}

/* Refused without asking any node, at once or after it had to wait. A round that failed leaves an extension to try. */
static bool extension_refused(const struct rl_lease *after, const struct rl_effects *effects)
{
    uint32_t limit = after->config.max_extensions;

    return effects->extended && limit > 0 && after->extensions >= limit &&
           after->extend_outcome == RL_OUTCOME_DENIED;
}

/* The caller wanted more time and no round began. */
static void add_extension_put_off(struct rl_text *text, const struct rl_lease *after,
                                  const struct rl_event *event, const struct rl_effects *effects)
{
    add_lease_turn(text, after, event, "extend");
    if (extension_refused(after, effects)) {
        rl_text_add(text, "refused, the limit is ");
        rl_text_add_unsigned(text, after->config.max_extensions);
    } else {
        rl_text_add(text, releasing_or_ended(after) ? "not held" : "waits for the round under way");
    }
}

static void add_lease_silent(struct rl_text *text, const struct rl_lease *after, const struct rl_event *event)
{
    rl_node_set all = rl_node_set_all(after->config.node_count);

    add_silent(text, all & ~rl_tally_answered(&after->tally), event->now, after->held_since);
}

static bool ends_at_max_hold(const struct rl_lease *lease)
{
    struct rl_span max_hold = lease->config.max_hold;

    return max_hold.us > 0 && lease->valid_until.us == rl_time_add(lease->held_since, max_hold).us;
}

static void add_failed_extension(struct rl_text *text, const struct rl_lease *after,
                                 const struct rl_event *event, const struct rl_effects *effects)
{
    add_need(text, after->config.node_count);
    rl_text_add(text, outcome_words(after->extend_outcome));
    if (effects->done)
        rl_text_add(text, ", lost");
    add_release(text, effects->release);
    if (!effects->done && after->renew_at.us != RL_TIME_NEVER.us) {
        rl_text_add(text, ": again in ");
        add_ms(text, rl_span_ms_up(rl_time_since(rl_time_max(after->renew_at, event->now), event->now)));
    }
}

/* An extension round that ended with the lease still held, or with too many nodes denying it. */
static void add_extension_result(struct rl_text *text, const struct rl_lease *after,
                                 const struct rl_event *event, const struct rl_effects *effects)
{
    begin_conclusion(text);
    add_count(text, &after->tally, rl_time_since(event->now, after->asked));
    if (after->extend_outcome != RL_OUTCOME_OK) {
        add_failed_extension(text, after, event, effects);
        return;
    }
    add_drift(text, after->asked_ttl, after->config.drift_ppm);
    add_validity(text, after->valid_until, event->now);
    if (ends_at_max_hold(after))
        rl_text_add(text, ", the longest hold");
}

static void add_lost(struct rl_text *text, const struct rl_lease *after, const struct rl_event *event,
                     const struct rl_effects *effects)
{
    add_lease_turn(text, after, event, "lost");
    rl_text_add(text, ends_at_max_hold(after) ? "it was held as long as it may" : "its validity has ended");
    add_release(text, effects->release);
}

static void add_release_result(struct rl_text *text, const struct rl_lease *after,
                               const struct rl_event *event)
{
    begin_conclusion(text);
    rl_text_add_unsigned(text, rl_node_set_count(after->tally.granted));
    rl_text_add(text, " released, ");
    rl_text_add_unsigned(text, rl_node_set_count(after->tally.denied));
    rl_text_add(text, " not there, of ");
    rl_text_add_unsigned(text, after->config.node_count);
    rl_text_add(text, " after ");
    add_ms(text, rl_span_ms_up(rl_time_since(event->now, after->asked)));
    rl_text_add(text, " -> ");
    rl_text_add(text, outcome_words(after->release_outcome));
}

static void add_lease_event(struct rl_text *text, const struct rl_lease *after, const struct rl_event *event,
                            const struct rl_effects *effects)
{
    if (event->kind == RL_EVENT_ANSWER)
        add_lease_answer(text, after, event, effects);
    if (event->kind == RL_EVENT_TIMER && extension_refused(after, effects))
        add_extension_put_off(text, after, event, effects);
    else if (event->kind == RL_EVENT_TIMER && (effects->extended || effects->done))
        add_lease_silent(text, after, event);
    if (event->kind == RL_EVENT_ABANDON && !releasing_or_ended(after)) {
        add_lease_turn(text, after, event, "abandon");
        rl_text_add(text, "no more renewals");
    }
    if (event->kind == RL_EVENT_EXTEND && effects->extend == 0)
        add_extension_put_off(text, after, event, effects);
    if (event->kind == RL_EVENT_RELEASE && effects->release != 0) {
        add_lease_turn(text, after, event, "release");
        add_list(text, effects->release);
    }
}

void rl_trace_lease(struct rl_text *text, const struct rl_lease *after, const struct rl_event *event,
                    const struct rl_effects *effects)
{
    bool round_ended = effects->extended && !extension_refused(after, effects) &&
                       (event->kind == RL_EVENT_ANSWER || event->kind == RL_EVENT_TIMER);

    if (lost_by_time(after, effects)) {
        if (event->kind == RL_EVENT_ANSWER)
            add_lease_answer(text, after, event, effects);
        add_lost(text, after, event, effects);
        return;
    }
    add_lease_event(text, after, event, effects);
    if (round_ended)
        add_extension_result(text, after, event, effects);
    if (effects->extend != 0)
        add_extension(text, after, event, effects);
    if (effects->done && !round_ended)
        add_release_result(text, after, event);
}

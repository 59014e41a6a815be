/*
 * The lease in words; see trace.h.
 */
#include "core/trace.h"

#include "core/trace_line.h"

static bool releasing_or_ended(const struct rl_lease *lease)
{
    return lease->phase == RL_LEASE_RELEASING || lease->phase == RL_LEASE_ENDED;
}

/* Its validity ran out. A loss by denial has another outcome, and a release after the end has one of its
 * own. */
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

    rl_line_add_stamp(text, event->now, after->held_since);
    rl_line_add_answer(text, event, of_release ? &rl_release_words : &rl_vote_words);
    if (!counted && !of_release)
        rl_text_add(text, event->question < after->question && effects->question == 0
                              ? ", to an older question"
                              : ", after the decision");
}

/* The first half of a line about something the holder or the clock did. */
static void add_lease_turn(struct rl_text *text, const struct rl_lease *after, const struct rl_event *event,
                           const char *what)
{
    rl_line_add_stamp(text, event->now, after->held_since);
    rl_line_add_who(text, what, 0, 0);
}

static void add_extension(struct rl_text *text, const struct rl_lease *after, const struct rl_event *event,
                          const struct rl_effects *effects)
{
    add_lease_turn(text, after, event, after->manual ? "extend" : "renew");
    rl_text_add(text, "ask ");
    rl_line_add_list(text, effects->extend);
    if (after->manual) {
        rl_text_add(text, " for ");
        rl_line_add_ms(text, rl_span_ms_down(effects->ttl));
    }
}

/* Refused without asking any node, at once or after it had to wait. A round that failed leaves an extension
 * to try. */
static bool extension_refused(const struct rl_lease *after, const struct rl_effects *effects)
{
    uint32_t limit = after->config.max_extensions;

    return effects->extended && limit > 0 && after->extensions >= limit &&
           after->extend_outcome == RL_OUTCOME_MISUSE;
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
    rl_node_set all = rl_node_set_all(after->config.terms->node_count);

    rl_line_add_silent(text, all & ~rl_tally_answered(&after->tally), event->now, after->held_since);
}

static bool ends_at_max_hold(const struct rl_lease *lease)
{
    struct rl_span max_hold = lease->config.max_hold;

    return max_hold.us > 0 && lease->valid_until.us == rl_time_add(lease->held_since, max_hold).us;
}

static void add_failed_extension(struct rl_text *text, const struct rl_lease *after,
                                 const struct rl_event *event, const struct rl_effects *effects)
{
    rl_line_add_need(text, after->config.terms->node_count);
    rl_text_add(text, rl_outcome_words(after->extend_outcome));
    if (effects->done)
        rl_text_add(text, ", lost");
    rl_line_add_release(text, effects->release);
    if (!effects->done && after->renew_at.us != RL_TIME_NEVER.us) {
        rl_text_add(text, ": again in ");
        rl_line_add_ms(text,
                       rl_span_ms_up(rl_time_since(rl_time_max(after->renew_at, event->now), event->now)));
    }
}

/* An extension round that ended with the lease still held, or with too many nodes denying it. */
static void add_extension_result(struct rl_text *text, const struct rl_lease *after,
                                 const struct rl_event *event, const struct rl_effects *effects)
{
    rl_line_begin_conclusion(text);
    rl_line_add_count(text, &after->tally, rl_time_since(event->now, after->asked));
    if (after->extend_outcome != RL_OUTCOME_OK) {
        add_failed_extension(text, after, event, effects);
        return;
    }
    rl_line_add_drift(text, after->asked_ttl, after->config.terms->drift_ppm);
    rl_line_add_validity(text, after->valid_until, event->now);
    if (ends_at_max_hold(after))
        rl_text_add(text, ", the longest hold");
}

static void add_lost(struct rl_text *text, const struct rl_lease *after, const struct rl_event *event,
                     const struct rl_effects *effects)
{
    add_lease_turn(text, after, event, "lost");
    rl_text_add(text, ends_at_max_hold(after) ? "it was held as long as it may" : "its validity has ended");
    rl_line_add_release(text, effects->release);
}

static void add_release_result(struct rl_text *text, const struct rl_lease *after,
                               const struct rl_event *event)
{
    rl_line_begin_conclusion(text);
    rl_text_add_unsigned(text, rl_node_set_count(after->tally.granted));
    rl_text_add(text, " released, ");
    rl_text_add_unsigned(text, rl_node_set_count(after->tally.denied));
    rl_text_add(text, " not there, of ");
    rl_text_add_unsigned(text, after->config.terms->node_count);
    rl_text_add(text, " after ");
    rl_line_add_ms(text, rl_span_ms_up(rl_time_since(event->now, after->asked)));
    rl_text_add(text, " -> ");
    rl_text_add(text, rl_outcome_words(after->release_outcome));
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
        rl_line_add_list(text, effects->release);
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

/*
 * The acquisition in words; see trace.h.
 */
#include "core/trace.h"

#include "core/trace_line.h"
#include "core/validity.h"

void rl_trace_acquire_start(struct rl_text *text, const char *name, size_t name_length,
                            const struct rl_acquire *acquire)
{
    rl_line_add_start(text, name, name_length, acquire->config.ttl, acquire->config.node_count);
}

static bool had_peek(const struct rl_acquire *acquire)
{
    return acquire->phase != RL_ACQUIRE_WAITING && !acquire->woken &&
           acquire->question != acquire->round_question;
}

/* Whether an answer came while its question still mattered. */
static bool answer_in_time(const struct rl_acquire *after, const struct rl_event *event,
                           const struct rl_effects *effects)
{
    bool of_round = event->question == after->round_question;
    bool of_second = event->question == after->question && !of_round;

    if (effects->lost || effects->rest.us > 0 || effects->done || effects->acquire != 0)
        return true;
    if (after->phase == RL_ACQUIRE_ASKING)
        return of_round;
    return (after->phase == RL_ACQUIRE_PEEKING || after->phase == RL_ACQUIRE_WAITING) && of_second;
}

static void add_acquire_answer(struct rl_text *text, const struct rl_acquire *after,
                               const struct rl_event *event, const struct rl_effects *effects)
{
    bool of_second = event->question == after->question && event->question != after->round_question;
    bool peek = of_second || effects->acquire != 0; /* or the last word that was waited for */

    rl_line_add_stamp(text, event->now, after->started);
    rl_line_add_answer(text, event, peek ? &rl_peek_words : &rl_vote_words);
    rl_line_add_time_left(text, &event->answer);
    if (event->question < after->round_question && effects->acquire == 0)
        rl_text_add(text, ", to an older question");
    else if (!answer_in_time(after, event, effects))
        rl_text_add(text, ", after the decision");
}

/* Which nodes a deadline that has just passed caught without an answer. */
static rl_node_set silent_nodes(const struct rl_acquire *after, const struct rl_effects *effects)
{
    rl_node_set unheard = rl_node_set_all(after->config.node_count) & ~rl_tally_answered(&after->tally);

    if (effects->lost)
        return unheard;
    if (had_peek(after))
        return (after->tally.granted | after->tally.denied) & ~rl_tally_answered(&after->second);
    return 0;
}

static void add_acquire_timer(struct rl_text *text, const struct rl_acquire *after,
                              const struct rl_event *event, const struct rl_effects *effects)
{
    bool waited = rl_time_before(after->started, after->config.give_up_at);

    if (effects->done && !effects->lost && waited) {
        rl_line_add_stamp(text, event->now, after->started);
        rl_line_add_who(text, "wait", 0, 0);
        rl_text_add(text, "over");
    } else if (effects->watch != 0 && !effects->lost && !had_peek(after)) {
        rl_line_add_stamp(text, event->now, after->started);
        rl_line_add_who(text, "wait", 0, 0);
        rl_text_add(text, "look again");
    } else if (effects->done || effects->rest.us > 0 || effects->lost) {
        rl_line_add_silent(text, silent_nodes(after, effects), event->now, after->started);
    }
}

static void add_cancel(struct rl_text *text, const struct rl_acquire *after, const struct rl_event *event,
                       const struct rl_effects *effects)
{
    rl_line_add_stamp(text, event->now, after->started);
    rl_line_add_who(text, "cancel", 0, 0);
    if (effects->release != 0) {
        rl_text_add(text, "release ");
        rl_line_add_list(text, effects->release);
    } else {
        rl_text_add(text, "nothing to undo");
    }
}

/* What happened to a node, or in the queue of this process. */
static void add_news(struct rl_text *text, const struct rl_acquire *after, const struct rl_event *event,
                     const char *who, const char *what)
{
    bool of_node = event->kind != RL_EVENT_START && event->kind != RL_EVENT_TURN;

    rl_line_add_stamp(text, event->now, after->started);
    rl_line_add_who(text, who, of_node ? rl_node_set_one(event->node) : 0, 0);
    rl_text_add(text, what);
}

static void add_waiting_event(struct rl_text *text, const struct rl_acquire *after,
                              const struct rl_event *event, const struct rl_effects *effects)
{
    bool matters = after->phase == RL_ACQUIRE_WAITING || effects->rest.us > 0 || effects->acquire != 0;

    if (event->kind == RL_EVENT_START && after->config.queued)
        add_news(text, after, event, "queue", "others of this process come first");
    if (event->kind == RL_EVENT_TURN)
        add_news(text, after, event, "queue",
                 event->others_first ? "its turn, after other processes" : "its turn");
    if (event->kind == RL_EVENT_CHANGED && matters)
        add_news(text, after, event, "node", "changed");
    if (event->kind == RL_EVENT_UP && matters)
        add_news(text, after, event, "node", "back");
    if (event->kind == RL_EVENT_DOWN && matters)
        add_news(text, after, event, "node", "gone");
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
    add_waiting_event(text, after, event, effects);
}

static void add_win(struct rl_text *text, const struct rl_acquire *after, struct rl_time now)
{
    rl_line_begin_conclusion(text);
    rl_line_add_count(text, &after->tally, rl_time_since(now, after->asked));
    rl_line_add_drift(text, after->config.ttl, after->config.drift_ppm);
    rl_line_add_validity(text, after->valid_until, now);
}

/* Why a round was not won: by count or by the clock. */
static void add_loss_reason(struct rl_text *text, const struct rl_acquire *after, struct rl_time now)
{
    const struct rl_acquire_config *config = &after->config;

    rl_line_add_count(text, &after->tally, rl_time_since(now, after->asked));
    if (rl_tally_decide(&after->tally) == RL_WON)
        rl_line_add_drift(text, config->ttl, config->drift_ppm);
    else
        rl_line_add_need(text, config->node_count);
}

static void add_what_next(struct rl_text *text, const struct rl_effects *effects, const char *separator)
{
    if (effects->peek != 0) {
        rl_text_add(text, separator);
        rl_text_add(text, "ask who holds it on ");
        rl_line_add_list(text, effects->peek);
    }
    if (effects->watch != 0) {
        rl_text_add(text, separator);
        rl_text_add(text, "watch on ");
        rl_line_add_list(text, effects->watch);
    }
    if (effects->rest.us > 0) {
        rl_text_add(text, separator);
        rl_text_add(text, "rest ");
        rl_line_add_ms(text, rl_span_ms_up(effects->rest));
    }
}

static void add_loss(struct rl_text *text, const struct rl_acquire *after, struct rl_time now,
                     const struct rl_effects *effects)
{
    rl_line_begin_conclusion(text);
    add_loss_reason(text, after, now);
    rl_text_add(text, rl_outcome_words(after->outcome));
    rl_line_add_release(text, effects->release);
    add_what_next(text, effects, "; ");
}

/* A round that was undone before: after the peek, while it waits, or when the wait is over. */
static void add_end_of_pause(struct rl_text *text, const struct rl_acquire *after,
                             const struct rl_effects *effects)
{
    rl_line_begin_conclusion(text);
    if (effects->done)
        rl_text_add(text, "-> ");
    rl_text_add(text,
                after->woken && !effects->done ? "it seems to be free" : rl_outcome_words(after->outcome));
    add_what_next(text, effects, ": ");
}

static void add_round(struct rl_text *text, const struct rl_acquire *after, struct rl_time now,
                      const struct rl_effects *effects)
{
    rl_line_add_stamp(text, now, after->started);
    rl_line_add_who(text, "round", 0, after->round);
    rl_text_add(text, "ask ");
    rl_line_add_list(text, effects->acquire);
}

void rl_trace_acquire(struct rl_text *text, const struct rl_acquire *after, const struct rl_event *event,
                      const struct rl_effects *effects)
{
    add_acquire_event(text, after, event, effects);
    if (event->kind == RL_EVENT_CANCEL)
        return;
    if (effects->acquire != 0)
        add_round(text, after, event->now, effects);
    else if (effects->lost)
        add_loss(text, after, event->now, effects);
    else if (effects->done && after->outcome == RL_OUTCOME_OK)
        add_win(text, after, event->now);
    else if (effects->done || effects->rest.us > 0 || effects->watch != 0)
        add_end_of_pause(text, after, effects);
}

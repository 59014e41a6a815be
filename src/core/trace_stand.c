/*
 * A caller in line, in words; see trace.h.
 */
#include "core/trace.h"

#include "core/trace_line.h"
#include "core/validity.h"

void rl_trace_stand_start(struct rl_text *text, const char *name, size_t name_length,
                          const struct rl_stand *stand)
{
    rl_line_add_start(text, name, name_length, stand->config.ttl, stand->config.node_count);
}

static void add_answer(struct rl_text *text, const struct rl_stand *after, const struct rl_event *event)
{
    const struct rl_answer *answer = &event->answer;
    bool of_raise = after->raising != 0 && event->question == after->question && answer->node_us == 0;

    rl_line_add_stamp(text, event->now, after->started);
    rl_line_add_answer(text, event, of_raise ? &rl_raise_words : &rl_vote_words);
    if (answer->rank > 0) {
        rl_text_add(text, ", place ");
        rl_text_add_unsigned(text, answer->rank);
        rl_text_add(text, " in line");
    }
    rl_line_add_time_left(text, answer);
    if (answer->verdict == RL_GRANTED && !of_raise)
        rl_line_add_fence(text, answer->fence);
    if (event->question < after->attempt)
        rl_text_add(text, ", to an older question");
}

static void add_node(struct rl_text *text, const struct rl_stand *after, const struct rl_event *event,
                     const char *what)
{
    rl_line_add_stamp(text, event->now, after->started);
    rl_line_add_who(text, "node", rl_node_set_one(event->node), 0);
    rl_text_add(text, what);
}

static void add_word(struct rl_text *text, const struct rl_stand *after, const struct rl_event *event,
                     const char *who, const char *what)
{
    rl_line_add_stamp(text, event->now, after->started);
    rl_line_add_who(text, who, 0, 0);
    rl_text_add(text, what);
}

static void add_event(struct rl_text *text, const struct rl_stand *after, const struct rl_event *event,
                      const struct rl_effects *effects)
{
    switch (event->kind) {
    case RL_EVENT_ANSWER:
        add_answer(text, after, event);
        break;
    case RL_EVENT_HANDED:
        add_node(text, after, event,
                 rl_node_set_has(effects->acquire, event->node) ? "handed over, to be confirmed"
                                                                : "handed over");
        rl_line_add_fence(text, event->answer.fence);
        break;
    case RL_EVENT_WATCHED:
        rl_line_add_stamp(text, event->now, after->started);
        rl_line_add_answer(text, event, &rl_peek_words);
        rl_line_add_time_left(text, &event->answer);
        break;
    case RL_EVENT_UP:
        add_node(text, after, event, "back");
        break;
    case RL_EVENT_DOWN:
        add_node(text, after, event, "gone");
        break;
    case RL_EVENT_CHANGED:
        add_node(text, after, event, "changed");
        break;
    case RL_EVENT_CANCEL:
        add_word(text, after, event, "cancel", rl_stand_waits(after) ? "leave the line" : "give it back");
        break;
    case RL_EVENT_TIMER:
        if (effects->done && rl_stand_waits(after))
            add_word(text, after, event, "wait", "over");
        break;
    default:
        break;
    }
}

static void add_question(struct rl_text *text, const struct rl_stand *after, const struct rl_event *event,
                         const struct rl_effects *effects)
{
    rl_line_add_stamp(text, event->now, after->started);
    rl_line_add_who(text, "round", 0, after->attempts);
    rl_text_add(text, effects->fresh ? "ask " : "ask again ");
    rl_line_add_list(text, effects->acquire);
}

static void add_win(struct rl_text *text, const struct rl_stand *after, struct rl_time now)
{
    struct rl_tally tally = rl_stand_tally(after);

    rl_line_begin_conclusion(text);
    rl_line_add_count(text, &tally, rl_time_since(now, rl_stand_since(after, now)));
    rl_line_add_drift(text, after->config.ttl, after->config.drift_ppm);
    rl_line_add_validity(text, after->valid_until, now);
    rl_line_add_fence(text, after->fence);
}

/* What it was not, and what is undone for that. */
static void add_loss(struct rl_text *text, const struct rl_stand *after, struct rl_time now,
                     const struct rl_effects *effects)
{
    struct rl_tally tally = rl_stand_tally(after);

    rl_line_begin_conclusion(text);
    if (rl_stand_waits(after)) {
        rl_text_add(text, "-> ");
    } else {
        rl_line_add_count(text, &tally, rl_time_since(now, after->started));
        rl_line_add_need(text, after->config.node_count);
    }
    rl_text_add(text, effects->fresh ? "another comes first" : rl_outcome_words(after->outcome));
    rl_line_add_release(text, effects->release);
}

void rl_trace_stand(struct rl_text *text, const struct rl_stand *after, const struct rl_event *event,
                    const struct rl_effects *effects)
{
    add_event(text, after, event, effects);
    if (effects->release != 0 || (effects->done && after->outcome != RL_OUTCOME_OK))
        add_loss(text, after, event->now, effects);
    if (effects->lined) {
        rl_line_begin_conclusion(text);
        rl_text_add(text, "-> in line, place ");
        rl_text_add_unsigned(text, rl_stand_place(after));
    }
    if (effects->acquire != 0)
        add_question(text, after, event, effects);
    if (effects->raise != 0) {
        rl_line_begin_conclusion(text);
        rl_text_add(text, "fence ");
        rl_text_add_unsigned(text, effects->fence);
        rl_text_add(text, " > raise on ");
        rl_line_add_list(text, effects->raise);
    }
    if (effects->done && after->outcome == RL_OUTCOME_OK)
        add_win(text, after, event->now);
}

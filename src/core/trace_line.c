/*
 * The words of trace_line.h.
 */
#include "core/trace_line.h"

#include "core/validity.h"

enum { TIME_WIDTH = 4, WHO_WIDTH = 7 };

/* ---- words --------------------------------------------------------------------------------------------- */

const char *rl_outcome_words(enum rl_outcome outcome)
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
    case RL_OUTCOME_FORBIDDEN:
        return "forbidden";
    case RL_OUTCOME_FOREIGN_TYPE:
        return "foreign type";
    case RL_OUTCOME_INVALID:
        return "invalid";
    case RL_OUTCOME_MISUSE:
        return "misuse";
    }
    return "unknown";
}

/* What is wrong with a node; NULL when nothing is to be said. */
static const char *cause_words(enum rl_cause cause)
{
    switch (cause) {
    case RL_CAUSE_NONE:
        return NULL;
    case RL_CAUSE_CONNECTING:
        return "not connected yet";
    case RL_CAUSE_REFUSED:
        return "connection refused";
    case RL_CAUSE_UNREACHABLE:
        return "unreachable";
    case RL_CAUSE_TIMED_OUT:
        return "no answer in time";
    case RL_CAUSE_SILENT:
        return "still owes an answer";
    case RL_CAUSE_RESOLVE:
        return "name not found";
    case RL_CAUSE_TLS:
        return "TLS failed";
    case RL_CAUSE_CREDENTIALS:
        return "wrong credentials";
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
    case RL_CAUSE_SCRIPT:
        return "busy with a script";
    case RL_CAUSE_DISK:
        return "cannot write to disk";
    case RL_CAUSE_CLUSTER:
        return "part of a cluster";
    case RL_CAUSE_SENTINEL:
        return "a sentinel";
    case RL_CAUSE_TOO_OLD:
        return "too old";
    case RL_CAUSE_PROTOCOL:
        return "does not speak the protocol";
    case RL_CAUSE_DUPLICATE:
        return "the same server twice";
    case RL_CAUSE_EVICTION:
        return "may evict locks";
    case RL_CAUSE_QUARANTINE:
        return "in quarantine";
    case RL_CAUSE_FENCES:
        return "lacks the highest fence";
    case RL_CAUSE_EPOCH:
        return "has lost its locks";
    case RL_CAUSE_CLOCK_STEP:
        return "clock was set";
    case RL_CAUSE_BROKEN:
        return "broken by an operator";
    case RL_CAUSE_CLOCK_RATE:
        return "clock runs at another rate";
    case RL_CAUSE_LATE:
        return "reached too late";
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

void rl_line_begin(struct rl_text *text)
{
    if (text->length > 0 && text->bytes[text->length - 1] != '\n')
        rl_text_add(text, "\n");
}

void rl_line_begin_conclusion(struct rl_text *text)
{
    rl_line_begin(text);
    add_spaces(text, TIME_WIDTH + 3 + 6);
}

void rl_line_add_start(struct rl_text *text, const char *name, size_t name_length, struct rl_span ttl,
                       uint32_t node_count)
{
    rl_line_begin(text);
    rl_text_add(text, "acquire \"");
    rl_text_add_printable(text, name, name_length);
    rl_text_add(text, "\" ttl=");
    rl_text_add_integer(text, rl_span_ms_down(ttl));
    rl_text_add(text, " nodes=");
    rl_text_add_unsigned(text, node_count);
}

void rl_line_add_stamp(struct rl_text *text, struct rl_time now, struct rl_time since)
{
    char digits[24];
    struct rl_text number = rl_text_on(digits, sizeof digits);

    rl_text_add_integer(&number, rl_span_ms_down(rl_time_since(now, since)));
    rl_line_begin(text);
    rl_text_add(text, "[");
    add_spaces(text, number.length < TIME_WIDTH ? TIME_WIDTH - number.length : 0);
    rl_text_add(text, digits);
    rl_text_add(text, "] ");
}

void rl_line_add_list(struct rl_text *text, rl_node_set nodes)
{
    while (nodes != 0) {
        rl_text_add_unsigned(text, rl_node_set_first(nodes) + 1);
        nodes &= nodes - 1;
        if (nodes != 0)
            rl_text_add(text, ",");
    }
}

void rl_line_add_who(struct rl_text *text, const char *who, rl_node_set nodes, uint32_t number)
{
    size_t before = text->length;
    size_t width;

    rl_text_add(text, who);
    if (nodes != 0 || number != 0)
        rl_text_add(text, " ");
    rl_line_add_list(text, nodes);
    if (number != 0)
        rl_text_add_unsigned(text, number);
    width = text->length - before;
    add_spaces(text, width < WHO_WIDTH ? WHO_WIDTH - width : 0);
    rl_text_add(text, " > ");
}

void rl_line_add_ms(struct rl_text *text, int64_t ms)
{
    rl_text_add_integer(text, ms);
    rl_text_add(text, " ms");
}

void rl_line_add_count(struct rl_text *text, const struct rl_tally *tally, struct rl_span elapsed)
{
    rl_text_add_unsigned(text, rl_node_set_count(tally->granted));
    rl_text_add(text, " of ");
    rl_text_add_unsigned(text, tally->node_count);
    rl_text_add(text, " after ");
    rl_line_add_ms(text, rl_span_ms_up(elapsed));
}

void rl_line_add_drift(struct rl_text *text, struct rl_span ttl, uint32_t drift_ppm)
{
    rl_text_add(text, ", drift ");
    rl_text_add_integer(text, rl_span_ms_up(rl_validity_drift(ttl, drift_ppm)));
    rl_text_add(text, " -> ");
}

void rl_line_add_validity(struct rl_text *text, struct rl_time valid_until, struct rl_time now)
{
    rl_text_add(text, "valid ");
    rl_line_add_ms(text, rl_span_ms_down(rl_time_since(valid_until, now)));
}

void rl_line_add_need(struct rl_text *text, uint32_t node_count)
{
    rl_text_add(text, ", need ");
    rl_text_add_unsigned(text, rl_quorum(node_count));
    rl_text_add(text, " -> ");
}

void rl_line_add_release(struct rl_text *text, rl_node_set nodes)
{
    if (nodes == 0)
        return;
    rl_text_add(text, ": release ");
    rl_line_add_list(text, nodes);
}

void rl_line_add_fence(struct rl_text *text, uint64_t fence)
{
    if (fence == 0)
        return;
    rl_text_add(text, ", fence ");
    rl_text_add_unsigned(text, fence);
}

/* ---- answers ------------------------------------------------------------------------------------------- */

const struct rl_answer_words rl_vote_words = {"granted", "denied"};
const struct rl_answer_words rl_raise_words = {"raised", "not ours any more"};
const struct rl_answer_words rl_peek_words = {"free", "held"};
const struct rl_answer_words rl_release_words = {"released", "not there"};

static const char *verdict_words(enum rl_verdict verdict, const struct rl_answer_words *words)
{
    switch (verdict) {
    case RL_SILENT:
        return "silent";
    case RL_GRANTED:
        return words->granted;
    case RL_DENIED:
        return words->denied;
    case RL_INELIGIBLE:
        return "ineligible";
    case RL_FAILED:
        return "failed";
    }
    return "unknown";
}

void rl_line_add_answer(struct rl_text *text, const struct rl_event *event,
                        const struct rl_answer_words *words)
{
    const char *cause = cause_words(event->answer.cause);

    rl_line_add_who(text, "node", rl_node_set_one(event->node), 0);
    rl_text_add(text, verdict_words(event->answer.verdict, words));
    if (cause != NULL) {
        rl_text_add(text, ", ");
        rl_text_add(text, cause);
    }
}

void rl_line_add_time_left(struct rl_text *text, const struct rl_answer *answer)
{
    if (answer->verdict != RL_DENIED)
        return;
    if (answer->ttl_left_ms == -1)
        rl_text_add(text, ", without end");
    if (answer->ttl_left_ms < 0)
        return;
    rl_text_add(text, ", ");
    rl_line_add_ms(text, answer->ttl_left_ms);
    rl_text_add(text, " left");
}

void rl_line_add_silent(struct rl_text *text, rl_node_set nodes, struct rl_time now, struct rl_time since)
{
    if (nodes == 0)
        return;
    rl_line_add_stamp(text, now, since);
    rl_line_add_who(text, "node", nodes, 0);
    rl_text_add(text, "silent");
}

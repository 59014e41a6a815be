/*
 * What lines of the trace are made of: "[ms] who > what", and what was concluded from it, indented below. The
 *     parts
 * only; trace.c and trace_lease.c know when to say what.
 */
#ifndef RL_CORE_TRACE_LINE_H
#define RL_CORE_TRACE_LINE_H

#include "base/bytes.h"
#include "core/acquire.h"

const char *rl_outcome_words(enum rl_outcome outcome);

/* Starts a line of its own, unless the text is at the start of one. */
void rl_line_begin(struct rl_text *text);

/* Starts a line below another, under what it says who did it. */
void rl_line_begin_conclusion(struct rl_text *text);

/* The first line: 'acquire "name" ttl=10000 nodes=3'. */
void rl_line_add_start(struct rl_text *text, const char *name, size_t name_length, struct rl_span ttl,
                       uint32_t node_count);

/* Starts a line with "[ms] ". */
void rl_line_add_stamp(struct rl_text *text, struct rl_time now, struct rl_time since);

/* "who     > ": a word and perhaps which nodes or which round. */
void rl_line_add_who(struct rl_text *text, const char *who, rl_node_set nodes, uint32_t number);

/* "1,2,3" */
void rl_line_add_list(struct rl_text *text, rl_node_set nodes);

/* "9 ms" */
void rl_line_add_ms(struct rl_text *text, int64_t ms);

/* "2 of 3 after 9 ms", then ", drift 102 -> " and "valid 9889 ms", or ", need 2 -> ". */
void rl_line_add_count(struct rl_text *text, const struct rl_tally *tally, struct rl_span elapsed);
void rl_line_add_drift(struct rl_text *text, struct rl_span ttl, uint32_t drift_ppm);
void rl_line_add_validity(struct rl_text *text, struct rl_time valid_until, struct rl_time now);
void rl_line_add_need(struct rl_text *text, uint32_t node_count);

/* ": release 1,2,3" and ", fence 17"; nothing when there is none. */
void rl_line_add_release(struct rl_text *text, rl_node_set nodes);
void rl_line_add_fence(struct rl_text *text, uint64_t fence);

/* Yes and no mean something else for every question. */
struct rl_answer_words {
    const char *granted;
    const char *denied;
};

extern const struct rl_answer_words rl_vote_words;
extern const struct rl_answer_words rl_raise_words;
extern const struct rl_answer_words rl_peek_words;
extern const struct rl_answer_words rl_release_words;

/* "node 1  > failed, unreachable" */
void rl_line_add_answer(struct rl_text *text, const struct rl_event *event,
                        const struct rl_answer_words *words);

/* ", 4200 ms left": how long the key in the way will be there. */
void rl_line_add_time_left(struct rl_text *text, const struct rl_answer *answer);

/* A whole line about nodes that a deadline caught without an answer; nothing when there are none. */
void rl_line_add_silent(struct rl_text *text, rl_node_set nodes, struct rl_time now, struct rl_time since);

#endif

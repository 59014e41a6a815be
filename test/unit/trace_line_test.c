/*
 * Words of the trace: every outcome and every cause has its own, so that a reader never takes one for
 * another. Whole lines are compared in test/transcript.
 */
#include "core/trace_line.h"
#include "support/check.h"

static void every_outcome_has_words_of_its_own(void **state)
{
    static const enum rl_outcome outcomes[] = {
        RL_OUTCOME_OK,         RL_OUTCOME_BUSY,      RL_OUTCOME_TIMEOUT,      RL_OUTCOME_NOT_HELD,
        RL_OUTCOME_LOST,       RL_OUTCOME_CANCELED,  RL_OUTCOME_NO_QUORUM,    RL_OUTCOME_TOO_SLOW,
        RL_OUTCOME_QUARANTINE, RL_OUTCOME_FORBIDDEN, RL_OUTCOME_FOREIGN_TYPE, RL_OUTCOME_INVALID,
        RL_OUTCOME_MISUSE,
    };

    (void)state;
    for (size_t i = 0; i < sizeof outcomes / sizeof *outcomes; i++) {
        assert_string_not_equal(rl_outcome_words(outcomes[i]), "unknown");
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(rl_outcome_words(outcomes[i]), rl_outcome_words(outcomes[j]));
    }
}

/* What the trace says of a failed node. */
static void write_answer(char *line, size_t size, enum rl_cause cause)
{
    struct rl_text text = rl_text_on(line, size);
    struct rl_event event = {.kind = RL_EVENT_ANSWER, .answer = {.verdict = RL_FAILED, .cause = cause}};

    rl_line_add_answer(&text, &event, &rl_vote_words);
}

static void every_cause_has_words_of_its_own(void **state)
{
    char lines[RL_CAUSE_BROKEN + 1][80];

    (void)state;
    for (int cause = RL_CAUSE_NONE; cause <= RL_CAUSE_BROKEN; cause++) {
        write_answer(lines[cause], sizeof lines[cause], (enum rl_cause)cause);
        for (int other = RL_CAUSE_NONE; other < cause; other++)
            assert_string_not_equal(lines[cause], lines[other]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_outcome_has_words_of_its_own),
        cmocka_unit_test(every_cause_has_words_of_its_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

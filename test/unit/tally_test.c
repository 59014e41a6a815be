/*
 * Tests of core/tally: every verdict vector of 1 to 9 nodes, against a twin that counts in the plainest way.
 */
#include <string.h>

#include "base/prng.h"
#include "core/tally.h"
#include "support/check.h"

enum { NODES = 9, VERDICTS = 5 };

/* ---- the dumb twin ---- */

struct counts {
    int of[VERDICTS]; /* by verdict */
    int total;
};

static struct counts count(const int *verdicts, int node_count)
{
    struct counts counts = {.total = node_count};

    for (int node = 0; node < node_count; node++)
        counts.of[verdicts[node]]++;
    return counts;
}

/* A majority: more than half. */
static bool is_majority(int some, int total)
{
    return 2 * some > total;
}

static enum rl_decision dumb_decision(const struct counts *counts)
{
    if (is_majority(counts->of[RL_GRANTED], counts->total))
        return RL_WON;
    if (is_majority(counts->of[RL_GRANTED] + counts->of[RL_SILENT], counts->total))
        return RL_OPEN;
    return RL_LOST;
}

/* Busy when a majority could vote; else quarantine when the ineligible are what is missing for one. */
static enum rl_outcome dumb_reason(const struct counts *counts)
{
    int able = counts->of[RL_GRANTED] + counts->of[RL_DENIED];

    if (is_majority(able, counts->total))
        return RL_OUTCOME_BUSY;
    if (is_majority(able + counts->of[RL_INELIGIBLE], counts->total))
        return RL_OUTCOME_QUARANTINE;
    return RL_OUTCOME_NO_QUORUM;
}

/* ---- helpers ---- */

static void add(struct rl_tally *tally, uint32_t node, enum rl_verdict verdict, enum rl_cause cause)
{
    rl_tally_add(tally, node, &(struct rl_answer){.verdict = verdict, .cause = cause});
}

static struct rl_tally tally_of(const int *verdicts, int node_count)
{
    struct rl_tally tally = rl_tally_start((uint32_t)node_count);

    for (int node = 0; node < node_count; node++)
        add(&tally, (uint32_t)node, (enum rl_verdict)verdicts[node], RL_CAUSE_NONE);
    return tally;
}

/* Counts up like an odometer; false after the last vector. */
static bool next_vector(int *verdicts, int node_count)
{
    for (int node = 0; node < node_count; node++) {
        if (++verdicts[node] < VERDICTS)
            return true;
        verdicts[node] = 0;
    }
    return false;
}

typedef void (*vector_check)(const int *verdicts, int node_count);

static void for_every_vector(int nodes_max, vector_check check)
{
    for (int node_count = 1; node_count <= nodes_max; node_count++) {
        int verdicts[NODES] = {0};

        do
            check(verdicts, node_count);
        while (next_vector(verdicts, node_count));
    }
}

/* ---- tests ---- */

static void check_against_twin(const int *verdicts, int node_count)
{
    struct counts counts = count(verdicts, node_count);
    struct rl_tally tally = tally_of(verdicts, node_count);
    uint32_t silent = (uint32_t)counts.of[RL_SILENT];

    assert_int_equal(rl_tally_decide(&tally), dumb_decision(&counts));
    assert_int_equal(rl_node_set_count(rl_tally_answered(&tally)), (uint32_t)node_count - silent);
    if (dumb_decision(&counts) != RL_WON)
        assert_int_equal(rl_tally_reason(&tally), dumb_reason(&counts));
}

static void every_vector_of_1_to_9_nodes_decides_as_the_dumb_twin_does(void **state)
{
    (void)state;
    for_every_vector(NODES, check_against_twin);
}

/* Every answer that can still come, to every undecided or decided vector: once won or lost, always so. */
static void check_that_decision_stays(const int *verdicts, int node_count)
{
    struct rl_tally before = tally_of(verdicts, node_count);
    enum rl_decision decision = rl_tally_decide(&before);

    if (decision == RL_OPEN)
        return;
    for (int node = 0; node < node_count; node++)
        for (int verdict = 0; verdict < VERDICTS; verdict++) {
            struct rl_tally after = before;

            add(&after, (uint32_t)node, (enum rl_verdict)verdict, RL_CAUSE_NONE);
            assert_int_equal(rl_tally_decide(&after), decision);
        }
}

static void a_decision_never_changes_with_more_answers(void **state)
{
    (void)state;
    for_every_vector(7, check_that_decision_stays);
}

static void check_that_all_answers_decide(const int *verdicts, int node_count)
{
    struct rl_tally tally = tally_of(verdicts, node_count);

    if (rl_tally_answered(&tally) == rl_node_set_all((uint32_t)node_count))
        assert_int_not_equal(rl_tally_decide(&tally), RL_OPEN);
}

static void once_all_have_answered_nothing_is_open(void **state)
{
    (void)state;
    for_every_vector(7, check_that_all_answers_decide);
}

static void check_reversed_order(const int *verdicts, int node_count)
{
    struct rl_tally forward = tally_of(verdicts, node_count);
    struct rl_tally backward = rl_tally_start((uint32_t)node_count);

    for (int node = node_count - 1; node >= 0; node--)
        add(&backward, (uint32_t)node, (enum rl_verdict)verdicts[node], RL_CAUSE_NONE);
    assert_memory_equal(&forward, &backward, sizeof forward);
}

static void shuffle(struct rl_prng *prng, uint32_t *order, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        order[i] = i;
    for (uint32_t i = count - 1; i > 0; i--) {
        uint32_t j = (uint32_t)rl_prng_between(prng, 0, i);
        uint32_t kept = order[i];

        order[i] = order[j];
        order[j] = kept;
    }
}

static void the_order_of_answers_does_not_matter(void **state)
{
    struct rl_prng prng = rl_prng_seed(5);

    (void)state;
    for_every_vector(7, check_reversed_order);
    for (int i = 0; i < 20000; i++) {
        uint32_t order[RL_NODES_MAX], node_count = (uint32_t)rl_prng_between(&prng, 1, RL_NODES_MAX);
        struct rl_tally sorted = rl_tally_start(node_count), shuffled = sorted;
        enum rl_verdict verdicts[RL_NODES_MAX];
        enum rl_cause causes[RL_NODES_MAX];

        for (uint32_t node = 0; node < node_count; node++) {
            verdicts[node] = (enum rl_verdict)rl_prng_between(&prng, 0, VERDICTS - 1);
            causes[node] = (enum rl_cause)rl_prng_between(&prng, 0, RL_CAUSE_BROKEN);
            add(&sorted, node, verdicts[node], causes[node]);
        }
        shuffle(&prng, order, node_count);
        for (uint32_t j = 0; j < node_count; j++)
            add(&shuffled, order[j], verdicts[order[j]], causes[order[j]]);
        assert_memory_equal(&sorted, &shuffled, sizeof sorted);
    }
}

static void the_first_answer_of_a_node_stands(void **state)
{
    struct rl_tally tally = rl_tally_start(3);

    (void)state;
    assert_true(rl_tally_add(&tally, 1, &(struct rl_answer){.verdict = RL_DENIED}));
    assert_false(rl_tally_add(&tally, 1, &(struct rl_answer){.verdict = RL_GRANTED}));
    assert_int_equal(tally.granted, 0);
    assert_int_equal(tally.denied, rl_node_set_one(1));
}

/* Silence is not an answer: a node that is late is still heard. */
static void a_silent_node_may_still_answer(void **state)
{
    struct rl_tally tally = rl_tally_start(1);

    (void)state;
    assert_true(rl_tally_add(&tally, 0, &(struct rl_answer){.verdict = RL_SILENT}));
    assert_int_equal(rl_tally_decide(&tally), RL_OPEN);
    assert_true(rl_tally_add(&tally, 0, &(struct rl_answer){.verdict = RL_GRANTED}));
    assert_int_equal(rl_tally_decide(&tally), RL_WON);
}

static void two_quorums_always_share_a_node(void **state)
{
    (void)state;
    for (uint32_t node_count = 1; node_count <= RL_NODES_MAX; node_count++) {
        assert_true(2 * rl_quorum(node_count) > node_count);
        assert_true(2 * (rl_quorum(node_count) - 1) <= node_count);
    }
}

/* Verdict and cause of up to five nodes, and what they come to. */
struct case_of_causes {
    uint32_t node_count;
    struct rl_answer answers[5];
    enum rl_outcome reason;
};

#define GRANTED               \
    {                         \
        .verdict = RL_GRANTED \
    }
#define DENIED               \
    {                        \
        .verdict = RL_DENIED \
    }
#define FOREIGN                                              \
    {                                                        \
        .verdict = RL_DENIED, .cause = RL_CAUSE_FOREIGN_TYPE \
    }
#define NO_RIGHTS                                      \
    {                                                  \
        .verdict = RL_FAILED, .cause = RL_CAUSE_RIGHTS \
    }
#define DOWN                                                \
    {                                                       \
        .verdict = RL_FAILED, .cause = RL_CAUSE_UNREACHABLE \
    }
#define INELIGIBLE                                          \
    {                                                       \
        .verdict = RL_INELIGIBLE, .cause = RL_CAUSE_REPLICA \
    }
#define TWICE                                                 \
    {                                                         \
        .verdict = RL_INELIGIBLE, .cause = RL_CAUSE_DUPLICATE \
    }
#define SILENT               \
    {                        \
        .verdict = RL_SILENT \
    }

static void the_reason_is_what_a_person_has_to_mend(void **state)
{
    static const struct case_of_causes cases[] = {
        {3, {DENIED, DENIED, DOWN}, RL_OUTCOME_BUSY},
        {3, {GRANTED, DENIED, DOWN}, RL_OUTCOME_BUSY},
        {3, {DENIED, DOWN, DOWN}, RL_OUTCOME_NO_QUORUM},
        {3, {GRANTED, SILENT, SILENT}, RL_OUTCOME_NO_QUORUM},
        {3, {FOREIGN, FOREIGN, GRANTED}, RL_OUTCOME_FOREIGN_TYPE},
        {3, {FOREIGN, DENIED, GRANTED}, RL_OUTCOME_BUSY},
        {4, {FOREIGN, FOREIGN, GRANTED, GRANTED}, RL_OUTCOME_FOREIGN_TYPE},
        {3, {NO_RIGHTS, NO_RIGHTS, GRANTED}, RL_OUTCOME_FORBIDDEN},
        {3, {NO_RIGHTS, GRANTED, DOWN}, RL_OUTCOME_FORBIDDEN},
        {3, {NO_RIGHTS, DOWN, DOWN}, RL_OUTCOME_NO_QUORUM},
        {3, {INELIGIBLE, GRANTED, DOWN}, RL_OUTCOME_QUARANTINE},
        {3, {INELIGIBLE, DOWN, DOWN}, RL_OUTCOME_NO_QUORUM},
        {5, {INELIGIBLE, NO_RIGHTS, GRANTED, DOWN, DOWN}, RL_OUTCOME_QUARANTINE},
        {5, {INELIGIBLE, NO_RIGHTS, NO_RIGHTS, GRANTED, DOWN}, RL_OUTCOME_FORBIDDEN},
        {3, {TWICE, GRANTED, DENIED}, RL_OUTCOME_INVALID},
        {1, {DENIED}, RL_OUTCOME_BUSY},
        {1, {SILENT}, RL_OUTCOME_NO_QUORUM},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rl_tally tally = rl_tally_start(cases[i].node_count);

        for (uint32_t node = 0; node < cases[i].node_count; node++)
            rl_tally_add(&tally, node, &cases[i].answers[node]);
        if (rl_tally_reason(&tally) != cases[i].reason)
            fail_msg("case %zu: %d", i, rl_tally_reason(&tally));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_vector_of_1_to_9_nodes_decides_as_the_dumb_twin_does),
        cmocka_unit_test(a_decision_never_changes_with_more_answers),
        cmocka_unit_test(once_all_have_answered_nothing_is_open),
        cmocka_unit_test(the_order_of_answers_does_not_matter),
        cmocka_unit_test(the_first_answer_of_a_node_stands),
        cmocka_unit_test(a_silent_node_may_still_answer),
        cmocka_unit_test(two_quorums_always_share_a_node),
        cmocka_unit_test(the_reason_is_what_a_person_has_to_mend),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

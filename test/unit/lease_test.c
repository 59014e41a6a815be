/*
 * Tests of core/lease: when it is renewed, what lengthens it, how it is lost and how it is given back, and
 * then random lives of it. Times are in ms since it was asked for; nodes count from 0, as in the code.
 */
#include "core/lease.h"
#include "support/check.h"
#include "support/seeded_walk.h"

/* A TTL of 1000 ms has a drift of 12 ms. */
enum { TTL_MS = 1000, VALID_MS = 988, TIMEOUT_MS = 50, RENEW_MS = 300 };

/* What the lease under test has in common with others; config_for() sets it. */
static struct rl_prng prng;
static struct rl_lease_terms terms;

/* One lease and what its latest step wanted. */
struct holding {
    struct rl_lease lease;
    struct rl_effects effects;
};

static struct rl_time at(int64_t ms)
{
    return (struct rl_time){1000000 + ms * 1000};
}

static struct rl_lease_config config_for(uint32_t node_count)
{
    prng = rl_prng_seed(1);
    terms = (struct rl_lease_terms){
        .node_count = node_count,
        .drift_ppm = 10000,
        .node_timeout = rl_span_ms(TIMEOUT_MS),
        .retry_min = rl_span_ms(10),
        .retry_max = rl_span_ms(100),
        .prng = &prng,
    };
    return (struct rl_lease_config){.terms = &terms, .ttl = rl_span_ms(TTL_MS)};
}

static void hold(struct holding *holding, const struct rl_lease_config *config)
{
    rl_lease_init(&holding->lease, config, at(0), at(VALID_MS));
}

static void hold_manually(struct holding *holding, uint32_t node_count)
{
    struct rl_lease_config config = config_for(node_count);

    hold(holding, &config);
}

static void hold_renewed(struct holding *holding, uint32_t node_count)
{
    struct rl_lease_config config = config_for(node_count);

    config.renew_every = rl_span_ms(RENEW_MS);
    hold(holding, &config);
}

static void tell(struct holding *holding, enum rl_event_kind kind, int64_t ms)
{
    rl_lease_step(&holding->lease, &(struct rl_event){.kind = kind, .now = at(ms)}, &holding->effects);
}

static void extend(struct holding *holding, int64_t ms, int64_t ttl_ms)
{
    rl_lease_step(&holding->lease,
                  &(struct rl_event){.kind = RL_EVENT_EXTEND, .now = at(ms), .ttl = rl_span_ms(ttl_ms)},
                  &holding->effects);
}

static void answer_to(struct holding *holding, uint32_t question, uint32_t node, int64_t ms,
                      enum rl_verdict verdict)
{
    struct rl_event event = {.kind = RL_EVENT_ANSWER,
                             .now = at(ms),
                             .question = question,
                             .node = node,
                             .answer = {.verdict = verdict}};

    rl_lease_step(&holding->lease, &event, &holding->effects);
}

/* An answer to the latest question. */
static void answer(struct holding *holding, uint32_t node, int64_t ms, enum rl_verdict verdict)
{
    answer_to(holding, holding->lease.question, node, ms, verdict);
}

static void grant_on_quorum(struct holding *holding, int64_t ms)
{
    for (uint32_t node = 0; node < rl_quorum(holding->lease.config.terms->node_count); node++)
        answer(holding, node, ms, RL_GRANTED);
}

static void assert_nothing(const struct holding *holding)
{
    assert_true(walk_no_effects(&holding->effects));
}

static void assert_valid_until(const struct holding *holding, int64_t ms)
{
    assert_int_equal(holding->lease.valid_until.us, at(ms).us);
}

static void assert_lost(const struct holding *holding, enum rl_outcome extend_outcome)
{
    assert_true(holding->effects.done);
    assert_true(holding->lease.lost);
    assert_int_equal(holding->lease.phase, RL_LEASE_ENDED);
    assert_int_equal(holding->lease.extend_outcome, extend_outcome);
    assert_int_equal(holding->lease.wake_at.us, RL_TIME_NEVER.us);
}

static void assert_extended(const struct holding *holding, enum rl_outcome outcome, bool manual)
{
    assert_true(holding->effects.extended);
    assert_int_equal(holding->lease.extend_outcome, outcome);
    assert_int_equal(holding->lease.ended_manual, manual);
}

/* ---- renewal ---- */

/* The timer comes twice at the same time then: the first ends the extension, the second begins the
 * renewal. */
static void a_renewal_that_fell_due_meanwhile_begins_when_an_extension_times_out(void **state)
{
    struct holding holding;
    struct rl_time end;

    (void)state;
    hold_renewed(&holding, 3);
    extend(&holding, RENEW_MS - 1, TTL_MS / 2);
    end = holding.lease.wake_at;
    assert_true(rl_time_before(holding.lease.renew_at, end));
    rl_lease_step(&holding.lease, &(struct rl_event){.kind = RL_EVENT_TIMER, .now = end}, &holding.effects);
    assert_extended(&holding, RL_OUTCOME_NO_QUORUM, true);
    assert_int_equal(holding.lease.wake_at.us, end.us);
    rl_lease_step(&holding.lease, &(struct rl_event){.kind = RL_EVENT_TIMER, .now = end}, &holding.effects);
    assert_true(holding.effects.extend != 0);
    assert_true(rl_time_before(end, holding.lease.wake_at));
}

static void a_lease_is_renewed_when_the_time_comes(void **state)
{
    struct holding holding;

    (void)state;
    hold_renewed(&holding, 3);
    assert_int_equal(holding.lease.wake_at.us, at(RENEW_MS).us);
    tell(&holding, RL_EVENT_TIMER, RENEW_MS - 1);
    assert_nothing(&holding);
    tell(&holding, RL_EVENT_TIMER, RENEW_MS);
    assert_int_equal(holding.effects.extend, 7);
    assert_int_equal(holding.effects.ttl.us, TTL_MS * 1000);
    assert_int_equal(holding.effects.question, 1);
}

static void a_renewal_lengthens_from_its_question_on(void **state)
{
    struct holding holding;

    (void)state;
    hold_renewed(&holding, 3);
    tell(&holding, RL_EVENT_TIMER, RENEW_MS);
    answer(&holding, 0, RENEW_MS + 5, RL_GRANTED);
    assert_nothing(&holding);
    assert_valid_until(&holding, VALID_MS);
    answer(&holding, 2, RENEW_MS + 9, RL_GRANTED);
    assert_extended(&holding, RL_OUTCOME_OK, false);
    assert_valid_until(&holding, RENEW_MS + VALID_MS);
    assert_int_equal(holding.lease.wake_at.us, at(2 * RENEW_MS).us);
}

static void a_manual_lease_is_never_renewed(void **state)
{
    struct holding holding;

    (void)state;
    hold_manually(&holding, 3);
    assert_int_equal(holding.lease.wake_at.us, at(VALID_MS).us);
    tell(&holding, RL_EVENT_TIMER, VALID_MS - 1);
    assert_nothing(&holding);
}

static void a_renewal_that_failed_is_tried_again_soon(void **state)
{
    struct holding holding;

    (void)state;
    hold_renewed(&holding, 3);
    tell(&holding, RL_EVENT_TIMER, RENEW_MS);
    answer(&holding, 0, RENEW_MS + 5, RL_GRANTED);
    tell(&holding, RL_EVENT_TIMER, RENEW_MS + TIMEOUT_MS);
    assert_extended(&holding, RL_OUTCOME_NO_QUORUM, false);
    assert_int_equal(holding.lease.phase, RL_LEASE_IDLE);
    assert_in_range(holding.lease.wake_at.us, at(RENEW_MS + TIMEOUT_MS + 10).us,
                    at(RENEW_MS + TIMEOUT_MS + 30).us);
    tell(&holding, RL_EVENT_TIMER, RENEW_MS + TIMEOUT_MS + 30);
    assert_int_equal(holding.effects.extend, 7);
    assert_int_equal(holding.effects.question, 2);
}

static void a_renewal_that_counted_forgets_the_failures_before(void **state)
{
    struct holding holding;

    (void)state;
    hold_renewed(&holding, 1);
    for (int64_t ms = RENEW_MS; ms < RENEW_MS + 500; ms += 100) {
        tell(&holding, RL_EVENT_TIMER, ms);
        answer(&holding, 0, ms, RL_FAILED);
    }
    tell(&holding, RL_EVENT_TIMER, RENEW_MS + 600);
    answer(&holding, 0, RENEW_MS + 600, RL_GRANTED);
    assert_int_equal(holding.lease.last_retry.us, 0);
}

static void grants_to_an_earlier_question_never_count(void **state)
{
    struct holding holding;

    (void)state;
    hold_renewed(&holding, 3);
    tell(&holding, RL_EVENT_TIMER, RENEW_MS);
    tell(&holding, RL_EVENT_TIMER, RENEW_MS + TIMEOUT_MS);
    tell(&holding, RL_EVENT_TIMER, RENEW_MS + TIMEOUT_MS + 30);
    for (uint32_t node = 0; node < 3; node++)
        answer_to(&holding, 1, node, 400, RL_GRANTED);
    assert_valid_until(&holding, VALID_MS);
    assert_int_equal(holding.lease.tally.granted, 0);
}

static void one_node_granting_twice_counts_once(void **state)
{
    struct holding holding;

    (void)state;
    hold_manually(&holding, 3);
    extend(&holding, 10, TTL_MS);
    answer(&holding, 1, 11, RL_GRANTED);
    answer(&holding, 1, 12, RL_GRANTED);
    assert_nothing(&holding);
    assert_valid_until(&holding, VALID_MS);
}

/* ---- extension by hand ---- */

static void an_extension_lengthens_by_what_was_asked_for(void **state)
{
    struct holding holding;

    (void)state;
    hold_manually(&holding, 5);
    extend(&holding, 10, 5000);
    assert_int_equal(holding.effects.extend, 31);
    assert_int_equal(holding.effects.ttl.us, 5000000);
    grant_on_quorum(&holding, 20);
    assert_extended(&holding, RL_OUTCOME_OK, true);
    assert_valid_until(&holding, 10 + 5000 - 52);
}

static void an_extension_never_shortens(void **state)
{
    struct holding holding;

    (void)state;
    hold_manually(&holding, 3);
    extend(&holding, 10, 100);
    grant_on_quorum(&holding, 20);
    assert_extended(&holding, RL_OUTCOME_OK, true);
    assert_valid_until(&holding, VALID_MS);
}

static void a_quorum_that_answers_after_the_end_does_not_count(void **state)
{
    struct rl_lease_config config = config_for(3);
    struct holding holding;

    (void)state;
    terms.node_timeout = rl_span_ms(500);
    hold(&holding, &config);
    extend(&holding, VALID_MS - 10, 5000);
    answer(&holding, 0, VALID_MS - 1, RL_GRANTED);
    answer(&holding, 1, VALID_MS, RL_GRANTED);
    assert_lost(&holding, RL_OUTCOME_LOST);
    assert_true(holding.effects.extended);
    assert_int_equal(holding.effects.release, 7);
    assert_valid_until(&holding, VALID_MS);
    assert_true(holding.lease.late);
}

static void the_last_moment_of_validity_still_counts(void **state)
{
    struct rl_lease_config config = config_for(3);
    struct holding holding;

    (void)state;
    terms.node_timeout = rl_span_ms(500);
    hold(&holding, &config);
    extend(&holding, VALID_MS - 10, 5000);
    answer(&holding, 0, VALID_MS - 1, RL_GRANTED);
    answer(&holding, 1, VALID_MS - 1, RL_GRANTED);
    assert_extended(&holding, RL_OUTCOME_OK, true);
}

static void an_extension_after_the_end_is_told_that_it_is_lost(void **state)
{
    struct holding holding;

    (void)state;
    hold_manually(&holding, 3);
    extend(&holding, VALID_MS, 5000);
    assert_lost(&holding, RL_OUTCOME_LOST);
    assert_extended(&holding, RL_OUTCOME_LOST, true);
    assert_int_equal(holding.effects.extend, 0);
}

static void an_extension_waits_for_the_renewal_under_way(void **state)
{
    struct holding holding;

    (void)state;
    hold_renewed(&holding, 3);
    tell(&holding, RL_EVENT_TIMER, RENEW_MS);
    extend(&holding, RENEW_MS + 1, 5000);
    assert_nothing(&holding);
    grant_on_quorum(&holding, RENEW_MS + 2);
    assert_extended(&holding, RL_OUTCOME_OK, false);
    assert_int_equal(holding.effects.extend, 0);
    assert_int_equal(holding.lease.ended_question, 1);
    assert_int_equal(holding.lease.wake_at.us, at(RENEW_MS + 2).us);
    tell(&holding, RL_EVENT_TIMER, RENEW_MS + 2);
    assert_int_equal(holding.effects.extend, 7);
    assert_int_equal(holding.effects.ttl.us, 5000000);
    grant_on_quorum(&holding, RENEW_MS + 3);
    assert_extended(&holding, RL_OUTCOME_OK, true);
    assert_int_equal(holding.lease.ended_question, 2);
}

static void those_who_wait_get_the_longest_that_any_of_them_wants(void **state)
{
    struct holding holding;

    (void)state;
    hold_manually(&holding, 3);
    extend(&holding, 10, 2000);
    extend(&holding, 11, 7000);
    extend(&holding, 12, 3000);
    grant_on_quorum(&holding, 13);
    assert_int_equal(holding.lease.ended_question, 1);
    tell(&holding, RL_EVENT_TIMER, 13);
    assert_int_equal(holding.effects.ttl.us, 7000000);
}

/* The renewal used up the last extension while the caller waited for it to end. */
static void an_extension_that_waited_does_not_pass_the_limit(void **state)
{
    struct rl_lease_config config = config_for(3);
    struct holding holding;

    (void)state;
    config.renew_every = rl_span_ms(RENEW_MS);
    config.max_extensions = 1;
    hold(&holding, &config);
    tell(&holding, RL_EVENT_TIMER, RENEW_MS);
    extend(&holding, RENEW_MS + 1, 5000);
    grant_on_quorum(&holding, RENEW_MS + 2);
    tell(&holding, RL_EVENT_TIMER, RENEW_MS + 2);
    assert_extended(&holding, RL_OUTCOME_MISUSE, true);
    assert_int_equal(holding.effects.extend, 0);
    assert_int_equal(holding.lease.ended_question, 2);
    assert_int_equal(holding.lease.extensions, 1);
}

static void an_extension_beyond_the_limit_is_refused_and_settles_nobody_else(void **state)
{
    struct rl_lease_config config = config_for(3);
    struct holding holding;

    (void)state;
    config.max_extensions = 1;
    hold(&holding, &config);
    extend(&holding, 10, 2000);
    grant_on_quorum(&holding, 11);
    extend(&holding, 12, 3000);
    assert_extended(&holding, RL_OUTCOME_MISUSE, true);
    assert_int_equal(holding.lease.ended_question, 0);
    assert_int_equal(holding.effects.extend, 0);
    assert_true(rl_lease_held(&holding.lease, at(13)));
}

/* It was handed over for a second, and asked for ten. */
static void hold_briefly(struct holding *holding, uint32_t max_extensions)
{
    struct rl_lease_config config = config_for(3);

    config.ttl = rl_span_ms(10 * TTL_MS);
    config.renew_every = rl_span_ms(3 * TTL_MS);
    config.max_extensions = max_extensions;
    hold(holding, &config);
}

static void a_lock_that_was_handed_over_for_a_while_is_renewed_soon(void **state)
{
    struct holding holding;

    (void)state;
    hold_briefly(&holding, 0);
    assert_int_equal(holding.lease.valid_until.us, at(VALID_MS).us);
    assert_int_equal(holding.lease.wake_at.us, at(50).us);
    tell(&holding, RL_EVENT_TIMER, 50);
    assert_int_equal(holding.effects.extend, 7);
    assert_int_equal(holding.effects.ttl.us, rl_span_ms(10 * TTL_MS).us);
    grant_on_quorum(&holding, 11);
    assert_true(rl_lease_held(&holding.lease, at(9 * TTL_MS)));
    assert_int_equal(holding.lease.wake_at.us, at(50 + 3 * TTL_MS).us);
    /* Without it, it ends when the second does. */
    hold_briefly(&holding, 0);
    tell(&holding, RL_EVENT_TIMER, VALID_MS);
    assert_lost(&holding, RL_OUTCOME_LOST);
}

/* The caller gets what it asked for, and then its extensions. */
static void lasting_for_the_whole_ttl_is_no_extension(void **state)
{
    struct holding holding;

    (void)state;
    hold_briefly(&holding, 1);
    tell(&holding, RL_EVENT_TIMER, 50);
    grant_on_quorum(&holding, 11);
    assert_int_equal(holding.lease.extensions, 0);
    tell(&holding, RL_EVENT_TIMER, 50 + 3 * TTL_MS);
    assert_int_equal(holding.effects.extend, 7);
    grant_on_quorum(&holding, 51 + 3 * TTL_MS);
    assert_int_equal(holding.lease.extensions, 1);
    assert_int_equal(holding.lease.renew_at.us, RL_TIME_NEVER.us);
}

/* One that a caller asked for counts, and the lock is still to be had for its whole ttl. */
static void a_short_extension_of_a_brief_lock_is_one(void **state)
{
    struct holding holding;

    (void)state;
    hold_briefly(&holding, 1);
    extend(&holding, 1, 50);
    grant_on_quorum(&holding, 2);
    assert_int_equal(holding.lease.extensions, 1);
    assert_true(holding.lease.brief);
}

/* Short extensions, each in time, once pushed the renewal beyond the end of validity. */
static void short_extensions_do_not_put_off_the_renewal(void **state)
{
    struct holding holding;

    (void)state;
    hold_renewed(&holding, 3);
    extend(&holding, RENEW_MS - 20, 50);
    grant_on_quorum(&holding, RENEW_MS - 15);
    assert_int_equal(holding.lease.wake_at.us, at(RENEW_MS).us);
}

/* Callers who extend in an unbroken row leave no pause for a renewal, so it rides along. */
static void a_renewal_that_is_due_rides_along_with_an_extension(void **state)
{
    struct holding holding;

    (void)state;
    hold_renewed(&holding, 3);
    extend(&holding, RENEW_MS - 5, 50);
    extend(&holding, RENEW_MS - 4, 50);
    grant_on_quorum(&holding, RENEW_MS + 2);
    tell(&holding, RL_EVENT_TIMER, RENEW_MS + 2);
    assert_int_equal(holding.effects.ttl.us, TTL_MS * 1000);
    grant_on_quorum(&holding, RENEW_MS + 4);
    assert_extended(&holding, RL_OUTCOME_OK, true);
    assert_int_equal(holding.lease.wake_at.us, at(RENEW_MS + 2 + RENEW_MS).us);
}

static void a_failed_extension_by_hand_does_not_put_off_the_renewal(void **state)
{
    struct holding holding;

    (void)state;
    hold_renewed(&holding, 3);
    extend(&holding, RENEW_MS - TIMEOUT_MS - 5, 5000);
    tell(&holding, RL_EVENT_TIMER, RENEW_MS - 5);
    assert_extended(&holding, RL_OUTCOME_NO_QUORUM, true);
    assert_int_equal(holding.lease.wake_at.us, at(RENEW_MS).us);
}

static void a_failed_extension_by_hand_is_not_repeated(void **state)
{
    struct holding holding;

    (void)state;
    hold_manually(&holding, 3);
    extend(&holding, 10, 5000);
    answer(&holding, 0, 11, RL_FAILED);
    answer(&holding, 1, 12, RL_FAILED);
    assert_extended(&holding, RL_OUTCOME_NO_QUORUM, true);
    for (int64_t ms = 13; ms < VALID_MS - 1; ms += TIMEOUT_MS / 2) {
        tell(&holding, RL_EVENT_TIMER, ms);
        assert_int_equal(holding.effects.extend, 0);
    }
    assert_true(rl_lease_held(&holding.lease, at(VALID_MS - 1)));
}

/* ---- nodes that are behind ---- */

static void step(struct holding *holding, struct rl_event event, int64_t ms)
{
    event.now = at(ms);
    rl_lease_step(&holding->lease, &event, &holding->effects);
}

/* How often it was tried to bring nodes up to date between two points in time. */
static uint32_t count_mends(struct holding *holding, int64_t from_ms, int64_t to_ms)
{
    uint32_t count = 0;

    for (int64_t ms = from_ms; ms < to_ms; ms++) {
        tell(holding, RL_EVENT_TIMER, ms);
        count += holding->effects.mend != 0;
    }
    return count;
}

static void mend_answer(struct holding *holding, uint32_t node, int64_t ms, struct rl_answer answer)
{
    step(holding,
         (struct rl_event){
             .kind = RL_EVENT_ANSWER, .question = RL_QUESTION_MEND, .node = node, .answer = answer},
         ms);
}

static void a_node_that_was_late_is_given_it_as_soon_as_it_is_there(void **state)
{
    struct holding holding;

    (void)state;
    hold_manually(&holding, 3);
    step(&holding, (struct rl_event){.kind = RL_EVENT_MISSED, .node = 2}, 1);
    assert_int_equal(holding.effects.mend, 0);
    step(&holding, (struct rl_event){.kind = RL_EVENT_UP, .node = 1}, 2); /* which has it */
    assert_int_equal(holding.effects.mend, 0);
    step(&holding, (struct rl_event){.kind = RL_EVENT_UP, .node = 2}, 3);
    assert_int_equal(holding.effects.mend, 4);
    mend_answer(&holding, 2, 4, (struct rl_answer){.verdict = RL_DENIED, .planted = true});
    assert_int_equal(holding.lease.behind, 0);
    assert_int_equal(count_mends(&holding, 5, VALID_MS - 1), 0);
}

static void where_it_is_missing_it_is_tried_again_less_and_less_often(void **state)
{
    struct holding holding;
    uint32_t early, late;

    (void)state;
    hold_manually(&holding, 3);
    step(&holding, (struct rl_event){.kind = RL_EVENT_MISSED, .node = 2}, 1);
    early = count_mends(&holding, 2, VALID_MS / 4);
    late = count_mends(&holding, VALID_MS * 3 / 4, VALID_MS - 1);
    assert_in_range(early, 1, 6);
    assert_in_range(late, 1, early);
}

static void what_was_planted_again_renews_nothing(void **state)
{
    struct holding holding;
    struct rl_time before;

    (void)state;
    hold_manually(&holding, 3);
    before = holding.lease.valid_until;
    for (uint32_t node = 0; node < 3; node++) {
        mend_answer(&holding, node, 10, (struct rl_answer){.verdict = RL_GRANTED});
        mend_answer(&holding, node, 11, (struct rl_answer){.verdict = RL_DENIED, .planted = true});
    }
    assert_int_equal(holding.lease.valid_until.us, before.us);
    extend(&holding, 20, 5000);
    for (uint32_t node = 0; node < 3; node++)
        mend_answer(&holding, node, 21, (struct rl_answer){.verdict = RL_GRANTED});
    assert_int_equal(holding.lease.valid_until.us, before.us);
    assert_false(holding.effects.extended);
}

static void an_extension_shows_where_it_is_missing(void **state)
{
    struct holding holding;

    (void)state;
    hold_manually(&holding, 5);
    extend(&holding, 10, 5000);
    for (uint32_t node = 0; node < 3; node++)
        answer(&holding, node, 11, RL_GRANTED);
    assert_extended(&holding, RL_OUTCOME_OK, true);
    answer(&holding, 3, 12, RL_DENIED);
    answer(&holding, 4, 12, RL_FAILED);
    assert_int_equal(holding.lease.behind, 0x18);
    step(&holding, (struct rl_event){.kind = RL_EVENT_UP, .node = 4}, 13);
    assert_int_equal(holding.effects.mend, 0x10);
}

static void nobody_plants_what_is_given_back_or_abandoned(void **state)
{
    struct holding holding;

    (void)state;
    hold_manually(&holding, 3);
    step(&holding, (struct rl_event){.kind = RL_EVENT_MISSED, .node = 2}, 1);
    tell(&holding, RL_EVENT_ABANDON, 2);
    step(&holding, (struct rl_event){.kind = RL_EVENT_UP, .node = 2}, 3);
    assert_int_equal(holding.effects.mend, 0);
    hold_manually(&holding, 3);
    step(&holding, (struct rl_event){.kind = RL_EVENT_MISSED, .node = 2}, 1);
    tell(&holding, RL_EVENT_RELEASE, 2);
    step(&holding, (struct rl_event){.kind = RL_EVENT_UP, .node = 2}, 3);
    assert_int_equal(holding.effects.mend, 0);
}

/* ---- limits ---- */

static void it_is_lost_at_max_hold_however_often_it_is_extended(void **state)
{
    struct rl_lease_config config = config_for(3);
    struct holding holding;

    (void)state;
    config.max_hold = rl_span_ms(1200);
    hold(&holding, &config);
    extend(&holding, 900, 5000);
    grant_on_quorum(&holding, 901);
    assert_valid_until(&holding, 1200);
    tell(&holding, RL_EVENT_TIMER, 1199);
    assert_nothing(&holding);
    tell(&holding, RL_EVENT_TIMER, 1200);
    assert_lost(&holding, RL_OUTCOME_LOST);
}

static void max_hold_shortens_the_first_validity_too(void **state)
{
    struct rl_lease_config config = config_for(3);
    struct holding holding;

    (void)state;
    config.max_hold = rl_span_ms(500);
    hold(&holding, &config);
    assert_valid_until(&holding, 500);
    assert_false(rl_lease_held(&holding.lease, at(500)));
}

static void after_the_last_extension_it_ends_with_its_validity(void **state)
{
    struct rl_lease_config config = config_for(3);
    struct holding holding;

    (void)state;
    config.renew_every = rl_span_ms(RENEW_MS);
    config.max_extensions = 1;
    hold(&holding, &config);
    tell(&holding, RL_EVENT_TIMER, RENEW_MS);
    grant_on_quorum(&holding, RENEW_MS + 1);
    assert_int_equal(holding.lease.wake_at.us, at(RENEW_MS + VALID_MS).us);
    tell(&holding, RL_EVENT_TIMER, RENEW_MS + VALID_MS);
    assert_lost(&holding, RL_OUTCOME_LOST);
}

static void an_extension_that_failed_does_not_use_up_the_limit(void **state)
{
    struct rl_lease_config config = config_for(1);
    struct holding holding;

    (void)state;
    config.max_extensions = 1;
    hold(&holding, &config);
    extend(&holding, 10, 2000);
    answer(&holding, 0, 11, RL_FAILED);
    extend(&holding, 12, 2000);
    assert_int_equal(holding.effects.extend, 1);
}

/* ---- loss ---- */

static void it_is_lost_when_its_validity_ends(void **state)
{
    struct holding holding;

    (void)state;
    hold_manually(&holding, 3);
    assert_true(rl_lease_held(&holding.lease, at(VALID_MS - 1)));
    assert_false(rl_lease_held(&holding.lease, at(VALID_MS)));
    tell(&holding, RL_EVENT_TIMER, VALID_MS);
    assert_lost(&holding, RL_OUTCOME_LOST);
    assert_false(holding.effects.extended);
    assert_int_equal(holding.effects.release, 7);
}

static void it_is_lost_at_once_when_so_many_deny_it_that_no_quorum_is_left(void **state)
{
    struct holding holding;

    (void)state;
    hold_renewed(&holding, 5);
    tell(&holding, RL_EVENT_TIMER, RENEW_MS);
    answer(&holding, 0, 301, RL_DENIED);
    answer(&holding, 1, 301, RL_DENIED);
    assert_nothing(&holding);
    answer(&holding, 2, 302, RL_DENIED);
    assert_lost(&holding, RL_OUTCOME_NOT_HELD);
    assert_true(holding.effects.extended);
    assert_int_equal(holding.effects.release, 31);
    assert_false(rl_lease_held(&holding.lease, at(303)));
}

/* Whoever cannot be reached answers first: what the others say after that is what matters. */
static void a_node_that_cannot_be_reached_hides_no_loss(void **state)
{
    struct holding holding;

    (void)state;
    hold_renewed(&holding, 5);
    tell(&holding, RL_EVENT_TIMER, RENEW_MS);
    answer(&holding, 1, RENEW_MS, RL_FAILED);
    answer(&holding, 2, RENEW_MS + 1, RL_DENIED);
    answer(&holding, 4, RENEW_MS + 1, RL_DENIED);
    assert_nothing(&holding);
    assert_true(rl_lease_held(&holding.lease, at(RENEW_MS + 1)));
    answer(&holding, 3, RENEW_MS + 2, RL_DENIED);
    assert_lost(&holding, RL_OUTCOME_NOT_HELD);
}

static void an_extension_that_cannot_be_a_loss_any_more_is_tried_again_at_once(void **state)
{
    struct holding holding;

    (void)state;
    hold_renewed(&holding, 5);
    tell(&holding, RL_EVENT_TIMER, RENEW_MS);
    answer(&holding, 0, RENEW_MS, RL_FAILED);
    answer(&holding, 1, RENEW_MS, RL_FAILED);
    answer(&holding, 2, RENEW_MS + 1, RL_DENIED);
    assert_nothing(&holding);
    answer(&holding, 3, RENEW_MS + 1, RL_FAILED);
    assert_extended(&holding, RL_OUTCOME_NO_QUORUM, false);
    assert_true(rl_lease_held(&holding.lease, at(RENEW_MS + 1)));
}

static void some_denials_and_some_silence_are_no_loss_yet(void **state)
{
    struct holding holding;

    (void)state;
    hold_renewed(&holding, 5);
    tell(&holding, RL_EVENT_TIMER, RENEW_MS);
    answer(&holding, 0, 301, RL_DENIED);
    answer(&holding, 1, 301, RL_DENIED);
    answer(&holding, 2, 301, RL_FAILED);
    assert_nothing(&holding);
    tell(&holding, RL_EVENT_TIMER, RENEW_MS + TIMEOUT_MS);
    assert_extended(&holding, RL_OUTCOME_NO_QUORUM, false);
    assert_true(rl_lease_held(&holding.lease, at(RENEW_MS + TIMEOUT_MS)));
}

static void a_loss_settles_those_who_wait_too(void **state)
{
    struct holding holding;

    (void)state;
    hold_renewed(&holding, 3);
    tell(&holding, RL_EVENT_TIMER, RENEW_MS);
    extend(&holding, RENEW_MS + 1, 5000);
    tell(&holding, RL_EVENT_TIMER, VALID_MS);
    assert_lost(&holding, RL_OUTCOME_LOST);
    assert_extended(&holding, RL_OUTCOME_LOST, true);
    assert_int_equal(holding.lease.ended_question, 2);
}

static void after_a_loss_nothing_makes_it_held_again(void **state)
{
    struct holding holding;

    (void)state;
    hold_renewed(&holding, 3);
    tell(&holding, RL_EVENT_TIMER, RENEW_MS);
    tell(&holding, RL_EVENT_TIMER, VALID_MS);
    for (uint32_t question = 0; question < 4; question++)
        for (uint32_t node = 0; node < 3; node++) {
            answer_to(&holding, question, node, VALID_MS + 1, RL_GRANTED);
            assert_nothing(&holding);
        }
    extend(&holding, VALID_MS + 2, 5000);
    assert_nothing(&holding);
    tell(&holding, RL_EVENT_RELEASE, VALID_MS + 3);
    assert_nothing(&holding);
    assert_false(rl_lease_held(&holding.lease, at(0)));
}

/* A frozen program: the first thing it hears after waking up is an old grant. */
static void the_first_event_after_a_long_sleep_is_the_loss(void **state)
{
    struct holding holding;

    (void)state;
    hold_renewed(&holding, 1);
    tell(&holding, RL_EVENT_TIMER, RENEW_MS);
    answer(&holding, 0, 100000, RL_GRANTED);
    assert_lost(&holding, RL_OUTCOME_LOST);
    assert_true(holding.lease.late);
}

/* ---- whose fault it was ---- */

/* Renewed by nobody although a node was there each time: the last round fails just before the end. */
static void fail_until(struct holding *holding, int64_t ms)
{
    while (holding->lease.wake_at.us < at(ms).us)
        tell(holding, RL_EVENT_TIMER, (holding->lease.wake_at.us - at(0).us) / 1000 + 1);
}

static void a_holder_that_asked_nothing_in_time_is_late(void **state)
{
    struct holding holding;

    (void)state;
    hold_renewed(&holding, 3);
    tell(&holding, RL_EVENT_TIMER, VALID_MS);
    assert_lost(&holding, RL_OUTCOME_LOST);
    assert_true(holding.lease.late);
    hold_renewed(&holding, 3);
    tell(&holding, RL_EVENT_TIMER, RENEW_MS);
    grant_on_quorum(&holding, RENEW_MS + 1);
    tell(&holding, RL_EVENT_TIMER, RENEW_MS + VALID_MS);
    assert_lost(&holding, RL_OUTCOME_LOST);
    assert_true(holding.lease.late);
}

static void a_holder_whose_nodes_are_silent_is_not_late(void **state)
{
    struct holding holding;

    (void)state;
    hold_renewed(&holding, 3);
    fail_until(&holding, VALID_MS);
    tell(&holding, RL_EVENT_TIMER, VALID_MS);
    assert_lost(&holding, RL_OUTCOME_LOST);
    assert_false(holding.lease.late);
}

static void a_holder_that_was_stopped_while_its_nodes_were_silent_is_late(void **state)
{
    struct holding holding;

    (void)state;
    hold_renewed(&holding, 3);
    fail_until(&holding, VALID_MS / 2);
    tell(&holding, RL_EVENT_TIMER, VALID_MS + TIMEOUT_MS);
    assert_lost(&holding, RL_OUTCOME_LOST);
    assert_true(holding.lease.late);
}

/* ---- abandoned ---- */

static void an_abandoned_lease_is_not_renewed(void **state)
{
    struct holding holding;

    (void)state;
    hold_renewed(&holding, 3);
    tell(&holding, RL_EVENT_ABANDON, 10);
    assert_int_equal(holding.lease.wake_at.us, at(VALID_MS).us);
    tell(&holding, RL_EVENT_TIMER, RENEW_MS);
    assert_nothing(&holding);
}

static void an_abandoned_lease_is_not_renewed_after_the_round_under_way(void **state)
{
    struct holding holding;

    (void)state;
    hold_renewed(&holding, 3);
    tell(&holding, RL_EVENT_TIMER, RENEW_MS);
    tell(&holding, RL_EVENT_ABANDON, RENEW_MS + 1);
    grant_on_quorum(&holding, RENEW_MS + 2);
    assert_int_equal(holding.lease.wake_at.us, at(RENEW_MS + VALID_MS).us);
}

/* Another process may have adopted the lock, under the same owner: a release would take it away from under
 * it. */
static void an_abandoned_lease_releases_nothing_when_it_ends(void **state)
{
    struct holding holding;

    (void)state;
    hold_renewed(&holding, 3);
    tell(&holding, RL_EVENT_ABANDON, 10);
    tell(&holding, RL_EVENT_TIMER, VALID_MS);
    assert_lost(&holding, RL_OUTCOME_LOST);
    assert_int_equal(holding.effects.release, 0);
}

/* ---- kept for others ---- */

/* The same, while the handle is there: another program that knows the owner value may have
 * lengthened it. */
static void a_lease_that_is_kept_on_nodes_releases_nothing_when_its_time_is_up(void **state)
{
    struct holding holding;

    (void)state;
    hold_renewed(&holding, 3);
    holding.lease.config.keep_on_nodes = true;
    fail_until(&holding, VALID_MS / 2);
    tell(&holding, RL_EVENT_TIMER, VALID_MS);
    assert_lost(&holding, RL_OUTCOME_LOST);
    assert_int_equal(holding.effects.release, 0);
}

static void a_lease_that_is_kept_on_nodes_still_reaches_nodes_that_come_late(void **state)
{
    struct holding holding;

    (void)state;
    hold_manually(&holding, 3);
    holding.lease.config.keep_on_nodes = true;
    step(&holding, (struct rl_event){.kind = RL_EVENT_MISSED, .node = 2}, 1);
    step(&holding, (struct rl_event){.kind = RL_EVENT_UP, .node = 2}, 2);
    assert_int_equal(holding.effects.mend, rl_node_set_one(2));
}

/* Nobody can have it under this owner: what is left is in everybody's way. */
static void a_lease_that_is_kept_on_nodes_is_released_when_most_of_them_deny_it(void **state)
{
    struct holding holding;

    (void)state;
    hold_renewed(&holding, 3);
    holding.lease.config.keep_on_nodes = true;
    tell(&holding, RL_EVENT_TIMER, RENEW_MS);
    answer(&holding, 0, RENEW_MS + 1, RL_DENIED);
    answer(&holding, 1, RENEW_MS + 1, RL_DENIED);
    assert_lost(&holding, RL_OUTCOME_NOT_HELD);
    assert_int_equal(holding.effects.release, rl_node_set_all(3));
}

static void a_lease_that_is_kept_on_nodes_is_released_when_its_holder_says_so(void **state)
{
    struct holding holding;

    (void)state;
    hold_renewed(&holding, 3);
    holding.lease.config.keep_on_nodes = true;
    tell(&holding, RL_EVENT_RELEASE, 10);
    assert_int_equal(holding.effects.release, rl_node_set_all(3));
}

/* ---- release ---- */

static void start_release(struct holding *holding, uint32_t node_count)
{
    hold_renewed(holding, node_count);
    tell(holding, RL_EVENT_RELEASE, 10);
    assert_int_equal(holding->effects.release, rl_node_set_all(node_count));
    assert_false(rl_lease_held(&holding->lease, at(10)));
}

static void assert_released(const struct holding *holding, enum rl_outcome outcome)
{
    assert_true(holding->effects.done);
    assert_int_equal(holding->lease.phase, RL_LEASE_ENDED);
    assert_int_equal(holding->lease.release_outcome, outcome);
}

static void a_release_is_ok_once_a_quorum_has_deleted_it(void **state)
{
    struct holding holding;

    (void)state;
    start_release(&holding, 3);
    answer(&holding, 0, 11, RL_GRANTED);
    assert_nothing(&holding);
    answer(&holding, 1, 12, RL_GRANTED);
    assert_released(&holding, RL_OUTCOME_OK);
    assert_false(holding.lease.lost);
}

static void a_release_finds_out_that_it_was_not_held(void **state)
{
    struct holding holding;

    (void)state;
    start_release(&holding, 3);
    answer(&holding, 0, 11, RL_DENIED);
    assert_nothing(&holding);
    answer(&holding, 1, 12, RL_DENIED);
    assert_released(&holding, RL_OUTCOME_NOT_HELD);
}

/* It was acquired on two of three nodes, one of which is now frozen: deleted on one, never there on the
 * other. Nothing says that the lock was not held, and a quorum says that it is no longer there. */
static void a_release_of_a_bare_majority_is_ok_though_one_node_is_silent(void **state)
{
    struct holding holding;

    (void)state;
    start_release(&holding, 3);
    answer(&holding, 1, 11, RL_GRANTED);
    answer(&holding, 2, 11, RL_DENIED);
    assert_nothing(&holding);
    tell(&holding, RL_EVENT_TIMER, 10 + TIMEOUT_MS);
    assert_released(&holding, RL_OUTCOME_OK);
}

static void a_release_of_a_bare_majority_is_ok_though_one_node_is_broken(void **state)
{
    struct holding holding;

    (void)state;
    start_release(&holding, 3);
    answer(&holding, 0, 10, RL_FAILED);
    answer(&holding, 2, 11, RL_DENIED);
    assert_nothing(&holding);
    answer(&holding, 1, 11, RL_GRANTED);
    assert_released(&holding, RL_OUTCOME_OK);
}

static void a_release_that_reaches_too_few_is_no_quorum_at_its_deadline(void **state)
{
    struct holding holding;

    (void)state;
    start_release(&holding, 3);
    answer(&holding, 0, 11, RL_GRANTED);
    tell(&holding, RL_EVENT_TIMER, 10 + TIMEOUT_MS - 1);
    assert_nothing(&holding);
    tell(&holding, RL_EVENT_TIMER, 10 + TIMEOUT_MS);
    assert_released(&holding, RL_OUTCOME_NO_QUORUM);
}

static void a_release_after_the_end_says_lost_and_still_asks_the_nodes(void **state)
{
    struct holding holding;

    (void)state;
    hold_manually(&holding, 3);
    tell(&holding, RL_EVENT_RELEASE, VALID_MS);
    assert_int_equal(holding.effects.release, 7);
    grant_on_quorum(&holding, VALID_MS + 1);
    assert_released(&holding, RL_OUTCOME_LOST);
    assert_true(holding.lease.lost);
}

static void a_quick_release_ends_when_it_is_asked_for(void **state)
{
    struct holding holding;

    (void)state;
    hold_renewed(&holding, 3);
    holding.lease.config.quick_release = true;
    tell(&holding, RL_EVENT_RELEASE, 10);
    assert_int_equal(holding.effects.release, rl_node_set_all(3));
    assert_released(&holding, RL_OUTCOME_OK);
    assert_false(holding.lease.lost);
    assert_false(rl_lease_held(&holding.lease, at(10)));
    answer(&holding, 0, 11, RL_DENIED);
    assert_nothing(&holding);
}

/* The clock says that it was lost: what the nodes say is what its holder has to know. */
static void a_quick_release_after_the_end_waits_for_the_nodes(void **state)
{
    struct holding holding;

    (void)state;
    hold_manually(&holding, 3);
    holding.lease.config.quick_release = true;
    tell(&holding, RL_EVENT_RELEASE, VALID_MS);
    assert_int_equal(holding.effects.release, rl_node_set_all(3));
    assert_false(holding.effects.done);
    grant_on_quorum(&holding, VALID_MS + 1);
    assert_released(&holding, RL_OUTCOME_LOST);
}

static void a_quick_release_settles_extensions_too(void **state)
{
    struct holding holding;

    (void)state;
    hold_manually(&holding, 3);
    holding.lease.config.quick_release = true;
    extend(&holding, 10, 5000);
    tell(&holding, RL_EVENT_RELEASE, 12);
    assert_extended(&holding, RL_OUTCOME_NOT_HELD, true);
    assert_released(&holding, RL_OUTCOME_OK);
}

static void a_release_settles_the_extension_under_way_and_those_who_wait(void **state)
{
    struct holding holding;

    (void)state;
    hold_manually(&holding, 3);
    extend(&holding, 10, 5000);
    extend(&holding, 11, 6000);
    tell(&holding, RL_EVENT_RELEASE, 12);
    assert_extended(&holding, RL_OUTCOME_NOT_HELD, true);
    assert_int_equal(holding.lease.ended_question, 2);
    assert_int_equal(holding.effects.extend, 0);
}

static void grants_of_the_extension_are_not_taken_for_the_release(void **state)
{
    struct holding holding;

    (void)state;
    hold_manually(&holding, 3);
    extend(&holding, 10, 5000);
    tell(&holding, RL_EVENT_RELEASE, 12);
    for (uint32_t node = 0; node < 3; node++)
        answer_to(&holding, 1, node, 13, RL_GRANTED);
    assert_int_equal(holding.lease.phase, RL_LEASE_RELEASING);
    assert_valid_until(&holding, VALID_MS);
}

static void a_second_release_asks_nobody(void **state)
{
    struct holding holding;

    (void)state;
    start_release(&holding, 3);
    tell(&holding, RL_EVENT_RELEASE, 11);
    assert_nothing(&holding);
}

/* Every vector of answers to a release, against the rule in its plainest words. */
static void every_release_of_1_to_5_nodes_ends_as_it_should(void **state)
{
    static const enum rl_verdict verdicts[] = {RL_SILENT, RL_GRANTED, RL_DENIED, RL_FAILED};

    (void)state;
    for (uint32_t node_count = 1; node_count <= 5; node_count++)
        for (uint32_t vector = 0; vector < 1u << (2 * node_count); vector++) {
            struct holding holding;
            uint32_t counts[5] = {0};
            enum rl_outcome expected = RL_OUTCOME_NO_QUORUM;

            start_release(&holding, node_count);
            for (uint32_t node = 0; node < node_count; node++) {
                counts[verdicts[vector >> (2 * node) & 3]]++;
                answer(&holding, node, 11, verdicts[vector >> (2 * node) & 3]);
            }
            tell(&holding, RL_EVENT_TIMER, 10 + TIMEOUT_MS);
            if (2 * (counts[RL_GRANTED] + counts[RL_DENIED]) > node_count)
                expected = RL_OUTCOME_OK;
            if (2 * counts[RL_DENIED] >= node_count)
                expected = RL_OUTCOME_NOT_HELD;
            assert_int_equal(holding.lease.phase, RL_LEASE_ENDED);
            assert_int_equal(holding.lease.release_outcome, expected);
        }
}

/* ---- random lives ---- */

static void random_lives_keep_the_rules(void **state)
{
    (void)state;
    assert_walks_keep_the_rules(walk_lease, 100000, "build/test/unit-lease_test");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_renewal_that_fell_due_meanwhile_begins_when_an_extension_times_out),
        cmocka_unit_test(a_lease_is_renewed_when_the_time_comes),
        cmocka_unit_test(a_renewal_lengthens_from_its_question_on),
        cmocka_unit_test(a_manual_lease_is_never_renewed),
        cmocka_unit_test(a_renewal_that_failed_is_tried_again_soon),
        cmocka_unit_test(a_renewal_that_counted_forgets_the_failures_before),
        cmocka_unit_test(grants_to_an_earlier_question_never_count),
        cmocka_unit_test(one_node_granting_twice_counts_once),
        cmocka_unit_test(an_extension_lengthens_by_what_was_asked_for),
        cmocka_unit_test(an_extension_never_shortens),
        cmocka_unit_test(a_quorum_that_answers_after_the_end_does_not_count),
        cmocka_unit_test(the_last_moment_of_validity_still_counts),
        cmocka_unit_test(an_extension_after_the_end_is_told_that_it_is_lost),
        cmocka_unit_test(an_extension_waits_for_the_renewal_under_way),
        cmocka_unit_test(those_who_wait_get_the_longest_that_any_of_them_wants),
        cmocka_unit_test(an_extension_that_waited_does_not_pass_the_limit),
        cmocka_unit_test(an_extension_beyond_the_limit_is_refused_and_settles_nobody_else),
        cmocka_unit_test(a_lock_that_was_handed_over_for_a_while_is_renewed_soon),
        cmocka_unit_test(lasting_for_the_whole_ttl_is_no_extension),
        cmocka_unit_test(a_short_extension_of_a_brief_lock_is_one),
        cmocka_unit_test(short_extensions_do_not_put_off_the_renewal),
        cmocka_unit_test(a_renewal_that_is_due_rides_along_with_an_extension),
        cmocka_unit_test(a_failed_extension_by_hand_does_not_put_off_the_renewal),
        cmocka_unit_test(a_failed_extension_by_hand_is_not_repeated),
        cmocka_unit_test(a_node_that_was_late_is_given_it_as_soon_as_it_is_there),
        cmocka_unit_test(where_it_is_missing_it_is_tried_again_less_and_less_often),
        cmocka_unit_test(what_was_planted_again_renews_nothing),
        cmocka_unit_test(an_extension_shows_where_it_is_missing),
        cmocka_unit_test(nobody_plants_what_is_given_back_or_abandoned),
        cmocka_unit_test(it_is_lost_at_max_hold_however_often_it_is_extended),
        cmocka_unit_test(max_hold_shortens_the_first_validity_too),
        cmocka_unit_test(after_the_last_extension_it_ends_with_its_validity),
        cmocka_unit_test(an_extension_that_failed_does_not_use_up_the_limit),
        cmocka_unit_test(it_is_lost_when_its_validity_ends),
        cmocka_unit_test(it_is_lost_at_once_when_so_many_deny_it_that_no_quorum_is_left),
        cmocka_unit_test(a_node_that_cannot_be_reached_hides_no_loss),
        cmocka_unit_test(an_extension_that_cannot_be_a_loss_any_more_is_tried_again_at_once),
        cmocka_unit_test(some_denials_and_some_silence_are_no_loss_yet),
        cmocka_unit_test(a_loss_settles_those_who_wait_too),
        cmocka_unit_test(after_a_loss_nothing_makes_it_held_again),
        cmocka_unit_test(the_first_event_after_a_long_sleep_is_the_loss),
        cmocka_unit_test(a_holder_that_asked_nothing_in_time_is_late),
        cmocka_unit_test(a_holder_whose_nodes_are_silent_is_not_late),
        cmocka_unit_test(a_holder_that_was_stopped_while_its_nodes_were_silent_is_late),
        cmocka_unit_test(an_abandoned_lease_is_not_renewed),
        cmocka_unit_test(an_abandoned_lease_is_not_renewed_after_the_round_under_way),
        cmocka_unit_test(an_abandoned_lease_releases_nothing_when_it_ends),
        cmocka_unit_test(a_lease_that_is_kept_on_nodes_releases_nothing_when_its_time_is_up),
        cmocka_unit_test(a_lease_that_is_kept_on_nodes_still_reaches_nodes_that_come_late),
        cmocka_unit_test(a_lease_that_is_kept_on_nodes_is_released_when_most_of_them_deny_it),
        cmocka_unit_test(a_lease_that_is_kept_on_nodes_is_released_when_its_holder_says_so),
        cmocka_unit_test(a_release_is_ok_once_a_quorum_has_deleted_it),
        cmocka_unit_test(a_release_finds_out_that_it_was_not_held),
        cmocka_unit_test(a_release_of_a_bare_majority_is_ok_though_one_node_is_silent),
        cmocka_unit_test(a_release_of_a_bare_majority_is_ok_though_one_node_is_broken),
        cmocka_unit_test(a_release_that_reaches_too_few_is_no_quorum_at_its_deadline),
        cmocka_unit_test(a_release_after_the_end_says_lost_and_still_asks_the_nodes),
        cmocka_unit_test(a_quick_release_ends_when_it_is_asked_for),
        cmocka_unit_test(a_quick_release_after_the_end_waits_for_the_nodes),
        cmocka_unit_test(a_quick_release_settles_extensions_too),
        cmocka_unit_test(a_release_settles_the_extension_under_way_and_those_who_wait),
        cmocka_unit_test(grants_of_the_extension_are_not_taken_for_the_release),
        cmocka_unit_test(a_second_release_asks_nobody),
        cmocka_unit_test(every_release_of_1_to_5_nodes_ends_as_it_should),
        cmocka_unit_test(random_lives_keep_the_rules),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

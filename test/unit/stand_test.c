/*
 * Tests of core/stand: one caller in line, told as stories. Times are in ms from the start, nodes count from
 * 0, and the clock of every node is 1,000 s ahead of ours. How many of them get on together is in
 * stand_walk_test.c.
 */
#include "core/stand.h"

#include <string.h>

#include "core/validity.h"
#include "support/check.h"

enum { TTL_MS = 10000, TIMEOUT_MS = 50, DRIFT_PPM = 10000, GIVE_UP_MS = 60000 };
#define AHEAD_US INT64_C(1000000000)
#define TICKET UINT64_C(5000)

struct story {
    struct rl_prng prng;
    struct rl_stand stand;
    struct rl_effects effects;
};

static struct rl_time at(int64_t ms)
{
    return (struct rl_time){1 + ms * 1000};
}

static int64_t node_time(int64_t ms)
{
    return at(ms).us + AHEAD_US;
}

static void step(struct story *story, struct rl_event event)
{
    rl_stand_step(&story->stand, &event, &story->effects);
}

static void begin_with_ticket(struct story *story, uint32_t node_count, uint64_t ticket)
{
    struct rl_acquire_config config = {.node_count = node_count,
                                       .ttl = rl_span_ms(TTL_MS),
                                       .drift_ppm = DRIFT_PPM,
                                       .node_timeout = rl_span_ms(TIMEOUT_MS),
                                       .give_up_at = at(GIVE_UP_MS),
                                       .retry_min = rl_span_ms(10),
                                       .retry_max = rl_span_ms(100),
                                       .ticket = ticket};

    story->prng = rl_prng_seed(7);
    rl_stand_init(&story->stand, &config, &story->prng);
    step(story, (struct rl_event){.kind = RL_EVENT_START, .now = at(0)});
    assert_int_equal(story->effects.acquire, rl_node_set_all(node_count));
    assert_true(story->effects.fresh);
    assert_int_equal(story->effects.question, 1);
}

static void begin(struct story *story, uint32_t node_count)
{
    begin_with_ticket(story, node_count, TICKET);
}

/* An answer to the latest question, which was sent one ms before and reached the node half-way. */
static void answer(struct story *story, uint32_t node, int64_t ms, struct rl_answer what)
{
    if (what.node_us == 0)
        what.node_us = node_time(ms);
    step(story, (struct rl_event){.kind = RL_EVENT_ANSWER,
                                  .now = at(ms),
                                  .node = node,
                                  .question = story->stand.question,
                                  .sent = at(ms - 1),
                                  .answer = what});
}

static void granted(struct story *story, uint32_t node, int64_t ms, uint64_t fence)
{
    answer(story, node, ms, (struct rl_answer){.verdict = RL_GRANTED, .fence = fence, .ttl_left_ms = -2});
}

/* In line there behind somebody who has the lock for a long time. */
static struct rl_answer lined(uint32_t rank, uint64_t holder, uint64_t holder_ticket)
{
    return (struct rl_answer){.verdict = RL_DENIED,
                              .ttl_left_ms = TTL_MS,
                              .armed = true,
                              .rank = rank,
                              .ticket = TICKET,
                              .holder = holder,
                              .holder_ticket = holder_ticket};
}

static void handed(struct story *story, uint32_t node, int64_t ms, int64_t given_ms, uint64_t fence)
{
    step(story, (struct rl_event){.kind = RL_EVENT_HANDED,
                                  .now = at(ms),
                                  .node = node,
                                  .eligible = true,
                                  .ttl = rl_span_ms(TTL_MS),
                                  .answer = {.fence = fence, .node_us = node_time(given_ms)}});
}

static void told(struct story *story, enum rl_event_kind kind, uint32_t node, int64_t ms,
                 enum rl_verdict verdict)
{
    step(story, (struct rl_event){.kind = kind,
                                  .now = at(ms),
                                  .node = node,
                                  .answer = {.verdict = verdict, .ttl_left_ms = -2, .armed = true}});
}

static void timer(struct story *story)
{
    step(story, (struct rl_event){.kind = RL_EVENT_TIMER, .now = story->stand.wake_at});
}

static void stand_everywhere(struct story *story, uint32_t node_count)
{
    begin(story, node_count);
    for (uint32_t node = 0; node < node_count; node++)
        answer(story, node, 1, lined(3, 77, 0));
    assert_int_equal(story->stand.phase, RL_STAND_WAITING);
    assert_int_equal(story->effects.acquire, 0);
    assert_int_equal(story->effects.release, 0);
}

static void assert_won(const struct story *story, uint64_t fence)
{
    assert_true(story->effects.done);
    assert_int_equal(story->stand.outcome, RL_OUTCOME_OK);
    assert_int_equal(story->stand.fence, fence);
}

/* ---- winning ---- */

static void a_free_lock_is_won_in_one_round(void **state)
{
    struct story story;

    (void)state;
    begin(&story, 3);
    granted(&story, 0, 1, 100);
    granted(&story, 2, 1, 100);
    assert_won(&story, 100);
    assert_int_equal(story.stand.valid_until.us, rl_validity_end(at(0), rl_span_ms(TTL_MS), DRIFT_PPM).us);
}

static void a_lock_that_a_quorum_hands_over_is_won(void **state)
{
    struct story story;

    (void)state;
    stand_everywhere(&story, 3);
    assert_int_equal(rl_stand_place(&story.stand), 3);
    handed(&story, 1, 500, 499, 200);
    assert_false(story.effects.done);
    handed(&story, 0, 501, 499, 200);
    assert_won(&story, 200);
}

static void answers_and_hand_overs_count_together(void **state)
{
    struct story story;

    (void)state;
    begin(&story, 3);
    granted(&story, 0, 1, 100);
    answer(&story, 1, 1, lined(1, 77, 0));
    handed(&story, 1, 2, 2, 100);
    assert_won(&story, 100);
}

/* The message may have been under way, or unread, for long. The node's clock says when it gave the lock. */
static void what_is_handed_over_is_valid_from_when_the_node_gave_it(void **state)
{
    struct story story;
    struct rl_span drift = rl_validity_drift(rl_span_ms(499), DRIFT_PPM);

    (void)state;
    stand_everywhere(&story, 3);
    handed(&story, 1, 4000, 500, 200);
    handed(&story, 0, 4000, 500, 200);
    assert_won(&story, 200);
    /* The last exchange was sent at 0 and answered at 1 by the node's clock. */
    assert_int_equal(
        story.stand.valid_until.us,
        rl_validity_end(rl_time_add(at(0), rl_span_us(499000 - drift.us)), rl_span_ms(TTL_MS), DRIFT_PPM).us);
}

static void validity_is_what_a_quorum_of_keys_lives_for(void **state)
{
    struct story story;

    (void)state;
    stand_everywhere(&story, 5);
    handed(&story, 0, 900, 300, 200);
    handed(&story, 1, 900, 900, 200);
    handed(&story, 2, 900, 600, 200);
    assert_won(&story, 200);
    assert_int_equal(story.stand.valid_until.us, story.stand.nodes[0].ends.us);
    assert_true(rl_time_before(story.stand.nodes[0].ends, story.stand.nodes[2].ends));
}

static void numbers_that_differ_are_raised(void **state)
{
    struct story story;

    (void)state;
    stand_everywhere(&story, 3);
    handed(&story, 0, 500, 499, 200);
    handed(&story, 1, 500, 499, 203);
    assert_int_equal(story.stand.phase, RL_STAND_RAISING);
    assert_int_equal(story.effects.raise, 1);
    assert_int_equal(story.effects.fence, 203);
    granted(&story, 0, 502, 0);
    assert_won(&story, 203);
}

static void a_raise_that_comes_too_late_begins_anew(void **state)
{
    struct story story;

    (void)state;
    stand_everywhere(&story, 3);
    handed(&story, 0, 500, 499, 200);
    handed(&story, 1, 500, 499, 203);
    answer(&story, 0, 502, (struct rl_answer){.verdict = RL_DENIED, .ttl_left_ms = -2});
    assert_int_equal(story.effects.release, 7);
    assert_true(story.effects.fresh);
    assert_int_equal(story.stand.phase, RL_STAND_WAITING);
}

/* ---- when a hand-over is not enough ---- */

static void where_the_node_may_not_be_eligible_the_lock_is_asked_for(void **state)
{
    struct story story;

    (void)state;
    stand_everywhere(&story, 3);
    step(&story, (struct rl_event){.kind = RL_EVENT_HANDED,
                                   .now = at(500),
                                   .node = 1,
                                   .ttl = rl_span_ms(TTL_MS),
                                   .answer = {.fence = 200, .node_us = node_time(499)}});
    assert_int_equal(story.effects.acquire, 2);
    assert_false(story.effects.fresh);
    granted(&story, 1, 502, 200);
    handed(&story, 0, 502, 499, 200);
    assert_won(&story, 200);
}

static void handed_briefly(struct story *story, uint32_t node, int64_t ms, int64_t given_ms)
{
    step(story, (struct rl_event){.kind = RL_EVENT_HANDED,
                                  .now = at(ms),
                                  .node = node,
                                  .eligible = true,
                                  .ttl = rl_span_ms(1000),
                                  .answer = {.fence = 200, .node_us = node_time(given_ms)}});
}

static void a_brief_grant_is_confirmed_before_it_counts(void **state)
{
    struct story story;

    (void)state;
    stand_everywhere(&story, 3);
    for (uint32_t node = 0; node < 2; node++) {
        handed_briefly(&story, node, 500, 499);
        assert_int_equal(story.effects.acquire, rl_node_set_one(node));
    }
    granted(&story, 0, 502, 200);
    granted(&story, 1, 502, 200);
    assert_won(&story, 200);
    assert_int_equal(story.stand.valid_until.us, rl_validity_end(at(501), rl_span_ms(TTL_MS), DRIFT_PPM).us);
}

/* It is valid for what it was given for, and no more: the lease sees to the rest. */
static void a_brief_grant_is_enough_for_a_lease_that_renews_itself(void **state)
{
    struct story story;

    (void)state;
    stand_everywhere(&story, 3);
    story.stand.config.renews = true;
    handed_briefly(&story, 0, 500, 499);
    assert_int_equal(story.effects.acquire, 0);
    handed_briefly(&story, 1, 501, 499);
    assert_won(&story, 200);
    assert_true(rl_time_before(story.stand.valid_until, at(499 + 1000)));
    assert_true(rl_time_before(at(499 + 900), story.stand.valid_until));
}

static void a_brief_grant_that_is_heard_of_late_is_confirmed(void **state)
{
    struct story story;

    (void)state;
    stand_everywhere(&story, 3);
    story.stand.config.renews = true;
    handed_briefly(&story, 0, 1100, 500);
    assert_int_equal(story.effects.acquire, 1);
    granted(&story, 0, 1102, 200);
    handed_briefly(&story, 1, 1103, 1102);
    assert_won(&story, 200);
}

/* Or it would be given back, and its caller would stand behind those that came after it. */
static void a_grant_of_which_half_may_be_over_is_confirmed(void **state)
{
    struct story story;

    (void)state;
    stand_everywhere(&story, 3);
    handed(&story, 0, 500, 499, 200);
    assert_int_equal(story.effects.acquire, 0);
    handed(&story, 1, 500 + TTL_MS, 499, 200);
    assert_false(story.effects.done);
    assert_false(story.effects.fresh);
    assert_int_equal(story.effects.release, 0);
    assert_int_equal(story.effects.acquire & 2, 2);
}

static void a_node_clock_that_went_back_proves_nothing(void **state)
{
    struct story story;

    (void)state;
    stand_everywhere(&story, 3);
    handed(&story, 0, 500, -20, 200);
    assert_int_equal(story.effects.acquire, 1);
}

/* ---- a split lock ---- */

/* It looks who has the others, and all nodes answer. Those of the others have it for so long from then. */
static void look(struct story *story, int64_t ms, const struct rl_answer *others, uint32_t count)
{
    timer(story);
    assert_int_equal(story->effects.acquire, rl_node_set_all(count + 1));
    assert_false(story->effects.fresh);
    granted(story, 0, ms, 200);
    for (uint32_t node = 1; node <= count; node++)
        answer(story, node, ms, others[node - 1]);
}

static void the_later_ticket_gives_way_and_stays_in_line(void **state)
{
    const struct rl_answer others[] = {lined(1, 88, TICKET - 1), lined(1, 88, TICKET - 1),
                                       lined(1, 99, TICKET + 1)};
    struct story story;

    (void)state;
    stand_everywhere(&story, 4);
    handed(&story, 0, 500, 499, 200);
    look(&story, 510, others, 3);
    assert_int_equal(story.effects.release, 0);
    look(&story, 520, others, 3); /* their keys live longer than they did: they look, too */
    assert_int_equal(story.effects.release, 15);
    assert_int_equal(story.effects.acquire, 15);
    assert_true(story.effects.fresh);
    assert_true(story.effects.asks_first); /* readers behind it would come in with the one before it */
    assert_int_equal(story.stand.ticket, TICKET);
    assert_true(story.stand.settled);
}

/* It had the lock before, and its keys end at one node after the other; or it died with some nodes in its
 * hands. */
static void nobody_gives_way_to_keys_that_only_end(void **state)
{
    struct rl_answer others[4];
    struct story story;

    (void)state;
    stand_everywhere(&story, 5);
    handed(&story, 0, 500, 499, 200);
    for (int64_t ms = 510; ms < 3000; ms = story.stand.wake_at.us / 1000 + 8) {
        for (uint32_t node = 0; node < 4; node++) {
            others[node] = lined(3, node < 2 ? 88 : 89, TICKET - 1);
            others[node].ttl_left_ms = 3010 - ms - ms % 2; /* within a ms of the same time */
        }
        look(&story, ms, others, 4);
        assert_int_equal(story.effects.release, 0);
    }
    for (uint32_t node = 1; node < 3; node++)
        handed(&story, node, 3020, 3015, 200);
    assert_won(&story, 200);
}

/* Of two nodes each had one, for 60 ms. Asking again when the own key had ended put the look off, by twice as
 * long each time: there was none until somebody gave up. */
static void other_questions_do_not_put_a_look_off(void **state)
{
    struct rl_time look_at;
    struct story story;

    (void)state;
    stand_everywhere(&story, 3);
    handed(&story, 0, 500, 499, 200);
    look_at = story.stand.split_at;
    for (int i = 0; i < 3; i++) {
        told(&story, RL_EVENT_CHANGED, 1, 501, RL_SILENT);
        assert_int_equal(story.stand.split_at.us, look_at.us);
        answer(&story, 1, 501, lined(3, 88, TICKET - 1));
        assert_int_equal(story.stand.split_at.us, look_at.us);
    }
}

static void a_contender_looks_before_its_keys_end(void **state)
{
    const struct rl_answer others[] = {lined(3, 81, TICKET + 1), lined(3, 82, TICKET + 2)};
    struct story story;

    (void)state;
    stand_everywhere(&story, 3);
    story.stand.config.ttl = rl_span_ms(60);
    handed(&story, 0, 500, 499, 200);
    for (int i = 0; i < 20; i++) {
        assert_true(rl_time_before(story.stand.split_at, story.stand.nodes[0].ends));
        look(&story, story.stand.split_at.us / 1000 + 3, others, 2);
        assert_int_equal(story.stand.nodes[0].state, RL_STAND_HAS);
    }
}

/* What was seen of a holder in an earlier split says nothing in this one. */
static void a_split_that_is_over_is_forgotten(void **state)
{
    const struct rl_answer others[] = {lined(1, 88, TICKET - 1), lined(1, 89, TICKET - 1)};
    struct story story;

    (void)state;
    stand_everywhere(&story, 3);
    handed(&story, 0, 500, 499, 200);
    look(&story, 510, others, 2);
    told(&story, RL_EVENT_CHANGED, 1, 511, RL_SILENT); /* it is asked, and the look comes later */
    answer(&story, 1, 512, others[0]);
    step(&story, (struct rl_event){.kind = RL_EVENT_TIMER, .now = story.stand.nodes[0].ends});
    assert_int_equal(story.stand.nodes[0].state, RL_STAND_ASKED);
    for (uint32_t node = 0; node < 3; node++)
        answer(&story, node, TTL_MS + 600, lined(1, 88 + node, TICKET - 1));
    assert_int_equal(story.stand.nodes[1].seen_holder, 0);
}

/* Also when the message was on its way before the lock was given back. */
static void what_was_given_back_counts_no_more(void **state)
{
    struct story story;
    uint32_t earlier;

    (void)state;
    the_later_ticket_gives_way_and_stays_in_line(NULL);
    stand_everywhere(&story, 3);
    earlier = story.stand.question;
    handed(&story, 0, 500, 499, 200);
    handed(&story, 1, 500, 499, 203);
    answer(&story, 0, 502, (struct rl_answer){.verdict = RL_DENIED, .ttl_left_ms = -2});
    assert_true(story.effects.fresh);
    assert_false(story.effects.asks_first); /* others may be luckier */
    for (uint32_t node = 0; node < 3; node++) {
        handed(&story, node, 503, 499, 200); /* it does not stand in line there, with this owner */
        step(&story, (struct rl_event){.kind = RL_EVENT_ANSWER,
                                       .now = at(503),
                                       .node = node,
                                       .question = earlier,
                                       .sent = at(0),
                                       .answer = {.verdict = RL_GRANTED, .fence = 200}});
        assert_false(story.effects.done);
        assert_int_equal(story.effects.raise, 0);
    }
}

static void the_earlier_ticket_keeps_what_it_has(void **state)
{
    const struct rl_answer others[] = {lined(1, 81, TICKET + 1), lined(1, 82, TICKET + 2),
                                       lined(1, 83, TICKET + 3)};
    struct story story;

    (void)state;
    stand_everywhere(&story, 4);
    handed(&story, 0, 500, 499, 200);
    look(&story, 510, others, 3);
    look(&story, 520, others, 3);
    assert_int_equal(story.effects.release, 0);
    handed(&story, 1, 522, 521, 200);
    handed(&story, 2, 522, 521, 200);
    assert_won(&story, 200);
}

/* Somebody has the lock, and should have it on all nodes: a lone vote is given back, and the place is
 * kept. */
static void yield_lone_vote(struct story *story)
{
    const struct rl_answer others[] = {lined(1, 88, TICKET - 1), lined(1, 88, TICKET - 1),
                                       lined(1, 88, TICKET - 1), lined(1, 99, TICKET - 1)};

    stand_everywhere(story, 5);
    handed(story, 0, 500, 499, 200);
    look(story, 510, others, 4);
    assert_int_equal(story->effects.release, 0);
    assert_int_equal(story->effects.acquire, rl_node_set_one(0));
    assert_true(story->stand.nodes[0].yields);
}

static void a_lone_vote_is_given_back_when_another_one_has_a_quorum(void **state)
{
    struct rl_answer free = lined(1, 0, 0);
    struct story story;

    (void)state;
    yield_lone_vote(&story);
    free.ttl_left_ms = -1;
    answer(&story, 0, 511, free);
    assert_int_equal(story.effects.acquire, 0);
    assert_true(story.stand.nodes[0].yields); /* the next question says so, too */
    handed(&story, 1, 600, 599, 201);
    timer(&story);
    assert_int_equal(story.effects.acquire, rl_node_set_one(0));
    assert_false(story.stand.nodes[0].yields);
}

static void a_vote_that_is_being_given_back_counts_no_more(void **state)
{
    struct story story;

    (void)state;
    yield_lone_vote(&story);
    step(&story,
         (struct rl_event){.kind = RL_EVENT_ANSWER,
                           .now = at(511),
                           .node = 0,
                           .question = story.stand.question - 1,
                           .sent = at(505),
                           .answer = {.verdict = RL_GRANTED, .fence = 200, .node_us = node_time(506)}});
    assert_int_equal(rl_stand_nodes(&story.stand, RL_STAND_HAS), 0);
}

/* A grant that had been delayed for longer than it lasted made up the quorum for the number, and two others
 * that for the time: meanwhile another caller had been handed the lock, with a higher number. */
static void a_grant_that_is_over_does_not_vouch_for_the_number(void **state)
{
    const struct rl_answer stale = {.verdict = RL_GRANTED, .fence = 100, .ttl_left_ms = -2};
    const struct rl_answer anew = {.verdict = RL_GRANTED, .fence = 105, .ttl_left_ms = -2};
    const int64_t now_ms = TTL_MS + 10;
    struct story story;
    uint32_t asked;

    (void)state;
    begin_with_ticket(&story, 3, TICKET);
    asked = story.stand.question;
    granted(&story, 2, now_ms, 95);
    step(&story, (struct rl_event){.kind = RL_EVENT_ANSWER,
                                   .now = at(now_ms),
                                   .node = 0,
                                   .question = asked,
                                   .sent = at(0),
                                   .answer = stale});
    assert_int_equal(story.effects.raise, rl_node_set_one(2));
    assert_int_equal(story.effects.fence, 100);
    step(&story, (struct rl_event){.kind = RL_EVENT_ANSWER,
                                   .now = at(now_ms),
                                   .node = 1,
                                   .question = asked,
                                   .sent = at(now_ms - 1),
                                   .answer = anew});
    answer(&story, 2, now_ms + 1, (struct rl_answer){.verdict = RL_GRANTED, .ttl_left_ms = -2});
    assert_false(story.effects.done);
    assert_int_equal(story.effects.release, rl_node_set_all(3));
}

/* ---- several names ---- */

/* Two callers of the same names each had all of them at one node, and one of them at the others, where nodes
 * left it to them. Each took the other for the holder, yielded, and went on keeping the others from its one
 * name for a second. */
static void one_of_several_names_is_given_back_when_all_are_yielded(void **state)
{
    const struct rl_answer others[] = {lined(1, 88, TICKET - 1), lined(1, 88, TICKET - 1),
                                       lined(1, 88, TICKET - 1), lined(1, 99, TICKET - 1)};
    struct story story;

    (void)state;
    stand_everywhere(&story, 5);
    story.stand.config.several = true;
    handed(&story, 0, 500, 499, 200);
    look(&story, 510, others, 4);
    assert_true(story.stand.nodes[0].yields);
    answer(&story, 0, 511, lined(1, 0, 0));
    assert_int_equal(story.effects.acquire, rl_node_set_all(5));
    for (uint32_t node = 0; node < 5; node++)
        answer(&story, node, 512, lined(1, 88, TICKET - 1));
    assert_int_equal(story.effects.acquire, 0); /* once is enough */
}

static void hand_one_name(struct story *story, uint32_t node, int64_t ms)
{
    step(story, (struct rl_event){.kind = RL_EVENT_HANDED,
                                  .now = at(ms),
                                  .node = node,
                                  .ttl = rl_span_ms(1000),
                                  .answer = {.fence = 200, .node_us = node_time(ms)}});
}

/* Three that wanted the same two names were handed one of them each, found the other one taken and gave
 * theirs back, which went to the next of them: fifteen times a millisecond, for more than a second. */
static void one_that_is_handed_single_names_in_vain_rests_before_it_asks(void **state)
{
    struct story story;
    int at_once = 0, later = 0;

    (void)state;
    stand_everywhere(&story, 3);
    story.stand.config.several = true;
    for (int64_t ms = 2; ms < 102; ms++) {
        hand_one_name(&story, 0, ms);
        if (story.effects.acquire == 0) {
            assert_true(rl_time_before(at(ms), story.stand.wake_at));
            assert_true(rl_time_before(story.stand.wake_at, at(ms + 17)));
            later++;
            timer(&story);
        } else {
            at_once++;
        }
        assert_int_equal(story.effects.acquire, rl_node_set_one(0));
        answer(&story, 0, ms, lined(1, 88, TICKET - 1));
    }
    assert_in_range(at_once, 12, 40);
    assert_int_equal(at_once + later, 100);
}

/* ---- keeping the place ---- */

static void asking_again_keeps_the_place(void **state)
{
    struct story story;

    (void)state;
    stand_everywhere(&story, 3);
    assert_true(story.stand.wake_at.us >= at(1000).us);
    timer(&story);
    assert_int_equal(story.effects.acquire, 7);
    assert_false(story.effects.fresh);
    assert_int_equal(story.effects.release, 0);
}

static void those_near_the_front_ask_when_the_lock_expires(void **state)
{
    struct rl_answer soon = lined(2, 77, 0);
    struct story story;

    (void)state;
    soon.ttl_left_ms = 200;
    begin(&story, 3);
    answer(&story, 0, 1, soon);
    answer(&story, 1, 1, soon);
    soon.rank = 3;
    answer(&story, 2, 1, soon);
    timer(&story); /* to watch */
    assert_int_equal(story.effects.acquire, 0);
    assert_int_equal(story.stand.wake_at.us, at(1 + 201).us);
    timer(&story);
    assert_int_equal(story.effects.acquire, 3);
}

static void those_near_the_front_watch_a_lock_that_is_held_for_long(void **state)
{
    struct story story;

    (void)state;
    begin(&story, 3);
    answer(&story, 0, 1, lined(1, 77, 0));
    answer(&story, 1, 1, lined(2, 77, 0));
    answer(&story, 2, 1, lined(3, 77, 0));
    assert_int_equal(story.stand.wake_at.us, at(101).us);
    timer(&story);
    assert_int_equal(story.effects.watch, 3);
    assert_int_equal(story.effects.acquire, 0);
    told(&story, RL_EVENT_WATCHED, 0, 102, RL_DENIED);
    assert_int_equal(story.effects.acquire, 0);
    told(&story, RL_EVENT_WATCHED, 1, 102, RL_GRANTED); /* free: nobody has handed it on */
    assert_int_equal(story.effects.acquire, 2);
    told(&story, RL_EVENT_CHANGED, 0, 500, RL_SILENT);
    assert_int_equal(story.effects.acquire, 1);
}

/* It is no vote: only the node's answer to the question is. */
static void that_a_lock_seems_to_be_free_everywhere_is_no_grant(void **state)
{
    struct story story;

    (void)state;
    begin(&story, 3);
    for (uint32_t node = 0; node < 3; node++)
        answer(&story, node, 1, lined(1, 77, 0));
    timer(&story);
    for (uint32_t node = 0; node < 3; node++)
        told(&story, RL_EVENT_WATCHED, node, 102, RL_GRANTED);
    assert_false(story.effects.done);
    assert_int_equal(rl_node_set_count(rl_stand_nodes(&story.stand, RL_STAND_HAS)), 0);
}

static void a_node_that_cannot_tell_is_asked_now_and_then(void **state)
{
    struct rl_answer deaf = lined(5, 77, 0);
    struct story story;

    (void)state;
    deaf.armed = false;
    begin(&story, 3);
    answer(&story, 0, 1, lined(5, 77, 0));
    answer(&story, 1, 1, lined(5, 77, 0));
    answer(&story, 2, 1, deaf);
    assert_true(rl_time_before(story.stand.wake_at, at(1 + 201)));
    timer(&story);
    assert_int_equal(story.effects.acquire, 4);
}

/* Its clock jumped ahead: by it the lock would have been given later than we heard of it. */
static void a_hand_over_is_not_dated_after_it_was_heard_of(void **state)
{
    struct story story;

    (void)state;
    stand_everywhere(&story, 3);
    handed(&story, 0, 500, 5000, 200);
    handed(&story, 1, 500, 5000, 200);
    assert_won(&story, 200);
    assert_int_equal(story.stand.valid_until.us, rl_validity_end(at(500), rl_span_ms(TTL_MS), DRIFT_PPM).us);
}

static void a_hand_over_of_a_node_that_had_not_answered_is_confirmed(void **state)
{
    struct story story;

    (void)state;
    begin(&story, 3);
    answer(&story, 0, 1, lined(1, 77, 0));
    answer(&story, 1, 1, lined(1, 77, 0));
    timer(&story); /* the third has not answered in time */
    assert_int_equal(story.stand.nodes[2].state, RL_STAND_OUT);
    handed(&story, 2, 60, 59, 200);
    assert_int_equal(story.effects.acquire, 4);
    granted(&story, 2, 61, 200);
    handed(&story, 0, 62, 61, 200);
    assert_won(&story, 200);
}

/* One that waits for less than a question takes gets an answer to that one. */
/* The node handed it over behind this answer, and in front of what was asked together with it. */
static void a_hand_over_that_overtakes_the_answer_is_asked_for(void **state)
{
    struct story story;

    (void)state;
    begin(&story, 3);
    handed(&story, 0, 1, 1, 7);
    assert_int_equal(story.effects.acquire, 0);
    answer(&story, 0, 2, lined(1, 99, 1));
    timer(&story);
    assert_int_equal(story.effects.acquire, rl_node_set_one(0));
}

/* Its turn came at the last moment: the others of its client were in its way, whatever the nodes would have
 * said. */
static void time_that_ran_out_in_the_queue_is_a_busy_lock(void **state)
{
    struct story story = {.prng = rl_prng_seed(7)};
    struct rl_acquire_config config = {.node_count = 3,
                                       .ttl = rl_span_ms(TTL_MS),
                                       .drift_ppm = DRIFT_PPM,
                                       .node_timeout = rl_span_ms(TIMEOUT_MS),
                                       .began = at(0),
                                       .give_up_at = at(1000),
                                       .retry_min = rl_span_ms(10),
                                       .retry_max = rl_span_ms(100),
                                       .queued = true,
                                       .ticket = TICKET};

    (void)state;
    rl_stand_init(&story.stand, &config, &story.prng);
    step(&story, (struct rl_event){.kind = RL_EVENT_START, .now = at(999)});
    timer(&story);
    assert_true(story.effects.done);
    assert_int_equal(story.stand.outcome, RL_OUTCOME_TIMEOUT);
}

static void a_short_wait_lasts_for_one_question(void **state)
{
    struct rl_acquire_config config = {.node_count = 3,
                                       .ttl = rl_span_ms(TTL_MS),
                                       .drift_ppm = DRIFT_PPM,
                                       .node_timeout = rl_span_ms(TIMEOUT_MS),
                                       .give_up_at = at(1),
                                       .retry_min = rl_span_ms(10),
                                       .retry_max = rl_span_ms(100),
                                       .ticket = TICKET};
    struct story story = {.prng = rl_prng_seed(7)};

    (void)state;
    rl_stand_init(&story.stand, &config, &story.prng);
    step(&story, (struct rl_event){.kind = RL_EVENT_START, .now = at(0)});
    assert_int_equal(story.stand.wake_at.us, at(TIMEOUT_MS).us);
    answer(&story, 0, 10, lined(1, 77, 0));
    answer(&story, 1, 10, lined(1, 77, 0));
    answer(&story, 2, 10, lined(1, 77, 0));
    timer(&story);
    assert_true(story.effects.done);
    assert_int_equal(story.stand.outcome, RL_OUTCOME_TIMEOUT);
    assert_int_equal(story.effects.release, 7);
}

/* What nodes said of the lock decides, not that a question is just under way. */
static void time_that_runs_out_while_it_asks_again_is_still_a_busy_lock(void **state)
{
    struct story story;

    (void)state;
    stand_everywhere(&story, 3);
    timer(&story);
    assert_int_equal(story.effects.acquire, 7);
    step(&story, (struct rl_event){.kind = RL_EVENT_TIMER, .now = at(GIVE_UP_MS)});
    assert_true(story.effects.done);
    assert_int_equal(story.stand.outcome, RL_OUTCOME_TIMEOUT);
}

/* Two nodes had given it the lock, their keys ended, and they are asked again: that they gave it shows that
 * they are there. */
static void end_beside_ended_votes(struct story *story, int64_t left_ms)
{
    struct rl_time ends;

    begin(story, 4);
    for (uint32_t node = 0; node < 2; node++)
        granted(story, node, 1, 200);
    for (uint32_t node = 2; node < 4; node++)
        answer(story, node, 1, lined(1, 77, 0));
    ends = story->stand.nodes[0].ends;
    story->stand.config.give_up_at = rl_time_add(ends, rl_span_ms(left_ms));
    step(story, (struct rl_event){.kind = RL_EVENT_TIMER, .now = ends});
    assert_int_equal(story->effects.acquire, 15);
    assert_int_equal(rl_stand_nodes(&story->stand, RL_STAND_ASKED), 15);
    step(story, (struct rl_event){.kind = RL_EVENT_TIMER, .now = story->stand.config.give_up_at});
    assert_true(story->effects.done);
}

static void time_that_runs_out_while_ended_votes_are_asked_for_is_still_a_busy_lock(void **state)
{
    struct story story;

    (void)state;
    end_beside_ended_votes(&story, TIMEOUT_MS - 1);
    assert_int_equal(story.stand.outcome, RL_OUTCOME_TIMEOUT);
}

/* They had all the time that a node has. */
static void nodes_that_did_not_answer_in_time_are_missing_when_time_runs_out(void **state)
{
    struct story story;

    (void)state;
    end_beside_ended_votes(&story, TIMEOUT_MS);
    assert_int_equal(story.stand.outcome, RL_OUTCOME_NO_QUORUM);
}

/* Another question, to a node that has just come, takes no time from those that have not answered yet. */
static void a_short_wait_lasts_for_one_question_whatever_else_is_asked(void **state)
{
    struct story story;

    (void)state;
    begin(&story, 3);
    story.stand.config.give_up_at = at(2);
    answer(&story, 2, 1, (struct rl_answer){.verdict = RL_FAILED, .cause = RL_CAUSE_REFUSED});
    step(&story, (struct rl_event){.kind = RL_EVENT_UP, .now = at(1), .node = 2});
    assert_int_equal(story.effects.acquire, 4);
    assert_int_equal(story.stand.wake_at.us, at(TIMEOUT_MS).us);
    for (uint32_t node = 0; node < 3; node++)
        answer(&story, node, 10, lined(1, 77, 0));
    timer(&story);
    assert_true(story.effects.done);
    assert_int_equal(story.stand.outcome, RL_OUTCOME_TIMEOUT);
}

/* It lost a race, began anew, and its time ran out before anybody answered. */
static void time_that_runs_out_in_a_later_attempt_is_still_a_busy_lock(void **state)
{
    struct story story;

    (void)state;
    stand_everywhere(&story, 3);
    handed(&story, 0, 500, 499, 200);
    handed(&story, 1, 500, 499, 203);
    answer(&story, 0, 502, (struct rl_answer){.verdict = RL_DENIED, .ttl_left_ms = -2});
    assert_true(story.effects.fresh);
    step(&story, (struct rl_event){.kind = RL_EVENT_TIMER, .now = at(GIVE_UP_MS)});
    assert_true(story.effects.done);
    assert_int_equal(story.stand.outcome, RL_OUTCOME_TIMEOUT);
}

/* The attempt before found too few nodes; that nobody has answered this one yet makes no busy lock of it. */
static void time_that_runs_out_while_nodes_are_missing_says_so(void **state)
{
    struct story story;

    (void)state;
    begin(&story, 3);
    answer(&story, 0, 1, lined(1, 77, 0));
    for (uint32_t node = 1; node < 3; node++)
        answer(&story, node, 1, (struct rl_answer){.verdict = RL_FAILED, .cause = RL_CAUSE_REFUSED});
    assert_int_equal(story.stand.phase, RL_STAND_RESTING);
    timer(&story);
    assert_int_equal(story.effects.acquire, 7);
    step(&story, (struct rl_event){.kind = RL_EVENT_TIMER, .now = at(GIVE_UP_MS)});
    assert_true(story.effects.done);
    assert_int_equal(story.stand.outcome, RL_OUTCOME_NO_QUORUM);
}

static void a_connection_that_is_back_is_asked_at_once(void **state)
{
    struct story story;

    (void)state;
    stand_everywhere(&story, 3);
    step(&story, (struct rl_event){.kind = RL_EVENT_DOWN, .now = at(100), .node = 2});
    assert_int_equal(story.effects.release, 0);
    step(&story, (struct rl_event){.kind = RL_EVENT_UP, .now = at(120), .node = 2});
    assert_int_equal(story.effects.acquire, 4);
}

static void the_highest_ticket_counts_once_a_quorum_has_it_in_line(void **state)
{
    struct rl_answer higher = lined(5, 77, 0);
    struct story story;

    (void)state;
    higher.ticket = TICKET + 40;
    begin(&story, 3);
    answer(&story, 0, 1, lined(1, 77, 0));
    assert_false(story.stand.settled);
    answer(&story, 1, 1, higher);
    assert_true(story.stand.settled);
    assert_int_equal(story.stand.ticket, TICKET + 40);
    higher.ticket = TICKET + 90;
    answer(&story, 2, 1, higher);
    assert_int_equal(story.stand.ticket, TICKET + 40);
}

/* All nodes go by the ticket that a caller takes along, and count on from it. One node that names the last
 * number there is would have the others answer with numbers that nobody can read. */
static void a_ticket_that_leaves_no_room_for_others_is_not_taken_along(void **state)
{
    struct rl_answer last = lined(5, 77, 0);
    struct story story;

    (void)state;
    last.ticket = RL_FENCE_MAX;
    begin(&story, 3);
    answer(&story, 0, 1, last);
    answer(&story, 1, 1, lined(1, 77, 0));
    assert_true(story.stand.settled);
    assert_int_equal(story.stand.ticket, TICKET);
    begin_with_ticket(&story, 3, UINT64_MAX); /* of a clock that is wrong by that much */
    assert_int_equal(story.stand.ticket, RL_TICKET_MAX);
}

/* ---- ending without it ---- */

static void giving_up_leaves_every_line(void **state)
{
    struct story story;

    (void)state;
    stand_everywhere(&story, 3);
    step(&story, (struct rl_event){.kind = RL_EVENT_TIMER, .now = at(GIVE_UP_MS)});
    assert_true(story.effects.done);
    assert_int_equal(story.stand.outcome, RL_OUTCOME_TIMEOUT);
    assert_int_equal(story.effects.release, 7);
    stand_everywhere(&story, 3);
    step(&story, (struct rl_event){.kind = RL_EVENT_CANCEL, .now = at(10)});
    assert_int_equal(story.stand.outcome, RL_OUTCOME_CANCELED);
    assert_int_equal(story.effects.release, 7);
}

static void too_few_nodes_are_left_and_asked_again_later(void **state)
{
    struct story story;

    (void)state;
    begin(&story, 3);
    answer(&story, 0, 1, lined(1, 77, 0));
    answer(&story, 1, 1, (struct rl_answer){.verdict = RL_INELIGIBLE, .cause = RL_CAUSE_QUARANTINE});
    answer(&story, 2, 1, (struct rl_answer){.verdict = RL_FAILED, .cause = RL_CAUSE_REFUSED});
    assert_int_equal(story.effects.release, 7);
    assert_int_equal(story.effects.acquire, 0);
    assert_int_equal(story.stand.phase, RL_STAND_RESTING);
    timer(&story);
    assert_int_equal(story.effects.acquire, 7);
    assert_true(story.effects.fresh);
}

static void a_frozen_minority_costs_nothing(void **state)
{
    struct story story;

    (void)state;
    begin(&story, 5);
    for (uint32_t node = 0; node < 3; node++)
        answer(&story, node, 1, lined(1, 77, 0));
    timer(&story); /* two have not answered */
    assert_int_equal(story.stand.phase, RL_STAND_WAITING);
    assert_int_equal(story.effects.release, 0);
    for (uint32_t node = 0; node < 3; node++)
        handed(&story, node, 300, 299, 200);
    assert_won(&story, 200);
}

static void a_key_that_may_have_ended_is_not_counted(void **state)
{
    struct story story;

    (void)state;
    begin(&story, 3);
    granted(&story, 0, 1, 100);
    answer(&story, 1, 1, lined(1, 77, TICKET + 1));
    answer(&story, 2, 1, lined(1, 78, TICKET + 1));
    step(&story, (struct rl_event){.kind = RL_EVENT_TIMER, .now = at(TTL_MS)});
    assert_int_equal(story.stand.nodes[0].state, RL_STAND_ASKED);
    handed(&story, 1, TTL_MS + 1, TTL_MS, 200);
    assert_false(story.effects.done);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_free_lock_is_won_in_one_round),
        cmocka_unit_test(a_lock_that_a_quorum_hands_over_is_won),
        cmocka_unit_test(answers_and_hand_overs_count_together),
        cmocka_unit_test(what_is_handed_over_is_valid_from_when_the_node_gave_it),
        cmocka_unit_test(validity_is_what_a_quorum_of_keys_lives_for),
        cmocka_unit_test(numbers_that_differ_are_raised),
        cmocka_unit_test(a_raise_that_comes_too_late_begins_anew),
        cmocka_unit_test(where_the_node_may_not_be_eligible_the_lock_is_asked_for),
        cmocka_unit_test(a_brief_grant_is_confirmed_before_it_counts),
        cmocka_unit_test(a_brief_grant_is_enough_for_a_lease_that_renews_itself),
        cmocka_unit_test(a_brief_grant_that_is_heard_of_late_is_confirmed),
        cmocka_unit_test(a_grant_of_which_half_may_be_over_is_confirmed),
        cmocka_unit_test(a_node_clock_that_went_back_proves_nothing),
        cmocka_unit_test(the_later_ticket_gives_way_and_stays_in_line),
        cmocka_unit_test(nobody_gives_way_to_keys_that_only_end),
        cmocka_unit_test(other_questions_do_not_put_a_look_off),
        cmocka_unit_test(a_contender_looks_before_its_keys_end),
        cmocka_unit_test(a_split_that_is_over_is_forgotten),
        cmocka_unit_test(what_was_given_back_counts_no_more),
        cmocka_unit_test(the_earlier_ticket_keeps_what_it_has),
        cmocka_unit_test(a_lone_vote_is_given_back_when_another_one_has_a_quorum),
        cmocka_unit_test(a_vote_that_is_being_given_back_counts_no_more),
        cmocka_unit_test(a_grant_that_is_over_does_not_vouch_for_the_number),
        cmocka_unit_test(one_of_several_names_is_given_back_when_all_are_yielded),
        cmocka_unit_test(one_that_is_handed_single_names_in_vain_rests_before_it_asks),
        cmocka_unit_test(asking_again_keeps_the_place),
        cmocka_unit_test(those_near_the_front_ask_when_the_lock_expires),
        cmocka_unit_test(those_near_the_front_watch_a_lock_that_is_held_for_long),
        cmocka_unit_test(that_a_lock_seems_to_be_free_everywhere_is_no_grant),
        cmocka_unit_test(a_node_that_cannot_tell_is_asked_now_and_then),
        cmocka_unit_test(a_hand_over_is_not_dated_after_it_was_heard_of),
        cmocka_unit_test(a_hand_over_of_a_node_that_had_not_answered_is_confirmed),
        cmocka_unit_test(a_hand_over_that_overtakes_the_answer_is_asked_for),
        cmocka_unit_test(time_that_ran_out_in_the_queue_is_a_busy_lock),
        cmocka_unit_test(a_short_wait_lasts_for_one_question),
        cmocka_unit_test(time_that_runs_out_while_it_asks_again_is_still_a_busy_lock),
        cmocka_unit_test(time_that_runs_out_while_ended_votes_are_asked_for_is_still_a_busy_lock),
        cmocka_unit_test(nodes_that_did_not_answer_in_time_are_missing_when_time_runs_out),
        cmocka_unit_test(a_short_wait_lasts_for_one_question_whatever_else_is_asked),
        cmocka_unit_test(time_that_runs_out_in_a_later_attempt_is_still_a_busy_lock),
        cmocka_unit_test(time_that_runs_out_while_nodes_are_missing_says_so),
        cmocka_unit_test(a_connection_that_is_back_is_asked_at_once),
        cmocka_unit_test(the_highest_ticket_counts_once_a_quorum_has_it_in_line),
        cmocka_unit_test(a_ticket_that_leaves_no_room_for_others_is_not_taken_along),
        cmocka_unit_test(giving_up_leaves_every_line),
        cmocka_unit_test(too_few_nodes_are_left_and_asked_again_later),
        cmocka_unit_test(a_frozen_minority_costs_nothing),
        cmocka_unit_test(a_key_that_may_have_ended_is_not_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

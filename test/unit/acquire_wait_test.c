/*
 * Tests of core/acquire_wait: each rule by which an acquisition waits. Times are in ms from the start; nodes count from 0.
 */
#include "core/acquire.h"
#include "support/check.h"
#include "support/core_walk.h"

enum { TIMEOUT_MS = 50, RETRY_MAX_MS = 100, HELD_MS = 20000, FOREVER_MS = 1000000, YOU = 7 };

/* One acquisition and what its latest step wanted. */
struct waiter {
    struct rl_prng prng;
    struct rl_acquire acquire;
    struct rl_effects effects;
    bool splits; /* one node grants it in rounds that are lost */
};

static struct rl_time at(int64_t ms)
{
    return (struct rl_time){1000000 + ms * 1000};
}

static int64_t ms_of(struct rl_time time)
{
    return (time.us - at(0).us) / 1000;
}

static struct rl_acquire_config config_for(uint32_t node_count)
{
    return (struct rl_acquire_config){
        .node_count = node_count,
        .ttl = rl_span_ms(1000),
        .drift_ppm = 10000,
        .node_timeout = rl_span_ms(TIMEOUT_MS),
        .give_up_at = at(FOREVER_MS),
        .retry_min = rl_span_ms(10),
        .retry_max = rl_span_ms(RETRY_MAX_MS),
        .watch = true,
    };
}

static void step(struct waiter *waiter, struct rl_event event, int64_t ms)
{
    event.now = at(ms);
    rl_acquire_step(&waiter->acquire, &event, &waiter->effects);
}

static void tell(struct waiter *waiter, enum rl_event_kind kind, uint32_t node, int64_t ms)
{
    step(waiter, (struct rl_event){.kind = kind, .node = node}, ms);
}

static void answer(struct waiter *waiter, uint32_t question, uint32_t node, int64_t ms,
                   struct rl_answer answer)
{
    step(waiter,
         (struct rl_event){.kind = RL_EVENT_ANSWER, .question = question, .node = node, .answer = answer},
         ms);
}

static void deny(struct waiter *waiter, uint32_t node, int64_t ms)
{
    answer(waiter, waiter->acquire.round_question, node, ms,
           (struct rl_answer){.verdict = RL_DENIED, .ttl_left_ms = -2});
}

/* What a look shows. */
static void show(struct waiter *waiter, uint32_t node, int64_t ms, int64_t ttl_ms, uint64_t holder,
                 bool armed)
{
    answer(waiter, waiter->acquire.question, node, ms,
           (struct rl_answer){.verdict = RL_DENIED, .ttl_left_ms = ttl_ms, .holder = holder, .armed = armed});
}

static void show_free(struct waiter *waiter, uint32_t node, int64_t ms)
{
    answer(waiter, waiter->acquire.question, node, ms,
           (struct rl_answer){.verdict = RL_GRANTED, .ttl_left_ms = -2, .armed = true});
}

static void start(struct waiter *waiter, const struct rl_acquire_config *config)
{
    waiter->prng = rl_prng_seed(1);
    waiter->splits = false;
    rl_acquire_init(&waiter->acquire, config, &waiter->prng);
    tell(waiter, RL_EVENT_START, 0, 0);
    waiter->acquire.show_at = RL_TIME_NEVER; /* that is for people: it has a test of its own */
}

/* A round that is lost to somebody, 4 ms after it began. */
static void lose(struct waiter *waiter)
{
    uint32_t node_count = waiter->acquire.config.node_count;
    int64_t ms = ms_of(waiter->acquire.asked) + 4;

    if (waiter->splits)
        answer(waiter, waiter->acquire.round_question, --node_count, ms,
               (struct rl_answer){.verdict = RL_GRANTED});
    for (uint32_t node = 0; node < node_count && waiter->acquire.phase == RL_ACQUIRE_ASKING; node++)
        deny(waiter, node, ms);
}

static void assert_waits(const struct waiter *waiter)
{
    assert_int_equal(waiter->acquire.phase, RL_ACQUIRE_WAITING);
    assert_int_equal(waiter->effects.acquire, 0);
    assert_true(waiter->acquire.wake_at.us < RL_TIME_NEVER.us);
}

static void assert_round(const struct waiter *waiter)
{
    assert_int_equal(waiter->acquire.phase, RL_ACQUIRE_ASKING);
    assert_int_equal(waiter->effects.acquire, rl_node_set_all(waiter->acquire.config.node_count));
    assert_int_equal(waiter->effects.watch, 0);
}

/* On so many nodes, all of which say that YOU hold it for 20 s and that they will tell. */
static void start_watching_with(struct waiter *waiter, const struct rl_acquire_config *config)
{
    start(waiter, config);
    lose(waiter);
    for (uint32_t node = 0; node < config->node_count; node++)
        show(waiter, node, 6, HELD_MS, YOU, true);
    assert_waits(waiter);
}

static void start_watching(struct waiter *waiter, uint32_t node_count)
{
    struct rl_acquire_config config = config_for(node_count);

    start_watching_with(waiter, &config);
}

/* ---- the look ---- */

static void a_lost_round_watches_all_nodes(void **state)
{
    struct rl_acquire_config config = config_for(3);
    struct waiter waiter;

    (void)state;
    start(&waiter, &config);
    lose(&waiter);
    assert_waits(&waiter);
    assert_true(waiter.effects.lost);
    assert_int_equal(waiter.effects.watch, 7);
    assert_int_equal(waiter.effects.question, 2);
    assert_int_equal(waiter.acquire.wake_at.us, at(4 + TIMEOUT_MS).us);
}

static void who_tries_once_watches_nothing(void **state)
{
    struct rl_acquire_config config = config_for(3);
    struct waiter waiter;

    (void)state;
    config.give_up_at = at(0);
    start(&waiter, &config);
    lose(&waiter);
    assert_true(waiter.effects.done);
    assert_int_equal(waiter.acquire.outcome, RL_OUTCOME_BUSY);
    assert_int_equal(waiter.effects.watch, 0);
}

static void unfit_nodes_are_not_watched(void **state)
{
    struct rl_acquire_config config = config_for(5);
    struct waiter waiter;

    (void)state;
    start(&waiter, &config);
    answer(&waiter, 1, 4, 1, (struct rl_answer){.verdict = RL_UNFIT, .cause = RL_CAUSE_QUARANTINE});
    lose(&waiter);
    assert_waits(&waiter);
    assert_int_equal(waiter.effects.watch, 15);
}

static void a_missing_quorum_is_rested_from_not_watched(void **state)
{
    struct rl_acquire_config config = config_for(3);
    struct waiter waiter;

    (void)state;
    start(&waiter, &config);
    for (uint32_t node = 0; node < 2; node++)
        answer(&waiter, 1, node, 1, (struct rl_answer){.verdict = RL_BROKEN});
    assert_int_equal(waiter.acquire.phase, RL_ACQUIRE_RESTING);
    assert_int_equal(waiter.effects.watch, 0);
}

static void a_look_that_shows_it_free_begins_a_round_at_once(void **state)
{
    struct rl_acquire_config config = config_for(3);
    struct waiter waiter;

    (void)state;
    start(&waiter, &config);
    lose(&waiter);
    show_free(&waiter, 1, 6);
    assert_waits(&waiter);
    show_free(&waiter, 2, 7);
    assert_round(&waiter);
    assert_int_equal(waiter.acquire.round, 2);
}

static void answers_to_an_older_look_do_not_count(void **state)
{
    struct waiter waiter;
    uint32_t question;

    (void)state;
    start_watching(&waiter, 3);
    question = waiter.acquire.question;
    tell(&waiter, RL_EVENT_TIMER, 0, ms_of(waiter.acquire.wake_at) + 1);
    assert_int_equal(waiter.effects.watch, 7);
    for (uint32_t node = 0; node < 3; node++)
        answer(&waiter, question, node, 10100, (struct rl_answer){.verdict = RL_GRANTED});
    assert_waits(&waiter);
}

static void foreign_keys_on_a_quorum_end_it(void **state)
{
    struct rl_acquire_config config = config_for(3);
    struct rl_answer foreign = {.verdict = RL_DENIED, .cause = RL_CAUSE_FOREIGN_TYPE, .ttl_left_ms = -1};
    struct waiter waiter;

    (void)state;
    start(&waiter, &config);
    lose(&waiter);
    answer(&waiter, 2, 0, 6, foreign);
    assert_waits(&waiter);
    answer(&waiter, 2, 1, 6, foreign);
    assert_true(waiter.effects.done);
    assert_int_equal(waiter.acquire.outcome, RL_OUTCOME_FOREIGN_TYPE);
}

/* ---- what wakes it ---- */

static void a_quorum_of_changes_begins_a_round_and_a_minority_does_not(void **state)
{
    struct waiter waiter;

    (void)state;
    start_watching(&waiter, 5);
    tell(&waiter, RL_EVENT_CHANGED, 3, 100);
    assert_waits(&waiter);
    tell(&waiter, RL_EVENT_CHANGED, 3, 101); /* the same one again */
    tell(&waiter, RL_EVENT_CHANGED, 0, 102);
    assert_waits(&waiter);
    tell(&waiter, RL_EVENT_CHANGED, 4, 103);
    assert_round(&waiter);
    assert_true(waiter.acquire.woken);
}

static void a_free_node_and_a_change_make_a_quorum_together(void **state)
{
    struct rl_acquire_config config = config_for(3);
    struct waiter waiter;

    (void)state;
    start(&waiter, &config);
    lose(&waiter);
    show_free(&waiter, 2, 5);
    show(&waiter, 0, 6, HELD_MS, YOU, true);
    show(&waiter, 1, 6, HELD_MS, YOU, true);
    tell(&waiter, RL_EVENT_CHANGED, 0, 100);
    assert_round(&waiter);
}

static void a_quorum_of_ends_begins_a_round(void **state)
{
    struct rl_acquire_config config = config_for(3);
    struct waiter waiter;

    (void)state;
    start(&waiter, &config);
    lose(&waiter);
    show(&waiter, 0, 6, 300, YOU, true);
    show(&waiter, 1, 6, 310, YOU, true);
    show(&waiter, 2, 6, 4000, YOU, true);
    assert_int_equal(waiter.acquire.wake_at.us, at(317).us); /* the second end, and a millisecond */
    tell(&waiter, RL_EVENT_TIMER, 0, 316);
    assert_waits(&waiter);
    tell(&waiter, RL_EVENT_TIMER, 0, 317);
    assert_round(&waiter);
}

/* The process was stopped after the look: what the nodes said then does not end later for that. */
static void an_answer_that_is_read_late_counts_from_when_it_was_due(void **state)
{
    struct rl_acquire_config config = config_for(3);
    struct waiter waiter;

    (void)state;
    start(&waiter, &config);
    lose(&waiter);
    show(&waiter, 0, 5000, 300, YOU, true);
    assert_waits(&waiter);
    show(&waiter, 1, 5000, 300, YOU, true);
    assert_round(&waiter);
}

static void a_change_while_asking_is_nobodys_business(void **state)
{
    struct rl_acquire_config config = config_for(3);
    struct waiter waiter;

    (void)state;
    start(&waiter, &config);
    for (uint32_t node = 0; node < 3; node++) {
        tell(&waiter, RL_EVENT_CHANGED, node, 1);
        assert_true(walk_no_effects(&waiter.effects));
    }
    assert_int_equal(waiter.acquire.phase, RL_ACQUIRE_ASKING);
}

/* ---- holders that renew ---- */

/* Challenged once by mistake, then known. */
static void meet_a_renewing_holder(struct waiter *waiter)
{
    start_watching(waiter, 3);
    tell(waiter, RL_EVENT_CHANGED, 0, 100);
    tell(waiter, RL_EVENT_CHANGED, 1, 100);
    assert_round(waiter);
    lose(waiter);
    for (uint32_t node = 0; node < 3; node++)
        show(waiter, node, 106, HELD_MS, YOU, true);
    assert_true(waiter->acquire.wait.renews);
}

static void a_holder_that_renews_is_looked_at_first(void **state)
{
    struct waiter waiter;

    (void)state;
    meet_a_renewing_holder(&waiter);
    for (uint32_t node = 0; node < 3; node++) {
        tell(&waiter, RL_EVENT_CHANGED, node, 200);
        assert_waits(&waiter);
        assert_int_equal(waiter.effects.watch, rl_node_set_one(node));
    }
    for (uint32_t node = 0; node < 3; node++)
        show(&waiter, node, 202, HELD_MS, YOU, true);
    assert_waits(&waiter);
    assert_int_equal(waiter.acquire.round, 2);
}

static void a_renewing_holder_that_is_gone_is_followed(void **state)
{
    struct waiter waiter;

    (void)state;
    meet_a_renewing_holder(&waiter);
    tell(&waiter, RL_EVENT_CHANGED, 0, 200);
    tell(&waiter, RL_EVENT_CHANGED, 1, 200);
    show_free(&waiter, 0, 202);
    assert_waits(&waiter);
    show_free(&waiter, 1, 202);
    assert_true(waiter.acquire.woken);
    assert_true(waiter.effects.acquire != 0 || waiter.effects.rest.us > 0);
}

static void the_next_holder_is_challenged_again(void **state)
{
    struct waiter waiter;

    (void)state;
    meet_a_renewing_holder(&waiter);
    for (uint32_t node = 0; node < 2; node++)
        tell(&waiter, RL_EVENT_CHANGED, node, 200);
    for (uint32_t node = 0; node < 2; node++)
        show(&waiter, node, 202, HELD_MS, YOU + 1, true);
    assert_false(waiter.acquire.wait.renews);
    tell(&waiter, RL_EVENT_CHANGED, 0, 300);
    assert_waits(&waiter);
    assert_int_equal(waiter.effects.watch, 0);
}

/* ---- nodes that cannot tell ---- */

static void start_blind(struct waiter *waiter, int64_t ttl_ms)
{
    struct rl_acquire_config config = config_for(3);

    start(waiter, &config);
    lose(waiter);
    for (uint32_t node = 0; node < 3; node++)
        show(waiter, node, 6, ttl_ms, YOU, node == 2);
    assert_waits(waiter);
}

static void too_few_that_tell_are_polled_with_growing_pauses(void **state)
{
    struct waiter waiter;
    int64_t longest = 0;

    (void)state;
    start_blind(&waiter, HELD_MS);
    for (int round = 2; round < 12; round++) {
        int64_t from = ms_of(waiter.acquire.asked) + 6, pause = ms_of(waiter.acquire.wake_at) - from;

        assert_true(pause >= 9 && pause <= RETRY_MAX_MS);
        longest = pause > longest ? pause : longest;
        tell(&waiter, RL_EVENT_TIMER, 0, ms_of(waiter.acquire.wake_at) + 1);
        assert_round(&waiter);
        assert_false(waiter.acquire.woken);
        lose(&waiter);
        for (uint32_t node = 0; node < 3; node++)
            show(&waiter, node, ms_of(waiter.acquire.asked) + 6, HELD_MS, YOU, node == 2);
    }
    assert_true(longest > 30);
    assert_int_equal(waiter.acquire.patience, 0); /* a poll that fails says nothing about a crowd */
}

static void the_end_of_its_key_counts_on_a_node_that_cannot_tell(void **state)
{
    struct waiter waiter;

    (void)state;
    start_blind(&waiter, 5);
    assert_int_equal(waiter.acquire.wake_at.us, at(12).us);
    tell(&waiter, RL_EVENT_TIMER, 0, 12);
    assert_round(&waiter);
    assert_true(waiter.acquire.woken);
}

static void one_node_that_cannot_tell_is_looked_at_every_other_second(void **state)
{
    struct rl_acquire_config config = config_for(3);
    struct waiter waiter;

    (void)state;
    start(&waiter, &config);
    lose(&waiter);
    for (uint32_t node = 0; node < 3; node++)
        show(&waiter, node, 6, HELD_MS, YOU, node != 2);
    assert_waits(&waiter);
    assert_in_range(ms_of(waiter.acquire.wake_at), 1006, 2006);
    tell(&waiter, RL_EVENT_TIMER, 0, ms_of(waiter.acquire.wake_at) + 1);
    assert_waits(&waiter);
    assert_int_equal(waiter.effects.watch, 7);
    assert_int_equal(waiter.effects.question, 3);
}

static void nodes_that_do_not_answer_the_look_are_not_relied_upon(void **state)
{
    struct rl_acquire_config config = config_for(3);
    struct waiter waiter;

    (void)state;
    start(&waiter, &config);
    lose(&waiter);
    show(&waiter, 0, 6, HELD_MS, YOU, true);
    assert_int_equal(waiter.acquire.wake_at.us, at(4 + TIMEOUT_MS).us);
    tell(&waiter, RL_EVENT_TIMER, 0, 4 + TIMEOUT_MS);
    assert_waits(&waiter);
    assert_true(ms_of(waiter.acquire.wake_at) <= 4 + TIMEOUT_MS + RETRY_MAX_MS); /* polled */
    show(&waiter, 1, 60, HELD_MS, YOU, true);                                    /* late, but it counts */
    assert_true(ms_of(waiter.acquire.wake_at) > 1000);
}

/* ---- mistrust ---- */

static void a_waiter_that_all_will_tell_looks_again_after_five_to_ten_seconds(void **state)
{
    struct waiter waiter;

    (void)state;
    start_watching(&waiter, 3);
    assert_in_range(ms_of(waiter.acquire.wake_at), 5000, 10006);
    tell(&waiter, RL_EVENT_TIMER, 0, 4999);
    assert_true(walk_no_effects(&waiter.effects));
    tell(&waiter, RL_EVENT_TIMER, 0, ms_of(waiter.acquire.wake_at) + 1);
    assert_waits(&waiter);
    assert_int_equal(waiter.effects.watch, 7);
    assert_int_equal(waiter.acquire.round, 1);
}

static void a_fair_waiter_asks_instead_of_looking(void **state)
{
    struct rl_acquire_config config = config_for(3);
    struct waiter waiter;

    (void)state;
    config.fair = true;
    start_watching_with(&waiter, &config);
    tell(&waiter, RL_EVENT_TIMER, 0, ms_of(waiter.acquire.wake_at) + 1);
    assert_round(&waiter);
    assert_false(waiter.acquire.woken);
}

/* ---- nodes that come and go ---- */

static void a_node_that_is_back_is_watched_again(void **state)
{
    struct waiter waiter;

    (void)state;
    start_watching(&waiter, 3);
    tell(&waiter, RL_EVENT_DOWN, 1, 100);
    assert_waits(&waiter);
    tell(&waiter, RL_EVENT_CHANGED, 1, 101); /* said before it went: no longer known */
    tell(&waiter, RL_EVENT_CHANGED, 0, 101);
    assert_waits(&waiter);
    tell(&waiter, RL_EVENT_UP, 1, 200);
    assert_waits(&waiter);
    assert_int_equal(waiter.effects.watch, 2);
    show_free(&waiter, 1, 202);
    assert_round(&waiter);
}

static void a_lost_node_is_looked_for_soon(void **state)
{
    struct waiter waiter;

    (void)state;
    start_watching(&waiter, 3);
    tell(&waiter, RL_EVENT_DOWN, 1, 100);
    assert_in_range(ms_of(waiter.acquire.wake_at), 1100, 2100);
}

static void when_too_few_are_left_it_is_polled(void **state)
{
    struct waiter waiter;

    (void)state;
    start_watching(&waiter, 3);
    tell(&waiter, RL_EVENT_DOWN, 1, 100);
    tell(&waiter, RL_EVENT_DOWN, 0, 100);
    assert_in_range(ms_of(waiter.acquire.wake_at), 110, 100 + RETRY_MAX_MS);
    tell(&waiter, RL_EVENT_TIMER, 0, ms_of(waiter.acquire.wake_at) + 1);
    assert_round(&waiter);
}

/* ---- the end of patience ---- */

static void the_wait_ends_when_its_time_is_up(void **state)
{
    struct rl_acquire_config config = config_for(3);
    struct waiter waiter;

    (void)state;
    config.give_up_at = at(700);
    start_watching_with(&waiter, &config);
    assert_int_equal(waiter.acquire.wake_at.us, at(700).us);
    tell(&waiter, RL_EVENT_TIMER, 0, 700);
    assert_true(waiter.effects.done);
    assert_int_equal(waiter.acquire.outcome, RL_OUTCOME_TIMEOUT);
    assert_int_equal(waiter.effects.release | waiter.effects.acquire | waiter.effects.watch, 0);
}

static void a_cancelled_waiter_has_nothing_to_undo(void **state)
{
    struct waiter waiter;

    (void)state;
    start_watching(&waiter, 3);
    tell(&waiter, RL_EVENT_CANCEL, 0, 100);
    assert_true(waiter.effects.done);
    assert_int_equal(waiter.acquire.outcome, RL_OUTCOME_CANCELED);
    assert_int_equal(waiter.effects.release, 0);
    tell(&waiter, RL_EVENT_CHANGED, 0, 101);
    assert_true(walk_no_effects(&waiter.effects));
}

/* ---- who waits is to be seen ---- */

static void whoever_has_waited_for_a_second_is_shown_and_again_every_ten(void **state)
{
    struct rl_acquire_config config = config_for(3);
    struct waiter waiter;

    (void)state;
    waiter.prng = rl_prng_seed(1);
    waiter.splits = false;
    rl_acquire_init(&waiter.acquire, &config, &waiter.prng);
    tell(&waiter, RL_EVENT_START, 0, 0);
    lose(&waiter);
    for (uint32_t node = 0; node < 3; node++)
        show(&waiter, node, 6, HELD_MS, YOU, true);
    assert_int_equal(waiter.acquire.wake_at.us, at(1000).us);
    tell(&waiter, RL_EVENT_TIMER, 0, 1000);
    assert_true(waiter.effects.present);
    assert_waits(&waiter);
    assert_int_equal(waiter.acquire.show_at.us, at(11000).us);
    tell(&waiter, RL_EVENT_TIMER, 0, 1001);
    assert_false(waiter.effects.present);
}

/* ---- crowds ---- */

/* Woken and beaten to it, so many times, each time a while after it began to watch. */
static void be_beaten(struct waiter *waiter, int times)
{
    for (; times > 0; times--) {
        int64_t ms = ms_of(waiter->acquire.watching_since) + 100;

        for (uint32_t node = 0; node < 2; node++)
            tell(waiter, RL_EVENT_CHANGED, node, ms);
        if (waiter->acquire.phase == RL_ACQUIRE_RESTING)
            tell(waiter, RL_EVENT_TIMER, 0, ms_of(waiter->acquire.wake_at) + 1);
        assert_round(waiter);
        lose(waiter);
        for (uint32_t node = 0; node < 3; node++) /* another one each time */
            show(waiter, node, ms_of(waiter->acquire.asked) + 6, HELD_MS, (uint64_t)(YOU + times), true);
    }
}

static void patience_grows_with_wake_ups_that_came_to_nothing(void **state)
{
    struct waiter waiter;

    (void)state;
    start_watching(&waiter, 3);
    assert_int_equal(waiter.acquire.patience, 0);
    be_beaten(&waiter, 3);
    assert_int_equal(waiter.acquire.patience, 3);
}

/* Whoever came too late is told so, at the price of a round; split votes cost everybody one. */
static void it_grows_further_where_votes_are_split(void **state)
{
    struct waiter waiter;
    uint32_t late;

    (void)state;
    start_watching(&waiter, 3);
    be_beaten(&waiter, 20);
    late = waiter.acquire.patience;
    assert_in_range(late, 4, RL_PATIENCE_MAX - 1);
    waiter.splits = true;
    be_beaten(&waiter, 20);
    assert_int_equal(waiter.acquire.patience, RL_PATIENCE_MAX);
}

/* Free again so soon after it was watched that nobody can have done much with it. */
static void be_beaten_to_a_hot_lock(struct waiter *waiter)
{
    int64_t ms = ms_of(waiter->acquire.watching_since) + 10;

    for (uint32_t node = 0; node < 2; node++)
        tell(waiter, RL_EVENT_CHANGED, node, ms);
    assert_round(waiter);
    lose(waiter);
}

static void assert_dozes(const struct waiter *waiter)
{
    assert_int_equal(waiter->acquire.phase, RL_ACQUIRE_RESTING);
    assert_int_equal(waiter->effects.watch, 0);
    assert_true(waiter->effects.rest.us > 0);
}

/* Looks, is told by all that somebody has it, and waits. */
static void wake_and_look(struct waiter *waiter)
{
    int64_t ms = ms_of(waiter->acquire.wake_at) + 1;

    tell(waiter, RL_EVENT_TIMER, 0, ms);
    assert_int_equal(waiter->effects.watch, rl_node_set_all(3));
    for (uint32_t node = 0; node < 3; node++)
        show(waiter, node, ms + 1, HELD_MS, (uint64_t)ms, true);
    assert_waits(waiter);
}

static void who_comes_too_late_for_a_hot_lock_stays_away_and_then_looks(void **state)
{
    struct waiter waiter;

    (void)state;
    start_watching(&waiter, 3);
    be_beaten_to_a_hot_lock(&waiter);
    assert_dozes(&waiter);
    wake_and_look(&waiter);
    be_beaten_to_a_hot_lock(&waiter); /* it asks at once: the others are away */
    assert_dozes(&waiter);
    assert_int_equal(waiter.acquire.heat, 2);
}

static void nobody_stays_away_longer_than_the_longest_pause(void **state)
{
    struct waiter waiter;

    (void)state;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        struct rl_acquire_config config = config_for(3);

        config.retry_max = rl_span_ms(30);
        config.heat = RL_HEAT_MAX;
        start(&waiter, &config);
        waiter.prng = rl_prng_seed(seed);
        lose(&waiter);
        assert_dozes(&waiter);
        assert_true(waiter.effects.rest.us <= 30000);
    }
}

static void a_lock_that_is_held_for_longer_is_not_hot(void **state)
{
    struct waiter waiter;

    (void)state;
    start_watching(&waiter, 3);
    be_beaten_to_a_hot_lock(&waiter);
    wake_and_look(&waiter);
    for (uint32_t node = 0; node < 2; node++)
        tell(&waiter, RL_EVENT_CHANGED, node, ms_of(waiter.acquire.watching_since) + 500);
    assert_int_equal(waiter.acquire.heat, 0);
    if (waiter.acquire.phase == RL_ACQUIRE_RESTING)
        tell(&waiter, RL_EVENT_TIMER, 0, ms_of(waiter.acquire.wake_at) + 1);
    lose(&waiter);
    assert_waits(&waiter); /* told by the nodes, not away */
}

static void time_runs_out_while_it_stays_away_too(void **state)
{
    struct rl_acquire_config config = config_for(3);
    struct waiter waiter;

    (void)state;
    config.heat = 1;
    config.give_up_at = at(10);
    start(&waiter, &config);
    lose(&waiter);
    assert_dozes(&waiter);
    tell(&waiter, RL_EVENT_TIMER, 0, 10);
    assert_true(waiter.effects.done);
    assert_int_equal(waiter.acquire.outcome, RL_OUTCOME_TIMEOUT);
}

static void a_patient_waiter_comes_at_a_random_time_within_its_patience(void **state)
{
    int64_t least = INT64_MAX, most = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct rl_acquire_config config = config_for(3);
        struct waiter waiter;
        int64_t rest;

        config.patience = 3;
        start_watching_with(&waiter, &config);
        waiter.prng = rl_prng_seed(seed);
        tell(&waiter, RL_EVENT_CHANGED, 0, 100);
        tell(&waiter, RL_EVENT_CHANGED, 1, 100);
        rest = waiter.effects.acquire != 0 ? 0 : waiter.effects.rest.us;
        assert_true(rest <= 4 * 4000); /* its round took 4 ms: up to 2^2 of these */
        least = rest < least ? rest : least;
        most = rest > most ? rest : most;
    }
    assert_true(least < 2000);
    assert_true(most > 14000);
}

static void no_patience_is_longer_than_the_longest_pause(void **state)
{
    struct rl_acquire_config config = config_for(3);

    (void)state;
    config.patience = RL_PATIENCE_MAX;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct waiter waiter;

        start_watching_with(&waiter, &config);
        waiter.prng = rl_prng_seed(seed);
        tell(&waiter, RL_EVENT_CHANGED, 0, 100);
        tell(&waiter, RL_EVENT_CHANGED, 1, 100);
        assert_true(waiter.effects.rest.us <= rl_span_ms(RETRY_MAX_MS).us);
    }
}

/* ---- the queue of its process ---- */

static void start_queued(struct waiter *waiter, int64_t give_up_ms)
{
    struct rl_acquire_config config = config_for(3);

    config.queued = true;
    config.give_up_at = at(give_up_ms);
    start(waiter, &config);
    assert_int_equal(waiter->acquire.phase, RL_ACQUIRE_QUEUED);
    assert_true(walk_no_effects(&waiter->effects));
}

static void in_the_queue_it_asks_nobody_until_its_turn(void **state)
{
    struct waiter waiter;

    (void)state;
    start_queued(&waiter, FOREVER_MS);
    tell(&waiter, RL_EVENT_CHANGED, 0, 50);
    tell(&waiter, RL_EVENT_UP, 0, 50);
    tell(&waiter, RL_EVENT_TIMER, 0, 50);
    assert_int_equal(waiter.acquire.phase, RL_ACQUIRE_QUEUED);
    tell(&waiter, RL_EVENT_TURN, 0, 100);
    assert_round(&waiter);
    assert_int_equal(waiter.acquire.asked.us, at(100).us);
    tell(&waiter, RL_EVENT_TURN, 0, 101);
    assert_true(walk_no_effects(&waiter.effects));
}

static void time_runs_out_in_the_queue_too(void **state)
{
    struct waiter waiter;

    (void)state;
    start_queued(&waiter, 300);
    assert_int_equal(waiter.acquire.wake_at.us, at(300).us);
    tell(&waiter, RL_EVENT_TIMER, 0, 300);
    assert_true(waiter.effects.done);
    assert_int_equal(waiter.acquire.outcome, RL_OUTCOME_TIMEOUT);
    assert_int_equal(waiter.effects.release, 0);
}

static void who_leaves_the_queue_leaves_nothing_behind(void **state)
{
    struct waiter waiter;

    (void)state;
    start_queued(&waiter, FOREVER_MS);
    tell(&waiter, RL_EVENT_CANCEL, 0, 10);
    assert_true(waiter.effects.done);
    assert_int_equal(waiter.effects.release, 0);
}

static void out_of_courtesy_it_looks_before_it_asks(void **state)
{
    struct waiter waiter;

    (void)state;
    start_queued(&waiter, FOREVER_MS);
    waiter.acquire.trip = rl_span_ms(2);
    step(&waiter, (struct rl_event){.kind = RL_EVENT_TURN, .courtesy = true}, 100);
    assert_waits(&waiter);
    assert_int_equal(waiter.effects.watch, 7);
    show_free(&waiter, 0, 102);
    show_free(&waiter, 1, 102);
    assert_true(waiter.effects.rest.us > 0 && waiter.effects.rest.us <= 32000);
    tell(&waiter, RL_EVENT_TIMER, 0, ms_of(waiter.acquire.wake_at) + 1);
    assert_round(&waiter);
    assert_int_equal(waiter.acquire.round, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lost_round_watches_all_nodes),
        cmocka_unit_test(who_tries_once_watches_nothing),
        cmocka_unit_test(unfit_nodes_are_not_watched),
        cmocka_unit_test(a_missing_quorum_is_rested_from_not_watched),
        cmocka_unit_test(a_look_that_shows_it_free_begins_a_round_at_once),
        cmocka_unit_test(answers_to_an_older_look_do_not_count),
        cmocka_unit_test(foreign_keys_on_a_quorum_end_it),
        cmocka_unit_test(a_quorum_of_changes_begins_a_round_and_a_minority_does_not),
        cmocka_unit_test(a_free_node_and_a_change_make_a_quorum_together),
        cmocka_unit_test(a_quorum_of_ends_begins_a_round),
        cmocka_unit_test(an_answer_that_is_read_late_counts_from_when_it_was_due),
        cmocka_unit_test(a_change_while_asking_is_nobodys_business),
        cmocka_unit_test(a_holder_that_renews_is_looked_at_first),
        cmocka_unit_test(a_renewing_holder_that_is_gone_is_followed),
        cmocka_unit_test(the_next_holder_is_challenged_again),
        cmocka_unit_test(too_few_that_tell_are_polled_with_growing_pauses),
        cmocka_unit_test(the_end_of_its_key_counts_on_a_node_that_cannot_tell),
        cmocka_unit_test(one_node_that_cannot_tell_is_looked_at_every_other_second),
        cmocka_unit_test(nodes_that_do_not_answer_the_look_are_not_relied_upon),
        cmocka_unit_test(a_waiter_that_all_will_tell_looks_again_after_five_to_ten_seconds),
        cmocka_unit_test(a_fair_waiter_asks_instead_of_looking),
        cmocka_unit_test(a_node_that_is_back_is_watched_again),
        cmocka_unit_test(a_lost_node_is_looked_for_soon),
        cmocka_unit_test(when_too_few_are_left_it_is_polled),
        cmocka_unit_test(the_wait_ends_when_its_time_is_up),
        cmocka_unit_test(a_cancelled_waiter_has_nothing_to_undo),
        cmocka_unit_test(whoever_has_waited_for_a_second_is_shown_and_again_every_ten),
        cmocka_unit_test(patience_grows_with_wake_ups_that_came_to_nothing),
        cmocka_unit_test(it_grows_further_where_votes_are_split),
        cmocka_unit_test(who_comes_too_late_for_a_hot_lock_stays_away_and_then_looks),
        cmocka_unit_test(nobody_stays_away_longer_than_the_longest_pause),
        cmocka_unit_test(a_lock_that_is_held_for_longer_is_not_hot),
        cmocka_unit_test(time_runs_out_while_it_stays_away_too),
        cmocka_unit_test(a_patient_waiter_comes_at_a_random_time_within_its_patience),
        cmocka_unit_test(no_patience_is_longer_than_the_longest_pause),
        cmocka_unit_test(in_the_queue_it_asks_nobody_until_its_turn),
        cmocka_unit_test(time_runs_out_in_the_queue_too),
        cmocka_unit_test(who_leaves_the_queue_leaves_nothing_behind),
        cmocka_unit_test(out_of_courtesy_it_looks_before_it_asks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

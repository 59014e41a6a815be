/*
 * The Lua script by which a node is admitted, on a real node: what it remembers, its quarantine and its
 * floor, terms of several clients, and clients of version 0.1. Each rule is shown from both sides; the
 * guard's keys are planted by hand.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/guarded.h"
#include "support/old_scripts.h"
#include "support/script_calls.h"
#include "support/steps.h"

/* What a client says; zero means what most clients would say. */
struct asks {
    const char *run, *id, *word, *known, *replid, *terms;
    int64_t q_ms, up_ms, floor;
    bool durable;
};

struct admitted {
    int64_t state, now_us, wait_ms;
    char record[128], floor[32], terms[128];
    int64_t q_ms, until_ms; /* of the record */
    char run[64], id[64];
};

static const char *or_else(const char *word, const char *otherwise)
{
    return word != NULL ? word : otherwise;
}

static struct admitted admit(struct fleet *fleet, struct asks asks)
{
    const char *words[] = {EPOCH_KEY,
                           FLOOR_KEY,
                           TERMS_KEY,
                           or_else(asks.run, "run-a"),
                           or_else(asks.id, "fresh"),
                           decimal(asks.q_ms != 0 ? asks.q_ms : 1000),
                           asks.durable ? "1" : "0",
                           decimal(asks.up_ms),
                           or_else(asks.word, ""),
                           asks.floor != 0 ? decimal(asks.floor) : "",
                           or_else(asks.known, ""),
                           or_else(asks.replid, ""),
                           or_else(asks.terms, "")};
    struct admitted admitted = {0};
    const char *answer = call_script(fleet, &rl_script_admit, "3", words, 13);

    if (count_lines(answer) != 6)
        fail_msg("not an admission: %s", answer);
    admitted.state = number_at(answer, 0);
    admitted.now_us = number_at(answer, 1);
    admitted.wait_ms = number_at(answer, 3);
    assert_int_equal(sscanf(answer, "%*d\n%*d\n%127[^\n]", admitted.record), 1);
    snprintf(admitted.terms, sizeof admitted.terms, "%s", strrchr(answer, '\n') + 1);
    for (int line = 0; line < 4; line++)
        answer = strchr(answer, '\n') + 1;
    snprintf(admitted.floor, sizeof admitted.floor, "%.*s", (int)strcspn(answer, "\n"), answer);
    assert_int_equal(sscanf(admitted.record, "1 %63s %63s %" SCNd64 " %" SCNd64, admitted.run, admitted.id,
                            &admitted.q_ms, &admitted.until_ms),
                     4);
    if (asks.word != NULL && strcmp(asks.word, "look") == 0)
        return admitted; /* it only tells what it would be */
    assert_value(fleet, EPOCH_KEY, admitted.record);
    assert_value(fleet, FLOOR_KEY, admitted.floor[0] != '\0' ? admitted.floor : "(nil)");
    return admitted;
}

static int64_t changes(struct fleet *fleet)
{
    static const char field[] = "rdb_changes_since_last_save:";
    const char *info = fleet_command(fleet, 0, "INFO", "persistence", NULL);
    const char *found = strstr(info, field);

    assert_non_null(found);
    return strtoll(found + sizeof field - 1, NULL, 10);
}

static void a_node_without_a_record_is_quarantined(void **state)
{
    struct admitted admitted = admit(*state, (struct asks){.q_ms = 5000});

    assert_int_equal(admitted.state, 2);
    assert_int_equal(admitted.wait_ms, 5000);
    assert_int_equal(admitted.until_ms, admitted.now_us / 1000 + 5000);
    assert_int_equal(admitted.q_ms, 5000);
    assert_string_equal(admitted.run, "run-a");
    assert_string_equal(admitted.id, "fresh");
    assert_string_equal(admitted.floor, "");
}

/* However long it has been up: it may have been flushed a moment ago. Nor does it help to be called
 * durable. */
static void a_node_without_a_record_gets_no_credit(void **state)
{
    struct admitted admitted = admit(*state, (struct asks){.q_ms = 5000, .up_ms = 3600000, .durable = true});

    assert_int_equal(admitted.state, 2);
    assert_int_equal(admitted.wait_ms, 5000);
}

static void an_unreadable_record_counts_as_none(void **state)
{
    struct fleet *fleet = *state;
    static const char *const odd[] = {
        "", "1 a b c 0", "2 run-a id 1000 0", "1 run-a id 1000 0 ", "1 run-a id 172800001 0", "nonsense"};

    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        plant(fleet, EPOCH_KEY, odd[i]);
        plant(fleet, FLOOR_KEY, "5");
        assert_int_equal(admit(fleet, (struct asks){0}).wait_ms, 1000);
    }
}

static void plant_fit(struct fleet *fleet)
{
    plant(fleet, EPOCH_KEY, "1 run-a id 1000 0");
    plant(fleet, FLOOR_KEY, "5");
}

static void the_same_run_stays_fit_and_nothing_is_written(void **state)
{
    struct fleet *fleet = *state;
    struct admitted admitted;
    int64_t before;

    plant_fit(fleet);
    admit(fleet, (struct asks){0});
    before = changes(fleet);
    admitted = admit(fleet, (struct asks){0});
    assert_int_equal(admitted.state, 1);
    assert_int_equal(admitted.wait_ms, 0);
    assert_string_equal(admitted.record, "1 run-a id 1000 0");
    assert_string_equal(admitted.floor, "5");
    assert_int_equal(changes(fleet), before);
    admit(fleet, (struct asks){.q_ms = 2000});
    assert_true(changes(fleet) > before);
}

static void waiting_again_writes_nothing_either(void **state)
{
    struct fleet *fleet = *state;
    struct admitted first = admit(fleet, (struct asks){.q_ms = 60000});
    int64_t before = changes(fleet);
    struct admitted second = admit(fleet, (struct asks){.q_ms = 60000, .id = "another"});

    assert_int_equal(second.state, 2);
    assert_string_equal(second.record, first.record);
    assert_int_equal(changes(fleet), before);
}

static void another_run_lost_its_data_and_is_quarantined(void **state)
{
    struct fleet *fleet = *state;
    struct admitted admitted;

    plant_fit(fleet);
    admitted = admit(fleet, (struct asks){.run = "run-b"});
    assert_int_equal(admitted.state, 2);
    assert_int_equal(admitted.wait_ms, 1000);
    assert_string_equal(admitted.run, "run-b");
    assert_string_equal(admitted.id, "fresh");
    assert_string_equal(admitted.floor, "");
}

static void another_run_of_a_durable_node_goes_on(void **state)
{
    struct fleet *fleet = *state;
    struct admitted admitted;

    plant_fit(fleet);
    admitted = admit(fleet, (struct asks){.run = "run-b", .durable = true});
    assert_int_equal(admitted.state, 1);
    assert_string_equal(admitted.record, "1 run-b id 1000 0");
    assert_string_equal(admitted.floor, "5");
}

static void a_durable_node_that_was_waiting_goes_on_waiting(void **state)
{
    struct fleet *fleet = *state;
    struct admitted first = admit(fleet, (struct asks){.q_ms = 60000});
    struct admitted second = admit(fleet, (struct asks){.q_ms = 60000, .run = "run-b", .durable = true});

    assert_int_equal(second.state, 2);
    assert_int_equal(second.until_ms, first.until_ms);
}

static void a_new_history_of_the_same_run_lost_nothing(void **state)
{
    struct fleet *fleet = *state;
    struct admitted admitted;

    plant(fleet, EPOCH_KEY, "1 run-a.1 id 1000 0");
    plant(fleet, FLOOR_KEY, "5");
    admitted = admit(fleet, (struct asks){.run = "run-a.2"});
    assert_int_equal(admitted.state, 1);
    assert_string_equal(admitted.record, "1 run-a.2 id 1000 0");
    assert_string_equal(admitted.floor, "5");
}

/* Not even where the operator declared it durable: it remembers, but perhaps not what it was told itself. */
static void a_node_that_was_a_replica_is_quarantined_in_full(void **state)
{
    struct fleet *fleet = *state;
    struct admitted admitted;

    plant(fleet, EPOCH_KEY, "1 run-a.1 id 1000 0");
    plant(fleet, FLOOR_KEY, "5");
    admitted = admit(fleet, (struct asks){.run = "run-a.2", .up_ms = -1, .durable = true});
    assert_int_equal(admitted.state, 2);
    assert_int_equal(admitted.wait_ms, 1000);
    assert_string_equal(admitted.run, "run-a.2");
    assert_string_equal(admitted.id, "fresh");
    assert_string_equal(admitted.floor, "");
}

static void a_node_that_is_another_master_than_was_greeted_is_not_admitted(void **state)
{
    struct fleet *fleet = *state;
    const char *words[] = {EPOCH_KEY, FLOOR_KEY, TERMS_KEY, "run-b", "fresh",      "1000", "0",
                           "0",       "",        "",        "",      "not-its-id", ""};
    const char *info;
    char replid[41];

    plant_fit(fleet);
    assert_int_equal(number_at(call_script(fleet, &rl_script_admit, "3", words, 13), 0), 0);
    assert_value(fleet, EPOCH_KEY, "1 run-a id 1000 0");
    info = fleet_command(fleet, 0, "INFO", "replication", NULL);
    assert_int_equal(sscanf(strstr(info, "master_replid:"), "master_replid:%40s", replid), 1);
    assert_int_equal(admit(fleet, (struct asks){.replid = replid}).state, 1);
}

static void time_since_the_restart_is_credited(void **state)
{
    struct fleet *fleet = *state;
    struct admitted admitted;

    plant(fleet, EPOCH_KEY, "1 run-a id 60000 0");
    plant(fleet, FLOOR_KEY, "5");
    admitted = admit(fleet, (struct asks){.run = "run-b", .q_ms = 60000, .up_ms = 20000});
    assert_int_equal(admitted.state, 2);
    assert_int_equal(admitted.wait_ms, 40000);
    assert_string_equal(admitted.floor, "");
}

static void a_node_that_has_been_up_long_enough_lacks_only_its_floor(void **state)
{
    struct fleet *fleet = *state;
    struct admitted admitted;

    plant_fit(fleet);
    admitted = admit(fleet, (struct asks){.run = "run-b", .up_ms = 3600000});
    assert_int_equal(admitted.state, 3);
    assert_int_equal(admitted.wait_ms, 0);
    assert_in_range(admitted.until_ms, 1, admitted.now_us / 1000);
    assert_string_equal(admitted.id, "fresh");
    assert_string_equal(admitted.floor, "");
}

static void a_quarantine_that_was_longer_is_not_cut_by_a_restart(void **state)
{
    struct fleet *fleet = *state;
    struct admitted first = admit(fleet, (struct asks){.q_ms = 60000});
    struct admitted second = admit(fleet, (struct asks){.q_ms = 60000, .run = "run-b", .up_ms = 50000});

    assert_int_equal(second.state, 2);
    assert_true(second.until_ms >= first.until_ms);
}

/* ---- terms --------------------------------------------------------------------------------------------- */

static void a_longer_term_costs_a_node_that_remembers_nothing(void **state)
{
    struct fleet *fleet = *state;
    struct admitted admitted;

    plant_fit(fleet);
    admitted = admit(fleet, (struct asks){.q_ms = 60000});
    assert_int_equal(admitted.state, 1);
    assert_int_equal(admitted.q_ms, 60000);
    assert_string_equal(admitted.id, "id");
    assert_string_equal(admitted.floor, "5");
    /* But once it has forgotten, it sits out for as long as anybody needs it to. */
    admitted = admit(fleet, (struct asks){.q_ms = 1000, .run = "run-b"});
    assert_int_equal(admitted.q_ms, 60000);
    assert_int_equal(admitted.wait_ms, 60000);
}

static const char *ask_for_vote(struct fleet *fleet, const char *epoch)
{
    const char *words[] = {"lock", "me", "5000", "7", epoch, "9007199254740991", ""};

    return call_script(fleet, &rl_script_ask, "1", words, 7);
}

/* A vote is asked with what changes when memory is lost: others who announce longer locks do not get in
 * between. */
static void a_longer_term_refuses_nobody_elses_question(void **state)
{
    struct fleet *fleet = *state;

    plant_fit(fleet);
    admit(fleet, (struct asks){.q_ms = 60000});
    assert_int_equal(number_at(ask_for_vote(fleet, "1 run-a id "), 0), 1);
    fleet_command(fleet, 0, "DEL", "lock", NULL);
    assert_int_equal(number_at(ask_for_vote(fleet, "1 run-a ie "), 0), -3);
    assert_int_equal(number_at(ask_for_vote(fleet, ""), 0), -3);
}

static void a_longer_term_is_counted_from_when_the_node_lost_its_data(void **state)
{
    struct fleet *fleet = *state;
    struct admitted first, told;
    int64_t forgot_ms;

    plant_fit(fleet);
    first = admit(fleet, (struct asks){.run = "run-b", .up_ms = 3000});
    assert_int_equal(first.state, 3);
    forgot_ms = first.now_us / 1000 - 3000;
    told = admit(
        fleet,
        (struct asks){.run = "run-b", .known = first.record, .floor = 7, .terms = "60000:9000,1000:99000"});
    assert_int_equal(told.state, 2);
    assert_int_equal(told.until_ms, forgot_ms + 60000);
    assert_string_equal(told.floor, "");
    assert_string_equal(told.id, "fresh");
}

static void a_term_for_another_record_is_not_taken(void **state)
{
    struct fleet *fleet = *state;

    plant(fleet, EPOCH_KEY, "1 run-a id 1000 1");
    assert_int_equal(
        admit(fleet, (struct asks){.floor = 7, .known = "1 run-a older 1000 1", .terms = "60000:9000"}).q_ms,
        1000);
}

static void a_term_that_nobody_announces_any_more_fades(void **state)
{
    struct fleet *fleet = *state;
    int64_t now_ms = node_now(fleet) / 1000;
    char terms[64];

    plant(fleet, EPOCH_KEY, "1 run-a id 86400000 0");
    plant(fleet, FLOOR_KEY, "5");
    snprintf(terms, sizeof terms, "86400000:%s,1000:%s", decimal(now_ms + 60000), decimal(now_ms + 120000));
    plant(fleet, TERMS_KEY, terms);
    assert_int_equal(admit(fleet, (struct asks){.q_ms = 900}).q_ms, 86400000);
    snprintf(terms, sizeof terms, "86400000:%s,1000:%s", decimal(now_ms), decimal(now_ms + 120000));
    plant(fleet, TERMS_KEY, terms);
    assert_int_equal(admit(fleet, (struct asks){.q_ms = 900}).q_ms, 1000); /* not yet faded itself */
    assert_int_equal(admit(fleet, (struct asks){.q_ms = 900}).state, 1);
    /* Announced again, it stays. */
    assert_int_equal(admit(fleet, (struct asks){.q_ms = 86400000}).q_ms, 86400000);
    assert_int_equal(admit(fleet, (struct asks){.q_ms = 900}).q_ms, 86400000);
}

/* Two hours and the lock itself, rounded up to ten minutes; so that a clock that was set back makes no term
 * eternal. */
static void a_term_is_remembered_for_so_long_and_no_longer(void **state)
{
    struct fleet *fleet = *state;
    struct admitted admitted;
    long long left = 0;

    plant_fit(fleet);
    plant(fleet, TERMS_KEY, "50000:9999999999999,40000:nonsense,172800001:9999999999999");
    admitted = admit(fleet, (struct asks){0});
    assert_int_equal(admitted.q_ms, 50000);
    assert_int_equal(sscanf(admitted.terms, "50000:%lld", &left), 1);
    assert_in_range(left, 7250000, 7850000);
    assert_null(strstr(admitted.terms, "40000"));
}

static void terms_that_are_lost_alone_are_made_from_the_record(void **state)
{
    struct fleet *fleet = *state;

    plant_fit(fleet);
    admit(fleet, (struct asks){.q_ms = 60000});
    fleet_command(fleet, 0, "DEL", TERMS_KEY, NULL);
    assert_int_equal(admit(fleet, (struct asks){0}).q_ms, 60000);
}

static void many_terms_need_no_more_room_than_a_few(void **state)
{
    struct fleet *fleet = *state;
    struct admitted admitted = {0};

    plant_fit(fleet);
    for (int64_t q_ms = 9000; q_ms > 1000; q_ms -= 1000)
        admitted = admit(fleet, (struct asks){.q_ms = q_ms,
                                              .known = "1 run-a id 9000 0",
                                              .terms = "8500:1000,7500:2000,6500:3000,5500:4000,4500:5000"});
    assert_int_equal(admitted.q_ms, 9000);
    assert_true(strlen(admitted.terms) < 80);
}

/* ---- clients of version 0.1 ---- */

/* What such a client is answered: state and ms to wait. */
static void admit_old(struct fleet *fleet, struct asks asks, int64_t *answered, int64_t *wait_ms)
{
    const char *words[] = {EPOCH_KEY,
                           FLOOR_KEY,
                           or_else(asks.run, "run-a"),
                           "old",
                           decimal(asks.q_ms),
                           "0",
                           decimal(asks.up_ms),
                           or_else(asks.word, ""),
                           asks.floor != 0 ? decimal(asks.floor) : "",
                           or_else(asks.known, ""),
                           ""};
    const char *answer = call_script(fleet, &old_admit_0_1, "2", words, 11);

    *answered = number_at(answer, 0);
    *wait_ms = number_at(answer, 3);
}

static void old_and_new_clients_read_each_others_records(void **state)
{
    struct fleet *fleet = *state;
    int64_t answered, wait_ms;
    struct admitted admitted;

    /* The default max_ttl is the same quarantine to both. */
    admit(fleet, (struct asks){.q_ms = 61602, .word = "init", .floor = 7});
    admit_old(fleet, (struct asks){.q_ms = 61602}, &answered, &wait_ms);
    assert_int_equal(answered, 1);
    admitted = admit(fleet, (struct asks){.q_ms = 61602});
    assert_int_equal(admitted.state, 1);
    assert_string_equal(admitted.id, "fresh");
    /* A term that a new client announced holds for a node that an old one finds to have forgotten. */
    admit(fleet, (struct asks){.q_ms = 500000});
    admit_old(fleet, (struct asks){.q_ms = 61602, .run = "run-b"}, &answered, &wait_ms);
    assert_int_equal(answered, 2);
    assert_int_equal(wait_ms, 500000);
    admitted = admit(fleet, (struct asks){.q_ms = 61602, .run = "run-b"});
    assert_int_equal(admitted.state, 2);
    assert_in_range(admitted.wait_ms, 490000, 500000);
}

/* It takes the vote from nodes that remember, as it always did; the next new client gives it back, and knows
 * the term. */
static void an_old_client_with_longer_locks_stops_a_fleet_until_a_new_one_comes(void **state)
{
    struct fleet *fleet = *state;
    int64_t answered, wait_ms;
    struct admitted admitted;

    admit(fleet, (struct asks){.q_ms = 61602, .word = "init", .floor = 7});
    admit_old(fleet, (struct asks){.q_ms = 500000}, &answered, &wait_ms);
    assert_int_equal(answered, 2);
    admitted = admit(fleet, (struct asks){.q_ms = 61602});
    assert_int_equal(admitted.state, 1);
    assert_int_equal(admitted.q_ms, 500000);
    admit_old(fleet, (struct asks){.q_ms = 500000}, &answered, &wait_ms);
    assert_int_equal(answered, 1);
}

/* Its quarantine is over for the old client, which has no time of the loss in its record: told a longer term,
 * it waits rather too long. */
static void a_quarantine_that_an_old_client_ended_is_counted_from_its_end(void **state)
{
    struct fleet *fleet = *state;
    struct admitted admitted;
    int64_t answered, wait_ms;

    plant(fleet, EPOCH_KEY, "1 run-a id 1000 1");
    admit_old(fleet, (struct asks){.q_ms = 1000}, &answered, &wait_ms);
    assert_int_equal(answered, 3);
    admitted = admit(fleet, (struct asks){0});
    assert_int_equal(admitted.state, 3);
    admitted = admit(fleet, (struct asks){.known = admitted.record, .floor = 7, .terms = "60000:9000"});
    assert_int_equal(admitted.state, 2);
    assert_in_range(admitted.wait_ms, 50000, 59000);
}

static void after_its_quarantine_a_node_lacks_a_floor_and_takes_the_one_it_is_told(void **state)
{
    struct fleet *fleet = *state;
    struct admitted admitted;

    plant(fleet, EPOCH_KEY, "1 run-a id 1000 1");
    admitted = admit(fleet, (struct asks){0});
    assert_int_equal(admitted.state, 3);
    assert_string_equal(admitted.record, "1 run-a id 1000 1");
    admitted = admit(fleet, (struct asks){.floor = INT64_C(1700000000123456), .known = "1 run-a id 1000 1"});
    assert_int_equal(admitted.state, 1);
    assert_string_equal(admitted.floor, "1700000000123456");
}

/* Whoever worked it out may have slept since, and the node may have forgotten more. */
static void a_floor_for_another_record_is_not_taken(void **state)
{
    struct fleet *fleet = *state;
    struct admitted admitted;

    plant(fleet, EPOCH_KEY, "1 run-a id 1000 0");
    admitted = admit(fleet, (struct asks){.floor = 7, .known = "1 run-a older 1000 0"});
    assert_int_equal(admitted.state, 3);
    assert_string_equal(admitted.floor, "");
}

static void a_look_changes_nothing(void **state)
{
    struct fleet *fleet = *state;

    assert_int_equal(admit(fleet, (struct asks){.word = "look"}).state, 2);
    assert_string_equal(fleet_command(fleet, 0, "GET", EPOCH_KEY, NULL), "(nil)");
    plant(fleet, EPOCH_KEY, "1 run-a id 1000 0");
    plant(fleet, FLOOR_KEY, "5");
    assert_int_equal(admit(fleet, (struct asks){.word = "look", .q_ms = 60000}).state, 1);
    assert_string_equal(fleet_command(fleet, 0, "GET", EPOCH_KEY, NULL), "1 run-a id 1000 0");
    assert_string_equal(fleet_command(fleet, 0, "GET", FLOOR_KEY, NULL), "5");
}

static void a_floor_out_of_range_is_none(void **state)
{
    struct fleet *fleet = *state;

    plant(fleet, EPOCH_KEY, "1 run-a id 1000 0");
    for (const char *const *odd = (const char *const[]){"9007199254740990", "1e300", "nan", "-1", "x", NULL};
         *odd != NULL; odd++) {
        plant(fleet, FLOOR_KEY, *odd);
        assert_int_equal(admit(fleet, (struct asks){0}).state, 3);
    }
    assert_int_equal(
        admit(fleet, (struct asks){.floor = INT64_C(9007199254740991), .known = "1 run-a id 1000 0"}).state,
        3);
}

static void a_floor_is_only_ever_raised(void **state)
{
    struct fleet *fleet = *state;

    plant(fleet, EPOCH_KEY, "1 run-a id 1000 0");
    plant(fleet, FLOOR_KEY, "1700000000123456");
    assert_string_equal(admit(fleet, (struct asks){.floor = 7, .known = "1 run-a id 1000 0"}).floor,
                        "1700000000123456");
    assert_string_equal(
        admit(fleet, (struct asks){.floor = INT64_C(1700000000123457), .known = "1 run-a id 1000 0"}).floor,
        "1700000000123457");
}

/* A floor learned while locks that were forgotten may still be held is too early. */
static void a_floor_told_during_the_quarantine_is_not_taken(void **state)
{
    struct fleet *fleet = *state;
    struct admitted admitted = admit(fleet, (struct asks){.q_ms = 60000, .floor = 7});

    assert_int_equal(admitted.state, 2);
    assert_string_equal(admitted.floor, "");
}

static void the_operators_word_admits_at_once_with_a_floor_above_every_clock(void **state)
{
    struct fleet *fleet = *state;
    struct admitted admitted = admit(fleet, (struct asks){.q_ms = 60000, .word = "init", .floor = 7});

    assert_int_equal(admitted.state, 1);
    assert_int_equal(admitted.until_ms, 0);
    assert_string_equal(admitted.floor, decimal(admitted.now_us + 5 * SECOND_US));
    fleet_command(fleet, 0, "FLUSHALL", NULL);
    admitted = admit(fleet, (struct asks){.word = "init", .floor = INT64_C(8000000000000000)});
    assert_string_equal(admitted.floor, "8000000000000000");
    fleet_command(fleet, 0, "FLUSHALL", NULL);
    assert_int_equal(admit(fleet, (struct asks){.word = "init"}).state, 1); /* its own clock is enough */
}

static void the_operators_word_ends_a_quarantine(void **state)
{
    struct fleet *fleet = *state;

    assert_int_equal(admit(fleet, (struct asks){.q_ms = 60000}).state, 2);
    assert_int_equal(admit(fleet, (struct asks){.q_ms = 60000, .word = "init", .floor = 7}).state, 1);
    assert_int_equal(admit(fleet, (struct asks){.q_ms = 60000}).state, 1);
}

/* Many clients notice one step. The first sends the node out; the others must not lengthen it. */
static void one_suspicion_is_enough(void **state)
{
    struct fleet *fleet = *state;
    struct asks suspicion = {.word = "suspect", .known = "1 run-a id 1000 0"};
    struct admitted first, second;

    plant_fit(fleet);
    first = admit(fleet, suspicion);
    assert_int_equal(first.state, 2);
    assert_int_equal(first.wait_ms, 1000);
    assert_string_equal(first.id, "fresh");
    assert_string_equal(first.floor, "");
    suspicion.id = "second";
    second = admit(fleet, suspicion);
    assert_string_equal(second.record, first.record);
    suspicion.known = second.record; /* but a new step is a new matter */
    assert_string_equal(admit(fleet, suspicion).id, "second");
}

static void a_suspicion_of_a_record_that_is_gone_changes_nothing(void **state)
{
    struct fleet *fleet = *state;

    plant_fit(fleet);
    assert_int_equal(admit(fleet, (struct asks){.word = "suspect", .known = "1 run-a older 1000 0"}).state,
                     1);
    assert_int_equal(admit(fleet, (struct asks){.word = "suspect"}).state, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_A_FLUSHED_NODE(a_node_without_a_record_is_quarantined),
        ON_A_FLUSHED_NODE(a_node_without_a_record_gets_no_credit),
        ON_A_FLUSHED_NODE(an_unreadable_record_counts_as_none),
        ON_A_FLUSHED_NODE(the_same_run_stays_fit_and_nothing_is_written),
        ON_A_FLUSHED_NODE(waiting_again_writes_nothing_either),
        ON_A_FLUSHED_NODE(another_run_lost_its_data_and_is_quarantined),
        ON_A_FLUSHED_NODE(another_run_of_a_durable_node_goes_on),
        ON_A_FLUSHED_NODE(a_durable_node_that_was_waiting_goes_on_waiting),
        ON_A_FLUSHED_NODE(a_new_history_of_the_same_run_lost_nothing),
        ON_A_FLUSHED_NODE(a_node_that_was_a_replica_is_quarantined_in_full),
        ON_A_FLUSHED_NODE(a_node_that_is_another_master_than_was_greeted_is_not_admitted),
        ON_A_FLUSHED_NODE(time_since_the_restart_is_credited),
        ON_A_FLUSHED_NODE(a_node_that_has_been_up_long_enough_lacks_only_its_floor),
        ON_A_FLUSHED_NODE(a_quarantine_that_was_longer_is_not_cut_by_a_restart),
        ON_A_FLUSHED_NODE(a_longer_term_costs_a_node_that_remembers_nothing),
        ON_A_FLUSHED_NODE(a_longer_term_refuses_nobody_elses_question),
        ON_A_FLUSHED_NODE(a_longer_term_is_counted_from_when_the_node_lost_its_data),
        ON_A_FLUSHED_NODE(a_term_for_another_record_is_not_taken),
        ON_A_FLUSHED_NODE(a_term_that_nobody_announces_any_more_fades),
        ON_A_FLUSHED_NODE(a_term_is_remembered_for_so_long_and_no_longer),
        ON_A_FLUSHED_NODE(terms_that_are_lost_alone_are_made_from_the_record),
        ON_A_FLUSHED_NODE(many_terms_need_no_more_room_than_a_few),
        ON_A_FLUSHED_NODE(old_and_new_clients_read_each_others_records),
        ON_A_FLUSHED_NODE(an_old_client_with_longer_locks_stops_a_fleet_until_a_new_one_comes),
        ON_A_FLUSHED_NODE(a_quarantine_that_an_old_client_ended_is_counted_from_its_end),
        ON_A_FLUSHED_NODE(after_its_quarantine_a_node_lacks_a_floor_and_takes_the_one_it_is_told),
        ON_A_FLUSHED_NODE(a_floor_out_of_range_is_none),
        ON_A_FLUSHED_NODE(a_floor_is_only_ever_raised),
        ON_A_FLUSHED_NODE(a_floor_for_another_record_is_not_taken),
        ON_A_FLUSHED_NODE(a_look_changes_nothing),
        ON_A_FLUSHED_NODE(a_floor_told_during_the_quarantine_is_not_taken),
        ON_A_FLUSHED_NODE(the_operators_word_admits_at_once_with_a_floor_above_every_clock),
        ON_A_FLUSHED_NODE(the_operators_word_ends_a_quarantine),
        ON_A_FLUSHED_NODE(one_suspicion_is_enough),
        ON_A_FLUSHED_NODE(a_suspicion_of_a_record_that_is_gone_changes_nothing),
    };

    return cmocka_run_group_tests(tests, start_one_guarded, stop_guarded);
}

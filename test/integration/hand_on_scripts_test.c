/*
 * Tests of ask.lua and hand_on.lua on a real node: standing in line, being handed the lock, and every reason
 * to be passed over. The guard's keys are planted by hand. Waiters are called 'a' to 'f'; each has a channel
 * of its own, and hears what is told there on a connection of its own.
 */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "support/guarded.h"
#include "support/script_calls.h"
#include "support/steps.h"
#include "wire/hand_over.h"
#include "wire/lock_command.h"
#include "wire/node_url.h"
#include "wire/resp_reader.h"

#define LOCK "lock"
#define FENCE "redlock-fence:{lock}"
#define ORDER "redlock-line:{lock}:order"
#define WAITERS "redlock-line:{lock}:waiters"
#define LINES "redlock-guard:lines"
#define KNOWN "1 run id " /* as much of EPOCH as waiters know */
#define NEVER_LATE INT64_C(9007199254740991)
#define T0 INT64_C(1700000000000000)

enum { RECORD_MS = 30000, PATIENCE_MS = 20000, BYTES_MAX = 65536 };

/* ---- a waiter's ear ---- */

struct ear {
    int fd;
    char bytes[4096];
    size_t length, taken;
};

static void hear_message(struct ear *ear, size_t *start, size_t *end)
{
    struct pollfd waits = {.fd = ear->fd, .events = POLLIN};

    *start = *end = ear->taken;
    while (rl_resp_skip(ear->bytes, ear->length, end) != RL_RESP_OK) {
        ssize_t got;

        *end = ear->taken;
        assert_int_equal(poll(&waits, 1, PATIENCE_MS), 1);
        got = recv(ear->fd, ear->bytes + ear->length, sizeof ear->bytes - ear->length, 0);
        assert_true(got > 0);
        ear->length += (size_t)got;
    }
    ear->taken = *end;
}

static void say(const struct ear *ear, const struct rl_writer *words)
{
    assert_int_equal(send(ear->fd, words->bytes, words->length, MSG_NOSIGNAL), (ssize_t)words->length);
}

static const char *channel_of(char name)
{
    static char channels[6][16];
    char *channel = channels[name - 'a'];

    snprintf(channel, sizeof channels[0], RL_CHANNEL "%c", name);
    return channel;
}

/* Listens on its own channel from when this returns. */
static struct ear listen_as(struct fleet *fleet, char name)
{
    struct ear ear = {.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const char *text = fleet_url(fleet, 0);
    char bytes[256];
    struct rl_writer writer = rl_writer_on(bytes, sizeof bytes);
    struct rl_node_url url;
    size_t start, end;

    assert_null(rl_node_url_parse(text, strlen(text), &url));
    memcpy(address.sun_path, url.path, sizeof address.sun_path);
    assert_int_equal(connect(ear.fd, (struct sockaddr *)&address, sizeof address), 0);
    rl_write_command(&writer, 2);
    rl_write_text(&writer, "HELLO");
    rl_write_text(&writer, "3");
    rl_write_subscribe(&writer, channel_of(name));
    say(&ear, &writer);
    hear_message(&ear, &start, &end);
    hear_message(&ear, &start, &end);
    ear.length = ear.taken = 0;
    return ear;
}

static struct rl_hand_over hear(struct ear *ear)
{
    struct rl_hand_over hand_over;
    size_t start, end;

    hear_message(ear, &start, &end);
    assert_true(rl_hand_over_read(ear->bytes + start, end - start, &hand_over));
    return hand_over;
}

/* The connection answers commands, too, and in order: so nothing has been pushed before this. */
static void expect_silence(struct ear *ear)
{
    char bytes[64];
    struct rl_writer writer = rl_writer_on(bytes, sizeof bytes);
    size_t start, end;

    rl_write_command(&writer, 1);
    rl_write_text(&writer, "PING");
    say(ear, &writer);
    hear_message(ear, &start, &end);
    assert_int_equal(ear->bytes[start], '+');
}

/* Its channel has nobody any more: the node has noticed. */
static void die(struct fleet *fleet, struct ear *ear, char name)
{
    close(ear->fd);
    while (strstr(fleet_command(fleet, 0, "PUBSUB", "NUMSUB", channel_of(name), NULL), "\n0") == NULL)
        ;
}

/* ---- calls ---- */

static const char *owner_of(char name)
{
    static char owners[6][48];
    char *owner = owners[name - 'a'];

    memset(owner, name, 32);
    strcpy(owner + 32, "|pid=1");
    return owner;
}

static const char *send_words(struct fleet *fleet, const struct rl_lock_command *command)
{
    static char answer[BYTES_MAX];
    char bytes[16384];
    struct rl_writer writer = rl_writer_on(bytes, sizeof bytes);

    rl_lock_command_write(&writer, command, 0, true);
    assert_false(writer.overflow);
    send_request(fleet, &writer, answer, sizeof answer);
    answer[strlen(answer) - 1] = '\0';
    return answer;
}

static struct rl_lock_command command_of(char name, enum rl_command_kind kind)
{
    return (struct rl_lock_command){.kind = kind,
                                    .lock_kind = &rl_kind_line,
                                    .key = LOCK,
                                    .key_length = strlen(LOCK),
                                    .owner = owner_of(name),
                                    .owner_length = strlen(owner_of(name)),
                                    .ttl_ms = LONG_TTL_MS,
                                    .epoch = KNOWN,
                                    .not_after_us = NEVER_LATE};
}

static const char *ask_with(struct fleet *fleet, char name, const struct rl_place *place, const char *epoch)
{
    struct rl_lock_command command = command_of(name, RL_COMMAND_ACQUIRE);

    command.fence = (uint64_t)node_now(fleet);
    command.place = place;
    command.epoch = epoch;
    return send_words(fleet, &command);
}

static const char *ask(struct fleet *fleet, char name, int64_t ticket)
{
    struct rl_place place = {.ticket = (uint64_t)ticket, .lease_ms = RECORD_MS, .channel = channel_of(name)};

    return ask_with(fleet, name, &place, KNOWN);
}

static const char *try_once(struct fleet *fleet, char name)
{
    return ask_with(fleet, name, NULL, KNOWN);
}

static int64_t hand_back(struct fleet *fleet, char name)
{
    struct rl_lock_command command = command_of(name, RL_COMMAND_RELEASE);

    return number_at(send_words(fleet, &command), 0);
}

static void hold(struct fleet *fleet, const char *owner)
{
    plant_guard(fleet);
    fleet_command(fleet, 0, "SET", LOCK, owner, "PX", "60000", NULL);
}

/* Makes a waiter one that was last heard of so long ago. */
static void age(struct fleet *fleet, char name, int64_t by_us)
{
    char key[128], text[512];
    const char *record;
    int64_t asked;

    snprintf(key, sizeof key, "redlock-line:{lock}:%.32s", owner_of(name));
    record = fleet_command(fleet, 0, "GET", key, NULL);
    assert_int_equal(sscanf(record, "%" SCNd64, &asked), 1);
    snprintf(text, sizeof text, "%" PRId64 "%s", asked - by_us, strchr(record, ' '));
    fleet_command(fleet, 0, "SET", key, text, "PX", decimal(RECORD_MS), NULL);
}

static void expect_granted(const char *answer)
{
    if (count_lines(answer) != 1 || number_at(answer, 0) < T0)
        fail_msg("not a grant: %s", answer);
}

static void expect_in_line(const char *answer, int64_t place, int64_t ticket, int64_t holder_ticket)
{
    if (count_lines(answer) != 8 || number_at(answer, 0) != 0 || number_at(answer, 5) != place ||
        number_at(answer, 6) != ticket || number_at(answer, 7) != holder_ticket)
        fail_msg("expected place %" PRId64 ", ticket %" PRId64 ", holder's %" PRId64 ": %s", place, ticket,
                 holder_ticket, answer);
}

static void expect_line(struct fleet *fleet, const char *names)
{
    const char *at = fleet_command(fleet, 0, "ZRANGE", WAITERS, "0", "-1", NULL);
    char found[16] = "";

    for (size_t i = 0; *at != '\0' && i < sizeof found - 1; i++) {
        found[i] = *at;
        at += strcspn(at, "\n");
        at += *at == '\n';
    }
    assert_string_equal(found, names);
}

/* ---- standing in line ---- */

static void a_free_lock_is_granted_and_no_line_begins(void **state)
{
    plant_guard(*state);
    expect_granted(ask(*state, 'a', T0));
    assert_value(*state, LOCK, owner_of('a'));
    assert_string_equal(fleet_command(*state, 0, "EXISTS", ORDER, WAITERS, NULL), "0");
    assert_int_equal(hand_back(*state, 'a'), 1);
    assert_value(*state, LOCK, "(nil)");
}

static void a_held_lock_is_waited_for_in_order_of_tickets(void **state)
{
    hold(*state, "holder");
    expect_in_line(ask(*state, 'b', T0 + 1), 1, T0 + 1, 0);
    expect_in_line(ask(*state, 'c', T0 + 2), 2, T0 + 2, 0);
    expect_in_line(ask(*state, 'a', T0), 1, T0, 0);
    expect_line(*state, "abc");
    /* Everything ends by itself. */
    assert_in_range(ttl_of(*state, ORDER), 1, 60000);
    assert_in_range(ttl_of(*state, WAITERS), 1, 60000);
    assert_in_range(ttl_of(*state, "redlock-line:{lock}:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"), 1, RECORD_MS);
}

static void a_late_clock_goes_behind_all_and_a_settled_ticket_counts(void **state)
{
    struct rl_place settled = {
        .ticket = T0 - 5000, .settled = true, .lease_ms = RECORD_MS, .channel = channel_of('b')};

    hold(*state, "holder");
    ask(*state, 'a', T0);
    expect_in_line(ask(*state, 'b', T0 - 5000), 2, T0 + 1, 0);
    expect_in_line(ask_with(*state, 'b', &settled, KNOWN), 1, T0 - 5000, 0);
    expect_line(*state, "ba");
}

static void a_caller_that_does_not_wait_leaves_no_trace(void **state)
{
    hold(*state, "holder");
    assert_int_equal(count_lines(try_once(*state, 'a')), 5);
    assert_string_equal(fleet_command(*state, 0, "EXISTS", ORDER, WAITERS, NULL), "0");
}

static void a_caller_that_does_not_wait_is_refused_while_others_do(void **state)
{
    struct ear ear = listen_as(*state, 'a');
    const char *answer;

    hold(*state, "holder");
    ask(*state, 'a', T0);
    fleet_command(*state, 0, "DEL", LOCK, NULL); /* expired: nobody has noticed */
    answer = try_once(*state, 'b');
    assert_int_equal(count_lines(answer), 5);
    assert_non_null(strstr(answer, owner_of('a')));
    assert_value(*state, LOCK, owner_of('a'));
    hear(&ear);
    close(ear.fd);
}

/* ---- being handed the lock ---- */

static void a_release_hands_the_lock_to_the_first_in_line(void **state)
{
    struct ear first = listen_as(*state, 'b'), second = listen_as(*state, 'c');
    struct rl_hand_over heard;
    int64_t fence;

    plant_guard(*state);
    expect_granted(ask(*state, 'a', T0));
    ask(*state, 'b', T0 + 1);
    ask(*state, 'c', T0 + 2);
    fence = strtoll(fleet_command(*state, 0, "GET", FENCE, NULL), NULL, 10);
    assert_int_equal(hand_back(*state, 'a'), 1);
    heard = hear(&first);
    assert_value(*state, LOCK, owner_of('b'));
    assert_int_equal(heard.owner_length, strlen(owner_of('b')));
    assert_memory_equal(heard.owner, owner_of('b'), heard.owner_length);
    assert_int_equal(heard.epoch_length, strlen(KNOWN));
    assert_memory_equal(heard.epoch, KNOWN, heard.epoch_length);
    assert_int_equal(heard.key_length, strlen(LOCK));
    assert_memory_equal(heard.key, LOCK, heard.key_length);
    assert_true((int64_t)heard.fence > fence);
    assert_value(*state, FENCE, decimal((int64_t)heard.fence));
    assert_true(heard.node_us > T0 && heard.node_us <= node_now(*state));
    expect_line(*state, "c");
    expect_silence(&second);
    assert_int_equal(hand_back(*state, 'b'), 1);
    assert_true(hear(&second).fence > heard.fence);
    assert_int_equal(hand_back(*state, 'c'), 1);
    assert_value(*state, LOCK, "(nil)");
    close(first.fd);
    close(second.fd);
}

/* All nodes that had the same holder give the next one the same number: what it proposed, or one more than
 * the last. */
static void the_number_is_the_waiters_own_proposal(void **state)
{
    struct ear ear = listen_as(*state, 'b');
    int64_t before, asked;

    plant_guard(*state);
    expect_granted(ask(*state, 'a', T0));
    before = node_now(*state);
    asked = number_at(ask(*state, 'b', T0 + 1), 1);
    hand_back(*state, 'a');
    assert_in_range(hear(&ear).fence, before, asked);
    close(ear.fd);
}

static void giving_up_a_place_hands_nothing_on_while_it_is_held(void **state)
{
    struct ear ear = listen_as(*state, 'b');

    hold(*state, "holder");
    ask(*state, 'a', T0);
    ask(*state, 'b', T0 + 1);
    assert_int_equal(hand_back(*state, 'a'), 0);
    expect_line(*state, "b");
    expect_silence(&ear);
    assert_string_equal(
        fleet_command(*state, 0, "EXISTS", "redlock-line:{lock}:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", NULL),
        "0");
    close(ear.fd);
}

static void whoever_finds_it_expired_hands_it_to_the_first(void **state)
{
    struct ear ear = listen_as(*state, 'a');

    hold(*state, "holder");
    ask(*state, 'a', T0);
    ask(*state, 'b', T0 + 1);
    fleet_command(*state, 0, "DEL", LOCK, NULL);
    assert_int_equal(hand_back(*state, 'c'), -1); /* somebody who had nothing here */
    hear(&ear);
    assert_value(*state, LOCK, owner_of('a'));
    fleet_command(*state, 0, "DEL", LOCK, NULL);
    expect_granted(ask(*state, 'b', T0 + 1)); /* the first itself: it need not be told */
    close(ear.fd);
}

static void an_owner_is_granted_its_lock_again_and_keeps_its_number(void **state)
{
    struct ear ear = listen_as(*state, 'b');
    struct rl_hand_over heard;
    const char *answer;

    plant_guard(*state);
    ask(*state, 'a', T0);
    ask(*state, 'b', T0 + 1);
    hand_back(*state, 'a');
    heard = hear(&ear);
    fleet_command(*state, 0, "PEXPIRE", LOCK, "5000", NULL);
    answer = ask(*state, 'b', T0 + 1);
    assert_int_equal(count_lines(answer), 3);
    assert_int_equal(number_at(answer, 2), heard.fence);
    assert_in_range(ttl_of(*state, LOCK), 5001, LONG_TTL_MS);
    /* And its ticket is known to others from then on. */
    expect_in_line(ask(*state, 'c', T0 + 2), 1, T0 + 2, T0 + 1);
    close(ear.fd);
}

static void a_hold_that_was_broken_is_handed_on_by_its_holder(void **state)
{
    struct ear ear = listen_as(*state, 'a');
    char mark[64];

    snprintf(mark, sizeof mark, "broken|%s", owner_of('f'));
    hold(*state, mark);
    ask(*state, 'a', T0);
    assert_int_equal(hand_back(*state, 'f'), -5);
    hear(&ear);
    assert_value(*state, LOCK, owner_of('a'));
    close(ear.fd);
}

/* ---- being passed over ---- */

static void a_waiter_that_died_is_passed_over_in_the_same_step(void **state)
{
    struct ear dead = listen_as(*state, 'a'), lives = listen_as(*state, 'c');

    hold(*state, owner_of('f'));
    ask(*state, 'a', T0);
    ask(*state, 'b', T0 + 1); /* never listened */
    ask(*state, 'c', T0 + 2);
    die(*state, &dead, 'a');
    assert_int_equal(hand_back(*state, 'f'), 1);
    hear(&lives);
    assert_value(*state, LOCK, owner_of('c'));
    expect_line(*state, "");
    close(lives.fd);
}

static void a_waiter_whose_record_ended_is_gone(void **state)
{
    struct ear gone = listen_as(*state, 'a'), lives = listen_as(*state, 'b');

    hold(*state, owner_of('f'));
    ask(*state, 'a', T0);
    ask(*state, 'b', T0 + 1);
    fleet_command(*state, 0, "DEL", "redlock-line:{lock}:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", NULL);
    hand_back(*state, 'f');
    hear(&lives);
    expect_silence(&gone);
    close(gone.fd);
    close(lives.fd);
}

static void a_waiter_that_knows_another_epoch_is_given_nothing(void **state)
{
    struct ear ear = listen_as(*state, 'a');

    hold(*state, owner_of('f'));
    ask(*state, 'a', T0);
    plant(*state, EPOCH_KEY, "1 run another 1000 0");
    assert_int_equal(hand_back(*state, 'f'), 1);
    expect_silence(&ear);
    assert_value(*state, LOCK, "(nil)");
    close(ear.fd);
}

static void a_node_that_must_not_vote_hands_nothing_on(void **state)
{
    struct ear ear = listen_as(*state, 'a');

    hold(*state, owner_of('f'));
    ask(*state, 'a', T0);
    fleet_command(*state, 0, "DEL", FLOOR_KEY, NULL);
    assert_int_equal(hand_back(*state, 'f'), 1);
    expect_silence(&ear);
    assert_value(*state, LOCK, "(nil)");
    close(ear.fd);
}

static void a_lock_of_another_type_is_waited_for_and_left_alone(void **state)
{
    struct ear ear = listen_as(*state, 'a');

    hold(*state, "holder");
    ask(*state, 'a', T0);
    fleet_command(*state, 0, "DEL", LOCK, NULL);
    fleet_command(*state, 0, "HSET", LOCK, "field", "1", NULL);
    fleet_command(*state, 0, "PEXPIRE", LOCK, "60000", NULL);
    assert_int_equal(hand_back(*state, 'b'), -1);
    expect_in_line(ask(*state, 'c', T0 + 1), 2, T0 + 1, 0);
    expect_silence(&ear);
    assert_string_equal(fleet_command(*state, 0, "TYPE", LOCK, NULL), "hash");
    close(ear.fd);
}

/* ---- waiters that may have been stopped ---- */

static void a_waiter_that_was_not_heard_of_lately_gets_the_lock_for_a_second(void **state)
{
    struct ear ear = listen_as(*state, 'a');

    hold(*state, owner_of('f'));
    ask(*state, 'a', T0);
    age(*state, 'a', SECOND_US);
    hand_back(*state, 'f');
    assert_int_equal(hear(&ear).ttl_ms, 1000);
    assert_in_range(ttl_of(*state, LOCK), 1, 1000);
    assert_int_equal(count_lines(ask(*state, 'a', T0)), 3); /* it is there, and gets the rest */
    assert_in_range(ttl_of(*state, LOCK), 1001, LONG_TTL_MS);
    close(ear.fd);
}

/* So many stand in line, a first, and were not heard of lately; the first is handed the lock for a second. */
static void hand_on_to_stopped(struct fleet *fleet, struct ear *ears, int count)
{
    hold(fleet, owner_of('f'));
    for (char name = 'a'; name < 'a' + count; name++) {
        ask(fleet, name, T0 + name);
        age(fleet, name, SECOND_US);
    }
    hand_back(fleet, 'f');
    assert_int_equal(hear(&ears[0]).ttl_ms, 1000);
}

/* However many were stopped: one of them lets its second pass, and the others are passed over with it. */
static void stopped_waiters_cost_one_second_however_many_they_are(void **state)
{
    struct ear ears[3] = {listen_as(*state, 'a'), listen_as(*state, 'b'), listen_as(*state, 'c')};

    hand_on_to_stopped(*state, ears, 3);
    ask(*state, 'd', T0 + 'd');
    fleet_command(*state, 0, "DEL", LOCK, NULL); /* the second is over */
    age(*state, 'b', SECOND_US);
    age(*state, 'c', SECOND_US);
    expect_granted(ask(*state, 'd', T0 + 'd'));
    expect_silence(&ears[1]);
    expect_silence(&ears[2]);
    for (int i = 0; i < 3; i++)
        close(ears[i].fd);
}

static void expect_second_has_it(struct fleet *fleet, struct ear ears[2])
{
    hear(&ears[1]);
    assert_value(fleet, LOCK, owner_of('b'));
    for (int i = 0; i < 2; i++)
        close(ears[i].fd);
}

/* What was let pass may have been shorter than a second: those who ask every second have had no reason to ask
 * since. */
static void a_short_lock_that_was_let_pass_costs_nobody_a_place(void **state)
{
    struct ear ears[2] = {listen_as(*state, 'a'), listen_as(*state, 'b')};

    hand_on_to_stopped(*state, ears, 2);
    fleet_command(*state, 0, "DEL", LOCK, NULL); /* it has ended */
    ask(*state, 'd', T0 + 'd');
    expect_second_has_it(*state, ears);
}

static void one_that_took_its_second_costs_the_others_nothing(void **state)
{
    struct ear ears[2] = {listen_as(*state, 'a'), listen_as(*state, 'b')};

    hand_on_to_stopped(*state, ears, 2);
    assert_int_equal(hand_back(*state, 'a'), 1);
    expect_second_has_it(*state, ears);
}

/* A node without RESP3, or without the right to subscribe: such a waiter asks now and then. */
static void a_waiter_that_cannot_be_told_keeps_its_turn_for_a_second(void **state)
{
    struct rl_place mute = {.ticket = T0, .lease_ms = RECORD_MS, .channel = ""};

    hold(*state, owner_of('f'));
    ask_with(*state, 'a', &mute, KNOWN);
    hand_back(*state, 'f');
    assert_value(*state, LOCK, owner_of('a'));
    assert_in_range(ttl_of(*state, LOCK), 1, 1000);
    assert_int_equal(count_lines(ask_with(*state, 'a', &mute, KNOWN)), 3);
}

static void a_release_by_a_user_who_may_not_publish_frees_the_lock(void **state)
{
    struct fleet *fleet = *state;
    struct ear ear = listen_as(fleet, 'a');

    hold(fleet, owner_of('f'));
    ask(fleet, 'a', T0);
    assert_string_equal(fleet_command(fleet, 0, "ACL", "SETUSER", "fleet", "-publish", NULL), "OK");
    assert_int_equal(hand_back(fleet, 'f'), 1);
    assert_value(fleet, LOCK, "(nil)");
    expect_line(fleet, "a");
    expect_granted(ask(fleet, 'a', T0));
    fleet_command(fleet, 0, "ACL", "SETUSER", "fleet", "+publish", NULL);
    expect_silence(&ear);
    close(ear.fd);
}

#define IN_LINE(test)                             \
    {                                             \
#test, test, flush_node, flush_node, NULL \
    }

/* ---- those who share it ---- */

static const char *share(struct fleet *fleet, char name, enum rl_command_kind kind)
{
    struct rl_place place = {.ticket = T0, .lease_ms = RECORD_MS, .channel = channel_of(name)};
    struct rl_lock_command command = command_of(name, kind);

    command.lock_kind = &rl_kind_shared;
    command.fence = (uint64_t)node_now(fleet);
    command.place = kind == RL_COMMAND_ACQUIRE ? &place : NULL;
    command.holds = command.repair = kind == RL_COMMAND_EXTEND;
    return send_words(fleet, &command);
}

/* A renewal plants it where it stands in line: whoever comes next makes the node hand it what it has. */
static void a_hand_over_shortens_nobody_that_shares_the_lock(void **state)
{
    struct ear a = listen_as(*state, 'a');
    char member[320];

    hold(*state, "holder");
    snprintf(member, sizeof member, "shared|%s", owner_of('a'));
    expect_in_line(share(*state, 'a', RL_COMMAND_ACQUIRE), 1, T0, 0);
    fleet_command(*state, 0, "DEL", LOCK, NULL);
    assert_int_equal(number_at(share(*state, 'a', RL_COMMAND_EXTEND), 0), -2);
    share(*state, 'b', RL_COMMAND_ACQUIRE);
    (void)hear(&a);
    assert_true(number_at(fleet_command(*state, 0, "ZSCORE", LOCK, member, NULL), 0) >
                node_now(*state) / 1000 + LONG_TTL_MS / 2);
    close(a.fd);
    fleet_command(*state, 0, "DEL", LOCK, NULL);
}

/* ---- another master than the record is about ---- */

/* The record of a node whose memory belongs to the history that it has now; *known is what clients know. */
static void plant_history(struct fleet *fleet, char known[64])
{
    const char *info;
    char record[96];

    plant_guard(fleet);
    info = strstr(fleet_command(fleet, 0, "INFO", "replication", NULL), "master_replid:");
    assert_non_null(info);
    snprintf(known, 64, "1 run.%.20s id ", info + strlen("master_replid:"));
    snprintf(record, sizeof record, "%s1000 0", known);
    plant(fleet, EPOCH_KEY, record);
}

static const char *ask_knowing(struct fleet *fleet, char name, const char *known)
{
    struct rl_place place = {
        .ticket = T0 + (uint64_t)name, .lease_ms = RECORD_MS, .channel = channel_of(name)};

    return ask_with(fleet, name, &place, known);
}

/* It was a replica for a while, or a replica took its place: nobody's connection broke. */
static void become_another_master(struct fleet *fleet)
{
    assert_string_equal(fleet_command(fleet, 0, "DEBUG", "CHANGE-REPL-ID", NULL), "OK");
    fleet_command(fleet, 0, "DEL", "redlock-guard:checked", NULL); /* that is over after 10 ms */
}

static void another_master_gives_and_hands_on_nothing(void **state)
{
    struct ear ear = listen_as(*state, 'b');
    char known[64];

    plant_history(*state, known);
    expect_granted(ask_knowing(*state, 'a', known));
    expect_in_line(ask_knowing(*state, 'b', known), 1, T0 + 'b', 0);
    become_another_master(*state);
    assert_int_equal(hand_back(*state, 'a'), 1);
    expect_silence(&ear);
    assert_value(*state, LOCK, "(nil)");
    expect_line(*state, "b");
    assert_int_equal(strtol(ask_knowing(*state, 'b', known), NULL, 10), -3);
    assert_value(*state, LOCK, "(nil)");
    hand_back(*state, 'b');
    expect_line(*state, "");
    close(ear.fd);
}

/* A time that lies ahead is of a clock that was set back since: it is not relied on. */
static void a_node_looks_again_which_master_it_is(void **state)
{
    char known[64];

    plant_history(*state, known);
    expect_granted(ask_knowing(*state, 'a', known));
    assert_true(strtoll(fleet_command(*state, 0, "GET", "redlock-guard:checked", NULL), NULL, 10) > T0);
    become_another_master(*state);
    plant(*state, "redlock-guard:checked", decimal(node_now(*state) + 3600000000));
    assert_int_equal(strtol(ask_knowing(*state, 'b', known), NULL, 10), -3);
    assert_value(*state, "redlock-guard:checked", "(nil)"); /* else it would count when its time comes */
    plant(*state, "redlock-guard:checked", "nonsense");
    assert_int_equal(strtol(ask_knowing(*state, 'b', known), NULL, 10), -3);
    assert_int_equal(hand_back(*state, 'a'), 1);
}

/* Readers that ask behind a writer make the node look for the next reader again and again, and put the writer
 * back each time: so its line outlives what says that there are lines. Commands about several locks go by
 * that, and would pass the writer. */
static void a_waiter_that_is_put_back_is_in_a_line_that_is_known_of(void **state)
{
    struct fleet *fleet = *state;

    plant_guard(fleet);
    share(fleet, 'b', RL_COMMAND_ACQUIRE);
    expect_in_line(ask(fleet, 'a', T0), 1, T0, 0);
    fleet_command(fleet, 0, "PEXPIRE", LINES, "1000", NULL);
    expect_in_line(share(fleet, 'c', RL_COMMAND_ACQUIRE), 2, T0, 0);
    assert_true(ttl_of(fleet, LINES) >= ttl_of(fleet, WAITERS) - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_LINE(a_free_lock_is_granted_and_no_line_begins),
        IN_LINE(a_held_lock_is_waited_for_in_order_of_tickets),
        IN_LINE(a_late_clock_goes_behind_all_and_a_settled_ticket_counts),
        IN_LINE(a_caller_that_does_not_wait_leaves_no_trace),
        IN_LINE(a_caller_that_does_not_wait_is_refused_while_others_do),
        IN_LINE(a_release_hands_the_lock_to_the_first_in_line),
        IN_LINE(the_number_is_the_waiters_own_proposal),
        IN_LINE(giving_up_a_place_hands_nothing_on_while_it_is_held),
        IN_LINE(whoever_finds_it_expired_hands_it_to_the_first),
        IN_LINE(an_owner_is_granted_its_lock_again_and_keeps_its_number),
        IN_LINE(a_hold_that_was_broken_is_handed_on_by_its_holder),
        IN_LINE(a_waiter_that_died_is_passed_over_in_the_same_step),
        IN_LINE(a_waiter_whose_record_ended_is_gone),
        IN_LINE(a_waiter_that_knows_another_epoch_is_given_nothing),
        IN_LINE(a_node_that_must_not_vote_hands_nothing_on),
        IN_LINE(a_lock_of_another_type_is_waited_for_and_left_alone),
        IN_LINE(a_waiter_that_was_not_heard_of_lately_gets_the_lock_for_a_second),
        IN_LINE(stopped_waiters_cost_one_second_however_many_they_are),
        IN_LINE(a_short_lock_that_was_let_pass_costs_nobody_a_place),
        IN_LINE(one_that_took_its_second_costs_the_others_nothing),
        IN_LINE(a_waiter_that_cannot_be_told_keeps_its_turn_for_a_second),
        IN_LINE(a_release_by_a_user_who_may_not_publish_frees_the_lock),
        ON_A_FLUSHED_NODE(a_hand_over_shortens_nobody_that_shares_the_lock),
        IN_LINE(another_master_gives_and_hands_on_nothing),
        IN_LINE(a_node_looks_again_which_master_it_is),
        IN_LINE(a_waiter_that_is_put_back_is_in_a_line_that_is_known_of),
    };

    return cmocka_run_group_tests(tests, start_one_guarded, stop_guarded);
}

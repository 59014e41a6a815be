/*
 * Calls of the scripts of a line; see line_calls.h.
 */
#include "support/line_calls.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "support/script_calls.h"
#include "support/steps.h"

struct rl_place place_of(char name, int64_t ticket)
{
    struct rl_place place = {.ticket = (uint64_t)ticket,
                             .lease_ms = LEASE_MS,
                             .grace_ms = GRACE_MS,
                             .who = "|pid=1",
                             .who_length = 6};

    memset(place.id, name, RL_WAITER_ID);
    return place;
}

const char *send_command(struct fleet *fleet, const struct rl_lock_command *command)
{
    static char answer[ANSWER_MAX];
    char bytes[16384];
    struct rl_writer writer = rl_writer_on(bytes, sizeof bytes);

    rl_lock_command_write(&writer, command, 0, true);
    assert_false(writer.overflow);
    send_request(fleet, &writer, answer, sizeof answer);
    answer[strlen(answer) - 1] = '\0';
    return answer;
}

const char *ask_with(struct fleet *fleet, const struct rl_place *place, const char *epoch,
                     int64_t not_after_us)
{
    struct rl_lock_command command = {.kind = RL_COMMAND_ACQUIRE,
                                      .lock_kind = &rl_kind_fair,
                                      .key = "lock",
                                      .key_length = 4,
                                      .owner = place->id,
                                      .owner_length = RL_WAITER_ID,
                                      .ttl_ms = LONG_TTL_MS,
                                      .epoch = epoch,
                                      .fence = (uint64_t)node_now(fleet),
                                      .not_after_us = not_after_us,
                                      .place = place};

    return send_command(fleet, &command);
}

const char *ask(struct fleet *fleet, char name, int64_t ticket)
{
    struct rl_place place = place_of(name, ticket);

    return ask_with(fleet, &place, EPOCH, NEVER_LATE);
}

const char *ask_settled(struct fleet *fleet, char name, int64_t ticket)
{
    struct rl_place place = place_of(name, ticket);

    place.settled = true;
    return ask_with(fleet, &place, EPOCH, NEVER_LATE);
}

const char *leave(struct fleet *fleet, char name)
{
    struct rl_place place = place_of(name, 0);
    struct rl_lock_command command = {
        .kind = RL_COMMAND_LEAVE, .key = "lock", .key_length = 4, .place = &place};

    return send_command(fleet, &command);
}

void hold(struct fleet *fleet)
{
    fleet_command(fleet, 0, "SET", "lock", "holder", "PX", "60000", NULL);
}

void free_lock(struct fleet *fleet)
{
    fleet_command(fleet, 0, "DEL", "lock", NULL);
}

void expect_granted(const char *answer)
{
    if (count_lines(answer) != 1 || number_at(answer, 0) < T0)
        fail_msg("not a grant: %s", answer);
}

void expect_denied(const char *answer, const char *holder, int64_t place, int64_t ticket)
{
    const char *at = answer;

    if (count_lines(answer) != 7 || number_at(answer, 0) != 0 || number_at(answer, 5) != place ||
        number_at(answer, 6) != ticket)
        fail_msg("expected place %" PRId64 " and ticket %" PRId64 ": %s", place, ticket, answer);
    assert_in_range(number_at(answer, 3), 1, holder[0] != '\0' ? 60000 : GRACE_MS);
    for (int i = 0; i < 4; i++)
        at = strchr(at, '\n') + 1;
    assert_int_equal(strcspn(at, "\n"), strlen(holder));
    assert_memory_equal(at, holder, strlen(holder));
}

void expect_line(struct fleet *fleet, const char *names)
{
    const char *at = fleet_command(fleet, 0, "ZRANGE", LINE, "0", "-1", NULL);
    char found[16] = "";

    for (size_t i = 0; *at != '\0' && i < sizeof found - 1; i++) {
        found[i] = *at;
        at += strcspn(at, "\n");
        at += *at == '\n';
    }
    assert_string_equal(found, names);
}

void expect_state(struct fleet *fleet, const char *field, const char *value)
{
    assert_string_equal(fleet_command(fleet, 0, "HGET", STATE, field, NULL), value);
}

void expect_nobody(struct fleet *fleet)
{
    assert_string_equal(fleet_command(fleet, 0, "EXISTS", LINE, A_LEASE, B_LEASE, C_LEASE, NULL), "0");
    expect_state(fleet, "offer", "(nil)");
    expect_state(fleet, "since", "(nil)");
}

void age_offer(struct fleet *fleet, int64_t by_us)
{
    int64_t since = number_at(fleet_command(fleet, 0, "HGET", STATE, "since", NULL), 0);

    fleet_command(fleet, 0, "HSET", STATE, "since", decimal(since - by_us), NULL);
}

void wait_in_line(struct fleet *fleet, const char *names)
{
    plant_guard(fleet);
    hold(fleet);
    for (int i = 0; names[i] != '\0'; i++)
        ask(fleet, names[i], T0 + i);
}

void empty_line(struct fleet *fleet)
{
    for (char name = 'a'; name <= 'd'; name++)
        leave(fleet, name);
    free_lock(fleet);
}

/*
 * Tells all nodes that it is there, reads what they say, leaves and opens; see attendant.h.
 */
#include "beside/attendant.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t read_number(const struct rl_resp *item)
{
    char text[24];

    if (item->type != RL_RESP_STRING || item->text_length >= sizeof text)
        return 0;
    memcpy(text, item->text, item->text_length);
    text[item->text_length] = '\0';
    return strtoull(text, NULL, 10);
}

/* What it is part of at a node is known once and for all. */
static void note_opening(struct rl_attendant *attendant, uint32_t node, const struct rl_resp *item)
{
    uint64_t opening = read_number(item);

    attendant->own.at[node] = RL_AT_THERE;
    if (opening != 0)
        attendant->own.opening[node] = opening;
}

static void hear_names(struct rl_attendant *attendant, uint32_t node, size_t offset)
{
    struct rl_resp id;

    while (rl_talk_item(&attendant->ask.talk->nodes[node], &offset, &id))
        if (id.type == RL_RESP_STRING && id.text_length == RL_PARTY_ID)
            rl_gathering_add(&attendant->gathering, node, id.text);
}

static void hear(struct rl_attendant *attendant, uint32_t node)
{
    const struct rl_talk_node *one = &attendant->ask.talk->nodes[node];
    struct rl_resp item, status, opening, waiting;
    size_t offset = 0;

    bool refused = rl_talk_answered(one) && !rl_ask_all_read(&attendant->ask, node, &offset, &item);
    if (one->sent && attendant->own.at[node] == RL_AT_NEVER && !refused)
        attendant->own.at[node] =
            RL_AT_MAYBE; /* unless it says more; a script that fails writes nothing down */
    if (refused || !rl_talk_answered(one) || item.type != RL_RESP_ARRAY ||
        !rl_talk_item(one, &offset, &status) || status.type != RL_RESP_INTEGER)
        return;
    if (status.integer == 0) {
        attendant->own.at[node] = RL_AT_GONE;
    } else if (status.integer == -1 && rl_talk_item(one, &offset, &waiting)) {
        attendant->own.at[node] = RL_AT_NEVER;
        attendant->not_let_in |= rl_node_set_one(node);
        attendant->others_want = (uint32_t)waiting.integer;
    } else if (status.integer == 1 && rl_talk_item(one, &offset, &opening) &&
               rl_talk_item(one, &offset, &waiting) && waiting.type == RL_RESP_INTEGER) {
        note_opening(attendant, node, &opening);
        attendant->counts[node] = (uint32_t)waiting.integer;
        hear_names(attendant, node, offset);
    } else {
        return;
    }
    attendant->heard |= rl_node_set_one(node);
}

static bool draw(const struct rl_attendant *attendant, uint8_t *random, size_t length)
{
    redlock_client *client = attendant->ask.client;

    pthread_mutex_lock(&client->mutex);
    bool drawn = rl_state_random(&client->engine, random, length);
    pthread_mutex_unlock(&client->mutex);
    return drawn;
}

bool rl_attendant_draw_id(struct rl_attendant *attendant)
{
    uint8_t random[6];
    const int clock_digits = RL_PARTY_ID - 2 * (int)sizeof random;

    if (!draw(attendant, random, sizeof random))
        return false;
    snprintf(attendant->id, sizeof attendant->id, "%0*llx", clock_digits,
             (unsigned long long)attendant->came_ms & 0xffffffffffffull);
    for (size_t i = 0; i < sizeof random; i++)
        snprintf(attendant->id + clock_digits + 2 * i, 3, "%02x", random[i]);
    attendant->own = (struct rl_attendance){.node_count = attendant->ask.talk->node_count};
    return true;
}

void rl_attendant_look(struct rl_attendant *attendant, uint32_t names)
{
    char lease[16], parties[16], most[16];
    struct rl_argument arguments[] = {
        {attendant->id, RL_PARTY_ID}, {lease, 0}, {parties, 0}, {NULL, 1}, {most, 0}};

    arguments[1].length = (size_t)snprintf(lease, sizeof lease, "%u", attendant->lease_ms);
    arguments[2].length = (size_t)snprintf(parties, sizeof parties, "%u", attendant->parties);
    arguments[4].length = (size_t)snprintf(most, sizeof most, "%u", names);
    attendant->heard = attendant->not_let_in = 0;
    attendant->gathering.node_count = attendant->ask.talk->node_count;
    attendant->gathering.count = 0;
    rl_talk_begin(attendant->ask.talk);
    for (uint32_t i = 0; i < attendant->ask.talk->node_count; i++) {
        arguments[3].bytes = attendant->own.at[i] == RL_AT_NEVER ? "1" : "0";
        rl_ask_all_write(&attendant->ask, i, &rl_script_barrier_arrive, arguments, 5);
    }
    rl_talk_exchange(attendant->ask.talk);
    for (uint32_t i = 0; i < attendant->ask.talk->node_count; i++)
        hear(attendant, i);
}

uint32_t rl_attendant_waiting(const struct rl_attendant *attendant)
{
    return rl_gathering_waiting(attendant->counts, attendant->heard, attendant->ask.talk->node_count);
}

void rl_attendant_leave(struct rl_attendant *attendant, bool through)
{
    struct rl_argument arguments[] = {{attendant->id, RL_PARTY_ID}, {through ? "1" : "0", 1}};
    struct rl_resp item;

    rl_talk_begin(attendant->ask.talk);
    for (uint32_t i = 0; i < attendant->ask.talk->node_count; i++)
        if (attendant->own.at[i] == RL_AT_THERE || attendant->own.at[i] == RL_AT_MAYBE)
            rl_ask_all_write(&attendant->ask, i, &rl_script_barrier_leave, arguments, 2);
    rl_talk_exchange(attendant->ask.talk);
    for (uint32_t i = 0; i < attendant->ask.talk->node_count; i++) {
        size_t offset = 0;

        if (!rl_ask_all_read(&attendant->ask, i, &offset, &item) || item.type != RL_RESP_STRING)
            continue;
        if (item.text_length == 1 && item.text[0] == '-')
            attendant->own.at[i] = RL_AT_GONE;
        else if (item.text_length == 1 && item.text[0] == '0')
            attendant->own.at[i] = RL_AT_LEFT;
        else
            note_opening(attendant, i, &item);
    }
}

static void write_opening(struct rl_attendant *attendant, uint32_t node, const char *opening)
{
    struct rl_argument arguments[2 + RL_PARTIES_MAX];
    char kept[16];

    snprintf(kept, sizeof kept, "%llu", 2ull * attendant->lease_ms);
    arguments[0] = rl_argument_text(opening);
    arguments[1] = rl_argument_text(kept);
    for (uint32_t i = 0; i < attendant->parties; i++)
        arguments[2 + i] = (struct rl_argument){attendant->chosen[i], RL_PARTY_ID};
    rl_ask_all_write(&attendant->ask, node, &rl_script_barrier_open, arguments, 2 + attendant->parties);
}

void rl_attendant_open(struct rl_attendant *attendant)
{
    uint64_t number = 0;
    char opening[24];

    rl_attendant_look(attendant, RL_GATHERING_MAX);
    if (rl_attendance_through(&attendant->own) ||
        !rl_gathering_choose(&attendant->gathering, attendant->parties, attendant->chosen) ||
        !draw(attendant, (uint8_t *)&number, sizeof number))
        return;
    snprintf(opening, sizeof opening, "%llu", (unsigned long long)number | 1);
    rl_talk_begin(attendant->ask.talk);
    for (rl_node_set heard = attendant->heard; heard != 0; heard &= heard - 1)
        write_opening(attendant, rl_node_set_first(heard), opening);
    rl_talk_exchange(attendant->ask.talk);
}

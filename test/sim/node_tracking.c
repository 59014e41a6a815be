/*
 * Client tracking as a node does it in OPTIN mode: a key is tracked from a read that asked for it until it
 * has changed once. Whoever changes a key that it tracks itself is told after its own reply.
 */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "sim/node.h"

static uint32_t bit(uint32_t peer)
{
    return peer == SIM_NOBODY ? 0 : 1U << peer;
}

static void reply_line(struct rl_writer *reply, const char *line)
{
    rl_write_raw(reply, line, strlen(line));
}

void sim_tracking_command(struct sim_node *node, const char *word, bool on, struct rl_writer *reply)
{
    struct sim_tracking *tracking = &node->tracking;
    uint32_t one = bit(tracking->peer);

    if (strcmp(word, "TRACKING") == 0 && tracking->refused) {
        reply_line(reply, "-NOPERM this user has no permissions to run the 'client|tracking' command\r\n");
    } else if (strcmp(word, "TRACKING") == 0) {
        /* What was tracked before stays in the table, and is told of again once it is switched on again. */
        tracking->on = on ? tracking->on | one : tracking->on & ~one;
        reply_line(reply, "+OK\r\n");
    } else if ((tracking->on & one) == 0) {
        reply_line(reply, "-ERR CLIENT CACHING can be called only when the client is in tracking mode with "
                          "OPTIN or OPTOUT mode enabled\r\n");
    } else {
        tracking->next |= one;
        reply_line(reply, "+OK\r\n");
    }
}

static int find(const struct sim_tracking *tracking, const char *key)
{
    for (int i = 0; i < SIM_TRACKED_MAX; i++)
        if (strcmp(tracking->keys[i].key, key) == 0)
            return i;
    return -1;
}

void sim_tracking_read(struct sim_node *node, const char *key)
{
    struct sim_tracking *tracking = &node->tracking;

    if ((tracking->next & bit(tracking->peer)) == 0)
        return;
    if (node->bug == SIM_BUG_ARM_AFTER_LOOK && node->arm_late != NULL)
        node->arm_late(node->context, node, tracking->peer, key);
    else
        sim_tracking_arm(node, tracking->peer, key);
}

static void tell(struct sim_node *node, uint32_t peers, const char *key)
{
    struct sim_tracking *tracking = &node->tracking;

    for (uint32_t peer = 1; peer <= SIM_CLIENTS_MAX; peer++) {
        if ((peers & tracking->on & bit(peer)) == 0 || node->tell == NULL)
            continue;
        if (peer != tracking->peer) {
            node->tell(node->context, node, peer, key);
        } else {
            if (tracking->pending == SIM_TRACKED_MAX)
                abort(); /* one request touches few keys */
            rl_text_copy(tracking->own[tracking->pending++], SIM_KEY_SIZE, key != NULL ? key : "");
        }
    }
}

/* Leases of waiters who are gone stay in the table of a real node, too, which has more room. Nobody is told
 * of them: whoever still waits asks again after a while. */
static int make_room(struct sim_node *node)
{
    struct sim_tracking *tracking = &node->tracking;
    int place = 0;

    while (place < SIM_TRACKED_MAX && strncmp(tracking->keys[place].key, "redlock-line:", 13) != 0)
        place++;
    if (place == SIM_TRACKED_MAX)
        abort(); /* the table was born with room for every name there is */
    tracking->keys[place].key[0] = '\0';
    tracking->key_count--;
    return place;
}

void sim_tracking_arm(struct sim_node *node, uint32_t peer, const char *key)
{
    struct sim_tracking *tracking = &node->tracking;
    int place = find(tracking, key);

    if (place < 0) {
        place = find(tracking, "");
        if (place < 0)
            place = make_room(node);
        rl_text_copy(tracking->keys[place].key, SIM_KEY_SIZE, key);
        tracking->keys[place].peers = 0;
        tracking->key_count++;
    }
    tracking->keys[place].peers |= bit(peer);
}

void sim_tracking_served(struct sim_node *node)
{
    node->tracking.next &= ~bit(node->tracking.peer);
}

void sim_tracking_changed(struct sim_node *node, const char *key)
{
    struct sim_tracking *tracking = &node->tracking;
    uint32_t peers;
    int place;

    if (tracking->key_count == 0 || (place = find(tracking, key)) < 0)
        return;
    peers = tracking->keys[place].peers;
    tell(node, peers, key);
    tracking->keys[place].key[0] = '\0';
    tracking->key_count--;
}

static void clear_keys(struct sim_tracking *tracking)
{
    memset(tracking->keys, 0, sizeof tracking->keys);
    tracking->key_count = 0;
}

void sim_tracking_flushed(struct sim_node *node)
{
    tell(node, node->tracking.on, NULL);
    clear_keys(&node->tracking);
}

void sim_tracking_tell_own(struct sim_node *node)
{
    struct sim_tracking *tracking = &node->tracking;

    for (uint32_t i = 0; i < tracking->pending; i++)
        node->tell(node->context, node, tracking->peer,
                   tracking->own[i][0] != '\0' ? tracking->own[i] : NULL);
    tracking->pending = 0;
    tracking->peer = SIM_NOBODY;
}

void sim_tracking_forget(struct sim_node *node, uint32_t peer)
{
    struct sim_tracking *tracking = &node->tracking;

    node->channels[peer][0] = '\0';
    tracking->on &= ~bit(peer);
    tracking->next &= ~bit(peer);
    for (int i = 0; i < SIM_TRACKED_MAX; i++) {
        if (tracking->keys[i].key[0] == '\0')
            continue;
        tracking->keys[i].peers &= ~bit(peer);
        if (tracking->keys[i].peers == 0) {
            tracking->keys[i].key[0] = '\0';
            tracking->key_count--;
        }
    }
}

void sim_tracking_forget_all(struct sim_node *node)
{
    node->tracking.on = node->tracking.next = 0;
    memset(node->channels, 0, sizeof node->channels);
    memset(node->ghosts, 0, sizeof node->ghosts);
    clear_keys(&node->tracking);
}

/*
 * The place of a waiter in the lines that nodes keep: a fair lock is given out in their order, and people see who waits for an
 * ordinary one. Nothing here decides who has the lock.
 */
#include "engine/place.h"

#include <assert.h>

#include "base/bytes.h"
#include "engine/send.h"
#include "wire/resp_reader.h"
#include "wire/tracking.h"

/* A waiter who is not heard of for a lease is gone; one who does not take a free lock within the grace is passed over. */
enum { LEASE_MS = 10000, SHOWN_MS = 30000, GRACE_MS = 100, STUCK_MS = 150, DEPUTY = 2 };

/* The id need not be secret: a waiter who is impersonated waits longer, no more. */
static void draw_place(struct rl_operation *operation, uint32_t lease_ms)
{
    redlock_lock *lock = operation->lock;
    uint8_t random[16];
    int64_t wall_us = rl_state_wall_us(lock->engine);

    rl_number_to_bytes(random, rl_prng_next(&lock->engine->prng));
    rl_number_to_bytes(random + 8, rl_prng_next(&lock->engine->prng));
    rl_hex_write(operation->place.id, random, sizeof random);
    operation->place.ticket = wall_us > 0 ? (uint64_t)wall_us : 1;
    operation->place.lease_ms = lease_ms;
    operation->place.grace_ms = GRACE_MS;
    operation->place.who = rl_lock_owner(lock) + RL_OWNER_HEX;
    operation->place.who_length = lock->owner_length - RL_OWNER_HEX;
}

void rl_place_begin(struct rl_operation *operation)
{
    assert(operation->lock->kind->stands_in_line);
    draw_place(operation, LEASE_MS);
}

bool rl_place_near(const struct rl_operation *operation, uint32_t node)
{
    assert(node < operation->lock->engine->node_count);
    return operation->ranks[node] <= DEPUTY;
}

size_t rl_place_lease_key(const struct rl_operation *operation, char *buffer)
{
    const redlock_lock *lock = operation->lock;

    return rl_key_line(buffer, lock->text, lock->key_length, operation->place.id);
}

/* The ticket is the highest that a node gave; once a quorum has taken the waiter in, all of them are to go by it. */
static void take_place(struct rl_operation *operation, uint32_t node, const struct rl_answer *answer)
{
    operation->ranks[node] = answer->verdict == RL_DENIED ? answer->rank : 0;
    if (operation->ranks[node] == 0)
        return;
    operation->taken_in |= rl_node_set_one(node);
    if (answer->ticket > operation->place.ticket)
        operation->place.ticket = answer->ticket;
    if (rl_node_set_count(operation->taken_in) >= rl_quorum(operation->lock->engine->node_count))
        operation->place.settled = true;
}

/* The second in line takes a free lock only if the first one does not. */
static void wait_for_first(struct rl_answer *answer)
{
    /* Still armed: that he moves up is told by another key than the lock's. */
    *answer = (struct rl_answer){.verdict = RL_DENIED, .ttl_left_ms = GRACE_MS, .armed = true};
}

void rl_place_answer(struct rl_operation *operation, uint32_t node, const struct rl_pending *pending,
                     struct rl_lock_reply *reply)
{
    if (pending->kind == RL_COMMAND_ACQUIRE) {
        bool offered = reply->answer.verdict == RL_DENIED && reply->owner_length == 0;

        take_place(operation, node, &reply->answer);
        operation->offered &= ~rl_node_set_one(node);
        operation->offered |= offered ? rl_node_set_one(node) : 0;
    } else if (pending->kind == RL_COMMAND_WATCH && operation->ranks[node] >= DEPUTY &&
               reply->answer.verdict == RL_GRANTED)
        wait_for_first(&reply->answer);
}

enum rl_place_news rl_place_changed(struct rl_operation *operation, uint32_t node, bool moved,
                                    struct rl_event *event)
{
    *event = (struct rl_event){.kind = RL_EVENT_CHANGED,
                               .now = operation->lock->engine->now,
                               .node = node,
                               .question = operation->acquire.question};
    /* Who has moved up knows already; that the first one took the lock is no news then. */
    if (operation->acquire.phase != RL_ACQUIRE_WAITING ||
        (!moved && rl_node_set_has(operation->acquire.wait.freed, node)))
        return RL_PLACE_NO_NEWS;
    /* It moved up after it was told its place, and before it was told of the lock: once more. */
    if (moved && rl_node_set_has(operation->acquire.wait.asked, node))
        return RL_PLACE_LOOK_AGAIN;
    if (operation->ranks[node] >= DEPUTY && !moved) {
        event->kind = RL_EVENT_ANSWER;
        wait_for_first(&event->answer);
    }
    return RL_PLACE_NEWS;
}

/* ---- where it stands ---- */

bool rl_place_ask(struct rl_operation *operation, uint32_t node, uint32_t question)
{
    redlock_lock *lock = operation->lock;
    struct rl_session *session = &lock->engine->sessions[node];
    struct rl_pending pending = {.subject = lock,
                                 .question = question,
                                 .kind = RL_COMMAND_PLACE,
                                 .replies = 3,
                                 .number = rl_place_near(operation, node),
                                 .sent = lock->engine->now};
    struct rl_writer writer;
    char key[RL_KEY_LINE_MAX];

    if (!rl_exchange_reserve(&session->exchange, RL_COMMAND_ROOM, &writer))
        return false;
    rl_write_track_next(&writer);
    rl_write_command(&writer, 2);
    rl_write_text(&writer, "PTTL");
    rl_write_bytes(&writer, key, rl_place_lease_key(operation, key));
    rl_write_command(&writer, 3);
    rl_write_text(&writer, "ZRANK");
    rl_write_bytes(&writer, key, rl_key_line(key, lock->text, lock->key_length, "line"));
    rl_write_text(&writer, operation->place.id);
    rl_exchange_commit(&session->exchange, &writer, &pending);
    rl_lock_ref(lock);
    lock->engine->wants.write |= rl_node_set_one(node);
    return true;
}

static bool read_told(const char *bytes, size_t length, struct rl_resp *items)
{
    size_t offset = 0;

    for (int i = 0; i < 3; i++)
        if (rl_resp_next(bytes, length, &offset, &items[i]) != RL_RESP_OK)
            return false;
    return items[0].type == RL_RESP_STRING && items[1].type == RL_RESP_INTEGER &&
           (items[2].type == RL_RESP_NULL ||
            (items[2].type == RL_RESP_INTEGER && items[2].integer >= 0 && items[2].integer < INT32_MAX));
}

/* What it is told is true from now on: had it moved up before, it would have said so; if it does later, it tells. */
bool rl_place_told(struct rl_operation *operation, uint32_t node, const struct rl_pending *pending,
                   const char *bytes, size_t length, struct rl_answer *answer)
{
    bool was_near = pending->number != 0;
    struct rl_resp items[3];

    *answer = (struct rl_answer){.verdict = RL_FAILED, .ttl_left_ms = -2};
    if (!read_told(bytes, length, items))
        return !was_near;
    operation->ranks[node] = items[2].type == RL_RESP_INTEGER ? (uint32_t)items[2].integer + 1 : 0;
    if (was_near)
        return false; /* the lock itself is looked at too */
    if (!rl_place_near(operation, node)) {
        /* A free lock that those in front do not take must not wait for their leases to end. */
        bool stuck = rl_node_set_has(operation->offered, node);

        *answer = (struct rl_answer){.verdict = RL_DENIED, .ttl_left_ms = items[1].integer, .armed = true};
        answer->ttl_left_ms = stuck ? STUCK_MS : answer->ttl_left_ms;
        return true;
    }
    return !rl_send_command(operation->lock, node, RL_COMMAND_WATCH, pending->question, NULL, false);
}

/* Fire and forget: where it does not arrive, the lease ends. */
static void send_everywhere(struct rl_operation *operation, rl_node_set nodes, enum rl_command_kind kind)
{
    redlock_lock *lock = operation->lock;

    for (rl_node_set left = nodes; left != 0; left &= left - 1)
        rl_send_command(lock, rl_node_set_first(left), kind, 0, NULL, false);
}

void rl_place_leave(struct rl_operation *operation)
{
    const struct rl_acquire *acquire = &operation->acquire;
    bool won = acquire->phase == RL_ACQUIRE_ENDED && acquire->outcome == RL_OUTCOME_OK;
    rl_node_set nodes = rl_node_set_all(operation->lock->engine->node_count);

    /* Those who have not answered yet may take it in all the same; this comes after. */
    if (won)
        nodes &= ~acquire->tally.granted;
    if (acquire->round > 0)
        send_everywhere(operation, nodes, RL_COMMAND_LEAVE);
    operation->taken_in = 0;
}

/* ---- ordinary locks ---- */

static uint32_t count_behind(redlock_lock *lock)
{
    uint32_t count = 0;

    for (struct rl_link *link = rl_list_first(&lock->queue); link != NULL;
         link = rl_list_next(&lock->queue, link))
        count++;
    return count;
}

void rl_place_show(struct rl_operation *operation, bool leaving)
{
    struct rl_engine *engine = operation->lock->engine;
    int64_t waited_us = rl_time_since(engine->now, operation->started).us;

    if (!operation->shown) {
        draw_place(operation, SHOWN_MS);
        if (operation->place.ticket > (uint64_t)waited_us)
            operation->place.ticket -= (uint64_t)waited_us; /* since when */
    }
    operation->shown = !leaving;
    operation->place.leaving = leaving;
    operation->place.count = 1 + count_behind(operation->lock);
    send_everywhere(operation, rl_node_set_all(engine->node_count), RL_COMMAND_PRESENT);
}

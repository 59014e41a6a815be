/*
 * The inbox of a crowd and the waking of its threads; see crowd.h. In a crowd the mutex would be what
 * everybody waits for: each thread that is woken for its answer would have to take it once more. So a call
 * costs its thread one sleep.
 */
#include "client/crowd.h"

#include <sched.h>

#include "client/attend.h"
#include "client/background.h"
#include "client/begin.h"
#include "client/end.h"
#include "client/futex.h"

enum { LONELY_CALLS = 16 };

_Static_assert(sizeof(struct rl_post) <= sizeof(struct rl_link),
               "a lock's link holds the post that frees it");

/* What the inbox points to while the carrier does not serve. */
static struct rl_post closed_inbox;

void rl_crowd_init(struct rl_crowd *crowd)
{
    atomic_init(&crowd->inbox, &closed_inbox);
    rl_list_init(&crowd->ended);
}

/* ---- the callers' side, without the mutex ---- */

/* false: the inbox is closed. */
static bool put(struct rl_crowd *crowd, struct rl_post *post)
{
    struct rl_post *newest = atomic_load(&crowd->inbox);

    do {
        if (newest == &closed_inbox)
            return false;
        post->next = newest;
    } while (!atomic_compare_exchange_weak(&crowd->inbox, &newest, post));
    return true;
}

static bool post(redlock_client *client, struct rl_post *post)
{
    bool posted = put(&client->crowd, post);

    if (posted && atomic_exchange(&client->crowd.in_poller, false))
        rl_poller_ring(&client->poller);
    return posted;
}

/* A thread that closes the client waits until no other one is inside: nothing of it may be touched after
 * that. */
static bool enter(redlock_client *client)
{
    if (client->inherited || atomic_load(&client->crowd.inbox) == &closed_inbox)
        return false;
    atomic_fetch_add(&client->crowd.inside, 1);
    return true;
}

static void leave(redlock_client *client)
{
    atomic_fetch_sub(&client->crowd.inside, 1);
}

/* The number of the group is read before the call is looked at: a waking in between has raised it, and the
 * futex refuses to sleep. Slots are used in turn; of two threads in one slot both are woken, and one of them
 * goes back to sleep. */
static void sleep_until_over(struct rl_crowd *crowd, struct rl_call *call)
{
    atomic_uint *group = &crowd->wake_groups[call->wake_slot / 32];
    unsigned number = atomic_load(group), state = RL_CALL_AWAKE;

    if (!atomic_compare_exchange_strong(&call->state, &state, RL_CALL_ASLEEP))
        return;
    while (atomic_load(&call->state) != RL_CALL_OVER) {
        rl_futex_sleep(group, number, 1U << call->wake_slot % 32, NULL);
        number = atomic_load(group);
    }
}

bool rl_crowd_call(redlock_client *client, struct rl_call *call)
{
    bool posted;

    if (!enter(client))
        return false;
    atomic_init(&call->state, RL_CALL_AWAKE);
    call->wake_slot = atomic_fetch_add(&client->crowd.next_wake_slot, 1) % RL_WAKE_SLOTS;
    posted = post(client, &call->post);
    if (posted)
        sleep_until_over(&client->crowd, call);
    leave(client);
    return posted;
}

/* A lock without callbacks is on no list of notices: its link is free to be used here. */
bool rl_crowd_free(redlock_client *client, redlock_lock *lock)
{
    struct rl_post *unwanted;
    bool posted;

    if (lock->on_lost != NULL || lock->renewal != NULL || !enter(client))
        return false;
    unwanted = (struct rl_post *)(void *)&lock->notice;
    unwanted->kind = RL_POST_FREE;
    posted = post(client, unwanted);
    if (!posted)
        lock->notice = (struct rl_link){0};
    leave(client);
    return posted;
}

/* ---- with the mutex ---- */

void rl_crowd_notice(redlock_client *client)
{
    struct rl_crowd *crowd = &client->crowd;

    if (crowd->wanted || client->callers < RL_CROWD + client->engine.queues.blocked ||
        client->engine.closing || !rl_background_start_carrier(client))
        return;
    crowd->wanted = true;
    pthread_cond_signal(&client->carrier_wake);
}

void rl_crowd_open(redlock_client *client)
{
    struct rl_post *closed = &closed_inbox;

    client->crowd.lonely = 0;
    atomic_compare_exchange_strong(&client->crowd.inbox, &closed, NULL);
}

/* A crowd that is gone for a moment only, all of its threads on their way to the next call, is still there.
 * That moment can be long on a busy machine, so calls are counted, not time. */
bool rl_crowd_lasts(redlock_client *client)
{
    return client->crowd.lonely < LONELY_CALLS;
}

/* The inbox in the order of posting; what is left in it is `rest`. */
static struct rl_post *take(struct rl_crowd *crowd, struct rl_post *rest)
{
    struct rl_post *newest = atomic_load(&crowd->inbox), *oldest = NULL;

    if (newest == &closed_inbox || (newest == NULL && rest == NULL))
        return NULL;
    newest = atomic_exchange(&crowd->inbox, rest);
    while (newest != NULL) {
        struct rl_post *next = newest->next;

        newest->next = oldest;
        oldest = newest;
        newest = next;
    }
    return oldest;
}

static void end(redlock_client *client, struct rl_call *call)
{
    call->post.next = (struct rl_post *)client->crowd.to_wake;
    client->crowd.to_wake = call;
}

static void begin(redlock_client *client, struct rl_call *call)
{
    struct rl_operation *operation = client->engine.closing ? NULL : rl_begin_call(client, call);

    if (client->engine.closing)
        call->result = rl_begin_misuse(call->report);
    if (operation == NULL) {
        end(client, call);
        return;
    }
    client->callers++;
    client->crowd.lonely++;
    if (++client->crowd.under_way >= RL_CROWD + client->engine.queues.blocked)
        client->crowd.lonely = 0;
    operation->call =
        call; /* should it have ended already, it is in engine->ended, and end_all() looks there */
}

static void let_go(redlock_client *client, redlock_lock *lock)
{
    lock->notice = (struct rl_link){0};
    rl_engine_free_handle(lock);
    client->refs--; /* the client itself has one more */
}

/* First what ends locks, then what asks for them: requests of one kind that follow each other go in one
 * command. Nobody can tell, for each of these calls is of another thread. */
static void carry_out(redlock_client *client, struct rl_post *posts)
{
    struct rl_post *acquires = NULL, **last = &acquires;

    while (posts != NULL) {
        struct rl_post *post = posts;

        posts = post->next;
        if (post->kind == RL_POST_ACQUIRE) {
            *last = post;
            last = &post->next;
        } else if (post->kind == RL_POST_FREE) {
            let_go(client, RL_CONTAINER(post, redlock_lock, notice));
        } else {
            begin(client, RL_CONTAINER(post, struct rl_call, post));
        }
    }
    *last = NULL;
    while (acquires != NULL) {
        struct rl_post *post = acquires;

        acquires = post->next;
        begin(client, RL_CONTAINER(post, struct rl_call, post));
    }
}

static void end_all(redlock_client *client)
{
    struct rl_link *link;

    rl_attend(client);
    while ((link = rl_list_first(&client->crowd.ended)) != NULL) {
        struct rl_operation *operation = RL_CONTAINER(link, struct rl_operation, following);
        struct rl_call *call = operation->call;

        rl_list_remove(link);
        if (!rl_end_call(client, call, operation))
            continue;
        end(client, call);
        client->crowd.under_way--;
        if (--client->callers == 0 && client->engine.closing)
            pthread_cond_broadcast(&client->callers_gone);
    }
}

void rl_crowd_serve(redlock_client *client)
{
    carry_out(client, take(&client->crowd, NULL));
    end_all(client);
}

void rl_crowd_close(redlock_client *client)
{
    carry_out(client, take(&client->crowd, &closed_inbox));
    end_all(client);
}

void rl_crowd_pass_on(redlock_client *client)
{
    struct rl_post *newest = atomic_load(&client->crowd.inbox);

    if ((newest != NULL && newest != &closed_inbox) || !rl_list_empty(&client->crowd.ended))
        rl_poller_ring(&client->poller);
}

void rl_crowd_end(redlock_client *client)
{
    rl_crowd_close(client);
    while (atomic_load(&client->crowd.inside) > 0)
        sched_yield();
}

/* ---- around the poller ---- */

struct rl_call *rl_crowd_take_woken(redlock_client *client)
{
    struct rl_call *calls = client->crowd.to_wake;

    client->crowd.to_wake = NULL;
    return calls;
}

/* A call is gone as soon as its thread knows that it is over. */
void rl_crowd_wake(redlock_client *client, struct rl_call *calls)
{
    unsigned woken[RL_WAKE_GROUPS] = {0};

    while (calls != NULL) {
        struct rl_call *call = calls;
        uint32_t slot = call->wake_slot;

        calls = (struct rl_call *)call->post.next;
        if (atomic_exchange(&call->state, RL_CALL_OVER) == RL_CALL_ASLEEP)
            woken[slot / 32] |= 1U << slot % 32;
    }
    for (uint32_t i = 0; i < RL_WAKE_GROUPS; i++) {
        if (woken[i] == 0)
            continue;
        atomic_fetch_add(&client->crowd.wake_groups[i], 1);
        rl_futex_wake(&client->crowd.wake_groups[i], woken[i]);
    }
}

bool rl_crowd_may_block(redlock_client *client)
{
    struct rl_post *newest;

    atomic_store(&client->crowd.in_poller, true);
    newest = atomic_load(&client->crowd.inbox);
    return newest == NULL || newest == &closed_inbox;
}

void rl_crowd_left_poller(redlock_client *client)
{
    atomic_store(&client->crowd.in_poller, false);
}

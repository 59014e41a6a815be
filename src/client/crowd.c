/*
 * The inbox of a crowd and the waking of its threads; see crowd.h. In a crowd the mutex would be what everybody waits for:
 * each thread that is woken for its answer would have to take it once more. So a call costs its thread one sleep.
 */
#include "client/crowd.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "client/client.h"

enum { CROWD = 4, THIN_FOR_US = 20000 };

/* States of a call. */
enum { POSTED, ASLEEP, OVER };

/* What the inbox points to while nobody stands. */
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

/* Whoever closes the client waits for `posting` to become 0: nothing of the client may be touched after that. */
static bool post(redlock_client *client, struct rl_post *post)
{
    struct rl_crowd *crowd = &client->crowd;
    bool posted = false;

    if (client->inherited || atomic_load(&crowd->inbox) == &closed_inbox)
        return false;
    atomic_fetch_add(&crowd->posting, 1);
    posted = put(crowd, post);
    if (posted && atomic_exchange(&crowd->dozing, false))
        rl_poller_ring(&client->poller);
    atomic_fetch_sub(&crowd->posting, 1);
    return posted;
}

bool rl_crowd_call(redlock_client *client, struct rl_call *call)
{
    unsigned state = POSTED;

    atomic_init(&call->state, POSTED);
    if (!post(client, &call->post))
        return false;
    if (atomic_compare_exchange_strong(&call->state, &state, ASLEEP))
        while (atomic_load(&call->state) != OVER)
            syscall(SYS_futex, &call->state, FUTEX_WAIT_PRIVATE, ASLEEP, NULL, NULL, 0);
    return true;
}

/* A lock without callbacks is on no list of notices: its link is free to be used here. */
bool rl_crowd_free(redlock_client *client, redlock_lock *lock)
{
    if (client->inherited || lock->on_lost != NULL || lock->on_renewed != NULL ||
        atomic_load(&client->crowd.inbox) == &closed_inbox)
        return false;
    lock->unwanted.kind = RL_POST_FREE;
    if (post(client, &lock->unwanted))
        return true;
    lock->notice = (struct rl_link){0};
    return false;
}

/* ---- with the mutex ---- */

void rl_crowd_notice(redlock_client *client)
{
    struct rl_crowd *crowd = &client->crowd;

    if (crowd->wanted || client->callers < CROWD || client->closing || !rl_driver_start_carrier(client))
        return;
    crowd->wanted = true;
    pthread_cond_signal(&client->carrier_wake);
}

void rl_crowd_open(redlock_client *client)
{
    struct rl_post *closed = &closed_inbox;

    client->crowd.seen = client->clock.now;
    atomic_compare_exchange_strong(&client->crowd.inbox, &closed, NULL);
}

/* A crowd that is gone for a moment only, all of its threads on their way to the next call, is still there. */
bool rl_crowd_lasts(redlock_client *client)
{
    struct rl_crowd *crowd = &client->crowd;

    if (crowd->under_way >= CROWD)
        crowd->seen = client->clock.now;
    return rl_time_since(client->clock.now, crowd->seen).us < THIN_FOR_US;
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
    struct rl_operation *operation = client->closing ? NULL : rl_blocking_begin(client, call);

    if (client->closing)
        call->result = rl_blocking_misuse(call->report);
    if (operation == NULL) {
        end(client, call);
        return;
    }
    client->callers++;
    client->crowd.under_way++;
    operation->call = call;
    if (operation->done)
        rl_list_append(&client->crowd.ended, &operation->following);
}

static void let_go(redlock_client *client, redlock_lock *lock)
{
    lock->notice = (struct rl_link){0};
    rl_lock_let_go(lock);
    client->refs--; /* the client itself has one more */
}

static void carry_out(redlock_client *client, struct rl_post *posts)
{
    while (posts != NULL) {
        struct rl_post *post = posts;

        posts = post->next;
        if (post->kind == RL_POST_FREE)
            let_go(client, RL_CONTAINER(post, redlock_lock, unwanted));
        else
            begin(client, RL_CONTAINER(post, struct rl_call, post));
    }
}

static void end_all(redlock_client *client)
{
    struct rl_link *link;

    while ((link = rl_list_first(&client->crowd.ended)) != NULL) {
        struct rl_operation *operation = RL_CONTAINER(link, struct rl_operation, following);
        struct rl_call *call = operation->call;

        rl_list_remove(link);
        rl_blocking_end(client, call, operation);
        end(client, call);
        client->crowd.under_way--;
        if (--client->callers == 0 && client->closing)
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

void rl_crowd_ended(redlock_client *client, struct rl_operation *operation)
{
    rl_list_append(&client->crowd.ended, &operation->following);
    if (atomic_exchange(&client->crowd.dozing, false))
        rl_poller_ring(&client->poller);
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
    while (atomic_load(&client->crowd.posting) > 0)
        sched_yield();
}

/* ---- around the poller ---- */

struct rl_call *rl_crowd_take_woken(redlock_client *client)
{
    struct rl_call *calls = client->crowd.to_wake;

    client->crowd.to_wake = NULL;
    return calls;
}

/* A call may be gone as soon as its thread knows; waking an address where nobody sleeps any more harms nobody. */
void rl_crowd_wake(struct rl_call *calls)
{
    while (calls != NULL) {
        struct rl_call *call = calls;

        calls = (struct rl_call *)call->post.next;
        if (atomic_exchange(&call->state, OVER) == ASLEEP)
            syscall(SYS_futex, &call->state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    }
}

bool rl_crowd_doze(redlock_client *client)
{
    struct rl_post *newest;

    atomic_store(&client->crowd.dozing, true);
    newest = atomic_load(&client->crowd.inbox);
    return newest == NULL || newest == &closed_inbox;
}

void rl_crowd_rise(redlock_client *client)
{
    atomic_store(&client->crowd.dozing, false);
}

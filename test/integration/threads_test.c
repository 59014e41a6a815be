/*
 * One client in the hands of many threads. Assertions are made on the main thread, from what the others
 * noted.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "support/details.h"
#include "support/steps.h"

enum { THREADS = 32 };

/* Shared by all threads of one test. The counter and the witness inside it are plain on purpose: the lock is
 * what guards them, and the thread sanitizer is what checks it. */
struct crowd {
    redlock_client *client;
    int rounds;
    bool same_name;
    atomic_int inside;
    atomic_int worst;
    atomic_int failures;
    atomic_int acquired;
    atomic_int last_failure;
    int counter;
    pthread_mutex_t handover; /* orders memory between holders, as the resource itself would */
};

struct member {
    struct crowd *crowd;
    int number;
    pthread_t thread;
};

static void note_failure(struct crowd *crowd, redlock_result result)
{
    atomic_store(&crowd->last_failure, (int)result);
    atomic_fetch_add(&crowd->failures, 1);
}

/* Reads, dawdles and writes: two at a time would lose an increment. */
static void increment(struct crowd *crowd)
{
    int others = atomic_fetch_add(&crowd->inside, 1);

    if (others > 0)
        atomic_store(&crowd->worst, others);
    pthread_mutex_lock(&crowd->handover);
    int value = crowd->counter;
    pthread_mutex_unlock(&crowd->handover);
    sched_yield();
    pthread_mutex_lock(&crowd->handover);
    crowd->counter = value + 1;
    pthread_mutex_unlock(&crowd->handover);
    atomic_fetch_sub(&crowd->inside, 1);
}

static void take_turn(struct member *member)
{
    struct crowd *crowd = member->crowd;
    char name[32] = "crowd";
    redlock_lock *lock = NULL;

    if (!crowd->same_name)
        snprintf(name, sizeof(name), "crowd:%d", member->number);
    redlock_spec spec = spec_for(name, LONG_TTL_MS);
    redlock_result result = redlock_acquire(crowd->client, &spec, 60000, &lock, NULL);
    if (result != REDLOCK_OK) {
        note_failure(crowd, result);
        return;
    }
    atomic_fetch_add(&crowd->acquired, 1);
    if (crowd->same_name)
        increment(crowd);
    result = redlock_release(lock, NULL);
    if (result != REDLOCK_OK)
        note_failure(crowd, result);
    redlock_lock_free(lock);
}

static void *run_member(void *context)
{
    struct member *member = context;

    for (int i = 0; i < member->crowd->rounds; i++)
        take_turn(member);
    return NULL;
}

static void run_crowd(struct crowd *crowd)
{
    struct member members[THREADS];

    pthread_mutex_init(&crowd->handover, NULL);
    for (int i = 0; i < THREADS; i++) {
        members[i] = (struct member){.crowd = crowd, .number = i};
        assert_int_equal(pthread_create(&members[i].thread, NULL, run_member, &members[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(members[i].thread, NULL);
    pthread_mutex_destroy(&crowd->handover);
    if (atomic_load(&crowd->failures) > 0)
        fail_msg("%d calls failed, the last one with \"%s\"", atomic_load(&crowd->failures),
                 redlock_result_name((redlock_result)atomic_load(&crowd->last_failure)));
    assert_int_equal(atomic_load(&crowd->acquired), THREADS * crowd->rounds);
    assert_int_equal(atomic_load(&crowd->worst), 0);
}

/* Many threads at once under a sanitizer may keep a node waiting for longer than usual. */
static redlock_client *open_patient_client(struct fleet *fleet)
{
    redlock_options options = options_for(fleet_urls(fleet));

    options.node_timeout_ms = 5000;
    return open_with(&options);
}

static void threads_with_names_of_their_own_do_not_meet(void **state)
{
    struct fleet *fleet = *state;
    struct crowd crowd = {.client = open_patient_client(fleet), .rounds = 100};

    run_crowd(&crowd);
    redlock_client_close(crowd.client);
}

static void threads_with_one_name_take_turns(void **state)
{
    struct fleet *fleet = *state;
    struct crowd crowd = {.client = open_patient_client(fleet), .rounds = 10, .same_name = true};

    run_crowd(&crowd);
    assert_int_equal(crowd.counter, THREADS * crowd.rounds);
    redlock_client_close(crowd.client);
}

static void threads_of_two_clients_take_turns(void **state)
{
    struct fleet *fleet = *state;
    struct crowd crowd = {.client = open_patient_client(fleet), .rounds = 5, .same_name = true};
    redlock_client *other = open_patient_client(fleet);
    struct member rival = {.crowd = &(struct crowd){.client = other, .rounds = 50, .same_name = true}};

    pthread_mutex_init(&rival.crowd->handover, NULL);
    assert_int_equal(pthread_create(&rival.thread, NULL, run_member, &rival), 0);
    run_crowd(&crowd);
    pthread_join(rival.thread, NULL);
    pthread_mutex_destroy(&rival.crowd->handover);
    assert_int_equal(atomic_load(&rival.crowd->failures), 0);
    assert_int_equal(crowd.counter, THREADS * crowd.rounds);
    redlock_client_close(crowd.client);
    redlock_client_close(other);
}

/* ---- the same handle in many hands --------------------------------------------------------------------- */

struct sharer {
    redlock_client *client;
    redlock_lock *lock;
    atomic_int released;
    atomic_int odd;
};

static void *use_shared_lock(void *context)
{
    struct sharer *sharer = context;
    redlock_stats stats = REDLOCK_STATS_INIT;

    for (int i = 0; i < 50; i++) {
        redlock_result result = redlock_extend(sharer->lock, 0, NULL);
        if (result != REDLOCK_OK && result != REDLOCK_NOT_HELD)
            atomic_store(&sharer->odd, (int)result);
        redlock_lock_validity_ms(sharer->lock);
        redlock_client_stats(sharer->client, &stats);
    }
    redlock_result result = redlock_release(sharer->lock, NULL);
    if (result == REDLOCK_OK)
        atomic_fetch_add(&sharer->released, 1);
    else if (result != REDLOCK_NOT_HELD)
        atomic_store(&sharer->odd, (int)result);
    return NULL;
}

static void one_lock_in_many_hands_is_released_once(void **state)
{
    enum { HANDS = 8 };
    struct fleet *fleet = *state;
    struct sharer sharer = {.client = open_patient_client(fleet)};
    pthread_t threads[HANDS];

    sharer.lock = take_lock(sharer.client, "hands", LONG_TTL_MS);
    for (int i = 0; i < HANDS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, use_shared_lock, &sharer), 0);
    for (int i = 0; i < HANDS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(atomic_load(&sharer.odd), 0);
    assert_int_equal(atomic_load(&sharer.released), 1);
    redlock_lock_free(sharer.lock);
    redlock_client_close(sharer.client);
}

/* ---- calls that end as soon as they begin -------------------------------------------------------------- */

struct hopeful {
    redlock_client *client;
    atomic_int held; /* threads that have had a lock while the nodes were there */
    atomic_bool gone;
    atomic_int odd;
};

/* First with the nodes, until they are gone, and then for a while without: most of these calls are over at
 * once. */
static void *keep_trying(void *context)
{
    struct hopeful *hopeful = context;
    redlock_spec spec = spec_for("hopeful", LONG_TTL_MS);
    bool had = false;

    for (int tries = 0; tries < 200; tries += atomic_load(&hopeful->gone)) {
        redlock_lock *lock = NULL;
        redlock_result result = redlock_try_acquire(hopeful->client, &spec, &lock, NULL);

        if (result == REDLOCK_OK) {
            redlock_release(lock, NULL);
            redlock_lock_free(lock);
        } else if (result != REDLOCK_BUSY && !had && !atomic_load(&hopeful->gone)) {
            atomic_store(&hopeful->odd, (int)result);
        }
        if (!had) {
            had = true;
            atomic_fetch_add(&hopeful->held, 1);
        }
    }
    return NULL;
}

/* Nodes that are known to be away answer for themselves: then a call ends before its thread sleeps. It must
 * be ended once. */
static void calls_of_a_crowd_that_end_at_once_end_once(void **state)
{
    struct fleet *fleet = *state;
    struct hopeful hopeful = {.client = open_patient_client(fleet)};
    pthread_t threads[THREADS];

    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, keep_trying, &hopeful), 0);
    while (atomic_load(&hopeful.held) < THREADS)
        sched_yield();
    for (int node = 0; node < fleet_size(fleet); node++)
        fleet_kill(fleet, node);
    atomic_store(&hopeful.gone, true);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(atomic_load(&hopeful.odd), 0);
    redlock_client_close(hopeful.client);
}

/* While there is a crowd another thread does its I/O; a lone caller does its own again. Both ways, twice. */
static void a_crowd_dissolves_and_forms_again(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_patient_client(fleet);

    for (int i = 0; i < 2; i++) {
        struct crowd crowd = {.client = client, .rounds = 20};

        run_crowd(&crowd);
        sleep_ms(50);
        for (int k = 0; k < 20; k++)
            give_back(take_lock(client, "alone", LONG_TTL_MS));
    }
    redlock_client_close(client);
}

/* The thread that does the I/O for all of them may be the one whose own call ends first. */
static void threads_come_and_go_while_others_wait(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_patient_client(fleet);
    struct crowd waiting = {.client = client, .rounds = 1, .same_name = true};
    struct member members[8];
    redlock_lock *lock = take_lock(client, "crowd", LONG_TTL_MS);

    pthread_mutex_init(&waiting.handover, NULL);
    for (int i = 0; i < 8; i++) {
        members[i] = (struct member){.crowd = &waiting, .number = i};
        assert_int_equal(pthread_create(&members[i].thread, NULL, run_member, &members[i]), 0);
    }
    for (int i = 0; i < 200; i++)
        give_back(take_lock(client, "passing", LONG_TTL_MS));
    assert_int_equal(atomic_load(&waiting.acquired), 0);
    give_back(lock);
    for (int i = 0; i < 8; i++)
        pthread_join(members[i].thread, NULL);
    pthread_mutex_destroy(&waiting.handover);
    assert_int_equal(atomic_load(&waiting.failures), 0);
    assert_int_equal(waiting.counter, 8);
    redlock_client_close(client);
}

/* ---- closing under a caller ---------------------------------------------------------------------------- */

struct patient {
    redlock_client *client;
    redlock_result result;
    redlock_lock *lock;
    pthread_t thread;
};

static void *wait_for_ever(void *context)
{
    struct patient *patient = context;
    redlock_spec spec = spec_for("closing", LONG_TTL_MS);

    patient->result = redlock_acquire(patient->client, &spec, REDLOCK_WAIT_FOREVER, &patient->lock, NULL);
    return NULL;
}

static void close_ends_calls_that_wait(void **state)
{
    enum { PATIENTS = 8 };
    struct fleet *fleet = *state;
    redlock_client *holder = open_patient_client(fleet);
    redlock_client *client = open_patient_client(fleet);
    redlock_lock *lock = take_lock(holder, "closing", LONG_TTL_MS);
    struct patient patients[PATIENTS];

    for (int i = 0; i < PATIENTS; i++) {
        patients[i] = (struct patient){.client = client};
        assert_int_equal(pthread_create(&patients[i].thread, NULL, wait_for_ever, &patients[i]), 0);
    }
    /* A call that came later would use a client that is gone. */
    await(waiting_of(client) == PATIENTS);
    redlock_client_close(client);
    for (int i = 0; i < PATIENTS; i++) {
        pthread_join(patients[i].thread, NULL);
        assert_result(REDLOCK_CANCELED, patients[i].result, NULL);
        assert_null(patients[i].lock);
    }
    give_back(lock);
    redlock_client_close(holder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_1_3_5_NODES(threads_with_names_of_their_own_do_not_meet),
        ON_1_3_5_NODES(threads_with_one_name_take_turns),
        ON_NODES(threads_of_two_clients_take_turns, start_three_nodes),
        ON_NODES(one_lock_in_many_hands_is_released_once, start_three_nodes),
        ON_NODES(calls_of_a_crowd_that_end_at_once_end_once, start_three_nodes),
        ON_NODES(a_crowd_dissolves_and_forms_again, start_three_nodes),
        ON_NODES(threads_come_and_go_while_others_wait, start_three_nodes),
        ON_NODES(close_ends_calls_that_wait, start_three_nodes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * The resolver with a getaddrinfo() of its own in front of the system's, so that look-ups can be held up
 * and made to fail. No name server is asked but for the one test that says so.
 */
#include <dlfcn.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "net/resolver.h"

/* ---- look-ups under control ---------------------------------------------------------------------------- */

static sem_t slow_entered, slow_may_go, slow_left;
static atomic_int blocked_signals;

static void note_blocked_signals(void)
{
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    atomic_store(&blocked_signals, sigismember(&mask, SIGTERM) && sigismember(&mask, SIGCHLD));
}

static void await(sem_t *semaphore)
{
    while (sem_wait(semaphore) == -1)
        ;
}

/* Stands before the system's: "slow" waits to be let go, "missing" and "failing" fail, others are looked
 * up. */
int getaddrinfo(const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **list)
{
    int (*system_look_up)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
    *(void **)&system_look_up = dlsym(RTLD_NEXT, "getaddrinfo");
    note_blocked_signals();
    if (strcmp(host, "missing") == 0)
        return EAI_NONAME;
    if (strcmp(host, "failing") == 0) {
        errno = ETIMEDOUT;
        return EAI_SYSTEM;
    }
    if (strcmp(host, "slow") != 0)
        return system_look_up(host, service, hints, list);
    sem_post(&slow_entered);
    await(&slow_may_go);
    int code = system_look_up("127.0.0.1", service, hints, list);
    sem_post(&slow_left);
    return code;
}

/* ---- a resolver and who waits for it ------------------------------------------------------------------- */

struct waiter {
    sem_t answers;
    atomic_int notified;
    atomic_int allocated;
    struct rl_resolver *resolver;
};

static void *allocate_counted(void *context, size_t size)
{
    struct waiter *waiter = context;
    atomic_fetch_add(&waiter->allocated, (int)size);
    return malloc(size);
}

static void release_counted(void *context, void *memory, size_t size)
{
    struct waiter *waiter = context;
    atomic_fetch_sub(&waiter->allocated, (int)size);
    free(memory);
}

static void *allocate_nothing(void *context, size_t size)
{
    (void)context;
    (void)size;
    return NULL;
}

static void count_notify(void *context)
{
    struct waiter *waiter = context;
    atomic_fetch_add(&waiter->notified, 1);
    sem_post(&waiter->answers);
}

static void start(struct waiter *waiter)
{
    memset(waiter, 0, sizeof *waiter);
    sem_init(&waiter->answers, 0, 0);
    sem_init(&slow_entered, 0, 0);
    sem_init(&slow_may_go, 0, 0);
    sem_init(&slow_left, 0, 0);
    waiter->resolver = rl_resolver_create(allocate_counted, release_counted, waiter, count_notify, waiter);
    assert_non_null(waiter->resolver);
}

static void stop(struct waiter *waiter)
{
    rl_resolver_free(waiter->resolver);
    assert_int_equal(atomic_load(&waiter->allocated), 0);
    sem_destroy(&waiter->answers);
}

static void take_next(struct waiter *waiter, struct rl_resolved *resolved)
{
    await(&waiter->answers);
    assert_true(rl_resolver_take(waiter->resolver, resolved));
}

static unsigned port_of(const struct rl_resolved *resolved)
{
    const struct sockaddr_storage *storage = &resolved->addresses[0].storage;
    if (storage->ss_family == AF_INET6)
        return ntohs(((const struct sockaddr_in6 *)storage)->sin6_port);
    return ntohs(((const struct sockaddr_in *)storage)->sin_port);
}

/* ---- answers ------------------------------------------------------------------------------------------- */

static void localhost_has_an_address(void **state)
{
    (void)state;
    struct waiter waiter;
    start(&waiter);
    struct rl_resolved resolved;
    assert_false(rl_resolver_take(waiter.resolver, &resolved));
    assert_true(rl_resolver_ask(waiter.resolver, 7, "localhost", 6379));
    take_next(&waiter, &resolved);
    assert_int_equal(resolved.tag, 7);
    assert_true(resolved.count > 0);
    assert_true(resolved.addresses[0].length > 0);
    assert_int_equal(port_of(&resolved), 6379);
    assert_string_equal(resolved.error, "");
    assert_false(rl_resolver_take(waiter.resolver, &resolved));
    stop(&waiter);
}

/* Asks the system, which may or may not have a name server; either way this name does not exist. */
static void unknown_name_gives_words(void **state)
{
    (void)state;
    struct waiter waiter;
    start(&waiter);
    struct rl_resolved resolved;
    assert_true(rl_resolver_ask(waiter.resolver, 0, "nohost.invalid", 6379));
    take_next(&waiter, &resolved);
    assert_int_equal(resolved.count, 0);
    assert_true(strlen(resolved.error) > 0);
    stop(&waiter);
}

static void failures_are_lower_case_words(void **state)
{
    (void)state;
    struct waiter waiter;
    start(&waiter);
    struct rl_resolved resolved;
    assert_true(rl_resolver_ask(waiter.resolver, 0, "missing", 6379));
    take_next(&waiter, &resolved);
    assert_int_equal(resolved.count, 0);
    assert_string_equal(resolved.error, "name or service not known");
    assert_true(rl_resolver_ask(waiter.resolver, 0, "failing", 6379));
    take_next(&waiter, &resolved);
    assert_string_equal(resolved.error, "connection timed out");
    stop(&waiter);
}

static void every_question_gets_one_notify_and_one_answer(void **state)
{
    (void)state;
    struct waiter waiter;
    start(&waiter);
    for (unsigned tag = 0; tag < 31; tag++)
        assert_true(rl_resolver_ask(waiter.resolver, tag, "127.0.0.1", (unsigned short)(7000 + tag)));
    unsigned seen = 0;
    for (int i = 0; i < 31; i++) {
        struct rl_resolved resolved;
        take_next(&waiter, &resolved);
        assert_int_equal(port_of(&resolved), 7000 + resolved.tag);
        seen |= 1U << resolved.tag;
    }
    assert_int_equal(seen, 0x7fffffff);
    assert_int_equal(atomic_load(&waiter.notified), 31);
    stop(&waiter);
}

static void question_replaced_while_it_is_looked_up_is_dropped(void **state)
{
    (void)state;
    struct waiter waiter;
    start(&waiter);
    assert_true(rl_resolver_ask(waiter.resolver, 3, "slow", 1111));
    await(&slow_entered);
    assert_true(rl_resolver_ask(waiter.resolver, 3, "127.0.0.1", 2222));
    sem_post(&slow_may_go);
    struct rl_resolved resolved;
    take_next(&waiter, &resolved);
    assert_int_equal(port_of(&resolved), 2222);
    assert_false(rl_resolver_take(waiter.resolver, &resolved));
    assert_int_equal(atomic_load(&waiter.notified), 1);
    stop(&waiter);
}

static void answer_that_was_not_taken_is_replaced_too(void **state)
{
    (void)state;
    struct waiter waiter;
    start(&waiter);
    assert_true(rl_resolver_ask(waiter.resolver, 3, "127.0.0.1", 1111));
    await(&waiter.answers);
    assert_true(rl_resolver_ask(waiter.resolver, 3, "127.0.0.1", 2222));
    struct rl_resolved resolved;
    take_next(&waiter, &resolved);
    assert_int_equal(port_of(&resolved), 2222);
    assert_false(rl_resolver_take(waiter.resolver, &resolved));
    stop(&waiter);
}

static void signals_are_left_to_the_programs_threads(void **state)
{
    (void)state;
    struct waiter waiter;
    start(&waiter);
    sigset_t before, after;
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    assert_true(rl_resolver_ask(waiter.resolver, 0, "missing", 6379));
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    assert_int_equal(sigismember(&before, SIGTERM), sigismember(&after, SIGTERM));
    struct rl_resolved resolved;
    take_next(&waiter, &resolved);
    assert_true(atomic_load(&blocked_signals));
    stop(&waiter);
}

/* ---- endings ------------------------------------------------------------------------------------------- */

static void no_memory_is_no_resolver(void **state)
{
    (void)state;
    assert_null(rl_resolver_create(allocate_nothing, release_counted, NULL, count_notify, NULL));
    rl_resolver_free(NULL);
}

static void unused_resolver_is_freed(void **state)
{
    (void)state;
    struct waiter waiter;
    start(&waiter);
    stop(&waiter);
}

static void free_does_not_wait_for_a_look_up(void **state)
{
    (void)state;
    struct waiter waiter;
    start(&waiter);
    assert_true(rl_resolver_ask(waiter.resolver, 0, "slow", 6379));
    assert_true(rl_resolver_ask(waiter.resolver, 1, "127.0.0.1", 6379));
    await(&slow_entered);
    stop(&waiter); /* would hang here */
    sem_post(&slow_may_go);
    await(&slow_left);
    assert_int_equal(atomic_load(&waiter.notified), 0);
}

static atomic_int notify_finished;
static sem_t notify_entered;

static void notify_slowly(void *context)
{
    (void)context;
    sem_post(&notify_entered);
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    atomic_store(&notify_finished, 1);
}

/* What notify wakes up is torn down right after the resolver. */
static void free_waits_for_a_running_notify(void **state)
{
    (void)state;
    struct waiter waiter;
    start(&waiter);
    sem_init(&notify_entered, 0, 0);
    struct rl_resolver *resolver =
        rl_resolver_create(allocate_counted, release_counted, &waiter, notify_slowly, NULL);
    assert_non_null(resolver);
    assert_true(rl_resolver_ask(resolver, 0, "missing", 6379));
    await(&notify_entered);
    rl_resolver_free(resolver);
    assert_int_equal(atomic_load(&notify_finished), 1);
    stop(&waiter);
}

static void free_races_with_answers_and_loses_nothing(void **state)
{
    (void)state;
    for (int i = 0; i < 200; i++) {
        struct waiter waiter;
        start(&waiter);
        for (unsigned tag = 0; tag < 4; tag++)
            assert_true(rl_resolver_ask(waiter.resolver, tag, "missing", 6379));
        for (int wait = i % 4; wait > 0; wait--)
            await(&waiter.answers);
        stop(&waiter);
    }
}

static void child_forgets_a_resolver_in_the_middle_of_a_look_up(void **state)
{
    (void)state;
    struct waiter waiter;
    start(&waiter);
    assert_true(rl_resolver_ask(waiter.resolver, 0, "slow", 6379));
    await(&slow_entered);
    pid_t child = fork();
    assert_int_not_equal(child, -1);
    if (child == 0) {
        rl_resolver_forget(waiter.resolver);
        _exit(atomic_load(&waiter.allocated) == 0 ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    sem_post(&slow_may_go);
    struct rl_resolved resolved;
    take_next(&waiter, &resolved);
    assert_true(resolved.count > 0);
    stop(&waiter);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(localhost_has_an_address),
        cmocka_unit_test(unknown_name_gives_words),
        cmocka_unit_test(failures_are_lower_case_words),
        cmocka_unit_test(every_question_gets_one_notify_and_one_answer),
        cmocka_unit_test(question_replaced_while_it_is_looked_up_is_dropped),
        cmocka_unit_test(answer_that_was_not_taken_is_replaced_too),
        cmocka_unit_test(signals_are_left_to_the_programs_threads),
        cmocka_unit_test(no_memory_is_no_resolver),
        cmocka_unit_test(unused_resolver_is_freed),
        cmocka_unit_test(free_does_not_wait_for_a_look_up),
        cmocka_unit_test(free_waits_for_a_running_notify),
        cmocka_unit_test(free_races_with_answers_and_loses_nothing),
        cmocka_unit_test(child_forgets_a_resolver_in_the_middle_of_a_look_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

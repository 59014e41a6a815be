/*
 * What locks cost in system calls: a lone caller at most one write and one read per node and round, and many
 * renewals few writes. The calls are counted by standing in for the C library's; under a sanitizer, which
 * does the same, these tests are skipped.
 */
#include <poll.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "support/steps.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define COUNTING 0
#else
#define COUNTING 1
#endif

static atomic_int counting;
static atomic_long socket_writes, socket_reads, other_writes, other_reads, waits;

#if COUNTING
static void count_call(int fd, atomic_long *sockets, atomic_long *others)
{
    struct stat status;

    if (atomic_load(&counting) == 0)
        return;
    if (fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode))
        atomic_fetch_add(sockets, 1);
    else
        atomic_fetch_add(others, 1);
}

static void count_wait(void)
{
    if (atomic_load(&counting) != 0)
        atomic_fetch_add(&waits, 1);
}

ssize_t write(int fd, const void *bytes, size_t length)
{
    count_call(fd, &socket_writes, &other_writes);
    return syscall(SYS_write, fd, bytes, length);
}

ssize_t writev(int fd, const struct iovec *vectors, int count)
{
    count_call(fd, &socket_writes, &other_writes);
    return syscall(SYS_writev, fd, vectors, count);
}

ssize_t send(int fd, const void *bytes, size_t length, int flags)
{
    count_call(fd, &socket_writes, &other_writes);
    return syscall(SYS_sendto, fd, bytes, length, flags, NULL, 0);
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
    count_call(fd, &socket_writes, &other_writes);
    return syscall(SYS_sendmsg, fd, message, flags);
}

ssize_t read(int fd, void *bytes, size_t length)
{
    count_call(fd, &socket_reads, &other_reads);
    return syscall(SYS_read, fd, bytes, length);
}

ssize_t readv(int fd, const struct iovec *vectors, int count)
{
    count_call(fd, &socket_reads, &other_reads);
    return syscall(SYS_readv, fd, vectors, count);
}

ssize_t recv(int fd, void *bytes, size_t length, int flags)
{
    count_call(fd, &socket_reads, &other_reads);
    return syscall(SYS_recvfrom, fd, bytes, length, flags, NULL, NULL);
}

ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
    count_call(fd, &socket_reads, &other_reads);
    return syscall(SYS_recvmsg, fd, message, flags);
}

int epoll_wait(int fd, struct epoll_event *events, int count, int timeout_ms)
{
    count_wait();
    return (int)syscall(SYS_epoll_wait, fd, events, count, timeout_ms);
}

int epoll_pwait2(int fd, struct epoll_event *events, int count, const struct timespec *timeout,
                 const sigset_t *mask)
{
    count_wait();
    return (int)syscall(SYS_epoll_pwait2, fd, events, count, timeout, mask, 8);
}

int poll(struct pollfd *list, nfds_t count, int timeout_ms)
{
    count_wait();
    return (int)syscall(SYS_poll, list, count, timeout_ms);
}
#endif

static void lock_and_release(redlock_client *client, int pairs)
{
    for (int i = 0; i < pairs; i++)
        give_back(take_lock(client, "calls", LONG_TTL_MS));
}

static void reset_counts(void)
{
    atomic_store(&socket_writes, 0);
    atomic_store(&socket_reads, 0);
    atomic_store(&other_writes, 0);
    atomic_store(&other_reads, 0);
    atomic_store(&waits, 0);
}

static void lone_caller_writes_and_reads_once_per_node_and_round(void **state)
{
    enum { PAIRS = 500 };
    struct fleet *fleet = *state;

    if (!COUNTING)
        skip();
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    lock_and_release(client, 50);
    reset_counts();
    atomic_store(&counting, 1);
    lock_and_release(client, PAIRS);
    atomic_store(&counting, 0);
    print_message(
        "# per pair: %.2f socket writes, %.2f socket reads, %.2f other writes, %.2f other reads, %.2f waits\n",
        (double)socket_writes / PAIRS, (double)socket_reads / PAIRS, (double)other_writes / PAIRS,
        (double)other_reads / PAIRS, (double)waits / PAIRS);
    redlock_client_close(client);

    /* A pair is two rounds. That something was counted shows that counting works. */
    long rounds = 2L * PAIRS;
    assert_in_range(socket_writes, rounds * quorum_of(fleet), rounds * fleet_size(fleet));
    assert_in_range(socket_reads, PAIRS, rounds * fleet_size(fleet));
    /* A lone caller wakes nobody, and does not look for work more often than answers can come. */
    assert_in_range(other_writes + other_reads, 0, PAIRS / 10);
    assert_in_range(waits, 0, rounds * (fleet_size(fleet) + 1));
}

static long count_renewed(redlock_client *client)
{
    static redlock_stats stats;

    stats = (redlock_stats)REDLOCK_STATS_INIT;
    assert_result(REDLOCK_OK, redlock_client_stats(client, &stats), NULL);
    return (long)stats.renewed;
}

/* However their beginnings are spread, leases of one kind are renewed at 128 moments between two renewals:
 * here, every 23 ms. They are long, for only a lease that has time left waits for the others. */
static void renewals_of_many_leases_travel_together(void **state)
{
    enum { LEASES = 1000, RENEW_MS = 3000 };
    struct fleet *fleet = *state;
    static redlock_lock *locks[LEASES];
    char name[32];

    if (!COUNTING)
        skip();
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_spec spec = spec_for(name, LONG_TTL_MS);
    spec.auto_extend = 1;
    spec.renew_ms = RENEW_MS;
    spec.on_lost = ignore_loss;
    for (int i = 0; i < LEASES; i++) {
        snprintf(name, sizeof name, "lease:%d", i);
        locks[i] = take_spec(client, &spec);
    }
    reset_counts();
    atomic_store(&counting, 1);
    long before = count_renewed(client), extended = 0;
    for (int i = 0; i < 600 && extended < LEASES; i++) {
        sleep_ms(50);
        extended = count_renewed(client) - before;
    }
    atomic_store(&counting, 0);
    for (int i = 0; i < LEASES; i++)
        give_back(locks[i]);
    redlock_client_close(client);
    print_message("# %ld socket writes for %ld renewals\n", (long)socket_writes, extended);
    assert_true(extended >= LEASES);
    assert_true(socket_writes > 0);
    assert_true(socket_writes * 4 <= extended * fleet_size(fleet) * 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_1_3_5_NODES(lone_caller_writes_and_reads_once_per_node_and_round),
        ON_NODES(renewals_of_many_leases_travel_together, start_three_nodes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

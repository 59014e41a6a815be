/*
 * A held lock as the command sees it: carries what the library's threads report to the main loop and, without
 * the main loop's help, to the warden. It decides when CMD has to end, but ends nothing.
 */
#include "cli/lease.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include "cli/clock.h"

/* What is left of the grace when the lock is gone already. */
#define LAST_GRACE_MS 1000
/* And what KILL and the sweep may take after that. */
#define AFTER_KILL_MS 1000

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* KILL and the sweep of a process tree take some milliseconds, and on a busy machine many more: they start
 * this long before validity ends. A tenth of a short lease is what can be spared. */
static int64_t margin_for(uint32_t ttl_ms)
{
    return least(ttl_ms / 10, 1000);
}

bool cli_lease_open(struct cli_lease *lease, const struct cli_warden *warden, uint32_t ttl_ms,
                    uint32_t renew_ms, int64_t grace_ms)
{
    int64_t margin = margin_for(ttl_ms);
    int64_t spare = (int64_t)ttl_ms - renew_ms - margin;

    *lease = (struct cli_lease){.warden = warden,
                                .fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
                                .margin_ms = margin,
                                .kill_at_ms = CLI_NEVER,
                                .grace_ms = spare > 0 ? least(grace_ms, spare / 2) : 0};
    pthread_mutex_init(&lease->mutex, NULL);
    cli_clock_condition(&lease->ended);
    return lease->fd >= 0;
}

/* With the mutex held. */
static void set_deadline(struct cli_lease *lease, int64_t valid_until_ms)
{
    lease->kill_at_ms = valid_until_ms - lease->margin_ms;
    cli_warden_set_deadline(lease->warden, lease->kill_at_ms - lease->grace_ms, lease->kill_at_ms);
}

/* With the mutex held, so that an older deadline never overtakes a newer one. The clock is read first: what
 * passes in between shortens the deadline. */
static int64_t send_deadline(struct cli_lease *lease, const redlock_lock *lock)
{
    int64_t now = cli_clock_now();
    int64_t validity = redlock_lock_validity_ms(lock);

    set_deadline(lease, now + validity);
    return validity;
}

/* With the mutex held. The nodes say that the lock is gone: nothing is left to wait for, but CMD may still
 * put its things in order, for a moment and never longer than it could rely on the lock before. */
static void send_last_deadline(struct cli_lease *lease)
{
    int64_t now = cli_clock_now();

    lease->kill_at_ms = least(lease->kill_at_ms, now + least(lease->grace_ms, LAST_GRACE_MS));
    cli_warden_set_deadline(lease->warden, now, lease->kill_at_ms);
}

void cli_lease_arm(struct cli_lease *lease, const redlock_lock *lock)
{
    pthread_mutex_lock(&lease->mutex);
    send_deadline(lease, lock);
    pthread_mutex_unlock(&lease->mutex);
}

void cli_lease_arm_until(struct cli_lease *lease, int64_t valid_until_ms)
{
    pthread_mutex_lock(&lease->mutex);
    set_deadline(lease, valid_until_ms);
    pthread_mutex_unlock(&lease->mutex);
}

/* One node did it, or did not. */
static void post_single(struct cli_lease *lease, bool lost, int64_t valid_until_ms)
{
    int64_t validity_ms = lost ? 0 : valid_until_ms - cli_clock_now();
    uint64_t one = 1;

    pthread_mutex_lock(&lease->mutex);
    if (lost)
        send_last_deadline(lease);
    else
        set_deadline(lease, valid_until_ms);
    lease->news = (struct cli_lease_news){.lost = lost,
                                          .renewed = !lost,
                                          .granted = !lost,
                                          .not_held = lost,
                                          .node_count = 1,
                                          .quorum = 1,
                                          .validity_ms = validity_ms};
    pthread_mutex_unlock(&lease->mutex);
    (void)!write(lease->fd, &one, sizeof one);
}

void cli_lease_renewed(struct cli_lease *lease, int64_t valid_until_ms)
{
    post_single(lease, false, valid_until_ms);
}

void cli_lease_lost(struct cli_lease *lease)
{
    post_single(lease, true, 0);
}

static uint32_t count_verdict(const redlock_report *report, redlock_verdict verdict)
{
    redlock_node_report node = REDLOCK_NODE_REPORT_INIT;
    uint32_t count = 0;

    for (uint32_t i = 0; redlock_report_node(report, i, &node); i++)
        count += node.verdict == verdict;
    return count;
}

static void post_news(struct cli_lease *lease, redlock_lock *lock, const redlock_report *report, bool lost)
{
    struct cli_lease_news *news = &lease->news;
    uint64_t one = 1;

    pthread_mutex_lock(&lease->mutex);
    /* Before the warden hears of it: when that says that it stops CMD, what happened can be read. */
    (void)!write(lease->fd, &one, sizeof one);
    /* Not when a renewal failed: deadlines may only move on with proof. Nor once it is lost. */
    if (!lost && !news->lost && report->result == REDLOCK_OK)
        news->validity_ms = send_deadline(lease, lock);
    else
        news->validity_ms = redlock_lock_validity_ms(lock);
    if (lost)
        send_last_deadline(lease);
    news->lost = news->lost || lost;
    news->renewed = !lost && report->result == REDLOCK_OK;
    news->failed = !lost && report->result != REDLOCK_OK && news->validity_ms > 0; /* else it is lost next */
    news->granted = report->granted;
    news->not_held = report->not_held;
    news->broken = report->broken;
    news->name_number = report->name_number;
    news->late = report->result == REDLOCK_LOST &&
                 count_verdict(report, REDLOCK_VERDICT_PENDING) == report->node_count;
    news->out_of_order =
        count_verdict(report, REDLOCK_VERDICT_FAILED) + count_verdict(report, REDLOCK_VERDICT_INELIGIBLE);
    news->node_count = report->node_count;
    news->quorum = report->quorum;
    pthread_mutex_unlock(&lease->mutex);
}

/* With the mutex held. Until CMD has ended, or should have, and a little longer. */
static void await_end(struct cli_lease *lease)
{
    int64_t left = lease->kill_at_ms - cli_clock_now() + AFTER_KILL_MS;

    left = left < AFTER_KILL_MS ? AFTER_KILL_MS : least(left, LAST_GRACE_MS + AFTER_KILL_MS);
    cli_clock_wait(&lease->ended, &lease->mutex, &lease->over, left);
}

/* Where an operator broke it, the nodes keep others out until this returns: CMD is stopped first. */
void cli_lease_on_lost(void *context, redlock_lock *lock, const redlock_report *report)
{
    struct cli_lease *lease = context;

    post_news(lease, lock, report, true);
    if (!report->broken)
        return;
    pthread_mutex_lock(&lease->mutex);
    await_end(lease);
    pthread_mutex_unlock(&lease->mutex);
}

void cli_lease_over(struct cli_lease *lease)
{
    pthread_mutex_lock(&lease->mutex);
    lease->over = true;
    pthread_cond_broadcast(&lease->ended);
    pthread_mutex_unlock(&lease->mutex);
}

void cli_lease_on_renewed(void *context, redlock_lock *lock, const redlock_report *report)
{
    post_news(context, lock, report, false);
}

void cli_lease_end(struct cli_lease *lease)
{
    pthread_mutex_lock(&lease->mutex);
    lease->news.lost = true;
    send_last_deadline(lease);
    pthread_mutex_unlock(&lease->mutex);
}

bool cli_lease_take_news(struct cli_lease *lease, struct cli_lease_news *news)
{
    uint64_t count;

    if (read(lease->fd, &count, sizeof count) != (ssize_t)sizeof count)
        return false;
    pthread_mutex_lock(&lease->mutex);
    *news = lease->news;
    lease->news.renewed = lease->news.failed = false;
    pthread_mutex_unlock(&lease->mutex);
    return true;
}

void cli_lease_close(struct cli_lease *lease)
{
    if (lease->fd < 0)
        return;
    close(lease->fd);
    lease->fd = -1;
    pthread_cond_destroy(&lease->ended);
    pthread_mutex_destroy(&lease->mutex);
}

/*
 * Notes what holders are to be told, and puts it into words; see notices.h.
 */
#include "engine/notices.h"

#include "engine/report.h"
#include "engine/stats.h"

static void add(redlock_lock *lock)
{
    if (!rl_link_used(&lock->notice))
        rl_list_append(&lock->engine->notices, &lock->notice);
}

bool rl_notices_wanted(const redlock_lock *lock)
{
    return lock->on_lost != NULL && lock->handle;
}

void rl_notices_add_loss(redlock_lock *lock)
{
    lock->engine->stats.lost++;
    if (rl_notices_wanted(lock)) {
        lock->lost_due = true;
        add(lock);
    }
}

void rl_notices_add_renewal(redlock_lock *lock)
{
    rl_stats_renewal(lock->engine, lock->lease.extend_outcome == RL_OUTCOME_OK,
                     rl_time_since(lock->engine->now, lock->lease.asked));
    if (lock->renewal != NULL && lock->handle) {
        lock->renewed_due = true;
        lock->renewal->tally = lock->lease.tally;
        lock->renewal->outcome = lock->lease.extend_outcome;
        add(lock);
    }
}

static redlock_renewed_fn renewed_callback(const redlock_lock *lock)
{
    return lock->renewal != NULL ? lock->renewal->tell : NULL;
}

redlock_lost_fn rl_notices_take(redlock_lock *lock, redlock_report *report, bool *lost)
{
    redlock_lost_fn callback;

    *lost = lock->lost_due && !lock->renewed_due;
    callback = *lost ? lock->on_lost : renewed_callback(lock);
    *(*lost ? &lock->lost_due : &lock->renewed_due) = false;
    if (!lock->lost_due && !lock->renewed_due)
        rl_list_remove(&lock->notice);
    if (callback == NULL)
        return NULL;
    if (*lost)
        rl_report_renewal(report, lock, REDLOCK_LOST, &lock->lease.tally);
    else
        rl_report_renewal(report, lock, (redlock_result)lock->renewal->outcome, &lock->renewal->tally);
    return callback;
}

/*
 * Lines about a lock; see hold.h.
 */
#include "hold.h"

#include <inttypes.h>

struct process process;

void hold_note(const struct hold *hold, const char *word)
{
    journal_add(&process.journal, "%s %" PRId64 " %u", word, journal_now_us(), hold->number);
}

void hold_note_number(const struct hold *hold, const char *word, int64_t number)
{
    journal_add(&process.journal, "%s %" PRId64 " %u %" PRId64, word, journal_now_us(), hold->number, number);
}

/* Validity is read between two looks at the clock: it lasts until the first plus what was read, at least. */
int64_t hold_note_validity(const struct hold *hold, redlock_lock *lock, const char *word)
{
    int64_t before_us = journal_now_us();
    int64_t validity_ms = redlock_lock_validity_ms(lock);

    journal_add(&process.journal, "%s %" PRId64 " %u %" PRId64 " %" PRId64, word, before_us, hold->number,
                validity_ms, journal_now_us());
    return validity_ms;
}

void hold_note_answer(struct hold *hold, redlock_result result, redlock_lock *lock)
{
    if (result != REDLOCK_OK) {
        hold_note_number(hold, "refused", result);
        return;
    }
    if (redlock_lock_slot(lock) >= 0)
        hold_note_number(hold, "slot", redlock_lock_slot(lock));

    int64_t before_us = journal_now_us();
    int64_t validity_ms = redlock_lock_validity_ms(lock);

    hold->lock = lock;
    journal_add(&process.journal, "granted %" PRId64 " %u %" PRId64 " %" PRId64 " %" PRIu64, before_us,
                hold->number, validity_ms, journal_now_us(), redlock_lock_fence(lock));
}

void hold_on_lost(void *context, redlock_lock *lock, const redlock_report *report)
{
    (void)lock;
    (void)report;
    hold_note(context, "lost");
}

void hold_on_renewed(void *context, redlock_lock *lock, const redlock_report *report)
{
    if (report->result == REDLOCK_OK)
        hold_note_validity(context, lock, "renewed");
}

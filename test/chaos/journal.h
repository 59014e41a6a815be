/*
 * One process's part of the history: a file to which lines are only added, each by one write(), so that a
 * kill loses nothing that had been acted upon. What the lines say is in check.py, which reads them; nothing
 * here judges.
 */
#ifndef TEST_CHAOS_JOURNAL_H
#define TEST_CHAOS_JOURNAL_H

#include <stdint.h>

struct journal {
    int fd;
};

/* Ends the process when it cannot: a history with holes is worth nothing. */
struct journal journal_open(const char *folder, const char *process);
__attribute__((format(printf, 2, 3))) void journal_add(const struct journal *journal, const char *format,
                                                       ...);

/* Microseconds by the clock that all processes of a machine share and that counts suspended time. */
int64_t journal_now_us(void);

#endif

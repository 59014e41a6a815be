/*
 * What the locks protect: one number per name that holders read, raise by one and write back, kept twice. The
 * fenced store refuses whoever comes with a lower fence than was seen; the unfenced one believes everybody.
 * Each is a file of records that are only added, so a killed writer has written all or nothing, and the whole
 * story can be checked afterwards.
 */
#ifndef TEST_CHAOS_STORE_H
#define TEST_CHAOS_STORE_H

#include <stdbool.h>
#include <stdint.h>

enum store_kind { STORE_FENCED, STORE_UNFENCED, STORE_KINDS };

const char *store_word(enum store_kind kind);

/* The number of a name. Reading with a fence bars everybody with a lower one from then on: else a holder that
 * overslept could still write between our read and our write. false: refused. */
bool store_read(const char *folder, enum store_kind kind, const char *name, uint64_t fence, uint64_t *value);
bool store_write(const char *folder, enum store_kind kind, const char *name, uint64_t fence, uint64_t value);

#endif

/*
 * Structs whose first field says how large the caller knows them to be. Programs built against an older or a
 * newer header meet the present layout here, and nowhere else.
 */
#ifndef RL_ENGINE_SIZED_H
#define RL_ENGINE_SIZED_H

#include <stdbool.h>

#include "redlock.h"

/* Whether a caller's struct, which begins with its size, can be read and written as one of `ours` bytes. */
bool rl_sized_ok(const void *given, size_t ours);

/* Copies it to ours, with zeros for what it lacks; false: as above. And back, as much of it as the caller
 * knows. */
bool rl_sized_read(void *ours, size_t size, const void *given);
void rl_sized_write(void *given, const void *ours, size_t size);

/* A caller's report while a call fills it in: `report` is it, or a copy when it is of another version. */
struct rl_report_frame {
    redlock_report *given, *report;
    redlock_report copy;
};

bool rl_report_accept(struct rl_report_frame *frame, redlock_report *given); /* false: its size is wrong */
redlock_result rl_report_return(const struct rl_report_frame *frame, redlock_result result); /* the result */

/* A caller's spec as this version knows it: itself, or a copy; NULL: its size is wrong. */
const redlock_spec *rl_spec_accept(const redlock_spec *given, redlock_spec *copy);

/* Only what says which lock it is, for calls that have nothing to do with its lease; NULL for NULL. */
const redlock_spec *rl_spec_which(const redlock_spec *spec, redlock_spec *which);

#endif

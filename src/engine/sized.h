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

/* The same for lists, watches and breaks, with lengths filled in; what is wrong with it, NULL nothing. A list
 * needs no spec. */
const char *rl_list_spec_accept(const redlock_list_spec *given, redlock_list_spec *spec);
const char *rl_break_spec_accept(const redlock_break_spec *given, redlock_break_spec *spec);

/* Specs that say nothing but a name, which may be NULL; a length of 0 is that of a text. */
redlock_spec rl_spec_of_name(const char *name, size_t name_length);
redlock_list_spec rl_list_spec_of_name(const char *name, size_t name_length);

#endif

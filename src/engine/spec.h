/*
 * Whether what a caller asks for makes sense: name, times, kind and tag. What is wrong comes back in words
 * that say what to do; nothing is begun here.
 */
#ifndef RL_ENGINE_SPEC_H
#define RL_ENGINE_SPEC_H

#include "engine/operation.h"

/* A spec with its defaults filled in; on REDLOCK_INVALID the report names what is wrong. NULL: its size was
 * wrong. */
redlock_result rl_spec_check(struct rl_engine *engine, const redlock_spec *spec, redlock_spec *checked,
                             redlock_report *report);

/* What is wrong with the spec of a break, and of a LIST, WATCH or WAIT; NULL nothing. Their lengths have been
 * filled in. */
const char *rl_spec_check_break(const struct rl_engine *engine, const redlock_break_spec *spec);
const char *rl_spec_check_list(const struct rl_engine *engine, enum rl_operation_kind kind,
                               const redlock_list_spec *spec);

#endif

/*
 * What an error reply means for a vote: each known class of error has its own cause, so that nobody is told
 * "unable to achieve a quorum" for a wrong password.
 */
#ifndef RL_WIRE_ERROR_REPLY_H
#define RL_WIRE_ERROR_REPLY_H

#include <stddef.h>

#include "core/event.h"

enum rl_cause rl_error_cause(const char *text, size_t length);

/* The verdict that goes with a cause: a foreign type is a denial, a replica is ineligible, the rest is a
 * failure. */
struct rl_answer rl_error_answer(const char *text, size_t length);

/* How many bytes in front of an error's words only say where in a script it was raised; servers before Redis
 * 7 say that first, and long. */
size_t rl_error_place(const char *text, size_t length);

/* Whether an error reply starts with this word. */
bool rl_error_is(const char *text, size_t length, const char *word);

#endif

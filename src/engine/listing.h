/*
 * Lists, watches and waits: walks through the keys of nodes page by page, or looks at one name again and
 * again, and inspects each lock that it finds. What it found is taken out by the client, a page at a time;
 * then it goes on.
 */
#ifndef RL_ENGINE_LISTING_H
#define RL_ENGINE_LISTING_H

#include "engine/listing_state.h"

/* Frees what rl_listing_create() has made, if that was done. */
void rl_listing_free(struct rl_operation *operation);

/* Connections are there: it begins. */
void rl_listing_start(struct rl_operation *operation);
void rl_listing_event(struct rl_operation *operation, const struct rl_event *event);

/* A node answered with a page. */
void rl_listing_page(struct rl_operation *operation, uint32_t node, const struct rl_pending *pending,
                     const char *bytes, size_t length);

/* Goes on where inspections have ended; true: something was done. */
bool rl_listing_check(struct rl_engine *engine);

/* Nodes said that a key has changed, or that anything may have. */
void rl_listing_changed(struct rl_engine *engine, const char *key, size_t key_length);

/* ---- for the client, when the operation has ended, perhaps only for now ---- */

/* Goes on after all was told; false: it has ended for good. */
bool rl_listing_resume(struct rl_operation *operation);

/* The caller wants no more, while the client has it. */
bool rl_listing_stop(struct rl_engine *engine, redlock_request request);

/* As rl_report_operation(), but what a wait saw last. */
void rl_listing_report(redlock_report *report, const struct rl_operation *operation);

#endif

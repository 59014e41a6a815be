/*
 * The engine: everything a client decides. It is single-threaded and deterministic; it calls no clock, no
 * socket, no allocator and no thread. These are its doors, with calls.h, where a call begins. A caller of one
 * looks afterwards at what has come out: engine->wants (what the network is to do), engine->ended (calls that
 * are over), engine->turned (calls that no longer queue behind others of this process), engine->notices
 * (locks whose callbacks are to run), and rl_engine_due().
 */
#ifndef RL_ENGINE_ENGINE_H
#define RL_ENGINE_ENGINE_H

#include "engine/operation.h"

/* Zeroed memory becomes an engine without nodes, with room for so many. false: no memory, nothing is kept.
 * The texts of the configuration and the host's context must outlive it. */
bool rl_engine_init(struct rl_engine *engine, const struct rl_config *config, const struct rl_host *host,
                    uint32_t node_capacity);

/* One more node; false: no memory. */
bool rl_engine_add_node(struct rl_engine *engine, const struct rl_node_url *url);

/* All nodes are there: draws its seed; false: the host has no randomness. */
bool rl_engine_seed(struct rl_engine *engine);

/* Wants all nodes connected. */
void rl_engine_start(struct rl_engine *engine);

/* ---- time ---- */

/* It is so late now. Nothing happens yet. */
void rl_engine_look(struct rl_engine *engine, struct rl_time now);

/* Does what has become due. */
void rl_engine_tick(struct rl_engine *engine);

/* The next moment at which something has to be done without any node having said anything. */
struct rl_time rl_engine_due(const struct rl_engine *engine);

/* ---- nodes ---- */

/* The connection that was wanted: its address is being looked up; it is there; it is not, or broke. */
void rl_engine_resolving(struct rl_engine *engine, uint32_t node, bool resolving);
void rl_engine_up(struct rl_engine *engine, uint32_t node);
void rl_engine_down(struct rl_engine *engine, uint32_t node, enum rl_cause cause, const char *why);

/* What is to be told of a node next may have been there for so long already, but nobody looked. Rule: no node
 * is late because of that. What came is read before any deadline is judged, and a greeting, which takes
 * several round trips, gets the time back. */
void rl_engine_unseen(struct rl_engine *engine, uint32_t node, struct rl_span unseen);

/* Room for bytes from a node; 0: there must be no more of them, see engine->wants. Then so many came. */
size_t rl_engine_room(struct rl_engine *engine, uint32_t node, char **bytes);
void rl_engine_received(struct rl_engine *engine, uint32_t node, size_t length);

/* All that came for now has been taken: gives back room that only a burst made necessary. */
void rl_engine_read_all(struct rl_engine *engine, uint32_t node);

/* Bytes for a node, and that so many of them have been sent. */
size_t rl_engine_output(struct rl_engine *engine, uint32_t node, const char **bytes);
void rl_engine_sent(struct rl_engine *engine, uint32_t node, size_t length);

/* Whether some of them have not been. */
bool rl_engine_unsent(const struct rl_engine *engine, uint32_t node);

/* ---- calls ---- */

/* The caller of this asynchronous request does not want it any more. REDLOCK_NOT_HELD: it is not under way;
 * REDLOCK_MISUSE: a release cannot be taken back. */
redlock_result rl_engine_cancel(struct rl_engine *engine, redlock_request request);

/* The same for all calls, in whichever way they can be ended. */
void rl_engine_cancel_all(struct rl_engine *engine);

/* A list or a watch whose caller has been told what it found goes on; false: it has ended. */
bool rl_engine_resume(struct rl_operation *operation);

/* One of several handles of a reentrant lock is freed; false: it is the last one. */
bool rl_engine_free_entry(redlock_lock *lock);

/* A handle is not wanted any more. */
void rl_engine_free_handle(redlock_lock *lock);

/* The holder of a lost lock has been told. */
void rl_engine_loss_told(redlock_lock *lock);

/* ---- the end ---- */

/* Asks every node that lacks a held lock to have it, if it can be asked now. */
void rl_engine_bring_up(struct rl_engine *engine);

/* Locks still held are left at the nodes: a caller that wants them gone releases them before. */
void rl_engine_leave_locks(struct rl_engine *engine);

/* Whether everything that must reach the nodes has, or is not worth waiting for any more since the wait
 * began: longer than the node timeout only for nodes that go on answering. */
bool rl_engine_drained(const struct rl_engine *engine, struct rl_time began);

/* Nothing is sent any more, and nobody waits for an answer. Lock handles may live on after this. */
void rl_engine_close(struct rl_engine *engine);

/* Gives back what only a working engine needs, and at last what handles needed, too. */
void rl_engine_tear_down(struct rl_engine *engine);
void rl_engine_free(struct rl_engine *engine);

#endif

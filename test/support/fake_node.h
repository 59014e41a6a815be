/*
 * A scripted node on a thread of its own, for faults that a real node cannot be made to show. Unless told
 * otherwise it answers as a Redis 7.0.15 on which every lock is free; it stores nothing.
 *
 * A rule is for one command ("SET", in upper case) or for every command ("*"); the one for the command wins,
 * and a later rule replaces an earlier one for the same command. Rules may be changed from any thread at any
 * time.
 */
#ifndef TEST_SUPPORT_FAKE_NODE_H
#define TEST_SUPPORT_FAKE_NODE_H

#include <stdbool.h>
#include <stddef.h>

struct fake_node;

enum fake_transport { FAKE_UNIX, FAKE_TCP };

/* NULL when the system refuses a socket or a thread. */
struct fake_node *fake_node_start(enum fake_transport transport);
void fake_node_stop(struct fake_node *fake);

const char *fake_node_url(const struct fake_node *fake);

/* Answers with exactly these bytes. */
void fake_node_reply(struct fake_node *fake, const char *command, const char *bytes);

/* Answers with an error: text is what follows the minus sign, as in "OOM command not allowed". */
void fake_node_fail(struct fake_node *fake, const char *command, const char *text);

/* Reads the command and never answers it. Later commands on the same connection are answered. */
void fake_node_silence(struct fake_node *fake, const char *command);

/* Answers neither this command nor what comes after it on the same connection until fake_node_resume(). */
void fake_node_hold(struct fake_node *fake, const char *command);
void fake_node_resume(struct fake_node *fake);

/* Answers with head, and then with body again and again for as long as somebody reads. */
void fake_node_endless(struct fake_node *fake, const char *command, const char *head, const char *body);

/* Sends that many bytes of the usual answer and closes the connection. */
void fake_node_cut(struct fake_node *fake, const char *command, size_t bytes);

/* Forgets all rules. */
void fake_node_behave(struct fake_node *fake);

/* Sends every answer one byte at a time, each as a message of its own. */
void fake_node_trickle(struct fake_node *fake, bool on);

/* Sends bytes nobody asked for to every connection that is open now. */
void fake_node_push(struct fake_node *fake, const char *bytes);

/* Closes every connection that is open now. New ones are accepted. */
void fake_node_hang_up(struct fake_node *fake);

/* From now on new connections to a FAKE_TCP node hang half-made; those that are open go on. */
void fake_node_shut(struct fake_node *fake);

/* How often a command came in ("*": any). */
unsigned fake_node_received(struct fake_node *fake, const char *command);

/* Waits until a command has come in that often; false when it does not within some seconds. */
bool fake_node_await(struct fake_node *fake, const char *command, unsigned times);

/* Every command that came in, one per line, bytes that do not print as \xNN. It belongs to the fake node
 * until the next call. */
const char *fake_node_transcript(struct fake_node *fake);

#endif

/*
 * The owner value: a random part that signs the lock, then who took it, when and why, for people to read.
 * Everybody else compares it only for equality. <32
 * hex>|host=web-3|pid=4242|user=deploy|since=1700000000123|ttl=15000|why=pg_dump prod A caller's own bytes
 * come first, in hex, so that they are never cut: <32 hex>|tag=00ff|host=…
 */
#ifndef RL_WIRE_OWNER_H
#define RL_WIRE_OWNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    RL_OWNER_RANDOM = 16,               /* random bytes */
    RL_OWNER_HEX = 2 * RL_OWNER_RANDOM, /* as they are sent */
    RL_OWNER_MAX = 511,
    RL_OWNER_MARK_LENGTH = 7,
    RL_OWNER_TAIL_MAX = RL_OWNER_MAX - RL_OWNER_HEX,
    RL_OWNER_TAG_MAX = 128
};

/* What the tail says. Texts may be NULL; they are cut to fit. The tag is any bytes, and never cut. */
struct rl_owner_words {
    const void *tag;
    size_t tag_length; /* at most RL_OWNER_TAG_MAX */
    const char *host;
    const char *user;
    const char *why;
    uint32_t pid;
    int64_t since_ms;
    uint32_t ttl_ms; /* that it was taken with; 0 not told */
};

/* A hold that an operator has broken keeps others out for a moment, so that its holder hears of it first: the
 * node puts this before the owner value. The scripts spell it out, too. */
#define RL_OWNER_MARK "broken|"

/* Takes the mark off an owner value, if it has one; whether it had. */
bool rl_owner_unmark(const char **owner, size_t *length);

/* Of a lock that is shared nodes say "shared|3|" before the owner value of one of those who have it. Takes
 * that off, if it is there, and tells how many they are; 0 it is not. */
uint32_t rl_owner_unshare(const char **owner, size_t *length);

/* Writes the tag as it goes into a tail (with its leading bar) and a NUL; returns its length, 0 without a
 * tag. */
size_t rl_owner_tag_field(char *tail, const void *tag, size_t tag_length);

/* Writes the tail (with its leading bar) and a NUL; returns its length, at most RL_OWNER_TAIL_MAX. */
size_t rl_owner_tail(char *tail, const struct rl_owner_words *words);

/* Finds a field of an owner value ("host", "pid", …) and decodes it into text (cut to fit, NUL-terminated);
 * an empty text when it is not there. */
void rl_owner_field(const char *owner, size_t length, const char *field, char *text, size_t capacity);

/* The tag, in a buffer of RL_OWNER_TAG_MAX; returns its length, 0 when there is none or it is not hex. */
size_t rl_owner_tag(const char *owner, size_t length, uint8_t *tag);

/* The same for a number; 0 when it is not there or not a number. */
int64_t rl_owner_number(const char *owner, size_t length, const char *field);

#endif

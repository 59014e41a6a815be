/*
 * Words and numbers for people: durations in and out, clean text, percent-encoding, near misspellings.
 * Pure functions on strings; nothing here prints.
 */
#ifndef CLI_TEXT_H
#define CLI_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* A short text by value, so that it can be used right where it is printed. */
struct cli_span {
    char text[32];
};

/* Reads 250ms, 15s, 2m, 1h or a bare number of seconds, with up to three decimals, into milliseconds.
 * NULL when it is one, else what is wrong with it: a few words that follow the quoted text. */
const char *cli_text_read_duration(const char *text, int64_t *ms);

/* Reads a whole number from 0 to max. NULL or what is wrong, as above. */
const char *cli_text_read_number(const char *text, uint32_t max, uint32_t *number);

struct cli_span cli_text_span(int64_t ms);       /* 450ms, 4s, 12m04s, 3h05m, 2d04h */
struct cli_span cli_text_nodes(uint32_t count);  /* 1 node, 5 nodes */
struct cli_span cli_text_needed(uint32_t count); /* 1 is needed, 3 are needed */
struct cli_span cli_text_latency(int64_t us);    /* 0.4ms, 12ms */
struct cli_span cli_text_offset(int64_t us);     /* +0.4ms, -12ms, +3m20s */
struct cli_span cli_text_clock(int64_t ms);      /* 0:42, 12:04, 1:02:03 */
struct cli_span cli_text_since(int64_t wall_ms,
                               int64_t now_ms); /* 10:02:11, with the date when it was not today */

/* Copies text so that it is valid UTF-8 without control characters: what others wrote into a lock must not
 * move the cursor or break JSON. Anything else becomes '?'. The copy is cut to size, never inside a
 * character. */
void cli_text_clean(const char *from, char *to, size_t size);

/* The same for a text that may be NULL, and then stays it. Returns the copy. */
const char *cli_text_fit(const char *from, char *to, size_t size);

/* Encodes all bytes but letters, digits and those in `keep` as %XX. The caller frees it; NULL without
 * memory. */
char *cli_text_percent_encode(const char *from, const char *keep);

/* A word as it can be pasted into a shell: one that is not harmless as it is stands in quotes, or in $'\\x1b'
 * where it is not printable text. Cut to size. */
void cli_text_quote(const char *word, char *to, size_t size);

/* A line for a shell: has room for any name in quotes, and for many nodes. */
#define CLI_COMMAND_MAX 10240

/* FNV-1a, from CLI_TEXT_HASH on or from the hash of what came before: tells things apart that a person uses
 * side by side. */
#define CLI_TEXT_HASH UINT64_C(0xcbf29ce484222325)
uint64_t cli_text_hash(uint64_t seed, const char *text);

/* How many letters have to change to turn one word into the other (small words only). */
int cli_text_distance(const char *a, const char *b);

#endif

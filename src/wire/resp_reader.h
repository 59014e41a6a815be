/*
 * Reads RESP2 and RESP3 out of a buffer: stateless, bounded, without allocation or copying.
 * It knows nothing of what a reply means and does no I/O.
 */
#ifndef RL_WIRE_RESP_READER_H
#define RL_WIRE_RESP_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    RL_RESP_DEPTH_MAX = 8,        /* aggregates within aggregates */
    RL_RESP_ELEMENTS_MAX = 65536, /* of one aggregate */
    RL_RESP_LINE_MAX = 4096,      /* bytes between a type byte and its CRLF */
    RL_RESP_MESSAGE_MAX = 65536   /* bytes of one message, all told */
};

enum rl_resp_type {
    RL_RESP_STRING,   /* + and $ and =: text (the verbatim string's format prefix is cut off) */
    RL_RESP_ERROR,    /* - and !: text */
    RL_RESP_INTEGER,  /* : integer; ( is a STRING of digits; , is a STRING */
    RL_RESP_NULL,     /* $-1, *-1 and _ */
    RL_RESP_BOOLEAN,  /* #: integer 0 or 1 */
    RL_RESP_ARRAY,    /* * and ~: element_count items follow */
    RL_RESP_MAP,      /* %: element_count counts keys and values, so twice the pairs */
    RL_RESP_PUSH,     /* >: element_count items follow; out of band */
    RL_RESP_ATTRIBUTE /* |: as MAP; the value it belongs to follows it. skip() takes both together */
};

/* One item. An aggregate's elements are the next items in the buffer. Text points into the buffer. */
struct rl_resp {
    enum rl_resp_type type;
    const char *text;
    size_t text_length;
    int64_t integer;
    uint32_t element_count;
};

enum rl_resp_status {
    RL_RESP_OK,
    RL_RESP_MORE, /* the buffer ends before the item does */
    RL_RESP_BAD   /* this is not RESP, or it is beyond the limits: the connection is of no further use */
};

/* Reads the item at *offset and moves *offset past it (past the head only, for aggregates).
 * Unless it says OK, *offset stays and *item means nothing. */
enum rl_resp_status rl_resp_next(const char *bytes, size_t length, size_t *offset, struct rl_resp *item);

/* Moves *offset past one whole message, nested or not; OK means that every byte of it is there and well
 * formed. Leaves *offset alone otherwise. BAD comes as soon as the message cannot fit the limits any more,
 * complete or not, so MORE is never said for ever. Never reads beyond bytes + length, never recurses. */
enum rl_resp_status rl_resp_skip(const char *bytes, size_t length, size_t *offset);

/* The next scalar or head of what is known to be well formed, with attributes passed over; a null at the
 * end. */
struct rl_resp rl_resp_item(const char *bytes, size_t length, size_t *offset);

#endif

/*
 * Steps for tests of streams: they wait for as long as it takes. Which end of a stream is whose is for the
 * tests.
 */
#ifndef TEST_SUPPORT_STREAM_STEPS_H
#define TEST_SUPPORT_STREAM_STEPS_H

#include "net/stream.h"

/* Goes on until the stream is connected, or is not going to be. */
enum rl_io connect_fully(struct rl_stream *stream);

/* Reads once, waiting as long as it takes. */
enum rl_io read_patiently(struct rl_stream *stream, char *bytes, size_t capacity, size_t *got);

/* Writes until nothing more goes; returns how many of the bytes went. */
size_t write_until_again(struct rl_stream *stream, const char *bytes, size_t length);

/* Until the stream can do what it wants to. */
void wait_for(const struct rl_stream *stream);

#endif

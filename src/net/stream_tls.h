/*
 * What the two halves of a stream, sockets and TLS, use of each other. Nobody else includes it.
 */
#ifndef RL_NET_STREAM_TLS_H
#define RL_NET_STREAM_TLS_H

#include "net/stream.h"

/* Lays TLS over the socket of a stream; nothing is sent before the first rl_tls_handshake. false: error is
 * set. */
bool rl_tls_attach(struct rl_stream *stream, struct ssl_ctx_st *tls, const char *server_name);

/* Whether the handshake has begun, so that the socket is known to be connected. */
bool rl_tls_begun(const struct rl_stream *stream);

enum rl_io rl_tls_handshake(struct rl_stream *stream);
enum rl_io rl_tls_read(struct rl_stream *stream, char *bytes, size_t capacity, size_t *got);
bool rl_tls_pending(const struct rl_stream *stream);
enum rl_io rl_tls_write(struct rl_stream *stream, const char *bytes, size_t length, size_t *put);

/* Frees the TLS of a stream; with farewell, tells the peer that no more will come if that goes without
 * waiting. */
void rl_tls_detach(struct rl_stream *stream, bool farewell);

#endif

/*
 * Stands in for stream_tls.c in a library that was built without TLS: a client with a rediss:// node is
 * refused when it is opened. It never falls back to a connection in the clear, and no other function here can
 * be reached.
 */
#include <assert.h>
#include <stdio.h>

#include "net/stream_tls.h"

struct ssl_ctx_st *rl_tls_create(const char *ca_file, const char *cert_file, const char *key_file,
                                 char *error, size_t error_size)
{
    (void)ca_file;
    (void)cert_file;
    (void)key_file;
    snprintf(error, error_size, "this build has no TLS: use a build with it, or redis:// URLs");
    return NULL;
}

void rl_tls_free(struct ssl_ctx_st *tls)
{
    assert(tls == NULL);
    (void)tls;
}

bool rl_tls_attach(struct rl_stream *stream, struct ssl_ctx_st *tls, const char *server_name)
{
    (void)tls;
    (void)server_name;
    snprintf(stream->error, sizeof(stream->error), "this build has no TLS");
    return false;
}

bool rl_tls_begun(const struct rl_stream *stream)
{
    assert(stream->ssl == NULL);
    (void)stream;
    return false;
}

enum rl_io rl_tls_handshake(struct rl_stream *stream)
{
    (void)stream;
    return RL_IO_FAILED;
}

enum rl_io rl_tls_read(struct rl_stream *stream, char *bytes, size_t capacity, size_t *got)
{
    (void)stream;
    (void)bytes;
    (void)capacity;
    *got = 0;
    return RL_IO_FAILED;
}

bool rl_tls_pending(const struct rl_stream *stream)
{
    (void)stream;
    return false;
}

enum rl_io rl_tls_write(struct rl_stream *stream, const char *bytes, size_t length, size_t *put)
{
    (void)stream;
    (void)bytes;
    (void)length;
    *put = 0;
    return RL_IO_FAILED;
}

void rl_tls_detach(struct rl_stream *stream, bool farewell)
{
    (void)farewell;
    assert(stream->ssl == NULL);
    (void)stream;
}

int64_t rl_stream_certificate_end(const struct rl_stream *stream)
{
    (void)stream;
    return 0;
}

/*
 * A byte stream to one node over TCP, a unix socket or TLS on TCP, never blocking. It moves bytes and says
 * when it wants to be called again; deadlines, reconnecting and what the bytes mean are the connection's
 * business.
 */
#ifndef RL_NET_STREAM_H
#define RL_NET_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "core/event.h"

struct ssl_st;
struct ssl_ctx_st;

enum { RL_WANT_READ = 1, RL_WANT_WRITE = 2 };

struct rl_address {
    struct sockaddr_storage storage;
    socklen_t length;
};

enum rl_io {
    RL_IO_DONE,   /* something was done */
    RL_IO_AGAIN,  /* nothing can be done now: wait for `wants` */
    RL_IO_CLOSED, /* the peer closed it in order */
    RL_IO_FAILED  /* broken; `error` says why; only closing is left */
};

struct rl_stream {
    int fd;             /* -1 while closed */
    unsigned wants;     /* RL_WANT_ bits to wait for while connecting, or for the last call that said AGAIN */
    bool connecting;    /* from open until continue said DONE */
    struct ssl_st *ssl; /* NULL without TLS */
    char error[128];    /* the last failure in lower-case words, e.g. "connection refused" */
    enum rl_cause cause; /* and what kind of failure that is */
};

/* Settings for TLS shared by all streams of a client; NULL and words in error when a file is no good. Files
 * that are NULL: the system's certificates, no client certificate. */
struct ssl_ctx_st *rl_tls_create(const char *ca_file, const char *cert_file, const char *key_file,
                                 char *error, size_t error_size);

/* NULL is fine. Not for the child after fork(): a thread it does not have may hold locks of OpenSSL. */
void rl_tls_free(struct ssl_ctx_st *tls);

/* Fills in an address without asking anybody: false when the host is not a numeric IPv4 or IPv6 address. */
bool rl_address_numeric(struct rl_address *address, const char *host, unsigned short port);

/* A path that is too long for the system gives an address that rl_stream_open refuses. */
void rl_address_unix(struct rl_address *address, const char *path);

/* Makes it a closed stream. */
void rl_stream_init(struct rl_stream *stream);

/* Starts to connect; rl_stream_continue may be called at once or when `wants` is there. With tls: checks
 * the peer's certificate against server_name (a DNS name or a numeric address), always. false: error is set
 * and the stream is closed. */
bool rl_stream_open(struct rl_stream *stream, const struct rl_address *address, struct ssl_ctx_st *tls,
                    const char *server_name);

/* Goes on with connecting and with the TLS handshake. DONE: ready to read and write. */
enum rl_io rl_stream_continue(struct rl_stream *stream);

/* Read or write what goes without waiting. TLS may want the other direction: look at `wants`. Never raises
 * SIGPIPE. Read until AGAIN, or until nothing is pending, before waiting. After a write that said AGAIN, the
 * next one starts with the same bytes and is no shorter (they may have moved): TLS has encrypted them. */
enum rl_io rl_stream_read(struct rl_stream *stream, char *bytes, size_t capacity, size_t *got);
enum rl_io rl_stream_write(struct rl_stream *stream, const char *bytes, size_t length, size_t *put);

/* Whether it holds bytes that were received already and that no poll will tell of. */
bool rl_stream_pending(const struct rl_stream *stream);

/* When the peer's certificate ends, in seconds since 1970; 0 without TLS. */
int64_t rl_stream_certificate_end(const struct rl_stream *stream);

/* Closes it in order: what was written will still be delivered, unless the peer answers it: nobody is left to
 * read that, and the system resets the connection. */
void rl_stream_close(struct rl_stream *stream);

/* Closes it with a reset: what was written and not yet delivered never will be (no retransmission). */
void rl_stream_abort(struct rl_stream *stream);

/* Closes a copy inherited over fork() without a word to the peer and without touching the parent's
 * connection. Takes no lock: the memory of TLS is given up, not freed. */
void rl_stream_forget(struct rl_stream *stream);

/* Puts an errno into lower-case words: "connection refused". */
void rl_stream_errno_words(int error_number, char *words, size_t size);
void rl_stream_set_errno(struct rl_stream *stream, int error_number); /* error and cause from an errno */

#endif

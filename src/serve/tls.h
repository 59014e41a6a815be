/*
 * TLS for clients that come over TCP: the certificate that is shown, and the client certificates that are
 * accepted. It does not decide what a client may do; access.h does.
 */
#ifndef SERVE_TLS_H
#define SERVE_TLS_H

#include <event2/bufferevent.h>

#include "serve/server.h"

/* NULL after having said what is wrong; freed with SSL_CTX_free(). */
struct ssl_ctx_st *serve_tls_new(const struct serve_server *server);

/* Takes over a socket that was accepted; NULL without memory. */
struct bufferevent *serve_tls_wrap(struct ssl_ctx_st *tls, struct event_base *base, evutil_socket_t socket);

/* Non-NULL when a connection is a TLS one. */
void *serve_tls_of(struct bufferevent *buffer);

/* The principal that the client's certificate, which was checked, stands for; NULL: none. */
const struct serve_principal *serve_tls_principal(const struct serve_server *server,
                                                  struct bufferevent *buffer);

#endif

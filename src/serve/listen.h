/*
 * The sockets that are listened on: those in the settings, or those that systemd handed over. Who may connect
 * is checked here once, at the start: an address beyond loopback needs some kind of credentials.
 */
#ifndef SERVE_LISTEN_H
#define SERVE_LISTEN_H

#include "serve/server.h"

/* False after having said what is wrong. */
bool serve_listen_open(struct serve_server *server);

/* Takes nobody in any more, and removes the unix socket. */
void serve_listen_close(struct serve_server *server);

#endif

/*
 * The board: what all locks and nodes are like, looked up again and again while somebody watches, and told as
 * changes. It is what the dashboard shows. With nobody watching, nothing is asked of the nodes.
 */
#ifndef SERVE_BOARD_H
#define SERVE_BOARD_H

#include "serve/http.h"

/* GET /v1/overview: an event stream of "state" (everything) and "change" (what is different since). */
void serve_board_watch(struct serve_exchange *exchange);

/* Looks again when it is time. Called once a second. */
void serve_board_tick(struct serve_server *server);

/* Forgets everything; no callback may be due any more. */
void serve_board_free(struct serve_server *server);

#endif

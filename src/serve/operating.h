/*
 * The calls of operators: every lock there is, and the end of somebody's hold.
 */
#ifndef SERVE_OPERATING_H
#define SERVE_OPERATING_H

#include "serve/http.h"

void serve_operating_list(struct serve_exchange *exchange);  /* GET /v1/locks */
void serve_operating_break(struct serve_exchange *exchange); /* POST /v1/locks/{name}/break */

#endif

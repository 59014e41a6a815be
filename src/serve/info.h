/*
 * What the service says of itself and its nodes: health, nodes, the OpenAPI file, the meaning of problems.
 */
#ifndef SERVE_INFO_H
#define SERVE_INFO_H

#include "serve/http.h"

void serve_info_alive(struct serve_exchange *exchange);   /* GET /livez */
void serve_info_ready(struct serve_exchange *exchange);   /* GET /readyz */
void serve_info_nodes(struct serve_exchange *exchange);   /* GET /v1/nodes */
void serve_info_openapi(struct serve_exchange *exchange); /* GET /v1/openapi.json */
void serve_info_problem(struct serve_exchange *exchange); /* GET /v1/problems/{type} */

/* Looks at the nodes now and then, and tells listeners of those that changed. Called once a second. */
void serve_info_tick(struct serve_server *server);

#endif

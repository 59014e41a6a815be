/*
 * The addresses there are; the OpenAPI file has the same. What each does is in the file of its noun.
 */
#include "serve/routes.h"

#include "serve/board.h"
#include "serve/dashboard.h"
#include "serve/events.h"
#include "serve/hold.h"
#include "serve/info.h"
#include "serve/locks.h"
#include "serve/metrics.h"
#include "serve/operating.h"
#include "serve/sessions.h"

const struct serve_route serve_routes[] = {
    {SERVE_POST, "/v1/locks/{}", SERVE_LOCKER, "", "ttl_ms wait_ms kind permits also why session",
     serve_locks_take},
    {SERVE_PATCH, "/v1/locks/{}", SERVE_LOCKER, "", "ttl_ms", serve_locks_extend},
    {SERVE_DELETE, "/v1/locks/{}", SERVE_LOCKER, "", NULL, serve_locks_release},
    {SERVE_GET, "/v1/locks/{}", SERVE_READER, "", NULL, serve_locks_show},
    {SERVE_GET, "/v1/locks", SERVE_READER, "prefix state after limit", NULL, serve_operating_list},
    {SERVE_POST, "/v1/locks/{}/break", SERVE_ADMIN, "", "id reason grace_ms", serve_operating_break},
    {SERVE_GET, "/v1/locks/{}/hold", SERVE_LOCKER, "ttl_ms wait_ms max_hold_ms why kind permits also", NULL,
     serve_hold_open},
    {SERVE_POST, "/v1/sessions", SERVE_LOCKER, "", "ttl_ms who", serve_sessions_open},
    {SERVE_POST, "/v1/sessions/{}/keepalive", SERVE_LOCKER, "", "ttl_ms locks", serve_sessions_keep_alive},
    {SERVE_DELETE, "/v1/sessions/{}", SERVE_LOCKER, "", NULL, serve_sessions_close},
    {SERVE_GET, "/v1/events", SERVE_READER, "name session", NULL, serve_events_listen},
    {SERVE_GET, "/v1/overview", SERVE_READER, "", NULL, serve_board_watch},
    {SERVE_GET, "/v1/nodes", SERVE_READER, "", NULL, serve_info_nodes},
    {SERVE_GET, "/v1/openapi.json", SERVE_NOBODY, "", NULL, serve_info_openapi},
    {SERVE_GET, "/v1/problems/{}", SERVE_NOBODY, "", NULL, serve_info_problem},
    {SERVE_GET, "/metrics", SERVE_READER, "", NULL, serve_metrics_show},
    {SERVE_GET, "/", SERVE_NOBODY, "", NULL, serve_dashboard_show},
    {SERVE_GET, "/livez", SERVE_NOBODY, "", NULL, serve_info_alive},
    {SERVE_GET, "/readyz", SERVE_NOBODY, "", NULL, serve_info_ready},
};

const size_t serve_route_count = sizeof serve_routes / sizeof serve_routes[0];

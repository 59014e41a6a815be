/*
 * GET /; see dashboard.h.
 */
#include "serve/dashboard.h"

#include <stdio.h>

void serve_dashboard_show(struct serve_exchange *exchange)
{
    char fields[800];

    snprintf(fields, sizeof fields,
             "Content-Security-Policy: %s\r\nReferrer-Policy: no-referrer\r\n"
             "Cross-Origin-Opener-Policy: same-origin\r\nX-Frame-Options: DENY\r\n",
             serve_dashboard_policy);
    serve_answer_bytes(exchange->connection, 200, "text/html; charset=utf-8", serve_dashboard,
                       serve_dashboard_length, fields);
}

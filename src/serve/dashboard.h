/*
 * GET /: the dashboard, one page that is part of the program (dashboard.html, by tools/embed-page). What it
 * shows comes from the board and from the calls about single locks, with the rights of its viewer.
 */
#ifndef SERVE_DASHBOARD_H
#define SERVE_DASHBOARD_H

#include "serve/http.h"

extern const char serve_dashboard[];
extern const size_t serve_dashboard_length;
extern const char serve_dashboard_policy[]; /* its Content-Security-Policy */

void serve_dashboard_show(struct serve_exchange *exchange);

#endif

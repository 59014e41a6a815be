/*
 * The RESP port: what Redis lock libraries say, done with this service's locks. The commands are in
 * resp_commands.c.
 */
#ifndef SERVE_RESP_H
#define SERVE_RESP_H

#include "serve/connection.h"

extern const struct serve_protocol serve_resp;

#endif

/*
 * The commands of the RESP port: what each asks for, who may say it, and with how many words. It reads no
 * bytes; resp.c does.
 */
#ifndef SERVE_RESP_COMMANDS_H
#define SERVE_RESP_COMMANDS_H

#include "serve/resp_locks.h"
#include "serve/resp_request.h"

/* A command that is being handled. */
struct serve_asked {
    struct serve_connection *connection;
    struct serve_resp_client *client;
    const struct serve_text *words; /* the name of the command first */
    size_t count;
};

/* Does what is asked for, or refuses it; the answer may come later. */
void serve_resp_handle(const struct serve_asked *asked);

#endif

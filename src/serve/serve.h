/*
 * The lock service as the command starts it: settings in, exit reason out. It reads no configuration file of
 * the command and opens no client; both come from the caller.
 */
#ifndef SERVE_SERVE_H
#define SERVE_SERVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <redlock.h>

#define SERVE_DEFAULT_LISTEN "127.0.0.1:7420"

enum serve_level { SERVE_ERROR, SERVE_WARNING, SERVE_NOTE };

/* Texts may be NULL and numbers 0, which means the default beside them. They have to stay until serve_run()
 * returns. */
struct serve_settings {
    const char *listen;    /* ADDR:PORT of HTTP, several separated by blanks or commas; default none */
    const char *unix_path; /* of HTTP; default none */
    const char *resp;      /* PORT or ADDR:PORT of RESP; default none */
    /* the access file; default: everybody on loopback, this user on the unix socket */
    const char *access_file;
    const char *hosts;    /* further names that may be in a Host field; default none */
    const char *tls_cert; /* with tls_key: HTTP and RESP over TLS; default without */
    const char *tls_key;
    const char *tls_client_ca; /* client certificates are asked for and checked by it; default none */
    const char *metrics_name;  /* glob of names that /metrics counts one by one; default none */
    const char *key_prefix;    /* the client's, for the length of names; default none */
    bool may_break;            /* POST .../break is allowed, to admins; default not */
    uint32_t max_ttl_ms;       /* the client's; default 60000 */
    uint32_t max_wait_ms;      /* of one request; default an hour */
    uint32_t max_hold_ms;      /* of one GET .../hold; default a day */
    uint32_t max_connections;  /* default 20000 */
    uint32_t max_waiters;      /* default 15000 */
    void (*say)(enum serve_level level, const char *line); /* must not be NULL */
};

/* What serve_run() came to. */
enum serve_end {
    SERVE_ENDED,       /* it was asked to stop, and did */
    SERVE_BAD_SETTING, /* a setting cannot be used: said */
    SERVE_NO_SYSTEM    /* the operating system refused something: said */
};

/* Serves until SIGTERM or SIGINT. Takes the client over, and closes it in any case; it must be fresh, for its
 * callbacks will run in this loop. */
enum serve_end serve_run(redlock_client *client, const struct serve_settings *settings);

#endif

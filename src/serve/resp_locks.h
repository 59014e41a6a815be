/*
 * What a Redis lock library asks for, done with locks on all nodes. The client's own value travels in the
 * owner value as its tag, so that any instance knows whose a lock is.
 */
#ifndef SERVE_RESP_LOCKS_H
#define SERVE_RESP_LOCKS_H

#include "serve/connection.h"
#include "serve/resp_request.h"

/* How an answer is written; the caller's part. */
enum serve_resp_form {
    SERVE_FORM_NUMBER,    /* 1, 0 */
    SERVE_FORM_OK_OR_NIL, /* OK, nil */
    SERVE_FORM_VALUE,     /* the value, nil */
    SERVE_FORM_LEFT       /* ms left */
};

enum serve_resp_action {
    SERVE_TAKE,           /* if it is free */
    SERVE_RELEASE,        /* if the value is the holder's */
    SERVE_EXTEND,         /* likewise */
    SERVE_EXTEND_OR_TAKE, /* likewise, or if it is free */
    SERVE_LOOK            /* at its holder */
};

/* One thing to be done. The texts are copied. */
struct serve_resp_wish {
    enum serve_resp_action action;
    enum serve_resp_form form;
    struct serve_text name, value; /* value: of no bytes when none is compared */
    uint64_t ms;
    bool adds;         /* ms are added to what is left */
    bool seconds;      /* SERVE_FORM_LEFT: answer in seconds */
    size_t same_bytes; /* so many bytes of the value make the owner; 0 all */
    int64_t otherwise; /* the number when it is somebody else's */
    int64_t when_free; /* the number when it is nobody's */
};

void serve_resp_carry_out(struct serve_connection *connection, const struct serve_resp_wish *wish);

/* Answers. */
void serve_resp_error(struct serve_connection *connection, const char *words);
void serve_resp_number(struct serve_connection *connection, int64_t number);
void serve_resp_nil(struct serve_connection *connection);
void serve_resp_status(struct serve_connection *connection, const char *words);
void serve_resp_text(struct serve_connection *connection, const char *bytes, size_t length);

/* What is kept for a RESP client. */
struct serve_resp_client {
    int version; /* 2 or 3 */
};

#endif

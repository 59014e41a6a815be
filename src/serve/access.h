/*
 * Access: the access file, and the principal that a token, a login or a certificate stands for. It knows no
 * connections; where a credential was found is their business.
 */
#ifndef SERVE_ACCESS_H
#define SERVE_ACCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "serve/http_request.h"

/* Each may do what those before it may. */
enum serve_role { SERVE_NOBODY, SERVE_READER, SERVE_LOCKER, SERVE_ADMIN };

/* A user of the service and its rights. Lives as long as the access it came from. */
struct serve_principal {
    char name[65];
    enum serve_role role;
    char prefix[257]; /* of the names it may use */
};

enum serve_credential { SERVE_TOKEN, SERVE_USER, SERVE_CERTIFICATE };

struct serve_grant {
    enum serve_credential credential;
    unsigned char digest[32]; /* SERVE_TOKEN: SHA-256 of the token */
    struct serve_principal principal;
};

struct serve_access {
    struct serve_grant *grants;
    size_t count;
};

/* Reads the lines of an access file: "token SHA256 NAME ROLE [PREFIX]", "user LOGIN ROLE [PREFIX]", "cert
 * NAME ROLE [PREFIX]". 0; otherwise the number of the line that is wrong, and what is, or -1 without memory.
 * serve_access_free() in any case. */
int serve_access_read(const char *bytes, size_t length, struct serve_access *access, char problem[200]);
void serve_access_free(struct serve_access *access);

/* NULL when nobody is known by it. A token takes the same time whichever it is nearly. */
const struct serve_principal *serve_access_by_token(const struct serve_access *access,
                                                    struct serve_text token);
const struct serve_principal *serve_access_by_name(const struct serve_access *access,
                                                   enum serve_credential credential, const char *name);
bool serve_access_has(const struct serve_access *access, enum serve_credential credential);

/* True when a name begins with the principal's prefix. */
bool serve_principal_may_name(const struct serve_principal *principal, const char *name, size_t length);

#endif

/*
 * Which lock a request is about, beyond its name: the kind, how many permits a semaphore has, which names are
 * taken together; and the token of a lease, which says the same, so that any instance can go on with it. It
 * asks nothing of the nodes.
 */
#ifndef SERVE_WHICH_H
#define SERVE_WHICH_H

#include "serve/http.h"

#define SERVE_ALSO_MAX (REDLOCK_NAMES_MAX - 1)
#define SERVE_ALSO_BYTES_MAX 4096 /* of the names of also together: tokens have to fit into a header field */

/* All zero: an exclusive lock of one name. */
struct serve_which {
    redlock_kind kind;
    uint32_t permits; /* of a semaphore, else 0 */
    uint32_t also_count;
    struct serve_text also[SERVE_ALSO_MAX];
};

/* From the members kind, permits and also of the body, or, with several names separated by commas, from the
 * parameters of the query. Each name is checked, and the rights to it. False after having refused the
 * request. */
bool serve_which_of_body(struct serve_exchange *exchange, struct serve_which *which);
bool serve_which_of_query(struct serve_exchange *exchange, struct serve_which *which);

/* The names of a token: only those that the principal may use. False after having refused the request. */
bool serve_which_check(struct serve_exchange *exchange, struct serve_text name,
                       const struct serve_which *which);

/* "exclusive", "shared", "semaphore" */
const char *serve_kind_word(redlock_kind kind);

/* Adds kind, and where there are any permits, slot and also, to the JSON of a lock that is held. */
void serve_which_describe(json_t *object, redlock_lock *lock, redlock_kind kind, uint32_t permits);

/* ---- tokens -------------------------------------------------------------------------------------------- */

/* What a token says: the owner value, and which lock it is. The texts are in `names`. */
struct serve_token {
    struct serve_which which;
    size_t owner_length;
    char owner[REDLOCK_OWNER_MAX + 1];
    char names[SERVE_ALSO_BYTES_MAX];
};

#define SERVE_TOKEN_SIZE \
    ((REDLOCK_OWNER_MAX + 2) / 3 * 4 + SERVE_ALSO_BYTES_MAX / 3 * 4 + SERVE_ALSO_MAX * 6 + 16)

/* The owner value in base64url without padding; behind it ".s" of a shared lock, ".p10" of a semaphore with
 * 10 permits, ".n" and a name in base64url for each name that was taken together with the first one. */
void serve_token_write(redlock_lock *lock, redlock_kind kind, uint32_t permits, char token[SERVE_TOKEN_SIZE]);

/* False when it is not a token. Whose names they are is not looked at. */
bool serve_token_read(const char *text, size_t length, struct serve_token *token);

#endif

/*
 * The sessions of this instance and the locks that each keeps. It asks nothing of the nodes; what clients ask
 * for is in sessions.c.
 */
#ifndef SERVE_SESSION_LIST_H
#define SERVE_SESSION_LIST_H

#include "serve/server.h"

enum {
    SERVE_SESSION_ID = 32, /* characters */
    SERVE_WHO_MAX = 32     /* characters of up to four bytes */
};

/* A lock that a session keeps. */
struct serve_held {
    struct serve_held *next;
    redlock_lock *lock;
    redlock_kind kind;
    uint32_t permits; /* of a semaphore */
    uint64_t fence;   /* that it was taken with; 0 not known here */
    unsigned pending; /* extensions under way */
    bool dropped;     /* to be freed when none is */
};

struct serve_session {
    struct serve_session *next;
    char id[SERVE_SESSION_ID + 1];
    char principal[65];
    char who[4 * SERVE_WHO_MAX + 1];
    uint32_t ttl_ms;
    int64_t ends_ms; /* unless it is kept alive */
    struct serve_held *held;
    size_t held_count;
};

/* NULL when there is no such session. */
struct serve_session *serve_session_find(const struct serve_server *server, const char *id, size_t length);

/* A new one, without an id; NULL without memory. */
struct serve_session *serve_session_add(struct serve_server *server, const char *principal, uint32_t ttl_ms);
void serve_session_remove(struct serve_server *server, struct serve_session *session);

/* Takes the place of an older handle of the same lock. NULL without memory, or when it has too many locks:
 * the lock is still the caller's. */
struct serve_held *serve_session_keep(struct serve_session *session, redlock_lock *lock, redlock_kind kind,
                                      uint32_t permits);

/* Where the session has this lock; NULL it does not. */
struct serve_held **serve_held_find(struct serve_session *session, const char *name, size_t name_length,
                                    const char *owner, size_t owner_length);
void serve_held_remove(struct serve_session *session, struct serve_held **place);

/* Frees it, now or when no extension is under way any more. */
void serve_held_drop(struct serve_held *held);

/* Keeps a lock that was taken within a session. False when the session has ended meanwhile: the lock is still
 * the caller's. */
bool serve_sessions_keep(struct serve_server *server, const char *id, redlock_lock *lock, redlock_kind kind,
                         uint32_t permits);

/* A lock is being released by its token: sessions that had it do not renew it any more. */
void serve_sessions_forget(struct serve_server *server, const char *name, size_t name_length,
                           const char *owner, size_t owner_length);

/* Ends sessions whose time is up. Called once a second. */
void serve_sessions_tick(struct serve_server *server);

/* Frees all of them; their locks end by themselves. */
void serve_sessions_free(struct serve_server *server);

size_t serve_sessions_count(const struct serve_server *server);

#endif

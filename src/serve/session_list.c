/*
 * The sessions of this instance and the locks that each keeps; see session_list.h.
 */
#include "serve/session_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOCKS_MAX 1000 /* of one session */

struct serve_session *serve_session_find(const struct serve_server *server, const char *id, size_t length)
{
    for (struct serve_session *each = server->sessions; each != NULL; each = each->next)
        if (length == SERVE_SESSION_ID && memcmp(each->id, id, length) == 0)
            return each;
    return NULL;
}

void serve_held_drop(struct serve_held *held)
{
    held->dropped = true;
    if (held->pending > 0)
        return;
    redlock_lock_free(held->lock);
    free(held);
}

static void drop_all(struct serve_session *session)
{
    for (struct serve_held *each = session->held, *next; each != NULL; each = next) {
        next = each->next;
        serve_held_drop(each);
    }
    session->held = NULL;
    session->held_count = 0;
}

void serve_session_remove(struct serve_server *server, struct serve_session *session)
{
    struct serve_session **place = &server->sessions;

    while (*place != session)
        place = &(*place)->next;
    *place = session->next;
    drop_all(session);
    free(session);
}

struct serve_session *serve_session_add(struct serve_server *server, const char *principal, uint32_t ttl_ms)
{
    struct serve_session *session = calloc(1, sizeof *session);

    if (session == NULL)
        return NULL;
    session->ttl_ms = ttl_ms;
    session->ends_ms = serve_now(server) + ttl_ms;
    snprintf(session->principal, sizeof session->principal, "%s", principal);
    session->next = server->sessions;
    server->sessions = session;
    return session;
}

static bool is_lock(const redlock_lock *lock, const char *name, size_t name_length, const char *owner,
                    size_t owner_length)
{
    size_t own_name_length, own_owner_length;
    const char *own_name = redlock_lock_name(lock, &own_name_length);
    const char *own_owner = redlock_lock_owner(lock, &own_owner_length);

    return name_length == own_name_length && owner_length == own_owner_length &&
           memcmp(name, own_name, name_length) == 0 && memcmp(owner, own_owner, owner_length) == 0;
}

struct serve_held **serve_held_find(struct serve_session *session, const char *name, size_t name_length,
                                    const char *owner, size_t owner_length)
{
    for (struct serve_held **place = &session->held; *place != NULL; place = &(*place)->next)
        if (is_lock((*place)->lock, name, name_length, owner, owner_length))
            return place;
    return NULL;
}

void serve_held_remove(struct serve_session *session, struct serve_held **place)
{
    struct serve_held *held = *place;

    *place = held->next;
    session->held_count--;
    serve_held_drop(held);
}

struct serve_held *serve_session_keep(struct serve_session *session, redlock_lock *lock, redlock_kind kind,
                                      uint32_t permits)
{
    struct serve_held *held = session->held_count < LOCKS_MAX ? calloc(1, sizeof *held) : NULL;
    size_t name_length, owner_length;
    const char *name = redlock_lock_name(lock, &name_length),
               *owner = redlock_lock_owner(lock, &owner_length);

    if (held == NULL)
        return NULL;
    *held = (struct serve_held){
        .lock = lock, .kind = kind, .permits = permits, .fence = redlock_lock_fence(lock)};
    struct serve_held **older = serve_held_find(session, name, name_length, owner, owner_length);
    if (older != NULL) {
        held->fence = held->fence == 0 ? (*older)->fence : held->fence;
        serve_held_remove(session, older);
    }
    held->next = session->held;
    session->held = held;
    session->held_count++;
    return held;
}

bool serve_sessions_keep(struct serve_server *server, const char *id, redlock_lock *lock, redlock_kind kind,
                         uint32_t permits)
{
    struct serve_session *session = serve_session_find(server, id, strlen(id));

    return session != NULL && serve_session_keep(session, lock, kind, permits) != NULL;
}

void serve_sessions_forget(struct serve_server *server, const char *name, size_t name_length,
                           const char *owner, size_t owner_length)
{
    for (struct serve_session *each = server->sessions; each != NULL; each = each->next) {
        struct serve_held **place = serve_held_find(each, name, name_length, owner, owner_length);
        if (place != NULL)
            serve_held_remove(each, place);
    }
}

void serve_sessions_free(struct serve_server *server)
{
    while (server->sessions != NULL)
        serve_session_remove(server, server->sessions);
}

size_t serve_sessions_count(const struct serve_server *server)
{
    size_t count = 0;

    for (const struct serve_session *each = server->sessions; each != NULL; each = each->next)
        count++;
    return count;
}

void serve_sessions_tick(struct serve_server *server)
{
    for (struct serve_session *each = server->sessions, *next; each != NULL; each = next) {
        next = each->next;
        /* As long again, so that a late keep-alive hears what it lost. */
        if (server->now_ms > each->ends_ms + each->ttl_ms)
            serve_session_remove(server, each);
    }
}

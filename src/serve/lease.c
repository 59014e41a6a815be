/*
 * What the calls about locks have in common; see lease.h.
 */
#include "serve/lease.h"

#include <stdio.h>
#include <stdlib.h>

#include "serve/events.h"
#include "serve/json.h"

json_t *serve_lease_json(redlock_lock *lock, const redlock_report *report, redlock_kind kind,
                         uint32_t permits)
{
    size_t name_length;
    const char *name = redlock_lock_name(lock, &name_length);
    char token[SERVE_TOKEN_SIZE];
    uint64_t fence = redlock_lock_fence(lock);

    serve_token_write(lock, kind, permits, token);
    json_t *lease = json_pack("{s:o, s:s, s:I, s:i, s:i, s:I}", "name", serve_json_text(name, name_length),
                              "token", token, "validity_ms", (json_int_t)redlock_lock_validity_ms(lock),
                              "granted", (int)report->granted, "nodes", (int)report->node_count, "waited_ms",
                              (json_int_t)report->waited_ms);
    if (fence != 0)
        json_object_set_new(lease, "fence", json_integer((json_int_t)fence));
    serve_which_describe(lease, lock, kind, permits);
    return lease;
}

struct giving_back {
    struct serve_server *server;
    redlock_lock *lock;
};

static void on_given_back(void *context, redlock_result result, const redlock_report *report)
{
    struct giving_back *giving = context;

    (void)result;
    (void)report;
    giving->server->outstanding--;
    redlock_lock_free(giving->lock);
    free(giving);
}

void serve_lease_give_back(struct serve_server *server, redlock_lock *lock)
{
    struct giving_back *giving = malloc(sizeof *giving);
    redlock_request request;

    if (giving != NULL) {
        *giving = (struct giving_back){server, lock};
        server->outstanding++;
        if (redlock_release_async(lock, on_given_back, giving, &request) == REDLOCK_OK)
            return;
        server->outstanding--;
    }
    free(giving);
    redlock_lock_free(lock); /* it ends by itself */
}

void serve_lease_tell(struct serve_server *server, const char *type, redlock_lock *lock, redlock_kind kind,
                      const char *session)
{
    uint32_t names = redlock_lock_name_count(lock);
    char owner[9];

    snprintf(owner, sizeof owner, "%.8s", redlock_lock_owner(lock, NULL));
    struct serve_event event = {.type = type,
                                .session = session,
                                .owner = owner,
                                .fence = redlock_lock_fence(lock),
                                .validity_ms = redlock_lock_validity_ms(lock),
                                .kind = kind,
                                .slot = redlock_lock_slot(lock)};
    for (uint32_t i = 0; i < names; i++) {
        event.name = redlock_lock_name_at(lock, i, &event.name_length);
        serve_events_publish(server, &event);
    }
}

void serve_answer_unbegun(struct serve_call *call, redlock_result result)
{
    struct serve_connection *connection = call->connection;

    serve_call_end(call);
    serve_answer_problem(connection, serve_problem_of(result), redlock_result_name(result), NULL);
}

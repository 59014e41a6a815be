/*
 * A request for a lock that is under way; see taking.h.
 *
 * validity_ms in an answer is what was left when it was written. A client counts it from when it sent its
 * request, which is earlier: so it never relies on a lock for too long, however slow the network. An answer
 * after a long wait may be old news by that count; `confirm` says so.
 */
#include "serve/taking.h"

#include <stdlib.h>

#include "serve/json.h"
#include "serve/late.h"
#include "serve/lease.h"
#include "serve/sessions.h"

redlock_result serve_taking_ask(struct serve_taking *taking, int64_t wait_ms)
{
    redlock_spec spec = serve_wish_spec(&taking->wish);

    return redlock_acquire_async(taking->call.server->client, &spec, wait_ms, taking->taken, taking,
                                 &taking->call.request);
}

void serve_taking_answer(struct serve_taking *taking, redlock_lock *lock, const redlock_report *report)
{
    struct serve_connection *connection = taking->call.connection;
    json_t *lease = serve_lease_json(lock, report, taking->wish.kind, taking->wish.permits);

    if (taking->fence != 0)
        json_object_set_new(lease, "fence", json_integer((json_int_t)taking->fence));
    json_object_set_new(lease, "ttl_ms", json_integer(taking->wish.ttl_ms));
    /* By a count from when the request was sent, a good part of the lease is over. */
    json_object_set_new(lease, "confirm", json_boolean(report->waited_ms > taking->wish.ttl_ms / 4));
    serve_lease_tell(taking->call.server, "acquired", lock, taking->wish.kind, taking->session);
    if (taking->session[0] == '\0' || !serve_sessions_keep(taking->call.server, taking->session, lock,
                                                           taking->wish.kind, taking->wish.permits))
        serve_late_let_go(taking->call.server, lock, report);
    serve_call_end(&taking->call);
    serve_answer_json(connection, 201, lease, NULL);
    serve_connection_go_on(connection);
    free(taking);
}

/* Which of several names was in the way; NULL when that is not known, or there is only one. */
static json_t *name_in_the_way(const struct serve_taking *taking, const redlock_report *report)
{
    const struct serve_wish *wish = &taking->wish;
    uint32_t number = wish->also_count == 0 ? 0 : report->name_number;

    if (number == 0 || number > wish->also_count + 1)
        return NULL;
    return json_pack("{s:o}", "name",
                     number == 1
                         ? serve_json_text(wish->name, wish->name_length)
                         : serve_json_text(wish->also[number - 2].name, wish->also[number - 2].length));
}

void serve_taking_refuse(struct serve_taking *taking, redlock_result result, const redlock_report *report)
{
    struct serve_connection *connection = taking->call.connection;
    enum serve_problem problem = serve_problem_of(result);

    if (serve_call_end(&taking->call)) {
        if (problem == SERVE_STOPPING)
            serve_answer_problem(connection, problem, "this instance is stopping", NULL);
        else
            serve_answer_report(connection, problem, report, name_in_the_way(taking, report));
        serve_connection_go_on(connection);
    }
    free(taking);
}

void serve_taking_refuse_reused(struct serve_taking *taking)
{
    struct serve_connection *connection = taking->call.connection;

    if (serve_call_end(&taking->call)) {
        serve_answer_problem(connection, SERVE_KEY_REUSED,
                             "an earlier request with this Idempotency-Key asked for another kind of lock, "
                             "other permits or other names: send a new key",
                             NULL);
        serve_connection_go_on(connection);
    }
    free(taking);
}

void serve_taking_answer_again(void *context, redlock_result result, redlock_lock *lock,
                               const redlock_report *report)
{
    struct serve_taking *taking = context;

    if (result == REDLOCK_OK && taking->call.connection != NULL)
        serve_taking_answer(taking, lock, report);
    else {
        redlock_lock_free(lock);
        serve_taking_refuse(taking, result, report);
    }
}

void serve_taking_abandon(struct serve_taking *taking, redlock_lock *lock)
{
    if (lock != NULL)
        serve_lease_give_back(taking->call.server, lock);
    serve_call_end(&taking->call);
    free(taking->recorded);
    free(taking);
}

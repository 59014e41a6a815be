/*
 * Waiting for a lock; see waiting.h.
 */
#include "serve/waiting.h"

#include <stdlib.h>

#include "serve/events.h"

static void stop_timer(struct serve_taking *taking)
{
    if (taking->timer != NULL)
        event_free(taking->timer);
    taking->timer = NULL;
    taking->call.dismiss = NULL;
}

static void give_up(struct serve_taking *taking, redlock_result result)
{
    struct serve_connection *connection = taking->call.connection;

    stop_timer(taking);
    serve_turn_leave(taking->call.server, &taking->later);
    serve_line_leave(taking->call.server, &taking->place);
    if (serve_call_end(&taking->call)) {
        serve_answer_problem(connection, serve_problem_of(result), redlock_result_name(result), NULL);
        serve_connection_go_on(connection);
    }
    free(taking);
}

void serve_waiting_dismiss(struct serve_call *call)
{
    give_up((struct serve_taking *)(void *)call, REDLOCK_CANCELED);
}

/* It is the first that waits here. */
static void on_first(void *context)
{
    struct serve_taking *taking = context;
    int64_t left_ms = taking->until_ms - serve_now(taking->call.server);

    stop_timer(taking);
    redlock_result result = serve_taking_ask(taking, left_ms < 0 ? 0 : left_ms);
    if (result == REDLOCK_OK)
        return;
    give_up(taking, result);
}

/* Its time is over behind others: it asks once more for itself, to hear who holds the lock. */
static void on_late(evutil_socket_t socket, short what, void *context)
{
    struct serve_taking *taking = context;

    (void)socket;
    (void)what;
    stop_timer(taking);
    serve_line_leave(taking->call.server, &taking->place);
    redlock_result result = serve_taking_ask(taking, 0);
    if (result != REDLOCK_OK)
        give_up(taking, result);
}

static bool start_timer(struct serve_taking *taking)
{
    int64_t span_ms = taking->wish.wait_ms;

    taking->timer = evtimer_new(taking->call.server->base, on_late, taking);
    taking->call.dismiss = serve_waiting_dismiss;
    return taking->timer != NULL &&
           event_add(taking->timer, &(struct timeval){span_ms / 1000, span_ms % 1000 * 1000}) == 0;
}

redlock_result serve_waiting_begin(struct serve_taking *taking)
{
    struct serve_server *server = taking->call.server;

    taking->until_ms = serve_now(server) + taking->wish.wait_ms;
    /* One that wants several names may wait for another one of them: it does not hold up those behind it. */
    if (taking->wish.also_count > 0)
        return serve_taking_ask(taking, taking->wish.wait_ms);
    if (serve_line_join(server, taking->wish.name, taking->wish.name_length, &taking->place, on_first,
                        taking) ||
        taking->place.line == NULL)
        return serve_taking_ask(taking, taking->wish.wait_ms);
    if (start_timer(taking)) {
        serve_events_publish(server, &(struct serve_event){.type = "waiting",
                                                           .name = taking->wish.name,
                                                           .name_length = taking->wish.name_length,
                                                           .session = taking->session,
                                                           .kind = taking->wish.kind,
                                                           .slot = -1});
        return REDLOCK_OK;
    }
    stop_timer(taking);
    serve_line_leave(server, &taking->place);
    return REDLOCK_NOMEM;
}

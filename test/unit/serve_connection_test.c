/*
 * Tests of the sweep over the service's connections: closing one may end others, whose calls it cut short or
 * let go on. Without nodes, on pairs of sockets; what clients see is in test/serve.
 */
#include "support/check.h"

#ifdef WITH_SERVE

#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "serve/connection.h"

enum { CONNECTIONS = 4 };

struct stage {
    struct serve_server server;
    struct serve_protocol protocol;
    struct serve_connection *connections[CONNECTIONS]; /* as the sweep meets them */
    int peers[CONNECTIONS];
};

static struct stage *stage;

static int start(void **state)
{
    (void)state;
    stage = calloc(1, sizeof *stage);
    assert_non_null(stage);
    stage->protocol.input_max = 1024;
    stage->server.base = event_base_new();
    stage->server.listeners[0] =
        (struct serve_listener){.server = &stage->server, .protocol = &stage->protocol, .is_loopback = true};
    for (int i = CONNECTIONS - 1; i >= 0; i--) {
        int pair[2];

        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
        serve_connection_open(&stage->server.listeners[0], pair[0]);
        stage->connections[i] = stage->server.connections;
        stage->peers[i] = pair[1];
    }
    return 0;
}

static int stop(void **state)
{
    (void)state;
    while (stage->server.connections != NULL)
        serve_connection_close(stage->server.connections);
    for (int i = 0; i < CONNECTIONS; i++)
        close(stage->peers[i]);
    event_base_free(stage->server.base);
    free(stage);
    return 0;
}

/* As when the next waiter of a line cannot be asked for, and its client had said that this is its last
 * request. */
static void close_the_next_two(struct serve_call *call)
{
    serve_call_end(call);
    serve_connection_close(stage->connections[1]);
    serve_connection_close(stage->connections[2]);
}

static void connections_that_end_with_another_are_not_swept(void **state)
{
    struct serve_call call = {.dismiss = close_the_next_two};

    (void)state;
    serve_call_begin(&call, stage->connections[0], false);
    stage->connections[0]->deadline_ms = 0;
    serve_connections_sweep(&stage->server);
    assert_int_equal(stage->server.connection_count, 1);
    assert_ptr_equal(stage->server.connections, stage->connections[3]);
}

static void those_whose_time_is_not_up_stay(void **state)
{
    (void)state;
    stage->connections[1]->deadline_ms = stage->connections[2]->deadline_ms = 0;
    serve_connections_sweep(&stage->server);
    assert_int_equal(stage->server.connection_count, 2);
    assert_ptr_equal(stage->server.connections->next, stage->connections[3]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(connections_that_end_with_another_are_not_swept, start, stop),
        cmocka_unit_test_setup_teardown(those_whose_time_is_not_up_stay, start, stop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

#include "support/no_service.h"

#endif

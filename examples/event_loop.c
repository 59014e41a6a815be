/*
 * Waits for a lock and for the keyboard in one poll loop: a key gives the lock back, or ends the wait for it.
 * Usage: event_loop [NODES], by default REDLOCK_NODES
 */
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <redlock.h>

struct state {
    redlock_lock *lock; /* NULL until it is acquired */
    bool over;
    redlock_result result;
};

/* Both run inside redlock_client_process(), so on the thread that calls it. */
static void released(void *context, redlock_result result, const redlock_report *report)
{
    struct state *state = context;

    state->over = true;
    state->result = result;
    puts(report->line);
}

static void acquired(void *context, redlock_result result, redlock_lock *lock, const redlock_report *report)
{
    struct state *state = context;

    state->lock = lock;
    state->over = lock == NULL;
    state->result = result;
    puts(report->line);
    fflush(stdout);
}

static redlock_result key_pressed(redlock_client *client, struct state *state, redlock_request request)
{
    if (state->lock == NULL)
        return redlock_cancel(client, request); /* acquired() still runs, with REDLOCK_CANCELED */
    return redlock_release_async(state->lock, released, state, NULL);
}

static void loop(redlock_client *client, struct state *state, redlock_request request)
{
    struct pollfd polled[] = {{.fd = redlock_client_fd(client), .events = POLLIN},
                              {.fd = STDIN_FILENO, .events = POLLIN}};

    while (!state->over && poll(polled, 2, -1) >= 0) {
        redlock_client_process(client); /* first, so that the key finds things as they are */
        if (!state->over && polled[1].revents != 0) {
            state->over = key_pressed(client, state, request) != REDLOCK_OK;
            polled[1].fd = -1; /* one key is enough */
        }
    }
}

int main(int argc, char **argv)
{
    redlock_options options = REDLOCK_OPTIONS_INIT;
    redlock_spec spec = REDLOCK_SPEC_INIT;
    redlock_client *client;
    redlock_request request;
    struct state state = {.result = REDLOCK_SYSTEM};

    options.nodes = argc > 1 ? argv[1] : getenv("REDLOCK_NODES");
    spec.name = "turn";
    if (redlock_client_open(&options, &client, NULL) != REDLOCK_OK)
        return 1;
    /* The descriptor first: from then on callbacks run only where we call redlock_client_process(). */
    if (redlock_client_fd(client) >= 0 &&
        redlock_acquire_async(client, &spec, REDLOCK_WAIT_FOREVER, acquired, &state, &request) == REDLOCK_OK)
        loop(client, &state, request);
    redlock_lock_free(state.lock);
    redlock_client_close(client);
    return state.result == REDLOCK_OK ? 0 : 1;
}

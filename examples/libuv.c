/*
 * Takes three locks in one turn of a libuv loop, gives them back, and leaves the loop: everything on this
 * thread.
 * Usage: libuv [NODES], by default REDLOCK_NODES
 */
#include <stdio.h>
#include <stdlib.h>

#include <redlock/libuv.h>

enum { LOCKS = 3, WAIT_MS = 2000 };

struct state {
    uv_poll_t *adapter;
    redlock_lock *locks[LOCKS];
    int answered, released;
    redlock_result worst;
};

/* All callbacks run inside the loop. */
static void released(void *context, redlock_result result, const redlock_report *report)
{
    struct state *state = context;

    puts(report->line);
    if (result != REDLOCK_OK)
        state->worst = result;
    if (--state->released == 0)
        redlock_libuv_detach(state->adapter); /* nothing is left to wait for: the loop ends */
}

static void release_all(struct state *state)
{
    for (int i = 0; i < LOCKS; i++)
        if (state->locks[i] != NULL &&
            redlock_release_async(state->locks[i], released, state, NULL) == REDLOCK_OK)
            state->released++;
    if (state->released == 0)
        redlock_libuv_detach(state->adapter); /* nothing is left to wait for: the loop ends */
}

static void acquired(void *context, redlock_result result, redlock_lock *lock, const redlock_report *report)
{
    struct state *state = context;

    puts(report->line);
    if (result != REDLOCK_OK)
        state->worst = result;
    state->locks[state->answered++] = lock;
    if (state->answered == LOCKS)
        release_all(state);
}

/* What is asked for here travels together when the loop turns. */
static void ask(redlock_client *client, struct state *state)
{
    static const char *const names[LOCKS] = {"turn 1", "turn 2", "turn 3"};
    redlock_spec spec = REDLOCK_SPEC_INIT;

    for (int i = 0; i < LOCKS; i++) {
        spec.name = names[i];
        if (redlock_acquire_async(client, &spec, WAIT_MS, acquired, state, NULL) != REDLOCK_OK)
            exit(1);
    }
}

int main(int argc, char **argv)
{
    redlock_options options = REDLOCK_OPTIONS_INIT;
    redlock_client *client;
    struct state state = {.worst = REDLOCK_OK};

    options.nodes = argc > 1 ? argv[1] : getenv("REDLOCK_NODES");
    if (redlock_client_open(&options, &client, NULL) != REDLOCK_OK)
        return 1;
    state.adapter = redlock_libuv_attach(client, uv_default_loop());
    if (state.adapter == NULL)
        return 1;
    ask(client, &state);
    uv_run(uv_default_loop(), UV_RUN_DEFAULT);
    for (int i = 0; i < LOCKS; i++)
        redlock_lock_free(state.locks[i]);
    redlock_client_close(client);
    uv_loop_close(uv_default_loop());
    return state.worst == REDLOCK_OK ? 0 : 1;
}

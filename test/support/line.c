/*
 * Lines of waiters; see line.h.
 */
#include "support/line.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/guarded.h"
#include "support/steps.h"
#include "support/waiters.h"

#define LINE_KEY "redlock-line:{" WANTED "}:waiters"

enum { MERCY_S = 120 };

int line_length(struct fleet *fleet, int node)
{
    const char *answer = fleet_command(fleet, node, "ZCARD", LINE_KEY, NULL);

    return answer[0] >= '0' && answer[0] <= '9' ? atoi(answer) : -1;
}

bool line_is(struct fleet *fleet, int length)
{
    for (int node = 0; node < fleet_size(fleet); node++)
        if (fleet_pid(fleet, node) != 0 && line_length(fleet, node) != length)
            return false;
    return true;
}

const char *line_at(struct fleet *fleet, int node, int place)
{
    char rank[12];

    snprintf(rank, sizeof rank, "%d", place - 1);
    return fleet_command(fleet, node, "ZRANGE", LINE_KEY, rank, rank, NULL);
}

bool line_is_led_by(struct fleet *fleet, const char *id, int length)
{
    int count = 0;

    for (int node = 0; node < fleet_size(fleet); node++)
        count += fleet_pid(fleet, node) != 0 && line_length(fleet, node) == length &&
                 strcmp(line_at(fleet, node, 1), id) == 0;
    return count >= quorum_of(fleet);
}

bool line_is_gone(struct fleet *fleet)
{
    for (int node = 0; node < fleet_size(fleet); node++) {
        if (fleet_pid(fleet, node) == 0)
            continue;
        if (strcmp(fleet_command(
                       fleet, node, "EVAL",
                       "local found = 0 for _, key in ipairs(redis.call('KEYS', 'redlock-line:*')) do "
                       "if not string.find(key, ':order$') then found = found + 1 end end return found",
                       "0", NULL),
                   "0") != 0)
            return false;
    }
    return true;
}

void line_clear(struct fleet *fleet)
{
    for (int node = 0; node < fleet_size(fleet); node++)
        if (fleet_pid(fleet, node) != 0)
            fleet_command(
                fleet, node, "EVAL",
                "for _, key in ipairs(redis.call('KEYS', 'redlock-line:*')) do redis.call('DEL', key) end",
                "0", NULL);
}

redlock_client *line_open(const char *nodes)
{
    redlock_options options = guarded_options(nodes, LONG_TTL_MS);

    options.node_timeout_ms = 5000;
    redlock_client *client = open_with(&options);
    await_all_nodes(client);
    return client;
}

redlock_spec line_spec(redlock_kind kind)
{
    redlock_spec spec = spec_for(WANTED, LONG_TTL_MS);

    spec.kind = kind;
    return spec;
}

/* ---- processes ---- */

static void *share(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    assert_true(memory != MAP_FAILED);
    return memory;
}

atomic_int *line_share(void)
{
    return share(sizeof(atomic_int));
}

static redlock_result hold_once(redlock_client *client, struct line_process_state *state)
{
    redlock_spec spec = line_spec(REDLOCK_FAIR);
    redlock_lock *lock = NULL;
    redlock_result result = redlock_acquire(client, &spec, REDLOCK_WAIT_FOREVER, &lock, NULL);

    if (result != REDLOCK_OK)
        return result;
    atomic_store(&state->has_it, 1);
    while (atomic_load(&state->let_go) == 0)
        sleep_ms(1);
    result = redlock_release(lock, NULL);
    redlock_lock_free(lock);
    return result;
}

static void note_wait(void *context, const char *line)
{
    struct line_process_state *state = context;

    atomic_fetch_add(&state->waits, strstr(line, "in line") != NULL);
}

static int stand_in_line(const char *nodes, atomic_int *may_ask, struct line_process_state *state)
{
    redlock_options options = guarded_options(nodes, LONG_TTL_MS);
    redlock_client *client = NULL;

    options.node_timeout_ms = 5000;
    options.trace = note_wait;
    options.trace_context = state;
    if (redlock_client_open(&options, &client, NULL) != REDLOCK_OK)
        return 1;
    while (atomic_load(may_ask) == 0)
        sleep_ms(1);
    atomic_store(&state->result, (int)hold_once(client, state));
    redlock_client_close(client);
    return 0;
}

struct line_process line_process_start(const char *nodes, atomic_int *may_ask)
{
    struct line_process process = {.state = share(sizeof *process.state)};
    pid_t parent = getpid();

    fflush(NULL);
    process.pid = fork();
    assert_true(process.pid >= 0);
    if (process.pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        alarm(MERCY_S);
        _exit(getppid() == parent ? stand_in_line(nodes, may_ask, process.state) : 1);
    }
    return process;
}

bool line_process_has_it(const struct line_process *process)
{
    return atomic_load(&process->state->has_it) != 0;
}

bool line_process_finish(struct line_process *process)
{
    int status = 1;

    atomic_store(&process->state->let_go, 1);
    waitpid(process->pid, &status, 0);
    return status == 0 && atomic_load(&process->state->result) == REDLOCK_OK;
}

void line_process_kill(struct line_process *process)
{
    kill(process->pid, SIGKILL);
    waitpid(process->pid, NULL, 0);
}

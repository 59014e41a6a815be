/*
 * Steps with guarded nodes; see guarded.h.
 */
#include "support/guarded.h"

#include <stdio.h>
#include <string.h>

#include "support/steps.h"

enum { LEFTOVER_PAUSE_MS = 20, LEFTOVER_PATIENCE = 6, DETAIL_SIZE = 160 };

redlock_options guarded_options(const char *nodes, uint32_t max_ttl_ms)
{
    redlock_options options = options_for(nodes);

    options.mode = REDLOCK_GUARDED;
    options.max_ttl_ms = max_ttl_ms;
    return options;
}

void admit_all_nodes(redlock_client *client)
{
    redlock_report report = REDLOCK_REPORT_INIT;

    assert_result(REDLOCK_OK, redlock_init_nodes(client, 1, &report), &report);
    assert_int_equal(report.granted, report.node_count);
}

redlock_client *open_admitted(const char *nodes, uint32_t max_ttl_ms)
{
    redlock_options options = guarded_options(nodes, max_ttl_ms);
    redlock_client *client = open_with(&options);

    admit_all_nodes(client);
    return client;
}

/* One for all questions of this file: they are asked again and again. */
static redlock_report *own_report(void)
{
    static redlock_report report;

    if (report.size == 0)
        report = detailed_report();
    return &report;
}

/* Takes a lock and looks where its key is: a vote that came after the round was decided counts too. What the
 * report says of a node that did not vote is from the round when that failed, else from the look. */
static uint32_t ask_all(redlock_client *client, redlock_report *report)
{
    redlock_spec spec = spec_for("does it vote", SHORT_MAX_TTL_MS);
    redlock_lock *lock = NULL;
    uint32_t votes = 0;

    if (redlock_try_acquire(client, &spec, &lock, report) != REDLOCK_OK)
        return 0;
    redlock_inspect(client, spec.name, 0, report);
    for (uint32_t i = 0; i < report->node_count; i++)
        if (node_of(report, i).owner != NULL &&
            strcmp(node_of(report, i).owner, redlock_lock_owner(lock, NULL)) == 0)
            votes |= (uint32_t)1 << i;
    redlock_release(lock, NULL);
    redlock_lock_free(lock);
    return votes;
}

bool node_votes(redlock_client *client, uint32_t node, char *detail)
{
    redlock_report *report = own_report();
    uint32_t votes = ask_all(client, report);

    if (detail != NULL)
        snprintf(detail, DETAIL_SIZE, "%s", node_of(report, node).detail);
    return (votes >> node & 1) != 0;
}

uint32_t count_votes(redlock_client *client)
{
    return (uint32_t)__builtin_popcount(ask_all(client, own_report()));
}

bool is_side_key(const char *key)
{
    return strstr(key, "redlock-guard:epoch") != NULL || strstr(key, "redlock-guard:floor") != NULL ||
           strstr(key, "redlock-guard:terms") != NULL || strstr(key, "redlock-guard:lines") != NULL ||
           strstr(key, "redlock-guard:checked") != NULL || strstr(key, "redlock-fence:") != NULL ||
           (strstr(key, "redlock-line:") != NULL &&
            (strstr(key, ":order") != NULL || strstr(key, ":state") != NULL));
}

/* Adds the lock keys of one node to text (NULL: nowhere), and counts them. */
static int collect(struct fleet *fleet, int node, char *text, size_t size)
{
    char line[2048];
    size_t used = text != NULL ? strlen(text) : 0;
    int count = 0;
    const char *at = fleet_command(fleet, node, "KEYS", "*", NULL);

    while (*at != '\0') {
        size_t length = strcspn(at, "\n");

        snprintf(line, sizeof line, "%.*s", (int)length, at);
        at += length + (at[length] == '\n');
        if (is_side_key(line))
            continue;
        count++;
        if (text != NULL && used < size)
            used += (size_t)snprintf(text + used, size - used, "node %d: %.200s\n", node, line);
    }
    return count;
}

int count_lock_keys(struct fleet *fleet, int node)
{
    return collect(fleet, node, NULL, 0);
}

static int collect_all(struct fleet *fleet, char *text, size_t size)
{
    int count = 0;

    text[0] = '\0';
    for (int i = 0; i < fleet_size(fleet); i++)
        if (fleet_pid(fleet, i) != 0)
            count += collect(fleet, i, text, size);
    return count;
}

const char *lock_leftovers(struct fleet *fleet, int wait_ms)
{
    static char text[4096];
    int64_t give_up_ms =
        now_ms() + (int64_t)LEFTOVER_PATIENCE * wait_ms; /* listing many keys is slow itself */

    while (collect_all(fleet, text, sizeof text) > 0 && wait_ms > 0 && now_ms() < give_up_ms) {
        sleep_ms(LEFTOVER_PAUSE_MS);
        wait_ms -= LEFTOVER_PAUSE_MS;
    }
    return text;
}

static int start_guarded(void **state, int node_count)
{
    struct fleet_options options = {.node_count = node_count, .transport = FLEET_UNIX};

    *state = fleet_start(&options);
    return *state != NULL ? 0 : -1;
}

int start_one_guarded(void **state)
{
    return start_guarded(state, 1);
}

int start_three_guarded(void **state)
{
    return start_guarded(state, 3);
}

int start_five_guarded(void **state)
{
    return start_guarded(state, 5);
}

int stop_guarded(void **state)
{
    return stop_clean(state, lock_leftovers, "locks");
}

/*
 * Real nodes that are of no use: full ones, replicas, wrong credentials, the same node twice, keys that are
 * not locks. Each is called by its true name, and nothing is left behind.
 */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "support/guarded.h"
#include "support/steps.h"

/* ---- memory, replicas ---------------------------------------------------------------------------------- */

static void full_nodes_grant_nothing_but_still_extend_and_release(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_lock *lock = take_lock(client, "old", LONG_TTL_MS);
    redlock_report report = detailed_report();

    for (int i = 0; i < fleet_size(fleet); i++)
        fleet_command(fleet, i, "CONFIG", "SET", "maxmemory", "1", NULL);
    assert_not_had(REDLOCK_NO_QUORUM, client, "new", &report);
    uint32_t full = 0;
    for (uint32_t i = 0; i < report.node_count; i++)
        full += strstr(node_of(&report, i).detail, "OOM") != NULL;
    assert_in_range(full, report.quorum, report.node_count);
    assert_result(REDLOCK_OK, redlock_extend(lock, 2 * LONG_TTL_MS, &report), &report);
    give_back(lock);
    redlock_client_close(client);
}

static void replicas_do_not_vote(void **state)
{
    struct fleet *fleet = *state;
    redlock_report report = detailed_report();
    const char *port = strrchr(fleet_url(fleet, 0), ':') + 1;

    for (int i = 1; i < fleet_size(fleet); i++)
        assert_string_equal(fleet_command(fleet, i, "REPLICAOF", "127.0.0.1", port, NULL), "OK");
    redlock_client *client = open_client(fleet_urls(fleet));
    assert_not_had(REDLOCK_QUARANTINE, client, "replica", &report);
    for (int i = 1; i < fleet_size(fleet); i++) {
        if (node_of(&report, i).verdict == REDLOCK_VERDICT_PENDING)
            continue; /* the round was over before it answered */
        assert_int_equal(node_of(&report, i).verdict, REDLOCK_VERDICT_INELIGIBLE);
        assert_true(node_of(&report, i).detail[0] != '\0');
    }
    for (int i = 1; i < fleet_size(fleet); i++)
        fleet_command(fleet, i, "REPLICAOF", "NO", "ONE", NULL);
    give_back(await_lock(client, "replica"));
    redlock_client_close(client);
}

/* ---- a script that does not end ------------------------------------------------------------------------ */

/* Keeps a node with a unix socket busy until SCRIPT KILL; returns the connection it was told on. */
static int keep_busy(struct fleet *fleet, int node)
{
    static const char eval[] = "*3\r\n$4\r\nEVAL\r\n$17\r\nwhile true do end\r\n$1\r\n0\r\n";
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const char *path = fleet_url(fleet, node) + strlen("unix://");
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    assert_string_equal(fleet_command(fleet, node, "CONFIG", "SET", "lua-time-limit", "50", NULL), "OK");
    assert_true(strlen(path) < sizeof address.sun_path);
    strcpy(address.sun_path, path);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(write(fd, eval, sizeof eval - 1), sizeof eval - 1);
    await(strncmp(fleet_command(fleet, node, "PING", NULL), "BUSY", 4) == 0);
    return fd;
}

/* It has forgotten nothing, and it is still the master that it was. */
static void a_busy_node_is_called_busy_and_its_connection_is_kept(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_admitted(fleet_urls(fleet), LONG_TTL_MS);
    redlock_report report = detailed_report();
    static redlock_stats stats = REDLOCK_STATS_INIT;
    int fd;

    give_back(await_lock(client, "before"));
    fd = keep_busy(fleet, 0);
    for (int i = 0; i < 2; i++) {
        assert_not_had(REDLOCK_NO_QUORUM, client, "meanwhile", &report);
        assert_non_null(strstr(node_of(&report, 0).detail, "BUSY"));
    }
    assert_string_equal(fleet_command(fleet, 0, "SCRIPT", "KILL", NULL), "OK");
    give_back(await_lock(client, "after"));
    assert_int_equal(redlock_client_stats(client, &stats), REDLOCK_OK);
    assert_int_equal(node_stats_of(client, 0).disconnects, 0);
    close(fd);
    redlock_client_close(client);
}

/* ---- credentials --------------------------------------------------------------------------------------- */

static int start_nodes_with_passwords(void **state)
{
    struct fleet_options options = {
        .node_count = 3,
        .transport = FLEET_TCP,
        .config = "requirepass sesame\n"
                  "user reader on >read-only ~* +get +ping +hello +info\n"
                  "user locker on >c0mpl!cated:@/%pass ~* &* +@all",
    };

    *state = fleet_start(&options);
    return *state != NULL ? 0 : -1;
}

/* The nodes' URLs with credentials in them. */
static const char *urls_with(const struct fleet *fleet, const char *credentials)
{
    static char urls[1024];
    size_t used = 0;

    for (int i = 0; i < fleet_size(fleet); i++)
        used += (size_t)snprintf(urls + used, sizeof(urls) - used, "redis://%s@%s ", credentials,
                                 fleet_url(fleet, i) + strlen("redis://"));
    return urls;
}

static void assert_denied(const redlock_options *options, const char *words)
{
    redlock_client *client = open_with(options);
    redlock_spec spec = spec_for("denied", LONG_TTL_MS);
    redlock_report report = detailed_report();
    redlock_lock *lock = NULL;
    int said = 0;

    assert_result(REDLOCK_FORBIDDEN, redlock_acquire(client, &spec, 5000, &lock, &report), &report);
    assert_null(lock);
    assert_null(strstr(report.line, "hush"));
    for (uint32_t i = 0; i < report.node_count; i++) {
        said += strstr(node_of(&report, i).detail, words) != NULL;
        assert_null(strstr(node_of(&report, i).detail, "hush"));
        assert_null(strstr(node_of(&report, i).url, "hush"));
    }
    if (said < 2)
        fail_msg("\"%s\" is said by %d nodes only: %s", words, said, report.line);
    redlock_client_close(client);
}

static void wrong_credentials_are_denied(void **state)
{
    struct fleet *fleet = *state;
    redlock_options options = options_for(fleet_urls(fleet));

    assert_denied(&options, "NOAUTH");
    options.password = "hush-wrong";
    assert_denied(&options, "WRONGPASS");
    options = options_for(urls_with(fleet, "nobody:hush-wrong"));
    assert_denied(&options, "WRONGPASS");
    options = options_for(urls_with(fleet, "reader:read-only"));
    assert_denied(&options, "NOPERM");
}

static void assert_welcome(const redlock_options *options)
{
    redlock_client *client = open_with(options);

    give_back(take_lock(client, "welcome", LONG_TTL_MS));
    redlock_client_close(client);
}

static void right_credentials_are_welcome(void **state)
{
    struct fleet *fleet = *state;
    redlock_options options = options_for(fleet_urls(fleet));

    options.password = "sesame";
    assert_welcome(&options);
    options = options_for(urls_with(fleet, ":sesame"));
    assert_welcome(&options);
    options = options_for(urls_with(fleet, "locker:c0mpl%21cated%3A%40%2F%25pass"));
    assert_welcome(&options);
}

/* Nothing is left undone when a password was wrong on some nodes only. */
static void wrong_password_on_a_minority_costs_nothing(void **state)
{
    struct fleet *fleet = *state;
    char nodes[512];

    snprintf(nodes, sizeof(nodes), "redis://:hush-wrong@%s,redis://:sesame@%s,redis://:sesame@%s",
             fleet_url(fleet, 0) + 8, fleet_url(fleet, 1) + 8, fleet_url(fleet, 2) + 8);
    redlock_client *client = open_client(nodes);
    give_back(take_lock(client, "some", LONG_TTL_MS));
    redlock_client_close(client);
}

/* ---- the same node twice ------------------------------------------------------------------------------- */

/* It is noticed at once, or as soon as both of its names have answered; a quorum of others is fine until
 * then. */
static void assert_duplicate(const char *nodes, const char *first, const char *second)
{
    redlock_options options = options_for(nodes);
    redlock_report report = detailed_report();
    redlock_client *client = NULL;
    redlock_spec spec = spec_for("twice", LONG_TTL_MS);

    redlock_result result = redlock_client_open(&options, &client, &report);
    for (int i = 0; i < 500 && result == REDLOCK_OK; i++) {
        redlock_lock *lock = NULL;
        result = redlock_acquire(client, &spec, 0, &lock, &report);
        if (result == REDLOCK_OK)
            give_back(lock);
        sleep_ms(10);
    }
    redlock_client_close(client);
    assert_result(REDLOCK_INVALID, result, &report);
    if (strstr(report.line, first) == NULL || strstr(report.line, second) == NULL)
        fail_msg("\"%s\" does not name both %s and %s", report.line, first, second);
}

/* Of the first node, with the second beside it. */
static void assert_other_name_is_refused(const struct fleet *fleet, const char *other)
{
    char nodes[512];

    snprintf(nodes, sizeof(nodes), "%s,%s,%s", fleet_url(fleet, 0), other, fleet_url(fleet, 1));
    assert_duplicate(nodes, fleet_url(fleet, 0), other);
}

static void two_names_of_one_node_are_refused(void **state)
{
    struct fleet *fleet = *state;
    char nodes[512];
    char other[128];

    /* Another spelling of the same address. */
    snprintf(other, sizeof(other), "redis://localhost:%s", strrchr(fleet_url(fleet, 0), ':') + 1);
    assert_other_name_is_refused(fleet, other);
    /* Another road to it. */
    snprintf(other, sizeof(other), "unix://%s/0/socket", fleet_folder(fleet));
    assert_other_name_is_refused(fleet, other);
    /* Another database of it. */
    snprintf(other, sizeof(other), "%s/1", fleet_url(fleet, 0));
    assert_other_name_is_refused(fleet, other);
    /* The only one. */
    snprintf(nodes, sizeof(nodes), "%s,%s", fleet_url(fleet, 0), other);
    assert_duplicate(nodes, fleet_url(fleet, 0), other);
}

static void other_database_is_another_lock(void **state)
{
    struct fleet *fleet = *state;
    char nodes[512] = "";

    for (int i = 0; i < fleet_size(fleet); i++)
        snprintf(nodes + strlen(nodes), sizeof(nodes) - strlen(nodes), "%s/3 ", fleet_url(fleet, i));
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_client *other = open_warm_client(nodes);
    redlock_lock *lock = take_lock(client, "database", LONG_TTL_MS);
    redlock_lock *twin = take_lock(other, "database", LONG_TTL_MS);
    await(fleet_key_count(fleet, 0) == 1);
    assert_string_equal(fleet_command(fleet, 0, "GET", "database", NULL), redlock_lock_owner(lock, NULL));
    give_back(twin);
    assert_string_equal(fleet_command(fleet, 0, "GET", "database", NULL), redlock_lock_owner(lock, NULL));
    give_back(lock);
    redlock_client_close(client);
    redlock_client_close(other);
}

/* ---- keys that are not locks --------------------------------------------------------------------------- */

static void assert_foreign_type(struct fleet *fleet, redlock_client *client, const char *type)
{
    redlock_spec spec = spec_for("foreign", LONG_TTL_MS);
    redlock_report report = detailed_report();
    redlock_lock *lock = NULL;

    assert_result(REDLOCK_FOREIGN_TYPE, redlock_try_acquire(client, &spec, &lock, &report), &report);
    assert_report_is_sound(&report, REDLOCK_FOREIGN_TYPE, fleet);
    assert_null(lock);
    assert_result(REDLOCK_FOREIGN_TYPE, redlock_acquire(client, &spec, 300, &lock, &report), &report);
    for (int i = 0; i < fleet_size(fleet); i++) {
        assert_string_equal(fleet_command(fleet, i, "TYPE", "foreign", NULL), type);
        fleet_command(fleet, i, "DEL", "foreign", NULL);
    }
    give_back(take_spec(client, &spec));
    assert_string_equal(fleet_leftovers(fleet, 5000), "");
}

static void key_of_another_type_is_not_a_lock(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));

    for (int i = 0; i < fleet_size(fleet); i++)
        fleet_command(fleet, i, "HSET", "foreign", "uuid:1", "1", NULL);
    assert_foreign_type(fleet, client, "hash");
    for (int i = 0; i < fleet_size(fleet); i++)
        fleet_command(fleet, i, "RPUSH", "foreign", "a", "b", NULL);
    assert_foreign_type(fleet, client, "list");
    redlock_client_close(client);
}

static void plant_hashes(struct fleet *fleet, const char *ttl_ms)
{
    for (int i = 0; i < fleet_size(fleet); i++) {
        fleet_command(fleet, i, "HSET", "redisson", "uuid:1", "1", NULL);
        fleet_command(fleet, i, "PEXPIRE", "redisson", ttl_ms, NULL);
    }
}

static void take_with(redlock_client *client, redlock_kind kind, int64_t wait_ms, redlock_result expected)
{
    redlock_spec spec = spec_for("redisson", LONG_TTL_MS);
    redlock_report report = detailed_report();
    redlock_lock *lock = NULL;

    spec.kind = kind;
    assert_result(expected, redlock_acquire(client, &spec, wait_ms, &lock, &report), &report);
    if (expected == REDLOCK_BUSY)
        assert_true(report.holder_ttl_left_ms > 0);
    if (lock != NULL)
        give_back(lock);
}

/* Other programs keep their locks in hashes: one that ends is somebody's lock, and is waited for like any
 * other. */
static void a_hash_that_ends_is_a_lock_of_somebody(redlock_client *client, struct fleet *fleet,
                                                   redlock_kind kind)
{
    plant_hashes(fleet, "600000");
    take_with(client, kind, 0, REDLOCK_BUSY);
    take_with(client, kind, 100, REDLOCK_TIMEOUT);
    plant_hashes(fleet, "300");
    take_with(client, kind, 20000, REDLOCK_OK);
}

static void a_plain_client_waits_for_a_hash_that_ends(void **state)
{
    redlock_client *client = open_warm_client(fleet_urls(*state));

    a_hash_that_ends_is_a_lock_of_somebody(client, *state, REDLOCK_EXCLUSIVE);
    redlock_client_close(client);
}

static void a_guarded_client_waits_for_a_hash_that_ends(void **state)
{
    redlock_client *client = open_admitted(fleet_urls(*state), LONG_TTL_MS);

    a_hash_that_ends_is_a_lock_of_somebody(client, *state, REDLOCK_EXCLUSIVE);
    a_hash_that_ends_is_a_lock_of_somebody(client, *state, REDLOCK_FAIR);
    redlock_client_close(client);
}

static void foreign_lock_without_an_end_is_busy(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_spec spec = spec_for("endless", LONG_TTL_MS);
    redlock_report report = detailed_report();
    redlock_lock *lock = NULL;

    for (int i = 0; i < fleet_size(fleet); i++)
        fleet_command(fleet, i, "SET", "endless", "somebody-else", NULL);
    assert_result(REDLOCK_BUSY, redlock_try_acquire(client, &spec, &lock, &report), &report);
    assert_report_is_sound(&report, REDLOCK_BUSY, fleet);
    assert_string_equal(report.holder.id, "somebody");
    assert_int_equal(report.holder_ttl_left_ms, -1);
    /* A node that said no after the round was decided was not asked for more. */
    uint32_t endless = 0;
    for (uint32_t i = 0; i < report.node_count; i++)
        endless += node_of(&report, i).ttl_left_ms == -1;
    assert_in_range(endless, report.quorum, report.node_count);
    /* Held without an end never means that it ends now. */
    assert_result(REDLOCK_TIMEOUT, redlock_acquire(client, &spec, 300, &lock, &report), &report);
    assert_result(REDLOCK_OK, redlock_inspect(client, "endless", 0, &report), &report);
    assert_int_equal(report.holder_ttl_left_ms, -1);
    for (int i = 0; i < fleet_size(fleet); i++) {
        assert_string_equal(fleet_command(fleet, i, "GET", "endless", NULL), "somebody-else");
        fleet_command(fleet, i, "DEL", "endless", NULL);
    }
    redlock_client_close(client);
}

/* Binary owner values of other clients, and very long ones, are looked at and left alone. */
static void strange_owner_values_are_shown_safely(void **state)
{
    static const char binary[] = "\x01\x02\xff\x00|host=\x1b[31m|pid=99999999999999999999|why=\r\n";
    struct fleet *fleet = *state;
    redlock_client *client = open_warm_client(fleet_urls(fleet));
    redlock_spec spec = spec_for("strange", LONG_TTL_MS);
    redlock_report report = detailed_report();
    redlock_lock *lock = NULL;
    static char longest[1 << 20];

    memset(longest, 'x', sizeof(longest));
    for (int pass = 0; pass < 2; pass++) {
        const char *value = pass == 0 ? binary : longest;
        size_t length = pass == 0 ? sizeof(binary) - 1 : sizeof(longest);
        for (int i = 0; i < fleet_size(fleet); i++)
            fleet_command_bytes(fleet, i, 3, (const char *[]){"SET", "strange", value},
                                (const size_t[]){3, 7, length});
        assert_result(REDLOCK_BUSY, redlock_try_acquire(client, &spec, &lock, &report), &report);
        assert_printable(report.line);
        assert_printable(report.holder.host);
        assert_printable(report.holder.why);
        assert_printable(report.holder.id);
        assert_result(REDLOCK_OK, redlock_inspect(client, "strange", 0, &report), &report);
        for (uint32_t i = 0; i < report.node_count; i++)
            assert_true(node_of(&report, i).owner_length <= REDLOCK_OWNER_MAX);
    }
    for (int i = 0; i < fleet_size(fleet); i++)
        fleet_command(fleet, i, "DEL", "strange", NULL);
    redlock_client_close(client);
}

static int start_three_tcp_nodes(void **state)
{
    struct fleet_options options = {.node_count = 3, .transport = FLEET_TCP};

    *state = fleet_start(&options);
    return *state != NULL ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_NODES(full_nodes_grant_nothing_but_still_extend_and_release, start_three_nodes),
        ON_NODES(replicas_do_not_vote, start_three_tcp_nodes),
        ON_GUARDED(a_busy_node_is_called_busy_and_its_connection_is_kept, start_one_guarded),
        ON_NODES(wrong_credentials_are_denied, start_nodes_with_passwords),
        ON_NODES(right_credentials_are_welcome, start_nodes_with_passwords),
        ON_NODES(wrong_password_on_a_minority_costs_nothing, start_nodes_with_passwords),
        ON_NODES(two_names_of_one_node_are_refused, start_three_tcp_nodes),
        ON_NODES(other_database_is_another_lock, start_three_tcp_nodes),
        ON_NODES(key_of_another_type_is_not_a_lock, start_three_nodes),
        ON_NODES(foreign_lock_without_an_end_is_busy, start_three_nodes),
        ON_NODES(a_plain_client_waits_for_a_hash_that_ends, start_three_nodes),
        ON_GUARDED(a_guarded_client_waits_for_a_hash_that_ends, start_three_guarded),
        ON_NODES(strange_owner_values_are_shown_safely, start_three_nodes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

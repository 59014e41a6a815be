/*
 * Servers that cannot be nodes: too old, an active replica, a node of a Redis Cluster, a Sentinel, TLS where
 * none is expected and the other way round. Each is called by its name, with the remedy, and no lock is
 * handed out.
 */
#include <hiredis/hiredis.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/details.h"
#include "support/fakes.h"
#include "support/guarded.h"
#include "support/steps.h"
#include "support/temp_folder.h"

/* The words about the first node when a lock is tried for; they belong to the caller until the next call. */
static const char *words_within(const char *nodes, redlock_mode mode, uint32_t connect_timeout_ms)
{
    static char words[512];
    redlock_options options = options_for(nodes);
    redlock_report report = detailed_report();
    redlock_spec spec = spec_for("wrong server", SHORT_MAX_TTL_MS);
    redlock_lock *lock = NULL;
    redlock_client *client = NULL;

    options.mode = mode;
    options.connect_timeout_ms = connect_timeout_ms;
    assert_result(REDLOCK_OK, redlock_client_open(&options, &client, &report), &report);
    assert_int_not_equal(redlock_try_acquire(client, &spec, &lock, &report), REDLOCK_OK);
    assert_null(lock);
    snprintf(words, sizeof words, "%s", node_of(&report, 0).detail);
    redlock_client_close(client);
    return words;
}

/* Each of these answers, however busy the machine is. */
static const char *words_about(const char *nodes, redlock_mode mode)
{
    return words_within(nodes, mode, options_for(nodes).connect_timeout_ms);
}

static void assert_said(const char *words, const char *name, const char *remedy)
{
    if (strstr(words, name) == NULL || strstr(words, remedy) == NULL)
        fail_msg("\"%s\" does not say \"%s\" and \"%s\"", words, name, remedy);
}

/* ---- what a fake node says it is ----------------------------------------------------------------------- */

static void pretend(struct fake_node *fake, const char *info)
{
    char text[300], reply[340];

    snprintf(text, sizeof text, "%s\r\nrun_id:0123456789012345678901234567890123456789\r\n", info);
    snprintf(reply, sizeof reply, "$%zu\r\n%s\r\n", strlen(text), text);
    fake_node_reply(fake, "INFO", reply);
}

static void a_server_that_is_too_old_is_named_with_its_version(void **state)
{
    struct fake_node *fake = fake_node_start(FAKE_TCP);

    (void)state;
    fake_node_fail(fake, "HELLO", "ERR unknown command 'HELLO'");
    pretend(fake, "redis_version:5.0.14\r\nrole:master");
    assert_said(words_about(fake_node_url(fake), REDLOCK_GUARDED), "5.0.14", "upgrade it");
    fake_node_stop(fake);
}

/* It takes writes like a master, and those of others with them. */
static void an_active_replica_is_a_replica(void **state)
{
    struct fake_node *fake = fake_node_start(FAKE_TCP);

    (void)state;
    pretend(fake, "redis_version:6.3.4\r\nrole:active-replica");
    assert_said(words_about(fake_node_url(fake), REDLOCK_GUARDED), "replica", "only masters");
    assert_said(words_about(fake_node_url(fake), REDLOCK_PLAIN), "replica", "only masters");
    fake_node_stop(fake);
}

/* What a TLS server says to somebody who does not speak it. */
static void an_alert_of_tls_is_understood(void **state)
{
    struct fake_node *fake = fake_node_start(FAKE_TCP);

    (void)state;
    fake_node_reply(fake, "HELLO", "\x15\x03\x01");
    assert_said(words_about(fake_node_url(fake), REDLOCK_GUARDED), "it speaks TLS", "write rediss://");
    fake_node_stop(fake);
}

/* ---- real servers -------------------------------------------------------------------------------------- */

static int start_with(void **state, enum fleet_transport transport, const char *config)
{
    struct fleet_options options = {.node_count = 1, .transport = transport, .config = config};

    *state = fleet_start(&options);
    return *state != NULL ? 0 : -1;
}

static int start_cluster_node(void **state)
{
    return start_with(state, FLEET_TCP, "cluster-enabled yes");
}

static int start_tls_node(void **state)
{
    return start_with(state, FLEET_TLS, NULL);
}

static int start_tcp_node(void **state)
{
    return start_with(state, FLEET_TCP, NULL);
}

static void a_node_of_a_cluster_is_called_that(void **state)
{
    assert_said(words_about(fleet_url(*state, 0), REDLOCK_GUARDED), "Redis Cluster", "stand alone");
}

/* The URL of the same port with the other scheme. */
static const char *other_scheme(struct fleet *fleet, const char *scheme)
{
    static char url[128];

    snprintf(url, sizeof url, "%s%s", scheme, strstr(fleet_url(fleet, 0), "://"));
    return url;
}

static void a_tls_port_spoken_to_without_tls_is_called_that(void **state)
{
    assert_said(words_about(other_scheme(*state, "redis"), REDLOCK_GUARDED), "TLS", "write rediss://");
}

/* It may wait for the end of what it takes for a line: then only silence shows it. */
static void a_port_without_tls_spoken_to_in_tls_is_called_that(void **state)
{
    assert_said(words_within(other_scheme(*state, "rediss"), REDLOCK_GUARDED, 500), "TLS", "write redis://");
}

/* ---- a real Sentinel, of the same program as the nodes ------------------------------------------------- */

struct sentinel {
    pid_t pid;
    char folder[TEMP_FOLDER_MAX];
    char socket[TEMP_FOLDER_MAX + 16];
};

static int stop_sentinel(void **state)
{
    struct sentinel *sentinel = *state;

    if (sentinel->pid > 0) {
        kill(sentinel->pid, SIGKILL);
        waitpid(sentinel->pid, NULL, 0);
    }
    temp_folder_remove(sentinel->folder);
    free(sentinel);
    return 0;
}

/* In the child: becomes the Sentinel, and dies with the test. */
static void become_sentinel(const struct sentinel *sentinel, pid_t parent)
{
    char path[TEMP_FOLDER_MAX + 16];
    FILE *file;

    snprintf(path, sizeof path, "%s/sentinel.conf", sentinel->folder);
    file = fopen(path, "w");
    if (file == NULL || prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
        _exit(127);
    fprintf(file, "port 0\nunixsocket %s\ndir %s\nlogfile %s/log\n", sentinel->socket, sentinel->folder,
            sentinel->folder);
    fclose(file);
    execlp("redis-server", "redis-server", path, "--sentinel", (char *)NULL);
    _exit(127);
}

/* Its socket is there before it listens, so an answer is what shows that it has started. */
static bool sentinel_answers(const struct sentinel *sentinel)
{
    redisContext *link = redisConnectUnix(sentinel->socket);
    redisReply *reply = link != NULL && link->err == 0 ? redisCommand(link, "PING") : NULL;
    bool answers = reply != NULL && reply->type == REDIS_REPLY_STATUS;

    if (reply != NULL)
        freeReplyObject(reply);
    if (link != NULL)
        redisFree(link);
    return answers;
}

static int start_sentinel(void **state)
{
    struct sentinel *sentinel = calloc(1, sizeof *sentinel);
    pid_t parent = getpid();

    if (sentinel == NULL || !temp_folder_make(sentinel->folder)) {
        free(sentinel);
        return -1;
    }
    *state = sentinel;
    snprintf(sentinel->socket, sizeof sentinel->socket, "%s/socket", sentinel->folder);
    sentinel->pid = fork();
    if (sentinel->pid == 0)
        become_sentinel(sentinel, parent);
    for (int tries = 0; tries < 3000 && sentinel->pid > 0; tries++) {
        if (sentinel_answers(sentinel))
            return 0;
        sleep_ms(10);
    }
    stop_sentinel(state);
    return -1;
}

static void a_sentinel_is_called_that(void **state)
{
    struct sentinel *sentinel = *state;
    char url[300];

    snprintf(url, sizeof url, "unix://%s", sentinel->socket);
    assert_said(words_about(url, REDLOCK_GUARDED), "Sentinel", "name the masters");
    assert_said(words_about(url, REDLOCK_PLAIN), "Sentinel", "name the masters");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_server_that_is_too_old_is_named_with_its_version),
        cmocka_unit_test(an_active_replica_is_a_replica),
        cmocka_unit_test(an_alert_of_tls_is_understood),
        ON_GUARDED(a_node_of_a_cluster_is_called_that, start_cluster_node),
        ON_GUARDED(a_tls_port_spoken_to_without_tls_is_called_that, start_tls_node),
        ON_GUARDED(a_port_without_tls_spoken_to_in_tls_is_called_that, start_tcp_node),
        cmocka_unit_test_setup_teardown(a_sentinel_is_called_that, start_sentinel, stop_sentinel),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

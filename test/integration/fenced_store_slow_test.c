/*
 * A thousand holders that sleep past their lease and then write all the same, as a paused process does. A
 * store that compares fences, with the statements from examples/, loses no newer write; its twin that does
 * not loses many.
 */
/* The example is part of this program: what is tested is what is shown. */
int example_main(int argc, char **argv);
#define main example_main
#include "../../examples/fenced_sqlite.c"
#undef main

#include <hiredis/hiredis.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/prng.h"
#include "support/guarded.h"
#include "support/steps.h"

enum { PAUSED = 1000, THREADS = 40, TTL_MS = 100, STORE_NODE = 3, SCRIPT_MAX = 4096 };

/* What all threads share; they count, the main thread judges. */
struct crowd {
    struct fleet *fleet;
    char urls[512];
    char path[160]; /* of the database */
    char script[SCRIPT_MAX];
    atomic_int next;
    atomic_int paused;    /* leases that had ended before the write */
    atomic_int disorders; /* second fences that were not above the first */
    atomic_int late;      /* old writes that came after the new one */
    atomic_int failures;
    atomic_int lost[4]; /* new writes that are gone in the end, by store */
};

enum store { SQLITE_FENCED, SQLITE_PLAIN, REDIS_FENCED, REDIS_PLAIN };

struct worker {
    struct crowd *crowd;
    redlock_client *client;
    sqlite3 *database;
    redisContext *redis;
    struct rl_prng prng;
};

/* ---- the stores ---------------------------------------------------------------------------------------- */

static bool write_sqlite_plain(sqlite3 *database, int id, const char *body)
{
    char sql[128];

    snprintf(sql, sizeof sql, "UPDATE plain SET body = '%s' WHERE id = %d", body, id);
    return sqlite3_exec(database, sql, NULL, NULL, NULL) == SQLITE_OK;
}

static bool answer_is_number(redisReply *reply)
{
    bool good = reply != NULL && reply->type == REDIS_REPLY_INTEGER;

    if (reply != NULL)
        freeReplyObject(reply);
    return good;
}

static void write_everywhere(struct worker *worker, int id, const char *body, uint64_t fence)
{
    bool good = write_fenced(worker->database, id, body, fence) >= 0;

    good = write_sqlite_plain(worker->database, id, body) && good;
    good = answer_is_number(redisCommand(worker->redis, "EVAL %s 1 fenced:%d %llu %s", worker->crowd->script,
                                         id, (unsigned long long)fence, body)) &&
           good;
    good = answer_is_number(redisCommand(worker->redis, "HSET plain:%d value %s", id, body)) && good;
    atomic_fetch_add(&worker->crowd->failures, !good);
}

static bool sqlite_has(sqlite3 *database, const char *table, int id, const char *body)
{
    char sql[128];
    sqlite3_stmt *statement = NULL;
    bool same = false;

    snprintf(sql, sizeof sql, "SELECT body FROM %s WHERE id = %d", table, id);
    if (sqlite3_prepare_v2(database, sql, -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_text(statement, 0) != NULL)
        same = strcmp((const char *)sqlite3_column_text(statement, 0), body) == 0;
    sqlite3_finalize(statement);
    return same;
}

static bool redis_has(redisContext *redis, const char *kind, int id, const char *body)
{
    redisReply *reply = redisCommand(redis, "HGET %s:%d value", kind, id);
    bool same = reply != NULL && reply->type == REDIS_REPLY_STRING && strcmp(reply->str, body) == 0;

    if (reply != NULL)
        freeReplyObject(reply);
    return same;
}

static void count_lost(struct worker *worker, int id)
{
    atomic_int *lost = worker->crowd->lost;

    atomic_fetch_add(&lost[SQLITE_FENCED], !sqlite_has(worker->database, "document", id, "new"));
    atomic_fetch_add(&lost[SQLITE_PLAIN], !sqlite_has(worker->database, "plain", id, "new"));
    atomic_fetch_add(&lost[REDIS_FENCED], !redis_has(worker->redis, "fenced", id, "new"));
    atomic_fetch_add(&lost[REDIS_PLAIN], !redis_has(worker->redis, "plain", id, "new"));
}

/* ---- the holders --------------------------------------------------------------------------------------- */

static redlock_lock *wait_for(struct worker *worker, const char *name)
{
    redlock_spec spec = spec_for(name, TTL_MS);
    redlock_lock *lock = NULL;

    if (redlock_acquire(worker->client, &spec, 60000, &lock, NULL) != REDLOCK_OK)
        atomic_fetch_add(&worker->crowd->failures, 1);
    return lock;
}

/* One takes the lock and sleeps past its end; another takes it and writes; the first wakes up, before or
 * after that, and writes what it had in mind. */
static void oversleep(struct worker *worker, int id)
{
    char name[32];
    redlock_lock *old, *new;
    bool late = rl_prng_between(&worker->prng, 0, 3) > 0;

    snprintf(name, sizeof name, "document %d", id);
    old = wait_for(worker, name);
    if (old == NULL)
        return;
    sleep_ms(redlock_lock_validity_ms(old) + 1);
    atomic_fetch_add(&worker->crowd->paused, redlock_lock_validity_ms(old) == 0);
    new = wait_for(worker, name);
    if (new != NULL) {
        atomic_fetch_add(&worker->crowd->disorders, redlock_lock_fence(new) <= redlock_lock_fence(old));
        atomic_fetch_add(&worker->crowd->late, late);
        if (!late)
            write_everywhere(worker, id, "old", redlock_lock_fence(old));
        write_everywhere(worker, id, "new", redlock_lock_fence(new));
        if (late)
            write_everywhere(worker, id, "old", redlock_lock_fence(old));
        redlock_release(new, NULL);
        count_lost(worker, id);
    }
    redlock_lock_free(old);
    redlock_lock_free(new);
}

static void *work_through(void *context)
{
    struct worker *worker = context;
    int id;

    while ((id = atomic_fetch_add(&worker->crowd->next, 1)) < PAUSED)
        oversleep(worker, id);
    return NULL;
}

/* ---- the test ------------------------------------------------------------------------------------------ */

static void read_script(struct crowd *crowd)
{
    const char *source = getenv("SOURCE");
    char path[512];
    FILE *file;
    size_t length;

    assert_non_null(source); /* set by meson */
    snprintf(path, sizeof path, "%s/examples/fenced_redis.lua", source);
    file = fopen(path, "r");
    assert_non_null(file);
    length = fread(crowd->script, 1, SCRIPT_MAX - 1, file);
    assert_true(length > 0 && feof(file));
    fclose(file);
}

static sqlite3 *open_database(const char *path)
{
    sqlite3 *database = NULL;

    assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
    assert_int_equal(sqlite3_busy_timeout(database, 60000), SQLITE_OK);
    /* What a crash of the machine would do to the file is not the matter here. */
    assert_int_equal(sqlite3_exec(database, "PRAGMA synchronous = OFF", NULL, NULL, NULL), SQLITE_OK);
    return database;
}

static void prepare_database(const char *path)
{
    sqlite3 *database = open_database(path);

    assert_int_equal(sqlite3_exec(database,
                                  "PRAGMA journal_mode = WAL; BEGIN;"
                                  "CREATE TABLE plain (id INTEGER PRIMARY KEY, body TEXT)",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    for (int id = 0; id < PAUSED; id++) {
        char sql[64];

        assert_int_equal(prepare_row(database, id), 0);
        snprintf(sql, sizeof sql, "INSERT INTO plain (id) VALUES (%d)", id);
        assert_int_equal(sqlite3_exec(database, sql, NULL, NULL, NULL), SQLITE_OK);
    }
    assert_int_equal(sqlite3_exec(database, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(database);
}

static void prepare_crowd(struct crowd *crowd, struct fleet *fleet)
{
    crowd->fleet = fleet;
    snprintf(crowd->urls, sizeof crowd->urls, "%s,%s,%s", fleet_url(fleet, 0), fleet_url(fleet, 1),
             fleet_url(fleet, 2));
    snprintf(crowd->path, sizeof crowd->path, "%s/documents.sqlite", fleet_folder(fleet));
    read_script(crowd);
    prepare_database(crowd->path);
}

static void run_crowd(struct crowd *crowd)
{
    struct worker workers[THREADS];
    pthread_t threads[THREADS];
    redlock_client *client = open_admitted(crowd->urls, TTL_MS);
    char socket_path[160];

    snprintf(socket_path, sizeof socket_path, "%s/%d/socket", fleet_folder(crowd->fleet), STORE_NODE);
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.crowd = crowd,
                                     .client = client,
                                     .database = open_database(crowd->path),
                                     .redis = redisConnectUnix(socket_path),
                                     .prng = rl_prng_seed((uint64_t)i + 1)};
        assert_non_null(workers[i].redis);
        assert_int_equal(workers[i].redis->err, 0);
    }
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work_through, &workers[i]), 0);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        sqlite3_close(workers[i].database);
        redisFree(workers[i].redis);
    }
    redlock_client_close(client);
}

static void a_fenced_store_loses_nothing_to_holders_that_overslept(void **state)
{
    static struct crowd crowd;

    prepare_crowd(&crowd, *state);
    run_crowd(&crowd);
    print_message("# %d holders paused past their lease, %d wrote after a newer one; new writes lost: "
                  "sqlite fenced %d unfenced %d, redis fenced %d unfenced %d\n",
                  crowd.paused, crowd.late, crowd.lost[SQLITE_FENCED], crowd.lost[SQLITE_PLAIN],
                  crowd.lost[REDIS_FENCED], crowd.lost[REDIS_PLAIN]);
    assert_int_equal(crowd.failures, 0);
    assert_int_equal(crowd.paused, PAUSED);
    assert_int_equal(crowd.disorders, 0);
    assert_int_equal(crowd.lost[SQLITE_FENCED], 0);
    assert_int_equal(crowd.lost[REDIS_FENCED], 0);
    /* Without the comparison every late write is a loss: so there was something to lose. */
    assert_int_equal(crowd.lost[SQLITE_PLAIN], crowd.late);
    assert_int_equal(crowd.lost[REDIS_PLAIN], crowd.late);
    assert_true(crowd.late > PAUSED / 2);
    fleet_command(*state, STORE_NODE, "FLUSHALL", NULL); /* what is stored there is no leftover */
}

/* The rule's edge: the holder may write again and again, and so may whoever has the same fence. */
static void the_newest_holder_may_write_more_than_once(void **state)
{
    sqlite3 *database = NULL;

    (void)state;
    assert_int_equal(sqlite3_open(":memory:", &database), SQLITE_OK);
    assert_int_equal(prepare_row(database, 1), 0);
    assert_int_equal(write_fenced(database, 1, "a", 7), 1);
    assert_int_equal(write_fenced(database, 1, "b", 7), 1);
    assert_int_equal(write_fenced(database, 1, "c", 6), 0);
    assert_true(sqlite_has(database, "document", 1, "b"));
    assert_int_equal(write_fenced(database, 1, "d", UINT64_C(1700000000123456)), 1);
    assert_int_equal(write_fenced(database, 1, "e", UINT64_C(1700000000123455)), 0);
    assert_true(sqlite_has(database, "document", 1, "d"));
    sqlite3_close(database);
}

static int start_nodes_and_store(void **state)
{
    struct fleet_options options = {.node_count = 4, .transport = FLEET_UNIX};

    *state = fleet_start(&options);
    return *state != NULL ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_GUARDED(a_fenced_store_loses_nothing_to_holders_that_overslept, start_nodes_and_store),
        cmocka_unit_test(the_newest_holder_may_write_more_than_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Writes into a SQLite database under a lock, and hands the lock's fence along: a write that comes after a
 * newer holder's, because its process slept too long, is refused by the database. The lock alone could not
 * know.
 * Usage: fenced_sqlite DATABASE BODY [SECONDS] [NODES], by default 0 s of sleep before the write, and
 *     REDLOCK_NODES
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <redlock.h>
#include <sqlite3.h>

/* The fence of the last write lives in the row. Compared and written in one statement, so nobody comes
 * between. */
static const char make_table[] = "CREATE TABLE IF NOT EXISTS document ("
                                 "  id INTEGER PRIMARY KEY, body TEXT, fence INTEGER NOT NULL DEFAULT 0)";
static const char make_row[] = "INSERT OR IGNORE INTO document (id) VALUES (?1)";
static const char write_if_newest[] =
    "UPDATE document SET body = ?2, fence = ?3 WHERE id = ?1 AND fence <= ?3";

/* 1 written, 0 a newer holder has written already, -1 the database says no. */
static int write_fenced(sqlite3 *database, int64_t id, const char *body, uint64_t fence)
{
    sqlite3_stmt *statement = NULL;
    int result = -1;

    if (sqlite3_prepare_v2(database, write_if_newest, -1, &statement, NULL) == SQLITE_OK) {
        sqlite3_bind_int64(statement, 1, id);
        sqlite3_bind_text(statement, 2, body, -1, SQLITE_STATIC);
        sqlite3_bind_int64(statement, 3, (sqlite3_int64)fence);
        if (sqlite3_step(statement) == SQLITE_DONE)
            result = sqlite3_changes(database);
    }
    sqlite3_finalize(statement);
    return result;
}

static int prepare_row(sqlite3 *database, int64_t id)
{
    sqlite3_stmt *statement = NULL;
    int done = sqlite3_exec(database, make_table, NULL, NULL, NULL) == SQLITE_OK &&
               sqlite3_prepare_v2(database, make_row, -1, &statement, NULL) == SQLITE_OK &&
               sqlite3_bind_int64(statement, 1, id) == SQLITE_OK && sqlite3_step(statement) == SQLITE_DONE;

    sqlite3_finalize(statement);
    return done ? 0 : -1;
}

/* Takes the lock, is held up for a while, writes. */
static int work(redlock_client *client, sqlite3 *database, const char *body, unsigned pause_s)
{
    redlock_spec spec = REDLOCK_SPEC_INIT;
    redlock_report report = REDLOCK_REPORT_INIT;
    redlock_lock *lock;

    spec.name = "document 1";
    spec.ttl_ms = 1000;
    if (redlock_acquire(client, &spec, 5000, &lock, &report) != REDLOCK_OK) {
        fprintf(stderr, "%s\n", report.line);
        return 1;
    }
    sleep(pause_s); /* a slow disk, a full swap, a closed lid */
    int written = write_fenced(database, 1, body, redlock_lock_fence(lock));
    printf(written == 1   ? "written\n"
           : written == 0 ? "refused: a newer holder has written already\n"
                          : "failed\n");
    redlock_release(lock, NULL);
    redlock_lock_free(lock);
    return written == 1 ? 0 : 1;
}

int main(int argc, char **argv)
{
    redlock_options options = REDLOCK_OPTIONS_INIT;
    redlock_report report = REDLOCK_REPORT_INIT;
    redlock_client *client = NULL;
    sqlite3 *database = NULL;
    int status = 1;

    if (argc < 3) {
        fprintf(stderr, "usage: fenced_sqlite DATABASE BODY [SECONDS] [NODES]\n");
        return 64;
    }
    options.nodes = argc > 4 ? argv[4] : getenv("REDLOCK_NODES");
    if (redlock_client_open(&options, &client, &report) != REDLOCK_OK)
        fprintf(stderr, "fenced_sqlite: %s\n", report.line);
    else if (sqlite3_open(argv[1], &database) != SQLITE_OK ||
             sqlite3_busy_timeout(database, 5000) != SQLITE_OK || prepare_row(database, 1) != 0)
        fprintf(stderr, "fenced_sqlite: %s\n", sqlite3_errmsg(database));
    else
        status = work(client, database, argv[2], argc > 3 ? (unsigned)atoi(argv[3]) : 0);
    sqlite3_close(database);
    if (client != NULL)
        redlock_client_close(client);
    return status;
}

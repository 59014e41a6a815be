/*
 * Locks in Redisson's format on real nodes, against hashes as Redisson writes them: who is let in, what is
 * stored and what is left, who is woken. The real Redisson is tried by make interop.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/script_calls.h"
#include "support/waiters.h"

#define JAVA "dff7ccae-4b90-4629-8775-d867fb21cfd6:1" /* a thread of Redisson's */
#define OTHER_JAVA "84033fc0-7133-4878-ba0b-2fb32df6fc90:27"

static redlock_options redisson_options(const struct fleet *fleet)
{
    redlock_options options = options_for(fleet_urls(fleet));

    options.mode = REDLOCK_PLAIN;
    options.format = REDLOCK_FORMAT_REDISSON;
    options.node_timeout_ms = 5000; /* a machine under load is slow, not silent */
    return options;
}

static redlock_client *open_redisson(const struct fleet *fleet)
{
    redlock_options options = redisson_options(fleet);
    redlock_client *client = open_with(&options);

    await_all_nodes(client);
    return client;
}

static redlock_spec shared_spec(uint32_t ttl_ms)
{
    redlock_spec spec = spec_for(WANTED, ttl_ms);

    spec.kind = REDLOCK_SHARED;
    return spec;
}

/* ---- what Redisson would do ---------------------------------------------------------------------------- */

static void end_in(struct fleet *fleet, const char *ttl_ms)
{
    for (int i = 0; i < fleet_size(fleet); i++)
        fleet_command(fleet, i, "PEXPIRE", WANTED, ttl_ms, NULL);
}

static void java_locks(struct fleet *fleet, const char *count)
{
    for (int i = 0; i < fleet_size(fleet); i++)
        fleet_command(fleet, i, "HSET", WANTED, JAVA, count, NULL);
    end_in(fleet, "600000");
}

static void java_writes(struct fleet *fleet)
{
    for (int i = 0; i < fleet_size(fleet); i++)
        fleet_command(fleet, i, "HSET", WANTED, "mode", "write", JAVA ":write", "1", NULL);
    end_in(fleet, "600000");
}

static void java_reads(struct fleet *fleet, const char *lease_ms)
{
    for (int i = 0; i < fleet_size(fleet); i++) {
        fleet_command(fleet, i, "HSET", WANTED, "mode", "read", JAVA, "1", NULL);
        if (lease_ms != NULL)
            fleet_command(fleet, i, "SET", "{" WANTED "}:" JAVA ":rwlock_timeout:1", "1", "PX", lease_ms,
                          NULL);
    }
}

static void java_leaves(struct fleet *fleet)
{
    for (int i = 0; i < fleet_size(fleet); i++)
        fleet_command(fleet, i, "DEL", WANTED, "{" WANTED "}:" JAVA ":rwlock_timeout:1", NULL);
}

/* ---- looking ------------------------------------------------------------------------------------------- */

static bool is_field(struct fleet *fleet, const char *field, const char *value)
{
    for (int i = 0; i < fleet_size(fleet); i++)
        if (strcmp(fleet_command(fleet, i, "HGET", WANTED, field, NULL), value) != 0)
            return false;
    return true;
}

/* A field on every node; the last of them may be a moment late. */
static void assert_field(struct fleet *fleet, const char *field, const char *value)
{
    await(is_field(fleet, field, value));
}

static bool has_field(struct fleet *fleet, const char *field, const char *suffix)
{
    char name[REDLOCK_OWNER_MAX + 16];

    snprintf(name, sizeof name, "%s%s", field, suffix);
    for (int i = 0; i < fleet_size(fleet); i++)
        if (strcmp(fleet_command(fleet, i, "HGET", WANTED, name, NULL), "1") != 0)
            return false;
    return true;
}

static bool is_gone(struct fleet *fleet)
{
    for (int i = 0; i < fleet_size(fleet); i++)
        if (fleet_key_count(fleet, i) != 0)
            return false;
    return true;
}

static int64_t least_ttl(struct fleet *fleet, const char *key)
{
    int64_t least = INT64_MAX;

    for (int i = 0; i < fleet_size(fleet); i++) {
        int64_t left = strtoll(fleet_command(fleet, i, "PTTL", key, NULL), NULL, 10);

        least = left < least ? left : least;
    }
    return least;
}

static void assert_refused(redlock_client *client, redlock_kind kind, const char *holder)
{
    redlock_spec spec = spec_for(WANTED, LONG_TTL_MS);
    redlock_report report = detailed_report();
    redlock_lock *lock = NULL;

    spec.kind = kind;
    assert_result(REDLOCK_BUSY, redlock_try_acquire(client, &spec, &lock, &report), &report);
    assert_string_equal(report.holder.id, holder);
    assert_true(report.holder_ttl_left_ms > 0);
}

static void assert_refused_by(redlock_client *client, redlock_kind kind, const redlock_lock *lock)
{
    const char *owner = redlock_lock_owner(lock, NULL);
    redlock_holder holder;

    redlock_holder_parse(owner, strlen(owner), &holder);
    assert_refused(client, kind, holder.id);
}

/* ---- held alone ---------------------------------------------------------------------------------------- */

static void a_lock_has_the_fields_that_all_of_redissons_locks_respect(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_redisson(fleet);
    redlock_lock *lock = take_lock(client, WANTED, LONG_TTL_MS);
    const char *owner = redlock_lock_owner(lock, NULL);

    await(has_field(fleet, owner, "") && has_field(fleet, owner, ":write"));
    assert_field(fleet, "mode", "write");
    assert_in_range(least_ttl(fleet, WANTED), 1, LONG_TTL_MS);
    assert_int_equal(redlock_lock_fence(lock), 0);
    assert_refused_by(client, REDLOCK_EXCLUSIVE, lock);
    give_back(lock);
    await(is_gone(fleet));
    redlock_client_close(client);
}

static void whatever_redisson_holds_is_refused_and_left_alone(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_redisson(fleet);

    java_locks(fleet, "2");
    assert_refused(client, REDLOCK_EXCLUSIVE, "dff7ccae");
    assert_refused(client, REDLOCK_SHARED, "dff7ccae");
    assert_field(fleet, JAVA, "2");
    java_leaves(fleet);
    java_writes(fleet);
    assert_refused(client, REDLOCK_EXCLUSIVE, "dff7ccae");
    assert_refused(client, REDLOCK_SHARED, "dff7ccae");
    assert_field(fleet, JAVA ":write", "1");
    java_leaves(fleet);
    java_reads(fleet, "600000");
    end_in(fleet, "600000");
    assert_refused(client, REDLOCK_EXCLUSIVE, "dff7ccae");
    assert_field(fleet, JAVA, "1");
    for (int i = 0; i < fleet_size(fleet); i++)
        assert_string_equal(fleet_command(fleet, i, "HLEN", WANTED, NULL), "2");
    java_leaves(fleet);
    redlock_client_close(client);
}

static void a_lock_of_the_common_format_is_waited_for_and_so_is_ours(void **state)
{
    struct fleet *fleet = *state;
    redlock_options options = options_for(fleet_urls(fleet));
    redlock_client *client = open_redisson(fleet), *common;
    redlock_lock *lock;

    options.mode = REDLOCK_PLAIN;
    common = open_with(&options);
    await_all_nodes(common);
    lock = take_lock(common, WANTED, LONG_TTL_MS);
    assert_not_had(REDLOCK_BUSY, client, WANTED, NULL);
    give_back(lock);
    lock = await_lock(client, WANTED);
    assert_not_had(REDLOCK_BUSY, common, WANTED, NULL);
    give_back(lock);
    give_back(await_lock(common, WANTED));
    redlock_client_close(common);
    redlock_client_close(client);
}

static void a_text_without_an_end_is_no_lock(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_redisson(fleet);
    redlock_report report = detailed_report();

    for (int i = 0; i < fleet_size(fleet); i++)
        fleet_command(fleet, i, "SET", WANTED, "a text", NULL);
    assert_not_had(REDLOCK_FOREIGN_TYPE, client, WANTED, &report);
    java_leaves(fleet);
    redlock_client_close(client);
}

/* So many of ours wait, of a client that is listened to, until nodes are to tell them what Redisson does. */
struct waiting {
    redlock_client *client;
    struct waiter waiters[2];
    int count;
};

static struct waiting *wait_for_java(struct fleet *fleet, redlock_kind kind, int count)
{
    static struct waiting waiting;
    redlock_options options = redisson_options(fleet);
    redlock_spec spec = spec_for(WANTED, LONG_TTL_MS);

    spec.kind = kind;
    waiting = (struct waiting){.client = open_heard_with(&options), .count = count};
    for (int i = 0; i < count; i++)
        start_waiting_for(&waiting.waiters[i], waiting.client, &spec);
    await_armed(fleet);
    return &waiting;
}

/* All of them get it, and give it back. */
static void end_waiting(struct waiting *waiting)
{
    for (int i = 0; i < waiting->count; i++)
        await_end(&waiting->waiters[i], REDLOCK_OK);
    for (int i = 0; i < waiting->count; i++)
        give_back(waiting->waiters[i].lock);
    redlock_client_close(waiting->client);
}

static void redissons_release_wakes_us(void **state)
{
    struct waiting *waiting;

    java_locks(*state, "1");
    waiting = wait_for_java(*state, REDLOCK_EXCLUSIVE, 1);
    java_leaves(*state);
    await(atomic_load(&waiting->waiters[0].done) != 0);
    assert_woken_by_nodes(*state);
    end_waiting(waiting);
}

static void redissons_renewal_keeps_us_out(void **state)
{
    struct fleet *fleet = *state;
    struct waiting *waiting;

    java_locks(fleet, "1");
    waiting = wait_for_java(fleet, REDLOCK_EXCLUSIVE, 1);
    for (int renewals = 1; renewals <= 3; renewals++) {
        await_armed(fleet);
        listener_forget(&heard);
        end_in(fleet, "600000");
        await(listener_heard(&heard, "changed") && listener_heard(&heard, "held, "));
        assert_field(fleet, JAVA, "1");
    }
    assert_int_equal(atomic_load(&waiting->waiters[0].done), 0);
    java_leaves(fleet);
    end_waiting(waiting);
}

static void a_dead_holder_of_redissons_lets_us_in(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_redisson(fleet);

    java_locks(fleet, "3");
    end_in(fleet, "200");
    give_back(await_lock(client, WANTED));
    redlock_client_close(client);
}

static void an_extension_never_shortens_nor_takes_back(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_redisson(fleet);
    redlock_lock *lock = take_lock(client, WANTED, LONG_TTL_MS);
    redlock_report report = detailed_report();

    assert_result(REDLOCK_OK, redlock_extend(lock, 2 * LONG_TTL_MS, &report), &report);
    await(least_ttl(fleet, WANTED) > LONG_TTL_MS);
    assert_result(REDLOCK_OK, redlock_extend(lock, LONG_TTL_MS, &report), &report);
    assert_true(least_ttl(fleet, WANTED) > LONG_TTL_MS);
    java_leaves(fleet);
    java_locks(fleet, "1");
    assert_result(REDLOCK_NOT_HELD, redlock_extend(lock, LONG_TTL_MS, &report), &report);
    assert_field(fleet, JAVA, "1");
    assert_result(REDLOCK_LOST, redlock_release(lock, &report), &report);
    redlock_lock_free(lock);
    assert_field(fleet, JAVA, "1");
    java_leaves(fleet);
    redlock_client_close(client);
}

static void a_node_that_lost_it_is_given_it_again(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_redisson(fleet);
    redlock_report report = detailed_report();
    redlock_spec spec = shared_spec(LONG_TTL_MS);

    for (int shared = 0; shared <= 1; shared++) {
        redlock_lock *lock = shared ? take_spec(client, &spec) : take_lock(client, WANTED, LONG_TTL_MS);
        const char *owner = redlock_lock_owner(lock, NULL);

        await(has_field(fleet, owner, ""));
        fleet_command(fleet, 2, "FLUSHALL", NULL);
        assert_result(REDLOCK_OK, redlock_extend(lock, LONG_TTL_MS, &report), &report);
        await(has_field(fleet, owner, ""));
        assert_field(fleet, "mode", shared ? "read" : "write");
        assert_in_range(least_ttl(fleet, WANTED), 1, LONG_TTL_MS);
        give_back(lock);
        await(is_gone(fleet));
    }
    redlock_client_close(client);
}

static void a_lock_is_adopted_and_released_by_its_owner_value(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_redisson(fleet), *other = open_redisson(fleet);
    redlock_spec specs[] = {spec_for(WANTED, LONG_TTL_MS), shared_spec(LONG_TTL_MS)};
    redlock_report report = detailed_report();

    for (int i = 0; i < 2; i++) {
        redlock_lock *lock = take_spec(client, &specs[i]), *adopted = NULL;
        char owner[REDLOCK_OWNER_MAX + 1];

        snprintf(owner, sizeof owner, "%s", redlock_lock_owner(lock, NULL));
        await(has_field(fleet, owner, "")); /* no word of this client is on its way any more */
        redlock_lock_free(lock);
        assert_result(REDLOCK_OK, redlock_adopt(other, &specs[i], owner, 0, &adopted, &report), &report);
        redlock_lock_free(adopted);
        assert_result(REDLOCK_OK, redlock_release_spec(other, &specs[i], owner, 0, &report), &report);
        await(is_gone(fleet));
        assert_result(REDLOCK_NOT_HELD, redlock_release_spec(other, &specs[i], owner, 0, &report), &report);
    }
    redlock_client_close(other);
    redlock_client_close(client);
}

/* ---- shared -------------------------------------------------------------------------------------------- */

static void readers_of_one_client_share_and_keep_writers_out(void **state)
{
    struct fleet *fleet = *state;
    redlock_options options = redisson_options(fleet);
    redlock_client *client = open_heard_with(&options);
    redlock_spec spec = shared_spec(LONG_TTL_MS);
    redlock_lock *one = take_spec(client, &spec), *two = take_spec(client, &spec);
    struct waiter writer;

    assert_field(fleet, "mode", "read");
    await(has_field(fleet, redlock_lock_owner(one, NULL), "") &&
          has_field(fleet, redlock_lock_owner(two, NULL), ""));
    start_waiting(&writer, client);
    await_armed(fleet);
    give_back(one);
    await_armed(fleet); /* it was told, and found the other one */
    assert_int_equal(atomic_load(&writer.done), 0);
    give_back(two);
    await_end(&writer, REDLOCK_OK);
    assert_refused_by(client, REDLOCK_SHARED, writer.lock);
    give_back(writer.lock);
    await(is_gone(fleet));
    redlock_client_close(client);
}

static void readers_wait_for_a_writer_and_come_in_together(void **state)
{
    struct waiting *waiting;

    java_writes(*state);
    waiting = wait_for_java(*state, REDLOCK_SHARED, 2);
    java_leaves(*state);
    end_waiting(waiting);
}

/* Redisson's writer may go on as a reader; then the key is still there, and readers may come in. */
static void a_writer_that_becomes_a_reader_lets_readers_in(void **state)
{
    struct fleet *fleet = *state;
    struct waiting *waiting;

    java_writes(fleet);
    waiting = wait_for_java(fleet, REDLOCK_SHARED, 1);
    for (int i = 0; i < fleet_size(fleet); i++) {
        fleet_command(fleet, i, "HDEL", WANTED, JAVA ":write", NULL);
        fleet_command(fleet, i, "HSET", WANTED, "mode", "read", JAVA, "1", NULL);
    }
    end_waiting(waiting);
    assert_field(fleet, JAVA, "1");
    java_leaves(fleet);
}

static void a_reader_leaves_redissons_readers_their_time(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_redisson(fleet);
    redlock_spec spec = shared_spec(10 * LONG_TTL_MS);
    redlock_lock *lock;

    java_reads(fleet, "300000");
    end_in(fleet, "300000");
    lock = take_spec(client, &spec);
    await(least_ttl(fleet, WANTED) > 300000);
    give_back(lock);
    await(least_ttl(fleet, WANTED) <= 300000);
    assert_true(least_ttl(fleet, WANTED) > 200000);
    assert_field(fleet, "mode", "read");
    assert_field(fleet, JAVA, "1");
    java_leaves(fleet);
    redlock_client_close(client);
}

/* Redisson's renewal of several locks at once misses the readers' leases: one without may be alive. */
static void a_reader_without_a_lease_is_not_cut_short(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_redisson(fleet);
    redlock_spec spec = shared_spec(LONG_TTL_MS);
    redlock_lock *lock;

    java_reads(fleet, NULL);
    end_in(fleet, "300000");
    lock = take_spec(client, &spec);
    give_back(lock);
    assert_field(fleet, JAVA, "1");
    assert_true(least_ttl(fleet, WANTED) > 200000);
    for (int i = 0; i < fleet_size(fleet); i++)
        assert_int_equal(fleet_key_count(fleet, i), 1);
    java_leaves(fleet);
    redlock_client_close(client);
}

/* ---- what operators do --------------------------------------------------------------------------------- */

static void note_lost(void *context, redlock_lock *lock, const redlock_report *report)
{
    (void)lock;
    atomic_store((atomic_int *)context, report->broken ? 2 : 1);
}

static void a_broken_holder_is_told_before_others_come_in(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_redisson(fleet), *operate = open_redisson(fleet);
    redlock_break_spec order = REDLOCK_BREAK_SPEC_INIT;
    redlock_spec spec = spec_for(WANTED, LONG_TTL_MS);
    redlock_report report = detailed_report();
    atomic_int lost = 0;
    redlock_lock *lock;

    spec.on_lost = note_lost;
    spec.context = &lost;
    lock = take_spec(client, &spec);
    order.name = WANTED;
    order.id = redlock_lock_owner(lock, NULL);
    order.grace_ms = LONG_TTL_MS;
    assert_result(REDLOCK_OK, redlock_break(operate, &order, &report), &report);
    assert_not_had(REDLOCK_BUSY, operate, WANTED, &report);
    assert_int_equal(report.broken, 1);
    assert_result(REDLOCK_NOT_HELD, redlock_extend(lock, LONG_TTL_MS, &report), &report);
    await(atomic_load(&lost) == 2);
    give_back(await_lock(operate, WANTED));
    redlock_lock_free(lock);
    redlock_client_close(operate);
    redlock_client_close(client);
}

static void redissons_holder_is_broken_at_once(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_redisson(fleet);
    redlock_break_spec order = REDLOCK_BREAK_SPEC_INIT;
    redlock_report report = detailed_report();

    order.name = WANTED;
    order.id = "dff7ccae";
    order.grace_ms = REDLOCK_BREAK_NOW;
    java_locks(fleet, "2");
    assert_result(REDLOCK_OK, redlock_break(client, &order, &report), &report);
    await(is_gone(fleet));
    java_writes(fleet);
    assert_result(REDLOCK_OK, redlock_break(client, &order, &report), &report);
    await(is_gone(fleet));
    assert_result(REDLOCK_NOT_HELD, redlock_break(client, &order, &report), &report);
    redlock_client_close(client);
}

struct listed {
    int count, ours, redissons;
};

static int note_listed(void *context, const redlock_listed *lock)
{
    struct listed *listed = context;

    listed->count++;
    listed->ours += !lock->foreign && lock->name_length == 4 && memcmp(lock->name, "ours", 4) == 0;
    listed->redissons += lock->foreign && lock->name_length == strlen(WANTED) &&
                         memcmp(lock->name, WANTED, lock->name_length) == 0;
    return 0;
}

static void the_list_has_both_sides_locks_and_no_other_hashes(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_redisson(fleet);
    redlock_list_spec spec = REDLOCK_LIST_SPEC_INIT;
    redlock_report report = detailed_report();
    redlock_lock *lock = take_lock(client, "ours", LONG_TTL_MS);
    struct listed listed = {0};

    java_locks(fleet, "1");
    for (int i = 0; i < fleet_size(fleet); i++) {
        fleet_command(fleet, i, "HSET", "session", "user", "me", NULL);
        fleet_command(fleet, i, "PEXPIRE", "session", "600000", NULL);
        fleet_command(fleet, i, "HSET", "settings", "mode", "dark", NULL);
        fleet_command(fleet, i, "PEXPIRE", "settings", "600000", NULL);
    }
    assert_result(REDLOCK_OK, redlock_list(client, &spec, note_listed, &listed, &report), &report);
    assert_int_equal(listed.count, 2);
    assert_int_equal(listed.ours, 1);
    assert_int_equal(listed.redissons, 1);
    give_back(lock);
    java_leaves(fleet);
    for (int i = 0; i < fleet_size(fleet); i++)
        fleet_command(fleet, i, "DEL", "session", "settings", NULL);
    redlock_client_close(client);
}

/* ---- scripts ------------------------------------------------------------------------------------------- */

static void a_repeated_request_counts_once(void **state)
{
    struct fleet *fleet = *state;
    const struct rl_script *scripts[] = {&rl_script_redisson_acquire, &rl_script_redisson_share};
    const char *words[] = {WANTED, "me", "60000"};
    const char *release[] = {WANTED, "redisson_lock_queue:{" WANTED "}", "redisson_lock_timeout:{" WANTED "}",
                             "me", ""};

    for (int i = 0; i < 2; i++) {
        release[4] = i == 0 ? "" : "s";
        for (int times = 0; times < 3; times++)
            assert_string_equal(call_script(fleet, scripts[i], "1", words, 3), "OK");
        assert_field(fleet, "me", "1");
        assert_string_equal(call_script(fleet, &rl_script_redisson_release, "3", release, 5), "1");
        assert_string_equal(call_script(fleet, &rl_script_redisson_release, "3", release, 5), "-1");
        assert_true(is_gone(fleet));
    }
}

static void a_lock_taken_for_another_kind_stays_as_it_is(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_redisson(fleet);
    redlock_spec specs[2] = {spec_for(WANTED, LONG_TTL_MS), spec_for(WANTED, LONG_TTL_MS)};
    redlock_lock *none = NULL;

    specs[1].kind = REDLOCK_SHARED;
    for (int is = 0; is < 2; is++) {
        redlock_lock *lock = take_spec(client, &specs[is]);
        const char *owner = redlock_lock_owner(lock, NULL);

        assert_result(REDLOCK_NOT_HELD, redlock_adopt(client, &specs[!is], owner, 0, &none, NULL), NULL);
        assert_result(REDLOCK_NOT_HELD, redlock_release_spec(client, &specs[!is], owner, 0, NULL), NULL);
        assert_field(fleet, owner, "1");
        give_back(lock);
    }
    redlock_client_close(client);
}

/* A name with a brace is its own tag, as in Redisson. */
static void a_name_with_a_brace_makes_redissons_keys(void **state)
{
    struct fleet *fleet = *state;
    const char *words[] = {"a{b}c", "me", "60000"};
    const char *release[] = {"a{b}c", "redisson_lock_queue:a{b}c", "redisson_lock_timeout:a{b}c", "me", "s"};

    assert_string_equal(call_script(fleet, &rl_script_redisson_share, "1", words, 3), "OK");
    assert_in_range(ttl_of(fleet, "a{b}c:me:rwlock_timeout:1"), 1, 60000);
    assert_string_equal(call_script(fleet, &rl_script_redisson_release, "3", release, 5), "1");
    assert_true(is_gone(fleet));
}

/* ---- arguments ----------------------------------------------------------------------------------------- */

static void what_the_format_cannot_do_is_refused(void **state)
{
    struct fleet *fleet = *state;
    redlock_options options = redisson_options(fleet), wrong = options;
    redlock_client *client = open_redisson(fleet), *none = NULL;
    redlock_report report = REDLOCK_REPORT_INIT;
    redlock_spec spec = spec_for(WANTED, LONG_TTL_MS);
    redlock_lock *lock = NULL;

    spec.kind = REDLOCK_FAIR;
    assert_result(REDLOCK_INVALID, redlock_try_acquire(client, &spec, &lock, &report), &report);
    assert_non_null(strstr(report.line, "REDLOCK_FAIR"));
    redlock_client_close(client);
    wrong.mode = REDLOCK_GUARDED;
    assert_result(REDLOCK_INVALID, redlock_client_open(&wrong, &none, &report), &report);
    assert_non_null(strstr(report.line, "REDLOCK_PLAIN"));
    wrong.mode = REDLOCK_PLAIN;
    wrong.format = (redlock_format)7;
    assert_result(REDLOCK_INVALID, redlock_client_open(&wrong, &none, &report), &report);
    options.format = REDLOCK_FORMAT_COMMON;
    client = open_with(&options);
    spec.kind = REDLOCK_SHARED;
    assert_result(REDLOCK_INVALID, redlock_try_acquire(client, &spec, &lock, &report), &report);
    assert_non_null(strstr(report.line, "REDLOCK_FORMAT_REDISSON"));
    redlock_client_close(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_NODES(a_lock_has_the_fields_that_all_of_redissons_locks_respect, start_one_node),
        ON_NODES(a_lock_has_the_fields_that_all_of_redissons_locks_respect, start_three_nodes),
        ON_NODES(whatever_redisson_holds_is_refused_and_left_alone, start_one_node),
        ON_NODES(whatever_redisson_holds_is_refused_and_left_alone, start_three_nodes),
        ON_NODES(a_lock_of_the_common_format_is_waited_for_and_so_is_ours, start_three_nodes),
        ON_NODES(a_text_without_an_end_is_no_lock, start_three_nodes),
        ON_NODES(redissons_release_wakes_us, start_one_node),
        ON_NODES(redissons_release_wakes_us, start_three_nodes),
        ON_NODES(redissons_renewal_keeps_us_out, start_three_nodes),
        ON_NODES(a_dead_holder_of_redissons_lets_us_in, start_three_nodes),
        ON_NODES(an_extension_never_shortens_nor_takes_back, start_three_nodes),
        ON_NODES(a_node_that_lost_it_is_given_it_again, start_three_nodes),
        ON_NODES(a_lock_is_adopted_and_released_by_its_owner_value, start_three_nodes),
        ON_NODES(readers_of_one_client_share_and_keep_writers_out, start_one_node),
        ON_NODES(readers_of_one_client_share_and_keep_writers_out, start_three_nodes),
        ON_NODES(readers_wait_for_a_writer_and_come_in_together, start_three_nodes),
        ON_NODES(a_writer_that_becomes_a_reader_lets_readers_in, start_one_node),
        ON_NODES(a_reader_leaves_redissons_readers_their_time, start_three_nodes),
        ON_NODES(a_reader_without_a_lease_is_not_cut_short, start_three_nodes),
        ON_NODES(a_broken_holder_is_told_before_others_come_in, start_three_nodes),
        ON_NODES(redissons_holder_is_broken_at_once, start_one_node),
        ON_NODES(the_list_has_both_sides_locks_and_no_other_hashes, start_three_nodes),
        ON_NODES(a_repeated_request_counts_once, start_one_node),
        ON_NODES(a_lock_taken_for_another_kind_stays_as_it_is, start_three_nodes),
        ON_NODES(a_name_with_a_brace_makes_redissons_keys, start_one_node),
        ON_NODES(what_the_format_cannot_do_is_refused, start_one_node),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Tests of fences and of clocks that are wrong, on real nodes: for one name the numbers never repeat and
 * never go back, whoever takes the lock, whatever becomes of the nodes, and whatever any wall clock shows.
 * The checker is shown to see it when they do: a number taken from the clients' own clocks goes back in the
 * same runs.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "support/guarded.h"
#include "support/holders.h"
#include "support/node_clock.h"
#include "support/steps.h"

enum { SECOND = 1000000, SLEW_PPM = 83333, RUN_MS = 3000 };

/* ---- this process's wall clock, which may be wrong ----------------------------------------------------- */

static time_t wall_error_s;

/* Takes the place of the C library's in this program: the library under test is part of it. */
int clock_gettime(clockid_t which, struct timespec *at)
{
    int result = (int)syscall(SYS_clock_gettime, which, at);

    if (which == CLOCK_REALTIME)
        at->tv_sec += wall_error_s;
    return result;
}

static void set_wall_clock_wrong(int holder)
{
    static const time_t errors_s[] = {0, 3600, -3600, 4};

    wall_error_s = errors_s[holder % 4];
}

/* What those do who have no fences: the time by their own clock. */
static uint64_t own_time(const redlock_lock *lock)
{
    struct timespec now;

    (void)lock;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* ---- many holders -------------------------------------------------------------------------------------- */

static struct holders_config usual_holders(void)
{
    return (struct holders_config){.processes = 4,
                                   .duration_ms = RUN_MS,
                                   .mode = REDLOCK_GUARDED,
                                   .ttl_ms = 200,
                                   .keep_percent = 20,
                                   .node_timeout_ms = 100};
}

static void expect_rising_fences(struct fleet *fleet, const struct holders_config *config, uint32_t at_least)
{
    redlock_client *operator_client = open_admitted(fleet_urls(fleet), config->ttl_ms);
    struct history *history = holders_run(fleet, config);

    print_message("# %u holds\n", history_count(history));
    assert_true(history_count(history) >= at_least);
    assert_int_equal(history_repeats(history), 0);
    assert_int_equal(history_setbacks(history), 0);
    assert_int_equal(history_overlaps(history), 0);
    history_free(history);
    redlock_client_close(operator_client);
}

static void fences_rise_for_several_processes(void **state)
{
    struct holders_config config = usual_holders();

    config.keep_percent = 0;
    expect_rising_fences(*state, &config, 30);
}

static void fences_rise_across_expiry(void **state)
{
    struct holders_config config = usual_holders();

    config.keep_percent = 80;
    expect_rising_fences(*state, &config, 5);
}

static void fences_rise_when_clients_are_an_hour_off(void **state)
{
    struct holders_config config = usual_holders();

    config.prepare = set_wall_clock_wrong;
    expect_rising_fences(*state, &config, 30);
}

/* The same run, and the checker: numbers from the clients' own clocks go back. */
static void the_clients_own_clocks_are_no_fences(void **state)
{
    struct fleet *fleet = *state;
    struct holders_config config = usual_holders();
    struct history *history;

    config.prepare = set_wall_clock_wrong;
    config.number = own_time;
    config.mode = REDLOCK_PLAIN;
    history = holders_run(fleet, &config);
    assert_true(history_count(history) >= 10);
    assert_true(history_setbacks(history) > 0);
    history_free(history);
}

static void kill_one_node(struct fleet *fleet, int turn)
{
    int node = turn % fleet_size(fleet);

    sleep_ms(250);
    fleet_kill(fleet, node);
    sleep_ms(100);
    fleet_restart(fleet, node);
    sleep_ms(1300);
}

static void wipe_one_node(struct fleet *fleet, int turn)
{
    int node = turn % fleet_size(fleet);

    sleep_ms(250);
    if (turn % 2 == 0)
        fleet_kill(fleet, node);
    fleet_wipe(fleet, node);
    if (turn % 2 == 0)
        fleet_restart(fleet, node);
    sleep_ms(1300);
}

static void fences_rise_while_nodes_are_killed(void **state)
{
    struct holders_config config = usual_holders();

    config.duration_ms = 2 * RUN_MS;
    config.disturb = kill_one_node;
    config.prepare = set_wall_clock_wrong;
    expect_rising_fences(*state, &config, 30);
}

static void fences_rise_while_nodes_lose_data(void **state)
{
    struct holders_config config = usual_holders();

    config.duration_ms = 2 * RUN_MS;
    config.disturb = wipe_one_node;
    config.prepare = set_wall_clock_wrong;
    expect_rising_fences(*state, &config, 10); /* most of the time too few nodes may vote */
}

/* Back and forth by different amounts, one node at a time. */
static void step_one_clock(struct fleet *fleet, int turn)
{
    static const int64_t steps_s[] = {30, -60, 3, -3600};

    sleep_ms(250);
    node_clock_step(fleet, turn % fleet_size(fleet), steps_s[turn % 4] * SECOND);
    sleep_ms(1500);
}

static void fences_rise_while_node_clocks_jump(void **state)
{
    struct holders_config config = usual_holders();

    config.duration_ms = 3 * RUN_MS;
    config.disturb = step_one_clock;
    config.keep_percent = 0; /* a lock that is left on a node whose clock went back stays for as long again */
    expect_rising_fences(*state, &config, 30);
}

/* ---- restarts ------------------------------------------------------------------------------------------ */

/* A client an hour ahead leaves no number behind that others would have to be above for an hour, and one that
 * starts anew does not begin below. */
static void a_name_goes_on_where_an_earlier_client_left_it(void **state)
{
    struct fleet *fleet = *state;
    uint64_t last = 0;

    for (int i = 0; i < 6; i++) {
        redlock_client *client;
        redlock_lock *lock;

        set_wall_clock_wrong(i);
        client = open_admitted(fleet_urls(fleet), 1000);
        lock = take_lock(client, "name", 1000);
        assert_true(redlock_lock_fence(lock) > last);
        last = redlock_lock_fence(lock);
        give_back(lock);
        redlock_client_close(client);
    }
    wall_error_s = 0;
}

/* All nodes lose everything at once; only clocks are left, and they are enough. */
static void fences_rise_after_a_catastrophe(void **state)
{
    struct fleet *fleet = *state;
    redlock_client *client = open_admitted(fleet_urls(fleet), SHORT_MAX_TTL_MS);
    redlock_spec spec = spec_for("name", SHORT_MAX_TTL_MS);
    uint64_t last = 0;

    for (int i = 0; i < 3; i++) {
        redlock_lock *lock = NULL;
        redlock_report report = detailed_report();

        assert_result(REDLOCK_OK, redlock_acquire(client, &spec, 60000, &lock, &report), &report);
        assert_true(redlock_lock_fence(lock) > last);
        last = redlock_lock_fence(lock);
        redlock_release(lock, NULL);
        redlock_lock_free(lock);
        for (int node = 0; node < fleet_size(fleet); node++) {
            fleet_kill(fleet, node);
            fleet_wipe(fleet, node);
        }
        for (int node = 0; node < fleet_size(fleet); node++)
            assert_true(fleet_restart(fleet, node));
    }
    redlock_client_close(client);
}

/* ---- node clocks --------------------------------------------------------------------------------------- */

static int start_with_clocks(void **state)
{
    struct fleet_options options = {.node_count = 3, .transport = FLEET_UNIX};

    *state = fleet_start_with_clocks(&options);
    return *state != NULL ? 0 : -1;
}

/* Log lines that have a word in them. */
struct ear {
    const char *word;
    atomic_int heard;
    char line[256];
};

static void listen(void *context, redlock_log_level level, const char *line)
{
    struct ear *ear = context;

    if (level > REDLOCK_LOG_WARNING || strstr(line, ear->word) == NULL)
        return;
    if (atomic_fetch_add(&ear->heard, 1) == 0)
        snprintf(ear->line, sizeof ear->line, "%s", line);
}

static redlock_client *open_listening(struct fleet *fleet, struct ear *ear)
{
    redlock_options options = guarded_options(fleet_urls(fleet), SHORT_MAX_TTL_MS);
    redlock_client *client;

    options.log = listen;
    options.log_context = ear;
    client = open_with(&options);
    admit_all_nodes(client);
    return client;
}

/* Takes locks for so long, and says the last fence. */
static uint64_t use_for(redlock_client *client, int64_t duration_ms, uint64_t last)
{
    int64_t until = now_ms() + duration_ms;

    while (now_ms() < until) {
        redlock_lock *lock = take_lock(client, "name", SHORT_MAX_TTL_MS);

        assert_true(redlock_lock_fence(lock) > last);
        last = redlock_lock_fence(lock);
        give_back(lock);
        sleep_ms(5);
    }
    return last;
}

/* Whether any of many rounds counts the node's vote. That it has the key is not enough: it may have been
 * asked in vain. */
static bool is_counted(redlock_client *client, uint32_t node)
{
    redlock_report report = detailed_report();
    redlock_spec spec = spec_for("counted", SHORT_MAX_TTL_MS);
    bool counted = false;

    for (int i = 0; i < 30; i++) {
        redlock_lock *lock = NULL;

        if (redlock_try_acquire(client, &spec, &lock, &report) == REDLOCK_OK)
            redlock_release(lock, NULL);
        redlock_lock_free(lock);
        counted = counted || node_of(&report, node).verdict == REDLOCK_VERDICT_GRANTED;
    }
    return counted;
}

static void expect_step_noticed(struct fleet *fleet, int64_t step_s)
{
    struct ear ear = {.word = "clock jumped"};
    redlock_client *client = open_listening(fleet, &ear);
    uint64_t last = use_for(client, 300, 0);
    redlock_report report = detailed_report();

    assert_int_equal(atomic_load(&ear.heard), 0);
    node_clock_step(fleet, 1, step_s * SECOND);
    last = use_for(client, 100, last);
    assert_int_equal(atomic_load(&ear.heard), 1);
    assert_non_null(strstr(ear.line, fleet_url(fleet, 1)));
    assert_non_null(strstr(ear.line, step_s > 0 ? "jumped by +" : "jumped by -"));
    assert_false(is_counted(client, 1));
    assert_result(REDLOCK_OK, redlock_inspect(client, "name", 0, &report), &report);
    assert_int_equal(node_of(&report, 1).eligible, 0);
    assert_true(node_of(&report, 1).detail[0] != '\0');
    /* It sits out like a node that forgot, and comes back. */
    await(is_counted(client, 1));
    use_for(client, 300, last);
    assert_int_equal(atomic_load(&ear.heard), 1);
    redlock_client_close(client);
}

static void a_step_of_30_seconds_is_noticed_reported_and_quarantined(void **state)
{
    expect_step_noticed(*state, 30);
}

static void a_step_back_of_60_seconds_is_noticed_reported_and_quarantined(void **state)
{
    expect_step_noticed(*state, -60);
}

static bool has_record(struct fleet *fleet, const char *record)
{
    return strcmp(fleet_command(fleet, 1, "GET", "redlock-guard:epoch", NULL), record) == 0;
}

/* The step is seen while the others are slow to vouch for our clock, and when they do, the node's connection
 * is gone. */
static void a_step_is_held_against_a_node_that_is_away_when_it_is_judged(void **state)
{
    struct fleet *fleet = *state;
    struct ear ear = {.word = "clock jumped"};
    redlock_client *client = open_listening(fleet, &ear);
    redlock_spec spec = spec_for("name", SHORT_MAX_TTL_MS);
    redlock_report report = detailed_report();
    redlock_lock *lock = NULL;
    char record[160];

    use_for(client, 300, 0);
    snprintf(record, sizeof record, "%s", fleet_command(fleet, 1, "GET", "redlock-guard:epoch", NULL));
    node_clock_step(fleet, 1, 30 * SECOND);
    for (int i = 0; i < fleet_size(fleet); i++)
        if (i != 1)
            fleet_freeze(fleet, i);
    assert_int_not_equal(redlock_try_acquire(client, &spec, &lock, &report), REDLOCK_OK);
    assert_int_equal(atomic_load(&ear.heard), 1);
    assert_true(has_record(fleet, record));
    fleet_command(fleet, 1, "CLIENT", "KILL", "TYPE", "normal", NULL);
    fleet_freeze(fleet, 1);
    redlock_inspect(client, "name", 0, &report); /* sees the break */
    for (int i = 0; i < fleet_size(fleet); i++)
        if (i != 1)
            fleet_thaw(fleet, i);
    await(redlock_try_acquire(client, &spec, &lock, NULL) == REDLOCK_OK);
    give_back(lock);
    fleet_thaw(fleet, 1);
    await(is_counted(client, 1));
    assert_false(has_record(fleet, record)); /* it has sat out in between */
    redlock_client_close(client);
}

static void a_slewing_node_is_noticed_and_does_not_count(void **state)
{
    struct fleet *fleet = *state;
    struct ear ear = {.word = "another rate"};
    redlock_client *client = open_listening(fleet, &ear);
    uint64_t last = use_for(client, 300, 0);
    redlock_report report = detailed_report();

    node_clock_slew(fleet, 1, SLEW_PPM);
    last = use_for(client, 2000, last);
    assert_true(atomic_load(&ear.heard) >= 1);
    assert_non_null(strstr(ear.line, fleet_url(fleet, 1)));
    /* For as long as it slews, beyond its quarantine: not counted, and said so. */
    for (int i = 0; i < 3; i++) {
        assert_false(is_counted(client, 1));
        assert_result(REDLOCK_OK, redlock_inspect(client, "name", 0, &report), &report);
        assert_int_equal(node_of(&report, 1).eligible, 0);
        assert_true(node_of(&report, 1).detail[0] != '\0');
        last = use_for(client, 1000, last);
    }
    /* When it is right again it is trusted again. */
    node_clock_slew(fleet, 1, 0);
    await(is_counted(client, 1));
    use_for(client, 200, last);
    redlock_client_close(client);
}

static void a_node_within_the_drift_setting_counts(void **state)
{
    struct fleet *fleet = *state;
    struct ear ear = {.word = "clock"};
    redlock_client *client = open_listening(fleet, &ear);
    uint64_t last = use_for(client, 300, 0);

    node_clock_slew(fleet, 1, 3000);
    use_for(client, 3000, last);
    assert_int_equal(atomic_load(&ear.heard), 0);
    assert_true(is_counted(client, 1));
    redlock_client_close(client);
}

/* ---- exclusion on a slewing node ----------------------------------------------------------------------- */

enum { SLEW_TTL_MS = 3000 };

static redlock_client *open_mode(const char *urls, redlock_mode mode)
{
    redlock_options options = guarded_options(urls, SLEW_TTL_MS);

    options.mode = mode;
    return open_with(&options);
}

/* One holds nodes 0 and 1; node 0 begins to slew; the other, who uses the nodes all the time, wants it too.
 * How long before the end of the first one's validity the second has it, in ms; 0: not before. */
static int64_t early_by(struct fleet *fleet, redlock_mode mode)
{
    char narrow[512];
    redlock_client *first, *second = open_mode(fleet_urls(fleet), mode);
    redlock_spec spec = spec_for("name", SLEW_TTL_MS);
    redlock_lock *held, *taken = NULL;
    int64_t early = 0;

    if (mode == REDLOCK_GUARDED)
        admit_all_nodes(second);
    snprintf(narrow, sizeof narrow, "%s,%s,unix:///nonexistent/socket", fleet_url(fleet, 0),
             fleet_url(fleet, 1));
    first = open_mode(narrow, mode);
    await_all_nodes(second);
    held = take_spec(first, &spec);
    node_clock_slew(fleet, 0, SLEW_PPM);
    while (redlock_lock_validity_ms(held) > 0 && taken == NULL) {
        redlock_lock *other = take_lock(second, "other", 500);

        give_back(other);
        if (redlock_try_acquire(second, &spec, &taken, NULL) == REDLOCK_OK)
            early = redlock_lock_validity_ms(held);
        sleep_ms(5);
    }
    node_clock_slew(fleet, 0, 0);
    if (taken != NULL)
        redlock_release(taken, NULL);
    redlock_release(held, NULL);
    redlock_lock_free(taken);
    redlock_lock_free(held);
    redlock_client_close(first);
    redlock_client_close(second);
    return early;
}

static void exclusion_holds_on_a_slewing_node(void **state)
{
    assert_int_equal(early_by(*state, REDLOCK_GUARDED), 0);
}

static void without_the_guard_a_slewing_node_gives_a_lock_away_early(void **state)
{
    int64_t early = 0;

    for (int tries = 0; tries < 5 && early == 0; tries++)
        early = early_by(*state, REDLOCK_PLAIN);
    assert_true(early > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_GUARDED(fences_rise_for_several_processes, start_five_guarded),
        ON_GUARDED(fences_rise_across_expiry, start_three_guarded),
        ON_GUARDED(fences_rise_when_clients_are_an_hour_off, start_three_guarded),
        ON_GUARDED(the_clients_own_clocks_are_no_fences, start_three_guarded),
        ON_GUARDED(fences_rise_while_nodes_are_killed, start_five_guarded),
        ON_GUARDED(fences_rise_while_nodes_lose_data, start_five_guarded),
        ON_GUARDED(fences_rise_while_node_clocks_jump, start_with_clocks),
        ON_GUARDED(a_name_goes_on_where_an_earlier_client_left_it, start_three_guarded),
        ON_GUARDED(fences_rise_after_a_catastrophe, start_three_guarded),
        ON_GUARDED(a_step_of_30_seconds_is_noticed_reported_and_quarantined, start_with_clocks),
        ON_GUARDED(a_step_back_of_60_seconds_is_noticed_reported_and_quarantined, start_with_clocks),
        ON_GUARDED(a_step_is_held_against_a_node_that_is_away_when_it_is_judged, start_with_clocks),
        ON_GUARDED(a_slewing_node_is_noticed_and_does_not_count, start_with_clocks),
        ON_GUARDED(a_node_within_the_drift_setting_counts, start_with_clocks),
        ON_GUARDED(exclusion_holds_on_a_slewing_node, start_with_clocks),
        ON_GUARDED(without_the_guard_a_slewing_node_gives_a_lock_away_early, start_with_clocks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

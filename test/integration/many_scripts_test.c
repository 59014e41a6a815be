/*
 * Tests of the scripts for several locks on a real node, against a dumb twin: each request alone, one after
 * the other. Answers and what is left in the node's memory are the same, whatever the others in the same
 * command are about.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/guarded.h"
#include "support/script_calls.h"
#include "support/steps.h"

enum { WORDS_MAX = 128, TEXT_MAX = 16384, HOUR_S = 3600, LONG_NAME = 600 };
#define NEVER_LATE "9007199254740991"

/* One request, and what the node remembers of its name. */
struct request {
    const char *key;
    const char *fence_key;
    const char *holder; /* NULL: free; "hash": a key of another type */
    /* fence kept for it; NULL none; "hash": of another type; "+N": so many seconds from now */
    const char *stored;
    int64_t proposed_in_s; /* proposal, in seconds from now */
};

#define NAMED(name) .key = name, .fence_key = "redlock-fence:{" name "}"

static char long_name[LONG_NAME + 1];

static const struct request acquires[] = {
    {NAMED("free")},
    {NAMED("held"), .holder = "another"},
    {NAMED("held with a fence"), .holder = "another", .stored = "-100"},
    {NAMED("held under a long name"), .holder = long_name},
    {NAMED("other type"), .holder = "hash"},
    {NAMED("known"), .stored = "-100"},
    {NAMED("stored above the proposal"), .stored = "-1", .proposed_in_s = -2},
    {NAMED("proposal far ahead"), .proposed_in_s = HOUR_S},
    {NAMED("proposal far behind"), .proposed_in_s = -HOUR_S},
    {NAMED("no number"), .stored = "x"},
    {NAMED("no number, but held"), .stored = "x", .holder = "another"},
    {NAMED("out of range"), .stored = "9007199254740990"},
    {NAMED("fence of another type"), .stored = "hash"},
    {NAMED("stored an hour ahead"), .stored = "+3600"}, /* from here on the floor is up there */
    {NAMED("behind that one")},
    {NAMED("held behind that one"), .holder = "another"},
    {NAMED("last")},
    /* Those that have a tag, and share their fence with others. */
    {NAMED("shared")},
    {.key = "{shared}", .fence_key = "redlock-fence:{shared}"},
    {.key = "{last}", .fence_key = "redlock-fence:{last}"},
};

enum { ACQUIRES = sizeof acquires / sizeof acquires[0], UNTAGGED = ACQUIRES - 3 };

/* ---- the node's memory --------------------------------------------------------------------------------- */

static void plant_request(struct fleet *fleet, const struct request *request, int64_t now)
{
    if (request->holder != NULL && strcmp(request->holder, "hash") == 0)
        fleet_command(fleet, 0, "HSET", request->key, "field", "value", NULL);
    else if (request->holder != NULL)
        plant(fleet, request->key, request->holder);
    if (request->stored == NULL)
        return;
    if (strcmp(request->stored, "hash") == 0)
        fleet_command(fleet, 0, "HSET", request->fence_key, "field", "value", NULL);
    else if (request->stored[0] == '-' || request->stored[0] == '+')
        plant(fleet, request->fence_key, decimal(now + strtoll(request->stored, NULL, 10) * SECOND_US));
    else
        plant(fleet, request->fence_key, request->stored);
}

static void plant_all(struct fleet *fleet, int64_t now)
{
    fleet_command(fleet, 0, "FLUSHALL", NULL);
    plant_guard(fleet);
    plant(fleet, FLOOR_KEY, decimal(now - INT64_C(1000) * SECOND_US)); /* it need not be lifted */
    for (int i = 0; i < ACQUIRES; i++)
        plant_request(fleet, &acquires[i], now);
}

/* Lines of text with every number that is a time of this test's replaced: no two runs have the same. */
static void add_lines(char *text, const char *lines, int64_t from)
{
    size_t used = strlen(text);
    int64_t number;
    char *end;

    while (*lines != '\0') {
        size_t length = strcspn(lines, "\n");

        number = strtoll(lines, &end, 10);
        if (end == lines + length && number >= from && number < from + 60 * SECOND_US)
            used += (size_t)snprintf(text + used, TEXT_MAX - used, "(time)\n");
        else
            used += (size_t)snprintf(text + used, TEXT_MAX - used, "%.*s\n", (int)length, lines);
        lines += length + (lines[length] == '\n');
    }
    assert_true(used < TEXT_MAX);
}

static void add_memory(struct fleet *fleet, char *text, int64_t from)
{
    add_lines(text, fleet_command(fleet, 0, "GET", FLOOR_KEY, NULL), from);
    for (int i = 0; i < ACQUIRES; i++) {
        const struct request *request = &acquires[i];

        add_lines(text, fleet_command(fleet, 0, "GET", request->key, NULL), from);
        add_lines(text, ttl_of(fleet, request->key) > 0 ? "ends" : "stays", from);
        add_lines(text, fleet_command(fleet, 0, "GET", request->fence_key, NULL), from);
        add_lines(text, ttl_of(fleet, request->fence_key) > 0 ? "ends" : "stays", from);
    }
}

static void assert_begins(const char *text, const char *beginning)
{
    if (strncmp(text, beginning, strlen(beginning)) != 0)
        fail_msg("it should begin with\n%sbut is\n%s", beginning, text);
}

/* ---- acquire ------------------------------------------------------------------------------------------- */

struct asking {
    const char *epoch;
    int64_t not_after_in_s;
    bool without_floor;
    bool untagged;    /* only those */
    bool with_a_line; /* somebody may be in line for some lock */
};

static int count_of(const struct asking *asking)
{
    return asking->untagged ? UNTAGGED : ACQUIRES;
}

static void ask_alone(struct fleet *fleet, const struct asking *asking, int64_t now, char *text)
{
    for (int i = 0; i < count_of(asking); i++) {
        const char *words[] = {"EVAL",
                               rl_script_ask.text,
                               "1",
                               acquires[i].key,
                               "me",
                               "5000",
                               decimal(now + acquires[i].proposed_in_s * SECOND_US - i),
                               asking->epoch,
                               decimal(now + asking->not_after_in_s * SECOND_US),
                               ""};

        add_lines(text, fleet_command_bytes(fleet, 0, 10, words, NULL), now);
    }
}

static void ask_together(struct fleet *fleet, const struct asking *asking, int64_t now, char *text)
{
    const char *words[WORDS_MAX] = {"EVAL", rl_script_ask_many.text, decimal(count_of(asking))};
    char fences[ACQUIRES][24], key_count[24], not_after[24];
    int count = 3;

    words[2] = strcpy(key_count, words[2]);
    for (int i = 0; i < count_of(asking); i++)
        words[count++] = acquires[i].key;
    words[count++] = asking->epoch;
    words[count++] = strcpy(not_after, decimal(now + asking->not_after_in_s * SECOND_US));
    for (int i = 0; i < count_of(asking); i++) {
        words[count++] = "me";
        words[count++] = "5000";
        words[count++] = strcpy(fences[i], decimal(now + acquires[i].proposed_in_s * SECOND_US - i));
        words[count++] = "";
    }
    assert_true(count <= WORDS_MAX);
    add_lines(text, fleet_command_bytes(fleet, 0, count, words, NULL), now);
}

/* The same questions on the same memory, alone and together. Returns what came of them. */
static const char *expect_no_difference(struct fleet *fleet, const struct asking *asking)
{
    static char alone[TEXT_MAX], together[TEXT_MAX];
    int64_t now = node_now(fleet);

    for (int many = 0; many < 2; many++) {
        char *text = many ? together : alone;

        plant_all(fleet, now);
        if (asking->without_floor)
            fleet_command(fleet, 0, "DEL", FLOOR_KEY, NULL);
        if (asking->with_a_line)
            plant(fleet, "redlock-guard:lines", "1");
        text[0] = '\0';
        (many ? ask_together : ask_alone)(fleet, asking, now, text);
        add_memory(fleet, text, now);
    }
    assert_string_equal(together, alone);
    fleet_command(fleet, 0, "FLUSHALL", NULL);
    return together;
}

static void votes_on_many_locks_are_those_on_each(void **state)
{
    for (int i = 0; i < 4; i++) {
        const char *text = expect_no_difference(*state, &(struct asking){.epoch = EPOCH,
                                                                         .not_after_in_s = HOUR_S,
                                                                         .untagged = i % 2 == 0,
                                                                         .with_a_line = i / 2 == 1});

        /* All kinds of answers were among them. */
        assert_non_null(strstr(text, "another"));
        assert_non_null(strstr(text, "WRONGTYPE"));
        assert_non_null(strstr(text, "out of range"));
        assert_begins(text, "(time)\n");
    }
}

static void what_refuses_one_of_them_refuses_all(void **state)
{
    const char *text = expect_no_difference(
        *state, &(struct asking){.epoch = "1 run other 1000 0", .not_after_in_s = HOUR_S});

    assert_begins(text, "-3\n(time)\n-3\n(time)\n");
    text = expect_no_difference(
        *state, &(struct asking){.epoch = EPOCH, .not_after_in_s = HOUR_S, .without_floor = true});
    assert_begins(text, "-3\n(time)\n-3\n(time)\n");
    text = expect_no_difference(*state, &(struct asking){.epoch = EPOCH, .not_after_in_s = -1});
    assert_begins(text, "-4\n(time)\n-4\n(time)\n");
}

static void the_second_of_one_name_finds_it_held_by_the_first(void **state)
{
    struct fleet *fleet = *state;
    const char *fence, *answer;

    plant_guard(fleet);
    fence = decimal(node_now(fleet));
    const char *words[] = {"lock", "lock", EPOCH,    NEVER_LATE, "first", "5000",
                           fence,  "",     "second", "5000",     fence,   ""};

    answer = call_script(fleet, &rl_script_ask_many, "2", words, 12);
    assert_int_equal(count_lines(answer), 6);
    assert_int_equal(number_at(answer, 1), 0);
    assert_string_equal(strrchr(answer, '\n') + 1, "first");
    assert_value(fleet, "lock", "first");
    fleet_command(fleet, 0, "DEL", "lock", NULL);
}

/* ---- release ------------------------------------------------------------------------------------------- */

static const struct {
    const char *key;
    const char *holder; /* NULL: nobody */
} releases[] = {
    {"ours", "me"}, {"another's", "another"}, {"gone", NULL}, {"ours too", "me"}, {"longer", "me too"}};

enum { RELEASES = sizeof releases / sizeof releases[0] };

static void plant_releases(struct fleet *fleet)
{
    for (int i = 0; i < RELEASES; i++)
        if (releases[i].holder != NULL)
            plant(fleet, releases[i].key, releases[i].holder);
}

static void add_releases_left(struct fleet *fleet, char *text)
{
    for (int i = 0; i < RELEASES; i++)
        add_lines(text, fleet_command(fleet, 0, "GET", releases[i].key, NULL), INT64_MAX);
    fleet_command(fleet, 0, "FLUSHALL", NULL);
}

static void expect_same_releases(struct fleet *fleet, const struct rl_script *one,
                                 const struct rl_script *many)
{
    char alone[TEXT_MAX] = "", together[TEXT_MAX] = "";
    const char *words[2 * RELEASES];

    plant_releases(fleet);
    for (int i = 0; i < RELEASES; i++)
        add_lines(alone, call_script(fleet, one, "1", (const char *[]){releases[i].key, "me"}, 2), INT64_MAX);
    add_releases_left(fleet, alone);
    plant_releases(fleet);
    for (int i = 0; i < RELEASES; i++) {
        words[i] = releases[i].key;
        words[RELEASES + i] = "me";
    }
    add_lines(together, call_script(fleet, many, decimal(RELEASES), words, 2 * RELEASES), INT64_MAX);
    add_releases_left(fleet, together);
    assert_string_equal(together, alone);
    assert_begins(together, "1\n0\n-1\n1\n0\n");
}

static void releases_of_many_locks_are_those_of_each(void **state)
{
    expect_same_releases(*state, &rl_script_release, &rl_script_release_many);
    expect_same_releases(*state, &rl_script_hand_on, &rl_script_hand_on_many);
}

static const char *ask_in_line(struct fleet *fleet, const char *lock, const char *owner)
{
    const char *words[] = {lock, owner, "5000", decimal(node_now(fleet)), EPOCH, NEVER_LATE, "1 0 60000 "};

    return call_script(fleet, &rl_script_ask, "1", words, 7);
}

/* One in line for one of several locks is handed that one; a second time the others have nothing left. */
static void releases_of_many_locks_hand_on_where_somebody_waits(void **state)
{
    const char *words[] = {"free", "waited for", "{tagged}", "me", "me", "me"};
    struct fleet *fleet = *state;

    plant_guard(fleet);
    for (int i = 0; i < 3; i++)
        plant(fleet, words[i], "me");
    ask_in_line(fleet, "waited for", "11111111111111111111111111111111 one");
    ask_in_line(fleet, "{tagged}", "22222222222222222222222222222222 two");
    assert_string_equal(call_script(fleet, &rl_script_hand_on_many, "3", words, 6), "1\n1\n1");
    assert_value(fleet, "free", "(nil)");
    assert_value(fleet, "waited for", "11111111111111111111111111111111 one");
    assert_value(fleet, "{tagged}", "22222222222222222222222222222222 two");
    assert_string_equal(call_script(fleet, &rl_script_hand_on_many, "3", words, 6), "-1\n0\n0");
    fleet_command(fleet, 0, "FLUSHALL", NULL);
}

/* A lock that is free, for its holder is gone, is not given to one that comes later. */
static void votes_on_many_locks_pass_nobody_in_line(void **state)
{
    struct fleet *fleet = *state;
    const char *fence;

    plant_guard(fleet);
    plant(fleet, "lock", "gone soon");
    ask_in_line(fleet, "lock", "11111111111111111111111111111111 one");
    fleet_command(fleet, 0, "DEL", "lock", NULL);
    fence = decimal(node_now(fleet));
    const char *words[] = {"other", "lock", EPOCH,    NEVER_LATE, "me",  "5000",
                           fence,   "",     "second", "5000",     fence, ""};

    call_script(fleet, &rl_script_ask_many, "2", words, 12);
    assert_value(fleet, "other", "me");
    assert_value(fleet, "lock", "11111111111111111111111111111111 one");
    fleet_command(fleet, 0, "FLUSHALL", NULL);
}

/* Alone it would be an error; here it must not be one of the others'. */
static void a_key_of_another_type_is_not_there_and_stays(void **state)
{
    struct fleet *fleet = *state;

    fleet_command(fleet, 0, "HSET", "other type", "field", "value", NULL);
    plant(fleet, "ours", "me");
    assert_string_equal(call_script(fleet, &rl_script_release_many, "2",
                                    (const char *[]){"other type", "ours", "me", "me"}, 4),
                        "-1\n1");
    assert_string_equal(fleet_command(fleet, 0, "HGET", "other type", "field", NULL), "value");
    assert_value(fleet, "ours", "(nil)");
    fleet_command(fleet, 0, "DEL", "other type", NULL);
}

static void nothing_is_deleted_when_none_is_ours(void **state)
{
    struct fleet *fleet = *state;

    plant(fleet, "another's", "another");
    assert_string_equal(call_script(fleet, &rl_script_release_many, "2",
                                    (const char *[]){"another's", "gone", "me", "me"}, 4),
                        "0\n-1");
    assert_value(fleet, "another's", "another");
    fleet_command(fleet, 0, "DEL", "another's", NULL);
}

static int start_node(void **state)
{
    memset(long_name, 'x', LONG_NAME);
    return start_one_guarded(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_A_FLUSHED_NODE(votes_on_many_locks_are_those_on_each),
        ON_A_FLUSHED_NODE(what_refuses_one_of_them_refuses_all),
        ON_A_FLUSHED_NODE(the_second_of_one_name_finds_it_held_by_the_first),
        ON_A_FLUSHED_NODE(releases_of_many_locks_are_those_of_each),
        ON_A_FLUSHED_NODE(releases_of_many_locks_hand_on_where_somebody_waits),
        ON_A_FLUSHED_NODE(votes_on_many_locks_pass_nobody_in_line),
        ON_A_FLUSHED_NODE(a_key_of_another_type_is_not_there_and_stays),
        ON_A_FLUSHED_NODE(nothing_is_deleted_when_none_is_ours),
    };

    return cmocka_run_group_tests(tests, start_node, stop_guarded);
}

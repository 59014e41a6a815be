/*
 * Tests of wire/exchange without a socket: requests that are enlisted become one command, in order with all
 * others; its reply is handed out in parts, however it arrives.
 */
#include "wire/exchange.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"

enum { KEYS_MANY = 64 };

/* ---- a connection that is ready and has no socket ------------------------------------------------------ */

struct scene {
    struct rl_exchange exchange;
    struct rl_memory memory;
    bool no_memory;
};

static void *allocate(void *context, size_t size)
{
    struct scene *scene = context;

    return scene->no_memory ? NULL : malloc(size);
}

static void release(void *context, void *memory, size_t size)
{
    (void)context;
    (void)size;
    free(memory);
}

/* "<1 2 3>" for the requests 1 to 3. */
static void compose(struct rl_exchange *exchange, uint32_t count, struct rl_writer *writer)
{
    for (uint32_t i = 0; i < count; i++) {
        struct rl_pending *pending = rl_exchange_recent(exchange, count, i);
        char text[16];
        int length = snprintf(text, sizeof text, "%c%u", i == 0 ? '<' : ' ', pending->question);

        pending->together = (uint8_t)(count > 1 ? count : 0);
        rl_write_raw(writer, text, (size_t)length);
    }
    rl_write_raw(writer, ">", 1);
}

static int open_scene(void **state)
{
    struct scene *scene = calloc(1, sizeof *scene);

    if (scene == NULL)
        return -1;
    scene->memory = (struct rl_memory){.allocate = allocate, .release = release, .context = scene};
    scene->exchange.open = true;
    *state = scene;
    return rl_exchange_init(&scene->exchange, &scene->memory, compose) ? 0 : -1;
}

static int close_scene(void **state)
{
    struct scene *scene = *state;

    rl_exchange_free(&scene->exchange);
    free(scene);
    return 0;
}

static bool enlist(struct scene *scene, uint32_t number, size_t size)
{
    struct rl_pending pending = {.question = number, .replies = 1};

    return rl_exchange_enlist(&scene->exchange, size, &pending);
}

static bool send_alone(struct scene *scene, uint32_t number, uint8_t replies)
{
    struct rl_pending pending = {.question = number, .replies = replies};
    struct rl_writer writer;
    char text[16];

    if (!rl_exchange_reserve(&scene->exchange, sizeof text, &writer))
        return false;
    rl_write_raw(&writer, text, (size_t)snprintf(text, sizeof text, "%u", number));
    rl_exchange_commit(&scene->exchange, &writer, &pending);
    return true;
}

/* So many requests in one command, written. */
static void ask_together(struct scene *scene, uint32_t first, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        assert_true(enlist(scene, first + i, 16));
    rl_exchange_compose(&scene->exchange);
}

static void assert_written(const struct scene *scene, const char *text)
{
    assert_int_equal(scene->exchange.out_length, strlen(text));
    assert_memory_equal(scene->exchange.out, text, strlen(text));
}

/* ---- out ----------------------------------------------------------------------------------------------- */

static void what_is_enlisted_goes_as_one_command_before_what_follows(void **state)
{
    struct scene *scene = *state;

    assert_true(send_alone(scene, 1, 1));
    assert_true(enlist(scene, 2, 64));
    assert_true(enlist(scene, 3, 64));
    assert_written(scene, "1");
    assert_true(send_alone(scene, 4, 1));
    assert_true(enlist(scene, 5, 64));
    rl_exchange_compose(&scene->exchange);
    rl_exchange_compose(&scene->exchange);
    assert_written(scene, "1<2 3>4<5>");
    assert_int_equal(scene->exchange.pending_count, 5);
}

/* The ring of pending requests is full, and goes round, while some of them are not written yet. */
static void the_ring_and_room_grow_under_what_is_enlisted(void **state)
{
    struct scene *scene = *state;
    struct rl_pending pending;
    char expected[1024] = "";
    size_t used = 0;

    for (uint32_t i = 0; i < 40; i++)
        assert_true(send_alone(scene, 0, 1));
    for (uint32_t i = 0; i < 40; i++)
        assert_true(rl_exchange_take(&scene->exchange, &pending));
    scene->exchange.out_length = 0;
    for (uint32_t i = 0; i < KEYS_MANY + 36; i++) {
        assert_true(enlist(scene, i, 2048));
        used += (size_t)snprintf(expected + used, sizeof expected - used, "%c%u", i == 0 ? '<' : ' ', i);
    }
    snprintf(expected + used, sizeof expected - used, ">");
    assert_true(scene->exchange.out_capacity >= (KEYS_MANY + 36) * 2048);
    rl_exchange_compose(&scene->exchange);
    assert_written(scene, expected);
}

static void without_memory_nothing_changes(void **state)
{
    struct scene *scene = *state;

    assert_true(enlist(scene, 1, 64));
    scene->no_memory = true;
    assert_false(enlist(scene, 2, 32768));
    assert_true(enlist(scene, 3, 64));
    while (scene->exchange.pending_count < scene->exchange.ring_capacity)
        assert_true(enlist(scene, 4, 1));
    assert_false(enlist(scene, 5, 1));
    scene->no_memory = false;
    assert_true(enlist(scene, 6, 1));
    assert_int_equal(scene->exchange.enlisted, scene->exchange.pending_count);
    rl_exchange_compose(&scene->exchange);
    assert_memory_equal(scene->exchange.out, "<1 3 4", 6);
}

/* More than may wait for a node: as many as there is room for. */
static void no_more_is_enlisted_than_may_wait(void **state)
{
    struct scene *scene = *state;
    uint32_t count = 0;

    while (enlist(scene, count, 65536))
        count++;
    assert_in_range(count, 8, 16);
    rl_exchange_compose(&scene->exchange);
    assert_int_equal(scene->exchange.pending_count, count);
}

static void what_is_enlisted_on_a_broken_connection_is_not_written(void **state)
{
    struct scene *scene = *state;

    assert_true(enlist(scene, 1, 64));
    assert_true(enlist(scene, 2, 64));
    rl_exchange_empty(&scene->exchange);
    rl_exchange_compose(&scene->exchange);
    assert_written(scene, "");
    assert_int_equal(scene->exchange.pending_count, 2); /* they are told by whoever breaks it */
}

/* ---- in ------------------------------------------------------------------------------------------------ */

static void arrive(struct scene *scene, const char *bytes, size_t length)
{
    while (length > 0) {
        size_t room = rl_exchange_room(&scene->exchange), part = room < length ? room : length;

        assert_true(room > 0);
        memcpy(scene->exchange.in + scene->exchange.in_length, bytes, part);
        scene->exchange.in_length += part;
        bytes += part;
        length -= part;
    }
}

/* What comes out, as "number:answer" for replies and "push:..." for pushes; "!" for nonsense, which is the
 * end. */
static void take_all(struct scene *scene, char *text, size_t size)
{
    struct rl_exchange *exchange = &scene->exchange;
    size_t start, length, used = strlen(text);
    struct rl_pending pending;

    for (;;) {
        enum rl_input input = rl_exchange_next(exchange, &start, &length);

        if (input == RL_INPUT_BAD)
            snprintf(text + used, size - used, "!");
        if (input == RL_INPUT_MORE || input == RL_INPUT_BAD)
            return;
        if (input == RL_INPUT_PUSH) {
            used += (size_t)snprintf(text + used, size - used, "push:");
        } else {
            assert_true(rl_exchange_take(exchange, &pending));
            used += (size_t)snprintf(
                text + used, size - used,
                exchange->refused_together && pending.together > 1 ? "%u all:" : "%u:", pending.question);
        }
        for (size_t i = 0; i < length; i++)
            if (exchange->in[start + i] != '\r')
                text[used++] = exchange->in[start + i] == '\n' ? ' ' : exchange->in[start + i];
        text[used] = '\0';
    }
}

/* The same comes out whether it arrives at once, byte by byte, or in two pieces, whichever they are. */
static void expect_from(void (*ask)(struct scene *scene), const char *bytes, const char *expected)
{
    size_t length = strlen(bytes);

    for (size_t cut = 0; cut <= length; cut++) {
        void *state = NULL;
        char text[1024] = "";

        assert_int_equal(open_scene(&state), 0);
        ask(state);
        if (cut == length) {
            for (size_t i = 0; i < length; i++) {
                arrive(state, bytes + i, 1);
                take_all(state, text, sizeof text);
            }
        } else {
            arrive(state, bytes, cut);
            take_all(state, text, sizeof text);
            arrive(state, bytes + cut, length - cut);
            take_all(state, text, sizeof text);
        }
        assert_string_equal(text, expected);
        close_scene(&state);
    }
}

static void ask_three(struct scene *scene)
{
    ask_together(scene, 1, 3);
}

static void ask_one_three_and_a_pair(struct scene *scene)
{
    send_alone(scene, 1, 1);
    ask_together(scene, 2, 3);
    send_alone(scene, 5, 2);
    ask_together(scene, 6, 2);
}

static void each_request_gets_its_part_of_a_common_reply(void **state)
{
    (void)state;
    expect_from(ask_three, "*3\r\n:1\r\n*2\r\n:-3\r\n:7\r\n$2\r\nab\r\n", "1::1 2:*2 :-3 :7 3:$2 ab ");
}

static void replies_before_and_behind_a_common_one_stay_whole(void **state)
{
    (void)state;
    expect_from(ask_one_three_and_a_pair,
                ":9\r\n*3\r\n:1\r\n:2\r\n:3\r\n+OK\r\n$1\r\nx\r\n*2\r\n:0\r\n:-1\r\n",
                "1::9 2::1 3::2 4::3 5:+OK $1 x 6::0 7::-1 ");
}

static void an_error_of_one_is_an_error_of_one(void **state)
{
    (void)state;
    expect_from(ask_three, "*3\r\n:1\r\n-WRONGTYPE no\r\n:3\r\n", "1::1 2:-WRONGTYPE no 3::3 ");
    expect_from(ask_three, "*3\r\n-ERR first\r\n:2\r\n-ERR last\r\n", "1:-ERR first 2::2 3:-ERR last ");
}

static void one_error_instead_of_the_list_is_told_to_all_of_them(void **state)
{
    (void)state;
    expect_from(ask_three, "-NOPERM no\r\n", "1 all:-NOPERM no 2 all:-NOPERM no 3 all:-NOPERM no ");
    expect_from(ask_one_three_and_a_pair, "-ERR own\r\n-BUSY no\r\n+OK\r\n:1\r\n*2\r\n:0\r\n:1\r\n",
                "1:-ERR own 2 all:-BUSY no 3 all:-BUSY no 4 all:-BUSY no 5:+OK :1 6::0 7::1 ");
}

static void pushes_before_and_behind_a_common_reply_are_passed_over(void **state)
{
    (void)state;
    expect_from(ask_three, ">1\r\n+a\r\n>1\r\n+b\r\n*3\r\n:1\r\n:2\r\n:3\r\n>1\r\n+c\r\n",
                "push:>1 +a push:>1 +b 1::1 2::2 3::3 push:>1 +c ");
    expect_from(ask_three, ">1\r\n+a\r\n-ERR no\r\n>1\r\n+b\r\n",
                "push:>1 +a 1 all:-ERR no 2 all:-ERR no 3 all:-ERR no push:>1 +b ");
}

static void a_list_of_another_length_or_no_list_is_nonsense(void **state)
{
    static const char *const wrong[] = {"*2\r\n:1\r\n:2\r\n",
                                        "*4\r\n",
                                        "*0\r\n",
                                        "*-1\r\n",
                                        ":1\r\n",
                                        "$-1\r\n",
                                        "_\r\n",
                                        "%3\r\n",
                                        "+OK\r\n"};

    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct scene *scene;
        char text[64] = "";

        assert_int_equal(open_scene(state), 0);
        scene = *state;
        ask_three(scene);
        arrive(scene, wrong[i], strlen(wrong[i]));
        take_all(scene, text, sizeof text);
        assert_string_equal(text, "!");
        assert_int_equal(scene->exchange.pending_count, 3);
        close_scene(state);
    }
}

/* What was left of the old connection's reply must not be taken for the new one's. */
static void a_connection_that_broke_in_the_middle_of_a_common_reply_begins_anew(void **state)
{
    static const char *const broken_off[] = {"*3\r\n:1\r\n", "*3\r\n", "-ERR no\r\n"};
    static const char again[] = "*2\r\n:4\r\n:5\r\n";

    for (size_t i = 0; i < sizeof broken_off / sizeof broken_off[0]; i++) {
        struct scene *scene;
        struct rl_pending pending;
        size_t start, length;
        char text[64] = "";

        assert_int_equal(open_scene(state), 0);
        scene = *state;
        ask_three(scene);
        arrive(scene, broken_off[i], strlen(broken_off[i]));
        if (rl_exchange_next(&scene->exchange, &start, &length) == RL_INPUT_REPLY)
            rl_exchange_take(&scene->exchange, &pending);
        rl_exchange_empty(&scene->exchange);
        while (rl_exchange_take(&scene->exchange, &pending))
            ;
        ask_together(scene, 4, 2);
        arrive(scene, again, strlen(again));
        take_all(scene, text, sizeof text);
        assert_string_equal(text, "4::4 5::5 ");
        close_scene(state);
    }
}

#define ON_A_SCENE(test)                           \
    {                                              \
#test, test, open_scene, close_scene, NULL \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_A_SCENE(what_is_enlisted_goes_as_one_command_before_what_follows),
        ON_A_SCENE(the_ring_and_room_grow_under_what_is_enlisted),
        ON_A_SCENE(without_memory_nothing_changes),
        ON_A_SCENE(no_more_is_enlisted_than_may_wait),
        ON_A_SCENE(what_is_enlisted_on_a_broken_connection_is_not_written),
        cmocka_unit_test(each_request_gets_its_part_of_a_common_reply),
        cmocka_unit_test(replies_before_and_behind_a_common_one_stay_whole),
        cmocka_unit_test(an_error_of_one_is_an_error_of_one),
        cmocka_unit_test(one_error_instead_of_the_list_is_told_to_all_of_them),
        cmocka_unit_test(pushes_before_and_behind_a_common_reply_are_passed_over),
        cmocka_unit_test(a_list_of_another_length_or_no_list_is_nonsense),
        cmocka_unit_test(a_connection_that_broke_in_the_middle_of_a_common_reply_begins_anew),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

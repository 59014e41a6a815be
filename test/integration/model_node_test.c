/*
 * The simulator's node against a real one: random sequences of our commands must get the same answers from
 * both. The model's clock is set from the times that the real node tells.
 */
#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/prng.h"
#include "sim/node.h"
#include "support/check.h"
#include "support/fleet.h"
#include "support/script_calls.h"
#include "wire/guard_command.h"
#include "wire/lock_command.h"
#include "wire/resp_reader.h"

enum {
    COMMANDS = 4000,
    TEXT_MAX = 2048,
    NO_SPAN_MS = 50,
    SLACK_MS = 5,
    LONG_TTL_MS = 100000,
    SHORT_TTL_MS = 5
};

struct pair {
    struct fleet *fleet;
    struct sim_node model;
    struct rl_prng prng;
    char record[SIM_VALUE_SIZE];   /* what the latest admission said */
    uint64_t fence;                /* the latest that was heard of */
    int64_t lag_ms;                /* the most that has passed between the model's time and the node's */
    char difference[3 * TEXT_MAX]; /* "" none yet */
};

static int64_t draw(struct pair *pair, int64_t low, int64_t high)
{
    return rl_prng_between(&pair->prng, low, high);
}

/* The model's reply in the same words. */
static void ask_model(struct pair *pair, int64_t now_us, const struct rl_writer *request, char *text)
{
    char bytes[TEXT_MAX];
    struct rl_writer reply = rl_writer_on(bytes, sizeof bytes);
    struct rl_resp item;
    size_t offset = 0, used = 0;

    sim_node_run(&pair->model, now_us, request->bytes, request->length, &reply);
    text[0] = '\0';
    while (rl_resp_next(reply.bytes, reply.length, &offset, &item) == RL_RESP_OK) {
        if (item.type == RL_RESP_INTEGER)
            used += (size_t)snprintf(text + used, TEXT_MAX - used, "%" PRId64 "\n", item.integer);
        else if (item.type == RL_RESP_STRING)
            used +=
                (size_t)snprintf(text + used, TEXT_MAX - used, "%.*s\n", (int)item.text_length, item.text);
        else if (item.type == RL_RESP_ARRAY && item.element_count == 0)
            used += (size_t)snprintf(text + used, TEXT_MAX - used, "\n");
        else if (item.type == RL_RESP_ERROR)
            used += (size_t)snprintf(text + used, TEXT_MAX - used, "%.*s\n", (int)strcspn(item.text, " "),
                                     item.text);
        else if (item.type == RL_RESP_NULL)
            used += (size_t)snprintf(text + used, TEXT_MAX - used, "(nil)\n");
    }
}

/* The time that a reply tells; 0 it tells none. */
static int64_t time_told(const char *text)
{
    const char *second = strchr(text, '\n') + 1;
    int64_t first_number = strtoll(text, NULL, 10), second_number = strtoll(second, NULL, 10);

    if (first_number > 1000000000000)
        return first_number;
    return second_number > 1000000000000 ? second_number : 0;
}

/* Lengths of time may differ by what passes between the two, when the key was set and now; all else is equal
 * to the last digit. */
static bool same_line(const struct pair *pair, const char *a, size_t a_length, const char *b, size_t b_length)
{
    int64_t left = strtoll(a, NULL, 10), right = strtoll(b, NULL, 10);
    bool times = left > NO_SPAN_MS && right > NO_SPAN_MS && left < 1000000000 && right < 1000000000;

    if (times && memchr(a, ' ', a_length) == NULL && memchr(a, '|', a_length) == NULL &&
        memchr(a, ':', a_length) == NULL)
        return llabs(left - right) <= SLACK_MS + 2 * pair->lag_ms;
    return a_length == b_length && memcmp(a, b, a_length) == 0;
}

/* Of an error the first word: what follows names the script, and differs between servers. Redis before 7.0
 * names it in front, too. */
static const char *start_of(const char *line)
{
    const char *word = strstr(line, ": WRONGTYPE");

    if (strncmp(line, "ERR Error running script ", 25) != 0 || word == NULL ||
        word > line + strcspn(line, "\n"))
        return line;
    return word + 2;
}

static size_t length_of(const char *line)
{
    return strncmp(line, "WRONGTYPE", 9) == 0 ? 9 : strcspn(line, "\n");
}

static bool same_text(const struct pair *pair, const char *a, const char *b)
{
    while (*a != '\0' && *b != '\0') {
        a = start_of(a);
        b = start_of(b);
        if (!same_line(pair, a, length_of(a), b, length_of(b)))
            return false;
        a += strcspn(a, "\n") + 1;
        b += strcspn(b, "\n") + 1;
    }
    return *a == *b;
}

static void compare(struct pair *pair, const struct rl_writer *request, char *real)
{
    char model[TEXT_MAX];
    int64_t before_us = node_now(pair->fleet), told_us;

    send_request(pair->fleet, request, real, TEXT_MAX);
    int64_t lag_ms = (node_now(pair->fleet) - before_us) / 1000;
    pair->lag_ms = lag_ms > pair->lag_ms ? lag_ms : pair->lag_ms;
    told_us = time_told(real);
    ask_model(pair, told_us != 0 ? told_us : before_us, request, model);
    if (!same_text(pair, real, model))
        snprintf(pair->difference, sizeof pair->difference, "the node says:\n%sthe model says:\n%s", real,
                 model);
}

/* The fence of {1, now, fence} and {0, now, fence, ...}: often the next proposal, so that it is met again. */
static void learn_fence(struct pair *pair, const char *real)
{
    unsigned long long fence;

    if (sscanf(real, "%*d\n%*d\n%llu", &fence) == 1)
        pair->fence = fence;
}

/* Whether somebody in line was last heard of about as long ago as makes a difference: which it is would be a
 * matter of luck. */
static bool is_close_call(const struct pair *pair, int64_t now_us)
{
    for (int i = 0; i < SIM_LINES_MAX; i++)
        for (int j = 0; j < SIM_STANDERS_MAX; j++) {
            const struct sim_stander *stander = &pair->model.memory.standing[i].standers[j];

            if (stander->id[0] != '\0' && llabs(now_us - stander->asked - 250000) < 40000)
                return true;
        }
    return false;
}

/* Both names, or one of them: sometimes the command is about the two of them as one lock. */
static void make_several(struct pair *pair, struct rl_lock_command *command)
{
    static const struct rl_names both = {
        .count = 2, .bytes = 12, .keys = {{"lock-0", 6, 0}, {"lock-1", 6, 1}}};

    if (draw(pair, 1, 3) != 1)
        return;
    command->lock_kind = &rl_kind_names;
    command->names = &both;
}

static void try_lock_command(struct pair *pair)
{
    static const enum rl_command_kind kinds[] = {RL_COMMAND_ACQUIRE, RL_COMMAND_ACQUIRE, RL_COMMAND_RAISE,
                                                 RL_COMMAND_EXTEND,  RL_COMMAND_RELEASE, RL_COMMAND_PEEK};
    static const char *const owners[] = {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa|pid=1",
                                         "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb|pid=2"};
    char bytes[20480], real[TEXT_MAX];
    struct rl_writer writer = rl_writer_on(bytes, sizeof bytes);
    bool brief = draw(pair, 1, 20) == 1;
    int64_t now_us = node_now(pair->fleet);
    struct rl_lock_command command = {
        .kind = kinds[draw(pair, 0, 5)],
        .lock_kind = &rl_kind_line,
        .key = draw(pair, 0, 1) == 0 ? "lock-0" : "lock-1",
        .key_length = 6,
        .owner = owners[draw(pair, 0, 1)],
        .owner_length = 38,
        .ttl_ms = brief ? SHORT_TTL_MS : LONG_TTL_MS + draw(pair, 0, 10) * 1000,
        .epoch = draw(pair, 1, 10) == 1 ? "1 other id 5 0" : pair->record,
        .fence = pair->fence != 0 && draw(pair, 1, 3) == 1
                     ? pair->fence + 1
                     : (uint64_t)(now_us + draw(pair, -70000000, 9000000)),
        .not_after_us = draw(pair, 1, 10) == 1 ? now_us - 1000000 : INT64_C(9007199254740991),
        .holds = draw(pair, 0, 1) == 1,
        .repair = draw(pair, 0, 1) == 1,
    };

    while (is_close_call(pair, node_now(pair->fleet)))
        usleep(20000);
    if (draw(pair, 1, 8) == 1 && command.kind != RL_COMMAND_RAISE)
        command.lock_kind = &rl_kind_exclusive, command.epoch = NULL; /* plain */
    else if (draw(pair, 1, 3) == 1)
        command.lock_kind = &rl_kind_shared;
    else if (command.kind != RL_COMMAND_PEEK)
        make_several(pair, &command);
    if (command.lock_kind == &rl_kind_shared && command.repair)
        command.ttl_ms += 137; /* when it is planted is not told: it is to be close to nobody else's end */
    rl_lock_command_write(&writer, &command, 0, true);
    compare(pair, &writer, real);
    learn_fence(pair, real);
    if (brief)
        usleep(30000); /* so that both agree that it is over */
}

/* Who waits. */
static void try_waiting(struct pair *pair)
{
    char bytes[8192], real[TEXT_MAX];
    struct rl_writer writer = rl_writer_on(bytes, sizeof bytes);
    struct rl_lock_command command = {
        .kind = RL_COMMAND_LINE, .key = draw(pair, 0, 1) == 0 ? "lock-0" : "lock-1", .key_length = 6};

    rl_lock_command_write(&writer, &command, 0, true);
    compare(pair, &writer, real);
}

/* Callers in line, of whom some are heard for and some are not, and the lock goes from one to the other. */
static void try_standing(struct pair *pair)
{
    static const char *const channels[] = {"", "redlock:deaf", "redlock:ear", "redlock:ear"};
    char bytes[20480], real[TEXT_MAX], owner[48];
    struct rl_writer writer = rl_writer_on(bytes, sizeof bytes);
    int64_t name = draw(pair, 'a', 'f'), now_us = node_now(pair->fleet);
    struct rl_place place = {.ticket = (uint64_t)(now_us + draw(pair, -9, 9) * draw(pair, 0, 1000)),
                             .settled = draw(pair, 1, 3) == 1,
                             .yields = draw(pair, 1, 6) == 1,
                             .lease_ms = LONG_TTL_MS,
                             .channel = channels[draw(pair, 0, 3)]};
    struct rl_lock_command command = {.kind = draw(pair, 1, 3) == 1 ? RL_COMMAND_RELEASE : RL_COMMAND_ACQUIRE,
                                      .lock_kind = &rl_kind_line,
                                      .key = draw(pair, 0, 1) == 0 ? "lock-0" : "lock-1",
                                      .key_length = 6,
                                      .owner = owner,
                                      .ttl_ms = LONG_TTL_MS,
                                      .epoch = draw(pair, 1, 20) == 1 ? "1 other id 5 0" : pair->record,
                                      .fence = (uint64_t)(now_us + draw(pair, -20, 20) * 100),
                                      .not_after_us = draw(pair, 1, 20) == 1 ? now_us - 1000000
                                                                             : INT64_C(9007199254740991),
                                      .place = draw(pair, 1, 8) == 1 ? NULL : &place};

    while (is_close_call(pair, node_now(pair->fleet)))
        usleep(20000);
    if (name >= 'd')
        command.lock_kind = &rl_kind_shared;
    memset(owner, (int)name, 32);
    snprintf(owner + 32, sizeof owner - 32, "|pid=%c", (char)name);
    command.owner_length = strlen(owner);
    make_several(pair, &command);
    place.keeps = command.names != NULL && draw(pair, 1, 4) == 1;
    rl_lock_command_write(&writer, &command, 0, true);
    compare(pair, &writer, real);
}

/* Callers of a semaphore of three slots, who ask for any or for one, extend, give back and raise. */
static void try_slots(struct pair *pair)
{
    static const enum rl_command_kind kinds[] = {RL_COMMAND_ACQUIRE, RL_COMMAND_ACQUIRE, RL_COMMAND_ACQUIRE,
                                                 RL_COMMAND_RELEASE, RL_COMMAND_RELEASE, RL_COMMAND_EXTEND,
                                                 RL_COMMAND_RAISE};
    static const char *const channels[] = {"", "redlock:deaf", "redlock:ear", "redlock:ear"};
    char bytes[20480], real[TEXT_MAX], owner[48];
    struct rl_writer writer = rl_writer_on(bytes, sizeof bytes);
    int64_t name = draw(pair, 'a', 'f'), now_us = node_now(pair->fleet);
    struct rl_place place = {.ticket = (uint64_t)(now_us + draw(pair, -9, 9) * draw(pair, 0, 1000)),
                             .settled = draw(pair, 1, 3) == 1,
                             .yields = draw(pair, 1, 10) == 1,
                             .lease_ms = LONG_TTL_MS,
                             .channel = channels[draw(pair, 0, 3)]};
    enum rl_command_kind kind = kinds[draw(pair, 0, 6)];
    bool known = kind == RL_COMMAND_ACQUIRE || kind == RL_COMMAND_RAISE || draw(pair, 1, 3) > 1;
    bool mistaken = (kind == RL_COMMAND_RELEASE || kind == RL_COMMAND_EXTEND) && draw(pair, 1, 20) == 1;
    uint32_t slots = mistaken ? 2 : 3;
    struct rl_lock_command command = {.kind = kind,
                                      .lock_kind = &rl_kind_slots,
                                      .key = "lock-0",
                                      .key_length = 6,
                                      .owner = owner,
                                      .ttl_ms = LONG_TTL_MS + draw(pair, 0, 10) * 1000,
                                      .epoch = draw(pair, 1, 20) == 1 ? "1 other id 5 0" : pair->record,
                                      .fence = (uint64_t)(now_us + draw(pair, -20, 20) * 100),
                                      .not_after_us = draw(pair, 1, 20) == 1 ? now_us - 1000000
                                                                             : INT64_C(9007199254740991),
                                      .holds = draw(pair, 0, 1) == 1,
                                      .repair = draw(pair, 1, 4) == 1,
                                      .slots = slots,
                                      .slot = known ? (uint32_t)draw(pair, 1, slots) : 0,
                                      .only_slot = draw(pair, 1, 4) == 1,
                                      .kept_slot = draw(pair, 1, 6) == 1 ? (uint32_t)draw(pair, 1, 3) : 0,
                                      .place = draw(pair, 1, 8) == 1 ? NULL : &place};

    while (is_close_call(pair, node_now(pair->fleet)))
        usleep(20000);
    memset(owner, (int)name, 32);
    snprintf(owner + 32, sizeof owner - 32, "|pid=%c", (char)name);
    command.owner_length = strlen(owner);
    rl_lock_command_write(&writer, &command, 0, true);
    compare(pair, &writer, real);
}

static void lose_slot(struct pair *pair)
{
    uint32_t slot = (uint32_t)draw(pair, 1, 3);
    char key[64];

    snprintf(key, sizeof key, "redlock-line:{lock-0}:slot:%u", slot);
    fleet_command(pair->fleet, 0, "DEL", key, NULL);
    sim_slot_key(key, "lock-0", slot);
    sim_node_remove(&pair->model, key);
}

static void admit(struct pair *pair, struct rl_admission *admission)
{
    char bytes[8192], real[TEXT_MAX];
    struct rl_writer writer = rl_writer_on(bytes, sizeof bytes);

    snprintf(admission->fresh_id, sizeof admission->fresh_id, "%016" PRIx64, rl_prng_next(&pair->prng));
    rl_guard_write_admit(&writer, admission, true);
    compare(pair, &writer, real);
    if (strcmp(admission->word, "look") != 0 && real[0] != '0')
        assert_int_equal(sscanf(real, "%*d\n%*d\n%127[^\n]", pair->record), 1);
}

/* Whose memory it is: that of this run, with the history that the node has now. */
static void name_run(const struct pair *pair, struct rl_admission *admission, const char *run)
{
    snprintf(admission->run, sizeof admission->run, "%s.%.20s", run, pair->model.replid);
}

static void try_admission(struct pair *pair)
{
    static const char *const words[] = {"", "", "", "init", "suspect", "look"};
    static const char *const runs[] = {"run-a", "run-a", "run-a", "run-a", "run-b"};
    const char *const replids[] = {"", "0123", pair->model.replid, pair->model.replid};
    const struct rl_terms told = {.count = 2,
                                  .each = {{900000, draw(pair, 1, 9) * 1000000}, {550000, 9500000}}};
    struct rl_admission admission = {
        .replid = replids[draw(pair, 0, 3)],
        .quarantine_ms = draw(pair, 1, 10) == 1 ? 510000 + draw(pair, 0, 9) * 10000 : 500000,
        .terms = draw(pair, 1, 20) == 1 ? &told : NULL,
        .durable = draw(pair, 0, 1) == 1,
        .up_ms = draw(pair, 0, 4) * 400000 - 400000,
        .word = words[draw(pair, 0, 5)],
        .floor =
            draw(pair, 0, 2) == 0 ? 0 : (uint64_t)(node_now(pair->fleet) + draw(pair, -9000000, 9000000)),
        .known = draw(pair, 1, 4) == 1 ? "1 other id 5 0" : pair->record,
    };

    if (admission.floor == 0 && strcmp(admission.word, "init") == 0)
        admission.word = ""; /* the operator's word always comes with one */
    name_run(pair, &admission, runs[draw(pair, 0, 4)]);
    if (draw(pair, 1, 8) == 1) /* by a client that greeted another master, or was not told which */
        snprintf(admission.run, sizeof admission.run, draw(pair, 0, 1) == 0 ? "run-a.2" : "run-a.");
    admit(pair, &admission);
}

static void remove_key(struct pair *pair, const char *key)
{
    fleet_command(pair->fleet, 0, "DEL", key, NULL);
    sim_node_remove(&pair->model, key);
    sim_slots_lose_name(&pair->model, key);
}

/* A new history, as when the first replica comes. */
static void learn_history(struct pair *pair)
{
    const char *info = fleet_command(pair->fleet, 0, "INFO", "replication", NULL);

    assert_int_equal(sscanf(strstr(info, "master_replid:"), "master_replid:%40s", pair->model.replid), 1);
}

static void begin_history(struct pair *pair)
{
    assert_string_equal(fleet_command(pair->fleet, 0, "DEBUG", "CHANGE-REPL-ID", NULL), "OK");
    learn_history(pair);
    fleet_command(pair->fleet, 0, "DEL", RL_KEY_CHECKED, NULL); /* 10 ms are not the same for both */
    pair->model.memory.checked_us = 0;
}

static void lose_something(struct pair *pair)
{
    static const char *const keys[] = {RL_KEY_EPOCH, RL_KEY_FLOOR, RL_KEY_TERMS, "lock-0",
                                       "redlock-fence:{lock-0}"};
    const char *key = keys[draw(pair, 0, 4)];

    if (draw(pair, 1, 4) == 1) {
        fleet_command(pair->fleet, 0, "FLUSHALL", NULL);
        sim_node_flush(&pair->model);
    } else {
        remove_key(pair, key);
    }
}

/* Any of our commands, on a node that may vote or may not. */
static void do_anything(struct pair *pair)
{
    int64_t choice = draw(pair, 1, 100);

    if (choice <= 60)
        try_lock_command(pair);
    else if (choice <= 75)
        try_waiting(pair);
    else if (choice <= 97)
        try_admission(pair);
    else if (draw(pair, 1, 4) == 1)
        begin_history(pair);
    else
        lose_something(pair);
}

/* A line that moves: on a node that may vote, locks come free often enough for offers to be made and left. */
static void do_what_moves_the_line(struct pair *pair)
{
    struct rl_admission init = {.replid = "", .quarantine_ms = 1, .word = "init", .floor = 1, .known = ""};

    name_run(pair, &init, "run-a");
    if (pair->record[0] == '\0' || draw(pair, 1, 200) == 1)
        admit(pair, &init);
    if (draw(pair, 1, 4) == 1)
        remove_key(pair, draw(pair, 0, 1) == 0 ? "lock-0" : "lock-1");
    if (draw(pair, 1, 8) == 1)
        try_lock_command(pair);
    else
        try_waiting(pair);
}

/* Another program's kind of lock, where nothing is. */
static void plant_hash(struct pair *pair, const char *key)
{
    fleet_command(pair->fleet, 0, "EVAL",
                  "if redis.call('exists', KEYS[1]) == 0 then redis.call('hset', KEYS[1], 'thread', 1) "
                  "redis.call('pexpire', KEYS[1], 100000) end",
                  "1", key, NULL);
    sim_node_set_hash(&pair->model, node_now(pair->fleet), key, node_now(pair->fleet) / 1000 + LONG_TTL_MS);
}

static void admit_now_and_then(struct pair *pair)
{
    struct rl_admission init = {.replid = "", .quarantine_ms = 1, .word = "init", .floor = 1, .known = ""};
    char floor[24];

    snprintf(pair->model.channels[1], sizeof pair->model.channels[1], "redlock:ear");
    if (pair->record[0] != '\0' && draw(pair, 1, 400) > 1)
        return;
    name_run(pair, &init, "run-a");
    admit(pair, &init);
    /* The operator's word lifts the floor above what anybody proposes. */
    snprintf(floor, sizeof floor, "%" PRId64, node_now(pair->fleet) - 1000 * (int64_t)SECOND_US);
    fleet_command(pair->fleet, 0, "SET", RL_KEY_FLOOR, floor, NULL);
    sim_node_set(&pair->model, RL_KEY_FLOOR, floor, 0);
}

static void do_what_hands_slots_on(struct pair *pair)
{
    admit_now_and_then(pair);
    if (draw(pair, 1, 20) == 1)
        lose_slot(pair);
    else if (draw(pair, 1, 300) == 1)
        lose_something(pair);
    try_slots(pair);
}

/* The same with a line in which the lock is handed on. It is heard for on one channel: by a connection that
 * never reads, and by a peer. */
static void do_what_hands_the_lock_on(struct pair *pair)
{
    admit_now_and_then(pair);
    if (draw(pair, 1, 20) == 1)
        remove_key(pair, draw(pair, 0, 1) == 0 ? "lock-0" : "lock-1");
    else if (draw(pair, 1, 60) == 1)
        plant_hash(pair, draw(pair, 0, 1) == 0 ? "lock-0" : "lock-1");
    else if (draw(pair, 1, 300) == 1)
        lose_something(pair);
    try_standing(pair);
}

static redisContext *listen_on(struct fleet *fleet, const char *channel)
{
    redisContext *ear = redisConnectUnix(strchr(fleet_url(fleet, 0), '/'));
    redisReply *reply;

    assert_true(ear != NULL && ear->err == 0);
    reply = redisCommand(ear, "SUBSCRIBE %s", channel);
    assert_true(reply != NULL && reply->type == REDIS_REPLY_ARRAY);
    freeReplyObject(reply);
    return ear;
}

/* Whether they gave the same answers to the end; says where they did not. */
static bool run(enum sim_bug bug, void (*do_something)(struct pair *pair), bool tell)
{
    struct pair *pair = calloc(1, sizeof *pair);
    redisContext *ear;
    bool same;

    assert_non_null(pair);
    pair->fleet = fleet_start(&(struct fleet_options){.node_count = 1, .config = "enable-debug-command yes"});
    assert_non_null(pair->fleet);
    ear = listen_on(pair->fleet, "redlock:ear");
    learn_history(pair);
    pair->prng = rl_prng_seed(1);
    pair->model.bug = bug;
    for (int i = 0; i < COMMANDS && pair->difference[0] == '\0'; i++)
        do_something(pair);
    same = pair->difference[0] == '\0';
    if (tell && !same)
        print_error("%s", pair->difference);
    redisFree(ear);
    fleet_stop(pair->fleet);
    free(pair);
    return same;
}

static void the_modelled_node_answers_like_a_real_one(void **state)
{
    (void)state;
    assert_true(run(SIM_BUG_NONE, do_anything, true));
}

static void the_modelled_line_moves_like_a_real_one(void **state)
{
    (void)state;
    assert_true(run(SIM_BUG_NONE, do_what_moves_the_line, true));
}

static void the_modelled_node_hands_slots_on_like_a_real_one(void **state)
{
    (void)state;
    assert_true(run(SIM_BUG_NONE, do_what_hands_slots_on, true));
}

static void the_modelled_node_hands_the_lock_on_like_a_real_one(void **state)
{
    (void)state;
    assert_true(run(SIM_BUG_NONE, do_what_hands_the_lock_on, true));
}

static void a_model_that_differs_is_noticed(void **state)
{
    (void)state;
    assert_false(run(SIM_BUG_NO_GUARD, do_anything, false));
    assert_false(run(SIM_BUG_RAISE_UNOWNED, do_anything, false));
    assert_false(run(SIM_BUG_EXTEND_RECREATES, do_anything, false));
    assert_false(run(SIM_BUG_FENCE_OR_FLOOR, do_anything, false));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_modelled_node_answers_like_a_real_one),
                                       cmocka_unit_test(the_modelled_line_moves_like_a_real_one),
                                       cmocka_unit_test(the_modelled_node_hands_slots_on_like_a_real_one),
                                       cmocka_unit_test(the_modelled_node_hands_the_lock_on_like_a_real_one),
                                       cmocka_unit_test(a_model_that_differs_is_noticed)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}

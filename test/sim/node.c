/*
 * The modelled node's clock, keys and commands; see node.h. Expiry is the node's own business and works in
 * whole milliseconds of its own clock, as it does in a real one.
 */
#include "sim/node.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "wire/resp_reader.h"
#include "wire/script.h"

int64_t sim_clock_at(const struct sim_clock *clock, int64_t true_us)
{
    int64_t passed = true_us - clock->since_us;

    return clock->base_us + passed + passed * clock->rate_ppm / 1000000;
}

void sim_clock_set(struct sim_clock *clock, int64_t true_us, int64_t shown_us, int64_t rate_ppm)
{
    *clock = (struct sim_clock){.since_us = true_us, .base_us = shown_us, .rate_ppm = rate_ppm};
}

int64_t sim_clock_when(const struct sim_clock *clock, int64_t shown_us)
{
    int64_t wanted = shown_us - clock->base_us;
    int64_t at;

    if (wanted > INT64_MAX / 1000000)
        return INT64_MAX;
    at = clock->since_us + wanted * 1000000 / (1000000 + clock->rate_ppm) - 2;
    while (sim_clock_at(clock, at) < shown_us)
        at++;
    return at;
}

void sim_node_start(struct sim_node *node, uint64_t serial, int64_t true_us)
{
    node->up = true;
    node->boot++;
    node->loaded = 0;
    sim_tracking_forget_all(node);
    node->started_us = sim_clock_at(&node->clock, true_us);
    snprintf(node->run_id, sizeof node->run_id, "%020" PRIx64 "%020d", serial, 0);
    snprintf(node->replid, sizeof node->replid, "%020" PRIx64 "%020d", serial, 1);
    node->promoted = false;
}

void sim_node_promote(struct sim_node *node, uint64_t serial, int64_t true_us)
{
    sim_node_flush(node); /* a copy of another's memory takes the place of its own */
    node->memory = node->kept;
    snprintf(node->replid, sizeof node->replid, "%020" PRIx64 "%020d", serial, 1);
    node->promoted = true;
    node->promoted_us = true_us;
}

static void remove_key(struct sim_node *node, struct sim_key *key)
{
    if (node->removing != NULL)
        node->removing(node->context, node, key);
    sim_tracking_changed(node, key->key);
    key->key[0] = '\0';
}

void sim_node_flush(struct sim_node *node)
{
    for (int i = 0; i < SIM_KEYS_MAX; i++)
        if (node->memory.keys[i].key[0] != '\0' && node->removing != NULL)
            node->removing(node->context, node, &node->memory.keys[i]);
    node->memory = (struct sim_memory){0};
    sim_tracking_flushed(node);
}

int64_t sim_node_up_s(const struct sim_node *node, int64_t true_us)
{
    int64_t up = sim_clock_at(&node->clock, true_us) / 1000000 - node->started_us / 1000000;

    return up > 0 ? up : 0;
}

/* ---- keys ---- */

struct sim_key *sim_node_find(struct sim_node *node, const char *key)
{
    for (int i = 0; i < SIM_KEYS_MAX; i++)
        if (node->memory.keys[i].key[0] != '\0' && strcmp(node->memory.keys[i].key, key) == 0)
            return &node->memory.keys[i];
    return NULL;
}

static bool has_ended(const struct sim_key *key, int64_t now_us)
{
    return key->end_ms != 0 && now_us / 1000 > key->end_ms;
}

static struct sim_key *find_living(struct sim_node *node, int64_t now_us, const char *key)
{
    struct sim_key *found = sim_node_find(node, key);

    if (found != NULL && has_ended(found, now_us)) {
        remove_key(node, found);
        return NULL;
    }
    return found;
}

const char *sim_node_get(struct sim_node *node, int64_t now_us, const char *key)
{
    struct sim_key *found = find_living(node, now_us, key);

    return found != NULL && found->type == SIM_TEXT ? found->value : NULL;
}

void sim_node_expire(struct sim_node *node, int64_t now_us)
{
    for (int i = 0; i < SIM_KEYS_MAX; i++)
        if (node->memory.keys[i].key[0] != '\0' && has_ended(&node->memory.keys[i], now_us))
            remove_key(node, &node->memory.keys[i]);
}

int64_t sim_node_pttl(struct sim_node *node, int64_t now_us, const char *key)
{
    const struct sim_key *found = find_living(node, now_us, key);

    if (found == NULL)
        return -2;
    return found->end_ms == 0 ? -1 : found->end_ms - now_us / 1000;
}

static struct sim_key *write_key(struct sim_node *node, const char *key, const char *value, int64_t end_ms)
{
    struct sim_key *place = sim_node_find(node, key);

    for (int i = 0; place == NULL && i < SIM_KEYS_MAX; i++)
        if (node->memory.keys[i].key[0] == '\0')
            place = &node->memory.keys[i];
    if (place == NULL)
        abort(); /* the table was born with room for every name there is */
    if (place->value != value)
        rl_text_copy(place->value, sizeof place->value, value);
    if (place->key != key)
        rl_text_copy(place->key, sizeof place->key, key);
    place->type = SIM_TEXT;
    place->end_ms = end_ms;
    sim_tracking_changed(node, place->key);
    return place;
}

void sim_node_set(struct sim_node *node, const char *key, const char *value, int64_t end_ms)
{
    const struct sim_key *place = write_key(node, key, value, end_ms);

    if (node->wrote != NULL)
        node->wrote(node->context, node, key, place->value);
}

void sim_node_set_holds(struct sim_node *node, const char *key, int64_t end_ms)
{
    write_key(node, key, "00000000000000000000000000000000", end_ms)->type = SIM_HOLDS;
}

bool sim_node_set_hash(struct sim_node *node, int64_t now_us, const char *key, int64_t end_ms)
{
    if (find_living(node, now_us, key) != NULL)
        return false;
    write_key(node, key, "00000000000000000000000000000000", end_ms)->type = SIM_HASH;
    return true;
}

bool sim_node_remove(struct sim_node *node, const char *key)
{
    struct sim_key *found = sim_node_find(node, key);

    if (found != NULL)
        remove_key(node, found);
    return found != NULL;
}

/* ---- replies ---- */

/* Without snprintf: a tenth of all that a run computes went there. */
static void reply_head(struct rl_writer *reply, const char *mark, int64_t value)
{
    char line[32];
    struct rl_text text = rl_text_on(line, sizeof line);

    rl_text_add(&text, mark);
    rl_text_add_integer(&text, value);
    rl_text_add(&text, "\r\n");
    rl_write_raw(reply, line, text.length);
}

void sim_reply_integer(struct rl_writer *reply, int64_t value)
{
    reply_head(reply, ":", value);
}

void sim_reply_text(struct rl_writer *reply, const char *text)
{
    size_t length = strlen(text);

    reply_head(reply, "$", (int64_t)length);
    rl_write_raw(reply, text, length);
    rl_write_raw(reply, "\r\n", 2);
}

void sim_reply_array(struct rl_writer *reply, uint32_t count)
{
    reply_head(reply, "*", count);
}

static void reply_line(struct rl_writer *reply, const char *line)
{
    rl_write_raw(reply, line, strlen(line));
}

/* ---- commands ---- */

static const struct {
    const struct rl_script *script;
    void (*run)(struct sim_call *call);
} scripts[] = {
    {&rl_script_raise, sim_script_raise},
    {&rl_script_extend, sim_script_extend},
    {&rl_script_release, sim_script_release},
    {&rl_script_admit, sim_script_admit},
    {&rl_script_line, sim_script_line},
    {&rl_script_release_many, sim_script_release_many},
    {&rl_script_search, sim_script_search},
    {&rl_script_ask, sim_script_ask},
    {&rl_script_share, sim_script_share},
    {&rl_script_extend_shared, sim_script_extend_shared},
    {&rl_script_look, sim_script_look},
    {&rl_script_hand_on, sim_script_hand_on},
    {&rl_script_ask_many, sim_script_ask_many},
    {&rl_script_hand_on_many, sim_script_hand_on_many},
    {&rl_script_ask_names, sim_script_ask_names},
    {&rl_script_raise_names, sim_script_raise_names},
    {&rl_script_extend_names, sim_script_extend_names},
    {&rl_script_hand_on_names, sim_script_hand_on_names},
    {&rl_script_slots_ask, sim_script_slots_ask},
    {&rl_script_slots_hand_on, sim_script_slots_hand_on},
    {&rl_script_slots_extend, sim_script_slots_extend},
    {&rl_script_slots_raise, sim_script_slots_raise},
};

static bool is_text(const struct rl_resp *item, const char *text, size_t length)
{
    return item->text_length == length && memcmp(item->text, text, length) == 0;
}

/* Which script it is, -1 none of ours. */
static int find_script(const struct rl_resp *item, bool full)
{
    for (int i = 0; i < (int)(sizeof scripts / sizeof scripts[0]); i++) {
        const struct rl_script *script = scripts[i].script;

        if (full ? is_text(item, script->text, script->text_length)
                 : is_text(item, script->digest, sizeof script->digest - 1))
            return i;
    }
    return -1;
}

/* EVAL and EVALSHA: script, number of keys, keys and arguments. */
static void run_script(struct sim_call *call, const struct rl_resp *items, uint32_t count)
{
    bool full = is_text(&items[0], "EVAL", 4);
    int script = find_script(&items[1], full);
    static char texts[65536];
    size_t used = 0;

    if (script < 0 || (!full && (call->node->loaded & 1U << script) == 0)) {
        reply_line(call->reply, "-NOSCRIPT No matching script. Please use EVAL.\r\n");
        return;
    }
    call->node->loaded |= 1U << script;
    call->count = count - 3;
    call->key_count = (uint32_t)strtoul(items[2].text, NULL, 10);
    for (uint32_t i = 3; i < count; i++) {
        if (used + items[i].text_length + 1 > sizeof texts)
            abort(); /* all that a client of the simulator sends is short */
        call->arguments[i - 3] = memcpy(texts + used, items[i].text, items[i].text_length);
        texts[used + items[i].text_length] = '\0';
        used += items[i].text_length + 1;
    }
    scripts[script].run(call);
}

static void copy_text(char *target, size_t size, const struct rl_resp *item)
{
    size_t length = item->text_length < size - 1 ? item->text_length : size - 1;

    memcpy(target, item->text, length);
    target[length] = '\0';
}

/* INFO, what matters of it. */
static void run_info(struct sim_call *call)
{
    const struct sim_node *node = call->node;
    int64_t up_s = call->now_us / 1000000 - node->started_us / 1000000;
    char text[512];
    int length = snprintf(text, sizeof text,
                          "redis_version:7.0.15\r\nrun_id:%s\r\nuptime_in_seconds:%" PRId64
                          "\r\nmaxmemory:0\r\nrole:master\r\nmaster_replid2:%040d\r\n",
                          node->run_id, up_s > 0 ? up_s : 0, node->promoted ? 1 : 0);

    if (node->bug != SIM_BUG_PROMOTION_UNSEEN)
        snprintf(text + length, sizeof text - (size_t)length, "master_replid:%s\r\n", node->replid);
    sim_reply_text(call->reply, text);
}

/* HELLO 3. An old node does not know it. */
static void run_hello(struct sim_call *call)
{
    if (call->node->old)
        reply_line(call->reply, "-ERR unknown command 'HELLO'\r\n");
    else
        reply_line(call->reply,
                   "%4\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$6\r\n7.0.15\r\n$5\r\nproto\r\n:3"
                   "\r\n$4\r\nrole\r\n$6\r\nmaster\r\n");
}

/* Planted bug: what stands in for releases that travel alone. */
static void run_noop(struct sim_call *call, const struct rl_resp *items)
{
    uint32_t count = (uint32_t)strtoul(items[1].text, NULL, 10);

    if (count > 1)
        sim_reply_array(call->reply, count);
    for (uint32_t i = 0; i < count; i++)
        sim_reply_integer(call->reply, 1);
}

/* SET key value NX PX ttl, GETRANGE key 0 n, PTTL key. */
static void run_plain(struct sim_call *call, const struct rl_resp *items, uint32_t count)
{
    char key[SIM_KEY_SIZE], value[SIM_VALUE_SIZE];
    const char *held;
    bool there;

    copy_text(key, sizeof key, &items[1]);
    held = sim_node_get(call->node, call->now_us, key);
    there = sim_node_find(call->node, key) != NULL;
    if (is_text(&items[0], "PTTL", 4)) {
        sim_reply_integer(call->reply, sim_node_pttl(call->node, call->now_us, key));
        sim_tracking_read(call->node, key);
    } else if (is_text(&items[0], "GETRANGE", 8) && there && held == NULL) {
        reply_line(call->reply, SIM_WRONG_TYPE);
        sim_tracking_read(call->node, key);
    } else if (is_text(&items[0], "GETRANGE", 8)) {
        sim_reply_text(call->reply, held != NULL ? held : "");
        sim_tracking_read(call->node, key);
    } else if (is_text(&items[0], "SET", 3) && count == 6 && there) {
        reply_line(call->reply, "$-1\r\n");
    } else if (is_text(&items[0], "SET", 3) && count == 6) {
        copy_text(value, sizeof value, &items[2]);
        sim_node_set(call->node, key, value, call->now_us / 1000 + strtoll(items[5].text, NULL, 10));
        reply_line(call->reply, "+OK\r\n");
    } else {
        reply_line(call->reply, "-ERR unknown command\r\n");
    }
}

/* CLIENT TRACKING ON OPTIN, CLIENT TRACKING OFF, CLIENT CACHING YES. */
static void run_client(struct sim_call *call, const struct rl_resp *items)
{
    char word[16];

    copy_text(word, sizeof word, &items[1]);
    if (strcmp(word, "SETNAME") == 0) {
        reply_line(call->reply, "+OK\r\n");
        return;
    }
    sim_tracking_command(call->node, word, is_text(&items[2], "ON", 2), call->reply);
}

static void run_command(struct sim_call *call, const struct rl_resp *items, uint32_t count)
{
    char channel[SIM_KEY_SIZE];

    if (is_text(&items[0], "CLIENT", 6) && count >= 3) {
        run_client(call, items);
        return;
    }
    if (is_text(&items[0], "HELLO", 5)) {
        run_hello(call);
        return;
    }
    if (is_text(&items[0], "SUBSCRIBE", 9) && count == 2 && !call->node->old) {
        copy_text(channel, sizeof channel, &items[1]);
        sim_subscribe(call->node, channel, call->reply);
        return;
    }
    if (is_text(&items[0], "EVAL", 4) || is_text(&items[0], "EVALSHA", 7))
        run_script(call, items, count);
    else if (is_text(&items[0], "INFO", 4))
        run_info(call);
    else if (is_text(&items[0], "NOOP", 4))
        run_noop(call, items);
    else
        run_plain(call, items, count);
    sim_tracking_served(call->node);
}

/* What it published to the peer that is being served: servers differ in whether that comes before the reply,
 * which begins here. */
static void add_own(struct sim_node *node, size_t begin, struct rl_writer *reply)
{
    size_t end = reply->length, length = node->own_length;

    node->own_length = 0;
    rl_write_raw(reply, node->own, length);
    if (!node->own_first || length == 0 || reply->overflow)
        return;
    memmove(reply->bytes + begin + length, reply->bytes + begin, end - begin);
    memcpy(reply->bytes + begin, node->own, length);
}

void sim_node_run(struct sim_node *node, int64_t now_us, const char *bytes, size_t length,
                  struct rl_writer *reply)
{
    struct rl_resp head, items[3 + SIM_ARGUMENTS_MAX];
    size_t offset = 0;

    while (offset < length) {
        struct sim_call call = {.node = node, .now_us = now_us, .reply = reply};
        size_t begin = reply->length;

        if (rl_resp_next(bytes, length, &offset, &head) != RL_RESP_OK || head.type != RL_RESP_ARRAY ||
            head.element_count < 1 || head.element_count > 3 + SIM_ARGUMENTS_MAX)
            abort(); /* the client wrote something that is not a command */
        for (uint32_t i = 0; i < head.element_count; i++)
            if (rl_resp_next(bytes, length, &offset, &items[i]) != RL_RESP_OK)
                abort();
        run_command(&call, items, head.element_count);
        add_own(node, begin, reply);
    }
}

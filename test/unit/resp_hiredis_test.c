/*
 * Compares our RESP reader with hiredis on random messages and on random damage to them: the same decision
 * and the same values, or one of the differences that are listed and checked below. It covers RESP2 only,
 * which is what the packaged hiredis speaks. SEED=N repeats one case.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <hiredis/hiredis.h>

#include "base/prng.h"
#include "wire/resp_reader.h"

enum { CASE_COUNT = 100000, DEPTH_MAX = 5, MESSAGE_CAPACITY = 16384, SLACK = 8 };

struct message {
    struct rl_prng prng;
    size_t length;
    char bytes[MESSAGE_CAPACITY + SLACK];
};

static int pick(struct message *message, int low, int high)
{
    return (int)rl_prng_between(&message->prng, low, high);
}

/* ---- making messages ----------------------------------------------------------------------------------- */

static void append_bytes(struct message *message, const char *bytes, size_t length)
{
    if (length > MESSAGE_CAPACITY - message->length)
        return;
    memcpy(message->bytes + message->length, bytes, length);
    message->length += length;
}

static void append_head(struct message *message, char mark, long long number)
{
    char head[32];
    int length = snprintf(head, sizeof(head), "%c%lld\r\n", mark, number);

    append_bytes(message, head, (size_t)length);
}

static void append_integer(struct message *message)
{
    /* As many bits as chance wants, so that short numbers are as frequent as long ones. */
    int shift = pick(message, 0, 63);
    uint64_t bits = rl_prng_next(&message->prng) >> shift;
    long long value = (long long)(bits >> 1);

    append_head(message, ':', (bits & 1) != 0 ? -value - 1 : value);
}

static void append_line(struct message *message, char mark)
{
    char line[64];
    size_t length = (size_t)pick(message, 0, 20);
    size_t i;

    line[0] = mark;
    for (i = 1; i <= length; i++)
        line[i] = (char)pick(message, ' ', 126);
    memcpy(line + 1 + length, "\r\n", 2);
    append_bytes(message, line, length + 3);
}

static void append_bulk(struct message *message)
{
    char bytes[256];
    size_t length = (size_t)pick(message, 0, pick(message, 0, 9) == 0 ? 200 : 12);
    size_t i;

    for (i = 0; i < length; i++)
        bytes[i] = (char)pick(message, 0, 255);
    memcpy(bytes + length, "\r\n", 2);
    append_head(message, '$', (long long)length);
    append_bytes(message, bytes, length + 2);
}

static void append_value(struct message *message, int depth)
{
    int element_count;

    switch (pick(message, 0, depth < DEPTH_MAX ? 8 : 5)) {
    case 0:
        append_line(message, '+');
        break;
    case 1:
        append_line(message, '-');
        break;
    case 2:
        append_head(message, pick(message, 0, 1) == 0 ? '$' : '*', -1);
        break;
    case 3:
        append_bulk(message);
        break;
    case 4:
    case 5:
        append_integer(message);
        break;
    default:
        element_count = pick(message, 0, 4);
        append_head(message, '*', element_count);
        while (element_count-- > 0)
            append_value(message, depth + 1);
    }
}

static void make_message(struct message *message, uint64_t seed)
{
    message->prng = rl_prng_seed(seed);
    message->length = 0;
    append_value(message, 0);
}

/* Bytes that mean something to a reader come up more often than others. */
static char pick_byte(struct message *message)
{
    static const char marks[] = "\r\n+-:$*0123456789 ";

    return pick(message, 0, 9) == 0 ? (char)pick(message, 0, 255)
                                    : marks[pick(message, 0, sizeof(marks) - 2)];
}

static void damage_message(struct message *message)
{
    size_t at = (size_t)pick(message, 0, (int)message->length - 1);
    char *spot = message->bytes + at;
    size_t after = message->length - at;

    switch (pick(message, 0, 3)) {
    case 0: /* another byte */
        *spot = pick_byte(message);
        break;
    case 1: /* a byte less */
        memmove(spot, spot + 1, after - 1);
        message->length--;
        break;
    case 2: /* a byte more */
        if (message->length < MESSAGE_CAPACITY) {
            memmove(spot + 1, spot, after);
            *spot = pick_byte(message);
            message->length++;
        }
        break;
    default: /* the end is missing */
        message->length = at;
    }
}

/* ---- asking hiredis ------------------------------------------------------------------------------------ */

struct answer {
    enum rl_resp_status status;
    size_t end;        /* of the message, when it is OK */
    redisReply *reply; /* freed by forget_answer() */
};

/* What hiredis says to the bytes, and to `more` after them. */
static struct answer ask_hiredis(const char *bytes, size_t length, const char *more)
{
    redisReader *reader = redisReaderCreate();
    struct answer answer = {.status = RL_RESP_BAD};
    void *reply = NULL;

    assert_non_null(reader);
    redisReaderFeed(reader, bytes, length);
    redisReaderFeed(reader, more, strlen(more));
    if (redisReaderGetReply(reader, &reply) == REDIS_OK) {
        answer.status = reply != NULL ? RL_RESP_OK : RL_RESP_MORE;
        answer.reply = reply;
        answer.end = length + strlen(more) - (reader->len - reader->pos);
    }
    redisReaderFree(reader);
    return answer;
}

static void forget_answer(struct answer *answer)
{
    if (answer->reply != NULL)
        freeReplyObject(answer->reply);
}

static enum rl_resp_status hiredis_status(const char *bytes, size_t length, const char *more)
{
    struct answer answer = ask_hiredis(bytes, length, more);

    forget_answer(&answer);
    return answer.status;
}

/* ---- comparing ----------------------------------------------------------------------------------------- */

static bool same_text(const struct rl_resp *item, const redisReply *reply)
{
    return item->text_length == (size_t)reply->len && memcmp(item->text, reply->str, item->text_length) == 0;
}

static bool same_item(const struct rl_resp *item, const redisReply *reply)
{
    switch (reply->type) {
    case REDIS_REPLY_STRING:
    case REDIS_REPLY_STATUS:
        return item->type == RL_RESP_STRING && same_text(item, reply);
    case REDIS_REPLY_ERROR:
        return item->type == RL_RESP_ERROR && same_text(item, reply);
    case REDIS_REPLY_INTEGER:
        return item->type == RL_RESP_INTEGER && item->integer == reply->integer;
    case REDIS_REPLY_NIL:
        return item->type == RL_RESP_NULL;
    default:
        return item->type == RL_RESP_ARRAY && item->element_count == reply->elements;
    }
}

static bool same_value(const struct message *message, const redisReply *reply, size_t *offset)
{
    struct rl_resp item;
    size_t i;

    if (rl_resp_next(message->bytes, message->length, offset, &item) != RL_RESP_OK ||
        !same_item(&item, reply))
        return false;
    for (i = 0; reply->type == REDIS_REPLY_ARRAY && i < reply->elements; i++)
        if (!same_value(message, reply->element[i], offset))
            return false;
    return true;
}

/* ---- the differences ----------------------------------------------------------------------------------- */

/* Where the first item starts that our reader does not accept by itself; `length` when there is none. */
static size_t find_refused(const struct message *message)
{
    struct rl_resp item;
    size_t offset = 0;

    while (rl_resp_next(message->bytes, message->length, &offset, &item) == RL_RESP_OK)
        continue;
    return offset;
}

/* Where the item starts that makes hiredis refuse the message. It may be one that we are still waiting
 * for. */
static size_t find_refused_by_hiredis(const struct message *message)
{
    struct rl_resp item;
    size_t start = 0;
    size_t offset = 0;

    while (rl_resp_next(message->bytes, message->length, &offset, &item) == RL_RESP_OK &&
           hiredis_status(message->bytes, offset, "") != RL_RESP_BAD)
        start = offset;
    return start;
}

/* hiredis takes any two bytes for the CRLF that ends a bulk string. A reader that does so has lost its place
 * in the stream and does not know it, so ours refuses. */
static bool is_bulk_without_end(const struct message *message)
{
    size_t at = find_refused(message);
    unsigned long size;
    char *body;

    if (at == message->length || message->bytes[at] != '$')
        return false;
    size = strtoul(message->bytes + at + 1, &body, 10);
    if (memcmp(body, "\r\n", 2) != 0 || (size_t)(body - message->bytes) + 2 + size + 2 > message->length)
        return false;
    return memcmp(body + 2 + size, "\r\n", 2) != 0;
}

/* hiredis looks at a number once its line is there; ours at every digit. Given the CRLF, hiredis refuses it
 * too. */
static bool is_number_refused_early(const struct message *message)
{
    size_t at = find_refused(message);

    return at < message->length && strchr(":$*", message->bytes[at]) != NULL &&
           hiredis_status(message->bytes, message->length, "\r\n") == RL_RESP_BAD;
}

/* hiredis waits for strings of any size and for any number of elements; ours for no more than the limits. A
 * few digits of damage make a number that large. */
static bool is_beyond_limits(const struct message *message)
{
    const unsigned long long large = RL_RESP_MESSAGE_MAX / 4;
    struct rl_resp item;
    size_t offset = 0;

    while (rl_resp_next(message->bytes, message->length, &offset, &item) == RL_RESP_OK)
        if (item.element_count > large)
            return true;
    return strchr("$*", message->bytes[offset]) != NULL &&
           strtoull(message->bytes + offset + 1, NULL, 10) > large;
}

/* hiredis knows RESP2 only, and neither the plus sign nor the leading zeros that the protocol allows; and it
 * counts a null array as one more level of nesting. Exactly such an item must be what it refuses. */
static bool is_unknown_to_hiredis(const struct message *message)
{
    const char *head = message->bytes + find_refused_by_hiredis(message);

    if (strchr("_#,(~%>|!=", head[0]) != NULL)
        return true;
    if (strchr(":$*", head[0]) == NULL)
        return false;
    if (memcmp(head, "*-1\r\n", 5) == 0)
        return true;
    return head[1] == '+' || head[1] == '0' || (head[1] == '-' && head[2] == '0');
}

static bool is_known_difference(const struct message *message, enum rl_resp_status ours,
                                enum rl_resp_status theirs)
{
    if (theirs == RL_RESP_BAD)
        return is_unknown_to_hiredis(message);
    if (ours != RL_RESP_BAD)
        return false;
    if (is_bulk_without_end(message))
        return true;
    return theirs == RL_RESP_MORE && (is_number_refused_early(message) || is_beyond_limits(message));
}

/* ---- the tests ----------------------------------------------------------------------------------------- */

static void fail_case(const struct message *message, uint64_t seed, const char *what)
{
    size_t i;

    print_error("%s; repeat with SEED=%llu\n", what, (unsigned long long)seed);
    for (i = 0; i < message->length; i++)
        print_error(message->bytes[i] >= ' ' && message->bytes[i] <= '~' ? "%c" : "\\x%02x",
                    (unsigned char)message->bytes[i]);
    fail_msg("%s", "");
}

/* Returns whether both took the same decision. */
static bool compare_message(struct message *message, uint64_t seed)
{
    struct answer theirs = ask_hiredis(message->bytes, message->length, "");
    size_t end = 0, offset = 0;
    enum rl_resp_status ours = rl_resp_skip(message->bytes, message->length, &end);
    bool same = ours == theirs.status;

    /* Looking for the difference may look a little beyond the end: at nothing, not at an earlier message. */
    memset(message->bytes + message->length, 0, SLACK);
    if (!same && !is_known_difference(message, ours, theirs.status))
        fail_case(message, seed, "different decisions");
    if (same && ours == RL_RESP_OK && end != theirs.end)
        fail_case(message, seed, "different ends");
    if (same && ours == RL_RESP_OK && !same_value(message, theirs.reply, &offset))
        fail_case(message, seed, "different values");
    forget_answer(&theirs);
    return same;
}

static void first_and_last_seed(uint64_t *first, uint64_t *last)
{
    const char *text = getenv("SEED");

    *first = text != NULL ? strtoull(text, NULL, 10) : 1;
    *last = text != NULL ? *first : CASE_COUNT;
}

static void hiredis_reads_the_same_from_good_messages(void **state)
{
    static struct message message;
    uint64_t seed, last;

    (void)state;
    for (first_and_last_seed(&seed, &last); seed <= last; seed++) {
        size_t end = 0;

        make_message(&message, seed);
        if (rl_resp_skip(message.bytes, message.length, &end) != RL_RESP_OK || end != message.length)
            fail_case(&message, seed, "a good message was refused");
        if (!compare_message(&message, seed))
            fail_case(&message, seed, "hiredis refuses a good message");
    }
}

static void hiredis_judges_damaged_messages_alike(void **state)
{
    static struct message message;
    uint64_t seed, last, first;
    size_t same_count = 0;

    (void)state;
    first_and_last_seed(&first, &last);
    for (seed = first; seed <= last; seed++) {
        int damage_count;

        make_message(&message, seed);
        for (damage_count = pick(&message, 1, 3); damage_count > 0 && message.length > 0; damage_count--)
            damage_message(&message);
        same_count += compare_message(&message, seed);
    }
    /* The listed differences are exceptions: most cases must have been compared in earnest. */
    assert_true(first == last || same_count > (last - first) * 8 / 10);
}

#define NESTED_8 "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n"

/* Each listed difference, shown once. */
static void the_listed_differences_are_real(void **state)
{
    static const struct {
        const char *bytes;
        enum rl_resp_status ours, theirs;
    } differences[] = {
        {"$3\r\nabcXY", RL_RESP_BAD, RL_RESP_OK},
        {":12x", RL_RESP_BAD, RL_RESP_MORE},
        {"$99999\r\n", RL_RESP_BAD, RL_RESP_MORE},
        {"*30000\r\n", RL_RESP_BAD, RL_RESP_MORE},
        {":+5\r\n", RL_RESP_OK, RL_RESP_BAD},
        {":05\r\n", RL_RESP_OK, RL_RESP_BAD},
        {":-0\r\n", RL_RESP_OK, RL_RESP_BAD},
        {"$01\r\na\r\n", RL_RESP_OK, RL_RESP_BAD},
        {NESTED_8 "*-1\r\n", RL_RESP_OK, RL_RESP_BAD},
        {"_\r\n", RL_RESP_OK, RL_RESP_BAD},
        {"#", RL_RESP_MORE, RL_RESP_BAD},
    };
    static struct message message;
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(differences) / sizeof(differences[0]); i++) {
        size_t end = 0;

        message.length = strlen(differences[i].bytes);
        memset(message.bytes, 0, sizeof(message.bytes));
        memcpy(message.bytes, differences[i].bytes, message.length);
        assert_int_equal(rl_resp_skip(message.bytes, message.length, &end), differences[i].ours);
        assert_int_equal(hiredis_status(message.bytes, message.length, ""), differences[i].theirs);
        assert_true(is_known_difference(&message, differences[i].ours, differences[i].theirs));
    }
}

static void a_message_fed_byte_by_byte_is_complete_at_its_last(void **state)
{
    static struct message message;
    uint64_t seed;

    (void)state;
    for (seed = 1; seed <= 300; seed++) {
        size_t length;
        size_t end = 0;

        make_message(&message, seed);
        for (length = 0; length < message.length; length++)
            if (rl_resp_skip(message.bytes, length, &end) != RL_RESP_MORE)
                fail_case(&message, seed, "decided before the end");
        assert_int_equal(rl_resp_skip(message.bytes, length, &end), RL_RESP_OK);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hiredis_reads_the_same_from_good_messages),
        cmocka_unit_test(hiredis_judges_damaged_messages_alike),
        cmocka_unit_test(the_listed_differences_are_real),
        cmocka_unit_test(a_message_fed_byte_by_byte_is_complete_at_its_last),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

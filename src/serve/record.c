/*
 * Records of Idempotency-Keys; see record.h.
 *
 * The owner values of a record and of the lease that it tells of are made by the same client for the same
 * request. So they differ only in what the record's tag has of the lease: its random part, since when, and
 * its TTL. The rest is read off the record's own owner value.
 */
#include "serve/record.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <openssl/sha.h>

#include "serve/lock_name.h"

#define RANDOM_HEX 32 /* characters of an owner value that are chance */

enum { RANDOM_BYTES = RANDOM_HEX / 2 };

/* What a record's tag has behind the wish's own, which has both digests. */
struct record_tag {
    unsigned char random[RANDOM_BYTES];
    unsigned char since_ms[8], ttl_ms[4], fence[8]; /* big-endian */
};

_Static_assert((int)sizeof(struct record_tag) + SERVE_KEY_TAG_MAX <= REDLOCK_TAG_MAX, "a tag has room");

bool serve_record_is_needed(const struct serve_wish *wish)
{
    return wish->tag_length > 0 && (wish->kind == REDLOCK_SHARED || wish->kind == REDLOCK_SEMAPHORE);
}

void serve_record_name(const struct serve_wish *wish, char name[SERVE_RECORD_NAME_SIZE])
{
    unsigned char digest[SHA256_DIGEST_LENGTH], text[SERVE_KEY_BYTES + REDLOCK_NAME_MAX];
    int used = snprintf(name, SERVE_RECORD_NAME_SIZE, SERVE_KEY_PREFIX);

    memcpy(text, serve_key_digest(wish), SERVE_KEY_BYTES);
    memcpy(text + SERVE_KEY_BYTES, wish->name, wish->name_length);
    SHA256(text, SERVE_KEY_BYTES + wish->name_length, digest);
    for (size_t i = 0; i < 16; i++)
        used += snprintf(name + used, SERVE_RECORD_NAME_SIZE - (size_t)used, "%02x", digest[i]);
}

static void put_number(unsigned char *bytes, size_t count, uint64_t number)
{
    for (size_t i = count; i > 0; i--, number >>= 8)
        bytes[i - 1] = (unsigned char)(number & 255);
}

static uint64_t get_number(const unsigned char *bytes, size_t count)
{
    uint64_t number = 0;

    for (size_t i = 0; i < count; i++)
        number = number << 8 | bytes[i];
    return number;
}

static int hex_value(char digit)
{
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

static bool read_random(const char *owner, size_t length, unsigned char random[RANDOM_BYTES])
{
    for (size_t i = 0; i < RANDOM_BYTES; i++) {
        int high = length < RANDOM_HEX ? -1 : hex_value(owner[2 * i]);
        int low = high < 0 ? -1 : hex_value(owner[2 * i + 1]);
        if (low < 0)
            return false;
        random[i] = (unsigned char)(high * 16 + low);
    }
    return true;
}

size_t serve_record_tag(const struct serve_wish *wish, redlock_lock *lock, unsigned char tag[REDLOCK_TAG_MAX])
{
    struct record_tag record = {0};
    redlock_holder holder;
    size_t length;
    const char *owner = redlock_lock_owner(lock, &length);

    redlock_holder_parse(owner, length, &holder);
    if (!read_random(owner, length, record.random))
        return 0;
    put_number(record.since_ms, sizeof record.since_ms, (uint64_t)holder.since_ms);
    put_number(record.ttl_ms, sizeof record.ttl_ms, (uint64_t)holder.ttl_ms);
    put_number(record.fence, sizeof record.fence, redlock_lock_fence(lock));
    memcpy(tag, wish->tag, wish->tag_length);
    memcpy(tag + wish->tag_length, &record, sizeof record);
    return wish->tag_length + sizeof record;
}

static void write_hex(char *to, const unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        snprintf(to + 2 * i, 3, "%02x", bytes[i]);
}

/* Copies one field with its leading bar, with another number in it if it is `since` or `ttl`. */
static int copy_field(char *to, size_t room, struct serve_text field, const struct record_tag *tag)
{
    if (field.length > 7 && memcmp(field.bytes, "|since=", 7) == 0)
        return snprintf(to, room, "|since=%" PRIu64, get_number(tag->since_ms, sizeof tag->since_ms));
    if (field.length > 5 && memcmp(field.bytes, "|ttl=", 5) == 0)
        return snprintf(to, room, "|ttl=%" PRIu64, get_number(tag->ttl_ms, sizeof tag->ttl_ms));
    return snprintf(to, room, "%.*s", (int)field.length, field.bytes);
}

bool serve_record_read(const char *text, size_t length, struct serve_recorded *recorded)
{
    size_t own = SERVE_KEY_TAG_MAX, room = sizeof recorded->owner;
    const char *end = text + length, *bar;
    struct record_tag tag;
    redlock_holder holder;
    int used;

    redlock_holder_parse(text, length, &holder);
    if (length > REDLOCK_OWNER_MAX || holder.tag_length != own + sizeof tag)
        return false;
    memcpy(&tag, holder.tag + own, sizeof tag);
    write_hex(recorded->owner, tag.random, RANDOM_BYTES);
    used = RANDOM_HEX + snprintf(recorded->owner + RANDOM_HEX, room - RANDOM_HEX, "|tag=");
    write_hex(recorded->owner + used, holder.tag, own);
    used += (int)(2 * own);
    bar = memchr(text, '|', length);                                          /* of the tag */
    bar = bar == NULL ? NULL : memchr(bar + 1, '|', (size_t)(end - bar - 1)); /* of what comes next */
    while (bar != NULL) {
        const char *next = memchr(bar + 1, '|', (size_t)(end - bar - 1));
        struct serve_text field = {bar, (size_t)((next == NULL ? end : next) - bar)};
        used += copy_field(recorded->owner + used, room - (size_t)used, field, &tag);
        if ((size_t)used >= room)
            return false;
        bar = next;
    }
    recorded->owner_length = (size_t)used;
    recorded->fence = get_number(tag.fence, sizeof tag.fence);
    memcpy(recorded->record, text, length);
    recorded->record[length] = '\0';
    recorded->record_length = length;
    return true;
}

bool serve_record_find(const struct serve_wish *wish, const redlock_report *report,
                       struct serve_recorded *recorded)
{
    redlock_node_report node = REDLOCK_NODE_REPORT_INIT;
    redlock_holder holder;

    for (uint32_t i = 0; redlock_report_node(report, i, &node); i++) {
        if (node.owner == NULL)
            continue;
        redlock_holder_parse(node.owner, node.owner_length, &holder);
        if (strcmp(holder.id, report->holder.id) != 0 || !serve_key_is_same(wish, &holder))
            continue;
        recorded->same_lock =
            holder.tag_length >= wish->tag_length && memcmp(holder.tag, wish->tag, wish->tag_length) == 0;
        return serve_record_read(node.owner, node.owner_length, recorded);
    }
    return false;
}

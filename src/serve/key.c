/*
 * Idempotency-Keys; see key.h.
 */
#include "serve/key.h"

#include <stdio.h>
#include <string.h>

#include <openssl/sha.h>

#define KEY_MAX 255

enum { KEY_AT = SERVE_TAG_MARK_LENGTH, WHICH_AT = KEY_AT + SERVE_KEY_BYTES };

_Static_assert((int)SERVE_KEY_TAG_MAX <= SERVE_TAG_MAX, "a wish has room");

/* ---- the key of a request ------------------------------------------------------------------------------ */

static bool is_plain(const struct serve_wish *wish)
{
    return (wish->kind == REDLOCK_EXCLUSIVE || wish->kind == REDLOCK_FAIR) && wish->also_count == 0;
}

/* All of them fit, since the names of also are bounded together. */
static void digest_which(const struct serve_wish *wish, unsigned char digest[SHA256_DIGEST_LENGTH])
{
    char text[SERVE_ALSO_BYTES_MAX + 32 * REDLOCK_NAMES_MAX];
    int used =
        snprintf(text, sizeof text, "%d %u", wish->kind == REDLOCK_FAIR ? 0 : (int)wish->kind, wish->permits);

    for (uint32_t i = 0; i < wish->also_count; i++) {
        used += snprintf(text + used, sizeof text - (size_t)used, " %zu:", wish->also[i].length);
        memcpy(text + used, wish->also[i].name, wish->also[i].length);
        used += (int)wish->also[i].length;
    }
    SHA256((const unsigned char *)text, (size_t)used, digest);
}

/* The same key of somebody else is another key. */
bool serve_key_read(struct serve_exchange *exchange, struct serve_wish *wish)
{
    struct serve_text key = serve_request_field(exchange->request, "idempotency-key");
    unsigned char digest[SHA256_DIGEST_LENGTH];
    char text[KEY_MAX + 128];

    if (key.bytes == NULL)
        return true;
    for (size_t i = 0; i < key.length; i++)
        if (key.bytes[i] <= ' ' || key.bytes[i] > '~')
            return serve_refuse(exchange, SERVE_INVALID,
                                "the Idempotency-Key has a character in it that is not visible ASCII");
    if (key.length == 0 || key.length > KEY_MAX)
        return serve_refuse(exchange, SERVE_INVALID, "the Idempotency-Key is empty or longer than 255 bytes");
    int length =
        snprintf(text, sizeof text, "%s\n%.*s", exchange->principal->name, (int)key.length, key.bytes);
    SHA256((const unsigned char *)text, (size_t)length, digest);
    memcpy(wish->tag, SERVE_TAG_MARK, SERVE_TAG_MARK_LENGTH);
    memcpy(wish->tag + KEY_AT, digest, SERVE_KEY_BYTES);
    wish->tag_length = WHICH_AT;
    if (is_plain(wish))
        return true;
    digest_which(wish, digest);
    memcpy(wish->tag + WHICH_AT, digest, SERVE_KEY_WHICH_BYTES);
    wish->tag_length = SERVE_KEY_TAG_MAX;
    return true;
}

const unsigned char *serve_key_digest(const struct serve_wish *wish)
{
    return wish->tag + KEY_AT;
}

bool serve_key_is_same(const struct serve_wish *wish, const redlock_holder *holder)
{
    return wish->tag_length > 0 && holder->tag_length >= WHICH_AT &&
           memcmp(holder->tag, wish->tag, WHICH_AT) == 0;
}

bool serve_key_is_same_lock(const struct serve_wish *wish, const redlock_holder *holder)
{
    return wish->tag_length > 0 && holder->tag_length == wish->tag_length &&
           memcmp(holder->tag, wish->tag, wish->tag_length) == 0;
}

/* ---- fences -------------------------------------------------------------------------------------------- */

static struct serve_key *key_place(struct serve_server *server, const struct serve_wish *wish)
{
    uint32_t hash;

    memcpy(&hash, serve_key_digest(wish), sizeof hash);
    return &server->keys[hash % SERVE_KEYS_MAX];
}

void serve_key_keep_fence(struct serve_server *server, const struct serve_wish *wish, redlock_lock *lock)
{
    struct serve_key *key = key_place(server, wish);

    memcpy(key->digest, serve_key_digest(wish), sizeof key->digest);
    snprintf(key->owner, sizeof key->owner, "%.8s", redlock_lock_owner(lock, NULL));
    key->fence = redlock_lock_fence(lock);
}

uint64_t serve_key_recall_fence(struct serve_server *server, const struct serve_wish *wish,
                                const redlock_holder *holder)
{
    const struct serve_key *key = key_place(server, wish);
    bool same = memcmp(key->digest, serve_key_digest(wish), sizeof key->digest) == 0 &&
                strcmp(key->owner, holder->id) == 0;

    return same ? key->fence : 0;
}

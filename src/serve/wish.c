/*
 * What is asked for with a lock; see wish.h.
 */
#include "serve/wish.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The library keeps its own records under these. */
static bool is_reserved(const struct serve_server *server, struct serve_text name)
{
    static const char *const reserved[] = {
        "redlock-guard:", "redlock-fence:", "redlock-line:", "redlock-mark:"};
    const char *prefix = server->settings->key_prefix == NULL ? "" : server->settings->key_prefix;
    char key[64];

    snprintf(key, sizeof key, "%.40s%.*s", prefix, (int)(name.length < 20 ? name.length : 20), name.bytes);
    for (size_t i = 0; i < sizeof reserved / sizeof reserved[0]; i++)
        if (strncmp(key, reserved[i], strlen(reserved[i])) == 0)
            return true;
    return false;
}

bool serve_wish_check_name(struct serve_exchange *exchange, struct serve_text name)
{
    const char *prefix = exchange->server->settings->key_prefix;

    if (name.length == 0)
        return serve_refuse(exchange, SERVE_INVALID, "the name of the lock is empty");
    if (name.length + (prefix == NULL ? 0 : strlen(prefix)) > REDLOCK_NAME_MAX)
        return serve_refuse(exchange, SERVE_INVALID,
                            "the name of the lock is longer than 1024 bytes, its prefix included");
    if (!serve_text_is_clean(name))
        return serve_refuse(exchange, SERVE_INVALID,
                            "the name of the lock is not UTF-8 without control characters");
    if (is_reserved(exchange->server, name))
        return serve_refuse(exchange, SERVE_INVALID,
                            "names that begin with redlock-guard:, -fence: or -line: are reserved");
    if (!serve_principal_may_name(exchange->principal, name.bytes, name.length))
        return serve_refuse(exchange, SERVE_FORBIDDEN,
                            "the prefix of these credentials does not cover this name");
    return true;
}

void *serve_wish_new(struct serve_exchange *exchange, const char *why, size_t size, size_t offset)
{
    const char *who = exchange->principal->name;
    size_t name_length = exchange->name.length, why_size = strlen(who) + (why == NULL ? 0 : strlen(why)) + 3;
    char *memory = calloc(1, size + name_length + 1 + why_size);

    if (memory == NULL) {
        serve_refuse(exchange, SERVE_OUT_OF_MEMORY, "no memory for the request");
        return NULL;
    }
    struct serve_wish *wish = (struct serve_wish *)(void *)(memory + offset);
    char *texts = memory + size;
    memcpy(texts, exchange->name.bytes, name_length);
    wish->name = texts;
    wish->name_length = name_length;
    wish->why = texts + name_length + 1;
    snprintf(texts + name_length + 1, why_size, "%s%s%s", who, *who == '\0' || why == NULL ? "" : ": ",
             why == NULL ? "" : why);
    return memory;
}

redlock_spec serve_wish_spec(const struct serve_wish *wish)
{
    redlock_spec spec = REDLOCK_SPEC_INIT;

    spec.kind = wish->kind;
    spec.name = wish->name;
    spec.name_length = wish->name_length;
    spec.ttl_ms = wish->ttl_ms;
    spec.why = wish->why;
    if (wish->has_tag) {
        spec.tag = wish->tag;
        spec.tag_length = sizeof wish->tag;
    }
    return spec;
}

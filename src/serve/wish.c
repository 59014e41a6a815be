/*
 * What is asked for with a lock; see wish.h.
 */
#include "serve/wish.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t also_size(const struct serve_which *which)
{
    size_t size = 0;

    for (uint32_t i = 0; which != NULL && i < which->also_count; i++)
        size += sizeof(redlock_name) + which->also[i].length;
    return size;
}

/* Copies the names behind the list of them, and returns the first byte that is free then. */
static char *copy_which(struct serve_wish *wish, const struct serve_which *which, char *memory)
{
    redlock_name *names = (redlock_name *)(void *)memory;

    if (which == NULL)
        return memory;
    wish->kind = which->kind;
    wish->permits = which->permits;
    wish->also_count = which->also_count;
    wish->also = names;
    memory += which->also_count * sizeof *names;
    for (uint32_t i = 0; i < which->also_count; i++) {
        names[i] = (redlock_name){memory, which->also[i].length};
        memcpy(memory, which->also[i].bytes, which->also[i].length);
        memory += which->also[i].length;
    }
    return memory;
}

void *serve_wish_new(struct serve_exchange *exchange, const struct serve_which *which, const char *why,
                     size_t size, size_t offset)
{
    const char *who = exchange->principal->name;
    size_t name_length = exchange->name.length, why_size = strlen(who) + (why == NULL ? 0 : strlen(why)) + 3;

    size = (size + _Alignof(redlock_name) - 1) / _Alignof(redlock_name) * _Alignof(redlock_name);
    char *memory = calloc(1, size + also_size(which) + name_length + 1 + why_size);
    if (memory == NULL) {
        serve_refuse(exchange, SERVE_OUT_OF_MEMORY, "no memory for the request");
        return NULL;
    }
    struct serve_wish *wish = (struct serve_wish *)(void *)(memory + offset);
    char *texts = copy_which(wish, which, memory + size);
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
    spec.tag = wish->tag_length == 0 ? NULL : wish->tag;
    spec.tag_length = wish->tag_length;
    spec.permits = wish->permits;
    spec.also = wish->also_count == 0 ? NULL : wish->also;
    spec.also_count = wish->also_count;
    spec.keep_on_nodes = 1; /* its client may go on with the token at another instance */
    return spec;
}

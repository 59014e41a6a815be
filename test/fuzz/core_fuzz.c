/*
 * Fuzzes the core: the bytes choose the settings and then, step by step, what happens to an acquisition or a
 * lease. The rules of support/core_walk.h must hold after every step. The first byte says which of the two it
 * is.
 */
#include <stdio.h>
#include <stdlib.h>

#include "support/core_walk.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

struct byte_source {
    struct walk_source source; /* first, so that a pointer to it is one to this */
    const uint8_t *bytes;
    size_t size;
    size_t used;
};

static uint32_t next_byte(struct byte_source *from)
{
    return from->used < from->size ? from->bytes[from->used++] : 0;
}

/* Small choices take one byte, large ones two, so that the fuzzer's changes stay local. */
static uint32_t draw(struct walk_source *source, uint32_t bound)
{
    struct byte_source *from = (struct byte_source *)source;
    uint32_t value = next_byte(from);

    if (bound > 256)
        value = value << 8 | next_byte(from);
    return value % bound;
}

static bool more(struct walk_source *source)
{
    const struct byte_source *from = (const struct byte_source *)source;

    return from->used < from->size;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct byte_source from = {{draw, more}, bytes, size, 1};
    const char *broken;

    if (size == 0)
        return 0;
    broken = (bytes[0] & 1) == 0 ? walk_acquire(&from.source) : walk_lease(&from.source);
    if (broken != NULL) {
        fprintf(stderr, "broken: %s\n", broken);
        abort();
    }
    return 0;
}

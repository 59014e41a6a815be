/*
 * Memory, chance, places for timers and words, lent to the other files of the engine; see state.h.
 */
#include "engine/state.h"

#include <assert.h>
#include <stdarg.h>
#include <string.h>

#include "base/format.h"

void *rl_state_allocate(struct rl_engine *engine, size_t size)
{
    return rl_memory_allocate(&engine->host.memory, size);
}

void rl_state_release(struct rl_engine *engine, void *memory, size_t size)
{
    rl_memory_release(&engine->host.memory, memory, size);
}

bool rl_state_reserve_timer(struct rl_engine *engine)
{
    uint32_t capacity = engine->timers.capacity;
    struct rl_timer **larger;

    if (engine->timers_reserved == capacity) {
        uint32_t wanted = capacity == 0 ? 64 : capacity * 2;

        larger = rl_state_allocate(engine, wanted * sizeof *larger);
        if (larger == NULL)
            return false;
        if (engine->timers.count > 0)
            memcpy(larger, engine->timers.heap, engine->timers.count * sizeof *larger);
        rl_state_release(engine, engine->timers.heap, capacity * sizeof *larger);
        engine->timers.heap = larger;
        engine->timers.capacity = wanted;
    }
    engine->timers_reserved++;
    return true;
}

void rl_state_unreserve_timer(struct rl_engine *engine)
{
    assert(engine->timers_reserved > 0);
    engine->timers_reserved--;
}

bool rl_state_random(struct rl_engine *engine, uint8_t *bytes, size_t length)
{
    return engine->host.random(engine->host.context, bytes, length);
}

int64_t rl_state_wall_us(struct rl_engine *engine)
{
    return engine->host.wall_us(engine->host.context);
}

void rl_state_log(struct rl_engine *engine, redlock_log_level level, const char *format, ...)
{
    char line[512], shown[512];
    struct rl_text text = rl_text_on(line, sizeof line);
    struct rl_text printable = rl_text_on(shown, sizeof shown);
    va_list arguments;

    if (engine->host.log == NULL)
        return;
    va_start(arguments, format);
    rl_text_format_list(&text, format, arguments);
    va_end(arguments);
    rl_text_add_printable(&printable, line, text.length); /* names of locks are any bytes */
    engine->host.log(engine->host.context, level, shown);
}

static size_t line_length(const char *text)
{
    size_t length = 0;

    while (text[length] != '\0' && text[length] != '\n')
        length++;
    return length;
}

void rl_state_trace(struct rl_engine *engine, const char *text)
{
    char line[256];

    while (*text != '\0') {
        size_t length = line_length(text);
        struct rl_text cut = rl_text_on(line, sizeof line);

        rl_text_add_bytes(&cut, text, length);
        if (length > 0)
            engine->host.trace(engine->host.context, line);
        text += length + (text[length] == '\n');
    }
}

/*
 * What all files of the service ask of the one process; see server.h.
 */
#include "serve/server.h"

#include <stdarg.h>
#include <stdio.h>
#include <time.h>

void serve_say(const struct serve_server *server, enum serve_level level, const char *format, ...)
{
    char line[512];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    server->settings->say(level, line);
}

int64_t serve_now(struct serve_server *server)
{
    struct timespec now;

    clock_gettime(CLOCK_BOOTTIME, &now);
    server->now_ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
    return server->now_ms;
}

bool serve_may_wait(const struct serve_server *server)
{
    return server->waiting < server->settings->max_waiters;
}

uint32_t serve_hash(const char *bytes, size_t length)
{
    uint32_t hash = 2166136261U; /* FNV-1a */

    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)bytes[i]) * 16777619U;
    return hash;
}

/*
 * Lines that are only added; see journal.h.
 */
#include "journal.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static void give_up(const char *what)
{
    perror(what);
    _exit(1);
}

struct journal journal_open(const char *folder, const char *process)
{
    struct journal journal;
    char path[512];

    snprintf(path, sizeof path, "%s/%s.history", folder, process);
    journal.fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (journal.fd < 0)
        give_up(path);
    return journal;
}

void journal_add(const struct journal *journal, const char *format, ...)
{
    char line[256];
    va_list list;
    int length;

    va_start(list, format);
    length = vsnprintf(line, sizeof line - 1, format, list);
    va_end(list);
    if (length < 0 || length >= (int)sizeof line - 1)
        abort();
    line[length++] = '\n';
    if (write(journal->fd, line, (size_t)length) != length)
        give_up("history");
}

int64_t journal_now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

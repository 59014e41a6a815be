/*
 * The two stores; see store.h. A record is a line of fixed length: fence, r or w, value.
 */
#include "store.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RECORD = 44 }; /* 20 digits, a letter, 20 digits, two spaces and the end of the line */

struct record {
    uint64_t fence, value;
    char kind;
};

const char *store_word(enum store_kind kind)
{
    return kind == STORE_FENCED ? "fenced" : "unfenced";
}

static void give_up(const char *what)
{
    perror(what);
    _exit(1);
}

/* The file with nobody else at it until it is closed: the lock belongs to the open file, not to the
 * process. */
static int open_alone(const char *folder, enum store_kind kind, const char *name)
{
    char path[512];
    int fd;

    snprintf(path, sizeof path, "%s/%s.%s", folder, name, store_word(kind));
    fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0 || flock(fd, LOCK_EX) != 0)
        give_up(path);
    return fd;
}

static struct record last_record(int fd)
{
    struct record record = {.kind = 'w'};
    struct stat status;
    char line[RECORD + 1] = "";

    if (fstat(fd, &status) != 0)
        give_up("store");
    if (status.st_size == 0)
        return record;
    if (pread(fd, line, RECORD, status.st_size - RECORD) != RECORD ||
        sscanf(line, "%" SCNu64 " %c %" SCNu64, &record.fence, &record.kind, &record.value) != 3)
        give_up("store");
    return record;
}

static void add_record(int fd, struct record record)
{
    char line[RECORD + 1];

    snprintf(line, sizeof line, "%020" PRIu64 " %c %020" PRIu64 "\n", record.fence, record.kind,
             record.value);
    if (write(fd, line, RECORD) != RECORD)
        give_up("store");
}

bool store_read(const char *folder, enum store_kind kind, const char *name, uint64_t fence, uint64_t *value)
{
    int fd = open_alone(folder, kind, name);
    struct record last = last_record(fd);
    bool good = kind == STORE_UNFENCED || fence >= last.fence;

    *value = last.value;
    if (kind == STORE_FENCED && fence > last.fence)
        add_record(fd, (struct record){.fence = fence, .kind = 'r', .value = last.value});
    close(fd);
    return good;
}

bool store_write(const char *folder, enum store_kind kind, const char *name, uint64_t fence, uint64_t value)
{
    int fd = open_alone(folder, kind, name);
    bool good = kind == STORE_UNFENCED || fence >= last_record(fd).fence;

    if (good)
        add_record(fd, (struct record){.fence = fence, .kind = 'w', .value = value});
    close(fd);
    return good;
}

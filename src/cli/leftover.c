/*
 * Locks that were still held when the local nodes were stopped: keeps until when, so that nodes started after
 * them do not give the same locks away too early. It knows only times, not names.
 */
#include "cli/leftover.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/clock.h"
#include "cli/output.h"
#include "cli/text.h"

#define ANSWER_MS 500

/* Everything with an end is a lock but what the library keeps beside the locks. */
static const char question[] = "local most = 0 "
                               "for _, key in ipairs(redis.call('KEYS', '*')) do "
                               "if not string.find(key, '^redlock%-') then "
                               "most = math.max(most, redis.call('PTTL', key)) end end "
                               "return most";

int64_t cli_leftover_ask(int fd)
{
    struct pollfd polled = {.fd = fd, .events = POLLIN};
    char text[512], answer[32] = "";
    int length = snprintf(text, sizeof text, "*3\r\n$4\r\nEVAL\r\n$%zu\r\n%s\r\n$1\r\n0\r\n",
                          sizeof question - 1, question);

    if (send(fd, text, (size_t)length, MSG_NOSIGNAL) != length || poll(&polled, 1, ANSWER_MS) != 1 ||
        read(fd, answer, sizeof answer - 1) <= 1 || answer[0] != ':')
        return 0;
    return strtoll(answer + 1, NULL, 10);
}

/* A time on the clock of this boot means nothing after the next one, and then nobody holds anything any
 * more. */
static void read_boot(char boot[64])
{
    FILE *stream = fopen("/proc/sys/kernel/random/boot_id", "re");

    if (stream == NULL || fgets(boot, 64, stream) == NULL)
        boot[0] = '\0';
    boot[strcspn(boot, "\n")] = '\0';
    if (stream != NULL)
        fclose(stream);
}

static void note_path(const char *directory, char path[160])
{
    snprintf(path, 160, "%s/held-until", directory);
}

void cli_leftover_keep(const char *directory, int64_t until_ms)
{
    char path[160], boot[64];

    if (until_ms == 0)
        return;
    note_path(directory, path);
    read_boot(boot);
    FILE *stream = fopen(path, "we");
    if (stream == NULL)
        return;
    fprintf(stream, "%" PRId64 " %s\n", until_ms, boot);
    fclose(stream);
}

/* When what was written down is over; 0 when nothing was, or before the last boot. */
static int64_t read_note(const char *path)
{
    char boot[64], noted[64] = "";
    int64_t until = 0;
    FILE *stream = fopen(path, "re");

    if (stream == NULL)
        return 0;
    read_boot(boot);
    bool whole = fscanf(stream, "%" SCNd64 " %63s", &until, noted) >= 1;
    fclose(stream);
    return whole && strcmp(boot, noted) == 0 ? until : 0;
}

bool cli_leftover_is_noted(const char *directory)
{
    char path[160];

    note_path(directory, path);
    return access(path, F_OK) == 0;
}

void cli_leftover_wait(const char *directory)
{
    char path[160];

    note_path(directory, path);
    int64_t left = read_note(path) - cli_clock_now();
    if (left > 0) {
        struct timespec pause = {.tv_sec = (time_t)(left / 1000), .tv_nsec = (long)(left % 1000) * 1000000};
        cli_output_note("locks were held when the local nodes were stopped: waiting %s until they have ended",
                        cli_text_span(left).text);
        nanosleep(&pause, NULL);
    }
    unlink(path);
}

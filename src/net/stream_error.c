/*
 * Failures of the system in words and as causes, the same for all streams.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "net/stream.h"

/* What users meet most, in the same words on every system and in every locale. */
static const struct {
    int number;
    const char *words;
} known_errors[] = {
    {ECONNREFUSED, "connection refused"},
    {ECONNRESET, "connection reset by peer"},
    {EPIPE, "connection closed by the peer"},
    {ETIMEDOUT, "connection timed out"},
    {EHOSTUNREACH, "no route to host"},
    {ENETUNREACH, "network is unreachable"},
    {EADDRNOTAVAIL, "no local address or port is left"},
    {EAFNOSUPPORT, "address family is not supported"},
    {ENOENT, "no such file or directory"},
    {EACCES, "permission denied"},
    {EPERM, "operation not permitted"},
    {EMFILE, "too many open files in this process"},
    {ENFILE, "too many open files in the system"},
    {ENOMEM, "out of memory"},
    {ENOBUFS, "no buffer space is left"},
};

void rl_stream_errno_words(int error_number, char *words, size_t size)
{
    for (size_t i = 0; i < sizeof known_errors / sizeof known_errors[0]; i++) {
        if (known_errors[i].number == error_number) {
            snprintf(words, size, "%s", known_errors[i].words);
            return;
        }
    }
    char buffer[128];
#ifdef __GLIBC__
    snprintf(words, size, "%s", strerror_r(error_number, buffer, sizeof buffer));
#else /* the one of POSIX, as in musl */
    snprintf(words, size, "%s",
             strerror_r(error_number, buffer, sizeof buffer) == 0 ? buffer : "unknown error");
#endif
    words[0] = (char)tolower((unsigned char)words[0]);
}

void rl_stream_set_errno(struct rl_stream *stream, int error_number)
{
    rl_stream_errno_words(error_number, stream->error, sizeof stream->error);
    stream->cause = error_number == ECONNREFUSED || error_number == ENOENT ? RL_CAUSE_REFUSED
                    : error_number == ETIMEDOUT                            ? RL_CAUSE_TIMED_OUT
                                                                           : RL_CAUSE_UNREACHABLE;
}

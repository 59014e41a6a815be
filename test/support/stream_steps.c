/*
 * Waits for streams; see stream_steps.h.
 */
#include "support/stream_steps.h"

#include <poll.h>

#include "support/check.h"

void wait_for(const struct rl_stream *stream)
{
    short events =
        (short)((stream->wants & RL_WANT_READ ? POLLIN : 0) | (stream->wants & RL_WANT_WRITE ? POLLOUT : 0));
    assert_int_not_equal(events, 0);
    struct pollfd question = {.fd = stream->fd, .events = events};
    assert_int_equal(poll(&question, 1, -1), 1);
}

enum rl_io connect_fully(struct rl_stream *stream)
{
    enum rl_io result;
    while ((result = rl_stream_continue(stream)) == RL_IO_AGAIN)
        wait_for(stream);
    return result;
}

enum rl_io read_patiently(struct rl_stream *stream, char *bytes, size_t capacity, size_t *got)
{
    enum rl_io result;
    while ((result = rl_stream_read(stream, bytes, capacity, got)) == RL_IO_AGAIN)
        wait_for(stream);
    return result;
}

size_t write_until_again(struct rl_stream *stream, const char *bytes, size_t length)
{
    size_t done = 0;
    while (done < length) {
        size_t put;
        enum rl_io result = rl_stream_write(stream, bytes + done, length - done, &put);
        if (result == RL_IO_AGAIN)
            break;
        assert_int_equal(result, RL_IO_DONE);
        done += put;
    }
    return done;
}

/*
 * Streams over TCP and unix sockets against real sockets of this process. TLS has a test of its own.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/stream_steps.h"
#include "support/temp_folder.h"

enum { LARGE = 16 * 1024 * 1024 };

static volatile sig_atomic_t sigpipe_count;

static void count_sigpipe(int signal_number)
{
    (void)signal_number;
    sigpipe_count++;
}

/* ---- both ends of a connection ------------------------------------------------------------------------- */

struct pair {
    int listener;
    int peer;
    struct rl_stream stream;
};

static int listen_on_loopback(struct rl_address *address)
{
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_not_equal(listener, -1);
    assert_true(rl_address_numeric(address, "127.0.0.1", 0));
    assert_int_equal(bind(listener, (struct sockaddr *)&address->storage, address->length), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address->storage, &address->length), 0);
    assert_int_equal(listen(listener, 8), 0);
    return listener;
}

static void open_pair(struct pair *pair)
{
    struct rl_address address;
    pair->listener = listen_on_loopback(&address);
    rl_stream_init(&pair->stream);
    assert_true(rl_stream_open(&pair->stream, &address, NULL, NULL));
    assert_int_equal(connect_fully(&pair->stream), RL_IO_DONE);
    pair->peer = accept(pair->listener, NULL, NULL);
    assert_int_not_equal(pair->peer, -1);
}

static void close_pair(struct pair *pair)
{
    rl_stream_close(&pair->stream);
    close(pair->peer);
    close(pair->listener);
}

/* ---- connecting ---------------------------------------------------------------------------------------- */

static void bytes_travel_both_ways_over_tcp(void **state)
{
    (void)state;
    struct pair pair;
    open_pair(&pair);
    size_t count;
    char bytes[16];
    assert_int_equal(rl_stream_read(&pair.stream, bytes, sizeof bytes, &count), RL_IO_AGAIN);
    assert_int_equal(pair.stream.wants, RL_WANT_READ);
    assert_int_equal(rl_stream_write(&pair.stream, "ping", 4, &count), RL_IO_DONE);
    assert_int_equal(count, 4);
    assert_int_equal(recv(pair.peer, bytes, sizeof bytes, 0), 4);
    assert_int_equal(send(pair.peer, "pong!", 5, 0), 5);
    assert_int_equal(read_patiently(&pair.stream, bytes, sizeof bytes, &count), RL_IO_DONE);
    assert_int_equal(count, 5);
    assert_memory_equal(bytes, "pong!", 5);
    close_pair(&pair);
}

static void socket_is_nonblocking_undelayed_and_not_inherited(void **state)
{
    (void)state;
    struct pair pair;
    open_pair(&pair);
    assert_true(fcntl(pair.stream.fd, F_GETFL) & O_NONBLOCK);
    assert_true(fcntl(pair.stream.fd, F_GETFD) & FD_CLOEXEC);
    int value = 0;
    socklen_t size = sizeof value;
    assert_int_equal(getsockopt(pair.stream.fd, IPPROTO_TCP, TCP_NODELAY, &value, &size), 0);
    assert_true(value);
    assert_int_equal(getsockopt(pair.stream.fd, SOL_SOCKET, SO_KEEPALIVE, &value, &size), 0);
    assert_true(value);
    close_pair(&pair);
}

static void refused_connection_says_connection_refused(void **state)
{
    (void)state;
    struct rl_address address;
    close(listen_on_loopback(&address));
    struct rl_stream stream;
    rl_stream_init(&stream);
    if (rl_stream_open(&stream, &address, NULL, NULL))
        assert_int_equal(connect_fully(&stream), RL_IO_FAILED);
    assert_string_equal(stream.error, "connection refused");
    rl_stream_close(&stream);
    assert_int_equal(stream.fd, -1);
    assert_string_equal(stream.error, "connection refused");
}

static void closed_stream_opens_again(void **state)
{
    (void)state;
    struct pair pair;
    open_pair(&pair);
    struct rl_address address;
    address.length = sizeof address.storage;
    assert_int_equal(getsockname(pair.listener, (struct sockaddr *)&address.storage, &address.length), 0);
    rl_stream_abort(&pair.stream);
    rl_stream_abort(&pair.stream);
    rl_stream_close(&pair.stream);
    assert_true(rl_stream_open(&pair.stream, &address, NULL, NULL));
    assert_int_equal(connect_fully(&pair.stream), RL_IO_DONE);
    close_pair(&pair);
}

static void only_numeric_hosts_are_addresses(void **state)
{
    (void)state;
    struct rl_address address;
    assert_true(rl_address_numeric(&address, "10.1.2.3", 6379));
    assert_int_equal(address.storage.ss_family, AF_INET);
    assert_true(rl_address_numeric(&address, "::1", 6379));
    assert_int_equal(address.storage.ss_family, AF_INET6);
    assert_int_equal(ntohs(((struct sockaddr_in6 *)&address.storage)->sin6_port), 6379);
    assert_false(rl_address_numeric(&address, "localhost", 6379));
    assert_false(rl_address_numeric(&address, "127.1", 6379));
    assert_false(rl_address_numeric(&address, "[::1]", 6379));
    assert_false(rl_address_numeric(&address, "", 6379));
}

/* ---- unix sockets -------------------------------------------------------------------------------------- */

struct folder {
    char path[TEMP_FOLDER_MAX];
    char socket_path[TEMP_FOLDER_MAX + 8];
};

static void create_folder(struct folder *folder)
{
    assert_true(temp_folder_make(folder->path));
    snprintf(folder->socket_path, sizeof folder->socket_path, "%s/socket", folder->path);
}

static int listen_on_path(const struct folder *folder, int backlog, struct rl_address *address)
{
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    rl_address_unix(address, folder->socket_path);
    assert_int_equal(bind(listener, (struct sockaddr *)&address->storage, address->length), 0);
    assert_int_equal(listen(listener, backlog), 0);
    return listener;
}

static void bytes_travel_over_a_unix_socket(void **state)
{
    (void)state;
    struct folder folder;
    create_folder(&folder);
    struct rl_address address;
    struct pair pair = {.listener = listen_on_path(&folder, 8, &address)};
    rl_stream_init(&pair.stream);
    assert_true(rl_stream_open(&pair.stream, &address, NULL, NULL));
    assert_int_equal(connect_fully(&pair.stream), RL_IO_DONE);
    pair.peer = accept(pair.listener, NULL, NULL);
    size_t count;
    char bytes[16];
    assert_int_equal(rl_stream_write(&pair.stream, "ping", 4, &count), RL_IO_DONE);
    assert_int_equal(recv(pair.peer, bytes, sizeof bytes, 0), 4);
    close_pair(&pair);
    temp_folder_remove(folder.path);
}

static void missing_socket_file_is_named_as_such(void **state)
{
    (void)state;
    struct folder folder;
    create_folder(&folder);
    struct rl_address address;
    rl_address_unix(&address, folder.socket_path);
    struct rl_stream stream;
    rl_stream_init(&stream);
    assert_false(rl_stream_open(&stream, &address, NULL, NULL));
    assert_string_equal(stream.error, "no such file or directory");
    assert_int_equal(stream.fd, -1);
    temp_folder_remove(folder.path);
}

static void too_long_socket_path_is_refused(void **state)
{
    (void)state;
    char path[200];
    memset(path, 'x', sizeof path);
    path[0] = '/';
    path[sizeof path - 1] = '\0';
    struct rl_address address;
    rl_address_unix(&address, path);
    struct rl_stream stream;
    rl_stream_init(&stream);
    assert_false(rl_stream_open(&stream, &address, NULL, NULL));
    assert_string_equal(stream.error, "socket path is too long");
}

static void crowded_unix_socket_is_a_clear_failure(void **state)
{
    (void)state;
    enum { CROWD = 16 };
    struct folder folder;
    create_folder(&folder);
    struct rl_address address;
    int listener = listen_on_path(&folder, 0, &address);
    struct rl_stream streams[CROWD];
    int opened = 0;
    for (int i = 0; i < CROWD; i++) {
        rl_stream_init(&streams[i]);
        opened += rl_stream_open(&streams[i], &address, NULL, NULL);
    }
    assert_true(opened < CROWD);
    assert_string_equal(streams[CROWD - 1].error, "too many connections wait at the socket");
    for (int i = 0; i < CROWD; i++)
        rl_stream_close(&streams[i]);
    close(listener);
    temp_folder_remove(folder.path);
}

/* ---- endings ------------------------------------------------------------------------------------------- */

static void peer_that_closes_is_told_after_its_last_bytes(void **state)
{
    (void)state;
    struct pair pair;
    open_pair(&pair);
    assert_int_equal(send(pair.peer, "bye", 3, 0), 3);
    assert_int_equal(shutdown(pair.peer, SHUT_WR), 0);
    size_t count;
    char bytes[16];
    assert_int_equal(read_patiently(&pair.stream, bytes, sizeof bytes, &count), RL_IO_DONE);
    assert_int_equal(count, 3);
    assert_int_equal(read_patiently(&pair.stream, bytes, sizeof bytes, &count), RL_IO_CLOSED);
    assert_int_equal(count, 0);
    assert_string_equal(pair.stream.error, "connection closed by the peer");
    close_pair(&pair);
}

static void abort_resets_the_connection(void **state)
{
    (void)state;
    struct pair pair;
    open_pair(&pair);
    rl_stream_abort(&pair.stream);
    char byte;
    assert_int_equal(recv(pair.peer, &byte, 1, 0), -1);
    assert_int_equal(errno, ECONNRESET);
    close_pair(&pair);
}

/* The reason for abort: a SET that lies in the kernel's buffer must not arrive at the node later. */
static void abort_keeps_undelivered_bytes_from_arriving(void **state)
{
    (void)state;
    struct pair pair;
    open_pair(&pair);
    char *bytes = calloc(1, LARGE);
    assert_non_null(bytes);
    size_t written = write_until_again(&pair.stream, bytes, LARGE);
    assert_true(written < LARGE);
    rl_stream_abort(&pair.stream);
    size_t arrived = 0;
    ssize_t count;
    while ((count = recv(pair.peer, bytes, LARGE, 0)) > 0)
        arrived += (size_t)count;
    assert_int_equal(count, -1);
    assert_int_equal(errno, ECONNRESET);
    assert_true(arrived < written);
    free(bytes);
    close_pair(&pair);
}

static void close_delivers_what_was_written(void **state)
{
    (void)state;
    struct pair pair;
    open_pair(&pair);
    char *bytes = calloc(1, LARGE);
    assert_non_null(bytes);
    size_t written = write_until_again(&pair.stream, bytes, LARGE);
    rl_stream_close(&pair.stream);
    size_t arrived = 0;
    ssize_t count;
    while ((count = recv(pair.peer, bytes, LARGE, 0)) > 0)
        arrived += (size_t)count;
    assert_int_equal(count, 0);
    assert_int_equal(arrived, written);
    free(bytes);
    close_pair(&pair);
}

/* The system resets a connection that is closed with bytes unread, unless they are read before. */
static void close_with_an_unread_reply_is_no_reset(void **state)
{
    (void)state;
    struct pair pair;
    open_pair(&pair);
    size_t put;
    assert_int_equal(rl_stream_write(&pair.stream, "release", 7, &put), RL_IO_DONE);
    assert_int_equal(send(pair.peer, "reply", 5, 0), 5);
    struct pollfd reply = {.fd = pair.stream.fd, .events = POLLIN};
    assert_int_equal(poll(&reply, 1, -1), 1);
    rl_stream_close(&pair.stream);
    char bytes[16];
    assert_int_equal(recv(pair.peer, bytes, sizeof bytes, 0), 7);
    assert_int_equal(recv(pair.peer, bytes, sizeof bytes, 0), 0);
    close_pair(&pair);
}

static void writing_to_a_closed_peer_fails_without_a_signal(void **state)
{
    (void)state;
    struct sigaction counting = {.sa_handler = count_sigpipe}, before;
    assert_int_equal(sigaction(SIGPIPE, &counting, &before), 0);
    struct pair pair;
    open_pair(&pair);
    struct linger at_once = {.l_onoff = 1, .l_linger = 0};
    assert_int_equal(setsockopt(pair.peer, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once), 0);
    close(pair.peer);
    pair.peer = -1;
    for (int i = 0; i < 3; i++) {
        size_t put;
        enum rl_io result;
        while ((result = rl_stream_write(&pair.stream, "ping", 4, &put)) == RL_IO_DONE)
            ;
        assert_int_equal(result, RL_IO_FAILED);
        assert_true(pair.stream.error[0] != '\0');
    }
    assert_int_equal(sigpipe_count, 0);
    close_pair(&pair);
    assert_int_equal(sigaction(SIGPIPE, &before, NULL), 0);
}

static void large_write_goes_on_where_it_stopped(void **state)
{
    (void)state;
    struct pair pair;
    open_pair(&pair);
    char *bytes = malloc(LARGE);
    char *arrived = malloc(LARGE);
    assert_non_null(bytes);
    assert_non_null(arrived);
    for (size_t i = 0; i < LARGE; i++)
        bytes[i] = (char)(i * 31 % 251);
    size_t written = write_until_again(&pair.stream, bytes, LARGE);
    assert_true(written < LARGE);
    assert_int_equal(pair.stream.wants, RL_WANT_WRITE);
    for (size_t total = 0; total < LARGE;) {
        ssize_t count = recv(pair.peer, arrived + total, LARGE - total, 0);
        assert_true(count > 0);
        total += (size_t)count;
        written += write_until_again(&pair.stream, bytes + written, LARGE - written);
    }
    assert_int_equal(written, LARGE);
    assert_memory_equal(arrived, bytes, LARGE);
    free(bytes);
    free(arrived);
    close_pair(&pair);
}

static void forgetting_in_a_child_leaves_the_parent_connected(void **state)
{
    (void)state;
    struct pair pair;
    open_pair(&pair);
    assert_int_equal(send(pair.peer, "reply", 5, 0), 5);
    pid_t child = fork();
    assert_int_not_equal(child, -1);
    if (child == 0) {
        rl_stream_forget(&pair.stream);
        _exit(pair.stream.fd == -1 ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    size_t count;
    char bytes[16];
    assert_int_equal(read_patiently(&pair.stream, bytes, sizeof bytes, &count), RL_IO_DONE);
    assert_int_equal(count, 5);
    assert_int_equal(rl_stream_write(&pair.stream, "ping", 4, &count), RL_IO_DONE);
    assert_int_equal(recv(pair.peer, bytes, sizeof bytes, 0), 4);
    struct linger linger;
    socklen_t size = sizeof linger;
    assert_int_equal(getsockopt(pair.stream.fd, SOL_SOCKET, SO_LINGER, &linger, &size), 0);
    assert_int_equal(linger.l_onoff, 0);
    close_pair(&pair);
}

static void errors_are_lower_case_words(void **state)
{
    (void)state;
    char words[128];
    rl_stream_errno_words(ETIMEDOUT, words, sizeof words);
    assert_string_equal(words, "connection timed out");
    rl_stream_errno_words(ENOTSOCK, words, sizeof words);
    assert_true(words[0] >= 'a' && words[0] <= 'z');
    rl_stream_errno_words(ECONNREFUSED, words, 8);
    assert_string_equal(words, "connect");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_travel_both_ways_over_tcp),
        cmocka_unit_test(socket_is_nonblocking_undelayed_and_not_inherited),
        cmocka_unit_test(refused_connection_says_connection_refused),
        cmocka_unit_test(closed_stream_opens_again),
        cmocka_unit_test(only_numeric_hosts_are_addresses),
        cmocka_unit_test(bytes_travel_over_a_unix_socket),
        cmocka_unit_test(missing_socket_file_is_named_as_such),
        cmocka_unit_test(too_long_socket_path_is_refused),
        cmocka_unit_test(crowded_unix_socket_is_a_clear_failure),
        cmocka_unit_test(peer_that_closes_is_told_after_its_last_bytes),
        cmocka_unit_test(abort_resets_the_connection),
        cmocka_unit_test(abort_keeps_undelivered_bytes_from_arriving),
        cmocka_unit_test(close_delivers_what_was_written),
        cmocka_unit_test(close_with_an_unread_reply_is_no_reset),
        cmocka_unit_test(writing_to_a_closed_peer_fails_without_a_signal),
        cmocka_unit_test(large_write_goes_on_where_it_stopped),
        cmocka_unit_test(forgetting_in_a_child_leaves_the_parent_connected),
        cmocka_unit_test(errors_are_lower_case_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Load for redlock serve: so many connections, each of which takes a lock of its own and gives it back, again
 * and again. Also what the library does alone, one lock after the other, for comparison. It starts nothing;
 * bench/serve does.
 * Usage: serve-load PORT CONNECTIONS SECONDS        or: serve-load --library NODES SECONDS
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "redlock.h"

#define CONNECTIONS_MAX 1024
#define SAMPLES_MAX 4000000

struct connection {
    int socket;
    bool holding; /* the next answer is that of a release */
    int64_t sent_ns;
    size_t length;
    char name[32], token[1024], input[4096];
};

static int64_t samples[SAMPLES_MAX];
static size_t sample_count, pair_count;

static int64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void die(const char *what, const char *detail)
{
    fprintf(stderr, "serve-load: %s: %s\n", what, detail);
    exit(1);
}

static void keep_sample(int64_t span_ns)
{
    if (sample_count < SAMPLES_MAX)
        samples[sample_count++] = span_ns;
}

static int compare(const void *a, const void *b)
{
    const int64_t *one = a, *other = b;

    return (*one > *other) - (*one < *other);
}

static void print(double seconds)
{
    qsort(samples, sample_count, sizeof samples[0], compare);
    printf("pairs_per_second %.0f\nacquire_p50_us %.1f\nacquire_p99_us %.1f\n", (double)pair_count / seconds,
           sample_count == 0 ? 0.0 : (double)samples[sample_count / 2] / 1000,
           sample_count == 0 ? 0.0 : (double)samples[sample_count * 99 / 100] / 1000);
}

/* ---- over HTTP ---- */

static int connect_to(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) != 0)
        die("connect", "nobody listens there");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

static void send_request(struct connection *connection)
{
    char request[1400];
    int length;

    if (connection->holding)
        length = snprintf(request, sizeof request,
                          "DELETE /v1/locks/%s HTTP/1.1\r\nHost: localhost\r\nRedlock-Token: %s\r\n\r\n",
                          connection->name, connection->token);
    else
        length =
            snprintf(request, sizeof request,
                     "POST /v1/locks/%s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                     "Content-Length: 16\r\n\r\n{\"ttl_ms\":30000}",
                     connection->name);
    connection->sent_ns = now_ns();
    if (write(connection->socket, request, (size_t)length) != length)
        die("write", "short");
}

/* The bytes of the answer at the front of the input; 0 when it is not whole. */
static size_t answer_length(struct connection *connection)
{
    connection->input[connection->length] = '\0';
    const char *end = strstr(connection->input, "\r\n\r\n");
    const char *length = strstr(connection->input, "Content-Length: ");
    size_t body = length == NULL ? 0 : strtoul(length + 16, NULL, 10);

    if (end == NULL || connection->length < (size_t)(end + 4 - connection->input) + body)
        return 0;
    return (size_t)(end + 4 - connection->input) + body;
}

static void take_token(struct connection *connection)
{
    const char *start = strstr(connection->input, "\"token\":\"");
    size_t length = start == NULL ? 0 : strcspn(start + 9, "\"");

    if (start == NULL || length >= sizeof connection->token)
        die("answer", connection->input);
    memcpy(connection->token, start + 9, length);
    connection->token[length] = '\0';
}

static void take_answer(struct connection *connection)
{
    bool good = strncmp(connection->input, connection->holding ? "HTTP/1.1 204" : "HTTP/1.1 201", 12) == 0;

    if (!good)
        die("answer", connection->input);
    if (connection->holding)
        pair_count++;
    else {
        keep_sample(now_ns() - connection->sent_ns);
        take_token(connection);
    }
    connection->holding = !connection->holding;
    connection->length = 0;
    send_request(connection);
}

static void read_some(struct connection *connection)
{
    ssize_t got = read(connection->socket, connection->input + connection->length,
                       sizeof connection->input - 1 - connection->length);

    if (got <= 0)
        die("read", "the service hung up");
    connection->length += (size_t)got;
    if (answer_length(connection) > 0)
        take_answer(connection);
}

static void load_service(int port, int count, double seconds)
{
    static struct connection connections[CONNECTIONS_MAX];
    struct epoll_event events[64];
    int64_t begin = now_ns(), end = begin + (int64_t)(seconds * 1e9);
    int poller = epoll_create1(0);

    for (int i = 0; i < count; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = &connections[i]};

        connections[i].socket = connect_to(port);
        snprintf(connections[i].name, sizeof connections[i].name, "load:%d:%d", (int)getpid(), i);
        if (epoll_ctl(poller, EPOLL_CTL_ADD, connections[i].socket, &event) != 0)
            die("epoll", "no room");
        send_request(&connections[i]);
    }
    while (now_ns() < end) {
        int ready = epoll_wait(poller, events, sizeof events / sizeof events[0], 100);
        for (int i = 0; i < ready; i++)
            read_some(events[i].data.ptr);
    }
    print((double)(now_ns() - begin) / 1e9);
}

/* ---- the library alone ---- */

static void load_library(const char *nodes, double seconds)
{
    redlock_options options = REDLOCK_OPTIONS_INIT;
    redlock_spec spec = REDLOCK_SPEC_INIT;
    redlock_client *client;
    redlock_lock *lock;
    int64_t begin = now_ns(), end = begin + (int64_t)(seconds * 1e9);

    options.nodes = nodes;
    if (redlock_client_open(&options, &client, NULL) != REDLOCK_OK)
        die("client", "cannot be opened");
    spec.name = "load:library";
    spec.ttl_ms = 30000;
    while (now_ns() < end) {
        int64_t asked = now_ns();
        if (redlock_try_acquire(client, &spec, &lock, NULL) != REDLOCK_OK)
            die("acquire", "was refused");
        keep_sample(now_ns() - asked);
        if (redlock_release(lock, NULL) != REDLOCK_OK)
            die("release", "was refused");
        redlock_lock_free(lock);
        pair_count++;
    }
    print((double)(now_ns() - begin) / 1e9);
    redlock_client_close(client);
}

int main(int argc, char **argv)
{
    if (argc != 4)
        die("usage", "serve-load PORT CONNECTIONS SECONDS, or serve-load --library NODES SECONDS");
    if (strcmp(argv[1], "--library") == 0)
        load_library(argv[2], strtod(argv[3], NULL));
    else
        load_service(atoi(argv[1]), atoi(argv[2]) < CONNECTIONS_MAX ? atoi(argv[2]) : CONNECTIONS_MAX,
                     strtod(argv[3], NULL));
    return 0;
}

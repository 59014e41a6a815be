/*
 * The service from its settings to its end; see serve.h. Everything happens on one thread: the loop turns,
 * requests become calls of the library, and what one turn asked for travels to the nodes together.
 */
#include "serve/serve.h"

#include <errno.h>
#include <event2/listener.h>
#include <fcntl.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "serve/board.h"
#include "serve/connection.h"
#include "serve/events.h"
#include "serve/hold.h"
#include "serve/info.h"
#include "serve/late.h"
#include "serve/listen.h"
#include "serve/names.h"
#include "serve/routes.h"
#include "serve/session_list.h"
#include "serve/systemd.h"
#include "serve/tls.h"
#include "serve/turn.h"

#define STOP_MS 5000 /* that releases under way may take when it stops */
#define ACCESS_MAX_BYTES (1U << 20)

/* ---- stopping ------------------------------------------------------------------------------------------ */

/* Starts the graceful end: nothing new is accepted, and waiters are asked to retry. */
static void stop(struct serve_server *server)
{
    if (server->stopping)
        return;
    serve_say(server, SERVE_NOTE, "stopping: waiters are asked to retry");
    serve_systemd_notify("STOPPING=1");
    server->stopping = true;
    server->stop_at_ms = serve_now(server) + STOP_MS;
    serve_listen_close(server);
    serve_holds_stop(server);
    for (struct serve_connection *each = server->connections; each != NULL; each = server->walk) {
        server->walk = each->next;
        if (each->call != NULL && each->call->dismiss != NULL)
            each->call->dismiss(each->call);
        else if (each->call != NULL && each->call->cancelable)
            (void)redlock_cancel(server->client, each->call->request);
        else if (each->state == SERVE_STREAMING)
            serve_connection_close(each);
        else if (each->state == SERVE_READING)
            each->listener->protocol->stop(each);
    }
}

/* Nothing is under way, and everybody has been told. */
static bool is_over(struct serve_server *server)
{
    return server->stopping && ((server->outstanding == 0 && server->connection_count == 0) ||
                                serve_now(server) >= server->stop_at_ms);
}

/* ---- what wakes it up ---------------------------------------------------------------------------------- */

static void on_signal(evutil_socket_t number, short what, void *context)
{
    (void)number;
    (void)what;
    stop(context);
}

static void on_client(evutil_socket_t socket, short what, void *context)
{
    struct serve_server *server = context;

    (void)socket;
    (void)what;
    (void)redlock_client_process(server->client);
}

static void set_date(struct serve_server *server)
{
    time_t now = time(NULL);
    struct tm parts;

    gmtime_r(&now, &parts);
    strftime(server->date, sizeof server->date, "%a, %d %b %Y %H:%M:%S GMT", &parts);
}

static void on_second(evutil_socket_t socket, short what, void *context)
{
    struct serve_server *server = context;

    (void)socket;
    (void)what;
    server->seconds++;
    set_date(server);
    serve_connections_sweep(server);
    serve_sessions_tick(server);
    serve_events_tick(server);
    serve_info_tick(server);
    serve_board_tick(server);
    serve_late_tick(server);
    for (size_t i = 0; i < server->listener_count; i++)
        if (server->listeners[i].listener != NULL)
            evconnlistener_enable(server->listeners[i].listener);
}

static bool arm(struct serve_server *server)
{
    int client_fd = redlock_client_fd(server->client);
    const struct timeval second = {1, 0};

    if (client_fd < 0)
        return false;
    server->client_event = event_new(server->base, client_fd, EV_READ | EV_PERSIST, on_client, server);
    server->second = event_new(server->base, -1, EV_PERSIST, on_second, server);
    server->terminate = evsignal_new(server->base, SIGTERM, on_signal, server);
    server->interrupt = evsignal_new(server->base, SIGINT, on_signal, server);
    return server->client_event != NULL && server->second != NULL && server->terminate != NULL &&
           server->interrupt != NULL && event_add(server->client_event, NULL) == 0 &&
           event_add(server->second, &second) == 0 && event_add(server->terminate, NULL) == 0 &&
           event_add(server->interrupt, NULL) == 0;
}

/* ---- settings ------------------------------------------------------------------------------------------ */

static bool refuse_access(const struct serve_server *server, const char *words)
{
    serve_say(server, SERVE_ERROR, "%s: %s", server->settings->access_file, words);
    return false;
}

static bool read_access(struct serve_server *server)
{
    const char *path = server->settings->access_file;
    char *bytes = malloc(ACCESS_MAX_BYTES), problem[200], words[240];
    int file = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = file < 0 || bytes == NULL ? -1 : read(file, bytes, ACCESS_MAX_BYTES);
    bool good = path == NULL;

    if (path != NULL && length < 0)
        refuse_access(server, strerror(errno));
    else if (length == (ssize_t)ACCESS_MAX_BYTES)
        refuse_access(server, "it is larger than a megabyte");
    else if (path != NULL) {
        int line = serve_access_read(bytes, (size_t)length, &server->access, problem);
        good = line == 0 && server->access.count > 0;
        snprintf(words, sizeof words, "line %d: %s", line, problem);
        if (line != 0)
            refuse_access(server, line < 0 ? "out of memory" : words);
        else if (!good)
            refuse_access(server, "it lets nobody in: add a token, user or cert line");
    }
    if (file >= 0)
        close(file);
    free(bytes);
    return good;
}

static void set_principals(struct serve_server *server)
{
    server->anyone = (struct serve_principal){.role = SERVE_ADMIN};
    server->owner = (struct serve_principal){.role = SERVE_ADMIN};
}

static bool set_id(struct serve_server *server)
{
    unsigned char random[8];

    if (RAND_bytes(random, sizeof random) != 1)
        return false;
    for (size_t i = 0; i < sizeof random; i++)
        snprintf(server->id + 2 * i, 3, "%02x", random[i]);
    return true;
}

static struct serve_settings with_defaults(const struct serve_settings *given)
{
    struct serve_settings settings = *given;

    settings.max_ttl_ms = settings.max_ttl_ms == 0 ? 60000 : settings.max_ttl_ms;
    settings.max_wait_ms = settings.max_wait_ms == 0 ? 3600000 : settings.max_wait_ms;
    settings.max_hold_ms = settings.max_hold_ms == 0 ? 86400000 : settings.max_hold_ms;
    settings.max_connections = settings.max_connections == 0 ? 20000 : settings.max_connections;
    settings.max_waiters = settings.max_waiters == 0 ? 15000 : settings.max_waiters;
    return settings;
}

/* ---- its life ------------------------------------------------------------------------------------------ */

static enum serve_end begin(struct serve_server *server)
{
    struct event_config *config = event_config_new();

    if (config != NULL)
        event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK);
    server->base = config == NULL ? NULL : event_base_new_with_config(config);
    if (config != NULL)
        event_config_free(config);
    server->events = serve_events_new();
    if (server->base == NULL || server->events == NULL || !set_id(server) || !arm(server)) {
        serve_say(server, SERVE_ERROR, "the event loop could not be set up: %s", strerror(errno));
        return SERVE_NO_SYSTEM;
    }
    set_date(server);
    set_principals(server);
    if (!read_access(server))
        return SERVE_BAD_SETTING;
    if (server->settings->tls_cert != NULL && (server->tls = serve_tls_new(server)) == NULL)
        return SERVE_BAD_SETTING;
    return serve_listen_open(server) ? SERVE_ENDED : SERVE_BAD_SETTING;
}

static void end(struct serve_server *server)
{
    struct event *events[] = {server->client_event, server->second, server->terminate, server->interrupt};

    serve_listen_close(server);
    while (server->connections != NULL)
        serve_connection_close(server->connections);
    serve_sessions_free(server);
    /* Callbacks that are still due run now, while there is something for them to refer to. */
    redlock_client_close(server->client);
    serve_late_free(server);
    for (size_t i = 0; i < sizeof events / sizeof events[0]; i++)
        if (events[i] != NULL)
            event_free(events[i]);
    serve_events_free(server->events);
    serve_names_free(server);
    serve_board_free(server);
    serve_access_free(&server->access);
    SSL_CTX_free(server->tls);
    if (server->base != NULL)
        event_base_free(server->base);
}

enum serve_end serve_run(redlock_client *client, const struct serve_settings *given)
{
    struct serve_settings settings = with_defaults(given);
    static struct serve_server server; /* there is one, and it is large */
    enum serve_end outcome;

    server = (struct serve_server){
        .settings = &settings, .client = client, .routes = serve_routes, .route_count = serve_route_count};
    server.later_end = &server.later;
    signal(SIGPIPE, SIG_IGN);
    outcome = begin(&server);
    if (outcome == SERVE_ENDED) {
        serve_systemd_notify("READY=1");
        while (!is_over(&server)) {
            event_base_loop(server.base, EVLOOP_ONCE);
            serve_turn_end(&server);
        }
    }
    end(&server);
    return outcome;
}

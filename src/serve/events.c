/*
 * What happened at this instance; see events.h. The last EVENTS_KEPT events are kept, so that a client that
 * comes back with its Last-Event-ID misses nothing; when it would, it is told so.
 */
#include "serve/events.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "serve/json.h"
#include "serve/names.h"
#include "serve/which.h"

#define EVENTS_KEPT 1024
#define HEARTBEAT_S 15
#define BUCKETS 256 /* thousands that listen for one lock cost the events of others nothing */

struct kept {
    uint64_t number; /* 0: never used */
    const char *type;
    char *name;
    size_t name_length;
    char session[33], owner[9], detail[160];
    uint64_t fence;
    int64_t validity_ms, at_ms;
    redlock_kind kind;
    int32_t slot;
};

struct stream {
    struct stream *next, *previous;
    struct serve_connection *connection;
    char session[33]; /* empty: of any */
    size_t name_length;
    const struct serve_principal *principal;
    char name[]; /* empty: of any */
};

struct serve_events {
    struct kept ring[EVENTS_KEPT];
    uint64_t last;
    struct stream *streams[BUCKETS + 1]; /* by the hash of their name; the last: of any name */
    unsigned seconds;
};

struct serve_events *serve_events_new(void)
{
    return calloc(1, sizeof(struct serve_events));
}

void serve_events_free(struct serve_events *events)
{
    for (size_t i = 0; events != NULL && i < EVENTS_KEPT; i++)
        free(events->ring[i].name);
    free(events);
}

/* ---- writing ------------------------------------------------------------------------------------------- */

void serve_events_write(struct serve_connection *connection, const char *id, const char *type, json_t *data)
{
    struct evbuffer *output = bufferevent_get_output(connection->buffer);
    char *text = data == NULL ? NULL : json_dumps(data, JSON_COMPACT);

    if (id != NULL)
        evbuffer_add_printf(output, "id: %s\n", id);
    evbuffer_add_printf(output, "event: %s\ndata: %s\n\n", type, text == NULL ? "{}" : text);
    free(text);
    json_decref(data);
}

static json_t *json_event(const struct kept *kept)
{
    json_t *data = json_pack("{s:s, s:I}", "type", kept->type, "at_ms", (json_int_t)kept->at_ms);

    if (kept->name != NULL)
        json_object_set_new(data, "name", serve_json_text(kept->name, kept->name_length));
    if (kept->session[0] != '\0')
        json_object_set_new(data, "session", json_string(kept->session));
    if (kept->owner[0] != '\0')
        json_object_set_new(data, "owner", serve_json_text(kept->owner, strlen(kept->owner)));
    if (kept->fence != 0)
        json_object_set_new(data, "fence", json_integer((json_int_t)kept->fence));
    if (kept->validity_ms != 0)
        json_object_set_new(data, "validity_ms", json_integer(kept->validity_ms));
    if (kept->kind == REDLOCK_SHARED || kept->kind == REDLOCK_SEMAPHORE)
        json_object_set_new(data, "kind", json_string(serve_kind_word(kept->kind)));
    if (kept->kind == REDLOCK_SEMAPHORE && kept->slot >= 0)
        json_object_set_new(data, "slot", json_integer(kept->slot));
    if (kept->detail[0] != '\0')
        json_object_set_new(data, "detail", serve_json_text(kept->detail, strlen(kept->detail)));
    return data;
}

static bool wants(const struct stream *stream, const struct kept *kept)
{
    size_t length = kept->name == NULL ? 0 : kept->name_length;

    if (stream->session[0] != '\0' && strcmp(stream->session, kept->session) != 0)
        return false;
    if (stream->name_length > 0 &&
        (length != stream->name_length || memcmp(stream->name, kept->name, length) != 0))
        return false;
    return kept->name == NULL || serve_principal_may_name(stream->principal, kept->name, length);
}

static void write_kept(const struct stream *stream, const struct kept *kept)
{
    char id[48];

    snprintf(id, sizeof id, "%s-%" PRIu64, stream->connection->server->id, kept->number);
    serve_events_write(stream->connection, id, kept->type, json_event(kept));
}

static struct stream **bucket_of(struct serve_events *events, const char *name, size_t length)
{
    return &events->streams[length == 0 ? BUCKETS : serve_hash(name, length) % BUCKETS];
}

/* ---- publishing ---------------------------------------------------------------------------------------- */

static void copy_text(char *to, size_t size, const char *from)
{
    size_t length = from == NULL ? 0 : strnlen(from, size - 1);

    if (length > 0)
        memcpy(to, from, length);
    to[length] = '\0';
}

static void tell(const struct stream *stream, const struct kept *kept)
{
    for (; stream != NULL; stream = stream->next)
        if (wants(stream, kept))
            write_kept(stream, kept);
}

void serve_events_publish(struct serve_server *server, const struct serve_event *event)
{
    struct serve_events *events = server->events;
    struct kept *kept = &events->ring[++events->last % EVENTS_KEPT];
    struct timespec now;

    serve_names_count(server, event->type, event->name, event->name_length);
    clock_gettime(CLOCK_REALTIME, &now);
    free(kept->name);
    kept->name = event->name == NULL ? NULL : malloc(event->name_length + 1);
    if (kept->name != NULL)
        memcpy(kept->name, event->name, event->name_length);
    kept->name_length = event->name_length;
    kept->number = events->last;
    kept->type = event->type;
    kept->fence = event->fence;
    kept->validity_ms = event->validity_ms;
    kept->kind = event->kind;
    kept->slot = event->slot;
    kept->at_ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
    copy_text(kept->session, sizeof kept->session, event->session);
    copy_text(kept->owner, sizeof kept->owner, event->owner);
    copy_text(kept->detail, sizeof kept->detail, event->detail);
    tell(events->streams[BUCKETS], kept);
    if (kept->name != NULL)
        tell(*bucket_of(events, kept->name, kept->name_length), kept);
}

/* ---- listening ----------------------------------------------------------------------------------------- */

static void leave(void *attachment)
{
    struct stream *stream = attachment;
    struct serve_events *events = stream->connection->server->events;

    if (stream->next != NULL)
        stream->next->previous = stream->previous;
    if (stream->previous != NULL)
        stream->previous->next = stream->next;
    else
        *bucket_of(events, stream->name, stream->name_length) = stream->next;
    free(stream);
}

static void join(struct serve_events *events, struct stream *stream)
{
    struct stream **bucket = bucket_of(events, stream->name, stream->name_length);

    stream->next = *bucket;
    if (stream->next != NULL)
        stream->next->previous = stream;
    *bucket = stream;
    stream->connection->attachment = stream;
    stream->connection->detach = leave;
}

/* The number in a Last-Event-ID of this instance; false when it is another's, or nonsense. */
static bool read_last_id(const struct serve_server *server, struct serve_text id, uint64_t *number)
{
    char text[48];
    char *end;
    size_t own = strlen(server->id);

    if (id.length >= sizeof text || id.length < own + 2 || memcmp(id.bytes, server->id, own) != 0 ||
        id.bytes[own] != '-' || id.bytes[own + 1] < '0' || id.bytes[own + 1] > '9')
        return false;
    memcpy(text, id.bytes, id.length);
    text[id.length] = '\0';
    *number = strtoull(text + own + 1, &end, 10);
    return *end == '\0' && *number <= server->events->last;
}

/* Tells a client what it missed, or that it missed something. */
static void catch_up(const struct stream *stream, struct serve_text last_id)
{
    struct serve_events *events = stream->connection->server->events;
    uint64_t last = events->last, first_kept = last >= EVENTS_KEPT ? last - EVENTS_KEPT + 1 : 1, seen = 0;

    if (last_id.bytes == NULL)
        return;
    if (!read_last_id(stream->connection->server, last_id, &seen) || seen + 1 < first_kept) {
        serve_events_write(stream->connection, NULL, "gap",
                           json_pack("{s:s, s:s}", "type", "gap", "detail",
                                     "events were missed: read the state of what you watch again"));
        seen = first_kept - 1;
    }
    for (uint64_t number = seen + 1; number <= last; number++)
        if (wants(stream, &events->ring[number % EVENTS_KEPT]))
            write_kept(stream, &events->ring[number % EVENTS_KEPT]);
}

void serve_events_listen(struct serve_exchange *exchange)
{
    struct serve_text name = serve_target_parameter(exchange->target, "name");
    struct serve_text session = serve_target_parameter(exchange->target, "session");
    struct stream *stream;

    if (session.length >= sizeof stream->session || !serve_text_is_clean(session)) {
        serve_answer_problem(exchange->connection, SERVE_INVALID, "session is not the id of a session", NULL);
        return;
    }
    stream = calloc(1, sizeof *stream + name.length);
    if (stream == NULL) {
        serve_answer_problem(exchange->connection, SERVE_OUT_OF_MEMORY, "no memory for a stream", NULL);
        return;
    }
    stream->connection = exchange->connection;
    stream->principal = exchange->principal;
    stream->name_length = name.length;
    memcpy(stream->name, name.length == 0 ? "" : name.bytes, name.length);
    memcpy(stream->session, session.length == 0 ? "" : session.bytes, session.length);
    serve_answer_stream(exchange->connection);
    bufferevent_write(exchange->connection->buffer, "retry: 1000\n\n", 13);
    catch_up(stream, serve_request_field(exchange->request, "last-event-id"));
    join(exchange->server->events, stream);
}

void serve_events_tick(struct serve_server *server)
{
    if (++server->events->seconds % HEARTBEAT_S != 0)
        return;
    for (struct serve_connection *each = server->connections; each != NULL; each = each->next)
        if (each->state == SERVE_STREAMING)
            bufferevent_write(each->buffer, ":\n\n", 3);
}

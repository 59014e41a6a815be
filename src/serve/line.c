/*
 * The requests that wait here for the same lock; see line.h.
 */
#include "serve/line.h"

#include <stdlib.h>
#include <string.h>

struct serve_line {
    struct serve_line *next; /* of the same bucket */
    struct serve_place *first, *last;
    bool passing; /* the turn is being passed on */
    size_t count, bucket, length;
    char name[];
};

/* A client that floods a bucket slows down only its own names. */
static size_t bucket_of(const char *name, size_t length)
{
    return serve_hash(name, length) % SERVE_LINES_MAX;
}

static struct serve_line *find(const struct serve_server *server, const char *name, size_t length)
{
    struct serve_line *line = server->lines[bucket_of(name, length)];

    while (line != NULL && (line->length != length || memcmp(line->name, name, length) != 0))
        line = line->next;
    return line;
}

static struct serve_line *add(struct serve_server *server, const char *name, size_t length)
{
    struct serve_line *line = calloc(1, sizeof *line + length);

    if (line == NULL)
        return NULL;
    memcpy(line->name, name, length);
    line->length = length;
    line->bucket = bucket_of(name, length);
    line->next = server->lines[line->bucket];
    server->lines[line->bucket] = line;
    return line;
}

static void remove_line(struct serve_server *server, struct serve_line *line)
{
    struct serve_line **place = &server->lines[line->bucket];

    while (*place != line)
        place = &(*place)->next;
    *place = line->next;
    free(line);
}

bool serve_line_join(struct serve_server *server, const char *name, size_t length, struct serve_place *place,
                     void (*go)(void *context), void *context)
{
    struct serve_line *line = find(server, name, length);

    if (line == NULL)
        line = add(server, name, length);
    *place = (struct serve_place){.line = line, .go = go, .context = context};
    if (line == NULL)
        return false;
    place->previous = line->last;
    if (line->last != NULL)
        line->last->next = place;
    else
        line->first = place;
    line->last = place;
    line->count++;
    place->told = line->first == place;
    return place->told;
}

/* One whose turn it is may leave at once, and the next one too: a loop, since there may be thousands. */
static void pass_turn(const struct serve_server *server, struct serve_line *line)
{
    line->passing = true;
    while (line->first != NULL && !line->first->told && !server->stopping) {
        line->first->told = true;
        line->first->go(line->first->context);
    }
    line->passing = false;
}

void serve_line_leave(struct serve_server *server, struct serve_place *place)
{
    struct serve_line *line = place->line;

    if (line == NULL)
        return;
    bool was_first = line->first == place;
    if (place->next != NULL)
        place->next->previous = place->previous;
    else
        line->last = place->previous;
    if (place->previous != NULL)
        place->previous->next = place->next;
    else
        line->first = place->next;
    place->line = NULL;
    line->count--;
    if (line->passing)
        return;
    if (was_first)
        pass_turn(server, line);
    if (line->first == NULL)
        remove_line(server, line);
}

size_t serve_line_behind(const struct serve_server *server, const char *name, size_t length)
{
    const struct serve_line *line = find(server, name, length);

    return line == NULL || line->count == 0 ? 0 : line->count - 1;
}

/*
 * Events counted by the names of locks; see names.h.
 */
#include "serve/names.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

const char *const serve_name_events[SERVE_NAME_EVENTS] = {"acquired", "released", "lost"};

static bool is_wanted(const struct serve_server *server, const char *name, size_t length)
{
    char text[REDLOCK_NAME_MAX + 1];

    if (server->settings->metrics_name == NULL || name == NULL || length >= sizeof text)
        return false;
    memcpy(text, name, length);
    text[length] = '\0';
    return fnmatch(server->settings->metrics_name, text, 0) == 0;
}

/* Linear: there are at most SERVE_NAMES_MAX of them. NULL when there is no room for another one. */
static struct serve_counted_name *find_name(struct serve_names *names, const char *name, size_t length)
{
    for (size_t i = 0; i < names->count; i++)
        if (names->names[i].length == length && memcmp(names->names[i].name, name, length) == 0)
            return &names->names[i];
    char *copy = names->count == SERVE_NAMES_MAX ? NULL : malloc(length + 1);
    if (copy == NULL)
        return NULL;
    memcpy(copy, name, length);
    names->names[names->count] = (struct serve_counted_name){.name = copy, .length = length};
    return &names->names[names->count++];
}

void serve_names_count(struct serve_server *server, const char *event, const char *name, size_t length)
{
    size_t type = 0;

    while (type < SERVE_NAME_EVENTS && strcmp(event, serve_name_events[type]) != 0)
        type++;
    if (type == SERVE_NAME_EVENTS || !is_wanted(server, name, length))
        return;
    if (server->names == NULL && (server->names = calloc(1, sizeof *server->names)) == NULL)
        return;
    struct serve_counted_name *counted = find_name(server->names, name, length);
    *(counted == NULL ? &server->names->left_out : &counted->counts[type]) += 1;
}

void serve_names_free(struct serve_server *server)
{
    for (size_t i = 0; server->names != NULL && i < server->names->count; i++)
        free(server->names->names[i].name);
    free(server->names);
    server->names = NULL;
}

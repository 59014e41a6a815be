/*
 * One turn of the loop; see turn.h.
 */
#include "serve/turn.h"

void serve_turn_add(struct serve_server *server, struct serve_later *later, void (*begin)(void *context),
                    void *context)
{
    *later = (struct serve_later){.place = server->later_end, .begin = begin, .context = context};
    *server->later_end = later;
    server->later_end = &later->next;
}

void serve_turn_leave(struct serve_server *server, struct serve_later *later)
{
    if (later->place == NULL)
        return;
    *later->place = later->next;
    if (later->next != NULL)
        later->next->place = later->place;
    else
        server->later_end = later->place;
    later->place = NULL;
}

/* What it calls back may ask for more: a client may have sent its next request already. */
void serve_turn_end(struct serve_server *server)
{
    while (server->later != NULL || server->asked) {
        while (server->later != NULL) {
            struct serve_later *first = server->later;
            serve_turn_leave(server, first);
            first->begin(first->context);
        }
        server->asked = false;
        (void)redlock_client_process(server->client);
    }
}

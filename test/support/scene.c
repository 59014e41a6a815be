/*
 * Scenes; see scene.h.
 */
#include "support/scene.h"

#include <stdio.h>

#include "support/guarded.h"

/* The last node is the one behind the proxy. */
static int start_with(const struct fleet_options *options, void **state)
{
    static struct scene scene;
    int last = options->node_count - 1;
    size_t used = 0;

    scene.fleet = fleet_start(options);
    if (scene.fleet == NULL)
        return -1;
    scene.proxy = proxy_start(scene.fleet, last);
    if (scene.proxy == NULL)
        return -1;
    for (int node = 0; node < last; node++)
        used += (size_t)snprintf(scene.urls + used, sizeof scene.urls - used, "%s,",
                                 fleet_url(scene.fleet, node));
    snprintf(scene.urls + used, sizeof scene.urls - used, "%s", proxy_url(scene.proxy));
    *state = &scene;
    return 0;
}

int start_scene(void **state)
{
    struct fleet_options options = {.node_count = PROXIED + 1, .transport = FLEET_UNIX};

    return start_with(&options, state);
}

int start_promotable(void **state)
{
    struct fleet_options options = {
        .node_count = 1, .transport = FLEET_TCP, .config = "repl-diskless-sync-delay 0"};

    return start_with(&options, state);
}

int end_scene(void **state)
{
    struct scene *scene = *state;
    void *fleet = scene->fleet;

    proxy_stop(scene->proxy);
    return stop_guarded(&fleet);
}

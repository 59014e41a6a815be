/*
 * Fixtures with real nodes, one of them behind a bad network (proxy.h). At the end only lock keys count as
 * left behind. For the main thread only.
 */
#ifndef TEST_SUPPORT_SCENE_H
#define TEST_SUPPORT_SCENE_H

#include "support/fleet.h"
#include "support/proxy.h"

enum { PROXIED = 2 }; /* the last of three */

struct scene {
    struct fleet *fleet;
    struct proxy *proxy;
    char urls[512]; /* of all nodes, of the one behind the proxy that of the proxy */
};

/* Fixtures: *state is a struct scene. Three nodes, the last of them proxied; and one that others may be
 * replicas of. */
int start_scene(void **state);
int start_promotable(void **state);
int end_scene(void **state);

#define ON_SCENE(test, start)               \
    {                                       \
#test, test, start, end_scene, NULL \
    }

#endif

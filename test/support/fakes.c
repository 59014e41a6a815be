/*
 * Fakes; see fakes.h.
 */
#include "support/fakes.h"

#include <stdio.h>

#include "support/check.h"

void start_fakes(struct fake_node **fakes)
{
    for (int i = 0; i < FAKES; i++) {
        fakes[i] = fake_node_start(i == 0 ? FAKE_TCP : FAKE_UNIX);
        assert_non_null(fakes[i]);
    }
}

void stop_fakes(struct fake_node **fakes)
{
    for (int i = 0; i < FAKES; i++)
        fake_node_stop(fakes[i]);
}

void instruct_all(struct fake_node *const *fakes, void (*instruct)(struct fake_node *fake))
{
    for (int i = 0; i < FAKES; i++)
        instruct(fakes[i]);
}

const char *fake_urls(struct fake_node *const *fakes)
{
    return mixed_urls(fakes, FAKES, NULL, 0);
}

const char *mixed_urls(struct fake_node *const *fakes, int fake_count, const struct fleet *fleet,
                       int real_count)
{
    static char urls[2048];
    size_t used = 0;

    urls[0] = '\0';
    for (int i = 0; i < fake_count; i++)
        used += (size_t)snprintf(urls + used, sizeof(urls) - used, "%s,", fake_node_url(fakes[i]));
    for (int i = 0; i < real_count; i++)
        used += (size_t)snprintf(urls + used, sizeof(urls) - used, "%s,", fleet_url(fleet, i));
    return urls;
}

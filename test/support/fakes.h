/*
 * A handful of fake nodes that are all told the same, alone or with real ones. For the main thread only.
 */
#ifndef TEST_SUPPORT_FAKES_H
#define TEST_SUPPORT_FAKES_H

#include "support/fake_node.h"
#include "support/fleet.h"

enum { FAKES = 3 };

/* The first one speaks TCP. Fails the test when there are none to be had. */
void start_fakes(struct fake_node **fakes);
void stop_fakes(struct fake_node **fakes);

/* Tells each of them. */
void instruct_all(struct fake_node *const *fakes, void (*instruct)(struct fake_node *fake));

/* URLs of all of them; and of so many fake and then so many real nodes. Good until the next call. */
const char *fake_urls(struct fake_node *const *fakes);
const char *mixed_urls(struct fake_node *const *fakes, int fake_count, const struct fleet *fleet,
                       int real_count);

#endif

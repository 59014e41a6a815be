/*
 * What a client says through its log and trace hooks, kept as one text: who asks what was said, how often and
 * in which order. Lines come from any thread of the library.
 */
#ifndef TEST_SUPPORT_LISTENER_H
#define TEST_SUPPORT_LISTENER_H

#include <pthread.h>
#include <stdbool.h>

#include "redlock.h"

struct listener {
    pthread_mutex_t mutex;
    int lines;
    int broken_lines; /* with a newline in them, or empty */
    char text[65536]; /* what does not fit is not kept */
};

#define LISTENER_INIT                      \
    {                                      \
        .mutex = PTHREAD_MUTEX_INITIALIZER \
    }

/* Hooks for redlock_options, with the listener as their context. */
void listener_hear_log(void *context, redlock_log_level level, const char *line);
void listener_hear_trace(void *context, const char *line);

bool listener_heard(struct listener *listener, const char *words);

/* How many lines have these words in them. */
int listener_count(struct listener *listener, const char *words);

/* How many lines have these words before the first line with those; -1 when there is none with those. */
int listener_count_before(struct listener *listener, const char *words, const char *those);

void listener_forget(struct listener *listener);
void listener_show(struct listener *listener); /* on stderr, for a test that fails */

#endif

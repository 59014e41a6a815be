/*
 * Tokens of threads; see thread_token.h.
 */
#include "client/thread_token.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

static pthread_key_t token_key;
static pthread_once_t token_once = PTHREAD_ONCE_INIT;
static bool token_key_made;

static void thread_ended(void *value)
{
    struct rl_thread_token *token = value;

    atomic_store(&token->alive, false);
    rl_thread_token_unref(token);
}

static void make_key(void)
{
    token_key_made = pthread_key_create(&token_key, thread_ended) == 0;
}

/* Tokens outlive clients, so their memory is the system's, not a client's allocator's. */
struct rl_thread_token *rl_thread_token_get(void)
{
    struct rl_thread_token *token;

    pthread_once(&token_once, make_key);
    if (!token_key_made)
        return NULL;
    token = pthread_getspecific(token_key);
    if (token == NULL) {
        token = malloc(sizeof *token);
        if (token == NULL)
            return NULL;
        atomic_init(&token->refs, 1);
        atomic_init(&token->alive, true);
        if (pthread_setspecific(token_key, token) != 0) {
            free(token);
            return NULL;
        }
    }
    atomic_fetch_add(&token->refs, 1);
    return token;
}

void rl_thread_token_unref(struct rl_thread_token *token)
{
    if (token != NULL && atomic_fetch_sub(&token->refs, 1) == 1)
        free(token);
}

/*
 * Knows all clients, and makes them inert in a child; see fork.h.
 */
#include "client/fork.h"

static pthread_mutex_t registry_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t registry_once = PTHREAD_ONCE_INIT;
static struct rl_list registry;

#define FOR_ALL_CLIENTS(link) \
    for (struct rl_link *link = rl_list_first(&registry); link != NULL; link = rl_list_next(&registry, link))

/* Before fork(): nobody is in the middle of anything, so that the child's copies can be freed. */
static void before_fork(void)
{
    pthread_mutex_lock(&registry_mutex);
    FOR_ALL_CLIENTS(link)
    pthread_mutex_lock(&RL_CONTAINER(link, redlock_client, registered)->mutex);
}

static void after_fork_in_parent(void)
{
    FOR_ALL_CLIENTS(link)
    pthread_mutex_unlock(&RL_CONTAINER(link, redlock_client, registered)->mutex);
    pthread_mutex_unlock(&registry_mutex);
}

/* The child has neither the threads nor the right to speak on the connections: its handles are inert. */
static void after_fork_in_child(void)
{
    FOR_ALL_CLIENTS(link)
    {
        redlock_client *client = RL_CONTAINER(link, redlock_client, registered);

        client->inherited = client->engine.inert = true;
        pthread_mutex_init(&client->mutex, NULL);
    }
    pthread_mutex_init(&registry_mutex, NULL);
}

static void make_registry(void)
{
    rl_list_init(&registry);
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

void rl_fork_enlist(redlock_client *client)
{
    pthread_once(&registry_once, make_registry);
    pthread_mutex_lock(&registry_mutex);
    rl_list_append(&registry, &client->registered);
    pthread_mutex_unlock(&registry_mutex);
}

void rl_fork_delist(redlock_client *client)
{
    pthread_mutex_lock(&registry_mutex);
    rl_list_remove(&client->registered);
    pthread_mutex_unlock(&registry_mutex);
}

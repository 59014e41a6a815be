/*
 * Host names looked up with getaddrinfo() on one detached thread that comes and goes with the questions. It
 * does not look up several names at once: behind a slow name server, questions wait for each other.
 */
#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "net/resolver.h"

enum { TAG_COUNT = 31, HOST_SIZE = 256, IDLE_SECONDS = 5 };

enum slot_state { SLOT_EMPTY, SLOT_ASKED, SLOT_RUNNING, SLOT_ANSWERED };

/* What is known about the question under one tag. */
struct slot {
    enum slot_state state;
    unsigned short port;
    unsigned serial; /* rises with every question; an answer to an older one is dropped */
    char host[HOST_SIZE];
    struct rl_resolved answer;
};

/* Shared by owner and thread; the last of them frees it. It comes from malloc, since a look-up that hangs may
 * outlive the owner's allocator. */
struct shared {
    pthread_mutex_t lock;
    pthread_cond_t asked;
    int references; /* owner and thread */
    bool thread_runs;
    bool abandoned; /* by the owner: the thread has to end */
    unsigned next;  /* tag to look at first, so that all get their turn */
    struct slot slots[TAG_COUNT];

    /* Held while notify runs, and never together with lock: taking it once waits for a notify that is
     * running, not for a look-up. */
    pthread_mutex_t notify_lock;
    void (*notify)(void *context); /* NULL once the owner is gone */
    void *context;
};

struct rl_resolver {
    struct shared *shared;
    void (*release)(void *context, void *memory, size_t size);
    void *allocator;
};

struct question {
    unsigned tag;
    unsigned serial;
    unsigned short port;
    char host[HOST_SIZE];
};

/* ---- shared state -------------------------------------------------------------------------------------- */

/* The idle time is measured on a clock that nobody sets. */
static bool create_condition(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;
    if (pthread_condattr_init(&attributes) != 0)
        return false;
    bool good = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0 &&
                pthread_cond_init(condition, &attributes) == 0;
    pthread_condattr_destroy(&attributes);
    return good;
}

static struct shared *create_shared(void (*notify)(void *context), void *context)
{
    struct shared *shared = calloc(1, sizeof *shared);
    if (shared == NULL)
        return NULL;
    if (!create_condition(&shared->asked)) {
        free(shared);
        return NULL;
    }
    pthread_mutex_init(&shared->lock, NULL);
    pthread_mutex_init(&shared->notify_lock, NULL);
    shared->references = 1;
    shared->notify = notify;
    shared->context = context;
    return shared;
}

/* Gives up the caller's reference and the lock. */
static void drop_locked(struct shared *shared)
{
    assert(shared->references > 0);
    bool last = --shared->references == 0;
    pthread_mutex_unlock(&shared->lock);
    if (!last)
        return;
    pthread_mutex_destroy(&shared->notify_lock);
    pthread_mutex_destroy(&shared->lock);
    pthread_cond_destroy(&shared->asked);
    free(shared);
}

/* ---- the thread ---------------------------------------------------------------------------------------- */

/* Linear; there are at most 31 tags. */
static bool pick_question_locked(struct shared *shared, struct question *question)
{
    for (unsigned i = 0; i < TAG_COUNT; i++) {
        unsigned tag = (shared->next + i) % TAG_COUNT;
        struct slot *slot = &shared->slots[tag];
        if (slot->state != SLOT_ASKED)
            continue;
        slot->state = SLOT_RUNNING;
        shared->next = tag + 1;
        question->tag = tag;
        question->serial = slot->serial;
        question->port = slot->port;
        memcpy(question->host, slot->host, sizeof question->host);
        return true;
    }
    return false;
}

/* Waits for a question; false when the thread has to end: abandoned, or idle for long. */
static bool await_question_locked(struct shared *shared, struct question *question)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += IDLE_SECONDS;
    int waited = 0;
    for (;;) {
        if (shared->abandoned)
            return false;
        if (pick_question_locked(shared, question))
            return true;
        if (waited != 0)
            return false;
        waited = pthread_cond_timedwait(&shared->asked, &shared->lock, &until);
    }
}

static void describe_failure(int code, int error_number, char *words, size_t size)
{
    if (code == EAI_SYSTEM) {
        rl_stream_errno_words(error_number, words, size);
        return;
    }
    snprintf(words, size, "%s", gai_strerror(code));
    words[0] = (char)tolower((unsigned char)words[0]);
}

static void look_up(const struct question *question, struct rl_resolved *answer)
{
    memset(answer, 0, sizeof *answer);
    answer->tag = question->tag;
    char service[8];
    snprintf(service, sizeof service, "%u", (unsigned)question->port);
    struct addrinfo hints = {
        .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG | AI_NUMERICSERV};
    struct addrinfo *list = NULL;
    int code = getaddrinfo(question->host, service, &hints, &list);
    if (code != 0) {
        describe_failure(code, errno, answer->error, sizeof answer->error);
        return;
    }
    for (const struct addrinfo *each = list; each != NULL && answer->count < RL_RESOLVED_MAX;
         each = each->ai_next) {
        struct rl_address *address = &answer->addresses[answer->count++];
        memcpy(&address->storage, each->ai_addr, each->ai_addrlen);
        address->length = each->ai_addrlen;
    }
    freeaddrinfo(list);
}

/* false when the question was replaced or its owner has gone: there is nothing to tell. */
static bool store_answer_locked(struct shared *shared, const struct question *question,
                                const struct rl_resolved *answer)
{
    struct slot *slot = &shared->slots[question->tag];
    if (shared->abandoned || slot->serial != question->serial)
        return false;
    slot->answer = *answer;
    slot->state = SLOT_ANSWERED;
    return true;
}

static void notify_owner(struct shared *shared)
{
    pthread_mutex_lock(&shared->notify_lock);
    if (shared->notify != NULL)
        shared->notify(shared->context);
    pthread_mutex_unlock(&shared->notify_lock);
}

static void *run_thread(void *argument)
{
    struct shared *shared = argument;
    struct question question;
    struct rl_resolved answer;
    pthread_mutex_lock(&shared->lock);
    while (await_question_locked(shared, &question)) {
        pthread_mutex_unlock(&shared->lock);
        look_up(&question, &answer);
        pthread_mutex_lock(&shared->lock);
        if (!store_answer_locked(shared, &question, &answer))
            continue;
        pthread_mutex_unlock(&shared->lock);
        notify_owner(shared);
        pthread_mutex_lock(&shared->lock);
    }
    shared->thread_runs = false;
    drop_locked(shared);
    return NULL;
}

/* Detached, and with all signals blocked: the program's handlers run on the program's threads. */
static bool create_thread(struct shared *shared)
{
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0)
        return false;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_t thread;
    bool good = pthread_create(&thread, &attributes, run_thread, shared) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return good;
}

static bool ensure_thread_locked(struct shared *shared)
{
    if (shared->thread_runs)
        return true;
    if (!create_thread(shared))
        return false;
    shared->thread_runs = true;
    shared->references++;
    return true;
}

/* ---- the owner's side ---------------------------------------------------------------------------------- */

struct rl_resolver *rl_resolver_create(void *(*allocate)(void *context, size_t size),
                                       void (*release)(void *context, void *memory, size_t size),
                                       void *allocator, void (*notify)(void *context), void *context)
{
    assert(allocate != NULL);
    assert(release != NULL);
    assert(notify != NULL);
    struct rl_resolver *resolver = allocate(allocator, sizeof *resolver);
    if (resolver == NULL)
        return NULL;
    *resolver = (struct rl_resolver){create_shared(notify, context), release, allocator};
    if (resolver->shared == NULL) {
        release(allocator, resolver, sizeof *resolver);
        return NULL;
    }
    return resolver;
}

void rl_resolver_free(struct rl_resolver *resolver)
{
    if (resolver == NULL)
        return;
    struct shared *shared = resolver->shared;
    pthread_mutex_lock(&shared->notify_lock);
    shared->notify = NULL;
    pthread_mutex_unlock(&shared->notify_lock);
    pthread_mutex_lock(&shared->lock);
    shared->abandoned = true;
    pthread_cond_signal(&shared->asked);
    drop_locked(shared);
    resolver->release(resolver->allocator, resolver, sizeof *resolver);
}

/* The thread did not come along over the fork, and nobody knows which thread holds the mutexes. */
void rl_resolver_forget(struct rl_resolver *resolver)
{
    if (resolver == NULL)
        return;
    free(resolver->shared);
    resolver->release(resolver->allocator, resolver, sizeof *resolver);
}

bool rl_resolver_ask(struct rl_resolver *resolver, unsigned tag, const char *host, unsigned short port)
{
    assert(tag < TAG_COUNT);
    assert(strlen(host) < HOST_SIZE);
    struct shared *shared = resolver->shared;
    pthread_mutex_lock(&shared->lock);
    struct slot *slot = &shared->slots[tag];
    slot->serial++;
    bool good = ensure_thread_locked(shared);
    slot->state = good ? SLOT_ASKED : SLOT_EMPTY;
    slot->port = port;
    snprintf(slot->host, sizeof slot->host, "%s", host);
    pthread_cond_signal(&shared->asked);
    pthread_mutex_unlock(&shared->lock);
    return good;
}

bool rl_resolver_take(struct rl_resolver *resolver, struct rl_resolved *resolved)
{
    struct shared *shared = resolver->shared;
    bool found = false;
    pthread_mutex_lock(&shared->lock);
    for (unsigned tag = 0; tag < TAG_COUNT && !found; tag++) {
        struct slot *slot = &shared->slots[tag];
        if (slot->state != SLOT_ANSWERED)
            continue;
        *resolved = slot->answer;
        slot->state = SLOT_EMPTY;
        found = true;
    }
    pthread_mutex_unlock(&shared->lock);
    return found;
}

/*
 * The ways to ask; see asking.h. A lock is given away as a file with its owner value, which the next one
 * takes by renaming it: so only one goes on with it.
 */
#include "asking.h"

#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void note_ask(const struct hold *hold, const char *word, int64_t wait_ms)
{
    journal_add(&process.journal, "%s %" PRId64 " %u %s", word, journal_now_us(), hold->number, hold->name);
    if (wait_ms != 0)
        hold_note_number(hold, "wait", wait_ms);
}

redlock_result ask(struct hold *hold, const redlock_spec *spec, int64_t wait_ms)
{
    redlock_report report = REDLOCK_REPORT_INIT;
    redlock_lock *lock = NULL;

    note_ask(hold, "ask", wait_ms);
    redlock_result result = redlock_acquire(process.client, spec, wait_ms, &lock, &report);
    hold_note_answer(hold, result, lock);
    return result;
}

/* ---- by callback --------------------------------------------------------------------------------------- */

struct answer {
    struct hold *hold;
    pthread_mutex_t mutex;
    pthread_cond_t came;
    bool there;
    redlock_result result;
};

static struct answer await_for(struct hold *hold)
{
    return (struct answer){
        .hold = hold, .mutex = PTHREAD_MUTEX_INITIALIZER, .came = PTHREAD_COND_INITIALIZER};
}

/* The waiter may be gone with the answer as soon as the mutex is free. */
static void tell(struct answer *answer, redlock_result result)
{
    pthread_mutex_lock(&answer->mutex);
    answer->there = true;
    answer->result = result;
    pthread_cond_signal(&answer->came);
    pthread_mutex_unlock(&answer->mutex);
}

static void on_acquired(void *context, redlock_result result, redlock_lock *lock,
                        const redlock_report *report)
{
    struct answer *answer = context;

    (void)report;
    hold_note_answer(answer->hold, result, lock);
    tell(answer, result);
}

static void on_released(void *context, redlock_result result, const redlock_report *report)
{
    struct answer *answer = context;

    (void)report;
    hold_note_number(answer->hold, "released", result);
    tell(answer, result);
}

/* NULL: for as long as it takes. */
static bool await(struct answer *answer, const struct timespec *until)
{
    int error = 0;

    pthread_mutex_lock(&answer->mutex);
    while (!answer->there && error == 0)
        error = until != NULL ? pthread_cond_timedwait(&answer->came, &answer->mutex, until)
                              : pthread_cond_wait(&answer->came, &answer->mutex);
    pthread_mutex_unlock(&answer->mutex);
    return answer->there;
}

static struct timespec after_ms(int ms)
{
    struct timespec at;

    clock_gettime(CLOCK_REALTIME, &at);
    at.tv_nsec += (long)(ms % 1000) * 1000000;
    at.tv_sec += ms / 1000 + at.tv_nsec / 1000000000;
    at.tv_nsec %= 1000000000;
    return at;
}

/* Whether it comes too late or not, the callback runs once. */
static void cancel_after(struct answer *answer, redlock_request request, int cancel_ms)
{
    struct timespec until = after_ms(cancel_ms);

    if (await(answer, &until))
        return;
    hold_note(answer->hold, "cancel");
    (void)redlock_cancel(process.client, request);
}

redlock_result ask_async(struct hold *hold, const redlock_spec *spec, int64_t wait_ms, int cancel_ms)
{
    struct answer answer = await_for(hold);
    redlock_request request;

    note_ask(hold, "ask", wait_ms);
    redlock_result result =
        redlock_acquire_async(process.client, spec, wait_ms, on_acquired, &answer, &request);
    if (result != REDLOCK_OK) {
        hold_note_answer(hold, result, NULL);
        return result;
    }
    if (cancel_ms != NEVER_CANCEL)
        cancel_after(&answer, request, cancel_ms);
    await(&answer, NULL);
    return answer.result;
}

redlock_result release_async(struct hold *hold)
{
    struct answer answer = await_for(hold);
    redlock_request request;

    hold_note(hold, "release");
    redlock_result result = redlock_release_async(hold->lock, on_released, &answer, &request);
    if (result != REDLOCK_OK) {
        hold_note_number(hold, "released", result);
        return result;
    }
    await(&answer, NULL);
    return answer.result;
}

/* ---- gifts --------------------------------------------------------------------------------------------- */

static void path_of(char *path, size_t size, const char *name, const char *end, unsigned number)
{
    snprintf(path, size, "%s/%s.%s-%u.%s", process.folder, name, process.name, number, end);
}

static void path_of_gift(char *path, size_t size, const char *name)
{
    snprintf(path, size, "%s/%s.gift", process.folder, name);
}

void give_away(struct hold *hold)
{
    char wrapped[512], gift[512];
    size_t length;
    const char *owner = redlock_lock_owner(hold->lock, &length);
    int fd;

    path_of(wrapped, sizeof wrapped, hold->name, "wrapped", hold->number);
    path_of_gift(gift, sizeof gift, hold->name);
    fd = open(wrapped, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, owner, length) != (ssize_t)length) {
        perror(wrapped);
        _exit(1);
    }
    close(fd);
    hold_note(hold, "given");
    redlock_lock_free(hold->lock);
    hold->lock = NULL;
    if (rename(wrapped, gift) != 0) {
        perror(gift);
        _exit(1);
    }
}

redlock_result ask_for_gift(struct hold *hold, const redlock_spec *spec)
{
    char gift[512], taken[512], owner[REDLOCK_OWNER_MAX + 1];
    redlock_report report = REDLOCK_REPORT_INIT;
    redlock_lock *lock = NULL;
    ssize_t length;
    int fd;

    path_of_gift(gift, sizeof gift, hold->name);
    path_of(taken, sizeof taken, hold->name, "taken", hold->number);
    if (rename(gift, taken) != 0)
        return REDLOCK_BUSY;
    fd = open(taken, O_RDONLY | O_CLOEXEC);
    length = fd >= 0 ? read(fd, owner, sizeof owner) : -1;
    if (length <= 0) {
        perror(taken);
        _exit(1);
    }
    close(fd);
    unlink(taken);
    note_ask(hold, "adopt", 0);
    redlock_result result = redlock_adopt(process.client, spec, owner, (size_t)length, &lock, &report);
    hold_note_answer(hold, result, lock);
    return result;
}

/*
 * The calls that return at once and call back, their cancelling, and the descriptor for programs with an
 * event loop.
 */
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "client/background.h"
#include "client/driver.h"
#include "client/leave.h"
#include "client/notify.h"
#include "client/perform.h"
#include "client/poll.h"
#include "engine/sized.h"
#include "engine/spec.h"

enum { FLUSH_EVERY = 64 }; /* callbacks: none of them holds back too many questions */

/* ---- calls ---- */

static struct rl_operation *begin_acquire(redlock_client *client, const struct rl_task *task,
                                          redlock_request request, redlock_result *result,
                                          redlock_report *report)
{
    redlock_spec checked;

    *result = rl_spec_check(&client->engine, task->spec, &checked, report);
    if (*result != REDLOCK_OK)
        return NULL;
    rl_poll_refresh(client);
    return rl_begin_acquire(client, &checked, client->engine.now, task->wait_ms, request, result, report);
}

redlock_result redlock_acquire_async(redlock_client *client, const redlock_spec *spec, int64_t wait_ms,
                                     redlock_acquired_fn done, void *context, redlock_request *request)
{
    redlock_spec copy;
    struct rl_task task = {.begin = begin_acquire,
                           .kind = RL_OPERATION_ACQUIRE,
                           .spec = rl_begin_identify(rl_spec_accept(spec, &copy), &copy, false),
                           .wait_ms = wait_ms,
                           .acquired = done,
                           .context = context};

    return rl_perform_later(client, &task, request);
}

redlock_result redlock_extend_async(redlock_lock *lock, uint32_t ttl_ms, redlock_done_fn done, void *context,
                                    redlock_request *request)
{
    struct rl_task task = {.begin = rl_begin_extend,
                           .kind = RL_OPERATION_EXTEND,
                           .lock = lock,
                           .ttl_ms = ttl_ms,
                           .finished = done,
                           .context = context};

    return lock != NULL ? rl_perform_later(rl_client_of(lock), &task, request) : REDLOCK_INVALID;
}

static struct rl_operation *begin_release(redlock_client *client, const struct rl_task *task,
                                          redlock_request request, redlock_result *result,
                                          redlock_report *report)
{
    rl_poll_refresh(client);
    return rl_begin_release(task->lock, request, result, report);
}

redlock_result redlock_release_async(redlock_lock *lock, redlock_done_fn done, void *context,
                                     redlock_request *request)
{
    struct rl_task task = {.begin = begin_release,
                           .kind = RL_OPERATION_RELEASE,
                           .lock = lock,
                           .finished = done,
                           .context = context};

    return lock != NULL ? rl_perform_later(rl_client_of(lock), &task, request) : REDLOCK_INVALID;
}

redlock_result redlock_adopt_async(redlock_client *client, const redlock_spec *spec, const char *owner,
                                   size_t owner_length, redlock_acquired_fn done, void *context,
                                   redlock_request *request)
{
    redlock_spec copy;
    struct rl_task task = {.begin = rl_begin_known,
                           .kind = RL_OPERATION_ADOPT,
                           .spec = rl_begin_identify(rl_spec_accept(spec, &copy), &copy, false),
                           .owner = owner,
                           .owner_length = owner_length,
                           .acquired = done,
                           .context = context};

    return rl_perform_later(client, &task, request);
}

redlock_result redlock_release_owner_async(redlock_client *client, const char *name, size_t name_length,
                                           const char *owner, size_t owner_length, redlock_done_fn done,
                                           void *context, redlock_request *request)
{
    redlock_spec spec = rl_spec_of_name(name, name_length);
    struct rl_task task = {.begin = rl_begin_known,
                           .kind = RL_OPERATION_RELEASE,
                           .spec = &spec,
                           .owner = owner,
                           .owner_length = owner_length,
                           .finished = done,
                           .context = context};

    return rl_perform_later(client, &task, request);
}

redlock_result redlock_release_spec_async(redlock_client *client, const redlock_spec *spec, const char *owner,
                                          size_t owner_length, redlock_done_fn done, void *context,
                                          redlock_request *request)
{
    redlock_spec copy, which;
    struct rl_task task = {.begin = rl_begin_known,
                           .kind = RL_OPERATION_RELEASE,
                           .spec = rl_spec_which(rl_spec_accept(spec, &copy), &which),
                           .owner = owner,
                           .owner_length = owner_length,
                           .finished = done,
                           .context = context};

    return rl_perform_later(client, &task, request);
}

redlock_result redlock_inspect_async(redlock_client *client, const char *name, size_t name_length,
                                     redlock_done_fn done, void *context, redlock_request *request)
{
    redlock_spec spec = rl_spec_of_name(name, name_length);
    struct rl_task task = {.begin = rl_begin_survey,
                           .kind = RL_OPERATION_INSPECT,
                           .spec = &spec,
                           .finished = done,
                           .context = context};

    return rl_perform_later(client, &task, request);
}

redlock_result redlock_init_nodes_async(redlock_client *client, int force, redlock_done_fn done,
                                        void *context, redlock_request *request)
{
    struct rl_task task = {.begin = rl_begin_survey,
                           .kind = RL_OPERATION_INIT,
                           .force = force != 0,
                           .finished = done,
                           .context = context};

    return rl_perform_later(client, &task, request);
}

redlock_result redlock_cancel(redlock_client *client, redlock_request request)
{
    RL_NO_CANCELLATION;
    redlock_result result;

    if (client == NULL || !rl_client_enter(client))
        return REDLOCK_MISUSE;
    rl_client_now(client);
    result = rl_engine_cancel(&client->engine, request);
    rl_leave_together(client);
    return result;
}

/* ---- event loops ---- */

static bool add_inner(int outer_fd, int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

    return epoll_ctl(outer_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

static void close_outer(redlock_client *client)
{
    int *fds[] = {&client->outer_fd, &client->timer_fd, &client->ready_fd};

    for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++) {
        if (*fds[i] >= 0)
            close(*fds[i]);
        *fds[i] = -1;
    }
}

/* Three things make it readable: a node said something, a deadline has come, a callback waits to be run. */
static void open_outer(redlock_client *client)
{
    int outer_fd = epoll_create1(EPOLL_CLOEXEC);

    client->timer_fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    client->ready_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    client->outer_fd = outer_fd;
    if (outer_fd < 0 || client->timer_fd < 0 || client->ready_fd < 0 ||
        !add_inner(outer_fd, client->poller.epoll_fd) || !add_inner(outer_fd, client->timer_fd) ||
        !add_inner(outer_fd, client->ready_fd))
        close_outer(client);
}

int redlock_client_fd(redlock_client *client)
{
    RL_NO_CANCELLATION;
    int fd;

    if (client == NULL || !rl_client_enter(client))
        return -1;
    if (client->outer_fd < 0)
        open_outer(client);
    fd = client->outer_fd;
    if (fd >= 0 && !rl_list_empty(&client->completions))
        rl_background_ring_loop(client);
    rl_leave_sending(client);
    return fd;
}

static void take_down(int fd)
{
    uint64_t count;
    ssize_t got = read(fd, &count, sizeof count);

    (void)got; /* empty is fine */
}

/* What has not rung need not be taken down, which would cost a system call each. */
static void take_bells_down(redlock_client *client)
{
    if (client->loop_rung)
        take_down(client->ready_fd);
    client->loop_rung = false;
    if (!rl_time_before(rl_client_now(client), client->timer_set))
        take_down(client->timer_fd);
}

redlock_result redlock_client_process(redlock_client *client)
{
    RL_NO_CANCELLATION;
    if (client == NULL || !rl_client_enter(client))
        return REDLOCK_MISUSE;
    if (client->outer_fd >= 0)
        take_bells_down(client);
    if (!client->processing) {
        client->processing = true;
        client->processor = pthread_self();
        rl_driver_turn(client, (struct rl_time){0});
        client->loop_turn = client->engine.now;
        for (uint32_t run = 1; rl_notify_run(client, true, false); run++)
            if (run % FLUSH_EVERY == 0)
                rl_poll_flush(client);
        client->processing = false;
    }
    rl_leave_sending(client);
    return REDLOCK_OK;
}

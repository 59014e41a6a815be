/*
 * The calls that return at once and call back, their cancelling, and the descriptor for programs with an
 * event loop.
 */
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "client/background.h"
#include "client/begin.h"
#include "client/driver.h"
#include "client/leave.h"
#include "client/notify.h"
#include "client/poll.h"
#include "engine/details.h"
#include "engine/sized.h"
#include "engine/spec.h"

enum { FLUSH_EVERY = 64 }; /* callbacks: none of them holds back too many questions */

static redlock_request next_request(redlock_client *client)
{
    return ++client->engine.last_request;
}

/* The operation is under way, or has even ended already: its callback has not run, for that needs the
 * mutex. */
static void set_callback(struct rl_operation *operation, redlock_acquired_fn acquired,
                         redlock_done_fn finished, void *context, redlock_request *request)
{
    operation->acquired = acquired;
    operation->finished = finished;
    operation->context = context;
    if (request != NULL)
        *request = operation->request;
}

redlock_result redlock_acquire_async(redlock_client *client, const redlock_spec *spec, int64_t wait_ms,
                                     redlock_acquired_fn done, void *context, redlock_request *request)
{
    RL_NO_CANCELLATION;
    struct rl_operation *operation = NULL;
    redlock_spec copy, checked;
    redlock_result result;

    if (done == NULL)
        return REDLOCK_INVALID;
    if (client == NULL || !rl_client_enter(client))
        return REDLOCK_MISUSE;
    result = rl_spec_check(&client->engine, rl_begin_identify(rl_spec_accept(spec, &copy), &copy, false),
                           &checked, NULL);
    if (result == REDLOCK_OK) {
        rl_poll_refresh(client);
        operation = rl_begin_acquire(client, &checked, client->engine.now, wait_ms, next_request(client),
                                     &result, NULL);
    }
    if (operation != NULL)
        set_callback(operation, done, NULL, context, request);
    rl_leave_together(client);
    return result;
}

/* EXTEND, by ttl_ms, or RELEASE. */
static redlock_result end_or_extend(redlock_lock *lock, enum rl_operation_kind kind, uint32_t ttl_ms,
                                    redlock_done_fn done, void *context, redlock_request *request)
{
    struct rl_operation *operation;
    redlock_request number;
    redlock_result result;

    if (lock == NULL || done == NULL)
        return REDLOCK_INVALID;
    if (!rl_client_enter(rl_client_of(lock)))
        return REDLOCK_MISUSE;
    rl_poll_refresh(rl_client_of(lock));
    number = next_request(rl_client_of(lock));
    if (kind == RL_OPERATION_EXTEND)
        operation = rl_begin_extend(lock, ttl_ms, number, &result, NULL);
    else
        operation = rl_begin_release(lock, number, &result, NULL);
    if (operation != NULL)
        set_callback(operation, NULL, done, context, request);
    rl_leave_together(rl_client_of(lock));
    return result;
}

redlock_result redlock_extend_async(redlock_lock *lock, uint32_t ttl_ms, redlock_done_fn done, void *context,
                                    redlock_request *request)
{
    RL_NO_CANCELLATION;
    return end_or_extend(lock, RL_OPERATION_EXTEND, ttl_ms, done, context, request);
}

redlock_result redlock_release_async(redlock_lock *lock, redlock_done_fn done, void *context,
                                     redlock_request *request)
{
    RL_NO_CANCELLATION;
    return end_or_extend(lock, RL_OPERATION_RELEASE, 0, done, context, request);
}

static redlock_result know_later(redlock_client *client, const struct rl_known_call *call,
                                 redlock_acquired_fn acquired, redlock_done_fn finished, void *context,
                                 redlock_request *request)
{
    struct rl_operation *operation;
    redlock_result result;

    if (acquired == NULL && finished == NULL)
        return REDLOCK_INVALID;
    if (client == NULL || !rl_client_enter(client))
        return REDLOCK_MISUSE;
    operation = rl_begin_known(client, call, next_request(client), &result, NULL);
    if (operation != NULL)
        set_callback(operation, acquired, finished, context, request);
    rl_leave_together(client);
    return result;
}

redlock_result redlock_adopt_async(redlock_client *client, const redlock_spec *spec, const char *owner,
                                   size_t owner_length, redlock_acquired_fn done, void *context,
                                   redlock_request *request)
{
    RL_NO_CANCELLATION;
    redlock_spec copy;
    struct rl_known_call call = {RL_OPERATION_ADOPT,
                                 rl_begin_identify(rl_spec_accept(spec, &copy), &copy, false), owner,
                                 owner_length};

    return know_later(client, &call, done, NULL, context, request);
}

redlock_result redlock_release_owner_async(redlock_client *client, const char *name, size_t name_length,
                                           const char *owner, size_t owner_length, redlock_done_fn done,
                                           void *context, redlock_request *request)
{
    RL_NO_CANCELLATION;
    redlock_spec spec = {.size = sizeof spec, .name = name, .name_length = name_length};
    struct rl_known_call call = {RL_OPERATION_RELEASE, &spec, owner, owner_length};

    return know_later(client, &call, NULL, done, context, request);
}

redlock_result redlock_release_spec_async(redlock_client *client, const redlock_spec *spec, const char *owner,
                                          size_t owner_length, redlock_done_fn done, void *context,
                                          redlock_request *request)
{
    RL_NO_CANCELLATION;
    redlock_spec copy, which;
    struct rl_known_call call = {RL_OPERATION_RELEASE, rl_spec_which(rl_spec_accept(spec, &copy), &which),
                                 owner, owner_length};

    return know_later(client, &call, NULL, done, context, request);
}

/* What an inspection finds is kept until its callback has run. */
static redlock_result survey_later(redlock_client *client, const struct rl_survey_call *call,
                                   redlock_done_fn done, void *context, redlock_request *request)
{
    redlock_report kept = REDLOCK_REPORT_INIT;
    struct rl_operation *operation = NULL;
    redlock_result result = REDLOCK_NOMEM;

    if (done == NULL)
        return REDLOCK_INVALID;
    if (client == NULL || !rl_client_enter(client))
        return REDLOCK_MISUSE;
    if (call->kind == RL_OPERATION_INSPECT)
        kept.details = rl_details_create(&client->engine.config.allocator, client->engine.node_count);
    if (call->kind != RL_OPERATION_INSPECT || kept.details != NULL)
        operation = rl_begin_survey(client, call, next_request(client), &result, &kept);
    if (operation != NULL)
        set_callback(operation, NULL, done, context, request);
    else
        redlock_details_free(kept.details);
    rl_leave_together(client);
    return operation != NULL ? REDLOCK_OK : result;
}

redlock_result redlock_inspect_async(redlock_client *client, const char *name, size_t name_length,
                                     redlock_done_fn done, void *context, redlock_request *request)
{
    RL_NO_CANCELLATION;
    struct rl_survey_call call = {RL_OPERATION_INSPECT, name, name_length, false};

    return survey_later(client, &call, done, context, request);
}

redlock_result redlock_init_nodes_async(redlock_client *client, int force, redlock_done_fn done,
                                        void *context, redlock_request *request)
{
    RL_NO_CANCELLATION;
    struct rl_survey_call call = {RL_OPERATION_INIT, NULL, 0, force != 0};

    return survey_later(client, &call, done, context, request);
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
        for (uint32_t run = 1; rl_notify_run(client, true, false); run++)
            if (run % FLUSH_EVERY == 0)
                rl_poll_flush(client);
        client->processing = false;
    }
    rl_leave_sending(client);
    return REDLOCK_OK;
}

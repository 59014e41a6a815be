/*
 * The warden's two ends: in redlock, the calls that send it orders and hear what happened; in the warden's
 * own process, the loop that keeps the deadlines. Processes are started, signalled and swept by child.c.
 */
#include "cli/warden.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/clock.h"
#include "cli/exits.h"

/* Twice what the kernel accepts as one variable. Pages that are not touched cost nothing. */
#define VARIABLES_SIZE (256 * 1024)

/* How long KILL may take to work before we report survivors. */
#define SWEEP_MS 2000

enum order_kind { ORDER_DEADLINE, ORDER_START, ORDER_SIGNAL };

struct order {
    enum order_kind kind;
    int number;
    int64_t term_at_ms, kill_at_ms;
};

/* The state of the warden's own process. */
struct watch {
    const struct cli_warden_plan *plan;
    char *variables;
    int orders, signals, timer;
    pid_t child;    /* 0 before it was started */
    bool ended;     /* CMD itself; what it started may live on */
    bool childless; /* nothing at all is left below us */
    int wait_status;
    int64_t term_at_ms, kill_at_ms; /* of the lease */
    int64_t max_at_ms;              /* --max-time */
    int64_t give_up_at_ms;          /* --max-time plus grace */
    enum cli_stop_reason reason;
};

static void send_notice(const struct watch *watch, enum cli_warden_event event, int number, int survivors)
{
    struct cli_warden_notice notice = {event, number, watch->reason, survivors};

    (void)!send(watch->orders, &notice, sizeof notice, MSG_NOSIGNAL);
}

/* ---- the warden's own process -------------------------------------------------------------------------- */

/* Kills CMD and everything below it, says so, and is done. */
static _Noreturn void end_everything(struct watch *watch)
{
    int survivors = 0;

    if (watch->child != 0) {
        if (!watch->ended)
            cli_child_signal(&watch->plan->child, watch->child, SIGKILL);
        survivors =
            cli_child_sweep(getpid(), 0, cli_clock_now() + SWEEP_MS, watch->child, &watch->wait_status);
    }
    send_notice(watch, CLI_WARDEN_ENDED, watch->wait_status, survivors);
    _exit(0);
}

/* Asks CMD to end. A stopped process has to run to hear it. */
static void begin_stop(struct watch *watch, enum cli_stop_reason reason)
{
    watch->reason = reason;
    send_notice(watch, CLI_WARDEN_STOPPING, 0, 0);
    if (cli_clock_now() >= watch->kill_at_ms)
        return;
    cli_child_signal(&watch->plan->child, watch->child, SIGTERM);
    cli_child_signal(&watch->plan->child, watch->child, SIGCONT);
}

/* The next point in time at which something has to be done. */
static int64_t next_deadline(const struct watch *watch)
{
    int64_t lease = watch->reason == CLI_STOP_NONE ? watch->term_at_ms : watch->kill_at_ms;
    int64_t time = watch->reason == CLI_STOP_NONE ? watch->max_at_ms : watch->give_up_at_ms;

    if (watch->child == 0)
        return CLI_NEVER;
    /* Once lost, only the lease's end counts; it does not move any more. */
    return watch->reason == CLI_STOP_LOST || lease < time ? lease : time;
}

static void keep_deadlines(struct watch *watch)
{
    int64_t now = cli_clock_now();

    if (watch->child == 0)
        return;
    if (watch->reason == CLI_STOP_NONE && now >= watch->term_at_ms)
        begin_stop(watch, CLI_STOP_LOST);
    else if (watch->reason == CLI_STOP_NONE && now >= watch->max_at_ms)
        begin_stop(watch, CLI_STOP_MAX_TIME);
    if (watch->reason != CLI_STOP_NONE && now >= next_deadline(watch))
        end_everything(watch);
}

/* The timer runs on the clock that counts suspended time: after a long sleep it rings at once. */
static void set_timer(const struct watch *watch)
{
    int64_t at = next_deadline(watch);
    struct itimerspec timer = {0};

    if (at != CLI_NEVER) {
        at = at < 1 ? 1 : at; /* zero would switch it off */
        timer.it_value.tv_sec = (time_t)(at / 1000);
        timer.it_value.tv_nsec = (long)(at % 1000) * 1000000;
    }
    timerfd_settime(watch->timer, TFD_TIMER_ABSTIME, &timer, NULL);
}

/* Looks after every child there is: CMD and, as we are the subreaper, its orphans. */
static void reap(struct watch *watch)
{
    struct signalfd_siginfo info;
    int status;
    pid_t pid;

    while (read(watch->signals, &info, sizeof info) > 0)
        continue;
    while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
        if (pid != watch->child)
            continue;
        if (WIFSTOPPED(status)) {
            send_notice(watch, CLI_WARDEN_SUSPENDED, WSTOPSIG(status), 0);
        } else {
            watch->ended = true;
            watch->wait_status = status;
        }
    }
    watch->childless = pid < 0;
}

/* When CMD ended by itself, what it left in the background is left alone, as flock(1) does. When it was
 * stopped, everything has to go, but may use the grace that is left. */
static void end_if_done(const struct watch *watch)
{
    if (!watch->ended || (watch->reason != CLI_STOP_NONE && !watch->childless))
        return;
    send_notice(watch, CLI_WARDEN_ENDED, watch->wait_status, 0);
    _exit(0);
}

/* A text without = is the name of a variable that is to go. */
static void set_environment(char *variables)
{
    for (char *text = variables; *text != '\0'; text += strlen(text) + 1) {
        if (strchr(text, '=') == NULL)
            unsetenv(text);
        else
            putenv(text);
    }
}

static void start_child(struct watch *watch)
{
    const struct cli_warden_plan *plan = watch->plan;

    set_environment(watch->variables);
    int error = cli_child_start(&plan->child, watch->term_at_ms, &watch->child);
    if (error != 0) {
        send_notice(watch, CLI_WARDEN_FAILED, error, 0);
        _exit(0);
    }
    if (plan->max_time_ms != CLI_NOT_GIVEN) {
        watch->max_at_ms = cli_clock_now() + plan->max_time_ms;
        watch->give_up_at_ms = watch->max_at_ms + plan->grace_ms;
    }
    send_notice(watch, CLI_WARDEN_STARTED, (int)watch->child, 0);
}

static void obey(struct watch *watch, const struct order *order)
{
    const struct cli_warden_plan *plan = watch->plan;

    switch (order->kind) {
    case ORDER_DEADLINE:
        /* A loss is final, and one that is ignored has no deadlines. */
        if (watch->reason == CLI_STOP_LOST || plan->on_lost == CLI_ON_LOST_IGNORE)
            break;
        watch->kill_at_ms = order->kill_at_ms;
        watch->term_at_ms = plan->on_lost == CLI_ON_LOST_KILL ? order->kill_at_ms : order->term_at_ms;
        break;
    case ORDER_START:
        start_child(watch);
        break;
    case ORDER_SIGNAL:
        if (watch->child != 0 && !watch->ended)
            cli_child_signal(&plan->child, watch->child, order->number);
        break;
    }
}

/* Takes all orders that are there. When redlock is gone, so is the lock. */
static void take_orders(struct watch *watch)
{
    struct order order;

    for (;;) {
        ssize_t length = recv(watch->orders, &order, sizeof order, MSG_DONTWAIT);
        if (length == (ssize_t)sizeof order)
            obey(watch, &order);
        else if (length < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        else
            end_everything(watch);
    }
}

static _Noreturn void keep_watch(struct watch *watch)
{
    struct pollfd polled[] = {{.fd = watch->orders, .events = POLLIN},
                              {.fd = watch->signals, .events = POLLIN},
                              {.fd = watch->timer, .events = POLLIN}};

    for (;;) {
        set_timer(watch);
        (void)!poll(polled, sizeof polled / sizeof polled[0], -1);
        reap(watch);
        end_if_done(watch);
        take_orders(watch);
        keep_deadlines(watch);
    }
}

/* What the new process does first. In a group of its own, so that what is sent to redlock's group (Ctrl-C,
 * kill -9 of the whole group) does not reach it. */
static _Noreturn void be_warden(const struct cli_warden_plan *plan, int orders, char *variables)
{
    struct watch watch = {.plan = plan,
                          .variables = variables,
                          .orders = orders,
                          .term_at_ms = CLI_NEVER,
                          .kill_at_ms = CLI_NEVER,
                          .max_at_ms = CLI_NEVER,
                          .give_up_at_ms = CLI_NEVER};
    sigset_t all, child;

    prctl(PR_SET_NAME, "redlock-warden");
    setpgid(0, 0);
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    signal(SIGCHLD, SIG_DFL);
    watch.signals = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
    watch.timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    if (watch.signals < 0 || watch.timer < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1) != 0)
        _exit(CLI_EXIT_SYSTEM);
    keep_watch(&watch);
}

/* ---- redlock's end ------------------------------------------------------------------------------------- */

bool cli_warden_open(const struct cli_warden_plan *plan, struct cli_warden *warden)
{
    int ends[2];
    char *variables = mmap(NULL, VARIABLES_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (variables == MAP_FAILED || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return false;
    /* Only for the case that the warden is killed: then its orphans come to us. */
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        be_warden(plan, ends[1], variables);
    }
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return false;
    }
    *warden = (struct cli_warden){
        .pid = pid, .fd = ends[0], .started = cli_child_start_time(pid), .variables = variables};
    return true;
}

bool cli_warden_set_variable(struct cli_warden *warden, const char *name, const char *value)
{
    size_t room = VARIABLES_SIZE - warden->variables_used - 1;
    char *text = warden->variables + warden->variables_used;
    int length =
        value == NULL ? snprintf(text, room, "%s", name) : snprintf(text, room, "%s=%s", name, value);

    if (length < 0 || (size_t)length >= room)
        return false;
    warden->variables_used += (size_t)length + 1;
    return true;
}

/* The socket holds hundreds of orders; one that does not fit means that the warden is stuck, and then no
 * order helps. */
static void send_order(const struct cli_warden *warden, const struct order *order)
{
    (void)!send(warden->fd, order, sizeof *order, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void cli_warden_set_deadline(const struct cli_warden *warden, int64_t term_at_ms, int64_t kill_at_ms)
{
    send_order(warden,
               &(struct order){.kind = ORDER_DEADLINE, .term_at_ms = term_at_ms, .kill_at_ms = kill_at_ms});
}

void cli_warden_start(const struct cli_warden *warden)
{
    send_order(warden, &(struct order){.kind = ORDER_START});
}

void cli_warden_forward(const struct cli_warden *warden, int number)
{
    send_order(warden, &(struct order){.kind = ORDER_SIGNAL, .number = number});
}

struct cli_warden_notice cli_warden_listen(const struct cli_warden *warden)
{
    struct cli_warden_notice notice;
    ssize_t length = recv(warden->fd, &notice, sizeof notice, MSG_DONTWAIT);

    /* It ended without reading our last order. That is told once, ahead of what it said before. */
    if (length < 0 && errno == ECONNRESET)
        length = recv(warden->fd, &notice, sizeof notice, MSG_DONTWAIT);
    if (length == (ssize_t)sizeof notice)
        return notice;
    if (length < 0 && (errno == EAGAIN || errno == EINTR))
        return (struct cli_warden_notice){.event = CLI_WARDEN_NOTHING};
    return (struct cli_warden_notice){.event = CLI_WARDEN_GONE};
}

int cli_warden_sweep(const struct cli_warden *warden)
{
    int ignored = 0;

    return cli_child_sweep(getpid(), warden->started, cli_clock_now() + SWEEP_MS, 0, &ignored);
}

void cli_warden_close(struct cli_warden *warden)
{
    if (warden->pid == 0)
        return;
    close(warden->fd);
    waitpid(warden->pid, NULL, 0);
    munmap(warden->variables, VARIABLES_SIZE);
    warden->pid = 0;
}

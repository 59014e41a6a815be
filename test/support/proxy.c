/*
 * The bad network; see proxy.h. The loop that carries the bytes is in relay.c.
 */
#include "support/proxy.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "support/relay.h"

struct proxy {
    struct relay_orders *orders; /* shared with the process that does the work */
    pid_t pid;
    char url[64];
};

static void become_relay(int listener, const char *socket_path, struct relay_orders *orders, pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    relay_run(listener, socket_path, orders);
}

struct proxy *proxy_start(struct fleet *fleet, int node)
{
    struct proxy *proxy = calloc(1, sizeof *proxy);
    char socket_path[160];
    pid_t parent = getpid();
    int port = 0, listener = relay_listen("127.0.0.1", &port);
    struct relay_orders *orders =
        mmap(NULL, sizeof *orders, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (proxy == NULL || listener < 0 || orders == MAP_FAILED) {
        free(proxy);
        return NULL;
    }
    snprintf(socket_path, sizeof socket_path, "%s/%d/socket", fleet_folder(fleet), node);
    snprintf(proxy->url, sizeof proxy->url, "redis://127.0.0.1:%d", port);
    proxy->orders = orders;
    fflush(NULL);
    proxy->pid = fork();
    if (proxy->pid == 0)
        become_relay(listener, socket_path, orders, parent);
    close(listener);
    return proxy;
}

void proxy_stop(struct proxy *proxy)
{
    kill(proxy->pid, SIGKILL);
    waitpid(proxy->pid, NULL, 0);
    munmap(proxy->orders, sizeof *proxy->orders);
    free(proxy);
}

const char *proxy_url(const struct proxy *proxy)
{
    return proxy->url;
}

void proxy_hold(struct proxy *proxy, bool hold)
{
    atomic_store(&proxy->orders->hold, hold);
}

void proxy_mute(struct proxy *proxy, bool mute)
{
    atomic_store(&proxy->orders->mute, mute);
}

void proxy_cut_after_next(struct proxy *proxy)
{
    atomic_store(&proxy->orders->cut, RELAY_CUT_AFTER);
}

void proxy_cut_and_keep_next(struct proxy *proxy)
{
    atomic_store(&proxy->orders->deliver, 0);
    atomic_store(&proxy->orders->cut, RELAY_CUT_AND_KEEP);
}

void proxy_deliver(struct proxy *proxy)
{
    atomic_store(&proxy->orders->deliver, 1);
}

void proxy_cut_now(struct proxy *proxy)
{
    atomic_store(&proxy->orders->cut, RELAY_CUT_NOW);
    while (!proxy_has_cut(proxy))
        nanosleep(&(struct timespec){0, 1000000}, NULL);
}

bool proxy_has_cut(const struct proxy *proxy)
{
    return atomic_load(&proxy->orders->cut) == RELAY_CUT_NONE;
}

bool proxy_keeps_nothing(const struct proxy *proxy)
{
    return atomic_load(&proxy->orders->kept) == 0;
}

int proxy_resets(const struct proxy *proxy)
{
    return atomic_load(&proxy->orders->resets);
}

/*
 * A library to be preloaded into redis-server, or into any other program: it shows it another wall clock, as
 * a file in the node's folder says, which may change while the node runs. Clocks that only count are left
 * alone. (libfaketime does not work with redis-server.)
 */
#include "clock_shim.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static struct clock_shim *shim;

/* The environment names the file; else the configuration file is the first argument, and its folder is the
 * node's. */
__attribute__((constructor)) static void open_shim(int argc, char **argv)
{
    const char *slash = argc > 1 ? strrchr(argv[1], '/') : NULL, *named = getenv("CLOCK_SHIM");
    char path[512];
    void *memory;
    int fd;

    if (named == NULL && slash == NULL)
        return;
    if (named != NULL)
        snprintf(path, sizeof path, "%s", named);
    else
        snprintf(path, sizeof path, "%.*s/" CLOCK_SHIM_FILE, (int)(slash - argv[1]), argv[1]);
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return;
    memory = ftruncate(fd, sizeof *shim) == 0
                 ? mmap(NULL, sizeof *shim, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
                 : MAP_FAILED;
    shim = memory != MAP_FAILED ? memory : NULL;
    close(fd);
}

static int64_t shown_us(void)
{
    struct timespec real = {0};
    int64_t real_us;

    syscall(SYS_clock_gettime, CLOCK_REALTIME, &real);
    real_us = (int64_t)real.tv_sec * 1000000 + real.tv_nsec / 1000;
    return shim != NULL ? clock_shim_shown(shim, real_us) : real_us;
}

int clock_gettime(clockid_t which, struct timespec *at)
{
    int64_t us;

    if (which != CLOCK_REALTIME)
        return (int)syscall(SYS_clock_gettime, which, at);
    us = shown_us();
    *at = (struct timespec){.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};
    return 0;
}

int gettimeofday(struct timeval *restrict at, void *restrict zone)
{
    int64_t us = shown_us();

    (void)zone;
    *at = (struct timeval){.tv_sec = us / 1000000, .tv_usec = us % 1000000};
    return 0;
}

time_t time(time_t *at)
{
    time_t seconds = shown_us() / 1000000;

    if (at != NULL)
        *at = seconds;
    return seconds;
}

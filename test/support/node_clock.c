/*
 * Steers the clock shim; see node_clock.h.
 */
#include "support/node_clock.h"

#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "shim/clock_shim.h"

/* The library lies beside the test program. */
static const char *library_path(void)
{
    static char path[4200];
    char program[4096];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);

    program[length > 0 ? length : 0] = '\0';
    snprintf(path, sizeof path, "%s/clock_shim.so", dirname(program));
    return path;
}

struct fleet *fleet_start_with_clocks(const struct fleet_options *options)
{
    const char *library = library_path();

    if (access(library, R_OK) != 0) {
        fprintf(stderr, "# %s is missing\n", library);
        return NULL;
    }
    setenv("LD_PRELOAD", library, 1);
    return fleet_start(options);
}

static int64_t real_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void set_clock(struct fleet *fleet, int node, int64_t step_us, const int64_t *rate_ppm)
{
    char path[200];
    int fd;
    struct clock_shim *shim;

    snprintf(path, sizeof path, "%s/%d/" CLOCK_SHIM_FILE, fleet_folder(fleet), node);
    fd = open(path, O_RDWR | O_CLOEXEC);
    shim = fd >= 0 ? mmap(NULL, sizeof *shim, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
    if (shim == MAP_FAILED)
        abort();
    int64_t now = real_us(), shown = clock_shim_shown(shim, now);
    atomic_fetch_add(&shim->sequence, 1);
    atomic_store(&shim->offset_us, shown - now + step_us);
    atomic_store(&shim->since_us, now);
    if (rate_ppm != NULL)
        atomic_store(&shim->rate_ppm, *rate_ppm);
    atomic_fetch_add(&shim->sequence, 1);
    munmap(shim, sizeof *shim);
    close(fd);
}

void node_clock_step(struct fleet *fleet, int node, int64_t step_us)
{
    set_clock(fleet, node, step_us, NULL);
}

void node_clock_slew(struct fleet *fleet, int node, int64_t rate_ppm)
{
    set_clock(fleet, node, 0, &rate_ppm);
}

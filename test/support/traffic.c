/*
 * Reads INFO and processor clocks; see traffic.h.
 */
#include "support/traffic.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The number after "name:", or after "name:calls="; -1 when there is none. */
static long number_after(const char *text, const char *name)
{
    const char *found = strstr(text, name);

    return found != NULL ? strtol(found + strlen(name), NULL, 10) : -1;
}

static long sum_of_calls(const char *text)
{
    long sum = 0;

    for (const char *at = text; (at = strstr(at, "cmdstat_")) != NULL; at++)
        if (strncmp(at, "cmdstat_info:", strlen("cmdstat_info:")) != 0)
            sum += number_after(at, ":calls=");
    return sum;
}

long traffic_calls(struct fleet *fleet, int node, const char *command)
{
    const char *text = fleet_command(fleet, node, "INFO", "commandstats", NULL);
    char name[96];
    long calls;

    if (strstr(text, "# Commandstats") == NULL)
        return -1;
    if (command == NULL)
        return sum_of_calls(text);
    snprintf(name, sizeof name, "cmdstat_%s:calls=", command);
    calls = number_after(text, name);
    return calls < 0 ? 0 : calls;
}

long traffic_calls_of_all(struct fleet *fleet, const char *command)
{
    long sum = 0;

    for (int node = 0; node < fleet_size(fleet); node++)
        sum += traffic_calls(fleet, node, command);
    return sum;
}

long traffic_tracking(struct fleet *fleet, int node)
{
    return number_after(fleet_command(fleet, node, "INFO", "clients", NULL), "tracking_clients:");
}

long traffic_tracked_keys(struct fleet *fleet, int node)
{
    return number_after(fleet_command(fleet, node, "INFO", "stats", NULL), "tracking_total_keys:");
}

static long most(struct fleet *fleet, long (*number)(struct fleet *fleet, int node))
{
    long result = -1;

    for (int node = 0; node < fleet_size(fleet); node++)
        result = number(fleet, node) > result ? number(fleet, node) : result;
    return result;
}

long traffic_most_tracking(struct fleet *fleet)
{
    return most(fleet, traffic_tracking);
}

long traffic_most_tracked_keys(struct fleet *fleet)
{
    return most(fleet, traffic_tracked_keys);
}

long traffic_least_tracked_keys(struct fleet *fleet)
{
    long result = traffic_tracked_keys(fleet, 0);

    for (int node = 1; node < fleet_size(fleet); node++)
        result = traffic_tracked_keys(fleet, node) < result ? traffic_tracked_keys(fleet, node) : result;
    return result;
}

long traffic_cpu_us(pid_t pid)
{
    struct timespec used;
    clockid_t clock;

    if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &used) != 0)
        return 0;
    return (long)used.tv_sec * 1000000 + used.tv_nsec / 1000;
}

/*
 * Asks the system for host, login and process; see options.h.
 */
#include "client/options.h"

#include <pwd.h>
#include <stdio.h>
#include <unistd.h>

#include "client/memory.h"

static void find_host(char *host, size_t size)
{
    if (gethostname(host, size) != 0)
        snprintf(host, size, "?");
    host[size - 1] = '\0';
}

static void find_login(char *login, size_t size)
{
    struct passwd entry, *found = NULL;
    char buffer[4096];

    if (getpwuid_r(geteuid(), &entry, buffer, sizeof buffer, &found) == 0 && found != NULL)
        snprintf(login, size, "%s", found->pw_name);
    else
        snprintf(login, size, "%lu", (unsigned long)geteuid());
}

redlock_result rl_options_take(struct rl_config *config, const redlock_options *options, const char **wrong)
{
    redlock_allocator allocator = rl_system_allocator();
    redlock_options complete = *options;
    char host[65], login[65];

    *wrong = rl_config_check(options);
    if (*wrong != NULL)
        return REDLOCK_INVALID;
    if (options->host == NULL)
        find_host(host, sizeof host), complete.host = host;
    if (options->login == NULL)
        find_login(login, sizeof login), complete.login = login;
    if (options->pid == 0)
        complete.pid = (uint32_t)getpid();
    if (options->allocator == NULL)
        complete.allocator = &allocator;
    if (rl_config_make(config, &complete))
        return REDLOCK_OK;
    *wrong = "out of memory";
    return REDLOCK_NOMEM;
}

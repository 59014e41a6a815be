/*
 * Somebody who holds a lock or waits for one, in words; see holder.h.
 */
#include "cli/holder.h"

#include <stdio.h>
#include <string.h>

#include "cli/clock.h"
#include "cli/text.h"

void cli_holder_describe(const redlock_holder *holder, char *text, size_t size)
{
    const char *separator = " (";
    size_t used;

    snprintf(text, size, "%s",
             holder->host[0] != '\0' ? holder->host
             : holder->id[0] != '\0' ? holder->id
                                     : "somebody whose owner value is empty");
    used = strlen(text);
    if (holder->pid != 0) {
        snprintf(text + used, size - used, "%spid %u", separator, holder->pid);
        separator = ", ";
        used = strlen(text);
    }
    if (holder->user[0] != '\0') {
        snprintf(text + used, size - used, "%suser %s", separator, holder->user);
        separator = ", ";
        used = strlen(text);
    }
    if (holder->why[0] != '\0') {
        snprintf(text + used, size - used, "%s\"%s\"", separator, holder->why);
        separator = ", ";
        used = strlen(text);
    }
    if (separator[0] == ',')
        snprintf(text + used, size - used, ")");
}

void cli_holder_describe_since(const redlock_holder *who, char *text, size_t size)
{
    int64_t now = cli_clock_wall();
    size_t used;

    snprintf(text, size, "unknown (held by another program)");
    if (who->host[0] != '\0')
        snprintf(text, size, "%s pid %u user %s", who->host, who->pid, who->user);
    used = strlen(text);
    if (who->since_ms > 0)
        used += (size_t)snprintf(text + used, size - used, ", since %s (%s)",
                                 cli_text_since(who->since_ms, now).text,
                                 cli_text_span(now - who->since_ms).text);
    if (who->why[0] != '\0')
        snprintf(text + used, size - used, ", why \"%s\"", who->why);
}

bool cli_holder_is_of_other_format(const redlock_holder *holder)
{
    return strcmp(holder->id, "foreign") == 0 && holder->host[0] == '\0';
}

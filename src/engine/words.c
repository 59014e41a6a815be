/*
 * Names of results and verdicts, the version, and the reading of owner values: the parts of the API that need no client.
 */
#include <string.h>

#include "base/bytes.h"
#include "redlock.h"
#include "wire/owner.h"

const char *redlock_version(void)
{
    return REDLOCK_VERSION;
}

const char *redlock_result_name(redlock_result result)
{
    switch (result) {
    case REDLOCK_OK:
        return "ok";
    case REDLOCK_BUSY:
        return "busy";
    case REDLOCK_TIMEOUT:
        return "timed out";
    case REDLOCK_NOT_HELD:
        return "not held";
    case REDLOCK_LOST:
        return "lost";
    case REDLOCK_CANCELED:
        return "canceled";
    case REDLOCK_NO_QUORUM:
        return "no quorum";
    case REDLOCK_TOO_SLOW:
        return "too slow";
    case REDLOCK_QUARANTINE:
        return "quarantine";
    case REDLOCK_DENIED:
        return "denied";
    case REDLOCK_FOREIGN_TYPE:
        return "foreign type";
    case REDLOCK_INVALID:
        return "invalid";
    case REDLOCK_MISUSE:
        return "misuse";
    case REDLOCK_NOMEM:
        return "out of memory";
    case REDLOCK_SYSTEM:
        return "system error";
    }
    return "unknown result";
}

const char *redlock_verdict_name(redlock_verdict verdict)
{
    switch (verdict) {
    case REDLOCK_VERDICT_SILENT:
        return "silent";
    case REDLOCK_VERDICT_GRANTED:
        return "granted";
    case REDLOCK_VERDICT_DENIED:
        return "denied";
    case REDLOCK_VERDICT_UNFIT:
        return "unfit";
    case REDLOCK_VERDICT_BROKEN:
        return "broken";
    case REDLOCK_VERDICT_PENDING:
        return "pending";
    }
    return "unknown verdict";
}

void redlock_holder_parse(const char *owner, size_t owner_length, redlock_holder *holder)
{
    struct rl_text id = rl_text_on(holder->id, sizeof holder->id);
    int64_t pid;

    memset(holder, 0, sizeof *holder);
    rl_text_add_printable(&id, owner,
                          owner_length < sizeof holder->id ? owner_length : sizeof holder->id - 1);
    rl_owner_field(owner, owner_length, "host", holder->host, sizeof holder->host);
    rl_owner_field(owner, owner_length, "user", holder->user, sizeof holder->user);
    rl_owner_field(owner, owner_length, "why", holder->why, sizeof holder->why);
    pid = rl_owner_number(owner, owner_length, "pid");
    holder->pid = pid > 0 && pid <= UINT32_MAX ? (uint32_t)pid : 0;
    holder->since_ms = rl_owner_number(owner, owner_length, "since");
}

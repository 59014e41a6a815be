/*
 * Names of results and verdicts, the version, and the reading of owner values: the parts of the API that need
 * no client.
 */
#include <string.h>

#include "base/bytes.h"
#include "redlock.h"
#include "wire/owner.h"

const char *redlock_version(void)
{
    return REDLOCK_VERSION;
}

uint32_t redlock_version_number(void)
{
    return REDLOCK_VERSION_NUMBER;
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
    case REDLOCK_FORBIDDEN:
        return "forbidden";
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
    case REDLOCK_VERDICT_HELD:
        return "held";
    case REDLOCK_VERDICT_INELIGIBLE:
        return "ineligible";
    case REDLOCK_VERDICT_FAILED:
        return "failed";
    case REDLOCK_VERDICT_PENDING:
        return "pending";
    case REDLOCK_VERDICT_FREE:
        return "free";
    case REDLOCK_VERDICT_NOT_HELD:
        return "not held";
    }
    return "unknown verdict";
}

/* By number; a test compares them with the header. */
static const char *const cause_names[] = {
    [REDLOCK_CAUSE_NONE] = "none",
    [REDLOCK_CAUSE_CONNECTING] = "connecting",
    [REDLOCK_CAUSE_REFUSED] = "refused",
    [REDLOCK_CAUSE_UNREACHABLE] = "unreachable",
    [REDLOCK_CAUSE_TIMED_OUT] = "timed out",
    [REDLOCK_CAUSE_SILENT] = "silent",
    [REDLOCK_CAUSE_RESOLVE] = "resolve",
    [REDLOCK_CAUSE_TLS] = "tls",
    [REDLOCK_CAUSE_PROTOCOL] = "protocol",
    [REDLOCK_CAUSE_CREDENTIALS] = "credentials",
    [REDLOCK_CAUSE_RIGHTS] = "rights",
    [REDLOCK_CAUSE_REPLICA] = "replica",
    [REDLOCK_CAUSE_LOADING] = "loading",
    [REDLOCK_CAUSE_MEMORY] = "memory",
    [REDLOCK_CAUSE_SCRIPT] = "script",
    [REDLOCK_CAUSE_DISK] = "disk",
    [REDLOCK_CAUSE_CLUSTER] = "cluster",
    [REDLOCK_CAUSE_SENTINEL] = "sentinel",
    [REDLOCK_CAUSE_TOO_OLD] = "too old",
    [REDLOCK_CAUSE_FOREIGN_TYPE] = "foreign type",
    [REDLOCK_CAUSE_LATE] = "late",
    [REDLOCK_CAUSE_ERROR] = "error",
    [REDLOCK_CAUSE_DUPLICATE] = "duplicate",
    [REDLOCK_CAUSE_EVICTION] = "eviction",
    [REDLOCK_CAUSE_QUARANTINE] = "quarantine",
    [REDLOCK_CAUSE_FENCES] = "fences",
    [REDLOCK_CAUSE_EPOCH] = "epoch",
    [REDLOCK_CAUSE_CLOCK_STEP] = "clock step",
    [REDLOCK_CAUSE_CLOCK_RATE] = "clock rate",
    [REDLOCK_CAUSE_BROKEN] = "broken",
};

const char *redlock_cause_name(redlock_cause cause)
{
    size_t number = (size_t)cause;

    return number < sizeof cause_names / sizeof cause_names[0] ? cause_names[number] : "unknown cause";
}

const char *redlock_change_name(redlock_change change)
{
    static const char *const names[] = {
        [REDLOCK_CHANGE_HELD] = "held",           [REDLOCK_CHANGE_FREE] = "free",
        [REDLOCK_CHANGE_ACQUIRED] = "acquired",   [REDLOCK_CHANGE_EXTENDED] = "extended",
        [REDLOCK_CHANGE_HANDED_ON] = "handed on", [REDLOCK_CHANGE_RELEASED] = "released",
        [REDLOCK_CHANGE_EXPIRED] = "expired",     [REDLOCK_CHANGE_LOST] = "lost",
        [REDLOCK_CHANGE_BROKEN] = "broken",       [REDLOCK_CHANGE_UNKNOWN] = "unknown",
        [REDLOCK_CHANGE_SEEN] = "seen",
    };
    size_t number = (size_t)change;

    return number < sizeof names / sizeof names[0] ? names[number] : "unknown change";
}

void redlock_holder_parse(const char *owner, size_t owner_length, redlock_holder *holder)
{
    struct rl_text id;
    int64_t pid;

    if (holder == NULL)
        return;
    memset(holder, 0, sizeof *holder);
    if (owner == NULL)
        return;
    holder->broken = rl_owner_unmark(&owner, &owner_length);
    id = rl_text_on(holder->id, sizeof holder->id);
    rl_text_add_printable(&id, owner,
                          owner_length < sizeof holder->id ? owner_length : sizeof holder->id - 1);
    rl_owner_field(owner, owner_length, "host", holder->host, sizeof holder->host);
    rl_owner_field(owner, owner_length, "user", holder->user, sizeof holder->user);
    rl_owner_field(owner, owner_length, "why", holder->why, sizeof holder->why);
    holder->tag_length = (uint32_t)rl_owner_tag(owner, owner_length, holder->tag);
    pid = rl_owner_number(owner, owner_length, "pid");
    holder->pid = pid > 0 && pid <= UINT32_MAX ? (uint32_t)pid : 0;
    holder->since_ms = rl_owner_number(owner, owner_length, "since");
    holder->ttl_ms = rl_owner_number(owner, owner_length, "ttl");
}

/*
 * What a caller asks for, checked, with its defaults filled in; see spec.h.
 */
#include "engine/spec.h"

#include <string.h>

#include "core/validity.h"
#include "engine/report.h"

enum { DEFAULT_TTL_MS = 15000 };

static bool makes_reserved_key(const struct rl_engine *engine, const redlock_spec *spec)
{
    char key[REDLOCK_NAME_MAX];
    size_t prefix = engine->config.key_prefix_length;

    memcpy(key, engine->config.key_prefix, prefix);
    memcpy(key + prefix, spec->name, spec->name_length);
    return rl_key_reserved(key, prefix + spec->name_length);
}

static const char *check_name(const struct rl_engine *engine, const redlock_spec *spec)
{
    if (spec->name == NULL || spec->name_length == 0)
        return "name is empty: give the lock a name";
    if (engine->config.key_prefix_length + spec->name_length > REDLOCK_NAME_MAX)
        return "name is too long: prefix and name together may have 1024 bytes";
    if (makes_reserved_key(engine, spec))
        return "names that make a key beginning with redlock-guard:, -fence:, -line: or -mark: are reserved";
    return NULL;
}

/* A lease that cannot be renewed before it ends would be lost every time. */
static const char *check_renewal(const struct rl_engine *engine, const redlock_spec *spec)
{
    struct rl_span ttl = rl_span_ms(spec->ttl_ms);
    struct rl_span drift = rl_validity_drift(ttl, engine->config.drift_ppm);

    if (spec->auto_extend != 0 && spec->on_lost == NULL)
        return "auto_extend needs on_lost: a renewed lock can still be lost, and you have to know";
    if (spec->auto_extend != 0 && rl_span_ms(spec->renew_ms).us >= rl_span_sub(ttl, drift).us)
        return "renew_ms is not below the validity of ttl_ms: the lock would be lost before it is renewed";
    return NULL;
}

static const char *check_times(const struct rl_engine *engine, const redlock_spec *spec)
{
    if (spec->ttl_ms < REDLOCK_TTL_MIN_MS)
        return "ttl_ms is below 50: a lease that short leaves no time to use it";
    if (spec->ttl_ms > REDLOCK_TTL_MAX_MS)
        return "ttl_ms is above 86400000 (one day): keep it short and renew it";
    if (engine->config.guarded && rl_span_ms(spec->ttl_ms).us > engine->config.max_ttl.us)
        return "ttl_ms is above max_ttl_ms of the client: shorten it and renew, or raise max_ttl_ms";
    if (spec->max_hold_ms < 0)
        return "max_hold_ms is negative";
    return check_renewal(engine, spec);
}

static const char *check_kind(const struct rl_engine *engine, const redlock_spec *spec)
{
    const struct rl_kind *kind = rl_lock_kind(engine, spec->kind);

    if (kind == NULL && spec->kind == REDLOCK_FAIR)
        return "REDLOCK_FAIR does not exist in Redisson's format: redlock does not join its queue";
    if (kind == NULL && spec->kind == REDLOCK_SEMAPHORE)
        return "REDLOCK_SEMAPHORE does not exist in Redisson's format";
    if (kind == NULL)
        return "kind is none of REDLOCK_EXCLUSIVE, REDLOCK_FAIR, REDLOCK_SHARED and REDLOCK_SEMAPHORE";
    if (spec->kind == REDLOCK_SEMAPHORE && spec->permits == 0)
        return "permits is 0: a semaphore has at least one slot";
    if (spec->kind == REDLOCK_SEMAPHORE && spec->permits > REDLOCK_PERMITS_MAX)
        return "permits is above 1000: nodes look at every slot with each question";
    if (spec->permits != 0 && spec->kind != REDLOCK_SEMAPHORE)
        return "permits is for REDLOCK_SEMAPHORE: leave it 0 for other kinds";
    return engine->config.guarded ? NULL : kind->not_plain;
}

static const char *check_reentrant(const redlock_spec *spec)
{
    if (spec->reentrant == 0)
        return spec->identity != 0 ? "identity is for reentrant locks: leave it 0 for others" : NULL;
    if (spec->identity == 0)
        return "reentrant needs an identity in asynchronous calls: no thread owns what they take";
    if (spec->kind != REDLOCK_EXCLUSIVE && spec->kind != REDLOCK_FAIR)
        return "reentrant is for REDLOCK_EXCLUSIVE and REDLOCK_FAIR";
    if (spec->also_count != 0)
        return "reentrant and also exclude each other";
    return NULL;
}

static bool is_same_name(const redlock_name *name, const char *other, size_t length)
{
    return rl_name_length(name) == length && memcmp(name->name, other, length) == 0;
}

static bool is_given_before(const redlock_spec *spec, uint32_t number)
{
    const redlock_name *name = &spec->also[number];

    for (uint32_t i = 0; i < number; i++)
        if (is_same_name(name, spec->also[i].name, rl_name_length(&spec->also[i])))
            return true;
    return is_same_name(name, spec->name, spec->name_length);
}

static const char *check_also(const struct rl_engine *engine, const redlock_spec *spec)
{
    if (spec->also_count == 0)
        return spec->also != NULL ? "also is given and also_count is 0" : NULL;
    if (spec->also == NULL)
        return "also is NULL and also_count is not 0";
    if (spec->also_count >= REDLOCK_NAMES_MAX)
        return "also_count is above 15: a lock has at most 16 names";
    if (spec->kind != REDLOCK_EXCLUSIVE && spec->kind != REDLOCK_FAIR)
        return "also is for REDLOCK_EXCLUSIVE and REDLOCK_FAIR: shared locks and semaphores have one name";
    if (!engine->config.guarded)
        return "also needs the guarded mode: plain nodes take one name at a time";
    for (uint32_t i = 0; i < spec->also_count; i++) {
        redlock_spec named = {.name = spec->also[i].name, .name_length = rl_name_length(&spec->also[i])};
        const char *wrong = check_name(engine, &named);

        if (wrong != NULL)
            return wrong;
        if (is_given_before(spec, i))
            return "also has a name twice: name each once";
    }
    return NULL;
}

static const char *check_tag(const redlock_spec *spec)
{
    if (spec->tag_length > REDLOCK_TAG_MAX)
        return "tag_length is above 128: keep the tag short, it travels with every command";
    if (spec->tag_length > 0 && spec->tag == NULL)
        return "tag is NULL and tag_length is not 0";
    return NULL;
}

/* A lease that nobody chose the length of: the usual one, or the longest there may be if that is shorter. A
 * release by its owner value alone names none either. */
static uint32_t default_ttl_ms(const struct rl_engine *engine)
{
    int64_t most_ms = rl_span_ms_up(engine->config.max_ttl);

    return engine->config.guarded && most_ms < DEFAULT_TTL_MS ? (uint32_t)most_ms : DEFAULT_TTL_MS;
}

redlock_result rl_spec_check(struct rl_engine *engine, const redlock_spec *spec, redlock_spec *checked,
                             redlock_report *report)
{
    const char *wrong = NULL;

    if (spec == NULL) {
        wrong =
            "spec.size is not sizeof(redlock_spec), or a newer spec wants what this library does not know: "
            "start from REDLOCK_SPEC_INIT";
    } else {
        *checked = *spec;
        if (checked->name != NULL && checked->name_length == 0)
            checked->name_length = strlen(checked->name);
        checked->ttl_ms = spec->ttl_ms != 0 ? spec->ttl_ms : default_ttl_ms(engine);
        checked->renew_ms = spec->renew_ms != 0 ? spec->renew_ms : checked->ttl_ms / 3;
        wrong = check_name(engine, checked);
        if (wrong == NULL)
            wrong = check_times(engine, checked);
        if (wrong == NULL)
            wrong = check_kind(engine, checked);
        if (wrong == NULL)
            wrong = check_tag(checked);
        if (wrong == NULL)
            wrong = check_reentrant(checked);
        if (wrong == NULL)
            wrong = check_also(engine, checked);
    }
    if (wrong == NULL)
        return REDLOCK_OK;
    rl_report_error(report, REDLOCK_INVALID, "%s", wrong);
    return REDLOCK_INVALID;
}

const char *rl_spec_check_break(const struct rl_engine *engine, const redlock_break_spec *spec)
{
    redlock_spec named = {.name = spec->name, .name_length = spec->name_length};

    if (spec->id == NULL || spec->id_length == 0)
        return "id is empty: name the holder, by its id from an inspection or by its owner value";
    if (spec->id_length > REDLOCK_OWNER_MAX)
        return "id is longer than 511 bytes";
    if (spec->slot_number > REDLOCK_PERMITS_MAX)
        return "slot_number is above 1000";
    if (spec->grace_ms < REDLOCK_BREAK_NOW || spec->grace_ms > REDLOCK_TTL_MAX_MS)
        return "grace_ms is neither REDLOCK_BREAK_NOW nor between 0 and 86400000 (one day)";
    return check_name(engine, &named);
}

const char *rl_spec_check_list(const struct rl_engine *engine, enum rl_operation_kind kind,
                               const redlock_list_spec *spec)
{
    redlock_spec named = {.name = spec->name, .name_length = spec->name_length};

    if (spec->glob_length > REDLOCK_NAME_MAX)
        return "glob is too long: it may have 1024 bytes";
    return spec->name != NULL || kind == RL_OPERATION_WAIT ? check_name(engine, &named) : NULL;
}

/*
 * Calls that look at all nodes, or end somebody's hold, begin; see operator_calls.h.
 */
#include "engine/operator_calls.h"

#include <string.h>

#include "base/bytes.h"
#include "base/format.h"
#include "engine/calls.h"
#include "engine/guard.h"
#include "engine/listing.h"
#include "engine/settling.h"
#include "engine/spec.h"
#include "engine/steps.h"

enum { PROBE_NAME_MAX = 40 };

/* Room for what nodes say of themselves, when that is asked for the first time. */
static bool make_facts(struct rl_engine *engine)
{
    if (engine->facts == NULL)
        engine->facts = rl_state_allocate(engine, engine->node_capacity * sizeof *engine->facts);
    if (engine->facts == NULL)
        return false;
    memset(engine->facts, 0, engine->node_capacity * sizeof *engine->facts);
    return true;
}

/* A name that no lock has, to try rights on; 0: the host has no randomness. */
static size_t make_probe_name(struct rl_engine *engine, char name[PROBE_NAME_MAX])
{
    struct rl_text text = rl_text_on(name, PROBE_NAME_MAX);
    uint8_t random[8];
    char digits[2 * sizeof random];

    if (!rl_state_random(engine, random, sizeof random))
        return 0;
    rl_hex_write(digits, random, sizeof random);
    rl_text_add(&text, "redlock-doctor:");
    rl_text_add_bytes(&text, digits, sizeof digits);
    return text.length;
}

struct rl_operation *rl_call_survey(struct rl_engine *engine, enum rl_operation_kind kind,
                                    const redlock_spec *spec, bool force, redlock_request request,
                                    redlock_result *result, redlock_report *report)
{
    bool inspects = kind == RL_OPERATION_INSPECT;
    struct rl_operation *operation;
    char probe[PROBE_NAME_MAX];
    redlock_spec named;

    if (kind == RL_OPERATION_INIT && !engine->config.guarded)
        return rl_call_refuse(result, report, REDLOCK_MISUSE,
                              "a plain client has no guard to admit nodes to");
    if (kind == RL_OPERATION_EXAMINE) {
        named = *spec;
        named.name = probe;
        named.name_length = make_probe_name(engine, probe);
        spec = &named;
        if (named.name_length == 0 || !make_facts(engine))
            return rl_call_refuse(result, report, REDLOCK_NOMEM, "out of memory");
    }
    if (engine->config.key_prefix_length + spec->name_length > REDLOCK_NAME_MAX)
        return rl_call_refuse(result, report, REDLOCK_INVALID,
                              "name is too long: prefix and name together may have 1024 bytes");
    if (kind == RL_OPERATION_INIT)
        rl_guard_begin(engine);
    operation = rl_call_begin_on_own(
        engine, kind, rl_lock_create(engine, spec, spec->name_length, "nobody", strlen("nobody")), request);
    if (operation == NULL)
        return rl_call_refuse(result, report, REDLOCK_NOMEM, "out of memory");
    operation->record.details = inspects && report != NULL ? report->details : NULL;
    rl_details_forget(operation->record.details);
    operation->force = force;
    rl_settling_begin(operation, engine->node_count);
    rl_steps_run(engine);
    return operation;
}

struct rl_operation *rl_call_break(struct rl_engine *engine, const redlock_break_spec *spec,
                                   redlock_details *details, redlock_request request, redlock_result *result,
                                   redlock_report *report)
{
    redlock_spec named = {.size = sizeof named, .name = spec->name, .name_length = spec->name_length};
    const char *wrong = rl_spec_check_break(engine, spec);
    struct rl_operation *operation;

    if (wrong != NULL)
        return rl_call_refuse(result, report, REDLOCK_INVALID, wrong);
    operation = rl_call_begin_on_own(
        engine, RL_OPERATION_INSPECT,
        rl_lock_create(engine, &named, named.name_length, spec->id, spec->id_length), request);
    if (operation == NULL)
        return rl_call_refuse(result, report, REDLOCK_NOMEM, "out of memory");
    operation->breaks = true;
    operation->breaks_slot = spec->slot_number;
    operation->any_grace = spec->grace_ms == 0;
    if (spec->grace_ms > 0)
        operation->grace_ms = (uint32_t)spec->grace_ms;
    operation->record.details = details;
    rl_details_forget(details);
    rl_settling_begin(operation, engine->node_count);
    rl_steps_run(engine);
    return operation;
}

static struct rl_operation *make_listing(struct rl_engine *engine, enum rl_operation_kind kind,
                                         const redlock_list_spec *spec, redlock_request request)
{
    redlock_spec named = {.size = sizeof named, .name = spec->name, .name_length = spec->name_length};
    struct rl_operation *operation = rl_call_begin_on_own(
        engine, kind, rl_lock_create(engine, &named, named.name_length, "nobody", strlen("nobody")), request);

    if (operation == NULL || rl_listing_create(operation, spec))
        return operation;
    rl_operation_free(engine, operation);
    return NULL;
}

struct rl_operation *rl_call_list(struct rl_engine *engine, enum rl_operation_kind kind,
                                  const redlock_list_spec *spec, int64_t wait_ms, redlock_request request,
                                  redlock_result *result, redlock_report *report)
{
    const char *wrong = rl_spec_check_list(engine, kind, spec);
    struct rl_operation *operation;

    if (wrong == NULL && wait_ms < REDLOCK_WAIT_FOREVER)
        wrong = "wait_ms is below -1: use REDLOCK_WAIT_FOREVER to wait without end";
    if (wrong != NULL)
        return rl_call_refuse(result, report, REDLOCK_INVALID, wrong);
    operation = make_listing(engine, kind, spec, request);
    if (operation == NULL)
        return rl_call_refuse(result, report, REDLOCK_NOMEM, "out of memory");
    if (wait_ms >= 0)
        operation->listing->give_up_at = rl_time_add(engine->now, rl_span_ms(wait_ms));
    operation->listing->nonblocking = wait_ms == 0;
    rl_settling_begin(operation, engine->node_count);
    rl_steps_run(engine);
    return operation;
}

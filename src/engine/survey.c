/*
 * Surveys: inspection and examination, which are one question to every node and no more, and init and break,
 * which are two; see survey.h.
 */
#include "engine/survey.h"

#include "engine/admission.h"
#include "engine/breaking.h"
#include "engine/dispatch.h"
#include "engine/record.h"
#include "engine/send.h"

static void ask_all(struct rl_operation *operation, enum rl_command_kind kind, uint32_t question)
{
    struct rl_engine *engine = operation->lock->engine;

    operation->tally = rl_tally_start(engine->node_count);
    rl_timers_set(&engine->timers, &operation->timer, rl_time_add(engine->now, engine->config.node_timeout));
    rl_dispatch_ask(operation->lock, rl_node_set_all(engine->node_count), kind, question);
}

/* No lock was seen, or that does not matter: the nodes are told so, with a floor by what they said. */
static void give_the_word(struct rl_operation *operation)
{
    struct rl_engine *engine = operation->lock->engine;
    struct rl_guard_clock clocks[RL_NODES_MAX];

    for (uint32_t node = 0; node < engine->node_count; node++)
        clocks[node] = engine->guards[node].heard;
    engine->init_floor = rl_guard_init_floor(clocks, engine->node_count);
    if (RL_PLANTED(engine, RL_PLANTED_INIT_CLOCK))
        engine->init_floor = rl_guard_high(rl_state_wall_us(engine), 0);
    operation->searching = false;
    ask_all(operation, RL_COMMAND_ADMIT, 2);
}

static void end_survey(struct rl_operation *operation, redlock_result result)
{
    redlock_lock *lock = operation->lock;

    rl_operation_stop_asking(operation);
    lock->stage = RL_LOCK_OVER;
    rl_operation_finish(operation, result);
}

/* All nodes have been looked at: the one to be broken is on some of them, or is not. */
static void begin_break(struct rl_operation *operation)
{
    redlock_result result = rl_breaking_begin(operation);

    if (result == REDLOCK_OK)
        ask_all(operation, RL_COMMAND_BREAK, 2);
    else
        end_survey(operation, result);
}

/* Whether the operator's word can make a quorum of those that answered: a node that drops locks, or that
 * cannot be told from another one, is not admitted by it. When it cannot, nobody is admitted: a minority is
 * of no use. */
static bool is_worth_the_word(struct rl_operation *operation)
{
    struct rl_engine *engine = operation->lock->engine;
    struct rl_tally *tally = &operation->tally;
    rl_node_set able = tally->granted | tally->denied, ruled_out = 0;
    const char *why;

    for (rl_node_set left = able; left != 0; left &= left - 1) {
        uint32_t node = rl_node_set_first(left);

        if (rl_admission_ruled_out(&engine->sessions[node].handshake.info, &why) != RL_CAUSE_NONE)
            ruled_out |= rl_node_set_one(node);
    }
    if (rl_node_set_count(able & ~ruled_out) >= rl_quorum(tally->node_count))
        return true;
    for (rl_node_set left = ruled_out; left != 0; left &= left - 1)
        rl_record_refusal(operation->lock, rl_node_set_first(left));
    tally->granted &= ~ruled_out;
    tally->denied &= ~ruled_out;
    tally->ineligible |= ruled_out;
    return false;
}

static void step(struct rl_operation *operation, const struct rl_event *event)
{
    struct rl_tally *tally = &operation->tally;
    redlock_lock *lock = operation->lock;
    uint32_t able;

    if (event->kind == RL_EVENT_ANSWER && event->question != lock->owed_question)
        return; /* late, of the search before */
    if (event->kind == RL_EVENT_ANSWER)
        rl_tally_add(tally, event->node, &event->answer);
    able = rl_node_set_count(tally->granted | tally->denied);
    /* Everybody is heard, for the picture is wanted whole; only time ends it early. */
    if (rl_node_set_count(rl_tally_answered(tally)) < tally->node_count && event->kind == RL_EVENT_ANSWER)
        return;
    if (event->kind == RL_EVENT_TIMER && rl_time_before(event->now, operation->timer.at))
        return;
    if (event->kind == RL_EVENT_TIMER)
        rl_record_silence(lock, tally);
    if (operation->breaks && event->kind != RL_EVENT_CANCEL && able >= rl_quorum(tally->node_count)) {
        begin_break(operation);
        return;
    }
    if (operation->kind == RL_OPERATION_BREAK)
        rl_breaking_end(operation, able >= rl_quorum(tally->node_count));
    if (operation->searching && event->kind != RL_EVENT_CANCEL && tally->duplicate == 0) {
        if (!is_worth_the_word(operation))
            end_survey(operation, (redlock_result)rl_tally_reason(tally));
        else if (operation->force || tally->denied == 0)
            give_the_word(operation);
        else
            end_survey(operation, REDLOCK_BUSY);
        return;
    }
    if (event->kind == RL_EVENT_CANCEL)
        end_survey(operation, REDLOCK_CANCELED);
    else if (tally->duplicate != 0)
        end_survey(operation, REDLOCK_INVALID);
    else if (able >= rl_quorum(tally->node_count))
        end_survey(operation, REDLOCK_OK);
    else
        end_survey(operation, (redlock_result)rl_tally_reason(tally));
}

void rl_survey_event(struct rl_operation *operation, const struct rl_event *event)
{
    struct rl_event refusal;

    step(operation, event);
    while (!operation->done && rl_dispatch_take_refused(operation->lock, &refusal))
        step(operation, &refusal);
    operation->lock->refused_locally = 0;
}

/* Before the question that ends the survey, so that the answers are there by then. */
static void ask_who_waits(redlock_lock *lock)
{
    for (uint32_t node = 0; node < lock->engine->node_count; node++) {
        if (rl_session_silent(&lock->engine->sessions[node], lock->engine->now))
            continue;
        rl_send_command(lock, node, RL_COMMAND_LINE, 0, NULL, false);
        rl_send_command(lock, node, RL_COMMAND_FENCE, 0, NULL, false);
    }
}

void rl_survey_start(struct rl_operation *operation, enum rl_command_kind kind)
{
    struct rl_engine *engine = operation->lock->engine;
    redlock_lock *lock = operation->lock;
    struct rl_event refusal;

    lock->asking = operation;
    operation->searching = kind == RL_COMMAND_SEARCH;
    for (uint32_t node = 0; node < engine->node_count && operation->searching; node++)
        engine->guards[node].heard.heard = false;
    if ((kind == RL_COMMAND_PEEK || kind == RL_COMMAND_WATCH) && lock->key_length > 0 &&
        engine->config.guarded)
        ask_who_waits(lock);
    ask_all(operation, kind, 1);
    if (rl_dispatch_take_refused(lock, &refusal))
        rl_survey_event(operation, &refusal);
}

/*
 * Writes commands for one node, alone or together with others; see send.h.
 */
#include "engine/send.h"

#include <assert.h>
#include <string.h>

#include "core/validity.h"
#include "engine/admission.h"
#include "engine/hearing.h"
#include "engine/operation.h"
#include "engine/proof.h"
#include "engine/vote.h"
#include "wire/many_command.h"

/* Bytes that a command fits in beside its script and its keys, and what each of several names takes beside
 * three times its key. */
enum { ARGUMENTS_ROOM = 3072, NAME_ROOM = 192 };

/* The largest number that Lua keeps exactly. */
#define NOT_AFTER_NEVER INT64_C(9007199254740991)

/* What a guarded node wants to be told with a question: see wire/lua/ask.lua. */
static void add_guard(struct rl_lock_command *command, const redlock_lock *lock, uint32_t node,
                      const struct rl_pending *pending)
{
    struct rl_engine *engine = lock->engine;
    const struct rl_node_guard *guard = &engine->guards[node];

    command->epoch = guard->epoch;
    command->fence = pending->number;
    /* Rule: a question that arrives after nobody waits for its answer any more must not be carried out. */
    command->not_after_us = guard->watch.anchored ? rl_clock_watch_node_us(&guard->watch, pending->sent) +
                                                        engine->config.node_timeout.us
                                                  : NOT_AFTER_NEVER;
    command->repair = command->repair && rl_vote_counts(engine, node);
}

/* One that adopts a lock does not know yet whether it is the holder. */
static bool holds(const redlock_lock *lock)
{
    return lock->stage == RL_LOCK_HELD && (lock->handle || !lock->owner_fixed);
}

/* Rule of repair: a holder whose validity lasts may plant its key where it is missing. */
static bool may_plant(const redlock_lock *lock)
{
    return holds(lock) && lock->broken_on == 0;
}

/* Of a semaphore: which slot it is about. What a holder gives back beside its own slot are those of others
 * that it was given on the way. */
static void add_slot(struct rl_lock_command *command, const redlock_lock *lock, const struct rl_stand *stand,
                     const struct rl_pending *pending)
{
    command->slots = lock->slots;
    command->slot = lock->slot;
    if (stand != NULL) {
        command->slot = command->kind == RL_COMMAND_RAISE     ? stand->slot
                        : command->kind == RL_COMMAND_ACQUIRE ? stand->wish
                                                              : 0;
        command->only_slot = stand->only;
    }
    if (command->kind == RL_COMMAND_RELEASE)
        command->kept_slot = (uint32_t)pending->number;
}

/* The slot that a holder keeps when it gives back others; 0: it is no holder, and everything goes. */
static uint32_t slot_to_keep(const redlock_lock *lock, const uint8_t *random)
{
    uint8_t present[RL_OWNER_RANDOM];

    rl_lock_random(lock, present);
    return lock->stage == RL_LOCK_HELD && rl_lease_held(&lock->lease, lock->engine->now) &&
                   memcmp(present, random, sizeof present) == 0
               ? lock->slot
               : 0;
}

bool rl_send_is_return(const redlock_lock *lock, const struct rl_pending *pending)
{
    return lock->slots > 0 && pending->kind == RL_COMMAND_RELEASE && pending->number > 0;
}

/* The command of a pending request; its owner value goes into `owner`. */
static struct rl_lock_command make_command(const struct rl_pending *pending, uint32_t node,
                                           char owner[RL_OWNER_MAX + 1])
{
    const redlock_lock *lock = pending->subject;
    struct rl_operation *standing = rl_operation_in_line(lock);
    struct rl_lock_command command = {.kind = (enum rl_command_kind)pending->kind,
                                      .lock_kind = lock->kind,
                                      .key = lock->text,
                                      .key_length = lock->key_length,
                                      .names = lock->names != NULL ? &lock->names->keys : NULL,
                                      .owner = owner,
                                      .owner_length = rl_lock_owner_text(lock, pending->random, owner),
                                      .holds = holds(lock),
                                      .repair = may_plant(lock),
                                      .whole = lock->owner_fixed && !lock->handle,
                                      .nameless =
                                          pending->kind == RL_COMMAND_PEEK && rl_lock_is_nameless(lock),
                                      .ttl_ms = lock->ttl_ms};

    if (lock->asking != NULL && lock->asking->breaks && pending->kind == RL_COMMAND_PEEK) {
        command.finds = true;
        command.slot = lock->asking->breaks_slot;
    }
    if (pending->question == RL_QUESTION_MEND)
        command.ttl_ms = (int64_t)pending->number;
    if (lock->engine->config.guarded)
        add_guard(&command, lock, node, pending);
    if (command.kind == RL_COMMAND_EXTEND)
        command.fence = lock->fence;
    if (lock->slots > 0)
        add_slot(&command, lock, standing != NULL ? &standing->stand : NULL, pending);
    if (standing != NULL && rl_stand_lines(&standing->stand)) {
        standing->place.channel = rl_hearing_channel(lock->engine, node);
        standing->place.yields = standing->stand.nodes[node].yields;
        standing->place.keeps = lock->names != NULL && !standing->place.yields &&
                                rl_stand_nodes(&standing->stand, RL_STAND_HAS) != 0;
        command.place = &standing->place;
    }
    if (command.kind == RL_COMMAND_PAGE && lock->asking != NULL)
        command.page = lock->asking->page;
    return command;
}

/* Native compare-and-delete, unless somebody may stand in line, or the lock was broken: the mark that is
 * there now is taken away by the script only. Nor for what is sent again in full: the native command was
 * tried before. */
static unsigned release_features(const struct rl_session *session, const redlock_lock *lock)
{
    return lock->broken_on != 0 || lock->kind->stands_in_line ? 0 : session->handshake.info.features;
}

static void write_alone(struct rl_session *session, struct rl_pending *pending,
                        const struct rl_lock_command *command, struct rl_writer *writer)
{
    const struct rl_script *script = rl_lock_command_script(command);
    unsigned features = pending->full ? 0 : release_features(session, pending->subject);

    if (script != NULL && rl_script_first_use(&session->carried, script))
        pending->full = true;
    pending->replies = (uint8_t)rl_lock_command_replies(command);
    pending->native = pending->kind == RL_COMMAND_RELEASE && features != 0;
    rl_lock_command_write(writer, command, features, pending->full);
}

/* Of one of several requests as much as its keys need. */
static struct rl_lock_command name_command(const struct rl_pending *pending)
{
    const redlock_lock *lock = pending->subject;

    return (struct rl_lock_command){.kind = (enum rl_command_kind)pending->kind,
                                    .lock_kind = lock->kind,
                                    .key = lock->text,
                                    .key_length = lock->key_length};
}

static const struct rl_script *script_for_many(const struct rl_pending *pending)
{
    const redlock_lock *lock = pending->subject;

    return rl_many_script(lock->kind, (enum rl_command_kind)pending->kind);
}

static void write_together(struct rl_session *session, uint32_t count, struct rl_writer *writer)
{
    const struct rl_pending *first = rl_exchange_recent(&session->exchange, count, 0);
    const struct rl_script *script = script_for_many(first);
    bool full = rl_script_first_use(&session->carried, script);
    char owner[RL_OWNER_MAX + 1];
    struct rl_lock_command command = name_command(first);

    rl_many_write_head(writer, &command, script, count, full);
    for (uint32_t i = 0; i < count; i++) {
        struct rl_pending *pending = rl_exchange_recent(&session->exchange, count, i);

        pending->together = (uint8_t)count;
        pending->full = full;
        command = name_command(pending);
        rl_many_write_key(writer, &command);
    }
    for (uint32_t i = 0; i < count; i++) {
        command = make_command(rl_exchange_recent(&session->exchange, count, i), session->node, owner);
        if (i == 0)
            rl_many_write_common(writer, &command); /* the first was asked first, and is too late first */
        rl_many_write_arguments(writer, &command);
    }
}

void rl_send_compose(struct rl_exchange *exchange, uint32_t count, struct rl_writer *writer)
{
    struct rl_session *session = RL_CONTAINER(exchange, struct rl_session, exchange);

    assert(count >= 1);
    assert(count <= RL_MANY_MAX);
    if (count == 1) {
        struct rl_pending *pending = rl_exchange_recent(&session->exchange, 1, 0);
        char owner[RL_OWNER_MAX + 1];
        struct rl_lock_command command = make_command(pending, session->node, owner);

        write_alone(session, pending, &command, writer);
    } else {
        write_together(session, count, writer);
    }
}

/* Whether it can go in one command with others that are asked for before the connection is written to. */
static bool can_go_together(const redlock_lock *lock, const struct rl_session *session,
                            enum rl_command_kind kind)
{
    if (session->apart || rl_many_script(lock->kind, kind) == NULL)
        return false;
    if (kind == RL_COMMAND_RELEASE)
        return release_features(session, lock) == 0;
    return rl_operation_acquiring(lock) != NULL && lock->engine->config.guarded;
}

static bool send_together(struct rl_session *session, const redlock_lock *lock,
                          const struct rl_pending *pending)
{
    struct rl_exchange *exchange = &session->exchange;
    size_t size = RL_MANY_EACH + lock->owner_length + lock->key_length;

    assert(script_for_many(pending) != NULL);
    if (exchange->enlisted == RL_MANY_MAX ||
        (exchange->enlisted > 0 &&
         script_for_many(rl_exchange_recent(exchange, 1, 0)) != script_for_many(pending)))
        rl_exchange_compose(exchange);
    return rl_exchange_enlist(exchange, exchange->enlisted == 0 ? RL_MANY_HEAD + size : size, pending);
}

/* Rule: a caller that does not hold the lock yet relies on what the node remembers; so it must still be the
 * master that was greeted. Scripts that give a lock look at that themselves; one that extends a lock for its
 * holder does not, and one that would adopt it asks besides. */
static bool wants_proof(const redlock_lock *lock, const struct rl_session *session, enum rl_command_kind kind)
{
    return lock->engine->config.guarded && kind == RL_COMMAND_EXTEND && !holds(lock) &&
           rl_proof_possible(session);
}

static size_t length_of(const struct rl_script *script)
{
    return script != NULL ? script->text_length : 0;
}

/* Bytes that a command about this lock fits in. Looks have no script of their own here: they carry theirs
 * whole each time. */
static size_t room_for(const redlock_lock *lock, const struct rl_script *script, bool full)
{
    size_t room = ARGUMENTS_ROOM + 6 * (size_t)lock->key_length;

    if (script == NULL)
        room += length_of(lock->kind->look) + length_of(lock->kind->find);
    else if (full)
        room += length_of(script);
    if (lock->names != NULL)
        room += lock->names->keys.count * (size_t)NAME_ROOM + 3 * lock->names->keys.bytes;
    return room;
}

static bool send_alone(struct rl_session *session, const redlock_lock *lock, struct rl_pending *pending)
{
    char owner[RL_OWNER_MAX + 1];
    struct rl_lock_command command = make_command(pending, session->node, owner);
    const struct rl_script *script = rl_lock_command_script(&command);
    bool full = pending->full || (script != NULL && !rl_script_is_carried(session->carried, script));
    struct rl_writer writer;

    if (!rl_exchange_reserve(&session->exchange, room_for(lock, script, full), &writer))
        return false;
    command.prove = wants_proof(lock, session, command.kind);
    write_alone(session, pending, &command, &writer);
    rl_exchange_commit(&session->exchange, &writer, pending);
    return true;
}

/* Rule: a key is never shortened. So the longest that was asked for counts, by the slowest clock that a node
 * may have, from the last moment at which the question may be carried out. */
static void note_key(redlock_lock *lock, enum rl_command_kind kind)
{
    struct rl_span ttl = rl_span_ms(lock->ttl_ms);
    struct rl_span slow = rl_validity_drift(ttl, lock->engine->config.drift_ppm);

    if (kind == RL_COMMAND_ACQUIRE || kind == RL_COMMAND_EXTEND)
        lock->kept_until = rl_time_max(
            lock->kept_until, rl_time_add(rl_time_add(lock->engine->now, lock->engine->config.node_timeout),
                                          rl_span_add(ttl, slow)));
}

struct rl_examine_command rl_send_examine_command(const redlock_lock *lock)
{
    return (struct rl_examine_command){.key = lock->text,
                                       .key_length = lock->key_length,
                                       .prefix_length = lock->engine->config.key_prefix_length,
                                       .guarded = lock->engine->config.guarded};
}

static bool send_examination(redlock_lock *lock, uint32_t node, uint32_t question)
{
    struct rl_engine *engine = lock->engine;
    struct rl_exchange *exchange = &engine->sessions[node].exchange;
    struct rl_examine_command command = rl_send_examine_command(lock);
    struct rl_pending pending = {.subject = lock,
                                 .question = question,
                                 .kind = RL_COMMAND_EXAMINE,
                                 .replies = (uint8_t)rl_examine_replies(&command),
                                 .sent = engine->now};
    struct rl_writer writer;

    if (engine->config.guarded)
        rl_hearing_begin(engine, node); /* so that it is known whether it may */
    if (!rl_exchange_reserve(exchange, rl_examine_room(&command), &writer))
        return false;
    rl_examine_write(&writer, &command);
    rl_exchange_commit(exchange, &writer, &pending);
    rl_lock_ref(lock);
    engine->wants.write |= rl_node_set_one(node);
    return true;
}

bool rl_send_command(redlock_lock *lock, uint32_t node, enum rl_command_kind kind, uint32_t question,
                     const uint8_t *random, bool full)
{
    struct rl_engine *engine = lock->engine;
    struct rl_session *session = &engine->sessions[node];
    const struct rl_operation *standing = rl_operation_in_line(lock);
    struct rl_pending pending = {.subject = lock,
                                 .question = question,
                                 .kind = (uint8_t)kind,
                                 .replies = 1,
                                 .full = full,
                                 .number = lock->fence,
                                 .sent = engine->now};
    bool sent;

    assert(node < engine->node_count);
    assert(lock->kind != NULL);
    if (question == RL_QUESTION_MEND)
        pending.number = (uint64_t)rl_span_ms_up(rl_lease_left(&lock->lease, engine->now));
    if (kind == RL_COMMAND_ADMIT)
        return rl_admission_ask(engine, node, RL_WORD_INIT, lock, full);
    if (kind == RL_COMMAND_EXAMINE)
        return send_examination(lock, node, question);
    /* Rule: a term is announced before it is used. */
    if ((kind == RL_COMMAND_ACQUIRE || kind == RL_COMMAND_EXTEND) && !rl_admission_announce(engine, node))
        return false;
    if (kind == RL_COMMAND_ACQUIRE && standing != NULL && rl_stand_lines(&standing->stand))
        rl_hearing_begin(engine, node);
    if (random != NULL)
        memcpy(pending.random, random, sizeof pending.random);
    else
        rl_lock_random(lock, pending.random);
    if (kind == RL_COMMAND_RELEASE && lock->slots > 0)
        pending.number = slot_to_keep(lock, pending.random);
    if (!full && can_go_together(lock, session, kind))
        sent = send_together(session, lock, &pending);
    else
        sent = send_alone(session, lock, &pending);
    if (!sent)
        return false;
    note_key(lock, kind);
    rl_lock_ref(lock);
    engine->wants.write |= rl_node_set_one(node);
    return true;
}

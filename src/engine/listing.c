/*
 * Walks, looks, and rests; see listing.h.
 */
#include "engine/listing.h"

#include <string.h>

#include "engine/finds.h"
#include "engine/guard.h"
#include "engine/looks.h"
#include "engine/news.h"
#include "engine/picture.h"
#include "engine/report.h"
#include "engine/walk.h"
#include "engine/watching.h"

/* ---- the end, for good or for now ---- */

void rl_listing_free(struct rl_operation *operation)
{
    struct rl_engine *engine = operation->lock->engine;
    struct rl_listing *listing = operation->listing;

    if (listing == NULL)
        return;
    rl_finds_drop_all(listing);
    rl_finds_drop(engine, listing->latest);
    rl_walk_drop_page(listing);
    rl_seen_free(engine, &listing->seen);
    rl_knowns_free(engine, &listing->knowns);
    rl_list_remove(&listing->link);
    operation->listing = NULL;
    rl_state_release(engine, listing, sizeof *listing + listing->pattern_length);
}

/* What time does not mend: acquisitions do not wait for it either. */
static bool is_hopeless(redlock_result result)
{
    return result == REDLOCK_FORBIDDEN || result == REDLOCK_INVALID;
}

static void end_listing(struct rl_listing *listing, redlock_result result)
{
    struct rl_operation *operation = listing->operation;
    redlock_lock *lock = operation->lock;

    rl_looks_stop(listing);
    rl_walk_record(listing);
    if (listing->alone && listing->stage != RL_LISTING_STARTING)
        rl_watching_leave(lock->engine);
    listing->stage = RL_LISTING_OVER;
    rl_operation_stop_asking(operation);
    lock->stage = RL_LOCK_OVER;
    rl_operation_finish(operation, result);
}

static void tell(struct rl_listing *listing)
{
    listing->stage = RL_LISTING_TELLING;
    rl_operation_finish(listing->operation, REDLOCK_OK);
}

/* ---- the walk ---- */

static void rest(struct rl_listing *listing, struct rl_span pause)
{
    struct rl_engine *engine = rl_listing_engine(listing);

    listing->stage = RL_LISTING_RESTING;
    rl_timers_set(&engine->timers, &listing->operation->timer,
                  rl_time_min(rl_time_add(engine->now, pause), listing->give_up_at));
}

/* Until the name is looked at again: when something was told of it, when it may end, or after a while. */
static void rest_alone(struct rl_listing *listing)
{
    struct rl_span pause = listing->latest != NULL ? rl_looks_pause(listing, listing->latest) : rl_span_us(0);

    listing->looked = listing->looked || (listing->latest != NULL && listing->latest->result == REDLOCK_OK);
    if (listing->slot_left_ms >= 0 && rl_span_ms(listing->slot_left_ms + 1).us < pause.us)
        pause = rl_span_ms(listing->slot_left_ms + 1);
    rest(listing, pause);
}

static void end_slots(struct rl_listing *listing)
{
    listing->among_slots = listing->rechecking = false;
    rest_alone(listing);
}

/* Too few nodes could be gone through. A watch goes on, and says so once, unless it will never see
 * anything. */
static void fail_walk(struct rl_listing *listing)
{
    redlock_result result;

    if (listing->alone) { /* of a semaphore: the look at its name tells what is seen */
        end_slots(listing);
        return;
    }
    listing->failed = true;
    result = rl_walk_why_failed(listing);
    if (listing->operation->kind != RL_OPERATION_WATCH || (is_hopeless(result) && !listing->seen_once)) {
        end_listing(listing, result);
        return;
    }
    listing->sight_due = !listing->blind;
    listing->blind = true;
    if (listing->sight_due)
        tell(listing);
    else
        rest(listing, listing->every);
}

/* A walk may take long: nodes are not kept busy by it for more than a quarter of the time. */
static void end_walk(struct rl_listing *listing)
{
    struct rl_span took = rl_time_since(rl_listing_engine(listing)->now, listing->walk_began);
    struct rl_span pause = rl_span_us(3 * took.us);

    if (listing->alone) {
        end_slots(listing);
        return;
    }
    if (listing->operation->kind == RL_OPERATION_LIST) {
        end_listing(listing, REDLOCK_OK);
        return;
    }
    listing->sight_due = listing->blind;
    listing->blind = false;
    listing->seen_once = listing->walk_over = true;
    listing->pause = pause.us > listing->every.us ? pause : listing->every;
    if (listing->sight_due)
        tell(listing);
    else
        rest(listing, listing->pause);
}

static void go_on(struct rl_listing *listing, enum rl_walk walk)
{
    struct rl_engine *engine = rl_listing_engine(listing);
    struct rl_time until = RL_TIME_NEVER;

    switch (walk) {
    case RL_WALK_ASKED:
        listing->stage = RL_LISTING_WALKING;
        until = rl_time_add(engine->now, engine->config.node_timeout);
        rl_timers_set(&engine->timers, &listing->operation->timer, until);
        return;
    case RL_WALK_PAGE:
        listing->stage = RL_LISTING_LOOKING;
        rl_timers_set(&engine->timers, &listing->operation->timer, until);
        return;
    case RL_WALK_DONE:
        listing->rechecking = listing->operation->kind == RL_OPERATION_WATCH;
        if (listing->rechecking)
            listing->stage = RL_LISTING_LOOKING;
        else
            end_walk(listing);
        return;
    case RL_WALK_FAILED:
        fail_walk(listing);
        return;
    case RL_WALK_NO_MEMORY:
        end_listing(listing, REDLOCK_NOMEM);
    }
}

static void begin_walk(struct rl_listing *listing)
{
    listing->rechecking = listing->failed = listing->walk_over = false;
    rl_knowns_sweep(rl_listing_engine(listing), &listing->knowns);
    /* With a server that is named twice nobody can say what a quorum has. */
    go_on(listing, rl_listing_engine(listing)->duplicates == 0 ? rl_walk_begin(listing) : RL_WALK_FAILED);
}

static struct rl_page_entry own_entry(const struct rl_listing *listing)
{
    const redlock_lock *lock = listing->operation->lock;

    return (struct rl_page_entry){.key = lock->text, .key_length = lock->key_length};
}

/* A name that is watched alone is a semaphore: its slots are found as locks of a walk are, whose only page is
 * this name. */
static void begin_slots(struct rl_listing *listing)
{
    struct rl_page_entry entry = own_entry(listing);
    enum rl_walk walk = rl_walk_begin(listing);
    struct rl_known *known;

    listing->slots_due = listing->rechecking = false;
    listing->among_slots = true;
    listing->slot_left_ms = -1;
    rl_knowns_sweep(rl_listing_engine(listing), &listing->knowns);
    known = rl_knowns_make(rl_listing_engine(listing), &listing->knowns, &entry);
    if (known != NULL) {
        known->fresh = false;
        known->walk = listing->walk;
    }
    go_on(listing, known != NULL ? walk : RL_WALK_NO_MEMORY);
}

/* What was found has been told of: the next page of this node, or the next node; of a single name its slots,
 * or the next look. */
static void turn_page(struct rl_listing *listing)
{
    if (listing->alone && !listing->among_slots && listing->slots_due)
        begin_slots(listing);
    else if (listing->alone && !listing->among_slots)
        rest_alone(listing);
    else if (listing->rechecking)
        end_walk(listing);
    else
        go_on(listing, rl_walk_on(listing));
}

void rl_listing_page(struct rl_operation *operation, uint32_t node, const struct rl_pending *pending,
                     const char *bytes, size_t length)
{
    struct rl_listing *listing = operation->listing;

    if (listing != NULL && listing->stage == RL_LISTING_WALKING && pending->question == listing->question &&
        node == listing->node)
        go_on(listing, rl_walk_take(listing, pending, bytes, length));
}

/* ---- looks begin and end ---- */

static void look_again(struct rl_listing *listing)
{
    struct rl_page_entry entry = own_entry(listing);

    listing->slot_left_ms = -1;
    listing->stage = RL_LISTING_LOOKING;
    if (!rl_looks_begin_one(listing, &entry))
        end_listing(listing, REDLOCK_NOMEM);
}

static redlock_result why_not_free(const struct rl_listing *listing, const struct rl_operation *look)
{
    if (look->result != REDLOCK_OK)
        return look->result;
    return listing->nonblocking ? REDLOCK_BUSY : REDLOCK_TIMEOUT;
}

/* WAIT: one more look has ended. */
static void take_wait(struct rl_listing *listing)
{
    struct rl_operation *look =
        RL_CONTAINER(rl_list_first(&listing->operation->looks), struct rl_operation, link);
    struct rl_picture picture = rl_picture_of(look);

    rl_list_remove(&look->link);
    rl_finds_drop(rl_listing_engine(listing), listing->latest);
    listing->latest = look;
    if (picture.known && picture.free)
        end_listing(listing, REDLOCK_OK);
    else if (is_hopeless(look->result))
        end_listing(listing, look->result);
    else if (!rl_time_before(rl_listing_engine(listing)->now, listing->give_up_at))
        end_listing(listing, why_not_free(listing, look));
    else
        rest(listing, rl_looks_pause(listing, look));
}

/* WATCH of a single name: true when it has ended, for it was never seen and will not be. */
static bool sees_nothing_ever(struct rl_listing *listing)
{
    struct rl_link *link = listing->alone ? rl_list_first(&listing->operation->looks) : NULL;
    struct rl_operation *look;

    if (link == NULL)
        return false;
    look = RL_CONTAINER(link, struct rl_operation, link);
    listing->seen_once = listing->seen_once || look->result == REDLOCK_OK;
    if (listing->seen_once || !is_hopeless(look->result))
        return false;
    rl_list_remove(link);
    rl_finds_drop(rl_listing_engine(listing), listing->latest);
    listing->latest = look;
    end_listing(listing, look->result);
    return true;
}

/* Everything that was begun has ended. */
static void take_found(struct rl_listing *listing)
{
    if (!listing->rechecking)
        rl_walk_drop_page(listing);
    if (listing->operation->kind == RL_OPERATION_WAIT) {
        take_wait(listing);
        return;
    }
    if (listing->operation->kind == RL_OPERATION_WATCH && !listing->among_slots && sees_nothing_ever(listing))
        return;
    if (listing->operation->kind == RL_OPERATION_WATCH)
        rl_news_keep(listing);
    if (!rl_list_empty(&listing->operation->looks))
        tell(listing);
    else
        turn_page(listing);
}

bool rl_listing_check(struct rl_engine *engine)
{
    bool done = false;

    for (struct rl_link *link = rl_list_first(&engine->listings); link != NULL;) {
        struct rl_listing *listing = RL_CONTAINER(link, struct rl_listing, link);

        link = rl_list_next(&engine->listings, link);
        if (listing->stage != RL_LISTING_LOOKING)
            continue;
        if ((!listing->alone || listing->among_slots) && !rl_looks_begin(listing))
            end_listing(listing, REDLOCK_NOMEM);
        if (listing->stage == RL_LISTING_LOOKING && listing->operation->looking == 0) {
            take_found(listing);
            done = true;
        }
    }
    return done;
}

/* ---- events ---- */

void rl_listing_start(struct rl_operation *operation)
{
    struct rl_listing *listing = operation->listing;

    operation->lock->asking = operation;
    rl_guard_look(rl_listing_engine(listing));
    if (listing->alone) {
        rl_watching_join(rl_listing_engine(listing));
        look_again(listing);
    } else {
        begin_walk(listing);
    }
}

void rl_listing_event(struct rl_operation *operation, const struct rl_event *event)
{
    static const char lost[] = "its connection was lost", late[] = "it has not answered within node_timeout";
    struct rl_listing *listing = operation->listing;

    if (event->kind == RL_EVENT_CANCEL) {
        end_listing(listing, REDLOCK_CANCELED);
    } else if (event->kind == RL_EVENT_ANSWER) {
        if (listing->stage == RL_LISTING_WALKING && event->question == listing->question)
            go_on(listing, rl_walk_leave(listing, event->answer.cause, lost, strlen(lost)));
    } else if (event->kind == RL_EVENT_TIMER && !rl_time_before(event->now, operation->timer.at)) {
        rl_timers_set(&rl_listing_engine(listing)->timers, &operation->timer, RL_TIME_NEVER);
        if (listing->stage == RL_LISTING_WALKING)
            go_on(listing, rl_walk_leave(listing, RL_CAUSE_TIMED_OUT, late, strlen(late)));
        else if (listing->stage == RL_LISTING_RESTING && listing->alone)
            look_again(listing);
        else if (listing->stage == RL_LISTING_RESTING)
            begin_walk(listing);
    }
}

/* Several may be told of one change one after the other: what comes while it is looked at is looked at
 * again. */
void rl_listing_changed(struct rl_engine *engine, const char *key, size_t key_length)
{
    for (struct rl_link *link = rl_list_first(&engine->listings); link != NULL;
         link = rl_list_next(&engine->listings, link)) {
        struct rl_listing *listing = RL_CONTAINER(link, struct rl_listing, link);
        const redlock_lock *lock = listing->operation->lock;

        if (!listing->alone ||
            (key != NULL && (lock->key_length != key_length || memcmp(lock->text, key, key_length) != 0)))
            continue;
        if (listing->stage == RL_LISTING_RESTING) {
            listing->hurry_ms = 1;
            rl_timers_set(&engine->timers, &listing->operation->timer, engine->now);
        } else {
            listing->again = true;
        }
    }
}

/* ---- the client's ---- */

bool rl_listing_resume(struct rl_operation *operation)
{
    struct rl_listing *listing = operation->listing;
    struct rl_engine *engine = rl_listing_engine(listing);

    if (listing->stage == RL_LISTING_OVER)
        return false;
    rl_list_remove(&operation->link); /* a blocked caller may be quicker than the reader of engine->ended */
    rl_list_append(&engine->operations, &operation->link);
    operation->done = false;
    if (listing->stopped || engine->closing)
        end_listing(listing, REDLOCK_CANCELED);
    else if (listing->alone)
        turn_page(listing);
    else if (listing->failed)
        rest(listing, listing->every);
    else if (listing->walk_over)
        rest(listing, listing->pause);
    else
        turn_page(listing);
    return true;
}

bool rl_listing_stop(struct rl_engine *engine, redlock_request request)
{
    for (struct rl_link *link = rl_list_first(&engine->listings); link != NULL;
         link = rl_list_next(&engine->listings, link)) {
        struct rl_listing *listing = RL_CONTAINER(link, struct rl_listing, link);

        if (listing->operation->request != request || listing->stage != RL_LISTING_TELLING)
            continue;
        listing->stopped = true;
        return true;
    }
    return false;
}

void rl_listing_report(redlock_report *report, const struct rl_operation *operation)
{
    if (operation->listing != NULL && operation->listing->alone && operation->listing->latest != NULL)
        rl_report_look(report, operation, operation->listing->latest);
    else
        rl_report_operation(report, operation);
}

/*
 * Fills in what a reply told; see lock_answer.h.
 */
#include "wire/lock_answer.h"

#include "base/bytes.h"
#include "wire/error_reply.h"
#include "wire/guard_command.h"
#include "wire/owner.h"

const char rl_foreign_owner[] = "foreign";

void rl_lock_answer_protocol(struct rl_lock_reply *reply)
{
    static const char words[] = "unexpected kind of reply";

    reply->answer = (struct rl_answer){.verdict = RL_FAILED, .cause = RL_CAUSE_PROTOCOL, .ttl_left_ms = -2};
    reply->error = words;
    reply->error_length = sizeof words - 1;
}

void rl_lock_answer_error(struct rl_lock_reply *reply, const struct rl_resp *item)
{
    bool armed = reply->answer.armed;

    reply->answer = rl_error_answer(item->text, item->text_length);
    reply->answer.armed = armed;
    reply->error = item->text;
    reply->error_length = item->text_length;
}

bool rl_lock_answer_is_fence(const struct rl_resp *item)
{
    return item->type == RL_RESP_INTEGER && item->integer >= 0 && item->integer <= RL_FENCE_MAX;
}

void rl_lock_answer_owner(struct rl_lock_reply *reply, const struct rl_resp *value)
{
    reply->owner = value->text;
    reply->owner_length = value->text_length;
    reply->answer.sharers = rl_owner_unshare(&reply->owner, &reply->owner_length);
    reply->answer.shared = reply->answer.sharers > 0;
    reply->answer.marked = rl_owner_unmark(&reply->owner, &reply->owner_length);
    if (reply->owner_length > RL_OWNER_MAX)
        reply->owner_length = RL_OWNER_MAX;
}

uint64_t rl_lock_answer_holder(const struct rl_lock_reply *reply)
{
    static const char all[] = "shared";

    return reply->answer.sharers > 0 ? rl_hash_bytes(0, all, sizeof all - 1)
                                     : rl_hash_bytes(0, reply->owner, reply->owner_length);
}

bool rl_lock_answer_ttl(const struct rl_resp *item, int64_t *ttl_left_ms)
{
    if (item->type != RL_RESP_INTEGER || item->integer < -2)
        return false;
    *ttl_left_ms = item->integer < RL_TTL_LEFT_MAX_MS ? item->integer : RL_TTL_LEFT_MAX_MS;
    return true;
}

bool rl_lock_answer_denied(const struct rl_resp *items, struct rl_lock_reply *reply)
{
    int64_t ttl_left_ms;

    if (!rl_lock_answer_is_fence(&items[2]) || !rl_lock_answer_ttl(&items[3], &ttl_left_ms) ||
        items[4].type != RL_RESP_STRING)
        return false;
    reply->answer.verdict = RL_DENIED;
    reply->answer.fence = (uint64_t)items[2].integer;
    reply->answer.ttl_left_ms = ttl_left_ms;
    rl_lock_answer_owner(reply, &items[4]);
    return true;
}

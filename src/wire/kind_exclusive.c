/*
 * The ordinary lock: one holder, a string with the owner value under the lock's own key. Waiters watch the key and race for it.
 */
#include "wire/kind.h"

#include "wire/lock_reply.h"

static bool read_denial(const struct rl_resp *items, uint32_t count, struct rl_lock_reply *reply)
{
    return count == 5 && rl_lock_reply_denied(items, reply);
}

const struct rl_kind rl_kind_exclusive = {.acquire = &rl_script_acquire,
                                          .acquire_many = &rl_script_acquire_many,
                                          .raise = &rl_script_raise,
                                          .extend = &rl_script_extend,
                                          .release = &rl_script_release,
                                          .release_many = &rl_script_release_many,
                                          .break_hold = &rl_script_break,
                                          .list = &rl_script_list,
                                          .read_denial = read_denial};

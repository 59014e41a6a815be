/*
 * The lock of plain nodes: one holder, a string with the owner value under the lock's own key. Waiters watch
 * the key and race for it. Guarded nodes keep the same key, and a line beside it: see kind_line.c.
 */
#include "wire/kind.h"

const struct rl_kind rl_kind_exclusive = {.extend = &rl_script_extend,
                                          .release = &rl_script_release,
                                          .release_many = &rl_script_release_many,
                                          .break_hold = &rl_script_break,
                                          .list = &rl_script_list};

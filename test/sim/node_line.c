/*
 * The script that tells who waits, in C: line of src/wire/lua. Those who wait without a line, as older
 * versions do, are not modelled.
 */
#include "sim/node.h"

/* KEYS line waiting  ARGV at most; there are never more than that. */
void sim_script_line(struct sim_call *call)
{
    sim_reply_array(call->reply, 5);
    sim_reply_integer(call->reply, call->now_us);
    sim_show_standing(call, call->arguments[0]);
    sim_reply_integer(call->reply, 0);
    sim_reply_array(call->reply, 0);
}

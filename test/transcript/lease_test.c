/*
 * Stories of held locks, as a person would tell them and as the trace does.
 */
#include "support/check.h"
#include "support/transcript.h"

static void renewed_twice_and_given_back(void **state)
{
    (void)state;
    assert_transcript("lease ttl=10000 nodes=3 renew=3333\n"
                      "3336 node 1 granted\n"
                      "3338 node 2 granted\n"
                      "6669 node 2 granted\n"
                      "6670 node 3 granted\n"
                      "7000 release\n"
                      "7002 node 1 released\n"
                      "7003 node 2 released\n"
                      "7004 node 3 released\n",

                      "[3333] renew   > ask 1,2,3\n"
                      "[3336] node 1  > granted\n"
                      "[3338] node 2  > granted\n"
                      "             2 of 3 after 5 ms, drift 102 -> valid 9893 ms\n"
                      "[6666] renew   > ask 1,2,3\n"
                      "[6669] node 2  > granted\n"
                      "[6670] node 3  > granted\n"
                      "             2 of 3 after 4 ms, drift 102 -> valid 9894 ms\n"
                      "[7000] release > 1,2,3\n"
                      "[7002] node 1  > released\n"
                      "[7003] node 2  > released\n"
                      "             2 released, 0 not there, of 3 after 3 ms -> ok\n"
                      "[7004] node 3  > released");
}

static void a_renewal_that_fails_is_tried_again(void **state)
{
    (void)state;
    assert_transcript("lease ttl=10000 nodes=3 renew=3333 timeout=50 retry=20\n"
                      "3336 node 1 granted\n"
                      "3405 node 1 granted\n"
                      "3406 node 2 granted\n",

                      "[3333] renew   > ask 1,2,3\n"
                      "[3336] node 1  > granted\n"
                      "[3383] node 2,3 > silent\n"
                      "             1 of 3 after 50 ms, need 2 -> no quorum: again in 20 ms\n"
                      "[3403] renew   > ask 1,2,3\n"
                      "[3405] node 1  > granted\n"
                      "[3406] node 2  > granted\n"
                      "             2 of 3 after 3 ms, drift 102 -> valid 9895 ms");
}

static void lost_because_the_nodes_stay_away(void **state)
{
    (void)state;
    assert_transcript("lease ttl=300 valid=295 nodes=3 renew=100 timeout=80 retry=20\n"
                      "100 node 1 failed unreachable\n"
                      "100 node 2 failed unreachable\n"
                      "122 node 3 granted\n"
                      "220 node 1 failed unreachable\n"
                      "220 node 3 failed unreachable\n"
                      "240 node 3 granted\n"
                      "900 end\n",

                      "[ 100] renew   > ask 1,2,3\n"
                      "[ 100] node 1  > failed, unreachable\n"
                      "[ 100] node 2  > failed, unreachable\n"
                      "             0 of 3 after 0 ms, need 2 -> no quorum: again in 20 ms\n"
                      "[ 120] renew   > ask 1,2,3\n"
                      "[ 122] node 3  > granted\n"
                      "[ 200] node 1,2 > silent\n"
                      "             1 of 3 after 80 ms, need 2 -> no quorum: again in 20 ms\n"
                      "[ 220] renew   > ask 1,2,3\n"
                      "[ 220] node 1  > failed, unreachable\n"
                      "[ 220] node 3  > failed, unreachable\n"
                      "             0 of 3 after 0 ms, need 2 -> no quorum: again in 20 ms\n"
                      "[ 240] renew   > ask 1,2,3\n"
                      "[ 240] node 3  > granted\n"
                      "[ 295] lost    > its validity has ended: release 1,2,3");
}

static void an_extension_that_arrives_after_the_end(void **state)
{
    (void)state;
    assert_transcript("lease ttl=300 valid=295 nodes=3 timeout=500\n"
                      "280 extend 300\n"
                      "290 node 1 granted\n"
                      "296 node 2 granted of 1\n"
                      "297 node 3 released\n",

                      "[ 280] extend  > ask 1,2,3 for 300 ms\n"
                      "[ 290] node 1  > granted\n"
                      "[ 295] lost    > its validity has ended: release 1,2,3\n"
                      "[ 296] node 2  > granted, to an older question\n"
                      "[ 297] node 3  > released");
}

static void lost_at_once_when_it_was_broken(void **state)
{
    (void)state;
    assert_transcript("lease nodes=3\n"
                      "100 extend 10000\n"
                      "101 node 1 denied\n"
                      "102 node 3 denied\n"
                      "103 node 2 released\n",

                      "[ 100] extend  > ask 1,2,3 for 10000 ms\n"
                      "[ 101] node 1  > denied\n"
                      "[ 102] node 3  > denied\n"
                      "             0 of 3 after 2 ms, need 2 -> not held, lost: release 1,2,3\n"
                      "[ 103] node 2  > released");
}

static void extended_by_hand(void **state)
{
    (void)state;
    assert_transcript("lease nodes=3\n"
                      "100 extend 20000\n"
                      "103 node 1 granted\n"
                      "104 node 2 granted\n",

                      "[ 100] extend  > ask 1,2,3 for 20000 ms\n"
                      "[ 103] node 1  > granted\n"
                      "[ 104] node 2  > granted\n"
                      "             2 of 3 after 4 ms, drift 202 -> valid 19794 ms");
}

static void an_extension_waits_for_the_renewal(void **state)
{
    (void)state;
    assert_transcript("lease ttl=10000 nodes=3 renew=3333\n"
                      "3335 node 1 granted\n"
                      "3336 extend 60000\n"
                      "3337 node 2 granted\n"
                      "3339 node 2 granted\n"
                      "3340 node 3 granted\n",

                      "[3333] renew   > ask 1,2,3\n"
                      "[3335] node 1  > granted\n"
                      "[3336] extend  > waits for the round under way\n"
                      "[3337] node 2  > granted\n"
                      "             2 of 3 after 4 ms, drift 102 -> valid 9894 ms\n"
                      "[3337] extend  > ask 1,2,3 for 60000 ms\n"
                      "[3339] node 2  > granted\n"
                      "[3340] node 3  > granted\n"
                      "             2 of 3 after 3 ms, drift 602 -> valid 59395 ms");
}

static void no_more_extensions_than_allowed(void **state)
{
    (void)state;
    assert_transcript("lease nodes=3 max-extensions=1\n"
                      "100 extend 20000\n"
                      "101 extend 20000\n"
                      "103 node 1 granted\n"
                      "104 node 2 granted\n"
                      "200 extend 20000\n",

                      "[ 100] extend  > ask 1,2,3 for 20000 ms\n"
                      "[ 101] extend  > waits for the round under way\n"
                      "[ 103] node 1  > granted\n"
                      "[ 104] node 2  > granted\n"
                      "             2 of 3 after 4 ms, drift 202 -> valid 19794 ms\n"
                      "[ 104] extend  > refused, the limit is 1\n"
                      "[ 200] extend  > refused, the limit is 1");
}

static void the_longest_hold_is_kept(void **state)
{
    (void)state;
    assert_transcript("lease ttl=1000 valid=988 nodes=1 renew=400 max-hold=1000\n"
                      "401 node 1 granted\n"
                      "801 node 1 granted\n"
                      "2000 end\n",

                      "[ 400] renew   > ask 1\n"
                      "[ 401] node 1  > granted\n"
                      "             1 of 1 after 1 ms, drift 12 -> valid 599 ms, the longest hold\n"
                      "[ 800] renew   > ask 1\n"
                      "[ 801] node 1  > granted\n"
                      "             1 of 1 after 1 ms, drift 12 -> valid 199 ms, the longest hold\n"
                      "[1000] lost    > it was held as long as it may: release 1");
}

static void released_with_two_nodes_down(void **state)
{
    (void)state;
    assert_transcript("lease nodes=5\n"
                      "10 release\n"
                      "10 node 2 failed unreachable\n"
                      "10 node 4 failed unreachable\n"
                      "12 node 1 released\n"
                      "13 node 3 released\n"
                      "14 node 5 released\n",

                      "[  10] release > 1,2,3,4,5\n"
                      "[  10] node 2  > failed, unreachable\n"
                      "[  10] node 4  > failed, unreachable\n"
                      "[  12] node 1  > released\n"
                      "[  13] node 3  > released\n"
                      "[  14] node 5  > released\n"
                      "             3 released, 0 not there, of 5 after 4 ms -> ok");
}

static void a_release_that_reaches_too_few(void **state)
{
    (void)state;
    assert_transcript("lease nodes=3 timeout=50\n"
                      "10 release\n"
                      "12 node 1 released\n"
                      "900 end\n",

                      "[  10] release > 1,2,3\n"
                      "[  12] node 1  > released\n"
                      "[  60] node 2,3 > silent\n"
                      "             1 released, 0 not there, of 3 after 50 ms -> no quorum");
}

static void a_release_learns_that_it_was_not_held(void **state)
{
    (void)state;
    assert_transcript("lease nodes=3\n"
                      "10 release\n"
                      "12 node 1 absent\n"
                      "13 node 3 absent\n"
                      "14 node 2 absent\n",

                      "[  10] release > 1,2,3\n"
                      "[  12] node 1  > not there\n"
                      "[  13] node 3  > not there\n"
                      "             0 released, 2 not there, of 3 after 3 ms -> not held\n"
                      "[  14] node 2  > not there");
}

static void abandoned_and_left_to_whoever_adopts_it(void **state)
{
    (void)state;
    assert_transcript("lease ttl=300 valid=295 nodes=3 renew=100\n"
                      "50 abandon\n"
                      "900 end\n",

                      "[  50] abandon > no more renewals\n"
                      "[ 295] lost    > its validity has ended");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(renewed_twice_and_given_back),
        cmocka_unit_test(a_renewal_that_fails_is_tried_again),
        cmocka_unit_test(lost_because_the_nodes_stay_away),
        cmocka_unit_test(an_extension_that_arrives_after_the_end),
        cmocka_unit_test(lost_at_once_when_it_was_broken),
        cmocka_unit_test(extended_by_hand),
        cmocka_unit_test(an_extension_waits_for_the_renewal),
        cmocka_unit_test(no_more_extensions_than_allowed),
        cmocka_unit_test(the_longest_hold_is_kept),
        cmocka_unit_test(released_with_two_nodes_down),
        cmocka_unit_test(a_release_that_reaches_too_few),
        cmocka_unit_test(a_release_learns_that_it_was_not_held),
        cmocka_unit_test(abandoned_and_left_to_whoever_adopts_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

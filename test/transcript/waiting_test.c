/*
 * Stories of acquisitions that wait, as a person would tell them and as the trace does.
 */
#include "support/check.h"
#include "support/transcript.h"

static void a_waiter_is_told_and_gets_it(void **state)
{
    (void)state;
    assert_transcript("acquire \"invoice:42\" ttl=10000 nodes=3 wait=30000 watch\n"
                      "2 node 1 denied 8000\n"
                      "3 node 2 denied 8000\n"
                      "4 node 1 held 7998 armed by=7\n"
                      "5 node 2 held 7998 armed by=7\n"
                      "5 node 3 held 7998 armed by=7\n"
                      "700 node 2 changed\n"
                      "701 node 3 changed\n"
                      "703 node 2 granted\n"
                      "704 node 3 granted\n",

                      "acquire \"invoice:42\" ttl=10000 nodes=3\n"
                      "[   0] round 1 > ask 1,2,3\n"
                      "[   2] node 1  > denied, 8000 ms left\n"
                      "[   3] node 2  > denied, 8000 ms left\n"
                      "             0 of 3 after 3 ms, need 2 -> busy: release 3; watch on 1,2,3\n"
                      "[   4] node 1  > held, 7998 ms left\n"
                      "[   5] node 2  > held, 7998 ms left\n"
                      "[   5] node 3  > held, 7998 ms left\n"
                      "[ 700] node 2  > changed\n"
                      "[ 701] node 3  > changed\n"
                      "[ 701] round 2 > ask 1,2,3\n"
                      "[ 703] node 2  > granted\n"
                      "[ 704] node 3  > granted\n"
                      "             2 of 3 after 3 ms, drift 102 -> valid 9895 ms");
}

static void it_was_released_between_the_round_and_the_look(void **state)
{
    (void)state;
    assert_transcript("acquire \"invoice:42\" ttl=10000 nodes=3 wait=30000 watch\n"
                      "2 node 1 denied 8000\n"
                      "3 node 2 denied 8000\n"
                      "4 node 1 free\n"
                      "5 node 2 free\n"
                      "6 node 1 granted\n"
                      "7 node 2 granted\n",

                      "acquire \"invoice:42\" ttl=10000 nodes=3\n"
                      "[   0] round 1 > ask 1,2,3\n"
                      "[   2] node 1  > denied, 8000 ms left\n"
                      "[   3] node 2  > denied, 8000 ms left\n"
                      "             0 of 3 after 3 ms, need 2 -> busy: release 3; watch on 1,2,3\n"
                      "[   4] node 1  > free\n"
                      "[   5] node 2  > free\n"
                      "[   5] round 2 > ask 1,2,3\n"
                      "[   6] node 1  > granted\n"
                      "[   7] node 2  > granted\n"
                      "             2 of 3 after 2 ms, drift 102 -> valid 9896 ms");
}

static void the_holder_is_dead_and_its_keys_end(void **state)
{
    (void)state;
    assert_transcript("acquire \"invoice:42\" ttl=10000 nodes=3 wait=30000 watch\n"
                      "2 node 1 denied 300\n"
                      "3 node 2 denied 300\n"
                      "4 node 1 held 298 armed by=7\n"
                      "5 node 2 held 297 armed by=7\n"
                      "5 node 3 held 299 armed by=7\n"
                      "306 node 1 granted\n"
                      "307 node 2 granted\n",

                      "acquire \"invoice:42\" ttl=10000 nodes=3\n"
                      "[   0] round 1 > ask 1,2,3\n"
                      "[   2] node 1  > denied, 300 ms left\n"
                      "[   3] node 2  > denied, 300 ms left\n"
                      "             0 of 3 after 3 ms, need 2 -> busy: release 3; watch on 1,2,3\n"
                      "[   4] node 1  > held, 298 ms left\n"
                      "[   5] node 2  > held, 297 ms left\n"
                      "[   5] node 3  > held, 299 ms left\n"
                      "[ 303] round 2 > ask 1,2,3\n"
                      "[ 306] node 1  > granted\n"
                      "[ 307] node 2  > granted\n"
                      "             2 of 3 after 4 ms, drift 102 -> valid 9894 ms");
}

static void a_holder_that_renews_is_challenged_once_and_then_looked_at(void **state)
{
    (void)state;
    assert_transcript("acquire \"invoice:42\" ttl=10000 nodes=3 wait=30000 watch\n"
                      "2 node 1 denied 8000\n"
                      "3 node 2 denied 8000\n"
                      "4 node 1 held 7998 armed by=7\n"
                      "5 node 2 held 7998 armed by=7\n"
                      "5 node 3 held 7998 armed by=7\n"
                      "700 node 1 changed\n"
                      "701 node 2 changed\n"
                      "703 node 1 denied 9998\n"
                      "703 node 2 denied 9998\n"
                      "705 node 1 held 9996 armed by=7\n"
                      "705 node 2 held 9996 armed by=7\n"
                      "705 node 3 held 9996 armed by=7\n"
                      "1400 node 1 changed\n"
                      "1402 node 1 held 9998 armed by=7\n"
                      "1500 cancel\n",

                      "acquire \"invoice:42\" ttl=10000 nodes=3\n"
                      "[   0] round 1 > ask 1,2,3\n"
                      "[   2] node 1  > denied, 8000 ms left\n"
                      "[   3] node 2  > denied, 8000 ms left\n"
                      "             0 of 3 after 3 ms, need 2 -> busy: release 3; watch on 1,2,3\n"
                      "[   4] node 1  > held, 7998 ms left\n"
                      "[   5] node 2  > held, 7998 ms left\n"
                      "[   5] node 3  > held, 7998 ms left\n"
                      "[ 700] node 1  > changed\n"
                      "[ 701] node 2  > changed\n"
                      "[ 701] round 2 > ask 1,2,3\n"
                      "[ 703] node 1  > denied, 9998 ms left\n"
                      "[ 703] node 2  > denied, 9998 ms left\n"
                      "             0 of 3 after 2 ms, need 2 -> busy: release 3; watch on 1,2,3\n"
                      "[ 705] node 1  > held, 9996 ms left\n"
                      "[ 705] node 2  > held, 9996 ms left\n"
                      "[ 705] node 3  > held, 9996 ms left\n"
                      "[1400] node 1  > changed\n"
                      "             busy: watch on 1\n"
                      "[1402] node 1  > held, 9998 ms left\n"
                      "[1500] cancel  > nothing to undo");
}

static void a_node_goes_and_comes_while_it_waits(void **state)
{
    (void)state;
    assert_transcript("acquire \"invoice:42\" ttl=10000 nodes=3 wait=30000 watch\n"
                      "2 node 1 denied 8000\n"
                      "3 node 2 denied 8000\n"
                      "4 node 1 held 7998 armed by=7\n"
                      "5 node 2 held 7998 armed by=7\n"
                      "5 node 3 held 7998 armed by=7\n"
                      "100 node 2 down\n"
                      "110 node 2 up\n"
                      "112 node 2 free\n"
                      "300 node 3 changed\n"
                      "302 node 2 granted\n"
                      "302 node 3 granted\n",

                      "acquire \"invoice:42\" ttl=10000 nodes=3\n"
                      "[   0] round 1 > ask 1,2,3\n"
                      "[   2] node 1  > denied, 8000 ms left\n"
                      "[   3] node 2  > denied, 8000 ms left\n"
                      "             0 of 3 after 3 ms, need 2 -> busy: release 3; watch on 1,2,3\n"
                      "[   4] node 1  > held, 7998 ms left\n"
                      "[   5] node 2  > held, 7998 ms left\n"
                      "[   5] node 3  > held, 7998 ms left\n"
                      "[ 100] node 2  > gone\n"
                      "[ 110] node 2  > back\n"
                      "             busy: watch on 2\n"
                      "[ 112] node 2  > free\n"
                      "[ 300] node 3  > changed\n"
                      "[ 300] round 2 > ask 1,2,3\n"
                      "[ 302] node 2  > granted\n"
                      "[ 302] node 3  > granted\n"
                      "             2 of 3 after 2 ms, drift 102 -> valid 9896 ms");
}

static void nodes_that_cannot_tell_are_tried_again(void **state)
{
    (void)state;
    assert_transcript("acquire \"invoice:42\" ttl=10000 nodes=3 wait=30000 watch\n"
                      "2 node 1 denied 8000\n"
                      "3 node 2 denied 8000\n"
                      "4 node 1 held 7998\n"
                      "5 node 2 held 7998\n"
                      "5 node 3 held 7998 armed\n"
                      "17 node 1 granted\n"
                      "18 node 2 granted\n",

                      "acquire \"invoice:42\" ttl=10000 nodes=3\n"
                      "[   0] round 1 > ask 1,2,3\n"
                      "[   2] node 1  > denied, 8000 ms left\n"
                      "[   3] node 2  > denied, 8000 ms left\n"
                      "             0 of 3 after 3 ms, need 2 -> busy: release 3; watch on 1,2,3\n"
                      "[   4] node 1  > held, 7998 ms left\n"
                      "[   5] node 2  > held, 7998 ms left\n"
                      "[   5] node 3  > held, 7998 ms left\n"
                      "[  15] round 2 > ask 1,2,3\n"
                      "[  17] node 1  > granted\n"
                      "[  18] node 2  > granted\n"
                      "             2 of 3 after 3 ms, drift 102 -> valid 9895 ms");
}

static void it_gives_up_while_it_waits(void **state)
{
    (void)state;
    assert_transcript("acquire \"invoice:42\" ttl=10000 nodes=1 wait=500 watch\n"
                      "2 node 1 denied 8000\n"
                      "4 node 1 held 7998 armed by=7\n"
                      "900 end\n",

                      "acquire \"invoice:42\" ttl=10000 nodes=1\n"
                      "[   0] round 1 > ask 1\n"
                      "[   2] node 1  > denied, 8000 ms left\n"
                      "             0 of 1 after 2 ms, need 1 -> busy; watch on 1\n"
                      "[   4] node 1  > held, 7998 ms left\n"
                      "[ 500] wait    > over\n"
                      "             -> timeout");
}

static void in_a_queue_it_asks_when_its_turn_has_come(void **state)
{
    (void)state;
    assert_transcript("acquire \"invoice:42\" ttl=10000 nodes=3 wait=30000 watch queued\n"
                      "40 turn\n"
                      "42 node 1 granted\n"
                      "43 node 2 granted\n",

                      "acquire \"invoice:42\" ttl=10000 nodes=3\n"
                      "[   0] queue   > others of this process come first\n"
                      "[  40] queue   > its turn\n"
                      "[  40] round 1 > ask 1,2,3\n"
                      "[  42] node 1  > granted\n"
                      "[  43] node 2  > granted\n"
                      "             2 of 3 after 3 ms, drift 102 -> valid 9895 ms");
}

static void to_let_others_come_first_it_looks(void **state)
{
    (void)state;
    assert_transcript("acquire \"invoice:42\" ttl=10000 nodes=3 wait=30000 watch queued retry=1\n"
                      "40 turn others-first\n"
                      "42 node 1 free\n"
                      "43 node 2 held 9000 armed by=7\n"
                      "43 node 3 held 9000 armed by=7\n"
                      "60 node 2 changed\n"
                      "62 node 1 granted\n"
                      "63 node 2 granted\n",

                      "acquire \"invoice:42\" ttl=10000 nodes=3\n"
                      "[   0] queue   > others of this process come first\n"
                      "[  40] queue   > its turn, after other processes\n"
                      "             busy: watch on 1,2,3\n"
                      "[  42] node 1  > free\n"
                      "[  43] node 2  > held, 9000 ms left\n"
                      "[  43] node 3  > held, 9000 ms left\n"
                      "[  60] node 2  > changed\n"
                      "             it seems to be free: rest 1 ms\n"
                      "[  60] round 1 > ask 1,2,3\n"
                      "[  62] node 1  > granted\n"
                      "[  63] node 2  > granted\n"
                      "             2 of 3 after 3 ms, drift 102 -> valid 9895 ms");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_waiter_is_told_and_gets_it),
        cmocka_unit_test(it_was_released_between_the_round_and_the_look),
        cmocka_unit_test(the_holder_is_dead_and_its_keys_end),
        cmocka_unit_test(a_holder_that_renews_is_challenged_once_and_then_looked_at),
        cmocka_unit_test(a_node_goes_and_comes_while_it_waits),
        cmocka_unit_test(nodes_that_cannot_tell_are_tried_again),
        cmocka_unit_test(it_gives_up_while_it_waits),
        cmocka_unit_test(in_a_queue_it_asks_when_its_turn_has_come),
        cmocka_unit_test(to_let_others_come_first_it_looks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

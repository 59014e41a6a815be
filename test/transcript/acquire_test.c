/*
 * Stories of acquisitions, as a person would tell them and as the trace does.
 */
#include "support/check.h"
#include "support/transcript.h"

static void a_plain_win(void **state)
{
    (void)state;
    assert_transcript("acquire \"invoice:42\" ttl=10000 nodes=3\n"
                      "4 node 1 granted\n"
                      "9 node 3 granted\n",

                      "acquire \"invoice:42\" ttl=10000 nodes=3\n"
                      "[   0] round 1 > ask 1,2,3\n"
                      "[   4] node 1  > granted\n"
                      "[   9] node 3  > granted\n"
                      "             2 of 3 after 9 ms, drift 102 -> valid 9889 ms");
}

static void a_win_though_one_node_is_silent_and_one_is_down(void **state)
{
    (void)state;
    assert_transcript("acquire \"invoice:42\" ttl=10000 nodes=5\n"
                      "0 node 2 failed unreachable\n"
                      "4 node 1 granted\n"
                      "5 node 3 granted\n"
                      "9 node 5 granted\n"
                      "900 end\n",

                      "acquire \"invoice:42\" ttl=10000 nodes=5\n"
                      "[   0] round 1 > ask 1,2,3,4,5\n"
                      "[   0] node 2  > failed, unreachable\n"
                      "[   4] node 1  > granted\n"
                      "[   5] node 3  > granted\n"
                      "[   9] node 5  > granted\n"
                      "             3 of 5 after 9 ms, drift 102 -> valid 9889 ms");
}

static void a_late_grant_after_success_is_noted_and_changes_nothing(void **state)
{
    (void)state;
    assert_transcript("acquire \"invoice:42\" ttl=10000 nodes=3\n"
                      "4 node 1 granted\n"
                      "9 node 3 granted\n"
                      "50 node 2 granted\n",

                      "acquire \"invoice:42\" ttl=10000 nodes=3\n"
                      "[   0] round 1 > ask 1,2,3\n"
                      "[   4] node 1  > granted\n"
                      "[   9] node 3  > granted\n"
                      "             2 of 3 after 9 ms, drift 102 -> valid 9889 ms\n"
                      "[  50] node 2  > granted, after the decision");
}

static void lost_to_another_then_retried_and_won(void **state)
{
    (void)state;
    assert_transcript("acquire \"invoice:42\" ttl=10000 nodes=3 wait=1000 retry=37\n"
                      "2 node 1 granted\n"
                      "3 node 2 denied 15\n"
                      "4 node 3 denied 15\n"
                      "43 node 1 granted\n"
                      "45 node 2 granted\n",

                      "acquire \"invoice:42\" ttl=10000 nodes=3\n"
                      "[   0] round 1 > ask 1,2,3\n"
                      "[   2] node 1  > granted\n"
                      "[   3] node 2  > denied, 15 ms left\n"
                      "[   4] node 3  > denied, 15 ms left\n"
                      "             1 of 3 after 4 ms, need 2 -> busy: release 1; rest 37 ms\n"
                      "[  41] round 2 > ask 1,2,3\n"
                      "[  43] node 1  > granted\n"
                      "[  45] node 2  > granted\n"
                      "             2 of 3 after 4 ms, drift 102 -> valid 9894 ms");
}

static void a_half_run_is_undone_everywhere(void **state)
{
    (void)state;
    assert_transcript("acquire \"invoice:42\" ttl=10000 nodes=3 timeout=50\n"
                      "4 node 1 granted\n"
                      "60 node 2 granted\n",

                      "acquire \"invoice:42\" ttl=10000 nodes=3\n"
                      "[   0] round 1 > ask 1,2,3\n"
                      "[   4] node 1  > granted\n"
                      "[  50] node 2,3 > silent\n"
                      "             1 of 3 after 50 ms, need 2 -> no quorum: release 1,2,3\n"
                      "[  60] node 2  > granted, after the decision");
}

static void a_grant_to_an_older_question_does_not_help_the_next_round(void **state)
{
    (void)state;
    assert_transcript("acquire \"invoice:42\" ttl=10000 nodes=3 timeout=50 wait=500\n"
                      "4 node 1 granted\n"
                      "62 node 2 granted of 1\n"
                      "63 node 3 granted of 1\n"
                      "64 node 1 granted\n"
                      "66 node 2 granted\n",

                      "acquire \"invoice:42\" ttl=10000 nodes=3\n"
                      "[   0] round 1 > ask 1,2,3\n"
                      "[   4] node 1  > granted\n"
                      "[  50] node 2,3 > silent\n"
                      "             1 of 3 after 50 ms, need 2 -> no quorum: release 1,2,3; rest 10 ms\n"
                      "[  60] round 2 > ask 1,2,3\n"
                      "[  62] node 2  > granted, to an older question\n"
                      "[  63] node 3  > granted, to an older question\n"
                      "[  64] node 1  > granted\n"
                      "[  66] node 2  > granted\n"
                      "             2 of 3 after 6 ms, drift 102 -> valid 9892 ms");
}

static void a_busy_lock_is_busy_though_a_node_is_down(void **state)
{
    (void)state;
    assert_transcript("acquire \"invoice:42\" ttl=10000 nodes=3 peek\n"
                      "0 node 2 failed unreachable\n"
                      "3 node 1 denied 8000\n"
                      "4 node 3 denied 7999\n"
                      "5 node 1 held 7998\n"
                      "5 node 3 held 7998\n",

                      "acquire \"invoice:42\" ttl=10000 nodes=3\n"
                      "[   0] round 1 > ask 1,2,3\n"
                      "[   0] node 2  > failed, unreachable\n"
                      "[   3] node 1  > denied, 8000 ms left\n"
                      "[   4] node 3  > denied, 7999 ms left\n"
                      "             0 of 3 after 4 ms, need 2 -> busy: release 2; ask who holds it on 1,3\n"
                      "[   5] node 1  > held, 7998 ms left\n"
                      "[   5] node 3  > held, 7998 ms left\n"
                      "             -> busy");
}

static void two_contenders_split_the_nodes_and_both_step_back(void **state)
{
    (void)state;
    assert_transcript("acquire \"invoice:42\" ttl=10000 nodes=4 wait=1000\n"
                      "1 node 1 granted\n"
                      "1 node 2 granted\n"
                      "2 node 3 denied 9999\n"
                      "2 node 4 denied 9999\n"
                      "8 cancel\n",

                      "acquire \"invoice:42\" ttl=10000 nodes=4\n"
                      "[   0] round 1 > ask 1,2,3,4\n"
                      "[   1] node 1  > granted\n"
                      "[   1] node 2  > granted\n"
                      "[   2] node 3  > denied, 9999 ms left\n"
                      "[   2] node 4  > denied, 9999 ms left\n"
                      "             2 of 4 after 2 ms, need 3 -> busy: release 1,2; rest 10 ms\n"
                      "[   8] cancel  > nothing to undo");
}

static void the_wait_runs_out(void **state)
{
    (void)state;
    assert_transcript("acquire \"invoice:42\" ttl=10000 nodes=1 wait=15\n"
                      "1 node 1 denied -1\n"
                      "12 node 1 denied -1\n"
                      "900 end\n",

                      "acquire \"invoice:42\" ttl=10000 nodes=1\n"
                      "[   0] round 1 > ask 1\n"
                      "[   1] node 1  > denied, without end\n"
                      "             0 of 1 after 1 ms, need 1 -> busy; rest 10 ms\n"
                      "[  11] round 2 > ask 1\n"
                      "[  12] node 1  > denied, without end\n"
                      "             0 of 1 after 1 ms, need 1 -> busy; rest 3 ms\n"
                      "[  15] wait    > over\n"
                      "             -> timeout");
}

static void too_slow_for_its_ttl(void **state)
{
    (void)state;
    assert_transcript("acquire \"invoice:42\" ttl=100 nodes=3 timeout=500\n"
                      "4 node 1 granted\n"
                      "98 node 2 granted\n",

                      "acquire \"invoice:42\" ttl=100 nodes=3\n"
                      "[   0] round 1 > ask 1,2,3\n"
                      "[   4] node 1  > granted\n"
                      "[  98] node 2  > granted\n"
                      "             2 of 3 after 98 ms, drift 3 -> too slow: release 1,2,3");
}

static void cancelled_while_asking(void **state)
{
    (void)state;
    assert_transcript("acquire \"invoice:42\" ttl=10000 nodes=3\n"
                      "4 node 1 granted\n"
                      "6 cancel\n"
                      "9 node 2 granted\n",

                      "acquire \"invoice:42\" ttl=10000 nodes=3\n"
                      "[   0] round 1 > ask 1,2,3\n"
                      "[   4] node 1  > granted\n"
                      "[   6] cancel  > release 1,2,3\n"
                      "[   9] node 2  > granted, after the decision");
}

static void nodes_that_must_not_vote(void **state)
{
    (void)state;
    assert_transcript("acquire \"invoice:42\" ttl=10000 nodes=3\n"
                      "1 node 1 ineligible replica\n"
                      "2 node 2 granted\n"
                      "3 node 3 ineligible loading\n",

                      "acquire \"invoice:42\" ttl=10000 nodes=3\n"
                      "[   0] round 1 > ask 1,2,3\n"
                      "[   1] node 1  > ineligible, a replica\n"
                      "[   2] node 2  > granted\n"
                      "[   3] node 3  > ineligible, loading\n"
                      "             1 of 3 after 3 ms, need 2 -> quarantine: release 1,2,3");
}

static void a_key_of_another_type(void **state)
{
    (void)state;
    assert_transcript("acquire \"invoice:42\" ttl=10000 nodes=3 wait=1000\n"
                      "1 node 1 denied foreign\n"
                      "2 node 2 denied foreign\n",

                      "acquire \"invoice:42\" ttl=10000 nodes=3\n"
                      "[   0] round 1 > ask 1,2,3\n"
                      "[   1] node 1  > denied, another type of key\n"
                      "[   2] node 2  > denied, another type of key\n"
                      "             0 of 3 after 2 ms, need 2 -> foreign type: release 3");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plain_win),
        cmocka_unit_test(a_win_though_one_node_is_silent_and_one_is_down),
        cmocka_unit_test(a_late_grant_after_success_is_noted_and_changes_nothing),
        cmocka_unit_test(lost_to_another_then_retried_and_won),
        cmocka_unit_test(a_half_run_is_undone_everywhere),
        cmocka_unit_test(a_grant_to_an_older_question_does_not_help_the_next_round),
        cmocka_unit_test(a_busy_lock_is_busy_though_a_node_is_down),
        cmocka_unit_test(two_contenders_split_the_nodes_and_both_step_back),
        cmocka_unit_test(the_wait_runs_out),
        cmocka_unit_test(too_slow_for_its_ttl),
        cmocka_unit_test(cancelled_while_asking),
        cmocka_unit_test(nodes_that_must_not_vote),
        cmocka_unit_test(a_key_of_another_type),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

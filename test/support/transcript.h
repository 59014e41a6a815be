/*
 * Plays a story to the core, one event a line, and returns what its trace says: both are text a person can
 * write. There are no nodes behind it: the story says what each of them answers. Timers fire by themselves.
 *
 *   acquire "invoice:42" ttl=10000 nodes=3        the first line; also: timeout= wait= retry= peek
 *                                                 watch queued
 *   4 node 1 granted                              at 4 ms
 *   5 node 2 denied 4200                          a number after it is the time left; a word is the cause
 *   9 node 3 free                                 gone, free, held answer the second question of the round
 *   70 node 2 granted of 1                        answers question 1, whatever the latest is
 *   6 node 1 held 4200 armed by=7                it will tell when its key changes; 7 holds it
 *   75 node 1 changed                             changed, up, down happen to it
 *   78 turn                                       also: turn others-first
 *   80 cancel
 *   900 end                                       lets time pass, nothing else
 *
 *   lease ttl=10000 nodes=3 renew=3333            also: timeout= retry= valid= max-hold= max-extensions=
 *   40 extend 20000
 *   50 release                                    its answers are released and absent
 *   60 abandon
 */
#ifndef TEST_SUPPORT_TRANSCRIPT_H
#define TEST_SUPPORT_TRANSCRIPT_H

/* The trace of a story, to be freed. A line it cannot read ends the test. */
char *transcript_of(const char *story);

/* Fails the running test, showing both, unless the story's trace is the one expected. */
void assert_transcript(const char *story, const char *expected);

#endif

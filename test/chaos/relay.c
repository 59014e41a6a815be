/*
 * The bad network in front of one node, as a program: what comes in at ADDRESS:PORT goes on to the node's
 * unix socket, as the lines on standard input order. It ends when that ends.
 * Usage: chaos-relay ADDRESS PORT SOCKET; it prints the port. Lines: hold 0|1, mute 0|1, delay MS,
 *     answer-delay MS, cut,
 * keep, deliver.
 */
#include "support/relay.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct relay_orders orders;

static void carry_out(const char *word, int number)
{
    if (strcmp(word, "hold") == 0)
        atomic_store(&orders.hold, number);
    else if (strcmp(word, "mute") == 0)
        atomic_store(&orders.mute, number);
    else if (strcmp(word, "delay") == 0)
        atomic_store(&orders.delay_ms, number);
    else if (strcmp(word, "answer-delay") == 0)
        atomic_store(&orders.answer_delay_ms, number);
    else if (strcmp(word, "cut") == 0)
        atomic_store(&orders.cut, RELAY_CUT_AFTER);
    else if (strcmp(word, "keep") == 0) {
        atomic_store(&orders.deliver, 0);
        atomic_store(&orders.cut, RELAY_CUT_AND_KEEP);
    } else if (strcmp(word, "deliver") == 0)
        atomic_store(&orders.deliver, 1);
    else
        abort();
}

static void *take_orders(void *context)
{
    char line[64], word[16];

    (void)context;
    while (fgets(line, sizeof line, stdin) != NULL) {
        int number = 0;

        if (sscanf(line, "%15s %d", word, &number) >= 1)
            carry_out(word, number);
    }
    _exit(0);
}

int main(int argc, char **argv)
{
    pthread_t thread;
    int port = argc == 4 ? atoi(argv[2]) : 0;
    int listener = argc == 4 ? relay_listen(argv[1], &port) : -1;

    if (listener < 0 || pthread_create(&thread, NULL, take_orders, NULL) != 0) {
        fprintf(stderr, "chaos-relay: cannot listen; usage: chaos-relay ADDRESS PORT SOCKET\n");
        return 1;
    }
    printf("%d\n", port);
    fflush(stdout);
    relay_run(listener, argv[3], &orders);
}

/*
 * Somebody who holds a lock or waits for one, in words for people.
 */
#ifndef CLI_HOLDER_H
#define CLI_HOLDER_H

#include <stdbool.h>
#include <stddef.h>

#include <redlock.h>

#define CLI_HOLDER_BROKEN "by an operator: free when its holder has heard of it, or when the lease ends"

/* "web-3 (pid 4242, user deploy, "pg_dump prod")", as far as it is known. */
void cli_holder_describe(const redlock_holder *holder, char *text, size_t size);

/* "web-3 pid 4242 user deploy, since 10:02:11 (12m04s), why "pg_dump prod"", likewise. */
void cli_holder_describe_since(const redlock_holder *who, char *text, size_t size);

/* Another program's key that is no lock of the format we use, a hash perhaps: nobody can read here who made
 * it, and break cannot end it. The nodes and the library call its owner so. */
bool cli_holder_is_of_other_format(const redlock_holder *holder);

#endif

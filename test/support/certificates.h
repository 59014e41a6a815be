/*
 * Makes throw-away TLS certificates for test nodes. They are good for a day and for nothing else.
 */
#ifndef TEST_SUPPORT_CERTIFICATES_H
#define TEST_SUPPORT_CERTIFICATES_H

#include <stdbool.h>

/* Writes into a folder, as PEM:
 *   ca.pem                          signs everything below
 *   node.pem, node.key              for 127.0.0.1 and localhost
 *   elsewhere.pem, elsewhere.key    for elsewhere.example only
 *   client.pem, client.key          what a client shows to a node that asks for it
 *   stranger.pem                    a CA that signed none of them
 * false: OpenSSL refused or the folder cannot be written. */
bool certificates_write(const char *folder);

#endif

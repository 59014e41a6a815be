/*
 * The contract of the HTTP interface, openapi.json of this folder, as bytes in the program.
 */
#ifndef SERVE_OPENAPI_H
#define SERVE_OPENAPI_H

#include <stddef.h>

extern const char serve_openapi[];
extern const size_t serve_openapi_length;

#endif

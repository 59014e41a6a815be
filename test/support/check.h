/*
 * cmocka with the headers it wants before it. Assertions jump out of the test function, so they belong on the
 * main thread only.
 */
#ifndef TEST_SUPPORT_CHECK_H
#define TEST_SUPPORT_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif

/*
 * All that is left of a test of the service in a build without it: it says that it was skipped. Not for
 * anything else.
 */
#ifndef TEST_SUPPORT_NO_SERVICE_H
#define TEST_SUPPORT_NO_SERVICE_H

#include "support/check.h"

static void the_service_is_not_built(void **state)
{
    (void)state;
    skip();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_service_is_not_built)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif

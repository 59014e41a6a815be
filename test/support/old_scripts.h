/*
 * Scripts of earlier versions, for tests that let old and new clients use the same nodes. They are history:
 * nobody mends them.
 */
#ifndef TEST_SUPPORT_OLD_SCRIPTS_H
#define TEST_SUPPORT_OLD_SCRIPTS_H

#include "wire/script.h"

/* Version 0.1: KEYS epoch floor ARGV run fresh_id q durable up_ms word floor known replid; it knows no
 * terms. */
extern const struct rl_script old_admit_0_1;

#endif

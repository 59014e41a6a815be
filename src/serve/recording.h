/*
 * Keys that have a record (record.h): a request looks for it first, and records what it got before its client
 * hears of it.
 */
#ifndef SERVE_RECORDING_H
#define SERVE_RECORDING_H

#include "serve/taking.h"

/* Hands out what is recorded under the key, or asks for the lock if nothing is. */
void serve_recording_look(struct serve_taking *taking);

/* The permit was granted: records the key, and answers. */
void serve_recording_keep(struct serve_taking *taking, redlock_lock *lock, const redlock_report *report);

#endif

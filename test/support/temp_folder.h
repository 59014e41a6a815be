/*
 * Temporary folders of a test, below the one that test/run-test gives it and looks through afterwards. It
 * decides nothing about what is put there.
 */
#ifndef TEST_SUPPORT_TEMP_FOLDER_H
#define TEST_SUPPORT_TEMP_FOLDER_H

#include <stdbool.h>

enum { TEMP_FOLDER_MAX = 96 }; /* leaves room for a socket's name: a unix socket's path has 107 bytes */

/* Makes a folder that only we can enter. */
bool temp_folder_make(char path[TEMP_FOLDER_MAX]);

/* Removes it with all that is in it. */
void temp_folder_remove(const char *path);

#endif

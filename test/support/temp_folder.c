/*
 * Temporary folders; see temp_folder.h.
 */
#include "support/temp_folder.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_BASE = 68 };

bool temp_folder_make(char path[TEMP_FOLDER_MAX])
{
    const char *base = getenv("TMPDIR");

    if (base == NULL || strlen(base) > LONGEST_BASE)
        base = "/tmp";
    snprintf(path, TEMP_FOLDER_MAX, "%s/redlock-XXXXXX", base);
    return mkdtemp(path) != NULL;
}

static int remove_entry(const char *path, const struct stat *status, int flag, struct FTW *position)
{
    (void)status;
    (void)flag;
    (void)position;
    return remove(path);
}

void temp_folder_remove(const char *path)
{
    nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

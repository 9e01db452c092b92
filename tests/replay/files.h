/* files.h: the recordings in a folder, for suites that run over all of them. */
#ifndef TEST_REPLAY_FILES_H
#define TEST_REPLAY_FILES_H

#include <glob.h>
#include <stdbool.h>

/* The recordings in `folder` and its folders, by name. False where there are none. To be freed with globfree(). */
bool files_find(const char *folder, glob_t *ret_files);

/* Ends the program as skipped, with a message, unless SEAM_TRACES names a folder; else returns it. */
const char *files_shared(void);

#endif

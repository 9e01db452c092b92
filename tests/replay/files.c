/* files.c: finds recordings by the end of their names. */
#include "files.h"

#include <stdio.h>
#include <stdlib.h>

bool files_find(const char *folder, glob_t *ret_files)
{
	static const char *const ends[] = {"*.csv*", "*/*.csv*", "*.pickle*", "*/*.pickle*", "*.seamtrace*"};
	int flags = 0;
	*ret_files = (glob_t){0};
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		char pattern[4096];
		(void)snprintf(pattern, sizeof(pattern), "%s/%s", folder, ends[i]);
		if (glob(pattern, flags, NULL, ret_files) == 0)
			flags = GLOB_APPEND;
	}
	return ret_files->gl_pathc > 0;
}

const char *files_shared(void)
{
	const char *folder = getenv("SEAM_TRACES");
	if (folder != NULL && folder[0] != '\0')
		return folder;
	printf("skipped: SEAM_TRACES names no folder of traces\n");
	exit(77);
}

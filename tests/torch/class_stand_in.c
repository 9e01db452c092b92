/* class_stand_in.c: what Python calls of the allocator class's library: the environment says what it answers. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT int seam_torch_class_version(void);
EXPORT int seam_torch_class_install(char *error, size_t error_bytes);

EXPORT int seam_torch_class_version(void)
{
	const char *minor = getenv("CLASS_MINOR");
	return minor != NULL ? (int)strtol(minor, NULL, 10) : 0;
}

EXPORT int seam_torch_class_install(char *error, size_t error_bytes)
{
	const char *why = getenv("CLASS_ERROR");
	if (why == NULL)
		return 0;
	(void)snprintf(error, error_bytes, "%s", why);
	return 1;
}

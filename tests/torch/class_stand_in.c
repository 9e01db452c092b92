/* class_stand_in.c: what Python calls of the allocator class's library: the environment says what it answers. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT int seam_torch_class_version(void);
EXPORT int seam_torch_class_install(char *error, size_t error_bytes);

EXPORT int seam_torch_class_pin(char *error, size_t error_bytes);
EXPORT int seam_torch_class_is_pinned(void);

static int pinned;

EXPORT int seam_torch_class_version(void)
{
	const char *minor = getenv("CLASS_MINOR");
	return minor != NULL ? (int)strtol(minor, NULL, 10) : 0;
}

/* What the variable says, if it is set, is why it cannot be. */
static int fail(const char *variable, char *error, size_t error_bytes)
{
	const char *why = getenv(variable);
	if (why == NULL)
		return 0;
	(void)snprintf(error, error_bytes, "%s", why);
	return 1;
}

EXPORT int seam_torch_class_install(char *error, size_t error_bytes)
{
	return fail("CLASS_ERROR", error, error_bytes);
}

EXPORT int seam_torch_class_pin(char *error, size_t error_bytes)
{
	const int rc = fail("CLASS_PIN_ERROR", error, error_bytes);
	pinned = pinned || rc == 0;
	return rc;
}

EXPORT int seam_torch_class_is_pinned(void)
{
	return pinned;
}

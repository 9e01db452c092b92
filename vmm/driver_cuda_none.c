/* driver_cuda_none.c: stands in for the CUDA backend where there was no cuda.h to build it with. */
#include <stdio.h>

#include "driver_cuda.h"

#define ERROR_BYTES 200

enum seam_rc seam__cuda_create(int ordinal, char *error, struct seam_driver **ret_driver)
{
	(void)ret_driver;
	if (error != NULL)
		(void)snprintf(error, ERROR_BYTES,
			"CUDA device %d: this build has no CUDA backend (cuda.h was missing)", ordinal);
	return SEAM_NO_DEVICE;
}

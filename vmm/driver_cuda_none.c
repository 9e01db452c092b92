/* driver_cuda_none.c: stands in for the CUDA backend where there was no cuda.h to build it with. */
#include "driver_cuda.h"
#include "text.h"

enum seam_rc seam__cuda_create(int ordinal, char *error, size_t error_bytes, struct seam_driver **ret_driver)
{
	(void)ret_driver;
	seam__text_line(
		error, error_bytes, "CUDA device %d: this build has no CUDA backend (cuda.h was missing)", ordinal);
	return SEAM_NO_DEVICE;
}

/* driver_cuda.h: the CUDA backend: a device of libcuda.so.1, which is opened at run time.
 *
 * The name is not cuda.h: that is NVIDIA's, which the backend includes.
 */
#ifndef SEAM_DRIVER_CUDA_H
#define SEAM_DRIVER_CUDA_H

#include "driver.h"

/* Makes a driver for one device, in its primary context, which is retained until the driver is destroyed.
 * error: as in rc.h.
 * Errors: SEAM_NO_DEVICE (no libcuda or one before CUDA 12.0, no such device, or a build without cuda.h), SEAM_DRIVER,
 * SEAM_OOM_META. Thread safe. */
SEAM_MUST_USE enum seam_rc seam__cuda_create(
	int ordinal, char *error, size_t error_bytes, struct seam_driver **ret_driver);

#endif

/* fakecuda_gpu.c: the GPU that the devices seem to be (FAKECUDA_GPU): its name, its numbers and its memory.
 *
 * Of attributes that machines.def does not know an H100's are told (fakecuda_attributes.def).
 */
#include <stdlib.h>
#include <string.h>

#include "bits.h"
#include "fakecuda.h"
#include "machines.h"

static const struct seam_machine *gpu; /* NULL: none is asked for. Set by cuInit */

bool fake_gpu_configure(uint64_t *capacity_bytes)
{
	const char *name = secure_getenv("FAKECUDA_GPU");
	gpu = name != NULL ? seam__machine_find(name) : NULL;
	if (gpu != NULL && *capacity_bytes == 0)
		*capacity_bytes = gpu->memory_bytes;
	return gpu != NULL || name == NULL;
}

const char *fake_gpu_name(void)
{
	return gpu != NULL ? gpu->full_name : "emulated device";
}

bool fake_gpu_attribute(CUdevice_attribute what, int *ret_value)
{
	if (gpu == NULL)
		return false;
	switch ((int)what) {
	case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
		*ret_value = (int)gpu->capability / 10;
		return true;
	case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
		*ret_value = (int)gpu->capability % 10;
		return true;
	case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
		*ret_value = (int)gpu->sms;
		return true;
	case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
		*ret_value = (int)gpu->threads_sm;
		return true;
	case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
		*ret_value = (int)gpu->l2_bytes;
		return true;
	case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH:
		*ret_value = (int)gpu->bus_bits;
		return true;
	case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
		*ret_value = (int)gpu->shared_sm_bytes;
		return true;
	case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
		*ret_value = (int)gpu->shared_block_bytes;
		return true;
	default:
		return false;
	}
}

void fake_gpu_memory(uint64_t *free_bytes, uint64_t *total_bytes)
{
	if (gpu == NULL || *total_bytes <= gpu->memory_bytes)
		return;
	/* A real context and its kernels take memory too. */
	const uint64_t used_bytes = *total_bytes - *free_bytes + gpu->context_bytes;
	*total_bytes = gpu->memory_bytes;
	*free_bytes = gpu->memory_bytes - seam__bits_min(used_bytes, gpu->memory_bytes);
}

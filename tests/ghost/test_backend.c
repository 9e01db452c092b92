/* test_backend.c: what of the CUDA backend the conformance suite does not see: the caller's context, and drivers that
 * are no use. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include <cudaTypedefs.h>

#include "driver_cuda.h"
#include "tap.h"

#define ERROR_BYTES 200

static void *find(const char *symbol, int version)
{
	PFN_cuGetProcAddress_v12000 get = NULL;
	void *library = dlopen("libcuda.so.1", RTLD_NOW);
	void *pointer = library != NULL ? dlsym(library, "cuGetProcAddress_v2") : NULL;
	void *found = NULL;
	CUdriverProcAddressQueryResult status;
	memcpy(&get, &pointer, sizeof(get));
	if (get == NULL || get(symbol, &found, version, CU_GET_PROC_ADDRESS_DEFAULT, &status) != CUDA_SUCCESS)
		return NULL;
	return found;
}

static void check_context(void)
{
	char error[ERROR_BYTES] = "";
	struct seam_driver *d = NULL;
	PFN_cuCtxGetCurrent_v4000 context_get = NULL;
	PFN_cuCtxSetCurrent_v4000 context_set = NULL;
	PFN_cuThreadExchangeStreamCaptureMode_v10010 exchange = NULL;
	void *pointers[3] = {find("cuCtxGetCurrent", 4000), find("cuCtxSetCurrent", 4000),
		find("cuThreadExchangeStreamCaptureMode", 10010)};
	memcpy(&context_get, &pointers[0], sizeof(context_get));
	memcpy(&context_set, &pointers[1], sizeof(context_set));
	memcpy(&exchange, &pointers[2], sizeof(exchange));
	ok(seam__cuda_create(0, error, sizeof error, &d) == SEAM_OK, "a device is made %s", error);
	if (d == NULL || context_get == NULL || context_set == NULL || exchange == NULL) {
		ok(false, "the fake driver has all of its calls");
		return;
	}
	int mine = 0;
	CUcontext before[2] = {NULL, (CUcontext)(void *)&mine};
	for (int i = 0; i < 2; i++) {
		uint64_t va = 0;
		uint64_t other = 0;
		CUcontext after = NULL;
		CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
		(void)context_set(before[i]);
		ok(seam__drv_address_reserve(d, UINT64_C(2) << 20, 0, 0, &va) == 0, "a call works");
		ok(seam__drv_address_reserve(d, 1, 0, 0, &other) == SEAM_CU_INVALID_VALUE, "and another fails");
		ok(context_get(&after) == CUDA_SUCCESS && after == before[i],
			"the caller's context is current again (%d)", i);
		ok(exchange(&mode) == CUDA_SUCCESS && mode == CU_STREAM_CAPTURE_MODE_GLOBAL,
			"the caller's capture mode is back (%d)", i);
		ok(seam__drv_address_free(d, va, UINT64_C(2) << 20) == 0, "and it is undone");
	}
	int64_t value = 0;
	ok(seam__drv_attribute(d, SEAM_ATTR_CHIP, &value) == 0 && value == 90, "the chip is %lld", (long long)value);
	ok(seam__drv_attribute(d, SEAM_ATTR_DRIVER_VERSION, &value) == 0 && value == 12040, "the driver is %lld",
		(long long)value);
	ok(seam__drv_attribute(d, SEAM_ATTR_RDMA_SUPPORTED, &value) == 0 && value == 0, "RDMA is %lld",
		(long long)value);
	ok(strcmp(d->ops->device_name(d), "emulated device") == 0, "the device has its name");
	ok(strcmp(d->ops->error_text(d, 1), "an error of the fake driver") == 0, "the driver's own text comes first");
	ok(d->ops->error_text(d, 12345)[0] != '\0', "an unknown code has a text");
	(void)context_set(NULL);
	seam__driver_destroy(d);
	d = NULL;
	ok(seam__cuda_create(5, error, sizeof error, &d) == SEAM_NO_DEVICE && d == NULL,
		"a device that is not there: %s", error);
}

/* A GPU of the table, with more memory behind it than it has. */
static void check_gpu(void)
{
	const uint64_t gpu_bytes = UINT64_C(24176) << 20; /* machines.def */
	char error[ERROR_BYTES] = "";
	struct seam_driver *d = NULL;
	int64_t chip = 0;
	uint64_t free_bytes = 0;
	uint64_t total_bytes = 0;
	(void)setenv("FAKECUDA_MEMORY", "book", 1);
	(void)setenv("FAKECUDA_CAPACITY", "100G", 1);
	(void)setenv("FAKECUDA_GPU", "rtx4090", 1);
	ok(seam__cuda_create(0, error, sizeof error, &d) == SEAM_OK, "a device is made %s", error);
	if (d == NULL)
		return;
	ok(strcmp(d->ops->device_name(d), "NVIDIA GeForce RTX 4090") == 0, "the name is the GPU's");
	ok(seam__drv_attribute(d, SEAM_ATTR_CHIP, &chip) == 0 && chip == 89, "the chip is %lld", (long long)chip);
	ok(seam__drv_mem_info(d, &free_bytes, &total_bytes) == 0 && total_bytes == gpu_bytes, "so is the memory");
	ok(free_bytes == gpu_bytes - (UINT64_C(512) << 20), "a context is not free: %llu",
		(unsigned long long)free_bytes);
	struct seam_phys phys;
	const struct seam_phys_props props = {.where = {.kind = SEAM_AT_DEVICE}};
	ok(seam__drv_mem_create(d, UINT64_C(50) << 30, &props, &phys) == 0, "there is more than the GPU has");
	ok(seam__drv_mem_info(d, &free_bytes, &total_bytes) == 0 && free_bytes == 0 && total_bytes == gpu_bytes,
		"of which nothing is told");
	ok(seam__drv_mem_release(d, phys) == 0, "it is given back");
	seam__driver_destroy(d);
}

int main(int argc, char **argv)
{
	tap_part = argc > 1 ? argv[1] : "context";
	if (argc > 1 && strcmp(argv[1], "gpu") == 0) {
		check_gpu();
	} else if (argc > 1) {
		char error[ERROR_BYTES] = "";
		struct seam_driver *d = NULL;
		/* "unknown" is no GPU. */
		(void)setenv(strcmp(argv[1], "unknown") == 0 ? "FAKECUDA_GPU" : "FAKECUDA", argv[1], 1);
		ok(seam__cuda_create(0, error, sizeof error, &d) == SEAM_NO_DEVICE && d == NULL && strlen(error) > 20,
			"refused: %s", error);
	} else {
		check_context();
	}
	return tap_end();
}

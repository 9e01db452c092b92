/* cuda_api.c: opens libcuda.so.1 and finds the calls of cuda_symbols.def.
 *
 * The library stays open for the life of the process: it has threads and handlers of its own.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

#include "cuda_api.h"

static const struct {
	const char *symbol;
	const char *exported;
	int version;
	size_t offset;
} symbols[] = {
#define SEAM_CUDA_SYMBOL(field, symbol, exported, version, type) \
	{symbol, exported, version, offsetof(struct cuda_api, field)},
#include "cuda_symbols.def"
#undef SEAM_CUDA_SYMBOL
};

static struct cuda_api api;
static const char *failure = "libcuda was not looked for";
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* dlsym gives an object pointer; C has no cast from that to a function's. */
static void copy_pointer(void *to, void *pointer)
{
	memcpy(to, &pointer, sizeof(pointer));
}

/* One call, by its version where the driver can do that, else by its exported name. */
static void *find_symbol(void *library, size_t i)
{
	PFN_cuGetProcAddress_v12000 newer = NULL;
	PFN_cuGetProcAddress_v11030 older = NULL;
	CUdriverProcAddressQueryResult status;
	void *found = NULL;
	copy_pointer(&newer, dlsym(library, "cuGetProcAddress_v2"));
	copy_pointer(&older, dlsym(library, "cuGetProcAddress"));
	CUresult cu = CUDA_ERROR_NOT_FOUND;
	if (newer != NULL)
		cu = newer(symbols[i].symbol, &found, symbols[i].version, CU_GET_PROC_ADDRESS_DEFAULT, &status);
	else if (older != NULL)
		cu = older(symbols[i].symbol, &found, symbols[i].version, CU_GET_PROC_ADDRESS_DEFAULT);
	return cu == CUDA_SUCCESS && found != NULL ? found : dlsym(library, symbols[i].exported);
}

static void open_library(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	if (library == NULL) {
		failure = "libcuda.so.1 cannot be opened: no NVIDIA driver";
		return;
	}
	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		void *found = find_symbol(library, i);
		if (found == NULL) {
			failure = "the NVIDIA driver is too old (CUDA 12.0 or later is needed)";
			return;
		}
		copy_pointer((unsigned char *)&api + symbols[i].offset, found);
	}
	CUresult cu = api.init(0);
	if (cu == CUDA_ERROR_NO_DEVICE)
		failure = "the NVIDIA driver sees no device";
	else if (cu != CUDA_SUCCESS)
		failure = "the NVIDIA driver cannot be initialised";
	else
		failure = NULL;
}

const struct cuda_api *seam__cuda_api_get(const char **ret_why)
{
	(void)pthread_once(&once, open_library);
	*ret_why = failure;
	return failure == NULL ? &api : NULL;
}

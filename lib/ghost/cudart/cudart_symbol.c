/* cudart_symbol.c: variables of the device's code, by the address of what stands for them on the host.
 *
 * A real runtime has them in memory as soon as their code is loaded; here each gets memory on a device when it is first
 * asked for there, and keeps it.
 */
#include <pthread.h>
#include <stdlib.h>

#include "fakecudart.h"

#define DEVICES 16

struct symbol {
	const void *host;
	size_t bytes;
	CUdeviceptr at[DEVICES]; /* 0: not there yet */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct symbol *symbols; /* in the order of registration */
static size_t count, capacity;

EXPORTED void __cudaRegisterVar(
	void **handle, char *host, char *device, const char *name, int external, size_t size, int constant, int global);

void __cudaRegisterVar(
	void **handle, char *host, char *device, const char *name, int external, size_t size, int constant, int global)
{
	(void)handle;
	(void)device;
	(void)name;
	(void)external;
	(void)constant;
	(void)global;
	(void)pthread_mutex_lock(&lock);
	if (count == capacity) {
		size_t more = capacity == 0 ? 256 : 2 * capacity;
		struct symbol *grown = realloc(symbols, more * sizeof(*grown));
		if (grown != NULL) {
			symbols = grown;
			capacity = more;
		}
	}
	if (count < capacity)
		symbols[count++] = (struct symbol){.host = host, .bytes = size};
	(void)pthread_mutex_unlock(&lock);
}

/* Under the lock. */
static struct symbol *find(const void *host)
{
	for (size_t i = 0; i < count; i++)
		if (symbols[i].host == host)
			return &symbols[i];
	return NULL;
}

static int find_on_device(const void *host, struct symbol *ret_symbol, CUdeviceptr *ret_at)
{
	int device = rt_device();
	(void)pthread_mutex_lock(&lock);
	struct symbol *symbol = find(host);
	int error = symbol != NULL ? 0 : (int)cudaErrorInvalidSymbol;
	if (error == 0 && symbol->at[device] == 0)
		error = (int)rt_driver->mem_alloc(&symbol->at[device], symbol->bytes != 0 ? symbol->bytes : 1);
	if (error == 0) {
		*ret_symbol = *symbol;
		*ret_at = symbol->at[device];
	}
	(void)pthread_mutex_unlock(&lock);
	return error;
}

cudaError_t cudaGetSymbolAddress(void **ret_ptr, const void *host)
{
	struct symbol symbol;
	CUdeviceptr at = 0;
	int error = rt_enter();
	if (error == 0)
		error = find_on_device(host, &symbol, &at);
	if (error == 0)
		*ret_ptr = (void *)(uintptr_t)at;
	return rt_result(error);
}

cudaError_t cudaGetSymbolSize(size_t *ret_bytes, const void *host)
{
	(void)pthread_mutex_lock(&lock);
	const struct symbol *symbol = find(host);
	if (symbol != NULL)
		*ret_bytes = symbol->bytes;
	(void)pthread_mutex_unlock(&lock);
	return rt_result(symbol != NULL ? 0 : (int)cudaErrorInvalidSymbol);
}

cudaError_t cudaMemcpyToSymbol(
	const void *host, const void *from, size_t bytes, size_t offset, enum cudaMemcpyKind kind)
{
	struct symbol symbol;
	CUdeviceptr at = 0;
	int error = rt_enter();
	if (error == 0)
		error = find_on_device(host, &symbol, &at);
	if (error == 0 && (offset > symbol.bytes || bytes > symbol.bytes - offset))
		error = cudaErrorInvalidValue;
	return error != 0 ? rt_result(error) : cudaMemcpy((void *)(uintptr_t)(at + offset), from, bytes, kind);
}

/* cudart_device.c: devices, their properties, errors, and the driver's calls by name. */
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "fakecuda_control.h"
#include "fakecudart.h"

#define VERSION (FAKECUDART_MAJOR == 12 ? 12080 : 13000)

const struct cuda_api *rt_driver;

#define DEVICES 16

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static CUcontext contexts[DEVICES]; /* lock. NULL: not kept yet */
static int device_count;
static int failure; /* of set_up */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Thread_local int last_error;
static _Thread_local int set_device; /* what counts where no context is current */

int nvmlInit_v2(void);

static void set_up(void)
{
	const char *why = NULL;
	(void)nvmlInit_v2(); /* the use of it keeps the fake one linked to this library */
	rt_driver = seam__cuda_api_get(&why);
	if (rt_driver == NULL)
		failure = cudaErrorNoDevice;
	else if (cuDeviceGetCount(&device_count) != CUDA_SUCCESS || device_count > DEVICES)
		failure = cudaErrorInitializationError;
}

static int check_device(int device)
{
	(void)pthread_once(&once, set_up);
	if (failure != 0)
		return failure;
	return device < 0 || device >= device_count ? (int)cudaErrorInvalidDevice : 0;
}

int rt_context(int device, CUcontext *ret_context)
{
	CUdevice handle = 0;
	int error = check_device(device);
	if (error != 0)
		return error;
	(void)pthread_mutex_lock(&lock);
	if (contexts[device] == NULL)
		error = (int)rt_driver->device_get(&handle, device);
	if (contexts[device] == NULL && error == 0)
		error = (int)rt_driver->primary_retain(&contexts[device], handle);
	*ret_context = contexts[device];
	(void)pthread_mutex_unlock(&lock);
	return error;
}

/* The device whose kept context is current, or -1. */
static int current_device(void)
{
	CUcontext current = NULL;
	int found = -1;
	if (rt_driver == NULL || rt_driver->context_get(&current) != CUDA_SUCCESS || current == NULL)
		return -1;
	(void)pthread_mutex_lock(&lock);
	for (int i = 0; i < device_count; i++)
		found = contexts[i] == current ? i : found;
	(void)pthread_mutex_unlock(&lock);
	return found;
}

int rt_device(void)
{
	int current = current_device();
	return current >= 0 ? current : set_device;
}

int rt_enter(void)
{
	CUcontext context = NULL;
	int error = check_device(set_device);
	if (error != 0 || current_device() >= 0)
		return error;
	error = rt_context(set_device, &context);
	return error != 0 ? error : (int)rt_driver->context_set(context);
}

cudaError_t rt_result(int error)
{
	if (error != 0)
		last_error = error;
	return (cudaError_t)error;
}

cudaError_t cudaGetLastError(void)
{
	int error = last_error;
	last_error = 0;
	return (cudaError_t)error;
}

cudaError_t cudaPeekAtLastError(void)
{
	return (cudaError_t)last_error;
}

static const struct {
	int number;
	const char *name;
	const char *text;
} errors[] = {
#define FAKECUDART_ERROR(name, text) {name, #name, text},
#include "cudart_errors.def"
#undef FAKECUDART_ERROR
};

const char *cudaGetErrorName(cudaError_t error)
{
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (errors[i].number == (int)error)
			return errors[i].name;
	return "unrecognized error code";
}

const char *cudaGetErrorString(cudaError_t error)
{
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (errors[i].number == (int)error)
			return errors[i].text;
	return "unrecognized error code";
}

cudaError_t cudaGetDeviceCount(int *count)
{
	int error = check_device(0);
	*count = error == 0 ? device_count : 0;
	return rt_result(error);
}

cudaError_t cudaGetDevice(int *device)
{
	*device = rt_device();
	return cudaSuccess;
}

cudaError_t cudaSetDevice(int device)
{
	CUcontext context = NULL;
	int error = rt_context(device, &context);
	if (error == 0)
		error = (int)rt_driver->context_set(context);
	if (error == 0)
		set_device = device;
	return rt_result(error);
}

cudaError_t cudaDeviceSynchronize(void)
{
	RT_RETURN(rt_driver->context_sync());
}

cudaError_t cudaDriverGetVersion(int *version)
{
	*version = VERSION;
	return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
	*version = VERSION;
	return cudaSuccess;
}

cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
	CUdevice handles[2];
	int error = check_device(device);
	*can = 0;
	if (error == 0)
		error = check_device(peer);
	if (error == 0)
		error = (int)rt_driver->device_get(&handles[0], device);
	if (error == 0)
		error = (int)rt_driver->device_get(&handles[1], peer);
	return rt_result(error != 0 ? error : (int)cuDeviceCanAccessPeer(can, handles[0], handles[1]));
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags)
{
	CUcontext context = NULL;
	int error = rt_enter();
	if (error == 0)
		error = rt_context(peer, &context);
	return rt_result(error != 0 ? error : (int)cuCtxEnablePeerAccess(context, flags));
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
	*least = 0;
	*greatest = -5;
	return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char *text, int length, int device)
{
	if (check_device(device) != 0 || length < 13)
		return rt_result(cudaErrorInvalidValue);
	(void)snprintf(text, (size_t)length, "0000:%02x:00.0", (unsigned char)device);
	return cudaSuccess;
}

#if FAKECUDART_MAJOR == 12
#define AT(before, now) (before)
#define PROPERTIES_BYTES 1032
EXPORTED cudaError_t cudaGetDeviceProperties_v2(void *properties, int device);
#else
#define AT(before, now) (now)
#define PROPERTIES_BYTES sizeof(struct cudaDeviceProp)
#endif

/* Where CUDA 13 has a field the compiler says; where CUDA 12 has it was read from its header. */
#define FAKECUDART_FIELD(name, before, now, attribute) \
	_Static_assert(offsetof(struct cudaDeviceProp, name) == (now), #name);
#define FAKECUDART_OLD_FIELD(name, before, attribute)
#include "cudart_properties.def"
#undef FAKECUDART_OLD_FIELD
#undef FAKECUDART_FIELD
_Static_assert(sizeof(struct cudaDeviceProp) == 1008, "the properties of CUDA 13");

int rt_attribute(int device, CUdevice_attribute what, int *ret_value)
{
	CUdevice handle = 0;
	int error = check_device(device);
	if (error == 0)
		error = (int)rt_driver->device_get(&handle, device);
	return error != 0 ? error : (int)rt_driver->device_attribute(ret_value, what, handle);
}

static int fill_field(unsigned char *at, size_t bytes, int device, CUdevice_attribute what)
{
	int value = 0;
	int error = rt_attribute(device, what, &value);
	size_t wide = (size_t)value;
	if (bytes == sizeof(wide))
		memcpy(at, &wide, bytes);
	else
		memcpy(at, &value, sizeof(value));
	return error;
}

static cudaError_t fill_properties(unsigned char *properties, int device)
{
	size_t total_bytes = 0;
	CUdevice handle = 0;
	int error = check_device(device);
	if (error == 0)
		error = (int)rt_driver->device_get(&handle, device);
	if (error == 0)
		error = (int)cuDeviceTotalMem(&total_bytes, handle);
	if (error != 0)
		return rt_result(error);
	memset(properties, 0, PROPERTIES_BYTES);
	if (error == 0)
		error = (int)rt_driver->device_name(
			(char *)properties, sizeof(((struct cudaDeviceProp *)NULL)->name), handle);
	memset(properties + offsetof(struct cudaDeviceProp, uuid), 0x5e + device, sizeof(cudaUUID_t));
	memcpy(properties + offsetof(struct cudaDeviceProp, totalGlobalMem), &total_bytes, sizeof(total_bytes));
#define FAKECUDART_FIELD(field, before, now, attribute)                                                          \
	if (error == 0)                                                                                          \
		error = fill_field(properties + AT(before, now), sizeof(((struct cudaDeviceProp *)NULL)->field), \
			device, attribute);
#if FAKECUDART_MAJOR == 12
#define FAKECUDART_OLD_FIELD(field, at, attribute) \
	if (error == 0)                            \
		error = fill_field(properties + (at), sizeof(int), device, attribute);
#else
#define FAKECUDART_OLD_FIELD(field, at, attribute)
#endif
#include "cudart_properties.def"
#undef FAKECUDART_OLD_FIELD
#undef FAKECUDART_FIELD
	return rt_result(error);
}

#if FAKECUDART_MAJOR == 12
cudaError_t cudaGetDeviceProperties_v2(void *properties, int device)
{
	return fill_properties(properties, device);
}
#else
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device)
{
	return fill_properties((unsigned char *)properties, device);
}
#endif

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr what, int device)
{
	return rt_result(rt_attribute(device, (CUdevice_attribute)(int)what, value));
}

cudaError_t cudaGetDriverEntryPointByVersion(const char *symbol, void **function, unsigned version,
	unsigned long long flags, enum cudaDriverEntryPointQueryResult *status)
{
	CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
	int error = rt_enter();
	if (error != 0)
		return rt_result(error);
	/* PyTorch names versions of its own liking; what there is, is there in one version. */
	CUresult cu = cuGetProcAddress(symbol, function, (int)version, flags, &found);
	if (status != NULL)
		*status = cu == CUDA_SUCCESS ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
	return cudaSuccess;
}

#if FAKECUDART_MAJOR == 12
EXPORTED cudaError_t cudaGetDriverEntryPoint(
	const char *symbol, void **function, unsigned long long flags, enum cudaDriverEntryPointQueryResult *status);

cudaError_t cudaGetDriverEntryPoint(
	const char *symbol, void **function, unsigned long long flags, enum cudaDriverEntryPointQueryResult *status)
{
	return cudaGetDriverEntryPointByVersion(symbol, function, VERSION, flags, status);
}
#endif

/* Declared in a header of its own, which not every CUDA has. */
EXPORTED cudaError_t cudaProfilerStart(void);
EXPORTED cudaError_t cudaProfilerStop(void);

cudaError_t cudaProfilerStart(void)
{
	return cudaSuccess;
}

cudaError_t cudaProfilerStop(void)
{
	return cudaSuccess;
}

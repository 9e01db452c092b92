/* driver.c: what both backends share: counters, fault injection, names, translation of result codes.
 *
 * Not here: any call of a device.
 * Invariants D1 and D2 of driver.h. No locks: every field is atomic.
 */
#include "driver.h"

#include "check.h"
#include "log.h"

static const char *const call_names[SEAM_DRV_COUNT] = {
#define SEAM_DRIVER(name, class, wait, params, args) #name,
#include "driver.def"
#undef SEAM_DRIVER
};

static const unsigned char call_classes[SEAM_DRV_COUNT] = {
#define SEAM_DRIVER(name, class, wait, params, args) SEAM_DRV_##class,
#include "driver.def"
#undef SEAM_DRIVER
};

void seam__driver_init(struct seam_driver *d, const struct seam_driver_ops *ops, int ordinal)
{
	d->ops = ops;
	d->ordinal = ordinal;
	atomic_store_explicit(&d->last_call, -1, memory_order_relaxed);
}

void seam__driver_destroy(struct seam_driver *d)
{
	if (d != NULL)
		d->ops->destroy(d);
}

const char *seam__driver_call_name(enum seam_drv_call call)
{
	SEAM_ASSERT(call < SEAM_DRV_COUNT);
	return call_names[call];
}

enum seam_drv_class seam__driver_call_class(enum seam_drv_call call)
{
	SEAM_ASSERT(call < SEAM_DRV_COUNT);
	return (enum seam_drv_class)call_classes[call];
}

void seam__driver_fail_at(struct seam_driver *d, uint64_t n, uint64_t classes, int cu)
{
	/* Off first: a call of another thread must not meet a new countdown with the old classes. */
	atomic_store(&d->fail_countdown, 0);
	atomic_store(&d->fail_classes, classes);
	atomic_store(&d->fail_code, cu);
	atomic_store(&d->fail_countdown, (int64_t)n);
}

static uint64_t sum_of_class(const struct seam_driver *d, enum seam_drv_class class, bool of_ns)
{
	uint64_t sum = 0;
	for (int call = 0; call < SEAM_DRV_COUNT; call++) {
		const struct seam_drv_count *count = &d->counts[call];
		if (call_classes[call] == class)
			sum += atomic_load_explicit(of_ns ? &count->ns : &count->calls, memory_order_relaxed);
	}
	return sum;
}

uint64_t seam__driver_calls(const struct seam_driver *d, enum seam_drv_class class)
{
	return sum_of_class(d, class, false);
}

uint64_t seam__driver_ns(const struct seam_driver *d, enum seam_drv_class class)
{
	return sum_of_class(d, class, true);
}

uint64_t seam__driver_thread(void)
{
	static _Atomic uint64_t last;
	static _Thread_local uint64_t mine;
	if (mine == 0)
		mine = atomic_fetch_add(&last, 1) + 1;
	return mine;
}

enum seam_rc seam__driver_rc(int cu)
{
	switch (cu) {
	case SEAM_CU_SUCCESS:
		return SEAM_OK;
	case SEAM_CU_OUT_OF_MEMORY:
		return SEAM_OOM_DEVICE;
	case SEAM_CU_STREAM_CAPTURE_UNSUPPORTED:
	case SEAM_CU_STREAM_CAPTURE_INVALIDATED:
	case SEAM_CU_STREAM_CAPTURE_IMPLICIT:
		return SEAM_CAPTURING;
	case SEAM_CU_DEINITIALIZED:
	case SEAM_CU_CONTEXT_IS_DESTROYED:
		return SEAM_SHUTDOWN;
	case SEAM_CU_NOT_SUPPORTED:
		return SEAM_UNSUPPORTED;
	case SEAM_CU_NOT_READY:
		return SEAM_BUSY;
	case SEAM_CU_NO_DEVICE:
		return SEAM_NO_DEVICE;
	default:
		return SEAM_DRIVER;
	}
}

const char *seam__driver_cu_text(int cu)
{
	switch (cu) {
	case SEAM_CU_SUCCESS:
		return "no error";
	case SEAM_CU_INVALID_VALUE:
		return "invalid argument";
	case SEAM_CU_OUT_OF_MEMORY:
		return "out of memory";
	case SEAM_CU_NOT_INITIALIZED:
		return "not initialized (or used after a fork)";
	case SEAM_CU_DEINITIALIZED:
		return "the driver is shutting down";
	case SEAM_CU_NO_DEVICE:
		return "no device";
	case SEAM_CU_INVALID_DEVICE:
		return "invalid device ordinal";
	case SEAM_CU_INVALID_HANDLE:
		return "invalid handle of a stream or event";
	case SEAM_CU_NOT_READY:
		return "not ready";
	case SEAM_CU_ILLEGAL_ADDRESS:
		return "an illegal memory access was met";
	case SEAM_CU_HOST_MEMORY_ALREADY_REGISTERED:
		return "the host memory is already registered";
	case SEAM_CU_HOST_MEMORY_NOT_REGISTERED:
		return "the host memory is not registered";
	case SEAM_CU_NOT_PERMITTED:
		return "not permitted";
	case SEAM_CU_NOT_SUPPORTED:
		return "not supported";
	case SEAM_CU_STREAM_CAPTURE_UNSUPPORTED:
	case SEAM_CU_STREAM_CAPTURE_INVALIDATED:
	case SEAM_CU_STREAM_CAPTURE_UNMATCHED:
	case SEAM_CU_STREAM_CAPTURE_UNJOINED:
	case SEAM_CU_STREAM_CAPTURE_ISOLATION:
	case SEAM_CU_STREAM_CAPTURE_IMPLICIT:
	case SEAM_CU_CAPTURED_EVENT:
		return "not permitted during stream capture";
	default:
		return "unknown error";
	}
}

static void note_result(struct seam_driver *d, enum seam_drv_call call, int cu)
{
	struct seam_drv_count *count = &d->counts[call];
	atomic_fetch_add_explicit(&count->calls, 1, memory_order_relaxed);
	if (cu == SEAM_CU_SUCCESS || cu == SEAM_CU_NOT_READY)
		return;
	atomic_fetch_add_explicit(&count->failures, 1, memory_order_relaxed);
	atomic_store_explicit(&d->last_error, cu, memory_order_relaxed);
	atomic_store_explicit(&d->last_call, (int)call, memory_order_relaxed);
	/* A full device, a capture, the end of the process: who called expects them, and says itself what matters. */
	seam__log(seam__driver_rc(cu) == SEAM_DRIVER ? SEAM_LOG_WARNING : SEAM_LOG_DEBUG, "driver: %s: %s (%d)",
		seam__driver_call_name(call), seam__driver_cu_text(cu), cu);
}

bool seam__driver_enter(struct seam_driver *d, enum seam_drv_call call, int *ret_cu)
{
	if (__builtin_expect(atomic_load_explicit(&d->fail_countdown, memory_order_relaxed) == 0, 1))
		return false;
	if ((atomic_load(&d->fail_classes) >> call_classes[call] & 1) == 0)
		return false;
	int64_t left = atomic_load(&d->fail_countdown);
	do {
		if (left == 0)
			return false;
	} while (!atomic_compare_exchange_weak(&d->fail_countdown, &left, left - 1));
	if (left != 1)
		return false;
	int cu = atomic_load(&d->fail_code);
	atomic_fetch_add(&d->injected, 1);
	note_result(d, call, cu);
	*ret_cu = cu;
	return true;
}

int seam__driver_leave(struct seam_driver *d, enum seam_drv_call call, uint64_t start_ns, int cu)
{
	uint64_t end_ns = d->ops->clock_ns(d);
	atomic_fetch_add_explicit(&d->counts[call].ns, end_ns - start_ns, memory_order_relaxed);
	note_result(d, call, cu);
	return cu;
}

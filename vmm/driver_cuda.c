/* driver_cuda.c: a CUDA device as a backend of the driver table.
 *
 * Around every call: the device's primary context is current (the caller's is put back), and calls that a stream
 * capture of another thread may forbid run in the relaxed capture mode. What the calls do stands in cuda_memory.c and
 * cuda_stream.c.
 */
#include "driver_cuda.h"

#include <string.h>

#include "clock.h"
#include "cuda_api.h"
#include "meta.h"
#include "text.h"

struct entry {
	CUcontext before;
	CUstreamCaptureMode mode;
	bool switched; /* the context is to be put back */
	bool relaxed;  /* the capture mode is */
};

/* Copies and the stream queries of the hot path are not among the calls that a capture in global mode forbids. */
static bool needs_relaxed(enum seam_drv_call call)
{
	enum seam_drv_class class = seam__driver_call_class(call);
	return class == SEAM_DRV_MEMORY || class == SEAM_DRV_EVENT;
}

static void leave(struct cuda *c, struct entry *entry)
{
	/* These can fail only where the driver is gone; the call's own result is the one to report. */
	if (entry->relaxed)
		(void)c->api->capture_mode(&entry->mode);
	if (entry->switched)
		(void)c->api->context_set(entry->before);
}

static int enter(struct cuda *c, enum seam_drv_call call, struct entry *entry)
{
	*entry = (struct entry){.mode = CU_STREAM_CAPTURE_MODE_RELAXED};
	CUresult cu = c->api->context_get(&entry->before);
	if (cu == CUDA_SUCCESS && entry->before != c->context) {
		cu = c->api->context_set(c->context);
		entry->switched = cu == CUDA_SUCCESS;
	}
	if (cu == CUDA_SUCCESS && needs_relaxed(call)) {
		cu = c->api->capture_mode(&entry->mode); /* leaves the old mode in its place */
		entry->relaxed = cu == CUDA_SUCCESS;
	}
	if (cu != CUDA_SUCCESS)
		leave(c, entry);
	return (int)cu;
}

#define SEAM_DRIVER(name, class, wait, params, args)        \
	static int op_##name params                         \
	{                                                   \
		struct cuda *c = seam__cuda_of(d);          \
		struct entry entry;                         \
		int cu = enter(c, SEAM_DRV_##name, &entry); \
		if (cu != 0)                                \
			return cu;                          \
		cu = seam__cuda_op_##name args;             \
		leave(c, &entry);                           \
		return cu;                                  \
	}
#include "driver.def"
#undef SEAM_DRIVER

static void destroy(struct seam_driver *d)
{
	struct cuda *c = seam__cuda_of(d);
	/* Fails after the driver has shut down, when there is nothing to release any more. */
	(void)c->api->primary_release(c->device);
	seam__meta_free(seam__meta_process(), c, sizeof(*c));
}

static uint64_t clock_ns(struct seam_driver *d)
{
	(void)d;
	return seam__clock_ns();
}

static const char *error_text(struct seam_driver *d, int cu)
{
	const char *text = NULL;
	if (seam__cuda_of(d)->api->error_string((CUresult)cu, &text) != CUDA_SUCCESS || text == NULL)
		return seam__driver_cu_text(cu);
	return text;
}

static const char *device_name(struct seam_driver *d)
{
	return seam__cuda_of(d)->name;
}

static const struct seam_driver_ops cuda_ops = {
	.name = "cuda",
	.destroy = destroy,
	.clock_ns = clock_ns,
	.error_text = error_text,
	.device_name = device_name,
#define SEAM_DRIVER(name, class, wait, params, args) .name = op_##name,
#include "driver.def"
#undef SEAM_DRIVER
};

static enum seam_rc refuse(char *error, size_t error_bytes, int ordinal, enum seam_rc rc, const char *why)
{
	seam__text_line(error, error_bytes, "CUDA device %d: %s", ordinal, why);
	return rc;
}

enum seam_rc seam__cuda_create(int ordinal, char *error, size_t error_bytes, struct seam_driver **ret_driver)
{
	const char *why = NULL;
	const struct cuda_api *api = seam__cuda_api_get(&why);
	if (api == NULL)
		return refuse(error, error_bytes, ordinal, SEAM_NO_DEVICE, why);
	struct cuda *c = seam__meta_alloc(seam__meta_process(), sizeof(*c));
	if (c == NULL)
		return refuse(error, error_bytes, ordinal, SEAM_OOM_META, "no host memory");
	c->api = api;
	seam__driver_init(&c->base, &cuda_ops, ordinal);
	CUresult cu = api->device_get(&c->device, ordinal);
	if (cu == CUDA_SUCCESS)
		cu = api->device_name(c->name, (int)sizeof(c->name), c->device);
	if (cu == CUDA_SUCCESS)
		cu = api->primary_retain(&c->context, c->device);
	if (cu != CUDA_SUCCESS) {
		bool no_device = cu == CUDA_ERROR_INVALID_DEVICE || cu == CUDA_ERROR_NO_DEVICE;
		enum seam_rc rc = refuse(error, error_bytes, ordinal, no_device ? SEAM_NO_DEVICE : SEAM_DRIVER,
			error_text(&c->base, (int)cu));
		seam__meta_free(seam__meta_process(), c, sizeof(*c));
		return rc;
	}
	*ret_driver = &c->base;
	return SEAM_OK;
}

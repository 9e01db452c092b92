/* peer_allocator.c: forwards to peer_torch.cpp, which is opened at run time. */
#include "peer_allocator.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "peer_torch.h"

static struct {
#define CALL(name, result, parameters) result(*name) parameters;
	PEER_TORCH_CALLS(CALL)
#undef CALL
} torch;

static void *pointer(uint64_t value)
{
	return (void *)(uintptr_t)value;
}

static enum seam_rc rc_of(int status)
{
	return status == 0 ? SEAM_OK : status == PEER_TORCH_OOM ? SEAM_OOM_DEVICE : SEAM_DRIVER;
}

static enum seam_rc torch_alloc(struct ref_allocator *allocator, const struct ref_request *request, uint64_t *ret_va)
{
	void *block = NULL;
	(void)allocator;
	int status = torch.alloc(request->bytes, pointer(request->stream), request->private_id, &block);
	if (status == 0)
		*ret_va = (uint64_t)(uintptr_t)block;
	return rc_of(status);
}

static enum seam_rc torch_free(struct ref_allocator *allocator, uint64_t va)
{
	(void)allocator;
	return rc_of(torch.free(pointer(va)));
}

static enum seam_rc torch_record_stream(struct ref_allocator *allocator, uint64_t va, uint64_t stream)
{
	(void)allocator;
	return rc_of(torch.record_stream(pointer(va), pointer(stream)));
}

static enum seam_rc torch_empty_cache(struct ref_allocator *allocator)
{
	(void)allocator;
	return rc_of(torch.empty_cache());
}

static enum seam_rc torch_release_private(struct ref_allocator *allocator, uint64_t private_id)
{
	(void)allocator;
	return rc_of(torch.release_private(private_id));
}

static void torch_get_stats(const struct ref_allocator *allocator, struct ref_stats *ret_stats)
{
	struct peer_torch_stats stats;
	(void)allocator;
	torch.get_stats(&stats);
	*ret_stats = (struct ref_stats){
		.reserved_bytes = stats.reserved_bytes,
		.reserved_peak_bytes = stats.reserved_peak_bytes,
		.live_bytes = stats.allocated_bytes,
		.live_blocks = stats.blocks,
		.retries = stats.retries,
	};
}

static const char *torch_check(const struct ref_allocator *allocator)
{
	(void)allocator;
	return NULL; /* PyTorch has none */
}

/* What is still reserved then is lost, or live. */
static uint64_t torch_destroy(struct ref_allocator *allocator)
{
	struct ref_stats stats;
	int ignored = torch.empty_cache();
	(void)ignored; /* the account shows what became of it */
	torch_get_stats(allocator, &stats);
	return stats.reserved_bytes;
}

static const struct ref_ops torch_ops = {
	.alloc = torch_alloc,
	.free = torch_free,
	.record_stream = torch_record_stream,
	.empty_cache = torch_empty_cache,
	.release_private = torch_release_private,
	.get_stats = torch_get_stats,
	.check = torch_check,
	.destroy = torch_destroy,
};

static bool find_calls(void *library)
{
#define CALL(name, result, parameters)                             \
	do {                                                       \
		void *found = dlsym(library, "peer_torch_" #name); \
		if (found == NULL)                                 \
			return false;                              \
		memcpy(&torch.name, &found, sizeof(torch.name));   \
	} while (0);
	PEER_TORCH_CALLS(CALL)
#undef CALL
	return true;
}

enum seam_rc peer_allocator_create(
	const char *path, struct seam_driver *driver, char *error, struct ref_allocator **ret_allocator)
{
	static struct ref_allocator only;
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (library == NULL || !find_calls(library)) {
		const char *why = dlerror();
		(void)snprintf(error, PEER_ERROR_BYTES, "%s: %s", path, why != NULL ? why : "lacks a call");
		return SEAM_UNSUPPORTED;
	}
	if (torch.open() != 0) {
		(void)snprintf(error, PEER_ERROR_BYTES, "PyTorch does not start: %.300s", torch.error());
		return SEAM_DRIVER;
	}
	only = (struct ref_allocator){.ops = &torch_ops, .driver = driver};
	*ret_allocator = &only;
	return SEAM_OK;
}

const char *peer_allocator_version(void)
{
	return torch.version();
}

const char *peer_allocator_error(void)
{
	return torch.error != NULL ? torch.error() : "";
}

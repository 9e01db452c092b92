/* torch_pluggable.c: the functions that PyTorch's CUDAPluggableAllocator calls for memory, and the pools behind them.
 * See seam/torch.h.
 *
 * Not here: private pools (torch_private.c), segments for MemPool (torch_segments.c), texts and figures
 * (torch_errors.c), the C++ edge (torch_oom.cpp).
 *
 * Nothing is done when the library is loaded: a pool is made by the first request for its device.
 */
#include "torch_pluggable.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <seam/plan.h>
#include <seam/trace.h>

static pthread_mutex_t made = PTHREAD_MUTEX_INITIALIZER;
static struct seam_pool *_Atomic pools[SEAM_TORCH_DEVICES];
static struct seam_pool *_Atomic open_pools[SEAM_TORCH_DEVICES]; /* those of seam__torch_open_pool() */
static struct seam_config configuration;                         /* made. Valid if its size is not 0 */
static bool names_watch;             /* made. The configuration says something about watch_captures */
static bool announced;               /* made. Whoever captures opens a private pool first */
static struct seam_plan *first_plan; /* made. For the first pool, or NULL */
static _Atomic uint64_t unknown_frees;

#define TOO_LATE "memory has been asked for already: it is too late to configure"

static bool in_range(int device)
{
	return device >= 0 && device < SEAM_TORCH_DEVICES;
}

/* Whether a text of "key:value,..." has the key. */
static bool names(const char *text, const char *key)
{
	size_t length = strlen(key);
	for (const char *at = text; at != NULL && (at = strstr(at, key)) != NULL; at += length) {
		bool begins = at == text || at[-1] == ',' || at[-1] == ' ';
		if (begins && (at[length] == ':' || at[length] == ' '))
			return true;
	}
	return false;
}

/* With `made`. */
static bool some_are_made(void)
{
	for (int i = 0; i < SEAM_TORCH_DEVICES; i++) {
		if (atomic_load(&pools[i]) != NULL)
			return true;
	}
	return false;
}

static void put_line(char *error, size_t error_bytes, const char *line)
{
	if (error != NULL && error_bytes != 0)
		(void)snprintf(error, error_bytes, "%s", line);
}

enum seam_rc seam_torch_configure(const char *text, char *error, size_t error_bytes)
{
	struct seam_config config;
	seam_config_init(&config);
	enum seam_rc rc = seam_config_parse(&config, text != NULL ? text : "", error, error_bytes);
	if (rc != SEAM_OK)
		return rc;
	pthread_mutex_lock(&made);
	rc = some_are_made() ? SEAM_BUSY : SEAM_OK;
	if (rc == SEAM_OK) {
		configuration = config;
		names_watch = names(text, "watch_captures");
	}
	pthread_mutex_unlock(&made);
	if (rc == SEAM_BUSY)
		put_line(error, error_bytes, TOO_LATE);
	return rc;
}

enum seam_rc seam_torch_plan_file(const char *path, char *error, size_t error_bytes)
{
	struct seam_trace_error why = {.text = ""};
	struct seam_plan *plan = NULL;
	enum seam_rc rc = path != NULL ? seam_plan_read_file(path, &why, &plan) : SEAM_OK;
	if (rc == SEAM_OK) {
		pthread_mutex_lock(&made);
		rc = some_are_made() ? SEAM_BUSY : SEAM_OK;
		struct seam_plan *gone = rc == SEAM_OK ? first_plan : plan;
		if (rc == SEAM_OK)
			first_plan = plan;
		pthread_mutex_unlock(&made);
		seam_plan_free(gone);
	}
	if (rc != SEAM_OK)
		put_line(error, error_bytes,
			rc == SEAM_BUSY               ? TOO_LATE
				: why.text[0] != '\0' ? why.text
						      : seam_rc_text(rc));
	return rc;
}

void seam_torch_announce_captures(void)
{
	pthread_mutex_lock(&made);
	announced = true;
	pthread_mutex_unlock(&made);
}

/* With `made`. */
static void use_plan(struct seam_pool *pool, int device)
{
	char error[SEAM_TORCH_LINE_BYTES];
	if (first_plan != NULL && seam_plan_use(pool, first_plan, error, sizeof error) != SEAM_OK)
		seam__torch_tell("device %d goes without its plan: %s", device, error);
	seam_plan_free(first_plan);
	first_plan = NULL;
}

/* With `made`. */
static struct seam_pool *make(int device)
{
	struct seam_pool *pool = atomic_load_explicit(&pools[device], memory_order_acquire);
	if (pool != NULL)
		return pool;
	if (configuration.size == 0)
		seam_config_init(&configuration);
	struct seam_config config = configuration;
	if (!announced && !names_watch && !names(secure_getenv("SEAM_CONF"), "watch_captures"))
		config.watch_captures = 1;
	char error[SEAM_TORCH_LINE_BYTES];
	enum seam_rc rc = seam_pool_create(device, &config, error, sizeof error, &pool);
	if (rc != SEAM_OK) {
		seam__torch_tell("Seam cannot serve device %d: %s", device, error);
		return NULL;
	}
	use_plan(pool, device);
	atomic_store_explicit(&pools[device], pool, memory_order_release);
	return pool;
}

struct seam_pool *seam_torch_pool(int device)
{
	struct seam_pool *pool = seam_torch_pool_made(device);
	if (pool != NULL)
		return pool;
	if (!in_range(device)) {
		seam__torch_tell("Seam cannot serve device %d: there is no such ordinal", device);
		return NULL;
	}
	pthread_mutex_lock(&made);
	pool = make(device);
	pthread_mutex_unlock(&made);
	return pool;
}

/* With `made`. Devices that cannot reach each other are no error: copies between them are, and PyTorch says so. */
static void let_in(struct seam_pool *pool, int peer)
{
	enum seam_rc ignored = seam_peer_enable(pool, peer);
	(void)ignored;
}

struct seam_pool *seam__torch_open_pool(int device)
{
	struct seam_pool *pool =
		in_range(device) ? atomic_load_explicit(&open_pools[device], memory_order_acquire) : NULL;
	if (pool != NULL)
		return pool;
	pool = seam_torch_pool(device);
	if (pool == NULL)
		return NULL;
	pthread_mutex_lock(&made);
	bool is_open = atomic_load(&open_pools[device]) != NULL;
	for (int other = 0; !is_open && other < SEAM_TORCH_DEVICES; other++) {
		struct seam_pool *theirs = atomic_load(&open_pools[other]);
		if (theirs == NULL)
			continue;
		let_in(pool, other);
		let_in(theirs, device);
	}
	atomic_store_explicit(&open_pools[device], pool, memory_order_release);
	pthread_mutex_unlock(&made);
	return pool;
}

struct seam_pool *seam_torch_pool_made(int device)
{
	return in_range(device) ? atomic_load_explicit(&pools[device], memory_order_acquire) : NULL;
}

void *seam_torch_alloc(size_t bytes, int device, void *stream)
{
	if (bytes == 0)
		return NULL;
	struct seam_pool *pool = seam__torch_open_pool(device);
	if (pool == NULL) {
		seam__torch_fail();
		return NULL;
	}
	struct seam_request request = {.size = sizeof request, .bytes = bytes, .stream = stream};
	request.private_id = seam__torch_route(device, stream);
	void *ptr = NULL;
	enum seam_rc rc = seam_alloc_request(pool, &request, &ptr);
	if (rc == SEAM_NOT_FOUND && request.private_id != 0) {
		/* Released while it was open: nobody keeps its memory apart any more. */
		request.private_id = 0;
		rc = seam_alloc_request(pool, &request, &ptr);
	}
	if (rc == SEAM_OK)
		return ptr;
	seam__torch_refuse(pool, device, bytes, rc);
	return NULL;
}

void seam_torch_free(void *ptr, size_t bytes, int device, void *stream)
{
	(void)bytes;
	(void)stream;
	struct seam_pool *pool = seam_torch_pool_made(device);
	if (ptr == NULL)
		return;
	if (pool == NULL || seam_free(pool, ptr) == SEAM_NOT_FOUND) {
		atomic_fetch_add_explicit(&unknown_frees, 1, memory_order_relaxed);
		seam__torch_tell("a free of %p on device %d, which is no block of Seam's, was ignored", ptr, device);
	}
}

uint64_t seam_torch_unknown_frees(void)
{
	return atomic_load_explicit(&unknown_frees, memory_order_relaxed);
}

void seam_torch_init(int device_count)
{
	(void)device_count;
}

void seam_torch_reset(void)
{
	for (int device = 0; device < SEAM_TORCH_DEVICES; device++) {
		struct seam_pool *pool = seam_torch_pool_made(device);
		if (pool == NULL)
			continue;
		seam__torch_release_late(device);
		enum seam_rc rc = seam_trim(pool, 0, NULL);
		if (rc != SEAM_OK)
			seam__torch_tell("the cache of device %d stays: %s", device, seam_rc_text(rc));
	}
}

void seam_torch_memory_fraction(double fraction, int device)
{
	if (!(fraction > 0 && fraction <= 1)) {
		seam__torch_tell("a memory fraction of %g: it must be above 0 and at most 1", fraction);
		seam__torch_fail();
		return;
	}
	struct seam_pool *pool = seam_torch_pool(device);
	uint64_t total_bytes = 0;
	if (pool != NULL) {
		enum seam_rc rc = seam_device_memory(pool, NULL, &total_bytes);
		uint64_t most_bytes = (uint64_t)((double)total_bytes * fraction);
		if (rc == SEAM_OK)
			rc = seam_pool_set_capacity(pool, fraction < 1 ? most_bytes + (most_bytes == 0) : 0);
		if (rc == SEAM_OK)
			return;
		seam__torch_tell("the memory fraction of device %d stays: %s", device, seam_rc_text(rc));
	}
	seam__torch_fail();
}

void *seam_torch_base_alloc(void *ptr, size_t *ret_bytes)
{
	for (int device = 0; device < SEAM_TORCH_DEVICES; device++) {
		struct seam_pool *pool = seam_torch_pool_made(device);
		void *base = NULL;
		uint64_t bytes = 0;
		if (pool == NULL || seam_block_range(pool, ptr, &base, &bytes) != SEAM_OK)
			continue;
		if (ret_bytes != NULL)
			*ret_bytes = bytes;
		return base;
	}
	seam__torch_tell("%p lies in no block of Seam's", ptr);
	seam__torch_fail();
	return NULL;
}

void seam_torch_record_stream(void *ptr, void *stream)
{
	enum seam_rc rc = SEAM_NOT_FOUND;
	if (ptr == NULL)
		return;
	for (int device = 0; rc == SEAM_NOT_FOUND && device < SEAM_TORCH_DEVICES; device++) {
		struct seam_pool *pool = seam_torch_pool_made(device);
		if (pool != NULL)
			rc = seam_record_stream(pool, ptr, stream);
	}
	if (rc == SEAM_OK)
		return;
	seam__torch_tell("the use of %p on stream %p cannot be recorded: %s", ptr, stream, seam_rc_text(rc));
	seam__torch_fail();
}

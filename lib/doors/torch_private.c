/* torch_private.c: PyTorch's private pools, for graphs and use_mem_pool(), on Seam's. See seam/torch.h.
 *
 * PyTorch hands over a filter, a C++ function object, and begins a pool before the capture starts: which streams belong
 * to it is known only to the filter, and only at each request. So the filter is asked here, and the request names its
 * private pool; the route that seam_private_begin() opens is one that no request takes (no capture has id 0), which
 * makes the pool look for captures all the same.
 *
 * The layout of std::function in libstdc++, the only C++ library that PyTorch is built with on Linux: 16 bytes of
 * storage, a manager that copies and destroys it, an invoker. A type that is not trivial to copy is passed by value as
 * the address of the caller's copy.
 *
 * Locks: `opening` guards the table. A filter runs under it and may throw: the lock is dropped as the exception passes
 * (-fexceptions).
 */
#include "torch_pluggable.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#define OPEN_LIMIT 64u /* pools open at a time, and releases that wait for the end of a capture */

enum operation { GET_TYPE, GET_POINTER, CLONE, DESTROY }; /* what a manager is asked for */

struct storage {
	void *words[2];
};

struct filter {
	struct storage storage;
	bool (*manager)(struct storage *to, const struct storage *from, enum operation operation);
	bool (*invoker)(const struct storage *storage, void **stream); /* valid if manager is not NULL */
};

struct open_pool {
	int device;
	uint64_t id;
	struct filter filter;
};

struct late {
	int device;
	uint64_t id;
};

static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;
static struct open_pool opened[OPEN_LIMIT]; /* opening. The newest last */
static _Atomic unsigned
	opened_count; /* changed with `opening`; read without it to see whether there is anything to ask */
static struct late lates[OPEN_LIMIT]; /* opening */
static unsigned late_count;           /* opening */

static void unlock(pthread_mutex_t **lock)
{
	pthread_mutex_unlock(*lock);
}

/* Until the end of the block, and if an exception leaves it. */
#define WITH_OPEN \
	__attribute__((cleanup(unlock), unused)) pthread_mutex_t *locked = (pthread_mutex_lock(&opening), &opening)

#define WAYS_APART \
	UINT64_C(0x9e3779b97f4a7c15) /* odd, without a pattern: spreads the pairs that PyTorch does not make */

uint64_t seam_torch_private_id(struct seam_torch_pool_id id)
{
	/* PyTorch makes (n, 0) for the pools of users and (0, n) for those of graphs. The topmost number is that of the
	 * segments. */
	if (id.second == 0)
		return id.first * 2 + 2;
	if (id.first == 0)
		return id.second * 2 + 1;
	return (id.first * WAYS_APART ^ id.second) | UINT64_C(1) << 63;
}

static bool accepts(const struct open_pool *pool, void *stream)
{
	return pool->filter.manager == NULL || pool->filter.invoker(&pool->filter.storage, &stream);
}

uint64_t seam__torch_route(int device, void *stream)
{
	if (atomic_load_explicit(&opened_count, memory_order_acquire) == 0)
		return 0;
	WITH_OPEN;
	for (unsigned i = opened_count; i > 0; i--) {
		const struct open_pool *pool = &opened[i - 1];
		if (pool->device == device && accepts(pool, stream))
			return pool->id;
	}
	return 0;
}

/* What goes wrong at the end of a pool is told, and changes nothing. */
static void note(int device, enum seam_rc rc)
{
	if (rc != SEAM_OK)
		seam__torch_tell("a private pool of device %d did not end as it should: %s", device, seam_rc_text(rc));
}

/* A copy of the caller's function. May throw. */
static struct filter copy(const struct filter *from)
{
	struct filter to = {.manager = NULL};
	if (from == NULL || from->manager == NULL)
		return to;
	from->manager(&to.storage, &from->storage, CLONE);
	to.manager = from->manager;
	to.invoker = from->invoker;
	return to;
}

static void drop(struct filter *filter)
{
	if (filter->manager != NULL)
		filter->manager(&filter->storage, &filter->storage, DESTROY);
}

static bool push(int device, uint64_t id, const struct filter *filter)
{
	WITH_OPEN;
	if (opened_count == OPEN_LIMIT)
		return false;
	opened[opened_count] = (struct open_pool){.device = device, .id = id, .filter = *filter};
	atomic_fetch_add_explicit(&opened_count, 1, memory_order_release);
	return true;
}

/* The newest of this pool leaves the table. False: there is none. */
static bool pop(int device, uint64_t id, struct filter *ret_filter)
{
	WITH_OPEN;
	for (unsigned i = opened_count; i > 0; i--) {
		if (opened[i - 1].device != device || opened[i - 1].id != id)
			continue;
		*ret_filter = opened[i - 1].filter;
		memmove(&opened[i - 1], &opened[i], (opened_count - i) * sizeof opened[0]);
		atomic_fetch_sub_explicit(&opened_count, 1, memory_order_release);
		return true;
	}
	return false;
}

void seam_torch_begin_pool(int device, struct seam_torch_pool_id id, const void *filter)
{
	struct seam_pool *pool = seam_torch_pool(device);
	if (pool == NULL) {
		seam__torch_fail();
		return;
	}
	uint64_t number = seam_torch_private_id(id);
	struct filter mine = copy(filter);
	enum seam_rc rc = seam_private_begin(pool, number, SEAM_ROUTE_CAPTURE, 0);
	if (rc == SEAM_OK && push(device, number, &mine))
		return;
	if (rc == SEAM_OK) {
		note(device, seam_private_end(pool, number));
		note(device, seam_private_release(pool, number));
		seam__torch_tell("%u private pools are open: no more can be", OPEN_LIMIT);
	} else {
		seam__torch_tell("a private pool on device %d cannot be begun: %s", device, seam_rc_text(rc));
	}
	drop(&mine);
	seam__torch_fail();
}

void seam_torch_end_pool(int device, struct seam_torch_pool_id id)
{
	struct seam_pool *pool = seam_torch_pool_made(device);
	uint64_t number = seam_torch_private_id(id);
	struct filter filter;
	if (pool == NULL || !pop(device, number, &filter))
		return;
	note(device, seam_private_end(pool, number));
	drop(&filter);
	seam__torch_release_late(device);
}

/* Takes the newest release of this device that waits, or false. */
static bool take_late(int device, uint64_t *ret_id)
{
	WITH_OPEN;
	for (unsigned i = late_count; i > 0; i--) {
		if (lates[i - 1].device != device)
			continue;
		*ret_id = lates[i - 1].id;
		lates[i - 1] = lates[--late_count];
		return true;
	}
	return false;
}

/* False: there is no room; that pool is kept for good. */
static bool put_late(int device, uint64_t id)
{
	WITH_OPEN;
	if (late_count == OPEN_LIMIT)
		return false;
	lates[late_count++] = (struct late){.device = device, .id = id};
	return true;
}

void seam__torch_release_late(int device)
{
	struct seam_pool *pool = seam_torch_pool_made(device);
	uint64_t id = 0;
	if (pool == NULL || !take_late(device, &id))
		return;
	enum seam_rc rc = seam_device_wait(pool);
	if (rc == SEAM_CAPTURING) {
		if (!put_late(device, id))
			seam__torch_tell(
				"a private pool of device %d is kept: too many were released during a capture", device);
		return;
	}
	/* A device that cannot be waited for has failed, or is gone: nothing replays there. */
	do {
		note(device, seam_private_release(pool, id));
	} while (take_late(device, &id));
}

void seam_torch_release_pool(int device, struct seam_torch_pool_id id)
{
	if (seam_torch_pool_made(device) == NULL)
		return;
	if (!put_late(device, seam_torch_private_id(id)))
		seam__torch_tell(
			"a private pool of device %d is kept: too many were released during a capture", device);
	seam__torch_release_late(device);
}

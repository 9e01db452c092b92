/* meta.c: accounts of metadata bytes over a private jemalloc arena, or over malloc.
 *
 * The counters are atomics, not fields under a lock: metadata is allocated under locks of every rank.
 * Why an arena per domain: destroying it returns all its pages at once, whatever was interleaved with them.
 */
#include "meta.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

#if SEAM_METADATA_JEMALLOC
#include "seam_je.h"
#endif

struct seam_meta {
	_Atomic uint64_t live_bytes;
	_Atomic uint64_t peak_bytes;
	_Atomic uint64_t limit_bytes; /* UINT64_MAX: none */
	_Atomic uint64_t live_blocks;
	_Atomic uint64_t alloc_calls;
	_Atomic uint64_t failed_calls;
	_Atomic uint64_t fail_countdown; /* 0: off; 1: the next allocation fails */
	int arena_flags;                 /* jemalloc: where this domain's blocks come from */
};

static uint64_t load(const _Atomic uint64_t *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

static void add(_Atomic uint64_t *counter, uint64_t amount)
{
	atomic_fetch_add_explicit(counter, amount, memory_order_relaxed);
}

#if SEAM_METADATA_JEMALLOC

#define COMMON_FLAGS (MALLOCX_TCACHE_NONE)

static bool raw_open(int *ret_flags)
{
	unsigned arena = 0;
	size_t arena_bytes = sizeof(arena);
	if (seam_je_mallctl("arenas.create", &arena, &arena_bytes, NULL, 0) != 0)
		return false;
	*ret_flags = (int)MALLOCX_ARENA(arena) | COMMON_FLAGS;
	return true;
}

static void raw_close(int flags)
{
	size_t mib[3];
	size_t mib_length = sizeof(mib) / sizeof(mib[0]);
	if (seam_je_mallctlnametomib("arena.0.destroy", mib, &mib_length) != 0)
		return;
	mib[1] = (size_t)((unsigned)flags >> 20) - 1; /* the inverse of MALLOCX_ARENA */
	(void)seam_je_mallctlbymib(mib, mib_length, NULL, NULL, NULL, 0);
}

/* Not MALLOCX_ZERO: that gives pages back to the system and faults them in again, which takes longer. */
static void *raw_alloc(int flags, size_t size_bytes)
{
	void *pointer = seam_je_mallocx(size_bytes, flags);
	if (pointer != NULL)
		memset(pointer, 0, size_bytes);
	return pointer;
}

static void raw_free(int flags, void *pointer, size_t size_bytes)
{
	(void)flags;
	seam_je_sdallocx(pointer, size_bytes, COMMON_FLAGS);
}

#else

static bool raw_open(int *ret_flags)
{
	*ret_flags = 0;
	return true;
}

static void raw_close(int flags)
{
	(void)flags;
}

static void *raw_alloc(int flags, size_t size_bytes)
{
	(void)flags;
	return calloc(1, size_bytes);
}

static void raw_free(int flags, void *pointer, size_t size_bytes)
{
	(void)flags;
	(void)size_bytes;
	free(pointer);
}

#endif

/* Where internal checks are made a block's size stands in front of it, so that a free that gives another size is
 * noticed: the account would be wrong for good, and jemalloc's state with it. Behind it stand bytes that mean nothing:
 * who writes there is noticed at the free, and who reads there is led astray. */
#if SEAM_CHECKS >= 1
#define NOTE_BYTES 16u   /* keeps blocks aligned for any object */
#define GUARD_BYTES 512u /* an element of any array: a cursor of a plan, 344, is the largest */
#else
#define NOTE_BYTES 0u
#define GUARD_BYTES 0u
#endif

/* Another one for nearly each address. */
static unsigned char guard_at(const unsigned char *at)
{
	return (unsigned char)((uintptr_t)at * UINT64_C(0x9E3779B97F4A7C15) >> 56 | 1);
}

static void fill_guard(unsigned char *guard, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		guard[i] = guard_at(&guard[i]);
}

/* Not called where nothing is checked. */
__attribute__((unused)) static bool is_guard_whole(const unsigned char *guard, size_t bytes)
{
	size_t i = 0;
	while (i < bytes && guard[i] == guard_at(&guard[i]))
		i++;
	return i == bytes;
}

static void *block_alloc(int flags, size_t size_bytes)
{
	size_t noted_bytes;
	if (__builtin_add_overflow(size_bytes, NOTE_BYTES + GUARD_BYTES, &noted_bytes))
		return NULL;
	unsigned char *note = raw_alloc(flags, noted_bytes);
	if (note == NULL)
		return NULL;
	unsigned char *block = note + NOTE_BYTES;
	if (NOTE_BYTES != 0)
		memcpy(note, &size_bytes, sizeof size_bytes);
	fill_guard(block + size_bytes, GUARD_BYTES);
	return block;
}

static void block_free(int flags, void *pointer, size_t size_bytes)
{
	unsigned char *block = pointer, *note = block - NOTE_BYTES;
	size_t noted_bytes = size_bytes;
	if (NOTE_BYTES != 0)
		memcpy(&noted_bytes, note, sizeof noted_bytes);
	SEAM_ASSERT(noted_bytes == size_bytes);
	SEAM_ASSERT(is_guard_whole(block + size_bytes, GUARD_BYTES));
	raw_free(flags, note, size_bytes + NOTE_BYTES + GUARD_BYTES);
}

static struct seam_meta process_meta;
static pthread_once_t process_once = PTHREAD_ONCE_INIT;

static void open_process_meta(void)
{
	atomic_store(&process_meta.limit_bytes, UINT64_MAX);
#if SEAM_METADATA_JEMALLOC
	/* Without an arena of its own it shares jemalloc's first one: this domain must always exist. */
	if (!raw_open(&process_meta.arena_flags))
		process_meta.arena_flags = COMMON_FLAGS;
#endif
}

struct seam_meta *seam__meta_process(void)
{
	(void)pthread_once(&process_once, open_process_meta);
	return &process_meta;
}

struct seam_meta *seam__meta_create(uint64_t limit_bytes)
{
	struct seam_meta *process = seam__meta_process();
	struct seam_meta *meta = raw_alloc(process->arena_flags, sizeof(*meta));
	if (meta == NULL)
		return NULL;
	if (!raw_open(&meta->arena_flags)) {
		raw_free(process->arena_flags, meta, sizeof(*meta));
		return NULL;
	}
	seam__meta_set_limit(meta, limit_bytes);
	return meta;
}

uint64_t seam__meta_destroy(struct seam_meta *meta)
{
	if (meta == NULL)
		return 0;
	SEAM_ASSERT(meta != &process_meta);
	uint64_t leaked_bytes = load(&meta->live_bytes);
	raw_close(meta->arena_flags);
	raw_free(process_meta.arena_flags, meta, sizeof(*meta));
	return leaked_bytes;
}

static bool injected_failure(struct seam_meta *meta)
{
	uint64_t left = load(&meta->fail_countdown);
	while (left != 0) {
		if (atomic_compare_exchange_weak_explicit(
			    &meta->fail_countdown, &left, left - 1, memory_order_relaxed, memory_order_relaxed))
			return left == 1;
	}
	return false;
}

/* Enters the bytes into the account before they are allocated, so that two threads cannot pass the limit together. */
static bool charge(struct seam_meta *meta, uint64_t size_bytes)
{
	uint64_t limit_bytes = load(&meta->limit_bytes);
	uint64_t live_bytes = load(&meta->live_bytes);
	uint64_t after_bytes;
	do {
		if (live_bytes > limit_bytes || size_bytes > limit_bytes - live_bytes)
			return false;
		after_bytes = live_bytes + size_bytes;
	} while (!atomic_compare_exchange_weak_explicit(
		&meta->live_bytes, &live_bytes, after_bytes, memory_order_relaxed, memory_order_relaxed));
	uint64_t peak_bytes = load(&meta->peak_bytes);
	while (peak_bytes < after_bytes &&
		!atomic_compare_exchange_weak_explicit(
			&meta->peak_bytes, &peak_bytes, after_bytes, memory_order_relaxed, memory_order_relaxed)) {
	}
	return true;
}

void *seam__meta_alloc(struct seam_meta *meta, size_t size_bytes)
{
	SEAM_ASSERT(size_bytes != 0);
	if (injected_failure(meta) || !charge(meta, size_bytes)) {
		add(&meta->failed_calls, 1);
		return NULL;
	}
	void *pointer = block_alloc(meta->arena_flags, size_bytes);
	if (pointer == NULL) {
		atomic_fetch_sub_explicit(&meta->live_bytes, size_bytes, memory_order_relaxed);
		add(&meta->failed_calls, 1);
		return NULL;
	}
	add(&meta->alloc_calls, 1);
	add(&meta->live_blocks, 1);
	return pointer;
}

void *seam__meta_array(struct seam_meta *meta, size_t count, size_t element_bytes)
{
	size_t size_bytes;
	if (__builtin_mul_overflow(count, element_bytes, &size_bytes)) {
		add(&meta->failed_calls, 1);
		return NULL;
	}
	return seam__meta_alloc(meta, size_bytes);
}

void *seam__meta_resize(struct seam_meta *meta, void *pointer, size_t old_bytes, size_t new_bytes)
{
	void *grown = seam__meta_alloc(meta, new_bytes);
	if (grown == NULL)
		return NULL;
	if (pointer != NULL) {
		memcpy(grown, pointer, old_bytes < new_bytes ? old_bytes : new_bytes);
		seam__meta_free(meta, pointer, old_bytes);
	}
	return grown;
}

void seam__meta_free(struct seam_meta *meta, void *pointer, size_t size_bytes)
{
	if (pointer == NULL)
		return;
	uint64_t before_bytes = atomic_fetch_sub_explicit(&meta->live_bytes, size_bytes, memory_order_relaxed);
	uint64_t before_blocks = atomic_fetch_sub_explicit(&meta->live_blocks, 1, memory_order_relaxed);
	SEAM_VERIFY(before_bytes >= size_bytes && before_blocks >= 1);
	block_free(meta->arena_flags, pointer, size_bytes);
}

void seam__meta_get_stats(const struct seam_meta *meta, struct seam_meta_stats *ret_stats)
{
	*ret_stats = (struct seam_meta_stats){
		.live_bytes = load(&meta->live_bytes),
		.peak_bytes = load(&meta->peak_bytes),
		.limit_bytes = load(&meta->limit_bytes),
		.live_blocks = load(&meta->live_blocks),
		.alloc_calls = load(&meta->alloc_calls),
		.failed_calls = load(&meta->failed_calls),
	};
}

void seam__meta_set_limit(struct seam_meta *meta, uint64_t limit_bytes)
{
	atomic_store_explicit(&meta->limit_bytes, limit_bytes == 0 ? UINT64_MAX : limit_bytes, memory_order_relaxed);
}

void seam__meta_reset_peak(struct seam_meta *meta)
{
	atomic_store_explicit(&meta->peak_bytes, load(&meta->live_bytes), memory_order_relaxed);
}

void seam__meta_fail_at(struct seam_meta *meta, uint64_t n)
{
	atomic_store_explicit(&meta->fail_countdown, n, memory_order_relaxed);
}

uint64_t seam__meta_fail_left(const struct seam_meta *meta)
{
	return load(&meta->fail_countdown);
}

const char *seam__meta_check(const struct seam_meta *meta)
{
	uint64_t live_bytes = load(&meta->live_bytes);
	if (live_bytes > load(&meta->peak_bytes))
		return "MD1 live <= peak";
	if ((live_bytes == 0) != (load(&meta->live_blocks) == 0))
		return "MD2 bytes without blocks";
	return NULL;
}

/* emu_judge.c: who touched which bytes last, and whether an edge of the program orders it before who touches them now.
 *
 * The question is put when work is submitted, and answered from the edges alone (emu_order.h), never from virtual time:
 * hardware punishes a missing edge sometimes, the judge always. The host's knowledge counts as one: what any thread has
 * waited for is known to all (edges between threads cannot be seen here).
 *
 * Per handle, and per block of page-locked memory, a tree of disjoint pieces, each with its last writer and its readers
 * since. Only bytes that work touched have one: a replay without launches pays nothing. Not seen are the
 * CPU's own accesses to page-locked memory, and copies of other host memory: CUDA lets the caller wait for those.
 * Invariant EJ1: the pieces of a tree are not empty, do not overlap and lie within what they are of.
 */
#include <string.h>

#include "bits.h"
#include "check.h"
#include "emu_state.h"
#include "meta.h"

/* What the judge knows about the touch at hand. */
struct question {
	struct emu *e;
	const struct emu_work *work;
	struct emu_accesses *accesses; /* of the touched handle or block */
	uint64_t va;                   /* of its mapping, or the block's */
	uint64_t serial;               /* of its mapping; 0: a block */
	bool write;
};

static int compare_accesses(const struct emu_access *a, const struct emu_access *b)
{
	return a->begin < b->begin ? -1 : a->begin > b->begin;
}

SEAM_TREE_GENERATE(emu_accesses, emu_access, by_begin, compare_accesses)

static void free_access(struct emu *e, struct emu_accesses *accesses, struct emu_access *access)
{
	RB_REMOVE(emu_accesses, accesses, access);
	seam__meta_free(e->meta, access->readers, access->reader_capacity * sizeof(access->readers[0]));
	seam__slab_put(&e->access_slab, access);
}

void seam__emu_judge_forget(struct emu *e, struct emu_accesses *accesses)
{
	struct emu_access *access;
	while ((access = RB_ROOT(accesses)) != NULL)
		free_access(e, accesses, access);
}

/* The first piece that ends after `at`. */
static struct emu_access *find_after(struct emu_accesses *accesses, uint64_t at)
{
	struct emu_access *access = RB_ROOT(accesses);
	struct emu_access *best = NULL;
	while (access != NULL) {
		if (access->end > at) {
			best = access;
			access = RB_LEFT(access, by_begin);
		} else {
			access = RB_RIGHT(access, by_begin);
		}
	}
	return best;
}

static struct emu_access *add_access(struct emu *e, struct emu_accesses *accesses, uint64_t begin, uint64_t end)
{
	struct emu_access *access = seam__slab_get(&e->access_slab);
	if (access == NULL)
		return NULL;
	*access = (struct emu_access){.begin = begin, .end = end};
	RB_INSERT(emu_accesses, accesses, access);
	return access;
}

/* Makes `at` a border between pieces. */
static bool split_at(struct emu *e, struct emu_accesses *accesses, uint64_t at)
{
	struct emu_access *left = find_after(accesses, at);
	if (left == NULL || left->begin >= at)
		return true;
	struct emu_touch *readers = NULL;
	if (left->reader_count != 0) {
		readers = seam__meta_array(e->meta, left->reader_count, sizeof(readers[0]));
		if (readers == NULL)
			return false;
		memcpy(readers, left->readers, left->reader_count * sizeof(readers[0]));
	}
	uint64_t end = left->end;
	left->end = at;
	struct emu_access *right = add_access(e, accesses, at, end);
	if (right == NULL) {
		left->end = end;
		seam__meta_free(e->meta, readers, left->reader_count * sizeof(readers[0]));
		return false;
	}
	right->writer = left->writer;
	right->readers = readers;
	right->reader_count = left->reader_count;
	right->reader_capacity = left->reader_count;
	return true;
}

/* Flags `before` unless it comes before the work at hand. */
static void compare_touch(const struct question *q, const struct emu_touch *before)
{
	const struct emu_stream *stream = q->work->stream;
	bool alias = before->serial != q->serial;
	if (before->number == q->work->number) {
		if (alias)
			seam__emu_violate(
				stream->device, SEAM_EMU_ALIAS_IN_KERNEL, "at %#llx", (unsigned long long)q->va);
		return;
	}
	if (before->number <= q->e->floors[before->device] || before->stream_id == stream->id ||
		before->number <= seam__emu_order_get(&stream->order, before->stream_id))
		return;
	seam__emu_violate(stream->device, alias ? SEAM_EMU_ALIAS_UNORDERED : SEAM_EMU_RACE,
		"streams %llu and %llu at %#llx", (unsigned long long)before->stream_id, (unsigned long long)stream->id,
		(unsigned long long)q->va);
}

static bool add_reader(const struct question *q, struct emu_access *access, const struct emu_touch *touch)
{
	for (uint32_t i = 0; i < access->reader_count; i++) {
		if (access->readers[i].stream_id == touch->stream_id && access->readers[i].serial == touch->serial) {
			access->readers[i] = *touch;
			return true;
		}
	}
	if (access->reader_count == access->reader_capacity) {
		uint32_t capacity = access->reader_capacity == 0 ? 2 : access->reader_capacity * 2;
		void *grown = seam__meta_resize(q->e->meta, access->readers,
			access->reader_capacity * sizeof(access->readers[0]), capacity * sizeof(access->readers[0]));
		if (grown == NULL)
			return false;
		access->readers = grown;
		access->reader_capacity = capacity;
	}
	access->readers[access->reader_count++] = *touch;
	return true;
}

static bool judge_piece(const struct question *q, struct emu_access *access)
{
	const struct emu_touch touch = {
		q->work->number, q->work->stream->id, q->serial, q->work->stream->device->ordinal};
	if (access->writer.number != 0)
		compare_touch(q, &access->writer);
	if (!q->write)
		return add_reader(q, access, &touch);
	for (uint32_t i = 0; i < access->reader_count; i++)
		compare_touch(q, &access->readers[i]);
	access->reader_count = 0;
	access->writer = touch;
	return true;
}

/* The bytes [begin, end) of what is touched. */
static bool judge_bytes(const struct question *q, uint64_t begin, uint64_t end)
{
	if (!split_at(q->e, q->accesses, begin) || !split_at(q->e, q->accesses, end))
		return false;
	for (uint64_t at = begin; at < end;) {
		struct emu_access *access = find_after(q->accesses, at);
		if (access == NULL || access->begin > at) {
			uint64_t gap_end = access == NULL ? end : seam__bits_min(access->begin, end);
			access = add_access(q->e, q->accesses, at, gap_end);
			if (access == NULL)
				return false;
		}
		if (!judge_piece(q, access))
			return false;
		at = access->end;
	}
	/* One write makes one piece of many: the record stays as small as the pattern of use. */
	struct emu_access *first = find_after(q->accesses, begin);
	while (q->write && first->end < end) {
		struct emu_access *next = RB_NEXT(emu_accesses, q->accesses, first);
		first->end = next->end;
		free_access(q->e, q->accesses, next);
	}
	return true;
}

static bool pin(struct emu *e, struct emu_work *work, struct emu_mapping *mapping)
{
	size_t capacity = work->pin_capacity == 0 ? EMU_INLINE_RANGES : work->pin_capacity;
	const struct emu_order_entry user = {work->stream->id, work->number, work->stream->device->ordinal};
	if (!seam__emu_order_add(&mapping->users, e->meta, user))
		return false;
	if (work->pin_count == capacity) {
		struct emu_mapping **grown = seam__meta_array(e->meta, capacity * 4, sizeof(work->pins[0]));
		if (grown == NULL)
			return false;
		memcpy(grown, work->pins, work->pin_count * sizeof(grown[0]));
		if (work->pin_capacity != 0)
			seam__meta_free(e->meta, work->pins, work->pin_capacity * sizeof(work->pins[0]));
		work->pins = grown;
		work->pin_capacity = capacity * 4;
	}
	work->pins[work->pin_count++] = mapping;
	mapping->pending++;
	return true;
}

/* The page-locked memory on the host's side of a copy. */
static bool touch_host(struct emu *e, struct emu_work *work)
{
	const struct emu_order_entry user = {work->stream->id, work->number, work->stream->device->ordinal};
	uint64_t va = (uint64_t)(uintptr_t)work->host;
	struct emu_host_block *block = seam__emu_host_next(e, va);
	while (block != NULL && seam__emu_host_meets(work, block)) {
		const struct question q = {e, work, &block->accesses, block->va, 0, work->kind == EMU_TO_HOST};
		uint64_t from = seam__bits_max(va, block->va) - block->va;
		uint64_t to = seam__bits_min(va + work->host_bytes - block->va, block->bytes);
		if (!seam__emu_order_add(&block->users, e->meta, user) || !judge_bytes(&q, from, to))
			return false;
		block = seam__emu_host_next(e, block->va + block->bytes);
	}
	return true;
}

bool seam__emu_judge_touch(struct emu *e, struct emu_work *work)
{
	struct emu_stream *stream = work->stream;
	if (!touch_host(e, work))
		return false;
	for (size_t i = 0; i < work->range_count; i++) {
		const struct seam_emu_range *range = &work->ranges[i];
		uint64_t end = range->va + range->bytes;
		struct emu_mapping *mapping = range->bytes == 0 ? NULL : seam__emu_mapping_next(e, range->va);
		while (mapping != NULL && mapping->va < end) {
			const struct question q = {
				e, work, &mapping->phys->accesses, mapping->va, mapping->serial, range->write};
			uint64_t from = seam__bits_max(range->va, mapping->va) - mapping->va;
			uint64_t to = seam__bits_min(end, mapping->va + mapping->bytes) - mapping->va;
			if (!pin(e, work, mapping) || !judge_bytes(&q, from, to))
				return false;
			mapping = seam__emu_mapping_next(e, mapping->va + mapping->bytes);
		}
	}
	stream->last_number = work->number;
	e->touch_number = work->number;
	return true;
}

/* What a write has overwritten stays forgotten: the judge knows less than before, and flags nothing that is right. */
static void forget_touches(struct emu_accesses *accesses, uint64_t number)
{
	struct emu_access *access;
	RB_FOREACH(access, emu_accesses, accesses)
	{
		if (access->writer.number == number)
			access->writer.number = 0;
		uint32_t kept = 0;
		for (uint32_t i = 0; i < access->reader_count; i++) {
			if (access->readers[i].number != number)
				access->readers[kept++] = access->readers[i];
		}
		access->reader_count = kept;
	}
}

void seam__emu_judge_untouch(struct emu *e, struct emu_work *work)
{
	const struct emu_order_entry user = {work->stream->id, work->number, work->stream->device->ordinal};
	for (size_t i = 0; i < work->range_count; i++) {
		const struct seam_emu_range *range = &work->ranges[i];
		struct emu_mapping *mapping = range->bytes == 0 ? NULL : seam__emu_mapping_next(e, range->va);
		while (mapping != NULL && mapping->va < range->va + range->bytes) {
			forget_touches(&mapping->phys->accesses, work->number);
			seam__emu_order_lower(&mapping->users, user, work->last_number);
			mapping = seam__emu_mapping_next(e, mapping->va + mapping->bytes);
		}
	}
	struct emu_host_block *block = seam__emu_host_next(e, (uint64_t)(uintptr_t)work->host);
	while (block != NULL && seam__emu_host_meets(work, block)) {
		forget_touches(&block->accesses, work->number);
		seam__emu_order_lower(&block->users, user, work->last_number);
		block = seam__emu_host_next(e, block->va + block->bytes);
	}
	work->stream->last_number = work->last_number;
}

void seam__emu_judge_unpin(struct emu_work *work)
{
	for (size_t i = 0; i < work->pin_count; i++)
		work->pins[i]->pending--;
	work->pin_count = 0;
}

static void disarm(struct emu_work *work, const struct emu_mapping *mapping)
{
	for (size_t i = 0; i < work->pin_count; i++) {
		if (work->pins[i] != mapping)
			continue;
		seam__emu_judge_unpin(work);
		work->disarmed = true;
	}
}

/* No work may hold a mapping that goes. */
static void disarm_all(struct emu *e, const struct emu_mapping *mapping)
{
	struct emu_work *work;
	struct emu_stream *stream;
	RB_FOREACH(work, emu_timeline, &e->timeline)
	disarm(work, mapping);
	LIST_FOREACH(stream, &e->stuck_streams, stuck)
	{
		STAILQ_FOREACH(work, &stream->queue, queued)
		disarm(work, mapping);
	}
}

void seam__emu_judge_unmap(struct emu_device *device, struct emu_mapping *mapping)
{
	struct emu *e = device->e;
	if (mapping->pending != 0 || !seam__emu_order_covers(&e->host_order, &mapping->users, e->floors)) {
		seam__emu_violate(device, SEAM_EMU_UNMAP_PENDING, "%#llx, %s", (unsigned long long)mapping->va,
			mapping->pending != 0 ? "used by pending work" : "whose work nobody has waited for");
	}
	if (mapping->pending != 0)
		disarm_all(e, mapping);
	if (seam__emu_capture_origin(e, mapping->capture_id) != NULL)
		seam__emu_violate(device, SEAM_EMU_REMAP_IN_CAPTURE, "unmap at %#llx", (unsigned long long)mapping->va);
}

void seam__emu_judge_map(struct emu_device *device, const struct emu_phys *phys)
{
	if (seam__emu_capture_origin(device->e, phys->capture_id) != NULL)
		seam__emu_violate(
			device, SEAM_EMU_REMAP_IN_CAPTURE, "map of handle %#llx", (unsigned long long)phys->id);
}

void seam__emu_judge_capture(
	struct emu *e, const struct emu_stream *stream, const struct seam_emu_range *ranges, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct emu_mapping *mapping = seam__emu_mapping_next(e, ranges[i].va);
		while (mapping != NULL && mapping->va < ranges[i].va + ranges[i].bytes) {
			mapping->capture_id = stream->capture_id;
			mapping->phys->capture_id = stream->capture_id;
			mapping = seam__emu_mapping_next(e, mapping->va + mapping->bytes);
		}
	}
}

const char *seam__emu_judge_check(const struct emu_accesses *accesses, uint64_t bytes)
{
	struct emu_accesses tree = *accesses;
	struct emu_access *access;
	uint64_t end = 0;
	RB_FOREACH(access, emu_accesses, &tree)
	{
		if (access->begin < end || access->end <= access->begin || access->end > bytes)
			return "EJ1 pieces of a tree";
		end = access->end;
	}
	return NULL;
}

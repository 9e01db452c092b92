/* arena_lease.c: an arena takes what is free in its chunks, and gives it back; see arena.h. */
#include "arena_impl.h"
#include "bits.h"
#include "check.h"

/* Adds a LEASED block to a neighbour in front that it touches. The node that is left. */
static struct seam_block *join_leases(struct seam_engine *engine, struct seam_block *before, struct seam_block *block)
{
	bool known = before->sizes != 0 && block->sizes != 0;
	before->sizes = known ? before->sizes | block->sizes : 0;
	seam__block_resize(before, before->offset, before->bytes + block->bytes);
	seam__block_remove(&engine->block_slab, block);
	return before;
}

static bool is_lease_of(const struct seam_block *block, const struct seam_view *lessee)
{
	return block != NULL && block->is == SEAM_IS_LEASED && block->lessee == lessee;
}

/* The LEASED block, which lies in one slot, is the arena's: counted, and one with those in the slot that it touches.
 * Returns the block that contains it. */
static struct seam_block *enter_lease(
	struct seam_engine *engine, struct seam_arena_chunk *at, const struct seam_slot *slot, struct seam_block *block)
{
	const struct seam_view *lessee = block->lessee;
	struct seam_block *before = seam__block_before(block), *after = seam__block_after(block);
	at->leased_bytes += block->bytes;
	if (is_lease_of(before, lessee) && before->offset >= slot->offset)
		block = join_leases(engine, before, block);
	if (is_lease_of(after, lessee) && after->offset < slot->offset + slot->bytes) {
		if (at->chunk->leased == after)
			at->chunk->leased = block;
		block = join_leases(engine, block, after);
	}
	if (at->chunk->leased == NULL || block->offset < at->chunk->leased->offset)
		at->chunk->leased = block;
	return block;
}

/* A block that was cut out of free memory in the run becomes LEASED blocks, one for each slot. Returns the last. */
static struct seam_block *make_leases(struct seam_engine *engine, struct seam_arena *arena,
	const struct seam_arena_run *run, struct seam_block *block)
{
	uint32_t slot = seam__view_slot_at(run->view, block->offset);
	for (;;) {
		const struct seam_slot *at = &run->view->slots[slot];
		struct seam_block *rest = NULL;
		uint64_t end = at->offset + at->bytes, block_end = block->offset + block->bytes;
		block->is = SEAM_IS_LEASED;
		seam__block_set_stream(block, NULL);
		block->stamp = 0;
		block->lessee = arena->view;
		if (block_end > end) {
			rest = seam__slab_get_reserved(&engine->block_slab);
			seam__block_insert(rest, run->view, block, end, block_end - end, SEAM_IS_LEASED);
			seam__block_resize(block, block->offset, end - block->offset);
		}
		block = enter_lease(engine, &arena->chunks[run->first + (slot - run->slot)], at, block);
		if (rest == NULL)
			return block;
		block = rest;
		slot++;
	}
}

/* Most nodes that leasing what is free in the run takes, from its first block on. */
static uint64_t nodes_for(const struct seam_arena_run *run, const struct seam_block *block)
{
	uint64_t nodes = run->count;
	for (; block != NULL && block->offset < run->end; block = TAILQ_NEXT(block, link))
		nodes += block->is == SEAM_IS_FREE ? 2 : 0;
	return nodes;
}

/* Leases what is free in the run, whose first block is *first. Nodes and room for joins are reserved. Returns the
 * bytes; *first is the first block then. */
static uint64_t lease_run(struct seam_engine *engine, struct seam_arena *arena, const struct seam_arena_run *run,
	struct seam_block **first)
{
	uint64_t bytes = 0;
	for (struct seam_block *block = *first; block != NULL && block->offset < run->end;
		block = TAILQ_NEXT(block, link)) {
		if (block->is != SEAM_IS_FREE)
			continue;
		uint64_t from = seam__bits_max(block->offset, run->begin),
			 to = seam__bits_min(block->offset + block->bytes, run->end);
		if (block->stream != NULL && !seam__stream_passed(block->stream, block->stamp))
			seam__arena_add_join(arena, block->stream, block->stamp);
		bytes += to - from;
		struct seam_block *cut = seam__ppool_cut(block, from, to - from);
		*first = block == *first ? cut : *first;
		block = make_leases(engine, arena, run, cut);
	}
	arena->leased_bytes += bytes;
	engine->counts.leased_bytes += bytes;
	return bytes;
}

/* After the run was leased, from its first block on: a chunk lacks what is neither leased nor a live block's. */
static void note_lacks(struct seam_arena *arena, const struct seam_arena_run *run, const struct seam_block *block)
{
	struct seam_arena_chunk *chunks = &arena->chunks[run->first];
	const struct seam_slot *slots = &run->view->slots[run->slot];
	for (uint32_t i = 0; i < run->count; i++) {
		const uint64_t end = slots[i].offset + slots[i].bytes;
		chunks[i].lacks = false;
		for (; block != NULL && block->offset < end; block = TAILQ_NEXT(block, link)) {
			chunks[i].lacks |= block->is != SEAM_IS_LIVE && !is_lease_of(block, arena->view);
			if (block->offset + block->bytes > end)
				break; /* it reaches into the next */
		}
		chunks[i].lent &= chunks[i].lacks;
	}
}

void seam__arena_open(struct seam_arena *arena)
{
	SEAM_ASSERT(arena->state == SEAM_ARENA_READY);
	arena->state = SEAM_ARENA_OPEN;
}

uint64_t seam__arena_collect(struct seam_engine *engine, struct seam_arena *arena, uint32_t first, uint32_t count)
{
	SEAM_ASSERT(arena->state == SEAM_ARENA_OPEN && first <= arena->count && count <= arena->count - first);
	struct seam_slab *slab = &engine->block_slab;
	uint64_t bytes = 0;
	struct seam_arena_run run;
	for (uint32_t i = first; seam__arena_next_run(arena, &i, first + count, &run);) {
		uint64_t before = slab->reserved_objects;
		struct seam_block *block = seam__block_at(run.view, run.slot);
		if (seam__arena_reserve_joins(engine, arena) != SEAM_OK ||
			seam__slab_reserve(slab, nodes_for(&run, block)) != SEAM_OK)
			break;
		bytes += lease_run(engine, arena, &run, &block);
		seam__slab_unreserve(slab, slab->reserved_objects - before);
		note_lacks(arena, &run, block);
	}
	return bytes;
}

/* The k-th of the users, or NULL. */
static struct seam_stream *user_at(const struct seam_arena_users *users, uint32_t k, uint64_t *ret_stamp)
{
	if (k < users->stream_count) {
		*ret_stamp = seam__stream_stamp(users->streams[k]);
		return users->streams[k];
	}
	k -= users->stream_count;
	for (uint32_t j = 0; users->arena != NULL && j < users->arena->join_count; j++) {
		const struct seam_arena_join *join = &users->arena->joins[j];
		bool counts = !seam__stream_passed(join->stream, join->stamp);
		for (uint32_t s = 0; counts && s < users->stream_count; s++)
			counts = users->streams[s] != join->stream;
		if (counts && k-- == 0) {
			*ret_stamp = join->stamp;
			return join->stream;
		}
	}
	return NULL;
}

static uint32_t count_users(const struct seam_arena_users *users)
{
	uint64_t stamp = 0;
	uint32_t count = users->stream_count;
	while (user_at(users, count, &stamp) != NULL)
		count++;
	return count;
}

/* A LEASED block that the arena has no part in any more becomes free, or pending if several streams must pass. The uses
 * are reserved. */
static void set_free(
	struct seam_engine *engine, struct seam_block *block, const struct seam_arena_users *users, uint32_t user_count)
{
	struct seam_view *view = block->view;
	uint64_t stamp = 0;
	struct seam_stream *stream = user_at(users, 0, &stamp);
	view->last_tick = seam__bits_max(view->last_tick, stamp);
	if (user_count <= 1) {
		block = seam__ppool_put(block, stream, stamp);
		if (view->stitched)
			seam__ppool_settle(block);
		return;
	}
	block->is = SEAM_IS_PENDING;
	block->captured = false;
	block->requested_bytes = 0;
	block->uses = NULL;
	block->stamp = stamp;
	seam__block_set_stream(block, stream);
	for (uint32_t k = 1; k < user_count; k++) {
		struct seam_block_use *use = seam__slab_get_reserved(&engine->use_slab);
		use->stream = user_at(users, k, &use->stamp);
		use->next = block->uses;
		seam__stream_ref(use->stream);
		block->uses = use;
	}
	view->live++;
	engine->counts.pending_bytes += block->bytes;
	engine->counts.pending_blocks++;
	TAILQ_INSERT_TAIL(&engine->pending, block, pending);
}

/* Cuts the LEASED block in two at `at`. Returns the part behind, whose node is reserved. */
static struct seam_block *split_lease(struct seam_engine *engine, struct seam_block *block, uint64_t at)
{
	struct seam_block *rest = seam__slab_get_reserved(&engine->block_slab);
	seam__block_insert(rest, block->view, block, at, block->offset + block->bytes - at, SEAM_IS_LEASED);
	rest->lessee = block->lessee;
	seam__block_resize(block, block->offset, at - block->offset);
	return rest;
}

/* Reserves metadata for giving back the leases from `block` on, as far as they lie in [from, to): a node for each end
 * at which a part may stay leased, and the uses of each lease. */
static bool reserve_for(struct seam_engine *engine, const struct seam_arena *arena, const struct seam_arena_run *run,
	struct seam_block *block, uint64_t from, uint64_t to, uint32_t user_count)
{
	uint64_t uses = 0;
	for (; user_count > 1 && block != NULL && block->offset < to;
		block = seam__arena_lease_from(arena, run, TAILQ_NEXT(block, link)))
		uses += user_count - 1;
	return seam__slab_reserve(&engine->block_slab, (from > run->begin ? 1u : 0u) + (to < run->end ? 1u : 0u)) ==
		SEAM_OK &&
		seam__slab_reserve(&engine->use_slab, uses) == SEAM_OK;
}

/* Takes the LEASED block out of the arena's counts, as far as it lies before `to`. A part behind that is a lease of its
 * own then, whose node is reserved. */
static void leave_lease(struct seam_engine *engine, struct seam_arena *arena, struct seam_arena_chunk *at,
	struct seam_block *block, uint64_t to)
{
	if (block->offset + block->bytes > to)
		(void)split_lease(engine, block, to);
	at->lacks = true;
	at->leased_bytes -= block->bytes;
	arena->leased_bytes -= block->bytes;
	engine->counts.leased_bytes -= block->bytes;
	if (at->chunk->leased == block)
		at->chunk->leased = NULL;
}

/* Gives back what is leased in [from, to) of the run. Returns the bytes: 0 if there is none, or no metadata. */
static uint64_t give_run(struct seam_engine *engine, struct seam_arena *arena, const struct seam_arena_run *run,
	uint64_t from, uint64_t to, const struct seam_arena_users *users)
{
	const uint32_t user_count = count_users(users);
	const uint64_t nodes = engine->block_slab.reserved_objects, uses = engine->use_slab.reserved_objects;
	const uint64_t leased_bytes = arena->leased_bytes;
	struct seam_block *block = seam__arena_first_lease(arena, run), *next;
	while (block != NULL && block->offset + block->bytes <= from)
		block = seam__arena_lease_from(arena, run, TAILQ_NEXT(block, link));
	if (block == NULL || block->offset >= to || !reserve_for(engine, arena, run, block, from, to, user_count))
		goto out;
	if (block->offset < from)
		block = split_lease(engine, block, from);
	const struct seam_slot *slot = &run->view->slots[run->slot];
	struct seam_arena_chunk *at = &arena->chunks[run->first];
	for (; block != NULL && block->offset < to; block = next) {
		struct seam_block *given = NULL;
		do {
			for (; slot->offset + slot->bytes <= block->offset; slot++)
				at++;
			leave_lease(engine, arena, at, block, to);
			given = given == NULL ? block : join_leases(engine, given, block);
			block = seam__block_after(given);
		} while (is_lease_of(block, arena->view) && block->offset < to);
		next = seam__arena_lease_from(arena, run, TAILQ_NEXT(given, link));
		if (at->leased_bytes != 0 && at->chunk->leased == NULL)
			at->chunk->leased = next;
		set_free(engine, given, users, user_count);
	}
out:
	seam__slab_unreserve(&engine->block_slab, engine->block_slab.reserved_objects - nodes);
	seam__slab_unreserve(&engine->use_slab, engine->use_slab.reserved_objects - uses);
	return leased_bytes - arena->leased_bytes;
}

uint64_t seam__arena_give(struct seam_engine *engine, struct seam_arena *arena, uint32_t first, uint32_t end,
	bool (*which)(const struct seam_arena_chunk *chunk), const struct seam_arena_users *users)
{
	uint64_t bytes = 0;
	/* Also of what stays leased for want of metadata. */
	for (uint32_t k = 0; k < users->stream_count; k++)
		arena->view->last_tick = seam__bits_max(arena->view->last_tick, seam__stream_stamp(users->streams[k]));
	while (first < end) {
		while (first < end && which != NULL && !which(&arena->chunks[first]))
			first++;
		uint32_t behind = first;
		while (behind < end && (which == NULL || which(&arena->chunks[behind])))
			behind++;
		struct seam_arena_run run;
		while (seam__arena_next_run(arena, &first, behind, &run))
			bytes += give_run(engine, arena, &run, run.begin, run.end, users);
		first = behind;
	}
	return bytes;
}

uint64_t seam__arena_lend(struct seam_engine *engine, struct seam_arena *arena, uint32_t first, uint32_t count,
	struct seam_stream *stream)
{
	SEAM_ASSERT(arena->state == SEAM_ARENA_OPEN && first <= arena->count && count <= arena->count - first);
	const struct seam_arena_users users = {NULL, &stream, 1}; /* no metadata is needed for one */
	for (uint32_t i = first; i < first + count; i++)
		arena->chunks[i].lent |= arena->chunks[i].leased_bytes != 0;
	return seam__arena_give(engine, arena, first, first + count, NULL, &users);
}

uint64_t seam__arena_give_part(struct seam_engine *engine, struct seam_arena *arena, uint64_t begin, uint64_t end,
	struct seam_stream *const *streams, uint32_t stream_count)
{
	SEAM_ASSERT(arena->state >= SEAM_ARENA_OPEN && begin < end && end <= arena->bytes);
	const struct seam_arena_users users = {arena, streams, stream_count};
	const uint32_t behind = seam__arena_chunk_at(arena, end - 1) + 1;
	const uint64_t before = arena->leased_bytes;
	struct seam_arena_run run;
	for (uint32_t i = seam__arena_chunk_at(arena, begin); seam__arena_next_run(arena, &i, behind, &run);) {
		const uint64_t run_begin = arena->chunks[run.first].offset; /* in the arena */
		const uint64_t from = run.begin + (seam__bits_max(begin, run_begin) - run_begin);
		const uint64_t to = seam__bits_min(run.begin + (end - run_begin), run.end);
		(void)give_run(engine, arena, &run, from, to, &users);
	}
	return before - arena->leased_bytes;
}

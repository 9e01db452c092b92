/* oracle.c: what must be true after every operation; see model.h. */
#include <inttypes.h>
#include <stdlib.h>

#include "bits.h"
#include "emu_state.h"
#include "learner_impl.h"
#include "model.h"
#include "planned.h"

static int compare_physes(const struct model_phys *a, const struct model_phys *b)
{
	return a->id < b->id ? -1 : a->id > b->id;
}

static int compare_pieces(const struct model_piece *a, const struct model_piece *b)
{
	return a->begin < b->begin ? -1 : a->begin > b->begin;
}

SEAM_TREE_GENERATE(model_physes, model_phys, by_id, compare_physes)
SEAM_TREE_GENERATE(model_pieces, model_piece, by_begin, compare_pieces)

static struct model_phys *find_phys(struct model *model, uint64_t id)
{
	struct model_phys key = {.id = id};
	return RB_FIND(model_physes, &model->physes, &key);
}

static struct model_phys *get_phys(struct model *model, uint64_t id, uint64_t private_id)
{
	struct model_phys *phys = find_phys(model, id);
	if (phys != NULL)
		return phys;
	phys = calloc(1, sizeof *phys);
	if (phys == NULL)
		abort();
	phys->id = id;
	phys->private_id = private_id;
	(void)RB_INSERT(model_physes, &model->physes, phys);
	return phys;
}

static void put_phys(struct model *model, struct model_phys *phys)
{
	if (phys->pieces != 0 || phys->private_id != 0)
		return;
	(void)RB_REMOVE(model_physes, &model->physes, phys);
	free(phys);
}

/* The extents of physical memory behind a block, as the emulated device's page tables have them. Returns how many, 0 if
 * some byte has none or no access. */
static uint32_t walk(struct model *model, const struct model_block *block, struct model_piece *pieces,
	uint32_t capacity, uint64_t *ids)
{
	struct emu *e = seam__emu_of(model->driver);
	uint64_t at = (uint64_t)(uintptr_t)block->ptr, end = at + block->bytes;
	uint32_t count = 0;
	while (at < end) {
		const struct emu_mapping *mapping = seam__emu_mapping_next(e, at);
		if (mapping == NULL || mapping->va > at ||
			mapping->modes.device[model->driver->ordinal] != SEAM_ACCESS_READWRITE || count == capacity)
			return 0;
		uint64_t stop = seam__bits_min(end, mapping->va + mapping->bytes);
		pieces[count].begin = at - mapping->va;
		pieces[count].end = stop - mapping->va;
		ids[count++] = mapping->phys->id;
		at = stop;
	}
	return count;
}

static void enter_piece(struct model *model, const struct model_block *block, struct model_piece *piece, uint64_t id)
{
	struct model_phys *phys = get_phys(model, id, block->private_id);
	piece->phys = phys;
	if (phys->private_id != block->private_id)
		model_fail(model, "a chunk of private pool %" PRIu64 " holds a block of %" PRIu64, phys->private_id,
			block->private_id);
	struct model_piece *next = RB_NFIND(model_pieces, &phys->tree, piece);
	struct model_piece *before =
		next == NULL ? RB_MAX(model_pieces, &phys->tree) : RB_PREV(model_pieces, &phys->tree, next);
	if ((next != NULL && next->begin < piece->end) || (before != NULL && before->end > piece->begin)) {
		model_fail(model, "I2: two live blocks share bytes of handle %" PRIu64, id);
		piece->phys = NULL;
		return;
	}
	(void)RB_INSERT(model_pieces, &phys->tree, piece);
	phys->pieces++;
}

/* What the API says about the block's chunks must be what the device has. */
static void compare_chunks(struct model *model, const struct model_block *block)
{
	struct seam_block_chunk chunks[64];
	size_t count = 0;
	enum seam_rc rc = seam_block_chunks(model->pool, block->ptr, chunks, 64, &count);
	if (rc != SEAM_OK || count != block->piece_count) {
		model_fail(model, "seam_block_chunks gives %zu chunks, the device %u", count, block->piece_count);
		return;
	}
	uint64_t at = (uint64_t)(uintptr_t)block->ptr;
	for (size_t i = 0; i < count && i < 64; i++) {
		const struct model_piece *piece = &block->pieces[i];
		if (chunks[i].va + chunks[i].first_bytes != at || chunks[i].first_bytes != piece->begin ||
			chunks[i].used_bytes != piece->end - piece->begin)
			model_fail(model, "seam_block_chunks: chunk %zu is not where the device has it", i);
		at += chunks[i].used_bytes;
	}
}

void model_enter(struct model *model, struct model_block *block)
{
	struct model_piece pieces[512] = {0};
	uint64_t ids[512];
	uint32_t count = walk(model, block, pieces, 512, ids);
	if (count == 0) {
		model_fail(model, "a block of %" PRIu64 " bytes is not mapped with access", block->bytes);
		return;
	}
	block->pieces = calloc(count, sizeof *block->pieces);
	if (block->pieces == NULL)
		abort();
	block->piece_count = count;
	for (uint32_t i = 0; i < count; i++) {
		block->pieces[i] = pieces[i];
		enter_piece(model, block, &block->pieces[i], ids[i]);
	}
	compare_chunks(model, block);
	model->live_bytes += block->bytes;
	model->live_requested_bytes += block->requested_bytes;
	model->allocs++;
}

static void drop_pieces(struct model *model, struct model_block *block)
{
	for (uint32_t i = 0; i < block->piece_count; i++) {
		struct model_phys *phys = block->pieces[i].phys;
		if (phys == NULL)
			continue;
		(void)RB_REMOVE(model_pieces, &phys->tree, &block->pieces[i]);
		phys->pieces--;
		put_phys(model, phys);
	}
	free(block->pieces);
	block->pieces = NULL;
	block->piece_count = 0;
}

void model_leave(struct model *model, struct model_block *block)
{
	model->live_bytes -= block->bytes;
	model->live_requested_bytes -= block->requested_bytes;
	model->frees++;
	if (block->captured && block->private_id == 0)
		model->ghosts[model->ghost_count++] = *block;
	else
		drop_pieces(model, block);
}

void model_join(struct model *model, uint64_t id)
{
	struct model_phys *phys, *next;
	RB_FOREACH_SAFE(phys, model_physes, &model->physes, next)
	{
		if (phys->private_id != id)
			continue;
		phys->private_id = 0;
		put_phys(model, phys);
	}
	for (uint32_t i = 0; i < model->live_count; i++) {
		struct model_block *block = &model->live[i];
		if (block->private_id != id)
			continue;
		block->private_id = 0;
		block->captured = false; /* its graph is gone */
	}
}

uint64_t model_whole_bytes(const struct model *model, uint64_t private_id, bool released)
{
	struct model *m = (struct model *)(uintptr_t)model; /* the tree macros know no const */
	uint64_t bytes = 0;
	const struct seam_chunk *chunk;
	TAILQ_FOREACH(chunk, &model->pool->engine.memory.chunk_list, link)
	{
		const struct model_phys *phys = find_phys(m, chunk->phys.id);
		if (chunk->home->ppool->private_id == private_id && (phys == NULL || phys->pieces == 0) &&
			!(released && chunk->kept != 0))
			bytes += chunk->bytes;
	}
	return bytes;
}

void model_judge_refusal(struct model *model, uint64_t bytes, uint64_t private_id)
{
	const struct seam_memory *memory = &model->pool->engine.memory;
	uint64_t limit = seam__bits_min(memory->capacity_bytes, model->row->device_bytes);
	uint64_t whole = model_whole_bytes(model, private_id, false);
	uint64_t missing = bytes <= whole ? 0 : seam__bits_align_up(bytes - whole, memory->granularity_bytes);
	if (memory->reserved_bytes + missing <= limit)
		model_fail(model,
			"S5: %" PRIu64 " bytes were refused, but %" PRIu64 " are free in whole chunks and %" PRIu64
			" were never taken",
			bytes, whole, limit - memory->reserved_bytes);
}

void model_judge_shortage(struct model *model)
{
	const struct seam_view *view;
	TAILQ_FOREACH(view, &model->pool->engine.memory.view_list, all)
	{
		if (view->stitched && view->owned == 0 && !view->pinned)
			model_fail(model, "I6: mappings are short, but a view that owns nothing keeps %u",
				view->slot_count - view->holes);
	}
}

static void check_served(struct model *model)
{
	const struct seam_engine_counts *counts = &model->pool->engine.counts;
	struct seam_plan_stats plan = {.size = sizeof plan, .version = SEAM_PLAN_STATS_VERSION};
	if (seam_plan_stats_get(model->pool, &plan) != SEAM_OK)
		model_fail(model, "seam_plan_stats_get fails");
	uint64_t served = counts->s1 + counts->s1r + counts->s2 + counts->s3 + counts->s4 +
		model->pool->runtime->counts.hits + plan.borrows;
	if (served + model->restored != model->allocs)
		model_fail(model, "states add up to %" PRIu64 ", but %" PRIu64 " requests were served", served,
			model->allocs);
	if (counts->allocs != model->allocs || counts->frees != model->frees || counts->s5 != model->ooms)
		model_fail(model, "allocs, frees or s5 are wrong");
	if (counts->live_blocks != model->live_count || counts->live_bytes != model->live_bytes ||
		counts->live_requested_bytes != model->live_requested_bytes)
		model_fail(model, "the account of live blocks is wrong");
}

void model_check_accounts(struct model *model)
{
	check_served(model);
	const struct seam_memory *memory = &model->pool->engine.memory;
	struct seam_emu_usage usage;
	seam__emu_usage(model->driver, &usage);
	if (memory->reserved_bytes != usage.used_bytes || memory->chunk_count != usage.handles)
		model_fail(model, "reserved %" PRIu64 " bytes, the device has %" PRIu64, memory->reserved_bytes,
			usage.used_bytes);
	if (memory->mapping_count != usage.mappings)
		model_fail(
			model, "mappings %" PRIu64 ", the device has %" PRIu64, memory->mapping_count, usage.mappings);
	if (memory->view_count != usage.reservations || memory->address_bytes != usage.reserved_va_bytes)
		model_fail(model, "address space differs from the device's");
	if (memory->unlisted_bytes != 0)
		model_fail(model, "chunks are neither listed nor gone");
	if (memory->reserved_bytes > memory->capacity_bytes || memory->mapping_count > memory->mapping_limit ||
		memory->address_bytes > memory->address_limit_bytes)
		model_fail(model, "I6: a limit is exceeded");
	if (seam__emu_violations_all(model->driver) != 0)
		model_fail(model, "the device's judge: %s", seam__emu_violation_text(model->driver));
}

static void check_pages(struct model *model, const struct model_block *block)
{
	struct model_piece pieces[512] = {0};
	uint64_t ids[512];
	uint32_t count = walk(model, block, pieces, 512, ids);
	bool same = count == block->piece_count;
	for (uint32_t i = 0; same && i < count; i++)
		same = pieces[i].begin == block->pieces[i].begin && pieces[i].end == block->pieces[i].end &&
			ids[i] == block->pieces[i].phys->id;
	if (!same)
		model_fail(model, "the pages of a live block have changed");
}

void model_check_all(struct model *model)
{
	const char *broken = seam__pool_check(model->pool);
	if (broken == NULL && model->pool->learner != NULL)
		broken = seam__learner_check(model->pool->learner);
	if (broken != NULL)
		model_fail(model, "%s", broken);
	broken = seam__emu_check(model->driver);
	if (broken != NULL)
		model_fail(model, "emulator: %s", broken);
	for (uint32_t i = 0; i < model->live_count && !model_failed(model); i++)
		check_pages(model, &model->live[i]);
	for (uint32_t i = 0; i < model->ghost_count && !model_failed(model); i++)
		check_pages(model, &model->ghosts[i]);
}

void model_forget_all(struct model *model)
{
	for (uint32_t i = 0; i < model->live_count; i++)
		drop_pieces(model, &model->live[i]);
	for (uint32_t i = 0; i < model->ghost_count; i++)
		drop_pieces(model, &model->ghosts[i]);
	model->live_count = model->ghost_count = 0;
	struct model_phys *phys, *next;
	RB_FOREACH_SAFE(phys, model_physes, &model->physes, next)
	{
		(void)RB_REMOVE(model_physes, &model->physes, phys);
		free(phys);
	}
}

/* steps.c: a model's random operations; see model.h. */
#include <inttypes.h>

#include "bits.h"
#include "model.h"
#include "planned.h"

#define MIB (UINT64_C(1) << 20)

static uint64_t choose_bytes(struct model *model)
{
	static const uint64_t parts[] = {1, 2, 3, 4, 6, 8, 12, 16};
	uint64_t largest = model->row->largest_bytes;
	switch (model_random(model, 10)) {
	case 0:
	case 1:
	case 2:
		return 1 + model_random(model, 64 << 10);
	case 3:
		return 1 + model_random(model, seam__bits_min(MIB, largest));
	case 4:
	case 5:
	case 6:
	case 7:
		return largest / parts[model_random(model, 8)];
	case 8:
		return 1 + model_random(model, largest);
	default:
		return 2 * MIB * (1 + model_random(model, largest / (2 * MIB)));
	}
}

/* Where the request must go. */
static uint64_t choose_private(struct model *model, struct seam_request *request, unsigned stream)
{
	bool routed = model->routed && stream == model->row->streams - 1;
	if (model->capturing[stream])
		return model->capture_private[stream] == 0 && routed ? 3 : model->capture_private[stream];
	uint64_t id = 3 + model_random(model, 2);
	if ((model->row->features & (MODEL_CAPTURE | MODEL_PLAN)) == MODEL_CAPTURE && stream < 2 &&
		model_one_in(model, 3))
		id = stream + 1; /* as a graph's inputs: outside of its capture, but in its pool */
	if ((model->row->features & MODEL_PRIVATE) != 0 && model_one_in(model, 6) &&
		model->privates[id].references != 0) {
		request->private_id = id;
		return id;
	}
	return routed ? 3 : 0;
}

static unsigned choose_flags(struct model *model)
{
	if ((model->row->features & MODEL_FLAGS) == 0)
		return 0;
	switch (model_random(model, 12)) {
	case 0:
		return SEAM_CONTIGUOUS;
	case 1:
		return SEAM_NO_STITCH;
	case 2:
		return SEAM_NO_WAIT;
	default:
		return 0;
	}
}

static void judge_failure(struct model *model, const struct seam_request *request, enum seam_rc rc, uint64_t private_id,
	uint64_t reserved_before, bool faulty)
{
	model->ooms += rc == SEAM_OOM_DEVICE;
	model->refusals++;
	if (faulty)
		return;
	bool budgets = (model->row->features & MODEL_BUDGETS) != 0;
	if (rc != SEAM_OOM_DEVICE && !(budgets && (rc == SEAM_OOM_VA || rc == SEAM_MAPPINGS))) {
		model_fail(model, "seam_alloc: %s", seam_rc_name(rc));
		return;
	}
	if (model->pool->engine.memory.reserved_bytes > reserved_before)
		model_fail(model, "I7: a request that failed left %" PRIu64 " bytes more reserved",
			model->pool->engine.memory.reserved_bytes - reserved_before);
	if (rc == SEAM_MAPPINGS && request->flags == 0 && model->captures == 0)
		model_judge_shortage(model);
	if (!budgets && request->flags == 0 && model->captures == 0)
		model_judge_refusal(model, seam__bits_align_up(request->bytes, SEAM_BLOCK_BYTES), private_id);
}

/* I5, where it can be computed from outside. */
static void judge_growth(struct model *model, uint64_t bytes, uint64_t whole_before, uint64_t reserved_before)
{
	const struct seam_engine *engine = &model->pool->engine;
	const uint64_t grown = engine->memory.reserved_bytes - reserved_before;
	const bool is_due = engine->policy.stitching == SEAM_STITCH_AUTO &&
		engine->price.owed > SEAM_PRICE_MAPPINGS * engine->memory.chunk_count;
	if (is_due && engine->memory.reserved_bytes <= engine->counts.live_bytes_peak / 10 * 11)
		return;
	if (engine->memory.reserved_bytes > reserved_before && whole_before >= bytes)
		model_fail(model,
			"I5: %" PRIu64 " bytes were taken for a request of %" PRIu64 " while %" PRIu64
			" were free in whole chunks",
			grown, bytes, whole_before);
}

static void admit(struct model *model, struct model_block *block)
{
	struct seam_found found;
	if (!seam__live_find(model->pool, (uint64_t)(uintptr_t)block->ptr, &found)) {
		model_fail(model, "a block that was handed out is not live");
		return;
	}
	model->placements = (model->placements ^ found.view->number ^ found.offset << 20) * UINT64_C(0x100000001b3);
	model_enter(model, block);
	block->id = ++model->ids;
	model->live[model->live_count++] = *block;
	if (!model_one_in(model, 8))
		model_launch(model, &model->live[model->live_count - 1]);
}

/* What a capture takes of the common memory is never used again: not much of it. */
static bool may_capture(const struct model *model)
{
	unsigned captured_live = model->ghost_count;
	for (uint32_t i = 0; i < model->live_count; i++)
		captured_live += model->live[i].captured && model->live[i].private_id == 0;
	return captured_live < MODEL_GHOSTS;
}

uint64_t model_ask(struct model *model, struct seam_request *request, unsigned stream)
{
	request->stream = (void *)(uintptr_t)model->streams[stream];
	uint64_t id = choose_private(model, request, stream);
	bool captured = model->capturing[stream];
	if (id == UINT64_MAX || (captured && id == 0 && !may_capture(model)))
		return 0;
	if (captured && id == 0)
		request->bytes = 1 + request->bytes % (4 * MIB);
	bool contiguous = (request->flags & SEAM_CONTIGUOUS) != 0;
	uint64_t bytes = seam__bits_align_up(request->bytes, contiguous ? 2 * MIB : SEAM_BLOCK_BYTES);
	bool tight = (model->row->features & MODEL_TIGHT_GROWTH) != 0 && request->flags == 0;
	uint64_t whole = tight ? model_whole_bytes(model, id, false) : 0;
	uint64_t reserved = model->pool->engine.memory.reserved_bytes;
	const uint64_t *unordered = &model->pool->runtime->counts.misses[SEAM_MISS_order];
	uint64_t unordered_before = *unordered;
	void *ptr = NULL;
	model_arm(model);
	enum seam_rc rc = seam_alloc_request(model->pool, request, &ptr);
	bool faulty = model_disarm(model);
	/* Nobody can be ordered behind a stream that went without notice. */
	if (!faulty && model->captures == 0 && (model->row->features & MODEL_SUDDEN) == 0 &&
		*unordered != unordered_before)
		model_fail(model, "a stream could not be ordered though no call has failed");
	if (rc != SEAM_OK) {
		judge_failure(model, request, rc, id, reserved, faulty);
		if (ptr != NULL)
			model_fail(model, "I7: a request that failed wrote ret_ptr");
		return 0;
	}
	if (tight && !faulty)
		judge_growth(model, bytes, whole, reserved);
	struct model_block block = {.ptr = ptr,
		.bytes = bytes,
		.requested_bytes = request->bytes,
		.private_id = id,
		.stream = stream,
		.captured = captured};
	/* The capture may use from now on what lives in its pool already. */
	for (uint32_t i = 0; captured && id != 0 && i < model->live_count; i++)
		model->live[i].captured |= model->live[i].private_id == id;
	admit(model, &block);
	if (contiguous && model->live_count != 0 && model->live[model->live_count - 1].piece_count > 1)
		model_fail(model, "a contiguous block has several chunks");
	return block.id;
}

static void step_alloc(struct model *model)
{
	unsigned stream = (unsigned)model_random(model, model->row->streams);
	struct seam_request request = {
		.size = sizeof request, .bytes = choose_bytes(model), .flags = choose_flags(model)};
	(void)model_ask(model, &request, stream);
}

void model_free_at(struct model *model, uint32_t index)
{
	struct model_block block = model->live[index];
	if ((model->row->features & MODEL_CONTENT) != 0 && !model->capturing[block.stream] && model_one_in(model, 3))
		model_check_content(model, &block);
	model->live[index] = model->live[--model->live_count];
	model_arm(model);
	enum seam_rc rc = seam_free(model->pool, block.ptr);
	(void)model_disarm(model); /* whatever fails, a free does not */
	if (rc != SEAM_OK)
		model_fail(model, "seam_free: %s", seam_rc_text(rc));
	model_leave(model, &block);
}

static void step_free(struct model *model)
{
	if (model->live_count == 0)
		return;
	uint32_t index = (uint32_t)model_random(model, model->live_count);
	if (model_one_in(model, 3) && model->live_count > 8)
		index = model->live_count - 1 - (uint32_t)model_random(model, 8);
	if (!model->live[index].of_program || model_one_in(model, 10))
		model_free_at(model, index);
}

static void step_free_many(struct model *model)
{
	uint32_t keep = (uint32_t)model_random(model, model->live_count + 1);
	while (model->live_count > keep && !model_failed(model))
		model_free_at(model, (uint32_t)model_random(model, model->live_count));
}

static void step_trim(struct model *model)
{
	const struct seam_memory *memory = &model->pool->engine.memory;
	uint64_t target = model_one_in(model, 2) ? 0 : model_random(model, memory->reserved_bytes + 1);
	uint64_t released = UINT64_MAX, before = memory->reserved_bytes;
	model_arm(model);
	enum seam_rc rc = seam_trim(model->pool, target, &released);
	bool faulty = model_disarm(model);
	if (rc != SEAM_OK && !faulty && !(rc == SEAM_CAPTURING && model->captures != 0)) {
		model_fail(model, "seam_trim: %s", seam_rc_text(rc));
		return;
	}
	if (rc != SEAM_OK)
		return;
	if (before - memory->reserved_bytes != released)
		model_fail(model, "seam_trim says that it released %" PRIu64 " bytes", released);
	/* Captures pin what the others have. */
	uint64_t whole = model_whole_bytes(model, 0, true) + model_whole_bytes(model, 4, true);
	if (memory->reserved_bytes > target && whole != 0 && !faulty)
		model_fail(model, "trim kept %" PRIu64 " bytes in whole chunks", whole);
}

static void step_private(struct model *model)
{
	uint64_t id = 1 + model_random(model, MODEL_PRIVATES);
	if (id <= 2 || model_one_in(model, 2)) {
		model_release(model, id);
		return;
	}
	model_arm(model);
	enum seam_rc rc =
		seam_private_begin(model->pool, id, SEAM_ROUTE_STREAM, model->streams[model->row->streams - 1]);
	if (model_disarm(model) && rc != SEAM_OK)
		return;
	if (rc == SEAM_OK && (id == 4 || model->routed || model_one_in(model, 2)))
		rc = seam_private_end(model->pool, id);
	else
		model->routed = true;
	if (rc != SEAM_OK)
		model_fail(model, "a private pool: %s", seam_rc_text(rc));
	model->privates[id].references++;
}

static void step_route_end(struct model *model)
{
	if (!model->routed)
		return;
	model->routed = false;
	if (seam_private_end(model->pool, 3) != SEAM_OK)
		model_fail(model, "seam_private_end fails");
}

static void step_use(struct model *model)
{
	if (model->live_count == 0)
		return;
	struct model_block *block = &model->live[model_random(model, model->live_count)];
	unsigned other = (unsigned)model_random(model, model->row->streams);
	if (model_one_in(model, 3))
		model_use_elsewhere(model, block, other);
	else
		model_launch(model, block);
}

static void step_capture(struct model *model)
{
	unsigned stream = (unsigned)model_random(model, model->row->streams);
	if (model->capturing[stream])
		model_capture_end(model, stream);
	else if (model_one_in(model, 3))
		model_capture_begin(model, stream);
	else
		model_replay(model, stream);
}

static void step_checkpoint(struct model *model)
{
	uint64_t id = 1 + model_random(model, MODEL_PRIVATES);
	if (model_one_in(model, 2))
		model_restore(model, id);
	else
		model_checkpoint(model, id);
}

static void step_time(struct model *model)
{
	if (model_one_in(model, 2))
		seam__emu_advance(model->driver, model_random(model, 3000000));
	else
		model_sync(model, (unsigned)model_random(model, model->row->streams));
}

struct step {
	const char *name;
	unsigned weight; /* of 1000 */
	unsigned needs;  /* features */
	void (*run)(struct model *model);
};

static const struct step rare[] = {
	{"use", 120, 0, step_use},
	{"time", 20, 0, step_time},
	{"trim", 5, 0, step_trim},
	{"free many", 2, 0, step_free_many},
	{"private", 8, MODEL_PRIVATE, step_private},
	{"route end", 4, MODEL_PRIVATE, step_route_end},
	{"capture", 12, MODEL_CAPTURE, step_capture},
	{"checkpoint", 30, MODEL_CAPTURE, step_checkpoint},
};

static void run_one(struct model *model)
{
	if ((model->row->features & MODEL_PLAN) != 0 && model_plan_step(model))
		return;
	uint64_t at = model_random(model, 1000);
	for (size_t i = 0; i < sizeof rare / sizeof rare[0]; i++) {
		if (at < rare[i].weight && (model->row->features & rare[i].needs) == rare[i].needs) {
			model->doing = rare[i].name;
			rare[i].run(model);
			return;
		}
		at -= at < rare[i].weight ? 0 : rare[i].weight;
	}
	if ((model->row->features & MODEL_DEATHS) != 0 && model_one_in(model, 150)) {
		model->doing = "a stream dies";
		model_kill_stream(model, (unsigned)model_random(model, model->row->streams));
		return;
	}
	if (model_one_in(model, 300))
		model->shrinking = !model->shrinking;
	bool alloc = model_random(model, 100) < (model->shrinking ? 42 : 58) && model->live_count < MODEL_LIVE;
	if ((model->row->features & MODEL_PLAN) != 0) /* most memory is the programs' */
		alloc = model_random(model, MODEL_PLAN_LIVE) >= model->live_count;
	model->doing = alloc ? "alloc" : "free";
	if (alloc)
		step_alloc(model);
	else
		step_free(model);
}

void model_step(struct model *model)
{
	model->op++;
	run_one(model);
	model_check_accounts(model);
	if (!model_failed(model))
		model_check_all(model);
}

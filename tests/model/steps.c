/* steps.c: a model's life and its random operations; see model.h. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "bits.h"
#include "meta.h"
#include "model.h"
#include "opts.h"

#define MIB (UINT64_C(1) << 20)

void model_fail(struct model *model, const char *format, ...)
{
	if (model_failed(model))
		return;
	char text[300];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	snprintf(model->failure, sizeof model->failure, "operation %" PRIu64 " (%s): %s", model->op, model->doing, text);
}

uint64_t model_random(struct model *model, uint64_t below)
{
	uint64_t x = model->random += UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return below == 0 ? 0 : (x ^ (x >> 31)) % below;
}

static bool one_in(struct model *model, uint64_t n)
{
	return model_random(model, n) == 0;
}

void model_arm(struct model *model)
{
	const struct model_fault *fault = &model->fault;
	if (fault->left != 0 && fault->metadata)
		seam__meta_fail_at(model->pool->meta, fault->left);
	else if (fault->left != 0)
		seam__driver_fail_at(model->driver, fault->left, fault->classes, fault->code);
}

bool model_disarm(struct model *model)
{
	struct model_fault *fault = &model->fault;
	if (fault->left == 0)
		return false;
	if (fault->metadata) {
		fault->left = seam__meta_fail_left(model->pool->meta);
		seam__meta_fail_at(model->pool->meta, 0);
	} else {
		int64_t left = atomic_load(&model->driver->fail_countdown);
		fault->left = left > 0 ? (uint64_t)left : 0;
		seam__driver_fail_at(model->driver, 0, 0, 0);
	}
	fault->fired |= fault->left == 0;
	return fault->left == 0;
}

static bool open_pool(struct model *model, const struct model_row *row)
{
	char error[200] = "";
	struct seam_emu_config emu = {
		.memory = (row->features & MODEL_CONTENT) != 0 ? SEAM_EMU_REAL : SEAM_EMU_BOOK,
		.capacity_bytes = row->device_bytes,
	};
	struct seam_config given, config;
	seam_config_init(&given);
	enum seam_rc rc = seam_config_parse(&given, row->conf, error);
	if (rc == SEAM_OK)
		rc = seam__opts_resolve(&given, NULL, error, &config);
	if (rc == SEAM_OK)
		rc = seam__emu_create(&emu, error, &model->driver);
	if (rc == SEAM_OK)
		rc = seam__pool_create_on(model->driver, &config, &model->pool);
	if (rc != SEAM_OK)
		model_fail(model, "no pool: %s %s", seam_rc_text(rc), error);
	return rc == SEAM_OK;
}

bool model_open(struct model *model, const struct model_row *row, uint64_t seed, uint64_t slowness,
                const struct model_fault *fault)
{
	memset(model, 0, sizeof *model);
	model->row = row;
	model->random = seed;
	model->slowness = slowness;
	if (fault != NULL)
		model->fault = *fault;
	model->doing = "open";
	RB_INIT(&model->physes);
	if (!open_pool(model, row))
		return false;
	bool legacy = (row->features & MODEL_LEGACY) != 0;
	for (unsigned i = 0; i < row->streams; i++) {
		int cu = SEAM_CU_SUCCESS;
		if (!legacy || i > 0)
			cu = seam__drv_stream_create(model->driver, legacy ? SEAM_STREAM_BLOCKING : SEAM_STREAM_NONBLOCKING,
			                             &model->streams[i]);
		if (cu == SEAM_CU_SUCCESS)
			cu = seam__drv_event_create(model->driver, &model->events[i]);
		if (cu != SEAM_CU_SUCCESS)
			model_fail(model, "no stream: %d", cu);
	}
	return !model_failed(model);
}

static void close_device(struct model *model)
{
	for (unsigned i = 0; i < model->row->streams; i++) {
		int cu = seam__drv_event_destroy(model->driver, model->events[i]);
		if (cu == SEAM_CU_SUCCESS && model->streams[i] != SEAM_STREAM_DEFAULT)
			cu = seam__drv_stream_destroy(model->driver, model->streams[i]);
		if (cu != SEAM_CU_SUCCESS)
			model_fail(model, "a stream of the model's own could not be destroyed");
	}
	struct seam_emu_usage usage;
	seam__emu_usage(model->driver, &usage);
	if (usage.handles != 0 || usage.used_bytes != 0 || usage.mappings != 0 || usage.reservations != 0 || usage.events != 0)
		model_fail(model, "I11: after destroy the device holds %" PRIu64 " handles, %" PRIu64 " mappings, %" PRIu64
		           " reservations, %" PRIu64 " events", usage.handles, usage.mappings, usage.reservations, usage.events);
	if (seam__emu_violations_all(model->driver) != 0)
		model_fail(model, "the device's judge after destroy: %s", seam__emu_violation_text(model->driver));
}

void model_close(struct model *model)
{
	model->doing = "close";
	for (unsigned i = 0; i < model->row->streams; i++)
		model_capture_end(model, i);
	if (model->pool != NULL)
		seam_pool_destroy(model->pool);
	model_forget_all(model);
	if (model->driver != NULL) {
		close_device(model);
		seam__driver_destroy(model->driver);
	}
}

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
	if ((model->row->features & MODEL_PRIVATE) != 0 && one_in(model, 6) && model->privates[id].references != 0) {
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
	uint64_t grown = model->pool->engine.memory.reserved_bytes - reserved_before;
	if (model->pool->engine.memory.reserved_bytes > reserved_before && whole_before >= bytes)
		model_fail(model, "I5: %" PRIu64 " bytes were taken for a request of %" PRIu64 " while %" PRIu64
		           " were free in whole chunks", grown, bytes, whole_before);
}

static void admit(struct model *model, struct model_block *block)
{
	struct seam_block *inside = seam__engine_find(&model->pool->engine, (uint64_t)(uintptr_t)block->ptr);
	if (inside == NULL) {
		model_fail(model, "a block that was handed out is not live");
		return;
	}
	model->placements = (model->placements ^ inside->view->number ^ inside->offset << 20) * UINT64_C(0x100000001b3);
	model_enter(model, block);
	model->live[model->live_count++] = *block;
	if (!one_in(model, 8))
		model_launch(model, &model->live[model->live_count - 1]);
}

static void step_alloc(struct model *model)
{
	unsigned stream = (unsigned)model_random(model, model->row->streams);
	struct seam_request request = {.size = sizeof request, .bytes = choose_bytes(model), .flags = choose_flags(model)};
	request.stream = (void *)(uintptr_t)model->streams[stream];
	uint64_t id = choose_private(model, &request, stream);
	bool captured = model->capturing[stream];
	if (id == UINT64_MAX)
		return;
	if (captured && id == 0) {
		unsigned captured_live = model->ghost_count;
		for (uint32_t i = 0; i < model->live_count; i++)
			captured_live += model->live[i].captured && model->live[i].private_id == 0;
		request.bytes = 1 + request.bytes % (4 * MIB);
		if (captured_live >= MODEL_GHOSTS)
			return;
	}
	bool contiguous = (request.flags & SEAM_CONTIGUOUS) != 0;
	uint64_t bytes = seam__bits_align_up(request.bytes, contiguous ? 2 * MIB : SEAM_BLOCK_BYTES);
	bool tight = (model->row->features & MODEL_TIGHT_GROWTH) != 0 && request.flags == 0;
	uint64_t whole = tight ? model_whole_bytes(model, id) : 0;
	uint64_t reserved = model->pool->engine.memory.reserved_bytes;
	void *ptr = NULL;
	model_arm(model);
	enum seam_rc rc = seam_alloc_request(model->pool, &request, &ptr);
	bool faulty = model_disarm(model);
	if (rc != SEAM_OK) {
		judge_failure(model, &request, rc, id, reserved, faulty);
		if (ptr != NULL)
			model_fail(model, "I7: a request that failed wrote ret_ptr");
		return;
	}
	if (tight && !faulty)
		judge_growth(model, bytes, whole, reserved);
	struct model_block block = {.ptr = ptr, .bytes = bytes, .requested_bytes = request.bytes, .private_id = id,
	                            .stream = stream, .captured = captured};
	admit(model, &block);
	if (contiguous && model->live_count != 0 && model->live[model->live_count - 1].piece_count > 1)
		model_fail(model, "a contiguous block has several chunks");
}

static void free_at(struct model *model, uint32_t index)
{
	struct model_block block = model->live[index];
	if ((model->row->features & MODEL_CONTENT) != 0 && !model->capturing[block.stream] && one_in(model, 3))
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
	if (one_in(model, 3) && model->live_count > 8)
		index = model->live_count - 1 - (uint32_t)model_random(model, 8);
	free_at(model, index);
}

static void step_free_many(struct model *model)
{
	uint32_t keep = (uint32_t)model_random(model, model->live_count + 1);
	while (model->live_count > keep && !model_failed(model))
		free_at(model, (uint32_t)model_random(model, model->live_count));
}

static void step_trim(struct model *model)
{
	const struct seam_memory *memory = &model->pool->engine.memory;
	uint64_t target = one_in(model, 2) ? 0 : model_random(model, memory->reserved_bytes + 1);
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
	uint64_t whole = model_whole_bytes(model, 0) + model_whole_bytes(model, 4); /* captures pin what the others have */
	if (memory->reserved_bytes > target && whole != 0 && !faulty)
		model_fail(model, "trim kept %" PRIu64 " bytes in whole chunks", whole);
}

static void step_private(struct model *model)
{
	uint64_t id = 1 + model_random(model, MODEL_PRIVATES);
	if (id <= 2 || one_in(model, 2)) {
		model_release(model, id);
		return;
	}
	model_arm(model);
	enum seam_rc rc = seam_private_begin(model->pool, id, SEAM_ROUTE_STREAM, model->streams[model->row->streams - 1]);
	if (model_disarm(model) && rc != SEAM_OK)
		return;
	if (rc == SEAM_OK && (id == 4 || model->routed || one_in(model, 2)))
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
	if (one_in(model, 3))
		model_use_elsewhere(model, block, other);
	else
		model_launch(model, block);
}

static void step_capture(struct model *model)
{
	unsigned stream = (unsigned)model_random(model, model->row->streams);
	if (model->capturing[stream])
		model_capture_end(model, stream);
	else if (one_in(model, 3))
		model_capture_begin(model, stream);
	else
		model_replay(model, stream);
}

static void step_time(struct model *model)
{
	if (one_in(model, 2))
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
};

static void run_one(struct model *model)
{
	uint64_t at = model_random(model, 1000);
	for (size_t i = 0; i < sizeof rare / sizeof rare[0]; i++) {
		if (at < rare[i].weight && (model->row->features & rare[i].needs) == rare[i].needs) {
			model->doing = rare[i].name;
			rare[i].run(model);
			return;
		}
		at -= at < rare[i].weight ? 0 : rare[i].weight;
	}
	if ((model->row->features & MODEL_DEATHS) != 0 && one_in(model, 150)) {
		model->doing = "a stream dies";
		model_kill_stream(model, (unsigned)model_random(model, model->row->streams));
		return;
	}
	if (one_in(model, 300))
		model->shrinking = !model->shrinking;
	bool alloc = model_random(model, 100) < (model->shrinking ? 42 : 58) && model->live_count < MODEL_LIVE;
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

/* work.c: kernels, orders between streams, captures, and the death of streams; see model.h. */
#include <inttypes.h>

#include "bits.h"
#include "model.h"

static void expect_success(struct model *model, int cu, const char *what)
{
	if (cu != SEAM_CU_SUCCESS)
		model_fail(model, "%s answers %d: %s", what, cu, seam__emu_violation_text(model->driver));
}

static void *handle_of(const struct model *model, unsigned stream)
{
	return (void *)(uintptr_t)model->streams[stream];
}

void model_order(struct model *model, unsigned from, unsigned to)
{
	expect_success(model, seam__drv_event_record(model->driver, model->events[from], model->streams[from]),
		"event_record");
	expect_success(model, seam__drv_stream_wait_event(model->driver, model->streams[to], model->events[from]),
		"stream_wait_event");
}

static uint64_t duration(struct model *model)
{
	static const uint64_t durations_ns[] = {0, 1000, 20000, 100000, 1000000, 5000000};
	return durations_ns[model_random(model, 6)] * model->slowness;
}

static void remember(struct model_graph *graph, const struct seam_emu_range *range)
{
	if (graph->count < MODEL_GRAPH_RANGES)
		graph->ranges[graph->count++] = *range;
}

void model_launch(struct model *model, struct model_block *block)
{
	unsigned stream = block->stream;
	if (block->orphan || (model->capturing[stream] && !block->captured))
		return;
	for (unsigned other = 0; other < model->row->streams; other++) {
		if ((block->uses & 1u << other) == 0)
			continue;
		if (model->capturing[other] || model->capturing[stream])
			return;
		model_order(model, other, stream);
	}
	if ((model->row->features & MODEL_CONTENT) != 0)
		block->value = (uint32_t)model_random(model, UINT32_MAX) | 1u;
	struct seam_emu_range range = {(uint64_t)(uintptr_t)block->ptr, block->bytes, true};
	expect_success(model,
		seam__emu_launch(model->driver, model->streams[stream], &range, 1, duration(model), block->value),
		"launch");
	if (model->capturing[stream] && block->private_id != 0)
		remember(&model->privates[block->private_id].graph, &range);
}

void model_use_elsewhere(struct model *model, struct model_block *block, unsigned stream)
{
	if (block->orphan || stream == block->stream || model->capturing[stream] || model->capturing[block->stream])
		return;
	if (block->captured ||
		(block->private_id != 0 && block->private_id <= 2)) /* a replay would not know of the reader */
		return;
	model_arm(model);
	enum seam_rc rc = seam_record_stream(model->pool, block->ptr, handle_of(model, stream));
	if (model_disarm(model) && rc != SEAM_OK)
		return;
	if (rc != SEAM_OK) {
		model_fail(model, "seam_record_stream: %s", seam_rc_text(rc));
		return;
	}
	block->uses |= 1u << stream;
	model_order(model, block->stream, stream);
	struct seam_emu_range range = {(uint64_t)(uintptr_t)block->ptr, block->bytes, false};
	expect_success(model, seam__emu_launch(model->driver, model->streams[stream], &range, 1, duration(model), 0),
		"launch");
}

void model_check_content(struct model *model, const struct model_block *block)
{
	if (block->value == 0 || block->orphan)
		return;
	uint32_t words[3][64] = {0};
	uint64_t va = (uint64_t)(uintptr_t)block->ptr;
	uint64_t middle = model_random(model, block->bytes / SEAM_BLOCK_BYTES) * SEAM_BLOCK_BYTES;
	const uint64_t places[3] = {va, va + middle, va + block->bytes - sizeof words[0]};
	for (int i = 0; i < 3; i++)
		expect_success(model,
			seam__drv_copy_to_host(
				model->driver, words[i], places[i], sizeof words[i], model->streams[block->stream]),
			"copy_to_host");
	model_sync(model, block->stream);
	for (int i = 0; i < 3 * 64 && !model_failed(model); i++) {
		if (words[i / 64][i % 64] != block->value)
			model_fail(model, "a live block's content has changed near byte %" PRIu64, places[i / 64] - va);
	}
}

void model_sync(struct model *model, unsigned stream)
{
	if (!model->capturing[stream])
		expect_success(model, seam__drv_stream_sync(model->driver, model->streams[stream]), "stream_sync");
}

void model_capture_begin(struct model *model, unsigned stream)
{
	uint64_t id = stream + 1;
	bool watched = (model->row->features & MODEL_WATCHED) != 0 && model_random(model, 2) == 0;
	if (model->capturing[stream] || (!watched && id > 2))
		return;
	expect_success(model, seam__drv_capture_begin(model->driver, model->streams[stream]), "capture_begin");
	model->capturing[stream] = true;
	model->captures++;
	model->capture_private[stream] = watched ? 0 : id;
	if (watched)
		return;
	enum seam_capture_state state = SEAM_CAPTURE_NONE;
	uint64_t capture_id = 0;
	expect_success(model, seam__drv_stream_capture(model->driver, model->streams[stream], &state, &capture_id),
		"stream_capture");
	model_arm(model);
	enum seam_rc rc = seam_private_begin(model->pool, id, SEAM_ROUTE_CAPTURE, capture_id);
	if (model_disarm(model) && rc != SEAM_OK) {
		model->capture_private[stream] = UINT64_MAX; /* nothing is asked for in it */
		return;
	}
	if (rc != SEAM_OK)
		model_fail(model, "seam_private_begin: %s", seam_rc_text(rc));
	model->privates[id].references++;
	model->privates[id].graph.count = 0;
}

void model_capture_end(struct model *model, unsigned stream)
{
	if (!model->capturing[stream])
		return;
	expect_success(model, seam__drv_capture_end(model->driver, model->streams[stream]), "capture_end");
	model->capturing[stream] = false;
	model->captures--;
	if (model->capture_private[stream] == 0 || model->capture_private[stream] == UINT64_MAX)
		return;
	enum seam_rc rc = seam_private_end(model->pool, model->capture_private[stream]);
	if (rc != SEAM_OK)
		model_fail(model, "seam_private_end: %s", seam_rc_text(rc));
}

void model_replay(struct model *model, unsigned stream)
{
	const struct model_graph *graph = &model->privates[stream + 1].graph;
	if (stream >= 2 || model->capturing[stream])
		return;
	for (unsigned i = 0; i < graph->count; i++)
		expect_success(model,
			seam__emu_launch(model->driver, model->streams[stream], &graph->ranges[i], 1, 1000, 0),
			"launch of a replay");
}

void model_release(struct model *model, uint64_t id)
{
	struct model_private *private = &model->privates[id];
	if (private->references == 0 || (id <= 2 && model->capturing[id - 1] && model->capture_private[id - 1] == id))
		return;
	if (private->references == 1) {
		/* The pool does not see replays: whoever ran them waits for them before giving their memory up. */
		if (id <= 2 && private->graph.count != 0) {
			if (model->capturing[id - 1])
				return;
			model_sync(model, (unsigned)id - 1);
		}
		private->graph.count = 0;
		model->routed = model->routed && id != 3;
	}
	private->references--;
	model_arm(model);
	enum seam_rc rc = seam_private_release(model->pool, id);
	(void)model_disarm(model);
	if (rc != SEAM_OK)
		model_fail(model, "seam_private_release: %s", seam_rc_text(rc));
	if (private->references == 0) {
		private->checkpoint.kept = false;
		model_join(model, id);
	}
}

/* Blocks that the stream uses are used by their own streams behind it. */
static void hand_back(struct model *model, unsigned stream)
{
	for (uint32_t i = 0; i < model->live_count; i++) {
		struct model_block *block = &model->live[i];
		if ((block->uses & 1u << stream) != 0 && !block->orphan && block->stream != stream)
			model_order(model, stream, block->stream);
		block->uses &= ~(1u << stream);
		block->orphan |= block->stream == stream;
	}
}

void model_kill_stream(struct model *model, unsigned stream)
{
	if (model->streams[stream] == SEAM_STREAM_DEFAULT || model->capturing[stream])
		return;
	hand_back(model, stream);
	model_forget_stream(model, stream);
	bool sudden = (model->row->features & MODEL_SUDDEN) != 0 && model_random(model, 2) == 0;
	model_arm(model);
	enum seam_rc rc = sudden ? SEAM_OK : seam_stream_destroyed(model->pool, handle_of(model, stream));
	if (!model_disarm(model) && rc != SEAM_OK && rc != SEAM_NOT_FOUND)
		model_fail(model, "seam_stream_destroyed: %s", seam_rc_text(rc));
	expect_success(model, seam__drv_stream_destroy(model->driver, model->streams[stream]), "stream_destroy");
	expect_success(model, seam__drv_stream_create(model->driver, SEAM_STREAM_NONBLOCKING, &model->streams[stream]),
		"stream_create");
}

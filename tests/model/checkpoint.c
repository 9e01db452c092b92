/* checkpoint.c: what was live in a private pool, and the way back to it; see model.h. */
#include <inttypes.h>

#include "model.h"

static bool is_of(const struct model_block *block, uint64_t id)
{
	return block->private_id == id && !block->of_program;
}

void model_checkpoint(struct model *model, uint64_t id)
{
	struct model_checkpoint *kept = &model->privates[id].checkpoint;
	kept->kept = true;
	kept->count = 0;
	for (uint32_t i = 0; i < model->live_count && kept->kept; i++) {
		const struct model_block *block = &model->live[i];
		if (block->private_id != id)
			continue;
		kept->kept = is_of(block, id) && !block->orphan && kept->count < MODEL_KEPT;
		if (kept->kept)
			kept->blocks[kept->count++] = *block;
	}
}

void model_forget_stream(struct model *model, unsigned stream)
{
	for (uint64_t id = 1; id <= MODEL_PRIVATES; id++) {
		struct model_checkpoint *kept = &model->privates[id].checkpoint;
		for (uint32_t i = 0; i < kept->count; i++)
			kept->kept = kept->kept && kept->blocks[i].stream != stream;
	}
}

/* All that lives in the pool is gone, and what lived then is back. */
static void exchange(struct model *model, uint64_t id)
{
	struct model_checkpoint *kept = &model->privates[id].checkpoint;
	for (uint32_t i = model->live_count; i-- > 0;) {
		struct model_block block = model->live[i];
		if (block.private_id != id)
			continue;
		model->live[i] = model->live[--model->live_count];
		model_leave(model, &block);
	}
	for (uint32_t i = 0; i < kept->count && !model_failed(model); i++) {
		struct model_block block = kept->blocks[i];
		block.uses = 0;
		block.value = 0;
		model_enter(model, &block);
		model->restored++;
		block.id = ++model->ids;
		model->live[model->live_count++] = block;
	}
}

void model_restore(struct model *model, uint64_t id)
{
	struct model_checkpoint *kept = &model->privates[id].checkpoint;
	struct seam_private_block blocks[MODEL_KEPT];
	if (!kept->kept || model->privates[id].references == 0 || model->live_count + kept->count > MODEL_LIVE)
		return;
	for (uint32_t i = 0; i < model->live_count; i++) {
		if (model->live[i].private_id == id && model->live[i].of_program)
			return;
	}
	bool captured = true;
	for (uint32_t i = 0; i < kept->count; i++) {
		const struct model_block *block = &kept->blocks[i];
		captured = captured && block->captured;
		blocks[i] = (struct seam_private_block){.ptr = block->ptr,
			.bytes = block->requested_bytes,
			.stream = (void *)(uintptr_t)model->streams[block->stream]};
	}
	model_arm(model);
	enum seam_rc rc = seam_private_restore(model->pool, id, blocks, kept->count);
	bool faulty = model_disarm(model);
	if (rc == SEAM_OK && model->captures == 0)
		exchange(model, id);
	else if (!faulty && !(model->captures != 0 && rc == SEAM_CAPTURING) &&
		!(!captured && (rc == SEAM_BUSY || rc == SEAM_NOT_FOUND)))
		model_fail(model, "seam_private_restore: %s", seam_rc_name(rc));
}

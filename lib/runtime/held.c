/* held.c: blocks of active plans that go: at once, or when the other streams that used them have passed. */
#include "planned_impl.h"

__attribute__((noinline, cold)) void seam__active_give_back(
	struct seam_runtime *runtime, struct seam_active_plan *active, uint64_t offset, uint64_t bytes)
{
	if (active->arena.state == SEAM_ARENA_CLOSED)
		seam__arena_settle(
			runtime->engine, &active->arena, offset, bytes, active->streams, active->stream_count);
	(void)seam__arena_give_part(
		runtime->engine, &active->arena, offset, offset + bytes, active->streams, active->stream_count);
}

void seam__planned_release(struct seam_runtime *runtime, struct seam_active_plan *active,
	struct seam_plan_block *plan_block, uint64_t others)
{
	uint64_t offset = plan_block->offset, bytes = plan_block->bytes;
	(void)seam__stream_stamp(plan_block->stream);
	if (__builtin_expect(active->notes_uses, 0))
		seam__active_note_use(runtime, active, plan_block, others);
	seam__matcher_free(active->matcher, plan_block);
	if (__builtin_expect(active->arena.state == SEAM_ARENA_CLOSED || active->suspended, 0))
		seam__active_give_back(runtime, active, offset, bytes);
}

static void poll_active(struct seam_runtime *runtime, struct seam_active_plan *active)
{
	uint32_t left = 0;
	for (uint32_t i = 0; i < active->held_count; i++) {
		struct seam_plan_block *plan_block = active->held[i];
		if (!seam__uses_passed(plan_block->uses)) {
			active->held[left++] = plan_block;
			continue;
		}
		seam__uses_clear(runtime->engine, &plan_block->uses);
		runtime->engine->counts.pending_bytes -= plan_block->bytes;
		runtime->engine->counts.planned_pending_bytes -= plan_block->bytes;
		active->recorded--;
		seam__planned_release(runtime, active, plan_block, 0);
	}
	active->held_count = left;
}

void seam__planned_poll(struct seam_runtime *runtime)
{
	struct seam_active_plan *active;
	LIST_FOREACH(active, &runtime->active_plans, link)
	{
		if (active->held_count != 0)
			poll_active(runtime, active);
	}
}

void seam__planned_poll_streams(struct seam_runtime *runtime)
{
	enum seam_rc ignored =
		seam__streams_poll_all(&runtime->engine->streams, NULL); /* what cannot be asked has not passed */
	(void)ignored;
	seam__planned_poll(runtime);
}

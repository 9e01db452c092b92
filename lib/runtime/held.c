/* held.c: blocks of stages that go: at once, or when the other streams that used them have passed. */
#include "planned_impl.h"

__attribute__((noinline, cold)) void seam__stage_give_back(
	struct seam_runtime *runtime, struct seam_stage *stage, uint64_t offset, uint64_t bytes)
{
	if (stage->arena.state == SEAM_ARENA_CLOSED)
		seam__arena_settle(runtime->engine, &stage->arena, offset, bytes, stage->streams, stage->stream_count);
	(void)seam__arena_give_part(
		runtime->engine, &stage->arena, offset, offset + bytes, stage->streams, stage->stream_count);
}

void seam__planned_release(struct seam_runtime *runtime, struct seam_stage *stage, struct seam_planned *planned)
{
	uint64_t offset = planned->offset, bytes = planned->bytes;
	if (__builtin_expect(seam__planned_is_loose(planned), 0) && stage->arena.state == SEAM_ARENA_OPEN)
		seam__arena_add_join(&stage->arena, planned->stream, seam__stream_stamp(planned->stream));
	planned->stamp = seam__stream_stamp(planned->stream);
	seam__matcher_free(stage->matcher, planned);
	if (__builtin_expect(stage->arena.state == SEAM_ARENA_CLOSED || stage->suspended, 0))
		seam__stage_give_back(runtime, stage, offset, bytes);
}

static void poll_stage(struct seam_runtime *runtime, struct seam_stage *stage)
{
	uint32_t left = 0;
	for (uint32_t i = 0; i < stage->held_count; i++) {
		struct seam_planned *planned = stage->held[i];
		if (!seam__uses_passed(planned->uses)) {
			stage->held[left++] = planned;
			continue;
		}
		seam__uses_clear(runtime->engine, &planned->uses);
		runtime->engine->counts.pending_bytes -= planned->bytes;
		runtime->engine->counts.planned_pending_bytes -= planned->bytes;
		stage->recorded--;
		seam__planned_release(runtime, stage, planned);
	}
	stage->held_count = left;
}

void seam__planned_poll(struct seam_runtime *runtime)
{
	struct seam_stage *stage;
	LIST_FOREACH(stage, &runtime->stages, link)
	{
		if (stage->held_count != 0)
			poll_stage(runtime, stage);
	}
}

void seam__planned_poll_streams(struct seam_runtime *runtime)
{
	enum seam_rc ignored =
		seam__streams_poll_all(&runtime->engine->streams, NULL); /* what cannot be asked has not passed */
	(void)ignored;
	seam__planned_poll(runtime);
}

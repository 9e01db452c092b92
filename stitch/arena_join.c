/* arena_join.c: work that was pending in memory when an arena leased it; see arena.h. */
#include "arena_impl.h"
#include "bits.h"
#include "check.h"
#include "meta.h"

enum seam_rc seam__arena_reserve_joins(struct seam_engine *engine, struct seam_arena *arena)
{
	/* One for each stream; who has a join is in the registry, because it is referred to. */
	uint32_t needed = engine->streams.count;
	if (needed <= arena->join_capacity)
		return SEAM_OK;
	struct seam_arena_join *joins = seam__meta_resize(
		engine->meta, arena->joins, arena->join_capacity * sizeof *joins, needed * sizeof *joins);
	if (joins == NULL)
		return SEAM_OOM_META;
	arena->joins = joins;
	arena->join_capacity = needed;
	return SEAM_OK;
}

void seam__arena_add_join(struct seam_arena *arena, struct seam_stream *stream, uint64_t stamp)
{
	for (uint32_t j = 0; j < arena->join_count; j++) {
		struct seam_arena_join *join = &arena->joins[j];
		if (join->stream != stream)
			continue;
		if (stamp > join->stamp) {
			join->stamp = stamp;
			arena->join_version++;
		}
		return;
	}
	SEAM_ASSERT(arena->join_count < arena->join_capacity);
	seam__stream_ref(stream);
	arena->joins[arena->join_count++] = (struct seam_arena_join){stream, stamp};
	arena->join_version++;
}

void seam__arena_drop_joins(struct seam_arena *arena, bool all)
{
	uint32_t kept = 0;
	for (uint32_t j = 0; j < arena->join_count; j++) {
		const struct seam_arena_join join = arena->joins[j];
		if (all || seam__stream_passed(join.stream, join.stamp))
			seam__stream_unref(join.stream);
		else
			arena->joins[kept++] = join;
	}
	arena->join_count = kept;
}

enum seam_rc seam__arena_join(struct seam_engine *engine, struct seam_arena *arena, struct seam_stream *stream)
{
	(void)engine; /* the registry is reached through the streams */
	seam__arena_drop_joins(arena, false);
	for (uint32_t j = 0; j < arena->join_count; j++) {
		enum seam_rc rc = seam__stream_order(arena->joins[j].stream, arena->joins[j].stamp, stream);
		if (rc != SEAM_OK)
			return rc;
	}
	return SEAM_OK;
}

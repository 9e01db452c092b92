/* users.c: the streams that use an arena, and in which order. See planned.h.
 *
 * An instance that is free knows which stream had it last, and the stamp of that. A stream that gets its memory is
 * ordered behind exactly that: nothing is to be done where the stamp has passed, or where the stream is ordered behind
 * it already. So no request waits for what other streams were given since. The same holds for other streams that used
 * the block, where its plan has waits for its end; they have the same stamp.
 *
 * Two things have no instance that tells of their last use. A block off the plan becomes a join of the arena when it is
 * freed, and so does everything when a script goes.
 */
#include "bits.h"
#include "check.h"
#include "meta.h"
#include "planned_impl.h"

/* What `stream` is ordered behind of `other`'s stamps. */
static uint64_t *behind(const struct seam_stage *stage, uint32_t stream, uint32_t other)
{
	return &stage->behind[(size_t)stream * stage->stream_capacity + other];
}

static void free_users(struct seam_meta *meta, struct seam_stage *stage)
{
	const size_t capacity = stage->stream_capacity;
	seam__meta_free(meta, stage->streams, capacity * sizeof(struct seam_stream *));
	seam__meta_free(meta, stage->joined, capacity * sizeof *stage->joined);
	seam__meta_free(meta, stage->latest, capacity * sizeof *stage->latest);
	seam__meta_free(meta, stage->behind, capacity * capacity * sizeof *stage->behind);
}

/* Room for one more stream. */
static bool reserve_user(struct seam_meta *meta, struct seam_stage *stage)
{
	if (stage->stream_count < stage->stream_capacity)
		return true;
	const uint32_t capacity = stage->stream_capacity == 0 ? 4 : stage->stream_capacity * 2;
	struct seam_stage larger = {.stream_count = stage->stream_count, .stream_capacity = capacity};
	larger.streams = seam__meta_array(meta, capacity, sizeof(struct seam_stream *));
	larger.joined = seam__meta_array(meta, capacity, sizeof *larger.joined);
	larger.latest = seam__meta_array(meta, capacity, sizeof *larger.latest);
	larger.behind = seam__meta_array(meta, (size_t)capacity * capacity, sizeof *larger.behind);
	if (larger.streams == NULL || larger.joined == NULL || larger.latest == NULL || larger.behind == NULL) {
		free_users(meta, &larger);
		return false;
	}
	for (uint32_t i = 0; i < stage->stream_count; i++) {
		larger.streams[i] = stage->streams[i];
		larger.joined[i] = stage->joined[i];
		for (uint32_t k = 0; k < stage->stream_count; k++)
			*behind(&larger, i, k) = *behind(stage, i, k);
	}
	free_users(meta, stage);
	stage->streams = larger.streams;
	stage->joined = larger.joined;
	stage->latest = larger.latest;
	stage->behind = larger.behind;
	stage->stream_capacity = capacity;
	return true;
}

int seam__stage_user(struct seam_runtime *runtime, struct seam_stage *stage, struct seam_stream *stream)
{
	for (uint32_t i = 0; i < stage->stream_count; i++) {
		if (stage->streams[i] == stream)
			return (int)i;
	}
	if (!reserve_user(runtime->meta, stage))
		return -1;
	seam__stream_ref(stream);
	stage->streams[stage->stream_count] = stream;
	stage->joined[stage->stream_count] = UINT64_MAX; /* it is ordered behind nothing yet */
	return (int)stage->stream_count++;
}

void seam__stage_forget_users(struct seam_runtime *runtime, struct seam_stage *stage)
{
	for (uint32_t i = 0; i < stage->stream_count; i++)
		seam__stream_unref(stage->streams[i]);
	free_users(runtime->meta, stage);
}

/* The driver gives a destroyed stream's handle to a new one, and plans know streams by their handles: the new one goes
 * on in the memory of the one before, which gets no more work. */
static bool follow_namesakes(struct seam_stage *stage, struct seam_stream *stream)
{
	for (uint32_t i = 0; i < stage->stream_count; i++) {
		struct seam_stream *other = stage->streams[i];
		if (other != stream && other->handle == stream->handle &&
			seam__stream_order(other, seam__stream_stamp(other), stream) != SEAM_OK)
			return false;
	}
	return true;
}

/* A script has gone since: all that the streams were given so far becomes joins. */
static bool join_forgotten(struct seam_runtime *runtime, struct seam_stage *stage)
{
	const uint64_t forgotten = seam__matcher_forgotten(stage->matcher);
	if (forgotten == stage->forgotten)
		return true;
	if (seam__arena_reserve_joins(runtime->engine, &stage->arena) != SEAM_OK)
		return false;
	for (uint32_t i = 0; i < stage->stream_count; i++)
		seam__arena_add_join(&stage->arena, stage->streams[i], seam__stream_stamp(stage->streams[i]));
	stage->forgotten = forgotten;
	return true;
}

/* Orders the stream behind what no instance tells of. Returns its number; -1: that failed. */
static int join(struct seam_runtime *runtime, struct seam_stage *stage, struct seam_stream *stream)
{
	const int number = seam__stage_user(runtime, stage, stream);
	if (number < 0 || !join_forgotten(runtime, stage))
		return -1;
	if (stage->joined[number] != stage->arena.join_version) {
		if (stage->joined[number] == UINT64_MAX && !follow_namesakes(stage, stream))
			return -1;
		if (seam__arena_join(runtime->engine, &stage->arena, stream) != SEAM_OK)
			return -1;
		stage->joined[number] = stage->arena.join_version;
	}
	stage->joined_last = stream;
	stage->joined_version = stage->arena.join_version;
	return number;
}

/* Whether work of another stream is pending that this one is not ordered behind. */
static bool is_any_pending(const struct seam_stage *stage, uint32_t number)
{
	for (uint32_t i = 0; i < stage->stream_count; i++) {
		const struct seam_stream *other = stage->streams[i];
		if (i != number && other->last_stamp > *behind(stage, number, i) &&
			!seam__stream_passed(other, other->last_stamp))
			return true;
	}
	return false;
}

static void note_latest(void *user, const struct seam_planned *last)
{
	const struct seam_stage *stage = user;
	for (uint32_t i = 0; i < stage->stream_count; i++) {
		if (stage->streams[i] == last->stream || (last->used_by >> seam__bits_min(i, 63) & 1) != 0)
			stage->latest[i] = seam__bits_max(stage->latest[i], last->stamp);
	}
}

/* Orders the stream of that number behind who had the block's bytes last. */
static bool order(struct seam_stage *stage, uint32_t number, const struct seam_planned *planned)
{
	if (!is_any_pending(stage, number))
		return true;
	for (uint32_t i = 0; i < stage->stream_count; i++)
		stage->latest[i] = 0;
	const uint64_t begin = planned->offset, end = begin + planned->bytes;
	seam__matcher_last(stage->matcher, begin, end, note_latest, stage);
	if (planned->used_by != 0)
		note_latest(stage, planned); /* the same slot, when it was there last */
	for (uint32_t i = 0; i < stage->stream_count; i++) {
		if (i == number || stage->latest[i] <= *behind(stage, number, i))
			continue;
		if (seam__stream_order(stage->streams[i], stage->latest[i], stage->streams[number]) != SEAM_OK)
			return false;
		*behind(stage, number, i) = stage->latest[i];
	}
	return true;
}

bool seam__stage_order(struct seam_runtime *runtime, struct seam_stage *stage, const struct seam_planned *planned,
	struct seam_stream *stream)
{
	const int number = join(runtime, stage, stream);
	const bool is_loose = seam__planned_is_loose(planned);
	if (number < 0 || (is_loose && seam__arena_reserve_joins(runtime->engine, &stage->arena) != SEAM_OK))
		return false;
	if (stage->stream_count == 1 || (!is_loose && !seam__matcher_crosses(stage->matcher, planned)))
		return true;
	return order(stage, (uint32_t)number, planned);
}

bool seam__stage_let_go(struct seam_runtime *runtime, struct seam_stage *stage, struct seam_planned *planned)
{
	if (stage->stream_count == 1 || stage->arena.state != SEAM_ARENA_OPEN || stage->suspended ||
		!seam__matcher_is_waited(stage->matcher, planned))
		return false;
	uint64_t used_by = 0;
	for (const struct seam_block_use *use = planned->uses; use != NULL; use = use->next) {
		const int number = seam__stage_user(runtime, stage, use->stream);
		SEAM_ASSERT(number >= 0); /* it was made one when the use was recorded */
		used_by |= UINT64_C(1) << seam__bits_min((uint64_t)number, 63);
		(void)seam__stream_stamp(use->stream);
	}
	stage->recorded--;
	seam__uses_clear(runtime->engine, &planned->uses);
	planned->used_by = used_by;
	return true;
}

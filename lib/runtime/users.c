/* users.c: the streams that use an arena, and in which order. See planned.h.
 *
 * An instance that is free knows which stream had it last, and the stamp of that. A stream that gets its memory is
 * ordered behind exactly that: nothing is to be done where the stamp has passed, or where the stream is ordered behind
 * it already. So no request waits for what other streams were given since. An instance that a later block covers is not
 * asked any more: whoever is ordered behind the later one is ordered behind it. The same holds for other streams that
 * used the block, where its plan has waits for its end; they have the same stamp.
 *
 * Two things have no instance that tells of their last use. A block off the plan becomes a join of the arena when it is
 * freed, and so does everything when a loaded plan goes.
 */
#include <string.h>

#include "bits.h"
#include "check.h"
#include "meta.h"
#include "planned_impl.h"

/* What `stream` is ordered behind of `other`'s stamps. */
static uint64_t *behind(const struct seam_active_plan *active, uint32_t stream, uint32_t other)
{
	return &active->behind[(size_t)stream * active->stream_capacity + other];
}

static void free_users(struct seam_meta *meta, struct seam_active_plan *active)
{
	const size_t capacity = active->stream_capacity;
	seam__meta_free(meta, active->streams, capacity * sizeof(struct seam_stream *));
	seam__meta_free(meta, active->joined, capacity * sizeof *active->joined);
	seam__meta_free(meta, active->latest, capacity * sizeof *active->latest);
	seam__meta_free(meta, active->all_behind, capacity * sizeof *active->all_behind);
	seam__meta_free(meta, active->behind, capacity * capacity * sizeof *active->behind);
}

/* Room for one more stream. */
static bool reserve_user(struct seam_meta *meta, struct seam_active_plan *active)
{
	if (active->stream_count < active->stream_capacity)
		return true;
	const uint32_t capacity = active->stream_capacity == 0 ? 4 : active->stream_capacity * 2;
	struct seam_active_plan larger = {.stream_count = active->stream_count, .stream_capacity = capacity};
	larger.streams = seam__meta_array(meta, capacity, sizeof(struct seam_stream *));
	larger.joined = seam__meta_array(meta, capacity, sizeof *larger.joined);
	larger.latest = seam__meta_array(meta, capacity, sizeof *larger.latest);
	larger.all_behind = seam__meta_array(meta, capacity, sizeof *larger.all_behind);
	larger.behind = seam__meta_array(meta, (size_t)capacity * capacity, sizeof *larger.behind);
	if (larger.streams == NULL || larger.joined == NULL || larger.latest == NULL || larger.all_behind == NULL ||
		larger.behind == NULL) {
		free_users(meta, &larger);
		return false;
	}
	for (uint32_t i = 0; i < active->stream_count; i++) {
		larger.streams[i] = active->streams[i];
		larger.joined[i] = active->joined[i];
		for (uint32_t k = 0; k < active->stream_count; k++)
			*behind(&larger, i, k) = *behind(active, i, k);
	}
	free_users(meta, active);
	active->streams = larger.streams;
	active->joined = larger.joined;
	active->latest = larger.latest;
	active->all_behind = larger.all_behind;
	active->behind = larger.behind;
	active->stream_capacity = capacity;
	return true;
}

int seam__active_user(struct seam_runtime *runtime, struct seam_active_plan *active, struct seam_stream *stream)
{
	for (uint32_t i = 0; i < active->stream_count; i++) {
		if (active->streams[i] == stream)
			return (int)i;
	}
	if (!reserve_user(runtime->meta, active))
		return -1;
	seam__stream_ref(stream);
	if (active->stream_count == 1)
		seam__matcher_note_users(active->matcher);
	else if (active->stream_count > 1)
		active->forgotten = UINT64_MAX; /* a user that all others are ordered behind is not noted any more */
	memset(active->all_behind, 0, active->stream_count * sizeof *active->all_behind); /* it is behind nothing */
	active->streams[active->stream_count] = stream;
	active->joined[active->stream_count] = UINT64_MAX; /* it is ordered behind nothing yet */
	return (int)active->stream_count++;
}

void seam__active_forget_users(struct seam_runtime *runtime, struct seam_active_plan *active)
{
	for (uint32_t i = 0; i < active->stream_count; i++)
		seam__stream_unref(active->streams[i]);
	free_users(runtime->meta, active);
}

/* The driver gives a destroyed stream's handle to a new one, and plans know streams by their handles: the new one goes
 * on in the memory of the one before, which gets no more work. */
static bool follow_namesakes(struct seam_active_plan *active, struct seam_stream *stream)
{
	for (uint32_t i = 0; i < active->stream_count; i++) {
		struct seam_stream *other = active->streams[i];
		if (other != stream && other->handle == stream->handle &&
			seam__stream_order(other, seam__stream_stamp(other), stream) != SEAM_OK)
			return false;
	}
	return true;
}

/* A loaded plan has gone since, or what instances told was lost: all that the streams were given so far becomes joins.
 */
static bool join_forgotten(struct seam_runtime *runtime, struct seam_active_plan *active)
{
	const uint64_t forgotten = seam__matcher_forgotten(active->matcher);
	if (forgotten == active->forgotten)
		return true;
	if (seam__arena_reserve_joins(runtime->engine, &active->arena) != SEAM_OK)
		return false;
	for (uint32_t i = 0; i < active->stream_count; i++)
		seam__arena_add_join(&active->arena, active->streams[i], seam__stream_stamp(active->streams[i]));
	active->forgotten = forgotten;
	return true;
}

/* Orders the stream behind what no instance tells of. Returns its number; -1: that failed. */
static int join(struct seam_runtime *runtime, struct seam_active_plan *active, struct seam_stream *stream)
{
	const int number = seam__active_user(runtime, active, stream);
	if (number < 0 || !join_forgotten(runtime, active))
		return -1;
	if (active->joined[number] != active->arena.join_version) {
		if (active->joined[number] == UINT64_MAX && !follow_namesakes(active, stream))
			return -1;
		if (seam__arena_join(runtime->engine, &active->arena, stream) != SEAM_OK)
			return -1;
		active->joined[number] = active->arena.join_version;
	}
	active->joined_last = stream;
	active->joined_version = active->arena.join_version;
	return number;
}

/* Whether work of another stream is pending that this one is not ordered behind. */
static bool is_any_pending(const struct seam_active_plan *active, uint32_t number)
{
	for (uint32_t i = 0; i < active->stream_count; i++) {
		const struct seam_stream *other = active->streams[i];
		if (i != number && other->last_stamp > *behind(active, number, i) &&
			!seam__stream_passed(other, other->last_stamp))
			return true;
	}
	return false;
}

/* The block whose stream is to be ordered. */
struct ordering {
	struct seam_active_plan *active;
	uint64_t begin;
	uint64_t end;
};

/* Notes the last user. True: nobody needs to know it any more: the block covers the last one's bytes, or all streams
 * are ordered behind its users. */
static bool note_latest(void *user, const struct seam_plan_block *last)
{
	const struct ordering *ordering = user;
	const struct seam_active_plan *active = ordering->active;
	bool is_behind = true;
	for (uint32_t i = 0; i < active->stream_count; i++) {
		if (active->streams[i] != last->stream && (last->used_by >> seam__bits_min(i, 63) & 1) == 0)
			continue;
		active->latest[i] = seam__bits_max(active->latest[i], last->stamp);
		is_behind &= last->stamp <= active->all_behind[i];
	}
	return is_behind || (last->offset >= ordering->begin && last->offset + last->bytes <= ordering->end);
}

/* `stream` is ordered behind `other` up to this stamp, and all others up to the least such stamp. */
static void note_behind(struct seam_active_plan *active, uint32_t stream, uint32_t other, uint64_t stamp)
{
	*behind(active, stream, other) = stamp;
	active->all_behind[other] = UINT64_MAX;
	for (uint32_t i = 0; i < active->stream_count; i++)
		if (i != other)
			active->all_behind[other] =
				seam__bits_min(active->all_behind[other], *behind(active, i, other));
}

/* Orders the stream of that number behind who had the block's bytes last. */
static bool order(struct seam_active_plan *active, uint32_t number, const struct seam_plan_block *plan_block)
{
	if (!is_any_pending(active, number))
		return true;
	struct ordering ordering = {active, plan_block->offset, plan_block->offset + plan_block->bytes};
	memset(active->latest, 0, active->stream_count * sizeof *active->latest);
	seam__matcher_last(active->matcher, ordering.begin, ordering.end, note_latest, &ordering);
	if (plan_block->used_by != 0)
		(void)note_latest(&ordering, plan_block); /* the same slot, when it was there last */
	for (uint32_t i = 0; i < active->stream_count; i++) {
		if (i == number || active->latest[i] <= *behind(active, number, i))
			continue;
		if (seam__stream_order(active->streams[i], active->latest[i], active->streams[number]) != SEAM_OK) {
			active->forgotten = UINT64_MAX; /* who was noted is not known any more */
			return false;
		}
		note_behind(active, number, i, active->latest[i]);
	}
	return true;
}

bool seam__active_order(struct seam_runtime *runtime, struct seam_active_plan *active,
	const struct seam_plan_block *plan_block, struct seam_stream *stream)
{
	const int number = join(runtime, active, stream);
	const bool is_off_plan = seam__planned_is_off_plan(plan_block);
	if (number < 0 || (is_off_plan && seam__arena_reserve_joins(runtime->engine, &active->arena) != SEAM_OK))
		return false;
	if (active->stream_count == 1 || (!is_off_plan && !seam__matcher_crosses(active->matcher, plan_block)))
		return true;
	return order(active, (uint32_t)number, plan_block);
}

bool seam__active_let_go(
	struct seam_runtime *runtime, struct seam_active_plan *active, struct seam_plan_block *plan_block)
{
	if (active->stream_count == 1 || active->arena.state != SEAM_ARENA_OPEN || active->suspended ||
		!seam__matcher_is_waited(active->matcher, plan_block))
		return false;
	uint64_t used_by = 0;
	for (const struct seam_block_use *use = plan_block->uses; use != NULL; use = use->next) {
		const int number = seam__active_user(runtime, active, use->stream);
		SEAM_ASSERT(number >= 0); /* it was made one when the use was recorded */
		used_by |= UINT64_C(1) << seam__bits_min((uint64_t)number, 63);
		(void)seam__stream_stamp(use->stream);
	}
	active->recorded--;
	seam__uses_clear(runtime->engine, &plan_block->uses);
	plan_block->used_by = used_by;
	return true;
}

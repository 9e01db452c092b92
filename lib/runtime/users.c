/* users.c: the streams that use an arena, and in which order. See planned.h.
 *
 * Who used a byte of the arena last is noted when its block is freed, as far as anybody will ask: once a second stream
 * asks for memory, or a block goes that other streams use still. A stream that gets memory waits, on the device, for an
 * event of the last user that covers that stamp: one that was recorded since, else one recorded now, behind all that
 * the user was given so far. Nothing is to be done where the stamp has passed, or where the stream is ordered behind it
 * already. Whoever is ordered behind the last user is ordered behind those before.
 *
 * A stream that asks for the first time is ordered behind all that the others were given so far: so of what went before
 * nothing need be known. Where there is no metadata to note a use it becomes a join of the arena, which every stream
 * waits for. So does what the engine did with chunks that it was lent.
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
	larger.behind = seam__meta_array(meta, (size_t)capacity * capacity, sizeof *larger.behind);
	if (larger.streams == NULL || larger.joined == NULL || larger.latest == NULL || larger.behind == NULL) {
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
	if (!reserve_user(runtime->meta, active) ||
		seam__arena_reserve_joins(runtime->engine, &active->arena) != SEAM_OK)
		return -1;
	seam__stream_ref(stream);
	active->streams[active->stream_count] = stream;
	active->joined[active->stream_count] = UINT64_MAX; /* it is ordered behind nothing yet */
	return (int)active->stream_count++;
}

void seam__active_forget_users(struct seam_runtime *runtime, struct seam_active_plan *active)
{
	for (uint32_t i = 0; i < active->stream_count; i++)
		seam__stream_unref(active->streams[i]);
	free_users(runtime->meta, active);
	seam__last_uses_fini(&active->last_uses);
}

/* A use of the stream of that number; from the 64th on they are not told apart. */
static uint64_t bit_of(uint32_t number)
{
	return UINT64_C(1) << seam__bits_min(number, 63);
}

/* Orders the stream of that number behind what active->latest says of the others. */
static bool order_behind(struct seam_active_plan *active, uint32_t number)
{
	for (uint32_t i = 0; i < active->stream_count; i++) {
		if (i == number || active->latest[i] <= *behind(active, number, i))
			continue;
		if (seam__stream_order(active->streams[i], active->latest[i], active->streams[number]) != SEAM_OK)
			return false;
		*behind(active, number, i) = active->latest[i];
	}
	return true;
}

/* The stream asks for the first time. */
static bool join_first(struct seam_active_plan *active, uint32_t number)
{
	for (uint32_t i = 0; i < active->stream_count; i++)
		active->latest[i] = active->streams[i]->last_stamp;
	active->notes_uses |= active->joined_last != NULL;
	return order_behind(active, number);
}

/* Orders the stream behind the arena's joins. Returns its number; -1: that failed. */
static int join(struct seam_runtime *runtime, struct seam_active_plan *active, struct seam_stream *stream)
{
	const int number = seam__active_user(runtime, active, stream);
	if (number < 0)
		return -1;
	if (active->joined[number] != active->arena.join_version) {
		if (active->joined[number] == UINT64_MAX && !join_first(active, (uint32_t)number))
			return -1;
		if (seam__arena_join(runtime->engine, &active->arena, stream) != SEAM_OK)
			return -1;
		active->joined[number] = active->arena.join_version;
	}
	active->joined_last = stream;
	active->joined_version = active->arena.join_version;
	return number;
}

bool seam__active_order(struct seam_runtime *runtime, struct seam_active_plan *active, uint64_t begin, uint64_t end,
	struct seam_stream *stream)
{
	const int number = join(runtime, active, stream);
	if (number < 0 || !active->notes_uses)
		return number >= 0;
	const uint64_t own = bit_of((uint32_t)number);
	bool is_others = false;
	for (const struct seam_last_use *use = seam__last_uses_behind(&active->last_uses, begin);
		use != NULL && use->begin < end; use = seam__last_uses_next(use)) {
		if (use->streams == own && number < 63)
			continue;
		if (!is_others)
			memset(active->latest, 0, active->stream_count * sizeof *active->latest);
		is_others = true;
		for (uint32_t i = 0; i < active->stream_count; i++)
			if ((use->streams & bit_of(i)) != 0)
				active->latest[i] = seam__bits_max(
					active->latest[i], seam__bits_min(use->stamp, active->streams[i]->last_stamp));
	}
	return !is_others || order_behind(active, (uint32_t)number);
}

void seam__active_note_use(struct seam_runtime *runtime, struct seam_active_plan *active,
	const struct seam_plan_block *plan_block, uint64_t others)
{
	if (active->arena.state != SEAM_ARENA_OPEN)
		return; /* its memory is the engine's next */
	const int number = seam__active_user(runtime, active, plan_block->stream);
	SEAM_ASSERT(number >= 0); /* it was made one when it got the block */
	const uint64_t streams = bit_of((uint32_t)number) | others;
	if (seam__last_uses_note(&active->last_uses, plan_block->offset, plan_block->offset + plan_block->bytes,
		    streams, runtime->engine->streams.tick))
		return;
	for (uint32_t i = 0; i < active->stream_count; i++)
		if ((streams & bit_of(i)) != 0)
			seam__arena_add_join(&active->arena, active->streams[i], active->streams[i]->last_stamp);
}

bool seam__active_let_go(
	struct seam_runtime *runtime, struct seam_active_plan *active, struct seam_plan_block *plan_block)
{
	if (active->arena.state != SEAM_ARENA_OPEN || active->suspended ||
		!seam__matcher_is_waited(active->matcher, plan_block))
		return false;
	uint64_t others = 0;
	for (const struct seam_block_use *use = plan_block->uses; use != NULL; use = use->next) {
		const int number = seam__active_user(runtime, active, use->stream);
		SEAM_ASSERT(number >= 0); /* it was made one when the use was recorded */
		others |= bit_of((uint32_t)number);
		(void)seam__stream_stamp(use->stream);
	}
	active->notes_uses = true;
	active->recorded--;
	seam__uses_clear(runtime->engine, &plan_block->uses);
	seam__planned_release(runtime, active, plan_block, others);
	return true;
}

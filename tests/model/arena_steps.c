/* arena_steps.c: what happens to arenas in the model of arena.c. */
#include <string.h>

#include "arena_world.h"

static bool has_planned(unsigned arena, uint64_t begin, uint64_t end)
{
	for (unsigned i = 0; i < m.planned_count; i++) {
		const struct planned *planned = &m.planned[i];
		if (planned->arena == arena && planned->offset < end && planned->offset + planned->bytes > begin)
			return true;
	}
	return false;
}

static bool coin(void *user, const struct seam_block *block)
{
	(void)user;
	return block->tag != 0;
}

void op_begin(void)
{
	struct seam_survey survey;
	uint64_t numbers[CHUNKS];
	uint32_t count = 0;
	if (m.arenas[0].state != SEAM_ARENA_NONE)
		return;
	enter();
	enum seam_rc rc = seam__survey_make(&m.engine, coin, NULL, &survey);
	if (rc == SEAM_OK) {
		for (uint32_t i = 0; i < survey.count && count < CHUNKS / 2; i++) {
			if (below(4) != 0)
				numbers[count++] = survey.chunks[i].number;
		}
		for (uint32_t i = 0; count > 0 && i < count && below(2) == 0; i++) {
			uint64_t other = below(count), number = numbers[i];
			numbers[i] = numbers[other];
			numbers[other] = number;
		}
		seam__survey_fini(&m.engine, &survey);
		uint64_t fresh = count == 0 ? 4 * MIB : below(3) * 2 * MIB;
		rc = seam__arena_begin(
			&m.engine, numbers, count, fresh, (1 + below(2)) * 2 * MIB, 100 * MIB, &m.arenas[0]);
		memset(m.used[0], 0, sizeof m.used[0]);
		memset(m.joined, 0, sizeof m.joined);
	}
	leave();
	expect_failure(rc);
}

void op_prepare(void)
{
	enum seam_arena_state state = m.arenas[0].state;
	if (state != SEAM_ARENA_PREPARING && state != SEAM_ARENA_OPEN)
		return;
	enter();
	enum seam_rc rc = seam__arena_prepare(&m.engine, &m.arenas[0], 1 + (uint32_t)below(12));
	leave();
	expect_failure(rc == SEAM_BUSY ? SEAM_OK : rc);
}

void op_open(void)
{
	if (m.arenas[0].state != SEAM_ARENA_READY)
		return;
	enter();
	seam__arena_open(&m.arenas[0]);
	(void)seam__arena_collect(&m.engine, &m.arenas[0], 0, m.arenas[0].count);
	leave();
	m.counts[COUNT_OPENED]++;
}

void op_extend(void)
{
	struct seam_arena *arena = &m.arenas[0];
	if ((arena->state != SEAM_ARENA_READY && arena->state != SEAM_ARENA_OPEN) || arena->count + 2 > CHUNKS)
		return;
	enter();
	enum seam_rc rc = seam__arena_extend(&m.engine, arena, NULL, 0, 4 * MIB, 2 * MIB);
	leave();
	expect_failure(rc == SEAM_OOM_VA ? SEAM_OK : rc);
}

static bool fits(const struct seam_arena *arena, uint64_t offset, uint64_t bytes)
{
	return offset + bytes <= arena->bytes && gap_bytes(0, offset, offset + bytes) == 0 &&
		!has_planned(0, offset, offset + bytes);
}

void op_plan(void)
{
	static const uint64_t sizes[] = {512, 64 << 10, 1 << 20, 2 << 20, 5 << 20};
	struct seam_arena *arena = &m.arenas[0];
	unsigned stream = (unsigned)below(STREAMS);
	if (arena->state != SEAM_ARENA_OPEN || m.planned_count == PLANNED)
		return;
	uint64_t bytes = sizes[below(5)], offset = 0;
	int tries = 12;
	do
		offset = below(arena->bytes / 512) * 512;
	while (!fits(arena, offset, bytes) && --tries > 0);
	if (tries == 0)
		return;
	if (m.joined[stream] != arena->join_version) {
		struct seam_stream *entry = NULL;
		enter();
		(void)entries(1u << stream, &entry);
		enum seam_rc rc = seam__arena_join(&m.engine, arena, entry);
		leave();
		if (rc != SEAM_OK) {
			expect_failure(rc);
			return;
		}
		m.joined[stream] = arena->join_version;
	}
	uint32_t last = seam__arena_chunk_at(arena, offset + bytes - 1);
	for (uint32_t i = seam__arena_chunk_at(arena, offset); i <= last; i++) {
		for (unsigned s = 0; s < STREAMS; s++) {
			if (s != stream && (m.used[0][i] >> s & 1) != 0)
				order(s, stream); /* as the plan's waits would */
		}
		m.used[0][i] |= 1u << stream;
	}
	struct planned planned = {0, stream, offset, bytes, (uint32_t)below(UINT32_MAX) | 1u};
	launch(arena->view->va + offset, bytes, stream, true, planned.value);
	m.planned[m.planned_count++] = planned;
	m.counts[COUNT_PLANNED]++;
}

void op_unplan(void)
{
	if (m.planned_count == 0)
		return;
	unsigned i = (unsigned)below(m.planned_count);
	struct planned planned = m.planned[i];
	struct seam_arena *arena = &m.arenas[planned.arena];
	if (below(4) == 0)
		check_content(arena->view->va + planned.offset, planned.bytes, planned.stream, planned.value);
	m.planned[i] = m.planned[--m.planned_count];
	if (arena->state != SEAM_ARENA_CLOSED)
		return;
	struct seam_stream *streams[STREAMS];
	enter();
	uint32_t count = entries((1u << STREAMS) - 1, streams);
	seam__arena_settle(&m.engine, arena, planned.offset, planned.bytes, streams, count);
	if (below(2) == 0)
		m.counts[COUNT_PARTS] += seam__arena_give_part(&m.engine, arena, planned.offset,
						 planned.offset + planned.bytes, streams, count) != 0;
	leave();
}

/* To the stream, ordered behind those that used the chunk as a plan's is. With both locks. */
static uint64_t lend(uint32_t i, struct seam_stream *stream)
{
	struct seam_arena *arena = &m.arenas[0];
	const struct seam_arena_chunk *chunk = &arena->chunks[i];
	if (has_planned(0, chunk->offset, chunk->offset + chunk->bytes) ||
		seam__arena_join(&m.engine, arena, stream) != SEAM_OK)
		return 0;
	struct seam_stream *users[STREAMS];
	const uint32_t count = entries(m.used[0][i], users);
	for (uint32_t k = 0; k < count; k++) {
		if (users[k] != stream && seam__stream_order(users[k], seam__stream_stamp(users[k]), stream) != SEAM_OK)
			return 0;
	}
	const uint64_t bytes = seam__arena_lend(&m.engine, arena, i, 1, stream);
	expect(bytes == 0 || gap_bytes(0, chunk->offset, chunk->offset + chunk->bytes) == chunk->bytes,
		"a lent chunk is leased in part");
	m.used[0][i] = bytes != 0 ? 0 : m.used[0][i];
	m.counts[COUNT_LENT] += bytes != 0;
	return bytes;
}

void op_lend(void)
{
	if (m.arenas[0].state != SEAM_ARENA_OPEN)
		return;
	struct seam_stream *stream = NULL;
	enter();
	(void)entries(1u << below(STREAMS), &stream);
	(void)lend((uint32_t)below(m.arenas[0].count), stream);
	leave();
}

void op_collect(void)
{
	struct seam_arena *arena = &m.arenas[0];
	if (arena->state != SEAM_ARENA_OPEN)
		return;
	uint32_t first = (uint32_t)below(arena->count), count = (uint32_t)below(arena->count - first + 1);
	enter();
	uint64_t before = gap_bytes(0, 0, arena->bytes);
	uint64_t bytes = seam__arena_collect(&m.engine, arena, first, count);
	expect(gap_bytes(0, 0, arena->bytes) + bytes == before, "what was collected is not what the gaps lost");
	leave();
	m.counts[COUNT_COLLECTED] += bytes != 0;
}

/* With both locks. Ranges of a closed arena in which nothing lives go back, as many as chance has it. */
static void give_parts(unsigned place, struct seam_stream *const *streams, uint32_t count)
{
	struct seam_arena *arena = &m.arenas[place];
	for (uint64_t tries = below(20); tries > 0; tries--) {
		uint64_t begin = below(arena->bytes / 512) * 512, end = begin + 512 + below(8) * (256 << 10);
		end = end < arena->bytes ? end : arena->bytes;
		if (has_planned(place, begin, end))
			continue;
		uint64_t before = arena->leased_bytes,
			 bytes = seam__arena_give_part(&m.engine, arena, begin, end, streams, count);
		expect(arena->leased_bytes + bytes == before, "what was given back is not what is leased less");
		m.counts[COUNT_PARTS] += bytes != 0;
	}
}

/* With both locks. The arena in use becomes one of the closed ones, if there is a place. */
static uint64_t close_arena(void)
{
	uint32_t busy[CHUNKS] = {0};
	struct seam_stream *streams[STREAMS];
	struct seam_arena *arena = &m.arenas[0];
	unsigned place = 1, set = 0;
	while (place < ARENAS && m.arenas[place].state != SEAM_ARENA_NONE)
		place++;
	if (arena->state == SEAM_ARENA_NONE || place == ARENAS)
		return 0;
	for (unsigned i = 0; i < m.planned_count; i++) {
		struct planned *planned = &m.planned[i];
		if (planned->arena != 0)
			continue;
		planned->arena = place;
		uint32_t last = seam__arena_chunk_at(arena, planned->offset + planned->bytes - 1);
		for (uint32_t c = seam__arena_chunk_at(arena, planned->offset); c <= last; c++)
			busy[c]++;
	}
	for (uint32_t i = 0; i < arena->count; i++)
		set |= m.used[0][i];
	uint64_t before = arena->leased_bytes;
	uint32_t count = entries(set, streams);
	seam__arena_close(&m.engine, arena, busy, streams, count);
	m.arenas[place] = *arena;
	*arena = (struct seam_arena){0};
	give_parts(place, streams, count);
	return before - m.arenas[place].leased_bytes + 1; /* kept chunks are freed too */
}

void op_close(void)
{
	enter();
	(void)close_arena();
	leave();
}

void op_finish(void)
{
	struct seam_arena *arena = &m.arenas[1 + below(ARENAS - 1)];
	if (arena->state != SEAM_ARENA_CLOSED)
		return;
	enter();
	enum seam_rc rc = seam__arena_finish(&m.engine, arena, UINT32_MAX);
	leave();
	m.counts[COUNT_FINISHED] += rc == SEAM_OK;
	expect_failure(rc == SEAM_BUSY ? SEAM_OK : rc);
}

uint64_t spare(void *user, const struct seam_ask *ask, uint64_t bytes, enum seam_spare what)
{
	uint64_t lent = 0;
	(void)user;
	m.counts[COUNT_SPARED]++;
	if (what == SEAM_SPARE_ALL)
		return close_arena();
	if (what == SEAM_SPARE_PASSED || m.arenas[0].state != SEAM_ARENA_OPEN)
		return 0;
	for (uint32_t i = 0; i < m.arenas[0].count && lent < bytes; i++)
		lent += lend(i, ask->stream);
	return lent;
}

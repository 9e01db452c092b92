/* arena_world.c: the device's side of the model, and what must be true after every operation; see arena_world.h. */
#include "arena_world.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "meta.h"

struct world m;

_Noreturn void fail(const char *what)
{
	fprintf(stderr, "operation %" PRIu64 " (%s): %s\n", m.op, m.doing, what);
	exit(1);
}

void expect_failure(enum seam_rc rc)
{
	bool injected = m.nth != 0 && (rc == SEAM_DRIVER || rc == SEAM_OOM_META);
	expect(rc == SEAM_OK || rc == SEAM_OOM_DEVICE || injected, seam_rc_name(rc));
}

uint64_t below(uint64_t limit)
{
	uint64_t x = m.random += UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return limit == 0 ? 0 : (x ^ (x >> 31)) % limit;
}

/* The model's own calls do not fail. */
void arm(void)
{
	if (m.nth == 0 || below(3) != 0)
		return;
	if (m.metadata)
		seam__meta_fail_at(m.meta, 1 + below(m.nth));
	else
		seam__driver_fail_at(m.driver, 1 + below(m.nth), 1u << SEAM_DRV_MEMORY, SEAM_CU_UNKNOWN);
}

void disarm(void)
{
	seam__meta_fail_at(m.meta, 0);
	seam__driver_fail_at(m.driver, 0, 0, 0);
}

void enter(void)
{
	seam__mutex_lock(&m.engine.change);
	seam__mutex_lock(&m.engine.lock);
	arm();
}

void leave(void)
{
	disarm();
	seam__mutex_unlock(&m.engine.lock);
	seam__mutex_unlock(&m.engine.change);
}

void launch(uint64_t va, uint64_t bytes, unsigned stream, bool write, uint32_t value)
{
	static const uint64_t durations_ns[] = {0, 1000, 5000000, 200000000, 1000000000, UINT64_C(20000000000)};
	const struct seam_emu_range range = {va, bytes, write};
	int cu = seam__emu_launch(m.driver, m.streams[stream], &range, 1, durations_ns[below(6)], value);
	expect(cu == SEAM_CU_SUCCESS, seam__emu_violation_text(m.driver));
}

void order(unsigned from, unsigned to)
{
	expect(seam__drv_event_record(m.driver, m.events[from], m.streams[from]) == SEAM_CU_SUCCESS &&
			seam__drv_stream_wait_event(m.driver, m.streams[to], m.events[from]) == SEAM_CU_SUCCESS,
		"no order");
}

void check_content(uint64_t va, uint64_t bytes, unsigned stream, uint32_t value)
{
	uint32_t words[3][16] = {0};
	const uint64_t places[3] = {va, va + below(bytes / 512) * 512, va + bytes - sizeof words[0]};
	for (int i = 0; i < 3; i++)
		expect(seam__drv_copy_to_host(m.driver, words[i], places[i], sizeof words[i], m.streams[stream]) ==
				SEAM_CU_SUCCESS,
			"no copy");
	expect(seam__drv_stream_sync(m.driver, m.streams[stream]) == SEAM_CU_SUCCESS, "no synchronisation");
	for (int i = 0; i < 3 * 16; i++)
		expect(words[i / 16][i % 16] == value, "the content of a live block has changed");
}

uint32_t entries(unsigned set, struct seam_stream **streams)
{
	uint32_t count = 0;
	disarm();
	for (unsigned s = 0; s < STREAMS; s++) {
		if ((set >> s & 1) != 0)
			expect(seam__engine_stream(&m.engine, m.streams[s], &streams[count++]) == SEAM_OK,
				"a stream is unknown");
	}
	arm();
	return count;
}

static void add_gap(void *user, uint64_t begin, uint64_t end)
{
	expect(begin < end, "an empty gap");
	*(uint64_t *)user += end - begin;
}

uint64_t gap_bytes(unsigned arena, uint64_t begin, uint64_t end)
{
	uint64_t bytes = 0;
	seam__arena_gaps(&m.arenas[arena], begin, end, add_gap, &bytes);
	return bytes;
}

/* What a block of the engine uses is nobody's in an arena that has its chunk. */
static void check_block(const struct seam_block *block)
{
	for (uint32_t i = 0; i < block->view->slot_count; i++) {
		const struct seam_slot *slot = &block->view->slots[i];
		if (slot->offset >= block->offset + block->bytes || slot->offset + slot->bytes <= block->offset)
			continue;
		uint64_t begin = block->offset > slot->offset ? block->offset - slot->offset : 0;
		uint64_t end = block->offset + block->bytes - slot->offset;
		end = end < slot->bytes ? end : slot->bytes;
		for (unsigned a = 0; a < ARENAS; a++) {
			for (uint32_t c = 0; c < m.arenas[a].count; c++) {
				uint64_t at = m.arenas[a].chunks[c].offset;
				if (m.arenas[a].chunks[c].chunk == slot->mapping->chunk)
					expect(gap_bytes(a, at + begin, at + end) == end - begin,
						"I2: a live block's bytes are leased");
			}
		}
	}
}

static void check_account(void)
{
	const struct seam_engine_counts *counts = &m.engine.counts;
	uint64_t bytes = counts->live_bytes + counts->pending_bytes + counts->leased_bytes, leased = 0;
	for (int i = 0; i < SEAM_CLASS_COUNT; i++) {
		const struct seam_ppool *ppool = &m.engine.common.classes[i];
		bytes += ppool->any.bytes;
		for (uint32_t s = 0; s < ppool->stream_capacity; s++)
			bytes += ppool->of_stream[s].bytes;
	}
	expect(bytes == m.engine.memory.reserved_bytes, "bytes are lost, or counted twice");
	for (unsigned a = 0; a < ARENAS; a++)
		leased += m.arenas[a].leased_bytes;
	expect(leased == counts->leased_bytes, "leased bytes");
}

void check_all(void)
{
	const char *broken = seam__engine_check(&m.engine);
	for (unsigned a = 0; a < ARENAS && broken == NULL; a++)
		broken = seam__arena_check(&m.engine, &m.arenas[a]);
	if (broken != NULL)
		fail(broken);
	check_account();
	for (unsigned i = 0; i < m.live_count; i++)
		check_block(m.live[i].block);
	for (unsigned i = 0; i < m.planned_count; i++) {
		const struct planned *planned = &m.planned[i];
		expect(gap_bytes(planned->arena, planned->offset, planned->offset + planned->bytes) == 0,
			"a block of an arena is not leased");
	}
	expect(seam__emu_violations_all(m.driver) == 0, seam__emu_violation_text(m.driver));
}

/* arena.c: random operations on one engine and its arenas over real emulated memory: arena [SEED [OPERATIONS [NTH
 * memory|metadata]]].
 *
 * Blocks of the engine and blocks of arenas hold patterns, which are looked at before they are freed; every kernel
 * tells the emulator what it touches, so that the judge sees what is used without an order. A block of an arena goes
 * wherever the arena has no gap and no other such block: no plan is needed for that. Lent chunks, a second arena beside
 * one that was closed, and the engine that borrows (seam_engine.spare) are part of it. With NTH, in a third of the
 * operations one of the engine's first NTH calls fails.
 *
 * After every operation: all invariants of the engine and the arenas; what is live at home lies in gaps; the account of
 * bytes.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena_world.h"
#include "check.h"
#include "meta.h"

static void op_alloc(void)
{
	static const uint64_t sizes[] = {512, 4096, 300 << 10, 1 << 20, 3 << 20, 6 << 20, 2 << 20, 4 << 20};
	unsigned stream = (unsigned)below(STREAMS);
	if (m.live_count == LIVE)
		return;
	uint64_t bytes = (sizes[below(8)] + below(3) * 512) / 512 * 512;
	struct seam_ask ask = {.group = &m.engine.common, .bytes = bytes, .requested_bytes = bytes, .tag = below(2)};
	ask.class = bytes < MIB ? SEAM_CLASS_SMALL : SEAM_CLASS_LARGE;
	struct seam_block *block = NULL;
	seam__mutex_lock(&m.engine.lock);
	(void)entries(1u << stream, &ask.stream);
	enum seam_rc rc = seam__engine_alloc(&m.engine, &ask, &block);
	disarm();
	seam__mutex_unlock(&m.engine.lock);
	m.counts[rc == SEAM_OK ? COUNT_ALLOC : COUNT_FAILED]++;
	expect(rc == SEAM_OK || rc == SEAM_OOM_DEVICE || (m.nth != 0 && (rc == SEAM_DRIVER || rc == SEAM_OOM_META)),
		seam_rc_name(rc));
	if (rc != SEAM_OK)
		return;
	struct live live = {block, stream, 0, (uint32_t)below(UINT32_MAX) | 1u};
	launch(block->va, block->bytes, stream, true, live.value);
	m.live[m.live_count++] = live;
}

static void op_record(void)
{
	struct live *live = &m.live[below(m.live_count)];
	unsigned stream = (unsigned)below(STREAMS);
	struct seam_stream *entry = NULL;
	if (m.live_count == 0 || stream == live->stream)
		return;
	enter();
	(void)entries(1u << stream, &entry);
	enum seam_rc rc = seam__engine_record(&m.engine, live->block, entry);
	leave();
	if (rc != SEAM_OK)
		return;
	order(live->stream, stream);
	launch(live->block->va, live->block->bytes, stream, false, 0);
	live->uses |= 1u << stream;
}

static void op_free(void)
{
	if (m.live_count == 0)
		return;
	struct live *live = &m.live[below(m.live_count)];
	if (below(6) == 0)
		check_content(live->block->va, live->block->bytes, live->stream, live->value);
	enter();
	seam__engine_free(&m.engine, live->block);
	leave();
	*live = m.live[--m.live_count];
}

static void op_trim(void)
{
	uint64_t released = 0;
	enter();
	seam__engine_poll(&m.engine, false);
	enum seam_rc rc = seam__engine_trim(&m.engine, below(64) * MIB, &released);
	leave();
	expect_failure(rc);
}

static void op_wait(void)
{
	enter();
	enum seam_rc rc = seam__engine_wait(&m.engine);
	leave();
	expect_failure(rc);
}

static const struct {
	const char *name;
	void (*run)(void);
	unsigned weight;
} operations[] = {
	{"alloc", op_alloc, 30},
	{"free", op_free, 24},
	{"record", op_record, 4},
	{"begin", op_begin, 20},
	{"prepare", op_prepare, 20},
	{"open", op_open, 20},
	{"extend", op_extend, 1},
	{"plan", op_plan, 50},
	{"unplan", op_unplan, 14},
	{"lend", op_lend, 6},
	{"collect", op_collect, 6},
	{"close", op_close, 1},
	{"finish", op_finish, 4},
	{"trim", op_trim, 2},
	{"wait", op_wait, 1},
};

enum { OPERATIONS = sizeof operations / sizeof operations[0] };

static void step(void)
{
	uint64_t all = 0, at;
	for (unsigned i = 0; i < OPERATIONS; i++)
		all += operations[i].weight;
	at = below(all);
	unsigned i = 0;
	while (at >= operations[i].weight)
		at -= operations[i++].weight;
	m.op++;
	m.doing = operations[i].name;
	operations[i].run();
	check_all();
}

static void open_world(void)
{
	const struct seam_emu_config config = {.memory = SEAM_EMU_REAL, .capacity_bytes = 256 * MIB};
	const struct seam_phys_props props = {.where = {SEAM_AT_DEVICE, 0}};
	const struct seam_policy policy = {.chunk_bytes = (1 + below(2)) * 2 * MIB,
		.small_bytes = MIB,
		.reuse = below(2) == 0 ? SEAM_REUSE_PASSED : SEAM_REUSE_WAIT};
	m.doing = "open";
	m.meta = seam__meta_create(0);
	expect(m.meta != NULL && seam__emu_create(&config, NULL, 0, &m.driver) == SEAM_OK, "no device");
	expect(seam__engine_init(&m.engine, m.driver, m.meta, &policy, &props) == SEAM_OK, "no engine");
	m.engine.memory.capacity_bytes = (80 + below(3) * 40) * MIB;
	m.engine.spare = below(4) == 0 ? NULL : spare;
	for (unsigned s = 0; s < STREAMS; s++)
		expect(seam__drv_stream_create(m.driver, SEAM_STREAM_NONBLOCKING, &m.streams[s]) == SEAM_CU_SUCCESS &&
				seam__drv_event_create(m.driver, &m.events[s]) == SEAM_CU_SUCCESS,
			"no stream");
}

/* I11: arenas are in whatever state they are. */
static void close_world(void)
{
	struct seam_emu_usage usage;
	m.doing = "close";
	expect(seam__drv_device_sync(m.driver) == SEAM_CU_SUCCESS, "no synchronisation");
	for (unsigned a = 0; a < ARENAS; a++)
		seam__arena_fini(&m.engine, &m.arenas[a]);
	seam__engine_fini(&m.engine);
	for (unsigned s = 0; s < STREAMS; s++)
		expect(seam__drv_event_destroy(m.driver, m.events[s]) == SEAM_CU_SUCCESS, "an event stays");
	seam__emu_usage(m.driver, &usage);
	expect(usage.handles + usage.mappings + usage.reservations + usage.events == 0,
		"I11: the device still holds something");
	expect(seam__emu_violations_all(m.driver) == 0, seam__emu_violation_text(m.driver));
	seam__driver_destroy(m.driver);
	expect(seam__meta_destroy(m.meta) == 0, "I11: metadata is left");
}

int main(int argc, char **argv)
{
	uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1,
		 count = argc > 2 ? strtoull(argv[2], NULL, 10) : 5000;
	m.random = seed;
	open_world();
	m.nth = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
	m.metadata = argc > 4 && strcmp(argv[4], "metadata") == 0;
	while (m.op < count)
		step();
	close_world();
	printf("seed %" PRIu64 ": %" PRIu64 " operations, %" PRIu64 " blocks of the engine, %" PRIu64
	       " of arenas; %" PRIu64 " opened, %" PRIu64 " finished, %" PRIu64 " parts given back, %" PRIu64
	       " chunks lent, %" PRIu64 " times collected, %" PRIu64 " borrowed from, %" PRIu64 " refused\n",
		seed, m.op, m.counts[COUNT_ALLOC], m.counts[COUNT_PLANNED], m.counts[COUNT_OPENED],
		m.counts[COUNT_FINISHED], m.counts[COUNT_PARTS], m.counts[COUNT_LENT], m.counts[COUNT_COLLECTED],
		m.counts[COUNT_SPARED], m.counts[COUNT_FAILED]);
	return 0;
}

/* ops_measure.c: the measurements of one thread. */
#include "ops.h"

#include <stdio.h>
#include <stdlib.h>

#include <seam/stats.h>

#include "emu.h"
#include "opts.h"
#include "pool.h"
#include "samples.h"

#define MIB (UINT64_C(1) << 20)
#define CAPACITY_BYTES (UINT64_C(1) << 40)
#define HITS ((size_t)20000)
#define LEAST_HITS ((size_t)100)
#define ROW_NS UINT64_C(3000000000) /* no row takes longer, once it has the least number of samples */
#define HOLES ((size_t)200)
#define HOLE_BYTES (32 * MIB)
#define STITCH_BYTES (56 * MIB) /* two holes, less the chunks that they share with their neighbours */

static const char *const names[OPS_KINDS] = {
	[OPS_HIT] = "hit",
	[OPS_SPLIT] = "split",
	[OPS_REVIVE] = "revive",
	[OPS_STITCH] = "stitch",
	[OPS_GROWTH] = "growth",
	[OPS_THREADS] = "threads",
};

const char *ops_kind_name(enum ops_kind kind)
{
	return names[kind];
}

/* Sizes differ so that the free ones are spread over the order of sizes. */
static enum seam_rc fill(struct ops_pool *pool)
{
	void **blocks = malloc((pool->blocks + 1) * sizeof(*blocks));
	if (blocks == NULL)
		return SEAM_OOM_META;
	enum seam_rc rc = SEAM_OK;
	uint64_t made = 0;
	for (; made < pool->blocks && rc == SEAM_OK; made++)
		rc = seam_alloc(pool->pool, 4096 + 512 * (made * 37 % 121), NULL, &blocks[made]);
	for (uint64_t i = 0; i < made && rc == SEAM_OK; i += 2)
		rc = seam_free(pool->pool, blocks[i]);
	free(blocks);
	return rc;
}

enum seam_rc ops_open(uint64_t blocks, char *error, size_t error_bytes, struct ops_pool *ret_pool)
{
	struct ops_pool pool = {.blocks = blocks};
	struct seam_emu_config emu = {.memory = SEAM_EMU_BOOK, .capacity_bytes = CAPACITY_BYTES};
	struct seam_config given;
	struct seam_config config;
	seam_config_init(&given);
	given.chunk_bytes = 2 * MIB;
	given.small_bytes = 512; /* so that the blocks stand in the same order of sizes as what is measured */
	enum seam_rc rc = seam__opts_resolve(&given, NULL, error, error_bytes, &config);
	if (rc == SEAM_OK)
		rc = seam__emu_create(&emu, error, error_bytes, &pool.driver);
	if (rc == SEAM_OK)
		rc = seam__pool_create_on(pool.driver, &config, &pool.pool);
	if (rc == SEAM_OK)
		rc = fill(&pool);
	if (rc != SEAM_OK) {
		ops_close(&pool);
		return rc;
	}
	seam__clock_init(&pool.clock);
	*ret_pool = pool;
	return SEAM_OK;
}

void ops_close(struct ops_pool *pool)
{
	seam_pool_destroy(pool->pool);
	seam__driver_destroy(pool->driver);
}

static struct seam_stats stats_of(const struct ops_pool *pool)
{
	struct seam_stats stats = {.size = sizeof(stats), .version = SEAM_STATS_VERSION};
	if (seam_stats_get(pool->pool, &stats) != SEAM_OK)
		stats.s1 = 0;
	return stats;
}

static uint64_t count_of(const struct seam_stats *stats, enum ops_kind kind)
{
	const uint64_t counts[OPS_KINDS] = {
		[OPS_HIT] = stats->s1,
		[OPS_SPLIT] = stats->s2,
		[OPS_REVIVE] = stats->s1r,
		[OPS_STITCH] = stats->s3,
		[OPS_GROWTH] = stats->s4,
		[OPS_THREADS] = stats->s1,
	};
	return counts[kind];
}

/* A measurement in progress. */
struct session {
	struct ops_pool *pool;
	enum ops_kind kind;
	uint64_t bytes;
	uint64_t count_before;
	struct samples allocs;
	struct samples frees;
};

static enum seam_rc begin(struct session *session, struct ops_pool *pool, enum ops_kind kind, uint64_t bytes)
{
	struct seam_stats stats = stats_of(pool);
	*session = (struct session){.pool = pool, .kind = kind, .bytes = bytes, .count_before = count_of(&stats, kind)};
	bool made = samples_init(&session->allocs, HITS) && samples_init(&session->frees, HITS);
	return made ? SEAM_OK : SEAM_OOM_META;
}

static enum seam_rc timed_alloc(struct session *session, void **ret_block)
{
	uint64_t start = seam__clock_ticks();
	enum seam_rc rc = seam_alloc(session->pool->pool, session->bytes, NULL, ret_block);
	samples_add(&session->allocs, seam__clock_ticks() - start);
	return rc;
}

static enum seam_rc timed_free(struct session *session, void *block)
{
	uint64_t start = seam__clock_ticks();
	enum seam_rc rc = seam_free(session->pool->pool, block);
	samples_add(&session->frees, seam__clock_ticks() - start);
	return rc;
}

/* Allocates and frees the same size again and again. */
static enum seam_rc repeat(struct session *session, size_t times)
{
	enum seam_rc rc = SEAM_OK;
	uint64_t deadline_ns = seam__clock_ns() + ROW_NS;
	for (size_t i = 0; i < times && rc == SEAM_OK; i++) {
		if (i >= LEAST_HITS && i % LEAST_HITS == 0 && seam__clock_ns() > deadline_ns)
			break;
		void *block;
		rc = timed_alloc(session, &block);
		if (rc == SEAM_OK)
			rc = timed_free(session, block);
	}
	return rc;
}

static enum seam_rc end(struct session *session, enum seam_rc rc, struct ops_row *ret_row)
{
	if (rc == SEAM_OK) {
		struct seam_stats stats = stats_of(session->pool);
		const struct seam_clock *clock = &session->pool->clock;
		uint64_t samples = session->allocs.count;
		*ret_row = (struct ops_row){
			.kind = session->kind,
			.blocks = session->pool->blocks,
			.bytes = session->bytes,
			.threads = 1,
			.samples = samples,
			.strays = samples - (count_of(&stats, session->kind) - session->count_before),
			.alloc_ns_p50 = samples_percentile(&session->allocs, clock, 50),
			.alloc_ns_p99 = samples_percentile(&session->allocs, clock, 99),
			.freed = session->frees.count > 0,
		};
		if (ret_row->freed) {
			ret_row->free_ns_p50 = samples_percentile(&session->frees, clock, 50);
			ret_row->free_ns_p99 = samples_percentile(&session->frees, clock, 99);
		}
	}
	samples_fini(&session->allocs);
	samples_fini(&session->frees);
	return rc;
}

/* Blocks of `bytes` side by side, with every other one free: holes of exactly that size. */
static enum seam_rc make_holes(struct ops_pool *pool, uint64_t bytes, void **guards, size_t count)
{
	enum seam_rc rc = SEAM_OK;
	void **holes = malloc(count * sizeof(*holes));
	if (holes == NULL)
		return SEAM_OOM_META;
	for (size_t i = 0; i < count && rc == SEAM_OK; i++) {
		rc = seam_alloc(pool->pool, bytes, NULL, &holes[i]);
		if (rc == SEAM_OK)
			rc = seam_alloc(pool->pool, bytes, NULL, &guards[i]);
	}
	for (size_t i = 0; i < count && rc == SEAM_OK; i++)
		rc = seam_free(pool->pool, holes[i]);
	free(holes);
	return rc;
}

static enum seam_rc drop_all(struct ops_pool *pool, void **blocks, size_t count)
{
	enum seam_rc rc = SEAM_OK;
	for (size_t i = 0; i < count && rc == SEAM_OK; i++)
		rc = seam_free(pool->pool, blocks[i]);
	return rc;
}

enum seam_rc ops_hit(struct ops_pool *pool, uint64_t bytes, struct ops_row *ret_row)
{
	struct session session;
	void *guard = NULL;
	enum seam_rc rc = make_holes(pool, bytes, &guard, 1);
	if (rc == SEAM_OK)
		rc = begin(&session, pool, OPS_HIT, bytes);
	if (rc == SEAM_OK)
		rc = end(&session, repeat(&session, HITS), ret_row);
	return rc == SEAM_OK ? seam_free(pool->pool, guard) : rc;
}

enum seam_rc ops_split(struct ops_pool *pool, struct ops_row *ret_row)
{
	struct session session;
	void *guard = NULL;
	enum seam_rc rc = make_holes(pool, HOLE_BYTES, &guard, 1);
	if (rc == SEAM_OK)
		rc = begin(&session, pool, OPS_SPLIT, HOLE_BYTES / 2 + 512);
	if (rc == SEAM_OK)
		rc = end(&session, repeat(&session, HITS), ret_row);
	return rc == SEAM_OK ? seam_free(pool->pool, guard) : rc;
}

/* Requests of two holes each, until the holes are used up; then one of these views comes and goes. */
static enum seam_rc stitch_holes(
	struct ops_pool *pool, void **views, struct ops_row *ret_stitch, struct ops_row *ret_revive)
{
	struct session session;
	enum seam_rc rc = begin(&session, pool, OPS_STITCH, STITCH_BYTES);
	if (rc != SEAM_OK)
		return rc;
	for (size_t i = 0; i < HOLES / 2 && rc == SEAM_OK; i++)
		rc = timed_alloc(&session, &views[i]);
	rc = end(&session, rc, ret_stitch);
	if (rc == SEAM_OK)
		rc = seam_free(pool->pool, views[0]);
	if (rc == SEAM_OK)
		rc = begin(&session, pool, OPS_REVIVE, STITCH_BYTES);
	if (rc == SEAM_OK)
		rc = end(&session, repeat(&session, HITS), ret_revive);
	return rc == SEAM_OK ? drop_all(pool, views + 1, HOLES / 2 - 1) : rc;
}

enum seam_rc ops_stitch(struct ops_pool *pool, struct ops_row *ret_stitch, struct ops_row *ret_revive)
{
	void *guards[HOLES];
	void *views[HOLES / 2];
	enum seam_rc rc = make_holes(pool, HOLE_BYTES, guards, HOLES);
	if (rc == SEAM_OK)
		rc = stitch_holes(pool, views, ret_stitch, ret_revive);
	return rc == SEAM_OK ? drop_all(pool, guards, HOLES) : rc;
}

enum seam_rc ops_growth(struct ops_pool *pool, struct ops_row *ret_row)
{
	struct session session;
	void *blocks[HOLES];
	enum seam_rc rc = seam_trim(pool->pool, 0, NULL);
	if (rc == SEAM_OK)
		rc = begin(&session, pool, OPS_GROWTH, 2 * HOLE_BYTES);
	if (rc != SEAM_OK)
		return rc;
	for (size_t i = 0; i < HOLES && rc == SEAM_OK; i++)
		rc = timed_alloc(&session, &blocks[i]);
	rc = end(&session, rc, ret_row);
	return rc == SEAM_OK ? drop_all(pool, blocks, HOLES) : rc;
}

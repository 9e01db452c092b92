/* ops.h: what one kind of request costs in a pool that holds many blocks: the measurements of the program `ops`.
 *
 * The pool lives on an emulated device with bookkeeping memory: times are those of Seam itself, and, where the driver
 * is called, of the emulator. They include reading the processor's counter twice.
 *
 * A measurement knows which state of BestFit it means to measure, and counts the requests that were served otherwise
 * (`strays`). Not here: the command line and output (ops.c).
 */
#ifndef BENCH_OPS_H
#define BENCH_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <seam/seam.h>

#include "clock.h"

enum ops_kind { OPS_HIT, OPS_SPLIT, OPS_REVIVE, OPS_STITCH, OPS_GROWTH, OPS_THREADS, OPS_KINDS };

struct ops_row {
	enum ops_kind kind;
	uint64_t blocks; /* live and free ones in the pool beforehand */
	uint64_t bytes;  /* of a request */
	unsigned threads;
	uint64_t samples;
	uint64_t strays; /* requests that were served in another state */
	double alloc_ns_p50, alloc_ns_p99;
	bool freed; /* the next two are valid */
	double free_ns_p50, free_ns_p99;
	double pairs_per_s; /* threads: allocations, each with its free, of all threads together */
};

struct seam_driver;

struct ops_pool {
	struct seam_driver *driver;
	struct seam_pool *pool;
	struct seam_clock clock;
	uint64_t blocks;
};

const char *ops_kind_name(enum ops_kind kind); /* "hit" */

/* A pool with `blocks` blocks of 4 to 64 KiB, every other one free. error: as in rc.h. */
SEAM_MUST_USE enum seam_rc ops_open(uint64_t blocks, char *error, size_t error_bytes, struct ops_pool *ret_pool);
void ops_close(struct ops_pool *pool);

/* Each leaves the pool with the blocks that it found; caches may have grown. Errors: those of seam_alloc(). */
SEAM_MUST_USE enum seam_rc ops_hit(struct ops_pool *pool, uint64_t bytes, struct ops_row *ret_row);
SEAM_MUST_USE enum seam_rc ops_split(struct ops_pool *pool, struct ops_row *ret_row);
SEAM_MUST_USE enum seam_rc ops_stitch(struct ops_pool *pool, struct ops_row *ret_stitch, struct ops_row *ret_revive);
SEAM_MUST_USE enum seam_rc ops_growth(struct ops_pool *pool, struct ops_row *ret_row);
SEAM_MUST_USE enum seam_rc ops_threads(struct ops_pool *pool, unsigned threads, struct ops_row *ret_row);

#endif

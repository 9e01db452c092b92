/* torch_snapshot.h: one device's part of a PyTorch memory snapshot, as flat records.
 *
 * Not here: pickles (pickle.h); what was live before the recording and what becomes which event (import_snapshot.c).
 * Eras: a bare list of segments; a dict of segments and device_traces; later with times, settings and annotations;
 * compile_context; user_metadata; pool_id. What an era lacks is filled in: a block without an address follows its
 * predecessor, one without a requested size takes it from its history or from its own size, an entry without a pool
 * takes that of the segment around it.
 * Texts point into the pickle, which must outlive the snapshot.
 */
#ifndef SEAM_TORCH_H
#define SEAM_TORCH_H

#include <stdbool.h>

#include "grow.h"
#include "pickle.h"
#include "ranges.h"

enum seam_torch_action {
	SEAM_TORCH_OTHER, /* "snapshot", and what this version does not know */
	SEAM_TORCH_ALLOC,
	SEAM_TORCH_FREE_REQUESTED,
	SEAM_TORCH_FREE_COMPLETED,
	SEAM_TORCH_SEGMENT_ALLOC, /* also segment_map */
	SEAM_TORCH_SEGMENT_FREE,  /* also segment_unmap */
	SEAM_TORCH_OOM
};

struct seam_torch_text {
	const char *text; /* not zero-terminated; NULL: none */
	size_t bytes;
};

struct seam_torch_entry {
	enum seam_torch_action action;
	uint32_t pool; /* small number, 0: the default pool */
	bool has_pool; /* false: the era does not tell */
	uint64_t address;
	uint64_t size; /* as the action has it: requested for blocks */
	uint64_t stream;
	uint64_t time_us; /* valid when has_times */
	struct seam_torch_text metadata;
};

/* A block that was in use when the snapshot was taken. */
struct seam_torch_block {
	uint64_t address;
	uint64_t size; /* requested */
	uint64_t stream;
	uint32_t pool;
};

struct seam_torch_annotation {
	struct seam_torch_text name;
	uint64_t time_us;
	bool begins;
};

struct seam_torch_snapshot {
	uint32_t device;
	bool has_times;              /* every entry has time_us */
	struct seam_grow entries;    /* struct seam_torch_entry, as recorded */
	struct seam_grow blocks;     /* struct seam_torch_block */
	struct seam_grow notes;      /* struct seam_torch_annotation, as recorded; empty without times */
	struct seam_grow pools;      /* pairs of uint64_t: the private pools, number 1 first */
	struct seam_ranges segments; /* what was reserved when the snapshot was taken */
};

/* Reads the device's part. device: as in import.h. On success call seam__torch_snapshot_fini(); on error nothing is
 * kept. Errors: SEAM_FORMAT (no snapshot), SEAM_CORRUPT, SEAM_NOT_FOUND (no such device), SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__torch_snapshot_init(struct seam_torch_snapshot *snapshot,
	const struct seam_pickle *pickle, int device, struct seam_trace_error *error);
void seam__torch_snapshot_fini(struct seam_torch_snapshot *snapshot);

/* The first broken invariant's name of its parts, or NULL. */
const char *seam__torch_snapshot_check(const struct seam_torch_snapshot *snapshot);

#endif

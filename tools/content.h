/* content.h: proves that blocks keep their contents: each is filled with a pattern of its own when it is allocated, and
 * read back when it is freed.
 *
 * Fills and reads are work on the block's own stream, and are waited for late (when a buffer of reads is full): so a
 * block is freed, and its memory reused, while they are pending, as in a real program. A block is cut where the address
 * is a multiple of 2 MiB, and every piece has another pattern, so memory that stands behind two addresses of one block
 * shows too. Where a trace needs more than CONTENT_FULL_BYTES at its peak, or an emulated device more than the host has
 * available, only the first and the last page of each piece are used: those of every chunk, for chunks begin and end at
 * such addresses. One thread at a time.
 */
#ifndef TOOLS_CONTENT_H
#define TOOLS_CONTENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "device.h"

#define CONTENT_FULL_BYTES (UINT64_C(12) << 30)

struct content_read;

struct content {
	struct device *device;
	bool pages_only;
	unsigned char *buffer; /* pinned host memory for reads */
	uint64_t used_bytes;   /* of it */
	struct content_read *reads;
	size_t read_count;
	uint64_t checked_bytes;
	uint64_t wrong_blocks; /* reads that found something else */
	char first_wrong[160]; /* one line about the first of them */
};

/* pages_only: even where all would fit. Errors: SEAM_OOM_META, SEAM_OOM_HOST, SEAM_DRIVER. */
SEAM_MUST_USE enum seam_rc content_init(
	struct content *content, struct device *device, uint64_t peak_live_bytes, bool pages_only);
void content_fini(struct content *content);

/* Fills block number `block` on `stream`. Errors: SEAM_DRIVER. */
SEAM_MUST_USE enum seam_rc content_fill(
	struct content *content, uint32_t block, uint64_t va, uint64_t bytes, uint64_t stream);

/* Asks for the block's content on `stream`; what differs is known after content_drain() at the latest. Errors:
 * SEAM_DRIVER. */
SEAM_MUST_USE enum seam_rc content_read(
	struct content *content, uint32_t block, uint64_t va, uint64_t bytes, uint64_t stream);

/* Waits for all reads and compares them. Errors: SEAM_DRIVER. */
SEAM_MUST_USE enum seam_rc content_drain(struct content *content);

#endif

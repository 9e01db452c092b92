/* price.h: how many mappings a byte is worth: when the pool grows although what is free would do, stitched.
 *
 * A stitched view costs driver calls once, and none when it is used again; memory that the pool grows by costs bytes
 * for good. Most programs use their views again, so that stitching ends after a few iterations. Others ask for other
 * sizes each time, or free in another order: they pay for new views in every iteration. So mappings have an account.
 * Stitching may make SEAM_PRICE_MAPPINGS for each chunk of the pool, and one more for each request that is served.
 * Beyond that a request is served by growth, until the pool has a tenth more than the most that lived. Where it has, or
 * where the device has no room for all of the tenth, everything is stitched.
 *
 * While there is room to grow that bounds what stitching costs over any stretch of requests: one mapping for each,
 * those of the chunks, and those of one more view. Room is what the device has, less what this pool has: what others
 * have shows when the device refuses. All groups have one account.
 *
 * Not here: which chunks are stitched (gather.c), how the pool grows (grow.c).
 *
 * Locks: the engine's `lock`.
 */
#ifndef SEAM_PRICE_H
#define SEAM_PRICE_H

#include <stdbool.h>
#include <stdint.h>

struct seam_memory;

/* The figures behind the two are in bench/results/ablation.md, "A price for a byte". */
#define SEAM_PRICE_MAPPINGS 8u /* for each chunk: gpt2-VR makes 7.5 in its first iteration, and none later */
#define SEAM_PRICE_PARTS 10u   /* of the peak of live bytes: the pool may be larger by one of them */

struct seam_price {
	uint64_t owed;            /* mappings that were made, and that no request has paid for */
	uint64_t requests;        /* that have paid */
	uint64_t live_peak_bytes; /* the most that was live where the pool would stitch or grow, since it was trimmed */
};

/* So much is live, with the request for which the pool is to stitch or grow. */
void seam__price_note_live(struct seam_price *price, uint64_t live_bytes);

/* Memory went back to the device. The account begins anew, so that an earlier peak does not bring it back. */
void seam__price_restart(struct seam_price *price);

/* A new view maps so many chunks; so many requests were served by now. */
void seam__price_stitched(struct seam_price *price, uint64_t requests, uint64_t mappings);

/* The device refused growth that was favoured: it has less room than it says. Nothing is owed any more, so that the
 * device is not asked at every request. */
void seam__price_refused(struct seam_price *price);

/* True: growth by `bytes` is to serve a request that could be stitched. */
bool seam__price_favours_growth(
	const struct seam_price *price, const struct seam_memory *memory, uint64_t requests, uint64_t bytes);

#endif

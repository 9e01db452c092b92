/* swap_schedule.h: drawn schedules of tensors that leave an emulated device with real memory and come back, in any
 * order that the edges of seam_swap_await() and seam_swap_join() allow.
 *
 * Each tensor is filled with a value of its own, by kernels of drawn times; memory that it leaves is filled by others.
 * So a copy that runs too early or too late, or memory that is used too early, is a wrong value, and a RACE for the
 * emulator. A call that fails once, which `again` counts, is made again, or what it was for is given up, and nothing
 * may have come of it.
 */
#ifndef SEAM_TESTS_SWAP_SCHEDULE_H
#define SEAM_TESTS_SWAP_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include <seam/seam.h>
#include <seam/swap.h>

#define SWAP_TENSORS 10
#define SWAP_PARTS 3 /* at most so many parts of a tensor are a ticket */
#define SWAP_STREAMS 3

struct seam_driver;

enum swap_place { SWAP_NOWHERE, SWAP_ON_DEVICE, SWAP_LEAVING, SWAP_ON_HOST, SWAP_COMING };

struct swap_tensor {
	enum swap_place place;
	size_t parts;
	void *ptr[SWAP_PARTS];
	uint64_t bytes[SWAP_PARTS];
	uint32_t value; /* plus the part's number in each of its words */
	void *stream;
	uint64_t ticket; /* 0: none */
};

struct swap_schedule {
	struct seam_driver *driver;
	struct seam_pool *pool;
	struct seam_swap *swap;
	uint64_t random;
	void *streams[SWAP_STREAMS];
	struct swap_tensor tensors[SWAP_TENSORS];
	uint32_t last_value;
	uint64_t again;
	uint64_t refused; /* outs for which there was no host memory: the tensor stayed */
	uint64_t moved;   /* tensors that came back */
	char broken[200]; /* "": nothing is wrong */
};

/* Over a pool and an engine that the caller made and keeps. Makes streams. */
void swap_schedule_begin(struct swap_schedule *s, struct seam_driver *driver, struct seam_pool *pool,
	struct seam_swap *swap, uint64_t seed);

/* One step for one tensor. False: broken. */
bool swap_schedule_step(struct swap_schedule *s);

/* Brings every tensor back, compares it and frees it; destroys the streams. False: broken. */
bool swap_schedule_end(struct swap_schedule *s);

#endif

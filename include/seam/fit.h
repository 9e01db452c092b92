/* fit.h: how a training program fits a device: what its blocks keep, recompute or send to the host, and which weights
 * stay on the device. A problem goes in; recipes, what they mean as operations, how long those take and how much memory
 * they need come out.
 *
 *     seam_fit_search(&problem, NULL, &front)            recipes that fit; the last one is the fastest
 *     seam_fit_schedule(&problem, &recipe, &schedule)    what a recipe means: operations in the order of the program
 *     seam_fit_simulate(&problem, schedule, NULL, &prediction)
 *     seam_fit_check(&problem, &recipe, schedule)        NULL: it keeps FS1-FS7
 *
 * Not here: recording a program; running a schedule. All functions are pure: no device, no clock, no global state; the
 * same input gives the same output on every machine. Any thread may call them.
 *
 * Words. A *visit* is a stretch of an iteration in the order of the program: the forward or the backward pass of a
 * block, what is between, the optimizer's own work. A *block* is a repeated module; its *treatment* says what becomes
 * of what it holds for its backward pass. A *chunk* is the weights of one block, or of what is outside of blocks: it
 * *stays* on the device with its gradients and the optimizer's state, or it *comes*: its weights are loaded where a
 * visit needs them, its gradients leave, and the host's processor steps it. An *iteration* is `micro_batches` times
 * the visits but those of the optimizer, then the steps.
 *
 * A schedule lists the operations of one iteration in the order in which the program issues them. Each runs on one
 * of four lanes (compute, up, down, host): on a lane one behind the other, and behind what it is `after`. It begins
 * and ends with nothing on its way: no chunk that comes is on the device then, nothing is swapped out.
 *
 * Memory is accounted in the order of the list, not in time, since the program allocates in that order and memory goes
 * from hand to hand on the compute lane. The level begins with what always lives; operation by operation, it may rise
 * by top_bytes while the operation is issued, and is net_bytes higher behind it. A copy takes memory where it stands in
 * the list and waits for the operation of the compute lane before it; a DROP gives memory back, on the compute lane,
 * where it waits for the copy that read it. So the peak does not depend on speeds.
 *
 * Invariants of a schedule, named by seam_fit_check():
 * - FS1: an operation is on its lane, takes as long and copies as much as the problem says, and is after operations of
 *   the list; all visits are there, in order
 * - FS2: a visit runs only with its chunk on the device, loaded behind the chunk's step of the iteration before
 * - FS3: memory is given back behind its last reader, and taken behind the DROPs that come before in the list
 * - FS4: memory that is swapped out leaves behind its forward pass and is back before its backward pass, once
 * - FS5: gradients of a chunk that comes leave behind the backward passes that make them, once a micro-batch, before
 * its step; where the program needs all gradients for a step (SEAM_FIT_CLIPS), before any step
 * - FS6: every byte that copies and chunks take is returned by the end
 * - FS7: the level never exceeds the stated peak, nor host bytes the stated host bytes
 */
#ifndef SEAM_FIT_H
#define SEAM_FIT_H

#include <stddef.h>
#include <stdint.h>

#include <seam/rc.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SEAM_FIT_NONE UINT32_MAX /* no block, no chunk, no operation */

/* Treatments of a block. */
enum seam_fit_treatment {
	SEAM_FIT_KEEP,      /* as the program is */
	SEAM_FIT_RECOMPUTE, /* its forward pass runs again, before its backward pass */
	SEAM_FIT_SWAP,      /* what it holds goes to the host and comes back */
	SEAM_FIT_FROM_HOST, /* recomputed, from an input that goes to the host and comes back */
	SEAM_FIT_TREATMENTS
};

enum seam_fit_phase {
	SEAM_FIT_OTHER,    /* no pass of a block */
	SEAM_FIT_FORWARD,  /* of a block */
	SEAM_FIT_BACKWARD, /* of a block */
	SEAM_FIT_STEPPING  /* the optimizer's, once an iteration; behind all others */
};

/* A visit under one treatment. Bytes are those of tensors of the program, without weights, gradients of weights and the
 * optimizer's state. Of a block that is swapped: top_bytes counts what leaves, and what came back, as there all through
 * the visit; net_bytes is as if it had left, and as if it had not come back. */
struct seam_fit_curve {
	uint64_t compute_ns;
	uint64_t top_bytes; /* the most above the level at its begin */
	int64_t net_bytes;  /* the level at its end less that at its begin */
};

struct seam_fit_visit {
	uint32_t phase;
	uint32_t block;                                   /* whose passes these are; SEAM_FIT_NONE with other phases */
	uint32_t chunk;                                   /* whose weights it needs; SEAM_FIT_NONE: none */
	uint32_t gradients;                               /* not 0: it makes gradients of its chunk */
	struct seam_fit_curve under[SEAM_FIT_TREATMENTS]; /* by the treatment of its block; of no block: the first */
};

struct seam_fit_block {
	uint32_t allowed; /* 1 << treatment, or-ed: what may become of it; at least one */
	uint64_t
		swap_bytes[SEAM_FIT_TREATMENTS]; /* that leave behind its forward pass and come back; 0: nothing does */
};

struct seam_fit_chunk {
	uint64_t weight_bytes;
	uint64_t gradient_bytes;
	uint64_t state_bytes;    /* of the optimizer, on the device, if it stays */
	uint64_t host_bytes;     /* of host memory, if it comes: weights, gradients, state */
	uint64_t device_step_ns; /* if it stays */
	uint64_t host_step_ns;   /* if it comes */
	uint32_t must_stay;      /* not 0: it cannot come */
};

/* Speeds of copies, in bytes a second: one direction alone, and while both copy. 0: nothing can be copied. */
struct seam_fit_machine {
	uint64_t up, up_both;
	uint64_t down, down_both;
	uint64_t copy_ns; /* that each copy takes on top */
};

/* flags of a problem */
#define SEAM_FIT_CLIPS 0x1u /* a step needs all gradients: clipping, a GradScaler */
#define SEAM_FIT_OVERLAP_BACKWARD                                                             \
	0x2u /* the host steps a chunk once its gradients are there (without SEAM_FIT_CLIPS); \
		else all behind the last backward pass */
#define SEAM_FIT_PROBLEM_FLAGS 0x3u

#define SEAM_FIT_OPERATIONS_MOST (1u << 14) /* visits times micro_batches, blocks, chunks: at most so many each */
#define SEAM_FIT_BYTES_MOST (1ull << 40)    /* of one number of the problem, but the budgets */
#define SEAM_FIT_NS_MOST (1ull << 40)       /* likewise */
#define SEAM_FIT_SPEED_LEAST (1ull << 27)   /* of copies, bytes a second; both ways at least a 16th of one way */
#define SEAM_FIT_COPY_NS_MOST (1ull << 32)

/* All arrays are the caller's and only read. */
struct seam_fit_problem {
	size_t struct_bytes;                 /* sizeof(struct seam_fit_problem) */
	const struct seam_fit_visit *visits; /* in the order of the program */
	const struct seam_fit_block *blocks;
	const struct seam_fit_chunk *chunks; /* in the order of their first visits */
	uint32_t visit_count, block_count, chunk_count;
	uint32_t micro_batches; /* at least 1 */
	uint32_t flags;
	struct seam_fit_machine machine;
	uint64_t base_bytes;        /* live all the time on the device, beside chunks */
	uint64_t budget_bytes;      /* of the device: the peak may be no larger */
	uint64_t host_budget_bytes; /* of pinned host memory; 0: no limit */
};

/* Checks a problem: its sizes, its numbers, the limits, one forward and one backward pass of each block, chunks
 * in the order of their first visits. Errors: SEAM_INVALID, with `error` saying why in a line; SEAM_OOM_META. */
SEAM_API SEAM_MUST_USE enum seam_rc seam_fit_problem_check(
	const struct seam_fit_problem *problem, char *error, size_t error_bytes);

/* The arrays are the caller's. */
struct seam_fit_recipe {
	uint8_t *treatments; /* of each block: enum seam_fit_treatment */
	uint8_t *comes;      /* of each chunk: not 0: it comes */
	uint32_t buffers;    /* so many chunks that come are on the device at the same time, at most; at least 1 */
	uint32_t ahead; /* copies have so many visits' time: a block's swapped bytes begin to come back so many visits
			   before they are needed, and what leaves is given back so many visits behind. At least 1 */
};

enum seam_fit_lane { SEAM_FIT_COMPUTE, SEAM_FIT_UP, SEAM_FIT_DOWN, SEAM_FIT_HOST, SEAM_FIT_LANES };

enum seam_fit_kind {
#define SEAM_FIT_OP(name, lane, text) SEAM_FIT_##name,
#include <seam/fit_ops.def>
#undef SEAM_FIT_OP
	SEAM_FIT_KINDS
};

struct seam_fit_op {
	uint32_t kind;
	uint32_t lane;
	uint32_t subject;     /* the visit; the chunk; the block; of a DROP the operation whose memory it gives back */
	uint32_t micro_batch; /* from 0; of steps the last */
	uint32_t after[2];    /* operations that have to end first, beside those before it on its lane. SEAM_FIT_NONE:
				 none;    its own number or a later one: that operation in the iteration before */
	uint64_t ns;          /* of computing; of copies 0: it follows from bytes */
	uint64_t bytes;       /* that are copied */
	uint64_t top_bytes;
	int64_t net_bytes;
};

struct seam_fit_schedule {
	uint32_t op_count;
	const struct seam_fit_op *ops;
	uint64_t first_bytes; /* the level at the begin */
	uint64_t peak_bytes;
	uint32_t peak_op;
	uint64_t host_bytes; /* pinned: of chunks that come, and the most that is swapped out at a time */
};

/* Makes the schedule of a recipe, whether it fits the budgets or not. ret_schedule: seam_fit_schedule_free() it.
 * The rules: a chunk that comes is loaded as early as a buffer is free, or holds a chunk that is needed later than this
 * one is; it is dropped when its buffer is wanted, or behind its last visit. Loads go before what comes back.
 * Errors: SEAM_INVALID (the problem; the recipe: a treatment that is not allowed, a chunk that must stay, copies on a
 * machine that cannot copy), SEAM_OOM_META. */
SEAM_API SEAM_MUST_USE enum seam_rc seam_fit_schedule(const struct seam_fit_problem *problem,
	const struct seam_fit_recipe *recipe, struct seam_fit_schedule **ret_schedule);

SEAM_API void seam_fit_schedule_free(struct seam_fit_schedule *schedule); /* NULL is allowed */

/* Shares no code with what makes and times schedules. NULL: the schedule is one of this recipe. Else the broken
 * invariant's name; for arguments that are no problem, recipe or schedule, or without memory, a text that says so. */
SEAM_API const char *seam_fit_check(const struct seam_fit_problem *problem, const struct seam_fit_recipe *recipe,
	const struct seam_fit_schedule *schedule);

/* When an operation runs, from the begin of the iteration on. */
struct seam_fit_span {
	int64_t begin_ns, end_ns;
};

/* Of an iteration behind an equal one: the second of two. */
struct seam_fit_prediction {
	uint64_t ns;           /* from the end of one iteration to that of the next */
	uint64_t compute_ns;   /* of that: visits and steps on the device, without what is recomputed */
	uint64_t recompute_ns; /* more than the visits would take if the blocks were kept */
	uint64_t copy_wait_ns; /* the compute lane waits for a copy */
	uint64_t host_wait_ns; /* it waits for a step on the host, or for a copy that does */
	uint64_t busy_ns[SEAM_FIT_LANES];
	uint64_t peak_bytes;
	uint64_t host_bytes;
};

/* Times a schedule: two iterations, of which the second counts. spans: op_count of them, or NULL.
 * Errors: SEAM_INVALID (the problem; a schedule that is too long, whose operations wait for
 * none that is there, or copy on a machine that cannot),
 * SEAM_OOM_META. */
SEAM_API SEAM_MUST_USE enum seam_rc seam_fit_simulate(const struct seam_fit_problem *problem,
	const struct seam_fit_schedule *schedule, struct seam_fit_span *spans,
	struct seam_fit_prediction *ret_prediction);

/* Zero is the default of every field. */
struct seam_fit_options {
	size_t struct_bytes; /* sizeof(struct seam_fit_options) */
	uint64_t work_limit; /* simulated operations, the measure of work; 0: a default that 100 blocks take 0.1 s with
			      */
	uint32_t exact;      /* not 0: by branch and bound, for a few blocks: no other recipe that the search may choose
			      is faster. Of chunks that may come those that stay are the first ones, and `ahead` is at
			      most 4: bench/results/fit.md */
};

struct seam_fit_point {
	struct seam_fit_recipe recipe;
	struct seam_fit_prediction prediction;
};

/* Recipes of which none is both slower and larger than another: each needs more memory than the one before it, and is
 * faster. The last one is the answer. */
struct seam_fit_front {
	size_t struct_bytes; /* of all of it: for seam_fit_front_free() */
	size_t count;        /* 0: nothing fits */
	const struct seam_fit_point *points;
	uint64_t least_bytes; /* the smallest peak of any recipe that was tried within the host's budget; UINT64_MAX:
				 none */
	uint64_t work;        /* simulated operations */
	uint32_t complete;    /* not 0: the work limit was not reached */
};

/* Searches for recipes within the budgets. A larger device budget never gives a slower answer. With `exact` the front
 * is of one point. ret_front: seam_fit_front_free() it.
 * Errors: SEAM_INVALID (the problem, the options), SEAM_UNSUPPORTED (`exact`, and the work limit was reached: nothing
 * is known to be the fastest), SEAM_OOM_META. */
SEAM_API SEAM_MUST_USE enum seam_rc seam_fit_search(const struct seam_fit_problem *problem,
	const struct seam_fit_options *options, struct seam_fit_front **ret_front);

SEAM_API void seam_fit_front_free(struct seam_fit_front *front); /* NULL is allowed */

/* "recompute-from-host"; NULL: no treatment. */
SEAM_API const char *seam_fit_treatment_name(uint32_t treatment);

/* "GRADIENT_OUT"; NULL: no kind. */
SEAM_API const char *seam_fit_kind_name(uint32_t kind);

#ifdef __cplusplus
}
#endif
#endif

/* program.h: made-up programs, drawn from a seed: training, inference, and generation followed by training.
 *
 * A program is a set of parameters (program_fields.def). Its trace is what such a program asks of an allocator, for a
 * number of iterations, from its beginning. A STEP event ends each iteration, also of a program that marks no steps
 * (`marks=no`): whoever replays such a trace must not tell the allocator of them (`seam replay --no-marks`).
 *
 * The same seed gives the same bytes on every machine: numbers are integers from a generator of this folder's own.
 *
 * Whether a program repeats is known, since the generator makes it so. Two iterations are the same if each thread asks
 * for the same sizes on the same streams in the same order, and frees the blocks of this iteration at the same places
 * of that order. In what order the threads take turns does not count. Sizes of experts (`experts`) depend on data and
 * do not count either; they carry SEAM_TRACE_DYNAMIC if the program says so (`told=yes`).
 *
 * Not here: events of the trace (program_run.h), iterations of a family (program_parts.h), the command (programs.c).
 */
#ifndef BENCH_PROGRAM_H
#define BENCH_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include <seam/trace.h>

#define PROGRAM_ITEMS_MOST 24u
#define PROGRAM_WEIGHTS_MOST 12u
#define PROGRAM_LINE_BYTES 1024u
#define PROGRAM_PEAK_LEAST (UINT64_C(1) << 30) /* of live bytes; of each program */
#define PROGRAM_PEAK_MOST (UINT64_C(60) << 30) /* likewise */
#define PROGRAM_ITERATIONS_MOST 1000u

enum program_family { PROGRAM_TRAIN, PROGRAM_INFER, PROGRAM_GENERATE };
enum program_shape { SHAPE_EQUAL, SHAPE_TAPER, SHAPE_DRAWN };
enum program_residents { RESIDENTS_FIRST, RESIDENTS_LAZY };
enum program_optimizer { OPTIMIZER_NONE, OPTIMIZER_MOMENTUM, OPTIMIZER_ADAM };
enum program_gradients { GRADIENTS_END, GRADIENTS_NEXT };
enum program_cache { CACHE_CAT, CACHE_DOUBLE, CACHE_PAGED };
enum program_lengths { LENGTHS_FIXED, LENGTHS_BUCKETS, LENGTHS_RANDOM };
enum program_checkpoint { CHECKPOINT_ONE, CHECKPOINT_ALL };
enum program_streams { STREAMS_ONE, STREAMS_INPUTS, STREAMS_WEIGHTS, STREAMS_ACTIVATIONS, STREAMS_APART };
enum program_threads { THREADS_ONE, THREADS_BACKWARD, THREADS_RACING };
enum program_workspace { WORKSPACE_NONE, WORKSPACE_GROW, WORKSPACE_FIT };

enum program_repeats {
	REPEATS_STRICT, /* every iteration from `from` on is the same */
	REPEATS_KINDS,  /* from `from` on there are `kinds` different ones, fewer than iterations */
	REPEATS_NOT
};

/* A request of a layer's forward pass. */
struct program_item {
	uint32_t eighths; /* of tokens * hidden elements; 0: four bytes for each token */
	uint32_t stays;   /* freed so many requests later, if it is not saved */
	uint32_t stream;
	bool saved; /* for the backward pass */
};

struct program {
	uint64_t seed;
#define PROGRAM_CHOICE(field, ...) uint32_t field;
#define PROGRAM_NUMBER(field) uint32_t field;
#include "program_fields.def"
#undef PROGRAM_CHOICE
#undef PROGRAM_NUMBER
	uint64_t target_bytes;                         /* of the peak of live bytes */
	struct program_item item[PROGRAM_ITEMS_MOST];  /* `items` of them */
	uint32_t weight_eighths[PROGRAM_WEIGHTS_MOST]; /* `weights` of them, of hidden * hidden elements; 0: a vector */
};

/* What is known of a trace. */
struct program_truth {
	enum program_repeats repeats;
	uint32_t iterations;
	uint32_t from;  /* iterations before it build up; counted from 0 */
	uint32_t kinds; /* seen from `from` on; 1 if strict, `iterations - from` if nothing repeats */
	uint64_t requests;
	uint64_t peak_bytes; /* highest sum of live bytes */
};

/* The parameters alone, before they are fitted to the target. */
void program_draw(uint64_t seed, struct program *ret_program);

/* Draws the program, fits it to its target and makes its trace. iterations: 1 to PROGRAM_ITERATIONS_MOST. The peak is
 * between PROGRAM_PEAK_LEAST and PROGRAM_PEAK_MOST with 12 iterations. The trace's source is the line below. ret_trace:
 * for seam_trace_free(). Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc program_make(uint64_t seed, uint32_t iterations, struct program *ret_program,
	struct program_truth *ret_truth, struct seam_trace **ret_trace);

/* One line: every parameter and what is known, as key=value. */
void program_line(const struct program *program, const struct program_truth *truth, char line[PROGRAM_LINE_BYTES]);

#endif

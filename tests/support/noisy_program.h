/* noisy_program.h: traces of made-up training loops in which no two iterations are quite alike, from a seed, with what
 * each iteration would be without the noise.
 *
 * An iteration: forward through equal layers, backward in another thread, an optimizer. Gradients are freed when the
 * next iteration begins, its output when the next one's has been made. The first iteration makes the optimizer's
 * states.
 */
#ifndef TEST_NOISY_PROGRAM_H
#define TEST_NOISY_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include <seam/trace.h>

#define NOISY_SLOTS 600u

enum noise {
	NOISE_NONE,
	NOISE_EXTRA,      /* a request more in each iteration, somewhere */
	NOISE_DROP,       /* one less */
	NOISE_SWAP,       /* two neighbours in the other order */
	NOISE_RESIZE,     /* one of another size */
	NOISE_LATE,       /* one freed later, perhaps in the next iteration */
	NOISE_ALL,        /* one of them in each iteration */
	NOISE_EVAL,       /* an evaluation in front of every third iteration */
	NOISE_CHECKPOINT, /* once, a burst of requests between two iterations */
	NOISE_RACE,       /* a third thread whose requests come when they like */
	NOISE_KINDS
};

struct noisy_wish {
	uint64_t seed;
	enum noise noise;
	uint32_t layers;
	uint32_t singles; /* further requests of any size, anywhere */
	uint32_t iterations;
	uint32_t streams;       /* 0 and 1: one */
	uint32_t lengths;       /* of sequences, in no order: sizes of activations depend on them; 0 and 1: one */
	uint32_t micro_batches; /* forward and backward so many times in an iteration; gradients stay from the first. 0:
				   1 */
	uint32_t drift;         /* so many requests have another size in each iteration, always the same ones */
	bool marks;             /* STEP behind each iteration */
	bool middle;            /* the recording begins in the middle of an iteration: what is live then is resident */
};

struct noisy_request {
	uint64_t size_bytes; /* of the shortest sequence; 0: differs each time */
	uint64_t stream;
	uint32_t thread;
	bool scales; /* with the length */
};

struct noisy_truth {
	uint32_t count;                                  /* requests of an iteration without noise, in order */
	struct noisy_request requests[NOISY_SLOTS + 16]; /* those of the racing thread last */
	uint32_t seen[16];                               /* per length: iterations, without the first */
};

const char *noisy_name(enum noise noise);

uint64_t noisy_size(const struct noisy_request *request, uint32_t length);

/* A valid trace, to be freed with seam_trace_free(). Aborts when there is no memory. */
struct seam_trace *noisy_program(const struct noisy_wish *wish, struct noisy_truth *ret_truth);

#endif

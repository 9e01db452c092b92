/* trace_program.h: traces of made-up training programs that repeat a random period, from a seed, with what a test must
 * find in them.
 *
 * A program has slots; each is allocated at one position of every iteration and freed at another, of the same iteration
 * or a later one. Around them, when wished for: residents, states that the first iteration allocates, requests whose
 * sizes differ each time (DYNAMIC), several streams with edges, a different ending.
 */
#ifndef TEST_TRACE_PROGRAM_H
#define TEST_TRACE_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include <seam/trace.h>

#define TRACE_PROGRAM_SLOTS 400u

struct program_wish {
	uint64_t seed;
	uint32_t slots; /* of one period, up to TRACE_PROGRAM_SLOTS */
	uint32_t iterations;
	uint32_t lag;      /* slots are freed up to so many iterations later */
	uint32_t sizes;    /* distinct sizes; 0: any */
	uint32_t streams;  /* 0 and 1: one */
	uint32_t threads;  /* 0 and 1: one */
	uint32_t dynamics; /* dynamic requests in each iteration */
	uint32_t modules;  /* 0: dynamic requests come and go anywhere; else each does so in one of so many modules */
	uint32_t edges;    /* pairs of an event record and a wait in each iteration; with two streams or more */
	uint32_t users;    /* slots that a second stream uses (RECORD_STREAM) */
	uint32_t residents;
	uint32_t states; /* residents that the first iteration allocates on its way */
	uint32_t layers; /* at the beginning of a period: so many equal ones, each keeps an activation for later */
	uint32_t tail;   /* further allocations and frees at the end, of no iteration */
	bool partial;    /* the last iteration breaks off (before the tail) */
	bool marks;      /* STEP behind each iteration */
};

struct program_slot {
	uint64_t size_bytes;
	uint32_t begin;
	uint32_t end;
	uint32_t stream;
};

struct program_truth {
	uint32_t positions; /* of one period, dynamic requests counted */
	uint32_t copies;    /* k */
	uint64_t resident_bytes;
	uint64_t resident_count;
	uint32_t slot_count;                            /* without dynamic ones */
	struct program_slot slots[TRACE_PROGRAM_SLOTS]; /* by begin, counted from the beginning of an iteration */
	uint32_t iteration_events;                      /* of the last whole one, with its mark */
	uint64_t first_event;                           /* of the last whole one */
};

/* A valid trace, to be freed with seam_trace_free(). Aborts when there is no memory. */
struct seam_trace *trace_program(const struct program_wish *wish, struct program_truth *ret_truth);

#endif

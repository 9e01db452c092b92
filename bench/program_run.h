/* program_run.h: a made-up program while it runs: its blocks, and the events that become its trace.
 *
 * Every function does nothing after the first failure (run->rc). Without a builder events are only counted.
 *
 * Not here: in what order a program asks (program_parts.h). One thread.
 */
#ifndef BENCH_PROGRAM_RUN_H
#define BENCH_PROGRAM_RUN_H

#include <stddef.h>

#include "program.h"

/* Streams of a program. Items of PROGRAM_STREAMS_APART have 1 to 3. */
#define PROGRAM_STREAM_COMPUTE 0u
#define PROGRAM_STREAM_COPY 1u
#define PROGRAM_STREAM_LOADER 4u

/* Threads of a program. */
#define PROGRAM_THREAD_MAIN 0u
#define PROGRAM_THREAD_BACKWARD 1u
#define PROGRAM_THREAD_LOADER 2u

struct program_block {
	uint64_t id; /* 0: none */
	uint64_t bytes;
	uint32_t stream;
	uint32_t flags; /* of its events */
};

struct program_list {
	struct program_block *blocks;
	size_t count;
	size_t capacity;
};

struct program_run {
	const struct program *program;
	struct seam_trace_builder *builder; /* NULL: events are counted alone */
	enum seam_rc rc;
	uint64_t variation; /* random state of what differs from iteration to iteration */
	uint64_t next_id;
	uint64_t events;
	uint64_t requests;
	uint64_t live_bytes;
	uint64_t peak_bytes;
	uint32_t orders; /* edges between streams so far */
	uint32_t thread; /* that asks */
	uint32_t iteration;
	uint32_t tokens;      /* of a sequence in this iteration */
	uint32_t loader_left; /* requests that the loader still has in this iteration */
	uint32_t layers_made; /* so many have their parameters */
	uint32_t answered;    /* tokens that were generated in this iteration */
	struct program_list loader;
	struct program_list parameters; /* of all layers */
	struct program_list states;     /* of the optimizer */
	struct program_list gradients;
	struct program_list history;
	struct program_list output;
	struct program_list *saved;   /* for the backward pass: per micro-batch in flight and layer */
	struct program_list *fetched; /* weights from the host: per layer */
	struct program_list *caches;  /* of keys and values: per session and layer */
	struct program_block workspace;
};

/* Errors: SEAM_OOM_META. To be ended by program_run_fini() in any case. */
SEAM_MUST_USE enum seam_rc program_run_init(
	struct program_run *run, const struct program *program, struct seam_trace_builder *builder);
void program_run_fini(struct program_run *run);

struct program_block program_alloc(struct program_run *run, uint64_t bytes, uint32_t stream, uint32_t flags);
void program_free(struct program_run *run, struct program_block *block); /* none is allowed */

/* Allocated and freed at once. */
void program_pass(struct program_run *run, uint64_t bytes, uint32_t flags);

/* The block is used on another stream. */
void program_use(struct program_run *run, const struct program_block *block, uint32_t stream);

/* `to` waits for what `from` has been given so far. */
void program_order(struct program_run *run, uint32_t from, uint32_t to);

void program_step(struct program_run *run);

void program_push(struct program_run *run, struct program_list *list, struct program_block block);

/* The last one, which leaves the list; none where it is empty. */
struct program_block program_pop(struct program_list *list);

/* Frees all blocks of the list in their order. */
void program_free_list(struct program_run *run, struct program_list *list);

/* The list itself; its blocks stay as they are. */
void program_list_fini(struct program_list *list);

#endif

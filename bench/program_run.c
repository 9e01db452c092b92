/* program_run.c: blocks and events of a made-up program. */
#include "program_run.h"

#include <stdlib.h>

#include "program_random.h"

#define EVENT_NS UINT64_C(10000) /* between two events: what `seam replay` takes for a program without times */
#define EVENT_IDS 32u            /* as a program uses its events again */
#define LOADER_KEEPS 3u          /* blocks that the loader has at a time */
#define LOADER_PERCENT 4u        /* of the main thread's requests are followed by one of the loader */

enum seam_rc program_run_init(
	struct program_run *run, const struct program *program, struct seam_trace_builder *builder)
{
	*run = (struct program_run){.program = program, .builder = builder, .variation = ~program->seed, .next_id = 1};
	size_t layers = program->layers;
	run->saved = calloc(layers * program->in_flight, sizeof(*run->saved));
	run->fetched = calloc(layers, sizeof(*run->fetched));
	run->caches = calloc(layers * (program->sessions + 1), sizeof(*run->caches));
	return run->saved != NULL && run->fetched != NULL && run->caches != NULL ? SEAM_OK : SEAM_OOM_META;
}

static void drop_lists(struct program_list *lists, size_t count)
{
	for (size_t i = 0; lists != NULL && i < count; i++)
		free(lists[i].blocks);
	free(lists);
}

void program_run_fini(struct program_run *run)
{
	size_t layers = run->program->layers;
	drop_lists(run->saved, layers * run->program->in_flight);
	drop_lists(run->fetched, layers);
	drop_lists(run->caches, layers * (run->program->sessions + 1));
	program_list_fini(&run->loader);
	program_list_fini(&run->parameters);
	program_list_fini(&run->states);
	program_list_fini(&run->gradients);
	program_list_fini(&run->history);
	program_list_fini(&run->output);
}

static void add_event(struct program_run *run, struct seam_trace_event event)
{
	if (run->rc != SEAM_OK)
		return;
	event.time_ns = run->events++ * EVENT_NS;
	event.thread = run->thread;
	if (run->builder != NULL)
		run->rc = seam_trace_builder_add(run->builder, &event);
}

static struct program_block make_block(struct program_run *run, uint64_t bytes, uint32_t stream, uint32_t flags)
{
	struct program_block block = {.id = run->next_id++, .bytes = bytes, .stream = stream, .flags = flags};
	add_event(run,
		(struct seam_trace_event){.kind = SEAM_TRACE_ALLOC,
			.flags = (uint8_t)flags,
			.id = block.id,
			.size = bytes,
			.stream = stream});
	run->requests++;
	run->live_bytes += bytes;
	if (run->live_bytes > run->peak_bytes)
		run->peak_bytes = run->live_bytes;
	return block;
}

/* One request of the loader's own thread: of one size, on its own stream. */
static void load(struct program_run *run)
{
	const struct program *program = run->program;
	uint32_t thread = run->thread;
	run->thread = PROGRAM_THREAD_LOADER;
	run->loader_left--;
	uint64_t bytes = (uint64_t)program->tokens * 4 * (1 + run->loader_left % 3);
	program_push(run, &run->loader, make_block(run, bytes, PROGRAM_STREAM_LOADER, 0));
	if (run->loader.count > LOADER_KEEPS) {
		struct program_block oldest = run->loader.blocks[0];
		for (size_t i = 1; i < run->loader.count; i++)
			run->loader.blocks[i - 1] = run->loader.blocks[i];
		run->loader.count--;
		program_free(run, &oldest);
	}
	run->thread = thread;
}

struct program_block program_alloc(struct program_run *run, uint64_t bytes, uint32_t stream, uint32_t flags)
{
	if (run->loader_left > 0 && program_chance(&run->variation, LOADER_PERCENT))
		load(run);
	return make_block(run, bytes, stream, flags);
}

void program_free(struct program_run *run, struct program_block *block)
{
	if (block->id == 0)
		return;
	add_event(run,
		(struct seam_trace_event){.kind = SEAM_TRACE_FREE,
			.flags = (uint8_t)block->flags,
			.id = block->id,
			.size = block->bytes,
			.stream = block->stream});
	run->live_bytes -= block->bytes;
	block->id = 0;
}

void program_pass(struct program_run *run, uint64_t bytes, uint32_t flags)
{
	struct program_block block = program_alloc(run, bytes, PROGRAM_STREAM_COMPUTE, flags);
	program_free(run, &block);
}

void program_use(struct program_run *run, const struct program_block *block, uint32_t stream)
{
	add_event(run,
		(struct seam_trace_event){
			.kind = SEAM_TRACE_RECORD_STREAM, .id = block->id, .size = block->bytes, .stream = stream});
}

void program_order(struct program_run *run, uint32_t from, uint32_t to)
{
	uint64_t id = 1 + run->orders++ % EVENT_IDS;
	add_event(run, (struct seam_trace_event){.kind = SEAM_TRACE_EVENT_RECORD, .id = id, .stream = from});
	add_event(run, (struct seam_trace_event){.kind = SEAM_TRACE_EVENT_WAIT, .id = id, .stream = to});
}

void program_step(struct program_run *run)
{
	while (run->loader_left > 0)
		load(run);
	add_event(run, (struct seam_trace_event){.kind = SEAM_TRACE_STEP, .id = run->iteration});
}

void program_push(struct program_run *run, struct program_list *list, struct program_block block)
{
	if (list->count == list->capacity) {
		size_t capacity = list->capacity * 2 + 16;
		struct program_block *blocks = realloc(list->blocks, capacity * sizeof(*blocks));
		if (blocks == NULL) {
			run->rc = SEAM_OOM_META;
			return;
		}
		list->blocks = blocks;
		list->capacity = capacity;
	}
	list->blocks[list->count++] = block;
}

struct program_block program_pop(struct program_list *list)
{
	return list->count > 0 ? list->blocks[--list->count] : (struct program_block){0};
}

void program_free_list(struct program_run *run, struct program_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		program_free(run, &list->blocks[i]);
	list->count = 0;
}

void program_list_fini(struct program_list *list)
{
	free(list->blocks);
	*list = (struct program_list){0};
}

/* program_generate.c: inference: a first pass, then one token after the other with a cache that grows. */
#include "program_parts.h"
#include "program_random.h"

#define PAGE_TOKENS 16u
#define DECODE_ITEMS 4u   /* small requests of a layer for each token */
#define BATCH_TOKENS 256u /* a sequence of a batch has so many */
#define CACHE_EIGHTHS 4u  /* of a row of activations, for each token: keys and values of grouped heads */

static uint64_t cache_bytes(const struct program_run *run, uint64_t tokens)
{
	const struct program *program = run->program;
	return tokens * ((uint64_t)program->hidden * program->element_bytes * CACHE_EIGHTHS / 8);
}

/* The layer's cache gets `batch` tokens more. */
static void grow_cache(struct program_run *run, struct program_list *cache, uint64_t tokens, uint32_t batch)
{
	struct program_block grown;
	uint64_t have = cache->count > 0 ? cache->blocks[cache->count - 1].bytes : 0;
	switch ((enum program_cache)run->program->cache) {
	case CACHE_PAGED:
		if (tokens / batch % PAGE_TOKENS == 0)
			program_push(
				run, cache, program_alloc(run, cache_bytes(run, (uint64_t)PAGE_TOKENS * batch), 0, 0));
		return;
	case CACHE_DOUBLE:
		if (have >= cache_bytes(run, tokens + batch))
			return;
		grown = program_alloc(run, have * 2, PROGRAM_STREAM_COMPUTE, 0);
		break;
	case CACHE_CAT:
	default:
		grown = program_alloc(run, cache_bytes(run, tokens + batch), PROGRAM_STREAM_COMPUTE, 0);
		break;
	}
	program_free_list(run, cache);
	program_push(run, cache, grown);
}

/* The first pass fills the caches. */
static void fill_cache(struct program_run *run, struct program_list *cache)
{
	uint64_t page = cache_bytes(run, PAGE_TOKENS * (uint64_t)(1 + run->tokens / BATCH_TOKENS));
	uint64_t all = cache_bytes(run, run->tokens);
	if (run->program->cache != CACHE_PAGED) {
		program_push(run, cache, program_alloc(run, all, PROGRAM_STREAM_COMPUTE, 0));
		return;
	}
	for (uint64_t filled = 0; filled < all; filled += page)
		program_push(run, cache, program_alloc(run, page, PROGRAM_STREAM_COMPUTE, 0));
}

static void decode(struct program_run *run, struct program_list *caches, uint32_t number)
{
	const struct program *program = run->program;
	uint32_t batch = 1 + run->tokens / BATCH_TOKENS;
	uint64_t row = (uint64_t)batch * program->hidden * program->element_bytes;
	uint64_t tokens = run->tokens + (uint64_t)number * batch;
	for (uint32_t layer = 0; layer < program->layers; layer++) {
		program_fetch_weights(run, layer);
		struct program_block state = program_alloc(run, row, PROGRAM_STREAM_COMPUTE, 0);
		for (uint32_t i = 0; i < DECODE_ITEMS && i < program->items; i++)
			program_pass(run, row * (1 + i % 3), 0);
		grow_cache(run, &caches[layer], tokens, batch);
		program_pass(run, tokens * 4, 0);
		program_free(run, &state);
		program_drop_weights(run, layer);
	}
	if (program->vocabulary > 0)
		program_pass(run, (uint64_t)batch * program->vocabulary * 4, 0);
}

void program_generate(struct program_run *run)
{
	const struct program *program = run->program;
	uint32_t session = run->iteration % (program->sessions + 1);
	struct program_list *caches = &run->caches[(size_t)session * program->layers];
	uint32_t count = program->new_tokens;
	if (program->lengths == LENGTHS_RANDOM)
		count = program_between(&run->variation, 1, count);
	run->answered += count;
	/* A session from some iterations ago ends where its place is needed. */
	for (uint32_t layer = 0; layer < program->layers; layer++)
		program_free_list(run, &caches[layer]);
	program_forward_all(run);
	for (uint32_t layer = 0; layer < program->layers; layer++)
		fill_cache(run, &caches[layer]);
	for (uint32_t i = 0; i < count; i++)
		decode(run, caches, i);
	if (program->sessions > 0)
		return;
	for (uint32_t layer = 0; layer < program->layers; layer++)
		program_free_list(run, &caches[layer]);
}

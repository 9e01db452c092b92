/* program_make.c: iterations of a made-up program, its size, and whether it repeats.
 *
 * Hidden size and tokens are fitted until the peak of live bytes is the one that was drawn: parameters grow with the
 * square of the one, activations with both.
 */
#include "program_parts.h"
#include "program_random.h"

#define FIT_ITERATIONS 12u
#define FIT_ROUNDS 24u
#define REQUESTS_MOST 8000u /* in an iteration, so that 12 of them are replayed within seconds */
#define HIDDEN_UNIT 64u
#define HIDDEN_MOST 65536u
#define TOKENS_LEAST 16u
#define TOKENS_MOST (1u << 20)
#define LOADER_REQUESTS 40u /* in an iteration */
#define METRIC_BYTES 512u
#define EVALUATE_BATCHES 2u

static uint32_t draw_tokens(struct program_run *run)
{
	const struct program *program = run->program;
	uint32_t tokens = program->tokens;
	if (program->lengths == LENGTHS_BUCKETS)
		tokens = tokens / program->buckets * program_between(&run->variation, 1, program->buckets);
	else if (program->lengths == LENGTHS_RANDOM)
		tokens = program_between(&run->variation, tokens / 4, tokens);
	return tokens > 0 ? tokens : 1;
}

static bool is_due(uint32_t every, uint32_t iteration)
{
	return every > 0 && (iteration + 1) % every == 0;
}

/* Half batches, without a backward pass. */
static void evaluate(struct program_run *run)
{
	run->tokens = (run->program->tokens + 1) / 2;
	for (uint32_t i = 0; i < EVALUATE_BATCHES; i++)
		program_forward_all(run);
}

/* Copies of what stays. */
static void save(struct program_run *run)
{
	struct program_list copies = {0};
	for (size_t i = 0; i < run->parameters.count; i++) {
		struct program_block copy =
			program_alloc(run, run->parameters.blocks[i].bytes, PROGRAM_STREAM_COMPUTE, 0);
		if (run->program->checkpoint == CHECKPOINT_ALL)
			program_push(run, &copies, copy);
		else
			program_free(run, &copy);
	}
	program_free_list(run, &copies);
	program_list_fini(&copies);
}

/* A figure of each of the last iterations stays. */
static void note_metric(struct program_run *run)
{
	struct program_list *history = &run->history;
	if (run->program->history == 0)
		return;
	program_push(run, history, program_alloc(run, METRIC_BYTES, PROGRAM_STREAM_COMPUTE, 0));
	if (history->count <= run->program->history)
		return;
	program_free(run, &history->blocks[0]);
	for (size_t i = 1; i < history->count; i++)
		history->blocks[i - 1] = history->blocks[i];
	history->count--;
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
	uint64_t state = hash ^ value;
	return program_random(&state);
}

/* Returns what makes this iteration differ from others: equal for equal ones. */
static uint64_t do_iteration(struct program_run *run)
{
	const struct program *program = run->program;
	uint64_t kind;
	run->tokens = draw_tokens(run);
	run->answered = 0;
	run->loader_left = program->threads == THREADS_RACING ? LOADER_REQUESTS : 0;
	kind = mix(0, run->tokens);
	if (program->family != PROGRAM_TRAIN)
		program_generate(run);
	kind = mix(kind, run->answered);
	for (uint32_t i = 0; program->family != PROGRAM_INFER && i < program->epochs; i++)
		program_train(run);
	note_metric(run);
	if (is_due(program->evaluate_every, run->iteration)) {
		evaluate(run);
		kind = mix(kind, 1);
	}
	if (is_due(program->checkpoint_every, run->iteration)) {
		save(run);
		kind = mix(kind, 2);
	}
	if (program->workspace == WORKSPACE_FIT) {
		program_free(run, &run->workspace);
		run->workspace = (struct program_block){0};
	}
	program_step(run);
	return kind;
}

static uint32_t count_kinds(const uint64_t kinds[], uint32_t from, uint32_t end)
{
	uint32_t count = 0;
	for (uint32_t i = from; i < end; i++) {
		uint32_t same = from;
		while (kinds[same] != kinds[i])
			same++;
		count += same == i;
	}
	return count;
}

/* Where blocks of one iteration are freed in a later one, the first iterations that have all of them are the first
 * equal ones. */
static void judge(
	const struct program *program, const uint64_t kinds[], uint32_t iterations, struct program_truth *truth)
{
	uint32_t crossing = program->history > program->sessions ? program->history : program->sessions;
	truth->iterations = iterations;
	truth->from = 2 + crossing < iterations ? 2 + crossing : iterations - 1;
	truth->kinds = count_kinds(kinds, truth->from, iterations);
	if (program->lengths == LENGTHS_FIXED && program->evaluate_every == 0 && program->checkpoint_every == 0)
		truth->repeats = REPEATS_STRICT;
	else if (program->lengths != LENGTHS_RANDOM && truth->kinds * 2 <= iterations - truth->from)
		truth->repeats = REPEATS_KINDS;
	else
		truth->repeats = REPEATS_NOT;
}

static enum seam_rc run_program(const struct program *program, uint32_t iterations, struct seam_trace_builder *builder,
	struct program_truth *ret_truth)
{
	struct program_run run;
	struct program_truth truth = {0};
	uint64_t kinds[PROGRAM_ITERATIONS_MOST];
	enum seam_rc rc = program_run_init(&run, program, builder);
	if (rc == SEAM_OK) {
		if (program->residents == RESIDENTS_FIRST)
			program_make_parameters(&run, program->layers);
		for (; run.iteration < iterations; run.iteration++)
			kinds[run.iteration] = do_iteration(&run);
		rc = run.rc;
	}
	program_run_fini(&run);
	if (rc != SEAM_OK)
		return rc;
	judge(program, kinds, iterations, &truth);
	truth.requests = run.requests;
	truth.peak_bytes = run.peak_bytes;
	*ret_truth = truth;
	return SEAM_OK;
}

static uint64_t square_root(uint64_t number)
{
	uint64_t root = 0;
	for (uint64_t bit = UINT64_C(1) << 31; bit > 0; bit >>= 1)
		if ((root + bit) * (root + bit) <= number)
			root += bit;
	return root;
}

/* Fewer requests, by what they are most likely many of. */
static void shorten(struct program *program)
{
	if (program->new_tokens > 4)
		program->new_tokens /= 2;
	else if (program->micro_batches > 2)
		program->micro_batches /= 2;
	else
		program->layers = (program->layers + 1) / 2;
	if (program->in_flight > program->micro_batches)
		program->in_flight = program->micro_batches;
}

/* Towards the target by the root of what is missing. False: that is no change. */
static bool scale(struct program *program, uint64_t peak_bytes)
{
	uint64_t factor = square_root((program->target_bytes >> 10) * 65536 / ((peak_bytes >> 10) + 1)); /* in 256ths */
	uint64_t hidden = (program->hidden * factor / 256 + HIDDEN_UNIT / 2) / HIDDEN_UNIT * HIDDEN_UNIT;
	uint64_t tokens = program->tokens * factor / 256;
	hidden = hidden < HIDDEN_UNIT ? HIDDEN_UNIT : hidden > HIDDEN_MOST ? HIDDEN_MOST : hidden;
	tokens = tokens < TOKENS_LEAST ? TOKENS_LEAST : tokens > TOKENS_MOST ? TOKENS_MOST : tokens;
	if (hidden == program->hidden && tokens == program->tokens)
		return false;
	program->hidden = (uint32_t)hidden;
	program->tokens = (uint32_t)tokens;
	return true;
}

static enum seam_rc fit(struct program *program)
{
	struct program_truth truth;
	bool goes_on = true;
	for (uint32_t i = 0; i < FIT_ROUNDS && goes_on; i++) {
		enum seam_rc rc = run_program(program, FIT_ITERATIONS, NULL, &truth);
		if (rc != SEAM_OK)
			return rc;
		if (truth.requests > (uint64_t)REQUESTS_MOST * FIT_ITERATIONS)
			shorten(program);
		else
			goes_on = scale(program, truth.peak_bytes);
	}
	return SEAM_OK;
}

enum seam_rc program_make(uint64_t seed, uint32_t iterations, struct program *ret_program,
	struct program_truth *ret_truth, struct seam_trace **ret_trace)
{
	struct seam_trace_builder *builder = NULL;
	char line[PROGRAM_LINE_BYTES];
	program_draw(seed, ret_program);
	enum seam_rc rc = fit(ret_program);
	if (rc == SEAM_OK)
		rc = run_program(ret_program, iterations, NULL, ret_truth);
	if (rc == SEAM_OK) {
		program_line(ret_program, ret_truth, line);
		rc = seam_trace_builder_create(line, 0, &builder);
	}
	if (rc == SEAM_OK)
		rc = run_program(ret_program, iterations, builder, ret_truth);
	if (rc == SEAM_OK)
		rc = seam_trace_builder_finish(builder, NULL, ret_trace);
	seam_trace_builder_destroy(builder);
	return rc;
}

/* fit_problem.c: whether a problem of Fit is one, and whether a recipe is one of it.
 *
 * Not here: whether a recipe fits the budgets. Pure.
 */
#include "fit_problem.h"

#include "text.h"

struct finding {
	char *error;
	size_t error_bytes;
};

static enum seam_rc bad(const struct finding *finding, const char *what, const char *of, uint32_t number)
{
	seam__text_line(finding->error, finding->error_bytes, "%s %u: %s", of, number, what);
	return SEAM_INVALID;
}

static enum seam_rc bad_problem(const struct finding *finding, const char *what)
{
	seam__text_line(finding->error, finding->error_bytes, "%s", what);
	return SEAM_INVALID;
}

static bool is_speed(uint64_t alone, uint64_t both)
{
	if (alone == 0)
		return both == 0;
	return alone <= SEAM_FIT_BYTES_MOST * 1024 && both >= SEAM_FIT_SPEED_LEAST && both <= alone &&
		both >= alone / 16;
}

static enum seam_rc check_numbers(const struct seam_fit_problem *problem, const struct finding *finding)
{
	const struct seam_fit_machine *machine = &problem->machine;
	if (problem->micro_batches == 0 || problem->visit_count == 0)
		return bad_problem(finding, "no visits, or no micro-batches");
	if ((uint64_t)problem->visit_count * problem->micro_batches > SEAM_FIT_OPERATIONS_MOST ||
		problem->block_count > SEAM_FIT_OPERATIONS_MOST || problem->chunk_count > SEAM_FIT_OPERATIONS_MOST)
		return bad_problem(finding, "too many visits, blocks or chunks");
	if ((problem->flags & ~SEAM_FIT_PROBLEM_FLAGS) != 0)
		return bad_problem(finding, "unknown flags");
	if (!is_speed(machine->up, machine->up_both) || !is_speed(machine->down, machine->down_both) ||
		(machine->up == 0) != (machine->down == 0) || machine->copy_ns > SEAM_FIT_COPY_NS_MOST)
		return bad_problem(finding,
			"speeds of copies out of range, or both ways faster than one way, or below a 16th of it");
	if (problem->base_bytes > SEAM_FIT_BYTES_MOST)
		return bad_problem(finding, "base_bytes out of range");
	return SEAM_OK;
}

static enum seam_rc check_chunks(const struct seam_fit_problem *problem, const struct finding *finding)
{
	for (uint32_t i = 0; i < problem->chunk_count; i++) {
		const struct seam_fit_chunk *chunk = &problem->chunks[i];
		uint64_t most_bytes =
			chunk->weight_bytes | chunk->gradient_bytes | chunk->state_bytes | chunk->host_bytes;
		if (most_bytes >= SEAM_FIT_BYTES_MOST ||
			(chunk->device_step_ns | chunk->host_step_ns) >= SEAM_FIT_NS_MOST)
			return bad(finding, "a number out of range", "chunk", i);
	}
	return SEAM_OK;
}

static enum seam_rc check_blocks(const struct seam_fit_problem *problem, const struct finding *finding)
{
	for (uint32_t i = 0; i < problem->block_count; i++) {
		const struct seam_fit_block *block = &problem->blocks[i];
		if (block->allowed == 0 || block->allowed >> SEAM_FIT_TREATMENTS != 0)
			return bad(finding, "no treatment is allowed, or one that is unknown", "block", i);
		for (uint32_t t = 0; t < SEAM_FIT_TREATMENTS; t++)
			if (block->swap_bytes[t] >= SEAM_FIT_BYTES_MOST)
				return bad(finding, "swap_bytes out of range", "block", i);
	}
	return SEAM_OK;
}

static bool is_curve(const struct seam_fit_curve *curve)
{
	const int64_t most = (int64_t)SEAM_FIT_BYTES_MOST;
	return curve->compute_ns < SEAM_FIT_NS_MOST && curve->top_bytes < SEAM_FIT_BYTES_MOST &&
		curve->net_bytes < most && curve->net_bytes > -most && curve->net_bytes <= (int64_t)curve->top_bytes;
}

static enum seam_rc check_visit(const struct seam_fit_problem *problem, uint32_t number, const struct finding *finding)
{
	const struct seam_fit_visit *visit = &problem->visits[number];
	bool of_block = visit->phase == SEAM_FIT_FORWARD || visit->phase == SEAM_FIT_BACKWARD;
	if (visit->phase > SEAM_FIT_STEPPING)
		return bad(finding, "an unknown phase", "visit", number);
	if (of_block ? visit->block >= problem->block_count : visit->block != SEAM_FIT_NONE)
		return bad(finding, "a pass of no block, or a block outside of passes", "visit", number);
	if (visit->chunk != SEAM_FIT_NONE && visit->chunk >= problem->chunk_count)
		return bad(finding, "no such chunk", "visit", number);
	if (visit->chunk == SEAM_FIT_NONE ? visit->gradients != 0 : visit->phase == SEAM_FIT_STEPPING)
		return bad(finding, "gradients of no chunk, or a chunk while the optimizer steps", "visit", number);
	if (number > 0 && problem->visits[number - 1].phase == SEAM_FIT_STEPPING && visit->phase != SEAM_FIT_STEPPING)
		return bad(finding, "behind the optimizer's", "visit", number);
	for (uint32_t t = 0; t < SEAM_FIT_TREATMENTS; t++)
		if (!is_curve(&visit->under[t]))
			return bad(finding, "a curve out of range, or one that ends above its top", "visit", number);
	return SEAM_OK;
}

/* Of each block one visit forward, then one backward. */
static enum seam_rc check_passes(const struct seam_fit_problem *problem, const struct finding *finding)
{
	uint32_t *passes = seam__meta_array(seam__meta_process(), (size_t)problem->block_count + 1, sizeof(*passes));
	if (passes == NULL)
		return SEAM_OOM_META;
	enum seam_rc rc = SEAM_OK;
	for (uint32_t i = 0; i < problem->visit_count && rc == SEAM_OK; i++) {
		const struct seam_fit_visit *visit = &problem->visits[i];
		if (visit->block != SEAM_FIT_NONE &&
			passes[visit->block]++ != (visit->phase == SEAM_FIT_FORWARD ? 0 : 1))
			rc = bad(finding, "a pass out of order, or twice", "visit", i);
	}
	for (uint32_t i = 0; i < problem->block_count && rc == SEAM_OK; i++)
		if (passes[i] != 2)
			rc = bad(finding, "not both passes", "block", i);
	seam__meta_free(seam__meta_process(), passes, ((size_t)problem->block_count + 1) * sizeof(*passes));
	return rc;
}

static enum seam_rc check_order(const struct seam_fit_problem *problem, const struct finding *finding)
{
	uint32_t seen = 0; /* chunks below have been visited, or must stay */
	for (uint32_t i = 0; i < problem->visit_count; i++) {
		uint32_t chunk = problem->visits[i].chunk;
		if (chunk == SEAM_FIT_NONE || chunk < seen)
			continue;
		for (; seen < chunk; seen++)
			if (!problem->chunks[seen].must_stay)
				return bad(finding, "chunks are not in the order of their first visits", "visit", i);
		seen = chunk + 1;
	}
	for (; seen < problem->chunk_count; seen++)
		if (!problem->chunks[seen].must_stay)
			return bad(finding, "comes, and is never visited", "chunk", seen);
	return SEAM_OK;
}

enum seam_rc seam_fit_problem_check(const struct seam_fit_problem *problem, char *error, size_t error_bytes)
{
	const struct finding finding = {error, error_bytes};
	if (problem == NULL || problem->struct_bytes != sizeof(*problem))
		return bad_problem(&finding, "no problem, or one of another version");
	if (problem->visits == NULL || (problem->blocks == NULL && problem->block_count > 0) ||
		(problem->chunks == NULL && problem->chunk_count > 0))
		return bad_problem(&finding, "an array is missing");
	enum seam_rc rc = check_numbers(problem, &finding);
	rc = rc == SEAM_OK ? check_chunks(problem, &finding) : rc;
	rc = rc == SEAM_OK ? check_blocks(problem, &finding) : rc;
	for (uint32_t i = 0; i < problem->visit_count && rc == SEAM_OK; i++)
		rc = check_visit(problem, i, &finding);
	rc = rc == SEAM_OK ? check_order(problem, &finding) : rc;
	return rc == SEAM_OK ? check_passes(problem, &finding) : rc;
}

bool seam__fit_recipe_is_valid(const struct seam_fit_problem *problem, const struct seam_fit_recipe *recipe)
{
	if (recipe == NULL || recipe->buffers == 0 || recipe->ahead == 0 ||
		(recipe->treatments == NULL && problem->block_count > 0) ||
		(recipe->comes == NULL && problem->chunk_count > 0))
		return false;
	bool copies = false;
	for (uint32_t i = 0; i < problem->block_count; i++) {
		uint32_t treatment = recipe->treatments[i];
		if (treatment >= SEAM_FIT_TREATMENTS || (problem->blocks[i].allowed >> treatment & 1) == 0)
			return false;
		copies = copies || problem->blocks[i].swap_bytes[treatment] > 0;
	}
	for (uint32_t i = 0; i < problem->chunk_count; i++) {
		if (recipe->comes[i] && problem->chunks[i].must_stay)
			return false;
		copies = copies || recipe->comes[i];
	}
	return !copies || problem->machine.up > 0;
}

/* fit_exact.c: the fastest recipe that the search may choose, by branch and bound over the treatments of blocks.
 *
 * Of blocks that have none yet, the least of each number counts: of compute and copies for the time, of curves for the
 * memory. Not here: the search for many blocks (fit_search.c).
 */
#include "check.h"
#include "fit_search.h"
#include "fit_problem.h"

struct proof {
	struct seam_fit_guesser *guesser;
	struct seam_fit_best *best;
	struct seam_fit_guess guess;
	uint32_t assigned; /* blocks that have a treatment */
	uint64_t work_limit;
	uint64_t best_ns;
	uint64_t first_bytes; /* base and chunks that must stay */
	enum seam_rc rc;
};

static bool may_be(const struct proof *proof, uint32_t block, uint32_t treatment)
{
	if (block < proof->assigned)
		return proof->guess.treatments[block] == treatment;
	return proof->guesser->problem->blocks[block].allowed >> treatment & 1;
}

/* No recipe with these treatments is faster: each lane by itself. */
static bool is_too_slow(const struct proof *proof)
{
	const struct seam_fit_problem *problem = proof->guesser->problem;
	uint64_t compute_ns = 0, up_ns = 0, down_ns = 0;
	for (uint32_t i = 0; i < problem->visit_count; i++) {
		const struct seam_fit_visit *visit = &problem->visits[i];
		uint64_t least = UINT64_MAX;
		for (uint32_t t = 0; t < SEAM_FIT_TREATMENTS; t++)
			if (visit->block == SEAM_FIT_NONE ? t == 0 : may_be(proof, visit->block, t))
				least = visit->under[t].compute_ns < least ? visit->under[t].compute_ns : least;
		compute_ns += least * (visit->phase == SEAM_FIT_STEPPING ? 1 : problem->micro_batches);
	}
	for (uint32_t i = 0; i < problem->block_count; i++) {
		uint64_t least = UINT64_MAX;
		for (uint32_t t = 0; t < SEAM_FIT_TREATMENTS; t++)
			if (may_be(proof, i, t) && problem->blocks[i].swap_bytes[t] < least)
				least = problem->blocks[i].swap_bytes[t];
		up_ns += seam__fit_copy_ns(least, problem->machine.up) * problem->micro_batches;
		down_ns += seam__fit_copy_ns(least, problem->machine.down) * problem->micro_batches;
	}
	return compute_ns >= proof->best_ns || up_ns >= proof->best_ns || down_ns >= proof->best_ns;
}

/* No recipe with these treatments fits: the level before each visit is no less than the sum of the least changes. */
static bool is_too_large(const struct proof *proof)
{
	const struct seam_fit_problem *problem = proof->guesser->problem;
	int64_t level = (int64_t)proof->first_bytes;
	for (uint32_t i = 0; i < problem->visit_count; i++) {
		const struct seam_fit_visit *visit = &problem->visits[i];
		uint64_t top = UINT64_MAX;
		int64_t net = INT64_MAX;
		for (uint32_t t = 0; t < SEAM_FIT_TREATMENTS; t++) {
			if (visit->block == SEAM_FIT_NONE ? t != 0 : !may_be(proof, visit->block, t))
				continue;
			top = visit->under[t].top_bytes < top ? visit->under[t].top_bytes : top;
			net = visit->under[t].net_bytes < net ? visit->under[t].net_bytes : net;
		}
		if (level + (int64_t)top > 0 && (uint64_t)(level + (int64_t)top) > problem->budget_bytes)
			return true;
		level += net;
	}
	return false;
}

static void look_at(struct proof *proof)
{
	struct seam_fit_guesser *guesser = proof->guesser;
	uint64_t bound_ns;
	if (guesser->work > proof->work_limit) {
		proof->rc = SEAM_UNSUPPORTED;
		return;
	}
	if (!seam__fit_guess_make(guesser, &proof->guess, &bound_ns) ||
		guesser->schedule.peak_bytes > guesser->problem->budget_bytes || bound_ns >= proof->best_ns)
		return;
	struct seam_fit_prediction prediction;
	seam__fit_guess_time(guesser, &prediction);
	if (prediction.ns >= proof->best_ns)
		return;
	proof->best_ns = prediction.ns;
	proof->best->count = 0;
	proof->rc = seam__fit_best_add(proof->best, &proof->guess, &prediction, seam__fit_guess_copies(guesser));
}

/* Those that stay most first: they copy least. */
static void look_at_all(struct proof *proof)
{
	uint32_t coming = proof->guesser->coming;
	for (uint32_t comes = 0; comes <= coming && proof->rc == SEAM_OK; comes++)
		for (uint32_t buffers = comes > 0 ? comes : 1; buffers > 0 && proof->rc == SEAM_OK; buffers--)
			for (uint32_t ahead = 1; ahead <= SEAM_FIT_AHEAD_MOST && proof->rc == SEAM_OK; ahead++) {
				proof->guess.stays = coming - comes;
				proof->guess.buffers = buffers;
				proof->guess.ahead = ahead;
				look_at(proof);
			}
}

/* The next treatment of the last block that has one; behind its last treatment that of the block before. */
static bool next(struct proof *proof)
{
	while (proof->assigned > 0) {
		uint32_t block = proof->assigned - 1;
		uint8_t *treatment = &proof->guess.treatments[block];
		while (++*treatment < SEAM_FIT_TREATMENTS)
			if (proof->guesser->problem->blocks[block].allowed >> *treatment & 1)
				return true;
		proof->assigned--;
	}
	return false;
}

/* Depth first. */
static void walk(struct proof *proof)
{
	do {
		bool is_cut = is_too_slow(proof) || is_too_large(proof);
		if (!is_cut && proof->assigned < proof->guesser->problem->block_count)
			proof->guess.treatments[proof->assigned++] = UINT8_MAX; /* next() goes on to the first one */
		else if (!is_cut)
			look_at_all(proof);
		if (proof->rc == SEAM_OK && proof->guesser->work++ > proof->work_limit)
			proof->rc = SEAM_UNSUPPORTED;
	} while (proof->rc == SEAM_OK && next(proof));
}

enum seam_rc seam__fit_prove(struct seam_fit_guesser *guesser, struct seam_fit_best *best, uint64_t work_limit)
{
	const struct seam_fit_problem *problem = guesser->problem;
	struct proof proof = {
		.guesser = guesser,
		.best = best,
		.work_limit = work_limit,
		.best_ns = UINT64_MAX,
		.first_bytes = problem->base_bytes,
		.guess.treatments = seam__region_array(best->region, (size_t)problem->block_count + 1, 1),
	};
	if (proof.guess.treatments == NULL)
		return SEAM_OOM_META;
	for (uint32_t i = 0; i < problem->chunk_count; i++)
		if (problem->chunks[i].must_stay)
			proof.first_bytes += problem->chunks[i].weight_bytes + problem->chunks[i].state_bytes;
	walk(&proof);
	return proof.rc;
}

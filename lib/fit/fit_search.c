/* fit_search.c: good recipes of all sizes, for any number of blocks.
 *
 * Seeds are recipes of one layout, with several shares of each treatment and of chunks that stay: blocks that are
 * swapped or recomputed are interleaved and come first, those that are kept last (ProTrain 3.1.2); blocks that give
 * back more for their time come before others, equal ones in the order of the program. From the best recipes so far the
 * search goes on to their neighbours, a few of each at a time, smallest recipe first, round by round: other numbers and
 * layouts, first of recipes whose times are far apart, then of those between them; in the end other treatments of
 * single blocks and of two. It ends when no neighbour is left or the work limit is reached. Bounds come before times: a
 * recipe that is beaten by a smaller one, were it as fast as its busiest lane, is not timed.
 *
 * The budget of the device plays no part until the end. So what is found for a budget is found for a larger one too.
 */
#include <string.h>

#include "fit_problem.h"
#include "fit_search.h"

#define NEIGHBOURS_AT_A_TIME 8u
#define PART_FIRST 16u /* of its time that one recipe is faster than the one before, in the first rounds */
#define PART_LAST 4096u
#define SHARES 4u /* seeds have treatments and chunks that stay in fourths */

struct explorer {
	struct seam_fit_guesser *guesser;
	struct seam_fit_best *best;
	struct seam_fit_guess guess; /* what is looked at */
	uint32_t *order;             /* of blocks, by merit */
	double *merits;              /* of each block */
	uint32_t scales;             /* steps are of 1, 2, 4, ... blocks, chunks or buffers: so many sizes */
	uint64_t work_limit;
	uint64_t *seen; /* hashes of guesses, by open addressing; 0: free */
	size_t seen_count, seen_room;
	enum seam_rc rc;
};

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
	return hash ^ hash >> 29;
}

static uint64_t hash_of(const struct explorer *explorer, const struct seam_fit_guess *guess)
{
	uint64_t hash = mix(mix(mix(1, guess->stays), guess->buffers), guess->ahead);
	for (uint32_t i = 0; i < explorer->guesser->problem->block_count; i++)
		hash = mix(hash, guess->treatments[i]);
	return hash == 0 ? 1 : hash;
}

static uint64_t *slot_of(uint64_t *seen, size_t room, uint64_t hash)
{
	size_t at = hash & (room - 1);
	while (seen[at] != 0 && seen[at] != hash)
		at = (at + 1) & (room - 1);
	return &seen[at];
}

static enum seam_rc grow_seen(struct explorer *explorer)
{
	size_t room = explorer->seen_room == 0 ? 4096 : 2 * explorer->seen_room;
	uint64_t *seen = seam__region_array(explorer->best->region, room, sizeof(*seen));
	if (seen == NULL)
		return SEAM_OOM_META;
	for (size_t i = 0; i < explorer->seen_room; i++)
		if (explorer->seen[i] != 0)
			*slot_of(seen, room, explorer->seen[i]) = explorer->seen[i];
	explorer->seen = seen;
	explorer->seen_room = room;
	return SEAM_OK;
}

/* True if a guess is new; it is not any more then. */
static bool is_new(struct explorer *explorer)
{
	if (2 * explorer->seen_count >= explorer->seen_room && explorer->rc == SEAM_OK)
		explorer->rc = grow_seen(explorer);
	if (explorer->rc != SEAM_OK)
		return false;
	uint64_t hash = hash_of(explorer, &explorer->guess);
	uint64_t *slot = slot_of(explorer->seen, explorer->seen_room, hash);
	if (*slot == hash)
		return false;
	*slot = hash;
	explorer->seen_count++;
	return true;
}

static void look_at(struct explorer *explorer)
{
	struct seam_fit_guesser *guesser = explorer->guesser;
	uint64_t bound_ns;
	if (!is_new(explorer) || !seam__fit_guess_make(guesser, &explorer->guess, &bound_ns))
		return;
	uint64_t copies = seam__fit_guess_copies(guesser);
	if (seam__fit_best_covers(explorer->best, guesser->schedule.peak_bytes, bound_ns, copies))
		return;
	struct seam_fit_prediction prediction;
	seam__fit_guess_time(guesser, &prediction);
	explorer->rc = seam__fit_best_add(explorer->best, &explorer->guess, &prediction, copies);
}

/* Bytes that a block gives back for a nanosecond of its forward pass that runs again. */
static double merit(const struct seam_fit_visit *forward)
{
	const struct seam_fit_curve *kept = &forward->under[SEAM_FIT_KEEP],
				    *again = &forward->under[SEAM_FIT_RECOMPUTE];
	return (double)(kept->net_bytes - again->net_bytes) / (double)(kept->compute_ns + 1);
}

/* Blocks by merit; equal ones as they come. */
static void sort_blocks(struct explorer *explorer)
{
	const struct seam_fit_problem *problem = explorer->guesser->problem;
	for (uint32_t i = 0, count = 0; i < problem->visit_count; i++) {
		if (problem->visits[i].phase != SEAM_FIT_FORWARD)
			continue;
		uint32_t block = problem->visits[i].block, at = count++;
		double own = explorer->merits[block] = merit(&problem->visits[i]);
		for (; at > 0 && explorer->merits[explorer->order[at - 1]] < own; at--)
			explorer->order[at] = explorer->order[at - 1];
		explorer->order[at] = block;
	}
}

/* So many blocks swapped, recomputed from the host, recomputed; the rest is kept. The first ones by merit are treated,
 * each in the way that lags behind its share most. A block that may not be treated so has its first treatment. */
static void lay_out(struct explorer *explorer, const uint64_t *counts)
{
	const struct seam_fit_problem *problem = explorer->guesser->problem;
	static const uint8_t treatments[] = {SEAM_FIT_SWAP, SEAM_FIT_FROM_HOST, SEAM_FIT_RECOMPUTE};
	uint64_t treated = counts[0] + counts[1] + counts[2], given[3] = {0};
	for (uint64_t i = 0; i < problem->block_count; i++) {
		uint32_t lags = 0;
		for (uint32_t j = 1; j < 3; j++)
			if ((int64_t)(counts[j] * (i + 1)) - (int64_t)(given[j] * treated) >
				(int64_t)(counts[lags] * (i + 1)) - (int64_t)(given[lags] * treated))
				lags = j;
		uint32_t treatment = i < treated ? treatments[lags] : SEAM_FIT_KEEP;
		uint32_t block = explorer->order[i];
		given[lags]++;
		if ((problem->blocks[block].allowed >> treatment & 1) == 0)
			treatment = (uint32_t)__builtin_ctz(problem->blocks[block].allowed);
		explorer->guess.treatments[block] = (uint8_t)treatment;
	}
}

static bool goes_on(const struct explorer *explorer)
{
	return explorer->rc == SEAM_OK && explorer->guesser->work <= explorer->work_limit;
}

/* Few buffers or one for each chunk that comes, copies with little time or much. */
static void seed(struct explorer *explorer)
{
	struct seam_fit_guess *guess = &explorer->guess;
	for (uint32_t stays = 0; stays <= SHARES && goes_on(explorer); stays++) {
		guess->stays = (uint32_t)((uint64_t)explorer->guesser->coming * stays / SHARES);
		uint32_t comes = explorer->guesser->coming - guess->stays;
		for (uint32_t i = 0; i < 4; i++) {
			guess->ahead = i % 2 == 0 ? 1 : 2;
			guess->buffers = comes == 0 ? 1 : i < 2 && comes > 2 ? 2 : comes;
			look_at(explorer);
		}
	}
}

static void seed_all(struct explorer *explorer)
{
	uint64_t blocks = explorer->guesser->problem->block_count;
	for (uint64_t swap = 0; swap <= SHARES; swap++)
		for (uint64_t host = 0; swap + host <= SHARES; host++)
			for (uint64_t again = 0; swap + host + again <= SHARES; again++) {
				lay_out(explorer,
					(const uint64_t[]){swap * blocks / SHARES, host * blocks / SHARES,
						again * blocks / SHARES});
				seed(explorer);
			}
}

/* Steps, large ones first. */
#define NUMBER_CHANGES 6u /* for each size */

/* More or fewer chunks that stay, buffers; chunks for buffers. */
static bool change_numbers(const struct explorer *explorer, struct seam_fit_guess *guess, uint64_t number)
{
	static const int8_t changes[NUMBER_CHANGES][2] = {{1, 0}, {-1, 0}, {0, 1}, {0, -1}, {1, -1}, {-1, 1}};
	int64_t step = (int64_t)(UINT64_C(1) << (explorer->scales - 1 - number / NUMBER_CHANGES));
	int64_t stays = (int64_t)guess->stays + step * changes[number % NUMBER_CHANGES][0];
	int64_t buffers = (int64_t)guess->buffers + step * changes[number % NUMBER_CHANGES][1];
	int64_t comes = (int64_t)explorer->guesser->coming - stays;
	if (stays < 0 || comes < 0 || buffers < 1)
		return false;
	buffers = buffers > comes ? comes : buffers;
	guess->stays = (uint32_t)stays;
	guess->buffers = (uint32_t)(buffers < 1 ? 1 : buffers);
	return true;
}

/* Some blocks more of one treatment, as many fewer of another, all laid out anew. */
#define LAYOUT_CHANGES (SEAM_FIT_TREATMENTS * (SEAM_FIT_TREATMENTS - 1)) /* for each size */

static bool change_layout(struct explorer *explorer, struct seam_fit_guess *guess, uint64_t number)
{
	uint64_t counts[SEAM_FIT_TREATMENTS] = {0}, step = 1ull << (explorer->scales - 1 - number / LAYOUT_CHANGES);
	uint64_t from = number % LAYOUT_CHANGES % SEAM_FIT_TREATMENTS;
	uint64_t to = (from + 1 + number % LAYOUT_CHANGES / SEAM_FIT_TREATMENTS) % SEAM_FIT_TREATMENTS;
	for (uint32_t i = 0; i < explorer->guesser->problem->block_count; i++)
		counts[guess->treatments[i]]++;
	if (counts[from] < step)
		return false;
	counts[from] -= step;
	counts[to] += step;
	lay_out(explorer,
		(const uint64_t[]){counts[SEAM_FIT_SWAP], counts[SEAM_FIT_FROM_HOST], counts[SEAM_FIT_RECOMPUTE]});
	return true;
}

/* Another treatment of a block, by number from 0 to 2. */
static bool treat(const struct explorer *explorer, struct seam_fit_guess *guess, uint64_t block, uint64_t number)
{
	uint32_t treatment = (uint32_t)(guess->treatments[block] + 1 + number) % SEAM_FIT_TREATMENTS;
	if ((explorer->guesser->problem->blocks[block].allowed >> treatment & 1) == 0)
		return false;
	guess->treatments[block] = (uint8_t)treatment;
	return true;
}

#define OTHERS (SEAM_FIT_TREATMENTS - 1) /* treatments of a block */

/* Other treatments of two blocks, and other time for copies. */
static bool change_pair(const struct explorer *explorer, struct seam_fit_guess *guess, uint64_t number)
{
	uint64_t blocks = explorer->guesser->problem->block_count;
	uint64_t one = number % blocks, first = number / blocks % OTHERS, second = number / blocks / OTHERS % OTHERS;
	number /= blocks * OTHERS * OTHERS;
	uint64_t other = (one + 1 + number % (blocks / 2)) % blocks;
	guess->ahead = (uint32_t)((guess->ahead - 1 + number / (blocks / 2)) % SEAM_FIT_AHEAD_MOST) + 1;
	return treat(explorer, guess, one, first) && treat(explorer, guess, other, second);
}

/* Makes neighbour `number` of a guess: other numbers, other layouts, other treatments of a block, of two
 * blocks. false: it is none. */
static bool change(struct explorer *explorer, struct seam_fit_guess *guess, uint64_t number)
{
	uint64_t blocks = explorer->guesser->problem->block_count;
	if (number < SEAM_FIT_AHEAD_MOST) {
		guess->ahead = (uint32_t)number + 1;
		return true;
	}
	number -= SEAM_FIT_AHEAD_MOST;
	if (number < explorer->scales * NUMBER_CHANGES)
		return change_numbers(explorer, guess, number);
	number -= explorer->scales * NUMBER_CHANGES;
	if (number < explorer->scales * LAYOUT_CHANGES)
		return change_layout(explorer, guess, number);
	number -= explorer->scales * LAYOUT_CHANGES;
	if (number < blocks * OTHERS)
		return treat(explorer, guess, number % blocks, number / blocks);
	return change_pair(explorer, guess, number - blocks * OTHERS);
}

static uint64_t first_block_change(const struct explorer *explorer)
{
	return SEAM_FIT_AHEAD_MOST + explorer->scales * (NUMBER_CHANGES + LAYOUT_CHANGES);
}

static uint64_t change_count(const struct explorer *explorer)
{
	uint64_t blocks = explorer->guesser->problem->block_count;
	uint64_t pairs = blocks * (blocks / 2) * OTHERS * OTHERS * SEAM_FIT_AHEAD_MOST;
	return first_block_change(explorer) + blocks * OTHERS + pairs;
}

/* The next few neighbours of a point, from a place on that differs from point to point. false: none are left. */
static bool look_around(struct explorer *explorer, struct seam_fit_place *place, uint64_t end)
{
	const uint64_t count = change_count(explorer);
	const uint64_t first = hash_of(explorer, &place->guess) % count;
	uint32_t looked = 0;
	while (place->looked < end && looked < NEIGHBOURS_AT_A_TIME && goes_on(explorer)) {
		/* Those of single blocks come last, from a place on that differs from point to point. */
		uint64_t number = place->looked++, of_blocks = first_block_change(explorer);
		if (number >= of_blocks)
			number = of_blocks + (number - of_blocks + first) % (count - of_blocks);
		struct seam_fit_guess *guess = &explorer->guess;
		uint8_t *treatments = guess->treatments;
		*guess = place->guess;
		guess->treatments = treatments;
		if (explorer->best->block_count > 0)
			memcpy(treatments, place->guess.treatments, explorer->best->block_count);
		if (change(explorer, guess, number)) {
			look_at(explorer);
			looked++;
		}
	}
	return place->looked < end;
}

/* Looks around points, smallest first, each faster by a part of its time than the one before. false: no neighbours
 * are left below `end`. */
static bool sweep(struct explorer *explorer, uint64_t end, uint64_t part)
{
	struct seam_fit_best *best = explorer->best;
	bool is_left = false;
	uint64_t below_ns = UINT64_MAX;
	for (uint32_t at = 0; at < best->count && goes_on(explorer);) {
		struct seam_fit_place *place = best->places[at];
		uint64_t bytes = place->prediction.peak_bytes;
		if (place->prediction.ns < below_ns) {
			below_ns = place->prediction.ns - place->prediction.ns / part;
			is_left |= look_around(explorer, place, end);
		}
		at = seam__fit_best_above(best, bytes);
	}
	return is_left && goes_on(explorer);
}

enum seam_rc seam__fit_explore(
	struct seam_fit_guesser *guesser, struct seam_fit_best *best, uint64_t work_limit, bool *ret_complete)
{
	struct explorer explorer = {.guesser = guesser, .best = best, .work_limit = work_limit};
	explorer.guess.treatments = seam__region_array(best->region, (size_t)best->block_count + 1, 1);
	explorer.order = seam__region_array(best->region, best->block_count, sizeof(*explorer.order));
	explorer.merits = seam__region_array(best->region, best->block_count, sizeof(*explorer.merits));
	if (explorer.guess.treatments == NULL || explorer.order == NULL || explorer.merits == NULL)
		return SEAM_OOM_META;
	uint32_t most = best->block_count > guesser->coming ? best->block_count : guesser->coming;
	for (explorer.scales = 1; 1u << explorer.scales < most;)
		explorer.scales++;
	sort_blocks(&explorer);
	seed_all(&explorer);
	/* Layouts first, those that are far apart before those between them; then single blocks. */
	for (uint32_t part = PART_FIRST; part <= PART_LAST && goes_on(&explorer); part *= 2)
		while (sweep(&explorer, first_block_change(&explorer), part))
			;
	bool is_left = true;
	while (is_left && goes_on(&explorer))
		is_left = sweep(&explorer, change_count(&explorer), UINT64_MAX);
	*ret_complete = !is_left && goes_on(&explorer);
	return explorer.rc;
}

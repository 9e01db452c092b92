/* repeat_longest.c: the period without marks; see period.h.
 *
 * Tokens are found again by what is live and what the last few tokens did: inside a stack of equal layers the live
 * blocks tell one layer from the next. The distances at which places are found again most often are candidates, and
 * each is held against the whole row of tokens.
 */
#include "repeat.h"

#include "meta.h"
#include "region.h"

#define CANDIDATES 16u
#define CONTEXT_MAX 8u /* tokens that a place is known by; fewer in a short trace */

struct place {
	uint32_t mark;  /* part of the hash; a table without chains forgets, and may not confuse */
	uint32_t token; /* number + 1; 0: empty */
};

/* The bytes that a token adds to what is live, negative ones in wrapping arithmetic. */
static uint64_t change_of(const struct seam_tokens *tokens, uint32_t token)
{
	const struct seam_trace_event *event = &tokens->requests->trace->events[seam__tokens_at(tokens, token)->event];

	return event->kind == SEAM_TRACE_ALLOC ? event->size : event->kind == SEAM_TRACE_FREE ? 0 - event->size : 0;
}

static uint64_t context_of(const struct seam_tokens *tokens, uint32_t number)
{
	uint32_t some = seam__tokens_count(tokens) / 8 + 1;
	uint32_t context = some < CONTEXT_MAX ? some : CONTEXT_MAX;
	uint32_t first = number + 1 < context ? 0 : number + 1 - context;
	uint64_t hash = seam__tokens_state(tokens, number + 1);

	for (uint32_t i = first; i <= number; i++)
		hash = (hash ^ seam__tokens_at(tokens, i)->key) * UINT64_C(0x9fb21c651e98df25);
	return seam__tokens_mix(hash, context);
}

/* votes: per distance, zeroed. */
static void vote(const struct seam_tokens *tokens, struct place *places, uint32_t mask, uint32_t *votes)
{
	for (uint32_t i = 0; i < seam__tokens_count(tokens); i++) {
		uint64_t hash = context_of(tokens, i);
		struct place *place = &places[hash & mask];
		uint32_t mark = (uint32_t)(hash >> 32);

		if (place->token != 0 && place->mark == mark)
			votes[i + 1 - place->token]++;
		*place = (struct place){.mark = mark, .token = i + 1};
	}
}

/* The distance with most votes, the shorter of equals, which has none afterwards; 0: there is none. */
static uint32_t next_candidate(uint32_t *votes, uint32_t count)
{
	uint32_t best = 0;

	for (uint32_t length = 1; length <= count / 2; length++)
		if (votes[length] > votes[best])
			best = length;
	votes[best] = 0;
	return best;
}

/* The longest region that repeats with `length`; the newest of equals. False where none is two lengths long, or what is
 * live does not return. */
static bool longest_region(const struct seam_tokens *tokens, uint32_t length, uint32_t *ret_first, uint32_t *ret_last)
{
	uint32_t count = seam__tokens_count(tokens);
	uint32_t run = 0;
	uint32_t best = 0;
	uint32_t end = 0;

	for (uint32_t i = length; i < count; i++) {
		run = seam__tokens_equal(tokens, i, i - length) ? run + 1 : 0;
		if (run >= best && run >= length &&
			seam__tokens_state(tokens, i + 1) == seam__tokens_state(tokens, i + 1 - length)) {
			best = run;
			end = i + 1;
		}
	}
	*ret_first = end - best - length;
	*ret_last = end;
	return best >= length;
}

/* Where the fewest bytes are live, of the newest beginnings that leave a period and one more token; the newest of
 * equals. The token behind the period says where it ends: what is not a token may stand before it. */
static uint32_t lowest(const struct seam_tokens *tokens, uint32_t region_last, uint32_t length)
{
	uint32_t last = region_last - length - 1;
	uint32_t first = region_last - 2 * length;
	uint32_t best = last;
	uint64_t live = 0; /* against that at `last`, in wrapping arithmetic */
	uint64_t least = 0;

	for (uint32_t i = last; i-- > first;) {
		live -= change_of(tokens, i);
		if ((int64_t)live < (int64_t)least) {
			least = live;
			best = i;
		}
	}
	return best;
}

/* Is at least half of what is asked for asked for in the region, without the blocks that live through all of it? */
static bool is_most(const struct seam_tokens *tokens, const struct seam_repeat *repeat)
{
	uint32_t before = seam__tokens_allocs(tokens, repeat->region_first);
	uint32_t inside = seam__tokens_allocs(tokens, repeat->region_last) - before;
	uint32_t through = before;

	for (uint32_t i = 0; i < repeat->region_last; i++)
		if (tokens->requests->trace->events[seam__tokens_at(tokens, i)->event].kind == SEAM_TRACE_FREE &&
			seam__tokens_origin(tokens, i) < before)
			through--;
	return (uint64_t)2 * inside >= (uint64_t)tokens->allocs.count - through;
}

static enum seam_rc search(const struct seam_tokens *tokens, uint32_t *votes, struct seam_repeat *ret_repeat)
{
	struct seam_repeat best = {0};
	uint32_t best_length = 0;

	for (uint32_t c = 0; c < CANDIDATES; c++) {
		uint32_t length = next_candidate(votes, seam__tokens_count(tokens));
		uint32_t first;
		uint32_t last;

		if (length == 0)
			break;
		if (!longest_region(tokens, length, &first, &last) ||
			(best_length != 0 && last - first < best.region_last - best.region_first) ||
			(best_length != 0 && last - first == best.region_last - best.region_first &&
				length > best_length))
			continue;
		best = (struct seam_repeat){.region_first = first, .region_last = last};
		best_length = length;
	}
	if (best_length == 0 || !is_most(tokens, &best))
		return SEAM_NOT_FOUND;
	best.first = lowest(tokens, best.region_last, best_length);
	best.last = best.first + best_length;
	*ret_repeat = best;
	return SEAM_OK;
}

enum seam_rc seam__repeat_longest(const struct seam_tokens *tokens, struct seam_repeat *ret_repeat)
{
	struct seam_region *region = seam__region_create(seam__meta_process());
	uint32_t count = seam__tokens_count(tokens);
	uint32_t slots = 16;
	struct place *places = NULL;
	uint32_t *votes = NULL;
	enum seam_rc rc = SEAM_OOM_META;

	while (slots < count && slots < UINT32_C(1) << 30)
		slots *= 2;
	slots *= 2;
	if (region != NULL) {
		places = seam__region_array(region, slots, sizeof(*places));
		votes = seam__region_array(region, (size_t)count + 1, sizeof(*votes));
	}
	if (places != NULL && votes != NULL) {
		vote(tokens, places, slots - 1, votes);
		rc = search(tokens, votes, ret_repeat);
	}
	seam__region_destroy(region);
	return rc;
}

/* repeat_steps.c: the period by marks of steps; see period.h.
 *
 * Each step is a letter: a hash of its tokens, in which a free of a block from before the step is not told from another
 * of the same size. Equal letters are then compared token by token.
 */
#include "repeat.h"

#include "meta.h"

#define STEPS_TOGETHER_MAX 32u /* a period of more steps than that is not looked for */

struct step {
	uint32_t first; /* tokens [first, last) */
	uint32_t last;
	uint64_t hash;
};

struct steps {
	struct step *items; /* without the first, which holds the program's beginning */
	uint32_t count;
};

/* Is the token's block from before token `first`? */
static bool is_older(const struct seam_tokens *tokens, uint32_t number, uint32_t first)
{
	const struct seam_token *token = seam__tokens_at(tokens, number);

	return token->back > token->allocs - seam__tokens_allocs(tokens, first);
}

static uint64_t hash_step(const struct seam_tokens *tokens, uint32_t first, uint32_t last)
{
	uint64_t hash = last - first;

	for (uint32_t i = first; i < last; i++) {
		const struct seam_token *token = seam__tokens_at(tokens, i);

		hash = seam__tokens_mix(hash, token->key + (is_older(tokens, i, first) ? UINT32_MAX : token->back));
	}
	return hash;
}

/* Are tokens [first, first + length) what the same number of tokens before them are? */
static bool equal_before(const struct seam_tokens *tokens, uint32_t first, uint32_t length)
{
	if (length == 0 || first < length ||
		seam__tokens_state(tokens, first) != seam__tokens_state(tokens, first + length))
		return false;
	for (uint32_t i = 0; i < length; i++) {
		const struct seam_token *now = seam__tokens_at(tokens, first + i);
		const struct seam_token *then = seam__tokens_at(tokens, first + i - length);

		if (now->key != then->key)
			return false;
		if (now->back != then->back &&
			!(is_older(tokens, first + i, first) && is_older(tokens, first + i - length, first - length)))
			return false;
	}
	return true;
}

static bool equal_steps(const struct steps *steps, uint32_t a, uint32_t b)
{
	return steps->items[a].hash == steps->items[b].hash;
}

/* Looks for `together` steps that are repeated; `total`: tokens of all steps. */
static bool find(const struct seam_tokens *tokens, const struct steps *steps, uint32_t together, uint32_t total,
	struct seam_repeat *ret_repeat)
{
	uint32_t equal = 0; /* steps from here on, one behind the other, that equal the one `together` later */

	for (uint32_t i = steps->count - together; i-- > 0;) {
		const struct step *begin;
		const struct step *end;
		uint32_t oldest = i;

		equal = equal_steps(steps, i, i + together) ? equal + 1 : 0;
		if (equal < together)
			continue;
		begin = &steps->items[i + together];
		end = &steps->items[i + 2 * together - 1];
		if (!equal_before(tokens, begin->first, end->last - begin->first))
			continue;
		while (oldest > 0 && equal_steps(steps, oldest - 1, oldest - 1 + together))
			oldest--;
		if ((uint64_t)2 * (end->last - steps->items[oldest].first) < total) {
			i = oldest; /* nor will any older one of these be enough */
			equal = 0;
			continue;
		}
		*ret_repeat = (struct seam_repeat){
			.first = begin->first,
			.last = end->last,
			.region_first = 2 * begin->first - end->last,
			.region_last = end->last,
		};
		return true;
	}
	return false;
}

static enum seam_rc find_any(
	const struct seam_tokens *tokens, const struct steps *steps, struct seam_repeat *ret_repeat)
{
	uint32_t total = 0;

	for (uint32_t i = 0; i < steps->count; i++)
		total += steps->items[i].last - steps->items[i].first;
	/* One whole step may equal the end of what stands before it. */
	if (steps->count == 1 && equal_before(tokens, steps->items[0].first, total)) {
		*ret_repeat = (struct seam_repeat){
			.first = steps->items[0].first,
			.last = steps->items[0].last,
			.region_first = steps->items[0].first - total,
			.region_last = steps->items[0].last,
		};
		return SEAM_OK;
	}
	for (uint32_t together = 1; together <= STEPS_TOGETHER_MAX && 2 * together <= steps->count; together++)
		if (find(tokens, steps, together, total, ret_repeat))
			return SEAM_OK;
	return SEAM_NOT_FOUND;
}

enum seam_rc seam__repeat_steps(
	const struct seam_tokens *tokens, const uint32_t *marks, uint32_t mark_count, struct seam_repeat *ret_repeat)
{
	struct steps steps = {.count = 0};
	enum seam_rc rc;

	if (mark_count < 2)
		return SEAM_NOT_FOUND;
	steps.items = seam__meta_array(seam__meta_process(), mark_count, sizeof(*steps.items));
	if (steps.items == NULL)
		return SEAM_OOM_META;
	for (uint32_t m = 1; m < mark_count; m++) {
		uint64_t hash = hash_step(tokens, marks[m - 1], marks[m]);

		steps.items[steps.count++] = (struct step){.first = marks[m - 1], .last = marks[m], .hash = hash};
	}
	rc = find_any(tokens, &steps, ret_repeat);
	seam__meta_free(seam__meta_process(), steps.items, mark_count * sizeof(*steps.items));
	return rc;
}

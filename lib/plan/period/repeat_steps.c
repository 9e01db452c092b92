/* repeat_steps.c: the period by marks of steps; see period.h.
 *
 * Each step is a letter: a hash of its tokens, in which a free of a block from before the step is not told from another
 * of the same size. Equal letters are then compared token by token.
 */
#include "repeat.h"

#define STEPS_TOGETHER_MAX 32u /* a period of more steps than that is not looked for */

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

/* Step i is what stands between mark i and the next; before the first mark stands the program's beginning. */
static bool equal_steps(const struct seam_mark *marks, uint32_t a, uint32_t b)
{
	return marks[a + 1].hash == marks[b + 1].hash;
}

/* The tokens [first, last) as a period; the same number of tokens before them equals them. */
static struct seam_repeat make(uint32_t first, uint32_t last)
{
	return (struct seam_repeat){
		.first = first, .last = last, .region_first = 2 * first - last, .region_last = last};
}

/* Looks for `together` steps of `count` that are repeated. */
static bool find(const struct seam_tokens *tokens, const struct seam_mark *marks, uint32_t count, uint32_t together,
	struct seam_repeat *ret_repeat)
{
	const uint32_t total = marks[count].tokens - marks[0].tokens;
	uint32_t equal = 0; /* steps from here on, one behind the other, that equal the one `together` later */

	for (uint32_t i = count - together; i-- > 0;) {
		uint32_t first = marks[i + together].tokens;
		uint32_t oldest = i;

		equal = equal_steps(marks, i, i + together) ? equal + 1 : 0;
		if (equal < together)
			continue;
		uint32_t last = marks[i + 2 * together].tokens;
		if (!equal_before(tokens, first, last - first))
			continue;
		while (oldest > 0 && equal_steps(marks, oldest - 1, oldest - 1 + together))
			oldest--;
		if ((uint64_t)2 * (last - marks[oldest].tokens) >= total) {
			*ret_repeat = make(first, last);
			return true;
		}
		i = oldest; /* nor will any older one of these be enough */
		equal = 0;
	}
	return false;
}

enum seam_rc seam__repeat_steps(
	const struct seam_tokens *tokens, struct seam_mark *marks, uint32_t mark_count, struct seam_repeat *ret_repeat)
{
	const uint32_t count = mark_count - 1;

	/* One whole step may equal the end of what stands before it. */
	if (count == 1 && equal_before(tokens, marks[0].tokens, marks[1].tokens - marks[0].tokens)) {
		*ret_repeat = make(marks[0].tokens, marks[1].tokens);
		return SEAM_OK;
	}
	for (uint32_t m = 1; m < mark_count; m++)
		marks[m].hash = hash_step(tokens, marks[m - 1].tokens, marks[m].tokens);
	for (uint32_t together = 1; together <= STEPS_TOGETHER_MAX && 2 * together <= count; together++)
		if (find(tokens, marks, count, together, ret_repeat))
			return SEAM_OK;
	return SEAM_NOT_FOUND;
}

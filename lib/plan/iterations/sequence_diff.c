/* sequence_diff.c: see sequence_diff.h.
 *
 * Diagonal k holds the pairs (x, y) with x - y = k. reach[k] is the furthest x that `edits` edits lead to on it. Every
 * round's reaches are kept, in a triangle: round r has r + 1 of them, diagonals -r, -r + 2, ..., r. From the end one
 * walks back through them.
 */
#include "sequence_diff.h"

#include <stdbool.h>
#include <stddef.h>

#include "meta.h"

struct table {
	const uint64_t *a;
	const uint64_t *b;
	int64_t a_count;
	int64_t b_count;
	int32_t *reach;
};

/* The reach of diagonal k = 2 * i - round in round `round`. */
static int32_t *reach_of(const struct table *table, int64_t round, int64_t i)
{
	return &table->reach[round * (round + 1) / 2 + i];
}

/* Where diagonal i of a round starts, from the round before; `down`: by an insertion, an element of b. -1: nowhere. */
static int64_t start_of(const struct table *table, int64_t round, int64_t i, bool *ret_down)
{
	int64_t from_above = i < round ? *reach_of(table, round - 1, i) : -1;    /* diagonal k + 1 */
	int64_t from_left = i > 0 ? *reach_of(table, round - 1, i - 1) + 1 : -1; /* diagonal k - 1 */

	*ret_down = from_above >= from_left;
	return *ret_down ? from_above : from_left;
}

/* One round. Returns whether the end was reached. */
static bool go_on(const struct table *table, int64_t round)
{
	for (int64_t i = 0; i <= round; i++) {
		int64_t k = 2 * i - round;
		bool down;
		int64_t x = round == 0 ? 0 : start_of(table, round, i, &down);

		if (x < 0 || x > table->a_count || x - k > table->b_count || x - k < 0) {
			*reach_of(table, round, i) = INT32_MIN / 2; /* off the table */
			continue;
		}
		while (x < table->a_count && x - k < table->b_count && table->a[x] == table->b[x - k])
			x++;
		*reach_of(table, round, i) = (int32_t)x;
		if (x == table->a_count && x - k == table->b_count)
			return true;
	}
	return false;
}

/* Fills in the matches of the way that ended in round `last`. */
static void walk_back(const struct table *table, int64_t last, uint32_t *match)
{
	int64_t x = table->a_count;
	int64_t y = table->b_count;

	for (int64_t round = last; round >= 0; round--) {
		int64_t i = (x - y + round) / 2;
		bool down = false;
		int64_t start = round == 0 ? 0 : start_of(table, round, i, &down);

		for (; x > start; x--, y--)
			match[y - 1] = (uint32_t)(x - 1);
		if (round == 0)
			break;
		if (down)
			match[--y] = SEAM__DIFF_NONE;
		else
			x--;
	}
}

/* Within `rounds` edits. */
static enum seam_rc match_within(struct table *table, int64_t rounds, uint32_t *match)
{
	struct seam_meta *meta = seam__meta_process();
	size_t cells = (size_t)((rounds + 1) * (rounds + 2) / 2);
	enum seam_rc rc = SEAM_NOT_FOUND;

	table->reach = seam__meta_array(meta, cells, sizeof(*table->reach));
	if (table->reach == NULL)
		return SEAM_OOM_META;
	for (int64_t round = 0; round <= rounds && rc != SEAM_OK; round++) {
		if (go_on(table, round)) {
			walk_back(table, round, match);
			rc = SEAM_OK;
		}
	}
	seam__meta_free(meta, table->reach, cells * sizeof(*table->reach));
	return rc;
}

/* Most sequences differ little, so little memory is tried first. */
static enum seam_rc match_middle(struct table *table, uint32_t most, uint32_t *match)
{
	int64_t limit = most < SEAM__DIFF_EDITS_MAX ? most : SEAM__DIFF_EDITS_MAX;
	enum seam_rc rc = SEAM_NOT_FOUND;

	if (table->a_count + table->b_count < limit)
		limit = table->a_count + table->b_count;
	for (int64_t rounds = 64; rc == SEAM_NOT_FOUND; rounds *= 4) {
		rc = match_within(table, rounds < limit ? rounds : limit, match);
		if (rounds >= limit)
			break;
	}
	return rc;
}

enum seam_rc seam__diff_match(
	const uint64_t *a, uint32_t a_count, const uint64_t *b, uint32_t b_count, uint32_t most, uint32_t *ret_match)
{
	uint32_t less = a_count < b_count ? a_count : b_count;
	uint32_t before = 0;
	uint32_t behind = 0;

	while (before < less && a[before] == b[before]) {
		ret_match[before] = before;
		before++;
	}
	while (behind < less - before && a[a_count - 1 - behind] == b[b_count - 1 - behind]) {
		behind++;
		ret_match[b_count - behind] = a_count - behind;
	}
	if (before + behind == a_count && before + behind == b_count)
		return SEAM_OK;
	struct table table = (struct table){.a = a + before,
		.b = b + before,
		.a_count = a_count - before - behind,
		.b_count = b_count - before - behind};
	enum seam_rc rc = match_middle(&table, most, ret_match + before);
	for (uint32_t i = before; rc == SEAM_OK && i < b_count - behind; i++)
		if (ret_match[i] != SEAM__DIFF_NONE)
			ret_match[i] += before;
	return rc;
}

/* chains.c: see chains.h. */
#include "chains.h"

#include <stdlib.h>

#include "meta.h"

static int compare_chains(const void *left, const void *right)
{
	const struct seam__chain *a = left;
	const struct seam__chain *b = right;

	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	if (a->size_bytes != b->size_bytes)
		return a->size_bytes > b->size_bytes ? -1 : 1;
	return a->head < b->head ? -1 : a->head > b->head;
}

/* How long item `i` is held from `stream`, at most once around. */
static uint32_t hold_around(const struct seam__problem *problem, uint32_t i, uint32_t stream)
{
	uint32_t hold = seam__problem_hold(problem, i, stream);

	return hold < problem->circle ? hold : problem->circle;
}

/* Adds 1 to [begin, begin + length) of the circle, as differences; the last value is behind the end. */
static void cover(uint64_t *values, uint32_t circle, uint32_t begin, uint32_t length)
{
	uint64_t end = (uint64_t)begin + length;

	values[begin]++;
	if (end <= circle) {
		values[end]--;
	} else {
		values[circle]--;
		values[0]++;
		values[end - circle]--;
	}
}

/* Sum of values over [begin, begin + length) of the circle; `sums` are running sums, sums[i] of what is before i. */
static uint64_t window_sum(const uint64_t *sums, uint32_t circle, uint32_t begin, uint32_t length)
{
	uint64_t end = (uint64_t)begin + length;

	if (end <= circle)
		return sums[end] - sums[begin];
	return sums[circle] - sums[begin] + sums[end - circle];
}

/* What stream `s` has to do with everyone: items held from it where its own begin, and its items that begin while
 * others are held from it. Two arrays of circle + 1 values for work. */
static void count_stream(
	const struct seam__problem *problem, uint32_t s, uint64_t *held, uint64_t *begins, uint64_t *counts)
{
	uint64_t running = 0;
	uint64_t before = 0;

	for (uint32_t t = 0; t <= problem->circle; t++)
		held[t] = begins[t] = 0;
	for (uint32_t i = 0; i < problem->count; i++) {
		cover(held, problem->circle, problem->items[i].begin, hold_around(problem, i, s));
		begins[problem->items[i].begin] += problem->items[i].stream == s;
	}
	for (uint32_t t = 0; t <= problem->circle; t++) {
		uint64_t here = begins[t];

		begins[t] = before;
		before += here;
		running += held[t];
		held[t] = running;
	}
	for (uint32_t i = 0; i < problem->count; i++) {
		const struct seam__item *item = &problem->items[i];

		counts[i] += window_sum(begins, problem->circle, item->begin, hold_around(problem, i, s));
		if (item->stream == s)
			counts[i] += held[item->begin] - 2; /* it met itself in both sums */
	}
}

/* Items that begin together met twice, each while the other was held. */
static void subtract_equal_begins(const struct seam__problem *problem, uint64_t *begins, uint64_t *counts)
{
	for (uint32_t t = 0; t < problem->circle; t++)
		begins[t] = 0;
	for (uint32_t i = 0; i < problem->count; i++)
		begins[problem->items[i].begin]++;
	for (uint32_t i = 0; i < problem->count; i++)
		counts[i] -= begins[problem->items[i].begin] - 1;
}

enum seam_rc seam__chains_conflicts(const struct seam__problem *problem, uint64_t *ret_counts)
{
	size_t values = (size_t)problem->circle + 1;
	uint64_t *work = seam__meta_array(problem->meta, 2 * values, sizeof(*work));

	if (work == NULL)
		return SEAM_OOM_META;
	for (uint32_t i = 0; i < problem->count; i++)
		ret_counts[i] = 0;
	for (uint32_t s = 0; s < problem->streams; s++)
		count_stream(problem, s, work, work + values, ret_counts);
	subtract_equal_begins(problem, work, ret_counts);
	seam__meta_free(problem->meta, work, 2 * values * sizeof(*work));
	return SEAM_OK;
}

/* One value per item from which keys are made; NULL values where sizes and begins say it. */
static enum seam_rc weigh(const struct seam__problem *problem, enum seam__chain_order order, uint64_t *weights)
{
	uint64_t *live;

	if (order == SEAM__CHAIN_UNSAFE)
		return seam__chains_conflicts(problem, weights);
	if (order == SEAM__CHAIN_BREADTH) {
		live = seam__meta_array(problem->meta, problem->circle, sizeof(*live));
		if (live == NULL)
			return SEAM_OOM_META;
		seam__problem_live(problem, live);
		for (uint32_t i = 0; i < problem->count; i++)
			weights[i] = live[problem->items[i].begin];
		seam__meta_free(problem->meta, live, (size_t)problem->circle * sizeof(*live));
		return SEAM_OK;
	}
	for (uint32_t i = 0; i < problem->count; i++)
		weights[i] = order == SEAM__CHAIN_SIZE ? problem->items[i].size_bytes : problem->items[i].begin;
	return SEAM_OK;
}

static struct seam__chain make_chain(
	const struct seam__problem *problem, uint32_t head, enum seam__chain_order order, const uint64_t *weights)
{
	struct seam__chain chain = {.head = head};
	uint64_t most = 0;
	uint64_t least = UINT64_MAX;

	for (uint32_t i = head; i != SEAM__ITEM_NONE; i = problem->items[i].next) {
		chain.size_bytes += problem->items[i].size_bytes;
		chain.length++;
		most = weights[i] > most ? weights[i] : most;
		least = weights[i] < least ? weights[i] : least;
	}
	if (order == SEAM__CHAIN_SOURCE)
		chain.key = least;
	else
		chain.key = UINT64_MAX - (order == SEAM__CHAIN_SIZE ? chain.size_bytes : most);
	return chain;
}

/* Uses `is_next`, a byte per item, all 0. */
static void collect(
	struct seam__chains *chains, enum seam__chain_order order, const uint64_t *weights, uint8_t *is_next)
{
	const struct seam__problem *problem = chains->problem;

	for (uint32_t i = 0; i < problem->count; i++)
		if (problem->items[i].next != SEAM__ITEM_NONE)
			is_next[problem->items[i].next] = 1;
	for (uint32_t i = 0; i < problem->count; i++)
		if (is_next[i] == 0 && problem->items[i].fixed_bytes == SEAM__ADDRESS_ANY)
			chains->list[chains->count++] = make_chain(problem, i, order, weights);
	qsort(chains->list, chains->count, sizeof(*chains->list), compare_chains);
}

enum seam_rc seam__chains_init(
	struct seam__chains *chains, const struct seam__problem *problem, enum seam__chain_order order)
{
	struct seam__chains made = {.problem = problem};
	uint64_t *weights;
	uint8_t *is_next;
	enum seam_rc rc = SEAM_OOM_META;

	if (problem->count == 0) {
		*chains = made;
		return SEAM_OK;
	}
	made.list = seam__meta_array(problem->meta, problem->count, sizeof(*made.list));
	weights = seam__meta_array(problem->meta, problem->count, sizeof(*weights));
	is_next = seam__meta_alloc(problem->meta, problem->count);
	if (made.list != NULL && weights != NULL && is_next != NULL)
		rc = weigh(problem, order, weights);
	if (rc == SEAM_OK)
		collect(&made, order, weights, is_next);
	seam__meta_free(problem->meta, is_next, problem->count);
	seam__meta_free(problem->meta, weights, (size_t)problem->count * sizeof(*weights));
	if (rc == SEAM_OK)
		*chains = made;
	else
		seam__chains_fini(&made);
	return rc;
}

void seam__chains_fini(struct seam__chains *chains)
{
	if (chains->list != NULL)
		seam__meta_free(
			chains->problem->meta, chains->list, (size_t)chains->problem->count * sizeof(*chains->list));
	*chains = (struct seam__chains){0};
}

const char *seam__chains_check(const struct seam__chains *chains)
{
	const struct seam__problem *problem = chains->problem;
	uint64_t items = 0;
	uint64_t loose = 0;

	for (uint32_t c = 0; c < chains->count; c++) {
		if (c > 0 && compare_chains(&chains->list[c - 1], &chains->list[c]) >= 0)
			return "C2 order";
		items += chains->list[c].length;
	}
	for (uint32_t i = 0; i < problem->count; i++)
		loose += problem->items[i].fixed_bytes == SEAM__ADDRESS_ANY;
	return items == loose ? NULL : "C1 items";
}

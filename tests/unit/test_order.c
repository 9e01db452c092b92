/* test_order.c: an order has every head once, by the letters of its word; a placement's order is that of its addresses.
 */
#include <string.h>

#include "meta_fixture.h"
#include "order.h"
#include "random_problem.h"
#include "solver.h"

TestSuite(order, .init = set_up, .fini = tear_down);

static uint64_t live_at(const struct seam_problem *problem, uint32_t position)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < problem->count; i++)
		if (seam__problem_distance(problem, problem->items[i].begin, position) < problem->items[i].span)
			sum += problem->items[i].size_bytes;
	return sum;
}

/* Larger is earlier. */
static int64_t naive_key(const struct seam_problem *problem, uint32_t head, char letter)
{
	const struct seam_item *items = problem->items;
	int64_t sum = 0;
	int64_t most = 0;

	if (letter == 'B')
		return -(int64_t)items[head].begin;
	for (uint32_t i = head; i != SEAM__ITEM_NONE; i = items[i].next) {
		int64_t value = 0;

		if (letter == 'W')
			value = (int64_t)items[i].size_bytes;
		if (letter == 'A')
			value = (int64_t)(items[i].size_bytes * items[i].span);
		for (uint32_t step = 0; letter == 'T' && step < items[i].span; step++) {
			int64_t live = (int64_t)live_at(problem, (items[i].begin + step) % problem->circle);

			value = live > value ? live : value;
		}
		sum += value;
		most = value > most ? value : most;
	}
	return letter == 'W' || letter == 'A' ? sum : most;
}

static bool is_before(const struct seam_problem *problem, uint32_t a, uint32_t b, const char *word)
{
	bool a_around = problem->items[a].span == problem->circle;
	bool b_around = problem->items[b].span == problem->circle;

	if (a_around != b_around)
		return a_around;
	for (; *word != '\0'; word++) {
		int64_t key_a = naive_key(problem, a, *word);
		int64_t key_b = naive_key(problem, b, *word);

		if (key_a != key_b)
			return key_a > key_b;
	}
	return a < b;
}

static void check_order(const struct seam_problem *problem, const char *word)
{
	struct seam_order order;
	bool is_behind[64] = {false};
	bool met[64] = {false};
	uint32_t heads = 0;

	cr_assert_eq(seam__order_init(&order, problem, word), SEAM_OK);
	for (uint32_t i = 0; i < problem->count; i++)
		if (problem->items[i].next != SEAM__ITEM_NONE)
			is_behind[problem->items[i].next] = true;
	for (uint32_t i = 0; i < problem->count; i++)
		heads += !is_behind[i] && problem->items[i].fixed_bytes == SEAM__ADDRESS_ANY;
	cr_assert_eq(order.count, heads, "%s: %u heads", word, order.count);
	for (uint32_t n = 0; n < order.count; n++) {
		uint32_t head = order.heads[n];

		cr_expect(!met[head] && !is_behind[head] && problem->items[head].fixed_bytes == SEAM__ADDRESS_ANY,
			"%s: %u", word, head);
		met[head] = true;
		cr_expect(n == 0 || is_before(problem, order.heads[n - 1], head, word), "%s: %u stands behind %u", word,
			head, n == 0 ? 0 : order.heads[n - 1]);
	}
}

Test(order, words_are_orders)
{
	static const char *const words[] = {"", "T", "W", "A", "B", "TWAB", "AWB", "WB"};

	for (unsigned features = 0; features <= SEAM__HAS_ALL; features++) {
		struct random_wish wish = {
			.seed = 77 + features, .count = 40, .features = features & ~SEAM__HAS_HOLDS, .sizes = 3};
		struct seam_problem problem;

		random_problem(&wish, meta, &problem);
		for (size_t w = 0; w < sizeof(words) / sizeof(words[0]); w++)
			check_order(&problem, words[w]);
		seam__problem_fini(&problem);
	}
}

Test(order, areas_beyond_the_largest_number_do_not_turn_around)
{
	struct seam_problem problem;
	struct seam_order order;

	cr_assert_eq(seam__problem_init(&problem, meta, 3, 100, true, 1, 1), SEAM_OK);
	seam__problem_add(&problem, 1000, 0, 50);
	seam__problem_add(&problem, UINT64_C(1) << 62, 0, 4); /* modulo 2^64 nothing */
	seam__problem_add(&problem, 10, 0, 50);
	cr_assert_eq(seam__order_init(&order, &problem, "A"), SEAM_OK);
	cr_expect_eq(order.heads[0], 1);
	cr_expect_eq(order.heads[1], 0);
	cr_expect_eq(order.heads[2], 2);
	seam__problem_fini(&problem);
}

Test(order, by_offset)
{
	static const uint64_t offsets[] = {30, 10, 20, 10};
	static const uint32_t wanted[] = {1, 3, 2, 0};
	struct seam_problem problem;
	struct seam_order order;

	cr_assert_eq(seam__problem_init(&problem, meta, 4, 10, true, 1, 1), SEAM_OK);
	for (uint32_t i = 0; i < 4; i++)
		seam__problem_add(&problem, 10, 0, 1);
	cr_assert_eq(seam__order_init(&order, &problem, "W"), SEAM_OK);
	cr_assert_eq(seam__order_by_offset(&order, offsets), SEAM_OK);
	cr_expect_arr_eq(order.heads, wanted, sizeof(wanted));
	seam__problem_fini(&problem);
}

/* test_exact_search.c: one attempt finds a placement, proves that there is none, or says that it could not finish. */
#include <criterion/criterion.h>

#include "check.h"
#include "exact_search.h"
#include "meta.h"
#include "random_problem.h"

#define COUNT 40
#define STACKS 200
#define ITEMS_MAX (80 * STACKS + 1)

static struct seam_meta *meta;
static struct seam_problem problem;
static struct seam_exact_window window;
static struct seam_exact_search search;
static double priorities[ITEMS_MAX];

static void set_up(void)
{
	meta = seam__meta_create(0);
	cr_assert_not_null(meta);
}

static void close_all(void)
{
	seam__problem_fini(&problem);
}

static void tear_down(void)
{
	close_all();
	SEAM_VERIFY(seam__meta_destroy(meta) == 0);
}

TestSuite(exact_search, .init = set_up, .fini = tear_down);

static void open_search(void)
{
	cr_assert_eq(seam__exact_window_init(&window, &problem), SEAM_OK);
	cr_assert_eq(seam__exact_search_init(&search, &window), SEAM_OK);
	for (uint32_t i = 0; i < window.count; i++)
		priorities[i] = (double)window.items[i].size_bytes;
}

static enum seam_exact_result ask(uint64_t capacity_bytes, uint64_t node_limit, enum seam_exact_style style, bool loose)
{
	struct seam_exact_attempt attempt = {capacity_bytes, node_limit, priorities, style, loose};
	struct seam_budget budget;
	uint64_t offsets[COUNT];
	enum seam_exact_result result;

	seam__budget_init(&budget);
	result = seam__exact_search_try(&search, &attempt, &budget);
	if (result != SEAM__EXACT_FOUND)
		return result;
	cr_expect_null(seam__exact_skyline_check(&search.skyline));
	for (uint32_t i = 0; i < window.count; i++)
		offsets[window.items[i].number] = search.skyline.offsets[i];
	cr_expect_null(naive_check_placement(&problem, offsets, capacity_bytes), "%s",
		naive_check_placement(&problem, offsets, capacity_bytes));
	return result;
}

/* Three stretches that overlap in pairs round a circle: they need a stack of three, though two are live at once. */
static void make_ring(void)
{
	cr_assert_eq(seam__problem_init(&problem, meta, 3, 6, false, 1, 1), SEAM_OK);
	for (uint32_t i = 0; i < 3; i++)
		(void)seam__problem_add(&problem, 2, 2 * i, 4);
	cr_assert_eq(seam__problem_finish(&problem), SEAM_OK);
	open_search();
}

Test(exact_search, what_cannot_be_is_proved_in_every_style)
{
	for (int style = 0; style < SEAM__EXACT_STYLES; style++) {
		make_ring();
		cr_expect_eq(ask(3, 1000, (enum seam_exact_style)style, false), SEAM__EXACT_NONE, "below the bound");
		cr_expect_eq(ask(5, 1000, (enum seam_exact_style)style, false), SEAM__EXACT_NONE, "style %d", style);
		cr_expect_eq(ask(6, 1000, (enum seam_exact_style)style, false), SEAM__EXACT_FOUND, "style %d", style);
		close_all();
	}
}

Test(exact_search, a_proof_is_remembered)
{
	make_ring();
	cr_expect_eq(ask(5, 1000, SEAM__EXACT_FEWEST, false), SEAM__EXACT_NONE);
	cr_expect_gt(search.nodes, 0);
	cr_expect_eq(ask(5, 1000, SEAM__EXACT_LOWEST, false), SEAM__EXACT_NONE);
	cr_expect_eq(search.nodes, 0, "at once");
}

Test(exact_search, a_limit_in_nodes_ends_it)
{
	make_ring();
	cr_expect_eq(ask(5, 1, SEAM__EXACT_FEWEST, false), SEAM__EXACT_SPENT);
	cr_expect_eq(ask(6, 2, SEAM__EXACT_FEWEST, false), SEAM__EXACT_SPENT);
	cr_expect_eq(ask(6, 3, SEAM__EXACT_FEWEST, false), SEAM__EXACT_FOUND);
}

/* A long row of stacks under something that lasts: each step looks at all that may stand in the row. */
Test(exact_search, steps_that_take_long_count_as_several)
{
	struct seam_exact_attempt attempt = {
		2 * STACKS * (uint64_t)ITEMS_MAX, 2 * STACKS, priorities, SEAM__EXACT_LOWEST, true};
	struct seam_budget budget;

	cr_assert_eq(seam__problem_init(&problem, meta, ITEMS_MAX, 2 * STACKS, true, 1, 1), SEAM_OK);
	for (uint32_t i = 0; i < ITEMS_MAX - 1; i++)
		(void)seam__problem_add(&problem, 2, i % STACKS * 2, 2);
	(void)seam__problem_add(&problem, 1, 0, 2 * STACKS);
	cr_assert_eq(seam__problem_finish(&problem), SEAM_OK);
	open_search();
	seam__budget_init(&budget);
	budget.nodes_left = UINT32_MAX;
	cr_expect_eq(seam__exact_search_try(&search, &attempt, &budget), SEAM__EXACT_SPENT);
	cr_expect_gt(UINT32_MAX - budget.nodes_left, 3 * STACKS);
}

Test(exact_search, every_style_places_what_has_room_enough)
{
	for (uint64_t seed = 0; seed < 40; seed++) {
		struct random_wish wish = {
			.seed = seed, .count = COUNT, .features = seed % 2 == 0 ? 0 : SEAM__HAS_WRAP};
		uint64_t sum = 0;

		random_problem(&wish, meta, &problem);
		open_search();
		for (uint32_t i = 0; i < problem.count; i++)
			sum += problem.items[i].size_bytes;
		for (int style = 0; style < SEAM__EXACT_STYLES; style++) {
			cr_expect_eq(ask(sum + problem.lower_bytes, COUNT, (enum seam_exact_style)style, true),
				SEAM__EXACT_FOUND, "seed %d: without going back once", (int)seed);
			cr_expect_neq(ask(problem.lower_bytes * 3 / 2, 20000, (enum seam_exact_style)style, false),
				SEAM__EXACT_NONE, "seed %d", (int)seed);
		}
		close_all();
	}
}

/* test_objects.c: where a chain fits: the papers' example, and random objects against trying every start. */
#include <criterion/criterion.h>

#include "check.h"
#include "meta.h"
#include "objects.h"
#include "random_problem.h"

static struct seam_meta *meta;
static struct seam__problem problem;
static struct seam__objects objects;
static uint64_t offsets[64];

static void set_up(void)
{
	meta = seam__meta_create(0);
	cr_assert_not_null(meta);
}

static void tear_down(void)
{
	seam__objects_fini(&objects);
	seam__problem_fini(&problem);
	SEAM_VERIFY(seam__meta_destroy(meta) == 0);
}

TestSuite(objects, .init = set_up, .fini = tear_down);

static struct seam__chain chain_of(uint32_t head)
{
	struct seam__chain chain = {.head = head};

	for (uint32_t i = head; i != SEAM__ITEM_NONE; i = problem.items[i].next) {
		chain.size_bytes += problem.items[i].size_bytes;
		chain.length++;
	}
	return chain;
}

/* SOMAS, figure 6: A B C (10, 5, 3) stand from 0; D E F (8, 6, 6) comes, and only E and B conflict: the starts [0, 7)
 * are forbidden. */
Test(objects, a_chain_avoids_what_one_of_its_items_conflicts_with)
{
	static const uint64_t sizes[] = {10, 5, 3, 8, 6, 6};
	static const uint32_t begins[] = {0, 2, 4, 6, 2, 8};
	uint64_t start = 99;

	cr_assert_eq(seam__problem_init(&problem, meta, 6, 10, true, 1, 1), SEAM_OK);
	for (uint32_t i = 0; i < 6; i++)
		seam__problem_add(&problem, sizes[i], begins[i], 1)->next = i % 3 == 2 ? SEAM__ITEM_NONE : i + 1;
	cr_assert_eq(seam__objects_init(&objects, &problem, offsets), SEAM_OK);
	cr_assert_eq(seam__objects_open(&objects, UINT64_MAX, SEAM__ITEM_NONE), 0);
	seam__objects_put(&objects, 0, 0, 0);
	struct seam__chain chain = chain_of(3);
	cr_assert_eq(seam__objects_find(&objects, 0, &chain, SEAM__FIT_FIRST, &start), SEAM_OK);
	cr_expect_eq(start, 7);
	seam__objects_put(&objects, 0, 3, start);
	cr_expect_eq(offsets[4], 15, "directly behind B");
	cr_expect_null(seam__objects_check(&objects));
}

static bool is_free(const struct seam__object *object, const struct seam__chain *chain, uint64_t start)
{
	if (start + chain->size_bytes > object->high_bytes)
		return false;
	for (uint32_t i = chain->head; i != SEAM__ITEM_NONE; i = problem.items[i].next) {
		for (uint32_t k = 0; k < object->count; k++) {
			uint32_t other = objects.order[object->first + k];

			if (seam__problem_conflict(&problem, i, other) &&
				start < offsets[other] + problem.items[other].size_bytes &&
				offsets[other] < start + problem.items[i].size_bytes)
				return false;
		}
		start += problem.items[i].size_bytes;
	}
	return true;
}

/* Every start up to `reach`. UINT64_MAX: none. An endless gap is the largest. */
static uint64_t try_all(
	const struct seam__object *object, const struct seam__chain *chain, enum seam__fit fit, uint64_t reach)
{
	uint64_t best = UINT64_MAX;
	uint64_t best_gap = UINT64_MAX;

	for (uint64_t start = object->low_bytes; start <= reach; start++) {
		uint64_t end = start;

		if (!is_free(object, chain, start))
			continue;
		while (end + 1 <= reach && is_free(object, chain, end + 1))
			end++;
		if (end == reach)
			end = UINT64_MAX - 1;
		if (end - start < best_gap) {
			best = start;
			best_gap = end - start;
		}
		if (fit == SEAM__FIT_FIRST || end == UINT64_MAX - 1)
			break;
		start = end;
	}
	return best;
}

static void compare(uint64_t seed, bool links, enum seam__fit fit, uint64_t size_bytes)
{
	struct random_wish wish = {.seed = seed,
		.count = 40,
		.features = SEAM__HAS_WRAP | SEAM__HAS_HOLDS | (links ? SEAM__HAS_LINKS : 0)};
	uint32_t is_next[40] = {0};

	random_problem(&wish, meta, &problem);
	for (uint32_t i = 0; i < problem.count; i++)
		if (problem.items[i].next != SEAM__ITEM_NONE)
			is_next[problem.items[i].next] = 1;
	cr_assert_eq(seam__objects_init(&objects, &problem, offsets), SEAM_OK);
	(void)seam__objects_open(&objects, 17, SEAM__ITEM_NONE); /* something below, so that the object begins at 17 */
	(void)seam__objects_open(&objects, size_bytes, SEAM__ITEM_NONE);
	for (uint32_t i = 0; i < problem.count; i++) {
		struct seam__chain chain = chain_of(i);
		uint64_t reach = size_bytes == UINT64_MAX ? 10000 : 17 + size_bytes;
		uint64_t expected = try_all(&objects.list[1], &chain, fit, reach);
		uint64_t start = UINT64_MAX;

		if (is_next[i] != 0)
			continue;
		enum seam_rc rc = seam__objects_find(&objects, 1, &chain, fit, &start);
		cr_assert_eq(rc, expected == UINT64_MAX ? SEAM_NOT_FOUND : SEAM_OK, "seed %llu item %u",
			(unsigned long long)seed, i);
		cr_assert_eq(start, expected, "seed %llu item %u", (unsigned long long)seed, i);
		if (rc == SEAM_OK)
			seam__objects_put(&objects, 1, i, start);
		cr_assert_null(seam__objects_check(&objects));
	}
	seam__objects_fini(&objects);
	seam__problem_fini(&problem);
}

Test(objects, a_single_item_stands_where_trying_all_starts_puts_it)
{
	for (uint64_t seed = 0; seed < 20; seed++) {
		compare(seed, false, SEAM__FIT_FIRST, UINT64_MAX);
		compare(seed, false, SEAM__FIT_BEST, UINT64_MAX);
	}
}

Test(objects, a_chain_stands_where_trying_all_starts_puts_it)
{
	for (uint64_t seed = 0; seed < 20; seed++) {
		compare(seed, true, SEAM__FIT_FIRST, UINT64_MAX);
		compare(seed, true, SEAM__FIT_BEST, UINT64_MAX);
	}
}

Test(objects, an_object_with_an_end_is_full_at_some_time)
{
	for (uint64_t seed = 0; seed < 20; seed++)
		compare(seed, seed % 2 == 0, SEAM__FIT_FIRST, 150);
}

Test(objects, who_conflicts_with_what_spans_an_object_does_not_fit)
{
	uint64_t start = 99;

	cr_assert_eq(seam__problem_init(&problem, meta, 3, 10, true, 1, 1), SEAM_OK);
	(void)seam__problem_add(&problem, 10, 0, 5);
	(void)seam__problem_add(&problem, 4, 4, 2);
	(void)seam__problem_add(&problem, 4, 5, 2);
	cr_assert_eq(seam__objects_init(&objects, &problem, offsets), SEAM_OK);
	(void)seam__objects_open(
		&objects, 10, 0); /* named only: what spans it is not looked for among what stands in it */
	struct seam__chain meets = chain_of(1);
	struct seam__chain later = chain_of(2);
	cr_expect_eq(seam__objects_find(&objects, 0, &meets, SEAM__FIT_FIRST, &start), SEAM_NOT_FOUND);
	cr_expect_eq(start, 99);
	cr_expect_eq(seam__objects_find(&objects, 0, &later, SEAM__FIT_FIRST, &start), SEAM_OK);
	cr_expect_eq(start, 0);
}

Test(objects, checks_name_what_is_broken)
{
	cr_assert_eq(seam__problem_init(&problem, meta, 2, 10, true, 1, 1), SEAM_OK);
	(void)seam__problem_add(&problem, 10, 0, 5);
	(void)seam__problem_add(&problem, 4, 4, 2);
	cr_assert_eq(seam__objects_init(&objects, &problem, offsets), SEAM_OK);
	(void)seam__objects_open(&objects, 20, SEAM__ITEM_NONE);
	seam__objects_put(&objects, 0, 1, 12);
	seam__objects_put(&objects, 0, 0, 0);
	cr_expect_null(seam__objects_check(&objects));
	offsets[1] = 17;
	cr_expect_str_eq(seam__objects_check(&objects), "O2 inside");
	offsets[1] = 2;
	offsets[0] = 3;
	cr_expect_str_eq(seam__objects_check(&objects), "O2 order");
	offsets[0] = 0;
	objects.list[0].low_bytes = 1;
	cr_expect_not_null(seam__objects_check(&objects));
	objects.list[0].low_bytes = 0;
	objects.placed = 1;
	cr_expect_str_eq(seam__objects_check(&objects), "O1 placed");
	objects.placed = 2;
}

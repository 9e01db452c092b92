/* test_spool.c: the idle stitched views by size. */
#include <string.h>

#include <criterion/criterion.h>

#include "check.h"
#include "spool.h"

static struct seam_spool spool;
static struct seam_views list;
/* In the order that they must have. */
static struct seam_view views[] = {
	{.stitched = true, .number = 7, .used_bytes = 1024},
	{.stitched = true, .number = 2, .used_bytes = 2048},
	{.stitched = true, .number = 5, .used_bytes = 2048},
	{.stitched = true, .number = 1, .used_bytes = 4096},
};
#define COUNT (sizeof views / sizeof views[0])

static void set_up(void)
{
	static const unsigned order[COUNT] = {2, 0, 3, 1};
	TAILQ_INIT(&list);
	for (size_t i = 0; i < COUNT; i++) {
		TAILQ_INSERT_TAIL(&list, &views[order[i]], link);
		seam__spool_update(&spool, &views[order[i]]);
	}
}

static void tear_down(void)
{
	const char *broken = seam__spool_check(&spool, &list);
	SEAM_VERIFY(broken == NULL);
}

static void expect_broken(void)
{
	const char *broken = seam__spool_check(&spool, &list);
	cr_expect(broken != NULL && strncmp(broken, "SP1", 2) == 0, "SP1 expected, found: %s", broken);
}

TestSuite(spool, .init = set_up);

Test(spool, the_order_is_by_size_and_then_number, .fini = tear_down)
{
	struct seam_view *view = seam__spool_find(&spool, 0);
	for (size_t i = 0; i < COUNT; i++) {
		cr_assert_eq(view, &views[i], "place %zu", i);
		view = seam__spool_next(view);
	}
	cr_expect_null(view);
}

Test(spool, find_takes_the_smallest_that_is_enough, .fini = tear_down)
{
	cr_expect_eq(seam__spool_find(&spool, 1025), &views[1]);
	cr_expect_eq(seam__spool_find(&spool, 2048), &views[1]);
	cr_expect_eq(seam__spool_find(&spool, 4096), &views[3]);
	cr_expect_null(seam__spool_find(&spool, 4097));
}

Test(spool, a_view_that_owns_or_lacks_a_chunk_is_not_idle, .fini = tear_down)
{
	views[1].owned = 1;
	seam__spool_update(&spool, &views[1]);
	cr_expect_eq(seam__spool_find(&spool, 2048), &views[2]);
	views[2].holes = 1;
	seam__spool_update(&spool, &views[2]);
	cr_expect_eq(seam__spool_find(&spool, 2048), &views[3]);
	views[1].owned = 0;
	seam__spool_update(&spool, &views[1]);
	cr_expect_eq(seam__spool_find(&spool, 2048), &views[1]);
	seam__spool_update(&spool, &views[1]); /* nothing changes */
}

Test(spool, removal_is_for_views_in_and_out, .fini = tear_down)
{
	seam__spool_remove(&spool, &views[0]);
	seam__spool_remove(&spool, &views[0]);
	cr_expect_eq(seam__spool_find(&spool, 0), &views[1]);
	TAILQ_REMOVE(&list, &views[0], link);
}

Test(spool, check_notices_a_view_that_is_not_idle)
{
	views[3].owned = 1;
	expect_broken();
}

Test(spool, check_notices_one_that_is_missing)
{
	seam__spool_remove(&spool, &views[2]);
	expect_broken();
}

Test(spool, check_notices_a_size_that_changed)
{
	views[3].used_bytes = 512;
	expect_broken();
}

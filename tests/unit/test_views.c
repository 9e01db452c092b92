/* test_views.c: which lists of chunks become columns, and which are found in what is there. */
#include <criterion/criterion.h>

#include "check.h"
#include "meta.h"
#include "views.h"

static struct seam_meta *meta;
static struct seam__views views;
static struct seam_grow columns;

static void set_up(void)
{
	meta = seam__meta_create(0);
	cr_assert_not_null(meta);
	seam__views_init(&views);
	seam__grow_init(&columns, sizeof(uint32_t));
}

static void tear_down(void)
{
	seam__grow_fini(&columns);
	seam__views_fini(&views);
	SEAM_VERIFY(seam__meta_destroy(meta) == 0);
}

TestSuite(views, .init = set_up, .fini = tear_down);

static void add(uint32_t item, uint32_t count, const uint32_t *chunks)
{
	cr_assert_eq(seam__views_add(&views, item, chunks, count), SEAM_OK);
}

static const struct seam__view *of_item(uint32_t item)
{
	const struct seam__view *list = views.views.items;

	for (size_t n = 0; n < views.views.count; n++)
		if (list[n].item == item)
			return &list[n];
	cr_assert_fail("no view of item %u", item);
	return NULL;
}

/* Every list stands where it is said to. */
static void share(void)
{
	const struct seam__view *list = views.views.items;

	cr_assert_eq(seam__views_share(&views, meta, 10, &columns), SEAM_OK);
	for (size_t n = 0; n < views.views.count; n++)
		for (uint32_t c = 0; c < list[n].count; c++)
			cr_expect_eq(((const uint32_t *)columns.items)[list[n].column + c], list[n].chunks[c],
				"item %u", list[n].item);
}

Test(views, equal_lists_and_parts_of_lists_are_shared)
{
	add(0, 2, (const uint32_t[]){3, 4});
	add(1, 4, (const uint32_t[]){9, 3, 4, 1});
	add(2, 4, (const uint32_t[]){9, 3, 4, 1});
	add(3, 2, (const uint32_t[]){4, 1});
	add(4, 2, (const uint32_t[]){1, 9});
	share();
	cr_expect_eq(columns.count, 6);
	cr_expect_eq(of_item(0)->column, of_item(1)->column + 1);
	cr_expect_eq(of_item(2)->column, of_item(1)->column);
	cr_expect_eq(of_item(3)->column, of_item(1)->column + 2);
}

Test(views, the_plain_part_is_left_alone)
{
	cr_assert_eq(seam__grow_append(&columns, (const uint32_t[]){0, 1, 2}, 3), SEAM_OK);
	add(7, 3, (const uint32_t[]){2, 1, 2});
	share();
	cr_expect_eq(of_item(7)->column, 3);
	cr_expect_eq(columns.count, 6);
}

Test(views, a_list_does_not_reach_beyond_the_columns)
{
	add(0, 3, (const uint32_t[]){1, 2, 3});
	add(1, 2, (const uint32_t[]){3, 0});
	share();
	cr_expect_eq(columns.count, 5);
}

Test(views, cleared_ones_are_gone)
{
	add(1, 1, (const uint32_t[]){5});
	seam__views_clear(&views);
	share();
	cr_expect_eq(columns.count, 0);
}

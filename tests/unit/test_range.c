/* test_range.c: extents: best fit and its ties, cuts and joins, addresses, no memory; and a random walk against a flat
 * oracle. */
#include <criterion/criterion.h>

#include "check.h"
#include "meta.h"
#include "range.h"

struct thing {
	struct seam_extent extent;
	uint64_t mark;
};

static struct seam_meta *meta;
static struct seam_range range;

static void set_up(void)
{
	meta = seam__meta_create(0);
	cr_assert_not_null(meta);
	seam__range_init(&range, meta, sizeof(struct thing));
}

static void remove_all(void)
{
	struct seam_segment *segment;
	while ((segment = seam__range_first_segment(&range)) != NULL) {
		struct seam_extent *extent;
		TAILQ_FOREACH(extent, &segment->extents, link)
		{
			if (extent->state == SEAM_EXTENT_FREE)
				seam__range_pull(&range, extent);
			else if (extent->state == SEAM_EXTENT_LIVE)
				seam__range_withdraw(&range, extent);
		}
		extent = TAILQ_FIRST(&segment->extents);
		while (seam__range_next(extent) != NULL)
			seam__range_join(&range, extent, seam__range_next(extent));
		seam__range_remove(&range, segment);
	}
}

static void tear_down(void)
{
	SEAM_VERIFY(seam__range_check(&range) == NULL);
	remove_all();
	seam__range_fini(&range);
	SEAM_VERIFY(seam__meta_destroy(meta) == 0);
}

TestSuite(range, .init = set_up, .fini = tear_down);

static struct seam_extent *add(uint64_t va, uint64_t bytes)
{
	enum seam_rc rc = seam__range_reserve(&range, 1, 1);
	cr_assert_eq(rc, SEAM_OK);
	return seam__range_add(&range, va, bytes, 0);
}

static struct seam_extent *split(struct seam_extent *extent, uint64_t bytes)
{
	enum seam_rc rc = seam__range_reserve(&range, 0, 1);
	cr_assert_eq(rc, SEAM_OK);
	return seam__range_split(&range, extent, bytes);
}

Test(range, best_fit_takes_the_smallest_then_the_lowest)
{
	static const uint64_t sizes[] = {4096, 1024, 2048, 1024, 512};
	for (unsigned i = 0; i < 5; i++)
		seam__range_file(&range, add(0x10000 * (5 - i), sizes[i]), 7);
	static const struct {
		const char *name;
		uint64_t shelf, bytes, va;
	} rows[] = {
		{"exact", 7, 512, 0x10000},
		{"the lower of two equals", 7, 1024, 0x20000},
		{"the next larger", 7, 600, 0x20000},
		{"a larger one", 7, 1025, 0x30000},
		{"the largest", 7, 4096, 0x50000},
		{"none is large enough", 7, 4097, 0},
		{"another shelf below", 6, 512, 0},
		{"another shelf above", 8, 512, 0},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		const struct seam_extent *best = seam__range_best(&range, rows[i].shelf, rows[i].bytes);
		cr_expect_eq(best == NULL ? 0 : best->va, rows[i].va, "row: %s", rows[i].name);
	}
}

Test(range, after_walks_by_shelf_then_size)
{
	seam__range_file(&range, add(0x30000, 512), 2);
	seam__range_file(&range, add(0x20000, 1024), 1);
	seam__range_file(&range, add(0x10000, 2048), 1);
	struct seam_extent *extent = seam__range_best(&range, 1, 1);
	cr_assert_not_null(extent);
	cr_expect_eq(extent->va, 0x20000);
	extent = seam__range_after(extent);
	cr_expect_eq(extent->va, 0x10000);
	extent = seam__range_after(extent);
	cr_expect_eq(extent->va, 0x30000);
	cr_expect_null(seam__range_after(extent));
}

Test(range, split_and_join_keep_the_neighbours)
{
	struct seam_extent *a = add(0x10000, 4096);
	((struct thing *)a)->mark = 5;
	struct seam_extent *b = split(a, 1024);
	cr_expect_eq(((struct thing *)b)->mark, 0);
	struct seam_extent *c = split(b, 512);
	cr_expect_eq(seam__range_next(a), b);
	cr_expect_eq(seam__range_prev(c), b);
	cr_expect_null(seam__range_prev(a));
	cr_expect_null(seam__range_next(c));
	cr_expect_eq(c->va, 0x10000 + 1536);
	seam__range_join(&range, a, b);
	cr_expect_eq(a->bytes, 1536);
	cr_expect_eq(seam__range_next(a), c);
	cr_expect_eq(((struct thing *)a)->mark, 5);
}

Test(range, addresses_are_found_exactly_and_around)
{
	struct seam_extent *a = add(0x10000, 4096);
	struct seam_extent *b = split(a, 1024);
	struct seam_extent *far = add(0x80000, 512);
	cr_assert_eq(seam__range_publish(&range, b), SEAM_OK);
	cr_expect_eq(seam__range_find(&range, b->va), b);
	cr_expect_null(seam__range_find(&range, b->va + 512));
	cr_expect_null(seam__range_find(&range, a->va), "only live extents are found");
	cr_expect_eq(seam__range_around(&range, b->va + 3071), b);
	cr_expect_eq(seam__range_around(&range, a->va + 1023), a);
	cr_expect_eq(seam__range_around(&range, far->va), far);
	cr_expect_null(seam__range_around(&range, b->va + 3072));
	cr_expect_null(seam__range_around(&range, 0));
	seam__range_withdraw(&range, b);
	cr_expect_null(seam__range_find(&range, b->va));
}

Test(range, publishing_without_memory_changes_nothing)
{
	unsigned published = 0, failed = 0;
	for (uint64_t i = 0; i < 3000; i++) {
		struct seam_extent *extent = add(0x10000 * (i + 1), 512);
		seam__meta_fail_at(meta, 1);
		enum seam_rc rc = seam__range_publish(&range, extent);
		seam__meta_fail_at(meta, 0);
		if (rc == SEAM_OK) {
			published++;
			continue;
		}
		failed++;
		cr_expect_eq(rc, SEAM_OOM_META);
		cr_expect_eq(extent->state, SEAM_EXTENT_HELD);
		cr_expect_null(seam__range_check(&range), "broken: %s", seam__range_check(&range));
		cr_assert_eq(seam__range_publish(&range, extent), SEAM_OK);
	}
	cr_expect_gt(published, 0);
	cr_expect_gt(failed, 3, "the table grew %u times", failed);
	cr_expect_eq(range.live.count, 3000);
}

Test(range, a_failed_reservation_takes_nothing)
{
	for (uint64_t n = 1; n <= 2; n++) {
		seam__meta_fail_at(meta, n);
		cr_expect_eq(seam__range_reserve(&range, 1, 1), SEAM_OOM_META, "n = %lu", (unsigned long)n);
		cr_expect_eq(range.segment_slab.reserved_objects, 0);
		cr_expect_eq(range.extent_slab.reserved_objects, 0);
	}
}

#define UNITS 512u
#define UNIT UINT64_C(512)
#define BASE UINT64_C(0x100000)

/* What the oracle knows of a unit of address space: whose extent covers it (its first unit) and in which state. */
struct unit {
	uint32_t start;
	enum seam_extent_state state;
	uint64_t shelf;
};

static struct unit units[UNITS];
static uint64_t generator = 12345;

static uint32_t draw(uint32_t below)
{
	generator = generator * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(generator >> 33) % below;
}

static uint32_t length(uint32_t start)
{
	uint32_t end = start;
	while (end < UNITS && units[end].start == start)
		end++;
	return end - start;
}

static void paint(uint32_t start, uint32_t count, uint32_t owner, enum seam_extent_state state, uint64_t shelf)
{
	for (uint32_t i = start; i < start + count; i++)
		units[i] = (struct unit){.start = owner, .state = state, .shelf = shelf};
}

/* The best fit by looking at everything. */
static uint64_t naive_best(uint64_t shelf, uint32_t count)
{
	uint32_t best = UNITS, best_length = UNITS + 1;
	for (uint32_t i = 0; i < UNITS; i += length(i))
		if (units[i].state == SEAM_EXTENT_FREE && units[i].shelf == shelf && length(i) >= count &&
			length(i) < best_length) {
			best = i;
			best_length = length(i);
		}
	return best == UNITS ? 0 : BASE + best * UNIT;
}

static void walk_step(void)
{
	uint32_t start = units[draw(UNITS)].start;
	uint32_t count = length(start);
	struct seam_extent *extent = seam__range_around(&range, BASE + start * UNIT);
	cr_assert_eq(extent->va, BASE + start * UNIT);
	cr_assert_eq(extent->bytes, count * UNIT);
	cr_assert_eq(extent->state, units[start].state);
	uint64_t shelf = draw(3);
	if (extent->state == SEAM_EXTENT_FREE) {
		seam__range_pull(&range, extent);
		paint(start, count, start, SEAM_EXTENT_HELD, 0);
	} else if (extent->state == SEAM_EXTENT_LIVE && draw(2) == 0) {
		seam__range_withdraw(&range, extent);
		paint(start, count, start, SEAM_EXTENT_HELD, 0);
	} else if (count > 1 && draw(2) == 0) {
		uint32_t head = 1 + draw(count - 1);
		struct seam_extent *rest = split(extent, head * UNIT);
		cr_assert_eq(rest->va, BASE + (start + head) * UNIT);
		paint(start + head, count - head, start + head, SEAM_EXTENT_HELD, 0);
	} else if (extent->state == SEAM_EXTENT_HELD && start + count < UNITS &&
		units[start + count].state == SEAM_EXTENT_HELD && draw(3) == 0) {
		uint32_t more = length(start + count);
		seam__range_join(&range, extent, seam__range_next(extent));
		paint(start + count, more, start, SEAM_EXTENT_HELD, 0);
	} else if (extent->state == SEAM_EXTENT_HELD && draw(2) == 0) {
		seam__range_file(&range, extent, shelf);
		paint(start, count, start, SEAM_EXTENT_FREE, shelf);
	} else if (extent->state == SEAM_EXTENT_HELD) {
		cr_assert_eq(seam__range_publish(&range, extent), SEAM_OK);
		paint(start, count, start, SEAM_EXTENT_LIVE, 0);
	}
}

Test(range, agrees_with_a_flat_oracle)
{
	(void)add(BASE, UNITS * UNIT);
	paint(0, UNITS, 0, SEAM_EXTENT_HELD, 0);
	for (uint32_t operation = 0; operation < 300000; operation++) {
		walk_step();
		if (operation % 8 == 0) {
			uint64_t shelf = draw(3);
			uint32_t count = 1 + draw(16);
			const struct seam_extent *best = seam__range_best(&range, shelf, count * UNIT);
			cr_assert_eq(best == NULL ? 0 : best->va, naive_best(shelf, count), "operation %u", operation);
		}
		const char *broken = operation % 64 == 0 ? seam__range_check(&range) : NULL;
		cr_assert_null(broken, "operation %u: %s", operation, broken);
	}
}

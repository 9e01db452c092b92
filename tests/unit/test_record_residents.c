/* test_record_residents.c: what is left of a stretch of events, against worked examples. */
#include "record_fixture.h"

#include "record_log.h"
#include "record_residents.h"

static struct seam_record_residents residents;
static struct seam_record_slot slots[SEAM_RECORD_SEGMENT];

static void put(uint32_t at, uint64_t first, uint8_t kind, uint64_t id)
{
	slots[at] = (struct seam_record_slot){.id = id, .bytes = 1000 * id, .kind = kind, .thread = 4};
	atomic_store(&slots[at].order, first + at);
}

static void open_residents(uint64_t limit_bytes)
{
	meta = seam__meta_create(0);
	seam__record_residents_init(&residents, meta, limit_bytes);
}

static void close_residents(void)
{
	const char *broken = seam__record_residents_check(&residents);
	cr_assert_null(broken, "%s", broken);
	seam__record_residents_fini(&residents);
	cr_assert_eq(seam__meta_destroy(meta), 0);
}

Test(record_residents, a_stretch_leaves_what_it_does_not_free)
{
	open_residents(1 << 16);
	put(0, 11, SEAM_TRACE_ALLOC, 11);
	put(1, 11, SEAM_TRACE_ALLOC, 12);
	put(2, 11, SEAM_TRACE_FREE, 11);
	put(3, 11, SEAM_TRACE_ALLOC, 14);
	cr_assert_eq(seam__record_residents_pass(&residents, slots, 11, 4), 0);
	cr_assert_eq(residents.count, 2);
	cr_assert_null(seam__record_residents_find(&residents, 11));
	cr_assert_null(seam__record_residents_find(&residents, 13));
	cr_assert_eq(seam__record_residents_find(&residents, 12)->bytes, 12000);
	cr_assert_eq(seam__record_residents_find(&residents, 14)->thread, 4);
	/* The next stretch frees one of them and one that nobody knows. */
	put(0, 15, SEAM_TRACE_FREE, 12);
	put(1, 15, SEAM_TRACE_FREE, 13);
	cr_assert_eq(seam__record_residents_pass(&residents, slots, 15, 2), 0);
	cr_assert_null(seam__record_residents_find(&residents, 12));
	cr_assert_not_null(seam__record_residents_find(&residents, 14));
	struct seam_record_residents copy;
	cr_assert_ok(seam__record_residents_reserve(meta, 1, &copy));
	cr_assert(seam__record_residents_copy(&residents, &copy));
	cr_assert_eq(copy.count, 1, "a copy has those that live");
	cr_assert_eq(copy.items[0].id, 14);
	seam__record_residents_fini(&copy);
	cr_assert_ok(seam__record_residents_reserve(meta, 0, &copy));
	cr_assert_not(seam__record_residents_copy(&residents, &copy), "there is no room");
	cr_assert_eq(copy.count, 0);
	seam__record_residents_fini(&copy);
	close_residents();
}

Test(record_residents, what_is_not_written_is_counted_and_its_free_may_come_later)
{
	open_residents(1 << 16);
	put(0, 1, SEAM_TRACE_ALLOC, 1);
	put(1, 1, SEAM_TRACE_FREE, 1);
	put(2, 1, SEAM_TRACE_ALLOC, 3);
	atomic_store(&slots[1].order, 0);
	cr_assert_eq(seam__record_residents_pass(&residents, slots, 1, 3), 1);
	cr_assert_not_null(seam__record_residents_find(&residents, 1));
	put(1, 1, SEAM_TRACE_FREE, 1);
	seam__record_residents_late(&residents, slots, 3);
	seam__record_residents_late(&residents, slots, 3);
	cr_assert_null(seam__record_residents_find(&residents, 1));
	cr_assert_not_null(seam__record_residents_find(&residents, 3));
	close_residents();
}

Test(record_residents, the_dead_do_not_pile_up)
{
	open_residents(1 << 20);
	for (uint64_t round = 0; round < 50; round++) {
		/* One stretch allocates; the next one frees what the round before has allocated. */
		uint64_t first = 1 + 2 * round * SEAM_RECORD_SEGMENT;
		for (uint32_t i = 0; i < SEAM_RECORD_SEGMENT; i++)
			put(i, first, SEAM_TRACE_ALLOC, first + i);
		cr_assert_eq(seam__record_residents_pass(&residents, slots, first, SEAM_RECORD_SEGMENT), 0);
		uint64_t last = first - 2 * SEAM_RECORD_SEGMENT;
		for (uint32_t i = 0; i < SEAM_RECORD_SEGMENT; i++)
			put(i, first + SEAM_RECORD_SEGMENT, round == 0 ? 0 : SEAM_TRACE_FREE, last + i);
		cr_assert_eq(seam__record_residents_pass(
				     &residents, slots, first + SEAM_RECORD_SEGMENT, SEAM_RECORD_SEGMENT),
			0);
		cr_assert_eq(residents.count - residents.dead, SEAM_RECORD_SEGMENT);
		cr_assert_leq(residents.count, 4 * SEAM_RECORD_SEGMENT, "round %d", (int)round);
	}
	cr_assert_eq(residents.lost, 0);
	close_residents();
}

Test(record_residents, phases_that_are_open_are_known)
{
	struct seam_record_phases phases = {.count = 0};
	seam__record_phases_begin(&phases, 1, 5);
	seam__record_phases_begin(&phases, 2, 6);
	seam__record_phases_begin(&phases, 1, 5);
	cr_assert_eq(seam__record_phases_find(&phases, 1, 5), 2, "the newest one");
	cr_assert_eq(seam__record_phases_find(&phases, 1, 6), phases.count, "another thread's");
	seam__record_phases_remove(&phases, 0);
	cr_assert_eq(seam__record_phases_find(&phases, 2, 6), 0);
	for (uint32_t i = 0; i < 2 * SEAM_RECORD_PHASES; i++)
		seam__record_phases_begin(&phases, i, 9);
	cr_assert_eq(phases.count, SEAM_RECORD_PHASES);
}

Test(record_residents, beyond_the_limit_they_are_lost)
{
	open_residents(64 * sizeof(struct seam_record_resident));
	for (uint32_t i = 0; i < 100; i++)
		put(i, 1, SEAM_TRACE_ALLOC, 1 + i);
	cr_assert_eq(seam__record_residents_pass(&residents, slots, 1, 100), 0);
	cr_assert_eq(residents.count, 64);
	cr_assert_eq(residents.lost, 36);
	close_residents();
}

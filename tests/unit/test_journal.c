/* test_journal.c: the ring of changes of physical memory. */
#include <criterion/criterion.h>

#include "journal.h"

static struct seam_journal journal;

static void add(uint64_t from, uint64_t count)
{
	for (uint64_t i = from; i < from + count; i++)
		seam__journal_add(&journal, i * 512, i, i % 2 == 1);
}

static void set_up(void)
{
	seam__journal_init(&journal);
}

TestSuite(journal, .init = set_up);

Test(journal, a_reader_gets_every_event_once_in_order)
{
	struct seam_chunk_event events[8];
	uint64_t next = 0;
	cr_assert_eq(seam__journal_read(&journal, &next, events, 8), 0);
	cr_assert_eq(next, 1, "who begins is told where");
	add(1, 5);
	cr_assert_eq(seam__journal_read(&journal, &next, events, 3), 3);
	cr_assert_eq(next, 4);
	for (uint64_t i = 0; i < 3; i++) {
		cr_assert_eq(events[i].va, (i + 1) * 512);
		cr_assert_eq(events[i].bytes, i + 1);
		cr_assert_eq(events[i].made, (i + 1) % 2 == 1);
	}
	cr_assert_eq(seam__journal_read(&journal, &next, NULL, 0), 0, "a question alone changes nothing");
	cr_assert_eq(next, 4);
	cr_assert_eq(seam__journal_read(&journal, &next, events, 8), 2);
	cr_assert_eq(events[1].bytes, 5);
	cr_assert_eq(seam__journal_read(&journal, &next, events, 8), 0);
	cr_assert_eq(next, 6);
}

Test(journal, what_began_earlier_is_not_told)
{
	struct seam_chunk_event event;
	uint64_t next = 0;
	add(1, 7);
	cr_assert_eq(seam__journal_read(&journal, &next, &event, 1), 0);
	add(8, 1);
	cr_assert_eq(seam__journal_read(&journal, &next, &event, 1), 1);
	cr_assert_eq(event.bytes, 8);
	next = 1000;
	cr_assert_eq(seam__journal_read(&journal, &next, &event, 1), 0, "nor what will never have been");
	cr_assert_eq(next, 9);
}

Test(journal, what_is_lost_shows_in_the_numbers)
{
	struct seam_chunk_event event;
	uint64_t next = 1;
	add(1, SEAM_JOURNAL_EVENTS);
	cr_assert_eq(seam__journal_read(&journal, &next, &event, 1), 1);
	cr_assert_eq(event.bytes, 1, "a full ring has lost nothing");
	add(SEAM_JOURNAL_EVENTS + 1, 10);
	cr_assert_eq(seam__journal_read(&journal, &next, &event, 1), 1);
	cr_assert_eq(event.bytes, 11);
	cr_assert_eq(next, 12, "nine are missing between 2 and 11");
}

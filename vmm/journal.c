/* journal.c: the ring of changes of physical memory. */
#include "journal.h"

#include "bits.h"

void seam__journal_init(struct seam_journal *journal)
{
	journal->next = 1;
}

void seam__journal_add(struct seam_journal *journal, uint64_t va, uint64_t bytes, bool made)
{
	journal->events[journal->next % SEAM_JOURNAL_EVENTS] =
		(struct seam_chunk_event){.va = va, .bytes = bytes, .made = made};
	journal->next++;
}

size_t seam__journal_read(
	const struct seam_journal *journal, uint64_t *next, struct seam_chunk_event *events, size_t capacity)
{
	uint64_t oldest = journal->next > SEAM_JOURNAL_EVENTS ? journal->next - SEAM_JOURNAL_EVENTS : 1;
	uint64_t from = *next == 0 || *next > journal->next ? journal->next : seam__bits_max(*next, oldest);
	size_t count = (size_t)seam__bits_min(journal->next - from, capacity);
	for (size_t i = 0; i < count; i++)
		events[i] = journal->events[(from + i) % SEAM_JOURNAL_EVENTS];
	*next = from + count;
	return count;
}

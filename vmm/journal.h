/* journal.h: the newest changes of a pool's physical memory, for whoever asks later: chunks that were made, chunks that
 * went.
 *
 * A ring: what is not read in time is overwritten, and the reader sees that by the numbers. Kept from the first
 * question on (seam_chunk_events()).
 *
 * Invariants: entry n lies in place n % SEAM_JOURNAL_EVENTS; the numbers begin at 1; those below `next` by more than
 * the ring are lost. Locks: the pool's `lock`.
 */
#ifndef SEAM_JOURNAL_H
#define SEAM_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <seam/snapshot.h>

#define SEAM_JOURNAL_EVENTS 4096u

struct seam_journal {
	uint64_t next; /* number of the next event */
	struct seam_chunk_event events[SEAM_JOURNAL_EVENTS];
};

/* Of zeroed memory. */
void seam__journal_init(struct seam_journal *journal);

void seam__journal_add(struct seam_journal *journal, uint64_t va, uint64_t bytes, bool made);

/* Copies the events from number *next on, oldest first, at most `capacity`, and returns how many; *next becomes the
 * number behind them. *next 0 is the next event's: nothing is copied. */
size_t seam__journal_read(
	const struct seam_journal *journal, uint64_t *next, struct seam_chunk_event *events, size_t capacity);

#endif

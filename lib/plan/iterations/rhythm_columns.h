/* rhythm_columns.h: what the iterations of one kind have in common: its *columns*, the requests that most of them make.
 *
 * The newest members are laid beside each other. A column is a request that most of them make; those that only a
 * minority makes are left out, those that the newest one lacks are put in; where opinions are divided evenly the newest
 * is right. Its size is that of most; where no size is that of most, it depends on data. It is freed where it is most
 * often: before column `gap` of the iteration `lag` further on. A block that the recording frees only in iterations of
 * other kinds goes where one goes that came into the newest member: the one of its rank if there are as many and of the
 * same streams (iterations that differ in sizes leave the same in the same order), else one of its size and stream,
 * else one of another size; where none does, at the beginning of the next. What is never freed is no part of an
 * iteration and left out.
 *
 * Not here: which iterations are alike (rhythm_kinds.h); a trace of it (rhythm_model.h).
 * Invariants, named by seam__columns_check():
 *   C1  a source is a request of a member; each request of a member is in one column at most
 *   C2  a gap is at most the number of columns, and behind the column itself where the lag is 0
 * Immutable once built. No locks.
 */
#ifndef SEAM_RHYTHM_COLUMNS_H
#define SEAM_RHYTHM_COLUMNS_H

#include "rhythm_kinds.h"

#define SEAM__MEMBERS_MAX 16u
#define SEAM__COLUMN_NONE UINT32_MAX

struct seam__column {
	uint32_t source; /* request of the recording that stands for it: of the newest member that has the column's size
			  */
	uint32_t freer;  /* request whose free stands for its free, or SEAM__REQUEST_NONE */
	uint32_t lag;
	uint32_t gap;
	uint32_t order; /* of frees in one gap: the free's event in the newest member, or SEAM__EVENT_NONE */
	bool dynamic;
	bool left_out; /* never freed */
};

struct seam__columns {
	const struct seam__rows *rows;
	uint32_t member_count;
	struct seam__stretch members[SEAM__MEMBERS_MAX]; /* the newest first */
	uint32_t *column_of[SEAM__MEMBERS_MAX];  /* per request of the member: its column, or SEAM__COLUMN_NONE */
	uint32_t *gap_behind[SEAM__MEMBERS_MAX]; /* per number of the member's requests: the gap behind so many */
	struct seam_grow items;                  /* struct seam__column */
	uint32_t *requests;                      /* [column][member]: request of the recording, or SEAM__REQUEST_NONE */
	double differing;                        /* requests of a member that differ, on average */
};

/* Of kind `kind`. Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__columns_init(
	const struct seam__kinds *kinds, uint32_t kind, struct seam__columns *ret_columns);
void seam__columns_fini(struct seam__columns *columns); /* a zeroed one is allowed */

static inline struct seam__column *seam__column_at(const struct seam__columns *columns, uint32_t number)
{
	return (struct seam__column *)columns->items.items + number;
}

static inline uint32_t seam__columns_request(const struct seam__columns *columns, uint32_t column, uint32_t member)
{
	return columns->requests[(size_t)column * columns->member_count + member];
}

/* How many columns are not left out. */
uint32_t seam__columns_count(const struct seam__columns *columns);

/* The member that the event lies in, or SEAM__MEMBERS_MAX. */
uint32_t seam__columns_member(const struct seam__columns *columns, uint32_t event);

/* The column of a request, or SEAM__COLUMN_NONE; ret_member: whose it is, where it has one. */
uint32_t seam__columns_find(const struct seam__columns *columns, uint32_t request, uint32_t *ret_member);

/* Gives lag, gap, freer, order and left_out to the columns (rhythm_frees.c). Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__columns_end(struct seam__columns *columns);

/* Name of the first broken invariant, or NULL. */
const char *seam__columns_check(const struct seam__columns *columns);

#endif

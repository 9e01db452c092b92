/* misses.h: the causes of misses, out of misses.def. */
#ifndef SEAM_MISSES_H
#define SEAM_MISSES_H

#include <stdbool.h>

enum seam_miss {
#define SEAM_MISS(name, text) SEAM_MISS_##name,
#include "misses.def"
#undef SEAM_MISS
	SEAM_MISS_COUNT,
	SEAM_MISS_NONE = SEAM_MISS_COUNT, /* a hit */
};

/* No loaded plan expects the request: it is not that its place is occupied. */
static inline bool seam__miss_is_unknown(enum seam_miss miss)
{
	return miss == SEAM_MISS_size || miss == SEAM_MISS_lost || miss == SEAM_MISS_cursor;
}

/* A program of which a plan does not know more requests than one in so many, or does not serve them when it is tried,
 * is not what the plan is of. */
#define SEAM_MISSED_SHARE 20u

#endif

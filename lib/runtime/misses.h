/* misses.h: the causes of misses, out of misses.def. */
#ifndef SEAM_MISSES_H
#define SEAM_MISSES_H

enum seam_miss {
#define SEAM_MISS(name, text) SEAM_MISS_##name,
#include "misses.def"
#undef SEAM_MISS
	SEAM_MISS_COUNT,
	SEAM_MISS_NONE = SEAM_MISS_COUNT, /* a hit */
};

/* A plan that misses more requests than one in so many is no good: the rest does not make up for what they cost. */
#define SEAM_MISSED_SHARE 20u

#endif

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

#endif

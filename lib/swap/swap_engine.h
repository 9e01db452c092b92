/* swap_engine.h: a swap engine, as its own files and tests see it; see include/seam/swap.h. */
#ifndef SEAM_SWAP_ENGINE_H
#define SEAM_SWAP_ENGINE_H

#include "ticket.h"

struct seam_swap {
	struct seam_pool *pool;
	struct seam_meta *meta; /* what belongs to the engine, this struct too */
	uint64_t down;          /* stream of copies to the host */
	uint64_t up;            /* stream of copies to the device */
	struct seam_tickets tickets;
};

#endif

/* follower.h: whether a program does what a plan says, before anything is served from the plan.
 *
 * A plan that was made before is there from the program's first request on; the program makes its parameters first, and
 * what it makes then stays. Gradients, states and copies of parameters have their sizes, in their order: requests alone
 * do not tell a program that is building up from one that has begun to repeat. Frees do: so the plan is followed
 * through the matcher without serving, and is believed once some requests in a row were as it says and some blocks went
 * when it says.
 *
 * Not here: what else makes a plan listen (planned_begin.c).
 * Locks: as the matcher's.
 */
#ifndef SEAM_FOLLOWER_H
#define SEAM_FOLLOWER_H

#include "matcher.h"

#define SEAM_FOLLOWED 16u /* blocks that are watched at a time */

struct seam_followed {
	uint64_t va;    /* 0: none */
	uint64_t until; /* position by which the plan says that it is freed */
};

struct seam_follower {
	bool found;        /* the last request was one that the plan expects somewhere */
	uint32_t in_step;  /* requests in a row that were as the plan says */
	uint32_t returned; /* of their blocks, freed when it says */
	uint64_t until;    /* of the last request, if its block is worth watching; 0: it is not */
	struct seam_followed followed[SEAM_FOLLOWED];
	uint32_t next; /* entry that is taken next */
};

/* A request is made. True: the program does what the plan says, as from the next request on. */
bool seam__follower_hear(
	struct seam_follower *follower, struct seam_matcher *matcher, const struct seam_match_ask *ask);

/* The request that was just heard is served elsewhere, at `va`. */
void seam__follower_serve(struct seam_follower *follower, uint64_t va);

/* A block that was served elsewhere is freed. */
void seam__follower_free(struct seam_follower *follower, const struct seam_matcher *matcher, uint64_t va);

#endif

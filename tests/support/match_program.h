/* match_program.h: programs that ask a matcher for what a plan says, or something else, and a naive oracle of what they
 * get.
 *
 * A program is a plan's period as a row of acts. A player performs acts with one matcher; it keeps a plain array of
 * what is live and asserts after every request that the block overlaps none of it and is large enough, and that what
 * the matcher says of itself holds. For Criterion tests.
 */
#ifndef TEST_MATCH_PROGRAM_H
#define TEST_MATCH_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include <seam/plan.h>

#include "matcher.h"
#include "trace_program.h"
#include "planned.h"

#define MATCH_BLOCKS 4096u
#define MATCH_NO_SLOT UINT32_MAX
#define MATCH_BLOCKED 8u
#define MATCH_STRANGER 77u /* a thread that no program has */

struct match_act {
	uint32_t slot;
	uint32_t lag; /* a free: of the block of so many repetitions ago */
	bool is_free;
};

struct match_program {
	struct seam_plan *plan;
	struct match_act *acts;
	uint32_t count;
};

/* A program whose plan is made by the planner. */
struct match_program match_program(const struct program_wish *wish);

/* The same from words: "a4096 b512 -a -b": allocations with bytes (and "@stream", "^thread"), frees. A name is one
 * letter; what is not freed in the period is freed by the first free of it in the next. "=a" frees the block of that
 * name before the last. */
struct match_program match_program_of(const char *words);
void match_program_fini(struct match_program *program);

struct match_block {
	struct seam_plan_block *plan_block; /* NULL: served elsewhere */
	uint64_t offset;
	uint64_t bytes;
	uint64_t repetition;
	uint32_t program;
	uint32_t slot; /* MATCH_NO_SLOT: none of the program's */
	bool held;
};

struct match_player {
	struct seam_meta *meta;
	struct seam_matcher *matcher;
	const char *name; /* for messages */
	uint64_t seed;
	uint64_t random;
	struct match_block blocks[MATCH_BLOCKS];
	uint32_t count;
	uint64_t asked, hits; /* of static requests */
	uint64_t dynamic_asked;
	bool unflagged; /* dynamic requests do not say so */
	struct seam_plan_range blocked[MATCH_BLOCKED];
	uint32_t blocked_count;
	bool takes;           /* a gap is unblocked and taken */
	uint32_t borrows;     /* of ten requests that are missed so many may borrow a place */
	uint32_t hears;       /* of a hundred requests so many are served elsewhere in any case */
	uint64_t borrowed;    /* have done so */
	uint64_t compared;    /* were compared with the lowest place that is idle */
	bool lacks_metadata;  /* a call fails now */
	uint64_t arena_bytes; /* 0: not known, nothing is compared */
	uint32_t moved_from;  /* requests of slots from this one on come from MATCH_STRANGER; 0: none do */
	bool unchecked;       /* the matcher's own check is left out: for long programs */
};

void match_open(struct match_player *player, const char *name, uint64_t seed);
void match_add(struct match_player *player, const struct match_program *program, bool now);

/* Frees what is live; what the matcher counts is 0 then, and nothing is left of it in memory. */
void match_close(struct match_player *player);

/* One request; whether it was served by the plan. */
bool match_ask(struct match_player *player, const struct seam_match_ask *ask, const struct match_block *as);

/* One act of a program, in a repetition. */
bool match_act(struct match_player *player, const struct match_program *program, uint32_t number, uint32_t act,
	uint64_t repetition);

/* Acts [first, last) of one repetition; returns how many static requests missed. */
uint64_t match_acts(struct match_player *player, const struct match_program *program, uint64_t repetition,
	uint32_t first, uint32_t last);

void match_free(struct match_player *player, uint32_t block);
void match_hold(struct match_player *player, uint32_t block);
/* No more than MATCH_BLOCKED. Nothing where some of it is blocked already. */
void match_block(struct match_player *player, uint64_t begin, uint64_t end);

/* All of [begin, end) is blocked. */
static inline enum seam_rc match_matcher_block(struct seam_matcher *matcher, uint64_t begin, uint64_t end)
{
	return seam__matcher_block(matcher, begin, end, &(struct seam_plan_range){begin, end}, 1);
}
void match_unblock(struct match_player *player, uint32_t range);

/* The position of the frontier, without end; 0: there is no loaded plan. */
uint64_t match_frontier(const struct seam_matcher *matcher);

/* What it checks of everything, and what it says of the bytes [begin, end) and of a block at `begin`. */
void match_check(struct match_player *player);
void match_look(struct match_player *player, uint64_t begin, uint64_t end);

#endif

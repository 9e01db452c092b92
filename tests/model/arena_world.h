/* arena_world.h: an engine, its arenas, and what the model of arena.c knows of them. One program is one model:
 * everything is in `m`. */
#ifndef SEAM_TESTS_ARENA_WORLD_H
#define SEAM_TESTS_ARENA_WORLD_H

#include "arena.h"
#include "emu.h"

#define MIB (UINT64_C(1) << 20)

enum { STREAMS = 3, LIVE = 40, PLANNED = 64, ARENAS = 4, CHUNKS = 64 };

enum count {
	COUNT_ALLOC,
	COUNT_PLANNED,
	COUNT_LENT,
	COUNT_COLLECTED,
	COUNT_OPENED,
	COUNT_FINISHED,
	COUNT_PARTS,
	COUNT_SPARED,
	COUNT_FAILED,
	COUNTS
};

struct live {
	struct seam_block *block;
	unsigned stream, uses; /* uses: bit per stream that it is recorded for */
	uint32_t value;
};

/* A block of an arena. */
struct planned {
	unsigned arena, stream;
	uint64_t offset, bytes;
	uint32_t value;
};

struct world {
	struct seam_driver *driver;
	struct seam_meta *meta;
	struct seam_engine engine;
	struct seam_arena arenas[ARENAS]; /* the first is the one in use; the others are closed */
	unsigned used[ARENAS][CHUNKS];    /* bit per stream whose blocks used the chunk since it was leased */
	uint64_t streams[STREAMS];
	struct seam_event events[STREAMS];
	uint64_t joined[STREAMS]; /* up to which version of the first arena's joins */
	struct live live[LIVE];
	struct planned planned[PLANNED];
	unsigned live_count, planned_count;
	uint64_t random, op, nth, counts[COUNTS];
	bool metadata;
	const char *doing;
};

extern struct world m;

/* Prints what is wrong, with the operation, and ends the program. */
_Noreturn void fail(const char *what);

static inline void expect(bool condition, const char *what)
{
	if (!condition)
		fail(what);
}

/* An error is right only where it was injected, or where there is no memory. */
void expect_failure(enum seam_rc rc);

uint64_t below(uint64_t limit);

/* Both locks; calls of the engine may fail in between. */
void enter(void);
void leave(void);
void arm(void);
void disarm(void);

void launch(uint64_t va, uint64_t bytes, unsigned stream, bool write, uint32_t value);

/* Work on `to` from now on starts after what `from` has. */
void order(unsigned from, unsigned to);

/* Whether the range holds its pattern still. */
void check_content(uint64_t va, uint64_t bytes, unsigned stream, uint32_t value);

/* Entries of the streams in a set. */
uint32_t entries(unsigned set, struct seam_stream **streams);

/* Bytes of a range of an arena that are gaps. */
uint64_t gap_bytes(unsigned arena, uint64_t begin, uint64_t end);

void check_all(void);

/* ---- arena_steps.c ---- */

void op_begin(void);
void op_prepare(void);
void op_open(void);
void op_extend(void);
void op_plan(void);
void op_unplan(void);
void op_lend(void);
void op_collect(void);
void op_close(void);
void op_finish(void);

/* As seam_engine.spare says. */
uint64_t spare(void *user, const struct seam_ask *ask, uint64_t bytes, enum seam_spare what);

#endif

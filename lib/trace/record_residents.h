/* record_residents.h: what is left of a recording's forgotten beginning: the blocks that were live behind it, and the
 * open phases.
 *
 * A stretch of the log is passed over event by event; what it allocates and frees again leaves nothing.
 *
 * Not here: where events stand (record_log.h).
 * Invariants: RD1 residents rise by their serials; RD2 the count of dead ones is right and at most half of all, or few.
 * No locks: its owner guards it.
 */
#ifndef SEAM_RECORD_RESIDENTS_H
#define SEAM_RECORD_RESIDENTS_H

#include <stdbool.h>
#include <stdint.h>

#include <seam/rc.h>

struct seam_meta;
struct seam_record_slot;

#define SEAM_RECORD_PHASES 64u /* open at once, of all threads; what is beyond is left out */

struct seam_record_resident {
	uint64_t id;
	uint64_t bytes;
	uint64_t stream;
	uint32_t pool;
	uint32_t thread;
	uint8_t flags;
	bool dead; /* freed; stands there for the order only */
};

struct seam_record_phase {
	uint32_t thread;
	uint32_t name; /* number, as in the events */
};

/* Open phases of all threads, in the order of their beginnings. */
struct seam_record_phases {
	struct seam_record_phase open[SEAM_RECORD_PHASES];
	uint32_t count;
};

struct seam_record_residents {
	struct seam_meta *meta;
	struct seam_record_resident *items;
	uint64_t count, capacity, dead;
	uint64_t limit_bytes; /* of items */
	uint64_t lost;        /* ever: live blocks for which there was no room */
	struct seam_record_phases phases;
};

/* Allocates nothing. */
void seam__record_residents_init(struct seam_record_residents *residents, struct seam_meta *meta, uint64_t limit_bytes);
void seam__record_residents_fini(struct seam_record_residents *residents);

/* Room in `meta` for a copy of `count` of them. Made before the lock that guards them is taken: it takes as long as
 * they are many. Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__record_residents_reserve(
	struct seam_meta *meta, uint64_t count, struct seam_record_residents *ret_copy);

/* Those that live, and the phases, to a copy with room. False: there are more of them, and nothing is copied. */
bool seam__record_residents_copy(const struct seam_record_residents *residents, struct seam_record_residents *copy);

/* How many live. */
static inline uint64_t seam__record_residents_live(const struct seam_record_residents *residents)
{
	return residents->count - residents->dead;
}

/* The live one of this serial, or NULL. O(log residents). */
struct seam_record_resident *seam__record_residents_find(const struct seam_record_residents *residents, uint64_t id);

/* Passes over the events of places [0, count), whose numbers begin at `first`; all before have been passed. Places that
 * nobody has written yet count as lost; their number is returned. */
uint32_t seam__record_residents_pass(
	struct seam_record_residents *residents, const struct seam_record_slot *slots, uint64_t first, uint32_t count);

/* Once more, for what was written after the pass: frees only. */
void seam__record_residents_late(
	struct seam_record_residents *residents, const struct seam_record_slot *slots, uint32_t count);

void seam__record_phases_begin(struct seam_record_phases *phases, uint32_t thread, uint32_t name);

/* The place of the phase that the thread ends, or `count` if it is not open. */
uint32_t seam__record_phases_find(const struct seam_record_phases *phases, uint32_t thread, uint32_t name);
void seam__record_phases_remove(struct seam_record_phases *phases, uint32_t place);

static inline uint64_t seam__record_residents_bytes(const struct seam_record_residents *residents)
{
	return residents->capacity * sizeof *residents->items;
}

const char *seam__record_residents_check(const struct seam_record_residents *residents);

#endif

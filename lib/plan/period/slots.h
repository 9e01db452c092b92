/* slots.h: the requests of a period, and how long each lives.
 *
 * A slot is one request of the period. Positions count the allocations and frees in the period, from 0. A slot that is
 * freed inside has that free's position as its end. One that is not is freed in a later repetition: the program
 * repeats, so each free in the period of a block from before it belongs to one of these slots, as many periods on as
 * that block was old. Which one: the block that was allocated at the same place of an earlier period; where the trace's
 * beginning was another, the slots and frees of one size and stream are paired in order, one period apart. What is
 * allocated before the period and not freed in it lives through everything (a resident), except for the blocks of such
 * slots.
 *
 * A stretch that happens once has no other repetition: what it does not free ends with it, and there are no residents.
 *
 * Not here: addresses; what is to be placed and held from which stream (instance.h). Invariants, named by
 * seam__slots_check():
 *   SO1  slots are the requests allocated in the period, in order; begins ascend
 *   SO2  begin < end <= begin + copies * positions, copies being the smallest number for which that holds
 *   SO3  no two slots share a free; no two allocations or frees of slots have one position
 *   SO4  in a period every slot of a fixed size has its free; streams and users are below their counts
 * Immutable once built; on the process-wide metadata domain. No locks.
 */
#ifndef SEAM_SLOTS_H
#define SEAM_SLOTS_H

#include "period.h"

struct seam_period_slot {
	uint32_t begin; /* position of the allocation */
	uint32_t
		end; /* position of the free, counted from the begin's period: at or above `positions` in a later one */
	uint32_t free_event; /* number of its free in the period, perhaps of an earlier period's block;
				SEAM__EVENT_NONE: none */
	uint32_t lag;        /* how many periods later that is */
	uint32_t stream;     /* number into streams */
	uint32_t first_user; /* other streams that use it: users[first_user], ... */
	uint32_t user_count; /* ... as many; a stream may stand there twice */
};

struct seam_period_slots {
	const struct seam_traced_requests *requests; /* outlive them */
	struct seam_period period;
	struct seam_grow items;     /* struct seam_period_slot */
	struct seam_grow positions; /* uint32_t per event of the period: how many positions lie before it */
	struct seam_grow
		streams; /* uint32_t: stream numbers of the requests: those of slots with a place, then of others */
	struct seam_grow
		users; /* uint32_t: numbers into streams, of the slot's own block and of the one whose free ends it */
	uint32_t placed_streams; /* so many are those of slots with a place */
	uint32_t first_request;  /* slot i is request first_request + i */
	uint32_t position_count; /* of one period */
	uint32_t copies;         /* k: no slot lives longer than k periods */
	uint64_t resident_bytes; /* live through every period; 0 for a stretch that happens once */
	uint64_t resident_count; /* blocks */
};

/* Errors: SEAM_INVALID (what is live does not return: frees without slots; `error`, which may be NULL, says so; too
 * many positions), SEAM_OOM_META. O(events log events). */
SEAM_MUST_USE enum seam_rc seam__slots_init(const struct seam_tokens *tokens, const struct seam_period *period,
	struct seam_trace_error *error, struct seam_period_slots *ret_slots);
void seam__slots_fini(struct seam_period_slots *slots); /* a zeroed one is allowed */

static inline const struct seam_period_slot *seam__slot_at(const struct seam_period_slots *slots, uint32_t number)
{
	return (const struct seam_period_slot *)slots->items.items + number;
}

static inline uint32_t seam__slots_count(const struct seam_period_slots *slots)
{
	return (uint32_t)slots->items.count;
}

/* The request of a slot. */
static inline const struct seam_traced_request *seam__slot_request(
	const struct seam_period_slots *slots, uint32_t number)
{
	return seam__request_at(slots->requests, slots->first_request + number);
}

/* The request whose free ends the slot (its thread, module and phase), or NULL. */
const struct seam_traced_request *seam__slot_freed(const struct seam_period_slots *slots, uint32_t number);

/* How many positions of the period lie before `event`, which lies in it. */
static inline uint32_t seam__slots_position(const struct seam_period_slots *slots, uint64_t event)
{
	return ((const uint32_t *)slots->positions.items)[event - slots->period.first_event];
}

/* Is the slot to have a place? One whose size depends on data is not. */
static inline bool seam__slot_is_placed(const struct seam_period_slots *slots, uint32_t number)
{
	return !seam__slot_request(slots, number)->dynamic;
}

/* Name of the first broken invariant, or NULL. O(slots + positions); SEAM_OOM_META counts as nothing broken. */
const char *seam__slots_check(const struct seam_period_slots *slots);

#endif

/* emu_engine.h: a copy engine of an emulated device: the copies of one direction, between the host and the device.
 *
 * An engine does one copy after the other, in the order in which they became ready, whatever their streams. While both
 * engines of a device are at work each is slower (SEAM_EMU_BOTH in emu_costs.def): when one begins or ends, the end of
 * the other's copy moves. So the end of such a copy is known only when it comes. Until then it stands at the head of
 * its stream's queue.
 *
 * Not here: when a copy is ready, and what becomes of its stream (emu_work.c). Copies between places of device memory
 * have no engine; nor has any copy with config.drawn_copies. Guarded by the emulator's lock; invariant E8.
 */
#ifndef SEAM_EMU_ENGINE_H
#define SEAM_EMU_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "list.h"

struct emu;
struct emu_work;

struct emu_engine {
	STAILQ_HEAD(, emu_work) ready; /* in the order in which they became so */
	struct emu_work *running;      /* in the timeline, by its end. NULL: idle */
	double left_ns;                /* of that, alone */
	double speed;                  /* 1: alone */
	uint64_t since_ns;             /* when so much was left */
};

/* An engine does it: a copy between the host and the device. */
bool seam__emu_engine_does(const struct emu *e, const struct emu_work *work);

/* Such work has begun. */
bool seam__emu_engine_runs(const struct emu_work *work);

/* It is ready now. */
void seam__emu_engine_join(struct emu *e, struct emu_work *work);

/* It runs, and ends now: it has left the timeline. */
void seam__emu_engine_leave(struct emu *e, struct emu_work *work);

/* Name of a broken invariant, or NULL. */
const char *seam__emu_engine_check(const struct emu *e);

#endif

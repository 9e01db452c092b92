/* place.h: where in the recorded program a request stands: its step, phase and call site, as far as they are recorded.
 *
 * Immutable once found.
 */
#ifndef TOOLS_PLACE_H
#define TOOLS_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <seam/trace.h>

struct place {
	bool resident;      /* the block was live before the recording began: nothing else is known */
	uint64_t step;      /* from 1; 0: no steps are marked */
	const char *phase;  /* the innermost; "": none. A string of the trace, like the next */
	const char *module; /* who asked; "": not recorded */
};

/* Of the allocation of that number, from 1; false if there are fewer. */
bool place_find(const struct seam_trace *trace, uint64_t number, struct place *ret_place);

/* "step 3, phase backward, in h.11.mlp"; "" if nothing is known. Cut to fit; returns the buffer. */
const char *place_text(const struct place *place, char *buffer, size_t buffer_bytes);

#endif

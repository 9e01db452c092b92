/* stub.h: what the stub libraries share. Each is compiled by seamalloc/_ghost.py, with functions that return 0 for all
 * names of NVIDIA's library that are not here. A parameter has the type that the processor passes it by: enumerations
 * are int, handles void *.
 */
#ifndef SEAM_GHOST_STUB_H
#define SEAM_GHOST_STUB_H

#include <stddef.h>
#include <stdint.h>

#pragma GCC diagnostic ignored "-Wunused-parameter" /* a stub looks at few */

#define NO_ERRORS "a stub has no errors"

static long object[64]; /* what every handle points to, of which nothing is asked */

static inline int hand_out(void **made)
{
	*made = object;
	return 0;
}

#endif

/* sequence_diff.h: which elements of two sequences correspond, by the fewest insertions and removals (Myers' greedy
 * algorithm).
 *
 * Not here: what an element is (thread_sequences.h). Pure. No locks.
 */
#ifndef SEAM_SEQUENCE_DIFF_H
#define SEAM_SEQUENCE_DIFF_H

#include <stdint.h>

#include <seam/rc.h>

#define SEAM__DIFF_NONE UINT32_MAX
#define SEAM__DIFF_EDITS_MAX 2048u /* more are not looked for: memory grows with their square */

/* ret_match: per element of `b` the element of `a` that it is, ascending, or SEAM__DIFF_NONE. most: insertions and
 * removals. ret_match may be written on failure. O(elements + edits^2). Errors: SEAM_NOT_FOUND (more than `most`, or
 * SEAM__DIFF_EDITS_MAX), SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__diff_match(
	const uint64_t *a, uint32_t a_count, const uint64_t *b, uint32_t b_count, uint32_t most, uint32_t *ret_match);

#endif

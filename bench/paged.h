/* paged.h: what a plan's requests would cost if each had whole chunks in a view to itself, instead of bytes of one
 * arena: the other ways to use paged memory, for comparison. The problems and the proofs of the bounds are in
 * README.md.
 *
 * A view has whole chunks, so a request's size counts rounded up. Requests smaller than a chunk have no views: they are
 * taken to share an arena without loss. Dynamic requests do not count. All figures are in chunks of the plan.
 *
 * Pure; no locks.
 */
#ifndef SEAM_PAGED_H
#define SEAM_PAGED_H

#include <stdint.h>

#include <seam/plan.h>

struct seam_paged {
	uint64_t chunks;         /* the most that are live at once: views of any kind need them */
	uint64_t private_chunks; /* addresses of a view for every request (and for each of its blocks that live at
				    once), mapped for good */
	uint64_t size_chunks; /* V: addresses of as many views of each size as live at once, mapped when they are needed
			       */
	uint64_t capacity_chunks; /* of the next: `chunks`, but not less than P* */
	uint64_t remapped_chunks; /* problem R: with V, that capacity, and one address at a time for a chunk, whatever
				     is remapped when: no fewer mappings change in a period (a linear plan: in all) */
};

/* The plan holds L1 to L3, and is none of a graph, whose contiguous constraints it does not know: SEAM_UNSUPPORTED.
 * Errors: SEAM_OOM_META. O(n log n + positions). */
SEAM_MUST_USE enum seam_rc seam__paged_init(const struct seam_plan *plan, struct seam_paged *ret_paged);

#endif

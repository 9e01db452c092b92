/* iteration_kinds.c: see iteration_kinds.h. */
#include "iteration_kinds.h"

#include "region.h"

#define DIFFERING 0.1        /* of the requests of two iterations of one kind, and of their bytes, may differ */
#define KINDS_MAX 64u        /* more are not told apart: what is older and like none of them has no kind */
#define ALWAYS_MAY_DIFFER 4u /* requests: one more here and one less there is nothing, however short the iteration */

static uint32_t may_differ(const struct seam_sequence *a, const struct seam_sequence *b)
{
	uint32_t a_count = seam__stretch_count(&a->stretch);
	uint32_t b_count = seam__stretch_count(&b->stretch);
	uint32_t most = (uint32_t)((a_count > b_count ? a_count : b_count) * DIFFERING);

	return most > ALWAYS_MAY_DIFFER ? most : ALWAYS_MAY_DIFFER;
}

/* Not many of its requests may differ, nor much of its memory: other sizes of a few large ones are another workload. */
static bool is_alike(
	const struct seam_sequence *a, const struct seam_sequence *b, const struct seam_difference *difference)
{
	uint64_t bytes = a->bytes > b->bytes ? a->bytes : b->bytes;

	return difference->requests <= ALWAYS_MAY_DIFFER || (double)difference->bytes <= (double)bytes * DIFFERING;
}

/* The kind that the sequence differs from least, or SEAM__KIND_NONE. */
static enum seam_rc choose_alike(
	const struct seam_kinds *kinds, const struct seam_sequence *sequence, uint32_t *ret_kind)
{
	uint32_t least = UINT32_MAX;
	uint32_t best = SEAM__KIND_NONE;

	for (uint32_t k = 0; k < kinds->count && least > 0; k++) {
		const struct seam_sequence *base = &seam__kind_at(kinds, k)->sequence;
		uint32_t most = may_differ(base, sequence);
		struct seam_difference difference = {0};
		enum seam_rc rc = SEAM_OK;

		if (sequence->hash != base->hash)
			rc = seam__sequence_compare(
				kinds->sequences, base, sequence, most < least ? most : least, NULL, &difference);
		if (rc == SEAM_OOM_META)
			return rc;
		if (rc == SEAM_OK && difference.requests < least && is_alike(base, sequence, &difference)) {
			least = difference.requests;
			best = k;
		}
	}
	*ret_kind = best;
	return SEAM_OK;
}

static void count_member(struct seam_kind *kind, const struct seam_sequence *sequence)
{
	kind->seen++;
	kind->equal += sequence->hash == kind->sequence.hash;
}

static enum seam_rc add(struct seam_kinds *kinds, uint32_t stretch)
{
	struct seam_kind made = {.newest = stretch, .seen = 1, .equal = 1};
	uint32_t *kind = &kinds->kind_of[stretch];
	enum seam_rc rc = seam__sequence_init(kinds->sequences, &kinds->stretches[stretch], &made.sequence);

	if (rc != SEAM_OK)
		return rc;
	rc = choose_alike(kinds, &made.sequence, kind);
	if (rc == SEAM_OK && *kind != SEAM__KIND_NONE) {
		count_member(seam__kind_at(kinds, *kind), &made.sequence);
	} else if (rc == SEAM_OK && kinds->count < KINDS_MAX) {
		*kind = kinds->count;
		kinds->items[kinds->count++] = made;
	}
	return rc;
}

enum seam_rc seam__kinds_init(const struct seam_sequences *sequences, const struct seam_thread_stretch *stretches,
	uint32_t stretch_count, uint64_t least_requests, struct seam_kinds *ret_kinds)
{
	struct seam_kinds made = {.sequences = sequences, .stretches = stretches, .stretch_count = stretch_count};
	enum seam_rc rc = SEAM_OK;

	made.items = seam__region_array(
		sequences->region, stretch_count < KINDS_MAX ? stretch_count : KINDS_MAX, sizeof(*made.items));
	made.kind_of = seam__region_array(sequences->region, stretch_count, sizeof(*made.kind_of));
	if (made.items == NULL || made.kind_of == NULL)
		return SEAM_OOM_META;
	for (uint32_t s = stretch_count; rc == SEAM_OK && s-- > 0;) {
		made.kind_of[s] = SEAM__KIND_NONE;
		if (seam__stretch_count(&stretches[s]) >= least_requests)
			rc = add(&made, s);
	}
	if (rc == SEAM_OK)
		*ret_kinds = made;
	return rc;
}

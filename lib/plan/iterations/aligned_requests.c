/* aligned_requests.c: see aligned_requests.h. Where aligned requests end stands in aligned_frees.c.
 *
 * The newest member is the base: the others are compared with it.
 */
#include "aligned_requests.h"

#include <string.h>

#include "region.h"
#include "sequence_diff.h"

/* The requests of an aligned request, or, before those are chosen, of a request of the base: one for each member. */
static uint32_t *row_of(const struct seam_aligned_requests *aligned, uint32_t number)
{
	return &aligned->requests[(size_t)number * aligned->member_count];
}

/* same: per request of the member. */
static void note_member(struct seam_aligned_requests *aligned, uint32_t member, const uint32_t *same)
{
	for (uint32_t i = 0; i < seam__stretch_count(&aligned->members[member]); i++)
		if (same[i] != SEAM__DIFF_NONE)
			row_of(aligned, same[i])[member] = aligned->members[member].first_request + i;
}

static enum seam_rc lay_beside(struct seam_aligned_requests *aligned, uint32_t member, const struct seam_sequence *base)
{
	struct seam_sequence sequence;
	struct seam_difference ignored;
	struct seam_region *region = aligned->sequences->region;
	const void *mark = seam__region_mark(region);
	uint32_t *same = seam__region_array(region, seam__stretch_count(&aligned->members[member]), sizeof(*same));
	enum seam_rc rc = seam__sequence_init(aligned->sequences, &aligned->members[member], &sequence);

	if (rc != SEAM_OK)
		return rc;
	rc = same != NULL ? seam__sequence_compare(aligned->sequences, base, &sequence, UINT32_MAX / 4, same, &ignored)
			  : SEAM_OOM_META;
	if (rc == SEAM_OK)
		note_member(aligned, member, same);
	else if (rc == SEAM_NOT_FOUND)
		rc = SEAM_OK; /* it is of the kind, but in ways that are too many to list: it has no say */
	seam__region_release(region, mark);
	return rc;
}

/* The size (and stream) that most have, and who shows it; where none is, it depends on data. */
static struct seam_aligned_request judge_sizes(const struct seam_aligned_requests *aligned, const uint32_t *requests)
{
	const uint64_t *keys = aligned->sequences->keys;
	struct seam_aligned_request aligned_request = {
		.source = SEAM__REQUEST_NONE, .freer = SEAM__REQUEST_NONE, .order = SEAM__EVENT_NONE};
	uint32_t count = aligned->member_count;
	uint32_t present = 0;
	uint32_t most = 0;

	for (uint32_t m = 0; m < count; m++) {
		uint32_t alike = 0;

		if (requests[m] == SEAM__REQUEST_NONE)
			continue;
		present++;
		for (uint32_t other = m; other < count; other++)
			alike += requests[other] != SEAM__REQUEST_NONE && keys[requests[other]] == keys[requests[m]];
		if (alike > most) {
			most = alike;
			aligned_request.source = requests[m];
		}
	}
	aligned_request.dynamic =
		seam__request_at(aligned->sequences->requests, aligned_request.source)->dynamic || 2 * most <= present;
	return aligned_request;
}

/* Keeps those requests of the base that at least half of the members have. There is room. */
static void choose(struct seam_aligned_requests *aligned, uint32_t base_count)
{
	uint32_t count = aligned->member_count;

	for (uint32_t b = 0; b < base_count; b++) {
		uint32_t number = aligned->count;
		uint32_t *row = row_of(aligned, number);
		uint32_t present = 0;

		memmove(row, row_of(aligned, b), count * sizeof(*row));
		for (uint32_t m = 0; m < count; m++)
			present += row[m] != SEAM__REQUEST_NONE;
		if (2 * present < count)
			continue;
		aligned->items[aligned->count++] = judge_sizes(aligned, row);
		for (uint32_t m = 0; m < count; m++)
			if (row[m] != SEAM__REQUEST_NONE)
				aligned->aligned_request_of[m][row[m] - aligned->members[m].first_request] = number;
	}
}

static void note_gaps(struct seam_aligned_requests *aligned)
{
	for (uint32_t m = 0; m < aligned->member_count; m++) {
		for (uint32_t i = 0; i < seam__stretch_count(&aligned->members[m]); i++) {
			uint32_t aligned_request = aligned->aligned_request_of[m][i];

			aligned->gap_behind[m][i + 1] =
				aligned_request == SEAM__ALIGNED_NONE ? aligned->gap_behind[m][i] : aligned_request + 1;
		}
	}
}

/* The aligned request serves the request of a member. */
static bool serves(const struct seam_aligned_requests *aligned, uint32_t aligned_request, uint32_t request)
{
	const struct seam_aligned_request *item = seam__aligned_at(aligned, aligned_request);
	const struct seam_traced_requests *all = aligned->sequences->requests;

	return !item->left_out &&
		(item->dynamic ||
			seam__request_at(all, request)->size_bytes == seam__request_at(all, item->source)->size_bytes);
}

static void count_lacking(struct seam_aligned_requests *aligned)
{
	uint64_t lacking = 0;

	for (uint32_t m = 0; m < aligned->member_count; m++) {
		const struct seam_thread_stretch *member = &aligned->members[m];

		for (uint32_t i = 0; i < seam__stretch_count(member); i++) {
			uint32_t aligned_request = aligned->aligned_request_of[m][i];

			lacking += aligned_request == SEAM__ALIGNED_NONE ||
				!serves(aligned, aligned_request, member->first_request + i);
		}
	}
	aligned->lacking = (double)lacking / aligned->member_count;
}

static enum seam_rc build(struct seam_aligned_requests *aligned, const struct seam_sequence *base)
{
	uint32_t base_count = seam__stretch_count(&aligned->members[0]);
	enum seam_rc rc = SEAM_OK;
	size_t cells = (size_t)base_count * aligned->member_count;

	aligned->requests = seam__region_array(aligned->sequences->region, cells, sizeof(*aligned->requests));
	aligned->items = seam__region_array(aligned->sequences->region, base_count, sizeof(*aligned->items));
	if (aligned->requests == NULL || aligned->items == NULL)
		return SEAM_OOM_META;
	for (size_t c = 0; c < cells; c++)
		aligned->requests[c] = SEAM__REQUEST_NONE;
	for (uint32_t b = 0; b < base_count; b++)
		row_of(aligned, b)[0] = aligned->members[0].first_request + b;
	for (uint32_t m = 1; rc == SEAM_OK && m < aligned->member_count; m++)
		rc = lay_beside(aligned, m, base);
	if (rc != SEAM_OK)
		return rc;
	choose(aligned, base_count);
	note_gaps(aligned);
	rc = seam__aligned_end(aligned);
	if (rc == SEAM_OK)
		count_lacking(aligned);
	return rc;
}

/* The newest members, and room for what is known of their requests. */
static enum seam_rc list_members(const struct seam_kinds *kinds, uint32_t kind, struct seam_aligned_requests *aligned)
{
	for (uint32_t s = kinds->stretch_count; s-- > 0 && aligned->member_count < SEAM__MEMBERS_MAX;) {
		uint32_t m = aligned->member_count;
		size_t count = (size_t)seam__stretch_count(&kinds->stretches[s]) + 1;

		if (kinds->kind_of[s] != kind)
			continue;
		aligned->members[aligned->member_count++] = kinds->stretches[s];
		aligned->aligned_request_of[m] =
			seam__region_array(aligned->sequences->region, count, sizeof(uint32_t));
		aligned->gap_behind[m] = seam__region_array(aligned->sequences->region, count, sizeof(uint32_t));
		if (aligned->aligned_request_of[m] == NULL || aligned->gap_behind[m] == NULL)
			return SEAM_OOM_META;
		for (size_t i = 0; i < count; i++)
			aligned->aligned_request_of[m][i] = SEAM__ALIGNED_NONE;
	}
	return SEAM_OK;
}

enum seam_rc seam__aligned_init(
	const struct seam_kinds *kinds, uint32_t kind, struct seam_aligned_requests *ret_aligned)
{
	struct seam_aligned_requests made = {.sequences = kinds->sequences};

	enum seam_rc rc = list_members(kinds, kind, &made);
	if (rc == SEAM_OK)
		rc = build(&made, &seam__kind_at(kinds, kind)->sequence);
	if (rc == SEAM_OK)
		*ret_aligned = made;
	return rc;
}

uint32_t seam__aligned_count(const struct seam_aligned_requests *aligned)
{
	uint32_t count = 0;

	for (uint32_t c = 0; c < aligned->count; c++)
		count += !seam__aligned_at(aligned, c)->left_out;
	return count;
}

uint32_t seam__aligned_member(const struct seam_aligned_requests *aligned, uint32_t event)
{
	for (uint32_t m = 0; m < aligned->member_count; m++)
		if (event >= aligned->members[m].first_event && event < aligned->members[m].last_event)
			return m;
	return SEAM__MEMBERS_MAX;
}

uint32_t seam__aligned_find(const struct seam_aligned_requests *aligned, uint32_t request, uint32_t *ret_member)
{
	uint32_t member = seam__aligned_member(aligned, seam__request_at(aligned->sequences->requests, request)->alloc);

	if (member == SEAM__MEMBERS_MAX)
		return SEAM__ALIGNED_NONE;
	*ret_member = member;
	return aligned->aligned_request_of[member][request - aligned->members[member].first_request];
}

const char *seam__aligned_check(const struct seam_aligned_requests *aligned)
{
	for (uint32_t c = 0; c < aligned->count; c++) {
		const struct seam_aligned_request *aligned_request = seam__aligned_at(aligned, c);
		uint32_t member = SEAM__MEMBERS_MAX;

		if (seam__aligned_find(aligned, aligned_request->source, &member) != c)
			return "AL1 source";
		for (uint32_t m = 0; m < aligned->member_count; m++) {
			uint32_t request = seam__aligned_request(aligned, c, m);

			if (request != SEAM__REQUEST_NONE &&
				(seam__aligned_find(aligned, request, &member) != c || member != m))
				return "AL1 member";
		}
		if (!aligned_request->left_out &&
			(aligned_request->gap > aligned->count ||
				(aligned_request->lag == 0 && aligned_request->gap <= c)))
			return "AL2";
	}
	return NULL;
}

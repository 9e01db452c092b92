/* aligned_frees.c: where aligned requests end; see aligned_requests.h. */
#include "aligned_requests.h"
#include "loose.h"

/* Where a member frees an aligned request. */
struct vote {
	uint32_t lag;
	uint32_t gap;
	uint32_t request;
};

static bool votes_equal(const struct vote *a, const struct vote *b)
{
	return a->lag == b->lag && a->gap == b->gap;
}

static bool is_later(const struct vote *a, const struct vote *b)
{
	return a->lag != b->lag ? a->lag > b->lag : a->gap > b->gap;
}

/* The gap of the member that an event in it lies in. */
static uint32_t gap_of(const struct seam_aligned_requests *aligned, uint32_t member, uint32_t event)
{
	const struct seam_thread_stretch *stretch = &aligned->members[member];

	return aligned->gap_behind[member][seam__sequences_request(aligned->sequences, event) - stretch->first_request];
}

/* The votes of the members that have the aligned request, newest first. Returns how many. ret_elsewhere: some free it
 * outside of all. */
static uint32_t collect(
	const struct seam_aligned_requests *aligned, uint32_t number, struct vote *votes, bool *ret_elsewhere)
{
	uint32_t count = 0;

	*ret_elsewhere = false;
	for (uint32_t m = 0; m < aligned->member_count; m++) {
		uint32_t request = seam__aligned_request(aligned, number, m);
		uint32_t event = request == SEAM__REQUEST_NONE
			? SEAM__EVENT_NONE
			: seam__request_at(aligned->sequences->requests, request)->free;

		if (event == SEAM__EVENT_NONE)
			continue;
		uint32_t member = seam__aligned_member(aligned, event);
		if (member == SEAM__MEMBERS_MAX) {
			*ret_elsewhere = true;
			continue;
		}
		votes[count] =
			(struct vote){.lag = m - member, .gap = gap_of(aligned, member, event), .request = request};
		/* Where threads come in another order than in the newest member, a free may seem to stand before its
		 * block. */
		if (votes[count].lag == 0 && votes[count].gap <= number)
			votes[count].gap = number + 1;
		count++;
	}
	return count;
}

/* What most say; the later of equals, for a block that lives longer in the plan does no harm. */
static struct vote count_votes(const struct vote *votes, uint32_t count)
{
	struct vote best = votes[0];
	uint32_t most = 0;

	for (uint32_t v = 0; v < count; v++) {
		uint32_t equal = 0;

		for (uint32_t other = v; other < count; other++)
			equal += votes_equal(&votes[v], &votes[other]);
		if (equal > most || (equal == most && is_later(&votes[v], &best))) {
			most = equal;
			best = votes[v];
		}
	}
	return best;
}

/* The event at which the newest member frees the block of the aligned request of `lag` iterations before. */
static uint32_t free_in_newest(const struct seam_aligned_requests *aligned, uint32_t number, uint32_t lag)
{
	if (lag >= aligned->member_count)
		return SEAM__EVENT_NONE;
	uint32_t request = seam__aligned_request(aligned, number, lag);
	if (request == SEAM__REQUEST_NONE)
		return SEAM__EVENT_NONE;
	uint32_t event = seam__request_at(aligned->sequences->requests, request)->free;
	return seam__aligned_member(aligned, event) == 0 ? event : SEAM__EVENT_NONE;
}

/* Ends what the members show; leaving: the aligned requests that they do not, in order of allocation. */
static enum seam_rc end_by_votes(struct seam_aligned_requests *aligned, struct seam_grow *leaving)
{
	const struct seam_traced_requests *requests = aligned->sequences->requests;
	enum seam_rc rc = SEAM_OK;

	for (uint32_t c = 0; rc == SEAM_OK && c < aligned->count; c++) {
		struct seam_aligned_request *aligned_request = seam__aligned_at(aligned, c);
		struct vote votes[SEAM__MEMBERS_MAX];
		bool elsewhere;
		uint32_t count = collect(aligned, c, votes, &elsewhere);

		aligned_request->left_out = count == 0 && !elsewhere;
		if (count == 0 && elsewhere)
			rc = seam__loose_add(leaving, seam__request_at(requests, aligned_request->source), c, c);
		if (count == 0)
			continue;
		struct vote best = count_votes(votes, count);
		aligned_request->lag = best.lag;
		aligned_request->gap = best.gap;
		aligned_request->freer = best.request;
		aligned_request->order = free_in_newest(aligned, c, best.lag);
	}
	return rc;
}

/* Frees in the newest member of blocks from before it that are no aligned requests', by event; born in order of
 * allocation. */
static enum seam_rc list_arriving(const struct seam_aligned_requests *aligned, struct seam_grow *arriving)
{
	const struct seam_sequences *sequences = aligned->sequences;
	const struct seam_thread_stretch *newest = &aligned->members[0];
	enum seam_rc rc = SEAM_OK;

	for (uint32_t e = newest->first_event; rc == SEAM_OK && e < newest->last_event; e++) {
		uint32_t request = seam__request_of(sequences->requests, e);
		uint32_t member;

		if (request == SEAM__REQUEST_NONE || request >= newest->first_request ||
			sequences->trace->events[e].kind != SEAM_TRACE_FREE)
			continue;
		if (seam__aligned_find(aligned, request, &member) == SEAM__ALIGNED_NONE)
			rc = seam__loose_add(arriving, seam__request_at(sequences->requests, request), e, request);
	}
	return rc;
}

static int compare_born(const void *left, const void *right)
{
	const struct seam_loose *a = left;
	const struct seam_loose *b = right;

	return seam__bits_compare(a->born, b->born);
}

/* The aligned request is freed where the free is. */
static void end_aligned_request(
	struct seam_aligned_requests *aligned, const struct seam_loose *leaving, const struct seam_loose *arriving)
{
	struct seam_aligned_request *aligned_request = seam__aligned_at(aligned, leaving->number);

	aligned_request->lag = 1;
	aligned_request->gap = gap_of(aligned, 0, arriving->number);
	aligned_request->order = arriving->number;
	aligned_request->freer = seam__request_of(aligned->sequences->requests, arriving->number);
}

/* Where an iteration of the same doings with other sizes came before, what it leaves corresponds to what this one
 * leaves, one by one in order of allocation. False: it was another iteration. */
static bool join_in_order(struct seam_aligned_requests *aligned, struct seam_grow *leaving, struct seam_grow *arriving)
{
	struct seam_loose *out = leaving->items;
	struct seam_loose *in = arriving->items;

	if (leaving->count == 0 || leaving->count != arriving->count)
		return false;
	qsort(out, leaving->count, sizeof(*out), compare_born);
	qsort(in, arriving->count, sizeof(*in), compare_born);
	for (size_t i = 0; i < leaving->count; i++)
		if (out[i].stream != in[i].stream)
			return false;
	for (size_t i = 0; i < leaving->count; i++)
		end_aligned_request(aligned, &out[i], &in[i]);
	return true;
}

/* Equal ones in order. Afterwards the lists hold what is left, of any size. */
static void join(struct seam_aligned_requests *aligned, struct seam_grow *leaving, struct seam_grow *arriving)
{
	struct seam_loose *out = leaving->items;
	struct seam_loose *in = arriving->items;
	size_t outs = 0;
	size_t ins = 0;
	size_t i = 0;

	seam__loose_sort(leaving);
	seam__loose_sort(arriving);
	for (size_t o = 0; o < leaving->count; o++) {
		for (; i < arriving->count && seam__loose_compare(&in[i], &out[o]) < 0; i++)
			in[ins++] = in[i];
		seam__aligned_at(aligned, out[o].number)->lag = 1;
		if (i < arriving->count && seam__loose_compare(&in[i], &out[o]) == 0)
			end_aligned_request(aligned, &out[o], &in[i++]);
		else
			out[outs++] = out[o];
	}
	for (; i < arriving->count; i++)
		in[ins++] = in[i];
	leaving->count = outs;
	arriving->count = ins;
	for (size_t o = 0; o < outs; o++)
		out[o].size_bytes = 0;
	for (i = 0; i < ins; i++)
		in[i].size_bytes = 0;
}

enum seam_rc seam__aligned_end(struct seam_aligned_requests *aligned)
{
	struct seam_grow leaving;
	struct seam_grow arriving;

	seam__grow_init(&leaving, sizeof(struct seam_loose));
	seam__grow_init(&arriving, sizeof(struct seam_loose));
	enum seam_rc rc = end_by_votes(aligned, &leaving);
	if (rc == SEAM_OK && leaving.count > 0)
		rc = list_arriving(aligned, &arriving);
	if (rc == SEAM_OK && join_in_order(aligned, &leaving, &arriving))
		leaving.count = 0;
	if (rc == SEAM_OK && leaving.count > 0)
		join(aligned, &leaving, &arriving);
	/* What stays and what comes in its place may be of other sizes (the output for another length). */
	if (rc == SEAM_OK && leaving.count > 0 && leaving.count == arriving.count)
		join(aligned, &leaving, &arriving);
	seam__grow_fini(&arriving);
	seam__grow_fini(&leaving);
	return rc;
}

/* boundary.c: see boundary.h. */
#include "boundary.h"

#include "tokens.h"
#include "region.h"

#define TELLING 8u     /* sizes in the midst of an iteration, by which its shape is known */
#define TWINS_BACK 16u /* places among which one of the same shape is looked for */
#define NO_TWIN UINT32_MAX

/* Iterations begin a few requests before or behind these places. */
struct boundary {
	const struct seam_sequences *sequences;
	const uint64_t *live_bytes;
	uint32_t *requests; /* the first behind each place */
	uint32_t *twins;    /* an earlier place at which an iteration of the same shape begins, or NO_TWIN */
	size_t count;
	int64_t half; /* the shortest distance, in requests */
};

static uint64_t size_at(const struct boundary *boundary, int64_t number)
{
	return seam__request_at(boundary->sequences->requests, (uint32_t)number)->size_bytes;
}

static int64_t request_count(const struct boundary *boundary)
{
	return (int64_t)boundary->sequences->requests->items.count;
}

/* The event of a request; behind the last one, the recording's end. */
static uint32_t event_of(const struct boundary *boundary, int64_t number)
{
	return number < request_count(boundary)
		? seam__request_at(boundary->sequences->requests, (uint32_t)number)->alloc
		: (uint32_t)boundary->sequences->trace->header.event_count;
}

/* The shape of the iteration that begins about there; 0: it is not known. */
static uint64_t shape_of(const struct boundary *boundary, uint32_t request)
{
	int64_t first = request + boundary->half;
	uint64_t hash = 1;

	if (first + TELLING > request_count(boundary))
		return 0;
	for (int64_t n = first; n < first + TELLING; n++)
		hash = seam__tokens_mix(hash, size_at(boundary, n));
	return hash;
}

static void find_twins(struct boundary *boundary)
{
	for (uint32_t i = 0; i < boundary->count; i++) {
		uint64_t shape = shape_of(boundary, boundary->requests[i]);

		boundary->twins[i] = NO_TWIN;
		for (uint32_t back = 1; shape != 0 && back <= TWINS_BACK && back <= i && boundary->twins[i] == NO_TWIN;
			back++)
			if (shape_of(boundary, boundary->requests[i - back]) == shape)
				boundary->twins[i] = i - back;
	}
}

/* How many of the requests so many behind the places differ from those of a twin's, if they belong to the iterations
 * that begin there (0), or to those before (1). */
static uint64_t strange_at(const struct boundary *boundary, int64_t behind, uint32_t before)
{
	uint64_t strange = 0;

	for (size_t i = 1; i < boundary->count; i++) {
		uint32_t twin = boundary->twins[i - before];

		strange += twin != NO_TWIN &&
			size_at(boundary, boundary->requests[i] + behind) !=
				size_at(boundary, boundary->requests[twin + before] + behind);
	}
	return strange;
}

/* What is live before the requests so many behind the places, in all. */
static uint64_t live_before(const struct boundary *boundary, int64_t behind)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < boundary->count; i++) {
		uint32_t event = event_of(boundary, boundary->requests[i] + behind);

		sum += event != 0 ? boundary->live_bytes[event - 1] : 0;
	}
	return sum;
}

/* By how many requests the boundaries are behind the places. */
static int64_t find_best(const struct boundary *boundary)
{
	int64_t first = boundary->requests[0] < boundary->half ? -(int64_t)boundary->requests[0] : -boundary->half;
	int64_t last = request_count(boundary) - boundary->requests[boundary->count - 1];
	uint64_t strange = 0, least_strange = UINT64_MAX, least_bytes = UINT64_MAX;
	int64_t best = 0;

	last = last < boundary->half ? last : boundary->half;
	for (int64_t behind = first; behind < last; behind++)
		strange += strange_at(boundary, behind, 0);
	for (int64_t behind = first; behind <= last;
		behind++) { /* what comes before it belongs to the iterations before */
		uint64_t bytes = strange <= least_strange ? live_before(boundary, behind) : UINT64_MAX;

		if (strange < least_strange || (strange == least_strange && bytes < least_bytes)) {
			least_strange = strange;
			least_bytes = bytes;
			best = behind;
		}
		if (behind < last)
			strange += strange_at(boundary, behind, 1) - strange_at(boundary, behind, 0);
	}
	return best;
}

enum seam_rc seam__boundary_settle(
	const struct seam_sequences *sequences, const uint64_t *live_bytes, uint32_t *places, size_t count)
{
	const void *mark = seam__region_mark(sequences->region);
	struct boundary boundary = {
		.sequences = sequences, .live_bytes = live_bytes, .count = count, .half = INT64_MAX};
	enum seam_rc rc = SEAM_OOM_META;
	int64_t best;

	if (count < 2)
		return SEAM_OK;
	boundary.requests = seam__region_array(sequences->region, count, sizeof(*boundary.requests));
	boundary.twins = seam__region_array(sequences->region, count, sizeof(*boundary.twins));
	if (boundary.requests != NULL && boundary.twins != NULL) {
		for (size_t i = 0; i < count; i++) {
			boundary.requests[i] = seam__sequences_request(sequences, places[i]);
			if (i > 0 && (boundary.requests[i] - boundary.requests[i - 1]) / 2 < boundary.half)
				boundary.half = (boundary.requests[i] - boundary.requests[i - 1]) / 2;
		}
		find_twins(&boundary);
		best = find_best(&boundary);
		for (size_t i = 0; i < count; i++)
			places[i] = event_of(&boundary, boundary.requests[i] + best);
		rc = SEAM_OK;
	}
	seam__region_release(sequences->region, mark);
	return rc;
}

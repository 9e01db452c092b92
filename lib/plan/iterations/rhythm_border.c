/* rhythm_border.c: see rhythm_border.h. */
#include "rhythm_border.h"

#include "beats.h"
#include "meta.h"

#define TELLING 8u     /* sizes in the midst of an iteration, by which its shape is known */
#define TWINS_BACK 16u /* places among which one of the same shape is looked for */
#define NO_TWIN UINT32_MAX

/* Iterations begin a few requests before or behind these places. */
struct border {
	const struct seam__rows *rows;
	const uint64_t *live_bytes;
	uint32_t *requests; /* the first behind each place */
	uint32_t *twins;    /* an earlier place at which an iteration of the same shape begins, or NO_TWIN */
	size_t count;
	int64_t half; /* the shortest distance, in requests */
};

static uint64_t size_at(const struct border *border, int64_t number)
{
	return seam__request_at(border->rows->requests, (uint32_t)number)->size_bytes;
}

static int64_t request_count(const struct border *border)
{
	return (int64_t)border->rows->requests->items.count;
}

/* The event of a request; behind the last one, the recording's end. */
static uint32_t event_of(const struct border *border, int64_t number)
{
	return number < request_count(border) ? seam__request_at(border->rows->requests, (uint32_t)number)->alloc
					      : (uint32_t)border->rows->trace->header.event_count;
}

/* The shape of the iteration that begins about there; 0: it is not known. */
static uint64_t shape_of(const struct border *border, uint32_t request)
{
	int64_t first = request + border->half;
	uint64_t hash = 1;

	if (first + TELLING > request_count(border))
		return 0;
	for (int64_t n = first; n < first + TELLING; n++)
		hash = seam__beats_mix(hash, size_at(border, n));
	return hash;
}

static void find_twins(struct border *border)
{
	for (uint32_t i = 0; i < border->count; i++) {
		uint64_t shape = shape_of(border, border->requests[i]);

		border->twins[i] = NO_TWIN;
		for (uint32_t back = 1; shape != 0 && back <= TWINS_BACK && back <= i && border->twins[i] == NO_TWIN;
			back++)
			if (shape_of(border, border->requests[i - back]) == shape)
				border->twins[i] = i - back;
	}
}

/* How many of the requests so many behind the places differ from those of a twin's, if they belong to the iterations
 * that begin there (0), or to those before (1). */
static uint64_t strange_at(const struct border *border, int64_t behind, uint32_t before)
{
	uint64_t strange = 0;

	for (size_t i = 1; i < border->count; i++) {
		uint32_t twin = border->twins[i - before];

		strange += twin != NO_TWIN &&
			size_at(border, border->requests[i] + behind) !=
				size_at(border, border->requests[twin + before] + behind);
	}
	return strange;
}

/* What is live before the requests so many behind the places, in all. */
static uint64_t live_before(const struct border *border, int64_t behind)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < border->count; i++) {
		uint32_t event = event_of(border, border->requests[i] + behind);

		sum += event != 0 ? border->live_bytes[event - 1] : 0;
	}
	return sum;
}

/* By how many requests the borders are behind the places. */
static int64_t find_best(const struct border *border)
{
	int64_t first = border->requests[0] < border->half ? -(int64_t)border->requests[0] : -border->half;
	int64_t last = request_count(border) - border->requests[border->count - 1];
	uint64_t strange = 0, least_strange = UINT64_MAX, least_bytes = UINT64_MAX;
	int64_t best = 0;

	last = last < border->half ? last : border->half;
	for (int64_t behind = first; behind < last; behind++)
		strange += strange_at(border, behind, 0);
	for (int64_t behind = first; behind <= last;
		behind++) { /* what comes before it belongs to the iterations before */
		uint64_t bytes = strange <= least_strange ? live_before(border, behind) : UINT64_MAX;

		if (strange < least_strange || (strange == least_strange && bytes < least_bytes)) {
			least_strange = strange;
			least_bytes = bytes;
			best = behind;
		}
		if (behind < last)
			strange += strange_at(border, behind, 1) - strange_at(border, behind, 0);
	}
	return best;
}

enum seam_rc seam__border_settle(
	const struct seam__rows *rows, const uint64_t *live_bytes, uint32_t *places, size_t count)
{
	struct seam_meta *meta = seam__meta_process();
	struct border border = {.rows = rows, .live_bytes = live_bytes, .count = count, .half = INT64_MAX};
	enum seam_rc rc = SEAM_OOM_META;
	int64_t best;

	if (count < 2)
		return SEAM_OK;
	border.requests = seam__meta_array(meta, count, sizeof(*border.requests));
	border.twins = seam__meta_array(meta, count, sizeof(*border.twins));
	if (border.requests != NULL && border.twins != NULL) {
		for (size_t i = 0; i < count; i++) {
			border.requests[i] = seam__rows_request(rows, places[i]);
			if (i > 0 && (border.requests[i] - border.requests[i - 1]) / 2 < border.half)
				border.half = (border.requests[i] - border.requests[i - 1]) / 2;
		}
		find_twins(&border);
		best = find_best(&border);
		for (size_t i = 0; i < count; i++)
			places[i] = event_of(&border, border.requests[i] + best);
		rc = SEAM_OK;
	}
	seam__meta_free(meta, border.twins, count * sizeof(*border.twins));
	seam__meta_free(meta, border.requests, count * sizeof(*border.requests));
	return rc;
}

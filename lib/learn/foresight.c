/* foresight.c: see foresight.h. */
#include "foresight.h"

#include <stdbool.h>

#include "bits.h"
#include "meta.h"

#define LEAST_LENGTH 1024u /* events of a repetition; what is shorter comes again soon enough */

/* What the recording ends with came before, so many events ago, and for so many. */
struct echo {
	uint64_t length;
	uint64_t heard;
};

static bool is_same(const struct seam_trace *recording, uint64_t back, uint64_t further)
{
	const uint64_t last = recording->header.event_count - 1;
	const struct seam_trace_event *a = &recording->events[last - back], *b = &recording->events[last - further];
	return a->kind == b->kind && a->size == b->size && a->stream == b->stream && a->thread == b->thread;
}

/* For every distance how long the end of the recording is the same there: the Z function of what is read from its end.
 * `same`: one for each event. The longest that is half a repetition or more wins. */
static struct echo find_echo(const struct seam_trace *recording, uint32_t *same)
{
	const uint64_t count = recording->header.event_count;
	struct echo best = {0, 0};
	uint64_t left = 0, right = 0; /* [left, right) is the same as [0, right - left) */
	for (uint64_t i = 1; i < count; i++) {
		uint64_t length = i < right ? seam__bits_min(right - i, same[i - left]) : 0;
		while (i + length < count && is_same(recording, length, i + length))
			length++;
		same[i] = (uint32_t)length;
		if (i + length > right) {
			left = i;
			right = i + length;
		}
		if (i >= LEAST_LENGTH && length >= i / 2 && length > best.heard)
			best = (struct echo){i, length};
	}
	return best;
}

/* The earliest event in [begin, begin + length) before which the least is live, of those from which two repetitions are
 * not over yet. */
static uint64_t find_calm(const struct seam_trace *recording, uint64_t begin, uint64_t length)
{
	const uint64_t count = recording->header.event_count;
	uint64_t live_bytes = 0, least_bytes = UINT64_MAX, calm = 0;
	for (uint64_t i = 0; i < begin + length; i++) {
		const struct seam_trace_event *event = &recording->events[i];
		const bool is_over = calm + 2 * length <= count;
		if (i >= begin && (live_bytes < least_bytes || (live_bytes == least_bytes && is_over))) {
			least_bytes = live_bytes;
			calm = i;
		}
		if (event->kind == SEAM_TRACE_ALLOC)
			live_bytes += event->size;
		else if (event->kind == SEAM_TRACE_FREE)
			live_bytes -= event->size;
	}
	return calm;
}

uint64_t seam__foresight_more(const struct seam_trace *recording)
{
	const uint64_t count = recording->header.event_count;
	if (count < 2 * LEAST_LENGTH || count > UINT32_MAX)
		return UINT64_MAX;
	uint32_t *same = seam__meta_array(seam__meta_process(), count, sizeof *same);
	if (same == NULL)
		return UINT64_MAX;
	const struct echo echo = find_echo(recording, same);
	seam__meta_free(seam__meta_process(), same, count * sizeof *same);
	if (echo.length == 0)
		return UINT64_MAX;
	const uint64_t end = find_calm(recording, count - echo.heard - echo.length, echo.length) + 2 * echo.length;
	return end > count ? end - count : UINT64_MAX;
}

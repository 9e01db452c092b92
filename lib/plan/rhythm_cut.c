/* rhythm_cut.c: see rhythm_cut.h. */
#include "rhythm_cut.h"

#include "period.h"

/* The end of what stands before the first mark, as long as the iteration behind it. */
static enum seam_rc add_beginning(const struct seam__rows *rows, uint32_t mark, uint32_t next, struct seam_grow *stretches)
{
	struct seam__stretch stretch = seam__rows_stretch(rows, mark, next);
	uint32_t count = seam__stretch_count(&stretch);

	if (count == 0 || count > stretch.first_request)
		return SEAM_OK;
	stretch.last_request = stretch.first_request;
	stretch.first_request -= count;
	stretch.last_event = mark;
	stretch.first_event = seam__request_at(rows->requests, stretch.first_request)->alloc;
	stretch.marked = true;
	return seam__grow_append(stretches, &stretch, 1);
}

enum seam_rc seam__cut_marks(const struct seam__rows *rows, struct seam_grow *ret_stretches)
{
	uint64_t mark = 0; /* the newest one's event + 1; 0: none yet */
	uint32_t marks = 0;
	enum seam_rc rc = SEAM_OK;

	for (uint32_t e = 0; rc == SEAM_OK && e < rows->trace->header.event_count; e++) {
		struct seam__stretch stretch;

		if (rows->trace->events[e].kind != SEAM_TRACE_STEP)
			continue;
		marks++;
		if (marks == 2)
			rc = add_beginning(rows, (uint32_t)mark, e + 1, ret_stretches);
		stretch = seam__rows_stretch(rows, (uint32_t)mark, e + 1);
		stretch.marked = true;
		if (rc == SEAM_OK && marks > 1)
			rc = seam__grow_append(ret_stretches, &stretch, 1);
		mark = e + 1;
	}
	return rc;
}

enum seam_rc seam__cut_period(const struct seam__rows *rows, struct seam_grow *ret_stretches)
{
	struct seam__beats beats;
	struct seam__period period;
	uint64_t length;
	enum seam_rc rc = seam__beats_init(rows->trace, rows->requests, &beats);

	if (rc != SEAM_OK)
		return rc;
	rc = seam__period_find(rows->trace, &beats, NULL, &period);
	seam__beats_fini(&beats);
	if (rc != SEAM_OK)
		return rc == SEAM_NOT_FOUND ? SEAM_OK : rc;
	length = period.last_event - period.first_event;
	for (uint64_t e = period.first_event % length; rc == SEAM_OK && e + length <= rows->trace->header.event_count; e += length) {
		const struct seam__stretch stretch = seam__rows_stretch(rows, (uint32_t)e, (uint32_t)(e + length));

		rc = seam__grow_append(ret_stretches, &stretch, 1);
	}
	return rc;
}

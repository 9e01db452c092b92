/* place.c: see place.h. */
#include "place.h"

#include <inttypes.h>

#include "text.h"

/* Names stand in the marks alone; an event has its phase's number. */
static const char *phase_name(const struct seam_trace *trace, uint16_t phase)
{
	for (uint64_t i = 0; phase != 0 && i < trace->header.event_count; i++)
		if (trace->events[i].kind == SEAM_TRACE_PHASE_BEGIN && trace->events[i].phase == phase)
			return seam_trace_string(trace, trace->events[i].aux);
	return "";
}

static bool marks_steps(const struct seam_trace *trace)
{
	for (uint64_t i = 0; i < trace->header.event_count; i++)
		if (trace->events[i].kind == SEAM_TRACE_STEP)
			return true;
	return false;
}

bool place_find(const struct seam_trace *trace, uint64_t number, struct place *ret_place)
{
	uint64_t allocations = 0;
	uint64_t steps = 0;
	for (uint64_t i = 0; i < trace->header.event_count; i++) {
		const struct seam_trace_event *event = &trace->events[i];
		steps += event->kind == SEAM_TRACE_STEP;
		if (event->kind != SEAM_TRACE_ALLOC || ++allocations < number)
			continue;
		*ret_place = (struct place){
			.resident = (event->flags & SEAM_TRACE_RESIDENT) != 0,
			.step = marks_steps(trace) ? steps + 1 : 0,
			.phase = phase_name(trace, event->phase),
			.module = seam_trace_string(trace, event->module),
		};
		return true;
	}
	return false;
}

const char *place_text(const struct place *place, char *buffer, size_t buffer_bytes)
{
	struct seam_text text;
	seam__text_init_fixed(&text, buffer, buffer_bytes);
	const char *comma = "";
	if (place->resident) {
		seam__text_puts(&text, "live before the recording began");
		return buffer;
	}
	if (place->step != 0) {
		seam__text_printf(&text, "step %" PRIu64, place->step);
		comma = ", ";
	}
	if (place->phase[0] != '\0') {
		seam__text_printf(&text, "%sphase %.200s", comma, place->phase);
		comma = ", ";
	}
	if (place->module[0] != '\0')
		seam__text_printf(&text, "%sin %.200s", comma, place->module);
	return buffer;
}

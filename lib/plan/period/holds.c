/* holds.c: see holds.h. */
#include "holds.h"

#include "edges.h"
#include "meta.h"
#include "safety_trace.h"

/* What the question is made of; freed together. */
struct asked {
	struct seam_safety_request *requests; /* per slot */
	uint64_t *streams;                    /* per stream number of the slots */
};

static bool proves_nothing(const struct seam_trace *trace, const struct seam_period_slots *slots)
{
	const struct seam_period *period = &slots->period;

	return slots->streams.count < 2 || !period->same_edges ||
		!seam__edges_any(trace, period->first_event, period->last_event);
}

static void fill(
	const struct seam_traced_requests *requests, const struct seam_period_slots *slots, struct asked *asked)
{
	const uint32_t *streams = slots->streams.items;

	for (uint32_t s = 0; s < slots->streams.count; s++)
		asked->streams[s] = seam__stream_at(requests, streams[s])->stream;
	for (uint32_t i = 0; i < seam__slots_count(slots); i++) {
		const struct seam_period_slot *slot = seam__slot_at(slots, i);

		asked->requests[i] = (struct seam_safety_request){
			.free_event = slot->free_event == SEAM__EVENT_NONE ? SEAM__SAFETY_NO_FREE : slot->free_event,
			.lag = slot->lag,
			.begin = slot->begin,
			.stream = slot->stream,
			.first_user = slot->first_user,
			.user_count = slot->user_count,
		};
	}
}

static enum seam_rc ask(struct seam_meta *meta, const struct seam_trace *trace, const struct seam_period_slots *slots,
	const struct asked *asked, uint32_t *holds)
{
	const struct seam_safety_period question = {
		.meta = meta,
		.trace = trace,
		.first_event = slots->period.first_event,
		.last_event = slots->period.last_event,
		.positions = slots->positions.items,
		.position_count = slots->position_count,
		.copies = slots->copies,
		.linear = slots->period.linear,
		.streams = asked->streams,
		.stream_count = (uint32_t)slots->streams.count,
		.users = slots->users.items,
	};

	return seam__safety_holds(&question, asked->requests, seam__slots_count(slots), holds);
}

enum seam_rc seam__holds_init(struct seam_meta *meta, const struct seam_trace *trace,
	const struct seam_traced_requests *requests, const struct seam_period_slots *slots, uint32_t **ret_holds)
{
	size_t count = seam__slots_count(slots);
	size_t streams = slots->streams.count;
	struct asked asked;
	uint32_t *holds;
	enum seam_rc rc = SEAM_OOM_META;

	if (proves_nothing(trace, slots)) {
		*ret_holds = NULL;
		return SEAM_OK;
	}
	holds = seam__meta_array(meta, count * streams, sizeof(*holds));
	asked.requests = seam__meta_array(meta, count, sizeof(*asked.requests));
	asked.streams = seam__meta_array(meta, streams, sizeof(*asked.streams));
	if (holds != NULL && asked.requests != NULL && asked.streams != NULL) {
		fill(requests, slots, &asked);
		rc = ask(meta, trace, slots, &asked, holds);
	}
	seam__meta_free(meta, asked.streams, streams * sizeof(*asked.streams));
	seam__meta_free(meta, asked.requests, count * sizeof(*asked.requests));
	if (rc == SEAM_OK)
		*ret_holds = holds;
	else
		seam__holds_fini(meta, slots, holds);
	return rc;
}

void seam__holds_fini(struct seam_meta *meta, const struct seam_period_slots *slots, uint32_t *holds)
{
	seam__meta_free(meta, holds, seam__slots_count(slots) * slots->streams.count * sizeof(*holds));
}

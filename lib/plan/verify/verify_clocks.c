/* verify_clocks.c: vector clocks of streams: what is ordered behind what while the validator replays a trace. */
#include <string.h>

#include "bits.h"
#include "verify.h"

/* How many clocks one wait of the plan needs: one for each repetition that may lie between its record and its wait. */
static uint64_t ring_of(const struct seam_plan_wait *wait)
{
	return (uint64_t)wait->lag + 1;
}

/* `vectors` clocks, zeroed. */
static uint64_t *create_vectors(const struct seam_acts *acts, uint64_t vectors)
{
	uint64_t values;
	return seam__bits_try_mul(vectors, acts->stream_count, &values)
		? seam__region_array(acts->region, (size_t)values, sizeof(uint64_t))
		: NULL;
}

enum seam_rc seam__clocks_init(struct seam_clocks *clocks, const struct seam_acts *acts)
{
	const struct seam_plan *plan = acts->plan;
	*clocks = (struct seam_clocks){.streams = acts->stream_count, .records = acts->record_count};
	clocks->first_ring = seam__region_array(acts->region, plan->header.wait_count, sizeof(uint64_t));
	if (clocks->first_ring == NULL)
		return SEAM_OOM_META;
	for (uint32_t i = 0; i < plan->header.wait_count; i++) {
		clocks->first_ring[i] = clocks->rings;
		clocks->rings += ring_of(&plan->waits[i]);
	}
	clocks->of_stream = create_vectors(acts, clocks->streams);
	clocks->of_host = create_vectors(acts, 1);
	clocks->of_record = create_vectors(acts, (uint64_t)clocks->records * 2);
	clocks->of_wait = create_vectors(acts, clocks->rings);
	if (clocks->of_stream == NULL || clocks->of_host == NULL || clocks->of_record == NULL ||
		clocks->of_wait == NULL)
		return SEAM_OOM_META;
	return SEAM_OK;
}

static void join(uint64_t *clock, const uint64_t *other, uint32_t streams)
{
	for (uint32_t i = 0; i < streams; i++)
		clock[i] = other[i] > clock[i] ? other[i] : clock[i];
}

/* What an event tells that is recorded on `stream` at `tick`: the stream's own work and what it has waited for. What
 * the host has waited for, every stream is behind anyway. */
static void record(const struct seam_clocks *clocks, uint64_t *clock, uint32_t stream, uint64_t tick)
{
	memcpy(clock, &clocks->of_stream[(uint64_t)stream * clocks->streams], clocks->streams * sizeof(uint64_t));
	clock[stream] = tick;
}

static uint64_t *record_clock(const struct seam_clocks *clocks, uint32_t number, uint64_t repetition)
{
	return &clocks->of_record[(number + repetition % 2 * clocks->records) * clocks->streams];
}

void seam__clocks_act(struct seam_clocks *clocks, const struct seam_act *act, uint64_t repetition, uint64_t tick)
{
	uint64_t *own = &clocks->of_stream[(uint64_t)act->stream * clocks->streams];
	switch (act->kind) {
	case SEAM__ACT_RECORD:
		record(clocks, record_clock(clocks, act->what, repetition), act->stream, tick);
		break;
	case SEAM__ACT_WAIT:
		if (repetition >= act->lag)
			join(own, record_clock(clocks, act->what, repetition - act->lag), clocks->streams);
		break;
	case SEAM__ACT_STREAM_SYNC:
		join(clocks->of_host, own, clocks->streams);
		clocks->of_host[act->stream] = tick;
		break;
	case SEAM__ACT_DEVICE_SYNC:
		for (uint32_t i = 0; i < clocks->streams; i++)
			clocks->of_host[i] = tick;
		break;
	default:
		break;
	}
}

static uint64_t *wait_clock(
	const struct seam_clocks *clocks, const struct seam_plan *plan, uint32_t wait, uint64_t repetition)
{
	return &clocks->of_wait[(clocks->first_ring[wait] + repetition % ring_of(&plan->waits[wait])) *
		clocks->streams];
}

void seam__clocks_record_wait(struct seam_clocks *clocks, const struct seam_plan *plan, uint32_t wait, uint32_t stream,
	uint64_t repetition, uint64_t tick)
{
	record(clocks, wait_clock(clocks, plan, wait, repetition), stream, tick);
}

void seam__clocks_extend_wait(struct seam_clocks *clocks, const struct seam_plan *plan, uint32_t wait, uint32_t stream,
	uint64_t repetition, uint64_t tick)
{
	uint64_t *clock = wait_clock(clocks, plan, wait, repetition);
	join(clock, &clocks->of_stream[(uint64_t)stream * clocks->streams], clocks->streams);
	clock[stream] = tick;
}

void seam__clocks_await(
	struct seam_clocks *clocks, const struct seam_plan *plan, uint32_t wait, uint32_t stream, uint64_t repetition)
{
	const uint32_t lag = plan->waits[wait].lag;
	if (repetition >= lag)
		join(&clocks->of_stream[(uint64_t)stream * clocks->streams],
			wait_clock(clocks, plan, wait, repetition - lag), clocks->streams);
}

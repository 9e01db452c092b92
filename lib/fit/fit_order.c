/* fit_order.c: see fit_order.h. */
#include "fit_order.h"

struct seam_fit_clock {
	uint32_t now[SEAM_FIT_LANES];    /* of this iteration */
	uint32_t before[SEAM_FIT_LANES]; /* of the one before */
};

static void join(uint32_t *clock, const uint32_t *other)
{
	for (uint32_t i = 0; i < SEAM_FIT_LANES; i++)
		clock[i] = clock[i] > other[i] ? clock[i] : other[i];
}

static void join_op(uint32_t *clock, const struct seam_fit_order *order, uint32_t op)
{
	uint32_t lane = order->schedule->ops[op].lane;
	join(clock, order->clocks[op].now);
	clock[lane] = clock[lane] > order->ordinals[op] ? clock[lane] : order->ordinals[op];
}

/* Two passes: what is of the iteration before has its clock by the second one. */
static void set_clocks(struct seam_fit_order *order)
{
	const struct seam_fit_schedule *schedule = order->schedule;
	for (uint32_t pass = 0; pass < 2; pass++) {
		uint32_t counts[SEAM_FIT_LANES] = {0}, newest[SEAM_FIT_LANES];
		for (uint32_t i = 0; i < schedule->op_count; i++) {
			const struct seam_fit_op *op = &schedule->ops[i];
			struct seam_fit_clock *clock = &order->clocks[i];
			if (counts[op->lane] > 0) {
				join(clock->before, order->clocks[newest[op->lane]].before);
				join_op(clock->now, order, newest[op->lane]);
			}
			for (uint32_t j = 0; j < 2; j++) {
				uint32_t after = op->after[j];
				if (after == SEAM_FIT_NONE)
					continue;
				if (after < i) {
					join(clock->before, order->clocks[after].before);
					join_op(clock->now, order, after);
				} else if (pass == 1)
					join_op(clock->before, order, after);
			}
			order->ordinals[i] = ++counts[op->lane];
			newest[op->lane] = i;
		}
	}
}

enum seam_rc seam__fit_order_init(
	struct seam_fit_order *order, const struct seam_fit_schedule *schedule, struct seam_region *region)
{
	*order = (struct seam_fit_order){
		.schedule = schedule,
		.clocks = seam__region_array(region, schedule->op_count, sizeof(*order->clocks)),
		.ordinals = seam__region_array(region, schedule->op_count, sizeof(*order->ordinals)),
	};
	if (order->clocks == NULL || order->ordinals == NULL)
		return SEAM_OOM_META;
	set_clocks(order);
	return SEAM_OK;
}

bool seam__fit_ends_before(const struct seam_fit_order *order, uint32_t a, uint32_t b)
{
	return a != SEAM_FIT_NONE && order->clocks[b].now[order->schedule->ops[a].lane] >= order->ordinals[a];
}

bool seam__fit_ended_before(const struct seam_fit_order *order, uint32_t a, uint32_t b)
{
	return a != SEAM_FIT_NONE && order->clocks[b].before[order->schedule->ops[a].lane] >= order->ordinals[a];
}

/* exact_walk.c: see exact_walk.h. */
#include "exact_walk.h"

#include "check.h"
#include "region.h"

#define NODES_LEAST 2000u
#define NODES_PER_ITEM 4u   /* an attempt must be able to reach the end */
#define ORDERS 2u           /* by span, by size */
#define PLAIN_ROUNDS ORDERS /* before chance takes part */
#define NOISE 0.2           /* share of a priority that chance decides */
#define CAUTION_MAX 6u

/* splitmix64 */
static uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* 1 1 2 1 1 2 4 1 ...: limits that suit any run-time distribution (Luby, Sinclair and Zuckerman 1993). number from 1.
 */
static uint64_t luby(uint64_t number)
{
	uint64_t length = 1;

	while (length < number)
		length = 2 * length + 1;
	while (length != number) {
		length /= 2;
		if (number > length)
			number -= length;
		while (length / 2 >= number)
			length /= 2;
	}
	return (length + 1) / 2;
}

enum seam_rc seam__exact_walk_init(struct seam_exact_walk *walk, const struct seam_exact_window *window)
{
	struct seam_region *region = window->problem->region;

	*walk = (struct seam_exact_walk){
		.window = window, .peak_bytes = SEAM__PEAK_NONE, .low_bytes = window->lower_bytes, .caution = 1};
	enum seam_rc rc = seam__exact_search_init(&walk->search, window);
	walk->priorities = seam__region_array(region, window->count, sizeof(*walk->priorities));
	walk->offsets = seam__region_array(region, window->count, sizeof(*walk->offsets));
	return rc != SEAM_OK || walk->priorities == NULL || walk->offsets == NULL ? SEAM_OOM_META : SEAM_OK;
}

static void set_priorities(struct seam_exact_walk *walk)
{
	const struct seam_exact_window *window = walk->window;
	bool by_span = walk->round % ORDERS == 0;

	for (uint32_t i = 0; i < window->count; i++) {
		double value = by_span ? (double)window->items[i].span : (double)window->items[i].size_bytes;
		double chance = (double)(next_random(&walk->random) >> 11) * 0x1p-53;

		walk->priorities[i] = walk->round < PLAIN_ROUNDS ? value : value * (1 - NOISE * chance);
	}
}

static void keep(struct seam_exact_walk *walk)
{
	const struct seam_exact_window *window = walk->window;
	uint64_t peak = 0;

	for (uint32_t i = 0; i < window->count; i++) {
		uint64_t top = walk->search.skyline.offsets[i] + window->items[i].size_bytes;

		walk->offsets[i] = walk->search.skyline.offsets[i];
		peak = top > peak ? top : peak;
	}
	walk->peak_bytes = peak;
}

static enum seam_exact_result ask(struct seam_exact_walk *walk, uint64_t capacity_bytes, struct seam_budget *budget)
{
	uint64_t reach = (uint64_t)NODES_PER_ITEM * walk->window->count;
	struct seam_exact_attempt attempt = {
		.capacity_bytes = capacity_bytes,
		.node_limit = (reach > NODES_LEAST ? reach : NODES_LEAST) *
			luby(walk->round / (ORDERS * SEAM__EXACT_STYLES) + 1),
		.priorities = walk->priorities,
		.style = (enum seam_exact_style)(walk->round / ORDERS % SEAM__EXACT_STYLES),
	};
	enum seam_exact_result result = seam__exact_search_try(&walk->search, &attempt, budget);

	if (result == SEAM__EXACT_FOUND)
		keep(walk);
	else if (result == SEAM__EXACT_NONE && walk->low_bytes <= capacity_bytes)
		walk->low_bytes = capacity_bytes + walk->window->unit_bytes;
	return result;
}

bool seam__exact_walk_begin(struct seam_exact_walk *walk, struct seam_budget *budget)
{
	struct seam_exact_attempt attempt = {.capacity_bytes = walk->window->lower_bytes,
		.node_limit = UINT64_MAX,
		.priorities = walk->priorities,
		.style = SEAM__EXACT_LOWEST,
		.loose = true};

	for (uint32_t i = 0; i < walk->window->count; i++)
		attempt.capacity_bytes += walk->window->items[i].size_bytes;
	set_priorities(walk);
	if (seam__exact_search_try(&walk->search, &attempt, budget) != SEAM__EXACT_FOUND)
		return false;
	keep(walk);
	return true;
}

bool seam__exact_walk_is_over(const struct seam_exact_walk *walk, uint64_t target_bytes)
{
	return walk->peak_bytes <= target_bytes || walk->peak_bytes <= walk->low_bytes;
}

bool seam__exact_walk_round(struct seam_exact_walk *walk, uint64_t target_bytes, struct seam_budget *budget)
{
	uint64_t before = walk->peak_bytes;
	uint64_t unit = walk->window->unit_bytes;
	uint64_t lowest = target_bytes > walk->low_bytes ? target_bytes : walk->low_bytes;

	SEAM_ASSERT(!seam__exact_walk_is_over(walk, target_bytes));
	set_priorities(walk);
	(void)ask(walk, lowest, budget);
	while (!budget->spent && !seam__exact_walk_is_over(walk, target_bytes)) {
		lowest = target_bytes > walk->low_bytes ? target_bytes : walk->low_bytes;
		uint64_t span = walk->peak_bytes - unit > lowest ? walk->peak_bytes - unit - lowest : 0;
		uint64_t capacity = lowest + span - (span >> walk->caution) / unit * unit;
		if (span == 0)
			break;
		enum seam_exact_result result = ask(walk, capacity, budget);
		if (result == SEAM__EXACT_SPENT)
			walk->caution += walk->caution < CAUTION_MAX;
		else
			walk->caution -= walk->caution > 1;
		if (result != SEAM__EXACT_FOUND)
			break;
	}
	walk->round++;
	return walk->peak_bytes < before;
}

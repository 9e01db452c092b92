/* heirs.c: see heirs.h. The circle is walked backwards, twice, with a map per stream of who has each physical byte
 * next. */
#include "heirs.h"

#include "bytemap.h"
#include "meta.h"
#include "plan_format.h"

struct walk {
	const struct seam_plan *plan;
	struct seam__problem *problem;
	struct seam__bytemap *next; /* per stream: item */
};

static bool is_shared(const struct walk *walk, uint32_t item)
{
	return (walk->plan->slots[walk->problem->items[item].request].flags & SEAM_PLAN_SHARED) != 0;
}

/* For ever; on a line until its end, behind which nothing is. */
static uint32_t always(const struct seam__problem *problem, uint32_t item)
{
	return problem->linear ? problem->circle - problem->items[item].begin : SEAM__HOLD_ALWAYS;
}

/* Nobody is known yet to have it next. */
static void hold_for_ever(const struct walk *walk)
{
	struct seam__problem *problem = walk->problem;

	for (uint32_t i = 0; i < problem->count; i++) {
		struct seam__item *item = &problem->items[i];

		if (is_shared(walk, i))
			item->span = problem->linear ? problem->circle - item->begin : problem->circle;
		for (uint32_t s = 0; problem->holds != NULL && s < problem->streams; s++)
			problem->holds[(size_t)i * problem->streams + s] =
				s == item->stream ? item->span : always(problem, i);
	}
}

/* The item's memory is the stream's from so many positions on, if not before. */
static void inherit(const struct walk *walk, uint32_t number, uint32_t stream, uint32_t distance)
{
	struct seam__problem *problem = walk->problem;
	struct seam__item *item = &problem->items[number];
	uint32_t *hold =
		problem->holds == NULL ? &item->span : &problem->holds[(size_t)number * problem->streams + stream];

	if (stream == item->stream && !is_shared(walk, number))
		return; /* it ends when it is freed */
	if (distance < *hold)
		*hold = distance;
	if (stream == item->stream)
		item->span = *hold;
}

static void meet(const struct walk *walk, uint32_t item, uint64_t begin, uint64_t end)
{
	const struct seam__problem *problem = walk->problem;

	for (uint32_t s = 0; s < problem->streams; s++) {
		struct seam__piece *piece = seam__bytemap_find(&walk->next[s], begin, end);

		for (; piece != NULL; piece = seam__bytemap_next(piece, end)) {
			const struct seam__item *heir = &problem->items[piece->number];

			if (piece->number != item)
				inherit(walk, item, s,
					seam__problem_distance(problem, problem->items[item].begin, heir->begin));
		}
	}
}

static enum seam_rc visit(const struct walk *walk, uint32_t number)
{
	const struct seam__item *item = &walk->problem->items[number];
	uint64_t address = walk->plan->offsets[(size_t)item->request * walk->plan->header.copies + item->copy];
	uint64_t left = walk->plan->slots[item->request].size_bytes;
	enum seam_rc rc = SEAM_OK;

	while (left > 0 && rc == SEAM_OK) {
		uint64_t physical;
		uint64_t run = seam__plan_physical(walk->plan, address, left, &physical);

		meet(walk, number, physical, physical + run);
		rc = seam__bytemap_set(&walk->next[item->stream], physical, physical + run, number);
		address += run;
		left -= run;
	}
	return rc;
}

static enum seam_rc turn(const struct walk *walk)
{
	enum seam_rc rc = SEAM_OK;

	for (uint32_t i = walk->problem->count; i > 0 && rc == SEAM_OK; i--)
		rc = visit(walk, i - 1);
	return rc;
}

enum seam_rc seam__heirs_hold(const struct seam_plan *plan, struct seam__problem *problem)
{
	struct walk walk = {.plan = plan, .problem = problem};
	bool shared = false;
	enum seam_rc rc;

	for (uint32_t i = 0; i < problem->count && !shared; i++)
		shared = is_shared(&walk, i);
	if (problem->streams == 1 && !shared)
		return SEAM_OK;
	walk.next = seam__meta_array(problem->meta, problem->streams, sizeof(*walk.next));
	if (walk.next == NULL)
		return SEAM_OOM_META;
	for (uint32_t s = 0; s < problem->streams; s++)
		seam__bytemap_init(&walk.next[s], problem->meta);
	hold_for_ever(&walk);
	rc = turn(&walk);
	if (rc == SEAM_OK && !problem->linear)
		rc = turn(&walk);
	for (uint32_t s = 0; s < problem->streams; s++)
		seam__bytemap_fini(&walk.next[s]);
	seam__meta_free(problem->meta, walk.next, problem->streams * sizeof(*walk.next));
	return rc;
}

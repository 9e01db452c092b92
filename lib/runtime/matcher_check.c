/* matcher_check.c: a matcher's invariants; see matcher.h. */
#include "matcher_state.h"

/* The least of what is left of three rows of live blocks in order of address. */
struct rows {
	const struct seam_loaded_plan *loaded; /* NULL: none */
	uint32_t at;                           /* in its instances by address */
	struct seam_overdue_block *overdue_block;
	struct seam_overdue_block *off_plan;
};

static const struct seam_plan_block *next_row(struct rows *rows)
{
	const struct seam_plan_block *best = NULL;
	while (rows->loaded != NULL && rows->at < rows->loaded->placed) {
		best = &rows->loaded->instances[rows->loaded->by_address_entries[rows->at].number];
		if (best->state == SEAM_PLANNED_LIVE)
			break;
		rows->at++;
		best = NULL;
	}
	uint32_t from = 0;
	if (rows->overdue_block != NULL && (best == NULL || rows->overdue_block->begin < best->offset)) {
		best = rows->overdue_block->plan_block;
		from = 1;
	}
	if (rows->off_plan != NULL && (best == NULL || rows->off_plan->begin < best->offset)) {
		best = rows->off_plan->plan_block;
		from = 2;
	}
	if (from == 1)
		rows->overdue_block = seam__overdue_next(rows->overdue_block);
	else if (from == 2)
		rows->off_plan = seam__overdue_next(rows->off_plan);
	else if (best != NULL)
		rows->at++;
	return best;
}

static const char *check_live(const struct seam_matcher *matcher)
{
	struct rows rows = {matcher->now, 0, seam__overdue_first(&matcher->overdue),
		seam__overdue_first(&matcher->off_plan.blocks)};
	uint64_t end = 0, live = 0, bytes = 0;
	for (const struct seam_plan_block *p; (p = next_row(&rows)) != NULL; live++) {
		if (p->offset < end)
			return "H1";
		end = p->offset + p->bytes;
		bytes += p->bytes;
	}
	if (live != matcher->counts.live || bytes != matcher->counts.live_bytes)
		return "H5";
	return matcher->off_plan_count == matcher->overdue.count + matcher->off_plan.blocks.count ? NULL : "H5";
}

static const char *check_overdue(const struct seam_matcher *matcher)
{
	uint64_t owned[SEAM_OWNERS] = {0};
	if (seam__overdue_check(&matcher->overdue) != NULL || seam__off_plan_check(&matcher->off_plan) != NULL)
		return "H2";
	for (const struct seam_overdue_block *s = seam__overdue_first(&matcher->overdue); s != NULL;
		s = seam__overdue_next((void *)(uintptr_t)s)) {
		if (s->begin != s->plan_block->offset || s->end != s->begin + s->plan_block->bytes)
			return "H2";
		if (s->plan_block->state != SEAM_PLANNED_LATE)
			return "H2";
		if (s->plan_block->loaded != SEAM_PLANNED_DYNAMIC)
			owned[s->plan_block->loaded]++;
	}
	for (uint32_t i = 0; i < SEAM_OWNERS; i++)
		if (matcher->owners[i] != NULL ? matcher->owners[i]->overdue != owned[i] : owned[i] != 0)
			return "H2";
	return NULL;
}

/* Every LIVE instance has the position before the frontier in its interval. */
static const char *check_around(const struct seam_loaded_plan *loaded)
{
	const uint64_t circle = (uint64_t)loaded->positions * loaded->copies;
	const uint64_t frontier = (uint64_t)loaded->frontier.copy * loaded->positions + loaded->frontier.position;
	for (uint32_t n = 0; n < loaded->slots * loaded->copies; n++) {
		const struct seam_lifetime *lifetime = &loaded->lifetimes[n / loaded->copies];
		const uint64_t begin = (uint64_t)(n % loaded->copies) * loaded->positions + lifetime->begin;
		const uint64_t since = (frontier + 2 * circle - 1 - begin) % circle;
		if (loaded->instances[n].state == SEAM_PLANNED_LIVE && since >= lifetime->end - lifetime->begin)
			return "H2";
	}
	return NULL;
}

struct off_plan_check {
	const struct seam_loaded_plan *loaded;
	uint64_t left; /* positions from the frontier until the block is an overdue block */
};

static bool is_due(void *user, uint32_t number)
{
	const struct off_plan_check *check = user;
	return seam__loaded_due_in(check->loaded, number) < check->left;
}

/* An expected slot is not tested against off-plan blocks. */
static const char *check_off_plan(const struct seam_matcher *matcher)
{
	struct seam_overdue_block *node = seam__overdue_first(&matcher->off_plan.blocks);
	for (; node != NULL; node = seam__overdue_next(node)) {
		const uint64_t until = ((const struct seam_off_plan_block *)node)->until;
		const uint64_t frontier = matcher->now->frontier.at;
		struct off_plan_check check = {matcher->now, until > frontier ? until - frontier : 0};
		if (seam__loaded_overlapping(matcher->now, node->begin, node->end, NULL, is_due, &check))
			return "H6";
	}
	return NULL;
}

static const char *check_frontier(const struct seam_loaded_plan *loaded)
{
	const struct seam_frontier *frontier = &loaded->frontier;
	if (frontier->position >= loaded->positions || frontier->at != frontier->base + frontier->position ||
		frontier->base % loaded->positions != 0)
		return "H3";
	if (frontier->base / loaded->positions % loaded->copies != frontier->copy)
		return "H3";
	return NULL;
}

static const char *check_ranges(const struct seam_matcher *matcher)
{
	for (uint32_t b = 0; b < matcher->blocked_count; b++)
		if (matcher->blocked[b].begin >= matcher->blocked[b].end ||
			(b != 0 && matcher->blocked[b - 1].end > matcher->blocked[b].begin))
			return "H4";
	return NULL;
}

static const char *check_clear(const struct seam_matcher *matcher, const struct seam_loaded_plan *loaded)
{
	for (uint32_t i = 0; i < loaded->placed; i++) {
		const struct seam_plan_block *p = &loaded->instances[loaded->by_address_entries[i].number];
		for (uint32_t b = 0; p->clear == matcher->blocked_version && b < matcher->blocked_count; b++)
			if (matcher->blocked[b].begin < p->offset + p->bytes && p->offset < matcher->blocked[b].end)
				return "H4";
	}
	return NULL;
}

static bool has_loaded(const struct seam_matcher *matcher, const struct seam_loaded_plan *loaded)
{
	uint32_t i = 0;
	while (i < matcher->loaded_count && matcher->loaded_plans[i] != loaded)
		i++;
	return i < matcher->loaded_count;
}

static const char *check_successor(const struct seam_matcher *matcher)
{
	if (matcher->successor == NULL && matcher->replaced == NULL)
		return NULL;
	return matcher->successor != matcher->replaced && has_loaded(matcher, matcher->successor) &&
			has_loaded(matcher, matcher->replaced)
		? NULL
		: "H7";
}

const char *seam__matcher_check(const struct seam_matcher *matcher)
{
	const char *broken = check_overdue(matcher);
	if (broken == NULL)
		broken = check_live(matcher);
	if (broken == NULL)
		broken = check_successor(matcher);
	if (broken == NULL)
		broken = check_ranges(matcher);
	for (uint32_t i = 0; broken == NULL && i < matcher->loaded_count; i++) {
		broken = seam__loaded_check(matcher->loaded_plans[i]);
		if (broken == NULL)
			broken = check_clear(matcher, matcher->loaded_plans[i]);
	}
	if (broken == NULL && matcher->now != NULL)
		broken = check_around(matcher->now);
	if (broken == NULL && matcher->now != NULL)
		broken = check_off_plan(matcher);
	if (broken == NULL && matcher->now != NULL)
		broken = check_frontier(matcher->now);
	return broken;
}

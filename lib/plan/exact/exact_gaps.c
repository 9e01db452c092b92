/* exact_gaps.c: see exact_gaps.h. */
#include "exact_gaps.h"

#include "region.h"

/* Time on one core, measured as solvers.def says: for a section of a gap, raised or not; for an item that may fit,
 * more where many items are far apart in memory. */
#define SECTION_NS UINT64_C(30)
#define FIT_NS UINT64_C(6)
#define FAR_COUNT UINT64_C(1400)

/* What looking at a gap led to. */
enum outcome { FINE, CHANGED, LOST };

enum seam_rc seam__exact_gaps_init(struct seam_exact_gaps *gaps, struct seam_exact_skyline *skyline)
{
	struct seam_region *region = skyline->window->problem->region;
	size_t sections = skyline->window->sections;

	*gaps = (struct seam_exact_gaps){.skyline = skyline, .leaves = 1};
	while (gaps->leaves < sections)
		gaps->leaves *= 2;
	gaps->known = seam__region_array(region, sections, sizeof(*gaps->known));
	gaps->tree = seam__region_array(region, 2 * (size_t)gaps->leaves, sizeof(*gaps->tree));
	gaps->fit_changes = seam__region_array(region, sections + 1, sizeof(*gaps->fit_changes));
	gaps->fit_bytes = seam__region_array(region, sections + 1, sizeof(*gaps->fit_bytes));
	gaps->parts = seam__region_array(region, sections, sizeof(*gaps->parts));
	if (gaps->known == NULL || gaps->tree == NULL || gaps->fit_changes == NULL || gaps->fit_bytes == NULL ||
		gaps->parts == NULL)
		return SEAM_OOM_META;
	return SEAM_OK;
}

void seam__exact_gaps_reset(struct seam_exact_gaps *gaps, uint64_t capacity_bytes, enum seam_exact_style style)
{
	seam__exact_skyline_reset(gaps->skyline, capacity_bytes); /* which touches every section */
	gaps->style = style;
	for (uint32_t n = 0; n < 2 * gaps->leaves; n++)
		gaps->tree[n] = SEAM__ITEM_NONE;
}

/* Counts, for every section of the gap, what fits: as differences along the gap. */
static void count_fitting(struct seam_exact_gaps *gaps, const struct seam_exact_spot *gap)
{
	const struct seam_exact_skyline *skyline = gaps->skyline;
	const struct seam_exact_window *window = skyline->window;

	for (uint32_t d = 0; d <= gap->length; d++) {
		gaps->fit_changes[d] = 0;
		gaps->fit_bytes[d] = 0;
	}
	for (uint32_t d = 0, s = gap->first; d < gap->length; d++, s = seam__exact_ahead(window, s, 1)) {
		gaps->work_ns += (window->start_index[s + 1] - window->start_index[s]) * FIT_NS;
		for (uint32_t c = window->start_index[s]; c < window->start_index[s + 1]; c++) {
			const struct seam_exact_item *item = &window->items[window->starts[c]];
			uint32_t end = d + item->width;

			if (!seam__exact_fits(skyline, gap, window->starts[c]))
				continue;
			/* Unsigned differences wrap, their sums do not. */
			gaps->fit_changes[d]++;
			gaps->fit_bytes[d] += item->size_bytes;
			if (end > gap->length) { /* round a gap that is the whole circle */
				end -= gap->length;
				gaps->fit_changes[0]++;
				gaps->fit_bytes[0] += item->size_bytes;
			}
			gaps->fit_changes[end]--;
			gaps->fit_bytes[end] -= item->size_bytes;
		}
	}
}

/* Nothing that covers section `s` fits into the gap: raises it to the lower neighbour. */
static enum outcome raise_bare(struct seam_exact_gaps *gaps, const struct seam_exact_spot *gap, uint32_t s)
{
	uint64_t lowest = seam__exact_lower_side(gap);

	if (lowest == SEAM__EXACT_OPEN)
		return LOST;
	return seam__exact_skyline_raise(gaps->skyline, s, lowest) ? CHANGED : LOST;
}

static uint64_t rank(enum seam_exact_style style, const struct seam_exact_section *section,
	const struct seam_exact_spot *gap, uint64_t score)
{
	bool forced = score <= 6; /* one item, at most one alternative */

	switch (style) {
	case SEAM__EXACT_TIGHTEST:
		return (uint64_t)section->slack_bytes;
	case SEAM__EXACT_LOWEST:
		return gap->floor_bytes;
	case SEAM__EXACT_NARROW:
		return forced ? 0 : gap->length;
	case SEAM__EXACT_FEWEST:
	case SEAM__EXACT_STYLES:
		break;
	}
	return 0;
}

/* The better of two gaps, by their first sections; each may be SEAM__ITEM_NONE. */
static uint32_t better(const struct seam_exact_gaps *gaps, uint32_t a, uint32_t b)
{
	const struct seam_exact_gap *left = &gaps->known[a == SEAM__ITEM_NONE ? 0 : a];
	const struct seam_exact_gap *right = &gaps->known[b == SEAM__ITEM_NONE ? 0 : b];

	if (a == SEAM__ITEM_NONE || b == SEAM__ITEM_NONE)
		return a == SEAM__ITEM_NONE ? b : a;
	if (left->rank != right->rank)
		return left->rank < right->rank ? a : b;
	return left->score <= right->score ? a : b;
}

static void set_leaf(struct seam_exact_gaps *gaps, uint32_t section, uint32_t value)
{
	uint32_t node = gaps->leaves + section;

	gaps->tree[node] = value;
	for (node /= 2; node > 0; node /= 2)
		gaps->tree[node] = better(gaps, gaps->tree[2 * node], gaps->tree[2 * node + 1]);
}

/* No gap begins in these sections. */
static void clear_leaves(struct seam_exact_gaps *gaps, uint32_t first, uint32_t length)
{
	const struct seam_exact_window *window = gaps->skyline->window;

	for (uint32_t s = first; length > 0; s = seam__exact_ahead(window, s, 1), length--)
		if (gaps->tree[gaps->leaves + s] != SEAM__ITEM_NONE)
			set_leaf(gaps, s, SEAM__ITEM_NONE);
}

/* The best gap that begins in sections [first, end). */
static uint32_t best_between(const struct seam_exact_gaps *gaps, uint32_t first, uint32_t end)
{
	uint32_t best = SEAM__ITEM_NONE;

	for (uint32_t a = gaps->leaves + first, b = gaps->leaves + end; a < b; a /= 2, b /= 2) {
		if (a % 2 == 1)
			best = better(gaps, best, gaps->tree[a++]);
		if (b % 2 == 1)
			best = better(gaps, best, gaps->tree[--b]);
	}
	return best;
}

/* Applies the rules to one gap and finds its best section, which is then known. */
static enum outcome look(struct seam_exact_gaps *gaps, const struct seam_exact_spot *gap)
{
	struct seam_exact_skyline *skyline = gaps->skyline;
	const struct seam_exact_window *window = skyline->window;
	uint64_t limit = seam__exact_lower_side(gap); /* up to here only what fits at the floor can fill a section */
	uint64_t bytes = 0;
	uint32_t count = 0;
	enum outcome outcome = FINE;
	struct seam_exact_gap best = {.spot = *gap, .rank = UINT64_MAX, .score = UINT64_MAX};

	count_fitting(gaps, gap);
	gaps->work_ns += gap->length * SECTION_NS;
	for (uint32_t d = 0, s = gap->first; d < gap->length; d++, s = seam__exact_ahead(window, s, 1)) {
		const struct seam_exact_section *section = &skyline->sections[s];

		count += gaps->fit_changes[d];
		bytes += gaps->fit_bytes[d];
		if (count == 0) {
			outcome = raise_bare(gaps, gap, s);
			if (outcome == LOST)
				return LOST;
			continue;
		}
		if (limit != SEAM__EXACT_OPEN && limit - gap->floor_bytes > bytes &&
			limit - gap->floor_bytes - bytes > (uint64_t)section->slack_bytes)
			return LOST;
		uint64_t score = 4 * (uint64_t)count + (section->slack_bytes > 0 ? 2 : 0);
		uint64_t order = rank(gaps->style, section, gap, score);
		if (order < best.rank || (order == best.rank && score < best.score)) {
			best.rank = order;
			best.score = score;
			best.spot.section = s;
		}
	}
	if (outcome == FINE) {
		gaps->known[gap->first] = best;
		set_leaf(gaps, gap->first, gap->first);
	}
	return outcome;
}

bool seam__exact_gaps_settle(struct seam_exact_gaps *gaps)
{
	struct seam_exact_skyline *skyline = gaps->skyline;

	for (;;) {
		uint32_t touched = seam__exact_skyline_touched(skyline);
		enum outcome outcome = FINE;

		if (touched == SEAM__ITEM_NONE)
			return true;
		struct seam_exact_spot gap = seam__exact_row_of(skyline, touched);
		struct seam_exact_row row = (struct seam_exact_row){gap.first, gap.length};
		seam__exact_skyline_mark(skyline, &row, false);
		clear_leaves(gaps, gap.first, gap.length);
		if (skyline->sections[gap.first].rest_bytes > 0 && gap.left_bytes > gap.floor_bytes &&
			gap.right_bytes > gap.floor_bytes)
			outcome = look(gaps, &gap);
		if (outcome != FINE) /* it was not looked at to the end */
			seam__exact_skyline_mark(skyline, &row, true);
		if (outcome == LOST)
			return false;
	}
}

/* Adds a part, if anything in it is unplaced: then it has a gap. */
static void add_part(struct seam_exact_gaps *gaps, uint32_t first, uint32_t length)
{
	const struct seam_exact_window *window = gaps->skyline->window;
	uint32_t end = first + length;
	uint32_t best = best_between(gaps, first, end < window->sections ? end : window->sections);

	if (end > window->sections)
		best = better(gaps, best, best_between(gaps, 0, end - window->sections));
	if (best != SEAM__ITEM_NONE)
		gaps->parts[gaps->part_count++] = (struct seam_exact_part){first, length, gaps->known[best].spot};
}

void seam__exact_gaps_split(
	struct seam_exact_gaps *gaps, const struct seam_exact_row *part, const struct seam_exact_row *row)
{
	const struct seam_exact_skyline *skyline = gaps->skyline;
	const struct seam_exact_window *window = skyline->window;
	uint32_t first = part->first;
	uint32_t end = seam__exact_ahead(window, part->first, part->length); /* the section behind the part */
	/* Did the part go all around until the row was placed? */
	uint32_t last = seam__exact_before(window, part->first);
	bool closed = part->length == window->sections &&
		(skyline->sections[last].crossing > 0 ||
			seam__exact_distance(window, row->first, last) + 1 < row->length);
	bool cut = false;

	gaps->part_count = 0;
	for (uint32_t s = row->first, left = row->length; left > 1; s = seam__exact_ahead(window, s, 1), left--) {
		uint32_t next = seam__exact_ahead(window, s, 1);

		if (skyline->sections[s].crossing > 0)
			continue;
		if (closed && !cut) /* a circle with one cut is one part, which ends where it begins */
			end = next;
		else
			add_part(gaps, first, seam__exact_distance(window, first, s) + 1);
		first = next;
		cut = true;
	}
	if (!cut)
		add_part(gaps, part->first, part->length);
	else if (!closed || first != end)
		add_part(gaps, first, seam__exact_distance(window, first, end));
	else
		add_part(gaps, first, window->sections);
}

/* How far what covers the spot's section and fits reaches in the gap: [*ret_left, *ret_right), counted from its first.
 */
static void reach(
	const struct seam_exact_gaps *gaps, const struct seam_exact_spot *spot, uint32_t *ret_left, uint32_t *ret_right)
{
	const struct seam_exact_skyline *skyline = gaps->skyline;
	const struct seam_exact_window *window = skyline->window;
	uint32_t left = spot->length;
	uint32_t right = 0;

	for (uint32_t c = window->cover_index[spot->section]; c < window->cover_index[spot->section + 1]; c++) {
		const struct seam_exact_item *item = &window->items[window->covers[c]];
		uint32_t begin = seam__exact_distance(window, spot->first, item->first);

		if (!seam__exact_fits(skyline, spot, window->covers[c]))
			continue;
		left = begin < left ? begin : left;
		right = begin + item->width > right ? begin + item->width : right;
	}
	if (right > spot->length) { /* round a gap that is the whole circle */
		left = 0;
		right = spot->length;
	}
	*ret_left = left;
	*ret_right = right;
}

uint64_t seam__exact_gaps_next_level(struct seam_exact_gaps *gaps, const struct seam_exact_spot *spot)
{
	const struct seam_exact_skyline *skyline = gaps->skyline;
	const struct seam_exact_window *window = skyline->window;
	uint64_t lowest = seam__exact_lower_side(spot); /* or what stands on that */
	uint32_t left;
	uint32_t right;

	reach(gaps, spot, &left, &right);
	gaps->work_ns += (right + window->cover_index[spot->section + 1] - window->cover_index[spot->section]) *
		(FIT_NS + window->count / FAR_COUNT);
	for (uint32_t d = 0, s = spot->first; d < right; d++, s = seam__exact_ahead(window, s, 1)) {
		for (uint32_t c = window->start_index[s]; c < window->start_index[s + 1]; c++) {
			const struct seam_exact_item *item = &window->items[window->starts[c]];

			if (spot->floor_bytes + item->size_bytes < lowest && d + item->width > left &&
				seam__exact_distance(window, item->first, spot->section) >= item->width &&
				seam__exact_fits(skyline, spot, window->starts[c]))
				lowest = spot->floor_bytes + item->size_bytes;
		}
	}
	return lowest;
}

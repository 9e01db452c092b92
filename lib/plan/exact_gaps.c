/* exact_gaps.c: see exact_gaps.h. */
#include "exact_gaps.h"

#include "meta.h"

/* What looking at a gap led to. */
enum outcome { FINE, CHANGED, LOST };

enum seam_rc seam__exact_gaps_init(struct seam__exact_gaps *gaps, struct seam__exact_skyline *skyline)
{
	struct seam_meta *meta = skyline->window->problem->meta;
	size_t sections = skyline->window->sections;

	*gaps = (struct seam__exact_gaps){.skyline = skyline, .leaves = 1};
	while (gaps->leaves < sections)
		gaps->leaves *= 2;
	gaps->known = seam__meta_array(meta, sections, sizeof(*gaps->known));
	gaps->tree = seam__meta_array(meta, 2 * (size_t)gaps->leaves, sizeof(*gaps->tree));
	gaps->fit_changes = seam__meta_array(meta, sections + 1, sizeof(*gaps->fit_changes));
	gaps->fit_bytes = seam__meta_array(meta, sections + 1, sizeof(*gaps->fit_bytes));
	gaps->parts = seam__meta_array(meta, sections, sizeof(*gaps->parts));
	if (gaps->known == NULL || gaps->tree == NULL || gaps->fit_changes == NULL || gaps->fit_bytes == NULL || gaps->parts == NULL) {
		seam__exact_gaps_fini(gaps);
		return SEAM_OOM_META;
	}
	return SEAM_OK;
}

void seam__exact_gaps_fini(struct seam__exact_gaps *gaps)
{
	struct seam_meta *meta;
	size_t sections;

	if (gaps->skyline == NULL)
		return;
	meta = gaps->skyline->window->problem->meta;
	sections = gaps->skyline->window->sections;
	seam__meta_free(meta, gaps->known, sections * sizeof(*gaps->known));
	seam__meta_free(meta, gaps->tree, 2 * (size_t)gaps->leaves * sizeof(*gaps->tree));
	seam__meta_free(meta, gaps->fit_changes, (sections + 1) * sizeof(*gaps->fit_changes));
	seam__meta_free(meta, gaps->fit_bytes, (sections + 1) * sizeof(*gaps->fit_bytes));
	seam__meta_free(meta, gaps->parts, sections * sizeof(*gaps->parts));
	*gaps = (struct seam__exact_gaps){0};
}

void seam__exact_gaps_reset(struct seam__exact_gaps *gaps, uint64_t capacity_bytes, bool dominance,
                            enum seam__exact_style style)
{
	seam__exact_skyline_reset(gaps->skyline, capacity_bytes, dominance); /* which touches every section */
	gaps->style = style;
	for (uint32_t n = 0; n < 2 * gaps->leaves; n++)
		gaps->tree[n] = SEAM__ITEM_NONE;
}

static bool inside(const struct seam__exact_window *window, const struct seam__exact_spot *gap,
                   const struct seam__exact_item *item)
{
	return gap->length == window->sections ||
	       seam__exact_distance(window, gap->first, item->first) + item->width <= gap->length;
}

/* Top of the highest wall that an item, if it stood at the floor, would run into inside the gap; 0 if there is none. Where
 * sections of the gap have been raised meanwhile, their floors count too: walls behind them are no longer ahead. */
static uint64_t blocked(const struct seam__exact_skyline *skyline, const struct seam__exact_spot *gap,
                        const struct seam__exact_item *item)
{
	const struct seam__exact_window *window = skyline->window;
	uint64_t top = 0;

	if (window->walls == NULL)
		return 0;
	for (uint32_t s = item->first, left = item->width; left > 0; s = seam__exact_ahead(window, s, 1), left--) {
		const struct seam__exact_section *section = &skyline->sections[s];

		if (seam__exact_distance(window, gap->first, s) >= gap->length)
			continue;
		if (section->floor_bytes > gap->floor_bytes && section->floor_bytes > top)
			top = section->floor_bytes;
		else if (section->ceiling_bytes < gap->floor_bytes + item->size_bytes &&
		         window->walls[section->next_wall].top_bytes > top)
			top = window->walls[section->next_wall].top_bytes;
	}
	return top;
}

bool seam__exact_gaps_fits(const struct seam__exact_gaps *gaps, const struct seam__exact_spot *spot, uint32_t item)
{
	const struct seam__exact_skyline *skyline = gaps->skyline;
	const struct seam__exact_item *it = &skyline->window->items[item];

	return !skyline->placed[item] && inside(skyline->window, spot, it) && blocked(skyline, spot, it) == 0;
}

/* The lowest level that an item which does not fit can have: on the neighbour that it reaches over, or on a wall. */
static uint64_t level_outside(const struct seam__exact_gaps *gaps, const struct seam__exact_spot *gap,
                              const struct seam__exact_item *item)
{
	const struct seam__exact_window *window = gaps->skyline->window;
	uint32_t ahead = seam__exact_distance(window, gap->first, item->first);
	uint64_t level = blocked(gaps->skyline, gap, item);

	if (inside(window, gap, item))
		return level;
	/* It begins in the gap and leaves on the right, or begins before it; then it may leave on the right as well. */
	if (ahead >= gap->length) {
		uint32_t reach = item->width - (window->sections - ahead); /* sections of the gap, from its first */

		level = gap->left_bytes > level ? gap->left_bytes : level;
		if (reach > gap->length && gap->right_bytes > level)
			level = gap->right_bytes;
	} else {
		level = gap->right_bytes > level ? gap->right_bytes : level;
		if (item->width > window->sections - ahead && gap->left_bytes > level)
			level = gap->left_bytes;
	}
	return level;
}

static uint64_t lower_side(const struct seam__exact_spot *gap)
{
	return gap->left_bytes < gap->right_bytes ? gap->left_bytes : gap->right_bytes;
}

/* The lowest level above the floor that does not come from items in the gap: the lower neighbour, or the top of a wall. */
static uint64_t lowest_support(const struct seam__exact_skyline *skyline, const struct seam__exact_spot *gap)
{
	const struct seam__exact_window *window = skyline->window;
	uint64_t lowest = lower_side(gap);

	if (window->walls == NULL)
		return lowest;
	for (uint32_t s = gap->first, left = gap->length; left > 0; s = seam__exact_ahead(window, s, 1), left--) {
		const struct seam__exact_section *section = &skyline->sections[s];

		if (section->ceiling_bytes != SEAM__EXACT_OPEN && window->walls[section->next_wall].top_bytes < lowest)
			lowest = window->walls[section->next_wall].top_bytes;
	}
	return lowest;
}

/* Counts, for every section of the gap, what fits: as differences along the gap. */
static void count_fitting(struct seam__exact_gaps *gaps, const struct seam__exact_spot *gap)
{
	const struct seam__exact_skyline *skyline = gaps->skyline;
	const struct seam__exact_window *window = skyline->window;

	for (uint32_t d = 0; d <= gap->length; d++) {
		gaps->fit_changes[d] = 0;
		gaps->fit_bytes[d] = 0;
	}
	for (uint32_t d = 0, s = gap->first; d < gap->length; d++, s = seam__exact_ahead(window, s, 1)) {
		for (uint32_t c = window->start_index[s]; c < window->start_index[s + 1]; c++) {
			const struct seam__exact_item *item = &window->items[window->starts[c]];
			uint32_t end = d + item->width;

			if (skyline->placed[window->starts[c]] || !inside(window, gap, item) || blocked(skyline, gap, item) != 0)
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

/* Nothing that covers section `s` fits into the gap: raises it to the lower neighbour or, where walls are about, to the
 * lowest level that something can have. */
static enum outcome raise_bare(struct seam__exact_gaps *gaps, const struct seam__exact_spot *gap, uint32_t s)
{
	struct seam__exact_skyline *skyline = gaps->skyline;
	const struct seam__exact_window *window = skyline->window;
	uint64_t lowest = window->walls == NULL ? lower_side(gap) : SEAM__EXACT_OPEN;
	uint32_t end = window->walls == NULL ? 0 : window->cover_index[s + 1];

	for (uint32_t c = window->cover_index[s]; c < end; c++) {
		uint64_t level;

		if (skyline->placed[window->covers[c]])
			continue;
		level = level_outside(gaps, gap, &window->items[window->covers[c]]);
		lowest = level < lowest ? level : lowest;
	}
	if (lowest == SEAM__EXACT_OPEN)
		return LOST;
	return seam__exact_skyline_raise(skyline, s, lowest) ? CHANGED : LOST;
}

static uint64_t rank(enum seam__exact_style style, const struct seam__exact_section *section,
                     const struct seam__exact_spot *gap, uint64_t score)
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
static uint32_t better(const struct seam__exact_gaps *gaps, uint32_t a, uint32_t b)
{
	const struct seam__exact_gap *left = &gaps->known[a == SEAM__ITEM_NONE ? 0 : a];
	const struct seam__exact_gap *right = &gaps->known[b == SEAM__ITEM_NONE ? 0 : b];

	if (a == SEAM__ITEM_NONE || b == SEAM__ITEM_NONE)
		return a == SEAM__ITEM_NONE ? b : a;
	if (left->rank != right->rank)
		return left->rank < right->rank ? a : b;
	return left->score <= right->score ? a : b;
}

static void set_leaf(struct seam__exact_gaps *gaps, uint32_t section, uint32_t value)
{
	uint32_t node = gaps->leaves + section;

	gaps->tree[node] = value;
	for (node /= 2; node > 0; node /= 2)
		gaps->tree[node] = better(gaps, gaps->tree[2 * node], gaps->tree[2 * node + 1]);
}

/* No gap begins in these sections. */
static void clear_leaves(struct seam__exact_gaps *gaps, uint32_t first, uint32_t length)
{
	const struct seam__exact_window *window = gaps->skyline->window;

	for (uint32_t s = first; length > 0; s = seam__exact_ahead(window, s, 1), length--)
		if (gaps->tree[gaps->leaves + s] != SEAM__ITEM_NONE)
			set_leaf(gaps, s, SEAM__ITEM_NONE);
}

/* The best gap that begins in sections [first, end). */
static uint32_t best_between(const struct seam__exact_gaps *gaps, uint32_t first, uint32_t end)
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
static enum outcome look(struct seam__exact_gaps *gaps, const struct seam__exact_spot *gap)
{
	struct seam__exact_skyline *skyline = gaps->skyline;
	const struct seam__exact_window *window = skyline->window;
	uint64_t support = lowest_support(skyline, gap);
	uint64_t bytes = 0;
	uint32_t count = 0;
	enum outcome outcome = FINE;
	struct seam__exact_gap best = {.spot = *gap, .rank = UINT64_MAX, .score = UINT64_MAX};

	count_fitting(gaps, gap);
	for (uint32_t d = 0, s = gap->first; d < gap->length; d++, s = seam__exact_ahead(window, s, 1)) {
		const struct seam__exact_section *section = &skyline->sections[s];
		/* Up to here only what fits at the floor can fill the section. */
		uint64_t limit = section->ceiling_bytes < support ? section->ceiling_bytes : support;
		uint64_t score;
		uint64_t order;

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
		score = 4 * (uint64_t)count + (section->slack_bytes > 0 ? 2 : 0);
		order = rank(gaps->style, section, gap, score);
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

static uint64_t neighbour(const struct seam__exact_skyline *skyline, bool connected, uint32_t section)
{
	return connected ? skyline->sections[section].floor_bytes : SEAM__EXACT_OPEN;
}

/* Is there one floor, and no cut, between the section and the one before it? */
static bool joins_before(const struct seam__exact_skyline *skyline, uint32_t section)
{
	const struct seam__exact_section *before = &skyline->sections[seam__exact_before(skyline->window, section)];

	return before->crossing > 0 && before->floor_bytes == skyline->sections[section].floor_bytes;
}

/* The first section of the row of equal floors that `section` is in; its own where the row goes all around. */
static uint32_t row_begin(const struct seam__exact_skyline *skyline, uint32_t section)
{
	const struct seam__exact_window *window = skyline->window;
	uint32_t first = section;

	for (uint32_t n = 1; n < window->sections && joins_before(skyline, first); n++)
		first = seam__exact_before(window, first);
	return joins_before(skyline, first) ? section : first;
}

/* The row of equal floors from `first` on. */
static struct seam__exact_spot measure(const struct seam__exact_skyline *skyline, uint32_t first)
{
	const struct seam__exact_window *window = skyline->window;
	const struct seam__exact_section *sections = skyline->sections;
	struct seam__exact_spot row = {.first = first, .length = 1, .floor_bytes = sections[first].floor_bytes,
	                               .left_bytes = SEAM__EXACT_OPEN, .right_bytes = SEAM__EXACT_OPEN};
	uint32_t before = seam__exact_before(window, first);
	uint32_t next = seam__exact_ahead(window, first, 1);

	while (row.length < window->sections && joins_before(skyline, next)) {
		row.length++;
		next = seam__exact_ahead(window, next, 1);
	}
	if (row.length < window->sections) {
		row.left_bytes = neighbour(skyline, sections[before].crossing > 0, before);
		row.right_bytes = neighbour(skyline, sections[seam__exact_before(window, next)].crossing > 0, next);
	}
	return row;
}

bool seam__exact_gaps_settle(struct seam__exact_gaps *gaps)
{
	struct seam__exact_skyline *skyline = gaps->skyline;

	for (;;) {
		uint32_t touched = seam__exact_skyline_touched(skyline);
		struct seam__exact_spot gap;
		struct seam__exact_row row;
		enum outcome outcome = FINE;

		if (touched == SEAM__ITEM_NONE)
			return true;
		gap = measure(skyline, row_begin(skyline, touched));
		row = (struct seam__exact_row){gap.first, gap.length};
		seam__exact_skyline_seen(skyline, &row);
		clear_leaves(gaps, gap.first, gap.length);
		if (skyline->sections[gap.first].rest_bytes > 0 && gap.left_bytes > gap.floor_bytes &&
		    gap.right_bytes > gap.floor_bytes)
			outcome = look(gaps, &gap);
		if (outcome != FINE) /* it was not looked at to the end */
			seam__exact_skyline_touch(skyline, &row);
		if (outcome == LOST)
			return false;
	}
}

/* Adds a part, if anything in it is unplaced: then it has a gap. */
static void add_part(struct seam__exact_gaps *gaps, uint32_t first, uint32_t length)
{
	const struct seam__exact_window *window = gaps->skyline->window;
	uint32_t end = first + length;
	uint32_t best = best_between(gaps, first, end < window->sections ? end : window->sections);

	if (end > window->sections)
		best = better(gaps, best, best_between(gaps, 0, end - window->sections));
	if (best != SEAM__ITEM_NONE)
		gaps->parts[gaps->part_count++] = (struct seam__exact_part){first, length, gaps->known[best].spot};
}

void seam__exact_gaps_split(struct seam__exact_gaps *gaps, const struct seam__exact_row *part,
                            const struct seam__exact_row *row)
{
	const struct seam__exact_skyline *skyline = gaps->skyline;
	const struct seam__exact_window *window = skyline->window;
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

/* How far what covers the spot's section and fits reaches in the gap: [*ret_left, *ret_right), counted from its first. */
static void reach(const struct seam__exact_gaps *gaps, const struct seam__exact_spot *spot, uint32_t *ret_left,
                  uint32_t *ret_right)
{
	const struct seam__exact_window *window = gaps->skyline->window;
	uint32_t left = spot->length;
	uint32_t right = 0;

	for (uint32_t c = window->cover_index[spot->section]; c < window->cover_index[spot->section + 1]; c++) {
		const struct seam__exact_item *item = &window->items[window->covers[c]];
		uint32_t begin = seam__exact_distance(window, spot->first, item->first);

		if (!seam__exact_gaps_fits(gaps, spot, window->covers[c]))
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

uint64_t seam__exact_gaps_next_level(const struct seam__exact_gaps *gaps, const struct seam__exact_spot *spot)
{
	const struct seam__exact_skyline *skyline = gaps->skyline;
	const struct seam__exact_window *window = skyline->window;
	uint64_t lowest = lowest_support(skyline, spot); /* or what stands on that */
	uint32_t left;
	uint32_t right;

	reach(gaps, spot, &left, &right);
	for (uint32_t d = 0, s = spot->first; d < right; d++, s = seam__exact_ahead(window, s, 1)) {
		for (uint32_t c = window->start_index[s]; c < window->start_index[s + 1]; c++) {
			const struct seam__exact_item *item = &window->items[window->starts[c]];

			if (spot->floor_bytes + item->size_bytes < lowest && d + item->width > left &&
			    seam__exact_distance(window, item->first, spot->section) >= item->width &&
			    seam__exact_gaps_fits(gaps, spot, window->starts[c]))
				lowest = spot->floor_bytes + item->size_bytes;
		}
	}
	return lowest;
}

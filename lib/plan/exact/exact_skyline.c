/* exact_skyline.c: see exact_skyline.h. */
#include "exact_skyline.h"

#include "check.h"
#include "region.h"

#define TRAIL_PER_PLACE 32u
#define TRAIL_LEAST 4096u
#define WORD_BITS 64u

static uint64_t mix(uint64_t a, uint64_t b)
{
	uint64_t z = a * UINT64_C(0x9e3779b97f4a7c15) ^ b;

	z = (z ^ (z >> 32)) * UINT64_C(0xd6e8feb86659fd93);
	z = (z ^ (z >> 32)) * UINT64_C(0xd6e8feb86659fd93);
	return z ^ (z >> 32);
}

static uint32_t words_of(uint32_t bits)
{
	return (bits + WORD_BITS - 1) / WORD_BITS;
}

enum seam_rc seam__exact_skyline_init(struct seam_exact_skyline *skyline, const struct seam_exact_window *window)
{
	struct seam_region *region = window->problem->region;
	struct seam_exact_skyline made = {.window = window};

	made.trail_capacity = TRAIL_LEAST + TRAIL_PER_PLACE * (window->count + window->sections);
	made.sections = seam__region_array(region, window->sections, sizeof(*made.sections));
	made.offsets = seam__region_array(region, window->count, sizeof(*made.offsets));
	made.item_keys = seam__region_array(region, window->count, sizeof(*made.item_keys));
	made.placed = seam__region_array(region, window->count, sizeof(*made.placed));
	made.trail = seam__region_array(region, made.trail_capacity, sizeof(*made.trail));
	made.touched = seam__region_array(region, words_of(window->sections), sizeof(*made.touched));
	made.touched_words =
		seam__region_array(region, words_of(words_of(window->sections)), sizeof(*made.touched_words));
	*skyline = made;
	if (made.sections == NULL || made.offsets == NULL || made.item_keys == NULL || made.placed == NULL ||
		made.trail == NULL || made.touched == NULL || made.touched_words == NULL)
		return SEAM_OOM_META;
	for (uint32_t i = 0; i < window->count; i++)
		made.item_keys[i] = mix(i + 1, UINT64_C(0x2545f4914f6cdd1d));
	return SEAM_OK;
}

/* Sets or clears the bits of sections [first, end). */
static void mark(struct seam_exact_skyline *skyline, uint32_t first, uint32_t end, bool value)
{
	for (uint32_t at = first; at < end;) {
		uint32_t word = at / WORD_BITS;
		uint32_t last = (word + 1) * WORD_BITS < end ? WORD_BITS : end - word * WORD_BITS; /* bit behind */
		uint64_t bits =
			(last == WORD_BITS ? UINT64_MAX : (UINT64_C(1) << last) - 1) & (UINT64_MAX << at % WORD_BITS);
		uint64_t summary = UINT64_C(1) << word % WORD_BITS;

		if (value)
			skyline->touched[word] |= bits;
		else
			skyline->touched[word] &= ~bits;
		if (skyline->touched[word] != 0)
			skyline->touched_words[word / WORD_BITS] |= summary;
		else
			skyline->touched_words[word / WORD_BITS] &= ~summary;
		at = word * WORD_BITS + last;
	}
}

void seam__exact_skyline_mark(struct seam_exact_skyline *skyline, const struct seam_exact_row *row, bool touched)
{
	uint32_t sections = skyline->window->sections;
	uint32_t end = row->first + row->length;

	mark(skyline, row->first, end < sections ? end : sections, touched);
	if (end > sections)
		mark(skyline, 0, end - sections, touched);
}

uint32_t seam__exact_skyline_touched(const struct seam_exact_skyline *skyline)
{
	uint32_t words = words_of(words_of(skyline->window->sections));

	for (uint32_t w = 0; w < words; w++) {
		uint64_t summary = skyline->touched_words[w];

		if (summary != 0) {
			uint32_t word = w * WORD_BITS + (uint32_t)__builtin_ctzll(summary);

			return word * WORD_BITS + (uint32_t)__builtin_ctzll(skyline->touched[word]);
		}
	}
	return SEAM__ITEM_NONE;
}

/* The floors of `length` sections have changed: these and their neighbours have to be looked at. */
static void touch_around(struct seam_exact_skyline *skyline, uint32_t first, uint32_t length)
{
	uint32_t sections = skyline->window->sections;
	struct seam_exact_row row = {0, sections};

	if (length + 2 < sections)
		row = (struct seam_exact_row){seam__exact_before(skyline->window, first), length + 2};
	seam__exact_skyline_mark(skyline, &row, true);
}

void seam__exact_skyline_reset(struct seam_exact_skyline *skyline, uint64_t capacity_bytes)
{
	const struct seam_exact_window *window = skyline->window;

	skyline->trail_count = 0;
	skyline->decided = 0;
	skyline->capacity_bytes = capacity_bytes;
	skyline->overflow = false;
	touch_around(skyline, 0, window->sections);
	for (uint32_t s = 0; s < window->sections; s++) {
		struct seam_exact_section *section = &skyline->sections[s];

		*section = (struct seam_exact_section){
			.rest_bytes = window->load_bytes[s],
			.crossing = window->cover_index[s + 1] - window->cover_index[s],
		};
		section->slack_bytes = (int64_t)(capacity_bytes - section->rest_bytes);
	}
	for (uint32_t i = 0; i < window->count; i++) {
		const struct seam_exact_item *item = &window->items[i];

		skyline->placed[i] = false;
		skyline->sections[item->first].start_key ^= skyline->item_keys[i];
		skyline->sections[seam__exact_ahead(window, item->first, item->width - 1)]
			.crossing--; /* it ends there */
	}
}

bool seam__exact_skyline_place(struct seam_exact_skyline *skyline, uint32_t item, uint64_t floor_bytes)
{
	const struct seam_exact_window *window = skyline->window;
	const struct seam_exact_item *placed = &window->items[item];

	if (skyline->trail_count == skyline->trail_capacity) {
		skyline->overflow = true;
		return false;
	}
	skyline->trail[skyline->trail_count++] = (struct seam_exact_step){.item = item, .floor_bytes = floor_bytes};
	skyline->placed[item] = true;
	skyline->offsets[item] = floor_bytes;
	skyline->sections[placed->first].start_key ^= skyline->item_keys[item];
	for (uint32_t s = placed->first, left = placed->width; left > 0; s = seam__exact_ahead(window, s, 1), left--) {
		SEAM_ASSERT(skyline->sections[s].floor_bytes == floor_bytes);
		skyline->sections[s].rest_bytes -= placed->size_bytes;
		skyline->sections[s].crossing -= left > 1;
		skyline->sections[s].floor_bytes = floor_bytes + placed->size_bytes;
	}
	touch_around(skyline, placed->first, placed->width);
	return true;
}

/* Writes a raise on the trail, or into the last one of the section if that is part of the same decision. */
static bool note_raise(struct seam_exact_skyline *skyline, uint32_t s, uint64_t level)
{
	struct seam_exact_section *section = &skyline->sections[s];
	struct seam_exact_step *last = &skyline->trail[section->last_raise];

	if (section->last_raise >= skyline->decided && section->last_raise < skyline->trail_count &&
		last->item == SEAM__ITEM_NONE && last->section == s && last->level_bytes == section->floor_bytes) {
		last->level_bytes = level;
		return true;
	}
	if (skyline->trail_count == skyline->trail_capacity) {
		skyline->overflow = true;
		return false;
	}
	section->last_raise = skyline->trail_count;
	skyline->trail[skyline->trail_count++] = (struct seam_exact_step){
		.item = SEAM__ITEM_NONE,
		.section = s,
		.floor_bytes = section->floor_bytes,
		.level_bytes = level,
	};
	return true;
}

bool seam__exact_skyline_raise(struct seam_exact_skyline *skyline, uint32_t s, uint64_t level)
{
	struct seam_exact_section *section = &skyline->sections[s];

	if (!note_raise(skyline, s, level))
		return false;
	section->slack_bytes -= (int64_t)(level - section->floor_bytes);
	section->floor_bytes = level;
	touch_around(skyline, s, 1);
	return section->slack_bytes >= 0;
}

static void undo_place(struct seam_exact_skyline *skyline, const struct seam_exact_step *step)
{
	const struct seam_exact_window *window = skyline->window;
	const struct seam_exact_item *item = &window->items[step->item];

	skyline->placed[step->item] = false;
	skyline->sections[item->first].start_key ^= skyline->item_keys[step->item];
	for (uint32_t s = item->first, left = item->width; left > 0; s = seam__exact_ahead(window, s, 1), left--) {
		skyline->sections[s].rest_bytes += item->size_bytes;
		skyline->sections[s].crossing += left > 1;
		skyline->sections[s].floor_bytes = step->floor_bytes;
	}
	touch_around(skyline, item->first, item->width);
}

void seam__exact_skyline_undo(struct seam_exact_skyline *skyline, uint32_t mark)
{
	while (skyline->trail_count > mark) {
		const struct seam_exact_step *step = &skyline->trail[--skyline->trail_count];
		struct seam_exact_section *section = &skyline->sections[step->section];

		if (step->item != SEAM__ITEM_NONE) {
			undo_place(skyline, step);
			continue;
		}
		section->slack_bytes += (int64_t)(step->level_bytes - step->floor_bytes);
		section->floor_bytes = step->floor_bytes;
		touch_around(skyline, step->section, 1);
	}
}

uint64_t seam__exact_skyline_key(const struct seam_exact_skyline *skyline, uint32_t first, uint32_t length)
{
	const struct seam_exact_window *window = skyline->window;
	uint64_t key = 0;

	for (uint32_t s = first, left = length; left > 0; s = seam__exact_ahead(window, s, 1), left--)
		key ^= skyline->sections[s].start_key ^
			mix(s + 1, skyline->capacity_bytes - skyline->sections[s].floor_bytes);
	return key == 0 ? 1 : key;
}

/* SK1 to SK3 of one section. */
static const char *check_section(const struct seam_exact_skyline *skyline, uint32_t s)
{
	const struct seam_exact_window *window = skyline->window;
	const struct seam_exact_section *section = &skyline->sections[s];
	uint64_t rest = 0;
	uint64_t key = 0;
	uint32_t crossing = 0;

	for (uint32_t c = window->cover_index[s]; c < window->cover_index[s + 1]; c++) {
		const struct seam_exact_item *item = &window->items[window->covers[c]];

		if (skyline->placed[window->covers[c]])
			continue;
		rest += item->size_bytes;
		crossing += seam__exact_distance(window, item->first, s) + 1 < item->width;
		if (item->first == s)
			key ^= skyline->item_keys[window->covers[c]];
	}
	if (rest != section->rest_bytes || crossing != section->crossing)
		return "SK1 rest";
	if ((int64_t)(skyline->capacity_bytes - section->floor_bytes - rest) != section->slack_bytes)
		return "SK2 slack";
	return key == section->start_key ? NULL : "SK3 key";
}

const char *seam__exact_skyline_check(const struct seam_exact_skyline *skyline)
{
	const char *broken = NULL;

	for (uint32_t s = 0; s < skyline->window->sections && broken == NULL; s++)
		broken = check_section(skyline, s);
	return broken;
}

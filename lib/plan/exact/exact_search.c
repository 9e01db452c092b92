/* exact_search.c: see exact_search.h. */
#include "exact_search.h"

#include "check.h"
#include "region.h"

#define NONE UINT32_MAX
#define FRAMES_PER_PLACE 2u
#define TASKS_PER_PLACE 2u
#define CHOICES_PER_PLACE 64u
#define CHOICES_MAX 64u /* of a decision; with more the worst are left out, and nothing is proved */
#define LEAST 1024u
#define FAILED_PER_ITEM 256u
#define FAILED_MAX (UINT32_C(1) << 18)
#define SECTIONS_PER_NODE 512u /* what a step costs grows slowly with them */
#define NODE_NS UINT64_C(1000) /* solver.h: a step that takes longer counts as several */
#define KEY_NS UINT64_C(5)     /* for a section of one that is named; measured as solvers.def says */
#define KEY_SECTIONS_MAX 1024u /* longer parts do not come again, and naming them takes long */

struct seam_exact_frame {
	struct seam_exact_part part;
	uint64_t key;        /* of the part before the decision; 0: none */
	uint64_t next_level; /* of the section, if nothing is to stand at the floor; SEAM__EXACT_OPEN: something must */
	uint32_t first_choice;
	uint32_t choice_count;
	uint32_t tried;
	uint32_t trail_mark;
	uint32_t task_mark;
	uint32_t owner; /* frame whose decision made this part; NONE: the whole */
	uint32_t after; /* task that waits for this part to be done */
};

struct seam_exact_task {
	struct seam_exact_part part;
	uint64_t key;
	uint32_t owner;
	uint32_t next;
};

enum seam_rc seam__exact_search_init(struct seam_exact_search *search, const struct seam_exact_window *window)
{
	struct seam_region *region = window->problem->region;
	uint32_t places = window->count + window->sections;

	*search = (struct seam_exact_search){
		.frame_capacity = LEAST + FRAMES_PER_PLACE * places,
		.task_capacity = LEAST + TASKS_PER_PLACE * places,
		.choice_capacity = LEAST + CHOICES_PER_PLACE * places,
		.failed_capacity = 4096,
	};
	while (search->failed_capacity < FAILED_MAX &&
		search->failed_capacity < FAILED_PER_ITEM * (uint64_t)window->count)
		search->failed_capacity *= 2;
	enum seam_rc rc = seam__exact_skyline_init(&search->skyline, window);
	if (rc != SEAM_OK)
		return rc;
	rc = seam__exact_gaps_init(&search->gaps, &search->skyline);
	search->frames = seam__region_array(region, search->frame_capacity, sizeof(*search->frames));
	search->tasks = seam__region_array(region, search->task_capacity, sizeof(*search->tasks));
	search->choices = seam__region_array(region, search->choice_capacity, sizeof(*search->choices));
	search->failed = seam__region_array(region, search->failed_capacity, sizeof(*search->failed));
	if (rc != SEAM_OK || search->frames == NULL || search->tasks == NULL || search->choices == NULL ||
		search->failed == NULL)
		return SEAM_OOM_META;
	return SEAM_OK;
}

static uint64_t *slot(struct seam_exact_search *search, uint64_t key)
{
	return &search->failed[key & (search->failed_capacity - 1)];
}

/* Is the item, but for its number, one of the choices already? Then trying one of them is enough. */
static bool is_twin(const struct seam_exact_search *search, const struct seam_exact_frame *frame, uint32_t item)
{
	const struct seam_exact_item *items = search->skyline.window->items;

	for (uint32_t c = frame->first_choice; c < search->choice_count; c++) {
		const struct seam_exact_item *other = &items[search->choices[c]];

		if (other->first == items[item].first && other->width == items[item].width &&
			other->size_bytes == items[item].size_bytes)
			return true;
	}
	return false;
}

/* Puts an item among the choices of the last frame, in descending priority. */
static void insert_choice(
	struct seam_exact_search *search, const struct seam_exact_frame *frame, uint32_t item, const double *priorities)
{
	uint32_t at = search->choice_count;

	if (at - frame->first_choice == CHOICES_MAX) {
		search->incomplete = true;
		if (priorities[search->choices[--at]] >= priorities[item])
			return;
	} else {
		search->choice_count++;
	}
	for (; at > frame->first_choice && priorities[search->choices[at - 1]] < priorities[item]; at--)
		search->choices[at] = search->choices[at - 1];
	search->choices[at] = item;
}

/* Begins the decision of a task. False: no room. */
static bool open_frame(struct seam_exact_search *search, const struct seam_exact_task *task, const double *priorities)
{
	const struct seam_exact_window *window = search->skyline.window;
	const struct seam_exact_spot *spot = &task->part.spot;
	uint32_t begin = window->cover_index[spot->section];
	uint32_t end = window->cover_index[spot->section + 1];

	if (search->frame_count == search->frame_capacity ||
		CHOICES_MAX > search->choice_capacity - search->choice_count)
		return false;
	struct seam_exact_frame *frame = &search->frames[search->frame_count++];
	*frame = (struct seam_exact_frame){
		.part = task->part,
		.key = task->key,
		.next_level = seam__exact_gaps_next_level(&search->gaps, spot),
		.first_choice = search->choice_count,
		.trail_mark = search->skyline.trail_count,
		.task_mark = search->task_count,
		.owner = task->owner,
		.after = task->next,
	};
	for (uint32_t c = begin; c < end; c++)
		if (seam__exact_fits(&search->skyline, spot, window->covers[c]) &&
			!is_twin(search, frame, window->covers[c]))
			insert_choice(search, frame, window->covers[c], priorities);
	frame->choice_count = search->choice_count - frame->first_choice;
	SEAM_ASSERT(frame->choice_count > 0);
	return true;
}

enum split { SPLIT, SPLIT_FAILED, SPLIT_FULL };

/* Makes tasks of what is left of a part, in front of `*head`. `row`: see seam__exact_gaps_split(). */
static enum split split(struct seam_exact_search *search, const struct seam_exact_row *whole,
	const struct seam_exact_row *row, uint32_t owner, uint32_t *head)
{
	seam__exact_gaps_split(&search->gaps, whole, row);
	if (search->gaps.part_count > search->task_capacity - search->task_count)
		return SPLIT_FULL;
	for (uint32_t p = 0; p < search->gaps.part_count; p++) {
		const struct seam_exact_part *part = &search->gaps.parts[p];
		uint64_t key = 0;

		if (part->length <= KEY_SECTIONS_MAX) {
			key = seam__exact_skyline_key(&search->skyline, part->first, part->length);
			search->gaps.work_ns += part->length * KEY_NS;
		}
		if (key != 0 && *slot(search, key) == key)
			return SPLIT_FAILED;
		search->tasks[search->task_count] = (struct seam_exact_task){*part, key, owner, *head};
		*head = search->task_count++;
	}
	return SPLIT;
}

/* Takes a step in a part of so many sections from the budget, and what is missing for those before it. */
static bool pay(struct seam_exact_search *search, uint32_t sections, struct seam_budget *budget)
{
	uint64_t owed = search->gaps.work_ns / NODE_NS;
	uint64_t nodes = 1 + sections / SECTIONS_PER_NODE;

	if (search->paid + nodes < owed)
		nodes = owed - search->paid;
	search->paid += nodes;
	return seam__budget_spend(budget, nodes);
}

/* Carries out the next choice of the frame that can be carried out. FOUND: `*head` is what is to be done next; NONE: no
 * choice is left. */
static enum seam_exact_result advance(struct seam_exact_search *search, uint32_t number,
	const struct seam_exact_attempt *attempt, struct seam_budget *budget, uint32_t *head)
{
	struct seam_exact_frame *frame = &search->frames[number];
	struct seam_exact_skyline *skyline = &search->skyline;
	const struct seam_exact_spot *spot = &frame->part.spot;

	while (frame->tried <= frame->choice_count) {
		struct seam_exact_row part = {frame->part.first, frame->part.length};
		struct seam_exact_row row = {spot->section, 1};
		uint32_t choice = frame->tried++;
		bool done;

		if (choice == frame->choice_count && frame->next_level == SEAM__EXACT_OPEN)
			break;
		search->nodes++;
		if (search->nodes > attempt->node_limit || !pay(search, frame->part.length, budget))
			return SEAM__EXACT_SPENT;
		if (attempt->loose)
			skyline->trail_count = 0; /* there is no way back, nor a need for one */
		skyline->decided = skyline->trail_count;
		if (choice < frame->choice_count) {
			uint32_t item = search->choices[frame->first_choice + choice];

			row = (struct seam_exact_row){
				skyline->window->items[item].first, skyline->window->items[item].width};
			done = seam__exact_skyline_place(skyline, item, spot->floor_bytes);
		} else {
			done = seam__exact_skyline_raise(skyline, spot->section, frame->next_level);
		}
		if (done && seam__exact_gaps_settle(&search->gaps)) {
			*head = frame->after;
			enum split result = split(search, &part, &row, number, head);
			if (result == SPLIT)
				return SEAM__EXACT_FOUND;
			skyline->overflow |= result == SPLIT_FULL;
		}
		if (skyline->overflow || attempt->loose)
			return SEAM__EXACT_SPENT;
		search->task_count = frame->task_mark;
		seam__exact_skyline_undo(skyline, frame->trail_mark);
	}
	return SEAM__EXACT_NONE;
}

/* The frame has no choice left: remembers its state, and goes back to the frame that made its part. Everything between
 * belongs to siblings, which have no part in this. Returns that frame's number, or NONE. */
static uint32_t give_up(struct seam_exact_search *search, uint32_t number)
{
	struct seam_exact_frame *frame = &search->frames[number];
	uint32_t owner = frame->owner;

	if (frame->key != 0 && !search->incomplete)
		*slot(search, frame->key) = frame->key;
	if (owner == NONE)
		return NONE;
	frame = &search->frames[owner];
	search->frame_count = owner + 1;
	search->choice_count = frame->first_choice + frame->choice_count;
	search->task_count = frame->task_mark;
	seam__exact_skyline_undo(&search->skyline, frame->trail_mark);
	return owner;
}

enum seam_exact_result seam__exact_search_try(
	struct seam_exact_search *search, const struct seam_exact_attempt *attempt, struct seam_budget *budget)
{
	const struct seam_exact_window *window = search->skyline.window;
	struct seam_exact_row whole = {0, window->sections};
	uint32_t head = NONE;

	search->frame_count = 0;
	search->task_count = 0;
	search->choice_count = 0;
	search->nodes = 0;
	search->incomplete = false;
	if (attempt->capacity_bytes < window->lower_bytes)
		return SEAM__EXACT_NONE;
	seam__exact_gaps_reset(&search->gaps, attempt->capacity_bytes, attempt->style);
	if (!seam__exact_gaps_settle(&search->gaps))
		return search->skyline.overflow ? SEAM__EXACT_SPENT : SEAM__EXACT_NONE;
	if (!pay(search, window->sections, budget))
		return SEAM__EXACT_SPENT;
	enum split result = split(search, &whole, &whole, NONE, &head);
	if (result != SPLIT)
		return result == SPLIT_FAILED ? SEAM__EXACT_NONE : SEAM__EXACT_SPENT;
	while (head != NONE) {
		uint32_t number = search->frame_count;

		if (!open_frame(search, &search->tasks[head], attempt->priorities))
			return SEAM__EXACT_SPENT;
		for (;;) {
			enum seam_exact_result done = advance(search, number, attempt, budget, &head);

			if (done == SEAM__EXACT_SPENT)
				return SEAM__EXACT_SPENT;
			if (done == SEAM__EXACT_FOUND)
				break;
			number = give_up(search, number);
			if (number == NONE)
				return search->incomplete ? SEAM__EXACT_SPENT : SEAM__EXACT_NONE;
		}
	}
	SEAM_ASSERT_DEEP(seam__exact_skyline_check(&search->skyline));
	return SEAM__EXACT_FOUND;
}
